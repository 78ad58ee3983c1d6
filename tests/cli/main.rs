//! The command line, tested from outside: the built program in directories of its own, its exit codes, what it writes to
//! which stream, and what is left on the disk.
//!
//! What every test relies on: exit code 0 = done, 1 = the work failed, 2 = wrong usage; results on standard output, all
//! else on standard error; a failure is one line that begins with `quadrille: ` and says where and why.

mod dump;
mod failures;
mod infer;
mod interrupted;
mod load;
mod lubm;
mod query;
mod service;
mod support;
mod usage;
