//! The tests that the profiles' rules do not cover, with the reasons.

const DATATYPES: &str =
    "entailment by the values of literals: terms are compared as they are written";
const ILL_TYPED: &str =
    "a literal that its datatype does not have makes the data inconsistent: not looked for";
const RANGE: &str =
    "a literal outside of its property's range makes the data inconsistent: not looked for";
const TYPE_OF_LITERAL: &str = "each literal is in the class of its datatype, below rdfs:Literal: a literal is no subject of a triple";
const AXIOMS: &str = "axiomatic triples and rdf1 (each predicate is an rdf:Property) are left out";
const REFLEXIVE: &str = "each class is below itself (rdfs6, rdfs10): left out";
const SAME: &str = "each thing is the same as itself (eq-ref): left out";
const EXPRESSION: &str =
    "asks for instances of a class expression that only the query has (OWL 2 direct semantics)";
const ANONYMOUS: &str = "asks for instances of an anonymous class of the data: such expressions are compiled away, see profile/class.rs";
const NO_NAME: &str =
    "anonymous classes of the data are answers, too; by the direct semantics only names are";
const NOTHING: &str = "owl:Nothing is below each class (scm-cls): left out";
const INVERSE: &str =
    "the domain and range of an inverse property follow by the direct semantics, not in OWL 2 RL";
const RIF: &str = "rules in RIF";

/// Of rdf-mt.
pub const GRAPHS: &[(&str, &str)] = &[
    (
        "datatypes-intensional-xsd-integer-string-incompatible",
        DATATYPES,
    ),
    ("datatypes-non-well-formed-literal-2", ILL_TYPED),
    ("datatypes-range-clash", RANGE),
    (
        "datatypes-semantic-equivalence-between-datatypes",
        DATATYPES,
    ),
    ("datatypes-semantic-equivalence-within-type-1", DATATYPES),
    ("datatypes-semantic-equivalence-within-type-2", DATATYPES),
    ("datatypes-test010", RANGE),
    ("double-infinity", DATATYPES),
    ("double-round-same", DATATYPES),
    ("float-infinity", DATATYPES),
    ("float-round-same", DATATYPES),
    ("literal-type", TYPE_OF_LITERAL),
    ("pfps-10-non-well-formed-literal-1", TYPE_OF_LITERAL),
    ("rdfms-seq-representation-test002", AXIOMS),
    ("rdfms-seq-representation-test003", AXIOMS),
    ("rdfms-seq-representation-test004", AXIOMS),
    ("rdfs-entailment-test001", ILL_TYPED),
    ("rdfs-entailment-test002", RANGE),
    ("xmlsch-02-whitespace-facet-2", ILL_TYPED),
    ("xmlsch-02-whitespace-facet-3", TYPE_OF_LITERAL),
    ("xmlsch-02-whitespace-facet-4", ILL_TYPED),
];

/// Of the entailment tests of SPARQL 1.1.
pub const QUERIES: &[(&str, &str)] = &[
    ("paper-sparqldl-Q1", REFLEXIVE),
    ("paper-sparqldl-Q1-rdfs", REFLEXIVE),
    ("paper-sparqldl-Q2", EXPRESSION),
    ("paper-sparqldl-Q3", EXPRESSION),
    ("paper-sparqldl-Q4", REFLEXIVE),
    ("parent10", NO_NAME),
    ("parent3", ANONYMOUS),
    ("parent4", EXPRESSION),
    ("parent5", EXPRESSION),
    ("parent6", EXPRESSION),
    ("parent7", EXPRESSION),
    ("parent8", EXPRESSION),
    ("parent9", NOTHING),
    ("rdf01", AXIOMS),
    ("rdfs05", REFLEXIVE),
    ("rdfs11", REFLEXIVE),
    ("rif01", RIF),
    ("rif03", RIF),
    ("rif04", RIF),
    ("rif06", RIF),
    ("simple1", EXPRESSION),
    ("simple2", EXPRESSION),
    ("simple3", EXPRESSION),
    ("simple4", EXPRESSION),
    ("simple5", EXPRESSION),
    ("simple6", EXPRESSION),
    ("simple7", EXPRESSION),
    ("simple8", EXPRESSION),
    ("sparqldl-02", REFLEXIVE),
    ("sparqldl-03", REFLEXIVE),
    ("sparqldl-10", SAME),
    ("sparqldl-11", INVERSE),
    ("sparqldl-12", INVERSE),
];
