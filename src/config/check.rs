//! What a schema cannot say about a configuration: rules over two values, and keys that look alive and are not.

use super::ConfigDocument;
use super::origin::Origin;
use super::settings::Origins;
use crate::contract::BudgetRange;
use crate::diag::{Diagnostic, Document, Entry, Node, closest};

/// Two values in the wrong order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Conflict {
    message: String,
    /// The value that should be the lower one, and its JSON pointer.
    low: (u64, &'static str),
    /// The value that should be the higher one, and its JSON pointer.
    high: (u64, &'static str),
    /// How the lower one must relate to the higher one, and the other way round.
    words: (&'static str, &'static str),
}

impl Conflict {
    /// The finding, about the value that somebody is most likely to mend: one in the file before one from elsewhere, and
    /// that before a default.
    pub(super) fn finding(&self, origins: &Origins) -> Diagnostic {
        let rank = |pointer: &str| match origins.of(&dotted(pointer)) {
            Origin::File { .. } => 0,
            Origin::Flag(_) | Origin::Env(_) => 1,
            Origin::Default => 2,
        };
        let (about, word, other) = if rank(self.low.1) <= rank(self.high.1) {
            (self.low.1, self.words.0, self.high)
        } else {
            (self.high.1, self.words.1, self.low)
        };
        let finding = Diagnostic::error("config-conflict", self.message.clone())
            .of(about)
            .expected(format!("{word} {}", other.0))
            .help(format!("the other value, `{}`, comes from: {}", dotted(other.1), origins.of(&dotted(other.1))));
        match origins.of(&dotted(about)) {
            Origin::File { .. } => pointing_at(origins.node(about), finding),
            elsewhere => Diagnostic { message: format!("{elsewhere}: {}", self.message), ..finding },
        }
    }
}

fn pointing_at(node: Option<&Node>, finding: Diagnostic) -> Diagnostic {
    match node {
        Some(node) => finding.at(node.head()).found(node.describe()),
        None => finding,
    }
}

/// Every rule over two values that the configuration breaks.
pub(super) fn conflicts(config: &ConfigDocument) -> Vec<Conflict> {
    let context = config.autonomous_agent.context;
    let mut found = Vec::new();
    if context.soft_limit_tokens >= context.hard_limit_tokens {
        found.push(Conflict {
            message: "the soft limit is not below the hard limit".to_owned(),
            low: (context.soft_limit_tokens, SOFT),
            high: (context.hard_limit_tokens, HARD),
            words: ("less than", "more than"),
        });
    }
    if let Some(effort) = &config.effort {
        let ranges = effort.budget_ranges;
        found.extend(inverted("low", RANGES[0], ranges.low));
        found.extend(inverted("medium", RANGES[1], ranges.medium));
        found.extend(inverted("high", RANGES[2], ranges.high));
    }
    found
}

const SOFT: &str = "/autonomous_agent/context/soft_limit_tokens";
const HARD: &str = "/autonomous_agent/context/hard_limit_tokens";
const RANGES: [(&str, &str); 3] = [
    ("/effort/budget_ranges/low/min", "/effort/budget_ranges/low/max"),
    ("/effort/budget_ranges/medium/min", "/effort/budget_ranges/medium/max"),
    ("/effort/budget_ranges/high/min", "/effort/budget_ranges/high/max"),
];

fn inverted(level: &str, (min, max): (&'static str, &'static str), range: BudgetRange) -> Option<Conflict> {
    (range.min > range.max).then(|| Conflict {
        message: format!("the least budget of `{level}` is more than its most"),
        low: (range.min, min),
        high: (range.max, max),
        words: ("at most", "at least"),
    })
}

/// Keys that some description of Loa's configuration names and that nothing reads.
const DEAD_KEYS: [&str; 6] = [
    "/autonomous_agent/danger_level",
    "/autonomous_agent/enabled",
    "/effort/enabled",
    "/effort/unit",
    "/context_editing/preserve_sections",
    "/memory_schema/categories",
];

/// What is allowed and still worth a look.
pub(super) fn advice(document: &Document) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut warn = |pointer: &str, message: String, help: &str| {
        if let Some(node) = document.node_at(pointer) {
            found.push(pointing_at(Some(node), Diagnostic::warning("config-advice", message).of(pointer).help(help)));
        }
    };
    for pointer in DEAD_KEYS {
        warn(pointer, format!("nothing reads `{}`", dotted(pointer)), "remove it");
    }
    let kept = "/autonomous_agent/context/checkpoint_after_each_phase";
    if document.node_at(kept).is_some_and(|node| node.to_json() == false) {
        warn(kept, "a checkpoint is written after each phase all the same".to_owned(), "the contract asks for it");
    }
    let retries = "/runtime/retry/max";
    if document.node_at(retries).is_some_and(|node| node.to_json().as_f64() > Some(3.0)) {
        warn(retries, "the contract allows 3 retries".to_owned(), "take 3 or fewer");
    }
    found.extend(document.root().entries().iter().filter_map(misspelt_section));
    found
}

/// The sections that are read.
const SECTIONS: [&str; 6] = ["autonomous_agent", "run_mode", "effort", "context_editing", "memory_schema", "runtime"];

/// A section of Loa's that looks like one of these and is none.
const LOOKALIKE: &str = "autonomous_mode";

/// Every section of Loa's passes, so a misspelt one would be lost without a word.
fn misspelt_section(entry: &Entry) -> Option<Diagnostic> {
    if SECTIONS.contains(&entry.key.as_str()) || entry.key == LOOKALIKE {
        return None;
    }
    let section = closest(&entry.key, SECTIONS)?;
    let finding = Diagnostic::warning("config-advice", format!("nothing reads the section `{}`", entry.key));
    let (found, help) = (format!("the key `{}`", entry.key), format!("did you mean `{section}`?"));
    Some(finding.at(entry.key_span).of(format!("/{}", entry.key)).found(found).help(help))
}

/// A pointer as a key with dots.
pub(super) fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}
