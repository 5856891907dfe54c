//! `--trace`: what happened in a case, on stderr, as soon as the case is over.

use crate::cli::console::say;
use crate::conform::Seen;

/// Says every event of a case. One call of `say` a case, so that cases done at once do not mix.
pub(super) fn trace(runtime: &str, case: &str, seen: &impl Seen) {
    let lines: Vec<String> =
        seen.chronicle().iter().map(|(at, event)| format!("  {runtime}/{case} t+{at} ms: {event}")).collect();
    let kept = seen.kept().map(|folder| format!("  {runtime}/{case} kept: {folder}"));
    let all: Vec<String> = lines.into_iter().chain(kept).collect();
    say(all.join("\n"));
}
