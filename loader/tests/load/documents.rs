//! Random documents, and the oracle: what `oxttl` reads in them.
//!
//! Every blank node has an *identity*: a statement with the predicate [`IDENTITY`] and an object that names document and
//! label. By it blank nodes are told apart on both sides, so that sets of quads can be compared as text.

use oxrdf::{
    BaseDirection, BlankNode, GraphName, Literal, NamedNode, NamedOrBlankNode, Quad, Term, Triple,
};
use oxttl::NQuadsParser;
use quadrille_loader::input::{Format, InputFile};
use quadrille_store::inline;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Cursor;

/// The predicate of the statement that tells which blank node a blank node is.
pub const IDENTITY: &str = "http://example.org/identity";

const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

/// A small generator of random numbers: the same for the same seed, on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    pub fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// What random documents are like.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Statements, without those that tell identities.
    pub statements: usize,
    /// How many terms there are of each sort; few make many duplicates.
    pub universe: usize,
    /// Whether there are blank nodes.
    pub blanks: bool,
}

/// A document as N-Quads, and what is in it.
#[derive(Clone, Debug)]
pub struct Document {
    pub number: u32,
    pub text: String,
    /// What `oxttl` reads, statement by statement; blank nodes are called by their identities.
    pub quads: Vec<Quad>,
}

impl Document {
    /// A random document.
    pub fn random(random: &mut Random, number: u32, shape: Shape) -> Self {
        let mut maker = Maker {
            random,
            shape,
            blanks: BTreeSet::new(),
        };
        let mut text = String::new();
        for _ in 0..shape.statements {
            let quad = maker.quad();
            writeln!(text, "{quad} .").unwrap();
        }
        let blanks = maker.blanks;
        for label in blanks {
            writeln!(text, "_:{label} <{IDENTITY}> \"d{number}-{label}\" .").unwrap();
        }
        Self::parse(number, text)
    }

    /// A document with this text.
    pub fn parse(number: u32, text: String) -> Self {
        let quads: Vec<Quad> = NQuadsParser::new()
            .for_slice(text.as_bytes())
            .map(|quad| {
                let quad = quad.expect("a document of valid statements");
                with_blanks(&quad, &|label| format!("d{number}-{label}"))
            })
            .collect();
        Self {
            number,
            text,
            quads,
        }
    }

    /// The document as an input that is read like standard input.
    pub fn reader(&self) -> InputFile {
        let name = format!("document {}", self.number);
        let bytes = Cursor::new(self.text.clone().into_bytes());
        InputFile::from_reader(&name, Box::new(bytes), Format::NQuads, self.number)
    }
}

/// Makes random statements.
struct Maker<'a> {
    random: &'a mut Random,
    shape: Shape,
    blanks: BTreeSet<String>,
}

impl Maker<'_> {
    fn quad(&mut self) -> Quad {
        let graph = match self.random.below(4) {
            0 => match self.node() {
                NamedOrBlankNode::NamedNode(node) => node.into(),
                NamedOrBlankNode::BlankNode(node) => node.into(),
            },
            1 => self.iri(3).into(),
            _ => GraphName::DefaultGraph,
        };
        Quad::new(self.node(), self.iri(9), self.object(0), graph)
    }

    fn iri(&mut self, limit: usize) -> NamedNode {
        let number = self.random.below(limit);
        let iri = match number % 8 {
            0 => format!("http://example.org/{}", "a".repeat(number / 8)),
            1 => format!("http://example.org/{number}"),
            2 => format!("http://example.org/{number}/\u{e9}\u{10400}"),
            3 => format!("urn:x:{number}"),
            4 => format!("http://example.org/{}{number}", "long/".repeat(30)),
            5 => format!("http://example.org/{number}#"),
            6 => format!("http://example.org/{number}#a"),
            _ => format!("tag:{number}"),
        };
        NamedNode::new_unchecked(iri)
    }

    fn node(&mut self) -> NamedOrBlankNode {
        if self.shape.blanks && self.random.one_in(3) {
            self.blank().into()
        } else {
            self.iri(self.shape.universe).into()
        }
    }

    fn blank(&mut self) -> BlankNode {
        // The same labels in every document.
        let label = format!("n{}", self.random.below(self.shape.universe));
        self.blanks.insert(label.clone());
        BlankNode::new_unchecked(label)
    }

    fn object(&mut self, depth: usize) -> Term {
        match self.random.below(7) {
            0..=2 => match self.node() {
                NamedOrBlankNode::NamedNode(node) => node.into(),
                NamedOrBlankNode::BlankNode(node) => node.into(),
            },
            3 if depth < 4 => {
                let object = self.object(depth + 1);
                Triple::new(self.node(), self.iri(9), object).into()
            }
            _ => self.literal().into(),
        }
    }

    fn literal(&mut self) -> Literal {
        let number = self.random.below(self.shape.universe);
        let typed = |lexical: String, datatype: &str| {
            Literal::new_typed_literal(
                lexical,
                NamedNode::new_unchecked(format!("{XSD}{datatype}")),
            )
        };
        match self.random.below(17) {
            0 => Literal::new_simple_literal(format!("plain {number}")),
            1 => Literal::new_simple_literal("a\0".repeat(number % 4)),
            2 => Literal::new_simple_literal(format!("tab\t \"quote\" \\ \n {number} \u{1f600}")),
            3 => Literal::new_language_tagged_literal_unchecked(format!("plain {number}"), "EN-gb"),
            4 => Literal::new_language_tagged_literal_unchecked(format!("plain {number}"), "de"),
            5 => Literal::new_directional_language_tagged_literal_unchecked(
                format!("plain {number}"),
                "ar",
                self.random
                    .choose(&[BaseDirection::Ltr, BaseDirection::Rtl]),
            ),
            6 => typed(number.to_string(), "integer"),
            7 => typed(format!("-0{number}"), "integer"),
            8 => typed(format!("{number}{}", "0".repeat(30)), "integer"),
            9 => typed(format!("{number}.5"), "decimal"),
            10 => typed(format!("{number}.0E0"), "double"),
            11 => typed(
                self.random.choose(&["true", "false", "1"]).to_owned(),
                "boolean",
            ),
            12 => typed(format!("20{:02}-05-17", number % 100), "date"),
            13 => typed(format!("20{:02}-05-17T12:00:00Z", number % 100), "dateTime"),
            14 => typed(
                format!("20{:02}-05-17T12:00:00.500", number % 100),
                "dateTime",
            ),
            15 => typed(format!("P{number}D"), "duration"),
            _ => {
                let datatype =
                    NamedNode::new_unchecked(format!("http://example.org/type{}", number % 3));
                Literal::new_typed_literal(format!("plain {number}"), datatype)
            }
        }
    }
}

/// What a store must hold after some loads.
#[derive(Clone, Default, Debug)]
pub struct Expected {
    /// Every quad as a line; the blank nodes of each load apart.
    pub quads: BTreeSet<String>,
    /// Every term, those inside triple terms included, that is not its own id.
    terms: BTreeSet<String>,
    /// How many loads each document was part of.
    loads: BTreeMap<u32, usize>,
}

/// What a load must report.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    pub statements: u64,
    pub quads_new: u64,
    pub quads_present: u64,
    pub duplicates: u64,
    pub quads_named: u64,
    pub terms: u64,
    pub terms_new: u64,
}

impl Expected {
    /// The quads of documents that are loaded next, as they will be told apart.
    pub fn next_quads(&self, documents: &[Document]) -> Vec<Quad> {
        let mut quads = Vec::new();
        for document in documents {
            let load = self.loads.get(&document.number).copied().unwrap_or(0);
            let label = |label: &str| format!("{label}.{load}");
            quads.extend(document.quads.iter().map(|quad| with_blanks(quad, &label)));
        }
        quads
    }

    /// Notes a load of documents; says what it must report.
    pub fn load(&mut self, documents: &[Document]) -> Counts {
        let mut counts = Counts::default();
        let mut seen = BTreeSet::new();
        let mut terms = BTreeSet::new();
        let (mut new_quads, mut new_terms) = (BTreeSet::new(), BTreeSet::new());
        for quad in self.next_quads(documents) {
            counts.statements += 1;
            let line = quad.to_string();
            for (term, is_inline) in terms_of(&quad) {
                if !is_inline && !self.terms.contains(&term) {
                    new_terms.insert(term.clone());
                }
                terms.insert(term);
            }
            if !seen.insert(line.clone()) {
                counts.duplicates += 1;
            } else if self.quads.contains(&line) {
                counts.quads_present += 1;
            } else {
                counts.quads_new += 1;
                counts.quads_named += u64::from(!quad.graph_name.is_default_graph());
                new_quads.insert(line);
            }
        }
        counts.terms = terms.len() as u64;
        counts.terms_new = new_terms.len() as u64;
        self.quads.append(&mut new_quads);
        self.terms.append(&mut new_terms);
        for document in documents {
            *self.loads.entry(document.number).or_default() += 1;
        }
        counts
    }
}

/// A quad whose blank nodes are called otherwise.
pub fn with_blanks(quad: &Quad, label: &dyn Fn(&str) -> String) -> Quad {
    let graph_name = match &quad.graph_name {
        GraphName::BlankNode(node) => BlankNode::new_unchecked(label(node.as_str())).into(),
        other => other.clone(),
    };
    Quad {
        subject: node_with_blanks(&quad.subject, label),
        predicate: quad.predicate.clone(),
        object: term_with_blanks(&quad.object, label),
        graph_name,
    }
}

fn node_with_blanks(node: &NamedOrBlankNode, label: &dyn Fn(&str) -> String) -> NamedOrBlankNode {
    match node {
        NamedOrBlankNode::BlankNode(node) => BlankNode::new_unchecked(label(node.as_str())).into(),
        NamedOrBlankNode::NamedNode(node) => node.clone().into(),
    }
}

fn term_with_blanks(term: &Term, label: &dyn Fn(&str) -> String) -> Term {
    match term {
        Term::BlankNode(node) => BlankNode::new_unchecked(label(node.as_str())).into(),
        Term::Triple(triple) => Triple::new(
            node_with_blanks(&triple.subject, label),
            triple.predicate.clone(),
            term_with_blanks(&triple.object, label),
        )
        .into(),
        other => other.clone(),
    }
}

/// All terms of a quad, and whether they are their own ids.
fn terms_of(quad: &Quad) -> Vec<(String, bool)> {
    let mut terms = vec![
        (quad.predicate.to_string(), false),
        (quad.subject.to_string(), false),
    ];
    if !quad.graph_name.is_default_graph() {
        terms.push((quad.graph_name.to_string(), false));
    }
    push_terms(&quad.object, &mut terms);
    terms
}

fn push_terms(term: &Term, terms: &mut Vec<(String, bool)>) {
    let is_inline = match term {
        Term::Literal(literal) => {
            inline::encode(literal.value(), literal.datatype().as_str()).is_some()
        }
        Term::Triple(triple) => {
            terms.push((triple.subject.to_string(), false));
            terms.push((triple.predicate.to_string(), false));
            push_terms(&triple.object, terms);
            false
        }
        _ => false,
    };
    terms.push((term.to_string(), is_inline));
}
