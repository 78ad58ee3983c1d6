//! Syncing finished files while others are still being written.
//!
//! A file that is complete goes to a thread of its own, which waits for the disk; the load waits for it only
//! at the end, before the manifest names the files.

use crate::error::LoadError;
use quadrille_store::StoreError;
use quadrille_store::io::checked::Unsynced;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// The thread that syncs.
pub struct Syncing {
    sender: Mutex<Sender<Unsynced>>,
    thread: JoinHandle<Result<u64, StoreError>>,
}

impl Syncing {
    /// Starts the thread.
    pub fn start() -> Self {
        let (sender, receiver) = channel::<Unsynced>();
        // The channel is unbounded, but a load has a few dozen files.
        let thread = std::thread::spawn(move || {
            let mut bytes = 0;
            for file in receiver {
                bytes += file.sync()?;
            }
            Ok(bytes)
        });
        Self {
            sender: Mutex::new(sender),
            thread,
        }
    }

    /// Takes a complete file. If syncing has failed already, [`Syncing::finish`] says so.
    pub fn take(&self, file: Unsynced) {
        let sender = self.sender.lock().expect("nobody panics with the lock");
        drop(sender.send(file));
    }

    /// Waits until every file is durable; gives the bytes of all.
    pub fn finish(self) -> Result<u64, LoadError> {
        drop(self.sender);
        match self.thread.join() {
            Ok(result) => Ok(result?),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
