//! The resolved configuration: every value in force, and where it comes from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::origin::is_secret;
use super::{
    BackendKind, BackendSection, BoundaryMode, BoundarySection, Command, ConfigDocument, InDoubt, Network, Notify,
    OperatorChoice, Origin, Override, Retry, agents, built_in,
};
use crate::contract::{BudgetRanges, ContextEditingConfig, ContextLimits, EffortConfig, Phase};
use crate::diag::{Diagnostic, Document, Node};
use crate::policy::{Backoff, Limits, TriggerLimits};

/// The configuration in force.
#[derive(Debug, Clone)]
pub struct Settings {
    pub(super) config: ConfigDocument,
    pub(super) origins: Origins,
    pub(super) warnings: Vec<Diagnostic>,
}

/// What one phase runs and how.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseSettings {
    /// What to run, when the configuration says it.
    pub command: Option<Command>,
    /// What to tell an agent instead.
    pub prompt: Option<String>,
    /// The agent, by the name of its backend.
    pub backend: String,
    /// The gate that runs after it.
    pub verify: Option<Command>,
    /// Variables for its environment.
    pub env: BTreeMap<String, String>,
    /// Longest duration of one attempt.
    pub timeout: Option<Duration>,
    /// Longest time in which an attempt says nothing.
    pub idle_timeout: Option<Duration>,
    /// How failed attempts of a command are repeated; an agent may say otherwise, see [`Settings::phase_retry`].
    pub retry: RetrySettings,
    /// Whether it runs behind a boundary.
    pub boundary: BoundaryMode,
    /// What network it has.
    pub network: Network,
    /// What its processes may take of the host.
    pub limits: Limits,
    /// Whether it is passed over.
    pub skip: bool,
}

/// How an agent is started.
#[derive(Debug, Clone, PartialEq)]
pub struct BackendSettings {
    /// Its name.
    pub name: String,
    /// The adapter.
    pub kind: BackendKind,
    /// What the configuration says about it.
    pub section: BackendSection,
}

impl BackendSettings {
    /// Names of the variables that hold its credentials: those that its program is known to read, and those that the
    /// configuration names.
    #[must_use]
    pub fn credentials(&self, known: &[&str]) -> Vec<String> {
        known.iter().map(|name| (*name).to_owned()).chain(self.section.credentials.iter().cloned()).collect()
    }

    /// The program that is started.
    #[must_use]
    pub fn program(&self) -> &str {
        let templates = || self.section.run.iter().flatten().next().map(String::as_str);
        self.section.binary.as_deref().or(self.kind.program()).or_else(templates).unwrap_or_default()
    }
}

/// How failed attempts are repeated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetrySettings {
    /// Retries after the first attempt.
    pub max: u32,
    /// How long to wait before each.
    pub backoff: Backoff,
}

impl From<Retry> for RetrySettings {
    fn from(retry: Retry) -> Self {
        let (initial, max) = (Duration::from_millis(retry.initial_ms), Duration::from_millis(retry.max_ms));
        Self { max: retry.max, backoff: Backoff { initial, multiplier: retry.multiplier, max, jitter: retry.jitter } }
    }
}

/// One value in force and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    /// The key with dots.
    pub key: String,
    /// The value.
    pub value: Value,
    /// Where it comes from.
    pub origin: Origin,
}

impl Settings {
    /// The soft and the hard limit of the context.
    #[must_use]
    pub fn limits(&self) -> ContextLimits {
        let context = self.config.autonomous_agent.context;
        ContextLimits { soft: context.soft_limit_tokens, hard: context.hard_limit_tokens }
    }

    /// The thresholds of the escalation triggers.
    #[must_use]
    pub fn triggers(&self) -> TriggerLimits {
        let (run, agent) = (&self.config.run_mode, &self.config.autonomous_agent);
        TriggerLimits {
            max_loops: agent.max_remediation_loops,
            same_issue: run.circuit_breaker.same_issue_threshold,
            no_progress: run.circuit_breaker.no_progress_threshold,
            timeout: Duration::try_from_secs_f64(run.defaults.timeout_hours * 3600.0).unwrap_or(Duration::MAX),
        }
    }

    /// What a phase runs and how.
    #[must_use]
    pub fn phase(&self, phase: Phase) -> PhaseSettings {
        let (section, general) = (self.config.runtime.phases.get(phase), self.config.runtime.retry);
        PhaseSettings {
            command: section.command.clone(),
            prompt: section.prompt.clone(),
            backend: section.backend.clone().unwrap_or_else(|| self.config.runtime.backend.clone()),
            verify: section.verify.clone(),
            env: section.env.clone(),
            timeout: section.timeout_ms.map(Duration::from_millis),
            idle_timeout: section.idle_timeout_ms.map(Duration::from_millis),
            retry: section.retry.over(general).into(),
            boundary: section.boundary.unwrap_or(self.config.runtime.boundary.mode),
            network: section.network.unwrap_or(self.config.runtime.boundary.network),
            limits: section.limits.over(self.config.runtime.limits),
            skip: section.skip,
        }
    }

    /// Every name of an agent that nothing is known of, as an error. A run needs the agents of the phases that run only.
    #[must_use]
    pub fn unknown_agents(&self) -> Vec<Diagnostic> {
        agents::strangers(&self.config, &self.origins)
    }

    /// Where it is said which agent a phase has.
    #[must_use]
    pub fn origin_of_backend(&self, phase: Phase) -> Origin {
        let own = self.config.runtime.phases.get(phase).backend.is_some();
        self.origin(&if own { format!("runtime.phases.{phase}.backend") } else { "runtime.backend".to_owned() })
    }

    /// How the agent of this name is started; `None` when nothing is known of it.
    #[must_use]
    pub fn backend(&self, name: &str) -> Option<BackendSettings> {
        let section = self.config.runtime.backends.get(name).cloned();
        let section = section.or_else(|| built_in().any(|known| known == name).then(BackendSection::default))?;
        Some(BackendSettings { name: name.to_owned(), kind: section.kind(name), section })
    }

    /// Every agent that something is known of: those that need no section, and those that have one, by name.
    #[must_use]
    pub fn backends(&self) -> Vec<BackendSettings> {
        let configured = self.config.runtime.backends.keys().map(String::as_str);
        let names: BTreeSet<&str> = built_in().chain(configured).collect();
        names.into_iter().filter_map(|name| self.backend(name)).collect()
    }

    /// Whether the configuration counts on an agent: it has a section, it is the default, or a phase names it.
    #[must_use]
    pub fn names_backend(&self, name: &str) -> bool {
        self.config.runtime.backend == name || self.employs(name)
    }

    /// Whether the configuration has something for an agent: a section, a phase that names it, or a prompt.
    #[must_use]
    pub fn employs(&self, name: &str) -> bool {
        let runtime = &self.config.runtime;
        let asks = |phase: &Phase| {
            let phase = runtime.phases.get(*phase);
            let default = phase.prompt.as_ref().map(|_| runtime.backend.as_str());
            phase.backend.as_deref().or(default) == Some(name)
        };
        runtime.backends.contains_key(name) || Phase::ALL.iter().any(asks)
    }

    /// The agent of whoever names none.
    #[must_use]
    pub fn default_backend(&self) -> &str {
        &self.config.runtime.backend
    }

    /// How an agent's failed invocations are repeated.
    #[must_use]
    pub fn agent_retry(&self, backend: &str) -> RetrySettings {
        self.retry_with(backend).into()
    }

    /// How a phase that this agent does is repeated: what its agent may do more often elsewhere, the contract bounds here.
    #[must_use]
    pub fn phase_retry(&self, phase: Phase, backend: &str) -> RetrySettings {
        let retry = self.config.runtime.phases.get(phase).retry.over(self.retry_with(backend));
        Retry { max: retry.max.min(Retry::MOST), ..retry }.into()
    }

    fn retry_with(&self, backend: &str) -> Retry {
        let general = self.config.runtime.retry;
        self.config.runtime.backends.get(backend).map_or(general, |section| section.retry.over(general))
    }

    /// How long a run waits in all for a provider's limits to be lifted.
    #[must_use]
    pub fn limit_patience(&self) -> Duration {
        Duration::try_from_secs_f64(self.config.runtime.limit_patience_hours * 3600.0).unwrap_or(Duration::MAX)
    }

    /// How long a run waits for the end of one outage of a provider.
    #[must_use]
    pub fn outage_patience(&self) -> Duration {
        self.config.runtime.outage_patience.time()
    }

    /// What is done with a phase that acts outside of the workspace and was cut off.
    #[must_use]
    pub fn in_doubt(&self) -> InDoubt {
        self.config.runtime.in_doubt
    }

    /// Exit codes with which a command, or an agent that is any program, says that there is an outage.
    #[must_use]
    pub fn outage_codes(&self) -> &[u8] {
        &self.config.runtime.outage_codes
    }

    /// Globs of the files that no phase is to change.
    #[must_use]
    pub fn protects(&self) -> &[String] {
        &self.config.runtime.protects
    }

    /// What keeps phases from the state of runs.
    #[must_use]
    pub fn boundary(&self) -> &BoundarySection {
        &self.config.runtime.boundary
    }

    /// How people hear of a call.
    #[must_use]
    pub fn notify(&self) -> &Notify {
        &self.config.runtime.notify
    }

    /// What to run when a command's context must shrink.
    #[must_use]
    pub fn compaction(&self) -> Option<&Command> {
        self.config.runtime.compaction.command.as_ref()
    }

    /// The variables whose values must not be written down.
    #[must_use]
    pub fn redacted(&self) -> &[String] {
        &self.config.runtime.redact
    }

    /// Bytes that the log of one attempt may hold.
    #[must_use]
    pub fn log_limit(&self) -> u64 {
        self.config.runtime.log_limit_mb * 1024 * 1024
    }

    /// Whether the files that a phase changed are looked for when it does not name its artifacts.
    #[must_use]
    pub fn find_artifacts(&self) -> bool {
        self.config.runtime.find_artifacts
    }

    /// Who operates, as far as the configuration says it.
    #[must_use]
    pub fn operator(&self) -> OperatorChoice {
        self.config.autonomous_agent.operator.kind
    }

    /// Whether a human must agree before `deploy` starts.
    #[must_use]
    pub fn deploy_needs_approval(&self) -> bool {
        self.config.autonomous_agent.require_human_deploy_approval
    }

    /// How hard models should think; `None` when the section is missing.
    #[must_use]
    pub fn effort(&self) -> Option<EffortConfig> {
        let effort = self.config.effort.as_ref()?;
        let ranges = effort.budget_ranges;
        Some(EffortConfig {
            default_level: effort.default_level,
            budget_ranges: BudgetRanges { low: ranges.low, medium: ranges.medium, high: ranges.high },
            per_skill: effort.per_skill.clone(),
        })
    }

    /// How the context is edited; `None` unless enabled.
    #[must_use]
    pub fn context_editing(&self) -> Option<ContextEditingConfig> {
        let editing = Some(&self.config.context_editing).filter(|editing| editing.enabled)?;
        Some(ContextEditingConfig {
            enabled: true,
            compact_threshold_percent: editing.compact_threshold_percent,
            preserve_recent_turns: editing.preserve_recent_turns,
            clear_targets: editing.clear_targets.clone(),
            preserve_artifacts: editing.preserve_artifacts.clone(),
        })
    }

    /// The folder of memories, relative to the workspace; `None` unless enabled.
    #[must_use]
    pub fn memory_dir(&self) -> Option<&str> {
        let memory = &self.config.memory_schema;
        memory.enabled.then_some(memory.storage_dir.as_str())
    }

    /// What in the file is allowed and still worth a look.
    #[must_use]
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// Where the value of a key with dots comes from.
    #[must_use]
    pub fn origin(&self, key: &str) -> Origin {
        self.origins.of(key)
    }

    /// Every value in force, in the order of the file format.
    #[must_use]
    pub fn explain(&self) -> Vec<Explained> {
        let value = effective(&self.config);
        let explained = |(key, value): (String, Value)| {
            let value = if is_secret(&key) { Value::from("(set, and not shown)") } else { value };
            Explained { origin: self.origins.of(&key), key, value }
        };
        leaves(&value).into_iter().map(explained).collect()
    }
}

/// The configuration with every default filled in, as a tree.
pub(super) fn effective(config: &ConfigDocument) -> Value {
    serde_json::to_value(config).expect("a configuration is plain data with text keys")
}

/// The values of a tree that hold no others, with their keys; a list counts as one value, an empty section as none.
pub(super) fn leaves(value: &Value) -> Vec<(String, Value)> {
    fn walk(value: &Value, key: &str, found: &mut Vec<(String, Value)>) {
        match value {
            Value::Object(entries) => {
                for (name, value) in entries {
                    let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                    walk(value, &key, found);
                }
            }
            leaf => found.push((key.to_owned(), leaf.clone())),
        }
    }
    let mut found = Vec::new();
    walk(value, "", &mut found);
    found
}

/// Answers where a value comes from.
#[derive(Debug, Clone, Default)]
pub(super) struct Origins {
    pub(super) file: Option<(PathBuf, Document)>,
    /// The user's own file, which the other goes before.
    pub(super) user: Option<(PathBuf, Document)>,
    /// The strongest last.
    pub(super) overrides: Vec<Override>,
    /// What old names say that nobody else says.
    pub(super) old: Vec<Override>,
}

impl Origins {
    pub(super) fn of(&self, key: &str) -> Origin {
        if let Some(strongest) = self.overrides.iter().rfind(|value| value.key == key) {
            return strongest.origin.clone();
        }
        let pointer = format!("/{}", key.replace('.', "/"));
        let at = |(path, document): &(PathBuf, Document)| {
            let line = document.node_at(&pointer)?.span.start.line;
            Some(Origin::File { path: path.clone(), line })
        };
        let files = [&self.file, &self.user];
        let old = || self.old.iter().find(|value| value.key == key).map(|value| value.origin.clone());
        files.into_iter().flatten().find_map(at).or_else(old).unwrap_or(Origin::Default)
    }

    /// Where a section comes from that no file has: from whoever says something in it.
    pub(super) fn of_section(&self, key: &str) -> Origin {
        let within = |value: &&Override| value.key.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'));
        let said = self.overrides.iter().rfind(within).or_else(|| self.old.iter().find(within));
        said.map_or(Origin::Default, |value| value.origin.clone())
    }

    /// The value at a JSON pointer, as it stands in the file.
    pub(super) fn node(&self, pointer: &str) -> Option<&Node> {
        self.file.as_ref().and_then(|(_, document)| document.node_at(pointer))
    }
}
