//! What an agent does, in a phase or outside of a run (backend layer: events).

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Spent;
use crate::diag::Format;
use crate::policy::ClassName;
use crate::schema::Kind;

/// Something that an agent did. Of an agent that is asked outside of a run these are the lines of `loa-run agent --json`,
/// and a stream that has begun holds exactly one `ended`, as its last line; of the agent of a phase they are events of the
/// execution, or observations: `turn`, `usage`, `said` and `retrying`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Event of an agent")]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum AgentActivity {
    /// An invocation begins. The stream goes without it for the first one, where that begins a new session.
    Attempt {
        /// Which one, from 1.
        #[schemars(range(min = 1))]
        number: u32,
        /// The name of the agent's backend.
        backend: String,
        /// How it begins.
        begins: Begins,
        /// The session that it is to have, or to go on with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
    },
    /// The agent works in this session.
    Session {
        /// Its id.
        session: String,
    },
    /// The model answered.
    Turn {
        /// Its answers so far, all attempts together.
        turns: u32,
    },
    /// The agent's context holds this many tokens now.
    Usage {
        /// Tokens.
        context_tokens: u64,
    },
    /// The agent said something to whoever asked it.
    Said {
        /// What.
        text: String,
    },
    /// The provider failed, and the agent tries again by itself.
    Retrying {
        /// The provider's HTTP status, when it answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// The pause before it tries, in milliseconds, when it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait_ms: Option<u64>,
    },
    /// The agent compacted its context.
    Compacted {
        /// Tokens before, when known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<u64>,
        /// Tokens after, when known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<u64>,
    },
    /// The agent was not allowed to use tools that it wanted.
    Denied {
        /// How many.
        tools: u64,
    },
    /// The invocation ended, and another follows later.
    Waiting {
        /// The class of its end.
        class: ClassName,
        /// What the class was read from.
        evidence: String,
        /// When the next one begins.
        until: Timestamp,
    },
    /// It is over.
    Ended {
        /// The class of the last invocation's end.
        class: ClassName,
        /// What its process returned; absent when a signal ended it, or when it never began.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// The signal that ended its process.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<String>,
        /// What the class was read from, in one line.
        evidence: String,
        /// The session, to be resumed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        /// What the agent said last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<String>,
        /// Answers of its model, all invocations of the attempt together.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turns: Option<u32>,
        /// What the last invocation used, where the agent says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spent: Option<Spent>,
    },
}

/// How an invocation begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Begins {
    /// In a new session.
    New,
    /// In a new session whose id is given.
    Named,
    /// Where an earlier invocation stopped.
    Resumed,
    /// In a new session, in which it is told what the agent said earlier.
    Retold,
}

/// The lines that `loa-run agent --json` prints.
pub const AGENT_EVENT: Kind = Kind::of::<AgentActivity>("agent-event", examples)
    .place("lines of `loa-run agent --json`")
    .written_in(Format::JsonLines);

fn examples() -> Vec<Value> {
    vec![
        json!({"type": "attempt", "number": 1, "backend": "claude", "begins": "new"}),
        json!({"type": "session", "session": "5f0c2f5e-4f0a-4d63-9a0f-0d4c0b8f1a11"}),
        json!({"type": "usage", "context_tokens": 5020}),
        json!({"type": "turn", "turns": 1}),
        json!({"type": "retrying", "status": 529, "wait_ms": 500}),
        json!({"type": "compacted", "before": 95_000, "after": 9000}),
        json!({"type": "denied", "tools": 1}),
        json!({"type": "said", "text": "It is designed."}),
        json!({"type": "waiting", "class": "transient", "evidence": "status 529", "until": "2026-01-31T10:00:05Z"}),
        json!({"type": "waiting", "class": "outage", "evidence": "status 503", "until": "2026-01-31T10:00:15Z"}),
        json!({"type": "ended", "class": "done", "exit_code": 0, "evidence": "completed",
            "session": "5f0c2f5e-4f0a-4d63-9a0f-0d4c0b8f1a11", "answer": "It is designed.",
            "spent": {"tokens": 38_000, "micro_usd": 420_000, "of_session": true}}),
    ]
}
