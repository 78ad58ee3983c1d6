//! `Template`: what a CONSTRUCT makes of each solution (SPARQL 1.1, section 16.2).
//!
//! The blank nodes of a template are not those of the patterns: each stands for a new blank node in every solution.

use super::logical::VariableId;
use super::lower::Lowering;
use hashbrown::HashMap;
use oxrdf::Term;
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};

/// The triples that are made of a solution.
#[derive(Debug, Default)]
pub struct Template {
    /// In the query's order.
    pub triples: Vec<TripleTemplate>,
    /// The variables that occur, each once.
    pub variables: Vec<VariableId>,
    /// How many blank nodes there are.
    pub blank_nodes: usize,
}

/// A triple, or a triple term, of a template.
#[derive(Debug)]
#[expect(missing_docs, reason = "the places of a triple")]
pub struct TripleTemplate {
    pub subject: TermTemplate,
    pub predicate: TermTemplate,
    pub object: TermTemplate,
}

/// A term of a template.
#[derive(Debug)]
pub enum TermTemplate {
    /// Always this one.
    Constant(Term),
    /// What the solution binds.
    Variable(VariableId),
    /// The new blank node of this number.
    Blank(usize),
    /// A triple term.
    Triple(Box<TripleTemplate>),
}

impl Template {
    /// Whether the variables are all that triples are made of: then a solution that comes again makes nothing new.
    pub fn is_without_blank_nodes(&self) -> bool {
        self.blank_nodes == 0
    }
}

impl TripleTemplate {
    /// The terms, in the sequence subject, predicate, object.
    pub fn terms(&self) -> [&TermTemplate; 3] {
        [&self.subject, &self.predicate, &self.object]
    }

    /// Whether every solution makes another triple of this, because a blank node is in it.
    pub fn is_always_new(&self) -> bool {
        self.terms().into_iter().any(|term| match term {
            TermTemplate::Blank(_) => true,
            TermTemplate::Triple(triple) => triple.is_always_new(),
            TermTemplate::Constant(_) | TermTemplate::Variable(_) => false,
        })
    }
}

impl Lowering {
    /// Lowers the template of a CONSTRUCT.
    pub(super) fn template(&mut self, patterns: &[TriplePattern]) -> Template {
        let mut template = Template::default();
        let mut blanks = HashMap::new();
        for pattern in patterns {
            let triple = self.triple_template(pattern, &mut template, &mut blanks);
            template.triples.push(triple);
        }
        template.blank_nodes = blanks.len();
        template
    }

    fn triple_template<'a>(
        &mut self,
        pattern: &'a TriplePattern,
        template: &mut Template,
        blanks: &mut HashMap<&'a str, usize>,
    ) -> TripleTemplate {
        TripleTemplate {
            subject: self.term_template(&pattern.subject, template, blanks),
            predicate: match &pattern.predicate {
                NamedNodePattern::NamedNode(node) => TermTemplate::Constant(node.clone().into()),
                NamedNodePattern::Variable(variable) => self.variable_template(variable, template),
            },
            object: self.term_template(&pattern.object, template, blanks),
        }
    }

    fn term_template<'a>(
        &mut self,
        pattern: &'a TermPattern,
        template: &mut Template,
        blanks: &mut HashMap<&'a str, usize>,
    ) -> TermTemplate {
        match pattern {
            TermPattern::NamedNode(node) => TermTemplate::Constant(node.clone().into()),
            TermPattern::Literal(literal) => TermTemplate::Constant(literal.clone().into()),
            TermPattern::BlankNode(node) => {
                let next = blanks.len();
                TermTemplate::Blank(*blanks.entry(node.as_str()).or_insert(next))
            }
            TermPattern::Variable(variable) => self.variable_template(variable, template),
            TermPattern::Triple(triple) => {
                TermTemplate::Triple(Box::new(self.triple_template(triple, template, blanks)))
            }
        }
    }

    fn variable_template(
        &mut self,
        variable: &oxrdf::Variable,
        template: &mut Template,
    ) -> TermTemplate {
        let variable = self.named(variable);
        if !template.variables.contains(&variable) {
            template.variables.push(variable);
        }
        TermTemplate::Variable(variable)
    }
}
