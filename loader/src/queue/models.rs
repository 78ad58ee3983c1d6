//! Models of the queue that loom runs through every interleaving and every reordering the memory model allows.
//! They are here because a lost wake-up shows in one of a billion runs, and then as a load that hangs. In these
//! models no deadline ever comes: what ends, ends without the help of a timeout.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p quadrille-loader --lib --release queue::models
//! ```
//!
//! The first group checks the gate alone against a queue that is one counter with the weakest
//! orderings, so that nothing but the gate's own fences orders anything. The second checks the whole queue,
//! with its real loops, over a locked ring.

use super::wait::sync::{AtomicUsize, Ordering};
use super::wait::{Gate, Woken};
use super::{Queue, TryReceive, TrySendError, WaitStrategy};
use loom::thread;
use std::sync::Arc;

/// Runs a model; more than two threads only up to a number of preemptions, or it takes hours.
fn model(preemptions: Option<usize>, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.check(body);
}

/// A gate and the number of items that may be taken.
struct Counted {
    gate: Gate,
    items: AtomicUsize,
}

impl Counted {
    fn new(level: usize) -> Arc<Self> {
        Arc::new(Self {
            gate: Gate::new(level),
            items: AtomicUsize::new(0),
        })
    }

    fn count(&self) -> usize {
        self.items.load(Ordering::Relaxed)
    }

    fn make(&self) {
        self.items.fetch_add(1, Ordering::Relaxed);
        self.gate.notify(|| self.count());
    }

    /// Takes one item, parking as long as there is none.
    fn take(&self, eager: bool) {
        loop {
            let taken = self
                .items
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |items| {
                    items.checked_sub(1)
                });
            if taken.is_ok() {
                return;
            }
            let woken = self.gate.wait(eager, None, || self.count() > 0);
            assert_ne!(woken, Woken::Timeout);
        }
    }
}

#[test]
fn an_item_wakes_at_level_one() {
    model(None, || {
        let counted = Counted::new(1);
        let maker = thread::spawn({
            let counted = Arc::clone(&counted);
            move || counted.make()
        });
        counted.take(false);
        maker.join().unwrap();
    });
}

#[test]
fn the_item_that_reaches_the_level_wakes() {
    model(Some(3), || {
        let counted = Counted::new(2);
        let makers = [(); 2].map(|()| {
            let counted = Arc::clone(&counted);
            thread::spawn(move || counted.make())
        });
        counted.take(false);
        for maker in makers {
            maker.join().unwrap();
        }
    });
}

#[test]
fn a_flush_wakes_below_the_level() {
    model(None, || {
        let counted = Counted::new(5);
        let maker = thread::spawn({
            let counted = Arc::clone(&counted);
            move || {
                counted.make();
                counted.gate.flush(|| counted.count());
            }
        });
        counted.take(false);
        maker.join().unwrap();
    });
}

#[test]
fn an_eager_waiter_is_woken_below_the_level() {
    model(None, || {
        let counted = Counted::new(5);
        let maker = thread::spawn({
            let counted = Arc::clone(&counted);
            move || counted.make()
        });
        counted.take(true);
        maker.join().unwrap();
    });
}

#[test]
fn two_waiters_get_an_item_each() {
    model(Some(3), || {
        let counted = Counted::new(1);
        let taker = thread::spawn({
            let counted = Arc::clone(&counted);
            move || counted.take(false)
        });
        let maker = thread::spawn({
            let counted = Arc::clone(&counted);
            move || {
                counted.make();
                counted.make();
            }
        });
        counted.take(false);
        taker.join().unwrap();
        maker.join().unwrap();
    });
}

#[test]
fn a_queue_of_one_never_leaves_both_ends_asleep() {
    for strategy in [WaitStrategy::SpinPark, WaitStrategy::Park] {
        model(Some(3), move || {
            let (_, sender, receiver) = Queue::new(1, strategy, 2);
            let producer = thread::spawn(move || {
                for number in 0..3 {
                    sender.send(number).unwrap();
                }
            });
            for number in 0..3 {
                assert_eq!(receiver.receive(), Some(number));
            }
            assert_eq!(receiver.receive(), None);
            producer.join().unwrap();
        });
    }
}

#[test]
fn hysteresis_at_both_ends_never_leaves_both_asleep() {
    model(Some(2), || {
        let (_, sender, receiver) = Queue::new(4, WaitStrategy::SpinPark, 2);
        let producer = thread::spawn(move || {
            for number in 0..6 {
                sender.send(number).unwrap();
            }
        });
        for number in 0..6 {
            assert_eq!(receiver.receive(), Some(number));
        }
        assert_eq!(receiver.receive(), None);
        producer.join().unwrap();
    });
}

#[test]
fn a_producer_that_goes_leaves_nothing_lying() {
    model(Some(2), || {
        let (_, sender, receiver) = Queue::new(8, WaitStrategy::SpinPark, 3);
        let other = sender.clone();
        let producer = thread::spawn(move || sender.send(1).unwrap());
        // The queue stays open and below its level: only the leaving wakes.
        assert_eq!(receiver.receive(), Some(1));
        drop(other);
        assert_eq!(receiver.receive(), None);
        producer.join().unwrap();
    });
}

#[test]
fn two_consumers_share_what_one_producer_sends() {
    model(Some(2), || {
        let (_, sender, receiver) = Queue::new(2, WaitStrategy::SpinPark, 3);
        let second = receiver.clone();
        let consumer = thread::spawn(move || std::iter::from_fn(|| second.receive()).count());
        let producer = thread::spawn(move || {
            for number in 0..3 {
                sender.send(number).unwrap();
            }
        });
        let mine = std::iter::from_fn(|| receiver.receive()).count();
        assert_eq!(mine + consumer.join().unwrap(), 3);
        producer.join().unwrap();
    });
}

#[test]
fn an_abort_wakes_both_ends() {
    for strategy in [WaitStrategy::SpinPark, WaitStrategy::Park] {
        model(Some(3), move || {
            let (full, sender, unused_receiver) = Queue::new(1, strategy, 2);
            let (empty, unused_sender, receiver) = Queue::<u8>::new(1, strategy, 2);
            sender.try_send(0).unwrap();
            let producer = thread::spawn(move || assert_eq!(sender.send(1).unwrap_err().0, 1));
            let consumer = thread::spawn(move || assert_eq!(receiver.receive(), None));
            full.abort();
            empty.abort();
            producer.join().unwrap();
            consumer.join().unwrap();
            drop((unused_sender, unused_receiver));
        });
    }
}

#[test]
fn the_last_receiver_that_goes_frees_the_producer() {
    for strategy in [WaitStrategy::SpinPark, WaitStrategy::Park] {
        model(None, move || {
            let (_, sender, receiver) = Queue::new(1, strategy, 2);
            sender.try_send(0).unwrap();
            let consumer = thread::spawn(move || drop(receiver));
            assert_eq!(sender.send(1).unwrap_err().0, 1);
            assert_eq!(sender.try_send(2), Err(TrySendError::Closed(2)));
            consumer.join().unwrap();
        });
    }
}

#[test]
fn what_was_sent_before_the_end_is_received_before_it() {
    model(None, || {
        let (_, sender, receiver) = Queue::new(2, WaitStrategy::SpinPark, 2);
        let producer = thread::spawn(move || sender.try_send(7).unwrap());
        let found = loop {
            match receiver.try_receive() {
                TryReceive::Item(item) => break Some(item),
                TryReceive::Closed => break None,
                TryReceive::Empty => thread::yield_now(),
            }
        };
        assert_eq!(found, Some(7));
        producer.join().unwrap();
    });
}
