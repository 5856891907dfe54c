//! What a changed configuration asks less of a run than the one before: gates, approvals and bounds that a phase could have
//! loosened for itself. What cannot be ordered counts as less. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::time::Duration;

use super::receivers::{Notification, Receiver};
use super::{Bounds, Plan, Stage, Work};
use crate::config::{BackendSettings, BoundaryMode, InDoubt, Permissions, Quota, Settings};
use crate::contract::Phase;

/// What is asked of a run: by files, environment and flags together.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// What is run.
    pub plan: &'a Plan,
    /// What belongs to no single phase.
    pub bounds: &'a Bounds,
    /// What both come from.
    pub settings: &'a Settings,
}

/// What is weaker in the second than in the first, one line each; empty when nothing is. A gate that is another one counts:
/// nobody here can tell whether it asks for as much.
#[must_use]
pub fn weaker(before: Asked<'_>, after: Asked<'_>) -> Vec<String> {
    let stages = before.plan.stages().iter().filter_map(|stage| Some((stage, after.plan.stage(stage.phase)?)));
    let mut all: Vec<String> = stages.flat_map(|(before, after)| of_stage(before, after)).collect();
    all.extend(of_bounds(before.bounds, after.bounds));
    all.extend(of_agents(before, after.settings));
    all.extend(other_agents(before, after));
    let shown = before.settings.redacted().iter().filter(|name| !after.settings.redacted().contains(name));
    all.extend(shown.map(|name| format!("the value of {name} is taken out of logs and reports no more")));
    all
}

fn of_stage(before: &Stage, after: &Stage) -> Vec<String> {
    let phase = before.phase;
    if after.skip {
        let newly = !before.skip;
        return newly.then(|| format!("{phase} is passed over")).into_iter().collect();
    }
    let mut all = of_gate(before, after);
    let limits = [("limit", before.timeout, after.timeout), ("silence", before.idle_timeout, after.idle_timeout)];
    all.extend(limits.into_iter().filter(|(_, before, after)| is_more(*before, *after)).map(|(what, _, after)| {
        let longer = after.map_or_else(|| "no longer bounded".to_owned(), |limit| format!("{} ms", limit.as_millis()));
        format!("the {what} of {phase} is {longer}")
    }));
    if phase == Phase::Deploy {
        all.extend(of_deployment(before, after));
    }
    if after.boundary < before.boundary {
        let how = match after.boundary {
            BoundaryMode::Off => "without a boundary",
            BoundaryMode::Auto => "also where there is no boundary",
            BoundaryMode::Required | BoundaryMode::Strict => "where known ways out of its boundary are open",
        };
        all.push(format!("{phase} runs {how}"));
    }
    if after.network > before.network {
        let network = after.network.as_str();
        all.push(format!("{phase} has the network `{network}`; it was `{}`", before.network.as_str()));
    }
    let limits =
        before.limits.each().into_iter().zip(after.limits.each()).filter(|((_, was), (_, is))| is_more(*was, *is));
    all.extend(limits.map(|(_, (what, limit))| {
        let more = limit.map_or_else(|| "it likes".to_owned(), |limit| limit.to_string());
        format!("{phase} may take more of the host: {what}, as much as {more}")
    }));
    if after.retries > before.retries {
        all.push(format!("{phase} is retried {} times; it was {}", after.retries, before.retries));
    }
    all
}

fn of_gate(before: &Stage, after: &Stage) -> Vec<String> {
    let (phase, mut all) = (before.phase, Vec::new());
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
    // What a gate is told may make it another one, its PATH among that.
    if before.verify.is_some() || phase == Phase::Audit {
        let others = differing(&before.env, &after.env);
        if !others.is_empty() {
            all.push(format!("the gate of {phase} is told something else: {}", others.join(", ")));
        }
    }
    all
}

/// An approval is one for what the deployment does.
fn of_deployment(before: &Stage, after: &Stage) -> Vec<String> {
    let phase = before.phase;
    let work = (before.work != after.work).then(|| match (&before.work, &after.work) {
        (Some(Work::Command(was)), Some(Work::Command(is))) => {
            format!("{phase} runs `{}`; it was `{}`", is.join(" "), was.join(" "))
        }
        _ => format!("{phase} does something else"),
    });
    let others = differing(&before.env, &after.env);
    let told = (!others.is_empty()).then(|| format!("{phase} is told something else: {}", others.join(", ")));
    work.into_iter().chain(told).collect()
}

/// The keys whose values are not the same.
fn differing<'a>(before: &'a BTreeMap<String, String>, after: &'a BTreeMap<String, String>) -> Vec<&'a str> {
    let keys: BTreeSet<&str> = before.keys().chain(after.keys()).map(String::as_str).collect();
    keys.into_iter().filter(|key| before.get(*key) != after.get(*key)).collect()
}

/// Whether a bound allows more than before; none allows the most.
fn is_more<T: PartialOrd>(before: Option<T>, after: Option<T>) -> bool {
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
        ("seconds of waiting for providers' limits", before.limit_patience.as_secs(), after.limit_patience.as_secs()),
        ("seconds of waiting for an outage", before.outage_patience.as_secs(), after.outage_patience.as_secs()),
        ("tokens before a compaction", before.context.soft, after.context.soft),
        ("tokens before an emergency", before.context.hard, after.context.hard),
    ];
    let raised = counts.into_iter().filter(|(_, was, is)| is > was);
    let raised = raised.map(|(what, was, is)| format!("{is} {what} are allowed; it was {was}"));
    let lives =
        (after.lifetime > before.lifetime).then(|| "what phases leave running lives as long as the run".to_owned());
    let other_gateway = before.gateway.is_some() && after.gateway != before.gateway;
    let gateway = other_gateway.then(|| "phases reach another gateway, or none".to_owned());
    let codes = after.outage_codes.iter().filter(|code| !before.outage_codes.contains(code));
    let codes = codes.map(|code| format!("exit {code} is an outage that is waited for"));
    let approval = (before.deploy_approval && !after.deploy_approval)
        .then(|| format!("{} begins without a person's approval", Phase::Deploy));
    let in_doubt = (before.in_doubt == InDoubt::Ask && after.in_doubt != InDoubt::Ask)
        .then(|| format!("{} and {} are run again where they were cut off", Phase::Submit, Phase::Deploy));
    approval
        .into_iter()
        .chain(in_doubt)
        .chain(raised)
        .chain(codes)
        .chain(lives)
        .chain(gateway)
        .chain(of_notification(&before.notification, &after.notification))
        .collect()
}

/// Who is told is not shown: an address is a secret. One that is told of less counts as another.
fn of_notification(before: &Notification, after: &Notification) -> Vec<String> {
    let successor = |receiver: &Receiver| {
        after.receivers.iter().find(|new| {
            new.name == receiver.name
                && new.means == receiver.means
                && receiver.on.iter().all(|end| new.on.contains(end))
        })
    };
    let less = |time: Duration, was: Duration| format!("{} ms; it was {}", time.as_millis(), was.as_millis());
    let of_receiver = |receiver: &Receiver| match successor(receiver) {
        None => Some(format!("calls go to another {}, or to none", receiver.name)),
        Some(new) if new.time < receiver.time => {
            Some(format!("calls to {} are given up after {}", receiver.name, less(new.time, receiver.time)))
        }
        Some(_) => None,
    };
    let patience = (!before.receivers.is_empty() && after.patience < before.patience)
        .then(|| format!("after the end of a run calls are tried for {}", less(after.patience, before.patience)));
    let answers = (!before.receivers.is_empty() && after.answer_with != before.answer_with)
        .then(|| "the lines that answer a call begin with another command".to_owned());
    before.receivers.iter().filter_map(of_receiver).chain(patience).chain(answers).collect()
}

/// What agents may do more than before: those that have a section, or do a phase.
fn of_agents(before: Asked<'_>, after: &Settings) -> Vec<String> {
    let at_work: BTreeSet<&str> =
        before.plan.stages().iter().filter_map(|stage| Some(&*stage.agent()?.backend)).collect();
    let audits = before.plan.stage(Phase::Audit).and_then(Stage::agent).map(|agent| agent.backend.as_str());
    let known = before.settings.backends().into_iter();
    let counts = known.filter(|agent| at_work.contains(&*agent.name) || before.settings.employs(&agent.name));
    let both = counts.filter_map(|agent| Some((after.backend(&agent.name)?, agent)));
    both.flat_map(|(after, before)| of_agent(&before, &after, audits == Some(&*before.name))).collect()
}

/// Phases that another agent does than before, which may do more.
fn other_agents(before: Asked<'_>, after: Asked<'_>) -> Vec<String> {
    let agent = |asked: Asked<'_>, phase| {
        let agent = asked.settings.backend(&asked.plan.stage(phase)?.agent()?.backend)?;
        Some((agent.name, agent.section.permissions.unwrap_or_default()))
    };
    let both =
        before.plan.phases().into_iter().filter_map(|phase| Some((phase, agent(before, phase)?, agent(after, phase)?)));
    let may_more = both.filter(|(_, (was, before), (is, after))| was != is && after > before);
    may_more.map(|(phase, _, (is, _))| format!("{phase} is done by {is}, which may do more without asking")).collect()
}

fn of_agent(before: &BackendSettings, after: &BackendSettings, audits: bool) -> Vec<String> {
    let (name, was, is) = (&before.name, &before.section, &after.section);
    let mut all = Vec::new();
    let may = |permissions: Option<Permissions>| permissions.unwrap_or_default();
    if may(is.permissions) > may(was.permissions) {
        all.push(format!("{name} may do more without asking"));
    }
    all.extend(more_of(was.max_turns, is.max_turns).map(|more| format!("turns of {name}: {more}")));
    let prompts = |quota: Option<Quota>| quota.map(|quota| quota.prompts);
    let quota = more_of(prompts(was.quota), prompts(is.quota));
    let moved =
        was.quota.is_some() && is.quota.is_some_and(|quota| was.quota.map(|it| it.boundary) != Some(quota.boundary));
    let quota = quota.or(moved.then(|| "their cycle begins at another time".to_owned()));
    all.extend(quota.map(|more| format!("prompts of {name}: {more}")));
    // Arguments can lift what is bounded elsewhere, and a container bounds everything.
    let start = |agent: &BackendSettings| {
        let section = agent.section.clone();
        (agent.kind, section.args, section.run, section.resume, section.mode, section.docker)
    };
    if start(before) != start(after) {
        all.push(format!("{name} is started in another way"));
    } else if audits && (&was.binary, &was.model, &was.prompts) != (&is.binary, &is.model, &is.prompts) {
        all.push(format!("{name}, which does the {}, is another one", Phase::Audit));
    }
    // A variable may lift what an agent asks for.
    let others = differing(&was.env, &is.env);
    if !others.is_empty() {
        all.push(format!("{name} is told something else: {}", others.join(", ")));
    }
    let told = was.credentials.iter().filter(|variable| !is.credentials.contains(variable));
    all.extend(told.map(|variable| format!("{variable} is for {name} alone no more")));
    all
}

/// What to say of a bound that allows more than before.
fn more_of<T: PartialOrd + Copy + Display>(before: Option<T>, after: Option<T>) -> Option<String> {
    is_more(before, after).then(|| {
        let [was, is] = [before, after].map(|bound| bound.map_or_else(|| "any number".to_owned(), |it| it.to_string()));
        format!("{is} are allowed; it was {was}")
    })
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

    const AGENTS: &str = "runtime: { phases: { preflight: { skip: true }, discovery: { skip: true }, design: { skip: true }, \
                          implementation: { prompt: i, backend: opencode }, audit: { prompt: a }, submit: { skip: true }, \
                          deploy: { skip: true }, learning: { skip: true } } }\n";

    /// What is weaker under a second configuration, over phases that are the same but for what it says.
    fn found(before: &str, after: &str) -> Vec<String> {
        found_of(PHASES, before, after)
    }

    fn found_of(phases: &str, before: &str, after: &str) -> Vec<String> {
        let read = |text: &str| {
            let overrides = text.split_whitespace().map(|set| crate::config::Override::set(set).expect("KEY=VALUE"));
            let source = Source { path: FILE_NAME.into(), bytes: phases.into() };
            let settings = resolve(Some(source), overrides.collect()).expect("valid");
            let plan = Plan::from_settings(&settings, Selection::All).expect("a plan");
            (plan, Bounds::of(&settings, &[], Path::new("/w")), settings)
        };
        let (before, after) = (read(before), read(after));
        let [before, after] = [&before, &after].map(|(plan, bounds, settings)| Asked { plan, bounds, settings });
        weaker(before, after)
    }

    #[test]
    fn what_asks_for_less_is_named_and_what_asks_for_more_is_not() {
        for (before, after, expected) in [
            ("", "", ""),
            ("", "autonomous_agent.require_human_deploy_approval=false", "deploy begins without a person's approval"),
            ("", "runtime.phases.deploy.command=other", "deploy runs `sh -c other`; it was `sh -c d`"),
            ("", "runtime.phases.deploy.env.TARGET=live", "deploy is told something else: TARGET"),
            ("", "runtime.in_doubt=repeat", "submit and deploy are run again where they were cut off"),
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
            (
                "",
                "runtime.limit_patience_hours=25",
                "90000 seconds of waiting for providers' limits are allowed; it was 86400",
            ),
            ("", "runtime.outage_patience=3h", "10800 seconds of waiting for an outage are allowed; it was 7200"),
            ("runtime.outage_codes=[75]", "runtime.outage_codes=[99]", "exit 99 is an outage that is waited for"),
            (
                "runtime.redact=[\"MINE\"]",
                "runtime.redact=[]",
                "the value of MINE is taken out of logs and reports no more",
            ),
            (
                "runtime.backends.claude.permissions=read",
                "runtime.backends.claude.permissions=all",
                "claude may do more without asking",
            ),
            (
                "runtime.backends.claude.max_turns=5",
                "runtime.backends.claude.max_turns=6",
                "turns of claude: 6 are allowed; it was 5",
            ),
            ("runtime.backends.claude.max_turns=5", "", "turns of claude: any number are allowed; it was 5"),
            (
                "runtime.backends.claude.quota.prompts=5",
                "runtime.backends.claude.quota.prompts=6",
                "prompts of claude: 6 are allowed; it was 5",
            ),
            ("runtime.backends.claude.quota.prompts=5", "", "prompts of claude: any number are allowed; it was 5"),
            (
                "runtime.backends.claude.max_turns=5",
                "runtime.backends.claude.max_turns=5 runtime.backends.claude.args=[\"--all\"]",
                "claude is started in another way",
            ),
            (
                "runtime.backends.claude.credentials=[\"KEY\"]",
                "runtime.backends.claude.permissions=edit",
                "KEY is for claude alone no more",
            ),
            (
                "runtime.phases.design.verify=make",
                "runtime.phases.design.verify=make runtime.phases.design.env.PATH=/x",
                "the gate of design is told something else: PATH",
            ),
            ("", "runtime.phases.audit.env.PATH=/x", "the gate of audit is told something else: PATH"),
            (
                "runtime.backends.claude.permissions=read",
                "runtime.backends.claude.permissions=read runtime.backends.claude.env.MODE=all",
                "claude is told something else: MODE",
            ),
        ] {
            assert_eq!(found(before, after).join("\n"), expected, "{before} -> {after}");
        }
        for stricter in [
            "runtime.phases.design.verify=make runtime.phases.design.timeout_ms=5",
            "runtime.phases.design.retry.max=0 autonomous_agent.max_remediation_loops=1",
            "runtime.phases.design.command=else runtime.notify.command=say",
            "runtime.phases.design.env.PATH=/x runtime.outage_patience=1h runtime.limit_patience_hours=1",
            "runtime.backends.claude.permissions=read runtime.backends.claude.max_turns=1 runtime.redact=[\"ANTHROPIC_API_KEY\",\
             \"OPENAI_API_KEY\",\"GITHUB_TOKEN\",\"GH_TOKEN\",\"AWS_SECRET_ACCESS_KEY\",\"MINE\"]",
        ] {
            assert_eq!(found("", stricter), Vec::<String>::new(), "{stricter}");
        }
    }

    #[test]
    fn what_shuts_phases_off_less_or_lets_them_take_more_is_named() {
        for (before, after, expected) in [
            (
                "runtime.phases.design.boundary=strict",
                "runtime.phases.design.boundary=required",
                "design runs where known ways out of its boundary are open",
            ),
            (
                "runtime.limits.processes=9 runtime.limits.memory=1M",
                "runtime.limits.processes=10 runtime.phases.design.limits.processes=8 runtime.limits.memory=1M \
                 runtime.phases.implementation.limits.processes=9 runtime.phases.deploy.limits.processes=9",
                "audit may take more of the host: processes, as much as 10",
            ),
            (
                "runtime.phases.design.limits.memory=1K",
                "runtime.phases.design.limits.memory=2K",
                "design may take more of the host: memory, as much as 2048",
            ),
            ("runtime.phases.design.limits.disk=1K", "", "design may take more of the host: disk, as much as it likes"),
            (
                "runtime.boundary.network=none",
                "runtime.boundary.network=none runtime.phases.design.network=gateway",
                "design has the network `gateway`; it was `none`",
            ),
            ("runtime.phases.design.network=gateway", "", "design has the network `host`; it was `gateway`"),
            (
                "runtime.boundary.gateway=unix:/a",
                "runtime.boundary.gateway=unix:/b",
                "phases reach another gateway, or none",
            ),
        ] {
            assert_eq!(found(before, after).join("\n"), expected, "{before} -> {after}");
        }
        let stricter = "runtime.boundary.network=none runtime.boundary.gateway=unix:/a runtime.limits.processes=1 \
                        runtime.boundary.mode=strict";
        assert_eq!(found("", stricter), Vec::<String>::new());
    }

    #[test]
    fn who_is_told_less_or_how_an_answer_begins_is_named() {
        for (before, after, expected) in [
            (
                "runtime.notify.command=say",
                "runtime.notify.command=say runtime.notify.timeout_ms=1",
                "calls to command are given up after 1 ms; it was 10000",
            ),
            (
                "runtime.notify.command=say",
                "runtime.notify.command=say runtime.notify.patience_ms=0",
                "after the end of a run calls are tried for 0 ms; it was 10000",
            ),
            ("runtime.notify.command=say", "", "calls go to another command, or to none"),
            (
                "runtime.notify.command=say",
                "runtime.notify.command=say runtime.notify.answer_with=mine",
                "the lines that answer a call begin with another command",
            ),
            ("runtime.notify.webhook=http://localhost/x", "", "calls go to another webhook, or to none"),
        ] {
            assert_eq!(found(before, after).join("\n"), expected, "{before} -> {after}");
        }
    }

    #[test]
    fn what_agents_may_do_and_are_told_is_compared_phase_by_phase() {
        let edits = "runtime.backends.opencode.permissions=edit";
        for (before, after, expected) in [
            (
                edits,
                "runtime.phases.implementation.backend=codex runtime.backends.codex.permissions=all",
                "implementation is done by codex, which may do more without asking",
            ),
            (
                "runtime.backends.claude.model=m",
                "runtime.backends.claude.model=m runtime.backends.claude.prompts.pre_user=nothing",
                "claude, which does the audit, is another one",
            ),
            (edits, "runtime.backends.opencode.permissions=read", ""),
        ] {
            let after = format!("{after} {}", if after.contains("opencode") { "" } else { edits });
            assert_eq!(found_of(AGENTS, before, &after).join("\n"), expected, "{before} -> {after}");
        }
    }
}
