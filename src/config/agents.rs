//! What a schema cannot say about agents: a phase is told one thing, its agent is known, and a template fits its adapter.

use super::check::{dotted, pointing_at};
use super::origin::Origin;
use super::settings::Origins;
use super::{BackendKind, BackendSection, ConfigDocument, built_in};
use crate::contract::Phase;
use crate::diag::{Diagnostic, closest};

/// Every finding about phases with a prompt, and about sections that do not fit their agent.
pub(super) fn findings(config: &ConfigDocument, origins: &Origins) -> Vec<Diagnostic> {
    let runtime = &config.runtime;
    let about = |pointer: String, message: String| located(origins, &pointer, message);
    let mut found = Vec::new();
    for phase in Phase::ALL {
        let section = runtime.phases.get(*phase);
        if section.command.is_some() && section.prompt.is_some() {
            let pointer = format!("/runtime/phases/{phase}/prompt");
            let finding = about(pointer, format!("phase `{phase}` has a command and a prompt"));
            found.push(finding.expected("one of them").help("remove one: a gate goes under `verify`"));
        }
    }
    for (name, section) in &runtime.backends {
        let pointer = format!("/runtime/backends/{name}");
        found.extend(misfit(name, section).map(|(key, message)| about(format!("{pointer}{key}"), message)));
    }
    found
}

/// Every finding about a name of an agent that nothing is known of. What runs needs its own agent only: whoever reads the
/// configuration for a run says it of the phases that run.
pub(super) fn strangers(config: &ConfigDocument, origins: &Origins) -> Vec<Diagnostic> {
    let of_phase = |phase: &Phase| {
        let name = config.runtime.phases.get(*phase).backend.as_ref()?;
        Some((format!("/runtime/phases/{phase}/backend"), name))
    };
    let default = ("/runtime/backend".to_owned(), &config.runtime.backend);
    Phase::ALL
        .iter()
        .filter_map(of_phase)
        .chain([default])
        .filter_map(|(pointer, name)| Some(placed(unknown(config, name)?, origins, &pointer)))
        .collect()
}

/// A backend that nothing is known of.
fn unknown(config: &ConfigDocument, name: &str) -> Option<Diagnostic> {
    let known = || built_in().chain(config.runtime.backends.keys().map(String::as_str));
    if known().any(|known| known == name) {
        return None;
    }
    let finding = Diagnostic::error("config-conflict", format!("there is no backend `{name}`"));
    let finding = finding.expected(known().collect::<Vec<_>>().join(", "));
    Some(match closest(name, known()) {
        Some(similar) => finding.help(format!("did you mean `{similar}`?")),
        None => finding.help(format!("say under `runtime.backends.{name}` how it is started")),
    })
}

/// A section whose keys do not fit its adapter: the key, and what is wrong.
fn misfit(name: &str, section: &BackendSection) -> Option<(&'static str, String)> {
    let kind = section.kind(name);
    if section.quota.is_some() && (kind != BackendKind::Claude || section.docker.is_some()) {
        let why = "`quota` is counted in the logs that Claude Code keeps on this host";
        return Some(("/quota", format!("{why}, and `{name}` keeps none")));
    }
    if kind == BackendKind::Acp {
        return match (&section.run, &section.resume) {
            (None, _) => Some(("", format!("the backend `{name}` has no `run` that starts it"))),
            (_, Some(_)) => {
                Some(("/resume", format!("`resume` is for commands; the protocol of `{name}` has its own way")))
            }
            _ => None,
        };
    }
    let of_acp = [("/mode", &section.mode), ("/auth", &section.auth), ("/compact", &section.compact)];
    if let Some((key, _)) = of_acp.into_iter().find(|(_, value)| value.is_some()) {
        return Some((key, format!("`{}` is for agents of the kind `acp`", &key[1..])));
    }
    match (kind == BackendKind::Command, &section.run, &section.resume) {
        (true, None, _) => Some(("", format!("the backend `{name}` is a command and has no `run`"))),
        (true, Some(run), _) if !run.iter().any(|word| word.contains("{prompt}")) => {
            Some(("/run", format!("the arguments of `{name}` do not hold {{prompt}}")))
        }
        (true, _, Some(resume)) if !resume.iter().any(|word| word.contains("{session}")) => {
            Some(("/resume", format!("the arguments of `{name}` that resume do not hold {{session}}")))
        }
        (false, Some(_), _) => Some(("/run", format!("`run` is for commands; `{name}` has an adapter of its own"))),
        (false, _, Some(_)) => {
            Some(("/resume", format!("`resume` is for commands; `{name}` has an adapter of its own")))
        }
        _ => None,
    }
}

pub(super) fn located(origins: &Origins, pointer: &str, message: String) -> Diagnostic {
    placed(Diagnostic::error("config-conflict", message), origins, pointer)
}

/// The finding with its place in the file, or with who said it where that is elsewhere.
fn placed(finding: Diagnostic, origins: &Origins, pointer: &str) -> Diagnostic {
    let finding = finding.of(pointer);
    let origin = match origins.of(&dotted(pointer)) {
        Origin::Default => origins.of_section(&dotted(pointer)),
        origin => origin,
    };
    match origin {
        Origin::File { .. } => pointing_at(origins.node(pointer), finding),
        Origin::Default => finding,
        elsewhere => Diagnostic { message: format!("{elsewhere}: {}", finding.message), ..finding },
    }
}
