//! `quadrille dump`.

use super::{Failure, StoreArgument, iri};
use clap::Args;
use oxrdf::{GraphName, NamedNode, NamedOrBlankNode, Quad, Term};
use oxrdfio::{RdfFormat, RdfSerializer};
use quadrille::Snapshot;
use quadrille::store::{ColumnMask, Columns, GraphSelector, Order, Pattern, Position, TermId};
use std::fs::File;
use std::io::{BufWriter, Write, stdout};
use std::path::PathBuf;

/// Quads whose terms are looked up at once.
const CHUNK_QUADS: usize = 8192;

/// The options of `dump`.
#[derive(Args)]
pub struct Dump {
    #[command(flatten)]
    store: StoreArgument,
    /// The syntax: nq, nt, trig, ttl, rdf, jsonld; by default what the file's extension says, or nq for standard output.
    #[arg(long, value_parser = format)]
    format: Option<RdfFormat>,
    /// Only this graph; `default` is the default graph. A syntax without graphs needs one if the store has named graphs.
    #[arg(long, value_name = "IRI|default", value_parser = graph)]
    graph: Option<String>,
    /// Only the explicit quads, not what was inferred.
    #[arg(long)]
    explicit_only: bool,
    /// Write to this file instead of standard output; it is complete, or not there.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

fn format(name: &str) -> Result<RdfFormat, String> {
    RdfFormat::from_extension(name)
        .ok_or_else(|| format!("{name:?} is no syntax; write nq, nt, trig, ttl, rdf or jsonld"))
}

fn graph(name: &str) -> Result<String, String> {
    if name == "default" {
        Ok(name.to_owned())
    } else {
        iri(name)
    }
}

impl Dump {
    /// Writes the quads.
    pub fn run(self) -> Result<(), Failure> {
        let format = match (self.format, &self.out) {
            (Some(format), _) => format,
            (None, None) => RdfFormat::NQuads,
            (None, Some(path)) => {
                let extension = path.extension().and_then(|extension| extension.to_str());
                extension
                    .and_then(RdfFormat::from_extension)
                    .ok_or_else(|| {
                        format!(
                            "{}: its name tells no syntax; say which one (--format)",
                            path.display()
                        )
                    })?
            }
        };
        let mut snapshot = self.store.read()?.snapshot();
        if self.explicit_only {
            snapshot = snapshot.explicit();
        }
        let graphs = selected(&snapshot, self.graph.as_deref())?;
        if self.graph.is_none()
            && !format.supports_datasets()
            && !snapshot.named_graphs()?.is_empty()
        {
            return Err(format!(
                "the store has named graphs, and {format} has none: choose one with --graph"
            )
            .into());
        }
        match &self.out {
            None => write(&snapshot, &graphs, format, BufWriter::new(stdout().lock())),
            Some(path) => {
                let mut partial = path.clone().into_os_string();
                partial.push(".partial");
                let partial = PathBuf::from(partial);
                let name = |error| format!("{}: {error}", partial.display());
                let file = File::create(&partial).map_err(name)?;
                let written = write(&snapshot, &graphs, format, BufWriter::new(&file))
                    .and_then(|()| Ok(file.sync_all().map_err(name)?));
                if written.is_err() {
                    std::fs::remove_file(&partial).map_err(name)?;
                    return written;
                }
                Ok(std::fs::rename(&partial, path).map_err(name)?)
            }
        }
    }
}

/// The graph of a name, none if the store does not have it; without a name, all graphs.
fn selected(snapshot: &Snapshot, name: Option<&str>) -> Result<Vec<GraphSelector>, Failure> {
    let Some(name) = name else {
        return Ok(vec![GraphSelector::Default, GraphSelector::AnyNamed]);
    };
    if name == "default" {
        return Ok(vec![GraphSelector::Default]);
    }
    let node = NamedNode::new(name).map_err(|error| format!("--graph {name}: {error}"))?;
    let id = snapshot.term_id(node.as_ref().into())?;
    Ok(id.map(GraphSelector::Named).into_iter().collect())
}

/// Writes the quads of these graphs.
fn write(
    snapshot: &Snapshot,
    graphs: &[GraphSelector],
    format: RdfFormat,
    output: impl Write,
) -> Result<(), Failure> {
    let mut serializer = RdfSerializer::from_format(format);
    for (prefix, iri) in snapshot.prefixes() {
        // A prefix that the syntax does not allow is of no use in it.
        serializer = match serializer.clone().with_prefix(prefix, iri) {
            Ok(with_prefix) => with_prefix,
            Err(_) => serializer,
        };
    }
    let mut serializer = serializer.for_writer(output);
    let in_its_graph = format.supports_datasets();
    for &graph in graphs {
        each_quad(snapshot, graph, &mut |mut quad| {
            if !in_its_graph {
                quad.graph_name = GraphName::DefaultGraph;
            }
            Ok(serializer.serialize_quad(&quad)?)
        })?;
    }
    let mut output = serializer.finish()?;
    if matches!(format, RdfFormat::RdfXml | RdfFormat::JsonLd { .. }) {
        output.write_all(b"\n")?;
    }
    output.flush()?;
    Ok(())
}

/// Calls `each` with every quad of the graphs, graph after graph.
fn each_quad(
    snapshot: &Snapshot,
    graph: GraphSelector,
    each: &mut dyn FnMut(Quad) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let pattern = Pattern {
        subject: None,
        predicate: None,
        object: None,
        graph,
    };
    let order = match graph {
        GraphSelector::Default => Order::Spo,
        _ => Order::Gspo,
    };
    let (prefix, bound) = pattern
        .prefix_in(order)
        .expect("nothing but the graph is bound");
    let free = &order.columns()[bound..];
    let mut scan = snapshot.scan(&pattern, order, ColumnMask::ALL)?;
    let mut columns = Columns::with_capacity(free.len(), CHUNK_QUADS);
    let mut ids: Vec<TermId> = Vec::with_capacity(CHUNK_QUADS * 4);
    let mut terms: Vec<Option<Term>> = Vec::with_capacity(CHUNK_QUADS * 4);
    loop {
        columns.clear();
        let rows = scan.fill(&mut columns, CHUNK_QUADS)?;
        if rows == 0 {
            return Ok(());
        }
        ids.clear();
        for position in [
            Position::Subject,
            Position::Predicate,
            Position::Object,
            Position::Graph,
        ] {
            match free.iter().position(|column| *column == position) {
                Some(column) => ids.extend_from_slice(&columns.columns[column][..rows]),
                None if graph == GraphSelector::Default => {}
                None => ids.extend(std::iter::repeat_n(prefix[0], rows)),
            }
        }
        terms.clear();
        terms.resize(ids.len(), None);
        snapshot.terms(&ids, &mut |place, term| terms[place] = Some(term))?;
        for row in 0..rows {
            let mut take =
                |column: usize| terms.get_mut(column * rows + row).and_then(Option::take);
            each(
                quad(take(0), take(1), take(2), take(3))
                    .ok_or("a term in a place it cannot have")?,
            )?;
        }
    }
}

fn quad(
    subject: Option<Term>,
    predicate: Option<Term>,
    object: Option<Term>,
    graph: Option<Term>,
) -> Option<Quad> {
    let node = |term: Term| match term {
        Term::NamedNode(node) => Some(NamedOrBlankNode::from(node)),
        Term::BlankNode(node) => Some(NamedOrBlankNode::from(node)),
        _ => None,
    };
    let Term::NamedNode(predicate) = predicate? else {
        return None;
    };
    let graph_name = match graph {
        None => GraphName::DefaultGraph,
        Some(graph) => GraphName::from(node(graph)?),
    };
    Some(Quad {
        subject: node(subject?)?,
        predicate,
        object: object?,
        graph_name,
    })
}
