//! One attempt of a stage: its command or its agent, and its gate when that succeeded.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::agent::compactor;
use super::context::{Compactor, ContextWatch, Seen};
use super::engine::Engine;
use super::log::PhaseLog;
use super::stage_files::{Identity, SESSION_VARIABLE, StageFiles, environment};
use super::watch::{Stop, TICK};
use super::{RunError, Stage, Work};
use crate::contract::PhaseResult;
use crate::events::{Event, Observation};
use crate::policy::{Ending, Outcome};
use crate::system::clock::{self, Moment};
use crate::system::files::{self, Privacy};
use crate::system::process::{Command, Event as ProcessEvent, Exit, Piece, Running, Stream, kill_group, signal_name};

/// How much of the end of standard error is kept, to recognise a failure by.
const TAIL: usize = 4 * 1024;

/// How an attempt went.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) end: AttemptEnd,
    pub(super) result: Option<PhaseResult>,
    /// Why the result file was not used, when it was there.
    pub(super) result_refused: Option<String>,
    /// The end of standard error.
    pub(super) stderr: String,
    pub(super) overflow: bool,
    /// How long a provider asked to wait before the next attempt.
    pub(super) wait: Option<Duration>,
    /// What an agent said last.
    pub(super) said: Option<String>,
    /// An agent says that it is done, and no gate says so too.
    pub(super) unverified: bool,
    /// Tokens in its context, as they were last known.
    pub(super) context_tokens: Option<u64>,
}

/// How an attempt ended.
#[derive(Debug)]
pub(super) enum AttemptEnd {
    /// By itself, or by its own time limit.
    Ended(Ending),
    /// As the class of an agent's end has it.
    Concluded(Outcome),
    /// Because the run stops.
    Stopped(Stop),
}

/// What one attempt's processes share.
#[derive(Debug)]
pub(super) struct Setting<'a> {
    pub(super) stage: &'a Stage,
    paths: StageFiles,
    log: PhaseLog,
    pub(super) context: ContextWatch,
    pub(super) began: Moment,
    /// When a process wrote something last.
    pub(super) heard: Moment,
    tail: Vec<u8>,
    pub(super) wait: Option<Duration>,
    pub(super) said: Option<String>,
}

impl Setting<'_> {
    /// Writes what a process wrote to the log, keeps the end of its standard error, and gives back what may be shown.
    pub(super) fn keep(&mut self, piece: &Piece) -> Result<Piece, RunError> {
        self.heard = clock::now();
        let piece = self.log.take(piece)?;
        self.remember(&piece);
        Ok(piece)
    }

    /// A process is over: writes what was held back of its last lines, and gives it back to be shown too.
    pub(super) fn end_of_process(&mut self) -> Result<Vec<Piece>, RunError> {
        let pieces = self.log.end_of_process()?;
        for piece in &pieces {
            self.remember(piece);
        }
        Ok(pieces)
    }

    fn remember(&mut self, piece: &Piece) {
        if piece.stream == Stream::Stderr {
            self.tail.extend_from_slice(&piece.bytes);
            let surplus = self.tail.len().saturating_sub(TAIL);
            self.tail.drain(..surplus);
        }
    }
}

impl Engine<'_> {
    /// Runs the stage once and leaves no process of its group behind. `trouble` is how the attempt before failed.
    pub(super) async fn attempt(
        &mut self,
        stage: &Stage,
        attempt: u32,
        trouble: Option<&str>,
    ) -> Result<Attempt, RunError> {
        let paths = StageFiles::prepare(&self.layout, stage, attempt)?;
        let session = self.session.clone();
        let execution = self.execution().clone();
        let identity = Identity { execution: &execution, session: &session, attempt };
        let log = self.place.log(&execution, stage.phase, attempt);
        let variables = environment(&identity, stage, &self.bounds, self.layout.workspace(), &paths);
        let withheld = self.backends.withheld_from(None);
        let command = |argv: &[String]| command(argv, &variables, &withheld, self.layout.workspace());
        let gate = stage.verify.as_deref().map(command);
        let work = stage.work.as_ref().expect("a stage without work is skipped");
        let compactor = match work {
            Work::Agent(agent) => {
                let backend = self.backends.get(&agent.backend);
                backend.map_or(Compactor::Nobody, |backend| compactor(backend.capabilities()))
            }
            Work::Command(_) => {
                let configured = self.bounds.compaction.as_deref().map(command);
                configured.map_or(Compactor::Nobody, |command| Compactor::Command(Box::new(command)))
            }
        };
        let mut setting = Setting {
            stage,
            paths: paths.clone(),
            log: PhaseLog::open(&log, &self.bounds.redactor, self.bounds.log_limit)?,
            context: ContextWatch::new(stage.phase, &self.bounds, &self.layout, &paths, compactor)?,
            began: clock::now(),
            heard: clock::now(),
            tail: Vec::new(),
            wait: None,
            said: None,
        };
        let mut end = match work {
            Work::Command(argv) => {
                let command = command(argv);
                self.run_command(&command, &mut setting).await?
            }
            Work::Agent(agent) => self.run_agent(agent, &mut setting, &variables, trouble).await?,
        };
        let unverified = stage.agent().is_some() && gate.is_none();
        if let (AttemptEnd::Ended(Ending::Exited(0)), Some(gate)) = (&end, gate) {
            self.record(Event::GateStarted { phase: stage.phase })?;
            end = self.run_command(&gate, &mut setting).await?;
        }
        let log = setting.log.close()?;
        let is_empty = log.metadata().is_ok_and(|found| found.len() == 0);
        let copy = self.layout.log(stage.phase, attempt);
        if !is_empty && let Err(error) = files::copy(&log, &copy, Privacy::Private) {
            // The log itself is with the state; `loa-run logs` reads that.
            self.notice(format!("{}: its log has no copy in the workspace: {error}: {}", stage.phase, error.source));
        }
        let (result, result_refused) = match paths.read_result(&self.bounds.redactor) {
            Ok(result) => (result, None),
            Err(reason) => (None, Some(reason)),
        };
        Ok(Attempt {
            end,
            result,
            result_refused,
            stderr: String::from_utf8_lossy(&setting.tail).into_owned(),
            overflow: setting.context.overflowed(),
            wait: setting.wait,
            said: setting.said,
            unverified,
            context_tokens: setting.context.tokens(),
        })
    }

    async fn run_command(&mut self, command: &Command, setting: &mut Setting<'_>) -> Result<AttemptEnd, RunError> {
        let mut running = match command.spawn() {
            Ok(running) => running,
            Err(error) => {
                let why = format!("`{}`: {error}", command.program());
                return Ok(AttemptEnd::Ended(Ending::SpawnFailed(why)));
            }
        };
        let group = running.group();
        self.guard.watch(group);
        let watched = self.watch(&mut running, setting).await;
        if !matches!(watched, Ok(AttemptEnd::Ended(Ending::Exited(_) | Ending::Signalled(_)))) {
            let ended = self.hear_out(&mut running, setting).await;
            if !ended {
                running.end(Duration::ZERO).await;
            }
        }
        // Whatever the stage left behind in its group ends with it.
        kill_group(group, self.bounds.grace).await;
        self.guard.forget(group);
        for piece in setting.end_of_process()? {
            self.show(&piece, setting.stage);
        }
        setting.context.finish(self.stamp()).await?;
        self.tell(setting)?;
        watched
    }

    async fn watch(&mut self, running: &mut Running, setting: &mut Setting<'_>) -> Result<AttemptEnd, RunError> {
        let mut ticks = tokio::time::interval(TICK);
        // Not at once: most stages that are short have nothing to look at.
        ticks.reset();
        loop {
            tokio::select! {
                event = running.next() => match event {
                    ProcessEvent::Output(piece) => self.keep(&piece, setting)?,
                    ProcessEvent::Ended(exit) => return Ok(AttemptEnd::Ended(ending(exit))),
                },
                interrupt = self.interrupts.next() => {
                    self.journal.say_ending();
                    return Ok(AttemptEnd::Stopped(Stop::Interrupted(interrupt)));
                }
                _ = ticks.tick() => {
                    if let Some(end) = self.look(setting).await? {
                        return Ok(end);
                    }
                }
            }
        }
    }

    /// Asks the stage to end and keeps what it says to that. Whether it obeyed in time.
    async fn hear_out(&mut self, running: &mut Running, setting: &mut Setting<'_>) -> bool {
        let grace = self.bounds.grace;
        running.ask_to_end();
        let said = async {
            while let ProcessEvent::Output(piece) = running.next().await {
                // A log that cannot be written any more keeps nobody from ending.
                let _ = self.keep(&piece, setting);
            }
        };
        tokio::time::timeout(grace, said).await.is_ok()
    }

    pub(super) async fn look(&mut self, setting: &mut Setting<'_>) -> Result<Option<AttemptEnd>, RunError> {
        if let Some(stop) = self.reason_to_stop()? {
            return Ok(Some(AttemptEnd::Stopped(stop)));
        }
        if setting.paths.restore()? {
            self.notice(format!(
                "{}: the folder of its results and signals was taken away; it is made again",
                setting.stage.phase
            ));
        }
        setting.context.look(self.stamp()).await?;
        self.tell(setting)?;
        if setting.context.overflowed() {
            return Ok(Some(AttemptEnd::Stopped(Stop::Overflow)));
        }
        Ok(Self::late(setting))
    }

    fn keep(&mut self, piece: &Piece, setting: &mut Setting<'_>) -> Result<(), RunError> {
        let piece = setting.keep(piece)?;
        self.show(&piece, setting.stage);
        Ok(())
    }

    /// Passes on what the context watch has seen.
    pub(super) fn tell(&mut self, setting: &mut Setting<'_>) -> Result<(), RunError> {
        for seen in setting.context.seen() {
            match seen {
                Seen::Event(event) => self.record(event)?,
                Seen::Observation(observation) => self.observe(&observation),
            }
        }
        Ok(())
    }

    /// The end of an attempt that took too long.
    pub(super) fn late(setting: &Setting<'_>) -> Option<AttemptEnd> {
        let now = clock::now();
        let late = setting.stage.timeout.filter(|timeout| now.since(setting.began) >= *timeout);
        let silent = setting.stage.idle_timeout.filter(|timeout| now.since(setting.heard) >= *timeout);
        late.or(silent).map(|timeout: Duration| AttemptEnd::Ended(Ending::TimedOut(timeout)))
    }

    /// Shows what a process wrote to whoever watches.
    pub(super) fn show(&mut self, piece: &Piece, stage: &Stage) {
        if !piece.bytes.is_empty() {
            self.observe(&Observation::Output { phase: stage.phase, piece: piece.clone() });
        }
    }
}

fn command(argv: &[String], variables: &[(String, OsString)], withheld: &[String], workspace: &Path) -> Command {
    let (program, arguments) = argv.split_first().map_or(("", argv), |(program, rest)| (program.as_str(), rest));
    let command = Command::new(program).args(arguments).folder(workspace).env_remove(SESSION_VARIABLE).in_blocks();
    let command = withheld.iter().fold(command, Command::env_remove);
    variables.iter().fold(command, |command, (name, value)| command.env(name, value))
}

fn ending(exit: Exit) -> Ending {
    match exit {
        Exit::Exited(code) => Ending::Exited(code),
        Exit::Signalled(signal) => Ending::Signalled(signal_name(signal)),
        Exit::SpawnFailed(error) => Ending::SpawnFailed(error.to_string()),
    }
}
