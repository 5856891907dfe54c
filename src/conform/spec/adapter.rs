//! The words between the judge and an adapter: a program that does the verbs which no command can do. One JSON object a
//! line, explained for its authors in `contract-tests/PLUGGING-IN.md`. The process itself is `driver/adapter.rs`.

use std::collections::BTreeMap;

use camino::Utf8Path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ADAPTER_ANSWER;
use crate::contract::vocabulary;
use crate::diag::{Budget, Diagnostic};
use crate::schema::Checker;
use crate::text::harmless;

/// Longest line of an adapter, in bytes.
const LONGEST_LINE: usize = 1 << 20;
/// How many characters of a line are quoted.
const QUOTED: usize = 120;
/// What a line looks like, for whoever wrote another.
const EXAMPLE: &str = r#"one JSON object a line, such as {"answer":1,"type":"exit","code":0}"#;

vocabulary! {
    /// What a runtime is driven by.
    pub enum Verb ("verb") {
        /// Runs the plan from its beginning, until the run is over or a human is needed.
        Run = "run",
        /// Goes on with a run that was interrupted, or resolved.
        Resume = "resume",
        /// Hands in a resolution.
        Resolve = "resolve",
        /// Asks the runtime that is running to stop and call a human. May come while a `run` or a `resume` is open.
        Halt = "halt",
        /// Tells the execution state.
        State = "state",
        /// Ends the running runtime as SIGKILL would: at once, without a chance to clean up. Comes only while a `run` or a
        /// `resume` is open, which then ends by the signal `KILL`. Not a verb of manifests.
        Kill = "kill",
    }
}

/// One line from the judge to an adapter: it asks for a verb.
///
/// The adapter answers by any number of `said`, and by one line that ends the ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Adapter ask")]
#[serde(deny_unknown_fields)]
pub struct AdapterAsk {
    /// The number of the ask, from 1 on.
    pub ask: u64,
    /// What is to be done.
    pub verb: Verb,
    /// With `resolve`: the resolution, one of the contract's four words, or one that is none of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The plan file, absolute.
    pub plan: String,
    /// The workspace, absolute: what the runtime works in. A case may have several, one after the other.
    pub workspace: String,
    /// The whole environment that the runtime is to have.
    pub env: BTreeMap<String, String>,
}

/// One line from an adapter to the judge, told apart by `type`. All but `said` end the ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Adapter answer")]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum AdapterAnswer {
    /// The runtime showed something to its user, one line or several. What its phases print may be among it.
    Said {
        /// The ask.
        answer: u64,
        /// The words.
        text: String,
    },
    /// The verb is done. By the contract 0 is well, 1 may be tried again, 2 needs a human.
    Exit {
        /// The ask.
        answer: u64,
        /// What an exit code would be.
        code: u8,
    },
    /// The runtime died by a signal, before it was done.
    Signal {
        /// The ask.
        answer: u64,
        /// Its name, such as `KILL`.
        #[schemars(regex(pattern = "^(SIG)?[A-Z][A-Z0-9]*$"))]
        name: String,
    },
    /// The execution state; ends a `state`.
    State {
        /// The ask.
        answer: u64,
        /// `execution_id`, `current_phase`, `completed_phases` and `last_checkpoint`.
        state: Map<String, Value>,
    },
    /// The runtime has no such thing. What needs it is not observed.
    Unsupported {
        /// The ask.
        answer: u64,
        /// Why, for people.
        why: String,
    },
}

impl AdapterAnswer {
    /// The number of the ask that it answers.
    #[must_use]
    pub fn ask(&self) -> u64 {
        match self {
            Self::Said { answer, .. }
            | Self::Exit { answer, .. }
            | Self::Signal { answer, .. }
            | Self::State { answer, .. }
            | Self::Unsupported { answer, .. } => *answer,
        }
    }
}

/// What an adapter was asked and what of it is still open; tells a right line from a wrong one. Waits for nothing.
#[derive(Debug)]
pub(in crate::conform) struct Dialogue {
    checker: Checker,
    /// How many asks there were; the number of the last one.
    asked: u64,
    open: BTreeMap<u64, Verb>,
    /// A line whose end has not come.
    begun: Vec<u8>,
}

impl Dialogue {
    pub(in crate::conform) fn new() -> Self {
        Self { checker: Checker::new(&ADAPTER_ANSWER), asked: 0, open: BTreeMap::new(), begun: Vec::new() }
    }

    /// The number of a new ask.
    pub(in crate::conform) fn ask(&mut self, verb: Verb) -> u64 {
        self.asked += 1;
        self.open.insert(self.asked, verb);
        self.asked
    }

    /// The verb of an ask that is not over.
    pub(in crate::conform) fn verb(&self, ask: u64) -> Option<Verb> {
        self.open.get(&ask).copied()
    }

    /// Takes a line, or a part of one; an answer, once a line is whole.
    ///
    /// # Errors
    /// What is wrong with the line, which it quotes, and what was expected.
    pub(in crate::conform) fn hear(&mut self, bytes: &[u8]) -> Result<Option<AdapterAnswer>, String> {
        self.begun.extend_from_slice(bytes);
        if self.begun.len() > LONGEST_LINE {
            let why = format!("it is longer than {} KiB", LONGEST_LINE >> 10);
            return Err(fault(&self.begun, &why, "a shorter line; a long text may come in several `said`"));
        }
        if !bytes.ends_with(b"\n") {
            return Ok(None);
        }
        let line = std::mem::take(&mut self.begun);
        let answer = self.read(&line)?;
        self.fits(&line, &answer)?;
        if !matches!(answer, AdapterAnswer::Said { .. }) {
            self.open.remove(&answer.ask());
        }
        Ok(Some(answer))
    }

    /// A line that was begun when the adapter ended.
    pub(in crate::conform) fn rest(&self) -> Option<String> {
        (!self.begun.is_empty()).then(|| fault(&self.begun, "its end never came", EXAMPLE))
    }

    fn read(&self, line: &[u8]) -> Result<AdapterAnswer, String> {
        let read = self.checker.read(line, Utf8Path::new("answers.jsonl"), &Budget::default());
        read.map_err(|findings| match findings.into_iter().next() {
            // Where nothing could be read, an example says more than a rule.
            Some(Diagnostic { message, expected: Some(expected), code, .. }) if !matches!(code, "syntax" | "empty") => {
                fault(line, &message, &expected)
            }
            Some(Diagnostic { message, .. }) => fault(line, &message, EXAMPLE),
            None => fault(line, "it is no answer", EXAMPLE),
        })
    }

    /// Whether it answers an ask that is open, by something that this verb can be answered by.
    fn fits(&self, line: &[u8], answer: &AdapterAnswer) -> Result<(), String> {
        let ask = answer.ask();
        match self.open.get(&ask) {
            Some(Verb::State) => Ok(()),
            Some(verb) if matches!(answer, AdapterAnswer::State { .. }) => {
                let why = format!("ask {ask} was `{verb}`, and a state answers `state` alone");
                Err(fault(line, &why, "`exit`, `signal` or `unsupported` at its end"))
            }
            Some(_) => Ok(()),
            None if (1..=self.asked).contains(&ask) => {
                Err(fault(line, &format!("ask {ask} is over"), &self.expected()))
            }
            None => Err(fault(line, &format!("there was no ask {ask}"), &self.expected())),
        }
    }

    /// What may be answered now.
    pub(in crate::conform) fn expected(&self) -> String {
        let open: Vec<String> = self.open.iter().map(|(ask, verb)| format!("{ask} (`{verb}`)")).collect();
        if open.is_empty() {
            "nothing, for no ask is open".to_owned()
        } else {
            format!("an answer to {}", open.join(", "))
        }
    }
}

/// A fault of the adapter in one sentence: the line, what is wrong with it, what was expected.
fn fault(line: &[u8], wrong: &str, expected: &str) -> String {
    format!("the adapter wrote {}: {wrong}; expected {expected}", shown(line))
}

/// The beginning of a line as it may stand in a report: on one line, and cut between two words, since what takes secrets out
/// of what was seen knows no half of one.
fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text = harmless(text.trim_end());
    match text.char_indices().nth(QUOTED) {
        None => format!("`{text}`"),
        Some((end, _)) => {
            let part_of_a_word = |c: char| c.is_alphanumeric() || "-_.~+/=".contains(c);
            format!("`{}…` ({} bytes)", text[..end].trim_end_matches(part_of_a_word).trim_end(), line.len())
        }
    }
}

#[cfg(test)]
mod tests;
