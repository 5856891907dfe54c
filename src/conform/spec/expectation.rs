//! What must be seen of a runtime, expectation by expectation, as a case writes it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ContextRule, Matcher, Rule};

/// One effect that must be seen. Each failed one yields a reason code of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Expectation {
    /// How often a phase was started.
    Starts {
        /// The phase.
        phase: String,
        /// Which step, counted from 0; all together when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<usize>,
        /// The count that the clause demands.
        count: u64,
        /// Counts that other legal readings allow.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        accept: Vec<AcceptedCount>,
    },
    /// The phases started in this order and none before the end of the one before; exactly these, retries folded.
    Order(Vec<String>),
    /// The phase started, and no phase started after the last end of it (within the step, when given).
    NothingAfter {
        /// The phase.
        phase: String,
        /// Which step, counted from 0; the whole case when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<usize>,
    },
    /// Every gap before a retry of the phase exceeds the largest gap after a successful phase of the same run by half
    /// the configured initial backoff, or by 200 ms where the manifest has no such knob; or, with `growth`, the gaps grow.
    Backoff {
        /// The phase.
        phase: String,
        /// The last gap is at least this many times the first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        growth: Option<f64>,
    },
    /// How the runtime itself ended in a step: by itself, not by the judge.
    Ends {
        /// Which step, counted from 0; the last run or resume when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<usize>,
        /// Its exit code, where the clause demands one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<i32>,
        /// Whether a runtime that has surfaced its report may stay and wait for its human.
        #[serde(default)]
        may_wait: bool,
    },
    /// A phase's checkpoint, read as YAML by the judge.
    Checkpoint {
        /// The phase; the word `all` stands for every phase that ended in the case.
        phase: String,
        /// When it is looked at.
        #[serde(default)]
        at: Moment,
        /// Whether it must be there.
        #[serde(default = "yes")]
        present: bool,
        /// The reading in the ledger by which it may also be absent; it also says whether that warns.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        or_absent: Option<String>,
        /// What must hold inside: JSON pointer to matcher; the empty pointer is the whole document.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        fields: BTreeMap<String, Matcher>,
    },
    /// The checkpoint folder is there after the last step and holds at least one file.
    CheckpointFolder,
    /// `created_at` never falls from one phase to the next, and lies within a minute of the file's own time of writing
    /// (in some zone, which warns, where it names none). At least two checkpoints must be there.
    CheckpointTimes,
    /// The checkpoint folder holds exactly the files `<phase>.yaml` of these phases, besides Loa's own siblings.
    CheckpointFiles(Vec<String>),
    /// A value is the same in all checkpoints of a workspace and, where asked, differs between two workspaces.
    OneExecution {
        /// Whether the case ran in two workspaces whose ids must differ.
        #[serde(default)]
        unique_across_runs: bool,
    },
    /// The escalation report that appeared in the step.
    Report {
        /// Which step, counted from 0; the last run or resume when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<usize>,
        /// Whether there must be one, or none.
        #[serde(default = "yes")]
        present: bool,
        /// What must hold inside: JSON pointer to matcher.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        fields: BTreeMap<String, Matcher>,
    },
    /// After the failing phase ended, the output named the phase, and the trigger or the report's place.
    Surfaced {
        /// The phase.
        phase: String,
        /// What was said since the phase's last start counts, too: a runtime may tell of a timeout before it ends the phase.
        #[serde(default)]
        from_start: bool,
    },
    /// After the phase had ended, the runtime did not break down, and something shows that it decided to stop: it ended
    /// with 2 or waits, or a report, a checkpoint or a line of its output names the phase.
    Decided {
        /// The phase.
        phase: String,
    },
    /// The phase ended with this code, and was not started again in the same step.
    NotAgain {
        /// The phase.
        phase: String,
        /// The code: a number, or a name that stands for one.
        code: serde_json::Value,
    },
    /// No phase started while another was running, in the step that the situation came up in, or in the last that drove the
    /// runtime.
    OneAtATime,
    /// The output, its lines joined by line feeds, matches a pattern; the probe's own output is cut out first.
    Says {
        /// Only output after the last end of this phase counts; all of it when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
        /// Only output of this step, counted from 0, counts; that of all steps when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<usize>,
        /// Lines that were also printed in this step, where there was no cause, do not count; figures in them aside.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        control: Option<usize>,
        /// Regular expression.
        pattern: String,
    },
    /// No process of the case is left ten polls after the runtime ended.
    NoOrphans,
    /// What `context-state.yaml` held after the n-th usage (counted from 0) of the case.
    ContextState {
        /// Which usage.
        usage: usize,
        /// What must hold inside: JSON pointer to matcher.
        fields: BTreeMap<String, Matcher>,
    },
    /// The runtime's own figure after the n-th usage, in its newest `CONTEXT_CURRENT` or in `context-state.yaml`, equals
    /// what was reported.
    Tracked {
        /// Which usage, counted from 0.
        usage: usize,
    },
    /// Warnings seen between one usage and the next: in the event file, on the output by the manifest's pattern, or, where
    /// neither shows any in the case, as a change of level in the context state. Another level beside it fails.
    Warned {
        /// Which usage, counted from 0.
        usage: usize,
        /// The level that must be seen, or `none` for silence, which counts only beside a warning seen elsewhere in the case.
        level: String,
        /// What must hold in the warning, read from the event or else from the context state; names of keys are compared in
        /// snake case, and `warning_level` is read as `level`.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        fields: BTreeMap<String, Matcher>,
    },
    /// Compactions asked for or done between one usage and the next.
    Compacted {
        /// Which usage, counted from 0.
        usage: usize,
        /// `standard`, `emergency`, or `none` for silence beside one seen elsewhere in the case.
        level: String,
    },
    /// Lines of this type in the event file, over the whole case.
    Events {
        /// The type.
        r#type: String,
        /// How many at least.
        at_least: u64,
        /// What must hold in each: JSON pointer to matcher.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        fields: BTreeMap<String, Matcher>,
    },
    /// Lines of this type in the event file between one usage and the next. None of them counts only where the runtime told
    /// the usage itself or anything else in the event file.
    Signalled {
        /// Which usage, counted from 0.
        usage: usize,
        /// The type.
        r#type: String,
        /// Whether there must be one, or none.
        #[serde(default = "yes")]
        present: bool,
        /// What must hold in each: JSON pointer to matcher.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        fields: BTreeMap<String, Matcher>,
    },
    /// The effort that was handed to every attempt of the phase, by `LOA_EFFORT_LEVEL`, `LOA_THINKING_BUDGET` or both; what
    /// is there must fit.
    Effort {
        /// The phase.
        phase: String,
        /// The level, or `none` where nothing may be handed.
        level: String,
        /// The closed range in which the thinking tokens must lie.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<[u64; 2]>,
        /// The reading in the ledger by which the level alone is enough.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        level_alone: Option<String>,
    },
    /// The file of memories (`LOA_MEMORY_FILE`) that was handed to every attempt of the phase.
    Memories {
        /// The phase.
        phase: String,
        /// Texts that must stand in it; one at least, here or in `lacks`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        has: Vec<String>,
        /// Texts that must not.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lacks: Vec<String>,
    },
    /// What the judge's own compactor was told by `LOA_COMPACTION_CLEAR_TARGETS`, `LOA_COMPACTION_PRESERVE` and
    /// `LOA_COMPACTION_RECENT_TURNS`, each time that it was started; once at least.
    CompactorTold {
        /// Exactly what may go, in any order.
        clear: Vec<String>,
        /// What must stay, among others.
        preserve: Vec<String>,
        /// How many of the newest turns must stay.
        recent_turns: u64,
    },
    /// After the step before was cut short, half a checkpoint of the phase was not taken for a whole one: the file was one
    /// document with the five fields that must be there, or this step started the phase before any other, or refused.
    NotTorn {
        /// The phase.
        phase: String,
        /// The step after the cut, counted from 0.
        step: usize,
    },
    /// The step took less of the runtime's own time than this, so that nothing in it can be due to the time. Where it took more,
    /// the machine was too slow and the whole case is not observed.
    Within {
        /// Which step, counted from 0.
        step: usize,
        /// Minutes of an accelerated clock.
        minutes: u64,
    },
    /// What the `state` verb answered in a step.
    State {
        /// Which step, counted from 0.
        step: usize,
        /// What must hold inside: JSON pointer to matcher.
        fields: BTreeMap<String, Matcher>,
    },
    /// What the `resolve` verb did in a step.
    Resolved {
        /// Which step, counted from 0.
        step: usize,
        /// Whether it must be accepted (exit 0) or refused (any other exit by itself).
        accepted: bool,
    },
    /// In the step, the phase was started before any other; or nothing was started and the runtime ended by itself with
    /// an exit code other than 0, a refusal.
    Reopened {
        /// The phase.
        phase: String,
        /// What started since this step counts as well, for a runtime may begin at once where it is asked; that step alone
        /// when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<usize>,
        /// Which step, counted from 0.
        step: usize,
    },
    /// A file of the workspace is as the judge laid it.
    Unchanged(String),
    /// The judge's model of the contract, held against whatever happened from the first step on: the rule was kept each time
    /// that it applied.
    Lawful(Rule),
    /// What the contract says of every usage, held against each that was reported.
    EveryUsage(ContextRule),
}

/// A count that another legal reading allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceptedCount {
    /// The count.
    pub count: u64,
    /// The reading in the ledger that allows it; it also says whether it warns.
    pub reading: String,
}

/// When a checkpoint is looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// After the last step.
    #[default]
    End,
    /// When the phase itself started for the first time.
    OwnStart,
    /// When the next phase started for the first time.
    NextStart,
    /// After a step, counted from 0.
    Step(usize),
}

fn yes() -> bool {
    true
}
