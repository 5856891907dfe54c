//! The settings of a run that belong to no single phase.

use std::time::Duration;

use super::operator;
use crate::config::{Command, Settings};
use crate::contract::{ContextEditingConfig, ContextLimits, EffortConfig, OperatorType, Phase};
use crate::policy::{Redactor, TriggerLimits};
use crate::system::env;

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
    /// How long the run waits in all for providers' limits to be lifted.
    pub limit_patience: Duration,
    /// How long one outage of a provider is waited for; not at all, it is a failure like others.
    pub outage_patience: Duration,
    /// How people hear of a call.
    pub notification: Notification,
    /// Who operates, when the configuration says it.
    pub operator: Option<OperatorType>,
    /// How hard models should think; their own default without it.
    pub effort: Option<EffortConfig>,
    /// The folder of memories, relative to the workspace, when they are read.
    pub memories: Option<String>,
    /// What must not be written down.
    pub redactor: Redactor,
    /// The most bytes that the log of one attempt may hold.
    pub log_limit: u64,
    /// Whether the files that a phase changed are looked for when it does not name its artifacts.
    pub find_artifacts: bool,
}

/// How people are told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notification {
    /// Program and arguments.
    pub command: Option<Vec<String>>,
    /// Where a message is posted.
    pub webhook: Option<String>,
    /// The time for each of them.
    pub time: Duration,
}

impl From<&Settings> for Notification {
    fn from(settings: &Settings) -> Self {
        let section = settings.notify();
        Self {
            command: section.command.as_ref().map(Command::argv),
            webhook: section.webhook.clone(),
            time: Duration::from_millis(section.timeout_ms),
        }
    }
}

/// How long a process may take to obey TERM before it is killed.
const GRACE: Duration = Duration::from_secs(3);

impl Bounds {
    /// What the configuration says. `credentials` are the variables that hold keys of agents.
    #[must_use]
    pub fn of(settings: &Settings, credentials: &[String]) -> Self {
        Self {
            triggers: settings.triggers(),
            context: settings.limits(),
            editing: settings.context_editing(),
            compaction: settings.compaction().map(Command::argv),
            deploy_approval: settings.deploy_needs_approval(),
            grace: GRACE,
            limit_patience: settings.limit_patience(),
            outage_patience: settings.outage_patience(),
            notification: Notification::from(settings),
            operator: operator::configured(settings),
            effort: settings.effort(),
            memories: settings.memory_dir().map(str::to_owned),
            redactor: redactor(settings, credentials),
            log_limit: settings.log_limit(),
            find_artifacts: settings.find_artifacts(),
        }
    }
}

/// The values of the variables that the configuration names and of those that hold keys, here and in the environments that
/// it gives to phases; and of every variable that it gives to an agent alone.
fn redactor(settings: &Settings, credentials: &[String]) -> Redactor {
    let names: Vec<&String> = settings.redacted().iter().chain(credentials).collect();
    let own = names.iter().filter_map(|name| Some(((*name).clone(), env::var(name)?)));
    let phases = Phase::ALL.iter().flat_map(|phase| settings.phase(*phase).env);
    let phases = phases.filter(|(name, _)| names.contains(&name));
    let agents = settings.backends().into_iter().flat_map(|agent| agent.section.env);
    let values: Vec<(String, String)> = own.chain(phases).chain(agents).collect();
    Redactor::new(values.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}
