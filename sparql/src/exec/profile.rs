//! `Profile`: what each node of a plan did while the query ran. There is one only if it was asked for; then each operator
//! stands behind a [`Measured`] one, and reserves memory and writes temporary files on its own account.
//!
//! What is planned while the query runs (a block for each graph, an EXISTS) counts for the node that runs it.

use super::batch::Batch;
use super::control::Control;
use super::gather::Pipeline;
use super::operator::{IndexReads, Operator};
use crate::error::Result;
use crate::plan::explanation::Actual;
use crate::plan::physical::Node;
use hashbrown::HashMap;
use quadrille_store::TermId;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What the nodes of one plan did.
#[derive(Debug, Default)]
pub struct Profile {
    /// By the address of the node, which stays where it is while the query runs.
    entries: Mutex<HashMap<usize, Arc<Entry>>>,
}

/// What one node did, in all runs of its operator.
#[derive(Debug)]
pub struct Entry {
    /// With the node's own accounts.
    pub control: Arc<Control>,
    rows: AtomicU64,
    batches: AtomicU64,
    nanoseconds: AtomicU64,
    searches: AtomicU64,
    rows_read: AtomicU64,
}

impl Profile {
    /// The entry of a node, which is new the first time. `control` is the query's.
    pub fn entry(&self, node: &Node, control: &Control) -> Arc<Entry> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            Arc::new(Entry {
                control: Arc::new(control.with_own_accounts()),
                rows: AtomicU64::new(0),
                batches: AtomicU64::new(0),
                nanoseconds: AtomicU64::new(0),
                searches: AtomicU64::new(0),
                rows_read: AtomicU64::new(0),
            })
        };
        Arc::clone(entries.entry(node.address()).or_insert_with(new))
    }

    /// What a node did; `None` if it had no operator of its own, or was never run.
    pub fn actual(&self, node: &Node) -> Option<Actual> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.get(&node.address())?;
        // Whoever counted is done.
        let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Some(Actual {
            rows: number(&entry.rows),
            batches: number(&entry.batches),
            time: Duration::from_nanos(number(&entry.nanoseconds)),
            own_time: Duration::ZERO,
            searches: number(&entry.searches),
            rows_read: number(&entry.rows_read),
            memory_peak_bytes: entry.control.memory().own_peak_bytes(),
            spilled_bytes: entry.control.scratch().written_bytes(),
        })
    }
}

/// Measures an operator.
pub struct Measured {
    operator: Box<dyn Operator>,
    entry: Arc<Entry>,
    /// What was counted of its reads.
    counted: IndexReads,
}

impl Measured {
    /// Measures for an entry.
    pub fn new(operator: Box<dyn Operator>, entry: Arc<Entry>) -> Self {
        Self {
            operator,
            entry,
            counted: IndexReads::default(),
        }
    }

    fn spent_since(&self, start: Instant) {
        let nanoseconds = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        count(&self.entry.nanoseconds, nanoseconds);
    }

    fn count_reads(&mut self) {
        let reads = self.operator.index_reads();
        count(&self.entry.searches, reads.searches - self.counted.searches);
        count(&self.entry.rows_read, reads.rows - self.counted.rows);
        self.counted = reads;
    }
}

fn count(counter: &AtomicU64, more: u64) {
    // Nothing else is published with the numbers.
    counter.fetch_add(more, Ordering::Relaxed);
}

impl Operator for Measured {
    fn next(&mut self, output: &mut Batch) -> Result<usize> {
        let start = Instant::now();
        let result = self.operator.next(output);
        self.spent_since(start);
        self.count_reads();
        if let Ok(rows @ 1..) = &result {
            count(&self.entry.rows, *rows as u64);
            count(&self.entry.batches, 1);
        }
        result
    }

    fn skip_to(&mut self, key: &[TermId]) -> Result<()> {
        let start = Instant::now();
        let result = self.operator.skip_to(key);
        self.spent_since(start);
        self.count_reads();
        result
    }

    fn take_pipeline(&mut self) -> Result<Option<Pipeline>> {
        let start = Instant::now();
        let pipeline = self.operator.take_pipeline();
        self.spent_since(start);
        let entry = Arc::clone(&self.entry);
        Ok(pipeline?.map(|pipeline| {
            let width = pipeline.width;
            pipeline.map(width, move |part| {
                Box::new(Self::new(part, Arc::clone(&entry)))
            })
        }))
    }
}
