//! The order of `ORDER BY`: a total order over every kind of term that agrees with `<`.

use super::{evaluate, expression};
use crate::expr::order::{OrderKey, compare_order};
use crate::expr::value::Value;
use crate::expr::{Comparison, compare::compare};
use oxrdf::{BlankNode, Term};
use std::cmp::Ordering;

/// In order; those on one line tie.
const TERMS: &[&[&str]] = &[
    &["<e:a>"],
    &["<e:b>"],
    &[r#""NaN"^^xsd:double"#, r#""NaN"^^xsd:float"#],
    &[r#""-INF"^^xsd:double"#],
    &[r#""-123456789012345678901234567890"^^xsd:integer"#],
    &["-1", "-1.0"],
    &[r#""-0.000000000000000001"^^xsd:decimal"#],
    &[r#""-0.0"^^xsd:double"#, "0", "0.0", "0e0"],
    &[r#""5e-324"^^xsd:double"#],
    &[r#""0.000000000000000001"^^xsd:decimal"#],
    &["0.1"],
    &[r#""0.1000000000000000000000001"^^xsd:decimal"#],
    &["0.1e0"],
    &["0.25", "0.25e0"],
    &[
        "1",
        "1.0",
        "1e0",
        r#""01"^^xsd:integer"#,
        r#""1"^^xsd:byte"#,
    ],
    &["1.5", "1.5e0", r#""1.5"^^xsd:float"#],
    &["9007199254740992", "9007199254740992e0"],
    &["9007199254740993"],
    &[r#""123456789012345678901234567890"^^xsd:integer"#],
    &[r#""123456789012345678901234567891"^^xsd:integer"#],
    &["1e300"],
    &[r#""INF"^^xsd:double"#, r#""INF"^^xsd:float"#],
    &["false"],
    &["true", r#""1"^^xsd:boolean"#],
    &[r#""2019-12-31T23:00:00"^^xsd:dateTime"#],
    &[
        r#""2020-01-01T00:00:00Z"^^xsd:dateTime"#,
        r#""2020-01-01T01:00:00+01:00"^^xsd:dateTime"#,
        r#""2020-01-01T00:00:00"^^xsd:dateTime"#,
    ],
    &[r#""2020-01-01T05:00:00"^^xsd:dateTime"#],
    &[r#""2020-01-01T06:00:00Z"^^xsd:dateTime"#],
    &[r#""-0100-01-01"^^xsd:date"#],
    &[r#""2020-01-01"^^xsd:date"#, r#""2020-01-01Z"^^xsd:date"#],
    &[r#""2020-01-01-05:00"^^xsd:date"#],
    &[r#""10:00:00"^^xsd:time"#],
    &[r#""-P1Y"^^xsd:yearMonthDuration"#],
    &[r#""PT1H"^^xsd:dayTimeDuration"#, r#""PT60M"^^xsd:duration"#],
    &[r#""P1M"^^xsd:yearMonthDuration"#],
    &[
        r#""P365D"^^xsd:dayTimeDuration"#,
        r#""P1Y"^^xsd:yearMonthDuration"#,
    ],
    &["\"\""],
    &["\"a\""],
    &["\"a\"@de"],
    &["\"a\"@en"],
    &["\"b\""],
    &["\"é\""],
    &[r#""x"^^<e:type>"#],
    &[r#""y"^^<e:type>"#],
    &[r#""abc"^^xsd:integer"#],
    &["TRIPLE(<e:s>, <e:p>, <e:o>)"],
    &["TRIPLE(<e:s>, <e:p>, 1)", "TRIPLE(<e:s>, <e:p>, 1.0)"],
    &["TRIPLE(<e:s>, <e:q>, 0)"],
];

fn terms() -> Vec<(usize, Option<Term>)> {
    let mut terms = vec![
        (0, None),
        (1, Some(BlankNode::new_unchecked("a").into())),
        (2, Some(BlankNode::new_unchecked("b").into())),
    ];
    for (place, line) in TERMS.iter().enumerate() {
        for text in *line {
            let term = evaluate(text);
            assert!(term.is_some(), "{text}");
            terms.push((place + 3, term));
        }
    }
    terms
}

#[test]
fn every_two_terms_are_in_order() {
    let terms = terms();
    for (place, term) in &terms {
        for (other_place, other) in &terms {
            assert_eq!(
                compare_order(term.as_ref(), other.as_ref()),
                place.cmp(other_place),
                "{term:?} and {other:?}"
            );
        }
        let key = OrderKey::new(term.as_ref());
        assert_eq!(key.clone().into_owned().cmp(&key), Ordering::Equal);
    }
}

#[test]
fn the_order_agrees_with_the_operators() {
    let terms = terms();
    for (_, left) in &terms {
        for (_, right) in &terms {
            let (Some(left), Some(right)) = (left, right) else {
                continue;
            };
            if compare(Comparison::Less, &Value::of(left), &Value::of(right)) == Some(true) {
                assert_eq!(
                    compare_order(Some(left), Some(right)),
                    Ordering::Less,
                    "{left} < {right}"
                );
            }
        }
    }
}

#[test]
fn what_is_computed_is_in_order_too() {
    let computed = evaluate("1 + 1").expect("a term");
    let constant = evaluate(r#""2"^^xsd:byte"#).expect("a term");
    assert_eq!(
        compare_order(Some(&computed), Some(&constant)),
        Ordering::Equal
    );
    assert!(!expression("1 + 1").is_volatile());
}
