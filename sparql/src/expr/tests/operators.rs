//! Operators and functional forms: sections 17.2, 17.3 and 17.4.1 of SPARQL 1.1, with XPath's arithmetic.

use super::{ERROR, check};

#[test]
fn forms() {
    check(&[
        ("IF(true, 1, 1/0)", "1"),
        ("IF(1/0, 1, 2)", ERROR),
        ("IF(\"\", 1, 2)", "2"),
        ("COALESCE(1/0, ?x, \"a\", 1/0)", r#""a""#),
        ("COALESCE(?x)", ERROR),
        ("COALESCE()", ERROR),
        (r#"COALESCE("01"^^xsd:integer)"#, r#""01"^^xsd:integer"#),
        ("2 IN (1, 2, 3)", "true"),
        ("2 IN ()", "false"),
        ("2 IN (<e:iri>, \"str\", 2.0)", "true"),
        ("2 IN (1/0, 2)", "true"),
        ("2 IN (2, 1/0)", "true"),
        ("2 IN (3, 1/0)", ERROR),
        ("2 NOT IN (1/0, 2)", "false"),
        ("2 NOT IN (3, 1/0)", ERROR),
        ("sameTerm(1, 01)", "false"),
        ("sameTerm(1 + 0, 1)", "true"),
        (r#"sameTerm(STRDT("1", xsd:integer), 1)"#, "true"),
        ("sameTerm(?x, 1)", ERROR),
        ("BOUND(?x)", "false"),
        ("?x", ERROR),
    ]);
}

#[test]
fn times_with_and_without_a_zone_may_be_neither_equal_nor_different() {
    check(&[
        (
            r#""2006-08-23Z"^^xsd:date = "2006-08-23+00:00"^^xsd:date"#,
            "true",
        ),
        (r#""2006-08-23"^^xsd:date = "2006-08-23Z"^^xsd:date"#, ERROR),
        (
            r#""2006-08-23"^^xsd:date != "2006-08-23Z"^^xsd:date"#,
            ERROR,
        ),
        (
            r#""2001-01-01Z"^^xsd:date != "2006-08-23"^^xsd:date"#,
            "true",
        ),
        (
            r#""2006-08-23T12:00:00"^^xsd:dateTime = "2006-08-23T12:00:00Z"^^xsd:dateTime"#,
            ERROR,
        ),
        (
            r#""2006-08-23T12:00:00"^^xsd:dateTime = "2006-08-25T12:00:00Z"^^xsd:dateTime"#,
            "false",
        ),
    ]);
}

#[test]
fn effective_boolean_values() {
    check(&[
        ("!true", "false"),
        ("!0", "true"),
        ("!0.0", "true"),
        (r#"!"NaN"^^xsd:double"#, "true"),
        ("!\"\"", "true"),
        ("!\"a\"", "false"),
        // SPARQL 1.2, section 17.2.2; false in SPARQL 1.1.
        (r#"!"abc"^^xsd:integer"#, ERROR),
        (r#"!"abc"^^xsd:boolean"#, ERROR),
        (r#"!"123456789012345678901234567890"^^xsd:integer"#, "false"),
        ("!<e:a>", ERROR),
        (r#"!"2020-01-01"^^xsd:date"#, ERROR),
        ("!STRLEN(\"\")", "true"),
        ("!xsd:integer(\"1\")", "false"),
        // 17.2: the table of errors
        ("true || 1/0", "true"),
        ("1/0 || true", "true"),
        ("1/0 || false", ERROR),
        ("false && 1/0", "false"),
        ("1/0 && true", ERROR),
    ]);
}

#[test]
fn arithmetic() {
    check(&[
        ("1 + 2", "3"),
        ("1 + 2.5", "3.5"),
        ("1 + 2e0", r#""3"^^xsd:double"#),
        (r#""1"^^xsd:float + 1"#, r#""2"^^xsd:float"#),
        (r#""1"^^xsd:byte + "2"^^xsd:short"#, "3"),
        ("7 / 2", "3.5"),
        ("6 / 2", r#""3"^^xsd:decimal"#),
        ("1 / 0", ERROR),
        ("1e0 / 0", r#""INF"^^xsd:double"#),
        ("9223372036854775807 + 1", ERROR),
        ("-\"a\"", ERROR),
        ("+<e:a>", ERROR),
        ("1 + \"1\"", ERROR),
        ("1e6 * 1e6", r#""1.0E12"^^xsd:double"#),
        (
            r#""2020-01-31"^^xsd:date + "P1M"^^xsd:yearMonthDuration"#,
            r#""2020-02-29"^^xsd:date"#,
        ),
        (
            r#""2020-01-01T00:00:00Z"^^xsd:dateTime - "2019-12-31T23:00:00Z"^^xsd:dateTime"#,
            r#""PT1H"^^xsd:dayTimeDuration"#,
        ),
        (
            r#""2020-01-01T00:00:00Z"^^xsd:dateTime + "P1DT1H"^^xsd:dayTimeDuration"#,
            r#""2020-01-02T01:00:00Z"^^xsd:dateTime"#,
        ),
        (
            r#"-"PT1H"^^xsd:dayTimeDuration"#,
            r#""-PT1H"^^xsd:dayTimeDuration"#,
        ),
        (r#""2020-01-01"^^xsd:date + 1"#, ERROR),
        (
            r#""2020-01-01"^^xsd:date * "PT1H"^^xsd:dayTimeDuration"#,
            ERROR,
        ),
    ]);
}

#[test]
fn comparison() {
    check(&[
        ("1 = 1.0", "true"),
        ("1 < 1.5", "true"),
        (r#""NaN"^^xsd:double = "NaN"^^xsd:double"#, "false"),
        ("\"a\" < \"b\"", "true"),
        ("\"a\" < 1", ERROR),
        (r#""a"@en = "a"@EN"#, "true"),
        (r#""a"@en = "a""#, "false"),
        (r#""x"^^<e:t> = "x"^^<e:t>"#, "true"),
        (r#""x"^^<e:t> = "y"^^<e:t>"#, ERROR),
        ("<e:a> = <e:b>", "false"),
        ("<e:a> < <e:b>", ERROR),
        (
            r#""2020-01-01T00:00:00Z"^^xsd:dateTime = "2020-01-01T01:00:00+01:00"^^xsd:dateTime"#,
            "true",
        ),
        (
            r#""2020-01-01Z"^^xsd:date < "2020-01-02Z"^^xsd:date"#,
            "true",
        ),
        (r#""10:00:00Z"^^xsd:time < "11:00:00Z"^^xsd:time"#, "true"),
        (
            r#""PT60M"^^xsd:dayTimeDuration = "PT1H"^^xsd:duration"#,
            "true",
        ),
        (
            r#""P1Y"^^xsd:yearMonthDuration > "P11M"^^xsd:yearMonthDuration"#,
            "true",
        ),
        (
            r#""P1Y"^^xsd:yearMonthDuration > "P11D"^^xsd:dayTimeDuration"#,
            ERROR,
        ),
        (
            "TRIPLE(<e:s>, <e:p>, 1) = TRIPLE(<e:s>, <e:p>, 1.0)",
            "true",
        ),
    ]);
}
