//! LUBM with inference: at each level the 14 queries have the specification's numbers of answers, and the closure its
//! size; with complete inference, every class and property has.
//!
//! One university always; 10 and 50 if `QUADRILLE_LONG_TESTS` is set.

use quadrille_loader::LoadOptions;
use quadrille_lubm::bench::{self, BenchOptions, BenchReport, Verdict};
use quadrille_lubm::reference::{INSTANCES, PAIRS, SCALES};
use quadrille_reason::{InferOptions, Mode, Profile, infer};
use quadrille_sparql::CancellationToken;
use quadrille_store::Store;
use std::path::Path;
use std::time::Duration;

fn run(universities: u32, profile: Profile, directory: &Path) -> BenchReport {
    let report = bench::run(&BenchOptions {
        universities,
        directory: directory.to_owned(),
        warm_runs: 0,
        streams: 0,
        query_threads: 2,
        peers: Vec::new(),
        peer_timeout: Duration::ZERO,
        load: LoadOptions::default(),
        infer: Some(InferOptions::new(profile)),
        stop_generating: std::sync::Arc::default(),
        stop_queries: CancellationToken::new(),
    });
    let report = report.expect("the benchmark runs");
    for query in &report.queries {
        assert_eq!(query.verdict, Verdict::Right, "{profile}\n{report}");
    }
    assert_eq!(
        report.closure.verdict,
        Verdict::Right,
        "{profile}\n{report}"
    );
    report
}

fn scales() -> Vec<(usize, u32)> {
    let long = std::env::var_os("QUADRILLE_LONG_TESTS").is_some();
    let scales = SCALES.into_iter().enumerate();
    scales.filter(|(place, _)| long || *place == 0).collect()
}

#[test]
fn every_level_has_its_answers() {
    for (place, universities) in scales() {
        for profile in Profile::ALL {
            let directory = tempfile::tempdir().expect("a directory");
            run(universities, profile, directory.path());
            let store = Store::open_existing(&directory.path().join("store")).expect("a store");
            assert!(store.verify().is_sound(), "{:?}", store.verify().problems);
            if profile >= Profile::Owl {
                let sizes = bench::sizes(&store.snapshot()).expect("it is read");
                for (name, expected) in INSTANCES.iter().chain(PAIRS) {
                    assert_eq!(sizes[name], expected[place], "{name}");
                }
            }
            let again = infer(&store, &InferOptions::new(profile)).expect("nothing to do");
            assert_eq!(again.mode, Mode::UpToDate);
        }
    }
}
