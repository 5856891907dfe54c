//! Understands the stream of `OpenCode` 1.18 (`run --format json`).
//!
//! A failure is an `error` event with a name and a status. Its exit code is 1 after any such event, also after one that it
//! recovered from, and 0 where it stopped in the middle; what counts is how the last step ended. The summary of a
//! compaction is printed like any other answer; only the text that follows it (`compaction_continue`) says what it was, so
//! a step is told when the next one begins.

use serde_json::Value;

use crate::backend::process::{Reader, Verdict, brief, silent};
use crate::backend::refusal::Resumption;
use crate::backend::status::{class_of, class_without_answer, status};
use crate::events::Spent;
use crate::policy::Class;
use crate::runner::AgentEvent;
use crate::system::process::ProcessExit;

/// What was read so far.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    resumption: Resumption,
    session: Option<String>,
    /// What the last step said and used, while it may still be a summary.
    step: Step,
    /// Tokens of the context before the step that is held.
    tokens: Option<u64>,
    /// What its steps used.
    spent: Option<Spent>,
    end: Option<End>,
}

#[derive(Debug, Default)]
struct Step {
    said: Option<String>,
    tokens: Option<u64>,
}

/// How the last step ended.
#[derive(Debug)]
enum End {
    /// By itself, for this reason.
    Finished(String),
    Failed(Value),
}

impl Transcript {
    pub(super) fn new(resumption: Resumption) -> Self {
        Self { resumption, ..Self::default() }
    }

    fn flush(&mut self) -> Vec<AgentEvent> {
        let Step { said, tokens } = std::mem::take(&mut self.step);
        self.tokens = tokens.or(self.tokens);
        let turn = tokens.into_iter().flat_map(|tokens| [AgentEvent::Usage(tokens), AgentEvent::Turn]);
        turn.chain(said.map(AgentEvent::Said)).collect()
    }

    fn text(&mut self, part: &Value) -> Vec<AgentEvent> {
        if part["metadata"]["compaction_continue"] == true {
            self.step = Step::default();
            self.end = None;
            return vec![AgentEvent::Compacted { before: self.tokens, after: None }];
        }
        if part["synthetic"] != true {
            self.step.said = part["text"].as_str().map(str::to_owned);
        }
        Vec::new()
    }

    fn finish(&mut self, part: &Value) {
        let count = |pointer: &str| part["tokens"].pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
        let tokens = count("/input") + count("/cache/read") + count("/cache/write");
        self.step.tokens = Some(tokens).filter(|tokens| *tokens > 0);
        let micro_usd = part["cost"].as_f64().and_then(Spent::micro);
        let spent = Spent { tokens: part["tokens"]["total"].as_u64(), micro_usd, of_session: false };
        self.spent = Some(self.spent.unwrap_or_default().and(spent)).filter(|spent| !spent.is_unknown());
        self.end = part["reason"].as_str().map(|reason| End::Finished(reason.to_owned()));
    }
}

impl Reader for Transcript {
    fn line(&mut self, line: &str) -> Vec<AgentEvent> {
        self.resumption.heard(line);
        let Ok(mut event) = serde_json::from_str::<Value>(line) else { return Vec::new() };
        let mut events = Vec::new();
        if let (None, Some(session)) = (&self.session, event["sessionID"].as_str()) {
            self.session = Some(session.to_owned());
            events.push(AgentEvent::Session(session.to_owned()));
        }
        match event["type"].as_str() {
            Some("step_start") => events.extend(self.flush()),
            Some("text") => events.extend(self.text(&event["part"])),
            Some("step_finish") => self.finish(&event["part"]),
            Some("error") => self.end = Some(End::Failed(event["error"].take())),
            _ => {}
        }
        events
    }

    fn end(&mut self, _exit: &ProcessExit) -> Vec<AgentEvent> {
        self.flush()
    }

    fn verdict(&self, exit: &ProcessExit) -> Verdict {
        let session_refused = self.resumption.refused(exit, &[1]);
        let verdict = match &self.end {
            _ if matches!(exit, ProcessExit::Signalled(_)) => silent(exit),
            Some(End::Finished(reason)) if reason == "stop" => Verdict::new(Class::Done, "step_finish: stop"),
            Some(End::Finished(reason)) => Verdict::new(Class::Lost, format!("{exit}, in the middle: {reason}")),
            Some(End::Failed(error)) => failure(error),
            None => silent(exit),
        };
        Verdict { session_refused, spent: self.spent, ..verdict }
    }
}

fn failure(error: &Value) -> Verdict {
    let (name, data) = (error["name"].as_str().unwrap_or_default(), &error["data"]);
    let status = status(&data["statusCode"]);
    let class = match (name, status) {
        ("ContextOverflowError", _) => Class::Overflow,
        ("MessageAbortedError", _) => Class::Cancelled,
        ("ProviderAuthError", _) => Class::Permanent,
        (_, Some(status)) => class_of(status),
        (_, None) => class_without_answer(data["message"].as_str().unwrap_or_default()),
    };
    let status = status.map(|status| format!(" {status}")).unwrap_or_default();
    Verdict::new(class, format!("{name}{status}: {}", brief(data["message"].as_str().unwrap_or_default())))
}

#[cfg(test)]
mod tests;
