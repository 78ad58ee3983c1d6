//! `load`: the phases one after the other, and what is published at the end.
//!
//! ```text
//! insert -> sort -> number -> build -> publish          (see `crate::progress::Phase`)
//! ```
//!
//! What always holds: the store is as it was until the manifest is switched, whatever goes wrong before; temporary
//! files and files of a load that failed are removed (after a crash: when the store is next opened for writing).

use crate::build::{Build, Built};
use crate::error::LoadError;
use crate::input::{Compression, InputFile, InputOptions, SliceSource};
use crate::memory::PeakMemory;
use crate::options::{LoadOptions, OnError};
use crate::parse::{ParseOptions, Reject};
use crate::pipeline::{Gathering, InputPlaces, Pipeline};
use crate::progress::Phase;
use crate::rejects::Rejects;
use crate::report::{LoadReport, PartReport, PhaseReport};
use crate::run::{self, Run, Temporary, TemporaryNames, Terms};
use crate::syncing::Syncing;
use crate::usage::ProcessUsage;
use crate::vocabulary::number::{self, Context, Numbering};
use oxrdf::NamedNode;
use quadrille_store::dictionary::DictionarySummary;
use quadrille_store::index::OrderSummary;
use quadrille_store::index::block::Codec;
use quadrille_store::io::Storage;
use quadrille_store::segment::SegmentWriter;
use quadrille_store::statistics::{GraphStatistics, Statistics};
use quadrille_store::store::{NewSegment, SegmentReservation};
use quadrille_store::triple_table::TripleTableWriter;
use quadrille_store::{Kind, Snapshot, Store, TermId, manifest};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// This share of the budget (in percent) goes to what inserters gather, the rest to buffers.
const GATHERED_PERCENT: usize = 75;
/// The same for rows that are sorted.
const ROWS_PERCENT: usize = 75;

/// Loads inputs into a store: all of them, or on an error nothing.
pub fn load(
    store: &Store,
    inputs: Vec<InputFile>,
    options: &LoadOptions,
) -> Result<LoadReport, LoadError> {
    let (input, parse) = input_and_parse(options)?;
    let places = InputPlaces::new(&inputs);
    let files = inputs.len() as u64;
    let source = Arc::new(SliceSource::new(inputs, &input));
    let stopped = Arc::downgrade(&source);
    options.cancel.on_cancel(move || {
        if let Some(source) = stopped.upgrade() {
            source.stop();
        }
    });
    // A load that is refused must not touch the file of one that is under way.
    let reservation = store.begin_segment()?;
    // Where nothing is left out, nothing is written: an older file stays.
    let skips = options.on_error == OnError::Skip;
    let rejects = Rejects::new(options.rejects.as_deref().filter(|_| skips))?;
    let storage = Arc::clone(store.storage());
    let directory = reservation.segment_path.replace('/', "-");
    let names = TemporaryNames::new(format!("{}/{directory}", manifest::TEMPORARY));
    let _cleanup = Cleanup {
        storage: &*storage,
        names: &names,
    };
    let load = Load {
        // What was inferred is no reason not to load it.
        snapshot: store.snapshot().explicit(),
        storage: &storage,
        reservation: &reservation,
        temporary: Temporary {
            storage: &*storage,
            names: &names,
        },
        options,
        peak: PeakMemory::default(),
        syncing: Syncing::start(),
        clock: Clock::start(),
        report: LoadReport {
            files,
            memory_budget_bytes: options.budget() as u64,
            ..LoadReport::default()
        },
    };
    let (new, mut finishing) = load.run(&source, &places, parse, &rejects)?;
    finishing.report.first_rejects = rejects.finish()?.iter().map(Reject::to_string).collect();
    options.check_cancelled()?;
    store.publish(reservation, new)?;
    Ok(finishing.end())
}

/// Foresees whether the disk is large enough: what is probably missing, in bytes. Compressed inputs count as ten
/// times their size.
pub fn disk_shortage(store: &Store, inputs: &[InputFile]) -> Result<Option<u64>, LoadError> {
    let Some(free) = store.storage().free_space()? else {
        return Ok(None);
    };
    let bytes: u64 = inputs
        .iter()
        .map(|input| {
            let length = input.length.unwrap_or(0);
            match input.compression {
                None | Some(Compression::Plain) => length,
                Some(_) => length.saturating_mul(10),
            }
        })
        .sum();
    // A store takes about a tenth of its N-Triples; temporary files may take a third for a while.
    let needed = bytes / 10 + bytes / 3;
    Ok((needed > free).then(|| needed - free))
}

fn input_and_parse(options: &LoadOptions) -> Result<(InputOptions, ParseOptions), LoadError> {
    let iri = |option: &'static str, value: &Option<String>| {
        let parsed = value.as_ref().map(NamedNode::new).transpose();
        parsed.map_err(|error| LoadError::Option {
            option,
            reason: error.to_string(),
        })
    };
    let parse = ParseOptions {
        lenient: options.lenient,
        batch_size: options.batch_statements.max(1),
        graph: iri("graph", &options.graph)?,
    };
    let input = InputOptions {
        base: iri("base", &options.base)?,
        ..InputOptions::default()
    };
    Ok((input, parse))
}

/// Removes the load's temporary files, however it ends.
struct Cleanup<'a> {
    storage: &'a dyn Storage,
    names: &'a TemporaryNames,
}

impl Drop for Cleanup<'_> {
    fn drop(&mut self) {
        // What cannot be removed now is removed when the store is next opened for writing.
        drop(self.storage.remove(self.names.directory()));
    }
}

/// A load under way.
struct Load<'a> {
    snapshot: Snapshot,
    storage: &'a Arc<dyn Storage>,
    reservation: &'a SegmentReservation,
    temporary: Temporary<'a>,
    options: &'a LoadOptions,
    peak: PeakMemory,
    syncing: Syncing,
    clock: Clock,
    report: LoadReport,
}

/// A load whose files are written.
struct Finishing {
    clock: Clock,
    report: LoadReport,
    peak: PeakMemory,
}

impl Load<'_> {
    fn run(
        mut self,
        source: &SliceSource,
        places: &InputPlaces,
        parse: ParseOptions,
        rejects: &Rejects,
    ) -> Result<(NewSegment, Finishing), LoadError> {
        let Gathering { runs, prefixes, .. } = self.gather(source, places, parse, rejects)?;
        self.options.check_cancelled()?;
        let mut runs = run::collapse(runs, self.temporary, &self.options.cancel)?;
        self.options.progress.set_phase(Phase::Number);
        let numbering = number::number(&mut runs, &self.context())?;
        self.clock.end(Phase::Number, &mut self.report);
        self.peak.look();
        self.options.progress.set_phase(Phase::Build);
        let mut new = self.build(&runs, numbering)?;
        new.prefixes = prefixes.into_iter().collect();
        self.peak.look();
        self.clock.end(Phase::Build, &mut self.report);
        self.options.progress.set_phase(Phase::Publish);
        self.syncing.finish()?;
        let finishing = Finishing {
            clock: self.clock,
            report: self.report,
            peak: self.peak,
        };
        Ok((new, finishing))
    }

    fn gather(
        &mut self,
        source: &SliceSource,
        places: &InputPlaces,
        parse: ParseOptions,
        rejects: &Rejects,
    ) -> Result<Gathering, LoadError> {
        let progress = source.progress();
        self.options.progress.set_input(Arc::clone(&progress));
        self.options.progress.set_phase(Phase::Insert);
        let pipeline = Pipeline {
            source,
            places,
            parse,
            options: self.options,
            rejects,
            temporary: self.temporary,
            memory: self.options.budget() / 100 * GATHERED_PERCENT,
            peak: &self.peak,
        };
        let mut gathering = pipeline.run(|| {
            self.clock.end(Phase::Insert, &mut self.report);
            self.options.progress.set_phase(Phase::Sort);
        })?;
        self.clock.end(Phase::Sort, &mut self.report);
        let report = &mut self.report;
        report.input_bytes = progress.read();
        report.statements = gathering.counts.statements;
        report.fallback_lines = gathering.counts.fallback_lines;
        report.lenient_statements = gathering.counts.lenient;
        report.rejected_statements = gathering.counts.rejected;
        report.threads = std::mem::take(&mut gathering.threads);
        report.queue = gathering.queue;
        let spilled = |run: &&Run| matches!(run.terms, Terms::File { .. });
        report.spilled_runs = gathering.runs.iter().filter(spilled).count() as u64;
        self.peak.look();
        Ok(gathering)
    }

    fn context(&self) -> Context<'_> {
        Context {
            temporary: self.temporary,
            snapshot: &self.snapshot,
            dictionary_path: &self.reservation.dictionary_path,
            first_ordinals: self.reservation.first_ordinals,
            first_blank: self.reservation.first_blank,
            first_triple: self.reservation.first_triple,
            threads: self.options.threads.max(1),
            cancel: &self.options.cancel,
        }
    }

    /// Writes everything but the manifest.
    fn build(&mut self, runs: &[Run], numbering: Numbering) -> Result<NewSegment, LoadError> {
        let mut new = NewSegment::default();
        let blank = numbering
            .new_terms
            .iter()
            .find(|(kind, _)| *kind == Kind::Blank);
        new.blank_nodes = blank.map_or(0, |(_, count)| *count);
        self.report.terms = numbering.distinct;
        self.report.terms_new = numbering.new_terms.iter().map(|(_, count)| count).sum();
        if let Some((file, summary)) = numbering.dictionary {
            self.report.parts.push(PartReport {
                part: "dictionary".to_owned(),
                bytes: file.bytes(),
                detail: dictionary_detail(&summary),
            });
            self.syncing.take(file);
            new.dictionary = true;
        }
        if !numbering.triple_rows.is_empty() {
            let mut table = TripleTableWriter::new(self.reservation.first_triple);
            for row in &numbering.triple_rows {
                table.push(*row)?;
            }
            let file = table.finish(&**self.storage, &self.reservation.triples_path)?;
            self.report.parts.push(PartReport {
                part: "triple terms".to_owned(),
                bytes: file.bytes(),
                detail: Vec::new(),
            });
            self.syncing.take(file);
            new.triple_table = true;
        }
        let ids_of = |ranks: &[u32]| -> Vec<TermId> {
            let ids = ranks
                .iter()
                .map(|rank| numbering.ranks.id(u64::from(*rank)));
            ids.collect()
        };
        let predicates = ids_of(&numbering.predicates);
        let graph_ids = ids_of(&numbering.graphs);
        let segment = SegmentWriter::new(
            Arc::clone(self.storage),
            &self.reservation.segment_path,
            predicates,
        );
        let build = Build {
            temporary: self.temporary,
            segment: &segment,
            syncing: &self.syncing,
            snapshot: &self.snapshot,
            ranks: &numbering.ranks,
            predicates: &numbering.predicates,
            graphs: &numbering.graphs,
            graph_ids: &graph_ids,
            distinct_terms: numbering.distinct,
            threads: self.options.threads.max(1),
            memory: self.options.budget() / 100 * ROWS_PERCENT,
            options: self.options,
            peak: &self.peak,
            present: AtomicU64::new(0),
        };
        let default = build.default_graph(runs, &numbering.maps)?;
        let named = build.named_graphs(runs, &numbering.maps)?;
        let present = build.present.load(Ordering::Relaxed);
        let report = &mut self.report;
        report.quads_new = default.quads + named.quads;
        report.quads_named = named.quads;
        report.quads_present = present;
        report.duplicates = report.statements - report.quads_new - present;
        for (summary, bytes) in default.orders.iter().chain(&named.orders) {
            report.parts.push(PartReport {
                part: summary.order.name().to_owned(),
                bytes: *bytes,
                detail: order_detail(summary),
            });
        }
        if report.quads_new > 0 {
            let statistics_of = |built: Built| {
                GraphStatistics::from_observers(
                    segment.predicates(),
                    built.subjects,
                    built.predicate_subjects,
                    built.predicate_objects,
                )
            };
            let statistics = Statistics {
                default_graph: statistics_of(default),
                named_graphs: statistics_of(named),
            };
            new.segment = Some(segment.finish(&statistics)?);
        }
        Ok(new)
    }
}

impl Finishing {
    fn end(mut self) -> LoadReport {
        self.clock.end(Phase::Publish, &mut self.report);
        self.peak.look();
        let mut report = self.report;
        let used = ProcessUsage::now() - self.clock.usage_began;
        report.wall_seconds = self.clock.began.elapsed().as_secs_f64();
        report.cpu_seconds = used.cpu_seconds;
        report.system_seconds = used.system_seconds;
        report.voluntary_switches = used.voluntary_switches;
        report.involuntary_switches = used.involuntary_switches;
        report.peak_memory_bytes = self.peak.bytes();
        report
    }
}

/// Bytes of a dictionary by kind of term.
fn dictionary_detail(summary: &DictionarySummary) -> Vec<(String, u64)> {
    let sections = Kind::VOCABULARY.iter().zip(&summary.sections);
    sections
        .map(|(kind, section)| {
            (
                format!("{kind:?}"),
                section.block_bytes + section.directory_bytes,
            )
        })
        .collect()
}

/// Bytes of an order by column and codec.
fn order_detail(summary: &OrderSummary) -> Vec<(String, u64)> {
    let mut detail = vec![("directory".to_owned(), summary.directory_bytes)];
    for (position, column) in summary.order.columns().iter().zip(&summary.columns) {
        for (codec, bytes) in Codec::ALL.iter().zip(column.bytes) {
            if bytes > 0 {
                detail.push((format!("{position:?} {codec:?}").to_lowercase(), bytes));
            }
        }
    }
    detail
}

/// Measures phases.
struct Clock {
    began: Instant,
    usage_began: ProcessUsage,
    phase_began: Instant,
    phase_usage: ProcessUsage,
}

impl Clock {
    fn start() -> Self {
        let (now, usage) = (Instant::now(), ProcessUsage::now());
        Self {
            began: now,
            usage_began: usage,
            phase_began: now,
            phase_usage: usage,
        }
    }

    fn end(&mut self, phase: Phase, report: &mut LoadReport) {
        let (now, usage) = (Instant::now(), ProcessUsage::now());
        report.phases.push(PhaseReport {
            phase,
            wall_seconds: (now - self.phase_began).as_secs_f64(),
            cpu_seconds: (usage - self.phase_usage).cpu_seconds,
        });
        self.phase_began = now;
        self.phase_usage = usage;
    }
}
