//! SERVICE (SPARQL 1.1 Federated Query): which endpoints a query may ask, and who asks them.
//!
//! Nobody is asked unless the program allows the endpoint: a query's author could otherwise have this process send requests
//! wherever it can. The engine checks that; a [`ServiceHandler`] only sends queries and reads answers. With the feature `service`
//! there is one for HTTP ([`http`]); a program may give its own with or without it.

#[cfg(feature = "service")]
pub mod http;

use oxrdf::NamedNode;
use sparesults::QuerySolution;
use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What went wrong with an endpoint.
pub type ServiceError = Box<dyn Error + Send + Sync>;

/// The rows of an endpoint's answer, read while they come. An error is the last item.
pub type ServiceSolutions = Box<dyn Iterator<Item = Result<QuerySolution, ServiceError>>>;

/// A query for an endpoint.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServiceRequest {
    /// Who is asked; one that the program allowed.
    pub endpoint: NamedNode,
    /// A SELECT, as text.
    pub query: String,
    /// What is left of the query's time.
    pub timeout: Option<Duration>,
}

/// Asks endpoints.
pub trait ServiceHandler: Send + Sync {
    /// Sends a query and begins to read the answer. It is called on a thread of its own, which may block: once the query has
    /// ended nobody waits for it, and it should not run for much longer than the request's time.
    ///
    /// # Errors
    /// Whatever the endpoint, or the way to it, has: [`crate::QueryError::Service`] names the endpoint besides.
    fn select(&self, request: &ServiceRequest) -> Result<ServiceSolutions, ServiceError>;
}

/// The endpoints that SERVICE may ask, none by default, and who asks them. Cheap to clone.
#[derive(Clone)]
#[cfg_attr(not(feature = "service"), derive(Default))]
pub struct Services {
    allowed: Arc<BTreeSet<NamedNode>>,
    handler: Option<Arc<dyn ServiceHandler>>,
}

#[cfg(feature = "service")]
impl Default for Services {
    fn default() -> Self {
        Self {
            allowed: Arc::default(),
            handler: Some(http::shared()),
        }
    }
}

impl Services {
    /// The same with one more endpoint that may be asked: exactly this IRI.
    #[must_use]
    pub fn allowing(mut self, endpoint: NamedNode) -> Self {
        Arc::make_mut(&mut self.allowed).insert(endpoint);
        self
    }

    /// The same with another way of asking.
    #[must_use]
    pub fn with_handler(mut self, handler: impl ServiceHandler + 'static) -> Self {
        self.handler = Some(Arc::new(handler));
        self
    }

    /// Whether an endpoint may be asked.
    pub fn allows(&self, endpoint: &NamedNode) -> bool {
        self.allowed.contains(endpoint)
    }

    pub(crate) fn handler(&self) -> Option<&Arc<dyn ServiceHandler>> {
        self.handler.as_ref()
    }
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services")
            .field("allowed", &self.allowed)
            .finish_non_exhaustive()
    }
}
