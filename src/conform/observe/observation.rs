//! Everything that the judge saw of one case, on its own clock. The only input of the verdict, so that a verdict can be
//! recomputed from it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::system::clock::Millis;

/// What was seen of one case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// The values that were drawn, by name.
    pub drawn: BTreeMap<String, serde_json::Value>,
    /// The initial backoff that the runtime was told, in milliseconds; absent where it has no such knob.
    pub initial_backoff: Option<u64>,
    /// One entry a step, in order.
    pub steps: Vec<StepSeen>,
    /// One entry a started attempt of a phase, in order of start.
    pub attempts: Vec<AttemptSeen>,
    /// One entry a usage that was reported, in order.
    pub usages: Vec<UsageSeen>,
    /// One entry each time that the runtime started the judge's own compactor, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compactions: Vec<CompactorSeen>,
    /// What this machine did not let the judge see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
    /// What was not shut off from the runtime: nothing about it was observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<String>,
    /// Everything the runtime wrote to `LOA_EVENT_FILE`, in order; one JSON value a line, or the raw line as a text.
    pub events: Vec<EventSeen>,
    /// Processes of the case still alive ten polls after the last step, and then ended by the judge.
    pub orphans: Vec<ProcessSeen>,
    /// Processes that spoke to the judge as if they were phases, and were none, or a second time. Nothing that they said counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strangers: Vec<ProcessSeen>,
    /// How many times as fast as the wall's the clock of the runtime was; absent where it was the wall's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<u32>,
    /// How late a timer of the judge's own rang at worst, in milliseconds: so late may any other have rung, the runtime's too.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub late_ms: Millis,
    /// Why the rig itself failed, if it did: the case is then a harness error.
    pub rig_error: Option<String>,
    /// The case's folder, when it was asked to stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_nothing(late: &Millis) -> bool {
    *late == 0
}

/// What a step did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepSeen {
    /// `run`, `resume`, `resolve`, `state`, `write`, `delete`, `edit` or `fresh`.
    pub verb: String,
    /// What was started; empty for steps that start nothing.
    pub argv: Vec<String>,
    /// When it began.
    pub started: Millis,
    /// When it ended.
    pub ended: Millis,
    /// How the process ended.
    pub end: ProcessEnd,
    /// The output, both streams in order of arrival, with the probe's own lines cut out. Capped.
    pub output: Vec<OutputLine>,
    /// The workspace after the step: number of the workspace (0, and one more for each `fresh`).
    pub workspace: usize,
    /// Files of `.loa-checkpoint/` after the step: file name to content.
    pub checkpoints: BTreeMap<String, FileSeen>,
    /// New or changed files that look like an escalation report, oldest first.
    pub reports: Vec<ReportSeen>,
    /// The files that the judge laid or a step wrote, after the step: path to content, absent when gone.
    pub laid: BTreeMap<String, FileSeen>,
    /// What the judge changed in a file, when the step is an `edit` and there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<EditSeen>,
}

impl StepSeen {
    /// What was printed on standard output.
    #[must_use]
    pub fn stdout(&self) -> String {
        let lines = self.output.iter().filter(|line| line.stream == "stdout");
        lines.map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// A file that the judge changed in place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditSeen {
    /// The file, below the workspace.
    pub path: String,
    /// What it held.
    pub before: String,
    /// What it holds now.
    pub after: String,
}

/// How a process of a verb ended. A signal is never an exit code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessEnd {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that the judge did not send.
    Signalled(String),
    /// By the judge, as the case said (`kill_during`).
    KilledAsPlanned,
    /// It had settled: its report is out, nothing runs, it waits for its human; the judge ended it.
    Waiting,
    /// By the judge, because nothing had happened for the whole of the step's budget, or nothing could: a phase hung that
    /// was to hang in another step, where the judge ends it.
    OutOfBudget,
    /// By the judge, because the largest budget was over although phases still started and ended: nothing is known.
    TooSlow,
    /// By the judge, because it had started one phase so many times in the step that no reading of the contract allows it.
    Runaway(usize),
    /// It could not be started: why.
    NotStarted(String),
    /// The manifest's adapter was at fault: what it did, and what was expected. Nothing is known of the runtime.
    AdapterFailed(String),
    /// The manifest has no such verb, or the adapter does not support it.
    NoVerb,
    /// The step starts no process.
    Nothing,
}

/// One line of output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputLine {
    /// When it arrived.
    pub at: Millis,
    /// `stdout` or `stderr`.
    pub stream: String,
    /// The line, without its end.
    pub text: String,
}

/// A file's content as the judge read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSeen {
    /// The text; bytes that are not UTF-8 are replaced.
    pub text: String,
    /// Milliseconds since the epoch at which it was last written, by the file system.
    pub modified: u64,
}

/// A document that looks like an escalation report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportSeen {
    /// Where it lies, relative to the workspace, HOME or TMPDIR; `output` when it was printed.
    pub path: String,
    /// Its content as the judge parsed it.
    pub document: serde_json::Value,
    /// Milliseconds since the case began at which it was first seen or last written, whichever is earlier.
    pub at: Millis,
}

/// One started attempt of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptSeen {
    /// The phase.
    pub phase: String,
    /// Its number among the attempts of the phase in the case, counted from 1.
    pub attempt: u32,
    /// The step in which it happened.
    pub step: usize,
    /// The workspace in which it happened.
    pub workspace: usize,
    /// When the probe reported its start.
    pub started: Millis,
    /// When its process was gone.
    pub ended: Option<Millis>,
    /// When the judge told it how to end: what the runtime says of its end it says no earlier, and maybe before the judge saw
    /// that its process was gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<Millis>,
    /// What the judge told it to end with: a code.
    pub exit: Option<i32>,
    /// What the judge told it to die by.
    pub signal: Option<String>,
    /// Working directory as the probe saw it.
    pub cwd: String,
    /// The environment that the design promises to a stage, as far as it was set.
    pub env: BTreeMap<String, String>,
    /// What stood in the file that `LOA_MEMORY_FILE` named when it started. Capped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memories: Option<String>,
    /// Files of `.loa-checkpoint/` when it started: file name to content.
    pub checkpoints: BTreeMap<String, FileSeen>,
}

/// One start of the judge's own compactor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompactorSeen {
    /// When it reported its start.
    pub at: Millis,
    /// The environment that it was promised, as far as it was set.
    pub env: BTreeMap<String, String>,
}

/// One usage that was reported to the runtime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UsageSeen {
    /// Tokens.
    pub tokens: u64,
    /// When it was reported.
    pub at: Millis,
    /// `context-state.yaml` when the wait was over, as the judge parsed it.
    pub context_state: Option<serde_json::Value>,
    /// Until when the judge waited for the reaction.
    pub until: Millis,
}

/// One line of the event file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventSeen {
    /// When the judge read it.
    pub at: Millis,
    /// The line.
    pub line: serde_json::Value,
}

/// A process that should be gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessSeen {
    /// Its id.
    pub pid: u32,
    /// Its command line.
    pub command: String,
}

impl ProcessSeen {
    /// The same with paths below this folder named from there: where a checkout lies is no finding.
    #[must_use]
    pub(super) fn seen_from(self, folder: &Path) -> Self {
        match folder.to_string_lossy().as_ref() {
            "" | "/" => self,
            folder => Self { command: self.command.replace(&format!("{folder}/"), ""), ..self },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_of_without_the_place_of_the_checkout() {
        let told = |folder: &str, command: &str| {
            ProcessSeen { pid: 7, command: command.to_owned() }.seen_from(Path::new(folder)).command
        };
        assert_eq!(told("/home/me/loa", "/home/me/loa/.agents/x exec /home/me/loa/y"), ".agents/x exec y");
        assert_eq!(told("/home/me/loa", "/home/me/loaded/x"), "/home/me/loaded/x");
        for nowhere in ["", "/"] {
            assert_eq!(told(nowhere, "sh -c /bin/true"), "sh -c /bin/true");
        }
    }
}
