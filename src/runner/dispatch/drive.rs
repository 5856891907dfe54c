//! Has the owner of an execution step through what its stages, the clock and people tell it.

use std::path::PathBuf;

use tokio::sync::mpsc;
use tokio::task::LocalSet;

use super::host::Host;
use super::session::{Mode, Opening};
use super::{Dispatcher, Listener, Ports, THINKING, Waits};
use crate::contract::ExecutionId;
use crate::events::{RecordedOverride, RunEnd, RunOrigin, State};
use crate::runner::decide::{Rules, Stop};
use crate::runner::notify::{Call, Notifier};
use crate::runner::session::new_session;
use crate::runner::stage::{Fact, Inbox, Letter, Mail};
use crate::runner::{Backends, Bounds, Plan, PlanError, RunError};
use crate::store::{FileStore, Layout, Place, RunStore};
use crate::system::clock;
use crate::system::process::Interrupts;

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

/// How a session ended, and what is known then.
#[derive(Debug)]
pub struct Ended {
    /// How.
    pub end: RunEnd,
    /// What is known of the execution.
    pub state: State,
}

/// One session on this host.
pub struct Engine<'a> {
    dispatcher: Dispatcher<Host<'a>>,
    mail: mpsc::Receiver<Mail>,
    interrupts: Interrupts,
    layout: Layout,
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
                let (phase, backend) = (stage.phase, agent.backend.clone());
                return Err(PlanError::NoBackend { phase, backend, origin: None, similar: None }.into());
            }
        }
        let now = clock::now().wall();
        let mut store = FileStore::new(place, layout.clone());
        let claimed = store.claim(now, matches!(mode, Mode::Resume(_)))?;
        let place = store.place().clone();
        let (inbox, mail) = Inbox::new();
        let session = new_session();
        let settled = (&plan, &bounds, &backends);
        let host = Host::new((&layout, &place), settled, session.clone(), program, inbox, listener);
        let opening = Opening {
            store: Box::new(store),
            moved_from: claimed.moved_from,
            layout: layout.clone(),
            rules: Rules { session, plan, bounds },
            thinking: THINKING,
            origin,
            overrides,
            mode,
            fresh: super::existing::fresh_execution(now),
        };
        Ok(Self { dispatcher: Dispatcher::open(opening, host)?, mail, interrupts, layout })
    }

    /// The execution.
    #[must_use]
    pub fn execution(&self) -> &ExecutionId {
        self.dispatcher.execution()
    }

    /// Runs until every phase is done, a human is needed, or a signal comes. No process of the session is left behind.
    ///
    /// # Errors
    /// [`RunError`] when something could not be read or written; what was acknowledged before is in the journal, and the
    /// execution can be resumed.
    pub async fn run(mut self) -> Result<Ended, RunError> {
        let stages = LocalSet::new();
        let walked = stages.run_until(self.walk()).await;
        if walked.is_err() {
            stages.run_until(self.end_stage()).await;
            self.dispatcher.ports().end_what_is_left();
        }
        drop(stages);
        let end = walked?;
        self.notify(&end).await;
        let state = self.dispatcher.state().clone();
        // On the way out by an error or a panic it is not dismissed, and ends what is left.
        self.dispatcher.into_ports().dismiss();
        Ok(Ended { end, state })
    }

    async fn walk(&mut self) -> Result<RunEnd, RunError> {
        let mut waits = self.dispatcher.step(clock::now(), Fact::Tick)?;
        loop {
            let until = match waits {
                Waits::Until(until) => until,
                Waits::Over(end) => return Ok(end),
            };
            let left = until.since(clock::now());
            waits = tokio::select! {
                // What a stage did comes before the time, which may have passed meanwhile.
                biased;
                mail = self.mail.recv() => self.take(mail)?,
                interrupt = self.interrupts.next() => {
                    self.dispatcher.step(clock::now(), Fact::Interrupted(interrupt))?
                }
                () = tokio::time::sleep(left) => self.dispatcher.step(clock::now(), Fact::Tick)?,
            };
        }
    }

    fn take(&mut self, mail: Option<Mail>) -> Result<Waits, RunError> {
        match mail.expect("the host keeps a way to the inbox") {
            Mail::Letter(Letter { at, fact, taken }) => {
                let waits = self.dispatcher.step(at, fact)?;
                // Whoever waits for it may be gone.
                let _ = taken.map(|taken| taken.send(()));
                Ok(waits)
            }
            Mail::Failed(error) => Err(self.dispatcher.stage_failed(error)),
        }
    }

    /// The session cannot go on: the stage that still runs is ended, and what it says is not heard any more.
    async fn end_stage(&mut self) {
        if !self.dispatcher.is_running() {
            return;
        }
        self.dispatcher.ports().stop(Stop::Cancelled);
        while let Some(mail) = self.mail.recv().await {
            if matches!(mail, Mail::Failed(_) | Mail::Letter(Letter { fact: Fact::Ended(_), .. })) {
                return;
            }
        }
    }

    /// Tells people, when the session ends with a call.
    async fn notify(&mut self, end: &RunEnd) {
        let pending = Call::pending(self.dispatcher.state(), &self.layout);
        let Some(call) = pending.filter(|_| *end == RunEnd::Escalated) else { return };
        let execution = self.dispatcher.execution().clone();
        let host = self.dispatcher.ports();
        let withheld = host.backends().withheld_from(None);
        let bounds = host.bounds().clone();
        let notifier = Notifier { layout: &self.layout, execution: &execution, bounds: &bounds, withheld: &withheld };
        for event in notifier.tell(&call).await {
            // The report stands; that this line is missing changes nothing.
            let _ = self.dispatcher.record(event);
        }
    }
}
