//! The fixpoint of a set of rules, semi-naive, on all threads.
//!
//! ```text
//!           +--------------------------------------------------------------+
//!           v                                                              |
//!   delta (a run) -> tasks: each rule from each premise that it matches -> conclusions
//!                                                                          |  by predicate (and object): sort, drop
//!                                                                          |  what is stored or was inferred before
//!                                                                          v
//!                    older runs (merged by size) <- delta             new delta; none: done
//! ```
//!
//! What always holds:
//! * In a round the premises before the one that takes the delta are looked up in what is older, those behind it also in the
//!   delta: no combination of triples is joined twice.
//! * Snapshot, older runs and delta are disjoint.
//! * A round that begins with everything evaluates each rule once, from its smallest premise.

use crate::error::Result;
use crate::evaluate::{Conclusions, Evaluation};
use crate::facts::{FactCursor, Facts, RunRows, run_rows};
use crate::memory::Charge;
use crate::options::Context;
use crate::rule::{Atom, Rule, Slot};
use crate::run::Run;
use crate::workers;
use quadrille_store::{Order, Scan, Snapshot, TermId};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Rows of the first premise that a task takes, about.
const TASK_ROWS: u64 = 100_000;

/// What the first round begins with.
pub enum Start {
    /// All that is there.
    Everything,
    /// These triples of the snapshot: all others, and what follows from them alone, are closed under the rules.
    Delta(Arc<Run>),
}

/// The triples that follow from a snapshot's default graph by rules, and are neither in it nor in `runs`, which are taken
/// as inferred: added to `runs`, each round's as a run of its own if rounds are to be kept. Returns the number of rounds.
pub fn close(
    snapshot: &Snapshot,
    rules: &[Rule],
    start: Start,
    runs: &mut Vec<Arc<Run>>,
    keep_rounds: bool,
    context: &Context<'_>,
) -> Result<u64> {
    let mut rounds = 0;
    let mut delta = match start {
        Start::Everything => {
            let facts = Facts { snapshot, runs };
            let tasks = everything(&facts, rules, context)?;
            round(&facts, &facts, None, tasks, context)?
        }
        Start::Delta(delta) => {
            // The snapshot has the delta: every premise but the first is looked up in all of it.
            let facts = Facts { snapshot, runs };
            let tasks = of_delta(&facts, rules, &delta)?;
            round(&facts, &facts, Some(&delta), tasks, context)?
        }
    };
    while !delta.is_empty() {
        rounds += 1;
        context.check()?;
        let older = runs.clone();
        runs.push(Arc::clone(&delta));
        let (older, newer) = (
            Facts {
                snapshot,
                runs: &older,
            },
            Facts { snapshot, runs },
        );
        let tasks = of_delta(&older, rules, &delta)?;
        let next = round(&older, &newer, Some(&delta), tasks, context)?;
        if !keep_rounds {
            tidy(runs, context);
        }
        delta = next;
    }
    Ok(rounds)
}

/// Merges the newest runs while they are of about one size, so that there are few.
fn tidy(runs: &mut Vec<Arc<Run>>, context: &Context<'_>) {
    while let [.., older, newer] = &runs[..] {
        if older.len() > 2 * newer.len() {
            return;
        }
        let merged = Run::merge(&[older, newer]).counted(&context.memory);
        runs.truncate(runs.len() - 2);
        runs.push(Arc::new(merged));
    }
}

/// A rule from one of its premises on.
struct Task<'a> {
    evaluation: Evaluation<'a>,
    first: usize,
    input: Input,
}

enum Input {
    /// A part of the snapshot; taken once.
    Stored(Mutex<Option<Scan>>),
    /// Rows of the run with this number; or of the delta.
    Run(Option<usize>, std::ops::Range<usize>),
}

/// Each rule, from its smallest premise.
fn everything<'a>(
    facts: &Facts<'_>,
    rules: &'a [Rule],
    context: &Context<'_>,
) -> Result<Vec<Task<'a>>> {
    let mut tasks = Vec::new();
    for rule in rules {
        let weights = weights(facts, rule)?;
        if weights.contains(&0) {
            continue;
        }
        let first = (0..weights.len()).min_by_key(|atom| weights[*atom]);
        let first = first.expect("a rule has premises");
        let evaluation = || Evaluation::new(rule, first, &weights);
        let parts = if weights[first] > TASK_ROWS {
            (weights[first] / TASK_ROWS).min(8 * context.options.threads as u64) as usize
        } else {
            1
        };
        for scan in evaluation().scans(facts.snapshot, parts.max(1))? {
            tasks.push(Task {
                evaluation: evaluation(),
                first,
                input: Input::Stored(Mutex::new(Some(scan))),
            });
        }
        for (number, run) in facts.runs.iter().enumerate() {
            tasks.extend(of_run(
                run,
                Some(number),
                &rule.body[first],
                first,
                evaluation,
            ));
        }
    }
    Ok(tasks)
}

/// Each rule from each premise that triples of the delta match.
fn of_delta<'a>(facts: &Facts<'_>, rules: &'a [Rule], delta: &Run) -> Result<Vec<Task<'a>>> {
    let mut tasks = Vec::new();
    for rule in rules {
        let matching: Vec<usize> = (0..rule.body.len())
            .filter(|atom| run_rows(delta, &rule.body[*atom]) > 0)
            .collect();
        if matching.is_empty() {
            continue;
        }
        let weights = weights(facts, rule)?;
        for first in matching {
            let evaluation = || Evaluation::new(rule, first, &weights);
            tasks.extend(of_run(delta, None, &rule.body[first], first, evaluation));
        }
    }
    Ok(tasks)
}

fn weights(facts: &Facts<'_>, rule: &Rule) -> Result<Vec<u64>> {
    rule.body
        .iter()
        .map(|atom| facts.count_at_most(atom))
        .collect()
}

fn of_run<'a>(
    run: &Run,
    number: Option<usize>,
    atom: &Atom,
    first: usize,
    evaluation: impl Fn() -> Evaluation<'a>,
) -> Vec<Task<'a>> {
    let rows = run_rows(run, atom) as usize;
    let share = rows
        .div_ceil(rows.div_ceil(TASK_ROWS as usize).max(1))
        .max(1);
    (0..rows.div_ceil(share))
        .map(|part| Task {
            evaluation: evaluation(),
            first,
            input: Input::Run(number, part * share..rows.min((part + 1) * share)),
        })
        .collect()
}

/// What rules conclude from facts in one round, and the memory that it takes.
pub fn conclusions(
    facts: &Facts<'_>,
    rules: &[Rule],
    context: &Context<'_>,
) -> Result<(Vec<Conclusions>, Charge)> {
    let tasks = everything(facts, rules, context)?;
    run(facts, facts, None, &tasks, context)
}

/// Runs the tasks and gives what is new.
fn round(
    older: &Facts<'_>,
    newer: &Facts<'_>,
    delta: Option<&Run>,
    tasks: Vec<Task<'_>>,
    context: &Context<'_>,
) -> Result<Arc<Run>> {
    let (conclusions, _charge) = run(older, newer, delta, &tasks, context)?;
    drop(tasks);
    new_run(newer, conclusions, context)
}

fn run(
    older: &Facts<'_>,
    newer: &Facts<'_>,
    delta: Option<&Run>,
    tasks: &[Task<'_>],
    context: &Context<'_>,
) -> Result<(Vec<Conclusions>, Charge)> {
    let charge = context.memory.charge(0);
    let conclusions = workers::each(context.options.threads, tasks, |task| {
        context.check()?;
        let others = |premise: usize| if premise < task.first { *older } else { *newer };
        let concluded = match &task.input {
            Input::Stored(scan) => {
                let scan = scan.lock().expect("no worker panics").take();
                let scan = scan.expect("a task runs once");
                task.evaluation.stored(scan, &others, context)
            }
            Input::Run(number, rows) => {
                let run = match number {
                    Some(number) => &*newer.runs[*number],
                    None => delta.expect("tasks of a delta have one"),
                };
                let (all, skip) = RunRows::new(run, task.evaluation.atom(), task.evaluation.order);
                match all {
                    RunRows::Pairs(all) => {
                        let rows = &all[rows.clone()];
                        task.evaluation.slice(rows, skip, &others, context)
                    }
                    RunRows::Triples(all) => {
                        let rows = &all[rows.clone()];
                        task.evaluation.slice(rows, skip, &others, context)
                    }
                }
            }
        }?;
        let pairs: usize = concluded.values().map(Vec::len).sum();
        charge.add(pairs * size_of::<[TermId; 2]>());
        context.check()?;
        Ok(concluded)
    })?;
    Ok((conclusions, charge))
}

/// Conclusions from several tasks, as [`Conclusions`] has them.
type Chunks = BTreeMap<(TermId, Option<TermId>), Vec<Vec<[TermId; 2]>>>;

/// Conclusions of one predicate, of one object where all have one.
struct Group {
    predicate: TermId,
    chunks: Mutex<Vec<Vec<[TermId; 2]>>>,
}

/// What is not yet among the facts.
fn new_run(
    facts: &Facts<'_>,
    conclusions: Vec<Conclusions>,
    context: &Context<'_>,
) -> Result<Arc<Run>> {
    let mut groups: Chunks = Chunks::new();
    for (key, pairs) in conclusions.into_iter().flatten() {
        groups.entry(key).or_default().push(pairs);
    }
    // Where a predicate has conclusions of any object, those of one object go with them: they may be the same.
    let general: Vec<TermId> = groups
        .keys()
        .filter(|(_, object)| object.is_none())
        .map(|(predicate, _)| *predicate)
        .collect();
    let mut merged: Chunks = BTreeMap::new();
    for ((predicate, object), chunks) in groups {
        let object = object.filter(|_| general.binary_search(&predicate).is_err());
        merged
            .entry((predicate, object))
            .or_default()
            .extend(chunks);
    }
    let groups: Vec<Group> = merged
        .into_iter()
        .map(|((predicate, _), chunks)| Group {
            predicate,
            chunks: Mutex::new(chunks),
        })
        .collect();
    let new = workers::each(context.options.threads, &groups, |group| {
        let chunks = std::mem::take(&mut *group.chunks.lock().expect("no worker panics"));
        let mut pairs = chunks.into_iter().reduce(|mut all, mut chunk| {
            if all.len() < chunk.len() {
                std::mem::swap(&mut all, &mut chunk);
            }
            all.append(&mut chunk);
            all
        });
        let pairs = pairs.get_or_insert_default();
        // A stable sort merges what is sorted already.
        pairs.sort();
        pairs.dedup();
        retain_new(facts, group.predicate, pairs)?;
        Ok(std::mem::take(pairs))
    })?;
    let mut predicates: BTreeMap<TermId, Vec<[TermId; 2]>> = BTreeMap::new();
    for (group, mut pairs) in groups.iter().zip(new) {
        // Groups come by predicate and object.
        predicates
            .entry(group.predicate)
            .or_default()
            .append(&mut pairs);
    }
    Ok(Arc::new(Run::new(predicates).counted(&context.memory)))
}

/// Drops the pairs (object, subject) that are among the facts.
fn retain_new(facts: &Facts<'_>, predicate: TermId, pairs: &mut Vec<[TermId; 2]>) -> Result<()> {
    let atom = Atom([
        Slot::Variable(0),
        Slot::Constant(predicate),
        Slot::Variable(1),
    ]);
    let mut cursors: Vec<FactCursor<'_>> = facts.cursors(&atom, Order::Pos)?;
    if cursors.is_empty() {
        return Ok(());
    }
    let mut kept = 0;
    for place in 0..pairs.len() {
        let pair = pairs[place];
        let mut known = false;
        for cursor in &mut cursors {
            cursor.probe(&pair, 0, &mut |_| known = true)?;
        }
        if !known {
            pairs[kept] = pair;
            kept += 1;
        }
    }
    pairs.truncate(kept);
    Ok(())
}

#[cfg(test)]
mod tests;
