//! From the configuration to the backends that a plan needs.

use std::collections::BTreeSet;
use std::path::Path;

use super::wrapped::{Keeps, Wrapped};
use super::{Acp, Aider, Claude, Codex, Docker, Gemini, OpenCode, Pi, PromptError, Qwen, Template};
use crate::config::{BackendKind, BackendSettings, Settings};
use crate::runner::{Backend, Backends, Plan};

/// The backends of the plan's agents, each with the texts around its prompts. The credentials of the other agents that are
/// configured are for none of them.
///
/// # Errors
/// [`PromptError`] when such a text cannot be had.
pub fn backends(plan: &Plan, settings: &Settings, workspace: &Path) -> Result<Backends, PromptError> {
    let names: BTreeSet<&str> =
        plan.stages().iter().filter_map(|stage| Some(stage.agent()?.backend.as_str())).collect();
    let counts = |name: &str| settings.employs(name) || plan.idle_agents().contains(name);
    let other = |known: &BackendSettings| !names.contains(known.name.as_str()) && counts(&known.name);
    let others = settings.backends().into_iter().filter(other);
    let credentials = others.flat_map(|other| backend(other).credentials()).collect();
    // A name that nothing is known of was refused when the plan was made.
    let at_work = names.iter().filter_map(|name| settings.backend(name));
    let at_work = at_work.map(|settings| ready(settings, workspace)).collect::<Result<_, _>>()?;
    Ok(Backends::new(at_work).beside(credentials))
}

/// A backend as it is put to work, with the texts around its prompts.
///
/// # Errors
/// [`PromptError`] when such a text cannot be had.
pub fn ready(settings: BackendSettings, workspace: &Path) -> Result<Box<dyn Backend>, PromptError> {
    let (prompts, keeps) = (settings.section.prompts.clone(), keeps(settings.kind));
    Wrapped::around(backend(settings), keeps, &prompts, workspace)
}

fn keeps(kind: BackendKind) -> Keeps {
    match kind {
        BackendKind::Claude | BackendKind::Qwen | BackendKind::Pi => Keeps::Nowhere,
        BackendKind::Codex
        | BackendKind::OpenCode
        | BackendKind::Gemini
        | BackendKind::Aider
        | BackendKind::Command
        | BackendKind::Acp => Keeps::InSession,
    }
}

/// Every backend that is built in or configured.
#[must_use]
pub fn every_backend(settings: &Settings) -> Backends {
    Backends::new(settings.backends().into_iter().map(backend).collect())
}

fn backend(settings: BackendSettings) -> Box<dyn Backend> {
    let docker = settings.section.docker.clone();
    let backend: Box<dyn Backend> = match settings.kind {
        BackendKind::Acp => Box::new(Acp::new(settings)),
        BackendKind::Claude => Box::new(Claude::new(settings)),
        BackendKind::Codex => Box::new(Codex::new(settings)),
        BackendKind::OpenCode => Box::new(OpenCode::new(settings)),
        BackendKind::Gemini => Box::new(Gemini::new(settings)),
        BackendKind::Qwen => Box::new(Qwen::new(settings)),
        BackendKind::Aider => Box::new(Aider::new(settings)),
        BackendKind::Pi => Box::new(Pi::new(settings)),
        BackendKind::Command => Box::new(Template::new(settings)),
    };
    match docker {
        Some(docker) => Box::new(Docker::new(backend, docker)),
        None => backend,
    }
}
