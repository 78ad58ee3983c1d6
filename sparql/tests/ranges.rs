//! Conditions that are looked up as ranges of ids give the rows that they give when each row is looked at: every comparison with
//! constants of all types, over terms of all types, from dictionaries of several loads. `QUADRILLE_SEED` gives the random
//! conditions another start.

mod common;

use common::{Random, add, rows, store};
use quadrille_sparql::{PlannerOptions, Query, QueryOptions};
use quadrille_store::Snapshot;

/// Terms in SPARQL's and N-Quads' common syntax.
fn terms() -> Vec<String> {
    let mut terms: Vec<String> = Vec::new();
    let typed = |form: &str, datatype: &str| {
        format!("\"{form}\"^^<http://www.w3.org/2001/XMLSchema#{datatype}>")
    };
    let integers = [
        "-144115188075855873",
        "-144115188075855872",
        "-16777217",
        "-16777216",
        "-3",
        "-1",
        "0",
        "1",
        "2",
        "3",
        "7",
        "10",
        "100",
        "127",
        "128",
        "255",
        "16777215",
        "16777216",
        "16777217",
        "9007199254740991",
        "9007199254740993",
        "144115188075855871",
        "144115188075855872",
        "9223372036854775807",
        "9223372036854775808",
        "007",
        "+5",
        "x",
    ];
    for datatype in [
        "integer",
        "int",
        "byte",
        "nonNegativeInteger",
        "negativeInteger",
        "unsignedByte",
    ] {
        terms.extend(integers.map(|form| typed(form, datatype)));
    }
    let fractions = [
        "-3.5",
        "-1",
        "0",
        "-0",
        "0.0",
        "0.5",
        "2.5",
        "2.50",
        "3",
        "7.0",
        "100.25",
        "16777216",
        "16777217",
        "9007199254740993",
        "144115188075855872",
        "99999999999999999999",
        "1e3",
        "25e-1",
        "INF",
        "-INF",
        "NaN",
        "x",
    ];
    for datatype in ["decimal", "double", "float"] {
        terms.extend(fractions.map(|form| typed(form, datatype)));
    }
    let days = [
        "1969-12-31",
        "1970-01-01",
        "2024-02-29",
        "2024-03-01",
        "2023-02-30",
        "-0001-05-05",
        "12024-01-01",
    ];
    for zone in ["", "Z", "+14:00", "-05:00"] {
        for day in days {
            terms.push(typed(&format!("{day}{zone}"), "date"));
            for time in ["00:00:00", "07:08:09.25", "07:08:09.250", "24:00:00"] {
                terms.push(typed(&format!("{day}T{time}{zone}"), "dateTime"));
            }
        }
    }
    for text in [
        "",
        "a",
        "ab",
        "abc",
        "abd",
        "ac",
        "b",
        "é",
        "éa",
        "z",
        "Z",
        "10",
        "2",
        "\u{10ffff}",
        "a b",
        "a.b",
        "aaa",
    ] {
        for annotation in [
            "",
            "@en",
            "@de",
            "^^<e:type>",
            "^^<http://www.w3.org/2001/XMLSchema#string>",
        ] {
            terms.push(format!("\"{text}\"{annotation}"));
        }
    }
    for other in ["true", "false"] {
        terms.push(typed(other, "boolean"));
    }
    terms.push(typed("12:00:00", "time"));
    terms.push(typed("P1D", "dayTimeDuration"));
    terms.extend(["<e:a>", "<e:ab>", "<abc:x>"].map(str::to_owned));
    terms
}

/// All terms, from three loads.
fn everything(terms: &[String]) -> Snapshot {
    let lines = |part: usize| -> String {
        let of_part = terms
            .iter()
            .enumerate()
            .filter(|(index, _)| index % 3 == part);
        of_part.fold(String::new(), |text, (index, term)| {
            text + &format!("<e:s{}> <e:p> {term} .\n", index % 7)
        })
    };
    let store = store(&lines(0));
    add(&store, &lines(1));
    add(&store, &format!("{}<e:s> <e:p> _:blank .\n", lines(2)));
    store.snapshot()
}

/// The rows that meet a condition, which must be the same with and without ranges; and whether a scan was narrowed.
fn check(snapshot: &Snapshot, condition: &str) -> bool {
    let query = format!("SELECT ?s ?o {{ ?s <e:p> ?o FILTER({condition}) }}");
    let options = |id_ranges| QueryOptions {
        threads: 1,
        planner: PlannerOptions {
            id_ranges,
            ..PlannerOptions::default()
        },
        ..QueryOptions::default()
    };
    let found = rows(snapshot, &query, &options(true));
    let expected = rows(snapshot, &query, &options(false));
    assert_eq!(found, expected, "{condition}");
    let plan = Query::parse(&query, None).and_then(|query| query.explain(snapshot, &options(true)));
    plan.expect("a plan").contains("in ranges")
}

#[test]
fn comparisons_with_every_constant() {
    let terms = terms();
    let snapshot = everything(&terms);
    let mut narrowed = 0;
    for constant in &terms {
        for operator in ["<", "<=", ">", ">=", "="] {
            narrowed += usize::from(check(&snapshot, &format!("?o {operator} {constant}")));
            check(&snapshot, &format!("{constant} {operator} ?o"));
        }
    }
    assert!(
        narrowed > terms.len(),
        "only {narrowed} conditions were ranges"
    );
}

#[test]
fn beginnings_of_texts() {
    let terms = terms();
    let snapshot = everything(&terms);
    for start in [
        "",
        "a",
        "ab",
        "abcd",
        "b",
        "é",
        "1",
        "\u{10ffff}",
        "\u{10fffe}",
    ] {
        let is_range = check(&snapshot, &format!("STRSTARTS(?o, \"{start}\")"));
        assert_eq!(is_range, !start.is_empty(), "{start:?}");
        let of_text = check(&snapshot, &format!("STRSTARTS(STR(?o), \"{start}\")"));
        assert_eq!(of_text, !start.is_empty(), "{start:?}");
    }
    for (pattern, is_range) in [
        ("^a", true),
        ("^ab*", true),
        ("^a*", false),
        ("^ab?c", true),
        ("^ab{0}d", true),
        ("^ab+", true),
        ("^a.b$", true),
        ("^a|^b", false),
        ("^(a|b)", false),
        ("^[ab]", false),
        ("a", false),
        ("^é", true),
        ("^a\\\\.b", true),
        ("^a b", true),
        ("^", false),
    ] {
        assert_eq!(
            check(&snapshot, &format!("REGEX(?o, \"{pattern}\")")),
            is_range,
            "{pattern}"
        );
        let of_text = format!("REGEX(STR(?o), \"{pattern}\")");
        assert_eq!(check(&snapshot, &of_text), is_range, "{pattern}");
        for flags in ["i", "x", "s"] {
            assert!(!check(
                &snapshot,
                &format!("REGEX(?o, \"{pattern}\", \"{flags}\")")
            ));
        }
    }
}

#[test]
fn random_conditions() {
    let terms = terms();
    let snapshot = everything(&terms);
    let seed = std::env::var("QUADRILLE_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    println!("QUADRILLE_SEED={seed}");
    let mut random = Random(seed);
    for _ in 0..400 {
        let condition = random_condition(&mut random, &terms, 3);
        check(&snapshot, &condition);
    }
}

fn random_condition(random: &mut Random, terms: &[String], depth: usize) -> String {
    if depth > 0 && random.one_in(2) {
        let [left, right] = [(); 2].map(|()| random_condition(random, terms, depth - 1));
        return match random.below(5) {
            0 => format!("!({left})"),
            1 | 2 => format!("({left}) || ({right})"),
            _ => format!("({left}) && ({right})"),
        };
    }
    let [one, other] = [(); 2].map(|()| random.pick(terms).clone());
    match random.below(8) {
        0 => format!("?o IN ({one}, {other})"),
        1 => format!("{one} <= ?o && ?o < {other}"),
        2 => "BOUND(?s)".to_owned(),
        3 => format!("STRSTARTS(?o, {one})"),
        4 => format!("sameTerm(?o, {one}) || ?o > {other}"),
        5 => format!("?s = {one}"),
        6 => format!("?o = {one}"),
        _ => format!("?o > {one}"),
    }
}
