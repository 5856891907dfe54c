//! An agent that is asked, as it happens: lines of JSON for machines, or a few words for people.

use std::time::Duration;

use super::terminal::span;
use crate::cli::Failure;
use crate::cli::console::{CYAN, pass_on, pass_on_aside, say};
use crate::draw::moment;
use crate::events::{AgentActivity, Begins};
use crate::policy::ClassName;
use crate::runner::AskListener;
use crate::system::process::Piece;
use crate::text::line;

/// Shows what happens while an agent is asked.
#[derive(Debug)]
pub(super) struct AgentScreen {
    json: bool,
    /// Why the stream could not be written, when it could not.
    pub(super) failed: Option<Failure>,
}

impl AgentScreen {
    pub(super) fn new(json: bool) -> Self {
        Self { json, failed: None }
    }
}

impl AskListener for AgentScreen {
    fn on(&mut self, event: &AgentActivity) {
        // Whoever reads the stream is to find the session in its first line.
        let goes_without_saying = matches!(event, AgentActivity::Attempt { number: 1, begins: Begins::New, .. });
        if self.json && !goes_without_saying {
            let line = serde_json::to_string(event).expect("an event is plain data") + "\n";
            // A reader that is gone has seen enough; the exit code says the rest.
            if let Err(failure) = pass_on(line.as_bytes()) {
                self.failed.get_or_insert(failure);
            }
        } else if let Some(sentence) = sentence(event).filter(|_| !self.json) {
            say(format_args!("{CYAN}loa-run:{CYAN:#} {sentence}"));
        }
    }

    fn wrote(&mut self, piece: &Piece) {
        pass_on_aside(&piece.bytes);
    }
}

/// What people are told beside the answer.
fn sentence(event: &AgentActivity) -> Option<String> {
    Some(match event {
        AgentActivity::Attempt { number, backend, begins, session } => {
            let session = line(session.as_deref().unwrap_or_default());
            let how = match begins {
                Begins::New => "begins".to_owned(),
                Begins::Named => format!("begins in session {session}"),
                Begins::Resumed => format!("goes on in session {session}"),
                Begins::Retold => "has no session to go on with: it begins anew, and is told what it said".to_owned(),
            };
            if *number == 1 { format!("{backend} {how}") } else { format!("attempt {number}: {backend} {how}") }
        }
        AgentActivity::Session { session } => format!("session {}", line(session)),
        AgentActivity::Retrying { status, wait_ms } => {
            let status = status.map(|status| format!(" with status {status}")).unwrap_or_default();
            let wait = wait_ms.map(|wait| format!(" in {}", span(Duration::from_millis(wait)))).unwrap_or_default();
            format!("the provider failed{status}; the agent tries again by itself{wait}")
        }
        AgentActivity::Compacted { .. } => "the agent compacted its context".to_owned(),
        AgentActivity::Denied { tools } => {
            format!("the agent was not allowed to use {tools} tools; see `permissions` of its backend")
        }
        AgentActivity::Waiting { class, evidence, until } => {
            format!("{class}: {}; again at {}", line(evidence), moment(*until))
        }
        AgentActivity::Ended { class: ClassName::Done, .. }
        | AgentActivity::Turn { .. }
        | AgentActivity::Usage { .. }
        | AgentActivity::Said { .. } => return None,
        AgentActivity::Ended { class, evidence, .. } => format!("it ended as {class}: {}", line(evidence)),
    })
}
