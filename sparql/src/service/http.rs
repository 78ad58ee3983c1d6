//! Endpoints over HTTP: the SPARQL 1.1 Protocol, section 2.1.2 (query by POST with URL-encoded parameters).
//!
//! No redirection is followed: it could lead to an endpoint that is not allowed. `https` needs the feature `service-tls`.

use super::{ServiceError, ServiceHandler, ServiceRequest, ServiceSolutions};
use sparesults::{QueryResultsFormat, QueryResultsParser, ReaderQueryResultsParserOutput};
use std::fmt;
use std::io::BufReader;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use ureq::Agent;

/// The results that are understood, the best first.
const ACCEPT: &str = "application/sparql-results+json, application/sparql-results+xml;q=0.9";
/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// The handler of queries for which the program has none: one, so that they share connections.
pub(super) fn shared() -> Arc<dyn ServiceHandler> {
    static SHARED: LazyLock<Arc<HttpHandler>> = LazyLock::new(Arc::default);
    Arc::clone(&*SHARED) as Arc<dyn ServiceHandler>
}

/// Asks endpoints over HTTP. Connections are kept for further requests.
pub struct HttpHandler {
    agent: Agent,
}

impl HttpHandler {
    /// A handler without connections.
    pub fn new() -> Self {
        let config = Agent::config_builder()
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .user_agent(concat!("quadrille/", env!("CARGO_PKG_VERSION")))
            .build();
        Self {
            agent: Agent::new_with_config(config),
        }
    }
}

impl Default for HttpHandler {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for HttpHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpHandler").finish_non_exhaustive()
    }
}

impl ServiceHandler for HttpHandler {
    fn select(&self, request: &ServiceRequest) -> Result<ServiceSolutions, ServiceError> {
        let response = self
            .agent
            .post(request.endpoint.as_str())
            .config()
            .timeout_global(request.timeout)
            .build()
            .header("accept", ACCEPT)
            .send_form([("query", request.query.as_str())])?;
        if !response.status().is_success() {
            return Err(format!("the endpoint answers with status {}", response.status()).into());
        }
        let body = response.into_body();
        let Some(format) = body
            .mime_type()
            .and_then(QueryResultsFormat::from_media_type)
        else {
            let kind = body.mime_type().unwrap_or("no media type");
            return Err(
                format!("the endpoint answers with {kind}, which is no SPARQL result").into(),
            );
        };
        let reader = BufReader::new(body.into_reader());
        match QueryResultsParser::from_format(format).for_reader(reader)? {
            ReaderQueryResultsParserOutput::Solutions(solutions) => {
                Ok(Box::new(solutions.map(|solution| Ok(solution?))))
            }
            ReaderQueryResultsParserOutput::Boolean(_) => {
                Err("the endpoint answers a SELECT with a boolean".into())
            }
        }
    }
}
