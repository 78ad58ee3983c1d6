//! Profiles: which rules are made from an ontology.

mod class;
mod constraint;
mod owl;
mod rdfs;

use crate::error::Result;
use crate::facts::Facts;
use crate::ontology::Ontology;
use crate::rule::{Atom, Rule, Slot};
use crate::vocabulary::Vocabulary;
use class::Wanted;
use quadrille_store::TermId;
use std::fmt;
use std::str::FromStr;

/// How much is inferred, the least first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Profile {
    /// Nothing: for a user's rules alone.
    None,
    /// `rdfs:subClassOf` and `rdfs:subPropertyOf`: rules rdfs5, rdfs7, rdfs9, rdfs11.
    Hierarchy,
    /// Also `rdfs:domain` and `rdfs:range`: rules rdfs2, rdfs3. What RDFS says of all resources (rdfs4, rdfs6, rdfs8,
    /// rdfs10 and the axiomatic triples) is left out: it would double a store and tell nobody anything.
    Rdfs,
    /// Also inverse, symmetric, transitive and equivalent properties, equivalent classes.
    RdfsPlus,
    /// Also the definitions of classes, both ways, property chains, and a report of contradictions: the subset of OWL 2 RL that `profile/owl.rs` lists.
    Owl,
    /// Also functional and inverse functional properties, keys, at most one value, and `owl:sameAs`. It is apart because each name of a thing gets
    /// all triples of the others.
    OwlSameAs,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 6] = [
        Self::None,
        Self::Hierarchy,
        Self::Rdfs,
        Self::RdfsPlus,
        Self::Owl,
        Self::OwlSameAs,
    ];

    /// The name, as command lines have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Hierarchy => "hierarchy",
            Self::Rdfs => "rdfs",
            Self::RdfsPlus => "rdfs-plus",
            Self::Owl => "owl",
            Self::OwlSameAs => "owl-same-as",
        }
    }

    /// The rules for an ontology; `facts` says which anonymous classes have instances of their own.
    pub(crate) fn rules(
        self,
        ontology: &Ontology,
        vocabulary: &Vocabulary,
        facts: &Facts<'_>,
    ) -> Result<Vec<Rule>> {
        let mut rules = Rules {
            vocabulary,
            list: Vec::new(),
        };
        if self == Self::None {
            return Ok(rules.list);
        }
        rdfs::schema(&mut rules);
        rdfs::sub_properties(&mut rules, ontology);
        if self < Self::Owl {
            rdfs::sub_classes(&mut rules, ontology);
            if self >= Self::Rdfs {
                rdfs::domains_and_ranges(&mut rules, ontology);
            }
        }
        if self >= Self::RdfsPlus {
            owl::schema(&mut rules);
            owl::properties(&mut rules, ontology);
            if self < Self::Owl {
                owl::equivalent_classes(&mut rules, ontology);
            }
        }
        if self >= Self::Owl {
            let wanted = match self {
                Self::OwlSameAs => Wanted::RulesWithSameAs,
                _ => Wanted::Rules,
            };
            class::classes(&mut rules, ontology, facts, wanted)?;
            owl::chains(&mut rules, ontology);
        }
        if self >= Self::OwlSameAs {
            owl::same_as(&mut rules, ontology);
        }
        let mut list = rules.list;
        list.sort();
        list.dedup_by(|a, b| (&a.head, &a.body, &a.differ) == (&b.head, &b.body, &b.differ));
        Ok(list)
    }

    /// What must not match, as rules whose conclusions are not stored.
    pub(crate) fn constraints(
        self,
        ontology: &Ontology,
        vocabulary: &Vocabulary,
        facts: &Facts<'_>,
    ) -> Result<Vec<Rule>> {
        let mut rules = Rules {
            vocabulary,
            list: Vec::new(),
        };
        if self >= Self::Owl {
            constraint::constraints(&mut rules, ontology, facts)?;
        }
        Ok(rules.list)
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        let known = Self::ALL.into_iter().find(|profile| profile.name() == name);
        known.ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            format!("{name:?} is no profile; write one of {}", names.join(", "))
        })
    }
}

/// The rules that have been made.
struct Rules<'a> {
    vocabulary: &'a Vocabulary,
    list: Vec<Rule>,
}

impl Rules<'_> {
    fn add(&mut self, name: &'static str, head: Atom, body: Vec<Atom>) {
        self.add_guarded(name, head, body, Vec::new());
    }

    fn add_guarded(
        &mut self,
        name: &'static str,
        head: Atom,
        mut body: Vec<Atom>,
        differ: Vec<(usize, Slot)>,
    ) {
        let mut known = Vec::new();
        body.retain(|atom| {
            let is_new = !known.contains(atom);
            known.push(*atom);
            is_new
        });
        let rule = Rule::new(name, head, body, differ);
        if !rule.is_trivial() {
            self.list.push(rule);
        }
    }

    /// That something is in a class.
    fn instance(&self, subject: usize, class: TermId) -> Atom {
        Atom([
            Slot::Variable(subject),
            Slot::Constant(self.vocabulary.rdf_type),
            Slot::Constant(class),
        ])
    }
}

/// A triple of a property.
fn triple(property: TermId, subject: usize, object: usize) -> Atom {
    Atom([
        Slot::Variable(subject),
        Slot::Constant(property),
        Slot::Variable(object),
    ])
}
