//! Conjunctions of a few patterns, drawn from the triples of a graph so that they have answers.

use super::random::Random;
use std::collections::BTreeMap;

/// A triple pattern: terms, or variables with their question mark.
pub type Pattern = [String; 3];

/// Patterns that are joined.
#[derive(Clone)]
pub struct Shape {
    pub patterns: Vec<Pattern>,
}

impl Shape {
    pub fn query(&self) -> String {
        let patterns: Vec<String> = self.patterns.iter().map(|terms| terms.join(" ")).collect();
        format!("SELECT * {{ {} }}", patterns.join(" . "))
    }

    /// Whether in this order every pattern shares a variable with one before it.
    pub fn is_connected(&self, order: &[usize]) -> bool {
        let variables = |index: &usize| {
            let terms = self.patterns[*index].iter();
            terms.filter(|term| term.starts_with('?'))
        };
        (1..order.len()).all(|at| {
            variables(&order[at]).any(|variable| {
                let mut before = order[..at].iter().flat_map(variables);
                before.any(|known| known == variable)
            })
        })
    }

    fn of(patterns: &[&str]) -> Self {
        let pattern = |text: &&str| {
            let mut terms = text.split(' ').map(str::to_owned);
            [(); 3].map(|()| terms.next().expect("three terms"))
        };
        Self {
            patterns: patterns.iter().map(pattern).collect(),
        }
    }
}

/// The triples of a graph, as text.
pub struct Triples {
    all: Vec<[String; 3]>,
    /// By subject.
    out: BTreeMap<String, Vec<usize>>,
    /// By object.
    into: BTreeMap<String, Vec<usize>>,
}

impl Triples {
    pub fn parse(text: &str) -> Self {
        let mut triples = Self {
            all: Vec::new(),
            out: BTreeMap::new(),
            into: BTreeMap::new(),
        };
        for (index, line) in text.lines().enumerate() {
            let mut parts = line.trim_end_matches(" .").splitn(3, ' ');
            let triple = [(); 3].map(|()| parts.next().expect("three terms").to_owned());
            let entry = triples.out.entry(triple[0].clone()).or_default();
            entry.push(index);
            let entry = triples.into.entry(triple[2].clone()).or_default();
            entry.push(index);
            triples.all.push(triple);
        }
        triples
    }

    fn of_subject(&self, subject: &str) -> &[usize] {
        self.out.get(subject).map_or(&[], Vec::as_slice)
    }
}

/// Draws a shape of so many patterns; `None` if the place where it was tried has none.
type Draw = fn(&Triples, &mut Random, usize) -> Option<Shape>;

pub const KINDS: [(&str, Draw); 3] = [("star", star), ("chain", chain), ("snowflake", snowflake)];

/// Adds patterns about one subject, with different predicates, some of whose objects are constants. `skip` is a
/// predicate that is there already.
fn rays(
    triples: &Triples,
    random: &mut Random,
    subject: (&str, &str),
    count: usize,
    skip: &str,
    patterns: &mut Vec<Pattern>,
) -> bool {
    let mut predicates: Vec<&[String; 3]> = Vec::new();
    for index in triples.of_subject(subject.0) {
        let triple = &triples.all[*index];
        if triple[1] != skip && predicates.iter().all(|known| known[1] != triple[1]) {
            predicates.push(triple);
        }
    }
    for number in 0..count {
        if predicates.is_empty() {
            return false;
        }
        let triple = predicates.swap_remove(random.below(predicates.len()));
        let object = if random.below(3) == 0 {
            triple[2].clone()
        } else {
            format!("{}o{number}", subject.1)
        };
        patterns.push([subject.1.to_owned(), triple[1].clone(), object]);
    }
    true
}

fn star(triples: &Triples, random: &mut Random, count: usize) -> Option<Shape> {
    for _ in 0..50 {
        let subject = &random.pick(&triples.all)[0];
        let mut patterns = Vec::new();
        if rays(triples, random, (subject, "?x"), count, "", &mut patterns) {
            return Some(Shape { patterns });
        }
    }
    None
}

/// Steps from thing to thing, along edges or against them; the first or the last thing is a constant where there are many
/// steps, and at times where there are few.
fn chain(triples: &Triples, random: &mut Random, count: usize) -> Option<Shape> {
    'walk: for _ in 0..50 {
        let start = random.pick(&triples.all)[0].clone();
        let mut node = start.clone();
        let mut patterns: Vec<Pattern> = Vec::new();
        let mut last = "";
        for step in 0..count {
            let (from, to) = (format!("?v{step}"), format!("?v{}", step + 1));
            let out = triples.of_subject(&node);
            let into = triples.into.get(&node).map_or(&[][..], Vec::as_slice);
            let is_back = !into.is_empty() && into.len() <= 50 && random.below(3) == 0;
            let edges = if is_back { into } else { out };
            if edges.is_empty() {
                continue 'walk;
            }
            let triple = &triples.all[*random.pick(edges)];
            if triple[1] == last {
                continue 'walk;
            }
            last = &triple[1];
            if is_back {
                patterns.push([to, triple[1].clone(), from]);
                node.clone_from(&triple[0]);
            } else {
                patterns.push([from, triple[1].clone(), to]);
                node.clone_from(&triple[2]);
            }
        }
        if count > 3 || random.below(2) == 0 {
            let (variable, term) = if random.below(2) == 0 {
                ("?v0".to_owned(), start)
            } else {
                (format!("?v{count}"), node)
            };
            for place in patterns.iter_mut().flatten() {
                if *place == variable {
                    place.clone_from(&term);
                }
            }
        }
        return Some(Shape { patterns });
    }
    None
}

/// Two stars, and an edge from the middle of one to the middle of the other.
fn snowflake(triples: &Triples, random: &mut Random, count: usize) -> Option<Shape> {
    for _ in 0..200 {
        let edge = random.pick(&triples.all);
        if triples.of_subject(&edge[2]).is_empty() {
            continue;
        }
        let mut patterns = vec![["?x".to_owned(), edge[1].clone(), "?y".to_owned()]];
        let first = random.below(count);
        let second = count - 1 - first;
        if rays(
            triples,
            random,
            (&edge[0], "?x"),
            first,
            &edge[1],
            &mut patterns,
        ) && rays(triples, random, (&edge[2], "?y"), second, "", &mut patterns)
        {
            return Some(Shape { patterns });
        }
    }
    None
}

/// Cycles over LUBM.
pub fn lubm_cycles() -> Vec<Shape> {
    let full = |patterns: &[&str]| {
        let mut shape = Shape::of(patterns);
        for term in shape.patterns.iter_mut().flatten() {
            if let Some(name) = term.strip_prefix("ub:") {
                *term = format!("<http://swat.cse.lehigh.edu/onto/univ-bench.owl#{name}>");
            }
        }
        shape
    };
    vec![
        full(&[
            "?x ub:memberOf ?z",
            "?z ub:subOrganizationOf ?y",
            "?x ub:undergraduateDegreeFrom ?y",
        ]),
        full(&[
            "?x ub:advisor ?y",
            "?y ub:teacherOf ?z",
            "?x ub:takesCourse ?z",
        ]),
        full(&[
            "?p ub:publicationAuthor ?x",
            "?p ub:publicationAuthor ?y",
            "?x ub:advisor ?y",
            "?x ub:memberOf ?d",
        ]),
        full(&[
            "?x ub:advisor ?y",
            "?y ub:worksFor ?d",
            "?x ub:memberOf ?d",
            "?y ub:teacherOf ?c",
            "?x ub:takesCourse ?c",
        ]),
    ]
}

/// Cycles over the shop.
pub fn shop_cycles() -> Vec<Shape> {
    vec![
        Shape::of(&["?r <s:reviewer> ?u", "?r <s:about> ?p", "?u <s:likes> ?p"]),
        Shape::of(&["?u <s:friend> ?v", "?u <s:country> ?c", "?v <s:country> ?c"]),
        Shape::of(&[
            "?u <s:friend> ?v",
            "?u <s:likes> ?p",
            "?v <s:likes> ?p",
            "?p <s:author> ?a",
        ]),
        Shape::of(&[
            "?o <s:eligible> ?c",
            "?u <s:country> ?c",
            "?o <s:offers> ?p",
            "?u <s:likes> ?p",
            "?p <s:director> ?d",
        ]),
    ]
}
