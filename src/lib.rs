//! Quadrille: an RDF quad store with a parallel bulk loader and a SPARQL engine, for embedding.
//!
//! ```
//! use quadrille::load::{Format, InputFile, LoadOptions, load};
//! use quadrille::sparql::{Query, QueryOptions, QueryResults};
//! use quadrille::Store;
//!
//! // A store in memory; `Store::open(path)` makes or opens one in a directory.
//! let store = Store::in_memory();
//!
//! // The loader is the one behind the command line: any RDF syntax, all threads, all or nothing.
//! let data = "@prefix : <http://example.org/> . :ada :knows :charles . :charles :age 44 .";
//! let input = InputFile::from_reader("example", Box::new(data.as_bytes()), Format::Turtle, 0);
//! let report = load(&store, vec![input], &LoadOptions::default())?;
//! assert_eq!(report.quads_new, 2);
//!
//! // A query is parsed once and runs on any snapshot; snapshots never wait for writers.
//! let query = Query::parse(
//!     "PREFIX : <http://example.org/>
//!      SELECT ?friend ?age WHERE { :ada :knows ?friend . ?friend :age ?age FILTER(?age > 40) }",
//!     None,
//! )?;
//! let QueryResults::Solutions(solutions) =
//!     query.execute(&store.snapshot(), &QueryOptions::default())?
//! else {
//!     unreachable!("a SELECT has solutions")
//! };
//! for solution in solutions {
//!     let solution = solution?;
//!     println!("{} is {}", solution["friend"], solution["age"]);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The parts, each a crate of its own: [`store`] (terms, ids, quad indexes, segments, snapshots), [`load`] (from files to a
//! segment), [`reason`] (what follows from the data by rules), [`sparql`] (queries); [`rules`] reads rules that are written as queries. Terms are those of [`oxrdf`], here as [`model`].

pub mod rules;

pub use oxrdf as model;
pub use quadrille_reason as reason;
pub use quadrille_sparql as sparql;
pub use quadrille_store as store;

pub use quadrille_store::{Snapshot, Store, StoreError};

/// The bulk loader.
pub mod load {
    pub use quadrille_loader::input::{Format, InputFile, Location};
    pub use quadrille_loader::memory::BUDGET_MINIMUM_BYTES;
    pub use quadrille_loader::progress::{LoadProgress, Phase};
    pub use quadrille_loader::queue::WaitStrategy;
    pub use quadrille_loader::report::LoadReport;
    pub use quadrille_loader::{CancelFlag, LoadError, LoadOptions, OnError, disk_shortage, load};

    use std::path::PathBuf;

    /// The inputs that paths stand for: files, directories (every RDF file below them), `-` for standard input. The
    /// syntax of each is `format`, or else what its name says.
    pub fn discover(
        paths: &[PathBuf],
        format: Option<Format>,
    ) -> Result<Vec<InputFile>, LoadError> {
        quadrille_loader::input::discover(paths, format, 0)
    }
}
