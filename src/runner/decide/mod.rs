//! What is done next: a pure function of what is journaled, of what is known besides, and of the time.
//!
//! `decide` chooses the next step of an execution; `after` says what follows from an `attempt` that ended, with `checkpoint`
//! for the document of its outcome; `call` builds a call of a human; `live` is what is known and not journaled. Nothing
//! here reads a clock, a file or a random number, and nothing waits.

mod after;
mod attempt;
mod call;
mod checkpoint;
mod live;
mod outage;

pub use after::{concludes, ended};
pub use attempt::{Attempt, Survey, Words};
pub use call::{Cause, call_human};
pub(in crate::runner) use checkpoint::IN_DOUBT;
pub use checkpoint::{SKIPPED, UNVERIFIED, skipped};
pub use live::{Live, Running, Stop};
pub use outage::outage;

use std::time::Duration;

use super::{Bounds, Plan, Stage};
use crate::config::InDoubt;
use crate::contract::{EscalationTrigger, Phase, PhaseExit, SessionId};
use crate::events::{Active, ApprovalState, Event, NextAction, Pause, RunEnd, RunStatus, State, Undecided};
use crate::system::clock::Moment;

/// How often the elapsed time of a long stage is journaled.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// So many sessions may die without an outcome in between; then a human is called.
const DEATHS: u32 = 4;
/// Phases that act on the world outside of the workspace: whoever does not know whether one was done asks.
const OUTWARD: [Phase; 2] = [Phase::Submit, Phase::Deploy];

/// What a session decides by.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// The session.
    pub session: SessionId,
    /// What is to be run.
    pub plan: Plan,
    /// The bounds of the run.
    pub bounds: Bounds,
}

/// What is done next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// These events are journaled, together; what follows is decided then.
    Record(Vec<Event>),
    /// These events are journaled; when they are durable, an attempt of the phase starts.
    Start {
        /// What announces it.
        events: Vec<Event>,
        /// The phase.
        phase: Phase,
        /// The number of this start.
        attempt: u32,
    },
    /// The running stage is told to end.
    Stop(Stop),
    /// Nothing, until something happens or this moment comes.
    Wait(Option<Moment>),
    /// Every phase is done: that is confirmed, and then journaled.
    Complete,
    /// The session ends.
    End(RunEnd),
}

/// Chooses the next step.
///
/// # Panics
/// When the plan lacks a phase of the execution; a session does not begin with such a plan.
#[must_use]
pub fn decide(state: &State, live: &Live, rules: &Rules) -> Step {
    match (&live.running, state.status) {
        (Some(running), _) => watch(state, live, rules, running),
        (None, RunStatus::Completed) => Step::End(RunEnd::Completed),
        (None, _) if state.pending.is_some() => Step::End(RunEnd::Escalated),
        (None, _) => between(state, live, rules),
    }
}

/// A stage runs: it goes on, unless there is a reason to stop it.
fn watch(state: &State, live: &Live, rules: &Rules, running: &Running) -> Step {
    if running.stopping.is_some() {
        return Step::Wait(None);
    }
    if let Some(stop) = reason_to_stop(state, live, rules, running) {
        return Step::Stop(stop);
    }
    if live.uncharged >= HEARTBEAT {
        return Step::Record(charge(live).into_iter().collect());
    }
    Step::Wait(next_deadline(state, live, rules, running))
}

fn reason_to_stop(state: &State, live: &Live, rules: &Rules, running: &Running) -> Option<Stop> {
    if let Some(by) = live.interrupt {
        return Some(Stop::Interrupted(by));
    }
    if live.halt {
        return Some(Stop::Halted);
    }
    if state.counters.elapsed() + live.uncharged >= rules.bounds.triggers.timeout {
        return Some(Stop::RunTimeout);
    }
    if running.overflow {
        return Some(Stop::Overflow);
    }
    if running.waits_since.is_some() {
        return None;
    }
    let planned = stage(rules, running.phase);
    let over = |limit: Option<Duration>, since: Moment| limit.filter(|limit| live.now().since(since) >= *limit);
    over(planned.timeout, running.began)
        .map(Stop::Late)
        .or_else(|| over(planned.idle_timeout, running.heard).map(Stop::Silent))
}

/// The first moment at which time alone gives a reason to do something.
fn next_deadline(state: &State, live: &Live, rules: &Rules, running: &Running) -> Option<Moment> {
    if running.waits_since.is_some() {
        return None;
    }
    let planned = stage(rules, running.phase);
    let left = |limit: Option<Duration>, since: Moment| Some(limit?.saturating_sub(live.now().since(since)));
    let of_run = rules.bounds.triggers.timeout.saturating_sub(state.counters.elapsed() + live.uncharged);
    let charge = HEARTBEAT.saturating_sub(live.uncharged);
    let candidates =
        [left(planned.timeout, running.began), left(planned.idle_timeout, running.heard), Some(of_run), Some(charge)];
    candidates.into_iter().flatten().min().map(|left| live.now().later(left))
}

/// No stage runs.
fn between(state: &State, live: &Live, rules: &Rules) -> Step {
    if let Some((phase, stop)) = live.stopped {
        return stopped(state, live, rules, phase, stop);
    }
    if let Some(by) = live.interrupt {
        return Step::End(RunEnd::Interrupted { by });
    }
    if let Some(undecided) = &state.undecided {
        return Step::Record(vec![next(state, rules, undecided)]);
    }
    if let Some(due) = &state.due {
        return match due.next {
            NextAction::Proceed => unreachable!("nothing is due when a phase succeeded"),
            NextAction::Remediate => Step::Record(vec![remediation(state, rules)]),
            NextAction::Escalate { trigger } => call(state, live, rules, &Cause::failed(trigger, due)),
        };
    }
    match state.next_phase() {
        None => Step::Complete,
        Some(phase) if live.halt => stopped(state, live, rules, phase, Stop::Halted),
        Some(phase) => before(state, live, rules, phase),
    }
}

/// What follows from a failure (Exit Code Handling; Escalation Triggers).
fn next(state: &State, rules: &Rules, undecided: &Undecided) -> Event {
    let fired = state.counters.fired(&rules.bounds.triggers);
    let exit = state.checkpoints.get(&undecided.phase).map_or(PhaseExit::Blocked, |checkpoint| checkpoint.exit_code);
    let next = follows(exit, undecided, fired);
    Event::NextDecided { phase: undecided.phase, next, reason: undecided.reason.clone() }
}

fn follows(exit: PhaseExit, undecided: &Undecided, fired: Option<EscalationTrigger>) -> NextAction {
    match (exit, fired) {
        (_, Some(trigger @ EscalationTrigger::ContextOverflow)) => NextAction::Escalate { trigger },
        (PhaseExit::Success, _) => NextAction::Proceed,
        (PhaseExit::Retry, Some(trigger)) if undecided.remediable => NextAction::Escalate { trigger },
        (PhaseExit::Retry, None) if undecided.remediable => NextAction::Remediate,
        (PhaseExit::Retry | PhaseExit::Blocked, _) => NextAction::Escalate { trigger: undecided.trigger },
    }
}

fn remediation(state: &State, rules: &Rules) -> Event {
    Event::Remediation { number: state.counters.remediation_loops() + 1, of: rules.bounds.triggers.max_loops }
}

/// A phase is to be run: what comes before its next attempt.
fn before(state: &State, live: &Live, rules: &Rules, phase: Phase) -> Step {
    let planned = stage(rules, phase);
    let active = state.active_in(phase);
    if planned.skip {
        let checkpoint =
            skipped(state, phase, "it is to be skipped, by `skip: true` or by `--skip`", live.now().wall());
        return Step::Record(vec![Event::StageSkipped { checkpoint: Box::new(checkpoint) }]);
    }
    if let Some(cause) = reason_to_call(state, live, rules, phase, active) {
        return call(state, live, rules, &cause);
    }
    if let Some(until) = live.pause_ends.filter(|until| !until.since(live.now()).is_zero()) {
        if live.uncharged >= HEARTBEAT {
            return Step::Record(charge(live).into_iter().collect());
        }
        let of_run = rules.bounds.triggers.timeout.saturating_sub(state.counters.elapsed() + live.uncharged);
        let limit = live.now().later(of_run.min(HEARTBEAT.saturating_sub(live.uncharged)));
        return Step::Wait(Some(if limit.since(until).is_zero() { limit } else { until }));
    }
    // A session that died, or was stopped, had begun to wait.
    let probe = live.probe_at.filter(|_| state.outage_of(phase).is_some());
    if let Some(probe) = probe.filter(|probe| !probe.since(live.now()).is_zero()) {
        return Step::Wait(Some(probe));
    }
    start(state, live, planned, active)
}

/// What calls a human before an attempt even starts.
fn reason_to_call(state: &State, live: &Live, rules: &Rules, phase: Phase, active: Option<&Active>) -> Option<Cause> {
    let bounds = &rules.bounds;
    if state.counters.elapsed() + live.uncharged >= bounds.triggers.timeout {
        return Some(match active {
            Some(_) => Cause::stopped(phase, Stop::RunTimeout, bounds),
            None => Cause::not_started(phase, EscalationTrigger::Timeout),
        });
    }
    if let Some(trigger) = state.counters.fired(&bounds.triggers) {
        return Some(Cause::not_started(phase, trigger));
    }
    if state.deaths >= DEATHS {
        return Some(Cause::died(phase, active.is_some(), state.deaths));
    }
    let asks = bounds.in_doubt == InDoubt::Ask;
    if asks && OUTWARD.contains(&phase) && active.is_some_and(|active| active.in_doubt) {
        return Some(Cause::in_doubt(phase));
    }
    let approved = state.deploy == ApprovalState::Given;
    let asks = bounds.deploy_approval && phase == Phase::Deploy && !approved;
    asks.then(|| Cause::approval(stage(rules, phase), &live.deploy_files))
}

fn start(state: &State, live: &Live, planned: &Stage, active: Option<&Active>) -> Step {
    let phase = planned.phase;
    let attempt = state.next_attempt(phase);
    let used = active.map_or(0, |active| active.failures.len());
    let left = planned.retries.saturating_sub(u32::try_from(used).unwrap_or(u32::MAX));
    // A phase that begins anew begins in a new session.
    let known = state.agents.get(&phase).is_some_and(|agent| agent.session.is_some());
    let dropped = active.is_none() && planned.agent().is_some() && known;
    let mut events: Vec<Event> = charge(live).into_iter().collect();
    events.extend(dropped.then_some(Event::AgentSessionDropped { phase }));
    events.push(Event::AttemptStarted { phase, stage: None, attempt, of: attempt + left });
    Step::Start { events, phase, attempt }
}

/// A stage was stopped without an outcome, or a halt was asked for while none ran.
fn stopped(state: &State, live: &Live, rules: &Rules, phase: Phase, stop: Stop) -> Step {
    match stop {
        Stop::Interrupted(by) => Step::End(RunEnd::Interrupted { by }),
        Stop::OutOfPatience(until) => Step::End(RunEnd::Paused { pause: Pause::Limit { until } }),
        Stop::Outage { since } => Step::End(RunEnd::Paused { pause: Pause::Outage { since } }),
        Stop::Cancelled => Step::End(RunEnd::Paused { pause: Pause::AgentCancelled }),
        Stop::NotApproved => call(state, live, rules, &Cause::not_approved(state)),
        Stop::GateChanged { has_run } => call(state, live, rules, &Cause::gate_changed(state, phase, has_run)),
        stop => call(state, live, rules, &Cause::stopped(phase, stop, &rules.bounds)),
    }
}

fn call(state: &State, live: &Live, rules: &Rules, cause: &Cause) -> Step {
    let (_, event) = call_human(state, &rules.session, cause, live.now().wall());
    // Whoever approves a deployment agrees to what it runs now.
    let shown = (cause.approval && !live.deploy_files.is_empty())
        .then(|| Event::GateChanged { phase: cause.phase, files: live.deploy_files.clone() });
    Step::Record(charge(live).into_iter().chain(shown).chain([event]).collect())
}

/// The time that is not journaled yet, as an event; `None` when it is below a millisecond.
#[must_use]
pub fn charge(live: &Live) -> Option<Event> {
    let elapsed_ms = u64::try_from(live.uncharged.as_millis()).unwrap_or(u64::MAX);
    (elapsed_ms > 0).then_some(Event::TimeCharged { elapsed_ms })
}

fn stage(rules: &Rules, phase: Phase) -> &Stage {
    rules.plan.stage(phase).expect("a session begins only with a plan that has every phase")
}

#[cfg(test)]
mod tests;
