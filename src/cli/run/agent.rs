//! `loa-run agent`: one agent, asked outside of a run.

use std::io::Read;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::agent_screen::AgentScreen;
use super::args::LoaRun;
use super::commands::{program, runtime};
use super::given::{Here, bounds, settings, tell_unheeded};
use super::refusal::of_prompt;
use crate::backend::{bounds_turns, every_backend, ready};
use crate::cli::console::{pass_on, say};
use crate::cli::{ExitStatus, Failure};
use crate::config::{Origin, Override, Prompts, Settings, Span};
use crate::policy::ClassName;
use crate::runner::{Answer, AskError, Backend, Backends, Question, Surroundings, Thread, ask};
use crate::system::env;
use crate::system::files::{self, FileError, Privacy};
use crate::system::process::{Interrupt, Interrupts};

/// The most bytes of a prompt, and of what an agent said earlier.
const LONGEST_TEXT: u64 = 16 << 20;

#[derive(Debug, Subcommand)]
pub(super) enum AgentVerb {
    /// Ask in a new session
    #[command(after_help = RUN_EXAMPLES)]
    Run {
        /// What stands before the prompt, with more weight: a text, or @FILE
        #[arg(long, value_name = "TEXT|@FILE")]
        system: Option<String>,
        /// The id that the new session is to have, where the agent can be told one
        #[arg(long, value_name = "ID", value_parser = clap::builder::NonEmptyStringValueParser::new())]
        session: Option<String>,
        #[command(flatten)]
        asked: Asked,
    },
    /// Ask in an earlier session
    #[command(after_help = RESUME_EXAMPLES)]
    Resume {
        /// The session; or @FILE with what the agent said earlier, to be told again to one that has no sessions
        #[arg(value_name = "SESSION|@FILE", value_parser = clap::builder::NonEmptyStringValueParser::new())]
        session: String,
        #[command(flatten)]
        asked: Asked,
    },
}

/// What both forms take.
#[derive(Debug, Args)]
pub(super) struct Asked {
    /// The agent: a built-in one, or one under runtime.backends; by default runtime.backend
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// Most turns of one invocation, where the agent can be told; by default what the configuration says of it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_turns: Option<u32>,
    /// Longest duration in seconds, waits and repetitions included; without it, the program's own
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Wait so long for a provider that cannot be reached or answers with 5xx, and ask again meanwhile: 90s, 30m, 2h.
    /// Without it that is a failure like others, tried again `runtime.retry.max` times
    #[arg(long, value_name = "TIME", default_value = "0")]
    outage_patience: Span,
    /// Write the answer to this file, readable by its owner alone, and not to standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<std::path::PathBuf>,
    /// What the agent is told: a text (@@ for one that begins with @), @FILE, or - for standard input
    #[arg(value_name = "PROMPT|@FILE|-")]
    prompt: String,
}

fn seconds(word: &str) -> Result<Duration, String> {
    let time = word.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| !time.is_zero()).ok_or_else(|| "expected seconds, such as 600 or 0.5".to_owned())
}

const CODES: &str = "
Exit codes:
  0    the agent says that it is done
  1    asking again may help: the provider failed, its outage or its limit
       outlasts the patience, the agent was lost, stopped, or ran out of turns
  2    asking again does not help: refused, the context is over, or tools
       that it needs are not allowed
  and those of `loa-run --help`";

pub(super) fn agent_help() -> String {
    format!("{AGENT_EXAMPLES}\n{CODES}")
}

const AGENT_EXAMPLES: &str = "\
Examples:
  loa-run agent run \"Say what this project is for.\"
  loa-run agent resume SESSION \"And who uses it?\"
  loa-run agent run --json --backend codex @task.md | jq .type

With --json, one object a line: attempt, session, turn, usage, said,
retrying, compacted, denied, waiting, and one ended as the last.
`loa-validate schema agent-event` prints their schema.";

const RUN_EXAMPLES: &str = "\
Examples:
  loa-run agent run \"Say what this project is for.\"
  git diff | loa-run agent run --system \"Review this change.\" -
  loa-run agent run --outage-patience 1h @overnight.md
  loa-run agent run --backend claude --max-turns 5 --output answer.md @task.md";

const RESUME_EXAMPLES: &str = "\
Examples:
  loa-run agent resume 5f0c2f5e-4f0a-4d63-9a0f-0d4c0b8f1a11 \"Go on.\"
  loa-run agent resume @answer.md \"Make it shorter.\"    (for one that has no sessions)";

impl AgentVerb {
    fn asked(&self) -> &Asked {
        match self {
            Self::Run { asked, .. } | Self::Resume { asked, .. } => asked,
        }
    }

    /// The agent that is asked, as a value of the configuration.
    pub(super) fn backend(&self) -> Option<Override> {
        let name = self.asked().backend.clone()?;
        let origin = Origin::Flag(format!("--backend {name}"));
        Some(Override { key: "runtime.backend".to_owned(), value: name, origin })
    }
}

/// Asks, and prints what comes back.
pub(super) fn agent(here: &Here, verb: &AgentVerb, args: &LoaRun) -> Result<ExitStatus, Failure> {
    let settings = settings(here, args)?;
    let question = question(here, verb, &settings)?;
    let runtime = runtime()?;
    let mut interrupts = {
        let _entered = runtime.enter();
        Interrupts::listen().map_err(|error| Failure::new(ExitStatus::Internal, error))?
    };
    let output = verb.asked().output.as_deref();
    // An answer costs: what can be known to fail is known before.
    output.map_or(Ok(()), files::try_writing).map_err(not_written)?;
    let mut screen = AgentScreen::new(args.json);
    let answer = runtime.block_on(ask(&question, &mut interrupts, &mut screen)).map_err(not_asked)?;
    let text = answer.text.as_ref().map(|text| format!("{text}\n"));
    let written = write(output, text.as_deref());
    screen.failed.map_or(Ok(()), Err)?;
    if let (false, Some(text)) = (args.json || (output.is_some() && written.is_ok()), &text) {
        pass_on(text.as_bytes())?;
    }
    written.map(|()| status(&answer))
}

/// Writes the answer to its file. Without an answer, what stands there stays.
fn write(output: Option<&Path>, text: Option<&str>) -> Result<(), Failure> {
    match (output, text) {
        (Some(path), Some(text)) => files::write_durably(path, text.as_bytes(), Privacy::Private).map_err(not_written),
        (Some(path), None) => {
            say(format_args!("loa-run: there is no answer; {} is left as it is", path.display()));
            Ok(())
        }
        (None, _) => Ok(()),
    }
}

fn not_written(error: FileError) -> Failure {
    Failure::new(ExitStatus::WriteFailed, error)
}

/// The agent that is asked.
fn backend(here: &Here, verb: &AgentVerb, settings: &Settings) -> Result<Rc<dyn Backend>, Failure> {
    let name = settings.default_backend();
    let mut known = settings.backend(name).expect("the configuration was refused if nothing is known of it");
    if verb.asked().max_turns.is_some() && !bounds_turns(known.kind) {
        let hint = "leave --max-turns out; `loa-run agent run --timeout SECONDS` bounds every agent";
        return Err(Failure::new(ExitStatus::Usage, NoBound(name.to_owned())).hint(hint));
    }
    tell_unheeded(settings, [name]);
    if matches!(verb, AgentVerb::Resume { session, .. } if !session.starts_with('@')) {
        // Whoever takes up a session says to it what is to be said, and nothing stands before that.
        let prompts = std::mem::take(&mut known.section.prompts);
        known.section.prompts = Prompts { pre_system: None, post_system: None, ..prompts };
    }
    Ok(ready(known, here.layout.workspace()).map_err(of_prompt)?.into())
}

fn question(here: &Here, verb: &AgentVerb, settings: &Settings) -> Result<Question, Failure> {
    let (name, asked) = (settings.default_backend(), verb.asked());
    let backend = backend(here, verb, settings)?;
    let (thread, system) = match verb {
        AgentVerb::Run { session: None, system, .. } => (Thread::New, system.as_deref()),
        AgentVerb::Run { session: Some(id), system, .. } => (Thread::Named(id.clone()), system.as_deref()),
        AgentVerb::Resume { session, .. } => match session.strip_prefix('@') {
            Some(path) => (Thread::Retold(from_file(Path::new(path))?), None),
            None => (Thread::Earlier(session.clone()), None),
        },
    };
    if matches!(thread, Thread::Named(_)) && !backend.capabilities().names_sessions {
        say(format_args!("loa-run: {name} gives its sessions names of its own"));
    }
    let bounds = bounds(here, settings);
    let retry = settings.agent_retry(name);
    Ok(Question {
        prompt: text(&asked.prompt)?,
        system: system.map(text).transpose()?,
        max_turns: asked.max_turns,
        timeout: asked.timeout,
        effort: settings.effort().map(|effort| effort.default_level),
        limits: settings.limits(),
        surroundings: surroundings(here, &every_backend(settings), name),
        thread,
        retries: retry.max,
        backoff: retry.backoff,
        patience: bounds.limit_patience,
        outage_patience: asked.outage_patience.time(),
        outage_codes: bounds.outage_codes,
        grace: bounds.grace,
        redactor: bounds.redactor,
        program: program()?,
        backend,
    })
}

/// The workspace, and nothing that belongs to other agents.
fn surroundings(here: &Here, backends: &Backends, name: &str) -> Surroundings {
    let withheld = backends.withheld_from(Some(name));
    let set: Vec<&str> = withheld.iter().map(String::as_str).filter(|variable| env::var(variable).is_some()).collect();
    if !set.is_empty() {
        let names = set.join(", ");
        say(format_args!(
            "loa-run: kept from {name}: {names}, of other agents; `credentials` under runtime.backends.{name} gives it one"
        ));
    }
    let workspace = here.layout.workspace().to_path_buf();
    let variables = vec![("LOA_WORKSPACE".to_owned(), workspace.clone().into())];
    Surroundings { workspace, variables, withheld, ..Surroundings::default() }
}

#[derive(Debug, thiserror::Error)]
#[error("the backend `{0}` cannot be told a bound of turns")]
struct NoBound(String);

#[derive(Debug, thiserror::Error)]
#[error("the prompt is empty")]
struct Empty;

/// A text of the command line: itself, a file's content behind @, or standard input for -.
fn text(word: &str) -> Result<String, Failure> {
    let text = match word.strip_prefix('@') {
        None if word == "-" => from_stdin()?,
        None => word.to_owned(),
        Some(rest) if rest.starts_with('@') => rest.to_owned(),
        Some(path) => from_file(Path::new(path))?,
    };
    if text.trim().is_empty() { Err(Failure::new(ExitStatus::Usage, Empty)) } else { Ok(text) }
}

fn from_file(path: &Path) -> Result<String, Failure> {
    let bytes = files::read(path, LONGEST_TEXT).map_err(|error| Failure::new(ExitStatus::NoInput, error))?;
    utf8(bytes, path)
}

fn from_stdin() -> Result<String, Failure> {
    let path = Path::new("standard input");
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(LONGEST_TEXT + 1).read_to_end(&mut bytes);
    let failed = |source| FileError { action: "read", path: path.to_path_buf(), source };
    read.map_err(|error| Failure::new(ExitStatus::NoInput, failed(error)))?;
    if bytes.len() as u64 > LONGEST_TEXT {
        let too_long = failed(std::io::ErrorKind::FileTooLarge.into());
        return Err(Failure::new(ExitStatus::NoInput, too_long));
    }
    utf8(bytes, path)
}

fn utf8(bytes: Vec<u8>, path: &Path) -> Result<String, Failure> {
    let refused = |error: std::string::FromUtf8Error| {
        let source = std::io::Error::new(std::io::ErrorKind::InvalidData, error.utf8_error());
        Failure::new(ExitStatus::NoInput, FileError { action: "read", path: path.to_path_buf(), source })
    };
    String::from_utf8(bytes).map_err(refused)
}

fn not_asked(error: AskError) -> Failure {
    match error {
        AskError::NoSessions(_) => Failure::new(ExitStatus::Usage, error)
            .hint("`loa-run agent resume @FILE PROMPT` tells it again what it said earlier")
            .hint("`loa-run backends` shows which agents have sessions"),
        AskError::Host(_) => Failure::new(ExitStatus::Internal, error),
    }
}

/// As a phase's exit: 1 for what may pass, 2 for what does not.
fn status(answer: &Answer) -> ExitStatus {
    match (answer.interrupted, answer.end.class.name()) {
        (Some(Interrupt::Interrupt), _) => ExitStatus::Interrupted,
        (Some(Interrupt::Terminate), _) => ExitStatus::Terminated,
        (None, ClassName::Done) => ExitStatus::Success,
        (None, ClassName::Permanent | ClassName::Overflow) => ExitStatus::HumanNeeded,
        (None, _) if answer.is_stopped_by_denials() => ExitStatus::HumanNeeded,
        (
            None,
            ClassName::Transient
            | ClassName::Outage
            | ClassName::Limit
            | ClassName::Cancelled
            | ClassName::TimedOut
            | ClassName::Lost,
        ) => ExitStatus::TryAgain,
    }
}
