use std::collections::BTreeMap;

use jiff::Timestamp;

use super::*;
use crate::config::{BoundaryMode, Lifetime, Network};
use crate::contract::{Checkpoint, ContextLimits, EffortConfig, ExecutionId};
use crate::events::{EVENT_VERSION, Envelope, RunOrigin};
use crate::policy::{Backoff, Limits, Redactor, StageOutcome, TriggerLimits};
use crate::runner::{Notification, Work};
use crate::system::process::Interrupt;
use EscalationTrigger as T;

mod outage;

fn wall(second: i64) -> Timestamp {
    Timestamp::from_second(1_769_868_000 + second).expect("in range")
}

fn at(second: u64) -> Moment {
    Moment::of(wall(i64::try_from(second).expect("small")), Duration::from_secs(second))
}

fn stage_of(phase: Phase) -> Stage {
    Stage {
        phase,
        work: Some(Work::Command(vec!["true".to_owned()])),
        verify: None,
        env: BTreeMap::new(),
        timeout: Some(Duration::from_mins(1)),
        idle_timeout: Some(Duration::from_secs(30)),
        retries: 3,
        backoff: Backoff { jitter: 0.0, ..Backoff::default() },
        boundary: BoundaryMode::Auto,
        network: Network::Host,
        limits: Limits::default(),
        skip: false,
    }
}

fn bounds() -> Bounds {
    Bounds {
        triggers: TriggerLimits::default(),
        context: ContextLimits { soft: 1, hard: 2 },
        editing: None,
        compaction: None,
        deploy_approval: true,
        in_doubt: InDoubt::Ask,
        grace: Duration::ZERO,
        limit_patience: Duration::ZERO,
        outage_patience: Duration::from_hours(2),
        outage_codes: Vec::new(),
        lifetime: Lifetime::Stage,
        gateway: None,
        notification: Notification::default(),
        operator: None,
        effort: None::<EffortConfig>,
        memories: None,
        protects: Vec::new(),
        redactor: Redactor::default(),
        log_limit: 0,
        find_artifacts: false,
    }
}

fn rules(phases: &[Phase]) -> Rules {
    let plan = Plan::new(phases.iter().map(|phase| stage_of(*phase)).collect()).expect("a plan");
    Rules { session: SessionId::new("session").expect("not empty"), plan, bounds: bounds() }
}

/// An execution of these phases after these events.
fn state(phases: &[Phase], events: Vec<Event>) -> State {
    let execution = ExecutionId::new("exec-1").expect("not empty");
    let first =
        Event::ExecutionStarted { execution, phases: phases.to_vec(), origin: RunOrigin::config(), overrides: vec![] };
    let numbered = (1..).zip([vec![first], events].concat());
    let envelopes: Vec<Envelope> =
        numbered.map(|(seq, event)| Envelope { version: EVENT_VERSION, seq, at: wall(0), epoch: 1, event }).collect();
    State::fold(&envelopes).expect("it begins")
}

fn live(now: u64) -> Live {
    Live::new(at(now), Duration::ZERO)
}

fn running(phase: Phase, now: u64) -> Live {
    let mut live = live(now);
    let (began, heard) = (at(now), at(now));
    live.running =
        Some(Running { phase, attempt: 1, began, heard, waits_since: None, overflow: false, stopping: None });
    live
}

fn started(phase: Phase, attempt: u32) -> Event {
    Event::AttemptStarted { phase, stage: None, attempt, of: 4 }
}

fn died() -> Event {
    Event::SessionDied { session: SessionId::new("dead").expect("not empty") }
}

fn attempt(end: Result<StageOutcome, Stop>) -> Attempt {
    Attempt {
        end,
        result: None,
        result_refused: None,
        words: Words { stdout: String::new(), stderr: "sh: 1: nothing: not found\n".to_owned() },
        in_gate: false,
        wait: None,
        said: None,
        unverified: false,
        context_tokens: None,
        overflow: false,
    }
}

/// What follows from the end of an attempt, in the state that it leads to.
fn after(state: &State, live: &Live, rules: &Rules, phase: Phase, attempt: &Attempt) -> (State, Vec<Event>) {
    let events = ended(state, live, rules, (phase, attempt), Survey::default(), 0.0);
    let mut state = state.clone();
    for event in &events {
        let seq = state.seq + 1;
        state.apply(&Envelope { version: EVENT_VERSION, seq, at: wall(1), epoch: 1, event: event.clone() });
    }
    (state, events)
}

fn called(step: &Step) -> (T, String) {
    let Step::Record(events) = step else { panic!("{step:?}") };
    let Some(Event::Escalated { report, reason, .. }) = events.last() else { panic!("{events:?}") };
    (report.trigger, reason.raw().to_owned())
}

#[test]
fn a_phase_is_announced_before_it_starts_and_every_start_has_a_number_of_its_own() {
    let rules = rules(&[Phase::Design, Phase::Audit]);
    let fresh = state(&[Phase::Design, Phase::Audit], vec![]);
    let Step::Start { events, phase, attempt } = decide(&fresh, &live(0), &rules) else { panic!("it starts") };
    assert_eq!((phase, attempt), (Phase::Design, 1));
    assert_eq!(events, [Event::AttemptStarted { phase, stage: None, attempt: 1, of: 4 }]);
    // A death costs a number and no retry.
    let lost = state(&[Phase::Design], vec![started(Phase::Design, 1), died()]);
    let Step::Start { events, .. } = decide(&lost, &live(0), &rules) else { panic!("it starts") };
    assert_eq!(events, [Event::AttemptStarted { phase, stage: None, attempt: 2, of: 5 }]);
}

#[test]
fn the_fourth_death_without_an_outcome_in_between_calls_a_human() {
    let rules = rules(&[Phase::Design]);
    let deaths = |count: u32| (1..=count).flat_map(|n| [started(Phase::Design, n), died()]).collect::<Vec<_>>();
    assert!(matches!(decide(&state(&[Phase::Design], deaths(3)), &live(0), &rules), Step::Start { attempt: 4, .. }));
    let (trigger, reason) = called(&decide(&state(&[Phase::Design], deaths(4)), &live(0), &rules));
    assert_eq!(trigger, T::Manual);
    assert!(reason.contains("4 sessions in a row died"), "{reason}");
    let outcome = Event::AttemptEnded {
        stage: None,
        phase: Phase::Design,
        attempt: 4,
        exit: Some(PhaseExit::Retry),
        reason: None,
        context_tokens: None,
    };
    let between = [deaths(3), vec![started(Phase::Design, 4), outcome], deaths(1)].concat();
    assert!(matches!(decide(&state(&[Phase::Design], between), &live(0), &rules), Step::Start { .. }));
}

#[test]
fn what_acts_outside_and_was_cut_off_asks_unless_it_may_be_repeated() {
    for (phase, in_doubt, asks) in [
        (Phase::Deploy, InDoubt::Ask, true),
        (Phase::Submit, InDoubt::Ask, true),
        (Phase::Submit, InDoubt::Repeat, false),
        (Phase::Deploy, InDoubt::Repeat, false),
        (Phase::Design, InDoubt::Ask, false),
    ] {
        let mut rules = rules(&[phase]);
        // Neither follows from the other: a deployment that nobody has to approve is not one that may be made twice.
        (rules.bounds.deploy_approval, rules.bounds.in_doubt) = (false, in_doubt);
        let step = decide(&state(&[phase], vec![started(phase, 1), died()]), &live(0), &rules);
        match step {
            Step::Start { attempt, .. } => assert!(!asks && attempt == 2, "{phase}"),
            step => assert!(asks && called(&step).1.contains("nobody knows how far it came"), "{phase}"),
        }
    }
}

#[test]
fn deploy_waits_for_its_approval() {
    let rules = rules(&[Phase::Deploy]);
    let (trigger, reason) = called(&decide(&state(&[Phase::Deploy], vec![]), &live(0), &rules));
    assert_eq!((trigger, reason.contains("approval")), (T::Manual, true));
}

#[test]
fn a_pause_holds_the_next_attempt_back_also_in_the_next_session() {
    let rules = rules(&[Phase::Design]);
    let began = state(&[Phase::Design], vec![started(Phase::Design, 1)]);
    let failed = attempt(Ok(StageOutcome::exited(1)));
    let (paused, events) = after(&began, &running(Phase::Design, 10), &rules, Phase::Design, &failed);
    let Some(Event::BackedOff { attempt: 2, delay_ms: 5_000, not_before, reason, .. }) = events.last() else {
        panic!("{events:?}")
    };
    assert_eq!(*not_before, wall(15));
    assert_eq!(reason, "exit 1: sh: 1: nothing: not found");
    let mut waits = live(10);
    waits.pause_ends = Some(at(15));
    assert_eq!(decide(&paused, &waits, &rules), Step::Wait(Some(at(15))));
    let mut over = live(15);
    over.pause_ends = Some(at(15));
    assert!(matches!(decide(&paused, &over, &rules), Step::Start { attempt: 2, .. }));
}

type Change<'a> = &'a dyn Fn(&mut Live);

#[test]
fn a_stage_is_stopped_for_the_first_reason_that_holds() {
    let rules = rules(&[Phase::Design]);
    let began = state(&[Phase::Design], vec![started(Phase::Design, 1)]);
    let step = |change: Change<'_>| {
        let mut live = running(Phase::Design, 0);
        change(&mut live);
        decide(&began, &live, &rules)
    };
    let rows: [(Change<'_>, Step); 6] = [
        (&|_| {}, Step::Wait(Some(at(5)))),
        (&|live| live.interrupt = Some(Interrupt::Terminate), Step::Stop(Stop::Interrupted(Interrupt::Terminate))),
        (&|live| live.halt = true, Step::Stop(Stop::Halted)),
        (&|live| live.uncharged = Duration::from_hours(8), Step::Stop(Stop::RunTimeout)),
        (&|live| live.running.as_mut().expect("it runs").overflow = true, Step::Stop(Stop::Overflow)),
        (&|live| live.uncharged = Duration::from_secs(5), Step::Record(vec![Event::TimeCharged { elapsed_ms: 5_000 }])),
    ];
    for (number, (change, expected)) in rows.into_iter().enumerate() {
        assert_eq!(step(change), expected, "row {number}");
    }
}

#[test]
fn deadlines_are_of_the_attempt_and_of_its_silence() {
    let rules = rules(&[Phase::Design]);
    let began = state(&[Phase::Design], vec![started(Phase::Design, 1)]);
    let (limit, silence) = (Duration::from_mins(1), Duration::from_secs(30));
    for (began_at, heard, now, expected) in [
        (0, 0, 29, None),
        (0, 0, 30, Some(Stop::Silent(silence))),
        (0, 31, 60, Some(Stop::Late(limit))),
        (0, 31, 59, None),
    ] {
        let mut live = running(Phase::Design, now);
        let running = live.running.as_mut().expect("it runs");
        (running.began, running.heard) = (at(began_at), at(heard));
        match decide(&began, &live, &rules) {
            Step::Stop(stop) => assert_eq!(Some(stop), expected, "{now}"),
            step => assert!(expected.is_none() && matches!(step, Step::Wait(Some(_))), "{now}: {step:?}"),
        }
        live.running.as_mut().expect("it runs").waits_since = Some(at(now));
        assert_eq!(decide(&began, &live, &rules), Step::Wait(None), "a wait for a provider is nobody's time");
    }
}

#[test]
fn what_follows_each_outcome() {
    let undecided =
        |remediable| Undecided { phase: Phase::Audit, remediable, trigger: T::NoProgress, reason: "".into() };
    let rows = [
        // A success goes on, whatever counter stands where; a context that is over stops even then.
        (PhaseExit::Success, false, None, NextAction::Proceed),
        (PhaseExit::Success, false, Some(T::Timeout), NextAction::Proceed),
        (PhaseExit::Success, false, Some(T::ContextOverflow), NextAction::Escalate { trigger: T::ContextOverflow }),
        // The audit's exit 1 is work to do, until a counter says enough.
        (PhaseExit::Retry, true, None, NextAction::Remediate),
        (PhaseExit::Retry, true, Some(T::MaxLoops), NextAction::Escalate { trigger: T::MaxLoops }),
        (PhaseExit::Retry, true, Some(T::SameIssue), NextAction::Escalate { trigger: T::SameIssue }),
        // Any other failure is beyond retries here.
        (PhaseExit::Retry, false, None, NextAction::Escalate { trigger: T::NoProgress }),
        (PhaseExit::Retry, false, Some(T::ContextOverflow), NextAction::Escalate { trigger: T::ContextOverflow }),
        (PhaseExit::Blocked, false, None, NextAction::Escalate { trigger: T::NoProgress }),
        (PhaseExit::Blocked, false, Some(T::Timeout), NextAction::Escalate { trigger: T::NoProgress }),
    ];
    for (exit, remediable, fired, expected) in rows {
        assert_eq!(follows(exit, &undecided(remediable), fired), expected, "{exit:?} {remediable} {fired:?}");
    }
}

#[test]
fn only_the_audits_own_exit_1_is_remediable_and_only_where_there_is_an_implementation() {
    let both = [Phase::Implementation, Phase::Audit];
    let late = Err(Stop::Late(Duration::from_secs(1)));
    let rows = [
        (&both[..], Phase::Audit, Ok(StageOutcome::exited(1)), true),
        (&both[1..], Phase::Audit, Ok(StageOutcome::exited(1)), false),
        (&both, Phase::Audit, Ok(StageOutcome::exited(2)), false),
        (&both, Phase::Audit, late, false),
        (&both, Phase::Implementation, Ok(StageOutcome::exited(1)), false),
    ];
    for (phases, phase, end, expected) in rows {
        let mut rules = rules(phases);
        let stages = phases.iter().map(|phase| Stage { retries: 0, ..stage_of(*phase) });
        rules.plan = Plan::new(stages.collect()).expect("a plan");
        let began = state(phases, vec![started(phase, 1)]);
        let (next, _) = after(&began, &running(phase, 0), &rules, phase, &attempt(end.clone()));
        assert_eq!(next.undecided.as_ref().map(|it| it.remediable), Some(expected), "{phase} {end:?}");
        let Step::Record(events) = decide(&next, &live(0), &rules) else { panic!("decided first") };
        let remediates = matches!(events[..], [Event::NextDecided { next: NextAction::Remediate, .. }]);
        assert_eq!(remediates, expected, "{phase} {end:?}");
    }
}

#[test]
fn an_exit_that_came_first_is_the_outcome_and_a_stop_alone_is_none() {
    let rules = rules(&[Phase::Design]);
    let began = state(&[Phase::Design], vec![started(Phase::Design, 1)]);
    let mut live = running(Phase::Design, 0);
    live.interrupt = Some(Interrupt::Interrupt);
    let done = attempt(Ok(StageOutcome::exited(0)));
    let (next, _) = after(&began, &live, &rules, Phase::Design, &done);
    assert!(next.is_completed(Phase::Design));
    let cut = attempt(Err(Stop::Interrupted(Interrupt::Interrupt)));
    let (next, events) = after(&began, &live, &rules, Phase::Design, &cut);
    assert!(matches!(events[..], [Event::AttemptEnded { exit: None, .. }]), "{events:?}");
    assert!(next.active_in(Phase::Design).expect("it goes on").in_doubt);
}

#[test]
fn a_failure_tells_the_last_words_of_each_of_its_attempts() {
    let mut rules = rules(&[Phase::Design]);
    rules.plan = Plan::new(vec![Stage { retries: 1, ..stage_of(Phase::Design) }]).expect("a plan");
    let began = state(&[Phase::Design], vec![started(Phase::Design, 1)]);
    let live = running(Phase::Design, 0);
    let (paused, _) = after(&began, &live, &rules, Phase::Design, &attempt(Ok(StageOutcome::exited(1))));
    let errors_after = |code| {
        let (ended, _) = after(&paused, &live, &rules, Phase::Design, &attempt(Ok(StageOutcome::exited(code))));
        let checkpoint: &Checkpoint = ended.checkpoint(Phase::Design).expect("concluded");
        let errors =
            checkpoint.errors.iter().map(|error| (error.code.raw().to_owned(), error.message.raw().to_owned()));
        (checkpoint.summary.raw().to_owned(), errors.collect::<Vec<_>>())
    };
    let failed = |text: &str| ("ATTEMPT_FAILED".to_owned(), text.to_owned());
    let first = failed("attempt 1: exit 1: sh: 1: nothing: not found");
    let unknown = "the phase ended with exit code 127; the contract knows 0, 1 and 2: sh: 1: nothing: not found";
    let odd = ("UNKNOWN_EXIT_127".to_owned(), unknown.to_owned());
    let rows = [
        (0, "design completed in 2 attempts".to_owned(), vec![first.clone()]),
        (
            1,
            "design failed in 2 attempts: exit 1: sh: 1: nothing: not found".to_owned(),
            vec![first.clone(), failed("attempt 2: exit 1: sh: 1: nothing: not found")],
        ),
        (
            2,
            "design failed in 2 attempts: exit 2: sh: 1: nothing: not found".to_owned(),
            vec![first.clone(), failed("attempt 2: exit 2: sh: 1: nothing: not found")],
        ),
        (127, format!("design failed in 2 attempts: {unknown}"), vec![odd, first]),
    ];
    for (code, summary, errors) in rows {
        assert_eq!(errors_after(code), (summary, errors), "exit {code}");
    }
}

#[test]
fn last_words_are_those_of_either_stream_of_the_gate_or_of_the_agent() {
    let rules = rules(&[Phase::Design]);
    let began = state(&[Phase::Design], vec![started(Phase::Design, 1)]);
    let words = |stdout: &str, stderr: &str| Words { stdout: stdout.to_owned(), stderr: stderr.to_owned() };
    let late = Err(Stop::Late(Duration::from_secs(3)));
    let long = |dots| format!("Error: {}disk full", ".".repeat(dots));
    let (dots, shown) = (long(1000), format!("exit 1: {} … {}disk full", &long(1000)[..150], ".".repeat(241)));
    let with = |end, words, in_gate, said: Option<&str>| Attempt {
        words,
        in_gate,
        said: said.map(str::to_owned),
        ..attempt(end)
    };
    let one = || Ok(StageOutcome::exited(1));
    for (attempt, expected) in [
        (with(one(), words("", ""), false, None), "exit 1"),
        (with(one(), words("2 failed\n\n", ""), false, None), "exit 1: 2 failed"),
        (with(one(), words("", "no\n"), false, None), "exit 1: no"),
        (with(one(), words("", "\u{1b}[31mno\u{1b}[0m\n\u{1b}[0m\n"), false, None), "exit 1: no"),
        (with(one(), words("2 failed\n", "a warning\n"), false, None), "exit 1: a warning (standard output: 2 failed)"),
        (with(one(), words("same\n", "same\n"), false, None), "exit 1: same"),
        (with(one(), words("1\n", ""), false, None), "exit 1: 1"),
        (with(one(), words("", &dots), false, None), &shown),
        (with(one(), words("5 %\r10 %\rdisk full\r\n", ""), false, None), "exit 1: disk full"),
        (with(one(), words("", ""), false, Some("I give\nup.")), "exit 1: up."),
        (with(one(), words("3 failed\n", ""), true, Some("All done.")), "in its gate: exit 1: 3 failed"),
        (with(one(), words("", ""), true, Some("All done.")), "in its gate: exit 1"),
        (with(late, words("step 4\n", ""), false, None), "the phase was stopped after 3 s, its limit: step 4"),
        (
            with(Ok(StageOutcome::spawn_failed("`x`: not found")), words("", ""), true, None),
            "in its gate: a program of the phase could not be started: `x`: not found",
        ),
    ] {
        let (next, _) = after(&began, &running(Phase::Design, 0), &rules, Phase::Design, &attempt);
        let said = next
            .active_in(Phase::Design)
            .map(|active| active.failed.last().map(|failed| failed.reason.raw().to_owned()).unwrap_or_default());
        let failed =
            |checkpoint: &Checkpoint| checkpoint.summary.raw().trim_start_matches("design failed: ").to_owned();
        let said = said.or_else(|| next.checkpoint(Phase::Design).map(failed));
        assert_eq!(said.as_deref(), Some(expected), "{attempt:?}");
    }
}

#[test]
fn a_call_for_another_cause_tells_how_the_attempts_before_it_failed() {
    let rules = rules(&[Phase::Design]);
    let began = state(&[Phase::Design], vec![started(Phase::Design, 1)]);
    let (paused, _) =
        after(&began, &running(Phase::Design, 0), &rules, Phase::Design, &attempt(Ok(StageOutcome::exited(1))));
    let mut halted = live(0);
    halted.halt = true;
    let deadly = (0..DEATHS).fold(paused.clone(), |mut state, _| {
        let envelope = Envelope { version: EVENT_VERSION, seq: state.seq + 1, at: wall(1), epoch: 1, event: died() };
        state.apply(&envelope);
        state
    });
    for (state, live) in [(paused, halted), (deadly, live(0))] {
        let Step::Record(events) = decide(&state, &live, &rules) else { panic!("somebody is called") };
        let Some(Event::Escalated { report, .. }) = events.last() else { panic!("{events:?}") };
        let actions = &report.context.suggested_actions;
        assert!(actions.contains(&"attempt 1: exit 1: sh: 1: nothing: not found".into()), "{actions:?}");
    }
}

#[test]
fn what_acts_outside_and_was_cut_off_by_its_own_limit_is_not_tried_again_unasked() {
    let (late, silent) = (Stop::Late(Duration::from_secs(1)), Stop::Silent(Duration::from_secs(1)));
    for (phase, end, in_doubt, asks) in [
        (Phase::Submit, Err(late), InDoubt::Ask, true),
        (Phase::Deploy, Err(silent), InDoubt::Ask, true),
        (Phase::Submit, Err(late), InDoubt::Repeat, false),
        (Phase::Audit, Err(late), InDoubt::Ask, false),
        (Phase::Submit, Ok(StageOutcome::exited(1)), InDoubt::Ask, false),
    ] {
        let mut rules = rules(&[phase]);
        (rules.bounds.deploy_approval, rules.bounds.in_doubt) = (false, in_doubt);
        let began = state(&[phase], vec![started(phase, 1)]);
        let (next, _) = after(&began, &running(phase, 0), &rules, phase, &attempt(end.clone()));
        let asked = next.undecided.as_ref().map(|undecided| undecided.trigger) == Some(EscalationTrigger::Manual);
        let told = next.checkpoint(phase).is_some_and(|it| it.errors.iter().any(|error| error.code == "IN_DOUBT"));
        assert_eq!((asked, told), (asks, asks), "{phase} {end:?} {in_doubt:?}");
    }
}
