//! What a step comes to: one answer, or one refusal. Pure; what a step must not say is found here.

use std::collections::BTreeMap;

use hyper::header::{HeaderName, HeaderValue};

use super::fault::Fault;
use super::script::{ErrorKind, ErrorReply, Point, Step, Stop, Usage};

/// What is said where a step only says how it breaks off.
const UNFINISHED: &str = "Let me have a look at the files first, and then go on from there.";

/// Headers that say how a message is framed, which is the server's affair.
const FRAMING: [&str; 4] = ["connection", "content-length", "content-type", "transfer-encoding"];

/// What is sent for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// The vendor's error.
    Refusal(Refusal),
    /// An answer of the model.
    Message(Message),
}

/// The vendor's error, as the script has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Refusal {
    /// Why; by the status when absent.
    pub(super) kind: Option<ErrorKind>,
    /// The status; the vendor's for the kind when absent.
    pub(super) status: Option<u16>,
    /// Instead of the vendor's words.
    pub(super) message: Option<String>,
    /// How many seconds are to be waited.
    pub(super) retry_after: Option<u32>,
    /// Besides the vendor's own.
    pub(super) headers: BTreeMap<String, String>,
}

/// An answer of the model: a text, then calls; at least one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) text: Option<String>,
    pub(super) commands: Vec<String>,
    pub(super) usage: Usage,
    pub(super) stop: Option<Stop>,
    /// For how many milliseconds nobody listens afterwards.
    pub(super) away_ms: Option<u32>,
    pub(super) fate: Fate,
}

/// What becomes of an answer on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It arrives.
    Whole,
    /// An error event comes instead of its second half.
    ErrorEvent(ErrorKind),
    /// It breaks off.
    Broken(Way, Point),
}

/// How an answer breaks off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Stall,
    Reset,
    Truncate,
}

impl Answer {
    /// A text that arrives.
    pub(super) fn text(text: &str) -> Self {
        Self::Message(Message {
            text: Some(text.to_owned()),
            commands: Vec::new(),
            usage: Usage::default(),
            stop: None,
            away_ms: None,
            fate: Fate::Whole,
        })
    }

    /// What a step comes to; `at` is its place in the script.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub(super) fn of(step: &Step, at: &str) -> Result<Self, Vec<Fault>> {
        let faults = faults(step, at);
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(match &step.error {
            Some(ErrorReply { kind, status, message, retry_after, headers }) => Self::Refusal(Refusal {
                kind: *kind,
                status: *status,
                message: message.clone(),
                retry_after: *retry_after,
                headers: headers.clone(),
            }),
            None => Self::Message(message(step)),
        })
    }

    /// The same with every text rewritten.
    pub(super) fn rewritten(&self, rewrite: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Refusal(_) => self.clone(),
            Self::Message(message) => Self::Message(Message {
                text: message.text.as_deref().map(&rewrite),
                commands: message.commands.iter().map(|command| rewrite(command)).collect(),
                ..message.clone()
            }),
        }
    }
}

fn message(step: &Step) -> Message {
    let commands: Vec<String> = step.shell.iter().chain(&step.shells).cloned().collect();
    let unsaid = step.text.is_none() && commands.is_empty();
    Message {
        text: if unsaid { Some(UNFINISHED.to_owned()) } else { step.text.clone() },
        commands,
        usage: step.usage.unwrap_or_default(),
        stop: step.stop,
        away_ms: step.away_ms,
        fate: fate(step),
    }
}

fn fate(step: &Step) -> Fate {
    let ways = [(Way::Stall, step.stall), (Way::Reset, step.reset), (Way::Truncate, step.truncate)];
    let broken = ways.into_iter().find_map(|(way, point)| Some(Fate::Broken(way, point?)));
    broken.or(step.error_event.map(Fate::ErrorEvent)).unwrap_or(Fate::Whole)
}

fn faults(step: &Step, at: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut fault = |key: &str, message: &str, help: &str| {
        let key = if key.is_empty() { String::new() } else { format!("/{key}") };
        faults.push(Fault::new(format!("{at}{key}"), message, help));
    };
    let (contents, fates) = given(step);
    if let [first, second, ..] = fates[..] {
        fault(second, &format!("the step has `{second}` beside `{first}`"), "give each a step of its own");
    }
    if fates.is_empty() && contents.iter().all(|key| ["usage", "stop", "away_ms"].contains(key)) {
        fault("", "the step says nothing", "give it `text`, `shell`, `shells`, `error` or a way to break off");
    }
    if let (Some(_), [first, ..]) = (&step.error, &contents[..]) {
        fault(
            first,
            &format!("the step has `{first}` beside `error`"),
            "an error comes instead of an answer: remove one",
        );
    }
    if let Some(first) = ["stop", "away_ms"].iter().find(|key| contents.contains(key) && fate(step) != Fate::Whole) {
        fault(first, &format!("the step has `{first}` beside a way to break off"), "give each a step of its own");
    }
    if step.stop.is_some() && contents.iter().any(|key| key.starts_with("shell")) {
        fault("stop", "a model that stops short calls nothing", "give the answer a `text` alone");
    }
    if step.shell.is_some() && !step.shells.is_empty() {
        fault("shells", "the step has `shells` beside `shell`", "list every command under `shells`");
    }
    if let Some(usage) = step.usage.filter(|usage| usage.cached > usage.input) {
        let message = format!("{} of {} tokens were cached", usage.cached, usage.input);
        fault("usage/cached", &message, "`input` is the whole prompt, the cached part included");
    }
    if step.error.as_ref().is_some_and(|error| error.kind.is_none() && error.status.is_none()) {
        fault("error", "the error says neither `kind` nor `status`", "give at least one of them");
    }
    for (name, value) in step.error.iter().flat_map(|error| &error.headers) {
        if let Some(message) = header_fault(name, value) {
            fault(&format!("error/headers/{}", escaped(name)), &message, "remove the header, or mend it");
        }
    }
    faults
}

/// The keys of a step that say what is answered, and those that say what becomes of it.
fn given(step: &Step) -> (Vec<&'static str>, Vec<&'static str>) {
    let contents = [
        ("text", step.text.is_some()),
        ("shell", step.shell.is_some()),
        ("shells", !step.shells.is_empty()),
        ("usage", step.usage.is_some()),
        ("stop", step.stop.is_some()),
        ("away_ms", step.away_ms.is_some()),
    ];
    let fates = [
        ("error", step.error.is_some()),
        ("error_event", step.error_event.is_some()),
        ("stall", step.stall.is_some()),
        ("reset", step.reset.is_some()),
        ("truncate", step.truncate.is_some()),
    ];
    let keys = |all: &[(&'static str, bool)]| all.iter().filter(|(_, given)| *given).map(|(key, _)| *key).collect();
    (keys(&contents), keys(&fates))
}

fn header_fault(name: &str, value: &str) -> Option<String> {
    if FRAMING.contains(&name.to_ascii_lowercase().as_str()) {
        return Some(format!("the server sets `{name}` by itself"));
    }
    let sound = HeaderName::try_from(name).is_ok() && HeaderValue::try_from(value).is_ok();
    (!sound).then(|| format!("`{name}: {value}` is no header"))
}

/// A key as a token of a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
