//! What a case of the agent profile expects to be seen.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conform::spec::FailureClass;
use crate::contract::vocabulary;

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
    /// A request that failed was made again: all requests of the step end with the same message, which holds this text, side
    /// requests aside.
    TriedAgain {
        /// Which step, counted from 0.
        step: usize,
        /// A text of the prompt.
        text: String,
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
    /// Whatever the stream tells, it is no failure of this class.
    NotTold {
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
    /// The run did not pass over a trouble in silence: it ended with another code than 0 or by a signal, or the stream tells
    /// the trouble.
    NotSilent {
        /// Which step, counted from 0.
        step: usize,
        /// The trouble.
        about: Trouble,
    },
    /// The last event of the stream says that the run is over, and how.
    EndTold {
        /// Which step, counted from 0.
        step: usize,
        /// Whether it says the same as after a run in which nothing went wrong, or something else; absent where either will do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        like: Option<EndLike>,
    },
    /// The stream tells this text of the model's answer.
    AnswerTold {
        /// Which step, counted from 0.
        step: usize,
        /// The text.
        text: String,
    },
    /// The stream tells how full the context is after the step's last request.
    ContextTold {
        /// Which step, counted from 0.
        step: usize,
    },
    /// The model was asked for a summary in the step, or was not.
    Compacted {
        /// Which step, counted from 0.
        step: usize,
        /// Whether it was.
        yes: bool,
    },
    /// After the first summary the model was asked again, and the summary stood in that request.
    GoesOn {
        /// Which step, counted from 0.
        step: usize,
    },
    /// The requests of the step say how hard the model is to think.
    EffortSent {
        /// Which step, counted from 0.
        step: usize,
        /// The word for it. A request that counts tokens instead must count fewer for `low`, and more for `high`, than in a run in
        /// which nothing was said.
        level: String,
    },
    /// The first request of the step holds this text of the memory file.
    MemoryRead {
        /// Which step, counted from 0.
        step: usize,
        /// The text.
        text: String,
    },
    /// The model was asked again after it had been away, by an agent that is known to have asked meanwhile.
    ReachedAgain {
        /// Which step, counted from 0.
        step: usize,
    },
    /// The session was resumed with these texts, or refused.
    ResumedOrRefused {
        /// Which step, counted from 0.
        step: usize,
        /// The texts.
        texts: Vec<String>,
    },
    /// Two runs at once ended well in two sessions, and no request held what only the other knew.
    Apart {
        /// Which step, counted from 0.
        step: usize,
        /// What each was asked, its own text first in the order of their prompts.
        texts: [String; 2],
    },
    /// A file of the workspace is not there after the last step.
    NoFile {
        /// Path, relative to the workspace.
        path: String,
    },
    /// No process of the case was left after any step.
    NoOrphans,
}

vocabulary! {
    /// A trouble that must not pass in silence.
    pub enum Trouble ("trouble") {
        /// The answer ended before everything was said.
        CutOff = "cut_off",
        /// The model refused.
        Refusal = "refusal",
        /// A command was not allowed.
        Denial = "denial",
        /// A compaction failed.
        CompactionFailure = "compaction_failure",
    }
}

vocabulary! {
    /// What the end of a run is compared with.
    pub enum EndLike ("kind of end") {
        /// As after a run in which nothing went wrong.
        Success = "success",
        /// Unlike it.
        Failure = "failure",
    }
}
