//! The file of a segment's statistics, a [checked file](crate::io::checked).
//!
//! # Byte map
//!
//! All numbers are `u64`, little-endian. The payload is the default graph's part, then the named
//! graphs':
//!
//! ```text
//! rows
//! subjects          a distinct count
//! objects           a distinct count
//! predicates        how many, then for each: id, rows, subjects and objects (distinct counts)
//! other predicates  predicates, rows, subjects, objects
//! sets              how many, then for each: subjects, how many predicates, for each of these:
//!                   id, occurrences
//! other sets        sets, subjects, rows
//! ```
//!
//! A distinct count is `count, 0`, or `count, 1` and the 1024 registers of a sketch, a byte each.

use super::limits;
use super::sketch::{SKETCH_REGISTERS, Sketch};
use super::{
    CharacteristicSet, Distinct, GraphStatistics, OtherPredicates, OtherSets, PredicateStatistics,
    Statistics,
};
use crate::error::Result;
use crate::id::TermId;
use crate::io::Storage;
use crate::io::checked::{CheckedFile, CheckedWriter, Unsynced};

/// The first bytes of a file of statistics.
pub const MAGIC: [u8; 8] = *b"QUADSTAT";
/// The version of the format that this program writes and reads.
pub const VERSION: u32 = 1;

/// Writes statistics as a file.
pub fn write(storage: &dyn Storage, path: &str, statistics: &Statistics) -> Result<Unsynced> {
    let mut bytes = Vec::new();
    for graph in [&statistics.default_graph, &statistics.named_graphs] {
        encode(graph, &mut bytes);
    }
    let mut writer = CheckedWriter::create(storage, path, MAGIC, VERSION)?;
    writer.write_all(&bytes)?;
    writer.finish()
}

/// Opens a file of statistics; nothing but its header and footer is read yet.
pub fn open(storage: &dyn Storage, path: &str) -> Result<CheckedFile> {
    CheckedFile::open(storage, path, MAGIC, VERSION)
}

/// Reads the statistics of an open file.
pub fn read(file: &CheckedFile) -> Result<Statistics> {
    let mut decoder = Decoder {
        file,
        bytes: file.bytes(0..file.len())?,
        position: 0,
    };
    let statistics = Statistics {
        default_graph: decoder.graph()?,
        named_graphs: decoder.graph()?,
    };
    if decoder.position != decoder.bytes.len() {
        return Err(decoder.damaged("bytes after the last number"));
    }
    Ok(statistics)
}

fn encode(graph: &GraphStatistics, out: &mut Vec<u8>) {
    fn number(out: &mut Vec<u8>, number: u64) {
        out.extend_from_slice(&number.to_le_bytes());
    }
    fn distinct(out: &mut Vec<u8>, distinct: &Distinct) {
        number(out, distinct.count);
        number(out, u64::from(distinct.sketch.is_some()));
        if let Some(sketch) = &distinct.sketch {
            out.extend_from_slice(sketch.registers());
        }
    }
    number(out, graph.rows);
    distinct(out, &graph.subjects);
    distinct(out, &graph.objects);
    number(out, graph.predicates.len() as u64);
    for entry in &graph.predicates {
        number(out, entry.predicate.bits());
        number(out, entry.rows);
        distinct(out, &entry.subjects);
        distinct(out, &entry.objects);
    }
    let others = &graph.other_predicates;
    for sum in [
        others.predicates,
        others.rows,
        others.subjects,
        others.objects,
    ] {
        number(out, sum);
    }
    number(out, graph.sets.len() as u64);
    for set in &graph.sets {
        number(out, set.subjects);
        number(out, set.predicates.len() as u64);
        for (predicate, occurrences) in set.predicates.iter().zip(&set.occurrences) {
            number(out, predicate.bits());
            number(out, *occurrences);
        }
    }
    for sum in [
        graph.other_sets.sets,
        graph.other_sets.subjects,
        graph.other_sets.rows,
    ] {
        number(out, sum);
    }
}

struct Decoder<'a> {
    file: &'a CheckedFile,
    bytes: &'a [u8],
    position: usize,
}

impl Decoder<'_> {
    fn damaged(&self, reason: &str) -> crate::StoreError {
        self.file.damaged(self.position as u64, reason)
    }

    fn number(&mut self) -> Result<u64> {
        match self.bytes[self.position..].first_chunk() {
            Some(bytes) => {
                self.position += bytes.len();
                Ok(u64::from_le_bytes(*bytes))
            }
            None => Err(self.damaged("the statistics end too early")),
        }
    }

    /// A number of entries that follow, each of at least `least` bytes, so that what is allocated
    /// for them is bounded by the bytes that are there.
    fn length(&mut self, least: usize, limit: usize) -> Result<usize> {
        let length = self.number()?;
        let possible = (self.bytes.len() - self.position) / least;
        match usize::try_from(length) {
            Ok(length) if length <= possible && length <= limit => Ok(length),
            _ => Err(self.damaged("more entries than there can be")),
        }
    }

    fn distinct(&mut self) -> Result<Distinct> {
        let count = self.number()?;
        let sketch = match self.number()? {
            0 => None,
            1 => {
                let registers = self.bytes[self.position..].first_chunk::<SKETCH_REGISTERS>();
                let sketch = registers.and_then(Sketch::from_registers);
                if sketch.is_none() {
                    return Err(self.damaged("not the registers of a sketch"));
                }
                self.position += SKETCH_REGISTERS;
                sketch
            }
            _ => return Err(self.damaged("neither with nor without a sketch")),
        };
        Ok(Distinct { count, sketch })
    }

    fn graph(&mut self) -> Result<GraphStatistics> {
        let rows = self.number()?;
        let subjects = self.distinct()?;
        let objects = self.distinct()?;
        let length = self.length(48, limits::PREDICATES)?;
        let mut predicates: Vec<PredicateStatistics> = Vec::with_capacity(length);
        for _ in 0..length {
            let predicate = TermId::from_bits(self.number()?);
            if predicates
                .last()
                .is_some_and(|last| last.predicate >= predicate)
            {
                return Err(self.damaged("predicates out of order"));
            }
            predicates.push(PredicateStatistics {
                predicate,
                rows: self.number()?,
                subjects: self.distinct()?,
                objects: self.distinct()?,
            });
        }
        let other_predicates = OtherPredicates {
            predicates: self.number()?,
            rows: self.number()?,
            subjects: self.number()?,
            objects: self.number()?,
        };
        let length = self.length(16, limits::SETS)?;
        let mut sets = Vec::with_capacity(length);
        for _ in 0..length {
            sets.push(self.set()?);
        }
        let other_sets = OtherSets {
            sets: self.number()?,
            subjects: self.number()?,
            rows: self.number()?,
        };
        Ok(GraphStatistics {
            rows,
            subjects,
            objects,
            predicates,
            other_predicates,
            sets,
            other_sets,
        })
    }

    fn set(&mut self) -> Result<CharacteristicSet> {
        let subjects = self.number()?;
        let length = self.length(16, limits::SET_PREDICATES)?;
        let mut predicates: Vec<TermId> = Vec::with_capacity(length);
        let mut occurrences = Vec::with_capacity(length);
        for _ in 0..length {
            let predicate = TermId::from_bits(self.number()?);
            if predicates.last().is_some_and(|last| *last >= predicate) {
                return Err(self.damaged("predicates of a set out of order"));
            }
            predicates.push(predicate);
            occurrences.push(self.number()?);
        }
        if subjects == 0 || predicates.is_empty() {
            return Err(self.damaged("an empty characteristic set"));
        }
        Ok(CharacteristicSet {
            predicates: predicates.into(),
            occurrences: occurrences.into(),
            subjects,
        })
    }
}
