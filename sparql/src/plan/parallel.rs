//! Dividing a plan among threads: finds the part of it that can be computed for parts of a scan, each by itself.
//!
//! The rows of a scan go up through operators that deal with each row by itself (filters, assignments, lookups, merge joins that
//! skip to where their left rows are, joins with rows in memory). Up to the first operator that must see all rows (sorts, groups, DISTINCT), the
//! rows of a part of the scan give just that part of the rows above. That stretch becomes a [`Operation::Gather`]. Rows that its joins
//! keep in memory are kept once, before it begins, and may come from another one.
//!
//! Sorts, groups and DISTINCT take the threads of the `Gather` below them over ([`Operator::take_pipeline`]).
//!
//! [`Operator::take_pipeline`]: crate::exec::operator::Operator::take_pipeline

use super::physical::{Node, Operation, ScanNode};
use crate::exec::key_counts::rows_read;
use std::sync::Arc;

/// Rows of a part: enough that building operators for it costs next to nothing, and so few that the rows above it are computed
/// before it is their turn to be read.
const PART_ROWS: f64 = 16_384.0;
/// Parts for each thread at least, so that threads end together though parts differ; and the most there are in all.
const PARTS_A_THREAD: usize = 8;
const PARTS_MAX: usize = 1024;

/// A scan with fewer rows than are worth threads by this factor is divided if they are expected to become more than these by the same
/// factor: an expectation may be wrong.
const JOINED_ROWS_FACTOR: f64 = 8.0;

/// Rows are grouped by several threads if they are more than are worth threads in a scan by this factor: two phases cost more than
/// one.
const GROUPED_ROWS_FACTOR: f64 = 8.0;

/// Divides a plan among threads where a scan has at least so many rows.
pub fn divide(node: &mut Node, threads: usize, rows_min: usize) {
    if threads > 1 {
        Divider {
            threads,
            rows_min: rows_min as f64,
        }
        .divide(node);
    }
}

struct Divider {
    threads: usize,
    rows_min: f64,
}

impl Divider {
    fn divide(&self, node: &mut Node) {
        let is_worth_it = scan_rows(node).is_some_and(|rows| self.is_worth_it(node, rows));
        if is_worth_it && let Some((scan, rows)) = divisible_scan(node) {
            scan.is_divided = true;
            let scan = Arc::new(scan.clone());
            self.divide_kept(node);
            self.gather(node, scan, rows);
            return;
        }
        match &mut node.operation {
            // Who wants few rows may have them before a thread is there, unless they depend on all rows.
            Operation::Slice {
                limit: Some(limit),
                offset,
                input,
            } if (offset.saturating_add(*limit) as f64) < self.rows_min => {
                if let Some(all_rows) = all_rows_below(input) {
                    self.divide(all_rows);
                }
            }
            Operation::KeyCounts {
                patterns,
                is_by_key: false,
                threads,
                ..
            } if rows_read(patterns) >= self.rows_min => *threads = self.threads,
            Operation::Slice { input, .. }
            | Operation::Sort { input, .. }
            | Operation::Distinct { input }
            | Operation::Adjacent { input }
            | Operation::Filter { input, .. }
            | Operation::Extend { input, .. }
            | Operation::Project { input, .. }
            | Operation::Attach { input, .. }
            | Operation::Marks { input, .. }
            | Operation::Construct { input, .. }
            | Operation::Describe { input, .. }
            | Operation::Path { input, .. }
            | Operation::CrossJoin { left: input, .. }
            | Operation::BindJoin { left: input, .. }
            | Operation::SortedJoin { left: input, .. }
            | Operation::LookupJoin { outer: input, .. }
            | Operation::LeapfrogJoin { outer: input, .. } => self.divide(input),
            Operation::HashJoin { left, right, .. }
            | Operation::CompatibleJoin { left, right, .. } => {
                self.divide(left);
                self.divide_work(right);
            }
            Operation::GroupBy {
                input, is_divided, ..
            } => {
                *is_divided = input.rows >= self.rows_min * GROUPED_ROWS_FACTOR;
                self.divide(input);
            }
            Operation::Union { inputs } => {
                for input in inputs {
                    self.divide_work(input);
                }
            }
            _ => {}
        }
    }

    /// Divides a node for who reads its rows alone, unless it does no more than read them: handing rows over takes longer.
    fn divide_work(&self, node: &mut Node) {
        if !is_mere_scan(node) {
            self.divide(node);
        }
    }

    /// Whether the divisible scan below a node is divided, which has so many rows.
    fn is_worth_it(&self, node: &Node, scan_rows: f64) -> bool {
        scan_rows >= self.rows_min
            || scan_rows >= self.rows_min / JOINED_ROWS_FACTOR
                && joined_rows(node) >= self.rows_min * JOINED_ROWS_FACTOR
    }

    /// Divides what joins keep, from a node down to the scan that is divided.
    fn divide_kept(&self, node: &mut Node) {
        if let Operation::HashJoin { right, .. } | Operation::CompatibleJoin { right, .. } =
            &mut node.operation
        {
            self.divide_work(right);
        }
        if let Some(input) = node.divided_input_mut() {
            self.divide_kept(input);
        }
    }

    fn gather(&self, node: &mut Node, scan: Arc<ScanNode>, scan_rows: f64) {
        let (variables, sorted_by) = (node.variables.clone(), node.sorted_by.clone());
        let gather = Node {
            variables,
            sorted_by,
            rows: node.rows,
            operation: Operation::Unit,
        };
        let input = Arc::new(std::mem::replace(node, gather));
        node.operation = Operation::Gather {
            input,
            scan,
            threads: self.threads,
            parts: ((scan_rows / PART_ROWS) as usize)
                .max(self.threads * PARTS_A_THREAD)
                .min(PARTS_MAX),
        };
    }
}

/// Whether a node gives the rows of a scan and does nothing with them.
fn is_mere_scan(node: &Node) -> bool {
    match &node.operation {
        Operation::Scan(_) => true,
        Operation::Project { input, .. } => is_mere_scan(input),
        _ => false,
    }
}

/// The first node, from this one down, whose first row depends on all rows of its input.
fn all_rows_below(node: &mut Node) -> Option<&mut Node> {
    if let Operation::Sort { .. } | Operation::GroupBy { .. } = node.operation {
        return Some(node);
    }
    match &mut node.operation {
        Operation::Project { input, .. }
        | Operation::Extend { input, .. }
        | Operation::Filter { input, .. }
        | Operation::Distinct { input }
        | Operation::Adjacent { input } => all_rows_below(input),
        _ => None,
    }
}

/// The scan whose parts give parts of the node's rows, and how many rows it is expected to have.
fn divisible_scan(node: &mut Node) -> Option<(&mut ScanNode, f64)> {
    if !matches!(node.operation, Operation::Scan(_)) {
        return divisible_scan(node.divided_input_mut()?);
    }
    match &mut node.operation {
        Operation::Scan(scan) => Some((scan, node.rows)),
        _ => None,
    }
}

/// How many rows the divisible scan is expected to have.
fn scan_rows(node: &Node) -> Option<f64> {
    match &node.operation {
        Operation::Scan(_) => Some(node.rows),
        _ => scan_rows(node.divided_input()?),
    }
}

/// The most rows that are expected from the divisible scan up to a node.
fn joined_rows(node: &Node) -> f64 {
    let below = node.divided_input().map_or(0.0, joined_rows);
    node.rows.max(below)
}

impl Node {
    /// The input whose parts give parts of this node's rows.
    pub fn divided_input(&self) -> Option<&Self> {
        match &self.operation {
            Operation::Filter { input, .. }
            | Operation::Extend { input, .. }
            | Operation::Project { input, .. }
            | Operation::Attach { input, .. }
            | Operation::Marks { input, .. }
            | Operation::Construct { input, .. }
            | Operation::TripleTerms { input, .. }
            | Operation::LookupJoin { outer: input, .. }
            | Operation::LeapfrogJoin { outer: input, .. }
            | Operation::HashJoin { left: input, .. }
            | Operation::CompatibleJoin { left: input, .. }
            | Operation::BindJoin { left: input, .. }
            | Operation::CrossJoin { left: input, .. } => Some(input),
            // The right input is read again for each part, so it must not be read from its beginning.
            Operation::MergeJoin { left, right, .. }
            | Operation::SortedJoin { left, right, .. }
                if skips(right) =>
            {
                Some(left)
            }
            _ => None,
        }
    }

    /// The same, to be changed.
    fn divided_input_mut(&mut self) -> Option<&mut Self> {
        match &mut self.operation {
            Operation::Filter { input, .. }
            | Operation::Extend { input, .. }
            | Operation::Project { input, .. }
            | Operation::Attach { input, .. }
            | Operation::Marks { input, .. }
            | Operation::Construct { input, .. }
            | Operation::TripleTerms { input, .. }
            | Operation::LookupJoin { outer: input, .. }
            | Operation::LeapfrogJoin { outer: input, .. }
            | Operation::HashJoin { left: input, .. }
            | Operation::CompatibleJoin { left: input, .. }
            | Operation::BindJoin { left: input, .. }
            | Operation::CrossJoin { left: input, .. } => Some(input),
            Operation::MergeJoin { left, right, .. }
            | Operation::SortedJoin { left, right, .. }
                if skips(right) =>
            {
                Some(left)
            }
            _ => None,
        }
    }
}

/// Whether the node's operator skips rows when it is told to, rather than to read them.
fn skips(node: &Node) -> bool {
    match &node.operation {
        Operation::Scan(_) => true,
        Operation::Filter { input, .. }
        | Operation::Extend { input, .. }
        | Operation::Project { input, .. }
        | Operation::Adjacent { input }
        | Operation::SortedJoin { left: input, .. } => skips(input),
        Operation::MergeJoin { left, right, .. } => skips(left) && skips(right),
        Operation::LookupJoin { outer, lookup, .. } => lookup.is_sorted && skips(outer),
        Operation::LeapfrogJoin { outer, .. } => skips(outer),
        _ => false,
    }
}
