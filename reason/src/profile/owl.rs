//! Rules of OWL 2 RL (OWL 2 Profiles, section 4.3), specialised by the ontology. Names are those of its tables.
//!
//! | construct | rules | what is made |
//! | --- | --- | --- |
//! | properties | prp-inv1/2, prp-symp, prp-trp, prp-eqp1/2, prp-spo2 | one rule for each axiom |
//! | domain, range | prp-dom, prp-rng | also where the class is an expression |
//! | subClassOf, equivalentClass, definitions | cax-sco, cax-eqc1/2, cls-int1/2, cls-uni, cls-svf1/2, cls-avf, cls-hv1/2, cls-oo | see `class.rs` |
//! | functional properties, sameAs | prp-fp, prp-ifp, eq-sym, eq-trans, eq-rep-s/p/o | [`same_as`] |
//! | keys, at most one value | prp-key, cls-maxc2, cls-maxqc3/4 | with sameAs, see `class.rs` |
//! | hierarchies | scm-sco, scm-spo, scm-eqc1, scm-eqp1, scm-int, scm-uni | the schema triples themselves |
//!
//! Left out are the rules that conclude only schema triples, but for the hierarchies (scm-dom1 and the like), those that are true of everything
//! (eq-ref, cls-thing, scm-cls) and those of datatypes. What contradicts, `constraint.rs` has.

use super::{Rules, triple};
use crate::ontology::Ontology;
use crate::rule::{Atom, Slot};

/// scm-eqc1 and scm-eqp1.
pub fn schema(rules: &mut Rules<'_>) {
    let vocabulary = rules.vocabulary;
    let equivalences = [
        (
            "scm-eqc1",
            vocabulary.equivalent_class,
            vocabulary.sub_class_of,
        ),
        (
            "scm-eqp1",
            vocabulary.equivalent_property,
            vocabulary.sub_property_of,
        ),
    ];
    for (name, equivalent, below) in equivalences {
        let Some(equivalent) = equivalent else {
            continue;
        };
        let body = || vec![triple(equivalent, 0, 1)];
        let (forth, back) = (body(), body());
        rules.add(name, triple(below, 0, 1), forth);
        rules.add(name, triple(below, 1, 0), back);
    }
}

/// Inverse, symmetric, transitive and equivalent properties.
pub fn properties(rules: &mut Rules<'_>, ontology: &Ontology) {
    for &[property, inverse] in &ontology.inverse_of {
        let body = vec![triple(property, 0, 1)];
        rules.add("prp-inv1", triple(inverse, 1, 0), body);
        let body = vec![triple(inverse, 0, 1)];
        rules.add("prp-inv2", triple(property, 1, 0), body);
    }
    for &property in &ontology.symmetric {
        let body = vec![triple(property, 0, 1)];
        rules.add("prp-symp", triple(property, 1, 0), body);
    }
    for &property in &ontology.transitive {
        let body = vec![triple(property, 0, 1), triple(property, 1, 2)];
        rules.add("prp-trp", triple(property, 0, 2), body);
    }
    for &[left, right] in &ontology.equivalent_property {
        let body = vec![triple(left, 0, 1)];
        rules.add("prp-eqp1", triple(right, 0, 1), body);
        let body = vec![triple(right, 0, 1)];
        rules.add("prp-eqp2", triple(left, 0, 1), body);
    }
}

/// cax-eqc1 and cax-eqc2 of classes without regard to their definitions.
pub fn equivalent_classes(rules: &mut Rules<'_>, ontology: &Ontology) {
    for &[left, right] in &ontology.equivalent_class {
        rules.add(
            "cax-eqc1",
            rules.instance(0, right),
            vec![rules.instance(0, left)],
        );
        rules.add(
            "cax-eqc2",
            rules.instance(0, left),
            vec![rules.instance(0, right)],
        );
    }
}

/// prp-spo2.
pub fn chains(rules: &mut Rules<'_>, ontology: &Ontology) {
    for (property, chain) in &ontology.chains {
        let body = chain.iter().enumerate();
        let body = body
            .map(|(place, link)| triple(*link, place, place + 1))
            .collect();
        rules.add("prp-spo2", triple(*property, 0, chain.len()), body);
    }
}

/// Functional and inverse functional properties, and what `owl:sameAs` means.
pub fn same_as(rules: &mut Rules<'_>, ontology: &Ontology) {
    let same = rules.vocabulary.same_as;
    for &property in &ontology.functional {
        let body = vec![triple(property, 0, 1), triple(property, 0, 2)];
        rules.add_guarded(
            "prp-fp",
            triple(same, 1, 2),
            body,
            vec![(1, Slot::Variable(2))],
        );
    }
    for &property in &ontology.inverse_functional {
        let body = vec![triple(property, 1, 0), triple(property, 2, 0)];
        rules.add_guarded(
            "prp-ifp",
            triple(same, 1, 2),
            body,
            vec![(1, Slot::Variable(2))],
        );
    }
    rules.add("eq-sym", triple(same, 1, 0), vec![triple(same, 0, 1)]);
    let body = vec![triple(same, 0, 1), triple(same, 1, 2)];
    rules.add("eq-trans", triple(same, 0, 2), body);
    for (place, name) in ["eq-rep-s", "eq-rep-p", "eq-rep-o"].into_iter().enumerate() {
        let every = [0, 1, 2].map(Slot::Variable);
        let mut replaced = every;
        replaced[place] = Slot::Variable(3);
        let body = vec![triple(same, place, 3), Atom(every)];
        rules.add_guarded(name, Atom(replaced), body, vec![(place, Slot::Variable(3))]);
    }
}
