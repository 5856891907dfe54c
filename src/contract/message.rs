//! One line of a session's message log (Runner Shell: Message Protocol, Protocol schema).

use jiff::Timestamp;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::word::vocabulary;

/// A line of `sessions/<id>/messages.json`: the envelope that all messages share, and a payload told apart by `type`.
/// Unknown keys are tolerated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Message")]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// The message, a UUID.
    #[schemars(extend("format" = "uuid"))]
    pub id: String,
    /// The session.
    #[schemars(length(min = 1))]
    pub session_id: String,
    /// When, RFC 3339.
    pub ts: Timestamp,
    /// How much it matters.
    pub level: MessageLevel,
    /// Its place in the session: rises from message to message.
    pub seq: u64,
    /// The step of the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Who sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<MessageOrigin>,
    /// What it says.
    #[serde(flatten)]
    pub body: MessageBody,
}

vocabulary! {
    /// How much a message matters.
    pub enum MessageLevel ("message level") {
        /// Worth knowing.
        Info = "info",
        /// Worth a look.
        Warn = "warn",
        /// Something went wrong.
        Error = "error",
    }
}

vocabulary! {
    /// Who sends messages.
    pub enum MessageOrigin ("message origin") {
        /// The shell around the agent.
        Runner = "runner",
        /// The service that started it.
        Backend = "backend",
        /// A person's screen.
        Ui = "ui",
    }
}

/// Adds what every payload may carry besides its own fields, unless a field of its own has the name.
fn with_common_payload(schema: &mut Schema) {
    let common = json!({
        "text": {"type": "string", "description": "For people, as plain text"},
        "markdown": {"type": "string", "description": "For people, as Markdown"},
        "json": {"type": "object", "description": "For programs"},
        "meta": {"type": "object", "description": "About the message"},
        "partial": {
            "type": "object",
            "description": "Which piece of a longer message this is",
            "properties": {
                "id": {"type": "string"},
                "index": {"type": "integer", "minimum": 0},
                "total": {"type": "integer", "minimum": 1}
            },
            "required": ["id", "index", "total"]
        }
    });
    let choices = schema.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten();
    for payload in choices.filter_map(|choice| choice.pointer_mut("/properties/payload")?.as_object_mut()) {
        let fields = payload.entry("properties").or_insert_with(|| json!({}));
        for (name, shape) in common.as_object().into_iter().flatten() {
            if fields.get(name).is_none() {
                fields[name] = shape.clone();
            }
        }
    }
}

/// What a message says. Every payload may also carry `text`, `markdown`, `json`, `meta` and `partial`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "payload", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[schemars(transform = with_common_payload)]
pub enum MessageBody {
    /// The session begins.
    Init {
        /// Version of the runner.
        runner_version: String,
        /// The adapter in use.
        adapter: String,
        /// The repository.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repo: Option<String>,
        /// The branch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
    },
    /// A line of text.
    Log {
        /// The text.
        text: String,
    },
    /// How far the session is.
    Status {
        /// Where it stands.
        phase: SessionPhase,
        /// How much is done, in percent.
        #[schemars(range(min = 0, max = 100))]
        progress: f64,
    },
    /// Something that happened; its payload is free.
    Event(Map<String, Value>),
    /// What the agent is asked; its payload is free.
    Prompt(Map<String, Value>),
    /// A command begins.
    CommandStart {
        /// The command line.
        cmd: String,
        /// The folder in which it runs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
    },
    /// A piece of a command's output.
    CommandOutput {
        /// Which output.
        stream: OutputStream,
        /// The piece.
        chunk: String,
    },
    /// A command ended.
    CommandEnd {
        /// The command line.
        cmd: String,
        /// Its exit code.
        exit_code: i64,
        /// How long it took, in milliseconds.
        duration_ms: u64,
    },
    /// A file changed.
    FileChange {
        /// The file.
        path: String,
        /// What was done to it.
        change: FileChangeKind,
        /// The change as a unified diff.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diff: Option<String>,
    },
    /// Something was done with git.
    GitEvent {
        /// What.
        action: GitAction,
        /// The repository.
        repo: String,
        /// The branch.
        branch: String,
        /// What else is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
    },
    /// Something was done with a pull request.
    PrEvent {
        /// What.
        action: PrAction,
        /// The repository.
        repo: String,
        /// The pull request.
        number: u64,
        /// Where it is.
        url: String,
        /// The branch that it goes to.
        base: String,
        /// The branch that it comes from.
        head: String,
    },
    /// A tool of the agent begins or ends.
    ToolEvent {
        /// The tool.
        name: String,
        /// Which of the two.
        action: ToolAction,
        /// What it is given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args: Option<Value>,
        /// What it gives back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
    },
    /// The session's result.
    Result {
        /// In short.
        summary: String,
        /// What was made.
        artifacts: Vec<Value>,
    },
    /// Something went wrong.
    Error {
        /// A stable code.
        code: String,
        /// What happened, for people.
        message: String,
        /// Where in the program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stack: Option<String>,
    },
    /// The session lives.
    Heartbeat {},
}

vocabulary! {
    /// Where a session stands.
    pub enum SessionPhase ("session phase") {
        /// It comes up.
        Starting = "starting",
        /// It works.
        Running = "running",
        /// It ends.
        Finalizing = "finalizing",
        /// It is over.
        Done = "done",
    }
}

vocabulary! {
    /// An output of a command.
    pub enum OutputStream ("output stream") {
        /// Standard output.
        Stdout = "stdout",
        /// Standard error.
        Stderr = "stderr",
    }
}

vocabulary! {
    /// What was done to a file.
    pub enum FileChangeKind ("file change") {
        /// It is new.
        Create = "create",
        /// Its content changed.
        Update = "update",
        /// It is gone.
        Delete = "delete",
        /// It has another name.
        Rename = "rename",
    }
}

vocabulary! {
    /// What was done with git.
    pub enum GitAction ("git action") {
        /// A clone.
        Clone = "clone",
        /// A checkout.
        Checkout = "checkout",
        /// A pull.
        Pull = "pull",
        /// A commit.
        Commit = "commit",
        /// A push.
        Push = "push",
    }
}

vocabulary! {
    /// What was done with a pull request.
    pub enum PrAction ("pull request action") {
        /// It was opened.
        Open = "open",
        /// It was changed.
        Update = "update",
        /// It was merged.
        Merge = "merge",
        /// It was closed.
        Close = "close",
    }
}

vocabulary! {
    /// Whether a tool begins or ends.
    pub enum ToolAction ("tool action") {
        /// It begins.
        Start = "start",
        /// It ends.
        End = "end",
    }
}
