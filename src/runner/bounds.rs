//! The settings of a run that belong to no single phase.

use std::path::Path;
use std::time::Duration;

use super::operator;
use super::receivers::Notification;
use crate::config::{Command, InDoubt, Lifetime, Secret, Settings};
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
    /// What is done with a phase that acts outside of the workspace and was cut off.
    pub in_doubt: InDoubt,
    /// How long a process may take to obey TERM before it is killed.
    pub grace: Duration,
    /// How long the run waits in all for providers' limits to be lifted.
    pub limit_patience: Duration,
    /// How long one outage of a provider is waited for; not at all, it is a failure like others.
    pub outage_patience: Duration,
    /// Codes with which a command, or an agent that has nothing else to tell its ends apart by, says that there is one.
    pub outage_codes: Vec<u8>,
    /// How long what a stage leaves running may live, where there is a boundary.
    pub lifetime: Lifetime,
    /// Where the gateway is of stages that reach nothing else; its address, which may be none.
    pub gateway: Option<String>,
    /// Who is told how a run ends, and how.
    pub notification: Notification,
    /// Who operates, when the configuration says it.
    pub operator: Option<OperatorType>,
    /// How hard models should think; their own default without it.
    pub effort: Option<EffortConfig>,
    /// The folder of memories, relative to the workspace, when they are read.
    pub memories: Option<String>,
    /// Globs of the files that no phase is to change.
    pub protects: Vec<String>,
    /// What must not be written down.
    pub redactor: Redactor,
    /// The most bytes that the log of one attempt may hold.
    pub log_limit: u64,
    /// Whether the files that a phase changed are looked for when it does not name its artifacts.
    pub find_artifacts: bool,
}

/// How long a process may take to obey TERM before it is killed.
const GRACE: Duration = Duration::from_secs(3);

impl Bounds {
    /// What the configuration of a workspace says. `credentials` are the variables that hold keys of agents.
    #[must_use]
    pub fn of(settings: &Settings, credentials: &[String], workspace: &Path) -> Self {
        Self {
            triggers: settings.triggers(),
            context: settings.limits(),
            editing: settings.context_editing(),
            compaction: settings.compaction().map(Command::argv),
            deploy_approval: settings.deploy_needs_approval(),
            in_doubt: settings.in_doubt(),
            grace: GRACE,
            limit_patience: settings.limit_patience(),
            outage_patience: settings.outage_patience(),
            outage_codes: settings.outage_codes().to_vec(),
            lifetime: settings.boundary().lifetime,
            gateway: settings.boundary().gateway.clone(),
            notification: Notification::from(settings),
            operator: operator::configured(settings),
            effort: settings.effort(),
            memories: settings.memory_dir().map(str::to_owned),
            protects: settings.protects().to_vec(),
            redactor: redactor(settings, credentials, workspace),
            log_limit: settings.log_limit(),
            find_artifacts: settings.find_artifacts(),
        }
    }
}

/// The values of the variables that the configuration names and of those that hold keys, here and in the environments that
/// it gives to phases; of every variable that it gives to an agent alone, and what receivers of messages are reached by.
fn redactor(settings: &Settings, credentials: &[String], workspace: &Path) -> Redactor {
    let names: Vec<&String> = settings.redacted().iter().chain(credentials).chain(&settings.notify().env).collect();
    let own = names.iter().filter_map(|name| Some(((*name).clone(), env::var(name)?)));
    let phases = Phase::ALL.iter().flat_map(|phase| settings.phase(*phase).env);
    let phases = phases.filter(|(name, _)| names.contains(&name));
    let agents = settings.backends().into_iter().flat_map(|agent| agent.section.env);
    let receivers = settings.notify().receivers.iter().flat_map(|receiver| [&receiver.url, &receiver.token]);
    let webhook = settings.notify().webhook.clone().map(Secret::Literal);
    let receivers = receivers.flatten().chain(&webhook).flat_map(|secret| {
        let name = if let Secret::Env(name) = secret { name } else { "runtime.notify" };
        // One that is not there is no secret yet.
        let value = secret.found(workspace).unwrap_or_default();
        secrets_in(&value).into_iter().map(|part| (name.to_owned(), part.to_owned())).collect::<Vec<_>>()
    });
    let values: Vec<(String, String)> = own.chain(phases).chain(agents).chain(receivers).collect();
    Redactor::new(values.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}

/// The shortest part of an address that is taken for a secret by itself.
const SHORTEST_PART: usize = 8;

/// A value, and where it is an address, what of it lets somebody in by itself: what stands behind the host, a password, and
/// each part of these. A plain word is none, such as the `services` of Slack's addresses: it stands everywhere.
fn secrets_in(value: &str) -> Vec<&str> {
    let Some((_, rest)) = value.split_once("://") else { return vec![value] };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let user = host.rsplit_once('@').map_or("", |(user, _)| user);
    let parts = [user, path].into_iter().flat_map(|part| part.split([':', '/', '?', '&', '=', '#']));
    let lets_in = |part: &&str| part.len() >= SHORTEST_PART && !part.chars().all(|letter| letter.is_ascii_lowercase());
    std::iter::once(value).chain(std::iter::once(path).chain(parts).filter(lets_in)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_address_is_secret_what_lets_somebody_in() {
        for (value, secrets) in [
            ("tk_12345678", &["tk_12345678"][..]),
            ("https://example.org/webhook", &["https://example.org/webhook"]),
            (
                "https://hooks.example.org/services/T0000001/B0000002",
                &[
                    "https://hooks.example.org/services/T0000001/B0000002",
                    "services/T0000001/B0000002",
                    "T0000001",
                    "B0000002",
                ],
            ),
            (
                "http://me:PASSWORD9@example.org/x?key=AbCdEfGh",
                &["http://me:PASSWORD9@example.org/x?key=AbCdEfGh", "x?key=AbCdEfGh", "PASSWORD9", "AbCdEfGh"],
            ),
        ] {
            assert_eq!(secrets_in(value), secrets, "{value}");
        }
    }
}
