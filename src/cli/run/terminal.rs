//! A run as it happens, line by line: what stages write, and between it what we do.

use std::io;
use std::time::Duration;

use super::screen::Screen;
use crate::cli::console::{CYAN, RED};
use crate::contract::{Phase, PhaseExit};
use crate::runner::{Call, Listener, Progress};
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
        let prefix = if self.open[index] { String::new() } else { format!("{phase} | ") };
        self.open[index] = !piece.ends_line();
        let bytes = [prefix.as_bytes(), &piece.bytes].concat();
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
    pub(super) fn surface(&mut self, call: &Call) {
        self.show(&surfaced(call));
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
        Progress::Compaction { phase, level, configured } => {
            let how = if *configured { "" } else { " (no command is configured for it)" };
            format!("{phase}: {level} compaction{how}")
        }
        Progress::PhaseEnded { phase, exit, summary, duration, checkpoint } => {
            let word = if *exit == PhaseExit::Success { "done" } else { "failed" };
            format!("{phase}: {word} in {}: {summary} [{}]", span(*duration), checkpoint.display())
        }
        Progress::Notice { text } => (*text).to_owned(),
        Progress::Output { .. } => String::new(),
    }
}

/// A duration for people.
pub(super) fn span(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 => format!("{} ms", duration.as_millis()),
        1..10 => format!("{:.1} s", duration.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
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
    fn durations_read_well() {
        for (millis, text) in [(40, "40 ms"), (1500, "1.5 s"), (61_000, "1 min 1 s"), (7_260_000, "2 h 1 min")] {
            assert_eq!(span(Duration::from_millis(millis)), text);
        }
    }
}
