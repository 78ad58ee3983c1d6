//! Constraints: what must not match. They are rules whose conclusion says only which terms contradict the ontology; nobody
//! stores it. Names are those of the rules of OWL 2 RL that conclude `false`.
//!
//! cax-dw and cax-adc (disjoint classes, as pairs), cls-com (complements), cls-nothing2, cls-maxc1 and cls-maxqc1/2 (no value: rules of `class.rs`),
//! prp-pdw and prp-adp (disjoint properties), prp-irp, prp-asyp, prp-npa1/2 (triples that are said not to be), eq-diff1/2/3.

use super::class::{Classes, Wanted, classes};
use super::{Rules, triple};
use crate::error::Result;
use crate::facts::Facts;
use crate::ontology::Ontology;
use crate::rule::{Atom, Slot};
use quadrille_store::TermId;

/// The constraints of an ontology.
pub fn constraints(rules: &mut Rules<'_>, ontology: &Ontology, facts: &Facts<'_>) -> Result<()> {
    let vocabulary = rules.vocabulary;
    if let Some(nothing) = vocabulary.nothing {
        let body = vec![rules.instance(0, nothing)];
        rules.add(
            "cls-nothing2",
            contradiction(nothing, Slot::Constant(nothing)),
            body,
        );
    }
    for (relation, pairs, name) in [
        (vocabulary.disjoint_with, &ontology.disjoint_with, "cax-dw"),
        (vocabulary.members, &ontology.all_disjoint, "cax-adc"),
        (vocabulary.complement_of, &ontology.complement_of, "cls-com"),
    ] {
        let Some(relation) = relation else {
            continue;
        };
        let mut excluding = Classes::new(rules, ontology, facts, Wanted::Constraints);
        for &[left, right] in pairs {
            excluding.exclude(
                name,
                contradiction(relation, Slot::Constant(left)),
                left,
                right,
            )?;
        }
    }
    for (relation, pairs, name) in [
        (
            vocabulary.property_disjoint_with,
            &ontology.property_disjoint_with,
            "prp-pdw",
        ),
        (
            vocabulary.all_disjoint_properties,
            &ontology.all_disjoint_properties,
            "prp-adp",
        ),
    ] {
        for (relation, &[left, right]) in relation.into_iter().cycle().zip(pairs) {
            let body = vec![triple(left, 0, 1), triple(right, 0, 1)];
            rules.add(name, contradiction(relation, Slot::Variable(1)), body);
        }
    }
    classes(rules, ontology, facts, Wanted::Constraints)?;
    if let Some(relation) = vocabulary.source_individual {
        for &[subject, property, object] in &ontology.negative_assertions {
            let body = Atom([subject, property, object].map(Slot::Constant));
            let head = Atom([subject, relation, object].map(Slot::Constant));
            rules.add("prp-npa1", head, vec![body]);
        }
    }
    if let Some(class) = vocabulary.all_different {
        for &[left, right] in &ontology.all_different {
            for [left, right] in [[left, right], [right, left]] {
                let body = Atom([left, vocabulary.same_as, right].map(Slot::Constant));
                let head = Atom([left, class, right].map(Slot::Constant));
                rules.add("eq-diff2", head, vec![body]);
            }
        }
    }
    if let Some(class) = vocabulary.irreflexive_property {
        for &property in &ontology.irreflexive {
            let body = vec![triple(property, 0, 0)];
            rules.add(
                "prp-irp",
                contradiction(class, Slot::Constant(property)),
                body,
            );
        }
    }
    if let Some(class) = vocabulary.asymmetric_property {
        for &property in &ontology.asymmetric {
            let body = vec![triple(property, 0, 1), triple(property, 1, 0)];
            rules.add("prp-asyp", contradiction(class, Slot::Variable(1)), body);
        }
    }
    if let Some(different) = vocabulary.different_from {
        let body = vec![triple(vocabulary.same_as, 0, 1), triple(different, 0, 1)];
        rules.add(
            "eq-diff1",
            contradiction(different, Slot::Constant(different)),
            body,
        );
    }
    Ok(())
}

/// What a constraint concludes: the first variable, and what tells its matches apart.
fn contradiction(relation: TermId, object: Slot) -> Atom {
    Atom([Slot::Variable(0), Slot::Constant(relation), object])
}
