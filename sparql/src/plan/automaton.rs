//! `Automaton`: a property path with repetition as a finite automaton, whose transitions are steps along quads.
//!
//! Inside of `*`, `+` and `?` a path says only which nodes it connects, not how often (SPARQL 1.1, sections 9.3 and 18.4:
//! `ALP` and `ZeroOrOnePath` give each pair once). So a path is a regular expression over steps, and a search visits a
//! node once for each state, however repetitions are nested.
//!
//! Made by Glushkov's construction: a state for each step that the path names, and one to begin in; no empty
//! transitions. States that go on in the same way are one state afterwards, so that `p*` has a single state and
//! `(p|q)+` has two.

use crate::error::{QueryError, Result};
use crate::nesting::PATH_STEPS_MAX;
use oxrdf::NamedNode;
use spargebra::algebra::PropertyPathExpression as Path;
use std::collections::BTreeSet;

/// A path with repetition, from its subject to its object.
#[derive(Debug)]
pub struct Automaton {
    /// The steps that transitions name by index.
    pub steps: Vec<Step>,
    /// The states.
    pub states: Vec<State>,
    /// The state that a search begins in.
    pub initial: usize,
    /// Whether the path connects a constant with itself even if it is no node of the graph.
    pub connects_constants: bool,
}

/// From a node to its neighbours along some quads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The quads.
    pub predicates: Predicates,
    /// Whether it leads from their objects to their subjects.
    pub is_inverse: bool,
}

/// The quads that a step takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Predicates {
    /// Those of one predicate.
    One(NamedNode),
    /// Those of all predicates but these.
    AllBut(Vec<NamedNode>),
}

/// A state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    /// Whether the path may end here.
    pub is_accepting: bool,
    /// The steps that go on from here, and the states that they lead to.
    pub transitions: BTreeSet<(usize, usize)>,
}

impl Automaton {
    /// The automaton of a path, from its subject to its object or, `backward`, from its object to its subject.
    ///
    /// # Errors
    /// [`QueryError::Limit`] for a path of more than [`PATH_STEPS_MAX`] steps.
    pub fn new(path: &Path, backward: bool) -> Result<Self> {
        let mut construction = Construction::default();
        let whole = construction.fragment(path, backward)?;
        let mut states = vec![State {
            is_accepting: whole.is_nullable,
            transitions: construction.transitions(&whole.first),
        }];
        for (position, follow) in construction.follow.iter().enumerate() {
            states.push(State {
                is_accepting: whole.last.contains(&position),
                transitions: construction.transitions(follow),
            });
        }
        let mut automaton = Self {
            steps: construction.steps,
            states,
            initial: 0,
            connects_constants: connects_constants(path),
        };
        automaton.merge_states();
        Ok(automaton)
    }

    /// Whether a path without a step matches.
    pub fn is_nullable(&self) -> bool {
        self.states[self.initial].is_accepting
    }

    /// Whether paths may be of any length.
    pub fn is_cyclic(&self) -> bool {
        // Without a cycle a state leads on to fewer and fewer others.
        let mut left: BTreeSet<usize> = (0..self.states.len()).collect();
        loop {
            let before = left.len();
            let ends = |state: &usize| {
                let mut transitions = self.states[*state].transitions.iter();
                transitions.all(|(_, next)| !left.contains(next))
            };
            let done: Vec<usize> = left.iter().copied().filter(ends).collect();
            left.retain(|state| !done.contains(state));
            if left.is_empty() || left.len() == before {
                return !left.is_empty();
            }
        }
    }

    /// Makes one state of those that accept alike and have the same transitions, until there are none.
    fn merge_states(&mut self) {
        loop {
            let mut kept: Vec<State> = Vec::new();
            let mut numbers = Vec::with_capacity(self.states.len());
            for state in &self.states {
                let known = kept.iter().position(|known| known == state);
                numbers.push(known.unwrap_or_else(|| {
                    kept.push(state.clone());
                    kept.len() - 1
                }));
            }
            let is_done = kept.len() == self.states.len();
            for state in &mut kept {
                state.transitions = state
                    .transitions
                    .iter()
                    .map(|(step, next)| (*step, numbers[*next]))
                    .collect();
            }
            self.initial = numbers[self.initial];
            self.states = kept;
            if is_done {
                return;
            }
        }
    }
}

/// Whether a path connects a constant that is no node with itself. No step does; in a sequence a variable stands between the
/// two parts, which only binds nodes (SPARQL 1.1, section 18.4).
fn connects_constants(path: &Path) -> bool {
    match path {
        Path::NamedNode(_) | Path::NegatedPropertySet(_) | Path::Sequence(..) => false,
        Path::ZeroOrOne(_) | Path::ZeroOrMore(_) => true,
        Path::Reverse(inner) | Path::OneOrMore(inner) => connects_constants(inner),
        Path::Alternative(first, second) => connects_constants(first) || connects_constants(second),
    }
}

/// What is known of a part of a path. A position is a place where the path names a step.
struct Fragment {
    is_nullable: bool,
    /// The positions that it may begin with.
    first: BTreeSet<usize>,
    /// The positions that it may end with.
    last: BTreeSet<usize>,
}

#[derive(Default)]
struct Construction {
    steps: Vec<Step>,
    /// By position: which step it is.
    step_of: Vec<usize>,
    /// By position: which positions may come next.
    follow: Vec<BTreeSet<usize>>,
}

impl Construction {
    fn fragment(&mut self, path: &Path, backward: bool) -> Result<Fragment> {
        Ok(match path {
            Path::NamedNode(node) => self.position(Predicates::One(node.clone()), backward)?,
            Path::NegatedPropertySet(nodes) => {
                self.position(Predicates::AllBut(nodes.clone()), backward)?
            }
            Path::Reverse(inner) => self.fragment(inner, !backward)?,
            Path::Sequence(first, second) => {
                let (first, second) = if backward {
                    (second, first)
                } else {
                    (first, second)
                };
                let first = self.fragment(first, backward)?;
                let second = self.fragment(second, backward)?;
                self.connect(&first.last, &second.first);
                Fragment {
                    is_nullable: first.is_nullable && second.is_nullable,
                    last: united(&second.last, first.last, second.is_nullable),
                    first: united(&first.first, second.first, first.is_nullable),
                }
            }
            Path::Alternative(first, second) => {
                let first = self.fragment(first, backward)?;
                let second = self.fragment(second, backward)?;
                Fragment {
                    is_nullable: first.is_nullable || second.is_nullable,
                    first: united(&first.first, second.first, true),
                    last: united(&first.last, second.last, true),
                }
            }
            Path::ZeroOrOne(inner) => Fragment {
                is_nullable: true,
                ..self.fragment(inner, backward)?
            },
            Path::ZeroOrMore(inner) => Fragment {
                is_nullable: true,
                ..self.repeated(inner, backward)?
            },
            Path::OneOrMore(inner) => self.repeated(inner, backward)?,
        })
    }

    fn repeated(&mut self, inner: &Path, backward: bool) -> Result<Fragment> {
        let inner = self.fragment(inner, backward)?;
        self.connect(&inner.last, &inner.first);
        Ok(inner)
    }

    fn position(&mut self, predicates: Predicates, is_inverse: bool) -> Result<Fragment> {
        let position = self.step_of.len();
        if position == PATH_STEPS_MAX {
            return Err(QueryError::Limit {
                what: "a property path has too many steps",
                limit: PATH_STEPS_MAX,
            });
        }
        let step = Step {
            predicates,
            is_inverse,
        };
        let known = self.steps.iter().position(|known| *known == step);
        self.step_of.push(known.unwrap_or_else(|| {
            self.steps.push(step);
            self.steps.len() - 1
        }));
        self.follow.push(BTreeSet::new());
        Ok(Fragment {
            is_nullable: false,
            first: BTreeSet::from([position]),
            last: BTreeSet::from([position]),
        })
    }

    /// Lets each of some positions be followed by each of others.
    fn connect(&mut self, last: &BTreeSet<usize>, first: &BTreeSet<usize>) {
        for position in last {
            self.follow[*position].extend(first);
        }
    }

    /// The transitions to positions: their states are numbered behind the one to begin in.
    fn transitions(&self, positions: &BTreeSet<usize>) -> BTreeSet<(usize, usize)> {
        positions
            .iter()
            .map(|position| (self.step_of[*position], position + 1))
            .collect()
    }
}

fn united(all: &BTreeSet<usize>, more: BTreeSet<usize>, has_more: bool) -> BTreeSet<usize> {
    let mut united = all.clone();
    if has_more {
        united.extend(more);
    }
    united
}

#[cfg(test)]
mod tests {
    use super::*;

    fn automaton(path: &str) -> Automaton {
        let text = format!("PREFIX : <http://example.com/> SELECT * {{ ?x ({path})? ?y }}");
        let query = spargebra::SparqlParser::new()
            .parse_query(&text)
            .expect("a query");
        let spargebra::Query::Select {
            pattern: spargebra::algebra::GraphPattern::Project { inner, .. },
            ..
        } = query
        else {
            panic!("a SELECT");
        };
        let spargebra::algebra::GraphPattern::Path { path, .. } = *inner else {
            panic!("a path");
        };
        let Path::ZeroOrOne(inner) = path else {
            panic!("an optional path");
        };
        Automaton::new(&inner, false).expect("a small path")
    }

    #[test]
    fn states_that_go_on_alike_are_one() {
        for (path, states, is_nullable, is_cyclic) in [
            (":p", 2, false, false),
            (":p?", 2, true, false),
            (":p*", 1, true, true),
            (":p+", 2, false, true),
            ("((:p*)*)+", 1, true, true),
            ("(:p|:q)+", 2, false, true),
            ("(:p|^:q)*", 1, true, true),
            (":p/:q*", 2, false, true),
            ("(:p/:p/:p/:p)+", 5, false, true),
            ("!(:p|^:q)*", 1, true, true),
        ] {
            let automaton = automaton(path);
            assert_eq!(automaton.states.len(), states, "{path}: {automaton:?}");
            assert_eq!(automaton.is_nullable(), is_nullable, "{path}");
            assert_eq!(automaton.is_cyclic(), is_cyclic, "{path}");
        }
    }

    #[test]
    fn a_path_of_too_many_steps_is_refused() {
        let node = Path::NamedNode(NamedNode::new_unchecked("http://example.com/p"));
        let mut path = node.clone();
        for _ in 0..PATH_STEPS_MAX {
            path = Path::Sequence(Box::new(node.clone()), Box::new(path));
        }
        let error = Automaton::new(&path, false).expect_err("one step too many");
        assert!(matches!(error, QueryError::Limit { .. }), "{error}");
    }
}
