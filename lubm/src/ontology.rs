//! The univ-bench ontology, as tables of axioms, and as text made from them.
//!
//! These are all the axioms of the published file (version of April 1, 2004); its labels, comments and
//! version text are left out, since no query or rule needs them.
//!
//! What surprises in it: graduate students, teaching assistants and research assistants are no *subclass*
//! of student. That graduate students are students follows from the definition of student alone (a person
//! who takes some course), and that faculty are persons from the definition of employee. A definition is
//! written in the style of OWL 1: `owl:intersectionOf` on the named class itself.

use crate::error::Result;
use crate::format::Syntax;
use crate::names::{OWL, RDF, RDFS};
use crate::output::check_ontology_url;
use ClassExpression::Named;
use std::fmt::Write;

/// A class, by name or by what its members are related to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClassExpression {
    /// A class of the ontology.
    Named(&'static str),
    /// All that have some value of a class for a property (`owl:someValuesFrom`).
    Some {
        /// The property.
        property: &'static str,
        /// The class of the value.
        class: &'static str,
    },
}

/// A class of the ontology with its axioms.
#[derive(Clone, Copy, Debug)]
pub struct ClassAxioms {
    /// The local name.
    pub name: &'static str,
    /// What it is a subclass of, without the definition.
    pub superclasses: &'static [ClassExpression],
    /// If not empty: the class is the intersection of these.
    pub definition: &'static [ClassExpression],
}

/// What sort of property.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PropertyKind {
    /// `owl:ObjectProperty`.
    Object,
    /// `owl:DatatypeProperty`.
    Datatype,
    /// `owl:TransitiveProperty`, which implies an object property.
    Transitive,
}

/// A property of the ontology with its axioms.
#[derive(Clone, Copy, Debug)]
pub struct PropertyAxioms {
    /// The local name.
    pub name: &'static str,
    /// What sort of property.
    pub kind: PropertyKind,
    /// `rdfs:domain`.
    pub domain: Option<&'static str>,
    /// `rdfs:range`.
    pub range: Option<&'static str>,
    /// `rdfs:subPropertyOf`.
    pub sub_property_of: Option<&'static str>,
    /// `owl:inverseOf`.
    pub inverse_of: Option<&'static str>,
}

/// Every class, in the order of the names.
#[rustfmt::skip]
pub const CLASSES: &[ClassAxioms] = &[
    class("AdministrativeStaff", &[Named("Employee")], &[]),
    class("Article", &[Named("Publication")], &[]),
    class("AssistantProfessor", &[Named("Professor")], &[]),
    class("AssociateProfessor", &[Named("Professor")], &[]),
    class("Book", &[Named("Publication")], &[]),
    class("Chair", &[Named("Professor")], &[Named("Person"), some("headOf", "Department")]),
    class("ClericalStaff", &[Named("AdministrativeStaff")], &[]),
    class("College", &[Named("Organization")], &[]),
    class("ConferencePaper", &[Named("Article")], &[]),
    class("Course", &[Named("Work")], &[]),
    class("Dean", &[Named("Professor")], &[some("headOf", "College")]),
    class("Department", &[Named("Organization")], &[]),
    class("Director", &[], &[Named("Person"), some("headOf", "Program")]),
    class("Employee", &[], &[Named("Person"), some("worksFor", "Organization")]),
    class("Faculty", &[Named("Employee")], &[]),
    class("FullProfessor", &[Named("Professor")], &[]),
    class("GraduateCourse", &[Named("Course")], &[]),
    class("GraduateStudent", &[Named("Person"), some("takesCourse", "GraduateCourse")], &[]),
    class("Institute", &[Named("Organization")], &[]),
    class("JournalArticle", &[Named("Article")], &[]),
    class("Lecturer", &[Named("Faculty")], &[]),
    class("Manual", &[Named("Publication")], &[]),
    class("Organization", &[], &[]),
    class("Person", &[], &[]),
    class("PostDoc", &[Named("Faculty")], &[]),
    class("Professor", &[Named("Faculty")], &[]),
    class("Program", &[Named("Organization")], &[]),
    class("Publication", &[], &[]),
    class("Research", &[Named("Work")], &[]),
    class("ResearchAssistant", &[Named("Person"), some("worksFor", "ResearchGroup")], &[]),
    class("ResearchGroup", &[Named("Organization")], &[]),
    class("Schedule", &[], &[]),
    class("Software", &[Named("Publication")], &[]),
    class("Specification", &[Named("Publication")], &[]),
    class("Student", &[], &[Named("Person"), some("takesCourse", "Course")]),
    class("SystemsStaff", &[Named("AdministrativeStaff")], &[]),
    class("TeachingAssistant", &[], &[Named("Person"), some("teachingAssistantOf", "Course")]),
    class("TechnicalReport", &[Named("Article")], &[]),
    class("UndergraduateStudent", &[Named("Student")], &[]),
    class("University", &[Named("Organization")], &[]),
    class("UnofficialPublication", &[Named("Publication")], &[]),
    class("VisitingProfessor", &[Named("Professor")], &[]),
    class("Work", &[], &[]),
];

/// Every property, in the order of the names.
#[rustfmt::skip]
pub const PROPERTIES: &[PropertyAxioms] = &[
    property("advisor", PropertyKind::Object).domain("Person").range("Professor"),
    property("affiliatedOrganizationOf", PropertyKind::Object).domain("Organization").range("Organization"),
    property("affiliateOf", PropertyKind::Object).domain("Organization").range("Person"),
    property("age", PropertyKind::Datatype).domain("Person"),
    property("degreeFrom", PropertyKind::Object).domain("Person").range("University").inverse_of("hasAlumnus"),
    property("doctoralDegreeFrom", PropertyKind::Object).domain("Person").range("University").sub_property_of("degreeFrom"),
    property("emailAddress", PropertyKind::Datatype).domain("Person"),
    property("hasAlumnus", PropertyKind::Object).domain("University").range("Person").inverse_of("degreeFrom"),
    property("headOf", PropertyKind::Object).sub_property_of("worksFor"),
    property("listedCourse", PropertyKind::Object).domain("Schedule").range("Course"),
    property("mastersDegreeFrom", PropertyKind::Object).domain("Person").range("University").sub_property_of("degreeFrom"),
    property("member", PropertyKind::Object).domain("Organization").range("Person"),
    property("memberOf", PropertyKind::Object).inverse_of("member"),
    property("name", PropertyKind::Datatype),
    property("officeNumber", PropertyKind::Datatype),
    property("orgPublication", PropertyKind::Object).domain("Organization").range("Publication"),
    property("publicationAuthor", PropertyKind::Object).domain("Publication").range("Person"),
    property("publicationDate", PropertyKind::Object).domain("Publication"),
    property("publicationResearch", PropertyKind::Object).domain("Publication").range("Research"),
    property("researchInterest", PropertyKind::Datatype),
    property("researchProject", PropertyKind::Object).domain("ResearchGroup").range("Research"),
    property("softwareDocumentation", PropertyKind::Object).domain("Software").range("Publication"),
    property("softwareVersion", PropertyKind::Object).domain("Software"),
    property("subOrganizationOf", PropertyKind::Transitive).domain("Organization").range("Organization"),
    property("takesCourse", PropertyKind::Object),
    property("teacherOf", PropertyKind::Object).domain("Faculty").range("Course"),
    property("teachingAssistantOf", PropertyKind::Object).domain("TeachingAssistant").range("Course"),
    property("telephone", PropertyKind::Datatype).domain("Person"),
    property("tenured", PropertyKind::Object).domain("Professor"),
    property("title", PropertyKind::Datatype).domain("Person"),
    property("undergraduateDegreeFrom", PropertyKind::Object).domain("Person").range("University").sub_property_of("degreeFrom"),
    property("worksFor", PropertyKind::Object).sub_property_of("memberOf"),
];

/// Triples of the ontology.
pub const TRIPLES: usize = 215;

const fn some(property: &'static str, class: &'static str) -> ClassExpression {
    ClassExpression::Some { property, class }
}

const fn class(
    name: &'static str,
    superclasses: &'static [ClassExpression],
    definition: &'static [ClassExpression],
) -> ClassAxioms {
    ClassAxioms {
        name,
        superclasses,
        definition,
    }
}

const fn property(name: &'static str, kind: PropertyKind) -> PropertyAxioms {
    PropertyAxioms {
        name,
        kind,
        domain: None,
        range: None,
        sub_property_of: None,
        inverse_of: None,
    }
}

impl PropertyAxioms {
    const fn domain(self, class: &'static str) -> Self {
        Self {
            domain: Some(class),
            ..self
        }
    }

    const fn range(self, class: &'static str) -> Self {
        Self {
            range: Some(class),
            ..self
        }
    }

    const fn sub_property_of(self, property: &'static str) -> Self {
        Self {
            sub_property_of: Some(property),
            ..self
        }
    }

    const fn inverse_of(self, property: &'static str) -> Self {
        Self {
            inverse_of: Some(property),
            ..self
        }
    }
}

impl PropertyKind {
    /// The local name in OWL's namespace.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Object => "ObjectProperty",
            Self::Datatype => "DatatypeProperty",
            Self::Transitive => "TransitiveProperty",
        }
    }
}

/// The ontology as a document: its own IRI is `url`, its terms are `url`, `#` and a name.
///
/// # Errors
/// If that makes no IRIs.
pub fn text(syntax: Syntax, url: &str) -> Result<String> {
    check_ontology_url(url)?;
    Ok(match syntax {
        Syntax::NTriples => NTriples::new(url).document(),
        Syntax::Turtle => turtle(url),
    })
}

/// The N-Triples being written.
struct NTriples<'a> {
    url: &'a str,
    text: String,
    blank_nodes: usize,
}

impl<'a> NTriples<'a> {
    fn new(url: &'a str) -> Self {
        Self {
            url,
            text: String::new(),
            blank_nodes: 0,
        }
    }

    fn document(mut self) -> String {
        self.triple(&format!("<{}>", self.url), &rdf("type"), &owl("Ontology"));
        for class in CLASSES {
            self.class(class);
        }
        for property in PROPERTIES {
            self.property(property);
        }
        self.text
    }

    fn class(&mut self, class: &ClassAxioms) {
        let subject = self.term(class.name);
        self.triple(&subject, &rdf("type"), &owl("Class"));
        for superclass in class.superclasses {
            let object = self.expression(superclass);
            self.triple(&subject, &rdfs("subClassOf"), &object);
        }
        if !class.definition.is_empty() {
            let list = self.list(class.definition);
            self.triple(&subject, &owl("intersectionOf"), &list);
        }
    }

    fn property(&mut self, property: &PropertyAxioms) {
        let subject = self.term(property.name);
        self.triple(&subject, &rdf("type"), &owl(property.kind.name()));
        for (predicate, object) in property_axioms(property) {
            let object = self.term(object);
            self.triple(&subject, &predicate.iri(), &object);
        }
    }

    /// A list's head; its cells are written back to front.
    fn list(&mut self, members: &[ClassExpression]) -> String {
        let mut rest = rdf("nil");
        for member in members.iter().rev() {
            let first = self.expression(member);
            let cell = self.blank_node();
            self.triple(&cell, &rdf("first"), &first);
            self.triple(&cell, &rdf("rest"), &rest);
            rest = cell;
        }
        rest
    }

    fn expression(&mut self, expression: &ClassExpression) -> String {
        match expression {
            Named(name) => self.term(name),
            ClassExpression::Some { property, class } => {
                let node = self.blank_node();
                self.triple(&node, &rdf("type"), &owl("Restriction"));
                self.triple(&node, &owl("onProperty"), &self.term(property));
                self.triple(&node, &owl("someValuesFrom"), &self.term(class));
                node
            }
        }
    }

    fn blank_node(&mut self) -> String {
        self.blank_nodes += 1;
        format!("_:b{}", self.blank_nodes - 1)
    }

    fn term(&self, name: &str) -> String {
        format!("<{}#{name}>", self.url)
    }

    fn triple(&mut self, subject: &str, predicate: &str, object: &str) {
        self.text
            .extend([subject, " ", predicate, " ", object, " .\n"]);
    }
}

fn rdf(name: &str) -> String {
    format!("<{RDF}{name}>")
}

fn rdfs(name: &str) -> String {
    format!("<{RDFS}{name}>")
}

fn owl(name: &str) -> String {
    format!("<{OWL}{name}>")
}

/// A predicate of a property's axioms.
#[derive(Clone, Copy)]
enum Predicate {
    Rdfs(&'static str),
    Owl(&'static str),
}

impl Predicate {
    fn iri(self) -> String {
        match self {
            Self::Rdfs(name) => rdfs(name),
            Self::Owl(name) => owl(name),
        }
    }

    fn prefixed(self) -> String {
        match self {
            Self::Rdfs(name) => format!("rdfs:{name}"),
            Self::Owl(name) => format!("owl:{name}"),
        }
    }
}

/// The axioms that a property has, as predicates and names.
fn property_axioms(property: &PropertyAxioms) -> impl Iterator<Item = (Predicate, &'static str)> {
    [
        (Predicate::Rdfs("domain"), property.domain),
        (Predicate::Rdfs("range"), property.range),
        (Predicate::Rdfs("subPropertyOf"), property.sub_property_of),
        (Predicate::Owl("inverseOf"), property.inverse_of),
    ]
    .into_iter()
    .filter_map(|(predicate, object)| Some((predicate, object?)))
}

fn turtle(url: &str) -> String {
    let mut text = format!(
        "@prefix owl: <{OWL}> .\n@prefix rdfs: <{RDFS}> .\n@prefix ub: <{url}#> .\n\n\
         <{url}> a owl:Ontology .\n\n"
    );
    for class in CLASSES {
        let mut parts = vec!["a owl:Class".to_owned()];
        if !class.superclasses.is_empty() {
            let objects: Vec<String> = class.superclasses.iter().map(turtle_expression).collect();
            parts.push(format!("rdfs:subClassOf {}", objects.join(" , ")));
        }
        if !class.definition.is_empty() {
            let members: Vec<String> = class.definition.iter().map(turtle_expression).collect();
            parts.push(format!("owl:intersectionOf ( {} )", members.join(" ")));
        }
        turtle_subject(&mut text, class.name, &parts);
    }
    text.push('\n');
    for property in PROPERTIES {
        let mut parts = vec![format!("a owl:{}", property.kind.name())];
        parts.extend(
            property_axioms(property)
                .map(|(predicate, object)| format!("{} ub:{object}", predicate.prefixed())),
        );
        turtle_subject(&mut text, property.name, &parts);
    }
    text
}

fn turtle_subject(text: &mut String, name: &str, parts: &[String]) {
    writeln!(text, "ub:{name} {} .", parts.join(" ; ")).expect("memory takes everything");
}

fn turtle_expression(expression: &ClassExpression) -> String {
    match expression {
        Named(name) => format!("ub:{name}"),
        ClassExpression::Some { property, class } => {
            format!(
                "[ a owl:Restriction ; owl:onProperty ub:{property} ; owl:someValuesFrom ub:{class} ]"
            )
        }
    }
}

#[cfg(test)]
mod tests;
