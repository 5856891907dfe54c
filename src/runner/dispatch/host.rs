//! The real world around the owner of an execution: this host's clock, processes and files.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::mpsc;
use tokio::task::spawn_local;
use tracing::{Instrument, Span, info_span};

use super::Listener;
use super::boundary::Kept;
use super::memory;
use super::ports::{Ports, Start};
use crate::contract::{ExecutionId, OperatorRecord, Phase, SessionId};
use crate::events::{BoundaryDrawn, ChangedFiles, Envelope, Event, Observation, PinnedFile, State, WorkTree};
use crate::policy::StageOutcome;
use crate::runner::agent::TICK;
use crate::runner::changed_files::{before_deploy, since_the_start};
use crate::runner::decide::{Attempt, Stop, Survey};
use crate::runner::operator;
use crate::runner::session::SESSION_VARIABLE;
use crate::runner::stage::artifacts::Artifacts;
use crate::runner::stage::{Inbox, Order, StageTask};
use crate::runner::{Backends, Bounds, Plan, RunError};
use crate::store::{self, Layout, Place};
use crate::system::clock::{self, Moment};
use crate::system::guard::Guard;
use crate::system::service_manager::ServiceManager;
use crate::system::{git, orphans, sweep};

/// The most files that git does not know of which it is recorded that they were there at the start.
const MOST_UNTRACKED: usize = 2_000;

/// This host.
pub(super) struct Host<'a> {
    layout: Layout,
    place: Place,
    plan: Plan,
    backends: Backends,
    bounds: Bounds,
    session: SessionId,
    /// Our own program, to be started as the guard, and as the first process behind the boundary.
    program: PathBuf,
    /// From [`Ports::ready`] on.
    guard: Option<Rc<RefCell<Guard>>>,
    /// From [`Ports::ready`] on. Behind the guard, which tells what is left to end before this ends it.
    kept: Option<Kept>,
    /// The guard is gone, and that was said.
    is_unguarded: bool,
    manager: ServiceManager,
    inbox: Inbox,
    stops: Option<mpsc::UnboundedSender<Stop>>,
    /// Of the phase that is at work; none between phases.
    span: Span,
    artifacts: Artifacts,
    observations: Option<store::Observations>,
    listener: &'a mut dyn Listener,
}

impl<'a> Host<'a> {
    pub(super) fn new(
        (layout, place): (&Layout, &Place),
        (plan, bounds, backends): (&Plan, &Bounds, &Backends),
        session: SessionId,
        program: PathBuf,
        inbox: Inbox,
        listener: &'a mut dyn Listener,
    ) -> Self {
        Self {
            layout: layout.clone(),
            place: place.clone(),
            plan: plan.clone(),
            backends: backends.clone(),
            bounds: bounds.clone(),
            session,
            program,
            guard: None,
            kept: None,
            is_unguarded: false,
            manager: ServiceManager::of_environment(),
            inbox,
            stops: None,
            span: Span::none(),
            artifacts: Artifacts::new(layout, place, bounds),
            observations: None,
            listener,
        }
    }

    /// Everything ended well: the guard has nothing to do any more.
    pub(super) fn dismiss(mut self) {
        let guard = self.guard.take().and_then(Rc::into_inner);
        let _ = guard.map(|guard| guard.into_inner().dismiss());
    }
}

impl Ports for Host<'_> {
    fn now(&mut self) -> Moment {
        clock::now()
    }

    fn chance(&mut self) -> f64 {
        fastrand::f64()
    }

    fn pulse(&self) -> Duration {
        TICK
    }

    fn ready(&mut self, execution: &ExecutionId, dead: Option<&SessionId>) -> Result<usize, RunError> {
        let swept = clear_up(&self.layout, &self.place, dead)?;
        self.observations = Some(store::Observations::new(&self.place, execution)?);
        orphans::adopt();
        let host = |source| RunError::Host { what: "start the guard process", source };
        let guard = Guard::start(&self.program, (SESSION_VARIABLE, self.session.as_str())).map_err(host)?;
        self.guard = Some(Rc::new(RefCell::new(guard)));
        let needs = (&self.plan, &self.bounds, &self.backends);
        self.kept = Some(Kept::draw(self.program.clone(), (&self.place, execution), needs)?);
        self.manager.ready();
        Ok(swept)
    }

    fn boundary(&mut self) -> BoundaryDrawn {
        self.kept.as_ref().map(Kept::drawn).unwrap_or_default()
    }

    fn strays(&mut self, since: Timestamp) -> Vec<String> {
        sweep::strays(self.layout.workspace(), since)
    }

    fn start(&mut self, start: &Start, state: &State) -> Result<(), RunError> {
        let said = start.is_first.then(|| self.artifacts.before(start.began)).flatten();
        let known = state.agents.get(&start.phase);
        let order = Order {
            execution: state.execution_id.clone(),
            session: self.session.clone(),
            stage: self.plan.stage(start.phase).expect("a session has every phase in its plan").clone(),
            attempt: start.attempt,
            trouble: start.trouble.clone(),
            known: known.and_then(|agent| Some((agent.backend.clone(), agent.session.clone()?))),
            pinned: state.pinned.iter().filter(|file| !file.is_read()).cloned().collect(),
            patience_ends: state.outage_of(start.phase).map(|outage| outage.until),
            not_before: state.stamp(clock::now().wall()),
        };
        let guard = self.guard.clone().expect("a session is ready before a stage starts");
        let boundary = self.kept.as_mut().map(|kept| kept.of_stage(start.phase)).transpose()?.flatten();
        let (stops, orders) = mpsc::unbounded_channel();
        self.stops = Some(stops);
        let (places, own) = ((&self.layout, &self.place), (guard, boundary, self.inbox.clone()));
        let task = StageTask::prepare(order, places, (&self.bounds, &self.backends), own, orders)?;
        if start.is_first {
            self.span = info_span!(target: "stage", "stage", phase = %start.phase);
        }
        let span = self.span.in_scope(|| info_span!(target: "attempt", "attempt", number = start.attempt));
        spawn_local(task.run(said).instrument(span));
        Ok(())
    }

    fn stop(&mut self, stop: Stop) {
        // One that has ended meanwhile hears nothing, and its end is on its way.
        let _ = self.stops.as_ref().map(|stops| stops.send(stop));
    }

    fn look_after(&mut self) -> Option<String> {
        // Here: whoever owns the execution comes by with every step that it takes.
        self.manager.alive();
        let mut guard = self.guard.as_ref()?.borrow_mut();
        let renewed = guard.renew();
        guard.watch_orphans();
        match renewed {
            Ok(false) => None,
            Ok(true) => {
                self.is_unguarded = false;
                Some("somebody ended the guard process; another one is in its place".to_owned())
            }
            // Tried again with every look, and said once.
            Err(error) => (!std::mem::replace(&mut self.is_unguarded, true)).then(|| {
                format!(
                    "the guard process is gone and cannot be started again: {error}. What stages start would outlive us"
                )
            }),
        }
    }

    fn halt_requested(&mut self) -> bool {
        store::is_halt_requested(&self.place)
    }

    fn forget_halt(&mut self) -> Result<(), RunError> {
        Ok(store::forget_halt(&self.place)?)
    }

    fn survey(&mut self, phase: Phase, attempt: &Attempt) -> (Survey, Vec<String>) {
        let (artifacts, said) = self.artifacts.after(phase, attempt.result.as_ref());
        let is_audited = phase == Phase::Audit && attempt.end.as_ref().is_ok_and(StageOutcome::is_own_retry);
        let snapshot = is_audited.then(|| git::snapshot(self.layout.workspace(), Layout::OWN)).flatten();
        let (head, tree) = snapshot.map_or((None, None), |snapshot| (snapshot.head, Some(snapshot.tree)));
        (Survey { artifacts, head, tree }, said.into_iter().collect())
    }

    fn end_what_is_left(&mut self) -> usize {
        let behind = self.kept.as_ref().map_or(0, Kept::clear);
        behind + sweep::end_processes_with(SESSION_VARIABLE, self.session.as_str()) + orphans::end()
    }

    fn deploy_files(&mut self, state: &State) -> Result<Vec<PinnedFile>, RunError> {
        let deploy = self.plan.stage(Phase::Deploy).expect("a session has every phase in its plan");
        let pinned: Vec<PinnedFile> = state.pinned.iter().filter(|file| !file.is_read()).cloned().collect();
        Ok(before_deploy(self.layout.workspace(), deploy, &pinned, &self.bounds.protects)?)
    }

    fn changed_files(&mut self, state: &State) -> ChangedFiles {
        since_the_start(self.layout.workspace(), &state.pinned, &self.bounds.protects)
    }

    fn work_tree(&mut self) -> WorkTree {
        let folder = self.layout.workspace();
        let base = git::head(folder);
        let was_changed = base.is_some() && git::is_changed(folder, Layout::OWN);
        WorkTree { base, was_changed, untracked: git::untracked(folder, Layout::OWN, MOST_UNTRACKED) }
    }

    fn operator(&mut self) -> OperatorRecord {
        operator::detect(self.layout.workspace(), self.bounds.operator, clock::now().wall())
    }

    fn surroundings(&mut self) -> Result<Vec<String>, RunError> {
        match &self.bounds.memories {
            Some(folder) => memory::surface(&self.layout, folder),
            // Those of an earlier session are none of this one's.
            None => store::forget_memories(&self.layout).map(|()| Vec::new()).map_err(RunError::from),
        }
    }

    fn event(&mut self, envelope: &Envelope, state: &State) {
        match &envelope.event {
            Event::StageConcluded { .. } => self.span = Span::none(),
            Event::AttemptStarted { phase, attempt, of, .. } => {
                self.manager.status(&format!("{phase}: attempt {attempt} of {of}"));
            }
            _ => {}
        }
        self.listener.event(envelope, state);
    }

    fn observation(&mut self, at: Timestamp, observation: &Observation) {
        let _ = self.observations.as_mut().map(|observations| observations.take(at, observation));
        self.listener.observation(observation);
    }
}

/// Ends what a dead session left running and removes what it left half written.
pub(super) fn clear_up(layout: &Layout, place: &Place, last: Option<&SessionId>) -> Result<usize, RunError> {
    store::remove_unfinished(layout)?;
    store::forget_halt(place)?;
    // Whatever is recorded of its end: it may have died between that and the end of its processes.
    Ok(last.map_or(0, |session| sweep::end_processes_with(SESSION_VARIABLE, session.as_str())))
}
