//! Inference by rules: what follows from the explicit quads of a store by RDFS or a subset of OWL 2 RL is computed once and
//! stored beside them.
//!
//! ```text
//! schema triples of the data -> ontology -> rules                ontology.rs, profile/, rule.rs
//! rules, snapshot -> fixpoint, semi-naive, on all threads        fixpoint.rs, evaluate.rs, facts.rs, run.rs
//! inferred triples -> segment -> published                       write.rs, infer.rs
//! ```
//!
//! This crate knows snapshots and segments; it knows no syntax and no SPARQL.

mod error;
mod evaluate;
mod facts;
mod fixpoint;
mod infer;
mod ontology;
mod options;
mod profile;
mod rule;
mod run;
mod vocabulary;
mod workers;
mod write;

pub use error::{InferError, Result};
pub use infer::{InferReport, Mode, infer};
pub use options::InferOptions;
pub use profile::Profile;
