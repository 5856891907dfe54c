//! Has the owner of an execution step through what its stages, the clock and people tell it.

use std::path::PathBuf;

use tokio::sync::mpsc;
use tokio::task::LocalSet;
use tracing::{Instrument, info_span};

use super::boundary::boundary_as_required;
use super::host::Host;
use super::session::{Mode, Opening};
use super::{Dispatcher, Listener, Ports, THINKING, Waits};
use crate::contract::ExecutionId;
use crate::events::{RecordedOverride, RunEnd, RunOrigin, State};
use crate::runner::decide::{Rules, Stop};
use crate::runner::session::new_session;
use crate::runner::stage::{Fact, Inbox, Letter, Mail, Taken};
use crate::runner::{Backends, Bounds, PinnedText, Plan, PlanError, RunError};
use crate::store::{FileStore, Layout, Place, RunStore};
use crate::system::clock::{self, Moment};
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
    /// What all of that comes from, where it is taken for this execution now; empty to go on with what was taken before.
    pub pinned: Vec<PinnedText>,
    /// What there is to say about that.
    pub notices: Vec<String>,
    /// The bounds of the run.
    pub bounds: Bounds,
    /// Whether an execution is begun or continued.
    pub mode: Mode,
    /// Our own program, to be started as the guard, and as the first process behind the boundary.
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
}

impl<'a> Engine<'a> {
    /// Takes the workspace. Signals count from when `interrupts` was made.
    ///
    /// # Errors
    /// [`RunError`]: somebody else works here, the execution that is there does not fit the mode, something on disk is
    /// not valid or cannot be written. Nothing was started then.
    pub fn begin(request: Request, interrupts: Interrupts, listener: &'a mut dyn Listener) -> Result<Self, RunError> {
        let Request { layout, place, plan, backends, origin, overrides, pinned, notices, bounds, mode, program } =
            request;
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
        boundary_as_required(&program, &place, (&plan, &bounds, &backends))?;
        let (inbox, mail) = Inbox::new();
        let session = new_session();
        let settled = (&plan, &bounds, &backends);
        let host = Host::new((&layout, &place), settled, session.clone(), program, inbox, listener);
        let opening = Opening {
            store: Box::new(store),
            claimed,
            layout: layout.clone(),
            rules: Rules { session, plan, bounds },
            thinking: THINKING,
            origin,
            overrides,
            pinned,
            notices,
            mode,
            fresh: super::existing::fresh_execution(now),
        };
        Ok(Self { dispatcher: Dispatcher::open(opening, host)?, mail, interrupts })
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
    pub async fn run(self) -> Result<Ended, RunError> {
        let span = info_span!(target: "execution", "execution", id = %self.execution());
        self.until_over().instrument(span).await
    }

    async fn until_over(self) -> Result<Ended, RunError> {
        let Self { mut dispatcher, mut mail, mut interrupts } = self;
        let stages = LocalSet::new();
        let walked = stages.run_until(async {
            let mut waits = dispatcher.step(clock::now(), Fact::Tick)?;
            loop {
                match waits {
                    Waits::Until(until) => {
                        let next = next(&mut mail, &mut interrupts, until).await;
                        waits = take(&mut dispatcher, next)?;
                    }
                    Waits::Over(end) => return Ok(end),
                }
            }
        });
        let walked: Result<RunEnd, RunError> = walked.await;
        if walked.is_err() {
            if dispatcher.is_running() {
                dispatcher.ports().stop(Stop::Cancelled);
                stages.run_until(end_of_stage(&mut mail)).await;
            }
            dispatcher.ports().end_what_is_left();
        }
        drop(stages);
        let end = walked?;
        let state = dispatcher.state().clone();
        // On the way out by an error or a panic it is not dismissed, and ends what is left.
        dispatcher.into_ports().dismiss();
        Ok(Ended { end, state })
    }
}

/// Waits for what comes next: something of a stage, a signal, or the time.
async fn next(mail: &mut mpsc::Receiver<Mail>, interrupts: &mut Interrupts, until: Moment) -> Mail {
    let now = |fact| Mail::Letter(Letter { at: clock::now(), fact, taken: None });
    tokio::select! {
        // What a stage did comes before the time, which may have passed meanwhile.
        biased;
        mail = mail.recv() => mail.expect("the host keeps a way to the inbox"),
        interrupt = interrupts.next() => now(Fact::Interrupted(interrupt)),
        () = tokio::time::sleep(until.since(clock::now())) => now(Fact::Tick),
    }
}

fn take(dispatcher: &mut Dispatcher<Host<'_>>, mail: Mail) -> Result<Waits, RunError> {
    match mail {
        Mail::Letter(Letter { at, fact, taken }) => {
            let waits = dispatcher.step(at, fact)?;
            // Whoever waits for it may be gone.
            let (probe_at, patience_ends) = (dispatcher.probe_at(), dispatcher.patience_ends());
            let _ = taken.map(|taken| taken.send(Taken { probe_at, patience_ends }));
            Ok(waits)
        }
        Mail::Failed(error) => Err(dispatcher.stage_failed(error)),
    }
}

/// Waits until the stage has ended; nothing that it says is taken in any more.
async fn end_of_stage(mail: &mut mpsc::Receiver<Mail>) {
    while let Some(mail) = mail.recv().await {
        if matches!(mail, Mail::Failed(_) | Mail::Letter(Letter { fact: Fact::Ended(_), .. })) {
            return;
        }
    }
}
