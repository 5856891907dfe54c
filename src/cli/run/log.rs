//! The log of the program itself, for whoever wants to know what it does and how long each step takes: spans and events of
//! `tracing`, on standard error. Off unless it is asked for; nothing is installed then.
//!
//! No field holds a prompt, an argument or a value of the environment. What is written passes through the redactor all the
//! same.

use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clap::{Args, ValueEnum};
use tracing::Dispatch;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::{FmtSpan, Writer};
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::fmt::{MakeWriter, Subscriber};
use tracing_subscriber::layer::SubscriberExt;

use super::screen::Screen;
use super::terminal::{self, colours};
use crate::cli::console::speak_to_machines;
use crate::policy::Redactor;
use crate::system::clock;
use crate::system::process::Stream;

/// What is logged, by the name that a directive calls it.
const TARGETS: [&str; 5] = ["execution", "stage", "attempt", "invocation", "store"];
const LEVELS: [(&str, LevelFilter); 6] = [
    ("off", LevelFilter::OFF),
    ("error", LevelFilter::ERROR),
    ("warn", LevelFilter::WARN),
    ("info", LevelFilter::INFO),
    ("debug", LevelFilter::DEBUG),
    ("trace", LevelFilter::TRACE),
];
/// How long the program waits for a reader that takes nothing.
const PATIENCE: Duration = Duration::from_millis(500);

/// How the program's own log is asked for.
#[derive(Debug, Args)]
pub(super) struct LogArgs {
    /// Log on standard error what the program does; -vv says more, -vvv everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    /// What to log: a level, or a level for a part, such as `info,store=trace`
    #[arg(long, env = "LOA_LOG", global = true, value_name = "DIRECTIVE", hide_env = true)]
    log: Option<Directive>,
    /// How to write the log, and whatever else is said on standard error
    #[arg(long, env = "LOA_LOG_FORMAT", global = true, value_name = "FORMAT", hide_env = true)]
    log_format: Option<Format>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One line an event, for people
    Text,
    /// One JSON document an event, for machines
    Json,
}

/// A level for each target, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Directive([LevelFilter; TARGETS.len()]);

/// Why a directive is refused. It names the part that is wrong, and what would be right.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum DirectiveError {
    #[error(
        "`{word}` at character {at} of --log or LOA_LOG is no level; use one of off, error, warn, info, debug, trace"
    )]
    Level { word: String, at: usize },
    #[error(
        "`{word}` at character {at} of --log or LOA_LOG is no part; use one of execution, stage, attempt, invocation, store"
    )]
    Target { word: String, at: usize },
}

impl FromStr for Directive {
    type Err = DirectiveError;

    /// Parts separated by commas: a level for everything, or `target=level`. One target wins over everything, and the last
    /// of several over those before. An empty text is off.
    fn from_str(text: &str) -> Result<Self, DirectiveError> {
        let (mut general, mut own) = (LevelFilter::OFF, [None; TARGETS.len()]);
        let mut at = 1;
        for part in text.split(',') {
            let (target, word) = part.split_once('=').map_or((None, part), |(target, word)| (Some(target), word));
            let level_at = at + target.map_or(0, |target| target.chars().count() + 1);
            match target.map(str::trim) {
                None if word.trim().is_empty() => {}
                None => general = level(word, level_at)?,
                Some(name) => {
                    let unknown = || DirectiveError::Target { word: name.to_owned(), at };
                    let index = TARGETS.iter().position(|target| *target == name).ok_or_else(unknown)?;
                    own[index] = Some(level(word, level_at)?);
                }
            }
            at += part.chars().count() + 1;
        }
        Ok(Self(own.map(|own| own.unwrap_or(general))))
    }
}

fn level(word: &str, at: usize) -> Result<LevelFilter, DirectiveError> {
    let name = word.trim();
    let known = LEVELS.iter().find(|(level, _)| level.eq_ignore_ascii_case(name));
    known.map(|(_, level)| *level).ok_or_else(|| DirectiveError::Level { word: name.to_owned(), at })
}

impl LogArgs {
    /// The level of each target. `-v` adds to what a directive says.
    fn levels(&self) -> Directive {
        let least = match self.verbose {
            0 => LevelFilter::OFF,
            1 => LevelFilter::INFO,
            2 => LevelFilter::DEBUG,
            _ => LevelFilter::TRACE,
        };
        let Directive(asked) = self.log.unwrap_or(Directive([LevelFilter::OFF; TARGETS.len()]));
        Directive(asked.map(|level| level.max(least)))
    }

    /// Begins to log, where that is asked for, until what is returned is dropped.
    pub(super) fn begin(&self) -> Log {
        if matches!(self.log_format, Some(Format::Json)) {
            speak_to_machines();
        }
        let Directive(levels) = self.levels();
        if levels.iter().all(|level| *level == LevelFilter::OFF) {
            return Log;
        }
        let screen = Screen::new(io::stdout(), io::stderr(), PATIENCE);
        *sink() = Some(Sink { screen, redactor: Redactor::default() });
        let targets = Targets::new().with_targets(TARGETS.into_iter().zip(levels));
        // A second one in one process, which only a test could have, changes nothing.
        let _ = tracing::dispatcher::set_global_default(subscriber(self.log_format, targets, Lines));
        Log
    }
}

fn subscriber<W>(format: Option<Format>, targets: Targets, writer: W) -> Dispatch
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let written = Subscriber::builder()
        .with_max_level(LevelFilter::TRACE)
        .with_span_events(FmtSpan::CLOSE)
        .with_timer(Clock)
        .with_ansi(colours())
        .with_writer(writer);
    match format {
        Some(Format::Json) => Dispatch::new(written.json().finish().with(targets)),
        Some(Format::Text) | None => Dispatch::new(written.finish().with(targets)),
    }
}

/// The log, until it is dropped: then what waits for a slow reader has been written.
pub(super) struct Log;

impl Drop for Log {
    fn drop(&mut self) {
        let last = sink().take();
        drop(last);
    }
}

/// Takes out of the log from now on what this redactor takes out.
pub(super) fn withhold(redactor: &Redactor) {
    if let Some(sink) = sink().as_mut() {
        sink.redactor = redactor.clone();
    }
}

/// Where the log is written to: a subscriber is one for the whole process, and so is this.
static SINK: Mutex<Option<Sink>> = Mutex::new(None);

struct Sink {
    screen: Screen,
    redactor: Redactor,
}

fn sink() -> MutexGuard<'static, Option<Sink>> {
    SINK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes each event whole, at the beginning of a line.
#[derive(Clone, Copy)]
struct Lines;

impl MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        *self
    }
}

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Some(Sink { screen, redactor }) = sink().as_mut() {
            let text = redactor.text(&String::from_utf8_lossy(line));
            let before = if terminal::break_line() { "\n" } else { "" };
            screen.show(Stream::Stderr, format!("{before}{text}").into_bytes());
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The time as everywhere else in the program.
struct Clock;

impl FormatTime for Clock {
    fn format_time(&self, w: &mut Writer<'_>) -> fmt::Result {
        write!(w, "{:.3}", clock::now().wall())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directive_says_a_level_for_each_part() {
        use LevelFilter as L;
        for (text, levels) in [
            ("", [L::OFF; 5]),
            ("off", [L::OFF; 5]),
            ("debug", [L::DEBUG; 5]),
            ("INFO", [L::INFO; 5]),
            ("store=trace", [L::OFF, L::OFF, L::OFF, L::OFF, L::TRACE]),
            ("info, store=off", [L::INFO, L::INFO, L::INFO, L::INFO, L::OFF]),
            ("stage=warn,info,stage=error,", [L::INFO, L::ERROR, L::INFO, L::INFO, L::INFO]),
        ] {
            assert_eq!(text.parse(), Ok(Directive(levels)), "{text}");
        }
    }

    #[test]
    fn a_wrong_directive_is_refused_with_its_place() {
        let level = |word: &str, at| Err(DirectiveError::Level { word: word.to_owned(), at });
        let target = |word: &str, at| Err(DirectiveError::Target { word: word.to_owned(), at });
        for (text, expected) in [
            ("debugg", level("debugg", 1)),
            ("info,store", level("store", 6)),
            ("info,store=", level("", 12)),
            ("info,shop=trace", target("shop", 6)),
            ("store=trace=debug", level("trace=debug", 7)),
            ("=info", target("", 1)),
        ] {
            assert_eq!(text.parse::<Directive>(), expected, "{text}");
        }
    }

    #[test]
    fn verbosity_adds_to_a_directive() {
        let levels = |verbose, log: &str| LogArgs { verbose, log: log.parse().ok(), log_format: None }.levels();
        assert_eq!(levels(0, ""), Directive([LevelFilter::OFF; 5]));
        assert_eq!(levels(1, ""), Directive([LevelFilter::INFO; 5]));
        assert_eq!(levels(9, "off"), Directive([LevelFilter::TRACE; 5]));
        let Directive(both) = levels(1, "store=trace,stage=error");
        assert_eq!((both[1], both[4]), (LevelFilter::INFO, LevelFilter::TRACE));
    }
}
