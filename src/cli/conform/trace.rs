//! `--trace`: what happened in a case, on stderr, as soon as the case is over.

use crate::cli::console::say;
use crate::conform::observe::{Seen, TimelineMark};

/// Says every event of a case. One call of `say` a case, so that cases done at once do not mix.
pub(super) fn trace(runtime: &str, case: &str, seen: &impl Seen) {
    let lines: Vec<String> =
        seen.timeline().iter().map(|mark| format!("  {runtime}/{case} t+{} ms: {}", mark.at, words(mark))).collect();
    let kept = seen.kept().map(|folder| format!("  {runtime}/{case} kept: {folder}"));
    let all: Vec<String> = lines.into_iter().chain(kept).collect();
    say(all.join("\n"));
}

/// A mark in one line: the phase that it belongs to, what it is, and how long it lasted.
fn words(mark: &TimelineMark) -> String {
    let phase = mark.phase.iter().map(|phase| format!("{phase}, "));
    let lasted = mark.until.map(|until| format!(" ({} ms)", until.saturating_sub(mark.at)));
    phase.chain([mark.label.clone()]).chain(lasted).collect()
}
