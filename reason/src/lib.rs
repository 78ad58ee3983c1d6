//! Inference by rules: what follows from the explicit quads of a store by RDFS or a subset of OWL 2 RL is computed once and
//! stored beside them.
//!
//! ```text
//! schema triples of the data -> ontology -> rules                ontology.rs, profile/, rule.rs
//! rules that a user writes                                     datalog.rs
//! rules, snapshot -> fixpoint, semi-naive, on all threads        fixpoint.rs, evaluate.rs, facts.rs, run.rs
//! inferred triples -> segment -> published                       write.rs, infer.rs
//! a triple -> its derivation                                     explain.rs
//! ```
//!
//! This crate knows snapshots and segments; it knows no syntax and no SPARQL.

mod consistency;
mod datalog;
mod error;
mod evaluate;
mod explain;
mod facts;
mod fixpoint;
mod infer;
mod memory;
mod ontology;
mod options;
mod profile;
mod rule;
mod run;
mod vocabulary;
mod workers;
mod write;

pub use consistency::{Contradiction, Contradictions, SHOWN_MAX};
pub use datalog::{Part, RuleError, UserRule, UserRules};
pub use error::{InferError, Result};
pub use explain::{Reason, Step, explain};
pub use infer::{InferReport, Mode, WITH_RULES, infer};
pub use options::InferOptions;
pub use profile::Profile;
