//! The endpoints of a test: each is a store with the test's data for it, and may ask the others.

use super::manifest::Test;
use super::results::load;
use oxrdf::NamedNode;
use quadrille_sparql::service::{ServiceError, ServiceSolutions};
use quadrille_sparql::{
    Query, QueryOptions, QueryResults, ServiceHandler, ServiceRequest, Services,
};
use quadrille_store::{Snapshot, Store};
use std::collections::BTreeMap;
use std::path::Path;

/// An endpoint that tests ask and that is not there.
const MISSING: &str = "http://invalid.endpoint.org/sparql";

/// Answers from snapshots.
#[derive(Clone)]
struct Endpoints(BTreeMap<String, Snapshot>);

impl Endpoints {
    fn options(&self) -> QueryOptions {
        let services = self.0.keys().map(String::as_str).chain([MISSING]).fold(
            Services::default().with_handler(self.clone()),
            |services, endpoint| services.allowing(NamedNode::new_unchecked(endpoint)),
        );
        QueryOptions {
            services,
            ..QueryOptions::default()
        }
    }
}

impl ServiceHandler for Endpoints {
    fn select(&self, request: &ServiceRequest) -> Result<ServiceSolutions, ServiceError> {
        let snapshot = self
            .0
            .get(request.endpoint.as_str())
            .ok_or("no such host")?;
        match Query::parse(&request.query, None)?.execute(snapshot, &self.options())? {
            QueryResults::Solutions(solutions) => {
                Ok(Box::new(solutions.map(|solution| Ok(solution?))))
            }
            _ => Err("not a SELECT".into()),
        }
    }
}

/// The options that a test's queries are run with.
pub fn options(root: &Path, test: &Test) -> Result<QueryOptions, String> {
    let mut endpoints = Endpoints(BTreeMap::new());
    for (endpoint, data) in &test.services {
        let store = Store::in_memory();
        load(root, &store, data, None)?;
        endpoints.0.insert(endpoint.clone(), store.snapshot());
    }
    Ok(endpoints.options())
}
