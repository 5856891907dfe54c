//! From the configuration to the backends that a plan needs.

use super::{Aider, Claude, Codex, Gemini, OpenCode, Pi, Qwen, Template};
use crate::config::{BackendKind, BackendSettings, Settings};
use crate::runner::{Backend, Backends, Plan};

/// The backends of the plan's agents.
#[must_use]
pub fn backends(plan: &Plan, settings: &Settings) -> Backends {
    let names = plan.stages().iter().filter_map(|stage| Some(stage.agent()?.backend.as_str()));
    // A name that nothing is known of was refused when the plan was made.
    Backends::new(names.filter_map(|name| settings.backend(name)).map(backend).collect())
}

fn backend(settings: BackendSettings) -> Box<dyn Backend> {
    match settings.kind {
        BackendKind::Claude => Box::new(Claude::new(settings)),
        BackendKind::Codex => Box::new(Codex::new(settings)),
        BackendKind::OpenCode => Box::new(OpenCode::new(settings)),
        BackendKind::Gemini => Box::new(Gemini::new(settings)),
        BackendKind::Qwen => Box::new(Qwen::new(settings)),
        BackendKind::Aider => Box::new(Aider::new(settings)),
        BackendKind::Pi => Box::new(Pi::new(settings)),
        BackendKind::Command => Box::new(Template::new(settings)),
    }
}
