//! `quadrille dump`.

use super::{Failure, StoreArgument};
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
    /// The syntax: nq, nt, trig, ttl, rdf, jsonld; by default what the file's extension says, or nq.
    #[arg(long, value_parser = format)]
    format: Option<RdfFormat>,
    /// Only this graph; `default` is the default graph. A syntax without graphs needs one.
    #[arg(long, value_name = "IRI|default")]
    graph: Option<String>,
    /// Write to this file instead of standard output; it is complete, or not there.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

fn format(name: &str) -> Result<RdfFormat, String> {
    RdfFormat::from_extension(name)
        .ok_or_else(|| format!("{name:?} is no syntax; write nq, nt, trig, ttl, rdf or jsonld"))
}

impl Dump {
    /// Writes the quads.
    pub fn run(self) -> Result<(), Failure> {
        let by_name = self.out.as_ref().and_then(|path| path.extension()?.to_str());
        let format = self
            .format
            .or_else(|| by_name.and_then(RdfFormat::from_extension))
            .unwrap_or(RdfFormat::NQuads);
        let snapshot = self.store.read()?.snapshot();
        let graph = self.graph.as_deref().map(|name| selected(&snapshot, name)).transpose()?;
        if graph.is_none() && !format.supports_datasets() && !snapshot.named_graphs()?.is_empty() {
            return Err(format!(
                "the store has named graphs, and {format} has none: choose one with --graph"
            )
            .into());
        }
        match &self.out {
            None => write(&snapshot, graph, format, BufWriter::new(stdout().lock())),
            Some(path) => {
                let mut partial = path.clone().into_os_string();
                partial.push(".partial");
                let partial = PathBuf::from(partial);
                let name = |error| format!("{}: {error}", partial.display());
                let file = File::create(&partial).map_err(name)?;
                let written = write(&snapshot, graph, format, BufWriter::new(file));
                if written.is_err() {
                    std::fs::remove_file(&partial).map_err(name)?;
                    return written;
                }
                Ok(std::fs::rename(&partial, path).map_err(name)?)
            }
        }
    }
}

/// The graph of a name; `None` inside if the store does not have it.
fn selected(snapshot: &Snapshot, name: &str) -> Result<Option<GraphSelector>, Failure> {
    if name == "default" {
        return Ok(Some(GraphSelector::Default));
    }
    let node = NamedNode::new(name).map_err(|error| format!("--graph {name}: {error}"))?;
    Ok(snapshot.term_id(node.as_ref().into())?.map(GraphSelector::Named))
}

/// Writes the quads of one graph, or of all.
fn write(
    snapshot: &Snapshot,
    graph: Option<Option<GraphSelector>>,
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
    let selectors = match graph {
        None => vec![GraphSelector::Default, GraphSelector::AnyNamed],
        Some(one) => one.into_iter().collect(),
    };
    for selector in selectors {
        each_quad(snapshot, selector, &mut |mut quad| {
            if !in_its_graph {
                quad.graph_name = GraphName::DefaultGraph;
            }
            Ok(serializer.serialize_quad(&quad)?)
        })?;
    }
    serializer.finish()?.flush()?;
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
    let (prefix, bound) = pattern.prefix_in(order).expect("nothing but the graph is bound");
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
        for position in [Position::Subject, Position::Predicate, Position::Object, Position::Graph] {
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
            let mut take = |column: usize| terms.get_mut(column * rows + row).and_then(Option::take);
            each(quad(take(0), take(1), take(2), take(3)).ok_or("a term in a place it cannot have")?)?;
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
