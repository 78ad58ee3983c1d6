//! The command line: arguments in, exit code out; everything else is in [`cli`].

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
