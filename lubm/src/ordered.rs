//! Universities made by many threads, written in order, with bounded memory.
//!
//! The lowest university not yet written is the *head*. The thread that makes the head writes straight to
//! the output, department after department, while they are hot in its cache; the others collect theirs in
//! memory. Who finishes a university that is not the head leaves it in `finished` and goes on with another
//! one; who finishes the head also writes what is finished behind it. So no thread is set aside for
//! writing, and with one thread nothing is ever collected.
//!
//! Memory: each thread has one university in the making, and at most [`Ordered::waiting_max`] are finished;
//! whoever would leave one more waits, until there is room or its own is the head. The head's thread never
//! waits here, so the head always moves on.
//!
//! What always holds: only the thread that makes the head (or has taken it out of `finished`) writes;
//! `head` changes only under the lock, and a thread that reads its own number in it stays the head until
//! it says otherwise itself, so reading it without the lock is enough.

use crate::text::TextBuffer;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The output of all threads.
pub(crate) struct Ordered<'w> {
    output: Mutex<&'w mut (dyn Write + Send)>,
    bytes: AtomicU64,
    head: AtomicU32,
    stopped: AtomicBool,
    state: Mutex<State>,
    /// The head has moved on, or all is stopped.
    moved: Condvar,
    waiting_max: usize,
}

#[derive(Default)]
struct State {
    finished: BTreeMap<u32, TextBuffer>,
    /// Empty buffers, to be filled again.
    spare: Vec<TextBuffer>,
}

impl<'w> Ordered<'w> {
    /// Universities from 0 on are written to `output`, where at most `waiting_max` finished ones wait.
    pub(crate) fn new(output: &'w mut (dyn Write + Send), waiting_max: usize) -> Self {
        Self {
            output: Mutex::new(output),
            bytes: AtomicU64::new(0),
            head: AtomicU32::new(0),
            stopped: AtomicBool::new(false),
            state: Mutex::default(),
            moved: Condvar::new(),
            waiting_max,
        }
    }

    /// Bytes written so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// An empty buffer.
    pub(crate) fn buffer(&self) -> TextBuffer {
        self.lock().spare.pop().unwrap_or_default()
    }

    /// Writes what there is of a university if it is the head.
    pub(crate) fn advance(&self, university: u32, packed: &mut TextBuffer) -> io::Result<()> {
        if self.head.load(Ordering::Acquire) == university {
            self.write(packed)?;
        }
        Ok(())
    }

    /// Takes the rest of a finished university.
    pub(crate) fn finish(&self, university: u32, mut packed: TextBuffer) -> io::Result<()> {
        let mut state = self.lock();
        loop {
            if self.stopped() {
                return Ok(());
            }
            if self.head.load(Ordering::Acquire) == university {
                break;
            }
            if state.finished.len() < self.waiting_max {
                state.finished.insert(university, packed);
                return Ok(());
            }
            state = self
                .moved
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let mut head = university;
        loop {
            drop(state);
            self.write(&mut packed)?;
            head += 1;
            state = self.lock();
            state.spare.push(packed);
            self.head.store(head, Ordering::Release);
            self.moved.notify_all();
            match state.finished.remove(&head) {
                Some(next) => packed = next,
                None => return Ok(()),
            }
        }
    }

    /// Passes on what the output itself still holds.
    pub(crate) fn flush(&self) -> io::Result<()> {
        self.output
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .flush()
    }

    /// Whether the work has been stopped.
    pub(crate) fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Ends the work of all threads: each returns as soon as it looks.
    pub(crate) fn stop(&self) {
        // Under the lock, so that nobody looks before it and goes to sleep after it.
        let _state = self.lock();
        self.stopped.store(true, Ordering::Relaxed);
        self.moved.notify_all();
    }

    fn write(&self, packed: &mut TextBuffer) -> io::Result<()> {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.write_all(packed.as_bytes())?;
        self.bytes
            .fetch_add(packed.as_bytes().len() as u64, Ordering::Relaxed);
        packed.clear();
        Ok(())
    }

    /// A thread that panics stops the others by [`Ordered::stop`]; the state is whole at every unlock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
