//! The 14 queries, and what they must answer on the data of seed 0 from university 0 on.
//!
//! The queries are the published ones, patterns in the published order, in valid SPARQL 1.1. Their
//! constants are the same at every scale. Each projects all of its variables, so its answers are distinct
//! by themselves.

use crate::names::{ONTOLOGY_URL, RDF};
use crate::reference::{Inference, scale_index};
use std::fmt;

/// One of the 14 queries.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    /// From 1 to 14.
    pub number: u8,
    /// Its shape, and what it needs.
    pub about: &'static str,
    /// The query without prefixes.
    pattern: &'static str,
    /// Answers by [`Inference`] and scale.
    answers: [[u64; 3]; 5],
}

impl Query {
    /// The query with this number, if there is one.
    pub fn numbered(number: u8) -> Option<&'static Self> {
        QUERIES.iter().find(|query| query.number == number)
    }

    /// The query, ready to be asked of data with the usual ontology.
    pub fn text(&self) -> String {
        self.text_for(ONTOLOGY_URL)
    }

    /// The query for data whose classes and properties are `ontology_url`, `#` and a name.
    pub fn text_for(&self, ontology_url: &str) -> String {
        format!(
            "PREFIX rdf: <{RDF}>\nPREFIX ub: <{ontology_url}#>\n{}",
            self.pattern
        )
    }

    /// How many answers there are, where it is known: for 1, 10 and 50 universities.
    pub fn answers(&self, inference: Inference, universities: u32) -> Option<u64> {
        Some(self.answers[inference as usize][scale_index(universities)?])
    }

    /// Whether there are answers that only inference finds. (The plain data has all of 1, 2, 3 and 14.)
    pub fn needs_inference(&self) -> bool {
        self.weakest_sufficient() != Inference::Plain
    }

    /// The weakest inference that finds every answer.
    pub fn weakest_sufficient(&self) -> Inference {
        let complete = |level: &Inference| {
            self.answers[*level as usize] == self.answers[Inference::Full as usize]
        };
        Inference::ALL
            .into_iter()
            .find(complete)
            .unwrap_or(Inference::Full)
    }
}

/// `Q7`
impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Q{}", self.number)
    }
}

/// All of them, in order.
#[rustfmt::skip]
pub const QUERIES: [Query; 14] = [
    Query {
        number: 1,
        about: "Selective: one class, one property.",
        pattern: "SELECT ?X WHERE {\n\
            \x20 ?X rdf:type ub:GraduateStudent .\n\
            \x20 ?X ub:takesCourse <http://www.Department0.University0.edu/GraduateCourse0> .\n\
            }\n",
        answers: [[4, 4, 4], [4, 4, 4], [4, 4, 4], [4, 4, 4], [4, 4, 4]],
    },
    Query {
        number: 2,
        about: "A triangle of student, department and university.",
        pattern: "SELECT ?X ?Y ?Z WHERE {\n\
            \x20 ?X rdf:type ub:GraduateStudent .\n\
            \x20 ?Y rdf:type ub:University .\n\
            \x20 ?Z rdf:type ub:Department .\n\
            \x20 ?X ub:memberOf ?Z .\n\
            \x20 ?Z ub:subOrganizationOf ?Y .\n\
            \x20 ?X ub:undergraduateDegreeFrom ?Y .\n\
            }\n",
        answers: [[0, 28, 130], [0, 28, 130], [0, 28, 130], [0, 28, 130], [0, 28, 130]],
    },
    Query {
        number: 3,
        about: "Selective.",
        pattern: "SELECT ?X WHERE {\n\
            \x20 ?X rdf:type ub:Publication .\n\
            \x20 ?X ub:publicationAuthor <http://www.Department0.University0.edu/AssistantProfessor0> .\n\
            }\n",
        answers: [[6, 6, 6], [6, 6, 6], [6, 6, 6], [6, 6, 6], [6, 6, 6]],
    },
    Query {
        number: 4,
        about: "A star with three literals; needs the subclasses of professor.",
        pattern: "SELECT ?X ?Y1 ?Y2 ?Y3 WHERE {\n\
            \x20 ?X rdf:type ub:Professor .\n\
            \x20 ?X ub:worksFor <http://www.Department0.University0.edu> .\n\
            \x20 ?X ub:name ?Y1 .\n\
            \x20 ?X ub:emailAddress ?Y2 .\n\
            \x20 ?X ub:telephone ?Y3 .\n\
            }\n",
        answers: [[0, 0, 0], [34, 34, 34], [34, 34, 34], [34, 34, 34], [34, 34, 34]],
    },
    Query {
        number: 5,
        about: "Selective; needs persons, and that who works somewhere is a member.",
        pattern: "SELECT ?X WHERE {\n\
            \x20 ?X rdf:type ub:Person .\n\
            \x20 ?X ub:memberOf <http://www.Department0.University0.edu> .\n\
            }\n",
        answers: [[0, 0, 0], [146, 146, 146], [719, 719, 719], [719, 719, 719], [719, 719, 719]],
    },
    Query {
        number: 6,
        about: "A whole class; needs the definition of student.",
        pattern: "SELECT ?X WHERE {\n\
            \x20 ?X rdf:type ub:Student .\n\
            }\n",
        answers: [[0, 0, 0], [5_916, 75_547, 393_730], [5_916, 75_547, 393_730], [5_916, 75_547, 393_730], [7_790, 99_566, 519_842]],
    },
    Query {
        number: 7,
        about: "A join with one constant; needs students, and that graduate courses are courses.",
        pattern: "SELECT ?X ?Y WHERE {\n\
            \x20 ?X rdf:type ub:Student .\n\
            \x20 ?Y rdf:type ub:Course .\n\
            \x20 ?X ub:takesCourse ?Y .\n\
            \x20 <http://www.Department0.University0.edu/AssociateProfessor0> ub:teacherOf ?Y .\n\
            }\n",
        answers: [[0, 0, 0], [59, 59, 59], [59, 59, 59], [59, 59, 59], [67, 67, 67]],
    },
    Query {
        number: 8,
        about: "A join; needs students.",
        pattern: "SELECT ?X ?Y ?Z WHERE {\n\
            \x20 ?X rdf:type ub:Student .\n\
            \x20 ?Y rdf:type ub:Department .\n\
            \x20 ?X ub:memberOf ?Y .\n\
            \x20 ?Y ub:subOrganizationOf <http://www.University0.edu> .\n\
            \x20 ?X ub:emailAddress ?Z .\n\
            }\n",
        answers: [[0, 0, 0], [5_916, 5_916, 5_916], [5_916, 5_916, 5_916], [5_916, 5_916, 5_916], [7_790, 7_790, 7_790]],
    },
    Query {
        number: 9,
        about: "A triangle of student, faculty and course; needs three class hierarchies.",
        pattern: "SELECT ?X ?Y ?Z WHERE {\n\
            \x20 ?X rdf:type ub:Student .\n\
            \x20 ?Y rdf:type ub:Faculty .\n\
            \x20 ?Z rdf:type ub:Course .\n\
            \x20 ?X ub:advisor ?Y .\n\
            \x20 ?Y ub:teacherOf ?Z .\n\
            \x20 ?X ub:takesCourse ?Z .\n\
            }\n",
        answers: [[0, 0, 0], [103, 1_233, 6_538], [103, 1_233, 6_538], [103, 1_233, 6_538], [208, 2_540, 13_639]],
    },
    Query {
        number: 10,
        about: "Selective; needs the definition of student.",
        pattern: "SELECT ?X WHERE {\n\
            \x20 ?X rdf:type ub:Student .\n\
            \x20 ?X ub:takesCourse <http://www.Department0.University0.edu/GraduateCourse0> .\n\
            }\n",
        answers: [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [4, 4, 4]],
    },
    Query {
        number: 11,
        about: "Selective; needs a transitive property.",
        pattern: "SELECT ?X WHERE {\n\
            \x20 ?X rdf:type ub:ResearchGroup .\n\
            \x20 ?X ub:subOrganizationOf <http://www.University0.edu> .\n\
            }\n",
        answers: [[0, 0, 0], [0, 0, 0], [0, 0, 0], [224, 224, 224], [224, 224, 224]],
    },
    Query {
        number: 12,
        about: "A join; needs the definition of chair.",
        pattern: "SELECT ?X ?Y WHERE {\n\
            \x20 ?X rdf:type ub:Chair .\n\
            \x20 ?Y rdf:type ub:Department .\n\
            \x20 ?X ub:worksFor ?Y .\n\
            \x20 ?Y ub:subOrganizationOf <http://www.University0.edu> .\n\
            }\n",
        answers: [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [15, 15, 15]],
    },
    Query {
        number: 13,
        about: "Selective; needs an inverse of a super-property.",
        pattern: "SELECT ?X WHERE {\n\
            \x20 ?X rdf:type ub:Person .\n\
            \x20 <http://www.University0.edu> ub:hasAlumnus ?X .\n\
            }\n",
        answers: [[0, 0, 0], [0, 0, 0], [0, 0, 0], [1, 33, 228], [1, 33, 228]],
    },
    Query {
        number: 14,
        about: "A whole class.",
        pattern: "SELECT ?X WHERE {\n\
            \x20 ?X rdf:type ub:UndergraduateStudent .\n\
            }\n",
        answers: [[5_916, 75_547, 393_730], [5_916, 75_547, 393_730], [5_916, 75_547, 393_730], [5_916, 75_547, 393_730], [5_916, 75_547, 393_730]],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ontology::{CLASSES, PROPERTIES};
    use spargebra::SparqlParser;

    #[test]
    fn every_query_is_sparql() {
        for query in &QUERIES {
            for url in [ONTOLOGY_URL, "http://example.org/o"] {
                let text = query.text_for(url);
                if let Err(error) = SparqlParser::new().parse_query(&text) {
                    panic!("{query}: {error}\n{text}");
                }
            }
        }
    }

    #[test]
    fn every_query_asks_for_what_the_ontology_has() {
        for query in &QUERIES {
            for name in query.pattern.split("ub:").skip(1) {
                let end = name.find(|c: char| !c.is_ascii_alphanumeric());
                let name = &name[..end.unwrap_or(name.len())];
                assert!(
                    CLASSES.iter().any(|class| class.name == name)
                        || PROPERTIES.iter().any(|property| property.name == name),
                    "{query}: {name}"
                );
            }
        }
    }

    #[test]
    fn more_inference_never_loses_answers() {
        for query in &QUERIES {
            for scale in 0..3 {
                assert!(
                    query.answers.is_sorted_by_key(|level| level[scale]),
                    "{query}"
                );
            }
        }
    }

    #[test]
    fn says_which_queries_the_plain_data_answers() {
        let plain: Vec<u8> = QUERIES
            .iter()
            .filter(|query| !query.needs_inference())
            .map(|query| query.number)
            .collect();
        assert_eq!(plain, [1, 2, 3, 14]);
        let numbered = |number| Query::numbered(number).unwrap();
        assert_eq!(numbered(4).weakest_sufficient(), Inference::Hierarchy);
        assert_eq!(numbered(5).weakest_sufficient(), Inference::Rdfs);
        assert_eq!(numbered(11).weakest_sufficient(), Inference::RdfsPlus);
        assert_eq!(numbered(6).weakest_sufficient(), Inference::Full);
        assert!(Query::numbered(15).is_none());
    }

    #[test]
    fn numbers_that_are_remembered() {
        // The published answers for one university.
        let published = [4, 0, 6, 34, 719, 7790, 67, 7790, 208, 4, 224, 15, 1, 5916];
        let ours = QUERIES.map(|query| query.answers(Inference::Full, 1).unwrap());
        assert_eq!(ours, published);
        assert_eq!(QUERIES[1].answers(Inference::Plain, 50), Some(130));
        assert_eq!(QUERIES[1].answers(Inference::Plain, 2), None);
    }
}
