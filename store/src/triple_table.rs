//! The tables of triple terms (RDF 1.2): a triple term's id is an ordinal, its row here says which
//! three terms it is made of.
//!
//! # Byte map
//!
//! One table is one [checked file](crate::io::checked); all numbers are `u64`, little-endian:
//!
//! ```text
//! first        the ordinal of the first row
//! rows         how many rows
//! row 0        subject, predicate, object: ids
//! ...
//! row rows-1
//! sorted 0     the row whose (subject, predicate, object) is the smallest
//! ...
//! sorted rows-1
//! ```
//!
//! What always holds: no triple stands in two rows, in this table or another one of the store; a
//! triple term inside a row has a smaller ordinal than the row itself (inner ones first), so that
//! no term contains itself.

use crate::error::{Result, StoreError};
use crate::id::{Kind, PAYLOAD_MAX, TermId};
use crate::io::Storage;
use crate::io::checked::{CheckedFile, CheckedWriter, Unsynced};
use std::cmp::Ordering;
use std::ops::Range;

/// The first bytes of a table of triple terms.
pub const MAGIC: [u8; 8] = *b"QUADTRPL";
/// The version of the format that this program writes and reads.
pub const VERSION: u32 = 1;

const NUMBER_BYTES: u64 = size_of::<u64>() as u64;
const HEADER_BYTES: u64 = 2 * NUMBER_BYTES;
const ROW_BYTES: u64 = 3 * NUMBER_BYTES;

/// Writes a table. Holds its rows in memory, 24 bytes each and 8 while sorting.
#[derive(Debug)]
pub struct TripleTableWriter {
    first: u64,
    rows: Vec<[TermId; 3]>,
}

impl TripleTableWriter {
    /// A table whose first row gets the ordinal `first`.
    pub fn new(first: u64) -> Self {
        Self {
            first,
            rows: Vec::new(),
        }
    }

    /// Adds a triple that no table has yet; returns its id.
    ///
    /// # Panics
    /// If a part is a triple term that does not come before this row.
    pub fn push(&mut self, triple: [TermId; 3]) -> Result<TermId> {
        let ordinal = self.first + self.rows.len() as u64;
        if ordinal > PAYLOAD_MAX {
            return Err(StoreError::Limit {
                what: "too many triple terms".to_owned(),
                limit: PAYLOAD_MAX,
            });
        }
        assert!(
            triple.iter().all(|part| is_before(*part, ordinal)),
            "inner triple terms come first"
        );
        self.rows.push(triple);
        Ok(TermId::new(Kind::Triple, ordinal))
    }

    /// How many rows there are so far.
    pub fn len(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes the file; it is not synced yet.
    pub fn finish(self, storage: &dyn Storage, path: &str) -> Result<Unsynced> {
        let mut sorted: Vec<u64> = (0..self.len()).collect();
        sorted.sort_unstable_by_key(|row| self.rows[*row as usize]);
        let mut writer = CheckedWriter::create(storage, path, MAGIC, VERSION)?;
        writer.write_all(&self.first.to_le_bytes())?;
        writer.write_all(&self.len().to_le_bytes())?;
        for part in self.rows.as_flattened() {
            writer.write_all(&part.bits().to_le_bytes())?;
        }
        for row in sorted {
            writer.write_all(&row.to_le_bytes())?;
        }
        writer.finish()
    }
}

/// Whether a part may stand in the row of an ordinal.
fn is_before(part: TermId, ordinal: u64) -> bool {
    part.kind() != Some(Kind::Triple) || part.payload() < ordinal
}

/// An open table; cheap to clone.
#[derive(Clone, Debug)]
pub struct TripleTable {
    file: CheckedFile,
    first: u64,
    rows: u64,
}

impl TripleTable {
    /// Opens a table; reads its head only.
    pub fn open(storage: &dyn Storage, path: &str) -> Result<Self> {
        let file = CheckedFile::open(storage, path, MAGIC, VERSION)?;
        let first = number(&file, 0)?;
        let rows = number(&file, NUMBER_BYTES)?;
        let expected = rows
            .checked_mul(ROW_BYTES + NUMBER_BYTES)
            .and_then(|bytes| bytes.checked_add(HEADER_BYTES));
        if expected != Some(file.len()) {
            return Err(file.damaged(NUMBER_BYTES, "the number of rows does not fit the length"));
        }
        if first
            .checked_add(rows)
            .is_none_or(|end| end > PAYLOAD_MAX + 1)
        {
            return Err(file.damaged(0, "ordinals beyond what an id can hold"));
        }
        Ok(Self { file, first, rows })
    }

    /// The ordinal of the first row.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether an id stands for a row of this table.
    pub fn contains(&self, id: TermId) -> bool {
        id.kind() == Some(Kind::Triple)
            && (self.first..self.first + self.rows).contains(&id.payload())
    }

    /// The three terms of a triple term.
    ///
    /// # Panics
    /// If the table does not contain the id.
    pub fn triple(&self, id: TermId) -> Result<[TermId; 3]> {
        assert!(self.contains(id), "not a triple term of this table");
        self.row(id.payload() - self.first)
    }

    /// The id of a triple term, if the table has it.
    pub fn id(&self, triple: &[TermId; 3]) -> Result<Option<TermId>> {
        let (mut low, mut high) = (0, self.rows);
        while low < high {
            let middle = u64::midpoint(low, high);
            let row = self.sorted(middle)?;
            match self.row(row)?.cmp(triple) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => {
                    return Ok(Some(TermId::new(Kind::Triple, self.first + row)));
                }
                Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }

    /// Where in the sorted sequence the triples stand that begin with these terms.
    pub fn sorted_range(&self, prefix: &[TermId]) -> Result<Range<u64>> {
        let bound = |is_before: fn(Ordering) -> bool| -> Result<u64> {
            let (mut low, mut high) = (0, self.rows);
            while low < high {
                let middle = u64::midpoint(low, high);
                let (_, triple) = self.sorted_triple(middle)?;
                if is_before(triple[..prefix.len()].cmp(prefix)) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            Ok(low)
        };
        Ok(bound(Ordering::is_lt)?..bound(Ordering::is_le)?)
    }

    /// The triple at a place of the sorted sequence, with its id.
    pub fn sorted_triple(&self, index: u64) -> Result<(TermId, [TermId; 3])> {
        let row = self.sorted(index)?;
        Ok((TermId::new(Kind::Triple, self.first + row), self.row(row)?))
    }

    /// Checks every checksum, that inner triple terms come first, that the sorted part is sorted,
    /// and calls `each` with every row and where it stands in the payload.
    pub fn verify(&self, each: &mut dyn FnMut(u64, [TermId; 3])) -> Result<()> {
        self.file.verify()?;
        for row in 0..self.rows {
            let triple = self.row(row)?;
            let offset = HEADER_BYTES + row * ROW_BYTES;
            if !triple.iter().all(|part| is_before(*part, self.first + row)) {
                return Err(self
                    .file
                    .damaged(offset, "a triple term inside an earlier one"));
            }
            each(offset, triple);
        }
        let mut last = None;
        for index in 0..self.rows {
            let triple = self.row(self.sorted(index)?)?;
            if last.is_some_and(|last| last >= triple) {
                let offset = self.sorted_offset(index);
                return Err(self.file.damaged(offset, "triple terms out of order"));
            }
            last = Some(triple);
        }
        Ok(())
    }

    /// The file, for messages.
    pub(crate) fn file(&self) -> &CheckedFile {
        &self.file
    }

    fn row(&self, row: u64) -> Result<[TermId; 3]> {
        let start = HEADER_BYTES + row * ROW_BYTES;
        let mut triple = [TermId::UNBOUND; 3];
        let bytes = self.file.bytes(start..start + ROW_BYTES)?;
        for (part, bytes) in triple.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *part = TermId::from_bits(u64::from_le_bytes(*bytes));
        }
        Ok(triple)
    }

    fn sorted(&self, index: u64) -> Result<u64> {
        let offset = self.sorted_offset(index);
        let row = number(&self.file, offset)?;
        if row >= self.rows {
            return Err(self
                .file
                .damaged(offset, "a row that the table does not have"));
        }
        Ok(row)
    }

    fn sorted_offset(&self, index: u64) -> u64 {
        HEADER_BYTES + self.rows * ROW_BYTES + index * NUMBER_BYTES
    }
}

/// The number at an offset; the payload is at least a header long where this is asked.
fn number(file: &CheckedFile, offset: u64) -> Result<u64> {
    if file.len() < HEADER_BYTES {
        return Err(file.damaged(0, "shorter than the head of a table"));
    }
    let bytes = file.bytes(offset..offset + NUMBER_BYTES)?;
    Ok(u64::from_le_bytes(
        bytes.try_into().expect("eight bytes were asked for"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::memory::MemoryStorage;
    use std::collections::BTreeSet;

    fn iri(ordinal: u64) -> TermId {
        TermId::new(Kind::Iri, ordinal)
    }

    fn table(first: u64, triples: &[[TermId; 3]]) -> (MemoryStorage, TripleTable) {
        let storage = MemoryStorage::new();
        let mut writer = TripleTableWriter::new(first);
        for (place, triple) in triples.iter().enumerate() {
            let id = writer.push(*triple).expect("there is room");
            assert_eq!(id, TermId::new(Kind::Triple, first + place as u64));
        }
        writer
            .finish(&storage, "t")
            .and_then(Unsynced::sync)
            .expect("memory takes it");
        let table = TripleTable::open(&storage, "t").expect("just written");
        (storage, table)
    }

    /// Distinct triples in no order, some of them of earlier ones.
    fn triples(first: u64) -> Vec<[TermId; 3]> {
        let mut seen = BTreeSet::new();
        let mut triples = Vec::new();
        for step in 0..500_u64 {
            let mixed = step.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let object = if step % 5 == 4 {
                TermId::new(Kind::Triple, first + mixed % step)
            } else {
                iri(mixed >> 40)
            };
            let triple = [iri(mixed >> 60), iri((mixed >> 50) % 4), object];
            if seen.insert(triple) {
                triples.push(triple);
            } else {
                // Ordinals must stay what the nested ones refer to.
                triples.push([iri(1_000 + step), iri(0), iri(0)]);
            }
        }
        triples
    }

    #[test]
    fn ids_and_triples_find_one_another() {
        let triples = triples(1_000);
        let (_storage, table) = table(1_000, &triples);
        assert_eq!((table.first(), table.rows()), (1_000, 500));
        for (place, triple) in triples.iter().enumerate() {
            let id = TermId::new(Kind::Triple, 1_000 + place as u64);
            assert!(table.contains(id));
            assert_eq!(table.triple(id).expect("a row"), *triple);
            assert_eq!(table.id(triple).expect("can be read"), Some(id));
        }
        assert_eq!(
            table.id(&[iri(0), iri(9), iri(0)]).expect("can be read"),
            None
        );
        for absent in [999, 1_500] {
            assert!(!table.contains(TermId::new(Kind::Triple, absent)));
        }
        assert!(!table.contains(iri(1_000)));
        for prefix in [
            &[][..],
            &[iri(3)][..],
            &[iri(3), iri(2)][..],
            &triples[7][..],
            &[iri(99)][..],
        ] {
            let found: Vec<[TermId; 3]> = table
                .sorted_range(prefix)
                .expect("can be read")
                .map(|index| {
                    let (id, triple) = table.sorted_triple(index).expect("a row");
                    assert_eq!(table.triple(id).expect("a row"), triple);
                    triple
                })
                .collect();
            let mut expected: Vec<[TermId; 3]> = triples
                .iter()
                .copied()
                .filter(|triple| triple.starts_with(prefix))
                .collect();
            expected.sort_unstable();
            assert_eq!(found, expected, "{prefix:?}");
        }
        let mut rows = Vec::new();
        table
            .verify(&mut |_, triple| rows.push(triple))
            .expect("sound");
        assert_eq!(rows, triples);
    }

    #[test]
    fn the_byte_map_is_what_is_written() {
        let (storage, _) = table(5, &[[iri(2), iri(3), iri(4)], [iri(1), iri(8), iri(9)]]);
        let file = CheckedFile::open(&storage, "t", MAGIC, VERSION).expect("just written");
        let id = |ordinal| iri(ordinal).bits();
        let expected = [5, 2, id(2), id(3), id(4), id(1), id(8), id(9), 1, 0];
        let bytes: Vec<u8> = expected
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        assert_eq!(file.bytes(0..file.len()).expect("just written"), bytes);
    }

    #[test]
    fn wrong_tables_are_refused() {
        let row = |a, b, c| [iri(a), iri(b), iri(c)].map(TermId::bits);
        let inner = TermId::new(Kind::Triple, 7).bits();
        let cases: [(&str, Vec<u64>); 8] = [
            ("no head", vec![7]),
            (
                "fewer rows than claimed",
                [&[7, 2][..], &row(1, 2, 3), &[0]].concat(),
            ),
            ("rows that overflow", vec![7, u64::MAX / 16]),
            (
                "ordinals beyond ids",
                [&[PAYLOAD_MAX, 2][..], &row(1, 2, 3), &row(4, 5, 6), &[0, 1]].concat(),
            ),
            (
                "not sorted",
                [&[7, 2][..], &row(1, 2, 3), &row(4, 5, 6), &[1, 0]].concat(),
            ),
            (
                "a row twice in the sorted part",
                [&[7, 2][..], &row(1, 2, 3), &row(4, 5, 6), &[0, 0]].concat(),
            ),
            (
                "a row that is not there",
                [&[7, 1][..], &row(1, 2, 3), &[1]].concat(),
            ),
            (
                "a term that contains itself",
                [&[7, 1][..], &[iri(1).bits(), iri(2).bits(), inner], &[0]].concat(),
            ),
        ];
        for (what, numbers) in cases {
            let storage = MemoryStorage::new();
            let mut writer =
                CheckedWriter::create(&storage, "t", MAGIC, VERSION).expect("memory takes it");
            for number in numbers {
                writer
                    .write_all(&number.to_le_bytes())
                    .expect("memory takes it");
            }
            writer
                .finish()
                .and_then(Unsynced::sync)
                .expect("memory takes it");
            let verified =
                TripleTable::open(&storage, "t").and_then(|table| table.verify(&mut |_, _| {}));
            assert!(
                matches!(verified, Err(StoreError::Damaged { .. })),
                "{what}: {verified:?}"
            );
        }
    }

    #[test]
    #[should_panic(expected = "inner triple terms come first")]
    fn a_triple_of_a_later_one_is_a_mistake() {
        let mut writer = TripleTableWriter::new(3);
        drop(writer.push([iri(1), iri(2), TermId::new(Kind::Triple, 3)]));
    }
}
