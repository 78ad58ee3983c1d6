//! Help, and wrong usage: exit code 2 and not the slightest effect.

use crate::support::{SMALL, Scratch};

#[test]
fn help_and_version_are_results() {
    let scratch = Scratch::new();
    let commands: [&[&str]; 10] = [
        &[],
        &["load"],
        &["infer"],
        &["query"],
        &["dump"],
        &["info"],
        &["verify"],
        &["lubm"],
        &["lubm", "generate"],
        &["lubm", "bench"],
    ];
    for command in commands {
        let mut arguments = command.to_vec();
        arguments.push("--help");
        let run = scratch.run(&arguments).succeeds_silently();
        let usage = ["Usage: quadrille"]
            .iter()
            .chain(command)
            .copied()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(run.out.contains(&usage), "{usage}: {run:#?}");
    }
    let help = scratch.run(&["--help"]).out;
    for command in &commands[1..7] {
        assert!(help.contains(&format!("  {} ", command[0])), "{help}");
    }
    let version = scratch.run(&["--version"]).succeeds_silently();
    assert_eq!(
        version.out,
        format!("quadrille {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn wrong_usage_names_the_argument() {
    let scratch = Scratch::new();
    scratch.write("small.nq", SMALL);
    let cases: [(&[&str], &[&str]); 21] = [
        (&[], &["Usage"]),
        (&["lode"], &["lode"]),
        (&["load", "small.nq"], &["--store"]),
        (&["load", "--store", "s"], &["FILE"]),
        (
            &["load", "--store", "s", "--frmat", "nt", "small.nq"],
            &["--frmat"],
        ),
        (
            &["load", "--store", "s", "--format", "word", "small.nq"],
            &["--format", "\"word\"", "trig"],
        ),
        (
            &["load", "--store", "s", "--memory", "1M", "small.nq"],
            &["--memory", "at least 32 MiB"],
        ),
        (
            &["load", "--store", "s", "--memory", "lots", "small.nq"],
            &["--memory", "\"lots\""],
        ),
        (
            &["load", "--store", "s", "--threads", "0", "small.nq"],
            &["--threads"],
        ),
        (
            &["load", "--store", "s", "--graph", "no iri", "small.nq"],
            &["--graph"],
        ),
        (
            &["load", "--store", "s", "--base", "relative", "small.nq"],
            &["--base"],
        ),
        (
            &["load", "--store", "s", "--rejects", "r.txt", "small.nq"],
            &["--on-error"],
        ),
        (
            &["load", "--store", "s", "--on-error", "cry", "small.nq"],
            &["--on-error", "skip"],
        ),
        (
            &["load", "--store", "s", "--wait", "cry", "small.nq"],
            &["--wait", "spin-park"],
        ),
        (&["query", "--store", "s"], &["QUERY"]),
        (
            &["query", "--store", "s", "--file", "q", "ASK {}"],
            &["--file"],
        ),
        (
            &["query", "--store", "s", "--results", "word", "ASK {}"],
            &["--results", "json"],
        ),
        (
            &["query", "--store", "s", "--timeout", "soon", "ASK {}"],
            &["--timeout", "\"soon\""],
        ),
        (
            &["query", "--store", "s", "--base", "relative", "ASK {}"],
            &["--base"],
        ),
        (&["dump", "--store", "s", "--graph", "no iri"], &["--graph"]),
        (
            &["dump", "--store", "s", "--format", "word"],
            &["--format", "\"word\""],
        ),
    ];
    for (arguments, parts) in cases {
        scratch.run(arguments).wrong_usage(parts);
        assert_eq!(scratch.files("."), ["small.nq"], "{arguments:?}");
    }
}
