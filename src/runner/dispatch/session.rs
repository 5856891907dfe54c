//! Begins a session: finds or makes the execution to work on, and puts right what lies in the workspace.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;

use super::existing::{Existing, fresh_execution, of_checkpoints, taken_over};
use super::projection::{Remedy, check};
use super::{Dispatcher, Ports, Thinking};
use crate::contract::{ExecutionId, SessionId};
use crate::events::{Event, Message, PinnedFile, RecordedOverride, RunOrigin, RunStatus, State, Waiting};
use crate::policy::check_limits;
use crate::runner::decide::{Live, Rules};
use crate::runner::notify::carried;
use crate::runner::stage::context::context_state;
use crate::runner::{PinnedText, PlanError, Receiver, RunError};
use crate::store::{
    Claimed, Earlier, Journal, Layout, Place, Recorded, RunStore, StoreError, archive, make_room_for_folders,
    project_all, read_context_state, retire_format1, was_put_aside, write_context_state, write_operator,
};
use crate::system::clock::{self, Moment};
use crate::system::process::own_id;

/// Whether an execution is begun or continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A new one; refused while an unfinished one is there.
    New,
    /// A new one; an unfinished one is put aside.
    Fresh,
    /// The one that is there, and what to do about checkpoints that are not as the journal has them.
    Resume(Option<Remedy>),
}

/// What a session begins with.
#[derive(Debug)]
pub struct Opening {
    /// The store, which is claimed.
    pub store: Box<dyn RunStore>,
    /// What the claim found.
    pub claimed: Claimed,
    /// The workspace.
    pub layout: Layout,
    /// What is decided by.
    pub rules: Rules,
    /// How; [`super::THINKING`] but in tests.
    pub thinking: Thinking,
    /// Where the plan came from.
    pub origin: RunOrigin,
    /// What the command line said over the configuration, now and before; kept for the next resume.
    pub overrides: Vec<RecordedOverride>,
    /// What that comes from, where it is taken for this execution now; empty to go on with what was taken before.
    pub pinned: Vec<PinnedText>,
    /// What there is to say about that.
    pub notices: Vec<String>,
    /// Whether an execution is begun or continued.
    pub mode: Mode,
    /// The name of an execution that begins now.
    pub fresh: ExecutionId,
}

/// The execution that a session works on.
struct Taken {
    journal: Journal,
    /// The session before, when there was one.
    last: Option<SessionId>,
    /// Whether that session died.
    died: bool,
    resumed: bool,
    /// Folders in whose place something else lay, which was put aside.
    put_aside: Vec<PathBuf>,
    /// What the execution before still has to tell.
    carried: Vec<Message>,
}

impl<P: Ports> Dispatcher<P> {
    /// Begins a session, as far as nothing runs yet.
    ///
    /// # Errors
    /// [`RunError`]: the execution that is there does not fit the mode, something on disk is not valid or cannot be
    /// written. Nothing was started then.
    pub fn open(opening: Opening, mut ports: P) -> Result<Self, RunError> {
        let Opening { store, claimed, layout, rules, thinking, origin, overrides, pinned, notices, mode, fresh } =
            opening;
        let now = ports.now();
        let phases = rules.plan.phases();
        let (of_plan, from, over) = (phases.clone(), origin.clone(), overrides.clone());
        let first = || Event::ExecutionStarted { execution: fresh, phases: of_plan, origin: from, overrides: over };
        let receivers = &rules.bounds.notification.receivers;
        let Taken { journal, last, died, resumed, put_aside, carried } =
            take_execution(store, &layout, mode, now.wall(), first, receivers)?;
        let state = journal.state();
        let phases = if state.status == RunStatus::Ready { phases } else { state.phases.clone() };
        if let Some(phase) = phases.iter().find(|phase| rules.plan.stage(**phase).is_none()) {
            return Err(PlanError::Missing { phase: *phase }.into());
        }
        let swept = ports.ready(journal.execution(), last.as_ref())?;
        let strays = died.then(|| begun(state)).flatten().map_or(Vec::new(), |since| ports.strays(since));
        let mut live = Live::new(now, rules.bounds.limit_patience);
        let paused = state.active.values().filter_map(|active| Some((active.phase, pause_ends(active.pause?, now)?)));
        live.pauses = paused.collect();
        live.probe_at = state.outage.as_ref().map(|outage| pause_ends(outage.pause, now).unwrap_or(now));
        let session = rules.session.clone();
        let home = layout.disk().identity(layout.workspace())?;
        let mut dispatcher = Self { journal, layout, rules, live, thinking, home, stamps: Vec::new(), ports };
        if let Some(session) = last.filter(|_| died) {
            dispatcher.record(Event::SessionDied { session })?;
        }
        if dispatcher.journal.state().asks_about_weaker() {
            dispatcher.record(Event::WeakerWithdrawn)?;
        }
        let pid = own_id();
        dispatcher.record(Event::SessionStarted { session, pid, resumed, swept, phases, origin, overrides })?;
        let drawn = dispatcher.ports.boundary();
        dispatcher.record(Event::BoundaryDrawn(drawn))?;
        dispatcher.open_outbox(carried)?;
        dispatcher.pin(pinned)?;
        let left = |stray| format!("{stray} may be left of the session that died: look at it, and end it if it is");
        let put_aside = put_aside.iter().map(|folder| was_put_aside(folder));
        for text in notices.into_iter().chain(strays.into_iter().map(left)).chain(put_aside) {
            dispatcher.record(Event::Notice { text: text.into() })?;
        }
        let remedy = if let Mode::Resume(remedy) = mode { remedy } else { None };
        // The session has begun, so an error ends it, and is its last event.
        match dispatcher.prepare(claimed, resumed, remedy, now.wall()) {
            Ok(()) => Ok(dispatcher),
            Err(error) => Err(dispatcher.failed(error)),
        }
    }

    /// From here on every end is a message, also of an execution that an earlier program began.
    fn open_outbox(&mut self, carried: Vec<Message>) -> Result<(), RunError> {
        if self.journal.state().outbox.is_some() {
            return Ok(());
        }
        let began = self.ports.work_tree();
        self.record(Event::OutboxOpened { began, carried })
    }

    /// Takes files for this execution, which goes on with them. First their texts: an event never names one that is not kept.
    fn pin(&mut self, pinned: Vec<PinnedText>) -> Result<(), RunError> {
        for text in pinned.iter().filter_map(|pinned| pinned.text.as_ref()) {
            self.journal.keep(text)?;
        }
        let files: Vec<PinnedFile> = pinned.into_iter().map(|pinned| pinned.file).collect();
        if files.is_empty() { Ok(()) } else { self.record(Event::ConfigurationPinned { files }) }
    }

    fn prepare(
        &mut self,
        claimed: Claimed,
        resumed: bool,
        remedy: Option<Remedy>,
        now: Timestamp,
    ) -> Result<(), RunError> {
        if let Some(from) = claimed.moved_from {
            self.record(Event::WorkspaceMoved { from })?;
        }
        for folder in claimed.put_aside {
            self.notice(was_put_aside(&folder));
        }
        let flags: Vec<&str> = self.journal.state().overrides.iter().map(RecordedOverride::flag_alone).collect();
        if resumed && !flags.is_empty() {
            let text = format!("going on with {}", flags.join(" "));
            self.notice(text);
        }
        self.put_right(remedy)?;
        self.restore_context_state(now)?;
        write_operator(&self.layout, &self.ports.operator())?;
        for text in self.ports.surroundings()? {
            self.notice(text);
        }
        Ok(())
    }

    /// What tools read about the context and the operator, where a phase took it away.
    pub(super) fn restore_signals(&mut self) -> Result<(), RunError> {
        self.restore_context_state(self.live.now().wall())?;
        if self.layout.disk().kind(&self.layout.operator()).is_none() {
            write_operator(&self.layout, &self.ports.operator())?;
        }
        Ok(())
    }

    /// A context state that is missing, or that a power cut tore, is made again of what the journal knows.
    fn restore_context_state(&mut self, now: Timestamp) -> Result<(), RunError> {
        let (context, operator) = (self.layout.context_state(), self.layout.operator());
        self.make_room_for(&[&context, &operator])?;
        let there = match read_context_state(&self.layout) {
            Err(StoreError::Invalid { .. }) => None,
            there => there?,
        };
        if there.is_some() {
            return Ok(());
        }
        let was_there = self.layout.disk().kind(&self.layout.context_state()).is_some();
        let known = self.journal.state().context_tokens;
        let warning = check_limits(self.rules.bounds.context, known.unwrap_or(0));
        write_context_state(&self.layout, &context_state(&self.rules.bounds, warning, now))?;
        if was_there || known.is_some() {
            let path = self.layout.context_state();
            let path = path.strip_prefix(self.layout.workspace()).unwrap_or(&path).to_path_buf();
            self.record(Event::ProjectionRestored { path })?;
        }
        Ok(())
    }
}

/// When a pause ends, as far as it is not over. No clock that was set back makes it longer than it was.
fn pause_ends(pause: Waiting, now: Moment) -> Option<Moment> {
    let left = Duration::try_from(pause.not_before.duration_since(now.wall())).ok()?;
    Some(now.later(left.min(Duration::from_millis(pause.delay_ms))))
}

/// The execution to work on; what it takes the place of is put aside.
fn take_execution(
    store: Box<dyn RunStore>,
    layout: &Layout,
    mode: Mode,
    now: Timestamp,
    first: impl FnOnce() -> Event,
    receivers: &[Receiver],
) -> Result<Taken, RunError> {
    let existing = match Existing::look(store.as_ref(), layout) {
        // Nobody can read it, and it is to be put aside.
        Err(StoreError::Invalid { .. } | StoreError::Edited { .. }) if mode == Mode::Fresh => Existing::Nothing,
        existing => existing?,
    };
    match (mode, existing) {
        (Mode::Resume(remedy), existing) => resume(store, layout, existing, remedy, now),
        (Mode::New, Existing::Journal(recorded)) if recorded.state.status == RunStatus::Ready => {
            go_on(store, layout, &recorded, None)
        }
        (mode, existing) => {
            let state = existing.state();
            refuse_unfinished(mode, &existing, state.as_ref())?;
            let last = state.as_ref().and_then(|state| state.sessions.last().cloned());
            // First: a start that cannot do this has changed nothing that the journal could not bring back.
            archive(layout, state.as_ref().map(|state| &state.execution_id))?;
            let (journal, _) = Journal::begin(store, now, first())?;
            let carried = state.as_ref().map_or_else(Vec::new, |before| carried(before, receivers));
            Ok(Taken { journal, last, died: false, resumed: false, put_aside: Vec::new(), carried })
        }
    }
}

fn refuse_unfinished(mode: Mode, existing: &Existing, state: Option<&State>) -> Result<(), RunError> {
    let Some(state) = state.filter(|state| mode == Mode::New && state.status != RunStatus::Completed) else {
        return Ok(());
    };
    let execution = state.execution_id.clone();
    match (existing, state.status) {
        (Existing::Checkpoints(_), _) => Err(RunError::Unfinished { execution, status: "another runtime's" }),
        (_, RunStatus::Aborted) => Err(RunError::Aborted { execution }),
        (_, status) => Err(RunError::Unfinished { execution, status: status.as_str() }),
    }
}

fn resume(
    store: Box<dyn RunStore>,
    layout: &Layout,
    existing: Existing,
    remedy: Option<Remedy>,
    now: Timestamp,
) -> Result<Taken, RunError> {
    match existing {
        Existing::Nothing => Err(RunError::NoExecution { workspace: layout.workspace().to_path_buf() }),
        Existing::Journal(recorded) => go_on(store, layout, &recorded, remedy),
        Existing::Format1(earlier) => {
            is_resumable(layout, &earlier.state)?;
            if remedy != Some(Remedy::Adopt) && store.is_known(&earlier.state.execution_id)? {
                // A journal of it is here, of a workspace that this one was put in the place of.
                return Err(RunError::NotOurs { state: Box::new(earlier.state), folder: layout.run() });
            }
            let wrong = !earlier.wrong.is_empty() && remedy.is_none();
            if wrong {
                let (folder, why) = (layout.checkpoints(), earlier.wrong.join("\n"));
                return Err(RunError::NotACheckpoint { phases: Vec::new(), why, folder });
            }
            let last = earlier.state.sessions.last().cloned();
            let died = earlier.state.status == RunStatus::Running;
            let journal = take_over(store, layout, *earlier, now)?;
            Ok(Taken { journal, last, died, resumed: true, put_aside: Vec::new(), carried: Vec::new() })
        }
        Existing::Checkpoints(checkpoints) => {
            let none = || RunError::NoExecution { workspace: layout.workspace().to_path_buf() };
            let state = of_checkpoints(&checkpoints).ok_or_else(none)?;
            if remedy != Some(Remedy::Adopt) {
                return Err(RunError::NotOurs { state: Box::new(state), folder: layout.checkpoints() });
            }
            let first = taken_over(state, Vec::new(), "checkpoints that a human adopted");
            let (journal, _) = Journal::begin(store, now, first)?;
            let (put_aside, carried) = (Vec::new(), Vec::new());
            Ok(Taken { journal, last: None, died: false, resumed: true, put_aside, carried })
        }
    }
}

/// Goes on with a journal.
fn go_on(
    store: Box<dyn RunStore>,
    layout: &Layout,
    recorded: &Recorded,
    remedy: Option<Remedy>,
) -> Result<Taken, RunError> {
    let state = &recorded.state;
    // First: nothing may be made of what a power cut could still take.
    let journal = Journal::resume(store, recorded)?;
    let put_aside = make_room_for_folders(layout)?;
    // Whoever is called finds the report, also when the power was cut while it was written.
    project_all(layout, state)?;
    is_resumable(layout, state)?;
    check(layout, state, remedy)?;
    // What an earlier start did not get to put aside.
    retire_format1(layout, &state.execution_id)?;
    let (last, died) = (state.sessions.last().cloned(), state.is_at_work);
    Ok(Taken { journal, last, died, resumed: true, put_aside, carried: Vec::new() })
}

/// Continues an execution of format 1 in a journal.
pub(in crate::runner) fn take_over(
    store: Box<dyn RunStore>,
    layout: &Layout,
    earlier: Earlier,
    now: Timestamp,
) -> Result<Journal, RunError> {
    let id = earlier.state.execution_id.clone();
    let first = taken_over(earlier.state, earlier.history, ".loa-run/ of format 1");
    let (journal, _) = Journal::begin(store, now, first)?;
    retire_format1(layout, &id)?;
    Ok(journal)
}

fn is_resumable(layout: &Layout, state: &State) -> Result<(), RunError> {
    match (state.status, &state.pending) {
        (RunStatus::Aborted, _) => Err(RunError::Aborted { execution: state.execution_id.clone() }),
        (_, Some(pending)) if !state.asks_about_weaker() => {
            let report = crate::store::report_paths(layout, &state.execution_id, pending.number).yaml;
            Err(RunError::AwaitsResolution { pending: pending.clone(), report })
        }
        _ => Ok(()),
    }
}

/// Puts a new execution of the same phases in the place of one that is over. It goes on with the same files.
pub(in crate::runner) fn start_over(journal: Journal, layout: &Layout, place: &Place) -> Result<Journal, RunError> {
    let now = clock::now().wall();
    let state = journal.state().clone();
    let (execution, phases) = (fresh_execution(now), state.phases.clone());
    let (origin, overrides) = (state.origin.clone(), state.overrides.clone());
    // The next session will not know of this one's.
    super::host::clear_up(layout, place, state.sessions.last())?;
    let first = Event::ExecutionStarted { execution, phases, origin, overrides };
    archive(layout, Some(&state.execution_id))?;
    let store = journal.into_store();
    let digests: BTreeSet<&str> = state.pinned.iter().filter_map(|file| file.sha256.as_deref()).collect();
    let texts = digests.into_iter().filter_map(|digest| store.kept(&state.execution_id, digest).transpose());
    let texts = texts.collect::<Result<Vec<String>, StoreError>>()?;
    let (mut fresh, _) = Journal::begin(store, now, first)?;
    // It goes on with what was pinned: whoever answers `reset` has agreed to nothing that was changed meanwhile.
    for text in texts {
        fresh.keep(text.as_bytes())?;
    }
    if !state.pinned.is_empty() {
        fresh.record(now, Event::ConfigurationPinned { files: state.pinned })?;
    }
    Ok(fresh)
}

/// When the work began that a session left unfinished.
fn begun(state: &State) -> Option<Timestamp> {
    state.active.values().filter(|active| active.is_running).filter_map(|active| active.began).min()
}
