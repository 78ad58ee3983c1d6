//! The functions of section 17.4 of SPARQL 1.1, and those that SPARQL 1.2 adds. `ERROR` is a type error.

use super::{ERROR, check, evaluate, evaluate_all, expression};
use oxrdf::Term;
use std::collections::HashSet;

#[test]
fn strings() {
    check(&[
        // 17.4.3.2
        (r#"STRLEN("chat")"#, "4"),
        (r#"STRLEN("chat"@en)"#, "4"),
        (r#"STRLEN("chat"^^xsd:string)"#, "4"),
        (r#"STRLEN("\U0001D11Eé")"#, "2"),
        ("STRLEN(4)", ERROR),
        ("STRLEN(<e:a>)", ERROR),
        // 17.4.3.3, and the examples of XPath's fn:substring
        (r#"SUBSTR("foobar", 4)"#, r#""bar""#),
        (r#"SUBSTR("foobar"@en, 4)"#, r#""bar"@en"#),
        (r#"SUBSTR("foobar"^^xsd:string, 4, 1)"#, r#""b""#),
        (r#"SUBSTR("12345", 0, 3)"#, r#""12""#),
        (r#"SUBSTR("12345", 5, -3)"#, r#""""#),
        (r#"SUBSTR("12345", -3, 5)"#, r#""1""#),
        (r#"SUBSTR("12345"@en, 9)"#, r#"""@en"#),
        (
            r#"SUBSTR("12345", -9223372036854775807, 9223372036854775807)"#,
            r#""""#,
        ),
        (r#"SUBSTR("aé\U0001D11Ez", 2, 2)"#, r#""é\U0001D11E""#),
        (r#"SUBSTR("foobar", "4")"#, ERROR),
        (r#"SUBSTR("foobar", 4.0)"#, ERROR),
        // 17.4.3.4, 17.4.3.5
        (r#"UCASE("foo"@en)"#, r#""FOO"@en"#),
        (r#"UCASE("straße")"#, r#""STRASSE""#),
        (r#"LCASE("BAR"^^xsd:string)"#, r#""bar""#),
        ("LCASE(1)", ERROR),
        // 17.4.3.6 to 17.4.3.8
        (r#"STRSTARTS("foobar", "foo")"#, "true"),
        (r#"STRSTARTS("foobar"@en, "foo"@en)"#, "true"),
        (r#"STRSTARTS("foobar"@en, "foo")"#, "true"),
        (r#"STRSTARTS("foobar"@en, "foo"@fr)"#, ERROR),
        (r#"STRSTARTS("foobar", "foo"@en)"#, ERROR),
        (r#"STRENDS("foobar"^^xsd:string, "bar")"#, "true"),
        (r#"STRENDS("foobar", "foo")"#, "false"),
        (r#"STRENDS("foobar", 1)"#, ERROR),
        (r#"CONTAINS("foobar"@en, "bar"@en)"#, "true"),
        (r#"CONTAINS("foobar", "")"#, "true"),
        ("CONTAINS(<e:a>, \"a\")", ERROR),
        // 17.4.3.9
        (r#"STRBEFORE("abc", "b")"#, r#""a""#),
        (r#"STRBEFORE("abc"@en, "bc")"#, r#""a"@en"#),
        (r#"STRBEFORE("abc"@en, "b"@cy)"#, ERROR),
        (r#"STRBEFORE("abc"^^xsd:string, "")"#, r#""""#),
        (r#"STRBEFORE("abc", "xyz")"#, r#""""#),
        (r#"STRBEFORE("abc"@en, "z"@en)"#, r#""""#),
        (r#"STRBEFORE("abc"@en, "z")"#, r#""""#),
        (r#"STRBEFORE("abc"@en, ""@en)"#, r#"""@en"#),
        (r#"STRBEFORE("abc"@en, "")"#, r#"""@en"#),
        // 17.4.3.10
        (r#"STRAFTER("abc", "b")"#, r#""c""#),
        (r#"STRAFTER("abc"@en, "ab")"#, r#""c"@en"#),
        (r#"STRAFTER("abc"@en, "b"@cy)"#, ERROR),
        (r#"STRAFTER("abc"^^xsd:string, "")"#, r#""abc""#),
        (r#"STRAFTER("abc", "xyz")"#, r#""""#),
        (r#"STRAFTER("abc"@en, "z"@en)"#, r#""""#),
        (r#"STRAFTER("abc"@en, ""@en)"#, r#""abc"@en"#),
        (r#"STRAFTER("abc"@en, "")"#, r#""abc"@en"#),
        // 17.4.3.11
        (r#"ENCODE_FOR_URI("Los Angeles")"#, r#""Los%20Angeles""#),
        (r#"ENCODE_FOR_URI("Los Angeles"@en)"#, r#""Los%20Angeles""#),
        (r#"ENCODE_FOR_URI("~-_.é/")"#, r#""~-_.%C3%A9%2F""#),
        ("ENCODE_FOR_URI(<e:a>)", ERROR),
        // 17.4.3.12
        (r#"CONCAT("foo", "bar")"#, r#""foobar""#),
        (r#"CONCAT("foo"@en, "bar"@en)"#, r#""foobar"@en"#),
        (
            r#"CONCAT("foo"^^xsd:string, "bar"^^xsd:string)"#,
            r#""foobar""#,
        ),
        (r#"CONCAT("foo", "bar"^^xsd:string)"#, r#""foobar""#),
        (r#"CONCAT("foo"@en, "bar")"#, r#""foobar""#),
        (r#"CONCAT("foo"@en, "bar"@fr, "baz"@fr)"#, r#""foobarbaz""#),
        ("CONCAT()", r#""""#),
        (r#"CONCAT("a", 1)"#, ERROR),
        // 17.4.3.13
        (r#"LANGMATCHES("en-GB", "en")"#, "true"),
        (r#"LANGMATCHES("eng", "en")"#, "false"),
        (r#"LANGMATCHES("fr", "FR")"#, "true"),
        (r#"LANGMATCHES("fr", "*")"#, "true"),
        (r#"LANGMATCHES("", "*")"#, "false"),
        (r#"LANGMATCHES("fr", "fr-BE")"#, "false"),
        (r#"LANGMATCHES("é", "e")"#, "false"),
        (r#"LANGMATCHES("fr"@en, "*")"#, ERROR),
    ]);
}

#[test]
fn numbers() {
    check(&[
        ("ABS(1)", "1"),
        ("ABS(-1.5)", "1.5"),
        ("ABS(-1e0)", r#""1"^^xsd:double"#),
        (r#"ABS("-3"^^xsd:int)"#, "3"),
        (r#"ABS("-1.5"^^xsd:float)"#, r#""1.5"^^xsd:float"#),
        (r#"ABS("-9223372036854775808"^^xsd:integer)"#, ERROR),
        (r#"ABS("1")"#, ERROR),
        ("ROUND(2.4999)", r#""2"^^xsd:decimal"#),
        ("ROUND(2.5)", r#""3"^^xsd:decimal"#),
        ("ROUND(-2.5)", r#""-2"^^xsd:decimal"#),
        ("ROUND(-2.5e0)", r#""-2"^^xsd:double"#),
        ("ROUND(7)", "7"),
        ("CEIL(10.5)", r#""11"^^xsd:decimal"#),
        ("CEIL(-10.5)", r#""-10"^^xsd:decimal"#),
        ("CEIL(10.5e0)", r#""11"^^xsd:double"#),
        ("FLOOR(10.5)", r#""10"^^xsd:decimal"#),
        ("FLOOR(-10.5)", r#""-11"^^xsd:decimal"#),
        ("FLOOR(<e:a>)", ERROR),
        ("isNUMERIC(12)", "true"),
        (r#"isNUMERIC("12")"#, "false"),
        (r#"isNUMERIC("1200"^^xsd:byte)"#, "false"),
        ("isNUMERIC(<e:a>)", "false"),
    ]);
    let rows = evaluate_all(&[&expression("RAND()"), &expression("RAND()")], 50);
    let mut seen = HashSet::new();
    for term in rows.into_iter().flatten() {
        let Some(Term::Literal(literal)) = term else {
            panic!("a number");
        };
        let number: f64 = literal.value().parse().expect("a double");
        assert!((0.0..1.0).contains(&number));
        seen.insert(literal);
    }
    assert_eq!(seen.len(), 100, "a number for each row and each call");
}

#[test]
fn dates() {
    const TIME: &str = r#""2011-01-10T14:45:13.815-05:00"^^xsd:dateTime"#;
    let call = |function: &str| evaluate(&format!("{function}({TIME})"));
    for (function, expected) in [
        ("YEAR", "2011"),
        ("MONTH", "1"),
        ("DAY", "10"),
        ("HOURS", "14"),
        ("MINUTES", "45"),
        ("SECONDS", "13.815"),
        ("TIMEZONE", r#""-PT5H"^^xsd:dayTimeDuration"#),
        ("TZ", r#""-05:00""#),
    ] {
        assert_eq!(call(function), evaluate(expected), "{function}");
    }
    check(&[
        (
            r#"TIMEZONE("2011-01-10T14:45:13.815Z"^^xsd:dateTime)"#,
            r#""PT0S"^^xsd:dayTimeDuration"#,
        ),
        (
            r#"TIMEZONE("2011-01-10T14:45:13.815"^^xsd:dateTime)"#,
            ERROR,
        ),
        (r#"TZ("2011-01-10T14:45:13.815Z"^^xsd:dateTime)"#, r#""Z""#),
        (r#"TZ("2011-01-10T14:45:13.815"^^xsd:dateTime)"#, r#""""#),
        (r#"YEAR("2011-01-10")"#, ERROR),
        (r#"YEAR("2011-13-10T00:00:00"^^xsd:dateTime)"#, ERROR),
        (r#"YEAR("2011-01-10"^^xsd:date)"#, "2011"),
        (r#"HOURS("2011-01-10"^^xsd:date)"#, ERROR),
        (r#"MINUTES("14:45:13"^^xsd:time)"#, "45"),
        ("NOW() = NOW()", "true"),
        ("DATATYPE(NOW()) = xsd:dateTime", "true"),
        ("YEAR(NOW()) > 2020 && TZ(NOW()) = \"Z\"", "true"),
    ]);
    let now = expression("NOW()");
    let rows = evaluate_all(&[&now, &now], 3);
    assert!(rows.iter().flatten().all(|term| *term == rows[0][0]));
}

#[test]
fn hashes() {
    check(&[
        (r#"MD5("abc")"#, r#""900150983cd24fb0d6963f7d28e17f72""#),
        (
            r#"MD5("abc"^^xsd:string)"#,
            r#""900150983cd24fb0d6963f7d28e17f72""#,
        ),
        (
            r#"SHA1("abc")"#,
            r#""a9993e364706816aba3e25717850c26c9cd0d89d""#,
        ),
        (
            r#"SHA256("abc")"#,
            r#""ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad""#,
        ),
        (
            r#"SHA384("abc")"#,
            r#""cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7""#,
        ),
        (
            r#"SHA512("abc")"#,
            r#""ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f""#,
        ),
        (r#"SHA1("abc"@en)"#, ERROR),
        ("MD5(1)", ERROR),
        ("SHA512(<e:a>)", ERROR),
    ]);
}

#[test]
fn terms() {
    check(&[
        ("isIRI(<e:a>) && isURI(<e:a>) && !isIRI(\"e:a\")", "true"),
        ("isBLANK(BNODE()) && !isBLANK(<e:a>)", "true"),
        (
            "isLITERAL(1) && isLITERAL(\"a\"@en) && !isLITERAL(<e:a>)",
            "true",
        ),
        ("STR(<e:a>)", r#""e:a""#),
        (r#"STR("01"^^xsd:integer)"#, r#""01""#),
        (r#"STR("a"@en)"#, r#""a""#),
        ("STR(1 + 1)", r#""2""#),
        ("STR(BNODE())", ERROR),
        (r#"LANG("a"@en-GB)"#, r#""en-gb""#),
        ("LANG(1)", r#""""#),
        ("LANG(<e:a>)", ERROR),
        ("DATATYPE(\"a\")", "xsd:string"),
        ("DATATYPE(\"a\"@en)", "rdf:langString"),
        (r#"DATATYPE("1"^^xsd:byte)"#, "xsd:byte"),
        (r#"DATATYPE("1"^^<e:type>)"#, "<e:type>"),
        ("DATATYPE(<e:a>)", ERROR),
        // 17.4.2.8
        (r#"IRI("http://example.com/a")"#, "<http://example.com/a>"),
        (r#"URI("../a b")"#, ERROR),
        (r#"IRI("../a")"#, "<http://example.com/a>"),
        (r#"IRI("b"^^xsd:string)"#, "<http://example.com/base/b>"),
        (r#"IRI("")"#, "<http://example.com/base/>"),
        ("IRI(<e:a>)", "<e:a>"),
        (r#"IRI("a"@en)"#, ERROR),
        ("IRI(1)", ERROR),
        ("IRI(BNODE())", ERROR),
        // 17.4.2.10, 17.4.2.11
        (r#"STRDT("123", xsd:integer)"#, r#""123"^^xsd:integer"#),
        (r#"STRDT("0123", xsd:integer)"#, r#""0123"^^xsd:integer"#),
        (r#"STR(STRDT("0123", xsd:integer))"#, r#""0123""#),
        (r#"STRDT("0123", xsd:integer) = 123"#, "true"),
        (r#"DATATYPE(STRDT("1", xsd:byte))"#, "xsd:byte"),
        (
            r#"STRDT("iiii", <http://example/romanNumeral>)"#,
            r#""iiii"^^<http://example/romanNumeral>"#,
        ),
        (r#"STRDT("a", xsd:string)"#, r#""a""#),
        (r#"STRDT("a"@en, xsd:string)"#, ERROR),
        (r#"STRDT("a", "b")"#, ERROR),
        (r#"STRDT("a", rdf:langString)"#, ERROR),
        (r#"STRLANG("chat", "EN")"#, r#""chat"@en"#),
        (r#"STRLANG("chat"@fr, "en")"#, ERROR),
        (r#"STRLANG("chat", "")"#, ERROR),
        (r#"STRLANG("chat", "not a tag")"#, ERROR),
        ("STRLANG(\"chat\", <e:en>)", ERROR),
        // SPARQL 1.2
        (r#"LANGDIR(STRLANGDIR("abc", "en", "ltr"))"#, r#""ltr""#),
        (r#"LANG(STRLANGDIR("abc", "en", "rtl"))"#, r#""en""#),
        (r#"STRLANGDIR("abc", "en", "up")"#, ERROR),
        (r#"LANGDIR("abc"@en)"#, r#""""#),
        ("LANGDIR(<e:a>)", ERROR),
        (
            r#"hasLANG("a"@en) && !hasLANG("a") && !hasLANG(<e:a>)"#,
            "true",
        ),
        (
            r#"hasLANGDIR(STRLANGDIR("a", "en", "ltr")) && !hasLANGDIR("a"@en)"#,
            "true",
        ),
        (r#"CONCAT(STRLANGDIR("a", "en", "ltr"), "b"@en)"#, r#""ab""#),
        ("isTRIPLE(TRIPLE(<e:s>, <e:p>, \"o\"))", "true"),
        ("isTRIPLE(<e:s>)", "false"),
        ("SUBJECT(TRIPLE(<e:s>, <e:p>, \"o\"))", "<e:s>"),
        ("PREDICATE(TRIPLE(<e:s>, <e:p>, \"o\"))", "<e:p>"),
        (
            r#"OBJECT(TRIPLE(<e:s>, <e:p>, "01"^^xsd:integer))"#,
            r#""01"^^xsd:integer"#,
        ),
        (
            "OBJECT(OBJECT(TRIPLE(<e:s>, <e:p>, TRIPLE(<e:a>, <e:b>, 1 + 1))))",
            "2",
        ),
        ("TRIPLE(\"s\", <e:p>, <e:o>)", ERROR),
        ("TRIPLE(<e:s>, BNODE(), <e:o>)", ERROR),
        ("isBLANK(SUBJECT(TRIPLE(BNODE(), <e:p>, 1)))", "true"),
        ("SUBJECT(<e:s>)", ERROR),
        ("TRIPLE(<e:s>, <e:p>, 1 / 0)", ERROR),
    ]);
}

#[test]
fn new_terms() {
    let expressions = [
        "BNODE(\"a\")",
        "BNODE(\"a\")",
        "BNODE(\"b\")",
        "BNODE()",
        "UUID()",
    ]
    .map(expression);
    let rows = evaluate_all(&expressions.iter().collect::<Vec<_>>(), 10);
    let mut all = HashSet::new();
    for row in &rows {
        // The same label in the same solution is the same node.
        assert_eq!(row[0], row[1]);
        for term in row {
            let term = term.as_ref().expect("a term");
            assert!(matches!(term, Term::BlankNode(_)) || matches!(term, Term::NamedNode(_)));
            all.insert(term.clone());
        }
    }
    // And nothing else is.
    assert_eq!(all.len(), 40);
    check(&[
        ("BNODE(1)", ERROR),
        ("BNODE(\"a\"@en)", ERROR),
        (
            r#"REGEX(STRUUID(), "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")"#,
            "true",
        ),
        (
            r#"STRSTARTS(STR(UUID()), "urn:uuid:") && STRLEN(STR(UUID())) = 45"#,
            "true",
        ),
    ]);
    assert!(expression("STRLEN(STRUUID()) = 36").is_volatile());
    assert!(!expression("NOW() = NOW()").is_volatile());
}

#[test]
fn casts() {
    check(&[
        ("xsd:string(<e:a>)", r#""e:a""#),
        ("xsd:string(1)", r#""1""#),
        (r#"xsd:string("01"^^xsd:integer)"#, r#""1""#),
        ("xsd:string(1.50)", r#""1.5""#),
        ("xsd:string(1e0)", r#""1""#),
        ("xsd:string(1.5e7)", r#""1.5E7""#),
        ("xsd:string(1e7)", r#""1.0E7""#),
        ("xsd:string(0.0000001e0)", r#""1.0E-7""#),
        (r#"xsd:string("INF"^^xsd:double)"#, r#""INF""#),
        ("xsd:string(true)", r#""true""#),
        ("xsd:string(BNODE())", ERROR),
        (r#"xsd:boolean("true")"#, "true"),
        (r#"xsd:boolean("1")"#, "true"),
        (r#"xsd:boolean(" false ")"#, "false"),
        (r#"xsd:boolean("yes")"#, ERROR),
        ("xsd:boolean(0.0)", "false"),
        ("xsd:boolean(2)", "true"),
        (r#"xsd:boolean("NaN"^^xsd:double)"#, "false"),
        ("xsd:boolean(<e:a>)", ERROR),
        (r#"xsd:int("012")"#, r#""12"^^xsd:int"#),
        ("xsd:int(2147483647.9)", r#""2147483647"^^xsd:int"#),
        ("xsd:int(2147483648)", ERROR),
        (r#"xsd:int("2147483648")"#, ERROR),
        ("xsd:int(-2147483648) + 1", "-2147483647"),
        ("DATATYPE(xsd:byte(127))", "xsd:byte"),
        ("xsd:byte(128)", ERROR),
        ("xsd:byte(-129)", ERROR),
        ("xsd:short(-32768)", r#""-32768"^^xsd:short"#),
        ("xsd:long(1e30)", ERROR),
        ("xsd:long(true)", r#""1"^^xsd:long"#),
        ("xsd:unsignedByte(256)", ERROR),
        ("xsd:unsignedByte(255e0)", r#""255"^^xsd:unsignedByte"#),
        ("xsd:unsignedShort(-1)", ERROR),
        (
            "xsd:unsignedInt(4294967295)",
            r#""4294967295"^^xsd:unsignedInt"#,
        ),
        ("xsd:unsignedLong(-1)", ERROR),
        (
            "xsd:nonNegativeInteger(0)",
            r#""0"^^xsd:nonNegativeInteger"#,
        ),
        ("xsd:positiveInteger(0)", ERROR),
        (
            "xsd:nonPositiveInteger(0)",
            r#""0"^^xsd:nonPositiveInteger"#,
        ),
        ("xsd:negativeInteger(0)", ERROR),
        ("xsd:negativeInteger(<e:a>)", ERROR),
        (r#"xsd:integer("12")"#, "12"),
        (r#"xsd:integer(" +12 ")"#, "12"),
        (r#"xsd:integer("12.0")"#, ERROR),
        ("xsd:integer(-12.9)", "-12"),
        ("xsd:integer(12.9e0)", "12"),
        ("xsd:integer(true)", "1"),
        ("xsd:integer(1e30)", ERROR),
        (r#"xsd:integer("NaN"^^xsd:double)"#, ERROR),
        ("xsd:integer(<e:a>)", ERROR),
        (r#"xsd:integer("12"@en)"#, ERROR),
        (r#"xsd:decimal("1.50")"#, "1.5"),
        (r#"xsd:decimal("1e0")"#, ERROR),
        ("xsd:decimal(2.5e0)", "2.5"),
        (r#"xsd:decimal("INF"^^xsd:float)"#, ERROR),
        (r#"xsd:double("1e3")"#, r#""1000"^^xsd:double"#),
        (r#"xsd:double("-INF")"#, r#""-INF"^^xsd:double"#),
        (r#"xsd:double("infinity")"#, ERROR),
        (r#"xsd:double("nan")"#, ERROR),
        ("xsd:double(1)", r#""1"^^xsd:double"#),
        ("xsd:float(true)", r#""1"^^xsd:float"#),
        (r#"xsd:float("x")"#, ERROR),
        (
            r#"xsd:dateTime("2002-10-10T17:00:00Z")"#,
            r#""2002-10-10T17:00:00Z"^^xsd:dateTime"#,
        ),
        (
            r#"xsd:dateTime("2002-10-10"^^xsd:date)"#,
            r#""2002-10-10T00:00:00"^^xsd:dateTime"#,
        ),
        (r#"xsd:dateTime("2002-10-10")"#, ERROR),
        ("xsd:dateTime(2002)", ERROR),
        (
            r#"xsd:date("2002-10-10T17:00:00Z"^^xsd:dateTime)"#,
            r#""2002-10-10Z"^^xsd:date"#,
        ),
        (
            r#"xsd:time("2002-10-10T17:00:00Z"^^xsd:dateTime)"#,
            r#""17:00:00Z"^^xsd:time"#,
        ),
        (
            r#"xsd:dayTimeDuration("P1DT2H")"#,
            r#""P1DT2H"^^xsd:dayTimeDuration"#,
        ),
        (
            r#"xsd:dayTimeDuration("P1Y2M3DT4H5M6.5S"^^xsd:duration)"#,
            r#""P3DT4H5M6.5S"^^xsd:dayTimeDuration"#,
        ),
        (
            r#"xsd:yearMonthDuration("P1Y2M3D"^^xsd:duration)"#,
            r#""P1Y2M"^^xsd:yearMonthDuration"#,
        ),
        (r#"xsd:dayTimeDuration("P1Y")"#, ERROR),
    ]);
}
