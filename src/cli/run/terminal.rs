//! A run as it happens, line by line: what stages write, and between it the events of the journal.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::screen::Screen;
use crate::cli::console::{CYAN, RED, aside, for_output, is_for_machines, output_event};
use crate::contract::{Checkpoint, Phase, PhaseExit};
use crate::draw::{self, moment};
use crate::events::{
    AgentActivity, BoundaryDrawn, CompactionMeans, Envelope, Event, Found, Observation, Outage, Pause, PinnedFile,
    RunEnd, State,
};
use crate::runner::{Call, Listener};
use crate::store::Layout;
use crate::system::output::same_file;
use crate::system::process::{Piece, Stream};
use crate::text::{line, plain};

/// Shows progress on standard error, and what stages write on the stream that they wrote it to.
pub(super) struct Terminal {
    /// Standard output belongs to one JSON document.
    json: bool,
    /// Whether the last piece of each stream of the stage left its line open.
    open: [bool; 2],
    /// Both streams end in one place, such as a terminal: a line of one must not go on with a line of the other.
    together: bool,
    colours: bool,
    screen: Screen,
    layout: Layout,
    /// Tokens in the context, as they were last said.
    tokens: Option<u64>,
}

/// How long a run waits for a reader that takes nothing.
const PATIENCE: Duration = Duration::from_millis(500);

impl Terminal {
    pub(super) fn new(layout: &Layout, json: bool) -> Self {
        let colours = colours();
        let screen = Screen::new(io::stdout(), io::stderr(), PATIENCE);
        let together = json || same_file(io::stdout(), io::stderr());
        Self { json, open: [false; 2], together, colours, screen, layout: layout.clone(), tokens: None }
    }

    fn output(&mut self, phase: Phase, piece: &Piece) {
        if is_for_machines() && self.shown_on(piece.stream) == Stream::Stderr {
            let stream = if piece.stream == Stream::Stdout { "stdout" } else { "stderr" };
            return self.screen.show(Stream::Stderr, output_event(phase.as_str(), stream, &piece.bytes).into_bytes());
        }
        if self.together {
            self.end_line(if piece.stream == Stream::Stdout { Stream::Stderr } else { Stream::Stdout });
        }
        let shown = match self.shown_on(piece.stream) {
            Stream::Stdout => for_output(&piece.bytes, &io::stdout()),
            Stream::Stderr => for_output(&piece.bytes, &io::stderr()),
        };
        let open = &mut self.open[index(piece.stream)];
        let bytes = prefixed(&format!("{phase} | "), *open, &shown);
        *open = !piece.ends_line();
        if self.together || self.shown_on(piece.stream) == Stream::Stderr {
            LINE_IS_OPEN.store(!piece.ends_line(), Ordering::Relaxed);
        }
        self.screen.show(self.shown_on(piece.stream), bytes);
    }

    /// Where a stream of the stage is shown.
    fn shown_on(&self, stream: Stream) -> Stream {
        if self.json { Stream::Stderr } else { stream }
    }

    /// Ends the line that a stream of the stage left open.
    fn end_line(&mut self, stream: Stream) {
        LINE_IS_OPEN.store(false, Ordering::Relaxed);
        if std::mem::take(&mut self.open[index(stream)]) {
            self.screen.show(self.shown_on(stream), b"\n".to_vec());
        }
    }

    /// Our own line; those that a stage left open end first, also for what the next stage writes.
    fn say(&mut self, text: &str) {
        self.show(&format!("{CYAN}loa-run:{CYAN:#} {text}\n"));
    }

    /// Calls the human.
    fn surface(&mut self, call: &Call) {
        self.show(&surfaced(call));
    }

    /// Says why the run ends here and how it goes on.
    pub(super) fn part(&mut self, end: &RunEnd) {
        let text = match end {
            RunEnd::Paused { pause: Pause::Limit { until: Some(until) } } => {
                format!("a limit of the provider is lifted at {}; `loa-run resume` goes on then", moment(*until))
            }
            RunEnd::Paused { pause: Pause::Limit { until: None } } => {
                "a limit of the provider is reached; `loa-run resume` tries again".to_owned()
            }
            RunEnd::Paused { pause: Pause::Outage { since } } => {
                let since = moment(*since);
                format!(
                    "the provider is out of reach or out of order since {since}; `loa-run resume` waits for it anew"
                )
            }
            RunEnd::Paused { pause: Pause::AgentCancelled } => {
                "somebody stopped the agent; `loa-run resume` goes on".to_owned()
            }
            RunEnd::Interrupted { .. } => "interrupted; nothing is lost, `loa-run resume` goes on".to_owned(),
            // A call was surfaced before anybody else was told of it; an error is told by whoever ends the program.
            RunEnd::Escalated | RunEnd::Completed | RunEnd::Failed { .. } | RunEnd::Other => return,
        };
        self.say(&text);
    }

    fn show(&mut self, text: &str) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            self.end_line(stream);
        }
        let text = aside(text);
        let text = if self.colours { text } else { plain(&text) };
        self.screen.show(Stream::Stderr, text.into_bytes());
    }
}

/// Whether a stage has left a line open where standard error is shown.
static LINE_IS_OPEN: AtomicBool = AtomicBool::new(false);

/// Whether whoever writes a line to standard error now, beside the terminal, has to end another one first.
pub(super) fn break_line() -> bool {
    LINE_IS_OPEN.swap(false, Ordering::Relaxed)
}

/// Whether standard error may have colours.
pub(super) fn colours() -> bool {
    anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
}

impl Listener for Terminal {
    fn event(&mut self, envelope: &Envelope, state: &State) {
        match &envelope.event {
            // What follows from it is said.
            Event::SessionEnded { end: RunEnd::Escalated } => {
                if let Some(call) = Call::pending(state, &self.layout) {
                    self.surface(&call);
                }
            }
            event => {
                if let Some(text) = sentence(event, state, &self.layout) {
                    self.say(&text);
                }
            }
        }
    }

    fn observation(&mut self, observation: &Observation) {
        match observation {
            Observation::Output { phase, piece } => self.output(*phase, piece),
            Observation::Usage { tokens, .. } => self.tokens = Some(*tokens),
            Observation::Agent { phase, agent } => {
                if let Some(text) = agent_sentence(*phase, agent, self.tokens) {
                    self.say(&text);
                }
            }
        }
    }
}

/// What there is to say of the boundary at the start: that there is none, another network, limits that nobody holds.
fn told_of(drawn: &BoundaryDrawn) -> Option<String> {
    let boundary = drawn.why_not.as_ref().map(|_| format!("boundary: {drawn}"));
    let network = drawn.networks().map(|networks| format!("network: {networks}"));
    let limits = drawn.unlimited().map(|unlimited| format!("limits: {unlimited}"));
    let told: Vec<String> = [boundary, network, limits].into_iter().flatten().collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// An event in one line; nothing for those that only machines want to know.
fn sentence(event: &Event, state: &State, layout: &Layout) -> Option<String> {
    Some(match event {
        Event::SessionStarted { session, resumed, swept, .. } => {
            let verb = if *resumed { "resuming" } else { "starting" };
            let swept =
                if *swept > 0 { format!("; ended {swept} processes of the session before") } else { String::new() };
            format!("{verb} {}, {session}{swept}", state.execution_id)
        }
        Event::BoundaryDrawn(drawn) => told_of(drawn)?,
        Event::StageSkipped { checkpoint } => format!("{}: skipped", checkpoint.phase),
        Event::AttemptStarted { phase, attempt, of, .. } => {
            format!("{phase}: attempt {attempt} of {of} ({} elapsed)", span(state.counters.elapsed()))
        }
        Event::GateStarted { phase } => format!("{phase}: verifying"),
        Event::BackedOff { phase, reason, delay_ms, .. } => {
            format!("{phase}: {}; trying again in {}", reason.line(), span(Duration::from_millis(*delay_ms)))
        }
        Event::Remediation { number, of } => format!("audit failed: remediation {number} of {of}"),
        Event::ContextCrossed { phase, level, tokens, percent_used, recommendation } => {
            format!("{phase}: context warning {level}: {tokens} tokens, {percent_used:.0} %. {recommendation}")
        }
        Event::Compacted { phase, level, means } => {
            let how = match means {
                CompactionMeans::Command => "",
                CompactionMeans::Agent => " (left to the agent, which knows the limit)",
                CompactionMeans::Request => " (asked of the agent)",
                CompactionMeans::Nobody => " (nothing is configured for it)",
            };
            format!("{phase}: {level} compaction{how}")
        }
        Event::StageConcluded { checkpoint, duration_ms, .. } => concluded(checkpoint, *duration_ms, layout),
        Event::Agent { phase, agent } => return agent_sentence(*phase, agent, None),
        Event::LimitReached { phase, until } => {
            format!("{phase}: a limit of the provider is reached; going on at {}", moment(*until))
        }
        Event::OutageMet(outage) => format!("{}: {}", outage.phase, waits_for(outage)),
        Event::GateChanged { phase, files } => {
            format!("{phase}: {}", line(&PinnedFile::why_not_asked(files)))
        }
        Event::FilesChanged { files } if !files.is_empty() => {
            format!("changed since the start: {}", line(&files.to_string()))
        }
        Event::OutageOver { phase } => format!("{phase}: the provider answers again"),
        Event::Notice { text } => text.line(),
        event => return found_on_disk(event),
    })
}

/// What is waited for, since when, and until when.
pub(super) fn waits_for(outage: &Outage) -> String {
    let Outage { reason, since, until, probe, pause, .. } = outage;
    let [since, until, next] = [*since, *until, pause.not_before].map(moment);
    format!(
        "the provider is out of reach or out of order ({}); waiting for it since {since}, until {until} at most; probe {probe} at {next}",
        reason.line()
    )
}

/// Where what does not count is put.
const IGNORED: &str = ", into .loa-run/archive/ignored";

/// What was found on the disk that is not as the journal has it.
fn found_on_disk(event: &Event) -> Option<String> {
    Some(match event {
        Event::CheckpointRestored { phase, found: Found::Foreign } => {
            format!("the checkpoint of {phase} belongs to another execution; ours is written again")
        }
        Event::CheckpointRestored { phase, found } => {
            format!("the checkpoint of {phase} is written again: {}", found.words())
        }
        Event::CheckpointIgnored { phase, found: Found::Different } => {
            format!("a checkpoint of {phase} that this run did not write does not count; it is put aside{IGNORED}")
        }
        Event::CheckpointIgnored { phase, found: Found::Foreign } => {
            format!(
                "the checkpoint of {phase} belongs to another execution and does not count; it is put aside{IGNORED}"
            )
        }
        Event::CheckpointIgnored { phase, found } => {
            format!("what lies in the place of the checkpoint of {phase} is put aside{IGNORED}: {}", found.words())
        }
        Event::CheckpointAdopted { checkpoint } => {
            format!("the checkpoint of {} counts as it is on disk", checkpoint.phase)
        }
        Event::PhaseReopened { phase } => format!("{phase} runs again"),
        Event::ProjectionRestored { path } => format!("{} is written again: it was lost", path.display()),
        Event::WorkspaceMoved { from } => format!("the workspace was moved here from {}", from.display()),
        Event::SessionDied { session } => format!("the session before, {session}, died without saying why"),
        _ => return None,
    })
}

fn concluded(checkpoint: &Checkpoint, duration_ms: u64, layout: &Layout) -> String {
    let word = if checkpoint.exit_code == PhaseExit::Success { "done" } else { "failed" };
    let tokens = checkpoint.metrics.and_then(|metrics| metrics.tokens_used);
    let tokens = tokens.map(|tokens| format!(" with {tokens} tokens")).unwrap_or_default();
    let (took, phase) = (span(Duration::from_millis(duration_ms)), checkpoint.phase);
    let path = layout.checkpoint(phase);
    format!("{phase}: {word} in {took}{tokens}: {} [{}]", checkpoint.summary.line(), path.display())
}

/// What an agent does, in one line.
fn agent_sentence(phase: Phase, agent: &AgentActivity, tokens: Option<u64>) -> Option<String> {
    Some(match agent {
        AgentActivity::Attempt { backend, session: Some(session), .. } => {
            format!("{phase}: {backend} goes on in session {}", line(session))
        }
        AgentActivity::Attempt { backend, session: None, .. } => format!("{phase}: {backend} begins"),
        AgentActivity::Turn { turns } => {
            let tokens = tokens.map(|tokens| format!(", {tokens} tokens in its context")).unwrap_or_default();
            format!("{phase}: turn {turns}{tokens}")
        }
        AgentActivity::Retrying { status, wait_ms } => {
            let status = status.map(|status| format!(" with status {status}")).unwrap_or_default();
            let wait = wait_ms.map(|wait| format!(" in {}", span(Duration::from_millis(wait)))).unwrap_or_default();
            format!("{phase}: the provider failed{status}; the agent tries again by itself{wait}")
        }
        AgentActivity::Compacted { before, after } => {
            let from = before.map(|tokens| format!(" from {tokens} tokens")).unwrap_or_default();
            let to = after.map(|tokens| format!(" to {tokens}")).unwrap_or_default();
            format!("{phase}: the agent compacted its context{from}{to}")
        }
        AgentActivity::Denied { tools } => {
            format!("{phase}: the agent was not allowed to use {tools} tools; see `permissions` of its backend")
        }
        AgentActivity::Ended { class, turns, .. } => {
            let turns = turns.unwrap_or(0);
            let plural = if turns == 1 { "" } else { "s" };
            // Why it failed is said with what follows from it.
            format!("{phase}: the agent ended after {turns} turn{plural}: {class}")
        }
        AgentActivity::Session { .. }
        | AgentActivity::Usage { .. }
        | AgentActivity::Said { .. }
        | AgentActivity::Waiting { .. } => return None,
    })
}

fn index(stream: Stream) -> usize {
    usize::from(stream == Stream::Stderr)
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
        "\n{RED}A human is needed{RED:#}: {} in phase {}\n  {}\n  report:  {}\n           {}\n  answer:  loa-run resolve fix_and_resume --call {}    (or skip_phase, reset, abort)\n  go on:   loa-run resume\n",
        call.trigger.explained(),
        call.phase,
        call.reason.line(),
        call.report.markdown.display(),
        call.report.yaml.display(),
        call.id,
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
