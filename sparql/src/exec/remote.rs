//! `Remote`: the rows of an endpoint's answer, read on a thread of its own.
//!
//! Who waits for an endpoint looks at whether the query was stopped all the while. A thread that is left behind ends with its
//! next rows, or when the request's time is over.

use super::control::Control;
use crate::error::{QueryError, Result};
use crate::service::{ServiceError, ServiceHandler, ServiceRequest};
use oxrdf::NamedNode;
use sparesults::QuerySolution;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Rows that are handed over at a time.
const MESSAGE_ROWS: usize = 64;
/// Messages that wait to be taken.
const MESSAGES_MAX: usize = 4;
/// How often one looks at whether the query was stopped.
const PATIENCE: Duration = Duration::from_millis(10);

enum Message {
    Rows(Vec<QuerySolution>),
    Failed(ServiceError),
    End,
}

/// The rows of an answer.
pub struct Remote {
    endpoint: NamedNode,
    messages: Receiver<Message>,
}

impl Remote {
    /// Sends a query.
    ///
    /// # Errors
    /// If there is no thread.
    pub fn ask(handler: &Arc<dyn ServiceHandler>, request: ServiceRequest) -> Result<Self> {
        let (sender, messages) = sync_channel(MESSAGES_MAX);
        let (handler, endpoint) = (Arc::clone(handler), request.endpoint.clone());
        std::thread::Builder::new()
            .name("service".to_owned())
            .spawn(move || {
                let last = match read(handler.as_ref(), &request, &sender) {
                    Ok(()) => Message::End,
                    Err(error) => Message::Failed(error),
                };
                // Who is gone does not want to know.
                let _ = sender.send(last);
            })
            .map_err(|error| QueryError::Service {
                endpoint: endpoint.clone(),
                source: error.into(),
            })?;
        Ok(Self { endpoint, messages })
    }

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// [`QueryError::Service`], or the query was stopped.
    pub fn next(&mut self, control: &Control) -> Result<Option<Vec<QuerySolution>>> {
        let failed = |source| QueryError::Service {
            endpoint: self.endpoint.clone(),
            source,
        };
        loop {
            control.check()?;
            match self.messages.recv_timeout(PATIENCE) {
                Ok(Message::Rows(rows)) => return Ok(Some(rows)),
                Ok(Message::End) => return Ok(None),
                Ok(Message::Failed(error)) => {
                    // A request's time is the query's.
                    control.check()?;
                    return Err(failed(error));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(failed("the thread that asked it panicked".into()));
                }
            }
        }
    }
}

fn read(
    handler: &dyn ServiceHandler,
    request: &ServiceRequest,
    sender: &SyncSender<Message>,
) -> std::result::Result<(), ServiceError> {
    let mut rows = Vec::new();
    for solution in handler.select(request)? {
        rows.push(solution?);
        if rows.len() == MESSAGE_ROWS
            && sender
                .send(Message::Rows(std::mem::take(&mut rows)))
                .is_err()
        {
            return Ok(());
        }
    }
    if !rows.is_empty() {
        // The end is told after them, or to nobody.
        let _ = sender.send(Message::Rows(rows));
    }
    Ok(())
}
