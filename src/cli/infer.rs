//! `quadrille infer`.

use super::load::ReportArgument;
use super::{Failure, StoreArgument, say, size, stop_on_signal};
use clap::Args;
use oxrdf::Triple;
use oxrdfio::{RdfFormat, RdfParser};
use quadrille::Store;
use quadrille::reason::{
    InferOptions, Profile, Reason, Step, UserRules, WITH_RULES, explain, infer,
};
use quadrille::rules::{from_construct, is_construct};
use std::fs;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The options of `infer`.
#[derive(Args)]
pub struct Infer {
    #[command(flatten)]
    store: StoreArgument,
    /// What is inferred: hierarchy, rdfs, rdfs-plus, owl (a subset of OWL 2 RL), owl-same-as (functional properties and
    /// sameAs as well). With the profile of the last time only what is new is computed.
    #[arg(long, value_name = "PROFILE", required_unless_present_any = ["drop", "why", "rules"])]
    profile: Option<Profile>,
    /// Rules beside those of the profile, or, without one, alone (several times for several files): in a file .rq or .sparql, or
    /// one that holds them, CONSTRUCT queries, separated by `;`; else as `(?x ex:uncle ?z) <- (?x ex:father ?y), (?y ex:brother ?z) .`
    #[arg(long, value_name = "FILE")]
    rules: Vec<PathBuf>,
    /// Drop what was inferred; with a profile, and infer anew.
    #[arg(long)]
    drop: bool,
    /// Show how this triple, as in N-Triples ('<s> <p> <o>'), follows from explicit ones; by default by the profile of the
    /// last time. Changes nothing.
    #[arg(long, value_name = "TRIPLE", conflicts_with = "drop", value_parser = triple)]
    why: Option<Triple>,
    /// Threads; by default as many as there are cores.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Memory for what is inferred, such as 256MiB or 2G; an inference that needs more fails. By default half of what is free.
    #[arg(long, value_name = "SIZE", value_parser = size::memory)]
    memory: Option<u64>,
    /// The report: for people on standard error, or as JSON on standard output.
    #[arg(long, value_enum, default_value_t = ReportArgument::Human)]
    report: ReportArgument,
}

fn triple(text: &str) -> Result<Triple, String> {
    let text = format!("{} .", text.trim().trim_end_matches('.'));
    let mut quads = RdfParser::from_format(RdfFormat::NTriples).for_slice(&text);
    match (quads.next(), quads.next()) {
        (Some(Ok(quad)), None) => Ok(quad.into()),
        (Some(Err(error)), _) | (_, Some(Err(error))) => Err(error.to_string()),
        _ => Err("not one triple".to_owned()),
    }
}

/// The rules of a file, in either syntax.
fn rules(path: &Path) -> Result<UserRules, Failure> {
    let text = fs::read_to_string(path)?;
    let extension = path.extension().and_then(|extension| extension.to_str());
    if matches!(extension, Some("rq" | "sparql")) || is_construct(&text) {
        return Ok(from_construct(&text)?);
    }
    Ok(text.parse::<UserRules>()?)
}

impl Infer {
    /// Infers, drops what was inferred, or explains.
    pub fn run(self) -> Result<(), Failure> {
        if let Some(triple) = &self.why {
            return self.explain(triple);
        }
        let store = Store::open_existing(&self.store.store)?;
        if self.drop {
            let segments = store.drop_inferred()?;
            if self.report == ReportArgument::Human {
                say(format_args!(
                    "dropped {segments} segment(s) of inferred quads"
                ));
            }
        }
        let profile = match self.profile {
            Some(profile) => profile,
            None if !self.rules.is_empty() => Profile::None,
            None => return Ok(()),
        };
        let options = self.options(profile)?;
        let cancelled = Arc::clone(&options.cancelled);
        stop_on_signal(move || cancelled.swap(true, Ordering::Relaxed))?;
        let report = infer(&store, &options)?;
        match self.report {
            ReportArgument::Human => say(format_args!("inferred {report}")),
            ReportArgument::Json => {
                writeln!(stdout(), "{}", serde_json::to_string_pretty(&report)?)?;
            }
        }
        Ok(())
    }

    fn options(&self, profile: Profile) -> Result<InferOptions, Failure> {
        let mut options = InferOptions::new(profile);
        if let Some(threads) = self.threads {
            options.threads = threads.into();
        }
        if let Some(memory) = self.memory {
            options.memory = memory;
        }
        for path in &self.rules {
            let rules = rules(path).map_err(|error| format!("{}: {error}", path.display()))?;
            options.rules.append(rules);
        }
        Ok(options)
    }

    /// Writes a derivation, premises below and further right than what they lead to.
    fn explain(&self, triple: &Triple) -> Result<(), Failure> {
        let snapshot = self.store.read()?.snapshot();
        let profile = match (self.profile, snapshot.inference()) {
            (Some(profile), _) => profile,
            (None, Some(inference)) => match inference.profile.strip_suffix(WITH_RULES) {
                Some(_) if self.rules.is_empty() => {
                    return Err("it was inferred with rules: give them (--rules)".into());
                }
                Some(profile) => profile.parse()?,
                None => inference.profile.parse()?,
            },
            (None, None) => return Err("nothing was inferred: say by which --profile".into()),
        };
        let options = self.options(profile)?;
        let cancelled = Arc::clone(&options.cancelled);
        stop_on_signal(move || cancelled.swap(true, Ordering::Relaxed))?;
        let Some(steps) = explain(&snapshot, triple, &options)? else {
            return Err(format!("{triple} does not follow by {profile}").into());
        };
        let mut output = stdout().lock();
        for Step {
            depth,
            triple,
            reason,
        } in steps
        {
            let reason = match reason {
                Reason::Explicit => "explicit",
                Reason::Rule(name) => name,
                Reason::Above => "see above",
            };
            writeln!(
                output,
                "{:indent$}{triple}  [{reason}]",
                "",
                indent = 2 * depth
            )?;
        }
        Ok(())
    }
}
