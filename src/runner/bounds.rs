//! The settings of a run that belong to no single phase.

use std::time::Duration;

use crate::config::{Command, Settings};
use crate::contract::{ContextEditingConfig, ContextLimits};
use crate::policy::TriggerLimits;

/// The settings of a run that belong to no single phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// Thresholds of the escalation triggers.
    pub triggers: TriggerLimits,
    /// Limits of the context, in tokens.
    pub context: ContextLimits,
    /// Context editing, where it is enabled.
    pub editing: Option<ContextEditingConfig>,
    /// Program and arguments that compact a command's context; without them the need is recorded and nothing is done.
    pub compaction: Option<Vec<String>>,
    /// Whether the run stops before `deploy` until a human agrees.
    pub deploy_approval: bool,
    /// How long a process may take to obey TERM before it is killed.
    pub grace: Duration,
}

/// How long a process may take to obey TERM before it is killed.
const GRACE: Duration = Duration::from_secs(3);

impl From<&Settings> for Bounds {
    fn from(settings: &Settings) -> Self {
        Self {
            triggers: settings.triggers(),
            context: settings.limits(),
            editing: settings.context_editing(),
            compaction: settings.compaction().map(Command::argv),
            deploy_approval: settings.deploy_needs_approval(),
            grace: GRACE,
        }
    }
}
