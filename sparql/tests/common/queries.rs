//! Random datasets, groups of patterns and conditions, for the tests that compare with the oracle.

use super::{Random, add};
use quadrille_store::Store;
use std::fmt::Write;

pub const SUBJECTS: [&str; 7] = ["<e:a>", "<e:b>", "<e:c>", "<e:d>", "<e:p>", "_:x", "_:y"];
pub const PREDICATES: [&str; 4] = ["<e:p>", "<e:q>", "<e:r>", "<e:s>"];
pub const LITERALS: [&str; 18] = [
    "\"a\"",
    "\"b\"",
    "\"\"",
    "\"a\"@en",
    "\"a\"@de",
    "\"1\"^^<http://www.w3.org/2001/XMLSchema#integer>",
    "\"01\"^^<http://www.w3.org/2001/XMLSchema#integer>",
    "\"2\"^^<http://www.w3.org/2001/XMLSchema#int>",
    "\"1.0\"^^<http://www.w3.org/2001/XMLSchema#decimal>",
    "\"2.5\"^^<http://www.w3.org/2001/XMLSchema#decimal>",
    "\"1e0\"^^<http://www.w3.org/2001/XMLSchema#double>",
    "\"3.5\"^^<http://www.w3.org/2001/XMLSchema#float>",
    "\"true\"^^<http://www.w3.org/2001/XMLSchema#boolean>",
    "\"1\"^^<http://www.w3.org/2001/XMLSchema#boolean>",
    "\"2020-01-01T00:00:00Z\"^^<http://www.w3.org/2001/XMLSchema#dateTime>",
    "\"2020-01-01T01:00:00+01:00\"^^<http://www.w3.org/2001/XMLSchema#dateTime>",
    "\"2021-01-01T00:00:00Z\"^^<http://www.w3.org/2001/XMLSchema#dateTime>",
    "\"x\"^^<e:type>",
];
pub const GRAPHS: [&str; 3] = ["<e:g>", "<e:h>", "<e:a>"];
pub const PROLOGUE: &str = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> ";
pub const VARIABLES: [&str; 5] = ["?v", "?w", "?x", "?y", "?z"];

pub fn random_store(random: &mut Random) -> Store {
    let store = Store::in_memory();
    for _ in 0..=random.below(3) {
        let mut text = String::new();
        for _ in 0..random.below(40) {
            let subject = *random.pick(&SUBJECTS);
            let predicate = *random.pick(&PREDICATES);
            let object = if random.one_in(2) {
                *random.pick(&SUBJECTS)
            } else {
                *random.pick(&LITERALS)
            };
            let graph = if random.one_in(3) {
                *random.pick(&GRAPHS)
            } else {
                ""
            };
            writeln!(text, "{subject} {predicate} {object} {graph} .").unwrap();
        }
        add(&store, &text);
    }
    store
}

pub fn variable(random: &mut Random) -> &'static str {
    // The first ones more often, so that patterns are connected.
    let bound = 2 + random.below(VARIABLES.len() - 1);
    VARIABLES[random.below(bound)]
}

pub fn subject(random: &mut Random) -> &'static str {
    match random.below(12) {
        0..=1 => SUBJECTS[random.below(5)],
        2 => "_:n",
        _ => variable(random),
    }
}

pub fn group(random: &mut Random, patterns: usize) -> String {
    let mut group = String::new();
    for _ in 0..patterns {
        let predicate = if random.one_in(4) {
            variable(random)
        } else {
            *random.pick(&PREDICATES)
        };
        let object = match random.below(12) {
            0 => SUBJECTS[random.below(5)],
            1 => *random.pick(&LITERALS),
            2 => "_:m",
            _ => variable(random),
        };
        write!(group, "{} {predicate} {object} . ", subject(random)).unwrap();
    }
    group
}

/// `STR` of what has one form for its value: of `"01"^^xsd:integer` the oracle gives `1`, which is not its lexical form
/// (SPARQL 1.1, section 17.4.2.5).
pub fn form(random: &mut Random) -> String {
    let variable = variable(random);
    format!(
        "STR(IF(isLITERAL({variable}) && DATATYPE({variable}) != xsd:string, \"n\", {variable}))"
    )
}

pub fn operand(random: &mut Random) -> String {
    match random.below(8) {
        0..=3 => variable(random).to_owned(),
        4 => (*random.pick(&LITERALS)).to_owned(),
        5 => SUBJECTS[random.below(5)].to_owned(),
        6 => form(random),
        _ => format!("DATATYPE({})", variable(random)),
    }
}

/// Numbers, strings and dates: what `<` orders. (Of IRIs, booleans and language-tagged strings the oracle says more than the
/// specification, section 17.3: they are not in its table of operators, or are ordered where it has an error.)
pub fn orderable(random: &mut Random) -> String {
    match random.below(6) {
        0 => "1".to_owned(),
        1 => "2.5".to_owned(),
        2 => "\"a\"".to_owned(),
        3 => "\"2020-06-01T00:00:00Z\"^^<http://www.w3.org/2001/XMLSchema#dateTime>".to_owned(),
        4 => format!("({} + 1)", variable(random)),
        _ => format!("(-{} * 2)", variable(random)),
    }
}

/// An expression that is mostly a string.
pub fn text(random: &mut Random, depth: usize) -> String {
    if depth == 0 {
        return match random.below(6) {
            0 | 1 => variable(random).to_owned(),
            2 | 3 => form(random),
            4 => "\"ab\"".to_owned(),
            _ => "\"ba\"@en".to_owned(),
        };
    }
    let inner = text(random, depth - 1);
    match random.below(12) {
        0 => format!("UCASE({inner})"),
        1 => format!("LCASE({inner})"),
        2 => format!("CONCAT({inner}, {})", text(random, depth - 1)),
        3 => format!("SUBSTR({inner}, {})", random.below(4)),
        4 => format!("SUBSTR({inner}, {}, {})", random.below(4), random.below(3)),
        5 => format!("STRBEFORE({inner}, \"a\")"),
        6 => format!("STRAFTER({inner}, {})", text(random, 0)),
        7 => format!("ENCODE_FOR_URI({inner})"),
        8 => format!("REPLACE({inner}, \"[a:]\", \"<$0>\")"),
        9 => format!("STRLANG({inner}, \"EN\")"),
        10 => format!("MD5({inner})"),
        _ => format!("xsd:string({inner})"),
    }
}

/// An expression that is a number, a part of a date, or what a cast gives.
pub fn number_or_date(random: &mut Random) -> String {
    let functions = [
        "ABS",
        "ROUND",
        "CEIL",
        "FLOOR",
        "YEAR",
        "MONTH",
        "DAY",
        "HOURS",
        "MINUTES",
        "SECONDS",
        "TZ",
        "STRLEN",
        "xsd:integer",
        "xsd:decimal",
        "xsd:float",
        "xsd:double",
        "xsd:boolean",
        "xsd:string",
        "xsd:dateTime",
    ];
    match random.below(3) {
        0 => format!("{}({})", random.pick(&functions), form(random)),
        _ => format!("{}({})", random.pick(&functions), variable(random)),
    }
}

/// A condition with the functions of section 17.4.
///
/// What the oracle does differently is left out here; `expr/tests` in the library has what the specifications say:
/// * `REPLACE` with a pattern that matches the empty string is an error (XPath, section 5.6.4);
/// * XPath's `\s \w \i \c`, class subtraction, back-references, and the flag `x` within classes (section 5.6.1);
/// * `$12` with one group is the first group and a `2` (section 5.6.4), and `$name` is an error;
/// * `BNODE` with a label makes a node for each solution (SPARQL 1.1, section 17.4.2.9);
/// * casts of strings collapse white space, and `infinity` is no double (XPath, section 19.2);
/// * doubles beyond a million are written with an exponent (XPath, section 19.1.2.2);
/// * accessors and casts of dates, times and durations, which the oracle has behind a feature.
pub fn function_condition(random: &mut Random) -> String {
    match random.below(9) {
        0 => format!("{} = {}", text(random, 2), text(random, 1)),
        1 => format!("sameTerm({}, {})", text(random, 2), text(random, 1)),
        2 => format!("STRLEN({}) > {}", text(random, 2), random.below(4)),
        3 => {
            let functions = ["CONTAINS", "STRSTARTS", "STRENDS"];
            let function = random.pick(&functions);
            format!("{function}({}, {})", text(random, 1), text(random, 1))
        }
        4 => {
            let patterns = ["^a", "A", "e:.", "[b-c]$", "(a|b)+", "(", "^$"];
            let flags = ["", ", \"i\"", ", \"s\"", ", \"z\"", ", \"q\""];
            let pattern = *random.pick(&patterns);
            format!(
                "REGEX({}, \"{pattern}\"{})",
                text(random, 1),
                random.pick(&flags)
            )
        }
        5 => format!("{} = {}", number_or_date(random), number_or_date(random)),
        6 => format!("sameTerm({}, {})", number_or_date(random), operand(random)),
        7 => format!("IRI({}) = {}", text(random, 1), variable(random)),
        _ => format!(
            "SUBJECT(TRIPLE({}, <e:p>, {})) != <e:a>",
            variable(random),
            operand(random)
        ),
    }
}

pub fn condition(random: &mut Random, depth: usize) -> String {
    match random.below(if depth == 0 { 11 } else { 14 }) {
        0 => format!("{} = {}", operand(random), operand(random)),
        1 => format!("{} != {}", operand(random), operand(random)),
        2 => format!("sameTerm({}, {})", variable(random), operand(random)),
        3 => {
            let operators = ["<", "<=", ">", ">="];
            format!(
                "{} {} {}",
                variable(random),
                random.pick(&operators),
                orderable(random)
            )
        }
        4 => {
            let functions = ["isIRI", "isBLANK", "isLITERAL", "isNUMERIC", "BOUND"];
            format!("{}({})", random.pick(&functions), variable(random))
        }
        5 => format!(
            "{} IN ({}, {}, {})",
            operand(random),
            operand(random),
            operand(random),
            operand(random)
        ),
        6 => format!("LANG({}) = \"en\"", variable(random)),
        7 => format!("STRSTARTS(STR({}), \"e:\")", variable(random)),
        8 => format!(
            "IF(isIRI({}), {} = <e:a>, COALESCE({} + 1, 0) > 1)",
            variable(random),
            variable(random),
            variable(random)
        ),
        9 | 10 => function_condition(random),
        11 => format!("!({})", condition(random, depth - 1)),
        12 => format!(
            "({} || {})",
            condition(random, depth - 1),
            condition(random, depth - 1)
        ),
        _ => format!(
            "({} && {})",
            condition(random, depth - 1),
            condition(random, depth - 1)
        ),
    }
}
