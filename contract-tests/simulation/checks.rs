//! What the journal says, compared with what really happened.

use std::time::Duration;

use loa::contract::{Phase, PhaseExit};
use loa::events::{Envelope, Event, State};
use loa::policy::StageOutcome;
use loa::runner::Start;

use super::disk::SimDisk;
use super::truth::{Job, Truth};

impl Truth {
    pub(super) fn started(&mut self, start: &Start, state: &State, disk: &SimDisk) {
        let Start { phase, attempt, .. } = *start;
        self.count("attempt starts");
        self.tell(|| format!("{phase} starts, attempt {attempt}"));
        if self.job.is_some() {
            self.breaks(format!("{phase} starts while another stage runs"));
        }
        if !self.starts.insert((phase, attempt)) {
            self.breaks(format!("{phase} starts twice as attempt {attempt}"));
        }
        if self.done.contains(&phase) {
            self.breaks(format!("{phase} is done and starts again"));
        }
        if self.settings.skipped.contains(&phase) {
            self.breaks(format!("{phase} is to be skipped and starts"));
        }
        if self.failures > self.settings.retries {
            self.breaks(format!("{phase} starts after {} failures", self.failures));
        }
        if self.not_before.is_some_and(|moment| self.steady < moment) {
            self.breaks(format!("{phase} starts before its pause is over"));
        }
        if deaths(self.seen.values()) >= 4 {
            self.breaks(format!("{phase} starts after four deaths without an outcome"));
        }
        self.is_allowed(phase);
        self.is_announced(phase, attempt, state, disk);
        self.draw(phase);
    }

    /// What has to come before a phase did.
    fn is_allowed(&mut self, phase: Phase) {
        let before = self.settings.phases.iter().take_while(|other| **other != phase);
        if let Some(missing) = before.copied().find(|other| !self.done.contains(other)) {
            self.breaks(format!("{phase} starts before {missing} is done"));
        }
        if !self.settings.approval {
            return;
        }
        let approved = self.seen.values().any(|it| matches!(it.event, Event::Escalated { approval: true, .. }));
        if phase == Phase::Deploy && !approved {
            self.breaks("deploy starts and nobody was asked");
        }
        let since = self.seen.values().rev().skip(1).find_map(|it| match &it.event {
            Event::AttemptStarted { phase: other, .. } if *other == phase => Some(true),
            Event::AttemptEnded { phase: other, exit: Some(_), .. } if *other == phase => Some(false),
            Event::Resolved { .. } => Some(false),
            _ => None,
        });
        if matches!(phase, Phase::Deploy | Phase::Submit) && since == Some(true) {
            self.breaks(format!("{phase} was cut off, and starts again unasked"));
        }
    }

    /// An attempt that starts is announced on the disk, so that a power cut would not forget it.
    fn is_announced(&mut self, phase: Phase, attempt: u32, state: &State, disk: &SimDisk) {
        let text = disk.durable_journal(state.execution_id.as_str());
        let told = format!("\"event\":\"attempt_started\",\"phase\":\"{phase}\",\"attempt\":{attempt},");
        if !text.contains(&told) {
            self.breaks(format!("{phase} starts and nothing durable announces attempt {attempt}"));
        }
    }

    fn draw(&mut self, phase: Phase) {
        let outcome = match self.rng.u8(0..30) {
            end if end <= 21 || !self.disturbs() => StageOutcome::exited(0),
            22..=25 => StageOutcome::exited(1),
            26 => StageOutcome::exited(2),
            27 => StageOutcome::exited(i32::from(self.rng.u8(3..))),
            28 => StageOutcome::signalled("KILL"),
            _ => StageOutcome::spawn_failed("no such file"),
        };
        let limit = u64::try_from(self.settings.timeout.as_millis()).expect("minutes");
        let lasts = match self.rng.u8(0..30) {
            0..=21 => self.rng.u64(1..limit / 10),
            22..=28 => self.rng.u64(1..limit),
            _ => self.rng.u64(limit..2 * limit),
        };
        let overflows = self.rng.u8(0..60) == 0;
        let ends = self.steady + Duration::from_millis(lasts);
        self.job = Some(Job { phase, ends, outcome, began: self.steady, still: Duration::ZERO, stop: None, overflows });
    }

    pub(super) fn told(&mut self, envelope: &Envelope, state: &State) {
        let seq = envelope.seq;
        if envelope.epoch < self.epoch {
            self.breaks(format!("epoch {} appends after epoch {}", envelope.epoch, self.epoch));
        }
        self.epoch = envelope.epoch;
        if self.seen.keys().next_back().is_some_and(|last| last + 1 != seq) {
            self.breaks(format!("event {seq} does not follow"));
        }
        if let Event::AttemptEnded { exit, .. } = &envelope.event
            && let Some(expected) = self.expected.take()
            && *exit != Some(expected)
        {
            self.breaks(format!("a stage ended with {expected:?} and is recorded with {exit:?}"));
        }
        if lasts(&envelope.event) {
            self.durable = seq;
        }
        self.seen.insert(seq, envelope.clone());
        self.tell(|| format!("journal {seq}: {}", serde_json::to_string(&envelope.event).expect("plain data")));
        self.check(&envelope.event, state);
        self.learn(&envelope.event);
    }

    /// What an event must not say.
    fn check(&mut self, event: &Event, state: &State) {
        match event {
            Event::StageConcluded { checkpoint, .. } => {
                self.count("phases concluded");
                let phase = checkpoint.phase;
                if checkpoint.exit_code == PhaseExit::Success && !self.succeeded.contains(&phase) {
                    self.breaks(format!("{phase} is concluded with 0 and never ended with 0"));
                }
            }
            Event::StageSkipped { checkpoint } => {
                self.count("phases skipped");
                if !self.settings.skipped.contains(&checkpoint.phase) {
                    self.breaks(format!("{} is skipped and nobody asked for it", checkpoint.phase));
                }
            }
            Event::BackedOff { .. } => self.count("retries"),
            Event::Remediation { .. } => {
                self.count("remediations");
                let since = self.seen.values().rev().take_while(|it| !matches!(it.event, Event::Resolved { .. }));
                let loops = since.filter(|it| matches!(it.event, Event::Remediation { .. })).count();
                if loops > self.settings.max_loops as usize {
                    self.breaks(format!("{loops} remediation loops, and no human"));
                }
            }
            Event::Escalated { .. } => self.count("calls of a human"),
            Event::SessionDied { .. } => self.count("deaths noticed"),
            Event::CheckpointRestored { .. } => self.count("checkpoints restored"),
            Event::CheckpointIgnored { .. } => self.count("forged checkpoints ignored"),
            Event::ExecutionCompleted => self.completed(state),
            _ => {}
        }
    }

    /// What is known since an event.
    fn learn(&mut self, event: &Event) {
        match event {
            Event::StageConcluded { checkpoint, .. } | Event::StageSkipped { checkpoint } => {
                (self.failures, self.not_before) = (0, None);
                if checkpoint.exit_code == PhaseExit::Success {
                    self.done.insert(checkpoint.phase);
                }
            }
            Event::BackedOff { delay_ms, .. } => {
                self.failures += 1;
                self.not_before = Some(self.steady + Duration::from_millis(*delay_ms));
            }
            Event::Resolved { .. } => (self.failures, self.not_before) = (0, None),
            Event::Remediation { .. } => {
                for phase in [Phase::Implementation, Phase::Audit] {
                    self.done.remove(&phase);
                    self.succeeded.remove(&phase);
                }
            }
            Event::PhaseReopened { phase } => drop(self.done.remove(phase)),
            _ => {}
        }
    }

    /// A session is over: what the journal holds now is compared with what was acknowledged. A power cut may have taken
    /// the newest events, but none that had to be durable, nor any before one.
    pub(super) fn compare(&mut self, recorded: &[Envelope], after_power_cut: bool) {
        let must = if after_power_cut { self.durable } else { self.seen.keys().next_back().copied().unwrap_or(0) };
        for (seq, envelope) in std::mem::take(&mut self.seen) {
            let there = recorded.get(usize::try_from(seq - 1).expect("small"));
            if there.is_some_and(|there| *there != envelope) {
                self.breaks(format!("event {seq} is another one now"));
            }
            if there.is_none() && seq <= must {
                self.breaks(format!("event {seq} was acknowledged and is lost"));
            }
        }
        if after_power_cut {
            // The name of an owner that never did anything durable may be given again.
            self.epoch = recorded.last().map_or(0, |newest| newest.epoch);
        }
        self.seen = recorded.iter().map(|envelope| (envelope.seq, envelope.clone())).collect();
        // What was written in the moment of a death counts, although nobody heard of it.
        let (succeeded, not_before) = (self.succeeded.clone(), self.not_before);
        (self.failures, self.not_before) = (0, None);
        self.done.clear();
        for envelope in recorded {
            self.learn(&envelope.event);
        }
        self.succeeded = succeeded;
        self.not_before = self.not_before.and(not_before);
    }

    fn completed(&mut self, state: &State) {
        self.count("executions completed");
        for phase in self.settings.phases.clone() {
            if !self.done.contains(&phase) || state.next_phase().is_some() {
                self.breaks(format!("completed, and {phase} is not done"));
            }
        }
    }
}

/// What a power cut must not take once it was acknowledged.
fn lasts(event: &Event) -> bool {
    matches!(
        event,
        Event::ExecutionStarted { .. }
            | Event::AttemptStarted { .. }
            | Event::BackedOff { .. }
            | Event::StageConcluded { .. }
            | Event::StageSkipped { .. }
            | Event::Remediation { .. }
            | Event::Escalated { .. }
            | Event::Resolved { .. }
            | Event::ExecutionCompleted
    )
}

/// How many sessions died since an attempt had an outcome, or a human answered.
fn deaths<'a>(events: impl DoubleEndedIterator<Item = &'a Envelope>) -> usize {
    let since = events.rev().take_while(|envelope| {
        !matches!(envelope.event, Event::AttemptEnded { exit: Some(_), .. } | Event::Resolved { .. })
    });
    since.filter(|envelope| matches!(envelope.event, Event::SessionDied { .. })).count()
}
