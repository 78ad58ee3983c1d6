//! `REGEX` and `REPLACE`: sections 17.4.3.14 and 17.4.3.15 of SPARQL 1.1, and section 5.6 of XPath's functions 3.1.

use super::{ERROR, check};
use crate::expr::functions::pattern::Pattern;
use std::time::{Duration, Instant};

#[test]
fn matches() {
    check(&[
        (r#"REGEX("Alice", "^ali", "i")"#, "true"),
        (r#"REGEX("Alice"@en, "lic")"#, "true"),
        (r#"REGEX("abracadabra", "^a.*a$")"#, "true"),
        (r#"REGEX("abracadabra", "^bra")"#, "false"),
        (r#"REGEX("a\nb", "a.b")"#, "false"),
        (r#"REGEX("a\nb", "a.b", "s")"#, "true"),
        (r#"REGEX("a\nb", "^b$")"#, "false"),
        (r#"REGEX("a\nb", "^b$", "m")"#, "true"),
        (r#"REGEX("helloworld", "hello world", "x")"#, "true"),
        (r#"REGEX("hello world", "hello[ ]world", "x")"#, "true"),
        (r#"REGEX("a.b", "a.b", "q")"#, "true"),
        (r#"REGEX("axb", "a.b", "q")"#, "false"),
        (r#"REGEX("A.B", "a.b", "qi")"#, "true"),
        (r#"REGEX("a#b", "a #b", "x")"#, "true"),
        // Errors: flags, types, patterns.
        (r#"REGEX("a", "a", "k")"#, ERROR),
        (r#"REGEX("a", "a", "i"@en)"#, ERROR),
        (r#"REGEX("a", "a"@en)"#, ERROR),
        (r#"REGEX(<e:a>, "a")"#, ERROR),
        ("REGEX(1, \"1\")", ERROR),
        (r#"REGEX("a", "(")"#, ERROR),
        (r#"REGEX("a", CONCAT("(", "a"))"#, ERROR),
        (
            r#"REGEX("a", CONCAT("[a", "-c]"), CONCAT("i", ""))"#,
            "true",
        ),
        (r#"REGEX("a", "a", 1/0)"#, ERROR),
    ]);
}

#[test]
fn replacements() {
    check(&[
        (r#"REPLACE("abcd", "b", "Z")"#, r#""aZcd""#),
        (r#"REPLACE("abab", "B", "Z", "i")"#, r#""aZaZ""#),
        (r#"REPLACE("abab", "B.", "Z", "i")"#, r#""aZb""#),
        (r#"REPLACE("abab"@en, "b", "Z")"#, r#""aZaZ"@en"#),
        (r#"REPLACE("abracadabra", "bra", "*")"#, r#""a*cada*""#),
        (r#"REPLACE("abracadabra", "a.*a", "*")"#, r#""*""#),
        (r#"REPLACE("abracadabra", "a.*?a", "*")"#, r#""*c*bra""#),
        (r#"REPLACE("abracadabra", "a", "")"#, r#""brcdbr""#),
        (
            r#"REPLACE("abracadabra", "a(.)", "a$1$1")"#,
            r#""abbraccaddabbra""#,
        ),
        (r#"REPLACE("AAAA", "A+?", "b")"#, r#""bbbb""#),
        (
            r#"REPLACE("darted", "^(.*?)d(.*)$", "$1c$2")"#,
            r#""carted""#,
        ),
        (r#"REPLACE("abc", "b", "[$0]")"#, r#""a[b]c""#),
        (r#"REPLACE("abc", "(b)", "$2x")"#, r#""axc""#),
        (r#"REPLACE("abc", "(b)", "$12")"#, r#""ab2c""#),
        (r#"REPLACE("abc", "(x)|b", "<$1>")"#, r#""a<>c""#),
        (r#"REPLACE("abc", "b", "\\$\\\\")"#, r#""a$\\c""#),
        (r#"REPLACE("abc", "b", "$", "q")"#, r#""a$c""#),
        // A pattern that matches the empty string.
        (r#"REPLACE("abracadabra", ".*?", "$1")"#, ERROR),
        (r#"REPLACE("abc", "x*", "-")"#, ERROR),
        (r#"REPLACE("abc", "^", "-")"#, ERROR),
        (r#"REPLACE("abc", CONCAT("x", "?"), "-")"#, ERROR),
        // Replacements that are none.
        (r#"REPLACE("abc", "b", "$")"#, ERROR),
        (r#"REPLACE("abc", "b", "$x")"#, ERROR),
        (r#"REPLACE("abc", "b", "\\x")"#, ERROR),
        (r#"REPLACE("abc", "b", "x"@en)"#, ERROR),
        (r#"REPLACE("abc", "b", "x", "z")"#, ERROR),
        ("REPLACE(<e:a>, \"a\", \"b\")", ERROR),
    ]);
}

/// A pattern, a text, and whether they match; `None` if the pattern is invalid.
#[test]
fn syntax() {
    let table: &[(&str, &str, Option<bool>)] = &[
        // Classes and their subtraction.
        ("^[a-z-[aeiou]]+$", "xyz", Some(true)),
        ("^[a-z-[aeiou]]+$", "xaz", Some(false)),
        ("^[^a-z-[0-9]]$", "5", Some(false)),
        ("^[^a-z-[0-9]]$", "A", Some(true)),
        ("^[a-z-[b-y-[m]]]+$", "amz", Some(true)),
        ("^[a-z-[b-y-[m]]]+$", "b", Some(false)),
        ("^[\\-a]+$", "a-", Some(true)),
        ("^[a-]+$", "a-", Some(true)),
        ("^[-a]+$", "a-", Some(true)),
        ("^[&&~~]+$", "&~", Some(true)),
        ("^[\\[\\]^]+$", "[^]", Some(true)),
        ("^[\\s\\d]+$", "1 \t2", Some(true)),
        ("^[^\\S]+$", " ", Some(true)),
        ("[]", "a", None),
        ("[^]", "a", None),
        ("[a[b]", "a", None),
        ("[b-a]", "a", None),
        ("[a", "a", None),
        ("a]", "a", None),
        // Escapes.
        ("^\\s$", "\u{A0}", Some(false)),
        ("^\\S$", "\u{A0}", Some(true)),
        ("^\\w$", "_", Some(false)),
        ("^\\w$", "+", Some(true)),
        ("^\\W$", "_", Some(true)),
        ("^\\d+$", "1\u{663}", Some(true)),
        ("^\\D$", "a", Some(true)),
        ("^\\i\\c*$", "_a-1", Some(true)),
        ("^\\i", "1", Some(false)),
        ("^\\I\\C$", "1 ", Some(true)),
        ("^\\p{Lu}\\P{Lu}$", "Aa", Some(true)),
        ("^\\p{IsGreek}+$", "\u{3B1}\u{3B2}", Some(true)),
        ("^\\P{IsBasicLatin}$", "\u{E9}", Some(true)),
        ("^[\\p{IsBasicLatin}-[a]]$", "a", Some(false)),
        ("\\p{IsNowhere}", "a", None),
        ("\\p{Greek}", "a", None),
        ("\\pL", "a", None),
        ("^\\n\\t\\r$", "\n\t\r", Some(true)),
        ("^\\.\\|\\^\\$\\\\$", ".|^$\\", Some(true)),
        ("\\b", "a", None),
        ("\\A", "a", None),
        ("\\x41", "A", None),
        ("a\\", "a", None),
        // Quantifiers.
        ("^a{2}$", "aa", Some(true)),
        ("^a{2,}$", "aaa", Some(true)),
        ("^a{2,3}?$", "aaaa", Some(false)),
        ("a{,3}", "a", None),
        ("a{3,2}", "a", None),
        ("a{99999999999}", "a", None),
        ("a{", "a", None),
        ("a}", "a", None),
        ("a**", "a", None),
        ("*a", "a", None),
        ("(?:a|b)+c", "abc", Some(true)),
        ("(?i)a", "A", None),
        ("(?=a)", "a", None),
        ("(?P<n>a)", "a", None),
        ("(a", "a", None),
        ("a)", "a", None),
        ("", "a", Some(true)),
        ("a|", "b", Some(true)),
        // Back-references.
        ("^(a|b)\\1$", "bb", Some(true)),
        ("^(a|b)\\1$", "ab", Some(false)),
        ("([\"']).*?\\1", "say 'x'", Some(true)),
        ("^(a)\\11$", "aa1", Some(true)),
        ("^(x)?y\\1$", "y", Some(true)),
        ("^(x)?y\\1$", "xyx", Some(true)),
        ("^[a-z-[b]]+(c)\\1$", "acc", Some(true)),
        ("^[a-z-[b]]+(c)\\1$", "bcc", Some(false)),
        ("(a\\1)", "a", None),
        ("\\1(a)", "a", None),
        ("(a)\\2", "a", None),
    ];
    for (pattern, text, expected) in table {
        let found = Pattern::new(pattern, "").map(|pattern| pattern.is_match(text));
        assert_eq!(found, expected.map(Some), "{pattern} on {text}");
    }
    let with = |pattern: &str, flags: &str, text: &str| {
        Pattern::new(pattern, flags)
            .expect("a pattern")
            .is_match(text)
    };
    assert_eq!(with("(a)\\1", "i", "aA"), Some(true));
    assert_eq!(with("^\\p{Lu}$", "i", "a"), Some(false));
    assert_eq!(with("^ ( a ) \\1 $", "x", "aa"), Some(true));
    assert_eq!(with("^[a-z-[m]]$", "i", "M"), Some(false));
}

#[test]
fn explosions_are_fast_or_errors() {
    let start = Instant::now();
    let text = format!("{}b", "a".repeat(50_000));
    let linear = Pattern::new("^(a+)+$", "").expect("a pattern");
    assert_eq!(linear.is_match(&text), Some(false));
    let backtracking = Pattern::new("^(a|aa)+\\1x?$", "").expect("a pattern");
    let short = &text[text.len() - 100..];
    assert_eq!(backtracking.is_match(short), None);
    assert_eq!(backtracking.replace(short, "x"), None);
    assert!(Pattern::new("((((a{99}){99}){99}){99}){99}", "").is_none());
    assert!(Pattern::new(&"(".repeat(100_000), "").is_none());
    let deep = format!("{}a{}", "(".repeat(10_000), ")".repeat(10_000));
    assert!(Pattern::new(&deep, "").is_none());
    let deep = format!("{}a{}\\1", "(".repeat(10_000), ")".repeat(10_000));
    assert!(Pattern::new(&deep, "").is_none());
    assert!(Pattern::new(&"[a-".repeat(100_000), "").is_none());
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
}
