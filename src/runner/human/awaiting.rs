//! Waits for a human's answer (Escalation Handling: `awaitResolution`), for whoever wants a process that does.

use std::time::Duration;

use crate::events::RunStatus;
use crate::runner::dispatch::present;
use crate::runner::{Deliverer, RunError};
use crate::store::{Layout, RunStore};
use crate::system::process::{Interrupt, Interrupts};
use crate::system::service_manager::ServiceManager;

/// How often a service manager that wants a sign of life is given one, at the most.
const ALIVE: Duration = Duration::from_secs(1);
/// How often the journal is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// What a wait for an answer ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaited {
    /// It was answered, and the execution can go on.
    Answered,
    /// There is nothing to go on with: it was called off, or somebody else brought it to its end.
    Over(RunStatus),
    /// A signal came.
    Interrupted(Interrupt),
}

/// Waits until the execution that called a human was answered. Owns nothing meanwhile: answers come from other processes.
///
/// # Errors
/// [`RunError`]: there is no execution, or its journal cannot be read.
async fn await_resolution(
    layout: &Layout,
    store: &dyn RunStore,
    interrupts: &mut Interrupts,
) -> Result<Awaited, RunError> {
    loop {
        let none = || RunError::NoExecution { workspace: layout.workspace().to_path_buf() };
        match present(store, layout)?.ok_or_else(none)?.status {
            RunStatus::Resolved | RunStatus::Ready => return Ok(Awaited::Answered),
            over @ (RunStatus::Aborted | RunStatus::Completed) => return Ok(Awaited::Over(over)),
            RunStatus::Escalated | RunStatus::Running | RunStatus::Interrupted => {}
        }
        tokio::select! {
            interrupt = interrupts.next() => return Ok(Awaited::Interrupted(interrupt)),
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

/// The same, and whoever is to hear of the call is told meanwhile, as often as it takes. `interrupts` may have begun to listen
/// long before; `listen` begins anew, for one delivery.
///
/// # Errors
/// [`RunError`]: there is no execution, or its journal cannot be read or written.
pub async fn await_resolution_telling(
    layout: &Layout,
    store: &dyn RunStore,
    deliverer: Option<Deliverer>,
    interrupts: &mut Interrupts,
    listen: fn() -> Result<Interrupts, RunError>,
) -> Result<Awaited, RunError> {
    let told = async {
        if let Some(deliverer) = deliverer {
            deliverer.deliver_on(listen).await?;
        }
        std::future::pending().await
    };
    tokio::select! {
        awaited = await_resolution(layout, store, interrupts) => awaited,
        failed = told => failed,
    }
}

/// Stays until everybody has heard of an end, as often as it takes; `None` when they have. A signal ends it before, and so does
/// an answer, where the end `asks` for one. The service manager that started us hears that we are alive.
///
/// # Errors
/// As [`await_resolution_telling`].
pub async fn stay_until_told(
    layout: &Layout,
    store: &dyn RunStore,
    deliverer: Deliverer,
    asks: bool,
    interrupts: &mut Interrupts,
    listen: fn() -> Result<Interrupts, RunError>,
) -> Result<Option<Awaited>, RunError> {
    let awaited = async {
        if asks {
            return await_resolution(layout, store, interrupts).await;
        }
        Ok(Awaited::Interrupted(interrupts.next().await))
    };
    let alive = async {
        let mut manager = ServiceManager::of_environment();
        loop {
            manager.alive();
            tokio::time::sleep(ALIVE).await;
        }
    };
    tokio::select! {
        biased;
        awaited = awaited => awaited.map(Some),
        told = deliverer.deliver_on(listen) => told.map(|()| None),
        () = alive => Ok(None),
    }
}
