//! `Run`: what an inserter has gathered, in memory or spilled to temporary files.
//!
//! A run is a partial vocabulary and rows of statements that name its terms. In memory, rows name terms by
//! the vocabulary's numbers (order of appearance). When a run is spilled, its vocabulary is sorted and
//! written, and rows name terms by their places in the sorted sequence.
//!
//! ```text
//! rows file   statement after statement: 3 (default graph) or 4 (named graphs) term numbers, u32 little-endian
//! ```
//!
//! A load never opens more than a few dozen files: when there are more than [`FAN_IN`] spilled runs,
//! [`collapse`] merges groups of them into larger runs first.

#[cfg(test)]
mod tests;

use crate::error::LoadError;
use crate::options::CancelFlag;
use crate::vocabulary::merge::{Head, MergedTerms, merge, merge_annotations};
use crate::vocabulary::spill::{self, BUFFER, SpillWriter, SpilledSource};
use crate::vocabulary::{LocalId, PartialVocabulary, sort};
use quadrille_store::io::{Storage, WriteFile};
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most sources that are merged at once.
pub const FAN_IN: usize = 32;
/// A merge looks whether it is to stop once in so many terms.
const TERMS_PER_LOOK: u64 = 1 << 16;

/// Hands out names for the temporary files of one load.
#[derive(Debug)]
pub struct TemporaryNames {
    directory: String,
    next: AtomicU64,
}

impl TemporaryNames {
    /// Names below a directory of the store.
    pub fn new(directory: String) -> Self {
        Self {
            directory,
            next: AtomicU64::new(0),
        }
    }

    /// A name that was not given before.
    pub fn next(&self, what: &str) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        format!("{}/{what}-{number:06}", self.directory)
    }

    /// The directory that holds them all.
    pub fn directory(&self) -> &str {
        &self.directory
    }
}

/// Where temporary files go.
#[derive(Clone, Copy, Debug)]
pub struct Temporary<'a> {
    /// The store's files.
    pub storage: &'a dyn Storage,
    /// Names for new ones.
    pub names: &'a TemporaryNames,
}

/// The statements of a run, `N` terms each.
pub enum Rows<const N: usize> {
    /// In memory.
    Memory(Vec<[LocalId; N]>),
    /// In a temporary file.
    File {
        /// Its name.
        path: String,
        /// How many statements.
        rows: u64,
    },
}

impl<const N: usize> Rows<N> {
    /// How many statements.
    pub fn count(&self) -> u64 {
        match self {
            Self::Memory(rows) => rows.len() as u64,
            Self::File { rows, .. } => *rows,
        }
    }

    /// Calls `each` with piece after piece of the rows.
    pub fn read(
        &self,
        storage: &dyn Storage,
        mut each: impl FnMut(&[[LocalId; N]]) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        match self {
            Self::Memory(rows) => rows.chunks(BUFFER / (4 * N)).try_for_each(each),
            Self::File { path, rows } => {
                let mut file = storage.read(path)?;
                let mut buffer = vec![[0; N]; BUFFER / (4 * N)];
                let mut left = *rows;
                while left > 0 {
                    let piece = buffer
                        .len()
                        .min(usize::try_from(left).unwrap_or(usize::MAX));
                    let bytes = bytemuck::cast_slice_mut(&mut buffer[..piece]);
                    file.read_exact(bytes).map_err(LoadError::temporary)?;
                    each(&buffer[..piece])?;
                    left -= piece as u64;
                }
                Ok(())
            }
        }
    }
}

/// The terms of a run.
pub enum Terms {
    /// In memory, sorted.
    Memory {
        /// The terms, laid out in term order.
        vocabulary: PartialVocabulary,
        /// The numbers by which rows name them, by place.
        sorted: Vec<LocalId>,
    },
    /// In a temporary file, in term order.
    File {
        /// Its name.
        path: String,
        /// How many terms.
        terms: u64,
        /// The annotations that the file's records name.
        annotations: Vec<Box<[u8]>>,
    },
}

impl Terms {
    /// How many terms.
    pub fn count(&self) -> u64 {
        match self {
            Self::Memory { sorted, .. } => sorted.len() as u64,
            Self::File { terms, .. } => *terms,
        }
    }

    /// The annotations that its terms name.
    pub fn annotations(&self) -> &[Box<[u8]>] {
        match self {
            Self::Memory { vocabulary, .. } => vocabulary.annotations(),
            Self::File { annotations, .. } => annotations,
        }
    }
}

/// What an inserter has gathered.
pub struct Run {
    /// The terms.
    pub terms: Terms,
    /// Statements of the default graph.
    pub default: Rows<3>,
    /// Statements of named graphs.
    pub named: Rows<4>,
    /// Triple terms: own number, subject, predicate, object; sorted.
    pub triple_terms: Vec<[LocalId; 4]>,
}

/// Writes rows to a temporary file.
pub struct RowWriter<const N: usize> {
    file: Box<dyn WriteFile>,
    path: String,
    buffer: Vec<[LocalId; N]>,
    rows: u64,
}

impl<const N: usize> RowWriter<N> {
    /// A new temporary file.
    pub fn create(temporary: Temporary<'_>) -> Result<Self, LoadError> {
        let path = temporary.names.next("rows");
        Ok(Self {
            file: temporary.storage.create(&path)?,
            path,
            buffer: Vec::with_capacity(BUFFER / (4 * N)),
            rows: 0,
        })
    }

    /// Appends a row.
    pub fn push(&mut self, row: [LocalId; N]) -> Result<(), LoadError> {
        self.buffer.push(row);
        if self.buffer.len() * 4 * N >= BUFFER {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LoadError> {
        self.file.write_all(bytemuck::cast_slice(&self.buffer))?;
        self.rows += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Ends the file.
    pub fn finish(mut self) -> Result<Rows<N>, LoadError> {
        self.flush()?;
        Ok(Rows::File {
            path: self.path,
            rows: self.rows,
        })
    }
}

/// Numbers, written to a temporary file and read back whole: the map from a run's term numbers to those of a
/// merged sequence.
pub struct NumberWriter {
    file: Box<dyn WriteFile>,
    path: String,
    buffer: Vec<u32>,
    length: usize,
}

impl NumberWriter {
    /// A new temporary file.
    pub fn create(temporary: Temporary<'_>) -> Result<Self, LoadError> {
        let path = temporary.names.next("map");
        Ok(Self {
            file: temporary.storage.create(&path)?,
            path,
            buffer: Vec::with_capacity(BUFFER / 16),
            length: 0,
        })
    }

    /// How many numbers were appended.
    pub fn count(&self) -> usize {
        self.length + self.buffer.len()
    }

    /// Appends a number.
    pub fn push(&mut self, number: u32) -> Result<(), LoadError> {
        self.buffer.push(number);
        if self.buffer.len() == BUFFER / 16 {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LoadError> {
        self.file.write_all(bytemuck::cast_slice(&self.buffer))?;
        self.length += self.buffer.len();
        self.buffer.clear();
        Ok(())
    }

    /// Ends the file.
    pub fn finish(mut self) -> Result<NumberFile, LoadError> {
        self.flush()?;
        Ok(NumberFile {
            path: self.path,
            length: self.length,
        })
    }
}

/// A file of numbers.
pub struct NumberFile {
    path: String,
    length: usize,
}

impl NumberFile {
    /// Reads all of it.
    pub fn read(&self, storage: &dyn Storage) -> Result<Vec<u32>, LoadError> {
        let mut numbers = vec![0_u32; self.length];
        let mut file = storage.read(&self.path)?;
        file.read_exact(bytemuck::cast_slice_mut(&mut numbers))
            .map_err(LoadError::temporary)?;
        Ok(numbers)
    }

    /// Reads all of it and removes the file.
    pub fn take(self, storage: &dyn Storage) -> Result<Vec<u32>, LoadError> {
        let numbers = self.read(storage)?;
        storage.remove(&self.path)?;
        Ok(numbers)
    }
}

/// What an inserter holds, before it becomes a run.
#[derive(Default)]
pub struct Gathered {
    /// The terms.
    pub vocabulary: PartialVocabulary,
    /// Statements of the default graph.
    pub default: Vec<[LocalId; 3]>,
    /// Statements of named graphs.
    pub named: Vec<[LocalId; 4]>,
    /// Triple terms: own number, subject, predicate, object.
    pub triple_terms: Vec<[LocalId; 4]>,
}

impl Gathered {
    /// Bytes of memory in use, those included that sorting the vocabulary will take.
    pub fn memory(&self) -> usize {
        self.vocabulary.memory()
            + self.vocabulary.len() * 20
            + self.default.len() * 12
            + (self.named.len() + self.triple_terms.len()) * 16
    }

    /// A run in memory.
    pub fn into_memory(mut self, threads: usize) -> Run {
        let sorted = sort::sorted(&self.vocabulary, threads);
        self.triple_terms.sort_unstable();
        Run {
            terms: Terms::Memory {
                vocabulary: self.vocabulary.reordered(&sorted),
                sorted,
            },
            default: Rows::Memory(self.default),
            named: Rows::Memory(self.named),
            triple_terms: self.triple_terms,
        }
    }

    /// A run in temporary files.
    pub fn spill(self, temporary: Temporary<'_>) -> Result<Run, LoadError> {
        let sorted = sort::sorted(&self.vocabulary, 1);
        let path = temporary.names.next("terms");
        spill::write(temporary.storage, &path, &self.vocabulary, &sorted)?;
        let mut places = vec![0; sorted.len()];
        for (place, id) in sorted.iter().enumerate() {
            places[*id as usize] = place as u32;
        }
        let annotations = self.vocabulary.annotations().to_vec();
        drop(self.vocabulary);
        let mut triple_terms: Vec<_> = self
            .triple_terms
            .iter()
            .map(|row| row.map(|id| places[id as usize]))
            .collect();
        triple_terms.sort_unstable();
        Ok(Run {
            terms: Terms::File {
                path,
                terms: sorted.len() as u64,
                annotations,
            },
            default: write_rows(&self.default, &places, temporary)?,
            named: write_rows(&self.named, &places, temporary)?,
            triple_terms,
        })
    }
}

fn write_rows<const N: usize>(
    rows: &[[LocalId; N]],
    places: &[u32],
    temporary: Temporary<'_>,
) -> Result<Rows<N>, LoadError> {
    if rows.is_empty() {
        return Ok(Rows::Memory(Vec::new()));
    }
    let mut writer = RowWriter::create(temporary)?;
    for row in rows {
        writer.push(row.map(|id| places[id as usize]))?;
    }
    writer.finish()
}

/// Merges spilled runs in groups until at most [`FAN_IN`] are left.
pub fn collapse(
    mut runs: Vec<Run>,
    temporary: Temporary<'_>,
    cancel: &CancelFlag,
) -> Result<Vec<Run>, LoadError> {
    while runs.len() > FAN_IN {
        let mut larger = Vec::with_capacity(runs.len().div_ceil(FAN_IN));
        let mut rest = runs.into_iter();
        loop {
            let group: Vec<Run> = rest.by_ref().take(FAN_IN).collect();
            match group.len() {
                0 => break,
                1 => larger.extend(group),
                _ => larger.push(collapse_group(group, temporary, cancel)?),
            }
        }
        runs = larger;
    }
    Ok(runs)
}

struct Collapse<'a> {
    cancel: &'a CancelFlag,
    writer: SpillWriter,
    maps: Vec<NumberWriter>,
    terms: u64,
}

impl MergedTerms for Collapse<'_> {
    fn term(&mut self, head: Head<'_>, roles: u8) -> Result<(), LoadError> {
        self.terms += 1;
        if self.terms.is_multiple_of(TERMS_PER_LOOK) {
            self.cancel.check()?;
        }
        LoadError::check_term_count(self.terms)?;
        self.writer.push(head, roles)
    }

    fn occurrence(&mut self, source: usize) -> Result<(), LoadError> {
        self.maps[source].push((self.terms - 1) as u32)
    }
}

fn collapse_group(
    group: Vec<Run>,
    temporary: Temporary<'_>,
    cancel: &CancelFlag,
) -> Result<Run, LoadError> {
    let Temporary { storage, names } = temporary;
    let (annotations, maps) = merge_annotations(group.iter().map(|run| run.terms.annotations()));
    let mut sources = Vec::with_capacity(group.len());
    let mut writers = Vec::with_capacity(group.len());
    for (run, map) in group.iter().zip(maps) {
        sources.push(open_source(run, storage, map)?);
        writers.push(NumberWriter::create(temporary)?);
    }
    let path = names.next("terms");
    let mut sink = Collapse {
        cancel,
        writer: SpillWriter::create(storage, &path)?,
        maps: writers,
        terms: 0,
    };
    merge(&mut sources, &mut sink)?;
    drop(sources);
    let terms = sink.writer.finish()?;
    let mut default = RowWriter::<3>::create(temporary)?;
    let mut named = RowWriter::<4>::create(temporary)?;
    let mut triple_terms = Vec::new();
    for (run, map) in group.into_iter().zip(sink.maps) {
        cancel.check()?;
        let map = map.finish()?.take(storage)?;
        move_rows(&run.default, &map, &mut default, storage)?;
        move_rows(&run.named, &map, &mut named, storage)?;
        triple_terms.extend(
            run.triple_terms
                .iter()
                .map(|row| row.map(|id| map[id as usize])),
        );
        remove(&run, storage)?;
    }
    triple_terms.sort_unstable();
    triple_terms.dedup_by_key(|row| row[0]);
    Ok(Run {
        terms: Terms::File {
            path,
            terms,
            annotations,
        },
        default: default.finish()?,
        named: named.finish()?,
        triple_terms,
    })
}

fn open_source(
    run: &Run,
    storage: &dyn Storage,
    annotation_map: Vec<u32>,
) -> Result<SpilledSource, LoadError> {
    match &run.terms {
        Terms::File { path, terms, .. } => {
            SpilledSource::open(storage, path, *terms, annotation_map)
        }
        Terms::Memory { .. } => unreachable!("a load that spills spills every run"),
    }
}

/// Sources over spilled runs, their annotations renumbered by `maps`.
pub fn spilled_sources(
    runs: &[Run],
    storage: &dyn Storage,
    maps: Vec<Vec<u32>>,
) -> Result<Vec<SpilledSource>, LoadError> {
    runs.iter()
        .zip(maps)
        .map(|(run, map)| open_source(run, storage, map))
        .collect()
}

fn move_rows<const N: usize>(
    rows: &Rows<N>,
    map: &[u32],
    to: &mut RowWriter<N>,
    storage: &dyn Storage,
) -> Result<(), LoadError> {
    rows.read(storage, |piece| {
        piece
            .iter()
            .try_for_each(|row| to.push(row.map(|id| map[id as usize])))
    })
}

/// Removes a run's temporary files.
pub fn remove(run: &Run, storage: &dyn Storage) -> Result<(), LoadError> {
    if let Terms::File { path, .. } = &run.terms {
        storage.remove(path)?;
    }
    if let Rows::File { path, .. } = &run.default {
        storage.remove(path)?;
    }
    if let Rows::File { path, .. } = &run.named {
        storage.remove(path)?;
    }
    Ok(())
}
