//! The parallel bulk loader: from RDF files to a new segment of a store.
//!
//! This crate knows RDF syntaxes and the store; it knows no SPARQL. Reading order: [`pipeline`] (threads that
//! read, parse and insert), [`input`], [`parse`], [`batch`], [`queue`], [`insert`], then what becomes of it:
//! [`vocabulary`] (terms are merged and numbered), [`build`] (rows are sorted and written), [`load`].

pub mod batch;
pub mod build;
pub mod chunk;
pub mod error;
pub mod existing;
pub mod input;
pub mod insert;
pub mod key;
pub mod large;
pub mod load;
pub mod memory;
pub mod options;
pub mod parse;
pub mod pipeline;
pub mod progress;
pub mod queue;
pub mod rejects;
pub mod report;
pub mod run;
pub mod sort;
pub mod syncing;
pub mod triple_term;
pub mod usage;
pub mod vocabulary;
mod workers;

pub use error::LoadError;
pub use load::{disk_shortage, load};
pub use options::{CancelFlag, LoadOptions, OnError};
pub use report::LoadReport;
