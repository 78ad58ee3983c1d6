//! `Inserter`: encodes batches against a partial vocabulary of its own and gathers rows.
//!
//! When what it has gathered outgrows its share of the memory, it becomes a spilled [`Run`] and the inserter
//! begins anew. At the end the rest becomes a run in memory, if nothing was spilled anywhere, and one more
//! spilled run otherwise.

use crate::batch::{Batch, DEFAULT_GRAPH};
use crate::error::LoadError;
use crate::run::{Gathered, Run, Temporary};
use crate::triple_term::{self, Part};
use crate::vocabulary::{LocalId, ROLE_GRAPH, ROLE_PREDICATE};
use quadrille_store::Kind;

/// Local numbers stay below this, whatever the memory.
const TERMS_MAX: usize = u32::MAX as usize - (1 << 24);

/// What one worker inserts into.
pub struct Inserter<'a> {
    temporary: Temporary<'a>,
    memory: usize,
    gathered: Gathered,
    spilled: Vec<Run>,
    /// Scratch: the numbers of a batch's terms.
    ids: Vec<LocalId>,
}

impl<'a> Inserter<'a> {
    /// An inserter that may take `memory` bytes.
    pub fn new(temporary: Temporary<'a>, memory: usize) -> Self {
        Self {
            temporary,
            memory,
            gathered: Gathered::default(),
            spilled: Vec::new(),
            ids: Vec::new(),
        }
    }

    /// Inserts a batch's statements.
    pub fn insert(&mut self, batch: &Batch) -> Result<(), LoadError> {
        let Gathered {
            vocabulary,
            default,
            named,
            ..
        } = &mut self.gathered;
        let terms_before = vocabulary.len();
        vocabulary.intern(batch, &mut self.ids);
        let ids = &self.ids[..];
        for [subject, predicate, object, graph] in batch.quads.iter().copied() {
            let predicate = ids[predicate as usize];
            vocabulary.add_role(predicate, ROLE_PREDICATE);
            let (subject, object) = (ids[subject as usize], ids[object as usize]);
            if graph == DEFAULT_GRAPH {
                default.push([subject, predicate, object]);
            } else {
                let graph = ids[graph as usize];
                vocabulary.add_role(graph, ROLE_GRAPH);
                named.push([subject, predicate, object, graph]);
            }
        }
        self.note_triple_terms(batch, terms_before);
        if self.gathered.memory() > self.memory || self.gathered.vocabulary.len() > TERMS_MAX {
            let full = std::mem::take(&mut self.gathered);
            self.spilled.push(full.spill(self.temporary)?);
        }
        Ok(())
    }

    /// Lists the parts of triple terms that are new since `terms_before`.
    fn note_triple_terms(&mut self, batch: &Batch, terms_before: usize) {
        let mut next = terms_before as LocalId;
        for (term, id) in batch.terms.iter().zip(&self.ids) {
            if term.kind != Kind::Triple || *id < next {
                continue;
            }
            next = *id + 1;
            let parts =
                triple_term::decode(batch.bytes(term)).expect("parsers encode triple terms");
            let vocabulary = &self.gathered.vocabulary;
            let parts = parts.map(|part| {
                let found = match part {
                    Part::Vocabulary {
                        kind,
                        lexical,
                        annotation,
                    } => vocabulary.find(kind, lexical, annotation),
                    Part::Blank(bytes) => vocabulary.find(Kind::Blank, bytes, b""),
                    Part::Triple(bytes) => vocabulary.find(Kind::Triple, bytes, b""),
                    Part::Inline(id) => {
                        let kind = id.kind().expect("an inline id has a kind");
                        vocabulary.find(kind, &id.bits().to_be_bytes(), b"")
                    }
                };
                found.expect("the parts of a triple term stand before it in its batch")
            });
            let [subject, predicate, object] = parts;
            self.gathered
                .triple_terms
                .push([*id, subject, predicate, object]);
        }
    }

    /// Bytes gathered in memory.
    pub fn memory(&self) -> usize {
        self.gathered.memory()
    }

    /// Whether a run was spilled.
    pub fn has_spilled(&self) -> bool {
        !self.spilled.is_empty()
    }

    /// Everything as runs; the last of them in memory, unless `spill`. So many threads may sort.
    pub fn finish(self, spill: bool, threads: usize) -> Result<Vec<Run>, LoadError> {
        let mut runs = self.spilled;
        if !self.gathered.vocabulary.is_empty() {
            runs.push(if spill {
                self.gathered.spill(self.temporary)?
            } else {
                self.gathered.into_memory(threads)
            });
        }
        Ok(runs)
    }
}
