//! One university, department by department: the draws and the lines, in the original's order.
//!
//! A university has a random generator of its own and shares nothing with the others, so its text depends
//! on the seed and its index alone, and universities can be made in any order by any thread. Within one,
//! a department starts with the random state that the one before left, and cannot be made apart.
//!
//! The order of the draws is the specification: a draw moved, saved or added changes everything after it.
//! Some results are thrown away (the original draws from pools and then takes the front); the draws stay.

use crate::counts::Counts;
use crate::names::{Class, DEGREE_UNIVERSITIES, RESEARCH_INTERESTS};
use crate::random::{JavaRandom, Picked};
use crate::template::{DepartmentFragments, Template};
use crate::text::{Ending, Fragment, TextBuffer};

/// Courses of each kind in a department's pool.
const COURSE_POOL: u32 = 100;

/// A university being generated.
#[derive(Debug)]
pub(crate) struct University<'a> {
    template: &'a Template,
    index: u32,
    random: JavaRandom,
    departments: u32,
    /// The next department.
    next: u32,
    scratch: Scratch,
}

/// What one department collects, kept to be used again by the next.
#[derive(Debug, Default)]
struct Scratch {
    publications: Vec<Publication>,
    /// For each publication that a graduate student joined: its position, and the student.
    coauthors: Vec<(u32, u32)>,
    picked: Picked,
    other_picked: Picked,
    subject: Option<Fragment>,
}

#[derive(Debug)]
struct Publication {
    class: Class,
    author: u32,
    number: u32,
}

impl<'a> University<'a> {
    pub(crate) fn new(template: &'a Template, seed: i32, index: u32) -> Self {
        // The original computes "largest int + 1" in 32 bits, where it is the smallest.
        let seed = i64::from(seed) * i64::from(i32::MIN) + i64::from(index);
        let mut random = JavaRandom::new(seed);
        let departments = random.range(15, 25);
        Self {
            template,
            index,
            random,
            departments,
            next: 0,
            scratch: Scratch::default(),
        }
    }

    /// The state of the university's random generator.
    #[cfg(test)]
    pub(crate) fn random_state(&self) -> u64 {
        self.random.state()
    }

    /// Appends the next department (with the first also the university itself), or returns `None` after
    /// the last one.
    pub(crate) fn next_department(&mut self, text: &mut TextBuffer) -> Option<Counts> {
        if self.next == self.departments {
            return None;
        }
        let number = self.next;
        self.next += 1;
        self.scratch.publications.clear();
        self.scratch.coauthors.clear();
        let (lines_before, bytes_before) = (text.lines(), text.as_bytes().len());
        let plan = Plan::draw(&mut self.random);
        let mut department = Department {
            template: self.template,
            fragments: DepartmentFragments::new(self.template, self.index, number),
            number,
            random: &mut self.random,
            plan,
            subject: self
                .scratch
                .subject
                .take()
                .unwrap_or_else(|| Fragment::new(&[])),
            scratch: &mut self.scratch,
            courses: 0,
            graduate_courses: 0,
            text,
        };
        department.write();
        let mut counts = department.counts();
        self.scratch.subject = Some(department.subject);
        counts.statements = text.lines() - lines_before;
        counts.text_bytes = (text.as_bytes().len() - bytes_before) as u64;
        Some(counts)
    }
}

/// How many of everything a department has, as drawn before anything is written.
#[derive(Debug)]
struct Plan {
    full: u32,
    associate: u32,
    assistant: u32,
    lecturers: u32,
    undergraduates: u32,
    graduates: u32,
    teaching_assistants: u32,
    research_assistants: u32,
    groups: u32,
    /// Which full professor is the head.
    chair: u32,
}

impl Plan {
    fn draw(random: &mut JavaRandom) -> Self {
        let full = random.range(7, 10);
        let associate = random.range(10, 14);
        let assistant = random.range(8, 11);
        let lecturers = random.range(5, 7);
        let faculty = full + associate + assistant + lecturers;
        let undergraduates = random.range(8 * faculty, 14 * faculty);
        let graduates = random.range(3 * faculty, 4 * faculty);
        Self {
            full,
            associate,
            assistant,
            lecturers,
            undergraduates,
            graduates,
            teaching_assistants: random.range(graduates / 5, graduates / 4),
            research_assistants: random.range(graduates / 4, graduates / 3),
            groups: random.range(10, 20),
            chair: random.next_int(full),
        }
    }
}

struct Department<'a> {
    template: &'a Template,
    fragments: DepartmentFragments,
    number: u32,
    random: &'a mut JavaRandom,
    plan: Plan,
    /// The subject of the lines being written.
    subject: Fragment,
    scratch: &'a mut Scratch,
    /// Courses assigned so far.
    courses: u32,
    graduate_courses: u32,
    text: &'a mut TextBuffer,
}

impl Department<'_> {
    fn write(&mut self) {
        if self.number == 0 {
            self.university();
        }
        self.department();
        for (class, count) in [
            (Class::FullProfessor, self.plan.full),
            (Class::AssociateProfessor, self.plan.associate),
            (Class::AssistantProfessor, self.plan.assistant),
            (Class::Lecturer, self.plan.lecturers),
        ] {
            for number in 0..count {
                self.faculty_member(class, number);
            }
        }
        for number in 0..self.plan.undergraduates {
            self.undergraduate(number);
        }
        for number in 0..self.plan.graduates {
            self.graduate(number);
        }
        self.research_groups();
        self.publications();
        self.course_descriptions(Class::Course, self.courses);
        self.course_descriptions(Class::GraduateCourse, self.graduate_courses);
        self.assistants();
    }

    fn counts(&self) -> Counts {
        Counts {
            universities: u64::from(self.number == 0),
            departments: 1,
            full_professors: self.plan.full.into(),
            associate_professors: self.plan.associate.into(),
            assistant_professors: self.plan.assistant.into(),
            lecturers: self.plan.lecturers.into(),
            undergraduate_students: self.plan.undergraduates.into(),
            graduate_students: self.plan.graduates.into(),
            teaching_assistants: self.plan.teaching_assistants.into(),
            research_assistants: self.plan.research_assistants.into(),
            research_groups: self.plan.groups.into(),
            courses: self.courses.into(),
            graduate_courses: self.graduate_courses.into(),
            publications: self.scratch.publications.len() as u64,
            statements: 0,
            text_bytes: 0,
        }
    }

    fn university(&mut self) {
        self.university_type();
        self.text.push(&self.fragments.university);
        self.text.line(&self.fragments.university_name);
    }

    fn university_type(&mut self) {
        self.text.push(&self.fragments.university);
        self.text
            .line(self.template.type_line.get(Class::University));
    }

    fn department(&mut self) {
        self.text.push(&self.fragments.department);
        self.text
            .line(self.template.type_line.get(Class::Department));
        self.text.push(&self.fragments.department);
        self.text.push(self.template.name.get(Class::Department));
        self.text.number_line(self.number, Ending::Literal);
        self.text.push(&self.fragments.department);
        self.text.line(&self.fragments.part_of_university);
        self.university_type();
    }

    fn set_subject(&mut self, class: Class, number: u32) {
        self.subject
            .set_numbered(self.fragments.instance.get(class), number);
    }

    fn type_and_name(&mut self, class: Class, number: u32) {
        self.set_subject(class, number);
        self.text.push(&self.subject);
        self.text.line(self.template.type_line.get(class));
        self.text.push(&self.subject);
        self.text.push(self.template.name.get(class));
        self.text.number_line(number, Ending::Literal);
    }

    fn email_and_telephone(&mut self, class: Class, number: u32) {
        self.text.push(&self.subject);
        self.text.push(self.template.email.get(class));
        self.text.number(number);
        self.text.line(&self.fragments.email_end);
        self.text.push(&self.subject);
        self.text.line(&self.template.telephone);
    }

    fn faculty_member(&mut self, class: Class, number: u32) {
        self.type_and_name(class, number);
        for _ in 0..self.random.range(1, 2) {
            // The original draws from what is left of a pool, then takes its front.
            self.random.next_int(COURSE_POOL - self.courses);
            self.text.push(&self.subject);
            self.text.push(&self.fragments.teacher_of);
            self.text.number_line(self.courses, Ending::Iri);
            self.courses += 1;
        }
        for _ in 0..self.random.range(1, 2) {
            self.random.next_int(COURSE_POOL - self.graduate_courses);
            self.text.push(&self.subject);
            self.text.push(&self.fragments.teacher_of_graduates);
            self.text.number_line(self.graduate_courses, Ending::Iri);
            self.graduate_courses += 1;
        }
        let template = self.template;
        self.degree(&template.undergraduate_degree);
        self.degree(&template.masters_degree);
        self.degree(&template.doctoral_degree);
        self.text.push(&self.subject);
        self.text.line(&self.fragments.works_for);
        self.email_and_telephone(class, number);
        if class != Class::Lecturer {
            self.text.push(&self.subject);
            self.text.push(&self.template.research_interest);
            let interest = self.random.next_int(RESEARCH_INTERESTS);
            self.text.number_line(interest, Ending::Literal);
        }
        if class == Class::FullProfessor && number == self.plan.chair {
            self.text.push(&self.subject);
            self.text.line(&self.fragments.head_of);
        }
        self.plan_publications(class, number);
    }

    fn plan_publications(&mut self, class: Class, author: u32) {
        let (fewest, most) = match class {
            Class::FullProfessor => (15, 20),
            Class::AssociateProfessor => (10, 18),
            Class::AssistantProfessor => (5, 10),
            _ => (0, 5),
        };
        let count = self.random.range(fewest, most);
        self.scratch
            .publications
            .extend((0..count).map(|number| Publication {
                class,
                author,
                number,
            }));
    }

    /// A degree from a university that is drawn, and that university's type.
    fn degree(&mut self, degree: &Fragment) {
        let university = self.random.next_int(DEGREE_UNIVERSITIES);
        self.text.push(&self.subject);
        self.text.push(degree);
        self.text.number(university);
        self.text.line(&self.template.degree_end_and_university);
        self.text.number(university);
        self.text.line(&self.template.university_type_end);
    }

    fn student(&mut self, class: Class, number: u32) {
        self.type_and_name(class, number);
        self.text.push(&self.subject);
        self.text.line(&self.fragments.member_of);
        self.email_and_telephone(class, number);
    }

    fn undergraduate(&mut self, number: u32) {
        self.student(Class::UndergraduateStudent, number);
        let count = self.random.range(2, 4);
        self.random
            .pick(count, self.courses, &mut self.scratch.picked);
        for course in self.scratch.picked.numbers() {
            self.text.push(&self.subject);
            self.text.push(&self.fragments.takes);
            self.text.number_line(*course, Ending::Iri);
        }
        if self.random.next_int(5) == 0 {
            self.advisor();
        }
    }

    fn graduate(&mut self, number: u32) {
        self.student(Class::GraduateStudent, number);
        let count = self.random.range(1, 3);
        self.random
            .pick(count, self.graduate_courses, &mut self.scratch.picked);
        for course in self.scratch.picked.numbers() {
            self.text.push(&self.subject);
            self.text.push(&self.fragments.takes_graduate);
            self.text.number_line(*course, Ending::Iri);
        }
        let template = self.template;
        self.degree(&template.undergraduate_degree);
        // "One of one" graduate students has an advisor: always, but it is drawn.
        self.random.next_int(1);
        self.advisor();
        let count = self.random.range(0, 5);
        self.random.pick(
            count,
            self.scratch.publications.len() as u32,
            &mut self.scratch.picked,
        );
        self.scratch.coauthors.extend(
            self.scratch
                .picked
                .numbers()
                .iter()
                .map(|publication| (*publication, number)),
        );
    }

    fn advisor(&mut self) {
        let kind = self.random.next_int(3) as usize;
        let count = [self.plan.full, self.plan.associate, self.plan.assistant][kind];
        let number = self.random.next_int(count);
        self.text.push(&self.subject);
        self.text.push(&self.fragments.advisor[kind]);
        self.text.number_line(number, Ending::Iri);
    }

    fn research_groups(&mut self) {
        for number in 0..self.plan.groups {
            self.set_subject(Class::ResearchGroup, number);
            self.text.push(&self.subject);
            self.text
                .line(self.template.type_line.get(Class::ResearchGroup));
            self.text.push(&self.subject);
            self.text.line(&self.fragments.part_of_department);
        }
    }

    fn publications(&mut self) {
        // By publication, then by student: pairs are distinct, and students came in ascending order.
        self.scratch.coauthors.sort_unstable();
        let mut coauthors = self.scratch.coauthors.iter().peekable();
        let mut author = Fragment::new(&[]);
        let mut stem = Fragment::new(&[]);
        for (position, publication) in self.scratch.publications.iter().enumerate() {
            if publication.number == 0 {
                author.set_numbered(
                    self.fragments.instance.get(publication.class),
                    publication.author,
                );
                stem.set_joined(&author, &self.template.publication);
            }
            self.subject.set_numbered(&stem, publication.number);
            self.text.push(&self.subject);
            self.text
                .line(self.template.type_line.get(Class::Publication));
            self.text.push(&self.subject);
            self.text.push(self.template.name.get(Class::Publication));
            self.text.number_line(publication.number, Ending::Literal);
            self.text.push(&self.subject);
            self.text.push(&self.template.publication_author);
            self.text.push(&author);
            self.text.line(&self.template.iri_end);
            while let Some((_, student)) =
                coauthors.next_if(|(joined, _)| *joined as usize == position)
            {
                self.text.push(&self.subject);
                self.text.push(&self.fragments.graduate_author);
                self.text.number_line(*student, Ending::Iri);
            }
        }
    }

    fn course_descriptions(&mut self, class: Class, count: u32) {
        for number in 0..count {
            self.type_and_name(class, number);
        }
    }

    fn assistants(&mut self) {
        let teaching = self.plan.teaching_assistants;
        let Scratch {
            picked: students,
            other_picked: courses,
            ..
        } = &mut *self.scratch;
        self.random.pick(
            teaching + self.plan.research_assistants,
            self.plan.graduates,
            students,
        );
        self.random.pick(teaching, self.courses, courses);
        let (teaching, research) = students.numbers().split_at(teaching as usize);
        let stem = self.fragments.instance.get(Class::GraduateStudent);
        for (student, course) in teaching.iter().zip(courses.numbers()) {
            self.subject.set_numbered(stem, *student);
            self.text.push(&self.subject);
            self.text
                .line(self.template.type_line.get(Class::TeachingAssistant));
            self.text.push(&self.subject);
            self.text.push(&self.fragments.assistant_of);
            self.text.number_line(*course, Ending::Iri);
        }
        for student in research {
            self.subject.set_numbered(stem, *student);
            self.text.push(&self.subject);
            self.text
                .line(self.template.type_line.get(Class::ResearchAssistant));
        }
    }
}

#[cfg(test)]
mod plain;
#[cfg(test)]
mod tests;
