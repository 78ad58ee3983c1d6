//! What is known of the data of seed 0 from university 0 on, at three scales: sizes, check sums, and how
//! much inference adds. It is what a store's results are checked against.
//!
//! Sizes that speak of *triples* are those of a graph, which is a set; the text repeats some statements
//! (see [`Reference::statements`]).

/// How much of the ontology's meaning an engine draws conclusions from, the weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Inference {
    /// The data alone.
    Plain = 0,
    /// Asserted subclasses and subproperties.
    Hierarchy = 1,
    /// Also domains and ranges.
    Rdfs = 2,
    /// Also inverse and transitive properties.
    RdfsPlus = 3,
    /// Also the definitions of classes, in both directions. All that the 14 queries can need.
    Full = 4,
}

impl Inference {
    /// Every level, the weakest first.
    pub const ALL: [Self; 5] = [
        Self::Plain,
        Self::Hierarchy,
        Self::Rdfs,
        Self::RdfsPlus,
        Self::Full,
    ];
}

/// What is known of the data of one scale.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// How many universities.
    pub universities: u32,
    /// Statements in the text, the repeated ones included: N-Triples lines.
    pub statements: u64,
    /// Bytes of the N-Triples.
    pub bytes: u64,
    /// SHA-256 of the N-Triples, in hexadecimal digits.
    pub sha256: &'static str,
    /// Departments.
    pub departments: u64,
    /// Professors and lecturers.
    pub faculty: u64,
    /// Distinct triples after inference, by [`Inference`]: asserted ones and derived ones whose
    /// predicate or class is a named one of the ontology; no schema triples.
    triples: [u64; 5],
}

impl Reference {
    /// What is known of this many universities: 1, 10 or 50.
    pub fn of(universities: u32) -> Option<&'static Self> {
        Some(&REFERENCES[scale_index(universities)?])
    }

    /// Distinct triples of data and what can be derived from it.
    pub fn triples(&self, inference: Inference) -> u64 {
        self.triples[inference as usize]
    }
}

/// The three scales.
pub const SCALES: [u32; 3] = [1, 10, 50];

pub(crate) fn scale_index(universities: u32) -> Option<usize> {
    SCALES.iter().position(|scale| *scale == universities)
}

/// What is known of each scale, in the order of [`SCALES`].
pub const REFERENCES: [Reference; 3] = [
    Reference {
        universities: 1,
        statements: 103_074,
        bytes: 17_484_175,
        sha256: "c36294ca05933f639b6ebb603a8955a970a3f0a5a1e2c43922cd662241e16c02",
        departments: 15,
        faculty: 540,
        triples: [100_543, 117_538, 123_994, 136_042, 137_931],
    },
    Reference {
        universities: 10,
        statements: 1_316_322,
        bytes: 223_611_329,
        sha256: "f1a9852cdbd04659febf3c2ddcb0df52eb4579ca038d7b97000000cc8892685d",
        departments: 189,
        faculty: 6843,
        triples: [1_272_575, 1_477_585, 1_559_975, 1_713_729, 1_737_937],
    },
    Reference {
        universities: 50,
        statements: 6_888_642,
        bytes: 1_178_669_367,
        sha256: "d2998238834394064deee9eaf8ff6fbabca475522b71a75b4f77604e41bdd342",
        departments: 999,
        faculty: 35_973,
        triples: [6_654_562, 7_725_017, 8_154_720, 8_959_304, 9_086_415],
    },
];

/// Instances of each class after full inference, by [`SCALES`]; classes without instances are left out.
#[rustfmt::skip]
pub const INSTANCES: &[(&str, [u64; 3])] = &[
    ("AssistantProfessor", [146, 1_822, 9_526]),
    ("AssociateProfessor", [176, 2_291, 11_958]),
    ("Chair", [15, 189, 999]),
    ("Course", [1_627, 20_472, 108_001]),
    ("Department", [15, 189, 999]),
    ("Employee", [540, 6_843, 35_973]),
    ("Faculty", [540, 6_843, 35_973]),
    ("FullProfessor", [125, 1_602, 8_492]),
    ("GraduateCourse", [799, 10_194, 53_949]),
    ("GraduateStudent", [1_874, 24_019, 126_112]),
    ("Lecturer", [93, 1_128, 5_997]),
    ("Organization", [1_218, 4_016, 16_860]),
    ("Person", [8_330, 106_409, 555_815]),
    ("Professor", [447, 5_715, 29_976]),
    ("Publication", [5_999, 76_529, 402_142]),
    ("ResearchAssistant", [547, 6_960, 36_384]),
    ("ResearchGroup", [224, 2_827, 14_861]),
    ("Student", [7_790, 99_566, 519_842]),
    ("TeachingAssistant", [407, 5_294, 27_934]),
    ("UndergraduateStudent", [5_916, 75_547, 393_730]),
    ("University", [979, 1_000, 1_000]),
    ("Work", [1_627, 20_472, 108_001]),
];

/// Pairs of each property after full inference, by [`SCALES`]; properties without pairs are left out.
#[rustfmt::skip]
pub const PAIRS: &[(&str, [u64; 3])] = &[
    ("advisor", [3_101, 39_255, 204_930]),
    ("degreeFrom", [3_494, 44_518, 233_908]),
    ("doctoralDegreeFrom", [540, 6_843, 35_973]),
    ("emailAddress", [8_330, 106_409, 555_815]),
    ("hasAlumnus", [3_494, 44_518, 233_908]),
    ("headOf", [15, 189, 999]),
    ("mastersDegreeFrom", [540, 6_843, 35_973]),
    ("member", [8_330, 106_409, 555_815]),
    ("memberOf", [8_330, 106_409, 555_815]),
    ("name", [15_972, 203_609, 1_067_007]),
    ("publicationAuthor", [10_634, 136_871, 717_506]),
    ("researchInterest", [447, 5_715, 29_976]),
    ("subOrganizationOf", [463, 5_843, 30_721]),
    ("takesCourse", [21_489, 274_699, 1_433_737]),
    ("teacherOf", [1_627, 20_472, 108_001]),
    ("teachingAssistantOf", [407, 5_294, 27_934]),
    ("telephone", [8_330, 106_409, 555_815]),
    ("undergraduateDegreeFrom", [2_414, 30_862, 162_085]),
    ("worksFor", [540, 6_843, 35_973]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ontology::{CLASSES, PROPERTIES};

    #[test]
    fn classes_and_properties_add_up_to_the_closure() {
        for (scale, reference) in REFERENCES.iter().enumerate() {
            let sum = |table: &[(&str, [u64; 3])]| -> u64 {
                table.iter().map(|(_, sizes)| sizes[scale]).sum()
            };
            assert_eq!(
                sum(INSTANCES) + sum(PAIRS),
                reference.triples(Inference::Full)
            );
        }
    }

    #[test]
    fn every_name_is_the_ontologys() {
        for (name, _) in INSTANCES {
            assert!(CLASSES.iter().any(|class| class.name == *name), "{name}");
        }
        for (name, _) in PAIRS {
            assert!(
                PROPERTIES.iter().any(|property| property.name == *name),
                "{name}"
            );
        }
    }

    #[test]
    fn more_inference_never_loses_triples() {
        for reference in &REFERENCES {
            assert!(reference.triples.is_sorted());
            assert!(reference.triples(Inference::Plain) < reference.statements);
        }
        assert!(Inference::ALL.is_sorted());
        assert!(Reference::of(2).is_none());
    }
}
