//! Tests of expressions without a query around them: tables of what an expression comes out as, straight from the
//! specification where it has examples.

mod functions;
mod operators;
mod order;
mod patterns;

use super::{Compilation, Evaluator, Expr, Outcome, Wanted, compile};
use crate::exec::batch::Batch;
use crate::exec::control::Control;
use crate::exec::terms::Terms;
use oxrdf::{NamedNode, Term};
use quadrille_store::Store;
use spargebra::algebra::{Expression, GraphPattern};
use spargebra::{Query, SparqlParser};
use std::sync::Arc;

/// What stands in a table for an error.
const ERROR: &str = "an error";

/// Parses and compiles an expression that has no variables.
fn expression(text: &str) -> Expr {
    let query = format!(
        "BASE <http://example.com/base/> \
         PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> \
         PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> \
         ASK {{ FILTER({text}) }}"
    );
    let query = SparqlParser::new()
        .parse_query(&query)
        .unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut compilation = Compilation {
        base: query
            .base_iri()
            .map(|base| NamedNode::new_unchecked(base.as_str())),
        ..Compilation::default()
    };
    compile(filter(&query), &mut compilation, &mut |_| None)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn filter(query: &Query) -> &Expression {
    let Query::Ask { pattern, .. } = query else {
        panic!("{query} is no ASK");
    };
    match pattern {
        GraphPattern::Filter { expr, .. } => expr,
        GraphPattern::Project { inner, .. } => match &**inner {
            GraphPattern::Filter { expr, .. } => expr,
            other => panic!("{other} is no FILTER"),
        },
        other => panic!("{other} is no FILTER"),
    }
}

/// What expressions come out as in so many rows without columns.
fn evaluate_all(expressions: &[&Expr], rows: usize) -> Vec<Vec<Option<Term>>> {
    let control = Arc::new(Control::new(None, None, rows));
    let mut evaluator = Evaluator::new(
        &Arc::new(Terms::new(Store::in_memory().snapshot())),
        expressions.iter().copied(),
        Wanted::Terms,
        &[],
        &control,
    )
    .expect("memory");
    let mut batch = Batch::new(0);
    batch.set_rows(rows);
    let numbers: Vec<u32> = (0..rows as u32).collect();
    evaluator.prepare(&batch, &numbers).expect("memory");
    (0..rows)
        .map(|row| {
            expressions
                .iter()
                .map(|expression| evaluator.evaluate_term(expression, &batch, row))
                .collect()
        })
        .collect()
}

#[test]
fn values_that_stand_in_their_ids_come_out_as_ids() {
    let table = [
        ("1 + 1", "2"),
        ("1.5 * 1", "1.5"),
        ("1e0 / 2", "5e-1"),
        ("1 = 1", "true"),
        ("STRDT(\"7\", xsd:byte)", r#""7"^^xsd:byte"#),
        (r#"xsd:date("2020-01-01")"#, r#""2020-01-01"^^xsd:date"#),
        ("STRDT(\"01\", xsd:integer)", ERROR),
        ("CONCAT(\"a\", \"b\")", ERROR),
        ("BNODE()", ERROR),
    ];
    let store = Store::in_memory();
    let control = Arc::new(Control::new(None, None, 1));
    let mut batch = Batch::new(0);
    batch.set_rows(1);
    for (text, expected) in table {
        let expression = expression(text);
        let mut evaluator = Evaluator::new(
            &Arc::new(Terms::new(store.snapshot())),
            [&expression],
            Wanted::Outcomes,
            &[],
            &control,
        )
        .expect("memory");
        evaluator.prepare(&batch, &[0]).expect("memory");
        match evaluator.outcome(&expression, &batch, 0) {
            Some(Outcome::Id(id)) => {
                let term = store.snapshot().term(id).expect("a term");
                assert!(expected != ERROR, "{text}");
                assert_eq!(
                    evaluate(&format!("{term} = {expected}")),
                    evaluate("true"),
                    "{text}"
                );
            }
            Some(Outcome::Term(term)) => assert_eq!(expected, ERROR, "{text} is {term}"),
            None => panic!("{text} fails"),
        }
    }
}

/// What an expression comes out as.
fn evaluate(text: &str) -> Option<Term> {
    evaluate_all(&[&expression(text)], 1).remove(0).remove(0)
}

/// Checks that each expression comes out as the term beside it, its form included.
fn check(table: &[(&str, &str)]) {
    for (text, expected) in table {
        let expected = (*expected != ERROR).then(|| evaluate(expected).expect("a term"));
        let found = evaluate(text);
        assert!(
            found == expected,
            "{text}\n   is {found:?}\n  not {expected:?}"
        );
    }
}
