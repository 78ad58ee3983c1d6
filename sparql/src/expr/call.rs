//! Computes a call of a function for a row.
//!
//! Here is what looks at ids and terms (`STR`, `DATATYPE`, `isIRI`, `TRIPLE`), at the row (`BNODE`) or at the running query
//! (`NOW`); everything else gets its operands' values and is computed in [`super::functions`].

use super::functions::pattern::Pattern;
use super::functions::strings::{plain, string, tagged};
use super::functions::{Function, compute};
use super::row::{Operand, Row};
use super::value::Value;
use super::{ConstantPattern, Expr, PatternCall};
use oxiri::Iri;
use oxrdf::vocab::{rdf, xsd};
use oxrdf::{BlankNode, Literal, NamedNode, NamedOrBlankNode, Term, Triple};
use quadrille_store::Kind;
use std::borrow::Cow;

impl<'a> Row<'a> {
    /// What a call comes out as; `None` if it fails.
    pub(super) fn call(self, function: Function, operands: &'a [Expr]) -> Option<Operand<'a>> {
        let first = || self.operand(operands.first()?);
        Some(Operand::Computed(match function {
            Function::Str => Value::String(self.lexical(&first()?)?),
            Function::Lang => Value::String(self.language(&first()?)?),
            Function::Datatype => Value::Iri(self.datatype(&first()?)?),
            Function::IsIri | Function::IsBlank | Function::IsLiteral | Function::IsTriple => {
                Value::Boolean(self.is_of_kind(function, &first()?))
            }
            Function::Iri => return self.iri(operands),
            Function::BNode => Value::Blank(match operands.first() {
                None => BlankNode::default().into_string().into(),
                Some(label) => {
                    let label = self.operand(label)?;
                    let label = self.value(&label);
                    Cow::Owned(self.evaluator.blank_node(self.number, plain(&label)?))
                }
            }),
            Function::StrDt => {
                let [text, datatype] = operands else {
                    return None;
                };
                let (text, datatype) = (self.operand(text)?, self.operand(datatype)?);
                return typed_literal(&self.value(&text), &self.value(&datatype))
                    .map(Operand::Term);
            }
            Function::Triple => {
                let [subject, predicate, object] = operands else {
                    return None;
                };
                let term = |operand| Some(self.term_of(&self.operand(operand)?));
                return triple(term(subject)?, term(predicate)?, term(object)?).map(Operand::Term);
            }
            Function::Subject | Function::Predicate | Function::Object => {
                let operand = first()?;
                let Value::Triple(triple) = self.value(&operand) else {
                    return None;
                };
                return Some(Operand::Term(match function {
                    Function::Subject => triple.subject.clone().into(),
                    Function::Predicate => triple.predicate.clone().into(),
                    _ => triple.object.clone(),
                }));
            }
            Function::Rand => Value::Double(rand::random::<f64>().into()),
            Function::Uuid => Value::Iri(Cow::Owned(format!("urn:uuid:{}", uuid()))),
            Function::StrUuid => Value::String(Cow::Owned(uuid())),
            Function::Now => Value::DateTime(self.evaluator.now()),
            Function::Cast(cast) => {
                let value = self.compute(function, operands)?;
                return Some(match (cast.derived_integer(), value) {
                    (Some(datatype), Value::Integer(value)) => Operand::Term(
                        Literal::new_typed_literal(value.to_string(), datatype).into(),
                    ),
                    (_, value) => Operand::Computed(value),
                });
            }
            _ => return self.compute(function, operands).map(Operand::Computed),
        }))
    }

    /// A function of values.
    fn compute(self, function: Function, operands: &'a [Expr]) -> Option<Value<'static>> {
        // Few operands need no memory of their own.
        match operands {
            [first] => {
                let first = self.operand(first)?;
                compute(function, &[self.value(&first)])
            }
            [first, second] => {
                let (first, second) = (self.operand(first)?, self.operand(second)?);
                compute(function, &[self.value(&first), self.value(&second)])
            }
            operands => {
                let operands: Vec<Operand<'a>> = operands
                    .iter()
                    .map(|operand| self.operand(operand))
                    .collect::<Option<_>>()?;
                let values: Vec<Value<'_>> =
                    operands.iter().map(|operand| self.value(operand)).collect();
                compute(function, &values)
            }
        }
    }

    /// `IRI`: an IRI as it is, or a string resolved against the base, which is the second operand.
    fn iri(self, operands: &'a [Expr]) -> Option<Operand<'a>> {
        let operand = self.operand(operands.first()?)?;
        if self.is_of_kind(Function::IsIri, &operand) {
            return Some(operand);
        }
        let value = self.value(&operand);
        let text = plain(&value)?;
        let iri = match operands.get(1) {
            Some(base) => {
                let base = self.operand(base)?;
                let Value::Iri(base) = self.value(&base) else {
                    return None;
                };
                Iri::parse(base.as_ref()).ok()?.resolve(text).ok()?
            }
            None => Iri::parse(text.to_owned()).ok()?,
        };
        Some(Operand::Computed(Value::Iri(Cow::Owned(iri.into_inner()))))
    }

    /// `REGEX` and `REPLACE`.
    pub(super) fn pattern_call(self, call: &'a PatternCall) -> Option<Value<'static>> {
        let text = self.operand(call.operands.first()?)?;
        let text = self.value(&text);
        let (text, tag) = string(&text)?;
        let computed;
        let pattern: &Pattern = match &call.pattern {
            ConstantPattern::Compiled(pattern) => pattern,
            ConstantPattern::Invalid => return None,
            ConstantPattern::Computed => {
                let pattern = self.operand(call.operands.get(1)?)?;
                let pattern = self.value(&pattern);
                let flags = match call.flags() {
                    Some(flags) => self.value(&self.operand(flags)?).into_owned(),
                    None => Value::String(Cow::Borrowed("")),
                };
                computed = self.evaluator.pattern(plain(&pattern)?, plain(&flags)?)?;
                &computed
            }
        };
        if pattern.may_take_long() && self.evaluator.is_stopped() {
            return None;
        }
        match call.function {
            Function::Replace => {
                let replacement = self.operand(call.operands.get(2)?)?;
                let replacement = self.value(&replacement);
                Some(tagged(pattern.replace(text, plain(&replacement)?)?, tag))
            }
            _ => pattern.is_match(text).map(Value::Boolean),
        }
    }

    fn is_of_kind(self, function: Function, operand: &Operand<'_>) -> bool {
        if let Operand::Id(id) = operand {
            let kind = id.kind();
            return match function {
                Function::IsIri => kind == Some(Kind::Iri),
                Function::IsBlank => kind == Some(Kind::Blank),
                Function::IsTriple => kind == Some(Kind::Triple),
                _ => kind.is_some_and(Kind::is_literal),
            };
        }
        let value = self.value(operand);
        match function {
            Function::IsIri => matches!(value, Value::Iri(_)),
            Function::IsBlank => matches!(value, Value::Blank(_)),
            Function::IsTriple => matches!(value, Value::Triple(_)),
            _ => value.datatype().is_some(),
        }
    }
}

/// `STRDT`. What has a language is made by `STRLANG` alone.
fn typed_literal(text: &Value<'_>, datatype: &Value<'_>) -> Option<Term> {
    let text = plain(text)?;
    let Value::Iri(datatype) = datatype else {
        return None;
    };
    let datatype = NamedNode::new_unchecked(datatype.as_ref());
    if datatype == rdf::LANG_STRING || datatype == rdf::DIR_LANG_STRING {
        return None;
    }
    Some(
        if datatype == xsd::STRING {
            Literal::new_simple_literal(text)
        } else {
            Literal::new_typed_literal(text, datatype)
        }
        .into(),
    )
}

/// `TRIPLE`: only what may be a triple of RDF.
fn triple(subject: Term, predicate: Term, object: Term) -> Option<Term> {
    let subject = match subject {
        Term::NamedNode(node) => NamedOrBlankNode::NamedNode(node),
        Term::BlankNode(node) => NamedOrBlankNode::BlankNode(node),
        Term::Literal(_) | Term::Triple(_) => return None,
    };
    let Term::NamedNode(predicate) = predicate else {
        return None;
    };
    Some(Triple::new(subject, predicate, object).into())
}

/// A random UUID: version 4, variant 1 of RFC 4122.
fn uuid() -> String {
    let random = rand::random::<u128>();
    let bits = random & !(0xF << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let digits = format!("{bits:032x}");
    [
        &digits[..8],
        &digits[8..12],
        &digits[12..16],
        &digits[16..20],
        &digits[20..],
    ]
    .join("-")
}
