//! What each construct of the profiles concludes, whole: small documents, and all triples that are inferred from them.

use oxrdf::{GraphName, Quad};
use oxttl::TurtleParser;
use quadrille_reason::{
    InferError, InferOptions, Mode, Profile, Reason, UserRules, explain, infer,
};
use quadrille_store::Store;
use std::collections::BTreeSet;

const PREFIXES: &str = "@prefix : <http://example.org/> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
";

fn load(store: &Store, turtle: &str) {
    let text = format!("{PREFIXES}{turtle}");
    let triples = TurtleParser::new().for_slice(&text);
    let quads: Vec<Quad> = triples
        .map(|triple| {
            triple
                .expect("the test's Turtle")
                .in_graph(GraphName::DefaultGraph)
        })
        .collect();
    store.insert_quads(quads).expect("memory");
}

fn options(profile: Profile) -> InferOptions {
    InferOptions {
        threads: 2,
        ..InferOptions::new(profile)
    }
}

/// What is inferred, as N-Triples, sorted; without what is said of anonymous classes.
fn inferred(store: &Store) -> BTreeSet<String> {
    let snapshot = store.snapshot();
    let quads = snapshot.inferred().quads();
    quads
        .map(|quad| {
            snapshot
                .quad(&quad.expect("memory"))
                .expect("its terms")
                .to_string()
        })
        .filter(|triple: &String| !triple.contains("_:"))
        .collect()
}

fn triples(turtle: &str) -> BTreeSet<String> {
    let text = format!("{PREFIXES}{turtle}");
    let triples = TurtleParser::new().for_slice(&text);
    triples
        .map(|triple| triple.expect("the test's Turtle").to_string())
        .collect()
}

#[track_caller]
fn check(profile: Profile, document: &str, expected: &str) {
    let store = Store::in_memory();
    load(&store, document);
    let report = infer(&store, &options(profile)).expect("memory");
    assert_eq!(inferred(&store), triples(expected), "{document}");
    assert_eq!(report.derived, report.inferred);
    let report = store.verify();
    assert!(report.is_sound(), "{:?}", report.problems);
}

#[test]
fn hierarchies() {
    let document = ":A rdfs:subClassOf :B . :B rdfs:subClassOf :C . :x a :A .
        :p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :r . :x :p :y . :r rdfs:domain :D . :r rdfs:range :E .";
    let hierarchy =
        ":A rdfs:subClassOf :C . :p rdfs:subPropertyOf :r . :x a :B, :C ; :q :y ; :r :y .";
    check(Profile::Hierarchy, document, hierarchy);
    let rdfs = format!("{hierarchy} :x a :D . :y a :E .");
    for profile in [
        Profile::Rdfs,
        Profile::RdfsPlus,
        Profile::Owl,
        Profile::OwlSameAs,
    ] {
        check(profile, document, &rdfs);
    }
}

#[test]
fn circles_and_repeated_axioms_end() {
    check(
        Profile::Rdfs,
        ":A rdfs:subClassOf :B, :A . :B rdfs:subClassOf :A . :x a :A .",
        ":x a :B . :B rdfs:subClassOf :B .",
    );
}

#[test]
fn literals_are_never_subjects() {
    check(
        Profile::Owl,
        ":p rdfs:range :C ; owl:inverseOf :q . :x :p \"literal\", :y .",
        ":y a :C ; :q :x .",
    );
}

#[test]
fn properties() {
    check(
        Profile::RdfsPlus,
        ":p owl:inverseOf :q . :x :p :y . :z :q :x .",
        ":y :q :x . :x :p :z .",
    );
    check(
        Profile::RdfsPlus,
        ":p a owl:SymmetricProperty, owl:TransitiveProperty . :x :p :y . :y :p :z .",
        ":y :p :x, :y . :z :p :y, :x, :z . :x :p :z, :x .",
    );
    check(
        Profile::RdfsPlus,
        ":p owl:equivalentProperty :q . :A owl:equivalentClass :B . :x :p :y . :y :q :x . :x a :A . :y a :B .",
        ":x :q :y ; a :B . :y :p :x ; a :A .
         :p rdfs:subPropertyOf :q, :p . :q rdfs:subPropertyOf :p, :q .
         :A rdfs:subClassOf :B, :A . :B rdfs:subClassOf :A, :B .",
    );
    check(
        Profile::Owl,
        ":uncle owl:propertyChainAxiom ( :father :brother ) . :x :father :y . :y :brother :z, :w .",
        ":x :uncle :z, :w .",
    );
}

#[test]
fn definitions_both_ways() {
    let definition = ":Chair owl:intersectionOf
        ( :Person [ a owl:Restriction ; owl:onProperty :headOf ; owl:someValuesFrom :Department ] ) .";
    let data = ":x a :Person ; :headOf :d . :d a :Department . :y a :Chair . :z :headOf :d . :w a :Person ; :headOf :x .";
    let expected = ":x a :Chair . :y a :Person . :Chair rdfs:subClassOf :Person .";
    check(Profile::Owl, &format!("{definition}{data}"), expected);
    let equivalent = format!(
        "{} {data}",
        definition
            .replace(
                "owl:intersectionOf",
                "owl:equivalentClass [ owl:intersectionOf"
            )
            .replace(") .", ") ] .")
    );
    let hierarchy = ":Chair rdfs:subClassOf :Chair .";
    check(
        Profile::Owl,
        &equivalent,
        &format!("{expected} {hierarchy}"),
    );
    // Nothing of this is RDFS.
    check(Profile::Rdfs, &format!("{definition}{data}"), "");
}

#[test]
fn expressions() {
    check(
        Profile::Owl,
        ":A owl:unionOf ( :B :C ) . :x a :B . :y a :C . :z a :A .",
        ":x a :A . :y a :A . :B rdfs:subClassOf :A . :C rdfs:subClassOf :A .",
    );
    check(
        Profile::Owl,
        "[ owl:onProperty :p ; owl:someValuesFrom owl:Thing ] rdfs:subClassOf :A . :x :p :y, \"literal\" .",
        ":x a :A .",
    );
    check(
        Profile::Owl,
        ":A owl:equivalentClass [ owl:onProperty :p ; owl:hasValue :v ] . :x :p :v . :y a :A . :z :p :w .",
        ":x a :A . :y :p :v . :A rdfs:subClassOf :A .",
    );
    check(
        Profile::Owl,
        ":A rdfs:subClassOf [ owl:onProperty :p ; owl:allValuesFrom [ owl:intersectionOf ( :B :C ) ] ] .
         :x a :A ; :p :y . :z :p :w .",
        ":y a :B, :C .",
    );
    // An instance of an anonymous class.
    check(
        Profile::Owl,
        ":x a [ owl:onProperty :p ; owl:hasValue :v ] . :p rdfs:domain [ owl:intersectionOf ( :B :C ) ] .",
        ":x :p :v ; a :B, :C .",
    );
    // A union within an intersection, twice.
    check(
        Profile::Owl,
        ":A owl:intersectionOf ( [ owl:unionOf ( :B :C ) ] [ owl:unionOf ( :D :E ) ] ) .
         :x a :B, :E . :y a :B, :C . :z a :D, :C .",
        ":x a :A . :z a :A .",
    );
}

#[test]
fn functional_properties_and_same_as() {
    let document = ":p a owl:FunctionalProperty . :q a owl:InverseFunctionalProperty .
        :x :p :a, :b . :c :q :k . :d :q :k . :a :r :v .";
    check(Profile::Owl, document, "");
    check(
        Profile::OwlSameAs,
        document,
        ":a owl:sameAs :a, :b . :b owl:sameAs :a, :b . :c owl:sameAs :c, :d . :d owl:sameAs :c, :d . :b :r :v .",
    );
}

#[test]
fn enumerations() {
    check(
        Profile::Owl,
        ":A owl:oneOf ( :x :y ) . :z :p :w . :u :p :x .
         :B owl:equivalentClass [ owl:onProperty :p ; owl:someValuesFrom [ owl:oneOf ( :v :w ) ] ] .",
        ":x a :A . :y a :A . :z a :B . :B rdfs:subClassOf :B .",
    );
    check(Profile::RdfsPlus, ":A owl:oneOf ( :x :y ) .", "");
}

#[test]
fn keys() {
    let document =
        ":A owl:hasKey ( :p :q ) . :a a :A ; :p 1, 2 ; :q :v . :b a :A ; :p 2, 3 ; :q :v .
        :c a :A ; :p 2 ; :q :w . :d :p 2 ; :q :v .";
    check(Profile::Owl, document, "");
    check(
        Profile::OwlSameAs,
        document,
        ":a owl:sameAs :a, :b . :b owl:sameAs :a, :b . :a :p 3 . :b :p 1 .",
    );
}

#[test]
fn keys_of_class_expressions() {
    check(
        Profile::OwlSameAs,
        "[ owl:unionOf ( :A :B ) ] owl:hasKey ( :p ) . :a a :A ; :p 1 . :b a :B ; :p 1 . :c a :C ; :p 1 .",
        ":a owl:sameAs :a, :b ; a :B . :b owl:sameAs :a, :b ; a :A .",
    );
}

#[test]
fn at_most_one_value() {
    let same = ":y owl:sameAs :y, :z . :z owl:sameAs :y, :z .";
    let restrictions = [
        "owl:maxCardinality 1",
        "owl:maxCardinality \"1\"^^<http://www.w3.org/2001/XMLSchema#nonNegativeInteger>",
        "owl:maxQualifiedCardinality 1 ; owl:onClass owl:Thing",
        "owl:maxQualifiedCardinality 1 ; owl:onClass :C",
    ];
    for restriction in restrictions {
        let document = format!(
            ":A rdfs:subClassOf [ owl:onProperty :p ; {restriction} ] . :x a :A ; :p :y, :z . :w :p :u, :v .
             :y a :C . :z a :C ."
        );
        check(Profile::Owl, &document, "");
        check(Profile::OwlSameAs, &document, same);
    }
    // One value is in the class, another is not; two are allowed; a class of its own name.
    check(
        Profile::OwlSameAs,
        ":A rdfs:subClassOf [ owl:onProperty :p ; owl:maxQualifiedCardinality 1 ; owl:onClass :C ] ,
           [ owl:onProperty :q ; owl:maxCardinality 2 ] .
         :x a :A ; :p :y, :z ; :q :y, :z . :y a :C .",
        "",
    );
    check(
        Profile::OwlSameAs,
        ":A owl:onProperty :p ; owl:maxCardinality 1 . :x a :A ; :p :y, :z .",
        same,
    );
}

#[test]
fn schema_that_is_inferred_is_used() {
    check(
        Profile::Owl,
        ":Hop rdfs:subClassOf owl:TransitiveProperty . :p a :Hop . :x :p :y . :y :p :z .
         :below rdfs:subPropertyOf rdfs:subClassOf . :A :below :B . :x a :A .",
        ":p a owl:TransitiveProperty . :x :p :z . :A rdfs:subClassOf :B . :x a :B .",
    );
}

#[test]
fn more_memory_than_the_budget_is_an_error_and_the_store_stays() {
    use std::fmt::Write;
    let mut document = ":p a owl:TransitiveProperty . ".to_owned();
    for number in 0..400 {
        write!(document, ":x{number} :p :x{} . ", number + 1).expect("a string");
    }
    let store = Store::in_memory();
    load(&store, &document);
    let with = |memory| InferOptions {
        memory,
        ..options(Profile::Owl)
    };
    // 80,000 triples, in two orders, and what they are joined in.
    for memory in [0, 100_000, 2_000_000] {
        let result = infer(&store, &with(memory));
        let limit = matches!(result, Err(InferError::Memory { limit }) if limit == memory);
        assert!(limit, "{memory}: {result:?}");
        assert!(store.snapshot().inference().is_none());
    }
    let report = infer(&store, &with(100_000_000)).expect("enough memory");
    assert_eq!(report.derived, 400 * 399 / 2);
}

#[test]
fn limits_are_errors_and_the_store_stays() {
    let store = Store::in_memory();
    load(
        &store,
        ":A owl:intersectionOf _:l . _:l rdf:first :B ; rdf:rest _:l . :x a :B .",
    );
    let result = infer(&store, &options(Profile::Owl));
    assert!(
        matches!(result, Err(InferError::Limit { .. })),
        "{result:?}"
    );
    assert!(store.snapshot().inference().is_none());
    // Class expressions in a circle.
    let store = Store::in_memory();
    load(&store, "_:a owl:unionOf ( _:a :B ) ; rdfs:subClassOf :C .");
    let result = infer(&store, &options(Profile::Owl));
    assert!(
        matches!(result, Err(InferError::Limit { .. })),
        "{result:?}"
    );
}

#[test]
fn other_rules_replace_what_was_inferred() {
    let store = Store::in_memory();
    load(
        &store,
        ":A rdfs:subClassOf :B . :x a :A . :p owl:inverseOf :q . :x :p :y .",
    );
    infer(&store, &options(Profile::Owl)).expect("memory");
    assert_eq!(inferred(&store), triples(":x a :B . :y :q :x ."));
    let report = infer(&store, &options(Profile::Rdfs)).expect("memory");
    assert_eq!(report.mode, Mode::Anew);
    assert_eq!(inferred(&store), triples(":x a :B ."));
    let report = infer(&store, &options(Profile::Rdfs)).expect("memory");
    assert_eq!(report.mode, Mode::UpToDate);
    assert_eq!(store.drop_inferred().expect("memory"), 1);
    assert_eq!(store.snapshot().len().expect("memory"), 4);
}

#[test]
fn what_is_loaded_later_is_stale_until_it_is_inferred_from() {
    let store = Store::in_memory();
    load(&store, ":A rdfs:subClassOf :B . :x a :A .");
    infer(&store, &options(Profile::Rdfs)).expect("memory");
    assert!(!store.snapshot().is_inference_stale());
    // What was inferred becomes explicit.
    load(&store, ":x a :B . :y a :A .");
    let snapshot = store.snapshot();
    assert!(snapshot.is_inference_stale() && !snapshot.explicit().is_inference_stale());
    assert_eq!(snapshot.len().expect("memory"), 4);
    assert_eq!(snapshot.explicit().len().expect("memory"), 4);
    let report = infer(&store, &options(Profile::Rdfs)).expect("memory");
    assert_eq!(
        (report.mode, report.derived, report.inferred),
        (Mode::Further, 1, 1)
    );
    assert_eq!(inferred(&store), triples(":y a :B ."));
    assert!(store.verify().is_sound());
    // Premises of named graphs are none.
    let quad = Quad::new(
        oxrdf::NamedNode::new_unchecked("http://example.org/z"),
        oxrdf::vocab::rdf::TYPE,
        oxrdf::NamedNode::new_unchecked("http://example.org/A"),
        oxrdf::NamedNode::new_unchecked("http://example.org/graph"),
    );
    store.insert_quads([quad]).expect("memory");
    let report = infer(&store, &options(Profile::Rdfs)).expect("memory");
    assert_eq!(
        (report.mode, report.derived, report.inferred),
        (Mode::Further, 0, 1)
    );
}

#[test]
fn explanations_lead_to_explicit_triples() {
    let store = Store::in_memory();
    load(
        &store,
        ":A owl:equivalentClass [ owl:onProperty :p ; owl:someValuesFrom :B ] . :C rdfs:subClassOf :B .
         :p a owl:TransitiveProperty . :x :p :y . :y :p :z . :z a :C .",
    );
    let options = options(Profile::Owl);
    let why = |turtle: &str| {
        let text = format!("{PREFIXES}{turtle}");
        let triple = TurtleParser::new().for_slice(&text).next();
        let triple = triple.expect("a triple").expect("the test's Turtle");
        explain(&store.snapshot(), &triple, &options).expect("memory")
    };
    let steps = why(":x a :A .").expect("it follows");
    let shown: Vec<(usize, String, Reason)> = steps
        .iter()
        .map(|step| (step.depth, step.triple.to_string(), step.reason))
        .collect();
    let triple = |turtle: &str| triples(turtle).pop_first().expect("a triple");
    let expected = [
        (0, triple(":x a :A ."), Reason::Rule("cax-eqc2")),
        (1, triple(":x :p :z ."), Reason::Rule("prp-trp")),
        (2, triple(":x :p :y ."), Reason::Explicit),
        (2, triple(":y :p :z ."), Reason::Explicit),
        (1, triple(":z a :B ."), Reason::Rule("cax-sco")),
        (2, triple(":z a :C ."), Reason::Explicit),
    ];
    assert_eq!(shown, expected);
    assert_eq!(why(":x :p :y .").expect("it is there").len(), 1);
    assert_eq!(why(":z a :A ."), None);
    assert_eq!(why(":z a :Unknown ."), None);
    assert!(store.snapshot().inference().is_none(), "nothing is written");
}

#[test]
fn contradictions_are_shown_with_their_triples() {
    let store = Store::in_memory();
    load(
        &store,
        ":A owl:disjointWith :B . :C rdfs:subClassOf :B . :x a :A, :C . :y a :A . :z a owl:Nothing .
         :p a owl:IrreflexiveProperty, owl:AsymmetricProperty . :x :p :x, :y . :y :p :x .
         [ a owl:AllDisjointClasses ; owl:members ( :D :E :F ) ] . :w a :D, :F .
         :q owl:propertyDisjointWith :r . :x :q :y, :z ; :r :z .",
    );
    let report = infer(&store, &options(Profile::Owl)).expect("memory");
    let shown = &report.contradictions.shown;
    let mut rules: Vec<&str> = shown
        .iter()
        .map(|contradiction| contradiction.rule)
        .collect();
    rules.sort_unstable();
    // A pair that breaks asymmetry does so from both ends; what breaks irreflexivity breaks asymmetry as well.
    let expected = [
        "cax-adc",
        "cax-dw",
        "cls-nothing2",
        "prp-asyp",
        "prp-asyp",
        "prp-asyp",
        "prp-irp",
        "prp-pdw",
    ];
    assert_eq!(rules, expected);
    assert_eq!(report.contradictions.count, expected.len() as u64);
    let disjoint = shown
        .iter()
        .find(|contradiction| contradiction.rule == "cax-dw");
    let found: BTreeSet<String> = disjoint
        .expect("it is there")
        .triples
        .iter()
        .cloned()
        .collect();
    assert_eq!(found, triples(":x a :A, :B ."));
    assert!(
        report.to_string().contains("8 contradiction(s)"),
        "{report}"
    );
    assert_eq!(inferred(&store), triples(":x a :B ."));
    // Other profiles do not look for them.
    let report = infer(&store, &options(Profile::Rdfs)).expect("memory");
    assert_eq!(report.contradictions.count, 0);
}

#[test]
fn what_must_not_be_is_shown() {
    let cases = [
        ("cls-maxc1", ":A rdfs:subClassOf [ owl:onProperty :p ; owl:maxCardinality 0 ] . :x a :A ; :p :y . :z :p :y ."),
        (
            "cls-maxqc1",
            ":A rdfs:subClassOf [ owl:onProperty :p ; owl:maxQualifiedCardinality 0 ; owl:onClass :C ] .
             :x a :A ; :p :y, :z . :y a :C .",
        ),
        (
            "prp-adp",
            "[ a owl:AllDisjointProperties ; owl:members ( :p :q :r ) ] . :x :p :y ; :r :y ; :q :z .",
        ),
        (
            "prp-npa1",
            "[ owl:sourceIndividual :x ; owl:assertionProperty :p ; owl:targetIndividual :y ] . :x :p :y, :z .",
        ),
        (
            "prp-npa1",
            "[ owl:sourceIndividual :x ; owl:assertionProperty :p ; owl:targetValue 3 ] . :x :p 3, 4 .",
        ),
        (
            "eq-diff2",
            "[ a owl:AllDifferent ; owl:distinctMembers ( :x :y :z ) ] . :z owl:sameAs :x .",
        ),
        ("eq-diff1", ":x owl:sameAs :y ; owl:differentFrom :y ."),
        ("cls-com", ":A owl:complementOf :B . :x a :A, :B ."),
    ];
    for (rule, document) in cases {
        let store = Store::in_memory();
        load(&store, document);
        let report = infer(&store, &options(Profile::Owl)).expect("memory");
        let shown: Vec<&str> = report
            .contradictions
            .shown
            .iter()
            .map(|one| one.rule)
            .collect();
        assert_eq!(shown, [rule], "{document}");
        assert_eq!(report.contradictions.count, 1, "{document}");
    }
}

#[test]
fn rules_of_a_user_join_those_of_the_profile() {
    let document =
        ":A rdfs:subClassOf :Person . :x :father :y . :y :brother :z, :y . :z a :A . :y :age 18 .";
    let rules: UserRules = "# Uncles.
        prefix : <http://example.org/> .
        (?x :uncle ?z) <- (?x :father ?y), (?y :brother ?z), ?y != ?z .
        (?z a :Uncle) <- (?x :uncle ?z), (?z a :Person) .
        (?x a :Adult) <- (?x :age \"18\"^^<http://www.w3.org/2001/XMLSchema#integer>) .
        (?p a :Used) <- (?x ?p ?x) .
        (?x :nephew ?x) :- (?x :nowhere ?x) .
        "
    .parse()
    .expect("rules");
    let store = Store::in_memory();
    load(&store, document);
    let options = InferOptions {
        rules,
        ..options(Profile::Rdfs)
    };
    let report = infer(&store, &options).expect("memory");
    assert_eq!(report.profile, "rdfs with rules");
    let expected = ":x :uncle :z . :z a :Person, :Uncle . :y a :Adult . :brother a :Used .";
    assert_eq!(inferred(&store), triples(expected));
    assert!(store.verify().is_sound());
    // The same rules go on; the profile without them begins anew.
    load(&store, ":w :father :y . :v :age 18 .");
    let report = infer(&store, &options).expect("memory");
    assert_eq!((report.mode, report.derived), (Mode::Further, 2));
    let alone = InferOptions {
        profile: Profile::None,
        ..options
    };
    infer(&store, &alone).expect("memory");
    let expected = ":x :uncle :z . :w :uncle :z . :y a :Adult . :v a :Adult . :brother a :Used .";
    assert_eq!(inferred(&store), triples(expected));
    let why = oxrdf::Triple::new(
        oxrdf::NamedNode::new_unchecked("http://example.org/w"),
        oxrdf::NamedNode::new_unchecked("http://example.org/uncle"),
        oxrdf::NamedNode::new_unchecked("http://example.org/z"),
    );
    let steps = explain(&store.snapshot(), &why, &alone).expect("memory");
    assert_eq!(steps.expect("it follows").len(), 3);
}
