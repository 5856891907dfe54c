//! What is going on: a bar on a terminal, plain lines on a pipe. One line a runtime and one a red, never one a case.

use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::console::say;
use crate::conform::judge::Outcome;
use crate::conform::observe::Identity;
use crate::conform::score::Progress;
use crate::system::clock::{self, Moment};
use crate::system::env;
use crate::text::Untrusted;

/// Shows the progress of a survey on stderr.
pub(super) struct Display {
    bar: ProgressBar,
    plain: bool,
    begun: Moment,
    counts: Mutex<(usize, usize)>,
}

impl Display {
    pub(super) fn new() -> Self {
        let plain = !env::is_interactive();
        let target = if plain { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let style = ProgressStyle::with_template("{elapsed_precise} {bar:30} {pos}/{len} {wide_msg}")
            .expect("the template is well formed");
        bar.set_style(style);
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, plain, begun: clock::now(), counts: Mutex::new((0, 0)) }
    }

    pub(super) fn show(&self, progress: Progress<'_>) {
        match progress {
            Progress::Identifying(runtime) => self.bar.set_message(format!("{runtime}: looking for its program")),
            Progress::Identified(runtime, identity) => self.line(&identified(runtime, identity)),
            Progress::Planned(cases) => {
                self.count(|(_, total)| *total = cases);
                self.bar.set_length(cases as u64);
                self.line(&format!("{cases} verdicts to come"));
            }
            Progress::Began(runtime, case) => self.bar.set_message(format!("{runtime}: {case}")),
            Progress::Judged(runtime, case) => {
                self.bar.inc(1);
                let (done, total) = self.count(|(done, _)| *done += 1);
                if matches!(case.outcome, Outcome::Fail | Outcome::Flaky | Outcome::HarnessError) {
                    self.line(&format!("{runtime}: {} {}", case.outcome, case.id));
                } else if self.plain && done % 100 == 0 {
                    self.line(&format!("{done} of {total} verdicts"));
                }
            }
        }
    }

    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn count(&self, change: impl FnOnce(&mut (usize, usize))) -> (usize, usize) {
        let mut counts = self.counts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        change(&mut counts);
        *counts
    }

    /// Says something without disturbing the bar.
    pub(super) fn aside(&self, say: impl FnOnce()) {
        self.bar.suspend(say);
    }

    fn line(&self, text: &str) {
        let elapsed = clock::now().since(self.begun).as_secs();
        self.bar.suspend(|| say(format_args!("{:>3}:{:02} {text}", elapsed / 60, elapsed % 60)));
    }
}

fn identified(runtime: &str, identity: &Identity) -> String {
    let version = identity.version.as_ref().map_or_else(|| "version unknown".to_owned(), Untrusted::line);
    match &identity.problem {
        Some(problem) => format!("{runtime}: could not run: {}", problem.line()),
        None if identity.built => format!("{runtime}: built, {version}"),
        None => format!("{runtime}: {version}"),
    }
}
