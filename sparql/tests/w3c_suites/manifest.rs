//! The W3C's test manifests: which tests there are, and the files that they name.

use oxrdf::{NamedOrBlankNode, Term, Triple};
use std::collections::HashMap;
use std::path::Path;

/// What stands before the path of a file in its IRI.
const BASE: &str = "https://w3c.github.io/rdf-tests/";
const MF: &str = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#";
const QT: &str = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#";
const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";

/// A test.
pub struct Test {
    /// The folder and the name of the test.
    pub name: String,
    /// Its class, without namespace.
    pub kind: String,
    /// The IRI of the query.
    pub query: String,
    /// The IRIs of data files, and the named graphs that they are for.
    pub data: Vec<(String, Option<String>)>,
    /// The IRIs of endpoints, and of the data that they have.
    pub services: Vec<(String, String)>,
    /// The IRI of the expected result.
    pub result: Option<String>,
    /// Whether repetitions do not matter.
    pub is_lax: bool,
}

/// The bytes of the file that an IRI stands for.
pub fn read(root: &Path, iri: &str) -> Vec<u8> {
    let path = iri.strip_prefix(BASE).unwrap_or(iri);
    let path = root.join(path);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The triples of a file in Turtle, by subject.
pub struct Graph(HashMap<NamedOrBlankNode, Vec<(String, Term)>>);

impl Graph {
    /// Reads a Turtle file.
    pub fn read(root: &Path, iri: &str) -> Result<Self, String> {
        let text = read(root, iri);
        let triples: Result<Vec<Triple>, _> = oxttl::TurtleParser::new()
            .with_base_iri(iri)
            .map_err(|error| error.to_string())?
            .for_slice(&text)
            .collect();
        Ok(Self::new(
            triples.map_err(|error| format!("{iri}: {error}"))?,
        ))
    }

    /// A graph of triples.
    pub fn new(triples: impl IntoIterator<Item = Triple>) -> Self {
        let mut graph: HashMap<NamedOrBlankNode, Vec<(String, Term)>> = HashMap::new();
        for triple in triples {
            graph
                .entry(triple.subject)
                .or_default()
                .push((triple.predicate.into_string(), triple.object));
        }
        Self(graph)
    }

    /// The objects of a subject and a predicate.
    pub fn objects(&self, subject: &Term, predicate: &str) -> Vec<&Term> {
        let subject = match subject {
            Term::NamedNode(node) => Some(NamedOrBlankNode::from(node.clone())),
            Term::BlankNode(node) => Some(NamedOrBlankNode::from(node.clone())),
            _ => None,
        };
        subject
            .and_then(|subject| self.0.get(&subject))
            .into_iter()
            .flatten()
            .filter(|(known, _)| known == predicate)
            .map(|(_, object)| object)
            .collect()
    }

    /// The object of a subject and a predicate.
    pub fn object(&self, subject: &Term, predicate: &str) -> Option<&Term> {
        self.objects(subject, predicate).into_iter().next()
    }

    /// The subjects that have an object for a predicate.
    pub fn subjects(&self, predicate: &str, object: &str) -> Vec<Term> {
        self.0
            .iter()
            .filter(|(_, pairs)| {
                pairs
                    .iter()
                    .any(|(known, found)| known == predicate && iri_of(found) == Some(object))
            })
            .map(|(subject, _)| subject.clone().into())
            .collect()
    }

    fn list(&self, head: &Term) -> Vec<Term> {
        let (first, rest) = (format!("{RDF}first"), format!("{RDF}rest"));
        let mut items = Vec::new();
        let mut head = head.clone();
        while let Some(item) = self.object(&head, &first) {
            items.push(item.clone());
            match self.object(&head, &rest) {
                Some(next) => head = next.clone(),
                None => break,
            }
        }
        items
    }
}

/// The IRI of a term that is one.
pub fn iri_of(term: &Term) -> Option<&str> {
    match term {
        Term::NamedNode(node) => Some(node.as_str()),
        _ => None,
    }
}

/// Adds the tests of a manifest and of those that it includes.
pub fn read_manifest(root: &Path, path: &str, tests: &mut Vec<Test>) {
    let iri = format!("{BASE}{path}");
    let graph = Graph::read(root, &iri).unwrap_or_else(|error| panic!("{error}"));
    for manifest in graph.subjects(&format!("{RDF}type"), &format!("{MF}Manifest")) {
        for list in graph.objects(&manifest, &format!("{MF}include")) {
            for included in graph.list(list) {
                let included = iri_of(&included).expect("an IRI of a manifest").to_owned();
                let included = included.strip_prefix(BASE).expect("a file of the suite");
                read_manifest(root, included, tests);
            }
        }
        for list in graph.objects(&manifest, &format!("{MF}entries")) {
            for test in graph.list(list) {
                tests.extend(read_test(&graph, path, &test));
            }
        }
    }
}

fn read_test(graph: &Graph, path: &str, test: &Term) -> Option<Test> {
    let kind = graph
        .objects(test, &format!("{RDF}type"))
        .into_iter()
        .filter_map(iri_of)
        .find_map(|iri| iri.strip_prefix(MF))?
        .to_owned();
    let folder = path.split('/').rev().nth(1).unwrap_or(path);
    let name = match graph.object(test, &format!("{MF}name")) {
        Some(Term::Literal(literal)) => literal.value().to_owned(),
        _ => test.to_string(),
    };
    let action = graph.object(test, &format!("{MF}action"))?;
    let files = |property: &str| -> Vec<String> {
        graph
            .objects(action, &format!("{QT}{property}"))
            .into_iter()
            .filter_map(iri_of)
            .map(str::to_owned)
            .collect()
    };
    let query = match action {
        Term::NamedNode(node) => node.as_str().to_owned(),
        _ => files("query").pop().unwrap_or_default(),
    };
    let mut data: Vec<(String, Option<String>)> =
        files("data").into_iter().map(|file| (file, None)).collect();
    data.extend(
        files("graphData")
            .into_iter()
            .map(|file| (file.clone(), Some(file))),
    );
    let services = graph
        .objects(action, &format!("{QT}serviceData"))
        .into_iter()
        .filter_map(|service| {
            let iri = |property: &str| {
                let value = graph.object(service, &format!("{QT}{property}"));
                value.and_then(iri_of).map(str::to_owned)
            };
            Some((iri("endpoint")?, iri("data")?))
        })
        .collect();
    Some(Test {
        services,
        name: format!("{folder}/{name}"),
        kind,
        query,
        data,
        result: graph
            .object(test, &format!("{MF}result"))
            .and_then(iri_of)
            .map(str::to_owned),
        is_lax: graph
            .object(test, &format!("{MF}resultCardinality"))
            .is_some(),
    })
}
