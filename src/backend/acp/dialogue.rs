//! Who says what when: initialize, a session, its mode and model, one prompt, and the ways out. Pure.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::listener::Listener;
use super::outcome::{self, Turn};
use super::permission;
use super::wire::{self, Failure, Message};
use crate::backend::process::{Verdict, brief, silent};
use crate::config::Permissions;
use crate::policy::Class;
use crate::runner::AgentEvent;
use crate::system::process::ProcessExit;

/// The version of the protocol. Asked for a later one, some agents speak it.
const VERSION: u64 = 1;
/// How long the agent may take for an answer before the prompt. One fetches from a registry first.
const PREPARED: Duration = Duration::from_mins(2);
/// Lines that are no messages before the agent answered at all, from which on it is none.
const STRANGE: usize = 100;

/// What the dialogue is about.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    /// The folder to work in, as the agent sees it.
    pub(super) workspace: PathBuf,
    pub(super) prompt: String,
    /// The session to go on with.
    pub(super) earlier: Option<String>,
    /// The prompt asks for a compaction and nothing else.
    pub(super) compacts: bool,
    pub(super) permissions: Permissions,
    pub(super) mode: Option<String>,
    pub(super) model: Option<String>,
    pub(super) auth: Option<String>,
    pub(super) max_turns: Option<u32>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Send a line.
    Send(String),
    /// Something happened.
    Tell(AgentEvent),
    /// What comes next comes within this time; whenever it likes without one.
    Within(Option<Duration>),
    /// Close its standard input.
    HangUp,
    /// Ask its processes to end.
    Terminate,
    /// Do not wait any longer.
    GiveUp,
}

/// What it was asked and has not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Initialize,
    Authenticate,
    Open,
    Mode,
    Model,
    Prompt,
    Close,
}

/// How far the dialogue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The answer of this number is due.
    Waiting(u64, Asked),
    /// It was hung up on.
    Left,
    /// It was asked to end.
    Terminated,
}

/// What the agent says it can do.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is there or not, whatever the others are")]
struct Abilities {
    resume: bool,
    load: bool,
    close: bool,
    /// Say failures as data.
    honest: bool,
}

#[derive(Debug)]
pub(super) struct Dialogue {
    subject: Subject,
    state: State,
    asked: u64,
    abilities: Abilities,
    session: Option<String>,
    /// What a session that was opened offers.
    offer: Value,
    listener: Listener,
    denied: usize,
    cancelled: bool,
    verdict: Option<Verdict>,
    /// Lines that are no messages: how many, and the first.
    strange: usize,
    first_strange: String,
}

impl Dialogue {
    /// A dialogue, and its first steps.
    pub(super) fn begin(subject: Subject) -> (Self, Vec<Step>) {
        let mut dialogue = Self {
            subject,
            state: State::Left,
            asked: 0,
            abilities: Abilities::default(),
            session: None,
            offer: Value::Null,
            listener: Listener::default(),
            denied: 0,
            cancelled: false,
            verdict: None,
            strange: 0,
            first_strange: String::new(),
        };
        let params = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": {
                // Its own tools are better tried: one agent cannot write new files by way of its client.
                "fs": { "readTextFile": false, "writeTextFile": false },
                "terminal": false,
                "session": { "compaction": {}, "notices": {} },
                "_meta": { "jetbrains": { "air": { "version": 1, "capabilities": ["sessionFailure"] } } },
            },
            "clientInfo": { "name": "loa-run", "title": "loa-run", "version": env!("CARGO_PKG_VERSION") },
        });
        let steps = dialogue.ask(Asked::Initialize, "initialize", &params);
        (dialogue, steps)
    }

    /// The agent wrote a line.
    pub(super) fn hear(&mut self, line: &str) -> Vec<Step> {
        match Message::of(line) {
            Some(Message::Request { id, method, params }) => {
                let answer = match method.as_str() {
                    "session/request_permission" => wire::answer(&id, &self.permit(&params)),
                    _ => wire::unknown(&id, &method),
                };
                vec![Step::Send(answer)]
            }
            Some(Message::Notification { method, params }) if method == "session/update" => self.update(&params),
            Some(Message::Reply { id, result }) => match self.state {
                State::Waiting(number, asked) if number == id => self.replied(asked, result),
                _ => Vec::new(),
            },
            Some(Message::Notification { .. }) => Vec::new(),
            None => self.strange(line),
        }
    }

    /// Somebody wants it to end.
    pub(super) fn cancel(&mut self) -> Vec<Step> {
        if std::mem::replace(&mut self.cancelled, true) {
            return Vec::new();
        }
        match self.state {
            State::Waiting(_, Asked::Prompt) => self.stop_turn(),
            State::Waiting(_, Asked::Close) | State::Left => vec![Step::Within(Some(self.patience(Asked::Close)))],
            State::Waiting(..) => self.hang_up(),
            State::Terminated => Vec::new(),
        }
    }

    /// It will not say anything any more.
    pub(super) fn closed(&mut self) -> Vec<Step> {
        if matches!(self.state, State::Waiting(..)) { self.hang_up() } else { Vec::new() }
    }

    /// What should have come did not come in time.
    pub(super) fn late(&mut self) -> Vec<Step> {
        match self.state {
            State::Waiting(_, Asked::Prompt) => self.leave(),
            State::Waiting(_, Asked::Close) => self.hang_up(),
            State::Waiting(_, asked) => {
                let evidence = format!("{}: no answer in {} s", asked.what(), PREPARED.as_secs());
                self.verdict = Some(Verdict::new(Class::Transient { wait: None }, evidence));
                self.hang_up()
            }
            State::Left => {
                self.state = State::Terminated;
                vec![Step::Terminate, Step::Within(Some(self.patience(Asked::Close)))]
            }
            State::Terminated => vec![Step::GiveUp],
        }
    }

    /// The agent's process ended, or is not waited for any longer.
    pub(super) fn ended(&self, exit: Option<&ProcessExit>) -> Verdict {
        let verdict = match (&self.verdict, exit) {
            (Some(verdict), _) => verdict.clone(),
            (None, _) if self.cancelled => Verdict::new(Class::Cancelled, "it was cancelled"),
            (None, Some(exit)) => silent(exit),
            (None, None) => Verdict::new(Class::Lost, "it did not end"),
        };
        let verdict = Verdict { spent: self.listener.spent(), ..verdict };
        if self.strange == 0 {
            return verdict;
        }
        let lines = format!(
            "{} (lines that are no messages: {}, the first: `{}`)",
            verdict.evidence, self.strange, self.first_strange
        );
        Verdict { evidence: lines, ..verdict }
    }

    fn ask(&mut self, asked: Asked, method: &str, params: &Value) -> Vec<Step> {
        self.asked += 1;
        self.state = State::Waiting(self.asked, asked);
        let patience = if asked == Asked::Prompt { None } else { Some(self.patience(asked)) };
        vec![Step::Send(wire::request(self.asked, method, params)), Step::Within(patience)]
    }

    /// How long to wait for the answer to this, and for an end behind it: the run waits 3 s when it cancels.
    fn patience(&self, asked: Asked) -> Duration {
        match asked {
            Asked::Prompt => Duration::from_secs(1),
            Asked::Close if self.cancelled => Duration::from_millis(500),
            Asked::Close => Duration::from_secs(2),
            _ => PREPARED,
        }
    }

    fn replied(&mut self, asked: Asked, result: Result<Value, Failure>) -> Vec<Step> {
        match (asked, result) {
            (Asked::Prompt, reply) => self.turn_ended(&reply),
            (Asked::Close, _) => self.hang_up(),
            (Asked::Open, Err(failure)) => self.not_opened(&failure),
            (_, Err(failure)) => self.fail(outcome::of_failure(asked.what(), &failure)),
            (Asked::Initialize, Ok(about)) => self.initialized(&about),
            (Asked::Authenticate, Ok(_)) => self.open(),
            (Asked::Open, Ok(session)) => self.opened(session),
            (Asked::Mode, Ok(_)) => self.choose_model(),
            (Asked::Model, Ok(_)) => self.prompt(),
        }
    }

    fn initialized(&mut self, about: &Value) -> Vec<Step> {
        if let Some(version) = about["protocolVersion"].as_u64().filter(|version| *version != VERSION) {
            let evidence = format!("it speaks version {version} of the protocol, and not {VERSION}");
            return self.fail(Verdict::new(Class::Permanent, evidence));
        }
        let can = &about["agentCapabilities"];
        let told = &about["_meta"]["jetbrains"]["air"]["capabilities"];
        self.abilities = Abilities {
            resume: is_there(&can["sessionCapabilities"]["resume"]),
            load: can["loadSession"] == true,
            close: is_there(&can["sessionCapabilities"]["close"]),
            honest: told.as_array().is_some_and(|told| told.iter().any(|told| told == "sessionFailure")),
        };
        match self.subject.auth.clone() {
            Some(method) => self.ask(Asked::Authenticate, "authenticate", &json!({ "methodId": method })),
            None => self.open(),
        }
    }

    fn open(&mut self) -> Vec<Step> {
        let cwd = self.subject.workspace.to_string_lossy().into_owned();
        let Some(earlier) = self.subject.earlier.clone() else {
            return self.ask(Asked::Open, "session/new", &json!({ "cwd": cwd, "mcpServers": [] }));
        };
        let params = json!({ "sessionId": earlier, "cwd": cwd, "mcpServers": [] });
        if self.abilities.resume {
            self.ask(Asked::Open, "session/resume", &params)
        } else if self.abilities.load {
            self.ask(Asked::Open, "session/load", &params)
        } else {
            self.refuse("it cannot go on with a session".to_owned())
        }
    }

    fn opened(&mut self, offer: Value) -> Vec<Step> {
        let session = self.subject.earlier.clone().or_else(|| offer["sessionId"].as_str().map(str::to_owned));
        let Some(session) = session else {
            return self.fail(Verdict::new(Class::Lost, "session/new: the session has no id"));
        };
        self.session = Some(session.clone());
        self.offer = offer;
        let mut steps = vec![Step::Tell(AgentEvent::Session(session))];
        steps.extend(self.choose_mode());
        steps
    }

    /// An agent that does not know a session says so in its own way, some with the error for everything.
    fn not_opened(&mut self, failure: &Failure) -> Vec<Step> {
        if self.subject.earlier.is_some() && outcome::of_error(failure).is_none() {
            return self.refuse(format!("{}: {}", failure.code, brief(&failure.message)));
        }
        self.fail(outcome::of_failure(Asked::Open.what(), failure))
    }

    fn choose_mode(&mut self) -> Vec<Step> {
        let Some(mode) = self.subject.mode.clone() else { return self.choose_model() };
        let (session, modes) = (&self.session, &self.offer["modes"]);
        if let (false, Some(option)) = (is_there(modes), self.option("mode")) {
            return if option["currentValue"] == *mode {
                self.choose_model()
            } else {
                self.choose(Asked::Mode, "mode", &mode)
            };
        }
        if modes["currentModeId"] == *mode {
            return self.choose_model();
        }
        let params = json!({ "sessionId": session, "modeId": mode });
        self.ask(Asked::Mode, "session/set_mode", &params)
    }

    fn choose_model(&mut self) -> Vec<Step> {
        let Some(model) = self.subject.model.clone() else { return self.prompt() };
        let models = &self.offer["models"];
        if let Some(option) = self.option("model") {
            return if option["currentValue"] == *model {
                self.prompt()
            } else {
                self.choose(Asked::Model, "model", &model)
            };
        }
        if models["currentModelId"] == *model {
            return self.prompt();
        }
        if is_there(models) {
            let params = json!({ "sessionId": self.session, "modelId": model });
            return self.ask(Asked::Model, "session/set_model", &params);
        }
        if self.subject.earlier.is_some() {
            // Chosen when it began; not every agent repeats its offer.
            return self.prompt();
        }
        self.fail(Verdict::new(Class::Permanent, "it offers no choice of a model: choose it by `run` or `env`"))
    }

    /// What may be chosen of a category.
    fn option(&self, category: &str) -> Option<&Value> {
        let options = self.offer["configOptions"].as_array()?;
        options.iter().find(|option| option["category"] == category || option["id"] == category)
    }

    fn choose(&mut self, asked: Asked, category: &str, value: &str) -> Vec<Step> {
        let id = self.option(category).map_or(Value::Null, |option| option["id"].clone());
        let params = json!({ "sessionId": self.session, "configId": id, "value": value });
        self.ask(asked, "session/set_config_option", &params)
    }

    fn prompt(&mut self) -> Vec<Step> {
        let text = json!([{ "type": "text", "text": self.subject.prompt }]);
        let params = json!({ "sessionId": self.session, "prompt": text });
        self.ask(Asked::Prompt, "session/prompt", &params)
    }

    /// Something happened in a session. What an earlier turn did is told again when a session is loaded, and is not heard.
    fn update(&mut self, params: &Value) -> Vec<Step> {
        let ours = self.session.as_deref() == params["sessionId"].as_str();
        if !matches!(self.state, State::Waiting(_, Asked::Prompt)) || !ours {
            return Vec::new();
        }
        let mut steps: Vec<Step> = self.listener.update(&params["update"]).into_iter().map(Step::Tell).collect();
        let most = self.subject.max_turns.filter(|most| self.listener.turns > *most);
        if let (Some(most), None) = (most, &self.verdict) {
            self.verdict = Some(Verdict::new(Class::TimedOut, format!("it used up its {most} turns")));
            steps.extend(self.stop_turn());
        }
        steps
    }

    fn permit(&mut self, params: &Value) -> Value {
        let stopped = self.cancelled || self.verdict.is_some();
        if stopped || !matches!(self.state, State::Waiting(_, Asked::Prompt)) {
            return permission::cancelled();
        }
        let kind = params["toolCall"]["toolCallId"].as_str().and_then(|call| self.listener.kind(call));
        let workspace: &Path = &self.subject.workspace;
        let decision = permission::decide(self.subject.permissions, params, kind, workspace);
        self.denied += usize::from(!decision.allowed);
        decision.result
    }

    fn stop_turn(&mut self) -> Vec<Step> {
        let params = json!({ "sessionId": self.session });
        vec![
            Step::Send(wire::notification("session/cancel", &params)),
            Step::Within(Some(self.patience(Asked::Prompt))),
        ]
    }

    fn turn_ended(&mut self, reply: &Result<Value, Failure>) -> Vec<Step> {
        let mut steps: Vec<Step> = self.listener.said().into_iter().map(Step::Tell).collect();
        if self.denied > 0 {
            steps.push(Step::Tell(AgentEvent::Denied(self.denied)));
        }
        if self.verdict.is_none() && !self.cancelled {
            self.verdict = Some(outcome::of_turn(&Turn {
                reply,
                honest: self.abilities.honest,
                spoke: self.listener.spoke,
                last: &self.listener.last,
                denied: self.denied,
                compacts: self.subject.compacts,
            }));
        }
        steps.extend(self.leave());
        steps
    }

    fn fail(&mut self, verdict: Verdict) -> Vec<Step> {
        self.verdict = Some(verdict);
        self.leave()
    }

    /// The session is not there: it never began.
    fn refuse(&mut self, evidence: String) -> Vec<Step> {
        self.verdict = Some(Verdict { session_refused: true, ..Verdict::new(Class::Lost, evidence) });
        self.hang_up()
    }

    /// Closes the session where the agent can: one lets its tools run on otherwise.
    fn leave(&mut self) -> Vec<Step> {
        match &self.session {
            Some(session) if self.abilities.close => {
                let params = json!({ "sessionId": session });
                self.ask(Asked::Close, "session/close", &params)
            }
            _ => self.hang_up(),
        }
    }

    /// The end of its input is an agent's word to end; the slowest take five seconds.
    fn hang_up(&mut self) -> Vec<Step> {
        self.state = State::Left;
        let patience = if self.cancelled { self.patience(Asked::Close) } else { Duration::from_secs(6) };
        vec![Step::HangUp, Step::Within(Some(patience))]
    }

    fn strange(&mut self, line: &str) -> Vec<Step> {
        if line.trim().is_empty() {
            return Vec::new();
        }
        self.strange += 1;
        if self.strange == 1 {
            self.first_strange = brief(line);
        }
        if self.strange == STRANGE && matches!(self.state, State::Waiting(_, Asked::Initialize)) {
            return self.fail(Verdict::new(Class::Permanent, "it does not speak the Agent Client Protocol"));
        }
        Vec::new()
    }
}

impl Asked {
    fn what(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Authenticate => "authenticate",
            Self::Open => "the session",
            Self::Mode => "its mode",
            Self::Model => "its model",
            Self::Prompt => "the turn",
            Self::Close => "the end of the session",
        }
    }
}

/// Abilities are objects, mostly empty ones.
fn is_there(ability: &Value) -> bool {
    !ability.is_null() && *ability != false
}

#[cfg(test)]
mod tests;
