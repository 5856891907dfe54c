//! One attempt of a stage: its command or its agent, and its gate when that succeeded.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::mpsc;
use tracing::{debug, info};

use super::context::{Compactor, ContextWatch, Seen};
use super::files::{Identity, StageFiles, environment};
use super::inbox::{Fact, Inbox};
use super::limits::LimitsWatch;
use super::log::PhaseLog;
use crate::config::Lifetime;
use crate::contract::{ExecutionId, Phase, SessionId};
use crate::events::{Event, Observation, PinnedFile};
use crate::policy::{Exceeded, StageOutcome};
use crate::runner::agent::TICK;
use crate::runner::changed_files::{GateWatch, before_deploy, before_gate};
use crate::runner::decide::{Attempt, Stop, Words};
use crate::runner::session::SESSION_VARIABLE;
use crate::runner::{Backends, Bounds, RunError, Stage, Work};
use crate::store::{Layout, Place, make_room, was_put_aside};
use crate::system::boundary::Boundary;
use crate::system::clock::{self, Moment};
use crate::system::files::{self as host_files, Privacy};
use crate::system::guard::Guard;
use crate::system::process::{
    Command, Event as ProcessEvent, Piece, ProcessExit, Running, Stream, kill_group, signal_name,
};

/// How much of the end of each stream is kept, to recognise a failure by and for the last words.
const TAIL: usize = 4 * 1024;

/// The end of what an attempt wrote, without secrets.
#[derive(Debug, Default)]
pub(super) struct Tails {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Tails {
    fn keep(&mut self, piece: &Piece) {
        let tail = if piece.stream == Stream::Stderr { &mut self.stderr } else { &mut self.stdout };
        tail.extend_from_slice(&piece.bytes);
        let surplus = tail.len().saturating_sub(TAIL);
        tail.drain(..surplus);
    }

    fn words(&self) -> Words {
        let text = |tail: &[u8]| String::from_utf8_lossy(tail).into_owned();
        Words { stdout: text(&self.stdout), stderr: text(&self.stderr) }
    }
}

/// How the work of an attempt ended, or why it was stopped.
pub(super) type End = Result<StageOutcome, Stop>;

/// An attempt that is to be made.
#[derive(Debug)]
pub(in crate::runner) struct Order {
    pub(in crate::runner) execution: ExecutionId,
    pub(in crate::runner) session: SessionId,
    pub(in crate::runner) stage: Stage,
    /// The number of this start.
    pub(in crate::runner) attempt: u32,
    /// How the attempt before failed.
    pub(in crate::runner) trouble: Option<String>,
    /// The session of the stage's agent, to go on with: its backend, and its id.
    pub(in crate::runner) known: Option<(String, String)>,
    /// The files that commands and gates name, and those that are protected, as they may be.
    pub(in crate::runner) pinned: Vec<PinnedFile>,
    /// When patience ends, where the provider of the stage's agent was out of order or out of reach when it was asked last.
    pub(in crate::runner) patience_ends: Option<Timestamp>,
    /// Documents that are written carry no time before this.
    pub(in crate::runner) not_before: Timestamp,
}

/// A stage at work: what its processes share.
#[derive(Debug)]
pub(in crate::runner) struct StageTask {
    pub(super) order: Order,
    pub(super) layout: Layout,
    pub(super) bounds: Bounds,
    pub(super) backends: Backends,
    pub(super) guard: Rc<RefCell<Guard>>,
    /// What its processes run behind.
    pub(super) boundary: Option<Boundary>,
    pub(super) inbox: Inbox,
    /// Why it is told to end.
    stops: mpsc::UnboundedReceiver<Stop>,
    /// The order to end that came when the work was over already.
    stopping: Option<Stop>,
    pub(super) context: ContextWatch,
    /// What they may take of the host, where that is bounded.
    limits: Option<LimitsWatch>,
    /// What its processes are told.
    pub(super) variables: Vec<(String, OsString)>,
    pub(super) paths: StageFiles,
    log: PhaseLog,
    pub(super) tails: Tails,
    /// The code with which its last process ended.
    pub(super) code: Option<i32>,
    /// Within an outage, since when its command tries again.
    pub(super) probing: Option<Moment>,
    pub(super) wait: Option<Duration>,
    pub(super) said: Option<String>,
    /// The work is done, and the gate looks at it.
    in_gate: bool,
}

impl StageTask {
    /// Makes ready what an attempt needs. Nothing is started yet.
    pub(in crate::runner) fn prepare(
        order: Order,
        (layout, place): (&Layout, &Place),
        (bounds, backends): (&Bounds, &Backends),
        (guard, boundary, inbox): (Rc<RefCell<Guard>>, Option<Boundary>, Inbox),
        stops: mpsc::UnboundedReceiver<Stop>,
    ) -> Result<Self, RunError> {
        let stage = &order.stage;
        let paths = StageFiles::prepare((layout, place), &order.execution, stage, order.attempt)?;
        let identity = Identity { execution: &order.execution, session: &order.session, attempt: order.attempt };
        let variables = environment(&identity, stage, bounds, layout.workspace(), &paths);
        let log = place.log(&order.execution, stage.phase, order.attempt);
        let compactor = compactor_of(stage, bounds, backends, |argv| {
            command(argv, &variables, &backends.withheld_from(None), layout.workspace()).behind(boundary.as_ref())
        });
        Ok(Self {
            log: PhaseLog::new(log, &bounds.redactor, bounds.log_limit),
            limits: LimitsWatch::begin(stage.limits, boundary.as_ref(), layout.workspace()),
            context: ContextWatch::new(stage.phase, bounds, layout, &paths, compactor)?,
            layout: layout.clone(),
            bounds: bounds.clone(),
            backends: backends.clone(),
            guard,
            boundary,
            inbox,
            stops,
            stopping: None,
            variables,
            paths,
            tails: Tails::default(),
            code: None,
            probing: None,
            wait: None,
            said: None,
            in_gate: false,
            order,
        })
    }

    /// Runs the attempt, leaves no process of its group behind, and tells how it ended.
    /// `said` is what there was to say before it began.
    pub(in crate::runner) async fn run(self, said: Option<String>) {
        if let Some(text) = said {
            self.inbox.tell(Fact::Happened(Event::Notice { text: text.into() })).await;
        }
        let inbox = self.inbox.clone();
        match self.attempt().await {
            Ok(attempt) => {
                log_end(&attempt);
                inbox.tell(Fact::Ended(Box::new(attempt))).await;
            }
            Err(error) => inbox.failed(error).await,
        }
    }

    async fn attempt(mut self) -> Result<Attempt, RunError> {
        let end = self.work().await?;
        self.clear().await;
        self.restore_folder().await?;
        let log = self.log.close()?;
        let (phase, attempt) = (self.order.stage.phase, self.order.attempt);
        let copy = self.layout.log(phase, attempt);
        if let Some(log) = log {
            let moved = make_room(&self.layout, &copy).unwrap_or_default();
            let copied = host_files::copy(&log, &copy, Privacy::Private);
            // The log itself is with the state; `loa-run logs` reads that.
            let missing = copied
                .err()
                .map(|error| format!("{phase}: its log has no copy in the workspace: {error}: {}", error.source));
            for text in moved.iter().map(|path| was_put_aside(path)).chain(missing) {
                self.inbox.tell(Fact::Happened(Event::Notice { text: text.into() })).await;
            }
        }
        let (result, result_refused) = match self.paths.read_result(&self.bounds.redactor) {
            Ok(result) => (result, None),
            Err(reason) => (None, Some(reason)),
        };
        Ok(Attempt {
            end,
            result,
            result_refused,
            words: self.tails.words(),
            in_gate: self.in_gate,
            wait: self.wait,
            said: self.said,
            unverified: self.order.stage.agent().is_some() && self.order.stage.verify.is_none(),
            context_tokens: self.context.tokens(),
            overflow: self.context.overflowed(),
        })
    }

    /// The work, and the gate after it.
    async fn work(&mut self) -> Result<End, RunError> {
        let end = match self.order.stage.work.clone().expect("a stage without work is skipped") {
            // An audit is a gate by itself.
            Work::Command(argv) if self.order.stage.phase == Phase::Audit => {
                let command = self.command(&argv);
                self.judged(&argv, async |task| task.run_work(&command).await).await?
            }
            _ if self.is_unapproved().await? => return Ok(Err(Stop::NotApproved)),
            Work::Command(argv) => {
                let command = self.command(&argv);
                self.run_work(&command).await?
            }
            Work::Agent(agent) => {
                if self.order.stage.phase == Phase::Audit && self.has_other_gate(Vec::new()).await? {
                    return Ok(Err(Stop::GateChanged { has_run: false }));
                }
                self.run_agent(&agent).await?
            }
        };
        let Some(gate) = self.order.stage.verify.clone() else { return Ok(end) };
        if end != Ok(StageOutcome::exited(0)) {
            return Ok(end);
        }
        if let Some(stop) = self.stopping.take().or_else(|| self.stops.try_recv().ok()) {
            return Ok(Err(stop));
        }
        let command = self.command(&gate);
        self.judged(&gate, async |task| {
            task.inbox.announce(Fact::Happened(Event::GateStarted { phase: task.order.stage.phase })).await;
            // What the work said explains nothing about its gate.
            (task.in_gate, task.tails) = (true, Tails::default());
            task.run_command(&command).await
        })
        .await
    }

    /// What a gate says, where it is the one that the execution began with, and was so all the time.
    async fn judged(
        &mut self,
        gate: &[String],
        ask: impl AsyncFnOnce(&mut Self) -> Result<End, RunError>,
    ) -> Result<End, RunError> {
        let watch = GateWatch::over(self.layout.workspace(), &self.order.stage, gate, &self.order.pinned);
        if self.has_other_gate(Vec::new()).await? {
            return Ok(Err(Stop::GateChanged { has_run: false }));
        }
        let end = ask(self).await?;
        if end != Ok(StageOutcome::exited(0)) {
            return Ok(end);
        }
        let touched = watch.touched(self.layout.workspace(), &self.order.pinned);
        Ok(if self.has_other_gate(touched).await? { Err(Stop::GateChanged { has_run: true }) } else { end })
    }

    /// Whether a script of the gate, or a protected file, is not what the execution began with, and nobody agreed to it, or was
    /// touched while the gate ran; that is said.
    async fn has_other_gate(&self, touched: Vec<PinnedFile>) -> Result<bool, RunError> {
        let stage = &self.order.stage;
        let mut files = before_gate(self.layout.workspace(), stage, &self.order.pinned, &self.bounds.protects)?;
        files.extend(touched.into_iter().filter(|file| !files.contains(file)).collect::<Vec<_>>());
        let changed = !files.is_empty();
        if changed {
            self.inbox.announce(Fact::Happened(Event::GateChanged { phase: stage.phase, files })).await;
        }
        Ok(changed)
    }

    /// Whether a deployment that wants an approval would run something that nobody agreed to; that is said.
    async fn is_unapproved(&self) -> Result<bool, RunError> {
        let stage = &self.order.stage;
        if stage.phase != Phase::Deploy || !self.bounds.deploy_approval {
            return Ok(false);
        }
        let files = before_deploy(self.layout.workspace(), stage, &self.order.pinned, &self.bounds.protects)?;
        let changed = !files.is_empty();
        if changed {
            self.inbox.announce(Fact::Happened(Event::GateChanged { phase: stage.phase, files })).await;
        }
        Ok(changed)
    }

    fn command(&self, argv: &[String]) -> Command {
        let command = command(argv, &self.variables, &self.backends.withheld_from(None), self.layout.workspace());
        command.behind(self.boundary.as_ref())
    }

    /// Ends whatever the attempt left behind, wherever it went to hide.
    async fn clear(&self) {
        let Some(boundary) = self.boundary.clone().filter(|_| self.bounds.lifetime == Lifetime::Stage) else { return };
        // Not here: it may take a moment to obey.
        let left = tokio::task::spawn_blocking(move || boundary.clear()).await.unwrap_or_default();
        if left > 0 {
            let phase = self.order.stage.phase;
            let text = format!("{left} processes that {phase} left behind were ended");
            self.inbox.tell(Fact::Happened(Event::Notice { text: text.into() })).await;
        }
    }

    pub(super) async fn run_command(&mut self, command: &Command) -> Result<End, RunError> {
        let mut running = match command.spawn() {
            Ok(running) => running,
            Err(error) => {
                return Ok(Ok(StageOutcome::spawn_failed(&format!("`{}`: {error}", command.program()))));
            }
        };
        let group = running.group();
        debug!(target: "attempt", group, gate = self.in_gate, "process started");
        self.guard.borrow_mut().watch(group);
        let watched = self.watch(&mut running).await;
        if !matches!(watched, Ok(Ok(_))) && !self.hear_out(&mut running).await {
            running.end(Duration::ZERO).await;
        }
        // Whatever the stage left behind in its group ends with it.
        kill_group(group, self.bounds.grace).await;
        self.guard.borrow_mut().forget(group);
        self.end_of_process(true).await?;
        watched
    }

    /// A process of the stage is over: passes on what was held back of its last lines, and what it signalled.
    pub(super) async fn end_of_process(&mut self, is_shown: bool) -> Result<(), RunError> {
        for piece in self.log.end_of_process()? {
            if is_shown {
                self.tails.keep(&piece);
                self.show(piece).await;
            }
        }
        let now = self.stamp();
        self.context.finish(now).await?;
        self.pass_on().await;
        Ok(())
    }

    async fn watch(&mut self, running: &mut Running) -> Result<End, RunError> {
        let mut ticks = tokio::time::interval(TICK);
        // Not at once: most stages that are short have nothing to look at.
        ticks.reset();
        loop {
            tokio::select! {
                // An end that is there counts before an order to end.
                biased;
                event = running.next() => match event {
                    ProcessEvent::Output(piece) => self.keep(&piece, true).await?,
                    ProcessEvent::Ended(exit) => {
                        self.code = if let ProcessExit::Exited(code) = exit { Some(code) } else { None };
                        return Ok(Ok(outcome(&exit)));
                    }
                },
                stop = stop(&mut self.stops), if self.stopping.is_none() => {
                    if !running.is_over() {
                        return Ok(Err(stop));
                    }
                    self.stopping = Some(stop);
                }
                _ = ticks.tick() => {
                    self.look().await?;
                    if let Some(exceeded) = self.exceeded() {
                        return Ok(Err(Stop::Exceeded(exceeded)));
                    }
                    self.look_at_probe().await;
                }
            }
        }
    }

    /// The order to end, when it comes. May be dropped and called again.
    pub(super) async fn stop(&mut self) -> Stop {
        stop(&mut self.stops).await
    }

    /// Asks the stage to end and keeps what it says to that. Whether it obeyed in time.
    async fn hear_out(&mut self, running: &mut Running) -> bool {
        let grace = self.bounds.grace;
        running.ask_to_end();
        let said = async {
            while let ProcessEvent::Output(piece) = running.next().await {
                // A log that cannot be written any more keeps nobody from ending.
                let _ = self.keep(&piece, true).await;
            }
        };
        tokio::time::timeout(grace, said).await.is_ok()
    }

    /// Looks at the files that the stage exchanges with us.
    pub(super) async fn look(&mut self) -> Result<(), RunError> {
        self.restore_folder().await?;
        let now = self.stamp();
        self.context.look(now).await?;
        self.pass_on().await;
        Ok(())
    }

    /// The limit that its processes passed, if they did.
    pub(super) fn exceeded(&mut self) -> Option<Exceeded> {
        let guard = self.guard.borrow().id();
        self.limits.as_mut()?.look(clock::now(), guard)
    }

    async fn restore_folder(&mut self) -> Result<(), RunError> {
        if self.paths.restore()? {
            let phase = self.order.stage.phase;
            let text = format!(
                "{phase}: the folder of its results and signals was taken away; it is made again, and what was in it is lost"
            );
            self.inbox.tell(Fact::Happened(Event::Notice { text: text.into() })).await;
        }
        Ok(())
    }

    /// Writes what a process wrote to the log, and shows what may be shown.
    pub(super) async fn keep(&mut self, piece: &Piece, is_shown: bool) -> Result<(), RunError> {
        let piece = self.log.take(piece)?;
        // What is not shown is a protocol, whose words are no words.
        if is_shown || piece.stream == Stream::Stderr {
            self.tails.keep(&piece);
        }
        if is_shown && !piece.bytes.is_empty() {
            self.show(piece).await;
        } else {
            self.inbox.tell(Fact::Heard).await;
        }
        Ok(())
    }

    async fn show(&self, piece: Piece) {
        let phase = self.order.stage.phase;
        self.inbox.tell(Fact::Observed(Observation::Output { phase, piece })).await;
    }

    /// Passes on what the context watch has seen.
    pub(super) async fn pass_on(&mut self) {
        for seen in self.context.seen() {
            let fact = match seen {
                Seen::Event(event) => Fact::Happened(event),
                Seen::Observation(observation) => Fact::Observed(observation),
            };
            self.inbox.tell(fact).await;
        }
        if self.context.overflowed() {
            self.inbox.tell(Fact::Overflowed).await;
        }
    }

    /// A time for the next document.
    pub(super) fn stamp(&self) -> Timestamp {
        clock::now().wall().max(self.order.not_before)
    }
}

/// What the log says of the end of an attempt: no word of what it wrote.
fn log_end(attempt: &Attempt) {
    match &attempt.end {
        Ok(outcome) => {
            let code = outcome.error.as_ref().map(|error| error.code.raw());
            info!(target: "attempt", exit = outcome.exit.code(), code, gate = attempt.in_gate, "ended");
        }
        Err(stop) => info!(target: "attempt", ?stop, gate = attempt.in_gate, "stopped"),
    }
}

async fn stop(stops: &mut mpsc::UnboundedReceiver<Stop>) -> Stop {
    // An owner that is gone wants nothing any more.
    stops.recv().await.unwrap_or(Stop::Cancelled)
}

/// Who compacts the context of a stage.
fn compactor_of(
    stage: &Stage,
    bounds: &Bounds,
    backends: &Backends,
    command: impl Fn(&[String]) -> Command,
) -> Compactor {
    match &stage.work {
        Some(Work::Agent(agent)) => backends
            .get(&agent.backend)
            .map_or(Compactor::Nobody, |backend| Compactor::of_agents(backend.capabilities())),
        Some(Work::Command(_)) | None => {
            let configured = bounds.compaction.as_deref().map(command);
            configured.map_or(Compactor::Nobody, |command| Compactor::Command(Box::new(command)))
        }
    }
}

fn command(argv: &[String], variables: &[(String, OsString)], withheld: &[String], workspace: &Path) -> Command {
    let (program, arguments) = argv.split_first().map_or(("", argv), |(program, rest)| (program.as_str(), rest));
    let command = Command::new(program).args(arguments).folder(workspace).env_remove(SESSION_VARIABLE).in_blocks();
    // The key of an agent that has no part here is a variable like others.
    let command = withheld.iter().fold(command.entrusted(), Command::env_remove);
    variables.iter().fold(command, |command, (name, value)| command.env(name, value))
}

fn outcome(exit: &ProcessExit) -> StageOutcome {
    match exit {
        ProcessExit::Exited(code) => StageOutcome::exited(*code),
        ProcessExit::Signalled(signal) => StageOutcome::signalled(&signal_name(*signal)),
        ProcessExit::SpawnFailed(error) => StageOutcome::spawn_failed(&error.to_string()),
    }
}
