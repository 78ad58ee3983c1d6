//! N-Triples and N-Quads: the fast lexer with its fallback is `oxttl`, for every byte string.
//!
//! ```text
//! cargo +nightly fuzz run lines
//! ```

#![no_main]

#[path = "../../loader/tests/common/mod.rs"]
mod common;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // The first byte tells the format, so that the text stays readable.
    let Some((first, text)) = data.split_first() else {
        return;
    };
    common::check_against_oxttl(text, first & 1 == 1);
});
