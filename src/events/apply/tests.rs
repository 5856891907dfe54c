use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::contract::{
    EscalationContext, EscalationState, EscalationTrigger, ExecutionId, Finding, SessionId, Severity,
};
use crate::events::{CycleMark, EVENT_VERSION, RunOrigin};
use crate::policy::Signature;

fn at(second: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1_769_868_000 + second)
}

fn id() -> ExecutionId {
    ExecutionId::new("exec-1").expect("not empty")
}

fn session() -> SessionId {
    SessionId::new("session-1").expect("not empty")
}

const PHASES: [Phase; 3] = [Phase::Implementation, Phase::Audit, Phase::Deploy];

/// The state after an execution of three phases was begun, a session started, and these happened, one a second.
fn after(events: &[Event]) -> State {
    let origin = RunOrigin::config();
    let (phases, overrides) = (PHASES.to_vec(), Vec::new());
    let begun = Event::ExecutionStarted {
        execution: id(),
        phases: phases.clone(),
        origin: origin.clone(),
        overrides: overrides.clone(),
    };
    let started =
        Event::SessionStarted { session: session(), pid: 1, resumed: false, swept: 0, phases, origin, overrides };
    let all = [begun, started].into_iter().chain(events.iter().cloned());
    let envelopes: Vec<Envelope> = (1..)
        .zip(all)
        .map(|(seq, event)| {
            let second = i64::try_from(seq).expect("few");
            Envelope { version: EVENT_VERSION, seq, at: at(second), epoch: 1, event }
        })
        .collect();
    // What is read back is what was written.
    let text = serde_json::to_string(&envelopes).expect("plain data");
    assert_eq!(serde_json::from_str::<Vec<Envelope>>(&text).expect("plain data"), envelopes);
    State::fold(&envelopes).expect("it begins an execution")
}

fn checkpoint(phase: Phase, exit_code: PhaseExit) -> Checkpoint {
    Checkpoint {
        execution_id: id(),
        phase,
        created_at: at(0),
        exit_code,
        summary: "s".into(),
        decisions: Vec::new(),
        artifacts: Vec::new(),
        errors: Vec::new(),
        metrics: None,
    }
}

fn started(phase: Phase, attempt: u32) -> Event {
    Event::AttemptStarted { phase, stage: None, attempt, of: 4 }
}

fn concluded(phase: Phase, exit: PhaseExit) -> Event {
    let remediable = phase == Phase::Audit && exit == PhaseExit::Retry;
    let finding =
        Finding { id: "F-1".into(), severity: Severity::High, category: "bug".into(), description: "d".into() };
    let cycle = CycleMark { head: None, tree: Some("same".to_owned()), findings: None };
    Event::StageConcluded {
        stage: None,
        checkpoint: Box::new(checkpoint(phase, exit)),
        attempts: 1,
        duration_ms: 7,
        failure: remediable.then(|| Signature::of(std::slice::from_ref(&finding), &[], "")).flatten(),
        trigger: None,
        overflow: false,
        remediable,
        findings: if remediable { vec![finding] } else { Vec::new() },
        cycle: remediable.then_some(cycle),
        tree: None,
    }
}

fn called(number: u32, phase: Phase, approval: bool) -> Event {
    let report = EscalationReport {
        execution_id: id(),
        session_id: session(),
        trigger: EscalationTrigger::Manual,
        phase,
        timestamp: at(50),
        state: EscalationState { phases: Vec::new(), last_checkpoint: None, remaining_findings: Vec::new() },
        context: EscalationContext {
            last_decisions: Vec::new(),
            remediation_attempts: 0,
            suggested_actions: Vec::new(),
        },
    };
    Event::Escalated { number, report: Box::new(report), reason: "because".into(), approval }
}

fn answered(escalation: u32, action: ResolutionAction) -> Event {
    Event::Resolved { escalation, resolution: Resolution { action, notes: None }, unguarded: true }
}

#[test]
fn what_is_next_follows_from_what_was_concluded() {
    use Phase::{Audit, Deploy, Implementation};
    let done = |phase| concluded(phase, PhaseExit::Success);
    let remediation = Event::Remediation { number: 1, of: 3 };
    let failed = concluded(Audit, PhaseExit::Retry);
    let rows: &[(&[Event], Option<Phase>)] = &[
        (&[], Some(Implementation)),
        (&[started(Implementation, 1)], Some(Implementation)),
        (&[done(Implementation)], Some(Audit)),
        (&[done(Implementation), concluded(Audit, PhaseExit::Blocked)], Some(Audit)),
        (&[done(Implementation), failed.clone(), remediation.clone()], Some(Implementation)),
        (&[done(Implementation), failed, remediation, done(Implementation)], Some(Audit)),
        (&[done(Implementation), done(Audit), done(Deploy)], None),
        (&[done(Implementation), done(Audit), Event::PhaseReopened { phase: Implementation }], Some(Implementation)),
    ];
    for (events, next) in rows {
        assert_eq!(after(events).next_phase(), *next, "{events:?}");
    }
}

#[test]
fn retries_that_were_used_stay_used_and_an_interruption_uses_none() {
    let phase = Phase::Implementation;
    let backed_off = Event::BackedOff {
        phase,
        stage: None,
        attempt: 2,
        failure: None,
        reason: "exit 1".into(),
        delay_ms: 5,
        not_before: at(9),
    };
    let ended =
        |exit| Event::AttemptEnded { phase, stage: None, attempt: 1, exit, reason: None, context_tokens: Some(7) };
    let rows = [
        (vec![started(phase, 1)], Some((1, 0))),
        (vec![started(phase, 1), ended(None)], Some((1, 0))),
        (vec![started(phase, 1), ended(Some(PhaseExit::Retry))], Some((1, 0))),
        (vec![started(phase, 1), ended(Some(PhaseExit::Retry)), backed_off.clone()], Some((2, 1))),
        (vec![started(phase, 1), backed_off.clone(), started(phase, 2)], Some((2, 1))),
        (vec![started(phase, 1), backed_off, concluded(phase, PhaseExit::Success)], None),
        (vec![started(phase, 1), called(1, phase, false), answered(1, ResolutionAction::FixAndResume)], None),
    ];
    for (events, expected) in rows {
        let state = after(&events);
        let active = state.active_in(phase).map(|active| (active.attempt, active.failures.len()));
        assert_eq!(active, expected, "{events:?}");
    }
    let twice = after(&[started(phase, 1), ended(None), started(phase, 1)]);
    assert_eq!(twice.active_in(phase).expect("at work").began, Some(at(3)), "when the first one began");
    assert_eq!(after(&[ended(None)]).context_tokens, Some(7));
}

#[test]
fn what_was_decided_is_due_until_it_happened() {
    let phase = Phase::Audit;
    let decided = |next| Event::NextDecided { phase, next, reason: "because".into() };
    let trigger = EscalationTrigger::Manual;
    let escalate = NextAction::Escalate { trigger };
    assert_eq!(after(&[decided(NextAction::Proceed)]).due, None);
    let due = after(&[decided(escalate)]).due.expect("due");
    assert_eq!((due.next, due.phase), (escalate, phase));
    assert_eq!(after(&[decided(escalate), called(1, phase, false)]).due, None);
    let remediated = after(&[decided(NextAction::Remediate), Event::Remediation { number: 1, of: 3 }]);
    assert_eq!((remediated.due, remediated.counters.remediation_loops()), (None, 1));
}

#[test]
fn an_answer_decides_how_it_goes_on() {
    use ResolutionAction::{Abort, FixAndResume, Reset, SkipPhase};
    let stopped = [concluded(Phase::Implementation, PhaseExit::Blocked), called(1, Phase::Implementation, false)];
    let with = |action| after(&[&stopped[..], &[answered(1, action)]].concat());
    let waiting = after(&stopped);
    assert_eq!((waiting.status, waiting.pending.as_ref().map(|it| it.number)), (RunStatus::Escalated, Some(1)));
    assert_eq!(waiting.reports.len(), 1);
    let fixed = with(FixAndResume);
    assert_eq!((fixed.status, fixed.next_phase()), (RunStatus::Resolved, Some(Phase::Implementation)));
    assert!(fixed.reopened.contains(&Phase::Implementation) && fixed.pending.is_none());
    assert_eq!(with(Abort).status, RunStatus::Aborted);
    assert_eq!(with(SkipPhase).status, RunStatus::Resolved);
    let reset = with(Reset);
    assert!(reset.pending.is_some(), "it waits until another execution stands in its place");
    assert_eq!(reset.resolutions.len(), 1);
    let skipped = Event::StageSkipped { checkpoint: Box::new(checkpoint(Phase::Implementation, PhaseExit::Success)) };
    let skipped = after(&[&stopped[..], &[answered(1, SkipPhase), skipped]].concat());
    assert_eq!(skipped.next_phase(), Some(Phase::Audit));
    let nobody_asked = after(&[answered(1, FixAndResume)]);
    assert_eq!(nobody_asked.status, RunStatus::Running, "an answer to nothing changes nothing");
}

#[test]
fn only_an_answer_to_its_own_question_approves_a_deployment() {
    use ResolutionAction::{FixAndResume, SkipPhase};
    let asked = called(1, Phase::Deploy, true);
    for (events, deploy) in [
        (vec![], ApprovalState::NotAsked),
        (vec![asked.clone()], ApprovalState::Asked),
        (vec![asked.clone(), answered(1, FixAndResume)], ApprovalState::Given),
        (vec![asked.clone(), answered(1, SkipPhase)], ApprovalState::NotAsked),
        (
            vec![asked.clone(), answered(1, SkipPhase), called(2, Phase::Audit, false), answered(2, FixAndResume)],
            ApprovalState::NotAsked,
        ),
        (vec![called(1, Phase::Audit, false), answered(1, FixAndResume)], ApprovalState::NotAsked),
    ] {
        assert_eq!(after(&events).deploy, deploy, "{events:?}");
    }
}

#[test]
fn what_a_human_adopts_of_a_phase_that_was_cut_off_ends_the_doubt_only_as_a_success() {
    let died = Event::SessionDied { session: session() };
    for (exit, in_doubt) in
        [(PhaseExit::Success, None), (PhaseExit::Retry, Some(true)), (PhaseExit::Blocked, Some(true))]
    {
        let adopted = Event::CheckpointAdopted { checkpoint: Box::new(checkpoint(Phase::Deploy, exit)) };
        let state = after(&[started(Phase::Deploy, 1), died.clone(), adopted]);
        assert_eq!(state.active_in(Phase::Deploy).map(|active| active.in_doubt), in_doubt, "{exit:?}");
    }
}

#[test]
fn audits_count_issues_and_cycles_without_a_change() {
    let failed = || concluded(Phase::Audit, PhaseExit::Retry);
    let limits = crate::policy::TriggerLimits { no_progress: 1, same_issue: 9, ..Default::default() };
    assert_eq!(after(&[failed()]).counters.fired(&limits), None);
    let again = after(&[failed(), failed()]);
    assert_eq!(again.counters.fired(&limits), Some(EscalationTrigger::NoProgress), "the tree is the same");
    assert_eq!(again.findings.len(), 1);
    let passed = after(&[failed(), concluded(Phase::Audit, PhaseExit::Success)]);
    assert_eq!((passed.cycle, passed.findings.len()), (None, 0));
}

#[test]
fn a_session_that_ends_leaves_a_state_to_resume() {
    use crate::events::Pause;
    use crate::system::process::Interrupt;
    for (end, status) in [
        (RunEnd::Interrupted { by: Interrupt::Interrupt }, RunStatus::Interrupted),
        (RunEnd::Paused { pause: Pause::AgentCancelled }, RunStatus::Interrupted),
        (RunEnd::Failed { error: "no room".into() }, RunStatus::Interrupted),
        (RunEnd::Other, RunStatus::Running),
    ] {
        let state = after(&[Event::SessionEnded { end: end.clone() }]);
        assert_eq!(state.status, status, "{end:?}");
        assert_eq!(state.last_error.is_some(), matches!(end, RunEnd::Failed { .. }));
    }
    assert_eq!(after(&[Event::ExecutionCompleted]).status, RunStatus::Completed);
}

#[test]
fn an_agents_session_belongs_to_its_backend() {
    let phase = Phase::Implementation;
    let did = |agent| Event::Agent { phase, agent };
    let begins = |backend: &str| {
        did(AgentActivity::Attempt {
            number: 1,
            backend: backend.to_owned(),
            begins: crate::events::Begins::New,
            session: None,
        })
    };
    let named = || did(AgentActivity::Session { session: "s-1".to_owned() });
    let session = |events: &[Event]| after(events).agents.get(&phase).and_then(|agent| agent.session.clone());
    assert_eq!(session(&[begins("claude"), named()]).as_deref(), Some("s-1"));
    assert_eq!(session(&[begins("claude"), named(), begins("claude")]).as_deref(), Some("s-1"));
    assert_eq!(session(&[begins("claude"), named(), begins("codex")]), None);
    assert_eq!(session(&[begins("claude"), named(), Event::AgentSessionDropped { phase }]), None);
}

#[test]
fn nothing_but_a_beginning_begins_an_execution() {
    let envelope = |event| Envelope { version: EVENT_VERSION, seq: 1, at: at(0), epoch: 1, event };
    assert_eq!(State::fold(&[]), None);
    assert_eq!(State::fold(&[envelope(Event::ExecutionCompleted)]), None);
    let unknown = r#"{"version":2,"seq":3,"at":"2026-01-31T14:00:00Z","epoch":1,"event":"danced","with":"whom"}"#;
    let unknown: Envelope = serde_json::from_str(unknown).expect("an event of a newer program");
    assert_eq!(unknown.event, Event::Other);
}

/// Two stages of one phase, both at work.
fn two_stages() -> Vec<Event> {
    let begins = |stage: &str, attempt| Event::AttemptStarted {
        phase: Phase::Implementation,
        stage: Some(StageId::new(stage)),
        attempt,
        of: 4,
    };
    vec![begins("one", 1), begins("two", 2)]
}

#[test]
fn stages_that_are_at_work_together_end_apart() {
    let phase = Phase::Implementation;
    let one = || Some(StageId::new("one"));
    let ended =
        |exit| Event::AttemptEnded { phase, stage: one(), attempt: 1, exit, reason: None, context_tokens: None };
    let Event::StageConcluded { checkpoint, cycle, .. } = concluded(phase, PhaseExit::Retry) else { unreachable!() };
    let concluded = Event::StageConcluded {
        stage: one(),
        checkpoint,
        attempts: 1,
        duration_ms: 7,
        failure: None,
        trigger: None,
        overflow: false,
        remediable: false,
        findings: Vec::new(),
        cycle,
        tree: None,
    };
    // Of each stage, when it is at work: whether it runs, and whether nobody knows how far it came.
    let rows = [
        (vec![], [Some((true, false)), Some((true, false))]),
        (vec![ended(Some(PhaseExit::Retry))], [Some((false, false)), Some((true, false))]),
        (vec![ended(None)], [Some((false, true)), Some((true, false))]),
        (vec![ended(Some(PhaseExit::Retry)), concluded], [None, Some((true, false))]),
        (vec![Event::SessionDied { session: session() }], [Some((false, true)), Some((false, true))]),
        (
            vec![Event::SessionEnded { end: RunEnd::Failed { error: "no room".into() } }],
            [Some((false, true)), Some((false, true))],
        ),
    ];
    for (events, expected) in rows {
        let state = after(&[two_stages(), events.clone()].concat());
        let of = |stage| state.active.get(&StageId::new(stage)).map(|active| (active.is_running, active.in_doubt));
        assert_eq!([of("one"), of("two")], expected, "{events:?}");
        assert_eq!((state.next_attempt(phase), state.phase_at_work()), (3, Some(phase)));
    }
}

#[test]
fn the_one_active_phase_of_earlier_programs_is_a_stage_of_its_name() {
    let state = after(&[started(Phase::Design, 1)]);
    let mut written = serde_json::to_value(&state).expect("plain data");
    assert!(written["active"]["design"].is_object(), "{written}");
    assert_eq!(serde_json::from_value::<State>(written.clone()).expect("what was written"), state);
    written["active"] = written["active"]["design"].take();
    assert_eq!(serde_json::from_value::<State>(written).expect("what earlier programs wrote"), state);
}

#[test]
fn an_answer_of_which_nobody_recorded_where_it_was_given_is_unguarded() {
    let answer = answered(1, ResolutionAction::FixAndResume);
    let mut old = serde_json::to_value(&answer).expect("plain data");
    assert_eq!(old["unguarded"], true);
    old.as_object_mut().expect("an object").remove("unguarded");
    assert_eq!(serde_json::from_value::<Event>(old.clone()).expect("read as before"), answer);
    old["unguarded"] = false.into();
    assert!(matches!(serde_json::from_value(old), Ok(Event::Resolved { unguarded: false, .. })));
}
