//! Rules of RDFS (RDF 1.1 Semantics, section 9.2.1), one for each schema triple.

use super::{Rules, triple};
use crate::ontology::Ontology;

/// rdfs5 and rdfs11: the hierarchies are transitive.
pub fn schema(rules: &mut Rules<'_>) {
    let properties = [
        ("rdfs11", rules.vocabulary.sub_class_of),
        ("rdfs5", rules.vocabulary.sub_property_of),
    ];
    for (name, property) in properties {
        let body = vec![triple(property, 0, 1), triple(property, 1, 2)];
        rules.add(name, triple(property, 0, 2), body);
    }
}

/// rdfs9.
pub fn sub_classes(rules: &mut Rules<'_>, ontology: &Ontology) {
    for &[class, above] in &ontology.sub_class_of {
        rules.add(
            "rdfs9",
            rules.instance(0, above),
            vec![rules.instance(0, class)],
        );
    }
}

/// rdfs7.
pub fn sub_properties(rules: &mut Rules<'_>, ontology: &Ontology) {
    for &[property, above] in &ontology.sub_property_of {
        let body = vec![triple(property, 0, 1)];
        rules.add("rdfs7", triple(above, 0, 1), body);
    }
}

/// rdfs2 and rdfs3.
pub fn domains_and_ranges(rules: &mut Rules<'_>, ontology: &Ontology) {
    for &[property, class] in &ontology.domain {
        let body = vec![triple(property, 0, 1)];
        rules.add("rdfs2", rules.instance(0, class), body);
    }
    for &[property, class] in &ontology.range {
        let body = vec![triple(property, 0, 1)];
        rules.add("rdfs3", rules.instance(1, class), body);
    }
}
