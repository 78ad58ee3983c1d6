//! Functions and aggregates of the embedding program, compared with `spareval`, which has them too.

mod common;

use common::{Random, dataset, line, store};
use oxrdf::{Dataset, Literal, NamedNode, Term, Variable};
use quadrille_sparql::{
    Accumulator, Extensions, PlannerOptions, Query, QueryError, QueryOptions, QueryResults,
};
use quadrille_store::Snapshot;
use spareval::{AggregateFunctionAccumulator, QueryEvaluator};
use spargebra::SparqlParser;
use spargebra::algebra::{
    AggregateExpression, AggregateFunction, Expression, Function, GraphPattern,
};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The written form of its arguments, and how many there are; an error for blank nodes.
fn describe(terms: &[Term]) -> Option<Term> {
    if terms
        .iter()
        .any(|term| matches!(term, Term::BlankNode(_) | Term::Triple(_)))
    {
        return None;
    }
    let written: Vec<String> = terms.iter().map(Term::to_string).collect();
    let text = format!("{}: {}", terms.len(), written.join(" "));
    Some(Literal::new_simple_literal(text).into())
}

/// One more than an integer.
fn successor(terms: &[Term]) -> Option<Term> {
    let [Term::Literal(literal)] = terms else {
        return None;
    };
    let value: i64 = literal.value().parse().ok()?;
    Some(Literal::from(value.checked_add(1)?).into())
}

/// The written forms of terms in their order, since rows come in any; an error for none.
#[derive(Default)]
struct Listed(Vec<String>);

impl Listed {
    fn list(mut self) -> Option<Term> {
        if self.0.is_empty() {
            return None;
        }
        self.0.sort();
        Some(Literal::new_simple_literal(self.0.join(" ")).into())
    }
}

impl Accumulator for Listed {
    fn accumulate(&mut self, term: Term) {
        self.0.push(term.to_string());
    }

    fn finish(self: Box<Self>) -> Option<Term> {
        self.list()
    }
}

impl AggregateFunctionAccumulator for Listed {
    fn accumulate(&mut self, term: Term) {
        self.0.push(term.to_string());
    }

    fn finish(&mut self) -> Option<Term> {
        std::mem::take(self).list()
    }
}

fn name(name: &str) -> NamedNode {
    NamedNode::new_unchecked(name)
}

fn extensions() -> Extensions {
    Extensions::new()
        .with_function(name("f:describe"), describe)
        .with_function(name("f:successor"), successor)
        .with_aggregate(name("f:list"), || Box::new(Listed::default()))
}

/// Parses a query. The parser does not take `<f:list>(DISTINCT ?x)`; that is written `<f:distinct>(?x)` here.
fn parsed(query: &str) -> spargebra::Query {
    let mut parsed = SparqlParser::new()
        .with_custom_aggregate_function(name("f:list"))
        .with_custom_aggregate_function(name("f:distinct"))
        .parse_query(query)
        .expect(query);
    let spargebra::Query::Select { pattern, .. } = &mut parsed else {
        return parsed;
    };
    let mut pattern = pattern;
    while let GraphPattern::Project { inner, .. } | GraphPattern::Extend { inner, .. } = pattern {
        pattern = inner;
    }
    if let GraphPattern::Group { aggregates, .. } = pattern {
        for (_, aggregate) in aggregates {
            if let AggregateExpression::FunctionCall {
                name: AggregateFunction::Custom(called),
                distinct,
                ..
            } = aggregate
                && called.as_str() == "f:distinct"
            {
                *called = name("f:list");
                *distinct = true;
            }
        }
    }
    parsed
}

fn ours(snapshot: &Snapshot, query: &str, options: &QueryOptions) -> Vec<String> {
    let results = Query::prepare_with(&parsed(query), &extensions())
        .and_then(|query| query.execute(snapshot, options))
        .unwrap_or_else(|error| panic!("{query}: {error}"));
    let QueryResults::Solutions(solutions) = results else {
        panic!("{query}: no rows");
    };
    let mut lines: Vec<String> = solutions
        .map(|solution| line(solution.expect("a row").values()))
        .collect();
    lines.sort();
    lines
}

fn theirs(dataset: &Dataset, query: &str) -> Vec<String> {
    let parsed = parsed(query);
    let evaluator = QueryEvaluator::new()
        .with_custom_function(name("f:describe"), describe)
        .with_custom_function(name("f:successor"), successor)
        .with_custom_aggregate_function(name("f:list"), || Box::new(Listed::default()));
    let results = evaluator.prepare(&parsed).execute(dataset);
    let Ok(spareval::QueryResults::Solutions(solutions)) = results else {
        panic!("{query}: no rows");
    };
    let mut lines: Vec<String> = solutions
        .map(|solution| line(solution.expect("a row").values()))
        .collect();
    lines.sort();
    lines
}

/// Random expressions with calls in them.
fn expression(random: &mut Random, depth: usize) -> String {
    const LEAVES: [&str; 7] = ["?x", "?y", "?z", "?nothing", "1", "\"text\"", "<e:a>"];
    if depth == 0 || random.one_in(4) {
        return (*random.pick(&LEAVES)).to_owned();
    }
    let mut next = || expression(random, depth - 1);
    let (first, second) = (next(), next());
    match random.below(8) {
        0 => "<f:describe>()".to_owned(),
        1 => format!("<f:describe>({first})"),
        2 => format!("<f:describe>({first}, {second})"),
        3 => format!("<f:successor>({first})"),
        4 => format!("<f:successor>({first} + {second})"),
        5 => format!("COALESCE({first}, {second})"),
        6 => format!("IF({first} = {second}, {first}, {second})"),
        _ => format!("({first} + {second})"),
    }
}

fn query(random: &mut Random) -> String {
    let pattern = match random.below(3) {
        0 => "?x <e:n> ?y OPTIONAL { ?y <e:p> ?z }",
        1 => "?x <e:p> ?z . ?z <e:n> ?y",
        _ => "{ ?x <e:n> ?y } UNION { ?x <e:p> ?z }",
    };
    let (first, second) = (expression(random, 2), expression(random, 2));
    let list = *random.pick(&["<f:list>", "<f:distinct>"]);
    match random.below(4) {
        0 => format!("SELECT ?x ?y ?z {{ {pattern} FILTER({first} = {second}) }}"),
        1 => format!("SELECT ?x ({first} AS ?e) {{ {pattern} }}"),
        2 => format!("SELECT ?x ({list}({first}) AS ?e) {{ {pattern} }} GROUP BY ?x"),
        _ => format!(
            "SELECT ({list}(?y) AS ?e) (COUNT(*) AS ?c) {{ {pattern} FILTER({first} != {second}) }}"
        ),
    }
}

fn data(random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..30 {
        let subject = *random.pick(&["<e:a>", "<e:b>", "<e:c>", "_:d"]);
        if random.one_in(2) {
            let object = *random.pick(&["<e:a>", "<e:b>", "<e:c>", "_:d"]);
            writeln!(text, "{subject} <e:p> {object} .").unwrap();
        } else {
            let value = random.below(4);
            let datatype = *random.pick(&["integer", "string", "decimal"]);
            writeln!(
                text,
                "{subject} <e:n> \"{value}\"^^<http://www.w3.org/2001/XMLSchema#{datatype}> ."
            )
            .unwrap();
        }
    }
    text
}

#[test]
fn calls_come_out_as_the_oracle_says() {
    let seed = std::env::var("QUADRILLE_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    let cases: u64 =
        std::env::var("QUADRILLE_CASES").map_or(600, |cases| cases.parse().expect("a number"));
    let mut answered = 0;
    for case in seed..seed + cases {
        let mut random = Random(case);
        let snapshot = store(&data(&mut random)).snapshot();
        let dataset = dataset(&snapshot);
        let query = query(&mut random);
        let expected = theirs(&dataset, &query);
        answered += usize::from(!expected.is_empty());
        for batch_rows in [1, 1024] {
            let options = QueryOptions {
                batch_rows,
                ..QueryOptions::default()
            };
            assert_eq!(
                ours(&snapshot, &query, &options),
                expected,
                "seed {case}: {query}"
            );
        }
    }
    assert!(answered > cases as usize / 2, "most queries have answers");
}

#[test]
fn calls_are_made_on_several_threads() {
    let mut text = String::new();
    for number in 0..20_000 {
        writeln!(
            text,
            "<e:s{number}> <e:n> \"{number}\"^^<http://www.w3.org/2001/XMLSchema#integer> ."
        )
        .unwrap();
    }
    let snapshot = store(&text).snapshot();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let extensions = Extensions::new().with_function(name("f:even"), move |terms| {
        counted.fetch_add(1, Ordering::Relaxed);
        let [Term::Literal(literal)] = terms else {
            return None;
        };
        let value: u64 = literal.value().parse().ok()?;
        Some(Literal::from(value.is_multiple_of(2)).into())
    });
    let query = Query::parse_with(
        "SELECT ?s { ?s <e:n> ?n FILTER(<f:even>(?n)) }",
        None,
        &extensions,
    )
    .expect("a query");
    let options = QueryOptions {
        threads: 3,
        planner: PlannerOptions {
            parallel_rows: 1_000,
            ..PlannerOptions::default()
        },
        ..QueryOptions::default()
    };
    let Ok(QueryResults::Solutions(solutions)) = query.execute(&snapshot, &options) else {
        panic!("no rows");
    };
    assert_eq!(solutions.count(), 10_000);
    assert_eq!(calls.load(Ordering::Relaxed), 20_000);
}

#[test]
fn what_nobody_registered_is_an_error_with_its_name() {
    for query in [
        "SELECT (<f:unknown>(1) AS ?x) {}",
        "ASK { FILTER(COALESCE(<f:unknown>(), true)) }",
        "SELECT (<f:list>(?x) AS ?y) { ?x ?p ?o }",
        "ASK { FILTER(<http://www.w3.org/2001/XMLSchema#anyURI>(\"\")) }",
    ] {
        let error = Query::parse(query, None).expect_err(query);
        assert!(
            matches!(
                error,
                QueryError::Unregistered {
                    kind: "function",
                    ..
                }
            ) || query.contains("f:list"),
            "{query}: {error}"
        );
    }
    let error = Query::parse("ASK { FILTER(<f:unknown>(1)) }", None).expect_err("unknown");
    assert_eq!(
        error.to_string(),
        "nobody registered the function <f:unknown>"
    );
    // Algebra that a program builds names what the parser would not let pass.
    let built = SparqlParser::new()
        .with_custom_aggregate_function(name("f:other"))
        .parse_query("SELECT (<f:other>(?x) AS ?y) { ?x ?p ?o }")
        .expect("a query");
    let error = Query::prepare_with(&built, &extensions()).expect_err("unknown");
    assert_eq!(
        error.to_string(),
        "nobody registered the aggregate <f:other>"
    );
}

#[test]
fn functions_belong_to_prepared_queries() {
    let snapshot = store("<e:a> <e:n> \"x\" .").snapshot();
    let pattern = GraphPattern::Filter {
        expr: Expression::Equal(
            Box::new(Expression::FunctionCall(
                Function::Custom(name("f:describe")),
                vec![Variable::new_unchecked("x").into()],
            )),
            Box::new(Literal::from("1: <e:a>").into()),
        ),
        inner: Box::new(GraphPattern::Values {
            variables: vec![Variable::new_unchecked("x")],
            bindings: vec![vec![Some(name("e:a").into())]],
        }),
    };
    let query = spargebra::Query::Ask {
        dataset: None,
        pattern,
        base_iri: None,
    };
    let query = Query::prepare_with(&query, &extensions()).expect("a query");
    // With parameters the query is prepared anew.
    for query in [query.with_parameters(&[]).expect("a query"), query] {
        let answer = query.execute(&snapshot, &QueryOptions::default());
        assert!(matches!(answer, Ok(QueryResults::Boolean(true))));
    }
}

#[test]
fn casts_stay_what_they_are() {
    let integer = name("http://www.w3.org/2001/XMLSchema#integer");
    let extensions = Extensions::new()
        .with_function(integer, |_| None)
        .with_function(name("f:one"), |_| None)
        .with_function(name("f:one"), |_| Some(Literal::from(1).into()));
    let query = Query::parse_with(
        "ASK { FILTER(<http://www.w3.org/2001/XMLSchema#integer>('1') = <f:one>()) }",
        None,
        &extensions,
    )
    .expect("a query");
    let answer = query.execute(&store("").snapshot(), &QueryOptions::default());
    assert!(matches!(answer, Ok(QueryResults::Boolean(true))));
}
