//! What a stage does within an outage: it waits, and tries again.

use std::time::Duration;

use super::attempt::{End, StageTask, Tails};
use super::inbox::{Fact, Taken};
use crate::policy::is_outage_code;
use crate::runner::RunError;
use crate::runner::agent::TICK;
use crate::runner::decide::Stop;
use crate::system::clock;
use crate::system::process::Command;

/// How long a probe of an outage may say nothing before it is taken for one that hangs; a command that has not ended by then
/// is taken for one that works.
pub(super) const HANGS: Duration = Duration::from_mins(15);

impl StageTask {
    /// Runs the command of a phase. One that ends with a code of `runtime.outage_codes` is run again after a pause, as long as
    /// patience lasts: nothing else is known of the outage.
    pub(super) async fn run_work(&mut self, command: &Command) -> Result<End, RunError> {
        self.probing = self.order.patience_ends.map(|_| clock::now());
        loop {
            let end = self.run_command(command).await?;
            let Some(reason) = self.outage_in(&end) else {
                if end.is_ok() {
                    self.is_no_probe().await;
                }
                return Ok(end);
            };
            if let Some(stop) = self.wait_out(reason).await {
                return Ok(Err(stop));
            }
            // What the try before wrote explains nothing about this one.
            self.tails = Tails::default();
            self.paths.forget_result()?;
            self.probing = Some(clock::now());
        }
    }

    /// The outage that the code says with which a command ended, in one line.
    fn outage_in(&self, end: &End) -> Option<String> {
        let waits = end.is_ok() && !self.bounds.outage_patience.is_zero();
        let code = self.code.filter(|code| waits && is_outage_code(&self.bounds.outage_codes, *code))?;
        Some(format!("exit {code}, which runtime.outage_codes names"))
    }

    /// The command that runs is taken for one that works, if it has run for so long as none that only looks does: from now on
    /// its time counts.
    pub(super) async fn look_at_probe(&mut self) {
        if self.probing.is_some_and(|since| clock::now().since(since) >= HANGS) {
            self.is_no_probe().await;
        }
    }

    async fn is_no_probe(&mut self) {
        if self.probing.take().is_some() {
            self.inbox.announce(Fact::OutageOver).await;
        }
    }

    /// Waits before it is tried again, as long as the owner says, who stops the stage when patience is spent. The time is
    /// neither the run's nor the attempt's.
    pub(super) async fn wait_out(&mut self, reason: String) -> Option<Stop> {
        let Taken { probe_at, patience_ends } = self.inbox.announce(Fact::OutageMet { reason }).await;
        self.order.patience_ends = patience_ends;
        let left = || probe_at.map_or(Duration::ZERO, |probe| probe.since(clock::now()));
        // Whoever is to end hears of it here, also where no pause is left.
        loop {
            tokio::select! {
                biased;
                stop = self.stop() => return Some(stop),
                () = tokio::time::sleep(TICK.min(left())) => {}
            }
            if left().is_zero() {
                return None;
            }
        }
    }
}
