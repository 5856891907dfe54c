//! What comes next in an execution that nobody works on, in words for people. Pure.

use crate::events::{Envelope, Event, Pause, RunEnd, RunStatus, State};
use crate::system::process::Interrupt;

/// What ended the last session, where that left the execution unfinished and asks nobody anything.
pub(super) fn last_end<'a>(state: &State, envelopes: &'a [Envelope]) -> Option<&'a RunEnd> {
    if state.status != RunStatus::Interrupted {
        return None;
    }
    envelopes.iter().rev().find_map(|envelope| match &envelope.event {
        Event::SessionEnded { end } => Some(Some(end)),
        Event::SessionStarted { .. } => Some(None),
        _ => None,
    })?
}

/// The command that goes on behind an answer, or without one where none is missing.
pub(super) fn goes_on(state: &State, has_service: bool) -> String {
    let counts = state.asks_about_weaker() || state.status == RunStatus::Resolved;
    match state.weaker.as_ref().filter(|_| counts) {
        Some(question) if question.again.is_empty() => "loa-run resume --config new".to_owned(),
        Some(question) => format!("loa-run resume {}", question.again),
        None if has_service => "loa-run service start".to_owned(),
        None => "loa-run resume".to_owned(),
    }
}

/// What comes next. `answer` is the line that lets an execution go on which waits for an answer.
pub(super) fn next_step(
    state: &State,
    end: Option<&RunEnd>,
    answer: Option<&str>,
    has_service: bool,
) -> Option<String> {
    let goes_on = goes_on(state, has_service);
    let asks_about_weaker = state.asks_about_weaker();
    Some(match (state.status, answer) {
        (RunStatus::Completed, _) => return None,
        (RunStatus::Aborted, _) => "`loa-run run --fresh` begins another".to_owned(),
        (RunStatus::Escalated, Some(answer)) if asks_about_weaker => format!(
            "`{answer}` agrees to the new configuration, and `{goes_on}` then goes on with it; `loa-run resume` goes on with the \
             one that it began with"
        ),
        (RunStatus::Escalated, Some(answer)) => format!("`{answer}` answers, and `{goes_on}` then goes on"),
        (RunStatus::Interrupted, _) => after(end, has_service),
        (RunStatus::Running, _) if has_service => {
            "the service starts it again; `loa-run service start` does so at once".to_owned()
        }
        (RunStatus::Running, _) => "`loa-run resume` goes on".to_owned(),
        (RunStatus::Escalated | RunStatus::Resolved | RunStatus::Ready, _) => format!("`{goes_on}` goes on"),
    })
}

/// What follows a session that ended so.
fn after(end: Option<&RunEnd>, has_service: bool) -> String {
    let words = match (end, has_service) {
        // The unit leaves alone what somebody ended.
        (Some(RunEnd::Interrupted { .. }), true) => {
            "the service starts it again with your next session; `loa-run service start` does so at once"
        }
        (_, true) => "the service starts it again after two minutes; `loa-run service start` does so at once",
        (Some(RunEnd::Paused { pause: Pause::Limit { until: Some(_) } }), false) => "`loa-run resume` goes on then",
        (Some(RunEnd::Failed { .. }), false) => "`loa-run resume` goes on when the cause is mended",
        (_, false) => "`loa-run resume` goes on",
    };
    words.to_owned()
}

/// Who ended the last session, where a signal did.
pub(super) fn interrupted_by(end: Option<&RunEnd>) -> Option<Interrupt> {
    if let Some(RunEnd::Interrupted { by }) = end { Some(*by) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{EscalationTrigger, ExecutionId, Phase};
    use crate::events::{PendingEscalation, RunOrigin, WeakerQuestion};

    fn state(status: RunStatus) -> State {
        let id = ExecutionId::new("exec-20260131-abc123").expect("an id");
        let now = "2026-01-31T10:00:00Z".parse().expect("a time");
        State { status, ..State::new(id, vec![Phase::Design], RunOrigin::config(), now) }
    }

    #[test]
    fn whoever_comes_by_reads_what_to_type() {
        let term = RunEnd::Interrupted { by: Interrupt::Terminate };
        let outage = RunEnd::Paused { pause: Pause::AgentCancelled };
        let until = RunEnd::Paused { pause: Pause::Limit { until: Some(jiff::Timestamp::UNIX_EPOCH) } };
        let failed = RunEnd::Failed { error: "no room".into() };
        for (status, end, by_hand, by_service) in [
            (
                RunStatus::Interrupted,
                Some(&term),
                "`loa-run resume` goes on",
                "with your next session; `loa-run service",
            ),
            (RunStatus::Interrupted, Some(&outage), "`loa-run resume` goes on", "after two minutes"),
            (RunStatus::Interrupted, Some(&until), "goes on then", "after two minutes"),
            (RunStatus::Interrupted, Some(&failed), "when the cause is mended", "after two minutes"),
            (RunStatus::Running, None, "`loa-run resume` goes on", "the service starts it again"),
            (RunStatus::Resolved, None, "`loa-run resume` goes on", "`loa-run service start` goes on"),
            (
                RunStatus::Escalated,
                None,
                "`answer` answers, and `loa-run resume` then",
                "and `loa-run service start` then",
            ),
            (RunStatus::Aborted, None, "--fresh", "--fresh"),
        ] {
            let next = |has_service| next_step(&state(status), end, Some("answer"), has_service).expect("something");
            assert!(next(false).contains(by_hand), "{status:?} {end:?}: {}", next(false));
            assert!(next(true).contains(by_service), "{status:?} {end:?}: {}", next(true));
        }
        assert_eq!(next_step(&state(RunStatus::Completed), None, None, false), None);
    }

    #[test]
    fn a_weaker_configuration_is_agreed_to_before_it_is_gone_on_with() {
        let question = |again: &str, agreed| WeakerQuestion { code: "1".to_owned(), agreed, again: again.to_owned() };
        let (trigger, phase, reason) = (EscalationTrigger::Manual, Phase::Design, String::new());
        let pending = Some(PendingEscalation { number: 1, trigger, phase, reason: reason.into() });
        for again in ["", "--config new"] {
            let asked =
                State { weaker: Some(question(again, false)), pending: pending.clone(), ..state(RunStatus::Escalated) };
            let next = next_step(&asked, None, Some("loa-run resolve fix_and_resume"), false).expect("something");
            let [answer, new] = ["`loa-run resolve fix_and_resume` agrees", "`loa-run resume --config new` then"];
            assert!(next.starts_with(answer) && next.contains(new), "{next}");
            let agreed = State { weaker: Some(question(again, true)), ..state(RunStatus::Resolved) };
            let next = next_step(&agreed, None, None, true).expect("something");
            assert_eq!(next, "`loa-run resume --config new` goes on", "a service goes on with what it began with");
            // Whoever went on with the old one, and is called about something else, is not sent to the new one.
            let other =
                State { weaker: Some(question(again, true)), pending: pending.clone(), ..state(RunStatus::Escalated) };
            let next = next_step(&other, None, Some("answer"), false).expect("something");
            assert_eq!(next, "`answer` answers, and `loa-run resume` then goes on");
        }
    }
}
