//! `quadrille infer`, and how the other commands show what was inferred.

use crate::support::Scratch;

const ONTOLOGY: &str = "@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Professor rdfs:subClassOf :Person . :knows rdfs:range :Person .
:ada a :Professor ; :knows :charles .
";

const PERSONS: &str = "SELECT ?x { ?x a <http://example.org/Person> } ORDER BY ?x";

#[test]
fn what_is_inferred_is_asked_dumped_and_dropped() {
    let scratch = Scratch::new();
    scratch.write("data.ttl", ONTOLOGY);
    scratch
        .run(&["load", "--store", "s", "data.ttl"])
        .succeeds();
    let ask = |more: &[&str]| {
        let mut arguments = vec!["query", "--store", "s", PERSONS];
        arguments.extend(more);
        scratch.run(&arguments)
    };
    assert_eq!(ask(&[]).succeeds().out, "?x\n");
    let run = scratch
        .run(&["infer", "--store", "s", "--profile", "rdfs"])
        .succeeds();
    assert!(run.err.contains("2 quads by"), "{run:#?}");
    let persons = "?x\n<http://example.org/ada>\n<http://example.org/charles>\n";
    assert_eq!(ask(&[]).succeeds().out, persons);
    assert_eq!(ask(&["--explicit-only"]).succeeds().out, "?x\n");
    let info = scratch.info("s");
    assert_eq!(
        (
            &info["quads"],
            &info["explicit_quads"],
            &info["inferred_quads"]
        ),
        (&6.into(), &4.into(), &2.into())
    );
    assert_eq!(info["inference"]["profile"], "rdfs");
    assert_eq!(info["inference"]["stale"], false);
    let dump = |more: &[&str]| {
        let mut arguments = vec!["dump", "--store", "s"];
        arguments.extend(more);
        scratch.run(&arguments).succeeds().out.lines().count()
    };
    assert_eq!((dump(&[]), dump(&["--explicit-only"])), (6, 4));

    let why = |triple: &str| scratch.run(&["infer", "--store", "s", "--why", triple]);
    let persons_type =
        "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.org/Person>";
    let run = why(&format!("<http://example.org/ada> {persons_type}")).succeeds_silently();
    assert_eq!(run.out.lines().count(), 2, "{run:#?}");
    assert!(
        run.out.contains("[rdfs9]") && run.out.contains("[explicit]"),
        "{run:#?}"
    );
    why(&format!("<http://example.org/dora> {persons_type}")).fails(&["does not follow"]);
    assert_eq!(why("<a").code, Some(2));

    // A further load makes it stale: a query says so.
    scratch.write(
        "more.nt",
        "<http://example.org/bob> <http://example.org/knows> <http://example.org/eve> .\n",
    );
    scratch.run(&["load", "--store", "s", "more.nt"]).succeeds();
    ask(&[]).fails(&["infer again"]);
    assert_eq!(ask(&["--explicit-only"]).succeeds().out, "?x\n");
    assert_eq!(ask(&["--accept-stale"]).succeeds().out, persons);
    let text = scratch.run(&["info", "--store", "s"]).succeeds().out;
    assert!(text.contains("2 quads by rdfs (stale"), "{text}");
    let report = scratch
        .run(&[
            "infer",
            "--store",
            "s",
            "--profile",
            "rdfs",
            "--report",
            "json",
        ])
        .succeeds_silently()
        .json();
    assert_eq!(report["mode"], "further");
    assert_eq!(
        (&report["derived"], &report["inferred"]),
        (&1.into(), &3.into())
    );
    assert_eq!(
        ask(&[]).succeeds().out,
        format!("{persons}<http://example.org/eve>\n")
    );
    scratch.run(&["verify", "--store", "s"]).succeeds();

    let run = scratch.run(&["infer", "--store", "s", "--drop"]).succeeds();
    assert!(run.err.contains("dropped 2 segment(s)"), "{run:#?}");
    assert_eq!(ask(&[]).succeeds().out, "?x\n");
    assert!(scratch.info("s")["inference"].is_null());
}

#[test]
fn rules_are_queries_or_datalog() {
    let scratch = Scratch::new();
    scratch.write("data.ttl", ONTOLOGY);
    scratch
        .run(&["load", "--store", "s", "data.ttl"])
        .succeeds();
    let query = "PREFIX : <http://example.org/>\nCONSTRUCT { ?y :knownBy ?x } { ?x :knows ?y } ;\n";
    scratch.write("known.rq", query);
    // What a file holds counts as much as its name.
    scratch.write(
        "loner.rules",
        "construct { ?x a <e:Known> } { ?x <http://example.org/knownBy> ?y }",
    );
    scratch.write("plain.rules", "(?x <e:q> ?y) <- (?y <e:q> ?x) .\n");
    let files = ["known.rq", "loner.rules", "plain.rules"].map(|file| ["--rules", file]);
    let arguments = ["infer", "--store", "s"].into_iter().chain(files.concat());
    let run = scratch.run(&arguments.collect::<Vec<_>>()).succeeds();
    assert!(run.err.contains("2 quads by 3 rules"), "{run:#?}");
    scratch.write(
        "wrong.rq",
        format!("{query}\nCONSTRUCT {{ ?x :p [] }} {{ ?x :p ?y }}"),
    );
    scratch
        .run(&["infer", "--store", "s", "--rules", "wrong.rq"])
        .fails(&["wrong.rq: rule 2 (line 4): ", "blank node"]);
}

#[test]
fn memory_is_a_size() {
    let scratch = Scratch::new();
    scratch.write("data.ttl", ONTOLOGY);
    let arguments = [
        "load", "--store", "s", "data.ttl", "--infer", "owl", "--memory", "64M",
    ];
    scratch.run(&arguments).succeeds();
    let arguments = ["infer", "--store", "s", "--profile", "rdfs", "--memory"];
    scratch.run(&[&arguments[..], &["64M"]].concat()).succeeds();
    scratch
        .run(&[&arguments[..], &["64k"]].concat())
        .wrong_usage(&["--memory"]);
}

#[test]
fn a_load_can_infer() {
    let scratch = Scratch::new();
    scratch.write("data.ttl", ONTOLOGY);
    let report = scratch
        .run(&[
            "load", "--store", "s", "data.ttl", "--infer", "owl", "--report", "json",
        ])
        .succeeds_silently()
        .json();
    assert_eq!(report["quads_new"], 4);
    assert_eq!(report["inference"]["derived"], 2);
    assert_eq!(scratch.info("s")["quads"], 6);
}

#[test]
fn profiles_are_named() {
    let scratch = Scratch::new();
    scratch.write("data.ttl", ONTOLOGY);
    let run = scratch.run(&["load", "--store", "s", "data.ttl", "--infer", "dl"]);
    assert_eq!(run.code, Some(2), "{run:#?}");
    assert!(run.err.contains("rdfs-plus"), "{run:#?}");
    let run = scratch.run(&["infer", "--store", "s"]);
    assert_eq!(run.code, Some(2), "{run:#?}");
    scratch
        .run(&["infer", "--store", "s", "--profile", "owl"])
        .fails(&["no"]);
}
