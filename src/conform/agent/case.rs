//! A case of the agent profile: what the model says, what the judge does to the agent, and what must then be seen. The
//! format is explained for its authors in `contract-tests/agent/README.md`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FailureClass;
use crate::conform::model::Script;
use crate::conform::{Draw, TimeMethod};
use crate::contract::vocabulary;

/// One file under `contract-tests/agent/cases/`, whose stem equals `id`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Agent case")]
#[serde(deny_unknown_fields)]
pub struct AgentCase {
    /// Identifier: the clause in lower case, then words, such as `status-004-429-once`.
    pub id: String,
    /// The clause that it judges.
    pub clause: String,
    /// One sentence, shown beside the verdict.
    pub title: String,
    /// Clauses presupposed: when one of them is not green, this case could not run and says which.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Whether it belongs to the quick subset.
    #[serde(default)]
    pub quick: bool,
    /// How time passes.
    #[serde(default)]
    pub time: TimeMethod,
    /// Values drawn under the seed, referred to as `$name` in every text below.
    #[serde(default)]
    pub draw: BTreeMap<String, Draw>,
    /// Files laid into the workspace before the first step: path to content.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Knobs of the agent that the case turns. One that the manifest lacks makes a `scaled` case not observed; a `real` case
    /// only takes longer.
    #[serde(default)]
    pub knobs: BTreeMap<AgentKnob, u64>,
    /// What the model answers, over all steps together.
    pub model: Script,
    /// What the judge does, in order.
    pub steps: Vec<AgentStep>,
    /// What must be seen; every entry is checked, and all must hold.
    pub expect: Vec<AgentExpectation>,
}

vocabulary! {
    /// A knob by which a case changes an agent's default.
    pub enum AgentKnob ("knob") {
        /// How many times the model may be asked in one run.
        MaxTurns = "max_turns",
        /// How many times a failed request is tried again.
        Retries = "retries",
        /// How long the model may be silent, in milliseconds.
        Silence = "silence",
        /// How many tokens of context bring on a compaction.
        CompactAt = "compact_at",
    }
}

/// One thing that the judge does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AgentStep {
    /// Starts the agent in a new session by its `run`, and waits for its end.
    Run(Errand),
    /// Starts it in an earlier session by its `resume`, and waits for its end.
    Resume(Errand),
}

impl AgentStep {
    /// The word of the verb.
    #[must_use]
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Run(_) => "run",
            Self::Resume(_) => "resume",
        }
    }

    /// What is asked.
    #[must_use]
    pub fn errand(&self) -> &Errand {
        match self {
            Self::Run(errand) | Self::Resume(errand) => errand,
        }
    }
}

/// What an agent is started with, and what happens to it meanwhile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Errand {
    /// What it is asked to do.
    pub prompt: String,
    /// The session of a `resume`.
    #[serde(default)]
    pub session: WhichSession,
    /// A signal to the agent's own process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturb: Option<Disturbance>,
    /// Once the model was asked so often in this step, the judge has seen enough and ends the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub stop_after_requests: Option<usize>,
    /// How many seconds the step may take; an agent that is still there then did not end by itself.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 600))]
    pub limit_s: u64,
}

/// Which session is resumed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhichSession {
    /// The one that the agent named in the first step.
    #[default]
    First,
    /// One of the same form that nobody ever had.
    Unknown,
}

/// A signal, and when it is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Disturbance {
    /// The signal, without `SIG`: `INT`, `TERM`, `HUP` or `KILL`.
    pub signal: String,
    /// When.
    pub when: Occasion,
}

/// When a signal is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Occasion {
    /// Once the model was asked so often in this step; with a stalled answer, the agent then waits for it.
    Requests(usize),
    /// Once this file of the workspace is there; a tool's own command makes it, so the tool then runs.
    File(String),
}

/// One effect that must be seen. Each failed one yields a reason code of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AgentExpectation {
    /// The agent ended by itself in the step, with this code where one is given.
    Ends {
        /// Which step, counted from 0.
        step: usize,
        /// Its exit code, where the clause demands one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<i32>,
    },
    /// The agent ended in the step, not by the judge's limit, and not with 0; a signal that it died by is no success either.
    NoSuccess {
        /// Which step, counted from 0.
        step: usize,
    },
    /// How often the model was asked in the step, side requests aside.
    Requests {
        /// Which step, counted from 0.
        step: usize,
        /// At least so often.
        at_least: usize,
        /// At most so often.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_most: Option<usize>,
    },
    /// The waits between the requests of the step.
    Gaps {
        /// Which step, counted from 0.
        step: usize,
        /// How many there must be at least.
        at_least: usize,
        /// Each is at least so long, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        each_ms: Option<u64>,
        /// The last is at least this many times the first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        growth: Option<f64>,
    },
    /// The stream tells, in fields and not in prose, that the run failed and of which class the failure is.
    Told {
        /// Which step, counted from 0.
        step: usize,
        /// The class.
        class: FailureClass,
    },
    /// The first event of the step's stream names the session.
    SessionAtFirst {
        /// Which step, counted from 0.
        step: usize,
    },
    /// The step's stream names the session that the first step's named.
    SameSession {
        /// Which step, counted from 0.
        step: usize,
    },
    /// The first request of the step holds all of these texts.
    Carried {
        /// Which step, counted from 0.
        step: usize,
        /// The texts.
        texts: Vec<String>,
    },
    /// A result of the model's tool call came back to it, with this text, and says that the command ended with this code.
    ToolExit {
        /// Which step, counted from 0.
        step: usize,
        /// A text that the command printed.
        marker: String,
        /// The command's exit code.
        code: i32,
    },
    /// A file of the workspace has exactly these bytes after the last step.
    File {
        /// Path, relative to the workspace.
        path: String,
        /// Its content.
        content: String,
    },
    /// The stream's usage equals what the model's answers of the step said.
    Usage {
        /// Which step, counted from 0.
        step: usize,
    },
    /// The context was compacted in the step, and the stream tells it.
    CompactionTold {
        /// Which step, counted from 0.
        step: usize,
    },
    /// The run ended at its bound of turns, with a status that no other ending has: an event, or an exit code.
    TurnLimitTold {
        /// Which step, counted from 0.
        step: usize,
    },
    /// No process of the case was left after any step.
    NoOrphans,
}

fn default_limit() -> u64 {
    60
}
