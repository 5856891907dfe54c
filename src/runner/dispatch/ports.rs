//! What the owner of an execution needs of the world: a clock, chance, processes, and whoever watches.

use std::time::Duration;

use jiff::Timestamp;

use crate::contract::{ExecutionId, OperatorRecord, Phase, SessionId};
use crate::events::{BoundaryDrawn, ChangedFiles, Envelope, Observation, PinnedFile, State, WorkTree};
use crate::runner::RunError;
use crate::runner::decide::{Attempt, Stop, Survey};
use crate::system::clock::Moment;

/// An attempt that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Its phase.
    pub phase: Phase,
    /// The number of this start.
    pub attempt: u32,
    /// Whether it is the first of its phase in this session.
    pub is_first: bool,
    /// When the phase began, where an earlier session began it.
    pub began: Option<Timestamp>,
    /// How the attempt before failed.
    pub trouble: Option<String>,
}

/// The world around the owner of an execution. The store and the disk are ports of their own.
pub trait Ports {
    /// The time.
    fn now(&mut self) -> Moment;

    /// A random number, from 0 to 1.
    fn chance(&mut self) -> f64;

    /// How long the owner is left alone at most while something is waited for.
    fn pulse(&self) -> Duration;

    /// Ends what a session that died left behind, and makes ready to run stages. Returns how many processes were ended.
    ///
    /// # Errors
    /// [`RunError`] when the host refuses something.
    fn ready(&mut self, execution: &ExecutionId, dead: Option<&SessionId>) -> Result<usize, RunError>;

    /// What keeps stages from the state of the run; known once it is ready.
    fn boundary(&mut self) -> BoundaryDrawn;

    /// Processes that may be left of what a dead session started at this time or later, and that nobody can be sure of:
    /// one line each.
    fn strays(&mut self, since: Timestamp) -> Vec<String>;

    /// Starts an attempt. What it does comes back as facts.
    ///
    /// # Errors
    /// [`RunError`] when something that it needs cannot be written.
    fn start(&mut self, start: &Start, state: &State) -> Result<(), RunError>;

    /// Tells the running stage to end. Its end comes back as a fact.
    fn stop(&mut self, stop: Stop);

    /// Looks after what keeps the session safe, and says what had to be put right.
    fn look_after(&mut self) -> Option<String>;

    /// Whether somebody asks for a halt.
    fn halt_requested(&mut self) -> bool;

    /// Takes the request for a halt away.
    ///
    /// # Errors
    /// [`RunError`].
    fn forget_halt(&mut self) -> Result<(), RunError>;

    /// What the workspace tells at the end of a phase; and what there is to say about looking.
    fn survey(&mut self, phase: Phase, attempt: &Attempt) -> (Survey, Vec<String>);

    /// Ends every process that stages left behind; how many there were.
    fn end_what_is_left(&mut self) -> usize;

    /// The files that are not as the execution began with them.
    fn changed_files(&mut self, state: &State) -> ChangedFiles;

    /// What the deployment would run and nobody has agreed to yet.
    ///
    /// # Errors
    /// [`RunError`] when a folder of protected files cannot be looked through.
    fn deploy_files(&mut self, state: &State) -> Result<Vec<PinnedFile>, RunError>;

    /// The work tree as it is now.
    fn work_tree(&mut self) -> WorkTree;

    /// Who operates.
    fn operator(&mut self) -> OperatorRecord;

    /// What there is to say about the surroundings at the beginning of a session.
    ///
    /// # Errors
    /// [`RunError`].
    fn surroundings(&mut self) -> Result<Vec<String>, RunError>;

    /// Something happened; `state` is what is known since then.
    fn event(&mut self, envelope: &Envelope, state: &State);

    /// Something was seen that is not journaled.
    fn observation(&mut self, at: Timestamp, observation: &Observation);
}
