//! `Shelf`: the lists of leapfrog joins that are made again and again, for each part of a scan or for each batch that is fed, so that
//! the next one need not read them anew.

use super::lists::Lists;
use std::sync::{Mutex, PoisonError};

/// Lists that nobody uses now.
#[derive(Default)]
pub struct Shelf {
    /// By the address of the plan's node, which stays where it is while the query runs.
    lists: Mutex<Vec<(usize, Vec<Lists>)>>,
}

impl Shelf {
    /// The lists that an operator of this node left, if no other one took them.
    pub fn take(&self, node: usize) -> Option<Vec<Lists>> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let place = lists.iter().rposition(|(owner, _)| *owner == node)?;
        Some(lists.swap_remove(place).1)
    }

    /// Leaves lists for the next operator of this node.
    pub fn put(&self, node: usize, mut left: Vec<Lists>) {
        left.iter_mut().for_each(Lists::restart);
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.push((node, left));
    }
}
