//! The plain twin of the generator: the specification word for word, one format string a line, lists where the
//! original has lists. It is the oracle of the tests, for inputs that no check sums are known of.

use crate::random::JavaRandom;
use std::fmt::Write;

pub(super) struct Plain<'a> {
    ontology_url: &'a str,
    random: JavaRandom,
    university: String,
    department: String,
    host: String,
    pub(super) lines: String,
    /// The state of the random generator after each department.
    pub(super) states: Vec<u64>,
}

struct Publication {
    iri: String,
    name: String,
    authors: Vec<String>,
}

impl<'a> Plain<'a> {
    pub(super) fn new(ontology_url: &'a str, seed: i32, k: u32) -> Self {
        let seed = i64::from(seed) * -2_147_483_648 + i64::from(k);
        let mut plain = Self {
            ontology_url,
            random: JavaRandom::new(seed),
            university: format!("http://www.University{k}.edu"),
            department: String::new(),
            host: String::new(),
            lines: String::new(),
            states: Vec::new(),
        };
        let departments = plain.random.range(15, 25);
        for d in 0..departments {
            plain.host = format!("Department{d}.University{k}.edu");
            plain.department = format!("http://www.{}", plain.host);
            plain.one_department(k, d);
            plain.states.push(plain.random.state());
        }
        plain
    }

    fn iri(&mut self, s: &str, p: &str, o: &str) {
        let url = self.ontology_url;
        writeln!(self.lines, "<{s}> <{url}#{p}> <{o}> .").expect("memory takes everything");
    }

    fn literal(&mut self, s: &str, p: &str, o: &str) {
        let url = self.ontology_url;
        writeln!(self.lines, "<{s}> <{url}#{p}> \"{o}\" .").expect("memory takes everything");
    }

    fn typed(&mut self, s: &str, class: &str) {
        let url = self.ontology_url;
        let rdf_type = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
        writeln!(self.lines, "<{s}> <{rdf_type}> <{url}#{class}> .")
            .expect("memory takes everything");
    }

    fn reference_university(&mut self, s: &str, p: &str, university: &str) {
        self.iri(s, p, university);
        self.typed(university, "University");
    }

    fn degree(&mut self, s: &str, p: &str) {
        let university = format!("http://www.University{}.edu", self.random.next_int(1000));
        self.reference_university(s, p, &university);
    }

    fn instance(&self, class: &str, i: u32) -> String {
        format!("{}/{class}{i}", self.department)
    }

    fn pick(&mut self, n: u32, m: usize) -> Vec<usize> {
        let mut list: Vec<usize> = (0..m).collect();
        (0..n)
            .map(|_| {
                let position = self.random.next_int(list.len() as u32);
                list.remove(position as usize)
            })
            .collect()
    }

    fn one_department(&mut self, k: u32, d: u32) {
        let full = self.random.range(7, 10);
        let associate = self.random.range(10, 14);
        let assistant = self.random.range(8, 11);
        let lecturers = self.random.range(5, 7);
        let faculty = full + associate + assistant + lecturers;
        let undergraduates = self.random.range(8 * faculty, 14 * faculty);
        let graduates = self.random.range(3 * faculty, 4 * faculty);
        let teaching = self.random.range(graduates / 5, graduates / 4);
        let research = self.random.range(graduates / 4, graduates / 3);
        let groups = self.random.range(10, 20);
        let chair = self.random.next_int(full);

        let (university, department) = (self.university.clone(), self.department.clone());
        if d == 0 {
            self.typed(&university, "University");
            self.literal(&university, "name", &format!("University{k}"));
        }
        self.typed(&department, "Department");
        self.literal(&department, "name", &format!("Department{d}"));
        self.reference_university(&department, "subOrganizationOf", &university);

        let (mut courses, mut graduate_courses) = (0, 0);
        let mut publications: Vec<Publication> = Vec::new();
        for (kind, count, fewest, most) in [
            ("FullProfessor", full, 15, 20),
            ("AssociateProfessor", associate, 10, 18),
            ("AssistantProfessor", assistant, 5, 10),
            ("Lecturer", lecturers, 0, 5),
        ] {
            for i in 0..count {
                let x = self.instance(kind, i);
                self.typed(&x, kind);
                self.literal(&x, "name", &format!("{kind}{i}"));
                for _ in 0..self.random.range(1, 2) {
                    self.random.next_int(100 - courses);
                    self.iri(&x, "teacherOf", &self.instance("Course", courses));
                    courses += 1;
                }
                for _ in 0..self.random.range(1, 2) {
                    self.random.next_int(100 - graduate_courses);
                    let course = self.instance("GraduateCourse", graduate_courses);
                    self.iri(&x, "teacherOf", &course);
                    graduate_courses += 1;
                }
                self.degree(&x, "undergraduateDegreeFrom");
                self.degree(&x, "mastersDegreeFrom");
                self.degree(&x, "doctoralDegreeFrom");
                self.iri(&x, "worksFor", &department);
                let host = self.host.clone();
                self.literal(&x, "emailAddress", &format!("{kind}{i}@{host}"));
                self.literal(&x, "telephone", "xxx-xxx-xxxx");
                if kind != "Lecturer" {
                    let r = self.random.next_int(30);
                    self.literal(&x, "researchInterest", &format!("Research{r}"));
                }
                if kind == "FullProfessor" && i == chair {
                    self.iri(&x, "headOf", &department);
                }
                for j in 0..self.random.range(fewest, most) {
                    publications.push(Publication {
                        iri: format!("{x}/Publication{j}"),
                        name: format!("Publication{j}"),
                        authors: vec![x.clone()],
                    });
                }
            }
        }
        for i in 0..undergraduates {
            let x = self.student("UndergraduateStudent", i);
            let n = self.random.range(2, 4);
            for c in self.pick(n, courses as usize) {
                self.iri(&x, "takesCourse", &self.instance("Course", c as u32));
            }
            if self.random.next_int(5) == 0 {
                self.advisor(&x, [full, associate, assistant]);
            }
        }
        for i in 0..graduates {
            let x = self.student("GraduateStudent", i);
            let n = self.random.range(1, 3);
            for c in self.pick(n, graduate_courses as usize) {
                self.iri(
                    &x,
                    "takesCourse",
                    &self.instance("GraduateCourse", c as u32),
                );
            }
            self.degree(&x, "undergraduateDegreeFrom");
            self.random.next_int(1);
            self.advisor(&x, [full, associate, assistant]);
            let n = self.random.range(0, 5);
            for p in self.pick(n, publications.len()) {
                publications[p].authors.push(x.clone());
            }
        }
        for i in 0..groups {
            let x = self.instance("ResearchGroup", i);
            self.typed(&x, "ResearchGroup");
            self.iri(&x, "subOrganizationOf", &department);
        }
        for publication in &publications {
            self.typed(&publication.iri, "Publication");
            self.literal(&publication.iri, "name", &publication.name);
            for author in &publication.authors {
                self.iri(&publication.iri, "publicationAuthor", author);
            }
        }
        for (class, count) in [("Course", courses), ("GraduateCourse", graduate_courses)] {
            for i in 0..count {
                let x = self.instance(class, i);
                self.typed(&x, class);
                self.literal(&x, "name", &format!("{class}{i}"));
            }
        }
        let students = self.pick(teaching + research, graduates as usize);
        let assisted = self.pick(teaching, courses as usize);
        for (t, student) in students.iter().enumerate() {
            let s = self.instance("GraduateStudent", *student as u32);
            if let Some(course) = assisted.get(t) {
                self.typed(&s, "TeachingAssistant");
                let course = self.instance("Course", *course as u32);
                self.iri(&s, "teachingAssistantOf", &course);
            } else {
                self.typed(&s, "ResearchAssistant");
            }
        }
    }

    fn student(&mut self, class: &str, i: u32) -> String {
        let x = self.instance(class, i);
        let (department, host) = (self.department.clone(), self.host.clone());
        self.typed(&x, class);
        self.literal(&x, "name", &format!("{class}{i}"));
        self.iri(&x, "memberOf", &department);
        self.literal(&x, "emailAddress", &format!("{class}{i}@{host}"));
        self.literal(&x, "telephone", "xxx-xxx-xxxx");
        x
    }

    fn advisor(&mut self, x: &str, counts: [u32; 3]) {
        let kind = self.random.next_int(3) as usize;
        let class = ["FullProfessor", "AssociateProfessor", "AssistantProfessor"][kind];
        let y = self.random.next_int(counts[kind]);
        self.iri(x, "advisor", &self.instance(class, y));
    }
}
