//! `LargeVec`: a growing sequence in memory of its own, in large pages where the system has them.
//!
//! A vocabulary of a hundred megabytes that is looked up at random touches a page of 4 KiB for nearly every term, and pays
//! for it in page faults while it grows and in address translation ever after. Rows that are sorted are scattered over as
//! many pages, once for each order. Anonymous mappings can be advised to use
//! pages of 2 MiB; ordinary allocations cannot. Where the system has no such pages the advice does nothing.
//!
//! What always holds: the mapping is at least `length` elements long, and begins at a page, so every element is aligned.
//! All of the mapping is initialised: fresh memory is zeros, and what was used before holds old values.

use bytemuck::Pod;
use memmap2::MmapMut;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// The smallest mapping, in bytes.
const SMALLEST: usize = 64 << 10;

/// A growing sequence of plain values.
#[derive(Debug)]
pub struct LargeVec<T> {
    /// `None` until there is an element.
    memory: Option<MmapMut>,
    length: usize,
    /// Elements that the mapping has room for.
    capacity: usize,
    element: PhantomData<T>,
}

impl<T> Default for LargeVec<T> {
    fn default() -> Self {
        Self {
            memory: None,
            length: 0,
            capacity: 0,
            element: PhantomData,
        }
    }
}

impl<T: Pod> LargeVec<T> {
    /// `length` elements of zeros, as fresh memory is.
    pub fn zeroed(length: usize) -> Self {
        let mut zeroed = Self::default();
        if length > 0 {
            zeroed.reserve(length);
            zeroed.length = length;
        }
        zeroed
    }

    /// `length` times the same value.
    pub fn filled(value: T, length: usize) -> Self {
        let mut filled = Self::zeroed(length);
        filled.fill(value);
        filled
    }

    /// A copy of a slice.
    pub fn copied(values: &[T]) -> Self {
        let mut copied = Self::default();
        copied.extend_from_slice(values);
        copied
    }

    /// Makes this `length` elements long. What they hold is whatever was there: for who writes all of them.
    pub fn set_length(&mut self, length: usize) {
        if length > self.capacity {
            // Nothing of the old values is needed.
            self.length = 0;
            self.reserve(length);
        }
        self.length = length;
    }

    /// Keeps the first `length` elements, if there are more.
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Appends the values of an iterator that knows how many there are.
    pub fn extend(&mut self, values: impl ExactSizeIterator<Item = T>) {
        let start = self.length;
        if start + values.len() > self.capacity {
            self.reserve(values.len());
        }
        self.length += values.len();
        for (slot, value) in self[start..].iter_mut().zip(values) {
            *slot = value;
        }
    }

    /// Appends a value.
    #[inline]
    pub fn push(&mut self, value: T) {
        self.extend_from_slice(&[value]);
    }

    /// Appends values.
    #[inline]
    pub fn extend_from_slice(&mut self, values: &[T]) {
        let start = self.length;
        if start + values.len() > self.capacity {
            self.reserve(values.len());
        }
        self.length += values.len();
        self[start..].copy_from_slice(values);
    }

    /// Makes room for `more` elements, and for as many as there are already.
    #[cold]
    fn reserve(&mut self, more: usize) {
        let elements = (self.length + more).max(2 * self.length);
        let bytes = (elements * size_of::<T>()).max(SMALLEST);
        // Like any allocation that cannot be had, this ends the program: the budget is what keeps it from happening.
        let mut larger = MmapMut::map_anon(bytes).expect("memory for terms");
        #[cfg(target_os = "linux")]
        if larger.advise(memmap2::Advice::HugePage).is_err() {
            // A kernel without large pages: small ones do.
        }
        let used = self.length * size_of::<T>();
        if let Some(memory) = &self.memory {
            larger[..used].copy_from_slice(&memory[..used]);
        }
        self.capacity = larger.len() / size_of::<T>();
        self.memory = Some(larger);
    }
}

impl<T: Pod> Deref for LargeVec<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.memory {
            Some(memory) => bytemuck::cast_slice(&memory[..self.length * size_of::<T>()]),
            None => &[],
        }
    }
}

impl<T: Pod> DerefMut for LargeVec<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.memory {
            Some(memory) => bytemuck::cast_slice_mut(&mut memory[..self.length * size_of::<T>()]),
            None => &mut [],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LargeVec;

    #[test]
    fn it_holds_what_a_vector_holds() {
        let (mut large, mut plain) = (LargeVec::<u64>::default(), Vec::new());
        assert!(large.is_empty());
        for number in 0..50_000_u64 {
            if number % 7 == 0 {
                let values = vec![number; (number % 50) as usize];
                large.extend_from_slice(&values);
                plain.extend_from_slice(&values);
            }
            large.push(number);
            plain.push(number);
        }
        assert!(large[..] == plain[..]);
        large[3] = 77;
        assert_eq!((large[3], large.len()), (77, plain.len()));
        large.truncate(40);
        assert!(large.len() == 40 && large[4..] == plain[4..40]);
        large.truncate(0);
        large.extend((5..100_005_u32).map(u64::from));
        assert!(large.iter().copied().eq(5..100_005));
        large.set_length(3);
        assert_eq!(large[..], [5, 6, 7]);
        assert_eq!(LargeVec::copied(&large)[..], [5, 6, 7]);
        assert!(
            LargeVec::filled(u64::MAX, 10_000)
                .iter()
                .all(|value| *value == u64::MAX)
        );
    }
}
