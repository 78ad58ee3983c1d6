//! `SharedSides`: the rows that hash joins below a `Gather` keep once for all parts of the scan.
//!
//! They are kept before threads begin. If they do not fit in memory nothing is divided: a join that spills must see all rows of both
//! inputs.

use super::build::Execution;
use super::physical::{Node, Operation};
use crate::error::Result;
use crate::exec::compatible_join::side::KeptSide;
use crate::exec::control::Control;
use crate::exec::hash_join::KeptRows;
use hashbrown::HashMap;
use std::sync::Arc;

/// By the address of the join's node, which stays where it is while the query runs.
#[derive(Default)]
pub struct SharedSides {
    hashed: HashMap<usize, Arc<KeptRows>>,
    compatible: HashMap<usize, Arc<KeptSide>>,
}

impl SharedSides {
    /// Keeps the right rows of all joins from a node down to the divided scan; `None` if they do not fit in memory.
    ///
    /// # Errors
    /// If the store cannot be read, or the query was stopped.
    pub fn keep(root: &Node, execution: &Execution) -> Result<Option<Self>> {
        let mut sides = Self::default();
        let mut node = Some(root);
        while let Some(join) = node {
            match &join.operation {
                Operation::HashJoin { right, keys, .. } => {
                    let control = control_of(join, execution);
                    let mut kept = KeptRows::new(right.variables.len(), keys.1.clone(), &control);
                    if !kept.keep(&mut *right.operator(execution)?, &control)? {
                        return Ok(None);
                    }
                    sides.hashed.insert(address(join), Arc::new(kept));
                }
                Operation::CompatibleJoin {
                    right,
                    join: compatibility,
                    ..
                } => {
                    let control = control_of(join, execution);
                    let mut kept = KeptSide::new(right.variables.len(), compatibility, &control);
                    if !kept.keep(&mut *right.operator(execution)?, &control)? {
                        return Ok(None);
                    }
                    sides.compatible.insert(address(join), Arc::new(kept));
                }
                _ => {}
            }
            node = join.divided_input();
        }
        Ok(Some(sides))
    }

    /// What a hash join shares.
    pub fn hashed(&self, join: &Node) -> Option<Arc<KeptRows>> {
        self.hashed.get(&address(join)).cloned()
    }

    /// What a join of compatible rows shares.
    pub fn compatible(&self, join: &Node) -> Option<Arc<KeptSide>> {
        self.compatible.get(&address(join)).cloned()
    }
}

fn address(node: &Node) -> usize {
    std::ptr::from_ref(node).addr()
}

/// The control that the operators of a node have.
fn control_of(node: &Node, execution: &Execution) -> Arc<Control> {
    let control = &execution.control;
    match &execution.profile {
        Some(profile) => Arc::clone(&profile.entry(node, control).control),
        None => Arc::clone(control),
    }
}
