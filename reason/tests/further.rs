//! Loads and inferences in turn against one inference from everything: random data and ontologies of a few names.

use oxrdf::{GraphName, NamedNode, Quad};
use quadrille_reason::{InferOptions, Mode, Profile, infer};
use quadrille_store::{Snapshot, Store};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeSet;

const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
const RDFS: &str = "http://www.w3.org/2000/01/rdf-schema#";
const OWL: &str = "http://www.w3.org/2002/07/owl#";

fn node(namespace: &str, name: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("{namespace}{name}"))
}

fn random_quad(random: &mut StdRng, schema: f64) -> Quad {
    let mut name = |kind: &str, count: usize| {
        node(
            "http://example.org/",
            &format!("{kind}{}", random.random_range(0..count)),
        )
    };
    let (class, other_class) = (name("C", 6), name("C", 6));
    let (property, other_property) = (name("p", 5), name("p", 5));
    let (subject, object) = (name("x", 12), name("x", 12));
    let rdf_type = node(RDF, "type");
    let is_schema = random.random_bool(schema);
    let (subject, predicate, object) = match (is_schema, random.random_range(0..9)) {
        (false, 0..4) => (subject, rdf_type, class),
        (false, _) => (subject, property, object),
        (true, 0 | 1) => (class, node(RDFS, "subClassOf"), other_class),
        (true, 2) => (property, node(RDFS, "subPropertyOf"), other_property),
        (true, 3) => (property, node(RDFS, "domain"), class),
        (true, 4) => (property, node(RDFS, "range"), class),
        (true, 5) => (property, node(OWL, "inverseOf"), other_property),
        (true, 6) => (property, rdf_type, node(OWL, "TransitiveProperty")),
        (true, 7) => (property, rdf_type, node(OWL, "FunctionalProperty")),
        (true, _) => (class, node(OWL, "equivalentClass"), other_class),
    };
    Quad::new(subject, predicate, object, GraphName::DefaultGraph)
}

fn quads(snapshot: &Snapshot) -> BTreeSet<String> {
    snapshot
        .quads()
        .map(|quad| {
            snapshot
                .quad(&quad.expect("memory"))
                .expect("its terms")
                .to_string()
        })
        .collect()
}

#[test]
fn further_inference_finds_what_inference_anew_does() {
    let mut further = 0;
    for seed in 0..120 {
        let mut random = StdRng::seed_from_u64(seed);
        let profile = Profile::ALL[seed as usize % Profile::ALL.len()];
        let options = InferOptions {
            threads: 1 + seed as usize % 2,
            ..InferOptions::new(profile)
        };
        let store = Store::in_memory();
        let mut loaded = Vec::new();
        for step in 0..4 {
            let context = format!("seed {seed}, step {step}, {profile}");
            // Later loads bring schema now and then.
            let schema = [0.4, 0.0, 0.2, 0.0][step];
            let some: Vec<Quad> = (0..[25, 6, 6, 3][step])
                .map(|_| random_quad(&mut random, schema))
                .collect();
            loaded.extend(some.iter().cloned());
            store.insert_quads(some).expect("memory");
            let report = infer(&store, &options).expect("memory");
            further += usize::from(report.mode == Mode::Further);
            let anew = Store::in_memory();
            anew.insert_quads(loaded.clone()).expect("memory");
            infer(&anew, &options).expect("memory");
            let (snapshot, expected) = (store.snapshot(), anew.snapshot());
            assert_eq!(quads(&snapshot), quads(&expected), "{context}");
            assert_eq!(
                quads(&snapshot.inferred()),
                quads(&expected.inferred()),
                "{context}"
            );
            assert_eq!(
                snapshot.len().expect("memory"),
                expected.len().expect("memory")
            );
            let report = store.verify();
            assert!(report.is_sound(), "{context}: {:?}", report.problems);
        }
    }
    assert!(
        further > 200,
        "only {further} inferences began with what was new"
    );
}
