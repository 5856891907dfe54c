//! A provider that is out of order, and how long it is waited for.

use super::*;
use crate::events::{Outage, Waiting};

/// What is journaled when the provider is found out of order, or why the run does not wait.
fn waits_for(decided: Step) -> Result<Outage, Stop> {
    match decided {
        Step::Record(events) => match &events[..] {
            [Event::OutageMet(outage)] => Ok(outage.clone()),
            other => panic!("{other:?}"),
        },
        Step::Stop(stop) => Err(stop),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_outage_is_waited_for_as_long_as_patience_lasts_and_probes_take_their_time_too() {
    let (phase, rules) = (Phase::Design, rules(&[Phase::Design]));
    let began = state(&[phase], vec![started(phase, 1)]);
    let first = waits_for(outage(&began, &running(phase, 100), &rules, phase, "status 503", 0.0)).expect("it waits");
    assert_eq!((first.since, first.until, first.probe), (wall(100), wall(100 + 7200), 1));
    assert_eq!((first.pause.not_before, first.pause.delay_ms, first.waited_ms), (wall(115), 15_000, 15_000));
    let waits = state(&[phase], vec![started(phase, 1), Event::OutageMet(first.clone())]);
    let again = |now: u64, probe: u64, state: &State| {
        let mut live = running(phase, now);
        live.probe_at = Some(at(probe));
        waits_for(outage(state, &live, &rules, phase, "ECONNREFUSED", 0.0))
    };
    let second = again(125, 115, &waits).expect("it waits");
    assert_eq!((second.since, second.probe, second.pause.delay_ms), (wall(100), 2, 30_000), "and longer");
    assert_eq!((second.waited_ms, second.until), (55_000, wall(7300)), "ten seconds of it were the probe's");
    // After a death patience is what it was, and none of the time in between.
    let resumed = again(90_010, 90_000, &waits).expect("it waits");
    assert_eq!((resumed.waited_ms, resumed.until), (55_000, wall(90_010 + 7175)));
    let left = |waited_ms| {
        let outage = Outage { waited_ms, ..first.clone() };
        again(115, 115, &state(&[phase], vec![started(phase, 1), Event::OutageMet(outage)]))
    };
    assert_eq!(left(7_190_000).expect("it waits").pause.delay_ms, 10_000, "the last probe comes when patience ends");
    assert_eq!(left(7_200_000), Err(Stop::Outage { since: wall(100) }));
    let none = Rules { bounds: Bounds { outage_patience: Duration::ZERO, ..bounds() }, ..rules.clone() };
    assert!(waits_for(outage(&began, &running(phase, 100), &none, phase, "x", 0.0)).is_err());
}

#[test]
fn a_provider_that_comes_and_goes_is_not_waited_for_with_new_patience_each_time() {
    let (phase, rules) = (Phase::Design, rules(&[Phase::Design]));
    let again = |answered: i64, now: u64| {
        let (reason, pause) = ("x".into(), Waiting { not_before: wall(15), delay_ms: 15_000 });
        let (since, until, waited_ms, answered) = (wall(0), wall(7200), 15_000, Some(wall(answered)));
        let outage_met = Outage { phase, reason, since, probe: 1, pause, waited_ms, until, answered };
        let known = state(&[phase], vec![started(phase, 1), Event::OutageMet(outage_met)]);
        assert_eq!(known.outage_of(phase), None, "it is over for now");
        let outage = waits_for(outage(&known, &running(phase, now), &rules, phase, "x", 0.0)).expect("it waits");
        (outage.since, outage.probe, outage.waited_ms)
    };
    assert_eq!(again(20, 50), (wall(0), 2, 45_000), "the time in which it answered was no wait");
    assert_eq!(again(20, 1_000), (wall(1_000), 1, 15_000), "another one");
}

#[test]
fn what_a_dead_session_had_begun_to_wait_for_is_waited_for_and_nobody_is_charged() {
    let (phase, rules) = (Phase::Design, rules(&[Phase::Design]));
    let first =
        waits_for(outage(&state(&[phase], vec![started(phase, 1)]), &running(phase, 0), &rules, phase, "x", 0.0));
    let met = Event::OutageMet(first.expect("it waits"));
    let waits = state(&[phase], vec![started(phase, 1), met.clone(), died()]);
    let mut next = live(5);
    next.probe_at = Some(at(15));
    assert_eq!(decide(&waits, &next, &rules), Step::Wait(Some(at(15))));
    next.pass(at(14));
    assert_eq!(next.uncharged, Duration::ZERO);
    next.pass(at(15));
    assert!(matches!(decide(&waits, &next, &rules), Step::Start { attempt: 2, .. }));
    let paused = Event::SessionEnded { end: RunEnd::Paused { pause: Pause::Outage { since: wall(0) } } };
    let given_up = state(&[phase], vec![started(phase, 1), met, paused]);
    assert_eq!(given_up.outage, None, "whoever resumes after that begins with new patience");
    assert_eq!(
        decide(
            &state(&[phase], vec![]),
            &{
                let mut live = live(0);
                live.stopped = Some((phase, Stop::Outage { since: wall(0) }));
                live
            },
            &rules
        ),
        Step::End(RunEnd::Paused { pause: Pause::Outage { since: wall(0) } })
    );
}
