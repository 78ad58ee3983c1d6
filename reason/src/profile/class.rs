//! Rules and constraints from axioms about classes, see the table in `owl.rs`.
//!
//! Class expressions (anonymous classes with a definition) are compiled away: on the left of an axiom an expression becomes
//! premises, on the right conclusions, so that `Chair = Person and (headOf some Department)` is
//!
//! ```text
//! (x type Chair) <- (x type Person), (x headOf y), (y type Department)
//! (x type Person) <- (x type Chair)
//! ```
//!
//! and that something is in the class `headOf some Department` is stored nowhere. `someValuesFrom` on the right, which
//! asserts that something without a name exists, `unionOf` on the right, and `allValuesFrom` on the left conclude nothing,
//! as in OWL 2 RL. An enumeration (`oneOf`) is the exception: its members are stored as instances of it, even if it has no name.

use super::{Rules, triple};
use crate::error::{InferError, Result};
use crate::facts::Facts;
use crate::ontology::{Cardinality, Expression, Ontology};
use crate::rule::{Atom, Slot};
use quadrille_store::{Kind, TermId};

/// Most ways in which one class expression can be fulfilled (unions in intersections multiply).
const ALTERNATIVES_MAX: usize = 1000;
/// Class expressions nest at most so deep.
const DEPTH_MAX: usize = 20;

/// What is made from axioms about classes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Rules; not those that conclude `owl:sameAs`.
    Rules,
    /// All rules.
    RulesWithSameAs,
    /// Constraints.
    Constraints,
}

/// Everything about classes.
pub fn classes(
    rules: &mut Rules<'_>,
    ontology: &Ontology,
    facts: &Facts<'_>,
    wanted: Wanted,
) -> Result<()> {
    let mut compiler = Classes::new(rules, ontology, facts, wanted);
    for &[class, above] in &ontology.sub_class_of {
        compiler.include("cax-sco", class, above)?;
    }
    for &[left, right] in &ontology.equivalent_class {
        compiler.include("cax-eqc1", left, right)?;
        compiler.include("cax-eqc2", right, left)?;
    }
    for (&class, expressions) in &ontology.expressions {
        compiler.state(class, expressions);
        // An anonymous class that is nobody's instance is compiled into where it is used.
        if is_anonymous(class) && !compiler.has_instances(class)? {
            continue;
        }
        for expression in expressions {
            let instance = compiler.rules.instance(0, class);
            let name = match expression {
                Expression::Intersection(_) => "cls-int1",
                Expression::Union(_) => "cls-uni",
                Expression::Some(..) => "cls-svf1",
                Expression::All(..) => "cls-avf",
                Expression::Value(..) => "cls-hv2",
                Expression::OneOf(_) => continue,
                Expression::Max(..) => "cls-maxc2",
            };
            if !is_anonymous(class) {
                for body in compiler.premises_of(expression, 0, 1, 0)? {
                    compiler.add(name, instance, body);
                }
            }
            compiler.conclude_expression(name, expression, &[instance], 0, 0)?;
        }
    }
    if wanted == Wanted::RulesWithSameAs {
        for (class, properties) in &ontology.keys {
            compiler.key(*class, properties)?;
        }
    }
    for &[property, class] in &ontology.domain {
        let body = [triple(property, 0, 1)];
        compiler.conclude("prp-dom", class, &body, 0, 0)?;
    }
    for &[property, class] in &ontology.range {
        let body = [triple(property, 0, 1)];
        compiler.conclude("prp-rng", class, &body, 1, 0)?;
    }
    Ok(())
}

fn is_anonymous(class: TermId) -> bool {
    class.kind() == Some(Kind::Blank)
}

/// Compiles axioms about classes.
pub struct Classes<'a, 'b> {
    rules: &'a mut Rules<'b>,
    ontology: &'a Ontology,
    facts: &'a Facts<'a>,
    wanted: Wanted,
}

impl<'a, 'b> Classes<'a, 'b> {
    /// A compiler that adds to some rules.
    pub fn new(
        rules: &'a mut Rules<'b>,
        ontology: &'a Ontology,
        facts: &'a Facts<'a>,
        wanted: Wanted,
    ) -> Self {
        Self {
            rules,
            ontology,
            facts,
            wanted,
        }
    }

    /// prp-key: things of a class with the same values of some properties are the same.
    fn key(&mut self, class: TermId, properties: &[TermId]) -> Result<()> {
        for body in self.premises(class, 0, 2, 0)? {
            let next = next_variable(&body, 2);
            for more in self.premises(class, 1, next, 0)? {
                let mut body = [&body[..], &more].concat();
                let next = next_variable(&body, 2);
                for (place, property) in properties.iter().enumerate() {
                    body.extend([0, 1].map(|thing| triple(*property, thing, next + place)));
                }
                let head = triple(self.rules.vocabulary.same_as, 0, 1);
                let differ = vec![(0, Slot::Variable(1))];
                self.rules.add_guarded("prp-key", head, body, differ);
            }
        }
        Ok(())
    }

    /// What a definition says by itself: of the hierarchy, and which instances a class has.
    fn state(&mut self, class: TermId, expressions: &[Expression]) {
        let vocabulary = self.rules.vocabulary;
        for expression in expressions {
            let (name, relation, members) = match expression {
                Expression::Intersection(members) => {
                    ("scm-int", vocabulary.intersection_of, members)
                }
                Expression::Union(members) => ("scm-uni", vocabulary.union_of, members),
                Expression::OneOf(members) => ("cls-oo", vocabulary.one_of, members),
                _ => continue,
            };
            let Some(relation) = relation else {
                continue;
            };
            for &member in members {
                let head = match expression {
                    Expression::Intersection(_) => [class, vocabulary.sub_class_of, member],
                    Expression::Union(_) => [member, vocabulary.sub_class_of, class],
                    _ => [member, vocabulary.rdf_type, class],
                };
                let list = Slot::Variable(0);
                let axiom = Atom([Slot::Constant(class), Slot::Constant(relation), list]);
                self.add(name, Atom(head.map(Slot::Constant)), vec![axiom]);
            }
        }
    }

    /// Adds a rule that is no constraint, if rules are wanted.
    fn add(&mut self, name: &'static str, head: Atom, body: Vec<Atom>) {
        if self.wanted != Wanted::Constraints {
            self.rules.add(name, head, body);
        }
    }

    /// Nothing is in both of two classes: what is, with its variable 0, is concluded.
    pub fn exclude(
        &mut self,
        name: &'static str,
        head: Atom,
        left: TermId,
        right: TermId,
    ) -> Result<()> {
        for body in self.premises(left, 0, 1, 0)? {
            for more in self.premises(right, 0, next_variable(&body, 1), 0)? {
                let body = body.iter().copied().chain(more).collect();
                self.rules.add(name, head, body);
            }
        }
        Ok(())
    }

    /// What follows from a variable's term having at most so many values of a property (in a class, if there is one): several
    /// are the same, or any is a contradiction.
    fn limit(
        &mut self,
        property: TermId,
        cardinality: Cardinality,
        qualifier: Option<TermId>,
        body: &[Atom],
        variable: usize,
    ) -> Result<()> {
        let value = next_variable(body, variable + 1);
        let mut body = body.to_vec();
        body.push(triple(property, variable, value));
        let vocabulary = self.rules.vocabulary;
        match (cardinality, self.wanted, vocabulary.on_property) {
            (Cardinality::One, Wanted::RulesWithSameAs, _) => {
                let other = value + 1;
                body.push(triple(property, variable, other));
                let ways = self.qualify(vec![body], qualifier, value)?;
                for body in self.qualify(ways, qualifier, other)? {
                    let name = qualifier.map_or("cls-maxc2", |_| "cls-maxqc3");
                    let head = triple(vocabulary.same_as, value, other);
                    let differ = vec![(value, Slot::Variable(other))];
                    self.rules.add_guarded(name, head, body, differ);
                }
            }
            (Cardinality::Zero, Wanted::Constraints, Some(relation)) => {
                for body in self.qualify(vec![body], qualifier, value)? {
                    let name = qualifier.map_or("cls-maxc1", |_| "cls-maxqc1");
                    self.rules
                        .add(name, triple(relation, variable, value), body);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The ways of `ways` with a variable's term in a class, if there is one.
    fn qualify(
        &self,
        ways: Vec<Vec<Atom>>,
        class: Option<TermId>,
        variable: usize,
    ) -> Result<Vec<Vec<Atom>>> {
        let Some(class) = class else {
            return Ok(ways);
        };
        let mut qualified = Vec::new();
        for way in &ways {
            for more in self.premises(class, variable, next_variable(way, variable + 1), 0)? {
                qualified.push(way.iter().copied().chain(more).collect());
            }
        }
        check_alternatives(qualified)
    }

    /// Whether somebody says that something is in a class.
    fn has_instances(&self, class: TermId) -> Result<bool> {
        Ok(self.facts.count_at_most(&self.rules.instance(0, class))? > 0)
    }

    /// All of one class is in another.
    fn include(&mut self, name: &'static str, class: TermId, above: TermId) -> Result<()> {
        for body in self.premises(class, 0, 1, 0)? {
            self.conclude(name, above, &body, 0, 0)?;
        }
        Ok(())
    }

    /// The ways in which a variable's term is in a class; `next` is the next free variable.
    fn premises(
        &self,
        class: TermId,
        variable: usize,
        next: usize,
        depth: usize,
    ) -> Result<Vec<Vec<Atom>>> {
        check_depth(depth)?;
        let expressions = self.ontology.expressions.get(&class);
        let Some(expressions) = expressions.filter(|_| is_anonymous(class)) else {
            return Ok(vec![vec![self.rules.instance(variable, class)]]);
        };
        let mut ways = Vec::new();
        for expression in expressions {
            ways.extend(self.premises_of(expression, variable, next, depth + 1)?);
        }
        let is_enumeration = |expression| matches!(expression, &Expression::OneOf(_));
        if self.has_instances(class)? || expressions.iter().any(is_enumeration) {
            ways.push(vec![self.rules.instance(variable, class)]);
        }
        check_alternatives(ways)
    }

    fn premises_of(
        &self,
        expression: &Expression,
        variable: usize,
        next: usize,
        depth: usize,
    ) -> Result<Vec<Vec<Atom>>> {
        match expression {
            Expression::Intersection(members) => {
                let mut ways = vec![Vec::new()];
                for member in members {
                    let mut joined = Vec::new();
                    for way in &ways {
                        let next = next_variable(way, next);
                        for more in self.premises(*member, variable, next, depth + 1)? {
                            let way: &Vec<Atom> = way;
                            joined.push(way.iter().copied().chain(more).collect());
                        }
                    }
                    ways = check_alternatives(joined)?;
                }
                Ok(ways)
            }
            Expression::Union(members) => {
                let mut ways = Vec::new();
                for member in members {
                    ways.extend(self.premises(*member, variable, next, depth + 1)?);
                }
                check_alternatives(ways)
            }
            Expression::Some(property, class) => {
                let link = triple(*property, variable, next);
                if Some(*class) == self.rules.vocabulary.thing {
                    return Ok(vec![vec![link]]);
                }
                let mut ways = self.premises(*class, next, next + 1, depth + 1)?;
                for way in &mut ways {
                    way.insert(0, link);
                }
                Ok(ways)
            }
            Expression::Value(property, value) => Ok(vec![vec![Atom([
                Slot::Variable(variable),
                Slot::Constant(*property),
                Slot::Constant(*value),
            ])]]),
            // Members of an enumeration are stored as its instances.
            Expression::All(..) | Expression::OneOf(_) | Expression::Max(..) => Ok(Vec::new()),
        }
    }

    /// What follows from a variable's term being in a class.
    fn conclude(
        &mut self,
        name: &'static str,
        class: TermId,
        body: &[Atom],
        variable: usize,
        depth: usize,
    ) -> Result<()> {
        check_depth(depth)?;
        let ontology = self.ontology;
        match ontology
            .expressions
            .get(&class)
            .filter(|_| is_anonymous(class))
        {
            None => {
                let head = self.rules.instance(variable, class);
                self.add(name, head, body.to_vec());
                Ok(())
            }
            Some(expressions) => {
                for expression in expressions {
                    self.conclude_expression(name, expression, body, variable, depth + 1)?;
                }
                Ok(())
            }
        }
    }

    fn conclude_expression(
        &mut self,
        name: &'static str,
        expression: &Expression,
        body: &[Atom],
        variable: usize,
        depth: usize,
    ) -> Result<()> {
        match expression {
            Expression::Intersection(members) => {
                for member in members {
                    self.conclude(name, *member, body, variable, depth + 1)?;
                }
                Ok(())
            }
            Expression::Value(property, value) => {
                let head = Atom([
                    Slot::Variable(variable),
                    Slot::Constant(*property),
                    Slot::Constant(*value),
                ]);
                self.add(name, head, body.to_vec());
                Ok(())
            }
            Expression::All(property, class) => {
                let next = next_variable(body, variable + 1);
                let mut body = body.to_vec();
                body.push(triple(*property, variable, next));
                self.conclude(name, *class, &body, next, depth + 1)
            }
            Expression::Max(property, cardinality, qualifier) => {
                self.limit(*property, *cardinality, *qualifier, body, variable)
            }
            Expression::Some(..) | Expression::Union(_) | Expression::OneOf(_) => Ok(()),
        }
    }
}

/// A variable that the atoms do not have, not below `least`.
fn next_variable(atoms: &[Atom], least: usize) -> usize {
    let used = atoms.iter().flat_map(Atom::variables).max();
    used.map_or(least, |used| least.max(used + 1))
}

fn check_depth(depth: usize) -> Result<()> {
    if depth > DEPTH_MAX {
        return Err(InferError::Limit {
            what: "class expressions nested in one another",
            limit: DEPTH_MAX,
        });
    }
    Ok(())
}

fn check_alternatives(ways: Vec<Vec<Atom>>) -> Result<Vec<Vec<Atom>>> {
    if ways.len() > ALTERNATIVES_MAX {
        return Err(InferError::Limit {
            what: "ways to fulfil a class expression",
            limit: ALTERNATIVES_MAX,
        });
    }
    Ok(ways)
}
