//! The ids of the terms of RDF, RDFS and OWL that rules are made from and of.

use crate::error::Result;
use oxrdf::{NamedNode, NamedNodeRef, Term, TermRef};
use quadrille_store::id::PAYLOAD_MAX;
use quadrille_store::insert::name_terms;
use quadrille_store::{Kind, NewSegment, SegmentReservation, Snapshot, Store, TermId};

const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
const RDFS: &str = "http://www.w3.org/2000/01/rdf-schema#";
const OWL: &str = "http://www.w3.org/2002/07/owl#";

/// Terms that conclusions may have though no triple has them.
const CONCLUDED: [(&str, &str); 4] = [
    (RDF, "type"),
    (RDFS, "subClassOf"),
    (RDFS, "subPropertyOf"),
    (OWL, "sameAs"),
];

fn find(snapshot: &Snapshot, namespace: &str, name: &str) -> Result<Option<TermId>> {
    let iri = format!("{namespace}{name}");
    let node = NamedNodeRef::new_unchecked(&iri);
    Ok(snapshot.term_id(TermRef::from(node))?)
}

/// Ids, by the terms' names; what the store does not have is `None`: no triple has it.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// Of the terms of a user's rules, in their sequence.
    pub of_rules: Vec<TermId>,
    pub rdf_type: TermId,
    pub sub_class_of: TermId,
    pub sub_property_of: TermId,
    pub same_as: TermId,
    pub rdf_first: Option<TermId>,
    pub rdf_rest: Option<TermId>,
    pub rdf_nil: Option<TermId>,
    pub domain: Option<TermId>,
    pub range: Option<TermId>,
    pub equivalent_class: Option<TermId>,
    pub equivalent_property: Option<TermId>,
    pub inverse_of: Option<TermId>,
    pub symmetric_property: Option<TermId>,
    pub transitive_property: Option<TermId>,
    pub functional_property: Option<TermId>,
    pub inverse_functional_property: Option<TermId>,
    pub intersection_of: Option<TermId>,
    pub union_of: Option<TermId>,
    pub on_property: Option<TermId>,
    pub some_values_from: Option<TermId>,
    pub all_values_from: Option<TermId>,
    pub has_value: Option<TermId>,
    pub property_chain_axiom: Option<TermId>,
    pub thing: Option<TermId>,
    pub disjoint_with: Option<TermId>,
    pub members: Option<TermId>,
    pub complement_of: Option<TermId>,
    pub property_disjoint_with: Option<TermId>,
    pub different_from: Option<TermId>,
    pub irreflexive_property: Option<TermId>,
    pub asymmetric_property: Option<TermId>,
    pub all_disjoint_classes: Option<TermId>,
    pub nothing: Option<TermId>,
    pub one_of: Option<TermId>,
    pub has_key: Option<TermId>,
    pub max_cardinality: Option<TermId>,
    pub max_qualified_cardinality: Option<TermId>,
    pub on_class: Option<TermId>,
    pub all_disjoint_properties: Option<TermId>,
    pub all_different: Option<TermId>,
    pub distinct_members: Option<TermId>,
    pub source_individual: Option<TermId>,
    pub assertion_property: Option<TermId>,
    pub target_individual: Option<TermId>,
    pub target_value: Option<TermId>,
}

impl Vocabulary {
    /// Looks the terms up, and those of a user's rules. Those that conclusions may have get ids if they have none: the new
    /// segment brings them.
    pub fn name(
        store: &Store,
        snapshot: &Snapshot,
        reservation: &SegmentReservation,
        of_rules: &[Term],
    ) -> Result<(Self, NewSegment)> {
        let concluded = CONCLUDED.map(|(namespace, name)| {
            Term::from(NamedNode::new_unchecked(format!("{namespace}{name}")))
        });
        let terms: Vec<Term> = concluded
            .into_iter()
            .chain(of_rules.iter().cloned())
            .collect();
        let (mut ids, new) = name_terms(snapshot, reservation, store.storage(), &terms)?;
        let of_rules = ids.split_off(CONCLUDED.len());
        let ids = ids.try_into().expect("an id for each term");
        Ok((Self::with_concluded(snapshot, ids, of_rules)?, new))
    }

    /// Looks the terms up. Those that conclusions may have and the store lacks get ids that nothing has: that is enough to
    /// reason, not to store what was concluded.
    pub fn find(snapshot: &Snapshot, of_rules: &[Term]) -> Result<Self> {
        let mut ids = [TermId::UNBOUND; 4];
        for (place, (id, (namespace, name))) in ids.iter_mut().zip(CONCLUDED).enumerate() {
            match find(snapshot, namespace, name)? {
                Some(found) => *id = found,
                None => *id = TermId::new(Kind::Iri, PAYLOAD_MAX - place as u64),
            }
        }
        let mut of_rules_ids = Vec::with_capacity(of_rules.len());
        for (place, term) in of_rules.iter().enumerate() {
            let known = snapshot.term_id(term.as_ref())?;
            let unknown = TermId::new(Kind::Iri, PAYLOAD_MAX - (CONCLUDED.len() + place) as u64);
            of_rules_ids.push(known.unwrap_or(unknown));
        }
        Self::with_concluded(snapshot, ids, of_rules_ids)
    }

    fn with_concluded(
        snapshot: &Snapshot,
        ids: [TermId; 4],
        of_rules: Vec<TermId>,
    ) -> Result<Self> {
        let find = |namespace, name| find(snapshot, namespace, name);
        Ok(Self {
            of_rules,
            rdf_type: ids[0],
            sub_class_of: ids[1],
            sub_property_of: ids[2],
            same_as: ids[3],
            rdf_first: find(RDF, "first")?,
            rdf_rest: find(RDF, "rest")?,
            rdf_nil: find(RDF, "nil")?,
            domain: find(RDFS, "domain")?,
            range: find(RDFS, "range")?,
            equivalent_class: find(OWL, "equivalentClass")?,
            equivalent_property: find(OWL, "equivalentProperty")?,
            inverse_of: find(OWL, "inverseOf")?,
            symmetric_property: find(OWL, "SymmetricProperty")?,
            transitive_property: find(OWL, "TransitiveProperty")?,
            functional_property: find(OWL, "FunctionalProperty")?,
            inverse_functional_property: find(OWL, "InverseFunctionalProperty")?,
            intersection_of: find(OWL, "intersectionOf")?,
            union_of: find(OWL, "unionOf")?,
            on_property: find(OWL, "onProperty")?,
            some_values_from: find(OWL, "someValuesFrom")?,
            all_values_from: find(OWL, "allValuesFrom")?,
            has_value: find(OWL, "hasValue")?,
            property_chain_axiom: find(OWL, "propertyChainAxiom")?,
            thing: find(OWL, "Thing")?,
            disjoint_with: find(OWL, "disjointWith")?,
            members: find(OWL, "members")?,
            complement_of: find(OWL, "complementOf")?,
            property_disjoint_with: find(OWL, "propertyDisjointWith")?,
            different_from: find(OWL, "differentFrom")?,
            irreflexive_property: find(OWL, "IrreflexiveProperty")?,
            asymmetric_property: find(OWL, "AsymmetricProperty")?,
            all_disjoint_classes: find(OWL, "AllDisjointClasses")?,
            nothing: find(OWL, "Nothing")?,
            one_of: find(OWL, "oneOf")?,
            has_key: find(OWL, "hasKey")?,
            max_cardinality: find(OWL, "maxCardinality")?,
            max_qualified_cardinality: find(OWL, "maxQualifiedCardinality")?,
            on_class: find(OWL, "onClass")?,
            all_disjoint_properties: find(OWL, "AllDisjointProperties")?,
            all_different: find(OWL, "AllDifferent")?,
            distinct_members: find(OWL, "distinctMembers")?,
            source_individual: find(OWL, "sourceIndividual")?,
            assertion_property: find(OWL, "assertionProperty")?,
            target_individual: find(OWL, "targetIndividual")?,
            target_value: find(OWL, "targetValue")?,
        })
    }

    /// Predicates whose triples are schema: another one changes the rules.
    pub fn schema_predicates(&self) -> Vec<TermId> {
        let mut predicates = vec![self.sub_class_of, self.sub_property_of];
        predicates.extend(
            [
                self.rdf_first,
                self.rdf_rest,
                self.domain,
                self.range,
                self.equivalent_class,
                self.equivalent_property,
                self.inverse_of,
                self.intersection_of,
                self.union_of,
                self.on_property,
                self.some_values_from,
                self.all_values_from,
                self.has_value,
                self.property_chain_axiom,
                self.one_of,
                self.has_key,
                self.max_cardinality,
                self.max_qualified_cardinality,
                self.on_class,
            ]
            .into_iter()
            .flatten(),
        );
        predicates
    }

    /// Classes of properties: another instance changes the rules.
    pub fn schema_classes(&self) -> Vec<TermId> {
        [
            self.symmetric_property,
            self.transitive_property,
            self.functional_property,
            self.inverse_functional_property,
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}
