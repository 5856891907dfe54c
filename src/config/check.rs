//! What a schema cannot say about a configuration: rules over two values, and keys that look alive and are not.

use super::ConfigDocument;
use super::origin::Origin;
use super::settings::Origins;
use crate::contract::BudgetRange;
use crate::diag::{Diagnostic, Document, Entry, Span, closest};

/// Two values that do not fit together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Conflict {
    /// JSON pointer of the value to complain about.
    pub(super) pointer: &'static str,
    /// JSON pointer of the value that it does not fit to.
    pub(super) against: &'static str,
    /// What is wrong.
    pub(super) message: String,
    /// What would be right.
    pub(super) expected: String,
}

impl Conflict {
    /// The finding, at the value that came from the file; values from elsewhere are named by their origin.
    pub(super) fn finding(&self, origins: &Origins) -> Diagnostic {
        let (about, against) = (origins.of(&dotted(self.pointer)), origins.of(&dotted(self.against)));
        let place = |pointer: &str| origins.file.as_ref().and_then(|(_, document)| document.span_of(pointer));
        let finding = Diagnostic::error("config-conflict", self.message.clone())
            .of(self.pointer)
            .expected(self.expected.clone())
            .help(format!(
                "`{}` comes from: {about}; `{}` from: {against}",
                dotted(self.pointer),
                dotted(self.against)
            ));
        match (&about, &against) {
            (Origin::File { .. }, _) => with_place(finding, place(self.pointer)),
            (_, Origin::File { .. }) => with_place(finding, place(self.against)),
            _ => finding,
        }
    }
}

fn with_place(finding: Diagnostic, span: Option<Span>) -> Diagnostic {
    Diagnostic { span, ..finding }
}

/// Every rule over two values that the configuration breaks.
pub(super) fn conflicts(config: &ConfigDocument) -> Vec<Conflict> {
    let context = config.autonomous_agent.context;
    let mut found = Vec::new();
    if context.soft_limit_tokens >= context.hard_limit_tokens {
        found.push(Conflict {
            pointer: SOFT,
            against: HARD,
            message: "the soft limit is not below the hard limit".to_owned(),
            expected: format!("less than {}, the hard limit", context.hard_limit_tokens),
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

fn inverted(level: &str, (pointer, against): (&'static str, &'static str), range: BudgetRange) -> Option<Conflict> {
    (range.min > range.max).then(|| Conflict {
        pointer,
        against,
        message: format!("the least budget of `{level}` is more than its most"),
        expected: format!("at most {}, the `max` of the level", range.max),
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
        if let Some(span) = document.span_of(pointer) {
            found.push(Diagnostic::warning("config-advice", message).at(span).of(pointer).help(help));
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
    Some(finding.at(entry.key_span).of(format!("/{}", entry.key)).help(format!("did you mean `{section}`?")))
}

/// A pointer as a key with dots.
pub(super) fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}
