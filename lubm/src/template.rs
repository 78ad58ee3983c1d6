//! The fragments that lines are put together from, prepared once for a run, a university or a department.
//!
//! A line is `subject` + `middle` + an end. Subjects (`<http://www.Department0.University0.edu/Course7`)
//! lack their closing bracket, so that a publication's can be made from its author's; middles therefore
//! begin with `> `. A middle reaches as far into the object as is the same for all: whole, with the line
//! end, or up to a number.

use crate::format::Syntax;
use crate::names::{Class, Property, RDF, TELEPHONE};
use crate::text::Fragment;

/// One value for each of the classes whose instances are numbered within a department.
#[derive(Debug)]
pub(crate) struct ByClass<T>(Vec<T>);

impl<T> ByClass<T> {
    fn new(make: impl Fn(Class) -> T) -> Self {
        Self(Class::ALL.iter().map(|class| make(*class)).collect())
    }

    pub(crate) fn get(&self, class: Class) -> &T {
        &self.0[class as usize]
    }
}

/// Spells predicates and classes in a syntax.
#[derive(Debug)]
struct Spelling<'a> {
    syntax: Syntax,
    ontology_url: &'a str,
}

impl Spelling<'_> {
    fn term(&self, local_name: &str) -> String {
        match self.syntax {
            Syntax::NTriples => format!("<{}#{local_name}>", self.ontology_url),
            Syntax::Turtle => format!("ub:{local_name}"),
        }
    }

    fn type_predicate(&self) -> String {
        match self.syntax {
            Syntax::NTriples => format!("<{RDF}type>"),
            Syntax::Turtle => "a".to_owned(),
        }
    }

    /// `> predicate `
    fn predicate(&self, property: Property) -> String {
        format!("> {} ", self.term(property.name()))
    }

    /// `> rdf:type class .`
    fn type_line(&self, class: Class) -> String {
        format!(
            "> {} {} .\n",
            self.type_predicate(),
            self.term(class.name())
        )
    }
}

/// The fragments of a run: everything that depends on syntax and ontology alone.
#[derive(Debug)]
pub(crate) struct Template {
    /// What a document begins with: prefixes, or nothing.
    pub(crate) header: Fragment,
    /// `> rdf:type C .`
    pub(crate) type_line: ByClass<Fragment>,
    /// `> name "C`
    pub(crate) name: ByClass<Fragment>,
    /// `> emailAddress "C`
    pub(crate) email: ByClass<Fragment>,
    /// `> telephone "xxx-xxx-xxxx" .`
    pub(crate) telephone: Fragment,
    /// `> researchInterest "Research`
    pub(crate) research_interest: Fragment,
    /// `> undergraduateDegreeFrom <http://www.University` and likewise
    pub(crate) undergraduate_degree: Fragment,
    pub(crate) masters_degree: Fragment,
    pub(crate) doctoral_degree: Fragment,
    /// `.edu> .`, next line, `<http://www.University`
    pub(crate) degree_end_and_university: Fragment,
    /// `.edu> rdf:type University .`
    pub(crate) university_type_end: Fragment,
    /// `/Publication`
    pub(crate) publication: Fragment,
    /// `> .`
    pub(crate) iri_end: Fragment,
    /// `> publicationAuthor `, to be followed by a subject
    pub(crate) publication_author: Fragment,
    /// `> worksFor ` and so on, to be completed by a department
    predicates: Vec<String>,
}

impl Template {
    pub(crate) fn new(syntax: Syntax, ontology_url: &str) -> Self {
        let spelling = Spelling {
            syntax,
            ontology_url,
        };
        let degree =
            |property| Fragment::new(&[&spelling.predicate(property), "<http://www.University"]);
        let quoted = |property| {
            ByClass::new(|class| {
                Fragment::new(&[&spelling.predicate(property), "\"", class.name()])
            })
        };
        let header = match syntax {
            Syntax::NTriples => String::new(),
            Syntax::Turtle => format!("@prefix ub: <{ontology_url}#> .\n"),
        };
        Self {
            header: Fragment::new(&[&header]),
            type_line: ByClass::new(|class| Fragment::new(&[&spelling.type_line(class)])),
            name: quoted(Property::Name),
            email: quoted(Property::EmailAddress),
            telephone: Fragment::new(&[
                &spelling.predicate(Property::Telephone),
                "\"",
                TELEPHONE,
                "\" .\n",
            ]),
            research_interest: Fragment::new(&[
                &spelling.predicate(Property::ResearchInterest),
                "\"Research",
            ]),
            undergraduate_degree: degree(Property::UndergraduateDegreeFrom),
            masters_degree: degree(Property::MastersDegreeFrom),
            doctoral_degree: degree(Property::DoctoralDegreeFrom),
            degree_end_and_university: Fragment::new(&[".edu> .\n<http://www.University"]),
            university_type_end: Fragment::new(&[".edu", &spelling.type_line(Class::University)]),
            publication: Fragment::new(&["/Publication"]),
            iri_end: Fragment::new(&["> .\n"]),
            publication_author: Fragment::new(&[&spelling.predicate(Property::PublicationAuthor)]),
            predicates: Property::ALL
                .iter()
                .map(|property| spelling.predicate(*property))
                .collect(),
        }
    }

    fn predicate(&self, property: Property) -> &str {
        &self.predicates[property as usize]
    }
}

/// The fragments of one department of one university.
#[derive(Debug)]
pub(crate) struct DepartmentFragments {
    /// `<http://www.University{k}.edu`
    pub(crate) university: Fragment,
    /// `> name "University{k}" .` (k may have more digits than a number in a line)
    pub(crate) university_name: Fragment,
    /// `<http://www.Department{d}.University{k}.edu`
    pub(crate) department: Fragment,
    /// `> subOrganizationOf <university> .`
    pub(crate) part_of_university: Fragment,
    /// `<http://www.Department{d}.University{k}.edu/C`
    pub(crate) instance: ByClass<Fragment>,
    /// `@Department{d}.University{k}.edu" .`
    pub(crate) email_end: Fragment,
    /// `> worksFor <department> .` and likewise
    pub(crate) works_for: Fragment,
    pub(crate) head_of: Fragment,
    pub(crate) member_of: Fragment,
    pub(crate) part_of_department: Fragment,
    /// `> teacherOf <department/Course` and likewise
    pub(crate) teacher_of: Fragment,
    pub(crate) teacher_of_graduates: Fragment,
    pub(crate) takes: Fragment,
    pub(crate) takes_graduate: Fragment,
    pub(crate) assistant_of: Fragment,
    /// `> publicationAuthor <department/GraduateStudent`
    pub(crate) graduate_author: Fragment,
    /// `> advisor <department/FullProfessor` and so on, in the order of the advisor's draw
    pub(crate) advisor: [Fragment; 3],
}

impl DepartmentFragments {
    pub(crate) fn new(template: &Template, university: u32, department: u32) -> Self {
        let host = format!("Department{department}.University{university}.edu");
        let iri = format!("<http://www.{host}");
        let university_iri = format!("<http://www.University{university}.edu");
        let whole = |property, object: &str| {
            Fragment::new(&[template.predicate(property), object, "> .\n"])
        };
        let open = |property, class: Class| {
            Fragment::new(&[template.predicate(property), &iri, "/", class.name()])
        };
        Self {
            university: Fragment::new(&[&university_iri]),
            university_name: Fragment::new(&[
                template.predicate(Property::Name),
                &format!("\"University{university}\" .\n"),
            ]),
            department: Fragment::new(&[&iri]),
            part_of_university: whole(Property::SubOrganizationOf, &university_iri),
            instance: ByClass::new(|class| Fragment::new(&[&iri, "/", class.name()])),
            email_end: Fragment::new(&["@", &host, "\" .\n"]),
            works_for: whole(Property::WorksFor, &iri),
            head_of: whole(Property::HeadOf, &iri),
            member_of: whole(Property::MemberOf, &iri),
            part_of_department: whole(Property::SubOrganizationOf, &iri),
            teacher_of: open(Property::TeacherOf, Class::Course),
            teacher_of_graduates: open(Property::TeacherOf, Class::GraduateCourse),
            takes: open(Property::TakesCourse, Class::Course),
            takes_graduate: open(Property::TakesCourse, Class::GraduateCourse),
            assistant_of: open(Property::TeachingAssistantOf, Class::Course),
            graduate_author: open(Property::PublicationAuthor, Class::GraduateStudent),
            advisor: [
                open(Property::Advisor, Class::FullProfessor),
                open(Property::Advisor, Class::AssociateProfessor),
                open(Property::Advisor, Class::AssistantProfessor),
            ],
        }
    }
}
