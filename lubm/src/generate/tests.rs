//! Check values of the original generator, and its plain twin for everything else.

use super::plain::Plain;
use super::*;
use crate::format::Syntax;
use crate::names::ONTOLOGY_URL;
use oxttl::{NTriplesParser, TurtleParser};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::fmt::Write;

/// One university's text and counts.
fn n_triples(seed: i32, index: u32) -> (TextBuffer, Counts) {
    let template = Template::new(Syntax::NTriples, ONTOLOGY_URL);
    let mut text = TextBuffer::default();
    let mut university = University::new(&template, seed, index);
    let mut counts = Counts::default();
    while let Some(department) = university.next_department(&mut text) {
        counts += department;
    }
    (text, counts)
}

fn hex(digest: &[u8]) -> String {
    digest.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("memory takes everything");
        hex
    })
}

fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

#[test]
fn the_first_departments_are_those_of_the_original() {
    let template = Template::new(Syntax::NTriples, ONTOLOGY_URL);
    let mut text = TextBuffer::default();
    let mut university = University::new(&template, 0, 0);
    assert_eq!(university.departments, 15);
    // full, associate, assistant, lecturers, undergraduates, graduates, teaching, research, groups,
    // courses, graduate courses, publications; then the random state.
    let expected = [
        (
            [10, 14, 10, 7, 532, 146, 29, 39, 10, 61, 67, 460],
            0x9fa6_ee37_7468,
        ),
        (
            [10, 10, 8, 6, 411, 110, 27, 35, 19, 48, 46, 383],
            0x0b0f_14a2_3a4e,
        ),
        (
            [7, 12, 8, 7, 376, 107, 23, 34, 13, 49, 47, 381],
            0x8568_9a6d_d813,
        ),
    ];
    for (numbers, state) in expected {
        let counts = university.next_department(&mut text).unwrap();
        let found = [
            counts.full_professors,
            counts.associate_professors,
            counts.assistant_professors,
            counts.lecturers,
            counts.undergraduate_students,
            counts.graduate_students,
            counts.teaching_assistants,
            counts.research_assistants,
            counts.research_groups,
            counts.courses,
            counts.graduate_courses,
            counts.publications,
        ];
        assert_eq!(found, numbers);
        assert_eq!(university.random_state(), state, "{state:#x}");
    }
}

#[test]
fn single_universities_are_those_of_the_original() {
    // index; departments, faculty, undergraduates, graduates, publications, courses, graduate courses,
    // teaching, research, groups, statements
    let expected = [
        (
            0,
            [15, 540, 5916, 1874, 5999, 828, 799, 407, 547, 224, 103_074],
            "c36294ca05933f639b6ebb603a8955a970a3f0a5a1e2c43922cd662241e16c02",
        ),
        (
            1,
            [
                19, 702, 7643, 2445, 7935, 1061, 1040, 540, 680, 294, 134_068,
            ],
            "0aec5fa8a090fdf44a3daf32b83d809d892b0ef7f072ce6ee42c9508f484ecab",
        ),
        (
            2,
            [16, 570, 6309, 2071, 6396, 851, 869, 463, 596, 248, 110_864],
            "2c187e2c45e173b4cf1fdf60ade95f46992e58ba315e3898aceb4840e4a46f0d",
        ),
        (
            3,
            [
                21, 771, 8152, 2704, 8674, 1143, 1156, 608, 780, 294, 145_696,
            ],
            "8bc7d7d890d57f9594fe1f926c1f5c2bccbdd6466a824ee92ebae01945244ed6",
        ),
        (
            4,
            [
                22, 790, 8662, 2806, 8850, 1180, 1168, 625, 802, 311, 151_947,
            ],
            "265f6a29b68934d7b61fb1fde4959e26830f534d1159e9f66297136d2f97437b",
        ),
        (
            9,
            [
                22, 795, 8871, 2756, 8858, 1179, 1198, 612, 796, 322, 153_125,
            ],
            "acbd0b61c880b00699e94fd0a3cbf723229c3cb2602697a060cad123ff4da408",
        ),
    ];
    for (index, numbers, hash) in expected {
        let (text, counts) = n_triples(0, index);
        let found = [
            counts.departments,
            counts.faculty(),
            counts.undergraduate_students,
            counts.graduate_students,
            counts.publications,
            counts.courses,
            counts.graduate_courses,
            counts.teaching_assistants,
            counts.research_assistants,
            counts.research_groups,
            counts.statements,
        ];
        assert_eq!(found, numbers, "university {index}");
        assert_eq!(counts.universities, 1);
        assert_eq!(sha256(text.as_bytes()), hash, "university {index}");
    }
}

#[test]
fn other_seeds_are_those_of_the_original() {
    let expected: [(&[u32], i32, u64, &str); 4] = [
        (
            &[3, 4],
            1,
            234_789,
            "add5c2c0e9607771135fe193a78164d8d9ab5f9b43e3e413df852a628ec645e9",
        ),
        (
            &[7],
            123_456,
            155_065,
            "a288e9f2dab5cc4d4ed1e0d17cdd96fbd7feb8a55763d68951b368e7abec4192",
        ),
        (
            &[0],
            -5,
            114_063,
            "8297fc4aa96d42b36d6503cea257cec6d8cc9571b8f2ead947ef6707d0a39e94",
        ),
        (
            &[1500],
            0,
            141_651,
            "51de05a11fda080d57ce86628a19dd36e6f09df47736e817318351757643c7a3",
        ),
    ];
    for (indexes, seed, statements, hash) in expected {
        let mut hasher = Sha256::new();
        let mut total = Counts::default();
        for index in indexes {
            let (text, counts) = n_triples(seed, *index);
            hasher.update(text.as_bytes());
            total += counts;
        }
        assert_eq!(total.statements, statements, "seed {seed}");
        assert_eq!(hex(&hasher.finalize()), hash, "seed {seed}");
    }
}

#[test]
fn seeds_that_are_equal_modulo_131072_give_the_same() {
    let (one, _) = n_triples(0, 0);
    let (other, _) = n_triples(131_072, 0);
    assert!(one.as_bytes() == other.as_bytes());
    let (another, _) = n_triples(131_071, 0);
    assert!(one.as_bytes() != another.as_bytes());
}

#[test]
fn only_types_of_universities_are_repeated() {
    let (text, counts) = n_triples(0, 0);
    let text = str::from_utf8(text.as_bytes()).unwrap();
    let types = format!("<{ONTOLOGY_URL}#University> .");
    let mut seen = HashSet::new();
    let (mut type_lines, mut distinct_types) = (0, 0);
    let mut distinct_hash = Sha256::new();
    for line in text.lines() {
        let is_type = line.ends_with(&types);
        type_lines += u64::from(is_type);
        if seen.insert(line) {
            distinct_types += u64::from(is_type);
            distinct_hash.update(line);
            distinct_hash.update("\n");
        } else {
            assert!(is_type, "twice: {line}");
        }
    }
    assert_eq!(text.lines().count() as u64, counts.statements);
    assert_eq!(text.len() as u64, counts.text_bytes);
    assert_eq!(type_lines, counts.university_types());
    assert_eq!(
        (type_lines, distinct_types, seen.len()),
        (3510, 979, 100_543)
    );
    assert_eq!(
        hex(&distinct_hash.finalize()),
        "5bcd4ac16b5bd34402ceee37b2dc7630d1ece4df853225e497358c88e48a8ba2"
    );
}

#[test]
fn begins_and_ends_as_the_original() {
    let (text, _) = n_triples(0, 0);
    let text = str::from_utf8(text.as_bytes()).unwrap();
    let rdf_type = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>";
    let ub = ONTOLOGY_URL;
    let university = "<http://www.University0.edu>";
    let department = "<http://www.Department0.University0.edu>";
    let expected = [
        format!("{university} {rdf_type} <{ub}#University> ."),
        format!("{university} <{ub}#name> \"University0\" ."),
        format!("{department} {rdf_type} <{ub}#Department> ."),
        format!("{department} <{ub}#name> \"Department0\" ."),
        format!("{department} <{ub}#subOrganizationOf> {university} ."),
        format!("{university} {rdf_type} <{ub}#University> ."),
        format!(
            "<http://www.Department0.University0.edu/FullProfessor0> {rdf_type} <{ub}#FullProfessor> ."
        ),
    ];
    assert!(text.lines().take(7).eq(expected));
    let last = text.lines().last().unwrap();
    let student = "<http://www.Department14.University0.edu/GraduateStudent";
    assert!(last.starts_with(student), "{last}");
    assert!(last.ends_with(&format!("> {rdf_type} <{ub}#ResearchAssistant> .")));
    assert!(text.ends_with(" .\n"));
}

#[test]
fn is_what_the_plain_twin_writes() {
    let long_url = format!("http://example.org/{}/univ-bench.owl", "path/".repeat(40));
    let mut random = JavaRandom::new(20_240_607);
    let mut inputs = vec![
        (i32::MAX, i32::MAX as u32, ONTOLOGY_URL),
        (i32::MIN, 999, "a:"),
        (0, 1_000_000, &long_url),
    ];
    for _ in 0..4 {
        let seed = random.next_31().cast_signed() - (1 << 30);
        inputs.push((seed, random.next_31() >> random.next_int(31), ONTOLOGY_URL));
    }
    for (seed, index, url) in inputs {
        let template = Template::new(Syntax::NTriples, url);
        let plain = Plain::new(url, seed, index);
        let mut text = TextBuffer::default();
        let mut university = University::new(&template, seed, index);
        for state in &plain.states {
            assert!(university.next_department(&mut text).is_some());
            assert_eq!(
                university.random_state(),
                *state,
                "seed {seed}, university {index}"
            );
        }
        assert!(university.next_department(&mut text).is_none());
        let lines = str::from_utf8(text.as_bytes()).unwrap();
        for (line, expected) in lines.lines().zip(plain.lines.lines()) {
            assert_eq!(line, expected, "seed {seed}, university {index}");
        }
        assert_eq!(
            lines.len(),
            plain.lines.len(),
            "seed {seed}, university {index}"
        );
    }
}

#[test]
fn turtle_says_the_same_in_the_same_order() {
    let two_departments = |syntax| {
        let template = Template::new(syntax, ONTOLOGY_URL);
        let mut text = TextBuffer::default();
        text.push(&template.header);
        let mut university = University::new(&template, 3, 77);
        let mut counts = university.next_department(&mut text).unwrap();
        counts += university.next_department(&mut text).unwrap();
        (text, counts)
    };
    let (lines, counts) = two_departments(Syntax::NTriples);
    let (turtle, turtle_counts) = two_departments(Syntax::Turtle);
    assert_eq!(counts.statements, turtle_counts.statements);
    assert!(turtle_counts.text_bytes < counts.text_bytes * 3 / 4);
    let mut triples = NTriplesParser::new().for_slice(lines.as_bytes());
    let mut parsed = 0;
    for triple in TurtleParser::new().for_slice(turtle.as_bytes()) {
        assert_eq!(Some(triple.unwrap()), triples.next().map(Result::unwrap));
        parsed += 1;
    }
    assert!(triples.next().is_none());
    assert_eq!(parsed, counts.statements);
}
