//! Plans a whole query by its form: what SELECT, ASK, CONSTRUCT and DESCRIBE make of the rows of the patterns.
//!
//! A CONSTRUCT gives a graph, which is a set: repeated triples are dropped by a DISTINCT, unless no triple can come twice.

use super::logical::{Form, Logical, LogicalQuery, VariableId};
use super::physical::{Node, Operation, Planner, Wanted, distinct, plan, project};
use super::template::{Template, TermTemplate, TripleTemplate};
use crate::error::Result;
use crate::exec::construct::{Instance, Instances};
use oxrdf::Term;
use quadrille_store::TermId;

/// The most triples of a template whose repetitions within a solution are looked for one by one.
const COMPARED_TRIPLES_MAX: usize = 32;

/// Triples that are expected of a resource.
const DESCRIPTION_TRIPLES: f64 = 10.0;

/// Plans a query. A graph has three columns.
///
/// # Errors
/// If the store cannot be read.
pub fn plan_query(planner: &Planner<'_>, query: &LogicalQuery) -> Result<Node> {
    match &query.form {
        Form::Ask => plan(planner, &query.root, &[], Some(1)),
        Form::Select { variables, .. } => {
            let node = plan(planner, &query.root, variables, None)?;
            Ok(project(
                planner.with_parameters(node, query, variables),
                variables,
            ))
        }
        Form::Construct { template, columns } => planner.construct(query, template, *columns),
        Form::Describe {
            named,
            variables,
            columns,
        } => {
            let input = planner.node(&query.root, repetition_is_irrelevant(variables))?;
            let input = project(planner.with_parameters(input, query, variables), variables);
            let named = named
                .iter()
                .map(|node| planner.terms.id(&Term::from(node.clone())))
                .collect::<Result<Vec<TermId>>>()?;
            let resources = input.rows * variables.len() as f64 + named.len() as f64;
            Ok(Node {
                variables: columns.to_vec(),
                sorted_by: Vec::new(),
                rows: resources * DESCRIPTION_TRIPLES,
                operation: Operation::Describe {
                    input: Box::new(input),
                    named,
                },
            })
        }
    }
}

fn repetition_is_irrelevant(variables: &[VariableId]) -> Wanted<'_> {
    Wanted {
        variables,
        is_distinct: true,
        rows: None,
    }
}

impl Planner<'_> {
    /// Rows where the wanted parameters have their terms: an OPTIONAL part may have left one unbound, and what nothing
    /// binds has no column.
    fn with_parameters(&self, node: Node, query: &LogicalQuery, wanted: &[VariableId]) -> Node {
        let is_given = |variable: &VariableId| {
            query.parameters.iter().any(|(_, known)| known == variable)
                && self.seed.get(*variable).is_some()
        };
        let kept: Vec<VariableId> = node
            .variables
            .iter()
            .copied()
            .filter(|variable| !is_given(variable))
            .collect();
        let given: Vec<VariableId> = wanted.iter().copied().filter(is_given).collect();
        if given.is_empty() {
            return node;
        }
        self.attached(project(node, &kept), given)
    }

    fn construct(
        &self,
        query: &LogicalQuery,
        template: &Template,
        columns: [VariableId; 3],
    ) -> Result<Node> {
        let input = self.node(
            &query.root,
            Wanted {
                is_distinct: template.is_without_blank_nodes(),
                ..repetition_is_irrelevant(&template.variables)
            },
        )?;
        let input = self.with_parameters(input, query, &template.variables);
        let mut triples = Vec::with_capacity(template.triples.len());
        for triple in &template.triples {
            triples.extend(self.instance_of_triple(triple, &input)?);
        }
        let all_new = template.triples.iter().all(TripleTemplate::is_always_new)
            && triples.len() <= COMPARED_TRIPLES_MAX;
        let node = Node {
            variables: columns.to_vec(),
            sorted_by: Vec::new(),
            rows: input.rows * triples.len() as f64,
            operation: Operation::Construct {
                input: Box::new(input),
                template: Instances::new(triples, template.blank_nodes, all_new),
            },
        };
        if all_new || makes_every_triple_once(query, template) {
            return Ok(node);
        }
        Ok(distinct(node))
    }

    /// `None` if it never makes a triple: nothing binds one of its variables.
    fn instance_of_triple(
        &self,
        triple: &TripleTemplate,
        input: &Node,
    ) -> Result<Option<[Instance; 3]>> {
        let [subject, predicate, object] = triple.terms();
        let instance = |term| self.instance(term, input);
        Ok(
            match (instance(subject)?, instance(predicate)?, instance(object)?) {
                (Some(subject), Some(predicate), Some(object)) => {
                    Some([subject, predicate, object])
                }
                _ => None,
            },
        )
    }

    fn instance(&self, term: &TermTemplate, input: &Node) -> Result<Option<Instance>> {
        Ok(match term {
            TermTemplate::Constant(term) => Some(Instance::Term(self.terms.id(term)?)),
            TermTemplate::Variable(variable) => input
                .variables
                .iter()
                .position(|known| known == variable)
                .map(Instance::Column)
                .or_else(|| self.seed.get(*variable).map(Instance::Term)),
            TermTemplate::Blank(number) => Some(Instance::Fresh(*number)),
            TermTemplate::Triple(triple) => self
                .instance_of_triple(triple, input)?
                .map(|terms| Instance::Triple(Box::new(terms))),
        })
    }
}

/// Whether each solution makes one triple that no other makes: the template is one triple, and it has every variable of a
/// conjunction, whose solutions are a set.
fn makes_every_triple_once(query: &LogicalQuery, template: &Template) -> bool {
    let [triple] = &*template.triples else {
        return false;
    };
    let mut root = &query.root;
    while let Logical::Project { input, .. } | Logical::Slice { input, .. } = &root.logical {
        root = input;
    }
    let Logical::Conjunction(conjunction) = &root.logical else {
        return false;
    };
    if !query.parameters.is_empty() {
        return false;
    }
    let has = |wanted| {
        let is_wanted = |term: &&TermTemplate| matches!(term, TermTemplate::Variable(found) if *found == wanted);
        triple.terms().iter().any(is_wanted)
    };
    conjunction
        .patterns
        .iter()
        .flat_map(|pattern| pattern.slots().into_iter().flatten())
        .all(has)
}
