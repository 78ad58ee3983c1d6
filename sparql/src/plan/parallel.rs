//! Dividing a plan among threads: finds the part of it that can be computed for parts of a scan, each by itself.
//!
//! The rows of a scan go up through operators that deal with each row by itself (filters, assignments, lookups, merge joins that
//! skip to where their left rows are). Up to the first operator that must see all rows (sorts, groups, DISTINCT, joins that keep an
//! input in memory), the rows of a part of the scan give just that part of the rows above. That stretch becomes a
//! [`Operation::Gather`].

use super::physical::{Node, Operation, ScanNode};
use crate::exec::key_counts::rows_read;
use std::sync::Arc;

/// Rows of a part: enough that building operators for it costs next to nothing, and so few that the rows above it are computed
/// before it is their turn to be read.
const PART_ROWS: f64 = 16_384.0;
/// Parts for each thread at least, so that threads end together though parts differ; and the most there are in all.
const PARTS_A_THREAD: usize = 8;
const PARTS_MAX: usize = 1024;

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
        if let Some((scan, rows)) = divisible_scan(node) {
            if rows >= self.rows_min {
                scan.is_divided = true;
                let scan = Arc::new(scan.clone());
                self.gather(node, scan, rows);
            }
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
            | Operation::GroupBy { input, .. }
            | Operation::Distinct { input }
            | Operation::Adjacent { input }
            | Operation::Filter { input, .. }
            | Operation::Extend { input, .. }
            | Operation::Project { input, .. }
            | Operation::Attach { input, .. }
            | Operation::Marks { input, .. }
            | Operation::Construct { input, .. }
            | Operation::Describe { input, .. }
            | Operation::HashJoin { left: input, .. }
            | Operation::CompatibleJoin { left: input, .. }
            | Operation::SortedJoin { left: input, .. }
            | Operation::BindJoin { left: input, .. }
            | Operation::LookupJoin { outer: input, .. }
            | Operation::LeapfrogJoin { outer: input, .. } => self.divide(input),
            _ => {}
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

/// The input of the first operator, from this one down, whose first row depends on all rows of its input.
fn all_rows_below(node: &mut Node) -> Option<&mut Node> {
    match &mut node.operation {
        Operation::Sort { input, .. } | Operation::GroupBy { input, .. } => Some(input),
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
    match &mut node.operation {
        Operation::Scan(scan) => Some((scan, node.rows)),
        Operation::Filter { input, .. }
        | Operation::Extend { input, .. }
        | Operation::Project { input, .. }
        | Operation::Attach { input, .. }
        | Operation::Marks { input, .. }
        | Operation::Construct { input, .. }
        | Operation::LookupJoin { outer: input, .. }
        | Operation::LeapfrogJoin { outer: input, .. }
        | Operation::BindJoin { left: input, .. }
        | Operation::CrossJoin { left: input, .. } => divisible_scan(input),
        // The right input is read again for each part, so it must not be read from its beginning.
        Operation::MergeJoin { left, right, .. } | Operation::SortedJoin { left, right, .. }
            if skips(right) =>
        {
            divisible_scan(left)
        }
        _ => None,
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
