//! SERVICE, with endpoints that are stores in memory. What comes out is compared with what `spareval` says of the same query
//! with GRAPH in the place of SERVICE, over a dataset where each endpoint's data is the graph of its name.

mod common;

use common::{Random, dataset, line, oracle_rows};
use oxrdf::{Literal, NamedNode, Term, Variable};
use quadrille_sparql::service::{ServiceError, ServiceSolutions};
use quadrille_sparql::{
    CancellationToken, PlannerOptions, Query, QueryError, QueryOptions, QueryResults,
    ServiceHandler, ServiceRequest, Services,
};
use quadrille_store::{Snapshot, Store};
use sparesults::QuerySolution;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A store with quads, several of which may stand on a line.
fn store(quads: &str) -> Store {
    common::store(&quads.replace(" . ", " .\n"))
}

const ENDPOINTS: [&str; 3] = ["e:one", "e:two", "e:three"];

/// Answers from snapshots, and remembers what it was asked.
#[derive(Clone, Default)]
struct Endpoints {
    data: Arc<BTreeMap<String, Snapshot>>,
    asked: Arc<Mutex<Vec<(String, String)>>>,
}

impl Endpoints {
    fn new(data: &[(&str, &str)]) -> Self {
        let data = data
            .iter()
            .map(|(endpoint, nquads)| ((*endpoint).to_owned(), store(nquads).snapshot()));
        Self {
            data: Arc::new(data.collect()),
            asked: Arc::default(),
        }
    }

    fn options(&self) -> QueryOptions {
        with_handler(self.clone())
    }

    fn asked(&self) -> Vec<(String, String)> {
        std::mem::take(&mut *self.asked.lock().expect("no panic"))
    }
}

fn with_handler(handler: impl ServiceHandler + 'static) -> QueryOptions {
    let services = ENDPOINTS
        .iter()
        .fold(Services::default(), |services, endpoint| {
            services.allowing(NamedNode::new_unchecked(*endpoint))
        });
    QueryOptions {
        services: services.with_handler(handler),
        ..QueryOptions::default()
    }
}

impl ServiceHandler for Endpoints {
    fn select(&self, request: &ServiceRequest) -> Result<ServiceSolutions, ServiceError> {
        let endpoint = request.endpoint.as_str().to_owned();
        let asked = (endpoint, request.query.clone());
        self.asked.lock().expect("no panic").push(asked);
        let snapshot = self
            .data
            .get(request.endpoint.as_str())
            .ok_or("no such host")?;
        match Query::parse(&request.query, None)?.execute(snapshot, &self.options())? {
            QueryResults::Solutions(solutions) => {
                Ok(Box::new(solutions.map(|solution| Ok(solution?))))
            }
            _ => Err("not a SELECT".into()),
        }
    }
}

fn rows(
    snapshot: &Snapshot,
    query: &str,
    options: &QueryOptions,
) -> quadrille_sparql::Result<Vec<String>> {
    let QueryResults::Solutions(solutions) =
        Query::parse(query, None)?.execute(snapshot, options)?
    else {
        panic!("{query}: no rows");
    };
    let mut rows: Vec<String> = solutions
        .map(|solution| Ok(line(solution?.values())))
        .collect::<quadrille_sparql::Result<_>>()?;
    rows.sort();
    Ok(rows)
}

/// A pattern for an endpoint, which binds some of the variables.
fn remote(random: &mut Random) -> &'static str {
    const PATTERNS: [&str; 12] = [
        "?y <e:p> ?z",
        "?x <e:p> ?y . ?y <e:p> ?z",
        "?y <e:p> ?z OPTIONAL { ?z <e:n> ?n }",
        "{ ?x <e:p> ?y } UNION { ?y <e:n> ?n }",
        "?y <e:n> ?n FILTER(?n > 1)",
        "{ ?y <e:n> ?n FILTER(?n > 1) } ?y <e:p> ?z",
        "{ ?y <e:n> ?n FILTER(?n > 1) } OPTIONAL { ?y <e:p> ?z FILTER(?n > 2) }",
        "VALUES (?x ?y) { (<e:a> UNDEF) (UNDEF <e:b>) }",
        "{ SELECT ?y (COUNT(*) AS ?n) { ?y <e:p> ?w } GROUP BY ?y }",
        "?y <e:p>+ ?z",
        "?y <e:p> ?z MINUS { ?z <e:n> 1 }",
        "?y <e:p> ?z BIND(?z AS ?v) FILTER NOT EXISTS { ?z <e:n> 2 }",
    ];
    PATTERNS[random.below(PATTERNS.len())]
}

fn query(random: &mut Random) -> String {
    let endpoint = format!("<{}>", random.pick(&ENDPOINTS));
    let first = format!("SERVICE {endpoint} {{ {} }}", remote(random));
    // The oracle evaluates a subquery once for all graphs.
    let named = loop {
        let pattern = remote(random);
        if !pattern.contains("SELECT") {
            break format!("SERVICE ?e {{ {pattern} }}");
        }
    };
    let group = match random.below(12) {
        0 => format!("?x <e:p> ?y {first}"),
        1 => format!("{first} ?x <e:p> ?y OPTIONAL {{ ?x <e:n> ?n }}"),
        2 => format!("?x <e:p> ?y OPTIONAL {{ {first} }}"),
        3 => format!("?x <e:p> ?y OPTIONAL {{ {first} FILTER(?x != ?z) }}"),
        4 => format!("?x <e:p> ?y MINUS {{ {first} }}"),
        5 => format!("?x <e:p> ?y FILTER EXISTS {{ {first} }}"),
        6 => format!("{{ {first} }} UNION {{ ?x <e:n> ?n }}"),
        7 => format!("?x <e:at> ?e . ?x <e:p> ?y {named}"),
        8 => format!("?x <e:at> ?e OPTIONAL {{ {named} }}"),
        9 => format!("?x <e:at> ?e {named} {first} FILTER(?e != <e:two>)"),
        10 => format!("?y <e:n> ?n OPTIONAL {{ ?x <e:p> ?y }} {first}"),
        _ => format!("?x <e:at> ?e FILTER NOT EXISTS {{ {named} }}"),
    };
    format!("SELECT * {{ {group} }}")
}

fn data(random: &mut Random, has_endpoints: bool) -> String {
    let mut text = String::new();
    for _ in 0..12 {
        let nodes = ["<e:a>", "<e:b>", "<e:c>", "<e:d>"];
        let (subject, object) = (*random.pick(&nodes), *random.pick(&nodes));
        match random.below(if has_endpoints { 3 } else { 2 }) {
            0 => writeln!(text, "{subject} <e:p> {object} ."),
            1 => writeln!(
                text,
                "{subject} <e:n> \"{}\"^^<http://www.w3.org/2001/XMLSchema#integer> .",
                random.below(4)
            ),
            _ => writeln!(text, "{subject} <e:at> <{}> .", random.pick(&ENDPOINTS)),
        }
        .expect("memory");
    }
    text
}

#[test]
fn services_come_out_as_graphs_do() {
    let seed = std::env::var("QUADRILLE_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    let cases: u64 =
        std::env::var("QUADRILLE_CASES").map_or(300, |cases| cases.parse().expect("a number"));
    let mut answered = 0;
    for case in seed..seed + cases {
        let mut random = Random(case);
        let local = data(&mut random, true);
        let remotes = ENDPOINTS.map(|endpoint| (endpoint, data(&mut random, false)));
        let mut all = local.clone();
        for (endpoint, data) in &remotes {
            all.push_str(&data.replace(" .\n", &format!(" <{endpoint}> .\n")));
        }
        let query = query(&mut random);
        let oracle = dataset(&store(&all).snapshot());
        let expected = oracle_rows(&oracle, &query.replace("SERVICE", "GRAPH"));
        answered += usize::from(!expected.is_empty());
        let snapshot = store(&local).snapshot();
        let remotes: Vec<(&str, &str)> = remotes
            .iter()
            .map(|(endpoint, data)| (*endpoint, data.as_str()))
            .collect();
        let endpoints = Endpoints::new(&remotes);
        for (batch_rows, lookup_joins) in [(1, true), (1024, true), (3, false)] {
            let options = QueryOptions {
                batch_rows,
                planner: PlannerOptions {
                    lookup_joins,
                    ..PlannerOptions::default()
                },
                ..endpoints.options()
            };
            let found = rows(&snapshot, &query, &options)
                .unwrap_or_else(|error| panic!("seed {case}: {query}: {error}"));
            assert_eq!(
                found, expected,
                "seed {case}, batches of {batch_rows}: {query}"
            );
        }
    }
    assert!(answered > cases as usize / 3, "many queries have answers");
}

#[test]
fn only_allowed_endpoints_are_asked() {
    let snapshot = store("<e:a> <e:at> <e:four> . <e:a> <e:at> \"text\" .").snapshot();
    let endpoints = Endpoints::new(&[("e:one", "")]);
    for silent in ["", "SILENT "] {
        let ask = |endpoint: &str, options: &QueryOptions| {
            let query = format!("SELECT * {{ SERVICE {silent}{endpoint} {{ ?s ?p ?o }} }}");
            rows(&snapshot, &query, options)
                .map(|rows| rows.len())
                .map_err(|error| error.to_string())
        };
        assert_eq!(ask("<e:one>", &endpoints.options()), Ok(0));
        endpoints.asked();
        assert_eq!(
            ask("<e:four>", &endpoints.options()),
            Err(
                "SERVICE <e:four> cannot be asked: it is not among the allowed endpoints"
                    .to_owned()
            )
        );
        let nothing = QueryOptions {
            services: Services::default().with_handler(endpoints.clone()),
            ..QueryOptions::default()
        };
        assert!(ask("<e:one>", &nothing).is_err());
        let query = format!("SELECT * {{ ?a <e:at> ?e SERVICE {silent}?e {{ ?s ?p ?o }} }}");
        assert!(matches!(
            rows(&snapshot, &query, &endpoints.options()),
            Err(QueryError::ServiceEndpoint { .. })
        ));
        assert_eq!(
            ask("?e", &endpoints.options()),
            Err(
                "SERVICE ?e cannot be asked: nothing binds it before SERVICE is evaluated"
                    .to_owned()
            )
        );
    }
    assert_eq!(endpoints.asked(), []);
    #[cfg(not(feature = "service"))]
    {
        let error = rows(
            &snapshot,
            "SELECT * { SERVICE <e:one> { ?s ?p ?o } }",
            &QueryOptions::default(),
        )
        .expect_err("no client");
        assert_eq!(
            error.to_string(),
            "SERVICE <e:one> cannot be asked: this build has no HTTP client (its feature `service` is off)"
        );
    }
}

/// Gives some rows, then fails.
struct Failing(usize);

impl ServiceHandler for Failing {
    fn select(&self, _: &ServiceRequest) -> Result<ServiceSolutions, ServiceError> {
        if self.0 == 0 {
            return Err("out of order".into());
        }
        let variables: Arc<[Variable]> = Arc::new([Variable::new_unchecked("o")]);
        let rows = (0..self.0).map(move |row| {
            let term: Term = Literal::from(row as i64).into();
            Ok(QuerySolution::from((
                Arc::clone(&variables),
                vec![Some(term)],
            )))
        });
        Ok(Box::new(rows.chain([Err("out of order".into())])))
    }
}

#[test]
fn an_endpoint_that_fails_is_an_error_or_one_empty_row() {
    let snapshot = store("<e:a> <e:p> <e:b> .").snapshot();
    for given in [0, 1, 200] {
        let options = with_handler(Failing(given));
        let error = rows(
            &snapshot,
            "SELECT * { ?s <e:p> ?x SERVICE <e:one> { ?s ?p ?o } }",
            &options,
        )
        .expect_err("it failed");
        assert_eq!(error.to_string(), "SERVICE <e:one>: out of order");
        assert_eq!(
            rows(
                &snapshot,
                "SELECT ?s ?x ?o { ?s <e:p> ?x SERVICE SILENT <e:one> { ?s ?p ?o } }",
                &options
            )
            .expect("silent"),
            ["<e:a> | <e:b> | UNBOUND"]
        );
        assert_eq!(
            rows(
                &snapshot,
                "SELECT ?s ?o { ?s <e:p> ?x FILTER EXISTS { SERVICE SILENT <e:one> { ?s ?p ?o } } }",
                &options
            )
            .expect("silent"),
            ["<e:a> | UNBOUND"]
        );
    }
}

#[test]
fn few_rows_go_with_the_query() {
    let endpoints = Endpoints::new(&[
        ("e:one", "<e:b> <e:p> <e:c> . <e:x> <e:p> <e:y> ."),
        ("e:two", "<e:b> <e:p> <e:d> ."),
    ]);
    let text = "<e:a> <e:p> <e:b> . <e:b> <e:p> <e:b> . _:n <e:q> _:n . <e:a> <e:t> \"t\"@EN .
        <e:a> <e:at> <e:one> . <e:b> <e:at> <e:two> . <e:c> <e:at> <e:two> .";
    let snapshot = store(text).snapshot();
    let ask = |query: &str| {
        let found = rows(&snapshot, query, &endpoints.options()).expect(query);
        (found.len(), endpoints.asked())
    };
    let (count, asked) = ask("SELECT * { ?x <e:p> ?y SERVICE <e:one> { ?y <e:p> ?z } }");
    assert_eq!((count, asked.len()), (2, 1));
    assert!(asked[0].1.contains("VALUES"), "{asked:?}");
    assert!(!asked[0].1.contains("<e:a>"), "{asked:?}");
    // Blank nodes and language tags stay here.
    for property in ["<e:q>", "<e:t>"] {
        let (_, asked) = ask(&format!(
            "SELECT * {{ ?x {property} ?y SERVICE <e:one> {{ ?z <e:p> ?y }} }}"
        ));
        assert!(!asked[0].1.contains("VALUES"), "{asked:?}");
    }
    // Each endpoint is asked once.
    let (count, asked) = ask("SELECT * { ?x <e:at> ?e SERVICE ?e { ?y <e:p> ?z } }");
    let whom: Vec<&str> = asked
        .iter()
        .map(|(endpoint, _)| endpoint.as_str())
        .collect();
    assert_eq!((count, whom), (4, vec!["e:one", "e:two"]));
    // Inside of EXISTS an answer is asked for once.
    let (count, asked) =
        ask("SELECT * { ?x <e:at> ?e FILTER EXISTS { SERVICE <e:one> { ?y <e:p> ?z } } }");
    assert_eq!((count, asked.len()), (3, 1));
}

#[test]
fn many_rows_do_not_go_with_the_query() {
    let mut text = String::new();
    for number in 0..5_000 {
        writeln!(text, "<e:s{number}> <e:p> <e:o{}> .", number % 7).expect("memory");
    }
    let snapshot = store(&text).snapshot();
    let endpoints = Endpoints::new(&[("e:one", "<e:o1> <e:p> <e:c> .")]);
    let query = "SELECT * { ?x <e:p> ?y SERVICE <e:one> { ?y <e:p> ?z } }";
    let found = rows(&snapshot, query, &endpoints.options()).expect(query);
    assert_eq!(found.len(), 715);
    let asked = endpoints.asked();
    assert_eq!(asked.len(), 1);
    assert!(!asked[0].1.contains("VALUES"), "{asked:?}");
}

#[test]
fn blank_nodes_of_an_endpoint_are_its_own() {
    let nodes = "_:a <e:p> _:b . _:b <e:p> _:a .";
    let snapshot = store(nodes).snapshot();
    let endpoints = Endpoints::new(&[("e:one", nodes), ("e:two", nodes)]);
    let count = |query: &str| {
        rows(&snapshot, query, &endpoints.options())
            .expect(query)
            .len()
    };
    assert_eq!(
        count("SELECT * { ?x <e:p> ?y SERVICE <e:one> { ?y <e:p> ?z } }"),
        0
    );
    assert_eq!(
        count("SELECT * { SERVICE <e:two> { ?x <e:p> ?y } SERVICE <e:one> { ?y <e:p> ?z } }"),
        0
    );
    // Within an answer they are the same.
    assert_eq!(
        count(
            "SELECT * { SERVICE <e:one> { ?x <e:p> ?y . ?y <e:p> ?z } FILTER(?x = ?z && isBLANK(?x)) }"
        ),
        2
    );
}

/// Never answers.
struct Hanging;

impl ServiceHandler for Hanging {
    fn select(&self, _: &ServiceRequest) -> Result<ServiceSolutions, ServiceError> {
        std::thread::sleep(Duration::from_secs(30));
        Err("too late".into())
    }
}

#[test]
fn an_endpoint_that_hangs_does_not_hold_the_query() {
    let snapshot = store("").snapshot();
    for query in [
        "SELECT * { SERVICE <e:one> { ?s ?p ?o } }",
        "SELECT * { SERVICE SILENT <e:one> { ?s ?p ?o } }",
    ] {
        let began = Instant::now();
        let options = QueryOptions {
            timeout: Some(Duration::from_millis(100)),
            ..with_handler(Hanging)
        };
        assert!(matches!(
            rows(&snapshot, query, &options),
            Err(QueryError::Timeout { .. })
        ));
        let token = CancellationToken::new();
        let options = QueryOptions {
            cancellation: Some(token.clone()),
            ..with_handler(Hanging)
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(100));
                token.cancel();
            });
            assert!(matches!(
                rows(&snapshot, query, &options),
                Err(QueryError::Cancelled)
            ));
        });
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}

/// Gives rows without end.
struct Endless;

impl ServiceHandler for Endless {
    fn select(&self, _: &ServiceRequest) -> Result<ServiceSolutions, ServiceError> {
        let variables: Arc<[Variable]> = Arc::new([Variable::new_unchecked("o")]);
        Ok(Box::new((0..).map(move |row: i64| {
            let term: Term = Literal::from(format!("text {row}")).into();
            Ok(QuerySolution::from((
                Arc::clone(&variables),
                vec![Some(term)],
            )))
        })))
    }
}

#[test]
fn answers_are_streamed_and_count_against_memory() {
    let snapshot = store("").snapshot();
    let found = rows(
        &snapshot,
        "SELECT * { SERVICE <e:one> { ?s ?p ?o } } LIMIT 10",
        &with_handler(Endless),
    );
    assert_eq!(found.expect("ten rows").len(), 10);
    let options = QueryOptions {
        memory: Some(1 << 20),
        ..with_handler(Endless)
    };
    for query in [
        "SELECT * { SERVICE <e:one> { ?s ?p ?o } }",
        "SELECT * { SERVICE SILENT <e:one> { ?s ?p ?o } }",
    ] {
        assert!(matches!(
            rows(&snapshot, query, &options),
            Err(QueryError::Memory { .. })
        ));
    }
}

#[test]
fn a_parameter_does_not_go_to_an_endpoint() {
    let query = Query::parse(
        "SELECT * { SERVICE <e:one> { ?s ?p ?o FILTER(?o > ?least) } }",
        None,
    )
    .expect("a query");
    let prepare = |name: &str| query.with_parameters(&[Variable::new_unchecked(name)]);
    assert!(matches!(
        prepare("least"),
        Err(QueryError::Parameter { .. })
    ));
    assert!(matches!(prepare("s"), Err(QueryError::Parameter { .. })));
    assert!(prepare("leas").is_ok());
}
