//! From the configuration to the backends that a plan needs.

use super::{Acp, Aider, Claude, Codex, Docker, Gemini, OpenCode, Pi, Qwen, Template};
use crate::config::{BackendKind, BackendSettings, Settings};
use crate::runner::{Backend, Backends, Plan};

/// The backends of the plan's agents.
#[must_use]
pub fn backends(plan: &Plan, settings: &Settings) -> Backends {
    let names = plan.stages().iter().filter_map(|stage| Some(stage.agent()?.backend.as_str()));
    // A name that nothing is known of was refused when the plan was made.
    Backends::new(names.filter_map(|name| settings.backend(name)).map(backend).collect())
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
