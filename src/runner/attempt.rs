//! One attempt of a stage: its command, and its gate when the command succeeded.

use std::time::Duration;

use super::context::ContextWatch;
use super::engine::Engine;
use super::stage_files::{Identity, SESSION_VARIABLE, StageFiles, environment};
use super::watch::{Stop, TICK};
use super::{Progress, RunError, Stage};
use crate::contract::PhaseResult;
use crate::policy::Ending;
use crate::system::clock::{self, Moment};
use crate::system::files::{Appender, Privacy};
use crate::system::process::{Command, Event, Exit, Piece, Running, Stream, kill_group, signal_name};

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
}

/// How an attempt ended.
#[derive(Debug)]
pub(super) enum AttemptEnd {
    /// By itself, or by its own time limit.
    Ended(Ending),
    /// Because the run stops.
    Stopped(Stop),
}

/// What one attempt's processes share.
struct Setting<'a> {
    stage: &'a Stage,
    log: Appender,
    context: ContextWatch,
    began: Moment,
    tail: Vec<u8>,
}

impl Engine<'_> {
    /// Runs the stage once and leaves no process of its group behind.
    pub(super) async fn attempt(&mut self, stage: &Stage, attempt: u32) -> Result<Attempt, RunError> {
        let paths = StageFiles::prepare(&self.layout, stage, attempt)?;
        let session = self.session.clone();
        let identity = Identity { execution: &self.execution().clone(), session: &session, attempt };
        let variables = environment(&identity, stage, &self.bounds, self.layout.workspace(), &paths);
        let command = |argv: &[String]| command(argv, &variables, self.layout.workspace());
        let (main, gate) = (command(&stage.command), stage.verify.as_deref().map(command));
        let compactor = self.bounds.compaction.as_deref().map(command);
        let mut setting = Setting {
            stage,
            log: Appender::open(&self.layout.log(stage.phase, attempt), Privacy::Private)?,
            context: ContextWatch::new(stage.phase, &self.bounds, &self.layout, &paths, compactor)?,
            began: clock::now(),
            tail: Vec::new(),
        };
        let mut end = self.run_command(&main, &mut setting).await?;
        if let (AttemptEnd::Ended(Ending::Exited(0)), Some(gate)) = (&end, gate) {
            self.listener.on(&Progress::GateStarted { phase: stage.phase });
            end = self.run_command(&gate, &mut setting).await?;
        }
        let (result, result_refused) = match paths.read_result() {
            Ok(result) => (result, None),
            Err(reason) => (None, Some(reason)),
        };
        Ok(Attempt {
            end,
            result,
            result_refused,
            stderr: String::from_utf8_lossy(&setting.tail).into_owned(),
            overflow: setting.context.overflowed(),
        })
    }

    async fn run_command(&mut self, command: &Command, setting: &mut Setting<'_>) -> Result<AttemptEnd, RunError> {
        let mut running = match command.spawn() {
            Ok(running) => running,
            Err(error) => return Ok(AttemptEnd::Ended(Ending::SpawnFailed(error.to_string()))),
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
        self.charge();
        setting.context.finish(self.stamp(), self.listener).await?;
        watched
    }

    async fn watch(&mut self, running: &mut Running, setting: &mut Setting<'_>) -> Result<AttemptEnd, RunError> {
        let mut ticks = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                event = running.next() => match event {
                    Event::Output(piece) => self.keep(&piece, setting)?,
                    Event::Ended(exit) => return Ok(AttemptEnd::Ended(ending(exit))),
                },
                interrupt = self.interrupts.next() => return Ok(AttemptEnd::Stopped(Stop::Interrupted(interrupt))),
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
            while let Event::Output(piece) = running.next().await {
                // A log that cannot be written any more keeps nobody from ending.
                let _ = self.keep(&piece, setting);
            }
        };
        tokio::time::timeout(grace, said).await.is_ok()
    }

    async fn look(&mut self, setting: &mut Setting<'_>) -> Result<Option<AttemptEnd>, RunError> {
        if let Some(stop) = self.reason_to_stop()? {
            return Ok(Some(AttemptEnd::Stopped(stop)));
        }
        setting.context.look(self.stamp(), self.listener).await?;
        if setting.context.overflowed() {
            return Ok(Some(AttemptEnd::Stopped(Stop::Overflow)));
        }
        let late = setting.stage.timeout.filter(|timeout| clock::now().since(setting.began) >= *timeout);
        Ok(late.map(|timeout| AttemptEnd::Ended(Ending::TimedOut(timeout))))
    }

    fn keep(&mut self, piece: &Piece, setting: &mut Setting<'_>) -> Result<(), RunError> {
        setting.log.append(&piece.bytes)?;
        if piece.stream == Stream::Stderr {
            setting.tail.extend_from_slice(&piece.bytes);
            let surplus = setting.tail.len().saturating_sub(TAIL);
            setting.tail.drain(..surplus);
        }
        self.listener.on(&Progress::Output { phase: setting.stage.phase, piece });
        Ok(())
    }
}

fn command(argv: &[String], variables: &[(String, std::ffi::OsString)], workspace: &std::path::Path) -> Command {
    let (program, arguments) = argv.split_first().map_or(("", argv), |(program, rest)| (program.as_str(), rest));
    let command = Command::new(program).args(arguments).folder(workspace).env_remove(SESSION_VARIABLE);
    variables.iter().fold(command, |command, (name, value)| command.env(name, value))
}

fn ending(exit: Exit) -> Ending {
    match exit {
        Exit::Exited(code) => Ending::Exited(code),
        Exit::Signalled(signal) => Ending::Signalled(signal_name(signal)),
        Exit::SpawnFailed(error) => Ending::SpawnFailed(error.to_string()),
    }
}
