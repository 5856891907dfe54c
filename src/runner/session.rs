//! Begins a session: takes the workspace, clears up behind a dead one, and finds or makes the execution to work on.

use std::path::PathBuf;

use jiff::Timestamp;

use super::context::context_state;
use super::engine::Engine;
use super::existing::{Existing, fresh_execution, of_checkpoints, taken_over};
use super::observations::Observations;
use super::projection::{Remedy, check};
use super::stage_files::SESSION_VARIABLE;
use super::status::flag;
use super::{Backends, Bounds, Listener, Plan, PlanError, RunError};
use super::{memory, operator};
use crate::contract::{ExecutionId, Phase, SessionId};
use crate::events::{Event, RecordedOverride, RunOrigin, RunStatus, State};
use crate::policy::check_limits;
use crate::store::{
    Earlier, FileStore, Journal, Layout, Place, Recorded, RunStore, StoreError, make_room, project_all,
    read_context_state, retire_format1, write_context_state, write_operator,
};
use crate::system::guard::Guard;
use crate::system::process::{Interrupts, own_id};
use crate::system::{clock, files, ids, orphans, sweep};

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

/// What a session needs to begin.
#[derive(Debug)]
pub struct Request {
    /// The workspace.
    pub layout: Layout,
    /// Where its state lies.
    pub place: Place,
    /// What to run.
    pub plan: Plan,
    /// The agents that it needs.
    pub backends: Backends,
    /// Where that came from.
    pub origin: RunOrigin,
    /// What the command line said over the configuration, now and before; kept for the next resume.
    pub overrides: Vec<RecordedOverride>,
    /// The bounds of the run.
    pub bounds: Bounds,
    /// Whether an execution is begun or continued.
    pub mode: Mode,
    /// Our own program, to be started as the guard.
    pub program: PathBuf,
}

/// The execution that a session works on.
struct Taken {
    journal: Journal,
    /// The session before, when there was one.
    last: Option<SessionId>,
    /// Whether that session died.
    died: bool,
    resumed: bool,
}

impl<'a> Engine<'a> {
    /// Takes the workspace. Signals count from when `interrupts` was made.
    ///
    /// # Errors
    /// [`RunError`]: somebody else works here, the execution that is there does not fit the mode, something on disk is
    /// not valid or cannot be written. Nothing was started then.
    pub fn begin(request: Request, interrupts: Interrupts, listener: &'a mut dyn Listener) -> Result<Self, RunError> {
        let Request { layout, place, plan, backends, origin, overrides, bounds, mode, program } = request;
        for (stage, agent) in plan.stages().iter().filter_map(|stage| Some((stage, stage.agent()?))) {
            if backends.get(&agent.backend).is_none() {
                return Err(PlanError::NoBackend { phase: stage.phase, backend: agent.backend.clone() }.into());
            }
        }
        let now = clock::now();
        let mut store = FileStore::new(place, layout.clone());
        let claimed = store.claim(now.wall(), matches!(mode, Mode::Resume(_)))?;
        let place = store.place().clone();
        let first = || first_event(&plan, &origin, &overrides, now.wall());
        let taken = take_execution(Box::new(store), &layout, mode, now.wall(), first)?;
        let state = taken.journal.state();
        let phases = if state.status == RunStatus::Ready { plan.phases() } else { state.phases.clone() };
        if let Some(phase) = phases.iter().find(|phase| plan.stage(**phase).is_none()) {
            return Err(PlanError::Missing { phase: *phase }.into());
        }
        let swept = clear_up(&layout, &place, taken.last.as_ref())?;
        let session = new_session();
        let host = |source| RunError::Host { what: "start the guard process", source };
        orphans::adopt();
        let guard = Guard::start(&program, (SESSION_VARIABLE, session.as_str())).map_err(host)?;
        let Taken { journal, last, died, resumed } = taken;
        let mut engine = Self {
            observations: Observations::new(&place, journal.execution()),
            layout,
            place,
            plan,
            backends,
            bounds,
            journal,
            session: session.clone(),
            guard,
            interrupts,
            listener,
            charged: now,
            tree: None,
            stamps: Vec::new(),
        };
        if let Some(session) = last.filter(|_| died) {
            engine.record(Event::SessionDied { session })?;
        }
        let pid = own_id();
        engine.record(Event::SessionStarted { session, pid, resumed, swept, phases, origin, overrides })?;
        if let Some(from) = claimed.moved_from {
            engine.record(Event::WorkspaceMoved { from })?;
        }
        let remedy = if let Mode::Resume(remedy) = mode { remedy } else { None };
        engine.prepare(resumed, remedy, now.wall())?;
        Ok(engine)
    }

    fn prepare(&mut self, resumed: bool, remedy: Option<Remedy>, now: Timestamp) -> Result<(), RunError> {
        files::ensure_private_folder(&self.place.logs(self.journal.execution()))?;
        let flags: Vec<String> = self.journal.state().overrides.iter().map(flag).collect();
        if resumed && !flags.is_empty() {
            self.notice(format!("going on with {}", flags.join(" ")));
        }
        self.put_right(remedy)?;
        self.restore_context_state(now)?;
        files::ensure_folder(&self.layout.checkpoints())?;
        for text in surroundings(&self.layout, &self.bounds, now)? {
            self.notice(text);
        }
        Ok(())
    }

    /// What tools read about the context and the operator, where a phase took it away.
    pub(super) fn restore_signals(&mut self) -> Result<(), RunError> {
        let now = clock::now().wall();
        self.restore_context_state(now)?;
        if !self.layout.operator().exists() {
            write_operator(&self.layout, &operator::detect(self.layout.workspace(), self.bounds.operator, now))?;
        }
        Ok(())
    }

    /// A context state that is missing, or that a power cut tore, is made again of what the journal knows.
    fn restore_context_state(&mut self, now: Timestamp) -> Result<(), RunError> {
        make_room(&self.layout, &self.layout.context_state())?;
        make_room(&self.layout, &self.layout.operator())?;
        let there = match read_context_state(&self.layout) {
            Err(StoreError::Invalid { .. }) => None,
            there => there?,
        };
        if there.is_some() {
            return Ok(());
        }
        let was_there = self.layout.context_state().exists();
        let known = self.journal.state().context_tokens;
        let warning = check_limits(self.bounds.context, known.unwrap_or(0));
        write_context_state(&self.layout, &context_state(&self.bounds, warning, now))?;
        if was_there || known.is_some() {
            let path = self.layout.context_state();
            let path = path.strip_prefix(self.layout.workspace()).unwrap_or(&path).to_path_buf();
            self.record(Event::ProjectionRestored { path })?;
        }
        Ok(())
    }
}

/// Writes down who operates, and reads the memories; what there is to say about them.
fn surroundings(layout: &Layout, bounds: &Bounds, now: Timestamp) -> Result<Vec<String>, RunError> {
    write_operator(layout, &operator::detect(layout.workspace(), bounds.operator, now))?;
    match &bounds.memories {
        Some(folder) => memory::surface(layout, folder),
        // Those of an earlier session are none of this one's.
        None => files::remove(&layout.memories()).map(|()| Vec::new()).map_err(RunError::from),
    }
}

pub(super) fn new_session() -> SessionId {
    SessionId::new(ids::session()).expect("a fresh id is not empty")
}

fn first_event(plan: &Plan, origin: &RunOrigin, overrides: &[RecordedOverride], now: Timestamp) -> Event {
    let (execution, phases) = (fresh_execution(now), plan.phases());
    Event::ExecutionStarted { execution, phases, origin: origin.clone(), overrides: overrides.to_vec() }
}

/// The execution to work on; what it takes the place of is put aside.
fn take_execution(
    store: Box<dyn RunStore>,
    layout: &Layout,
    mode: Mode,
    now: Timestamp,
    first: impl FnOnce() -> Event,
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
            put_aside(layout, state.as_ref().map(|state| &state.execution_id))?;
            let (journal, _) = Journal::begin(store, now, first())?;
            Ok(Taken { journal, last, died: false, resumed: false })
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
            Ok(Taken { journal, last, died, resumed: true })
        }
        Existing::Checkpoints(checkpoints) => {
            let none = || RunError::NoExecution { workspace: layout.workspace().to_path_buf() };
            let state = of_checkpoints(&checkpoints).ok_or_else(none)?;
            if remedy != Some(Remedy::Adopt) {
                return Err(RunError::NotOurs { state: Box::new(state), folder: layout.checkpoints() });
            }
            let first = taken_over(state, Vec::new(), "checkpoints that a human adopted");
            let (journal, _) = Journal::begin(store, now, first)?;
            Ok(Taken { journal, last: None, died: false, resumed: true })
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
    // Whoever is called finds the report, also when the power was cut while it was written.
    project_all(layout, state)?;
    is_resumable(layout, state)?;
    check(layout, state, remedy)?;
    // What an earlier start did not get to put aside.
    retire_format1(layout, &state.execution_id)?;
    let (last, died) = (state.sessions.last().cloned(), state.is_at_work);
    Ok(Taken { journal: Journal::resume(store, recorded)?, last, died, resumed: true })
}

/// Continues an execution of format 1 in a journal.
pub(super) fn take_over(
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
        (_, Some(pending)) => {
            let report = crate::store::report_paths(layout, &state.execution_id, pending.number).yaml;
            Err(RunError::AwaitsResolution { pending: pending.clone(), report })
        }
        _ => Ok(()),
    }
}

/// Puts what lies in the workspace of an execution that is over aside. Nothing is deleted.
pub(super) fn put_aside(layout: &Layout, execution: Option<&ExecutionId>) -> Result<(), RunError> {
    let named = execution.map_or_else(|| "unnamed".to_owned(), crate::store::folder_name);
    let candidates = (1_u32..).map(|n| layout.archived(&if n == 1 { named.clone() } else { format!("{named}.{n}") }));
    let mut free = candidates.filter(|folder| !folder.join("run.yaml").exists() && !folder.join("logs").exists());
    let folder = free.next().expect("an endless sequence of names has a free one");
    let run = layout.run();
    let checkpoints = Phase::ALL.iter().map(|phase| layout.checkpoint(*phase));
    let others = ["stages", "sessions", "logs", "history.jsonl", "history.1.jsonl", "note.yaml", "run.yaml"];
    let sources = checkpoints.chain([layout.context_state()]).chain(others.into_iter().map(|name| run.join(name)));
    for source in sources.filter(|source| source.symlink_metadata().is_ok()) {
        files::ensure_folder(&folder)?;
        files::rename(&source, &folder.join(source.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

/// Ends what a dead session left running and removes what it left half written.
fn clear_up(layout: &Layout, place: &Place, last: Option<&SessionId>) -> Result<usize, RunError> {
    for folder in [layout.run(), layout.logs(), layout.checkpoints(), layout.escalations()] {
        // What is no folder is put aside where it is in the way.
        if folder.is_dir() {
            files::remove_unfinished(&folder)?;
        }
    }
    files::remove(&place.halt_request())?;
    // Whatever is recorded of its end: it may have died between that and the end of its processes.
    Ok(last.map_or(0, |session| sweep::end_processes_with(SESSION_VARIABLE, session.as_str())))
}

/// Puts a new execution of the same phases in the place of one that is over.
pub(super) fn start_over(journal: Journal, layout: &Layout, place: &Place) -> Result<Journal, RunError> {
    let now = clock::now().wall();
    let state = journal.state().clone();
    let (execution, phases) = (fresh_execution(now), state.phases.clone());
    let (origin, overrides) = (state.origin.clone(), state.overrides.clone());
    // The next session will not know of this one's.
    clear_up(layout, place, state.sessions.last())?;
    let first = Event::ExecutionStarted { execution, phases, origin, overrides };
    put_aside(layout, Some(&state.execution_id))?;
    let (fresh, _) = Journal::begin(journal.into_store(), now, first)?;
    Ok(fresh)
}
