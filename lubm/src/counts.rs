//! How much of everything there is, counted while it is made.

use std::ops::AddAssign;

/// How much of everything a department, a university or a run has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say what is counted")]
pub struct Counts {
    pub universities: u64,
    pub departments: u64,
    pub full_professors: u64,
    pub associate_professors: u64,
    pub assistant_professors: u64,
    pub lecturers: u64,
    pub undergraduate_students: u64,
    pub graduate_students: u64,
    pub teaching_assistants: u64,
    pub research_assistants: u64,
    pub research_groups: u64,
    pub courses: u64,
    pub graduate_courses: u64,
    pub publications: u64,
    /// Statements written, repeated ones included; in N-Triples, lines.
    pub statements: u64,
    /// Bytes of text, before compression.
    pub text_bytes: u64,
}

impl Counts {
    /// Professors of the three kinds and lecturers.
    pub fn faculty(&self) -> u64 {
        self.full_professors
            + self.associate_professors
            + self.assistant_professors
            + self.lecturers
    }

    /// Statements that type a university; the only ones that are ever repeated.
    pub fn university_types(&self) -> u64 {
        self.universities + self.departments + 3 * self.faculty() + self.graduate_students
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.universities += other.universities;
        self.departments += other.departments;
        self.full_professors += other.full_professors;
        self.associate_professors += other.associate_professors;
        self.assistant_professors += other.assistant_professors;
        self.lecturers += other.lecturers;
        self.undergraduate_students += other.undergraduate_students;
        self.graduate_students += other.graduate_students;
        self.teaching_assistants += other.teaching_assistants;
        self.research_assistants += other.research_assistants;
        self.research_groups += other.research_groups;
        self.courses += other.courses;
        self.graduate_courses += other.graduate_courses;
        self.publications += other.publications;
        self.statements += other.statements;
        self.text_bytes += other.text_bytes;
    }
}
