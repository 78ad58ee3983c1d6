//! The tables are whole, and both syntaxes say what they say.

use super::*;
use crate::names::{Class, ONTOLOGY_URL, Property};
use oxrdf::Graph;
use oxrdf::graph::CanonicalizationAlgorithm;
use oxttl::{NTriplesParser, TurtleParser};

fn canonical(mut graph: Graph) -> Graph {
    graph.canonicalize(CanonicalizationAlgorithm::Unstable);
    graph
}

fn n_triples(url: &str) -> Graph {
    let text = text(Syntax::NTriples, url).unwrap();
    let mut graph = Graph::new();
    for triple in NTriplesParser::new().for_slice(&text) {
        assert!(graph.insert(&triple.unwrap()), "a triple twice");
    }
    graph
}

#[test]
fn has_the_triples_of_the_published_file() {
    assert_eq!(n_triples(ONTOLOGY_URL).len(), TRIPLES);
}

#[test]
fn turtle_says_the_same() {
    for url in [ONTOLOGY_URL, "http://example.org/o"] {
        let text = text(Syntax::Turtle, url).unwrap();
        let graph = TurtleParser::new()
            .for_slice(&text)
            .collect::<std::result::Result<Graph, _>>()
            .unwrap();
        assert_eq!(canonical(graph), canonical(n_triples(url)));
    }
}

#[test]
fn the_tables_are_sorted_and_complete() {
    assert_eq!((CLASSES.len(), PROPERTIES.len()), (43, 32));
    assert!(CLASSES.is_sorted_by_key(|class| class.name));
    assert!(PROPERTIES.is_sorted_by_key(|property| property.name.to_lowercase()));
    let expressions = || {
        CLASSES
            .iter()
            .flat_map(|class| class.superclasses.iter().chain(class.definition))
    };
    let restrictions = expressions().filter(|expression| !matches!(expression, Named(_)));
    assert_eq!(restrictions.count(), 8);
    let defined = CLASSES.iter().filter(|class| !class.definition.is_empty());
    assert_eq!(defined.count(), 6);
    for expression in expressions() {
        match expression {
            Named(name) => assert!(is_class(name), "{name}"),
            ClassExpression::Some { property, class } => {
                assert!(is_property(property) && is_class(class), "{expression:?}");
            }
        }
    }
    for property in PROPERTIES {
        assert!(property.domain.is_none_or(is_class), "{property:?}");
        assert!(property.range.is_none_or(is_class), "{property:?}");
        assert!(
            property.sub_property_of.is_none_or(is_property),
            "{property:?}"
        );
        assert!(property.inverse_of.is_none_or(is_property), "{property:?}");
    }
}

#[test]
fn knows_every_name_of_the_data() {
    assert!(Class::ALL.iter().all(|class| is_class(class.name())));
    assert!(
        Property::ALL
            .iter()
            .all(|property| is_property(property.name()))
    );
}

fn is_class(name: &str) -> bool {
    CLASSES.iter().any(|class| class.name == name)
}

fn is_property(name: &str) -> bool {
    PROPERTIES.iter().any(|property| property.name == name)
}

#[test]
fn refuses_what_makes_no_iris() {
    for url in [
        "",
        "univ-bench.owl",
        "http://example.org/ o",
        "http://example.org/o#",
        "http://e/>",
    ] {
        assert!(text(Syntax::NTriples, url).is_err(), "{url}");
    }
}
