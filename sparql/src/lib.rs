//! The SPARQL engine of the Quadrille RDF store: parses a query, plans it against a snapshot, and runs it on batches of
//! ids.
//!
//! ```
//! use quadrille_sparql::{Query, QueryOptions, QueryResults};
//! use quadrille_store::Store;
//!
//! let store = Store::in_memory();
//! let ada = oxrdf::NamedNode::new("http://example.com/ada")?;
//! let knows = oxrdf::NamedNode::new("http://example.com/knows")?;
//! let charles = oxrdf::NamedNode::new("http://example.com/charles")?;
//! store.insert_quads([oxrdf::Quad::new(ada, knows, charles, oxrdf::GraphName::DefaultGraph)])?;
//!
//! let query = Query::parse("SELECT ?who WHERE { ?who <http://example.com/knows> ?whom }", None)?;
//! match query.execute(&store.snapshot(), &QueryOptions::default())? {
//!     QueryResults::Solutions(solutions) => {
//!         for solution in solutions {
//!             assert_eq!(solution?["who"].to_string(), "<http://example.com/ada>");
//!         }
//!     }
//!     QueryResults::Boolean(_) | QueryResults::Graph(_) => unreachable!("a SELECT"),
//! }
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate knows snapshots of the store; it knows no files, and of RDF's syntaxes only how graphs are written.
//! Reading order: [`query`], [`plan`], [`exec`], [`expr`], [`result`].

pub mod dataset;
pub mod error;
pub mod exec;
pub mod expr;
pub mod extensions;
pub mod nesting;
pub mod plain;
pub mod plan;
pub mod prologue;
pub mod query;
pub mod result;
pub mod service;
pub mod triples;

pub use dataset::QueryDataset;
pub use error::{QueryError, Result};
pub use exec::batch::Batch;
pub use exec::control::CancellationToken;
pub use exec::memory::default_budget as default_memory;
pub use extensions::{Accumulator, Extensions};
pub use plan::PlannerOptions;
pub use plan::explanation::{Actual, Explanation};
pub use query::{PreparedQuery, Query, QueryOptions, QueryResults, Solutions, Usage};
pub use result::{ResultFormat, Style};
pub use service::{ServiceHandler, ServiceRequest, Services};
pub use sparesults::QuerySolution;
pub use triples::Triples;
