//! The ring that items lie in: `crossbeam_channel`'s bounded array, used for its `try_` operations
//! only. It is here so that the rest of the queue needs to know neither that crate nor loom, whose models
//! get a plain locked queue instead. What holds always: an item that was pushed is popped once, and items
//! of one thread come out in the order they went in.
//!
//! Crossbeam's blocking calls are not used: they spin and then call `sched_yield` several times before they
//! sleep, and wake a sleeper for each item. Its `try_` calls yield in one case only: another thread
//! has claimed the slot and was descheduled before it filled it.

#[cfg(all(test, loom))]
pub(super) use modelled::Ring;
#[cfg(not(all(test, loom)))]
pub(super) use real::Ring;

#[cfg(not(all(test, loom)))]
mod real {
    use crossbeam_channel::{Receiver, Sender, TrySendError};

    /// A bounded ring for any number of threads at both ends.
    #[derive(Debug)]
    pub(in crate::queue) struct Ring<T> {
        sender: Sender<T>,
        /// Kept beside the sender, so that neither end ever counts as disconnected.
        receiver: Receiver<T>,
    }

    impl<T> Ring<T> {
        pub(in crate::queue) fn new(capacity: usize) -> Self {
            let (sender, receiver) = crossbeam_channel::bounded(capacity);
            Self { sender, receiver }
        }

        /// Pushes, or gives the item back if the ring is full.
        #[inline]
        pub(in crate::queue) fn push(&self, item: T) -> Result<(), T> {
            self.sender.try_send(item).map_err(|error| match error {
                TrySendError::Full(item) | TrySendError::Disconnected(item) => item,
            })
        }

        /// Pops the oldest item.
        #[inline]
        pub(in crate::queue) fn pop(&self) -> Option<T> {
            self.receiver.try_recv().ok()
        }

        /// How many items there are.
        pub(in crate::queue) fn len(&self) -> usize {
            self.receiver.len()
        }
    }
}

#[cfg(all(test, loom))]
mod modelled {
    use crate::queue::wait::sync::{Mutex, lock};
    use std::collections::VecDeque;

    /// What loom runs instead.
    #[derive(Debug)]
    pub(in crate::queue) struct Ring<T> {
        items: Mutex<VecDeque<T>>,
        capacity: usize,
    }

    impl<T> Ring<T> {
        pub(in crate::queue) fn new(capacity: usize) -> Self {
            Self {
                items: Mutex::new(VecDeque::new()),
                capacity,
            }
        }

        pub(in crate::queue) fn push(&self, item: T) -> Result<(), T> {
            let mut items = lock(&self.items);
            if items.len() == self.capacity {
                return Err(item);
            }
            items.push_back(item);
            Ok(())
        }

        pub(in crate::queue) fn pop(&self) -> Option<T> {
            lock(&self.items).pop_front()
        }

        pub(in crate::queue) fn len(&self) -> usize {
            lock(&self.items).len()
        }
    }
}
