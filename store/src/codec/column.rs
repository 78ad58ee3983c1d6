//! A column of a block as mini-blocks: their heads in packed arrays, then their payloads.
//!
//! # Byte map
//!
//! ```text
//! forms        array, base 0            shape and width of each mini-block
//! lengths      array, base 0            bytes of each payload
//! references   array, base = origin     see [`super::miniblock`]
//! steps        array, base 0
//! payloads     one behind the other
//! ```
//!
//! Arrays are those of [`super::packed`], with a number for each mini-block. The *origin* is the column's
//! value in the block's first row, which the block directory holds. A column of equal values takes no
//! bytes at all: its block's header says so.

use super::miniblock::{Head, MiniBlockEncoder};
use super::packed::PackedArray;
use super::{Decoded, MINI_BLOCK_ROWS, Malformed};

/// About what a mini-block takes in its column's arrays.
const HEADS_BYTES_ESTIMATE: usize = 4;

/// A column of mini-blocks, ready to read; the bytes are kept by the caller.
#[derive(Clone, Copy, Debug, Default)]
pub struct MiniBlocks {
    values: usize,
    forms: PackedArray,
    lengths: PackedArray,
    references: PackedArray,
    steps: PackedArray,
    payloads: usize,
    end: usize,
    /// A mini-block and where its payload begins: summing lengths goes on from here.
    mark: (usize, usize),
}

impl MiniBlocks {
    /// Reads the heads of a column of `values` values that lies in `bytes[start..end]`.
    pub fn read(
        bytes: &[u8],
        start: usize,
        end: usize,
        values: usize,
        origin: u64,
    ) -> Decoded<Self> {
        let count = values.div_ceil(MINI_BLOCK_ROWS);
        let mut position = start;
        let forms = PackedArray::read(bytes, &mut position, count, 0)?;
        let lengths = PackedArray::read(bytes, &mut position, count, 0)?;
        let references = PackedArray::read(bytes, &mut position, count, origin)?;
        let steps = PackedArray::read(bytes, &mut position, count, 0)?;
        if position > end {
            return Err(Malformed("a column's heads are longer than the column"));
        }
        Ok(Self {
            values,
            forms,
            lengths,
            references,
            steps,
            payloads: position,
            end,
            mark: (0, position),
        })
    }

    /// The head of a mini-block.
    #[inline]
    fn head(&self, bytes: &[u8], mini_block: usize) -> Decoded<Head> {
        Head::new(
            self.forms.get(bytes, mini_block)?,
            self.references.get(bytes, mini_block)?,
            self.steps.get(bytes, mini_block)?,
        )
    }

    /// Where a mini-block's payload begins.
    #[inline]
    fn start(&mut self, bytes: &[u8], mini_block: usize) -> Decoded<usize> {
        let (from, start) = if self.mark.0 <= mini_block {
            self.mark
        } else {
            (0, self.payloads)
        };
        let skipped = self.lengths.sum(bytes, from..mini_block)?;
        match usize::try_from(skipped) {
            Ok(skipped) if skipped <= self.end.saturating_sub(start) => {
                self.mark = (mini_block, start + skipped);
                Ok(start + skipped)
            }
            _ => Err(Malformed("a mini-block behind the end of its column")),
        }
    }

    /// How many values a mini-block has.
    #[inline]
    fn len(&self, mini_block: usize) -> usize {
        (self.values - mini_block * MINI_BLOCK_ROWS).min(MINI_BLOCK_ROWS)
    }

    /// The first value of a mini-block; cheap where the form gives it without the payload.
    #[inline]
    pub fn first(&mut self, bytes: &[u8], mini_block: usize) -> Decoded<u64> {
        let head = self.head(bytes, mini_block)?;
        if head.starts_with_reference() {
            return Ok(head.reference);
        }
        let start = self.start(bytes, mini_block)?;
        head.first(bytes, start, self.len(mini_block))
    }

    /// Unpacks a mini-block into `out`, whose length must be the mini-block's.
    #[inline]
    pub fn decode(&mut self, bytes: &[u8], mini_block: usize, out: &mut [u64]) -> Decoded<()> {
        debug_assert_eq!(out.len(), self.len(mini_block));
        let head = self.head(bytes, mini_block)?;
        let start = self.start(bytes, mini_block)?;
        head.decode(bytes, start, out)
    }
}

/// Writes columns; keeps its scratch memory.
#[derive(Default)]
pub struct ColumnEncoder {
    mini_blocks: MiniBlockEncoder,
    forms: Vec<u64>,
    lengths: Vec<u64>,
    references: Vec<u64>,
    steps: Vec<u64>,
    payloads: Vec<u8>,
}

impl ColumnEncoder {
    /// Appends a column of at least one value; a reader must be given the same origin.
    pub fn encode(&mut self, values: &[u64], origin: u64, out: &mut Vec<u8>) {
        self.forms.clear();
        self.lengths.clear();
        self.references.clear();
        self.steps.clear();
        self.payloads.clear();
        for values in values.chunks(MINI_BLOCK_ROWS) {
            let before = self.payloads.len();
            let head = self.mini_blocks.encode(values, &mut self.payloads);
            self.forms.push(head.form());
            self.lengths.push((self.payloads.len() - before) as u64);
            self.references.push(head.reference);
            self.steps.push(head.step);
        }
        PackedArray::write(&mut self.forms, 0, out);
        PackedArray::write(&mut self.lengths, 0, out);
        PackedArray::write(&mut self.references, origin, out);
        PackedArray::write(&mut self.steps, 0, out);
        out.extend_from_slice(&self.payloads);
    }

    /// About how many bytes a column of at least one value would take, from two of its mini-blocks.
    pub fn estimate(&mut self, values: &[u64]) -> usize {
        let count = values.len().div_ceil(MINI_BLOCK_ROWS);
        let mut bytes = 0;
        for sample in [count / 3, count * 2 / 3] {
            let values = &values[sample * MINI_BLOCK_ROWS..];
            let values = &values[..values.len().min(MINI_BLOCK_ROWS)];
            bytes += self.mini_blocks.estimate(values) + HEADS_BYTES_ESTIMATE;
        }
        bytes * count / 2
    }
}

#[cfg(test)]
mod tests {
    use super::super::SLACK_BYTES;
    use super::super::testing::{Random, sequences};
    use super::*;

    #[test]
    fn columns_come_back_forward_and_backward() {
        let mut encoder = ColumnEncoder::default();
        for seed in 0..10 {
            println!("seed {seed}");
            for rows in [1, MINI_BLOCK_ROWS, MINI_BLOCK_ROWS + 1, 4_096] {
                for (name, values) in sequences(&mut Random(seed), rows) {
                    let mut bytes = vec![1; 3];
                    encoder.encode(&values, values[0], &mut bytes);
                    let end = bytes.len();
                    bytes.extend_from_slice(&[0xff; SLACK_BYTES]);
                    let mut column =
                        MiniBlocks::read(&bytes, 3, end, rows, values[0]).expect("heads");
                    let count = rows.div_ceil(MINI_BLOCK_ROWS);
                    for mini_block in (0..count).chain((0..count).rev()) {
                        let from = mini_block * MINI_BLOCK_ROWS;
                        let until = rows.min(from + MINI_BLOCK_ROWS);
                        let mut out = vec![9; until - from];
                        column.decode(&bytes, mini_block, &mut out).expect("whole");
                        assert_eq!(out, values[from..until], "{name}");
                        assert_eq!(column.first(&bytes, mini_block), Ok(values[from]));
                    }
                }
            }
        }
    }

    #[test]
    fn the_byte_map_is_what_the_encoder_writes() {
        // Two mini-blocks of equal steps: no payloads, so forms, lengths, references and steps are all.
        let values: Vec<u64> = (0..256).map(|row| 5_000 + row * 3).collect();
        let mut bytes = Vec::new();
        ColumnEncoder::default().encode(&values, 5_000, &mut bytes);
        let forms = [2, 0]; // shape delta, width 0: form 1, folded 2, width of the array 0
        let lengths = [0, 0];
        let references = [0, 9, 0, 3]; // 0 and 128 * 3 above the origin, in 9 bits each
        let steps = [6, 0];
        assert_eq!(bytes[..4], [forms, lengths].concat());
        assert_eq!(bytes[4..6], references[..2]);
        assert_eq!(
            u32::from_le_bytes([bytes[6], bytes[7], bytes[8], 0]) >> 9,
            384
        );
        assert_eq!(bytes[9..], steps);
    }

    #[test]
    fn garbage_is_refused_or_decoded_but_never_a_panic() {
        let mut random = Random(79);
        for round in 0..5_000 {
            let length = random.below(300) as usize;
            let bytes: Vec<u8> = (0..length)
                .map(|_| random.next() as u8 >> if round % 2 == 0 { 3 } else { 0 })
                .collect();
            let end = random.below(300) as usize;
            if let Ok(mut column) = MiniBlocks::read(&bytes, 0, end, 500, random.next()) {
                for mini_block in [0, 3, 1] {
                    let rows = column.len(mini_block);
                    let _ = column.decode(&bytes, mini_block, &mut vec![0; rows]);
                    let _ = column.first(&bytes, mini_block);
                }
            }
        }
    }
}
