//! The progress display: bytes, statements, rate, phase, time left, on a terminal only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use quadrille::load::{LoadProgress, Phase};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the display is brought up to date.
const INTERVAL: Duration = Duration::from_millis(100);

/// A display in a thread of its own; nothing at all where standard error is no terminal.
pub struct Display {
    running: Option<(Arc<AtomicBool>, JoinHandle<()>)>,
}

impl Display {
    /// Begins to display.
    pub fn start(progress: Arc<LoadProgress>) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { running: None };
        }
        let ended = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&ended);
        let thread = std::thread::spawn(move || display(&progress, &flag));
        Self {
            running: Some((ended, thread)),
        }
    }

    /// Removes the display.
    pub fn finish(self) {
        if let Some((ended, thread)) = self.running {
            ended.store(true, Ordering::Relaxed);
            thread.thread().unpark();
            // A display that failed is no reason for the load to fail.
            drop(thread.join());
        }
    }
}

fn display(progress: &LoadProgress, ended: &AtomicBool) {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    let known = "{bar:30} {bytes}/{total_bytes} {msg} ETA {eta}";
    let style = |template: &str| ProgressStyle::with_template(template).expect("a valid template");
    let began = Instant::now();
    while !ended.load(Ordering::Relaxed) {
        let statements = progress.statements();
        let rate = statements as f64 / began.elapsed().as_secs_f64().max(1e-3) / 1e6;
        let phase = progress.phase();
        match progress.input() {
            Some(input) if phase == Phase::Insert => {
                match input.total() {
                    Some(total) => {
                        bar.set_style(style(known));
                        bar.set_length(total);
                    }
                    None => bar.set_style(style("{spinner} {bytes} {msg}")),
                }
                bar.set_position(input.read());
                bar.set_message(format!("{statements} statements, {rate:.2} M/s"));
            }
            _ => {
                bar.set_style(style("{spinner} {msg}"));
                bar.set_message(match phase {
                    Phase::Build => {
                        format!(
                            "{}: {} orders written",
                            phase.name(),
                            progress.orders_written()
                        )
                    }
                    _ => phase.name().to_owned(),
                });
                bar.tick();
            }
        }
        std::thread::park_timeout(INTERVAL);
    }
    bar.finish_and_clear();
}
