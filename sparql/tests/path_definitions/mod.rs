//! Property paths with repetition as SPARQL 1.1, section 18.4, defines them, word for word and as slow as that is.

use oxrdf::{Dataset, GraphName, Term};
use spargebra::algebra::{GraphPattern, PropertyPathExpression as Path};
use spargebra::term::TermPattern;
use std::collections::BTreeSet;

type Pairs = BTreeSet<(String, String)>;

/// The default graph of a dataset.
pub struct Definitions {
    triples: Vec<(String, String, String)>,
    nodes: BTreeSet<String>,
}

impl Definitions {
    pub fn new(dataset: &Dataset) -> Self {
        let triples: Vec<(String, String, String)> = dataset
            .iter()
            .filter(|quad| quad.graph_name == GraphName::DefaultGraph.as_ref())
            .map(|quad| {
                let [subject, object] = [
                    Term::from(quad.subject.into_owned()),
                    quad.object.into_owned(),
                ]
                .map(|term| term.to_string());
                (subject, quad.predicate.as_str().to_owned(), object)
            })
            .collect();
        let nodes = triples
            .iter()
            .flat_map(|(subject, _, object)| [subject.clone(), object.clone()])
            .collect();
        Self { triples, nodes }
    }

    /// The rows of `SELECT ?x ?y` over a single path with repetition.
    pub fn answer(&self, query: &str) -> Vec<String> {
        let query = spargebra::SparqlParser::new()
            .parse_query(query)
            .expect("a query");
        let spargebra::Query::Select {
            pattern: GraphPattern::Project { inner, .. },
            ..
        } = query
        else {
            panic!("a SELECT");
        };
        let GraphPattern::Path {
            subject,
            path,
            object,
        } = *inner
        else {
            panic!("a path");
        };
        let term = |end: &TermPattern| match end {
            TermPattern::Variable(_) => None,
            other => Some(other.to_string()),
        };
        let pairs = self.eval(&path, term(&subject).as_deref(), term(&object).as_deref());
        let mut rows: Vec<String> = pairs
            .into_iter()
            .filter(|(from, to)| subject != object || from == to)
            .map(|(from, to)| {
                let mut row = ["UNBOUND".to_owned(), "UNBOUND".to_owned()];
                for (end, value) in [(&subject, from), (&object, to)] {
                    match end.to_string().as_str() {
                        "?x" => row[0] = value,
                        "?y" => row[1] = value,
                        _ => {}
                    }
                }
                row.join(" | ")
            })
            .collect();
        rows.sort();
        rows
    }

    /// `eval(Path(X, path, Y))`, where an end is a term or a variable of its own.
    fn eval(&self, path: &Path, x: Option<&str>, y: Option<&str>) -> Pairs {
        let fits = |end: Option<&str>, value: &str| end.is_none_or(|end| end == value);
        match path {
            Path::NamedNode(node) => {
                self.triples_with(x, y, |predicate| predicate == node.as_str())
            }
            Path::NegatedPropertySet(nodes) => self.triples_with(x, y, |predicate| {
                nodes.iter().all(|node| predicate != node.as_str())
            }),
            Path::Reverse(inner) => swapped(self.eval(inner, y, x)),
            Path::Sequence(first, second) => {
                let (first, second) = (self.eval(first, x, None), self.eval(second, None, y));
                let mut pairs = Pairs::new();
                for (from, middle) in &first {
                    for (other, to) in &second {
                        if middle == other {
                            pairs.insert((from.clone(), to.clone()));
                        }
                    }
                }
                pairs
            }
            Path::Alternative(first, second) => {
                let mut pairs = self.eval(first, x, y);
                pairs.extend(self.eval(second, x, y));
                pairs
            }
            Path::ZeroOrOne(inner) => {
                let mut pairs = self.eval(inner, x, y);
                let same = |term: &str| (term.to_owned(), term.to_owned());
                match (x, y) {
                    (None, None) => pairs.extend(self.nodes.iter().map(|node| same(node))),
                    (Some(term), other) | (other, Some(term)) if fits(other, term) => {
                        pairs.insert(same(term));
                    }
                    _ => {}
                }
                pairs
            }
            Path::ZeroOrMore(inner) => self.repeated(inner, true, x, y),
            Path::OneOrMore(inner) => self.repeated(inner, false, x, y),
        }
    }

    /// `*`, or `+` if a path without a step does not count.
    fn repeated(&self, inner: &Path, from_start: bool, x: Option<&str>, y: Option<&str>) -> Pairs {
        let reached = |path: &Path, start: &str| {
            let mut visited = BTreeSet::new();
            if from_start {
                self.alp(path, start, &mut visited);
            } else {
                for (_, next) in self.eval(path, Some(start), None) {
                    self.alp(path, &next, &mut visited);
                }
            }
            visited
        };
        match (x, y) {
            (Some(x), y) => reached(inner, x)
                .into_iter()
                .filter(|end| y.is_none_or(|y| y == end))
                .map(|end| (x.to_owned(), end))
                .collect(),
            (None, Some(y)) => {
                let back = Path::Reverse(Box::new(inner.clone()));
                let starts = reached(&back, y).into_iter();
                starts.map(|start| (start, y.to_owned())).collect()
            }
            (None, None) => self
                .nodes
                .iter()
                .flat_map(|node| {
                    let ends = reached(inner, node).into_iter();
                    ends.map(|end| (node.clone(), end))
                })
                .collect(),
        }
    }

    fn alp(&self, path: &Path, term: &str, visited: &mut BTreeSet<String>) {
        if !visited.insert(term.to_owned()) {
            return;
        }
        for (_, next) in self.eval(path, Some(term), None) {
            self.alp(path, &next, visited);
        }
    }

    fn triples_with(
        &self,
        x: Option<&str>,
        y: Option<&str>,
        takes: impl Fn(&str) -> bool,
    ) -> Pairs {
        self.triples
            .iter()
            .filter(|(subject, predicate, object)| {
                takes(predicate) && x.is_none_or(|x| x == subject) && y.is_none_or(|y| y == object)
            })
            .map(|(subject, _, object)| (subject.clone(), object.clone()))
            .collect()
    }
}

fn swapped(pairs: Pairs) -> Pairs {
    pairs.into_iter().map(|(from, to)| (to, from)).collect()
}
