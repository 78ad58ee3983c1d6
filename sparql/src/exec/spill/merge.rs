//! `Merge`: sorted runs as one sorted sequence. Of rows that compare equal those of the earlier run come first.

use super::run::{Blocks, Run};
use super::sorter::{RowOrder, SortKey};
use crate::error::{QueryError, Result};
use crate::exec::batch::Batch;

/// Merges sorted runs.
pub struct Merge<K> {
    sources: Vec<Source<K>>,
    /// Numbers of sources that have rows, as a binary heap: the first has the first row.
    heap: Vec<usize>,
}

struct Source<K> {
    blocks: Blocks,
    batch: Batch,
    keys: Vec<K>,
    at: usize,
    /// Keys of a row.
    width: usize,
}

impl<K: SortKey> Source<K> {
    /// Replaces the block by the next one; `false` at the end.
    fn fetch(&mut self) -> Result<bool> {
        self.at = 0;
        self.keys.clear();
        let Some(mut bytes) = self.blocks.next(&mut self.batch)? else {
            return Ok(false);
        };
        for _ in 0..self.batch.rows() * self.width {
            // The checksum was right, so this is no damage but the writer's fault; it is an error all the same.
            let key = K::read(&mut bytes).ok_or(QueryError::TemporaryDamaged { offset: 0 })?;
            self.keys.push(key);
        }
        Ok(true)
    }

    fn first(&self) -> &[K] {
        &self.keys[self.at * self.width..][..self.width]
    }
}

impl<K: SortKey> Merge<K> {
    /// Merges runs, whose rows come with their keys.
    pub(super) fn new<O: RowOrder<Key = K>>(runs: &[Run], order: &O) -> Result<Self> {
        let mut merge = Self {
            sources: Vec::with_capacity(runs.len()),
            heap: Vec::with_capacity(runs.len()),
        };
        for (number, run) in runs.iter().enumerate() {
            let mut source = Source {
                blocks: run.blocks(),
                batch: Batch::new(run.width()),
                keys: Vec::new(),
                at: 0,
                width: order.keys(),
            };
            if source.fetch()? {
                merge.heap.push(number);
            }
            merge.sources.push(source);
        }
        for parent in (0..merge.heap.len() / 2).rev() {
            merge.sift_down(parent, order);
        }
        Ok(merge)
    }

    /// The first row that is left, with its keys.
    pub(super) fn first(&self) -> Option<(&Batch, usize, &[K])> {
        let source = &self.sources[*self.heap.first()?];
        Some((&source.batch, source.at, source.first()))
    }

    /// Goes on to the next row.
    pub(super) fn advance<O: RowOrder<Key = K>>(&mut self, order: &O) -> Result<()> {
        let Some(number) = self.heap.first() else {
            return Ok(());
        };
        let source = &mut self.sources[*number];
        source.at += 1;
        if source.at == source.batch.rows() && !source.fetch()? {
            self.heap.swap_remove(0);
        }
        self.sift_down(0, order);
        Ok(())
    }

    fn is_before<O: RowOrder<Key = K>>(&self, left: usize, right: usize, order: &O) -> bool {
        let compared = order.compare(self.sources[left].first(), self.sources[right].first());
        // The earlier run has the rows that came earlier.
        compared.then(left.cmp(&right)).is_lt()
    }

    fn sift_down<O: RowOrder<Key = K>>(&mut self, mut parent: usize, order: &O) {
        loop {
            let left = 2 * parent + 1;
            let Some(mut child) = self.heap.get(left).map(|_| left) else {
                return;
            };
            if left + 1 < self.heap.len()
                && self.is_before(self.heap[left + 1], self.heap[left], order)
            {
                child = left + 1;
            }
            if !self.is_before(self.heap[child], self.heap[parent], order) {
                return;
            }
            self.heap.swap(parent, child);
            parent = child;
        }
    }
}
