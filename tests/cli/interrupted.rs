//! Loads that are interrupted while they wait for input: the store stays as it was, and can be loaded at once again.

use crate::support::{Run, SMALL, Scratch, many};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::process::Child;

/// A load that has begun to read a pipe, and the pipe's other end.
fn begin(scratch: &Scratch) -> (Child, File) {
    let pipe = scratch.path("pipe.nt");
    if !pipe.exists() {
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    }
    let load = scratch.spawn(&["load", "--store", "s", "pipe.nt"]);
    // Opens when the load opens the other end: by then it holds the store and listens to signals.
    let mut input = OpenOptions::new()
        .write(true)
        .open(&pipe)
        .expect("the pipe opens");
    input
        .write_all(many(100).as_bytes())
        .expect("the load reads");
    (load, input)
}

fn signal(load: &Child, signal: Signal) {
    let process = Pid::from_raw(load.id().try_into().expect("a small number")).expect("not 0");
    kill_process(process, signal).expect("it runs");
}

fn end(load: Child) -> Run {
    Run::of(load.wait_with_output().expect("it ends"))
}

#[test]
fn a_load_that_is_interrupted_leaves_the_store_as_it_was() {
    let scratch = Scratch::with_small_store();
    let before = scratch.dump("s");
    let files = scratch.files("s");
    for stop in [Signal::INT, Signal::TERM] {
        let (load, mut input) = begin(&scratch);
        scratch
            .run(&["load", "--store", "s", "small.nq"])
            .fails(&["in use by process", "load"]);
        assert_eq!(scratch.dump("s"), before, "readers see what is there");
        signal(&load, stop);
        // More than a pipe holds, so that the load has seen some of it after the signal. It may go away before the end.
        drop(input.write_all(many(10_000).as_bytes()));
        drop(input);
        let run = end(load).fails(&["cancelled", "as it was"]);
        assert_eq!(run.out, "");
        assert_eq!(scratch.files("s"), files);
        assert_eq!(scratch.dump("s"), before);
    }
    scratch.write("more.nt", many(10));
    scratch.run(&["load", "--store", "s", "more.nt"]).succeeds();
    assert_eq!(scratch.quads("s"), 13);
}

#[test]
fn a_load_that_is_killed_leaves_the_store_as_it_was() {
    let scratch = Scratch::with_small_store();
    let before = scratch.dump("s");
    let (load, input) = begin(&scratch);
    signal(&load, Signal::KILL);
    let run = end(load);
    assert_eq!(run.code, None, "{run:#?}");
    drop(input);
    assert_eq!(scratch.dump("s"), before);
    scratch.write("more.nt", many(10));
    scratch.run(&["load", "--store", "s", "more.nt"]).succeeds();
    assert_eq!(scratch.quads("s"), 13);
    assert!(
        !scratch
            .files("s")
            .iter()
            .any(|name| name.starts_with("temporary/"))
    );
}

/// The second signal ends the process even where it waits for input that does not come.
#[test]
fn a_second_signal_ends_the_process_at_once() {
    let scratch = Scratch::with_small_store();
    let before = scratch.dump("s");
    let (mut load, input) = begin(&scratch);
    // Signals that come while one is pending are merged, so one is sent until the process has gone.
    let mut sent = 0;
    let status = loop {
        if let Some(status) = load.try_wait().expect("it can be waited for") {
            break status;
        }
        signal(&load, Signal::INT);
        sent += 1;
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(sent < 1_000, "{sent} signals did not end it");
    };
    assert!([Some(130), Some(1)].contains(&status.code()), "{status:?}");
    drop(input);
    assert_eq!(scratch.dump("s"), before);
    scratch.write("small.nq", SMALL);
    scratch
        .run(&["load", "--store", "s", "small.nq"])
        .succeeds();
    scratch.run(&["verify", "--store", "s"]).succeeds();
}
