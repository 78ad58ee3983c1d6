//! The names that the data is made of: classes, properties, namespaces.
//!
//! What always holds: a class's local name is also the stem of its instances' IRIs and of their names
//! (`FullProfessor7`), so one table serves both.

/// The ontology that the reference data and the queries use.
pub const ONTOLOGY_URL: &str = "http://swat.cse.lehigh.edu/onto/univ-bench.owl";
/// The namespace of RDF itself.
pub const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
/// The namespace of RDF Schema.
pub const RDFS: &str = "http://www.w3.org/2000/01/rdf-schema#";
/// The namespace of OWL.
pub const OWL: &str = "http://www.w3.org/2002/07/owl#";

/// Degrees come from universities 0 to 999, however many are generated.
pub const DEGREE_UNIVERSITIES: u32 = 1000;
/// Research interests are `Research0` to `Research29`.
pub const RESEARCH_INTERESTS: u32 = 30;
/// Every telephone number.
pub const TELEPHONE: &str = "xxx-xxx-xxxx";

macro_rules! named {
    ($(#[$about:meta])* $type:ident { $($variant:ident = $name:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[expect(missing_docs, reason = "each is the ontology's term of that name")]
        pub enum $type { $($variant,)* }

        impl $type {
            /// Every one, in the order of the discriminants.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The local name in the ontology's namespace.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

named! {
    /// A class that has asserted instances in the data.
    Class {
        University = "University",
        Department = "Department",
        FullProfessor = "FullProfessor",
        AssociateProfessor = "AssociateProfessor",
        AssistantProfessor = "AssistantProfessor",
        Lecturer = "Lecturer",
        UndergraduateStudent = "UndergraduateStudent",
        GraduateStudent = "GraduateStudent",
        TeachingAssistant = "TeachingAssistant",
        ResearchAssistant = "ResearchAssistant",
        Course = "Course",
        GraduateCourse = "GraduateCourse",
        Publication = "Publication",
        ResearchGroup = "ResearchGroup",
    }
}

named! {
    /// A property that the data uses.
    Property {
        Name = "name",
        TakesCourse = "takesCourse",
        TeacherOf = "teacherOf",
        UndergraduateDegreeFrom = "undergraduateDegreeFrom",
        MastersDegreeFrom = "mastersDegreeFrom",
        DoctoralDegreeFrom = "doctoralDegreeFrom",
        Advisor = "advisor",
        MemberOf = "memberOf",
        PublicationAuthor = "publicationAuthor",
        HeadOf = "headOf",
        TeachingAssistantOf = "teachingAssistantOf",
        ResearchInterest = "researchInterest",
        EmailAddress = "emailAddress",
        Telephone = "telephone",
        SubOrganizationOf = "subOrganizationOf",
        WorksFor = "worksFor",
    }
}
