//! Begins a session: takes the lock, clears up behind a dead one, and finds or makes the execution to work on.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;

use super::context::context_state;
use super::engine::Engine;
use super::stage_files::SESSION_VARIABLE;
use super::standing::Standing;
use super::status::flag;
use super::{Backends, Bounds, Listener, Plan, PlanError, Progress, RunError};
use super::{memory, operator};
use crate::contract::{Checkpoint, ExecutionId, Phase, PhaseExit, SessionId};
use crate::policy::{TriggerCounters, check_limits};
use crate::store::{
    ApprovalState, Layout, OriginKind, RECORD_VERSION, RecordedOverride, RunOrigin, RunRecord, RunStatus, StoreError,
    put_away, read_checkpoints, read_context_state, read_record, succeed, write_context_state, write_operator,
};
use crate::system::guard::Guard;
use crate::system::lock::Lock;
use crate::system::process::Interrupts;
use crate::system::{clock, files, ids, orphans, sweep};

/// Whether an execution is begun or continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A new one; refused while an unfinished one is there.
    New,
    /// A new one; an unfinished one is put aside.
    Fresh,
    /// The one that is there.
    Resume,
}

/// What a session needs to begin.
#[derive(Debug)]
pub struct Request {
    /// The workspace.
    pub layout: Layout,
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

impl<'a> Engine<'a> {
    /// Takes the workspace. Signals count from when `interrupts` was made.
    ///
    /// # Errors
    /// [`RunError`]: somebody else works here, the execution that is there does not fit the mode, something on disk is
    /// not valid or cannot be written. Nothing was started then.
    pub fn begin(request: Request, interrupts: Interrupts, listener: &'a mut dyn Listener) -> Result<Self, RunError> {
        let Request { layout, plan, backends, origin, overrides, bounds, mode, program } = request;
        for (stage, agent) in plan.stages().iter().filter_map(|stage| Some((stage, stage.agent()?))) {
            if backends.get(&agent.backend).is_none() {
                return Err(PlanError::NoBackend { phase: stage.phase, backend: agent.backend.clone() }.into());
            }
        }
        let lock = take(&layout)?;
        let now = clock::now();
        let earlier = read_record(&layout);
        let last = earlier.as_ref().ok().and_then(|record| record.as_ref()?.sessions.last().cloned());
        let (mut record, resumed) = find(&layout, mode, earlier, || new_record(&plan, origin.clone(), now.wall()))?;
        if record.status == RunStatus::Ready {
            record.phases = plan.phases();
        }
        if let Some(phase) = record.phases.iter().find(|phase| plan.stage(**phase).is_none()) {
            return Err(PlanError::Missing { phase: *phase }.into());
        }
        put_away(&layout, &Standing::read(&layout, record.clone())?.foreign())?;
        let mut standing = Standing::read(&layout, record.clone())?;
        let swept = clear_up(&layout, last.as_ref())?;
        let session = new_session();
        record.origin = origin;
        record.overrides = overrides;
        record.status = RunStatus::Running;
        record.epoch += 1;
        record.sessions.push(session.clone());
        let host = |source| RunError::Host { what: "start the guard process", source };
        orphans::adopt();
        let guard = Guard::start(&program, (SESSION_VARIABLE, session.as_str())).map_err(host)?;
        prepare(&layout, &bounds, now.wall())?;
        listener.on(&Progress::SessionStarted { execution: &record.execution_id, session: &session, resumed, swept });
        record.updated_at = standing.record.updated_at;
        standing.record = record;
        if resumed && !standing.record.overrides.is_empty() {
            let flags: Vec<String> = standing.record.overrides.iter().map(flag).collect();
            listener.on(&Progress::Notice { text: &format!("going on with {}", flags.join(" ")) });
        }
        for text in surroundings(&layout, &bounds, now.wall())? {
            listener.on(&Progress::Notice { text: &text });
        }
        for Checkpoint { phase, .. } in standing.foreign() {
            let text = format!("the checkpoint of {phase} belongs to another execution and does not count");
            listener.on(&Progress::Notice { text: &text });
        }
        let mut engine = Self {
            layout,
            plan,
            backends,
            bounds,
            standing,
            session,
            guard,
            interrupts,
            listener,
            charged: now,
            tree: None,
            saved: now,
            _lock: lock,
        };
        engine.save()?;
        Ok(engine)
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

/// Takes the workspace's lock.
pub(super) fn take(layout: &Layout) -> Result<Lock, RunError> {
    files::ensure_folder(&layout.run())?;
    Ok(Lock::take(&layout.lock(), clock::now().wall())?)
}

pub(super) fn new_session() -> SessionId {
    SessionId::new(ids::session()).expect("a fresh id is not empty")
}

pub(super) fn new_record(plan: &Plan, origin: RunOrigin, now: Timestamp) -> RunRecord {
    let id = ExecutionId::new(ids::execution(now)).expect("a fresh id is not empty");
    blank_record(id, plan.phases(), origin, now)
}

pub(super) fn blank_record(id: ExecutionId, phases: Vec<Phase>, origin: RunOrigin, now: Timestamp) -> RunRecord {
    RunRecord {
        version: RECORD_VERSION,
        execution_id: id,
        sessions: Vec::new(),
        epoch: 0,
        origin,
        overrides: Vec::new(),
        phases,
        status: RunStatus::Ready,
        started_at: now,
        updated_at: now,
        counters: TriggerCounters::default(),
        reopened: BTreeMap::new(),
        active: None,
        findings: Vec::new(),
        cycle: None,
        deploy: ApprovalState::NotAsked,
        escalations: 0,
        pending: None,
        resolutions: Vec::new(),
    }
}

/// The execution to work on, and whether it was there before; what it takes the place of is put aside.
fn find(
    layout: &Layout,
    mode: Mode,
    earlier: Result<Option<RunRecord>, StoreError>,
    fresh: impl FnOnce() -> RunRecord,
) -> Result<(RunRecord, bool), RunError> {
    let record = match earlier {
        // Nobody can read it, and it is to be put aside.
        Err(StoreError::Invalid { .. }) if mode == Mode::Fresh => None,
        record => record?,
    };
    if mode == Mode::Resume {
        return Ok((resumable(layout, record)?, true));
    }
    if mode == Mode::New {
        match &record {
            Some(RunRecord { status: RunStatus::Completed, .. }) => {}
            Some(ready @ RunRecord { status: RunStatus::Ready, .. }) => return Ok((ready.clone(), true)),
            Some(RunRecord { execution_id: id, status, .. }) => {
                return Err(RunError::Unfinished { execution: id.clone(), status: status.as_str() });
            }
            // Checkpoints without a record: another runtime's, or somebody's. Theirs to finish.
            None => {
                if let Some(id) = newest(&read_checkpoints(layout)?) {
                    return Err(RunError::Unfinished { execution: id, status: "another runtime's" });
                }
            }
        }
    }
    let fresh = fresh();
    succeed(layout, record.as_ref().map(|record| &record.execution_id), &fresh)?;
    Ok((fresh, false))
}

fn resumable(layout: &Layout, record: Option<RunRecord>) -> Result<RunRecord, RunError> {
    let Some(record) = record else { return adopted(layout) };
    match (record.status, &record.pending) {
        (RunStatus::Aborted, _) => Err(RunError::Aborted { execution: record.execution_id }),
        (_, Some(pending)) => Err(RunError::AwaitsResolution { pending: pending.clone() }),
        _ => Ok(record),
    }
}

/// An execution of which only the checkpoints are there.
fn adopted(layout: &Layout) -> Result<RunRecord, RunError> {
    let none = || RunError::NoExecution { workspace: layout.workspace().to_path_buf() };
    let checkpoints = read_checkpoints(layout)?;
    let id = newest(&checkpoints).ok_or_else(none)?;
    let origin = RunOrigin { kind: OriginKind::Config, path: None };
    let mut record = blank_record(id, Vec::new(), origin, clock::now().wall());
    // Nobody here was called about its failures: they are tried again.
    let failed = checkpoints.iter().filter(|checkpoint| checkpoint.exit_code != PhaseExit::Success);
    record.reopened = failed.map(|checkpoint| (checkpoint.phase, checkpoint.created_at)).collect();
    Ok(record)
}

/// The execution of the newest checkpoint.
pub(super) fn newest(checkpoints: &[Checkpoint]) -> Option<ExecutionId> {
    let newest = checkpoints.iter().max_by_key(|checkpoint| (checkpoint.created_at, checkpoint.phase))?;
    Some(newest.execution_id.clone())
}

/// Ends what a dead session left running and removes what it left half written.
fn clear_up(layout: &Layout, last: Option<&SessionId>) -> Result<usize, RunError> {
    for folder in [layout.run(), layout.checkpoints(), layout.escalations()] {
        files::remove_unfinished(&folder)?;
    }
    files::remove(&layout.halt_request())?;
    // Whatever the record says of its end: it may have died between that and the end of its processes.
    Ok(last.map_or(0, |session| sweep::end_processes_with(SESSION_VARIABLE, session.as_str())))
}

fn prepare(layout: &Layout, bounds: &Bounds, now: Timestamp) -> Result<(), RunError> {
    for folder in [layout.checkpoints(), layout.logs()] {
        files::ensure_folder(&folder)?;
    }
    if read_context_state(layout)?.is_none() {
        write_context_state(layout, &context_state(bounds, check_limits(bounds.context, 0), now))?;
    }
    Ok(())
}

/// Puts a new execution of the same phases in the place of one that is over.
pub(super) fn start_over(layout: &Layout, record: &RunRecord) -> Result<RunRecord, RunError> {
    let now = clock::now().wall();
    let id = ExecutionId::new(ids::execution(now)).expect("a fresh id is not empty");
    let mut fresh = blank_record(id, record.phases.clone(), record.origin.clone(), now);
    fresh.overrides.clone_from(&record.overrides);
    // The next session will not know of this one's.
    clear_up(layout, record.sessions.last())?;
    succeed(layout, Some(&record.execution_id), &fresh)?;
    Ok(fresh)
}
