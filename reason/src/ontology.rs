//! `Ontology`: the schema triples of the data, as axioms.
//!
//! What always holds: an ontology that was read from the same schema triples is the same, in the same sequence.

use crate::error::{InferError, Result};
use crate::facts::Facts;
use crate::vocabulary::Vocabulary;
use oxrdf::Term;
use quadrille_store::TermId;
use std::collections::BTreeMap;

/// Members of a list at most; longer ones, and lists that never end, are an error.
pub const LIST_MAX: usize = 10_000;

/// What defines a class by others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expression {
    /// All of these classes.
    Intersection(Vec<TermId>),
    /// One of these classes.
    Union(Vec<TermId>),
    /// A value of the property is in the class.
    Some(TermId, TermId),
    /// All values of the property are in the class.
    All(TermId, TermId),
    /// A value of the property is this term.
    Value(TermId, TermId),
    /// One of these terms.
    OneOf(Vec<TermId>),
    /// At most so many values of the property, 0 or 1, are in the class; without one, at all.
    Max(TermId, Cardinality, Option<TermId>),
}

/// The numbers of `owl:maxCardinality` and its qualified form that rules know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cardinality {
    Zero,
    One,
}

/// The axioms; names are those of RDFS and OWL.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ontology {
    pub sub_class_of: Vec<[TermId; 2]>,
    pub sub_property_of: Vec<[TermId; 2]>,
    pub domain: Vec<[TermId; 2]>,
    pub range: Vec<[TermId; 2]>,
    pub equivalent_class: Vec<[TermId; 2]>,
    pub equivalent_property: Vec<[TermId; 2]>,
    pub inverse_of: Vec<[TermId; 2]>,
    pub symmetric: Vec<TermId>,
    pub transitive: Vec<TermId>,
    pub functional: Vec<TermId>,
    pub inverse_functional: Vec<TermId>,
    pub disjoint_with: Vec<[TermId; 2]>,
    /// The pairs of members of `owl:AllDisjointClasses`.
    pub all_disjoint: Vec<[TermId; 2]>,
    /// Of `owl:AllDisjointProperties`.
    pub all_disjoint_properties: Vec<[TermId; 2]>,
    /// Of `owl:AllDifferent`.
    pub all_different: Vec<[TermId; 2]>,
    /// Triples that are said not to be, by `owl:NegativePropertyAssertion`.
    pub negative_assertions: Vec<[TermId; 3]>,
    pub complement_of: Vec<[TermId; 2]>,
    pub property_disjoint_with: Vec<[TermId; 2]>,
    pub irreflexive: Vec<TermId>,
    pub asymmetric: Vec<TermId>,
    /// By class.
    pub expressions: BTreeMap<TermId, Vec<Expression>>,
    /// A property and the chain that implies it.
    pub chains: Vec<(TermId, Vec<TermId>)>,
    /// A class and the properties whose values tell its instances apart.
    pub keys: Vec<(TermId, Vec<TermId>)>,
}

impl Ontology {
    /// Reads the schema triples.
    pub fn read(facts: &Facts<'_>, vocabulary: &Vocabulary) -> Result<Self> {
        let pairs = |predicate: Option<TermId>| match predicate {
            Some(predicate) => facts.pairs(predicate),
            None => Ok(Vec::new()),
        };
        let instances = |class: Option<TermId>| match class {
            Some(class) => facts.subjects(vocabulary.rdf_type, class),
            None => Ok(Vec::new()),
        };
        let mut ontology = Self {
            sub_class_of: facts.pairs(vocabulary.sub_class_of)?,
            sub_property_of: facts.pairs(vocabulary.sub_property_of)?,
            domain: pairs(vocabulary.domain)?,
            range: pairs(vocabulary.range)?,
            equivalent_class: pairs(vocabulary.equivalent_class)?,
            equivalent_property: pairs(vocabulary.equivalent_property)?,
            inverse_of: pairs(vocabulary.inverse_of)?,
            symmetric: instances(vocabulary.symmetric_property)?,
            transitive: instances(vocabulary.transitive_property)?,
            functional: instances(vocabulary.functional_property)?,
            inverse_functional: instances(vocabulary.inverse_functional_property)?,
            disjoint_with: pairs(vocabulary.disjoint_with)?,
            all_disjoint: Vec::new(),
            all_disjoint_properties: Vec::new(),
            all_different: Vec::new(),
            negative_assertions: Vec::new(),
            complement_of: pairs(vocabulary.complement_of)?,
            property_disjoint_with: pairs(vocabulary.property_disjoint_with)?,
            irreflexive: instances(vocabulary.irreflexive_property)?,
            asymmetric: instances(vocabulary.asymmetric_property)?,
            expressions: BTreeMap::new(),
            chains: Vec::new(),
            keys: Vec::new(),
        };
        let lists = Lists { facts, vocabulary };
        for [property, list] in pairs(vocabulary.property_chain_axiom)? {
            let chain = lists.members(list)?;
            if !chain.is_empty() {
                ontology.chains.push((property, chain));
            }
        }
        for [class, list] in pairs(vocabulary.has_key)? {
            let properties = lists.members(list)?;
            if !properties.is_empty() {
                ontology.keys.push((class, properties));
            }
        }
        for axiom in instances(vocabulary.all_disjoint_classes)? {
            let pairs = lists.pairs(axiom, vocabulary.members)?;
            ontology.all_disjoint.extend(pairs);
        }
        for axiom in instances(vocabulary.all_disjoint_properties)? {
            let pairs = lists.pairs(axiom, vocabulary.members)?;
            ontology.all_disjoint_properties.extend(pairs);
        }
        for axiom in instances(vocabulary.all_different)? {
            for predicate in [vocabulary.members, vocabulary.distinct_members] {
                ontology
                    .all_different
                    .extend(lists.pairs(axiom, predicate)?);
            }
        }
        for [axiom, subject] in pairs(vocabulary.source_individual)? {
            let objects = |predicate: Option<TermId>| {
                predicate.map_or(Ok(Vec::new()), |predicate| facts.objects(axiom, predicate))
            };
            for property in objects(vocabulary.assertion_property)? {
                for predicate in [vocabulary.target_individual, vocabulary.target_value] {
                    let triples = objects(predicate)?.into_iter();
                    let triples = triples.map(|object| [subject, property, object]);
                    ontology.negative_assertions.extend(triples);
                }
            }
        }
        for [class, list] in pairs(vocabulary.intersection_of)? {
            let members = lists.members(list)?;
            if !members.is_empty() {
                ontology.define(class, Expression::Intersection(members));
            }
        }
        for [class, list] in pairs(vocabulary.union_of)? {
            ontology.define(class, Expression::Union(lists.members(list)?));
        }
        for [class, list] in pairs(vocabulary.one_of)? {
            ontology.define(class, Expression::OneOf(lists.members(list)?));
        }
        let fillers = [
            (
                vocabulary.some_values_from,
                Expression::Some as fn(_, _) -> _,
            ),
            (vocabulary.all_values_from, Expression::All),
            (vocabulary.has_value, Expression::Value),
        ];
        for [class, property] in pairs(vocabulary.on_property)? {
            for (predicate, make) in fillers {
                let Some(predicate) = predicate else {
                    continue;
                };
                for filler in facts.objects(class, predicate)? {
                    ontology.define(class, make(property, filler));
                }
            }
            for cardinality in cardinalities(facts, class, vocabulary.max_cardinality)? {
                ontology.define(class, Expression::Max(property, cardinality, None));
            }
            for cardinality in cardinalities(facts, class, vocabulary.max_qualified_cardinality)? {
                let on_class = vocabulary.on_class;
                for qualifier in on_class.map_or(Ok(Vec::new()), |on| facts.objects(class, on))? {
                    let qualifier =
                        Some(qualifier).filter(|class| Some(*class) != vocabulary.thing);
                    ontology.define(class, Expression::Max(property, cardinality, qualifier));
                }
            }
        }
        Ok(ontology)
    }

    fn define(&mut self, class: TermId, expression: Expression) {
        self.expressions.entry(class).or_default().push(expression);
    }
}

/// The numbers of a cardinality restriction that rules know.
fn cardinalities(
    facts: &Facts<'_>,
    class: TermId,
    predicate: Option<TermId>,
) -> Result<Vec<Cardinality>> {
    let mut found = Vec::new();
    for number in predicate.map_or(Ok(Vec::new()), |predicate| facts.objects(class, predicate))? {
        if let Term::Literal(number) = facts.snapshot.term(number)? {
            // Whatever the datatype: ontologies have xsd:integer where OWL asks for xsd:nonNegativeInteger.
            match number.value().parse::<u64>() {
                Ok(0) => found.push(Cardinality::Zero),
                Ok(1) => found.push(Cardinality::One),
                _ => {}
            }
        }
    }
    Ok(found)
}

struct Lists<'a> {
    facts: &'a Facts<'a>,
    vocabulary: &'a Vocabulary,
}

impl Lists<'_> {
    /// The pairs of members of an axiom's lists.
    fn pairs(&self, axiom: TermId, predicate: Option<TermId>) -> Result<Vec<[TermId; 2]>> {
        let mut pairs = Vec::new();
        for list in predicate.map_or(Ok(Vec::new()), |predicate| {
            self.facts.objects(axiom, predicate)
        })? {
            let members = self.members(list)?;
            for (place, left) in members.iter().enumerate() {
                pairs.extend(members[place + 1..].iter().map(|right| [*left, *right]));
            }
        }
        Ok(pairs)
    }

    /// The members of a list; of a node with several rests, or none, what the first leads to.
    fn members(&self, list: TermId) -> Result<Vec<TermId>> {
        let mut members = Vec::new();
        let (Some(first), Some(rest)) = (self.vocabulary.rdf_first, self.vocabulary.rdf_rest)
        else {
            return Ok(members);
        };
        let mut node = list;
        while Some(node) != self.vocabulary.rdf_nil {
            if members.len() == LIST_MAX {
                return Err(InferError::Limit {
                    what: "members of a list in the ontology",
                    limit: LIST_MAX,
                });
            }
            members.extend(self.facts.objects(node, first)?.first());
            match self.facts.objects(node, rest)?.first() {
                Some(next) => node = *next,
                None => break,
            }
        }
        Ok(members)
    }
}
