//! Datalog rules over triples of ids: `head <- body`, where the atoms of head and body are triples with variables.
//!
//! What always holds of a rule that [`Rule::new`] made: every variable of the head and of the guards occurs in the body;
//! variables are numbered from 0 without gaps.

use quadrille_store::TermId;
use std::fmt;

/// A place in an atom.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// A term.
    Constant(TermId),
    /// A variable, by its number.
    Variable(usize),
}

impl Slot {
    /// The variable's number, if it is one.
    pub fn variable(self) -> Option<usize> {
        match self {
            Self::Constant(_) => None,
            Self::Variable(number) => Some(number),
        }
    }

    /// The term, if it is one.
    pub fn constant(self) -> Option<TermId> {
        match self {
            Self::Constant(id) => Some(id),
            Self::Variable(_) => None,
        }
    }
}

/// A triple with variables: subject, predicate, object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Atom(pub [Slot; 3]);

impl Atom {
    /// The numbers of the variables, as often as they occur.
    pub fn variables(&self) -> impl Iterator<Item = usize> {
        self.0.into_iter().filter_map(Slot::variable)
    }
}

/// A rule: where all atoms of the body match and the two terms of each guard differ, the head holds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rule {
    /// The name of the rule it was made from, such as `cax-sco` of OWL 2 RL.
    pub name: &'static str,
    /// What is concluded.
    pub head: Atom,
    /// What it follows from; not empty.
    pub body: Vec<Atom>,
    /// Variables that must not stand for a term, or for the same term as another variable.
    pub differ: Vec<(usize, Slot)>,
}

impl Rule {
    /// A rule.
    ///
    /// # Panics
    /// If the body is empty, or lacks a variable of the head or of a guard.
    pub fn new(
        name: &'static str,
        head: Atom,
        body: Vec<Atom>,
        differ: Vec<(usize, Slot)>,
    ) -> Self {
        assert!(!body.is_empty(), "a rule has premises");
        let mut rule = Self {
            name,
            head,
            body,
            differ,
        };
        rule.number_variables();
        rule
    }

    /// Gives variables the numbers from 0 in the sequence in which the body has them.
    fn number_variables(&mut self) {
        let mut known: Vec<usize> = Vec::new();
        for variable in self.body.iter().flat_map(Atom::variables) {
            if !known.contains(&variable) {
                known.push(variable);
            }
        }
        let number = |variable: usize| {
            let place = known.iter().position(|known| *known == variable);
            place.expect("every variable occurs in the body")
        };
        let slots = self.body.iter_mut().chain([&mut self.head]);
        for slot in slots.flat_map(|atom| &mut atom.0) {
            if let Slot::Variable(variable) = slot {
                *variable = number(*variable);
            }
        }
        for (left, right) in &mut self.differ {
            *left = number(*left);
            if let Slot::Variable(right) = right {
                *right = number(*right);
            }
        }
    }

    /// Whether the head is one of the premises, so that the rule concludes nothing new.
    pub fn is_trivial(&self) -> bool {
        self.body.contains(&self.head)
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(id) => write!(f, "{id:?}"),
            Self::Variable(number) => write!(f, "?{number}"),
        }
    }
}

impl fmt::Debug for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({:?} {:?} {:?})", self.0[0], self.0[1], self.0[2])
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?} <- {:?}", self.name, self.head, self.body)?;
        for (left, right) in &self.differ {
            write!(f, ", ?{left} != {right:?}")?;
        }
        Ok(())
    }
}
