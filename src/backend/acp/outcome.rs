//! How a turn ended, by ordered rules: the first that matches decides.
//!
//! Agents answer with whatever their provider said: codes of JSON-RPC, of the protocol or of HTTP, sentences, JSON in sentences.
//! Some answer `end_turn` when the model's server refused, and have said so in a message, or nowhere.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::wire::Failure;
use crate::backend::process::{Verdict, brief};
use crate::backend::status::{class_of, is_unreachable, status_in};
use crate::policy::Class;

/// What the protocol answers with where somebody has to log in.
const LOGIN: i64 = -32000;

/// What is known of a turn that was answered.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub(super) reply: &'a Result<Value, Failure>,
    /// The agent has agreed to say failures as data.
    pub(super) honest: bool,
    /// It said something behind its last tool.
    pub(super) spoke: bool,
    /// The last part of a message, as it came.
    pub(super) last: &'a str,
    /// Tools that it was not allowed.
    pub(super) denied: usize,
    /// It was asked for a compaction and nothing else.
    pub(super) compacts: bool,
}

/// The class of a turn's end, and what it was read from.
pub(super) fn of_turn(turn: &Turn<'_>) -> Verdict {
    let result = match turn.reply {
        Ok(result) => result,
        Err(failure) => return of_failure("the turn failed", failure),
    };
    let told = &result["_meta"]["jetbrains"]["air"]["sessionFailure"];
    if told["severity"] == "error" {
        return of_told(told);
    }
    let Some(reason) = result["stopReason"].as_str() else {
        return Verdict::new(Class::Lost, "the turn ended without a reason");
    };
    match reason {
        "end_turn" => of_silence(turn),
        "max_tokens" | "max_turn_requests" => Verdict::new(Class::TimedOut, reason),
        "cancelled" => Verdict::new(Class::TimedOut, "cancelled, and nobody had asked for that"),
        _ => Verdict::new(Class::Permanent, reason),
    }
}

/// The class of an error that an agent answered with; `what` failed.
pub(super) fn of_failure(what: &str, failure: &Failure) -> Verdict {
    let class = of_error(failure).unwrap_or(Class::Permanent);
    let data = if failure.data.is_null() { String::new() } else { format!(" {}", brief(&failure.data.to_string())) };
    Verdict::new(class, format!("{what}: {}: {}{data}", failure.code, brief(&failure.message)))
}

/// The class of an error, where it says more than that something failed.
pub(super) fn of_error(failure: &Failure) -> Option<Class> {
    of_words(failure.code, &format!("{} {}", failure.message, failure.data))
}

/// A failure that the agent told as data.
fn of_told(told: &Value) -> Verdict {
    let title = told["title"].as_str().unwrap_or_default();
    let category = told["category"].as_str().unwrap_or("unknown");
    let retry = told["actions"].as_array().is_some_and(|actions| actions.iter().any(|action| action == "retry"));
    let class = match category {
        "limit" if retry => Class::Limit { resets_at: None },
        "request" if is_overflow(title) => Class::Overflow,
        "limit" | "access" | "request" => Class::Permanent,
        "connection" => of_words(0, title).unwrap_or(Class::Outage),
        // A service that refuses and one that is overloaded have one category; the title tells them apart.
        _ => of_words(0, title).unwrap_or(Class::Transient { wait: None }),
    };
    Verdict::new(class, format!("{category}: {}", brief(title)))
}

/// An end that claims success, which it is unless something speaks against it.
fn of_silence(turn: &Turn<'_>) -> Verdict {
    let transient = Class::Transient { wait: None };
    if !turn.honest && is_complaint(turn.last) {
        return Verdict::new(of_words(0, turn.last).unwrap_or(transient), format!("end_turn: {}", brief(turn.last)));
    }
    if turn.spoke || turn.compacts {
        return Verdict::new(Class::Done, "end_turn");
    }
    if turn.denied > 0 {
        return Verdict::new(Class::Permanent, "end_turn: it stopped because it was not allowed to use a tool");
    }
    if turn.honest { Verdict::new(Class::Done, "end_turn") } else { Verdict::new(transient, "end_turn without a word") }
}

/// What a code and a text say.
fn of_words(code: i64, text: &str) -> Option<Class> {
    let status = u16::try_from(code).ok().filter(|code| (400..600).contains(code)).or_else(|| status_in(text));
    let says = |words: &LazyLock<Regex>| words.is_match(text);
    Some(match status {
        _ if code == LOGIN => Class::Permanent,
        Some(401 | 403) => Class::Permanent,
        _ if says(&LOCKED_OUT) => Class::Permanent,
        _ if is_overflow(text) => Class::Overflow,
        Some(429) => Class::Limit { resets_at: None },
        _ if says(&LIMITED) => Class::Limit { resets_at: None },
        _ if says(&USED_UP) => Class::TimedOut,
        Some(status) => class_of(status),
        _ if says(&REFUSED) => Class::Permanent,
        _ if is_unreachable(text) || says(&DOWN) => Class::Outage,
        _ if says(&BROKEN) => Class::Transient { wait: None },
        None => return None,
    })
}

/// Whether a part of a message is no answer but a failure that its program told as one.
fn is_complaint(part: &str) -> bool {
    COMPLAINT.is_match(part.trim_start())
}

fn is_overflow(text: &str) -> bool {
    OVERFLOW.is_match(text)
}

fn words(pattern: &str) -> Regex {
    Regex::new(&format!("(?i){pattern}")).expect("a pattern that tests compile")
}

/// As it is spelt: an answer may begin with the same words as a sentence.
static COMPLAINT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        "^(exceeded retry limit|\\{\"error\":|stream disconnected|unexpected status|API Error:|\
         Compaction cancelled|Error: ([45][0-9]{2} |Authentication failed with provider|\
         Failed to get response from the AI model|The provider rejected the prompt))",
    )
    .expect("a pattern that tests compile")
});
static LOCKED_OUT: LazyLock<Regex> = LazyLock::new(|| words("api key|authenticat|unauthori[sz]ed"));
static OVERFLOW: LazyLock<Regex> = LazyLock::new(|| {
    words(
        "prompt (is|as) too long|context.?(length|window)|maximum context|too many tokens|\
         exceeds the maximum number of tokens|contextoverflow|context is too large|compaction exhausted",
    )
});
static LIMITED: LazyLock<Regex> = LazyLock::new(|| words(r"\b429\b|rate.?limit|quota|usage.?limit"));
static USED_UP: LazyLock<Regex> = LazyLock::new(|| words("maximum number of turns|loop_detected|max_output_tokens"));
static REFUSED: LazyLock<Regex> = LazyLock::new(|| words("invalid_request|invalid_argument"));
static DOWN: LazyLock<Regex> = LazyLock::new(|| words("server_error|overloaded"));
static BROKEN: LazyLock<Regex> = LazyLock::new(|| {
    words("server_error|overloaded|econn|reset|terminated|socket|disconnected|timed? ?out|has exited")
});

#[cfg(test)]
mod tests;
