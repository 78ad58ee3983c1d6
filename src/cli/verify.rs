//! `quadrille verify`.

use super::{Failure, StoreArgument, say};
use clap::Args;
use quadrille::store::io::file::FileStorage;
use quadrille::store::verify::verify;
use std::io::{Write, stdout};

/// The options of `verify`.
#[derive(Args)]
pub struct Verify {
    #[command(flatten)]
    store: StoreArgument,
}

impl Verify {
    /// Checks everything, and lists what is wrong. A store that is too damaged to be opened is checked all the same.
    pub fn run(self) -> Result<(), Failure> {
        let report = verify(&FileStorage::open(&self.store.store)?);
        for problem in &report.problems {
            say(problem);
        }
        if report.is_sound() {
            writeln!(
                stdout(),
                "sound: {} quads, {} terms, {} files, {} bytes",
                report.quads,
                report.terms,
                report.files,
                report.bytes
            )?;
            return Ok(());
        }
        Err(format!("{} problem(s) found", report.problems.len()).into())
    }
}
