//! What the journal says, compared with what really happened.

use std::time::Duration;

use loa::contract::{Checkpoint, EscalationTrigger, Phase, PhaseExit, ResolutionAction};
use loa::events::{AgentActivity, Envelope, Event, Pause, RunEnd, State};
use loa::runner::Start;
use loa::runner::decide::UNVERIFIED;

use super::disk::SimDisk;
use super::truth::Truth;

/// How much of the time of a run a death may lose.
const UNCHARGED: Duration = Duration::from_secs(5);
/// How much is lost where milliseconds are cut.
const ROUNDED: Duration = Duration::from_millis(500);

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
        let failures = self.failures.get(&phase).copied().unwrap_or(0);
        if failures > self.settings.retries {
            self.breaks(format!("{phase} starts after {failures} failures"));
        }
        if self.not_before.get(&phase).is_some_and(|moment| self.steady < *moment) {
            self.breaks(format!("{phase} starts before its pause is over"));
        }
        if state.counters.elapsed() >= self.settings.run_limit {
            self.breaks(format!("{phase} starts, and the time of the run is over"));
        }
        if deaths(self.seen.values()) >= 4 {
            self.breaks(format!("{phase} starts after four deaths without an outcome"));
        }
        self.is_allowed(phase);
        self.is_announced(phase, attempt, state, disk);
        self.goes_on_with_its_agent(phase, state);
        let mut job = self.work(phase, attempt);
        if state.outage_of(phase).is_some() {
            self.count("outages that outlived a session");
            self.asks(&mut job);
        } else if state.outage.as_ref().is_none_or(|outage| outage.phase == phase) {
            // The provider of another phase is waited for when that phase is next.
            self.outage = None;
        }
        self.job = Some(job);
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
        let asked = self.seen.values().filter_map(|it| match it.event {
            Event::Escalated { number, approval: true, .. } => Some(number),
            _ => None,
        });
        let approved = asked.into_iter().any(|number| self.is_answered_with(number, ResolutionAction::FixAndResume));
        if phase == Phase::Deploy && !approved {
            self.breaks("deploy starts and nobody approved of it");
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

    fn is_answered_with(&self, number: u32, action: ResolutionAction) -> bool {
        self.seen.values().any(|it| {
            matches!(&it.event, Event::Resolved { escalation, resolution, .. } if *escalation == number && resolution.action == action)
        })
    }

    /// An attempt that starts is announced on the disk, so that a power cut would not forget it.
    fn is_announced(&mut self, phase: Phase, attempt: u32, state: &State, disk: &SimDisk) {
        let text = disk.durable_journal(state.execution_id.as_str());
        let told = format!("\"event\":\"attempt_started\",\"phase\":\"{phase}\",\"attempt\":{attempt},");
        if !text.contains(&told) {
            self.breaks(format!("{phase} starts and nothing durable announces attempt {attempt}"));
        }
    }

    /// Whoever goes on with a phase goes on in the session that its agent named.
    fn goes_on_with_its_agent(&mut self, phase: Phase, state: &State) {
        let Some(named) = self.agents.get(&phase) else { return };
        let known = state.agents.get(&phase).and_then(|agent| agent.session.as_ref());
        if known != Some(named) {
            let named = named.clone();
            self.breaks(format!("the agent of {phase} named {named}, and its owner knows {known:?}"));
        }
    }

    /// The end of an attempt is recorded as it was, and so is the time until then.
    fn recorded_end(&mut self, exit: Option<PhaseExit>, state: &State) {
        let left = self.left.take();
        let ended = left.as_ref().and_then(|left| left.end.as_ref().ok()).map(|outcome| outcome.exit);
        if ended.is_some() && exit != ended {
            self.breaks(format!("a stage ended with {ended:?} and is recorded with {exit:?}"));
        }
        self.followed = left;
        self.is_charged(state.counters.elapsed(), Duration::ZERO);
    }

    /// What is charged is the time that passed, but for `unknown` at most.
    fn is_charged(&mut self, elapsed: Duration, unknown: Duration) {
        let (least, most) = self.charged;
        if elapsed + unknown + ROUNDED < least || elapsed > most + ROUNDED {
            self.breaks(format!("{elapsed:?} are charged, and it took from {least:?} to {most:?}"));
        }
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
        if let Event::AttemptEnded { exit, .. } = &envelope.event {
            self.recorded_end(*exit, state);
        }
        if lasts(&envelope.event) {
            self.durable = seq;
        }
        self.seen.insert(seq, envelope.clone());
        self.tell(|| format!("journal {seq}: {}", serde_json::to_string(&envelope.event).expect("plain data")));
        self.check(&envelope.event, state);
        self.learn(&envelope.event);
        self.follow_agent(&envelope.event);
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
                self.tells_what_is_wrong(checkpoint);
            }
            Event::StageSkipped { checkpoint } => {
                self.count("phases skipped");
                if !self.settings.skipped.contains(&checkpoint.phase) {
                    self.breaks(format!("{} is skipped and nobody asked for it", checkpoint.phase));
                }
            }
            Event::BackedOff { delay_ms, .. } => {
                self.count("retries");
                let before = self.seen.values().rev().nth(1).map(|it| &it.event);
                if !matches!(before, Some(Event::AttemptEnded { exit: Some(_), .. })) {
                    self.breaks("a retry is used up, and no attempt has failed");
                }
                let asked = self.followed.take().and_then(|left| left.wait);
                if asked.is_some_and(|asked| Duration::from_millis(*delay_ms) < asked) {
                    self.breaks(format!("a provider asked to wait for {asked:?}, and the pause is {delay_ms} ms"));
                }
            }
            Event::Remediation { .. } => {
                self.count("remediations");
                let since = self.seen.values().rev().take_while(|it| !matches!(it.event, Event::Resolved { .. }));
                let loops = since.filter(|it| matches!(it.event, Event::Remediation { .. })).count();
                if loops > self.settings.max_loops as usize {
                    self.breaks(format!("{loops} remediation loops, and no human"));
                }
            }
            Event::Escalated { report, .. } => {
                self.count("calls of a human");
                if report.trigger == EscalationTrigger::Timeout {
                    self.count("runs out of time");
                    if self.charged.1 + ROUNDED < self.settings.run_limit {
                        self.breaks(format!("the run is over after {:?} at the most", self.charged.1));
                    }
                }
            }
            Event::CheckpointAdopted { .. } => self.count("checkpoints adopted"),
            Event::PhaseReopened { .. } => self.count("phases reopened"),
            Event::SessionDied { .. } => self.count("deaths noticed"),
            Event::CheckpointRestored { .. } => self.count("checkpoints restored"),
            Event::CheckpointIgnored { .. } => self.count("forged checkpoints ignored"),
            Event::ExecutionCompleted => self.completed(state),
            _ => {}
        }
    }

    /// A checkpoint hides nothing of what the attempt left.
    fn tells_what_is_wrong(&mut self, checkpoint: &Checkpoint) {
        let Some(left) = self.followed.take() else { return };
        if left.result_refused.is_some() {
            self.count("results refused");
            if !checkpoint.errors.iter().any(|error| error.code == "RESULT_INVALID") {
                self.breaks(format!("the result of {} was refused, and its checkpoint hides it", checkpoint.phase));
            }
        }
        if left.unverified && checkpoint.exit_code == PhaseExit::Success {
            self.count("phases unverified");
            if !checkpoint.summary.raw().starts_with(UNVERIFIED) {
                self.breaks(format!("nobody verified {}, and its checkpoint hides it", checkpoint.phase));
            }
        }
    }

    /// What is known since an event.
    fn learn(&mut self, event: &Event) {
        match event {
            Event::StageConcluded { checkpoint, .. } | Event::StageSkipped { checkpoint } => {
                self.begins_anew(checkpoint.phase);
                if checkpoint.exit_code == PhaseExit::Success {
                    self.done.insert(checkpoint.phase);
                }
            }
            Event::BackedOff { phase, delay_ms, .. } => {
                *self.failures.entry(*phase).or_default() += 1;
                self.not_before.insert(*phase, self.steady + Duration::from_millis(*delay_ms));
            }
            Event::Escalated { report, .. } => self.called_for = Some(report.phase),
            Event::Resolved { .. } => {
                (self.outage, self.first_outage) = (None, None);
                if let Some(phase) = self.called_for.take() {
                    self.begins_anew(phase);
                }
            }
            Event::Remediation { .. } => {
                for phase in [Phase::Implementation, Phase::Audit] {
                    self.done.remove(&phase);
                    self.succeeded.remove(&phase);
                }
            }
            Event::AttemptEnded { phase, exit: Some(_), .. }
                if self.outage.is_some_and(|(waiting, _)| waiting != *phase) => {}
            Event::AttemptEnded { exit: Some(_), .. }
            | Event::SessionEnded { end: RunEnd::Paused { pause: Pause::Outage { .. } } } => {
                (self.outage, self.first_outage) = (None, None);
            }
            Event::PhaseReopened { phase } => drop(self.done.remove(phase)),
            Event::CheckpointAdopted { checkpoint } => {
                if checkpoint.exit_code == PhaseExit::Success {
                    self.begins_anew(checkpoint.phase);
                    self.done.insert(checkpoint.phase);
                } else {
                    self.done.remove(&checkpoint.phase);
                }
            }
            _ => {}
        }
    }

    /// What the attempts at a phase were counts no more.
    fn begins_anew(&mut self, phase: Phase) {
        self.failures.remove(&phase);
        self.not_before.remove(&phase);
    }

    /// An agent's session is gone on with until its phase begins anew.
    fn follow_agent(&mut self, event: &Event) {
        match event {
            Event::Agent { phase, agent: AgentActivity::Session { session } } => {
                self.agents.insert(*phase, session.clone());
            }
            Event::StageConcluded { checkpoint, .. } | Event::CheckpointAdopted { checkpoint } => {
                self.agents.remove(&checkpoint.phase);
            }
            Event::Resolved { .. } => self.agents.clear(),
            _ => {}
        }
    }

    /// A session is over: what the journal holds now is compared with what was acknowledged. A power cut may have taken
    /// the newest events, but none that had to be durable, nor any before one.
    pub(super) fn compare(&mut self, recorded: &[Envelope], elapsed: Duration, after_power_cut: bool) {
        // An answer begins the count anew.
        let is_answered = matches!(recorded.last().map(|newest| &newest.event), Some(Event::Resolved { .. }));
        if !after_power_cut && !is_answered {
            self.is_charged(elapsed, UNCHARGED);
        }
        self.charged = (elapsed, elapsed);
        let must = if after_power_cut { self.durable } else { self.seen.keys().next_back().copied().unwrap_or(0) };
        let told = self.seen.keys().next_back().copied().unwrap_or(0);
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
            // Nor was a session acknowledged that only reached the cache.
            self.agents.retain(|phase, named| recorded.iter().any(|it| names(&it.event, *phase, named)));
        }
        self.seen = recorded.iter().map(|envelope| (envelope.seq, envelope.clone())).collect();
        // What was written in the moment of a death counts, although nobody heard of it.
        let (succeeded, not_before) = (self.succeeded.clone(), std::mem::take(&mut self.not_before));
        let outage = (self.outage, self.first_outage);
        self.failures.clear();
        self.done.clear();
        for envelope in recorded {
            self.learn(&envelope.event);
        }
        self.succeeded = succeeded;
        (self.outage, self.first_outage) = outage;
        if after_power_cut && State::fold(recorded).is_some_and(|state| state.outage.is_some()) {
            // The end of a session whose patience was spent may be lost, and then it is spent still.
            self.first_outage.get_or_insert(Duration::ZERO);
        }
        recorded.iter().filter(|envelope| envelope.seq > told).for_each(|envelope| self.follow_agent(&envelope.event));
        self.not_before.retain(|phase, _| not_before.contains_key(phase));
        self.not_before.extend(
            not_before.into_iter().filter(|(phase, _)| self.not_before.contains_key(phase)).collect::<Vec<_>>(),
        );
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

/// The agent of a phase names its session.
fn names(event: &Event, of: Phase, named: &str) -> bool {
    let Event::Agent { phase, agent: AgentActivity::Session { session } } = event else { return false };
    *phase == of && session == named
}

/// What a power cut must not take once it was acknowledged.
fn lasts(event: &Event) -> bool {
    matches!(
        event,
        Event::ExecutionStarted { .. }
            | Event::AttemptStarted { .. }
            | Event::BackedOff { .. }
            | Event::OutageMet(_)
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
