//! From SPARQL's algebra to rules: a pattern becomes alternatives, each of them triples and conditions; each triple of the
//! template with each alternative becomes a rule.
//!
//! ```text
//! Join      every alternative of the left with every one of the right
//! Union     the alternatives of both
//! Filter    every alternative with every one of the condition's disjunctive normal form
//! Values    one alternative for each row: its variables are these terms
//! ```
//!
//! "Are the same" is carried out by replacing; "differ" stays as a condition of the rule.

use oxrdf::{Term, Variable};
use quadrille_reason::{Part, UserRule};
use spargebra::algebra::{Expression, GraphPattern};
use spargebra::term::{GroundTerm, NamedNodePattern, TermPattern, TriplePattern};
use std::collections::BTreeMap;

/// Alternatives of a rule at most: unions that are joined multiply.
const ALTERNATIVES_MAX: usize = 1_000;

/// A term, or a variable by its name (`_:` and the label for a blank node).
#[derive(Clone, PartialEq, Eq, Debug)]
enum Place {
    Term(Term),
    Variable(String),
}

type Triple = [Place; 3];

/// That two places are the same term, or are not.
#[derive(Clone, Debug)]
struct Condition {
    left: Place,
    right: Place,
    differ: bool,
    /// As SPARQL's `=`, for which `1` and `01` are equal; not as `sameTerm`.
    by_value: bool,
}

#[derive(Clone, Debug, Default)]
struct Alternative {
    triples: Vec<Triple>,
    conditions: Vec<Condition>,
}

/// The rules of a CONSTRUCT.
pub fn rules(template: &[TriplePattern], pattern: &GraphPattern) -> Result<Vec<UserRule>, String> {
    let heads = template.iter().map(head).collect::<Result<Vec<_>, _>>()?;
    if heads.is_empty() {
        return Err("a rule without a head".to_owned());
    }
    // A CONSTRUCT projects what its template may use.
    let pattern = match pattern {
        GraphPattern::Project { inner, .. } => &**inner,
        pattern => pattern,
    };
    let mut rules = Vec::new();
    let mut concluded = vec![false; heads.len()];
    for alternative in alternatives(pattern)? {
        let Some(names) = Names::of(&alternative)? else {
            continue;
        };
        for (head, concluded) in heads.iter().zip(&mut concluded) {
            // As in SPARQL, where a variable of the template is unbound its triple is left out.
            if let Some(rule) = names.rule(head, &alternative)? {
                rules.push(rule);
                *concluded = true;
            }
        }
    }
    match concluded.iter().position(|concluded| !concluded) {
        Some(place) => Err(format!(
            "{}: a variable of it occurs in no triple of the body, or the body never matches",
            template[place]
        )),
        None => Ok(rules),
    }
}

fn head(triple: &TriplePattern) -> Result<Triple, String> {
    let is_blank = |term: &TermPattern| matches!(term, TermPattern::BlankNode(_));
    if is_blank(&triple.subject) || is_blank(&triple.object) {
        return Err(format!(
            "{triple}: a blank node in the head; a rule names what it concludes"
        ));
    }
    self::triple(triple)
}

fn triple(triple: &TriplePattern) -> Result<Triple, String> {
    let predicate = match &triple.predicate {
        NamedNodePattern::NamedNode(node) => Place::Term(node.clone().into()),
        NamedNodePattern::Variable(variable) => self::variable(variable),
    };
    Ok([place(&triple.subject)?, predicate, place(&triple.object)?])
}

fn variable(variable: &Variable) -> Place {
    Place::Variable(variable.as_str().to_owned())
}

fn place(term: &TermPattern) -> Result<Place, String> {
    match term {
        TermPattern::NamedNode(node) => Ok(Place::Term(node.clone().into())),
        TermPattern::Literal(literal) => Ok(Place::Term(literal.clone().into())),
        TermPattern::Variable(variable) => Ok(self::variable(variable)),
        TermPattern::BlankNode(node) => Ok(Place::Variable(node.to_string())),
        TermPattern::Triple(triple) => Err(format!("a triple term: {triple}")),
    }
}

fn alternatives(pattern: &GraphPattern) -> Result<Vec<Alternative>, String> {
    let name = match pattern {
        GraphPattern::Bgp { patterns } => {
            let triples = patterns.iter().map(triple).collect::<Result<_, _>>()?;
            let conditions = Vec::new();
            return Ok(vec![Alternative {
                triples,
                conditions,
            }]);
        }
        GraphPattern::Join { left, right } => {
            let right = alternatives(right)?;
            return multiply(&alternatives(left)?, &right);
        }
        GraphPattern::Union { left, right } => {
            let mut all = alternatives(left)?;
            all.extend(alternatives(right)?);
            return Ok(all);
        }
        GraphPattern::Filter { expr, inner } => {
            let inner = alternatives(inner)?;
            let conditions = normal_form(expr, false)?;
            for alternative in &inner {
                check_scope(alternative, &conditions)?;
            }
            let conditions: Vec<Alternative> = conditions
                .into_iter()
                .map(|conditions| Alternative {
                    triples: Vec::new(),
                    conditions,
                })
                .collect();
            return multiply(&inner, &conditions);
        }
        GraphPattern::Values {
            variables,
            bindings,
        } => {
            let row = |row: &Vec<Option<GroundTerm>>| {
                let bound = variables.iter().zip(row);
                let conditions = bound.filter_map(|(variable, term)| {
                    Some(Condition {
                        left: self::variable(variable),
                        right: Place::Term(term.clone()?.into()),
                        differ: false,
                        by_value: false,
                    })
                });
                Alternative {
                    triples: Vec::new(),
                    conditions: conditions.collect(),
                }
            };
            return Ok(bindings.iter().map(row).collect());
        }
        GraphPattern::Path { path, .. } => return Err(format!("the property path {path}")),
        GraphPattern::LeftJoin { .. } => "OPTIONAL",
        GraphPattern::Graph { .. } => "GRAPH",
        GraphPattern::Extend { .. } => "BIND",
        GraphPattern::Minus { .. } => "MINUS",
        GraphPattern::OrderBy { .. } => "ORDER BY",
        GraphPattern::Project { .. }
        | GraphPattern::Distinct { .. }
        | GraphPattern::Reduced { .. } => "a subquery",
        GraphPattern::Slice { .. } => "LIMIT or OFFSET",
        GraphPattern::Group { .. } => "GROUP BY",
        GraphPattern::Service { .. } => "SERVICE",
        #[expect(
            unreachable_patterns,
            reason = "spargebra has more with other features"
        )]
        _ => "an extension of SPARQL",
    };
    Err(format!("{name}: no rule has this"))
}

fn multiply(left: &[Alternative], right: &[Alternative]) -> Result<Vec<Alternative>, String> {
    if left.len() * right.len() > ALTERNATIVES_MAX {
        return Err(format!("more than {ALTERNATIVES_MAX} alternatives"));
    }
    let pairs = left
        .iter()
        .flat_map(|left| right.iter().map(move |right| (left, right)));
    let joined = pairs.map(|(left, right)| Alternative {
        triples: [&left.triples[..], &right.triples].concat(),
        conditions: [&left.conditions[..], &right.conditions].concat(),
    });
    Ok(joined.collect())
}

/// A variable of a FILTER that its own group does not bind makes it an error in SPARQL, whatever another group binds.
fn check_scope(alternative: &Alternative, conditions: &[Vec<Condition>]) -> Result<(), String> {
    let is_bound = |name: &str| {
        let is_it = |place: &Place| matches!(place, Place::Variable(known) if known == name);
        let by_values = |condition: &Condition| !condition.differ && is_it(&condition.left);
        alternative.triples.iter().flatten().any(is_it)
            || alternative.conditions.iter().any(by_values)
    };
    for condition in conditions.iter().flatten() {
        for place in [&condition.left, &condition.right] {
            match place {
                Place::Variable(name) if !is_bound(name) => {
                    return Err(format!(
                        "?{name} of FILTER occurs in no triple of its group"
                    ));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// The disjunctive normal form of a condition, or of its negation. None of what is understood is ever an error in SPARQL, so
/// that its logic has two values.
fn normal_form(expression: &Expression, negated: bool) -> Result<Vec<Vec<Condition>>, String> {
    match (expression, negated) {
        (Expression::Not(inner), _) => normal_form(inner, !negated),
        (Expression::And(left, right), false) | (Expression::Or(left, right), true) => {
            let right = normal_form(right, negated)?;
            let mut all = Vec::new();
            for left in normal_form(left, negated)? {
                all.extend(right.iter().map(|right| [&left[..], right].concat()));
            }
            if all.len() > ALTERNATIVES_MAX {
                return Err(format!("more than {ALTERNATIVES_MAX} alternatives"));
            }
            Ok(all)
        }
        (Expression::Or(left, right), false) | (Expression::And(left, right), true) => {
            let mut all = normal_form(left, negated)?;
            all.extend(normal_form(right, negated)?);
            Ok(all)
        }
        (Expression::Equal(left, right), differ) => {
            Ok(vec![vec![condition(left, right, differ, true)?]])
        }
        (Expression::SameTerm(left, right), differ) => {
            Ok(vec![vec![condition(left, right, differ, false)?]])
        }
        (Expression::In(left, members), false) => members
            .iter()
            .map(|member| Ok(vec![condition(left, member, false, true)?]))
            .collect(),
        (Expression::In(left, members), true) => {
            let conditions = members
                .iter()
                .map(|member| condition(left, member, true, true));
            Ok(vec![conditions.collect::<Result<_, _>>()?])
        }
        _ => Err(format!("FILTER({expression}): no rule has this condition")),
    }
}

fn condition(
    left: &Expression,
    right: &Expression,
    differ: bool,
    by_value: bool,
) -> Result<Condition, String> {
    let operand = |expression: &Expression| match expression {
        Expression::NamedNode(node) => Ok(Place::Term(node.clone().into())),
        Expression::Literal(literal) => Ok(Place::Term(literal.clone().into())),
        Expression::Variable(variable) => Ok(self::variable(variable)),
        expression => Err(format!(
            "FILTER with {expression}: a rule compares variables and terms"
        )),
    };
    let (left, right) = (operand(left)?, operand(right)?);
    if let (Place::Term(_), Place::Term(_)) = (&left, &right) {
        return Err("FILTER compares two terms".to_owned());
    }
    Ok(Condition {
        left,
        right,
        differ,
        by_value,
    })
}

/// What the variables of an alternative stand for in a rule.
struct Names {
    /// What is the same as another place.
    replaced: BTreeMap<String, Place>,
    numbers: BTreeMap<String, usize>,
}

impl Names {
    /// `None` if the alternative never matches.
    fn of(alternative: &Alternative) -> Result<Option<Self>, String> {
        let mut names = Self {
            replaced: BTreeMap::new(),
            numbers: BTreeMap::new(),
        };
        for condition in &alternative.conditions {
            check_values(alternative, condition)?;
            if condition.differ {
                continue;
            }
            match (names.place(&condition.left), names.place(&condition.right)) {
                (left, right) if left == right => {}
                (Place::Variable(name), other) | (other, Place::Variable(name)) => {
                    names.replaced.insert(name, other);
                }
                (Place::Term(_), Place::Term(_)) => return Ok(None),
            }
        }
        for place in alternative.triples.iter().flatten() {
            if let Place::Variable(name) = names.place(place) {
                let number = names.numbers.len();
                names.numbers.entry(name).or_insert(number);
            }
        }
        Ok(Some(names))
    }

    fn place(&self, place: &Place) -> Place {
        let mut place = place;
        while let Place::Variable(name) = place {
            match self.replaced.get(name) {
                Some(other) => place = other,
                None => break,
            }
        }
        place.clone()
    }

    /// `None` for a variable that no triple binds.
    fn part(&self, place: &Place) -> Option<Part> {
        match self.place(place) {
            Place::Term(term) => Some(Part::Term(term)),
            Place::Variable(name) => self.numbers.get(&name).copied().map(Part::Variable),
        }
    }

    fn triple(&self, triple: &Triple) -> Option<[Part; 3]> {
        let [subject, predicate, object] = triple;
        Some([
            self.part(subject)?,
            self.part(predicate)?,
            self.part(object)?,
        ])
    }

    fn rule(&self, head: &Triple, alternative: &Alternative) -> Result<Option<UserRule>, String> {
        let Some(head) = self.triple(head) else {
            return Ok(None);
        };
        let body = alternative.triples.iter().map(|triple| self.triple(triple));
        let body: Option<Vec<_>> = body.collect();
        let mut differ = Vec::new();
        for condition in alternative
            .conditions
            .iter()
            .filter(|condition| condition.differ)
        {
            let bound = "a condition's variables are bound in its group";
            let left = self.part(&condition.left).expect(bound);
            let right = self.part(&condition.right).expect(bound);
            match (left, right) {
                (left, right) if left == right => return Ok(None),
                (Part::Variable(variable), other) | (other, Part::Variable(variable)) => {
                    differ.push((variable, other));
                }
                (Part::Term(_), Part::Term(_)) => {}
            }
        }
        UserRule::new(
            head,
            body.expect("the body's variables are numbered"),
            differ,
        )
        .map(Some)
    }
}

/// An equality by value must be one of terms as well: one side is never a literal.
fn check_values(alternative: &Alternative, condition: &Condition) -> Result<(), String> {
    let is_no_literal = |place: &Place| match place {
        Place::Term(term) => matches!(term, Term::NamedNode(_)),
        Place::Variable(_) => alternative
            .triples
            .iter()
            .any(|[subject, predicate, _]| [subject, predicate].contains(&place)),
    };
    if !condition.by_value || is_no_literal(&condition.left) || is_no_literal(&condition.right) {
        return Ok(());
    }
    let show = |place: &Place| match place {
        Place::Term(term) => term.to_string(),
        Place::Variable(name) => format!("?{name}"),
    };
    Err(format!(
        "FILTER compares {} and {}, which may both be literals, by value; rules compare terms: write sameTerm",
        show(&condition.left),
        show(&condition.right)
    ))
}
