//! Data and expected results of the W3C's tests, and how answers are compared with them: as multisets of rows, blank nodes
//! up to renaming, numbers by value within their datatype.

use super::manifest::{Graph, iri_of, read};
use oxrdf::{BlankNode, GraphName, Literal, NamedNode, Quad, Term, Triple, vocab::xsd};
use oxsdatatypes::{Decimal, Double, Float, Integer};
use quadrille_store::Store;
use sparesults::{QueryResultsFormat, QueryResultsParser, SliceQueryResultsParserOutput};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

const RS: &str = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#";
const RDF_TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";

/// A row: what is bound.
pub type Row = BTreeMap<String, Term>;

/// What a query gives.
pub enum Answer {
    Boolean(bool),
    Solutions {
        variables: Vec<String>,
        rows: Vec<Row>,
        /// Whether the sequence matters.
        is_ordered: bool,
    },
    /// Triples as rows.
    Graph(Vec<Row>),
}

/// Whether a file's name ends so.
pub fn has_extension(iri: &str, extension: &str) -> bool {
    iri.rsplit('.').next() == Some(extension)
}

fn triples(root: &Path, iri: &str) -> Result<Vec<Triple>, String> {
    let text = read(root, iri);
    if has_extension(iri, "rdf") {
        oxrdfxml::RdfXmlParser::new()
            .with_base_iri(iri)
            .map_err(|error| error.to_string())?
            .for_slice(&text)
            .collect::<Result<_, _>>()
            .map_err(|error| format!("{iri}: {error}"))
    } else {
        oxttl::TurtleParser::new()
            .with_base_iri(iri)
            .map_err(|error| error.to_string())?
            .for_slice(&text)
            .collect::<Result<_, _>>()
            .map_err(|error| format!("{iri}: {error}"))
    }
}

/// Loads a file into the default graph or a named one.
pub fn load(root: &Path, store: &Store, iri: &str, graph: Option<&str>) -> Result<(), String> {
    let quads: Vec<Quad> = if has_extension(iri, "trig") || has_extension(iri, "nq") {
        let text = read(root, iri);
        oxttl::TriGParser::new()
            .with_base_iri(iri)
            .map_err(|error| error.to_string())?
            .for_slice(&text)
            .collect::<Result<_, _>>()
            .map_err(|error| format!("{iri}: {error}"))?
    } else {
        let graph = graph.map_or(GraphName::DefaultGraph, |graph| {
            NamedNode::new_unchecked(graph).into()
        });
        triples(root, iri)?
            .into_iter()
            .map(|triple| triple.in_graph(graph.clone()))
            .collect()
    };
    store
        .insert_quads(quads)
        .map(|_| ())
        .map_err(|error| error.to_string())
}

/// Reads an expected result.
pub fn expected(root: &Path, iri: &str) -> Result<Answer, String> {
    let format = match iri.rsplit('.').next() {
        Some("srx") => QueryResultsFormat::Xml,
        Some("srj") => QueryResultsFormat::Json,
        Some("tsv") => QueryResultsFormat::Tsv,
        Some("csv") => return csv(&read(root, iri)),
        _ => return result_set(root, iri),
    };
    let text = read(root, iri);
    let parser = QueryResultsParser::from_format(format);
    match parser.for_slice(&text).map_err(|error| error.to_string())? {
        SliceQueryResultsParserOutput::Boolean(value) => Ok(Answer::Boolean(value)),
        SliceQueryResultsParserOutput::Solutions(solutions) => {
            let variables = solutions
                .variables()
                .iter()
                .map(|variable| variable.as_str().to_owned())
                .collect();
            let mut rows = Vec::new();
            for solution in solutions {
                let solution = solution.map_err(|error| error.to_string())?;
                rows.push(
                    solution
                        .iter()
                        .map(|(variable, term)| (variable.as_str().to_owned(), term.clone()))
                        .collect(),
                );
            }
            Ok(Answer::Solutions {
                variables,
                rows: normalised(rows, false),
                is_ordered: false,
            })
        }
    }
}

/// CSV has no types: every cell is a text.
fn csv(text: &[u8]) -> Result<Answer, String> {
    let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
    let mut lines = text.lines();
    let cells = |line: &str| -> Vec<String> {
        let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
        let mut characters = line.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '"' if quoted && characters.peek() == Some(&'"') => {
                    characters.next();
                    cell.push('"');
                }
                '"' => quoted = !quoted,
                ',' if !quoted => cells.push(std::mem::take(&mut cell)),
                other => cell.push(other),
            }
        }
        cells.push(cell);
        cells
    };
    let variables = cells(lines.next().unwrap_or_default());
    let rows = lines
        .map(|line| {
            let bound = cells(line).into_iter().zip(&variables);
            bound
                .filter(|(cell, _)| !cell.is_empty())
                .map(|(cell, variable)| (variable.clone(), text_term(&cell)))
                .collect()
        })
        .collect();
    Ok(Answer::Solutions {
        variables,
        rows,
        is_ordered: false,
    })
}

fn text_term(text: &str) -> Term {
    match text.strip_prefix("_:") {
        Some(label) => BlankNode::new_unchecked(label).into(),
        None => Literal::new_simple_literal(text).into(),
    }
}

/// A result in the vocabulary of the tests.
fn result_set(root: &Path, iri: &str) -> Result<Answer, String> {
    let triples = triples(root, iri)?;
    let graph = Graph::new(triples.iter().cloned());
    let Some(set) = graph
        .subjects(RDF_TYPE, &format!("{RS}ResultSet"))
        .into_iter()
        .next()
    else {
        let distinct: HashSet<Triple> = triples.into_iter().collect();
        return Ok(Answer::Graph(rows_of_graph(distinct)));
    };
    if let Some(Term::Literal(value)) = graph.object(&set, &format!("{RS}boolean")) {
        return Ok(Answer::Boolean(matches!(value.value(), "true" | "1")));
    }
    let text = |term: &Term| match term {
        Term::Literal(literal) => literal.value().to_owned(),
        other => other.to_string(),
    };
    let variables = graph
        .objects(&set, &format!("{RS}resultVariable"))
        .into_iter()
        .map(text)
        .collect();
    let mut rows: Vec<(Option<i64>, Row)> = Vec::new();
    for solution in graph.objects(&set, &format!("{RS}solution")) {
        let mut row = Row::new();
        for binding in graph.objects(solution, &format!("{RS}binding")) {
            let variable = graph.object(binding, &format!("{RS}variable"));
            let value = graph.object(binding, &format!("{RS}value"));
            if let (Some(variable), Some(value)) = (variable, value)
                && iri_of(value) != Some(&format!("{RS}undefined"))
            {
                row.insert(text(variable), value.clone());
            }
        }
        let index = graph.object(solution, &format!("{RS}index"));
        rows.push((index.and_then(|index| text(index).parse().ok()), row));
    }
    let is_ordered = !rows.is_empty() && rows.iter().all(|(index, _)| index.is_some());
    rows.sort_by_key(|(index, _)| *index);
    Ok(Answer::Solutions {
        variables,
        rows: normalised(rows.into_iter().map(|(_, row)| row).collect(), false),
        is_ordered,
    })
}

/// Triples as rows.
pub fn rows_of_graph(triples: impl IntoIterator<Item = Triple>) -> Vec<Row> {
    let rows = triples
        .into_iter()
        .map(|triple| {
            let terms: [Term; 3] = [
                triple.subject.into(),
                triple.predicate.into(),
                triple.object,
            ];
            let names = ["subject", "predicate", "object"].map(str::to_owned);
            names.into_iter().zip(terms).collect()
        })
        .collect();
    normalised(rows, false)
}

/// Rows with terms in a form that tells values apart within a datatype.
pub fn normalised(rows: Vec<Row>, as_text: bool) -> Vec<Row> {
    rows.into_iter()
        .map(|row| {
            row.into_iter()
                .map(|(variable, term)| (variable, normalised_term(term, as_text)))
                .collect()
        })
        .collect()
}

fn normalised_term(term: Term, as_text: bool) -> Term {
    let literal = match term {
        Term::Literal(literal) => literal,
        Term::NamedNode(node) if as_text => return text_term(node.as_str()),
        other => return other,
    };
    if as_text {
        return text_term(literal.value());
    }
    if let Some(language) = literal.language() {
        let language = language.to_ascii_lowercase();
        return match literal.direction() {
            None => Literal::new_language_tagged_literal_unchecked(literal.value(), language),
            Some(direction) => Literal::new_directional_language_tagged_literal_unchecked(
                literal.value(),
                language,
                direction,
            ),
        }
        .into();
    }
    let datatype = literal.datatype().into_owned();
    let text = literal.value();
    let canonical = if datatype == xsd::DECIMAL {
        text.parse::<Decimal>().ok().map(|value| value.to_string())
    } else if datatype == xsd::DOUBLE {
        text.parse::<Double>().ok().map(|value| value.to_string())
    } else if datatype == xsd::FLOAT {
        text.parse::<Float>().ok().map(|value| value.to_string())
    } else if datatype == xsd::INTEGER {
        text.parse::<Integer>().ok().map(|value| value.to_string())
    } else {
        None
    };
    match canonical {
        Some(text) => Literal::new_typed_literal(text, datatype).into(),
        None => literal.into(),
    }
}

impl Answer {
    /// How this differs from what is expected.
    pub fn difference(&self, expected: &Self, is_lax: bool) -> Option<String> {
        match (self, expected) {
            (Self::Boolean(ours), Self::Boolean(theirs)) => {
                (ours != theirs).then(|| format!("{ours} instead of {theirs}"))
            }
            (
                Self::Solutions {
                    variables, rows, ..
                },
                Self::Solutions {
                    variables: their_variables,
                    rows: their_rows,
                    is_ordered,
                },
            ) => {
                let sorted = |names: &[String]| {
                    let mut names = names.to_vec();
                    names.sort();
                    names
                };
                if !their_variables.is_empty() && sorted(variables) != sorted(their_variables) {
                    return Some(format!("variables {variables:?}, not {their_variables:?}"));
                }
                let (mut ours, mut theirs) = (rows.clone(), their_rows.clone());
                if is_lax {
                    for rows in [&mut ours, &mut theirs] {
                        let mut distinct: Vec<Row> = Vec::new();
                        for row in rows.drain(..) {
                            if !distinct.contains(&row) {
                                distinct.push(row);
                            }
                        }
                        *rows = distinct;
                    }
                }
                let same = ours.len() == theirs.len()
                    && if *is_ordered {
                        let mut names = Names::default();
                        ours.iter()
                            .zip(&theirs)
                            .all(|(ours, theirs)| names.unify(ours, theirs))
                    } else {
                        match_rows(&ours, &mut theirs, &Names::default())
                    };
                (!same).then(|| format!("answers {rows:?}\n  expected {their_rows:?}"))
            }
            (Self::Graph(ours), Self::Graph(theirs)) => {
                let same = ours.len() == theirs.len()
                    && match_rows(ours, &mut theirs.clone(), &Names::default());
                (!same).then(|| format!("the graph {ours:?}\n  expected {theirs:?}"))
            }
            _ => Some("another kind of answer".to_owned()),
        }
    }
}

/// Which blank nodes stand for one another.
#[derive(Clone, Default)]
struct Names {
    there: HashMap<BlankNode, BlankNode>,
    back: HashMap<BlankNode, BlankNode>,
}

impl Names {
    fn unify(&mut self, ours: &Row, theirs: &Row) -> bool {
        ours.len() == theirs.len()
            && ours
                .iter()
                .zip(theirs)
                .all(|((variable, ours), (other, theirs))| {
                    variable == other && self.unify_terms(ours, theirs)
                })
    }

    fn unify_terms(&mut self, ours: &Term, theirs: &Term) -> bool {
        match (ours, theirs) {
            (Term::BlankNode(ours), Term::BlankNode(theirs)) => {
                let known = self
                    .there
                    .entry(ours.clone())
                    .or_insert_with(|| theirs.clone());
                let back = self
                    .back
                    .entry(theirs.clone())
                    .or_insert_with(|| ours.clone());
                known == theirs && back == ours
            }
            (Term::Triple(ours), Term::Triple(theirs)) => {
                ours.predicate == theirs.predicate
                    && self
                        .unify_terms(&ours.subject.clone().into(), &theirs.subject.clone().into())
                    && self.unify_terms(&ours.object, &theirs.object)
            }
            _ => ours == theirs,
        }
    }
}

/// Whether rows can be paired off, by trying.
fn match_rows(ours: &[Row], theirs: &mut Vec<Row>, names: &Names) -> bool {
    let Some((first, rest)) = ours.split_first() else {
        return theirs.is_empty();
    };
    for index in 0..theirs.len() {
        let mut attempt = names.clone();
        if attempt.unify(first, &theirs[index]) {
            let row = theirs.remove(index);
            if match_rows(rest, theirs, &attempt) {
                return true;
            }
            theirs.insert(index, row);
        }
    }
    false
}
