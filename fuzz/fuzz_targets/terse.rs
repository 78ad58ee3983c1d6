//! Turtle and `TriG`: a document cut into slices has the verdict and the number of statements it has as a whole.
//!
//! ```text
//! cargo +nightly fuzz run terse
//! ```

#![no_main]

#[path = "../../loader/tests/common/mod.rs"]
mod common;

use common::{Collector, parse_inputs, reader};
use libfuzzer_sys::fuzz_target;
use quadrille_loader::input::{Format, InputOptions};
use quadrille_loader::parse::ParseOptions;

fuzz_target!(|data: &[u8]| {
    // The first byte tells the format and the size of slices.
    let Some((first, text)) = data.split_first() else {
        return;
    };
    let format = if first & 1 == 1 {
        Format::TriG
    } else {
        Format::Turtle
    };
    let parse = |slice_size| {
        let input = InputOptions {
            slice_size,
            base: Some(oxrdf::NamedNode::new_unchecked("http://base/")),
            ..InputOptions::default()
        };
        let mut collector = Collector::default();
        let inputs = vec![reader(text, format)];
        let result = parse_inputs(inputs, &input, ParseOptions::default(), &mut collector);
        result.map(|counts| counts.statements).ok()
    };
    let whole = parse(1 << 20);
    assert_eq!(whole, parse(1 + usize::from(first >> 1)));
});
