//! The model of a disk and the cache above it: what is seen now, and what a crash may leave.

use super::super::path::{directory_of, is_below};
use super::Survival;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A file, whatever its names are; an index into [`Disk::nodes`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct NodeId(usize);

/// Bytes that are written whole or not at all.
const BLOCK_BYTES: usize = 512;

#[derive(Default)]
pub(super) struct Disk {
    /// Every file that there ever was: a crash may bring back what was removed.
    nodes: Vec<Node>,
    /// The names that everybody sees.
    names: BTreeMap<String, NodeId>,
    /// The names that a crash leaves for certain, but for what is pending.
    durable: BTreeMap<String, NodeId>,
    /// Changes of names whose directory was not synced since, in sequence.
    pending: Vec<Change>,
}

#[derive(Default)]
struct Node {
    /// What everybody sees. Shared with those who have the file mapped.
    bytes: Arc<Vec<u8>>,
    /// Bytes from the front that are durable.
    durable: usize,
    /// Where the writes began that are not durable.
    writes: Vec<usize>,
}

enum Change {
    Link {
        path: String,
        node: NodeId,
    },
    Unlink {
        path: String,
        node: NodeId,
    },
    Rename {
        from: String,
        to: String,
        node: NodeId,
    },
}

impl Disk {
    pub(super) fn insert_durable(&mut self, path: String, bytes: Vec<u8>) {
        let node = NodeId(self.nodes.len());
        self.nodes.push(Node {
            durable: bytes.len(),
            bytes: Arc::new(bytes),
            ..Node::default()
        });
        self.names.insert(path.clone(), node);
        self.durable.insert(path, node);
    }

    pub(super) fn bytes(&self, path: &str) -> Option<&Arc<Vec<u8>>> {
        self.names.get(path).map(|node| &self.nodes[node.0].bytes)
    }

    pub(super) fn list(&self, directory: &str) -> Vec<String> {
        let names = self.names.keys();
        names
            .filter(|name| is_below(name, directory) && *name != directory)
            .cloned()
            .collect()
    }

    pub(super) fn is_directory(&self, path: &str) -> bool {
        !self.list(path).is_empty()
    }

    /// Whether a file cannot be created because something has its name, or a file that of a directory.
    pub(super) fn is_taken(&self, path: &str) -> bool {
        let mut above = path.match_indices('/').map(|(end, _)| &path[..end]);
        self.names.contains_key(path)
            || self.is_directory(path)
            || above.any(|directory| self.names.contains_key(directory))
    }

    /// Bytes of all files that have a name.
    pub(super) fn used(&self) -> u64 {
        let lengths = self
            .names
            .values()
            .map(|node| self.nodes[node.0].bytes.len() as u64);
        lengths.sum()
    }

    pub(super) fn create(&mut self, path: &str) -> NodeId {
        let node = NodeId(self.nodes.len());
        self.nodes.push(Node::default());
        self.names.insert(path.to_owned(), node);
        self.pending.push(Change::Link {
            path: path.to_owned(),
            node,
        });
        node
    }

    pub(super) fn append(&mut self, node: NodeId, bytes: &[u8]) {
        let node = &mut self.nodes[node.0];
        node.writes.push(node.bytes.len());
        Arc::make_mut(&mut node.bytes).extend_from_slice(bytes);
    }

    pub(super) fn sync(&mut self, node: NodeId) {
        let node = &mut self.nodes[node.0];
        node.durable = node.bytes.len();
        node.writes.clear();
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) {
        let node = self.names.remove(from).expect("a file that was looked for");
        self.names.insert(to.to_owned(), node);
        self.pending.push(Change::Rename {
            from: from.to_owned(),
            to: to.to_owned(),
            node,
        });
    }

    pub(super) fn remove(&mut self, path: &str) {
        let mut removed = self.list(path);
        removed.extend(self.names.contains_key(path).then(|| path.to_owned()));
        for path in removed {
            let node = self.names.remove(&path).expect("a name from the list");
            self.pending.push(Change::Unlink { path, node });
        }
    }

    pub(super) fn sync_directory(&mut self, directory: &str) {
        let durable = &mut self.durable;
        let mut rest = Vec::new();
        for change in self.pending.drain(..) {
            let is_in = |path: &str| directory_of(path) == directory;
            match change {
                Change::Link { path, node } if is_in(&path) => {
                    durable.insert(path, node);
                }
                Change::Unlink { path, node } if is_in(&path) => unlink(durable, &path, node),
                Change::Rename { from, to, node } if is_in(&to) => {
                    durable.insert(to, node);
                    if is_in(&from) {
                        unlink(durable, &from, node);
                    } else {
                        rest.push(Change::Unlink { path: from, node });
                    }
                }
                other => rest.push(other),
            }
        }
        self.pending = rest;
    }

    /// What a crash now could leave.
    pub(super) fn survivors(
        &self,
        mut random: Random,
        survival: Survival,
    ) -> BTreeMap<String, Vec<u8>> {
        let mut names = self.durable.clone();
        // Of some crashes little survives, of others nearly all.
        let odds = [1, 4, 7][random.below(3)];
        for change in &self.pending {
            let survives = match survival {
                Survival::Everything | Survival::Names => true,
                Survival::Durable => false,
                Survival::Torn => random.below(8) < odds,
            };
            if !survives {
                continue;
            }
            match change {
                Change::Link { path, node } => {
                    names.insert(path.clone(), *node);
                }
                Change::Unlink { path, node } => unlink(&mut names, path, *node),
                Change::Rename { from, to, node } => {
                    names.insert(to.clone(), *node);
                    if survival != Survival::Torn || random.below(4) > 0 {
                        unlink(&mut names, from, *node);
                    }
                }
            }
        }
        let mut files = BTreeMap::new();
        for (path, node) in names {
            let node = &self.nodes[node.0];
            let bytes = match survival {
                Survival::Everything => node.bytes.to_vec(),
                Survival::Durable | Survival::Names => node.bytes[..node.durable].to_vec(),
                Survival::Torn => node.torn(&mut random),
            };
            files.insert(path, bytes);
        }
        files
    }
}

impl Node {
    /// The durable bytes and any of the others.
    fn torn(&self, random: &mut Random) -> Vec<u8> {
        let mut bytes = self.bytes.to_vec();
        let unsynced = bytes.len() - self.durable;
        match random.below(5) {
            0 => {}
            1 => bytes.truncate(self.durable),
            2 => bytes.truncate(self.durable + random.below(unsynced + 1)),
            3 => {
                // Whole writes get lost; the length may know of them or not.
                let ends = self.writes.iter().skip(1).copied().chain([bytes.len()]);
                let mut end_of_kept = self.durable;
                for (start, end) in self.writes.iter().copied().zip(ends) {
                    if random.below(2) == 0 {
                        bytes[start..end].fill(0);
                    } else {
                        end_of_kept = end;
                    }
                }
                if random.below(2) == 0 {
                    bytes.truncate(end_of_kept);
                }
            }
            _ => {
                bytes.truncate(self.durable + random.below(unsynced + 1));
                let mut start = self.durable;
                while start < bytes.len() {
                    let end = ((start / BLOCK_BYTES + 1) * BLOCK_BYTES).min(bytes.len());
                    match random.below(4) {
                        0 => bytes[start..end].fill(0),
                        1 => bytes[start..end].fill_with(|| random.next() as u8),
                        _ => {}
                    }
                    start = end;
                }
            }
        }
        bytes
    }
}

/// Takes a name away, if it is still this file's.
fn unlink(names: &mut BTreeMap<String, NodeId>, path: &str, node: NodeId) {
    if names.get(path) == Some(&node) {
        names.remove(path);
    }
}

/// Chance that a seed repeats (`SplitMix64`).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}
