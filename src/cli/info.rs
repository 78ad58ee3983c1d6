//! `quadrille info`.

use super::{Failure, StoreArgument};
use clap::Args;
use quadrille::store::info::{Size, StoreInfo};
use std::io::{Write, stdout};

/// The options of `info`.
#[derive(Args)]
pub struct Info {
    #[command(flatten)]
    store: StoreArgument,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

impl Info {
    /// Prints it.
    pub fn run(self) -> Result<(), Failure> {
        let info = self.store.read()?.info()?;
        let mut output = stdout().lock();
        if self.json {
            writeln!(output, "{}", serde_json::to_string_pretty(&info)?)?;
        } else {
            write(&info, &mut output)?;
        }
        Ok(())
    }
}

fn write(info: &StoreInfo, output: &mut impl Write) -> std::io::Result<()> {
    let per_quad = |size: &Size| size.bytes as f64 / info.quads.max(1) as f64;
    writeln!(output, "store             {}", info.store)?;
    writeln!(
        output,
        "quads             {} ({} in the default graph)",
        info.quads, info.default_graph_quads
    )?;
    if let Some(inference) = &info.inference {
        let state = if inference.stale {
            "stale: quads have changed since"
        } else {
            "up to date"
        };
        writeln!(
            output,
            "inferred          {} quads by {} ({state}), beside {} explicit ones",
            info.inferred_quads, inference.profile, info.explicit_quads
        )?;
    }
    writeln!(output, "named graphs      {}", info.named_graphs)?;
    let terms = &info.terms;
    writeln!(
        output,
        "terms             {} IRIs, {} literals, {} numeric and {} temporal literals that are not inline, \
         {} blank nodes, {} triple terms",
        terms.iris,
        terms.literals,
        terms.numeric_literals,
        terms.temporal_literals,
        terms.blank_nodes,
        terms.triple_terms
    )?;
    for segment in &info.segments {
        writeln!(
            output,
            "segment           {}: {} {}quads, {} tombstones, {} predicates, {} bytes",
            segment.path,
            segment.quads,
            if segment.inferred { "inferred " } else { "" },
            segment.tombstones,
            segment.predicates,
            segment.bytes
        )?;
    }
    let part = |output: &mut dyn Write, name: &str, size: &Size| {
        let bytes = size.bytes;
        writeln!(
            output,
            "{name:<17} {bytes:>14} bytes {:>7.2} a quad",
            per_quad(size)
        )
    };
    for (order, size) in &info.files.orders {
        part(output, order, size)?;
    }
    part(output, "dictionaries", &info.files.dictionaries)?;
    part(output, "triple tables", &info.files.triple_tables)?;
    part(output, "statistics", &info.files.statistics)?;
    part(output, "all files", &info.files.total)?;
    for (prefix, iri) in &info.prefixes {
        writeln!(output, "prefix            {prefix}: <{iri}>")?;
    }
    Ok(())
}
