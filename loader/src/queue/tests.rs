//! Tests of the queue as its users see it, under every strategy. Threads are real here; the models that
//! loom checks stand in `models.rs`. Nothing is timed: a test that finds a deadlock hangs.

use super::{Closed, Queue, Receiver, Sender, TryReceive, TrySendError, WaitStrategy};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// A small generator of numbers (xorshift), for runs that can be repeated by seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Every strategy, once as if there were a core for each thread (spinning) and once not.
fn ways() -> impl Iterator<Item = (WaitStrategy, usize)> {
    WaitStrategy::ALL
        .into_iter()
        .flat_map(|strategy| [(strategy, 1), (strategy, 1_000)])
}

/// How much a test sends: little where threads that wait keep the cores busy, for a machine may have few.
fn amount(strategy: WaitStrategy, usual: u64) -> u64 {
    if strategy == WaitStrategy::Spin {
        usual / 20
    } else {
        usual
    }
}

fn send_all(sender: &Sender<u64>, numbers: std::ops::Range<u64>) {
    for number in numbers {
        sender.send(number).expect("the receivers are there");
    }
}

fn receive_all(receiver: &Receiver<u64>) -> Vec<u64> {
    std::iter::from_fn(|| receiver.receive()).collect()
}

#[test]
fn one_consumer_sees_each_producers_order() {
    for (strategy, threads) in ways() {
        for capacity in [1, 2, 7, 64] {
            let (queue, sender, receiver) = Queue::new(capacity, strategy, threads);
            let each = amount(strategy, 2_000);
            let second = sender.clone();
            let received = std::thread::scope(|scope| {
                scope.spawn(move || send_all(&sender, 0..each));
                scope.spawn(move || send_all(&second, 10_000..10_000 + each));
                receive_all(&receiver)
            });
            let (first, second): (Vec<u64>, Vec<u64>) =
                received.into_iter().partition(|number| *number < 10_000);
            assert!(first.into_iter().eq(0..each), "{strategy} {capacity}");
            assert!(
                second.into_iter().eq(10_000..10_000 + each),
                "{strategy} {capacity}"
            );
            assert!(queue.is_empty());
        }
    }
}

/// Producers and consumers of random number and pace; some use the `try_` operations only.
fn exchange(seed: u64, strategy: WaitStrategy, threads: usize) {
    let mut random = Random(seed);
    let capacity = 1 + random.below(20) as usize;
    let producers = 1 + random.below(4);
    let consumers = 1 + random.below(4);
    let each = 1 + random.below(amount(strategy, 1_500));
    println!("seed {seed}: {strategy}, capacity {capacity}, {producers} x {each} -> {consumers}");

    let (queue, sender, receiver) = Queue::new(capacity, strategy, threads);
    let received: Vec<Vec<u64>> = std::thread::scope(|scope| {
        for producer in 0..producers {
            let sender = sender.clone();
            let mut random = Random(seed ^ (producer + 1));
            scope.spawn(move || {
                produce(&sender, producer * each..(producer + 1) * each, &mut random);
            });
        }
        drop(sender);
        let consumers: Vec<_> = (0..consumers)
            .map(|consumer| {
                let receiver = receiver.clone();
                let mut random = Random(seed ^ (100 + consumer));
                scope.spawn(move || consume(&receiver, &mut random))
            })
            .collect();
        consumers
            .into_iter()
            .map(|consumer| consumer.join().unwrap())
            .collect()
    });

    let all: Vec<u64> = received.into_iter().flatten().collect();
    let distinct: HashSet<u64> = all.iter().copied().collect();
    assert_eq!(
        all.len() as u64,
        producers * each,
        "seed {seed}: something was lost or doubled"
    );
    assert_eq!(
        distinct.len(),
        all.len(),
        "seed {seed}: something was doubled"
    );
    assert!(
        distinct.iter().all(|number| *number < producers * each),
        "seed {seed}"
    );

    let report = queue.report();
    assert_eq!(report.senders.hand_overs, producers * each, "seed {seed}");
    assert_eq!(report.receivers.hand_overs, producers * each, "seed {seed}");
    if strategy == WaitStrategy::Spin {
        assert_eq!(
            report.senders.parks + report.receivers.parks,
            0,
            "seed {seed}"
        );
    } else if threads == 1_000 {
        let spins = report.senders.spins_succeeded + report.receivers.spins_succeeded;
        assert_eq!(spins, 0, "seed {seed}: spinning without cores");
    }
}

fn produce(sender: &Sender<u64>, numbers: std::ops::Range<u64>, random: &mut Random) {
    let tries_only = random.below(3) == 0;
    for number in numbers {
        if random.below(50) == 0 {
            sender.flush();
            std::thread::yield_now();
        }
        if !tries_only {
            sender.send(number).expect("the receivers are there");
            continue;
        }
        let mut item = number;
        while let Err(error) = sender.try_send(item) {
            let TrySendError::Full(unsent) = error else {
                panic!("closed while receivers were there");
            };
            item = unsent;
            std::thread::yield_now();
        }
    }
}

fn consume(receiver: &Receiver<u64>, random: &mut Random) -> Vec<u64> {
    let kind = random.below(3);
    let mut received = Vec::new();
    loop {
        if random.below(40) == 0 {
            std::thread::yield_now();
        }
        let found = match kind {
            0 => receiver.try_receive(),
            1 => receiver.receive_within(Duration::from_micros(50)),
            _ => receiver
                .receive()
                .map_or(TryReceive::Closed, TryReceive::Item),
        };
        match found {
            TryReceive::Item(item) => received.push(item),
            TryReceive::Empty => std::thread::yield_now(),
            TryReceive::Closed => return received,
        }
    }
}

#[test]
fn nothing_is_lost_or_doubled_among_many() {
    for (strategy, threads) in ways() {
        for seed in 1..=8 {
            exchange(
                0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed),
                strategy,
                threads,
            );
        }
    }
}

#[test]
fn a_queue_of_one_goes_back_and_forth() {
    for (strategy, threads) in ways() {
        let (_, there, from_here) = Queue::new(1, strategy, threads);
        let (_, back, from_there) = Queue::new(1, strategy, threads);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while let Some(number) = from_here.receive() {
                    back.send(number + 1).unwrap();
                }
            });
            for number in 0..amount(strategy, 500) {
                there.send(number).unwrap();
                assert_eq!(from_there.receive(), Some(number + 1));
            }
            drop(there);
        });
        assert_eq!(from_there.receive(), None);
    }
}

#[test]
fn try_operations_tell_full_empty_and_closed_apart() {
    for (strategy, threads) in ways() {
        let (queue, sender, receiver) = Queue::new(2, strategy, threads);
        assert_eq!(receiver.try_receive(), TryReceive::Empty);
        assert_eq!(receiver.receive_within(Duration::ZERO), TryReceive::Empty);
        assert_eq!(sender.try_send(1), Ok(()));
        assert_eq!(sender.try_send(2), Ok(()));
        assert_eq!(sender.try_send(3), Err(TrySendError::Full(3)));
        assert_eq!(queue.len(), 2);
        assert_eq!(receiver.try_receive(), TryReceive::Item(1));
        drop(sender);
        assert_eq!(receiver.try_receive(), TryReceive::Item(2));
        assert_eq!(receiver.try_receive(), TryReceive::Closed);
        assert_eq!(receiver.receive(), None);
        let report = queue.report();
        assert_eq!(
            (report.senders.try_failures, report.receivers.try_failures),
            (1, 1)
        );
        assert_eq!(
            (report.senders.hand_overs, report.receivers.hand_overs),
            (2, 2)
        );
    }
}

#[test]
fn without_receivers_items_come_back() {
    for (strategy, threads) in ways() {
        let (_, sender, receiver) = Queue::new(1, strategy, threads);
        sender.send(String::from("lost")).unwrap();
        let second = receiver.clone();
        drop(receiver);
        std::thread::scope(|scope| {
            // The sender finds the queue full, and waits until the last receiver goes.
            scope.spawn(move || drop(second));
            assert_eq!(
                sender.send(String::from("kept")),
                Err(Closed(String::from("kept")))
            );
        });
        assert_eq!(
            sender.try_send(String::from("too")),
            Err(TrySendError::Closed(String::from("too")))
        );
    }
}

#[test]
fn an_abort_frees_all_who_wait_and_all_who_come() {
    for (strategy, threads) in ways() {
        let (full, full_sender, full_receiver) = Queue::new(1, strategy, threads);
        let (empty, _empty_sender, empty_receiver) = Queue::<u64>::new(1, strategy, threads);
        full_sender.send(0).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let sender = full_sender.clone();
                scope.spawn(move || assert_eq!(sender.send(1), Err(Closed(1))));
                let receiver = empty_receiver.clone();
                scope.spawn(move || assert_eq!(receiver.receive(), None));
            }
            // Enough for most runs to find them asleep; either way they must come back.
            std::thread::sleep(Duration::from_millis(5));
            full.abort();
            empty.abort();
        });
        assert!(full.is_aborted());
        assert_eq!(full_sender.try_send(2), Err(TrySendError::Closed(2)));
        // What lies in it is not delivered any more.
        assert_eq!(full_receiver.try_receive(), TryReceive::Closed);
        assert_eq!(
            empty_receiver.receive_within(Duration::from_secs(100)),
            TryReceive::Closed
        );
    }
}

#[test]
fn an_aborted_queue_drops_what_lies_in_it() {
    for (strategy, threads) in ways() {
        let item = std::sync::Arc::new(());
        let (queue, sender, receiver) = Queue::new(4, strategy, threads);
        sender.send(std::sync::Arc::clone(&item)).unwrap();
        queue.abort();
        drop((queue, sender, receiver));
        assert_eq!(std::sync::Arc::strong_count(&item), 1);
    }
}

/// A producer that sends less than the level and then stays away must not leave its items lying: neither
/// when it flushes, nor when it forgets to.
#[test]
fn a_slow_producer_does_not_starve_parked_consumers() {
    for (strategy, threads) in ways() {
        for flushes in [true, false] {
            let (_, sender, receiver) = Queue::new(64, strategy, threads);
            let received = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    let receiver = receiver.clone();
                    let received = &received;
                    scope.spawn(move || {
                        while let Some(()) = receiver.receive() {
                            received.fetch_add(1, Ordering::Relaxed);
                        }
                    });
                }
                for round in 1..=3 {
                    std::thread::sleep(Duration::from_millis(2));
                    sender.send(()).unwrap();
                    if flushes {
                        sender.flush();
                    }
                    // The producer sends no more until this one has arrived.
                    while received.load(Ordering::Relaxed) < round {
                        std::thread::sleep(Duration::from_micros(200));
                    }
                }
                drop(sender);
            });
        }
    }
}

/// The same at the other end: room below the level must reach a parked producer even if the consumer stays
/// away.
#[test]
fn a_slow_consumer_does_not_starve_parked_producers() {
    for (strategy, threads) in ways() {
        let (_, sender, receiver) = Queue::new(64, strategy, threads);
        for _ in 0..64 {
            sender.send(()).unwrap();
        }
        let sent = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let sent = &sent;
            scope.spawn(move || {
                sender.send(()).unwrap();
                sent.store(true, Ordering::Relaxed);
            });
            std::thread::sleep(Duration::from_millis(2));
            assert_eq!(receiver.try_receive(), TryReceive::Item(()));
            while !sent.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_micros(200));
            }
        });
    }
}

/// What hysteresis is for: many items, few sleeps. With a wake per item the consumer of this test would
/// park up to 4,096 times.
#[test]
fn a_parked_consumer_is_woken_for_half_a_queue() {
    let (queue, sender, receiver) = Queue::new(1_024, WaitStrategy::SpinPark, 1_000);
    std::thread::scope(|scope| {
        scope.spawn(move || receive_all(&receiver));
        send_all(&sender, 0..4_096);
        drop(sender);
    });
    let report = queue.report();
    // Each wake but the last (closing), and each one after a timeout, stands for 512 items at least.
    let explained = 4_096 / 512 + 1 + report.receivers.timeouts;
    assert!(report.senders.wakes <= explained, "{report:?}");
    assert!(report.receivers.parks <= 2 * explained, "{report:?}");
}

/// A thread that holds both ends can look for other work in between.
#[test]
fn limited_waiting_comes_back_empty() {
    for (strategy, threads) in ways() {
        let (queue, sender, receiver) = Queue::<u64>::new(4, strategy, threads);
        assert_eq!(
            receiver.receive_within(Duration::from_millis(1)),
            TryReceive::Empty
        );
        sender.send(5).unwrap();
        assert_eq!(
            receiver.receive_within(Duration::from_millis(1)),
            TryReceive::Item(5)
        );
        let report = queue.report();
        assert!(
            report.receivers.waited_nanoseconds >= 1_000_000,
            "{report:?}"
        );
        let expected = u64::from(strategy != WaitStrategy::Spin);
        assert_eq!(report.receivers.timeouts, expected, "{report:?}");
    }
}

#[test]
fn handles_keep_their_own_counters() {
    let (queue, sender, receiver) = Queue::new(8, WaitStrategy::SpinPark, 1);
    let second = sender.clone();
    sender.send(1).unwrap();
    second.send(2).unwrap();
    second.send(3).unwrap();
    assert_eq!(
        (sender.report().hand_overs, second.report().hand_overs),
        (1, 2)
    );
    drop(second);
    assert_eq!(queue.report().senders.hand_overs, 3);
    assert_eq!(receiver.report().hand_overs, 0);
}

#[test]
fn strategies_are_named_as_they_are_read() {
    for strategy in WaitStrategy::ALL {
        assert_eq!(strategy.to_string().parse(), Ok(strategy));
        assert_eq!(serde_json::to_value(strategy).unwrap(), strategy.name());
    }
    assert!(
        "semaphore"
            .parse::<WaitStrategy>()
            .unwrap_err()
            .to_string()
            .contains("semaphore")
    );
}

#[test]
#[should_panic(expected = "room for one item")]
fn a_queue_without_room_is_refused() {
    drop(Queue::<u64>::new(0, WaitStrategy::SpinPark, 1));
}
