//! A run as it happens, line by line: what stages write, and between it what we do.

use std::io;
use std::time::Duration;

use super::screen::Screen;
use crate::cli::console::{CYAN, RED};
use crate::contract::{Phase, PhaseExit};
use crate::draw;
use crate::runner::{Call, CompactionMeans, End, Listener, Pause, Progress};
use crate::system::process::{Piece, Stream};

/// Shows progress on standard error, and what stages write on the stream that they wrote it to.
#[derive(Debug)]
pub(super) struct Terminal {
    /// Standard output belongs to one JSON document.
    json: bool,
    /// Whether the last piece of each stream left its line open.
    open: [bool; 2],
    colours: bool,
    screen: Screen,
}

/// How long a run waits for a reader that takes nothing.
const PATIENCE: Duration = Duration::from_millis(500);

impl Terminal {
    pub(super) fn new(json: bool) -> Self {
        let colours = anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never;
        Self { json, open: [false; 2], colours, screen: Screen::new(io::stdout(), io::stderr(), PATIENCE) }
    }

    fn output(&mut self, phase: Phase, piece: &Piece) {
        let index = usize::from(piece.stream == Stream::Stderr);
        let bytes = prefixed(&format!("{phase} | "), self.open[index], &piece.bytes);
        self.open[index] = !piece.ends_line();
        let stream = if self.json { Stream::Stderr } else { piece.stream };
        self.screen.show(stream, bytes);
    }

    /// Our own line; one that a stage left open ends first.
    fn say(&mut self, text: &str) {
        let both_on_stderr = self.json && self.open[0];
        let open = if self.open[1] || both_on_stderr { "\n" } else { "" };
        if !open.is_empty() {
            self.open = [self.open[0] && !self.json, false];
        }
        self.show(&format!("{open}{CYAN}loa-run:{CYAN:#} {text}\n"));
    }

    /// Calls the human.
    fn surface(&mut self, call: &Call) {
        self.show(&surfaced(call));
    }

    /// Says why the run ends here and how it goes on.
    pub(super) fn part(&mut self, end: &End) {
        let text = match end {
            End::Paused(Pause::Limit(Some(until))) => {
                format!("a limit of the provider is lifted at {until}; `loa-run resume` goes on then")
            }
            End::Paused(Pause::Limit(None)) => {
                "a limit of the provider is reached; `loa-run resume` tries again".to_owned()
            }
            End::Paused(Pause::AgentCancelled) => "somebody stopped the agent; `loa-run resume` goes on".to_owned(),
            End::Interrupted(_) => "interrupted; nothing is lost, `loa-run resume` goes on".to_owned(),
            // A call was surfaced before anybody else was told of it.
            End::Escalated(_) | End::Completed => return,
        };
        self.say(&text);
    }

    fn show(&mut self, text: &str) {
        let text = if self.colours { text.to_owned() } else { anstream::adapter::strip_str(text).to_string() };
        self.screen.show(Stream::Stderr, text.into_bytes());
    }
}

impl Listener for Terminal {
    fn on(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Output { phase, piece } => self.output(*phase, piece),
            // What follows from it is said.
            Progress::SessionEnded { end: End::Escalated(call) } => self.surface(call),
            Progress::AttemptEnded { .. } | Progress::SessionEnded { .. } | Progress::Notified { failed: None, .. } => {
            }
            other => {
                let text = sentence(other);
                self.say(&text);
            }
        }
    }
}

fn sentence(progress: &Progress<'_>) -> String {
    match progress {
        Progress::SessionStarted { execution, session, resumed, swept } => {
            let verb = if *resumed { "resuming" } else { "starting" };
            let swept =
                if *swept > 0 { format!("; ended {swept} processes of the session before") } else { String::new() };
            format!("{verb} {execution}, {session}{swept}")
        }
        Progress::PhaseSkipped { phase } => format!("{phase}: skipped"),
        Progress::AttemptStarted { phase, attempt, of, elapsed } => {
            format!("{phase}: attempt {attempt} of {of} ({} elapsed)", span(*elapsed))
        }
        Progress::GateStarted { phase } => format!("{phase}: verifying"),
        Progress::Retry { phase, reason, delay } => format!("{phase}: {reason}; trying again in {}", span(*delay)),
        Progress::Remediation { number, of } => format!("audit failed: remediation {number} of {of}"),
        Progress::ContextWarning { phase, warning } => {
            let (level, tokens) = (warning.level, warning.current_tokens);
            format!(
                "{phase}: context warning {level}: {tokens} tokens, {:.0} %. {}",
                warning.percent_used, warning.recommendation
            )
        }
        Progress::Compaction { phase, level, means } => {
            let how = match means {
                CompactionMeans::Command => "",
                CompactionMeans::Agent => " (left to the agent, which knows the limit)",
                CompactionMeans::Request => " (asked of the agent)",
                CompactionMeans::Nobody => " (nothing is configured for it)",
            };
            format!("{phase}: {level} compaction{how}")
        }
        Progress::PhaseEnded { phase, exit, summary, duration, tokens, checkpoint } => {
            let word = if *exit == PhaseExit::Success { "done" } else { "failed" };
            let tokens = tokens.map(|tokens| format!(" with {tokens} tokens")).unwrap_or_default();
            format!("{phase}: {word} in {}{tokens}: {summary} [{}]", span(*duration), checkpoint.display())
        }
        Progress::AgentStarted { .. }
        | Progress::AgentTurn { .. }
        | Progress::AgentRetrying { .. }
        | Progress::AgentCompacted { .. }
        | Progress::AgentEnded { .. }
        | Progress::LimitReached { .. } => agent_sentence(progress),
        Progress::Notified { means, failed } => {
            format!("nobody was told by the {means}: {}", failed.unwrap_or_default())
        }
        Progress::Notice { text } => (*text).to_owned(),
        Progress::Output { .. } | Progress::AttemptEnded { .. } | Progress::SessionEnded { .. } => String::new(),
    }
}

/// What an agent does, in one line.
fn agent_sentence(progress: &Progress<'_>) -> String {
    match progress {
        Progress::AgentStarted { phase, backend, session: Some(session) } => {
            format!("{phase}: {backend} goes on in session {session}")
        }
        Progress::AgentStarted { phase, backend, session: None } => format!("{phase}: {backend} begins"),
        Progress::AgentTurn { phase, turns, tokens } => {
            let tokens = tokens.map(|tokens| format!(", {tokens} tokens in its context")).unwrap_or_default();
            format!("{phase}: turn {turns}{tokens}")
        }
        Progress::AgentRetrying { phase, status, wait } => {
            let status = status.map(|status| format!(" with status {status}")).unwrap_or_default();
            let wait = wait.map(|wait| format!(" in {}", span(wait))).unwrap_or_default();
            format!("{phase}: the provider failed{status}; the agent tries again by itself{wait}")
        }
        Progress::AgentCompacted { phase, before, after } => {
            let from = before.map(|tokens| format!(" from {tokens} tokens")).unwrap_or_default();
            let to = after.map(|tokens| format!(" to {tokens}")).unwrap_or_default();
            format!("{phase}: the agent compacted its context{from}{to}")
        }
        Progress::AgentEnded { phase, end, turns } => {
            let plural = if *turns == 1 { "" } else { "s" };
            // Why it failed is said with what follows from it.
            format!("{phase}: the agent ended after {turns} turn{plural}: {}", end.class.name())
        }
        Progress::LimitReached { phase, until } => {
            format!("{phase}: a limit of the provider is reached; going on at {until}")
        }
        _ => String::new(),
    }
}

/// Every line behind a prefix; the first goes on with a line that is `open`.
fn prefixed(prefix: &str, open: bool, bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len() * 2);
    for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        if number > 0 || !open {
            text.extend_from_slice(prefix.as_bytes());
        }
        text.extend_from_slice(line);
    }
    text
}

/// A duration for people.
pub(super) fn span(duration: Duration) -> String {
    draw::span(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// What a human is told: phase, trigger, report, and the commands that answer.
pub(super) fn surfaced(call: &Call) -> String {
    format!(
        "\n{RED}A human is needed{RED:#}: {} in phase {}\n  {}\n  report:  {}\n           {}\n  answer:  loa-run resolve fix_and_resume    (or skip_phase, reset, abort)\n  go on:   loa-run resume\n",
        call.trigger,
        call.phase,
        call.reason,
        call.report.markdown.display(),
        call.report.yaml.display(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_its_prefix_once() {
        for (open, bytes, shown) in [
            (false, "one\ntwo\n", "p | one\np | two\n"),
            (true, "end\nnext", "end\np | next"),
            (false, "half", "p | half"),
            (true, "\n", "\n"),
            (false, "\n\n", "p | \np | \n"),
        ] {
            assert_eq!(prefixed("p | ", open, bytes.as_bytes()), shown.as_bytes(), "{bytes:?}");
        }
    }
}
