//! An inference, from snapshot to published segment.
//!
//! ```text
//!  inferred with other rules, or quads were deleted since ---> anew: from the explicit quads; replaces what was inferred
//!  inferred with these rules, quads were inserted since -----> further: from the union, beginning with the new quads,
//!                                                              or with everything if some of them are schema
//!  inferred with these rules, nothing changed since ---------> nothing
//!
//!  schema triples -> rules -> fixpoint --(schema triples were inferred)--> rules -> fixpoint ... -> segment -> publish
//! ```
//!
//! What always holds: premises are triples of the default graph, conclusions go there; what is published is closed under
//! the rules, and disjoint from the explicit quads (`quadrille_store::snapshot` has the rules of the two sets).

use crate::consistency::{self, Contradiction, Contradictions};
use crate::error::Result;
use crate::facts::Facts;
use crate::fixpoint::{Start, close};
use crate::ontology::Ontology;
use crate::options::{Context, InferOptions};
use crate::rule::{Rule, Slot};
use crate::run::Run;
use crate::vocabulary::Vocabulary;
use crate::write::write_segment;
use quadrille_store::manifest::InferenceEntry;
use quadrille_store::{
    ColumnMask, Columns, GraphSelector, Order, Pattern, Snapshot, Store, TermId,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;
use xxhash_rust::xxh3::xxh3_64;

/// Changed when the rules of a profile change, so that what older ones inferred is not built upon.
const RULES_VERSION: u32 = 2;

/// Behind the name of a profile that a user's rules were added to.
pub const WITH_RULES: &str = " with rules";

/// What an inference did.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct InferReport {
    /// Name of the profile.
    pub profile: String,
    /// What it began with.
    pub mode: Mode,
    /// Quads that were inferred now.
    pub derived: u64,
    /// Inferred quads in the store now.
    pub inferred: u64,
    /// Rules that were made from the ontology.
    pub rules: u64,
    /// Rounds of the fixpoint after the first.
    pub rounds: u64,
    /// What contradicts the ontology. Nothing is left out for it; when nothing had changed, it is not looked for.
    pub contradictions: Contradictions,
    /// Wall time of the fixpoint in seconds, the making of rules included.
    pub reason_seconds: f64,
    /// Wall time of writing and publishing in seconds.
    pub write_seconds: f64,
}

/// What an inference began with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The explicit quads; what was inferred before was replaced.
    Anew,
    /// The quads that were inserted since the last inference.
    Further,
    /// Nothing: nothing had changed.
    UpToDate,
}

impl fmt::Display for InferReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.reason_seconds + self.write_seconds;
        if self.mode == Mode::UpToDate {
            return write!(
                f,
                "up to date: {} inferred quads ({})",
                self.inferred, self.profile
            );
        }
        write!(
            f,
            "{} quads by {} rules ({}{}) in {seconds:.2} s ({:.0} quads/s; reasoning {:.2} s, writing {:.2} s); {} inferred \
             quads in all",
            self.derived,
            self.rules,
            self.profile,
            if self.mode == Mode::Further {
                ", from what is new"
            } else {
                ""
            },
            self.derived as f64 / seconds.max(f64::MIN_POSITIVE),
            self.reason_seconds,
            self.write_seconds,
            self.inferred
        )?;
        if self.contradictions.count > 0 {
            write!(f, "; {} contradiction(s):", self.contradictions.count)?;
        }
        for Contradiction { rule, triples } in &self.contradictions.shown {
            write!(f, "\n  {rule}: {}", triples.join(" . "))?;
        }
        Ok(())
    }
}

/// Infers what follows from a store's quads by a profile's rules, and publishes it.
///
/// # Errors
/// If the store cannot be read or written, the ontology exceeds a limit, or the inference was cancelled. The store is
/// as it was then.
pub fn infer(store: &Store, options: &InferOptions) -> Result<InferReport> {
    let began = Instant::now();
    let context = Context::new(options);
    let reservation = store.begin_segment()?;
    let snapshot = store.snapshot();
    let mut name = options.profile.name().to_owned();
    if !options.rules.is_empty() {
        name.push_str(WITH_RULES);
    }
    let entry = InferenceEntry {
        profile: name.clone(),
        rules: fingerprint(options),
        commit: snapshot.commit(),
    };
    let mut report = InferReport {
        profile: name,
        mode: Mode::Anew,
        derived: 0,
        inferred: 0,
        rules: 0,
        rounds: 0,
        contradictions: Contradictions::default(),
        reason_seconds: 0.0,
        write_seconds: 0.0,
    };
    let previous = snapshot
        .inference()
        .filter(|previous| previous.rules == entry.rules);
    let newer = match previous {
        Some(previous) if previous.commit == snapshot.commit() => {
            report.mode = Mode::UpToDate;
            report.inferred = snapshot.inferred().len()?;
            return Ok(report);
        }
        Some(previous) => snapshot.inserted_since(previous.commit),
        None => None,
    };
    let base = match newer {
        Some(_) => snapshot.clone(),
        None => snapshot.explicit(),
    };
    let (vocabulary, mut new) =
        Vocabulary::name(store, &snapshot, &reservation, &options.rules.terms())?;
    let mut overlap = Run::default();
    let mut delta = None;
    if let Some(newer) = &newer {
        report.mode = Mode::Further;
        let inserted = read(newer, &context)?;
        overlap = in_both(&snapshot.inferred(), &inserted)?;
        delta = Some(inserted).filter(|inserted| !has_schema(inserted, &vocabulary));
    }
    let Closed {
        rules,
        constraints,
        runs,
        rounds,
    } = reason(&base, delta, &vocabulary, &context, false)?;
    let (count, matches) = consistency::check(&facts(&base, &runs), &constraints, &context)?;
    (report.rules, report.rounds) = (rules.len() as u64, rounds);
    let all: Vec<&Run> = runs.iter().map(|run| &**run).collect();
    let derived = Run::merge(&all).counted(&context.memory);
    drop(runs);
    report.derived = derived.len() as u64;
    report.reason_seconds = began.elapsed().as_secs_f64();

    let began = Instant::now();
    if !derived.is_empty() || !overlap.is_empty() {
        let path = &reservation.segment_path;
        new.segment = Some(write_segment(store, path, &derived, &overlap, &context)?);
    }
    context.check()?;
    store.publish_inferred(reservation, new, entry, report.mode == Mode::Anew)?;
    let snapshot = store.snapshot();
    report.contradictions = consistency::shown(&snapshot, count, &matches)?;
    report.inferred = snapshot.inferred().len()?;
    report.write_seconds = began.elapsed().as_secs_f64();
    Ok(report)
}

fn fingerprint(options: &InferOptions) -> u64 {
    let rules = &options.rules;
    xxh3_64(format!("{RULES_VERSION} {} {rules:?}", options.profile).as_bytes())
}

/// What follows from a snapshot.
pub struct Closed {
    /// The rules, as they were last made.
    pub rules: Vec<Rule>,
    /// And the constraints.
    pub constraints: Vec<Rule>,
    /// What was inferred.
    pub runs: Vec<Arc<Run>>,
    /// Rounds of the fixpoint after the first.
    pub rounds: u64,
}

/// Makes the rules and closes the facts under them, beginning with a delta or with everything; anew while schema triples are
/// inferred that change the rules.
pub fn reason(
    base: &Snapshot,
    delta: Option<Run>,
    vocabulary: &Vocabulary,
    context: &Context<'_>,
    keep_rounds: bool,
) -> Result<Closed> {
    let mut start = delta.map_or(Start::Everything, |delta| Start::Delta(Arc::new(delta)));
    let mut runs = Vec::new();
    let mut rounds = 0;
    let mut ontology = Ontology::read(&facts(base, &runs), vocabulary)?;
    loop {
        let mut rules =
            context
                .options
                .profile
                .rules(&ontology, vocabulary, &facts(base, &runs))?;
        rules.extend(context.options.rules.compile(&vocabulary.of_rules));
        rounds += close(base, &rules, start, &mut runs, keep_rounds, context)?;
        let mut is_final = !rules.iter().any(|rule| concludes_schema(rule, vocabulary));
        if !is_final {
            let again = Ontology::read(&facts(base, &runs), vocabulary)?;
            is_final = again == ontology;
            ontology = again;
        }
        if is_final {
            let constraints =
                context
                    .options
                    .profile
                    .constraints(&ontology, vocabulary, &facts(base, &runs))?;
            return Ok(Closed {
                rules,
                constraints,
                runs,
                rounds,
            });
        }
        start = Start::Everything;
    }
}

fn facts<'a>(snapshot: &'a Snapshot, runs: &'a [Arc<Run>]) -> Facts<'a> {
    Facts { snapshot, runs }
}

/// The triples of the default graph.
fn read(snapshot: &Snapshot, context: &Context<'_>) -> Result<Run> {
    let all = Pattern {
        subject: None,
        predicate: None,
        object: None,
        graph: GraphSelector::Default,
    };
    let mut scan = snapshot.scan(&all, Order::Pos, ColumnMask::ALL)?;
    let mut rows = Columns::default();
    let mut predicates: BTreeMap<TermId, Vec<[TermId; 2]>> = BTreeMap::new();
    loop {
        context.check()?;
        rows.clear();
        let filled = scan.fill(&mut rows, 4096)?;
        if filled == 0 {
            return Ok(Run::new(predicates).counted(&context.memory));
        }
        for row in 0..filled {
            let [predicate, object, subject] = [0, 1, 2].map(|column| rows.columns[column][row]);
            predicates
                .entry(predicate)
                .or_default()
                .push([object, subject]);
        }
    }
}

/// The triples of a run that a snapshot has as well.
fn in_both(snapshot: &Snapshot, run: &Run) -> Result<Run> {
    let facts = facts(snapshot, &[]);
    let mut predicates = BTreeMap::new();
    for predicate in run.predicates() {
        let mut both = Vec::new();
        for mut cursor in facts.cursors(&any(predicate), Order::Pos)? {
            for pair in run.by_object(predicate) {
                cursor.probe(pair, 0, &mut |_| both.push(*pair))?;
            }
        }
        predicates.insert(predicate, both);
    }
    Ok(Run::new(predicates))
}

fn any(predicate: TermId) -> crate::rule::Atom {
    crate::rule::Atom([
        Slot::Variable(0),
        Slot::Constant(predicate),
        Slot::Variable(1),
    ])
}

/// Whether a run has triples that change the rules.
fn has_schema(run: &Run, vocabulary: &Vocabulary) -> bool {
    let schema = vocabulary.schema_predicates();
    let classes = vocabulary.schema_classes();
    let types = run.by_object(vocabulary.rdf_type);
    run.predicates()
        .any(|predicate| schema.contains(&predicate))
        || types.iter().any(|[class, _]| classes.contains(class))
}

/// Whether a rule may conclude triples that change the rules. Those that close the hierarchies do not: what follows from a
/// hierarchy follows from its closure.
fn concludes_schema(rule: &Rule, vocabulary: &Vocabulary) -> bool {
    const OF_HIERARCHIES: [&str; 6] = [
        "rdfs5", "rdfs11", "scm-eqc1", "scm-eqp1", "scm-int", "scm-uni",
    ];
    if OF_HIERARCHIES.contains(&rule.name) {
        return false;
    }
    match rule.head.0 {
        [_, Slot::Constant(predicate), object] if predicate == vocabulary.rdf_type => {
            match object {
                Slot::Constant(class) => vocabulary.schema_classes().contains(&class),
                Slot::Variable(_) => true,
            }
        }
        [_, Slot::Constant(predicate), _] => vocabulary.schema_predicates().contains(&predicate),
        [_, Slot::Variable(_), _] => true,
    }
}
