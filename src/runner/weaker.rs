//! What a changed configuration asks less of a run than the one before: gates, approvals and bounds that a phase could have
//! loosened for itself. Pure.

use std::time::Duration;

use super::receivers::{Notification, Receiver};
use super::{Bounds, Plan, Stage};
use crate::contract::Phase;

/// What is weaker in the second plan and its bounds than in the first, one line each; empty when nothing is. A gate that is
/// another one counts: nobody here can tell whether it asks for as much.
#[must_use]
pub fn weaker(before: (&Plan, &Bounds), after: (&Plan, &Bounds)) -> Vec<String> {
    let stages = before.0.stages().iter().filter_map(|stage| Some((stage, after.0.stage(stage.phase)?)));
    let mut all: Vec<String> = stages.flat_map(|(before, after)| of_stage(before, after)).collect();
    all.extend(of_bounds(before.1, after.1));
    all
}

fn of_stage(before: &Stage, after: &Stage) -> Vec<String> {
    let phase = before.phase;
    if after.skip {
        let newly = !before.skip;
        return newly.then(|| format!("{phase} is passed over")).into_iter().collect();
    }
    let mut all = Vec::new();
    match (&before.verify, &after.verify) {
        (Some(gate), None) => all.push(format!("{phase} has no gate any more; it was `{}`", gate.join(" "))),
        (Some(gate), Some(new)) if gate != new => {
            all.push(format!("the gate of {phase} is `{}`; it was `{}`", new.join(" "), gate.join(" ")));
        }
        _ => {}
    }
    // An audit is a gate by itself.
    if phase == Phase::Audit && before.work != after.work {
        all.push(format!("{phase} does something else"));
    }
    let limits = [("limit", before.timeout, after.timeout), ("silence", before.idle_timeout, after.idle_timeout)];
    all.extend(limits.into_iter().filter(|(_, before, after)| is_longer(*before, *after)).map(|(what, _, after)| {
        let longer = after.map_or_else(|| "no longer bounded".to_owned(), |limit| format!("{} ms", limit.as_millis()));
        format!("the {what} of {phase} is {longer}")
    }));
    if after.retries > before.retries {
        all.push(format!("{phase} is retried {} times; it was {}", after.retries, before.retries));
    }
    all
}

/// Whether a limit is longer than before; none is the longest.
fn is_longer(before: Option<Duration>, after: Option<Duration>) -> bool {
    match (before, after) {
        (Some(before), Some(after)) => after > before,
        (before, after) => before.is_some() && after.is_none(),
    }
}

fn of_bounds(before: &Bounds, after: &Bounds) -> Vec<String> {
    let (was, is) = (&before.triggers, &after.triggers);
    let counts = [
        ("remediation loops", u64::from(was.max_loops), u64::from(is.max_loops)),
        ("failures with one cause", u64::from(was.same_issue), u64::from(is.same_issue)),
        ("cycles without progress", u64::from(was.no_progress), u64::from(is.no_progress)),
        ("seconds for the whole run", was.timeout.as_secs(), is.timeout.as_secs()),
        ("tokens before a compaction", before.context.soft, after.context.soft),
        ("tokens before an emergency", before.context.hard, after.context.hard),
    ];
    let raised = counts.into_iter().filter(|(_, was, is)| is > was);
    let raised = raised.map(|(what, was, is)| format!("{is} {what} are allowed; it was {was}"));
    let approval = (before.deploy_approval && !after.deploy_approval)
        .then(|| format!("{} begins without a person's approval", Phase::Deploy));
    approval.into_iter().chain(raised).chain(of_notification(&before.notification, &after.notification)).collect()
}

/// Who is told is not shown: an address is a secret. One that is told of less counts as another.
fn of_notification(before: &Notification, after: &Notification) -> Vec<String> {
    let is_told = |receiver: &&Receiver| {
        after.receivers.iter().any(|new| {
            new.name == receiver.name
                && new.means == receiver.means
                && receiver.on.iter().all(|end| new.on.contains(end))
        })
    };
    let lost = before.receivers.iter().filter(|receiver| !is_told(receiver));
    lost.map(|receiver| format!("calls go to another {}, or to none", receiver.name)).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{FILE_NAME, Source, resolve};
    use crate::runner::Selection;

    const PHASES: &str = "runtime: { phases: { preflight: { skip: true }, discovery: { skip: true }, design: { command: d }, \
                          implementation: { command: i }, audit: { command: a }, submit: { skip: true }, deploy: { command: d }, \
                          learning: { skip: true } } }\n";

    /// What is weaker under a second configuration, over phases that are the same but for what it says.
    fn found(before: &str, after: &str) -> Vec<String> {
        let read = |text: &str| {
            let overrides = text.split_whitespace().map(|set| crate::config::Override::set(set).expect("KEY=VALUE"));
            let source = Source { path: FILE_NAME.into(), bytes: PHASES.into() };
            let settings = resolve(Some(source), overrides.collect()).expect("valid");
            (
                Plan::from_settings(&settings, Selection::All).expect("a plan"),
                Bounds::of(&settings, &[], Path::new("/w")),
            )
        };
        let (before, after) = (read(before), read(after));
        weaker((&before.0, &before.1), (&after.0, &after.1))
    }

    #[test]
    fn what_asks_for_less_is_named_and_what_asks_for_more_is_not() {
        for (before, after, expected) in [
            ("", "", ""),
            ("", "autonomous_agent.require_human_deploy_approval=false", "deploy begins without a person's approval"),
            ("", "runtime.phases.audit.skip=true", "audit is passed over"),
            ("runtime.phases.design.verify=make", "", "design has no gate any more; it was `sh -c make`"),
            (
                "runtime.phases.design.verify=make",
                "runtime.phases.design.verify=pass",
                "the gate of design is `sh -c pass`; it was `sh -c make`",
            ),
            ("", "runtime.phases.audit.command=else", "audit does something else"),
            ("runtime.phases.design.timeout_ms=5", "runtime.phases.design.timeout_ms=6", "the limit of design is 6 ms"),
            ("runtime.phases.design.timeout_ms=5", "", "the limit of design is no longer bounded"),
            ("runtime.phases.design.idle_timeout_ms=5", "", "the silence of design is no longer bounded"),
            ("runtime.phases.design.retry.max=1", "", "design is retried 3 times; it was 1"),
            ("", "autonomous_agent.max_remediation_loops=4", "4 remediation loops are allowed; it was 3"),
            ("", "run_mode.circuit_breaker.same_issue_threshold=4", "4 failures with one cause are allowed; it was 3"),
            ("", "run_mode.circuit_breaker.no_progress_threshold=6", "6 cycles without progress are allowed; it was 5"),
            ("", "run_mode.defaults.timeout_hours=9", "32400 seconds for the whole run are allowed; it was 28800"),
            (
                "",
                "autonomous_agent.context.soft_limit_tokens=80001",
                "80001 tokens before a compaction are allowed; it was 80000",
            ),
            ("runtime.notify.command=say", "", "calls go to another command, or to none"),
            ("runtime.notify.webhook=http://localhost/x", "", "calls go to another webhook, or to none"),
        ] {
            assert_eq!(found(before, after).join("\n"), expected, "{before} -> {after}");
        }
        for stricter in [
            "runtime.phases.design.verify=make runtime.phases.design.timeout_ms=5",
            "runtime.phases.design.retry.max=0 autonomous_agent.max_remediation_loops=1",
            "runtime.phases.design.command=else runtime.notify.command=say",
        ] {
            assert_eq!(found("", stricter), Vec::<String>::new(), "{stricter}");
        }
    }
}
