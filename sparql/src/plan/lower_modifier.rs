//! Lowers what computes: conditions, assignments, OPTIONAL's condition, VALUES, groups with aggregates, ORDER BY.
//!
//! An EXISTS inside an expression becomes a variable of the engine's own (a [`Mark`]) that a node below
//! binds to true or false; the expression then reads it like any other.

use super::logical::{
    Aggregate, AggregateFunction, Group, Logical, Mark, OrderKey, PatternGraph, VariableId,
    VariableSet,
};
use super::lower::{Lowering, has_exists};
use crate::error::{QueryError, Result};
use crate::expr::{Expr, compile};
use oxrdf::{Term, Variable};
use spargebra::algebra::{
    AggregateExpression, AggregateFunction as Name, Expression, GraphPattern, OrderExpression,
};
use spargebra::term::GroundTerm;
use std::sync::Arc;

impl Lowering {
    /// Compiles an expression that sees `scope`, and what the rows around an EXISTS bind. Marks are added to `marks`.
    fn expression(
        &mut self,
        expression: &Expression,
        scope: &VariableSet,
        graph: &PatternGraph,
        marks: &mut Vec<Arc<Mark>>,
    ) -> Result<Expr> {
        let first_mark = marks.len();
        let replaced;
        let expression = if has_exists(expression) {
            replaced = self.replace_exists(expression, scope, graph, marks)?;
            &replaced
        } else {
            expression
        };
        let mut shared = std::mem::take(&mut self.expressions);
        let marks = &marks[first_mark..];
        let compiled = compile(expression, &mut shared, &mut |variable| {
            if let Some(number) = variable.as_str().strip_prefix(MARK_PREFIX) {
                let number: u32 = number.parse().ok()?;
                return marks
                    .iter()
                    .map(|mark| mark.variable)
                    .find(|mark| mark.0 == number);
            }
            let variable = self.named(variable);
            (scope.contains(&variable) || self.outer.iter().any(|outer| outer.contains(&variable)))
                .then_some(variable)
        });
        self.expressions = shared;
        compiled
    }

    /// A term as an expression.
    pub(super) fn constant(&mut self, term: Term) -> Result<Expr> {
        let expression = match term {
            Term::NamedNode(node) => Expression::NamedNode(node),
            Term::Literal(literal) => Expression::Literal(literal),
            Term::BlankNode(_) | Term::Triple(_) => {
                return Err(QueryError::unsupported("such a constant"));
            }
        };
        compile(&expression, &mut self.expressions, &mut |_| None)
    }

    /// Makes a mark of each EXISTS.
    fn replace_exists(
        &mut self,
        expression: &Expression,
        scope: &VariableSet,
        graph: &PatternGraph,
        marks: &mut Vec<Arc<Mark>>,
    ) -> Result<Expression> {
        map_exists(expression, &mut |pattern| {
            let mut outer = scope.clone();
            outer.extend(self.outer.iter().flatten());
            let (group, mentioned) = self.inside(pattern, graph, outer.clone())?;
            let variable = self.fresh("exists");
            marks.push(Arc::new(Mark {
                variable,
                pattern: group,
                correlated: outer.intersection(&mentioned).copied().collect(),
            }));
            Ok(Expression::Variable(Variable::new_unchecked(format!(
                "{MARK_PREFIX}{}",
                variable.0
            ))))
        })
    }

    /// A group with its marks bound, if there are any.
    fn marked(&self, input: Group, marks: Vec<Arc<Mark>>) -> Result<Group> {
        if marks.is_empty() {
            return Ok(input);
        }
        let (mut scope, mut certain) = (input.scope.clone(), input.certain.clone());
        for mark in &marks {
            scope.insert(mark.variable);
            certain.insert(mark.variable);
        }
        let logical = Logical::Marks {
            input: Box::new(input),
            marks,
        };
        self.checked(Group::new(logical, scope, certain))
    }

    /// What the expressions of a group see of it: the variable of a `GRAPH` block around it is bound later.
    fn visible(group: &Group, graph: &PatternGraph) -> VariableSet {
        if !matches!(graph, PatternGraph::Variable(_)) {
            return group.scope.clone();
        }
        let mut visible = VariableSet::new();
        let mut group = group;
        while let Logical::Filter { input, .. } = &group.logical {
            group = input;
        }
        if let Logical::Conjunction(conjunction) = &group.logical {
            for pattern in &conjunction.patterns {
                let places = if pattern.graph == *graph { 3 } else { 4 };
                visible.extend(pattern.slots().into_iter().take(places).flatten());
            }
        }
        visible
    }

    /// FILTER and HAVING.
    pub(super) fn filter(
        &mut self,
        input: Group,
        expression: &Expression,
        graph: &PatternGraph,
    ) -> Result<Group> {
        let scope = Self::visible(&input, graph);
        let mut marks = Vec::new();
        let condition = self.expression(expression, &scope, graph, &mut marks)?;
        let mut conditions = Vec::new();
        condition.split_into(&mut conditions);
        let uses_marks = |condition: &Expr| {
            let mut uses = false;
            condition.variables(&mut |variable| {
                uses |= marks.iter().any(|mark| mark.variable == variable);
            });
            uses
        };
        let (marked, plain): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(uses_marks);
        let mut group = input;
        for condition in plain {
            group = self.add_condition(group, Arc::new(condition))?;
        }
        if marked.is_empty() {
            return Ok(group);
        }
        let (scope, certain) = (group.scope.clone(), group.certain.clone());
        let logical = Logical::Filter {
            input: Box::new(self.marked(group, marks)?),
            conditions: marked.into_iter().map(Arc::new).collect(),
        };
        self.checked(Group::new(logical, scope, certain))
    }

    /// Adds a condition to a group, as far down as it means the same: to an input whose solutions all bind its variables,
    /// or bind them as the whole group does. What is computed anew for each solution is computed for those of the group.
    pub(super) fn add_condition(&self, group: Group, condition: Arc<Expr>) -> Result<Group> {
        let mut variables = VariableSet::new();
        condition.variables(&mut |variable| {
            variables.insert(variable);
        });
        let Group {
            logical,
            scope,
            certain,
            depth,
        } = group;
        let is_volatile = condition.is_volatile();
        let logical = match logical {
            Logical::Filter {
                input,
                mut conditions,
            } => {
                conditions.push(condition);
                Logical::Filter { input, conditions }
            }
            logical if is_volatile => Logical::Filter {
                input: Box::new(Group {
                    logical,
                    scope: scope.clone(),
                    certain: certain.clone(),
                    depth,
                }),
                conditions: vec![condition],
            },
            Logical::Conjunction(mut conjunction) if variables.is_subset(&scope) => {
                conjunction.filters.push(condition);
                Logical::Conjunction(conjunction)
            }
            Logical::Join { mut inputs } if inputs.iter().any(|input| takes(input, &variables)) => {
                let input = inputs
                    .iter_mut()
                    .find(|input| takes(input, &variables))
                    .expect("it was just found");
                let taken = std::mem::replace(input, Group::unit());
                *input = self.add_condition(taken, condition)?;
                Logical::Join { inputs }
            }
            Logical::LeftJoin {
                left,
                right,
                conditions,
                marks,
            } if variables.is_subset(&left.certain) => Logical::LeftJoin {
                left: Box::new(self.add_condition(*left, condition)?),
                right,
                conditions,
                marks,
            },
            Logical::Minus { left, right } if variables.is_subset(&left.scope) => Logical::Minus {
                left: Box::new(self.add_condition(*left, condition)?),
                right,
            },
            Logical::Extend {
                input,
                variable,
                expression,
            } if !variables.contains(&variable) && variables.is_subset(&input.scope) => {
                Logical::Extend {
                    input: Box::new(self.add_condition(*input, condition)?),
                    variable,
                    expression,
                }
            }
            logical => {
                let input = Group {
                    logical,
                    scope: scope.clone(),
                    certain: certain.clone(),
                    depth,
                };
                Logical::Filter {
                    input: Box::new(input),
                    conditions: vec![condition],
                }
            }
        };
        self.checked(Group::new(logical, scope, certain))
    }

    /// OPTIONAL, whose condition sees both sides.
    pub(super) fn left_join(
        &mut self,
        left: Group,
        right: Group,
        expression: Option<&Expression>,
        graph: &PatternGraph,
    ) -> Result<Group> {
        let scope: VariableSet = left.scope.union(&right.scope).copied().collect();
        let (mut marks, mut conditions) = (Vec::new(), Vec::new());
        if let Some(expression) = expression {
            let condition = self.expression(expression, &scope, graph, &mut marks)?;
            condition.split_into(&mut conditions);
        }
        let certain = left.certain.clone();
        let logical = Logical::LeftJoin {
            left: Box::new(left),
            right: Box::new(right),
            conditions: conditions.into_iter().map(Arc::new).collect(),
            marks,
        };
        self.checked(Group::new(logical, scope, certain))
    }

    /// BIND, or an expression that is selected.
    pub(super) fn extend(
        &mut self,
        input: Group,
        variable: &Variable,
        expression: &Expression,
        graph: &PatternGraph,
    ) -> Result<Group> {
        let scope = Self::visible(&input, graph);
        let mut marks = Vec::new();
        let expression = self.expression(expression, &scope, graph, &mut marks)?;
        let variable = self.named(variable);
        self.assigned.insert(variable);
        let (mut scope, mut certain) = (input.scope.clone(), input.certain.clone());
        scope.insert(variable);
        let is_certain = match &expression {
            Expr::Constant(_) => true,
            Expr::Variable(source) => certain.contains(source),
            _ => false,
        };
        if is_certain {
            certain.insert(variable);
        }
        let logical = Logical::Extend {
            input: Box::new(self.marked(input, marks)?),
            variable,
            expression: Arc::new(expression),
        };
        self.checked(Group::new(logical, scope, certain))
    }

    /// VALUES.
    pub(super) fn values(
        &mut self,
        variables: &[Variable],
        bindings: &[Vec<Option<GroundTerm>>],
    ) -> Group {
        let variables: Vec<VariableId> = variables.iter().map(|name| self.named(name)).collect();
        let rows: Vec<Vec<Option<Term>>> = bindings
            .iter()
            .map(|row| {
                row.iter()
                    .map(|term| term.clone().map(Term::from))
                    .collect()
            })
            .collect();
        let certain = variables
            .iter()
            .enumerate()
            .filter(|(column, _)| {
                rows.iter()
                    .all(|row| row.get(*column).is_some_and(Option::is_some))
            })
            .map(|(_, variable)| *variable)
            .collect();
        let scope = variables.iter().copied().collect();
        Group::new(Logical::Values { variables, rows }, scope, certain)
    }

    /// GROUP BY and aggregates.
    pub(super) fn group_by(
        &mut self,
        input: Group,
        variables: &[Variable],
        aggregates: &[(Variable, AggregateExpression)],
        graph: &PatternGraph,
    ) -> Result<Group> {
        let scope = Self::visible(&input, graph);
        let mut marks = Vec::new();
        let mut lowered = Vec::with_capacity(aggregates.len());
        for (variable, aggregate) in aggregates {
            let (function, expression, is_distinct) = match aggregate {
                AggregateExpression::CountSolutions { distinct } => {
                    (AggregateFunction::Count, None, *distinct)
                }
                AggregateExpression::FunctionCall {
                    name,
                    expr,
                    distinct,
                } => {
                    let expression = self.expression(expr, &scope, graph, &mut marks)?;
                    (
                        self.aggregate_function(name)?,
                        Some(Arc::new(expression)),
                        *distinct,
                    )
                }
            };
            let columns = if expression.is_none() && is_distinct {
                scope
                    .iter()
                    .copied()
                    .filter(|variable| self.is_visible(*variable))
                    .collect()
            } else {
                Vec::new()
            };
            lowered.push(Aggregate {
                columns,
                variable: self.named(variable),
                function,
                expression,
                is_distinct,
            });
        }
        let mut keys: Vec<VariableId> = Vec::new();
        for variable in variables {
            let variable = self.named(variable);
            if !keys.contains(&variable) {
                keys.push(variable);
            }
        }
        let mut certain: VariableSet = keys
            .iter()
            .copied()
            .filter(|key| input.certain.contains(key))
            .collect();
        let mut scope: VariableSet = keys.iter().copied().collect();
        for aggregate in &lowered {
            scope.insert(aggregate.variable);
            self.assigned.insert(aggregate.variable);
            if aggregate.function == AggregateFunction::Count {
                certain.insert(aggregate.variable);
            }
        }
        let logical = Logical::GroupBy {
            input: Box::new(self.marked(input, marks)?),
            keys,
            aggregates: lowered,
        };
        self.checked(Group::new(logical, scope, certain))
    }

    fn aggregate_function(&self, name: &Name) -> Result<AggregateFunction> {
        Ok(match name {
            Name::Count => AggregateFunction::Count,
            Name::Sum => AggregateFunction::Sum,
            Name::Avg => AggregateFunction::Average,
            Name::Min => AggregateFunction::Min,
            Name::Max => AggregateFunction::Max,
            Name::Sample => AggregateFunction::Sample,
            Name::GroupConcat { separator } => AggregateFunction::GroupConcat {
                separator: separator.clone().unwrap_or_else(|| " ".to_owned()),
            },
            Name::Custom(name) => match self.expressions.extensions.aggregate(name) {
                Some(aggregate) => AggregateFunction::Custom(aggregate.clone()),
                None => {
                    return Err(QueryError::Unregistered {
                        kind: "aggregate",
                        name: name.clone(),
                    });
                }
            },
        })
    }

    /// ORDER BY.
    pub(super) fn order_by(
        &mut self,
        input: Group,
        expressions: &[OrderExpression],
        graph: &PatternGraph,
    ) -> Result<Group> {
        let visible = Self::visible(&input, graph);
        let mut marks = Vec::new();
        let mut keys = Vec::with_capacity(expressions.len());
        for expression in expressions {
            let (expression, is_descending) = match expression {
                OrderExpression::Asc(expression) => (expression, false),
                OrderExpression::Desc(expression) => (expression, true),
            };
            let expression = self.expression(expression, &visible, graph, &mut marks)?;
            keys.push(OrderKey {
                expression: Arc::new(expression),
                is_descending,
            });
        }
        let (scope, certain) = (input.scope.clone(), input.certain.clone());
        let logical = Logical::OrderBy {
            input: Box::new(self.marked(input, marks)?),
            keys,
        };
        self.checked(Group::new(logical, scope, certain))
    }
}

/// Whether an input of a join takes a condition on these variables. A path, a triple term or a SERVICE without conditions can begin
/// at rows of other inputs, and is better left so.
fn takes(input: &Group, variables: &VariableSet) -> bool {
    variables.is_subset(&input.certain)
        && !matches!(
            input.logical,
            Logical::Path(_) | Logical::TripleTerm(_) | Logical::Service(_)
        )
}

/// What the names of marks begin with while an expression is compiled; no variable of a query has a space.
const MARK_PREFIX: &str = " exists ";

/// A copy of an expression with every EXISTS replaced.
fn map_exists(
    expression: &Expression,
    replace: &mut impl FnMut(&GraphPattern) -> Result<Expression>,
) -> Result<Expression> {
    macro_rules! binary {
        ($variant:ident, $left:expr, $right:expr) => {
            Expression::$variant(
                Box::new(map_exists($left, replace)?),
                Box::new(map_exists($right, replace)?),
            )
        };
    }
    Ok(match expression {
        Expression::Exists(pattern) => replace(pattern)?,
        Expression::NamedNode(_)
        | Expression::Literal(_)
        | Expression::Variable(_)
        | Expression::Bound(_) => expression.clone(),
        Expression::Or(left, right) => binary!(Or, left, right),
        Expression::And(left, right) => binary!(And, left, right),
        Expression::Equal(left, right) => binary!(Equal, left, right),
        Expression::SameTerm(left, right) => binary!(SameTerm, left, right),
        Expression::Greater(left, right) => binary!(Greater, left, right),
        Expression::GreaterOrEqual(left, right) => binary!(GreaterOrEqual, left, right),
        Expression::Less(left, right) => binary!(Less, left, right),
        Expression::LessOrEqual(left, right) => binary!(LessOrEqual, left, right),
        Expression::Add(left, right) => binary!(Add, left, right),
        Expression::Subtract(left, right) => binary!(Subtract, left, right),
        Expression::Multiply(left, right) => binary!(Multiply, left, right),
        Expression::Divide(left, right) => binary!(Divide, left, right),
        Expression::UnaryPlus(operand) => {
            Expression::UnaryPlus(Box::new(map_exists(operand, replace)?))
        }
        Expression::UnaryMinus(operand) => {
            Expression::UnaryMinus(Box::new(map_exists(operand, replace)?))
        }
        Expression::Not(operand) => Expression::Not(Box::new(map_exists(operand, replace)?)),
        Expression::In(operand, list) => Expression::In(
            Box::new(map_exists(operand, replace)?),
            map_list(list, replace)?,
        ),
        Expression::If(condition, yes, no) => Expression::If(
            Box::new(map_exists(condition, replace)?),
            Box::new(map_exists(yes, replace)?),
            Box::new(map_exists(no, replace)?),
        ),
        Expression::Coalesce(list) => Expression::Coalesce(map_list(list, replace)?),
        Expression::FunctionCall(name, list) => {
            Expression::FunctionCall(name.clone(), map_list(list, replace)?)
        }
    })
}

fn map_list(
    list: &[Expression],
    replace: &mut impl FnMut(&GraphPattern) -> Result<Expression>,
) -> Result<Vec<Expression>> {
    list.iter()
        .map(|expression| map_exists(expression, replace))
        .collect()
}
