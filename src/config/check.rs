//! What a schema cannot say about a configuration: rules over two values, and keys that look alive and are not.

use glob::Pattern;
use serde_json::Value;

use super::notify::Misfit;
use super::origin::Origin;
use super::settings::Origins;
use super::{ConfigDocument, Retry, agents};
use crate::contract::BudgetRange;
use crate::diag::{Diagnostic, Document, Node};
use crate::schema::misspelt_keys;

/// Two values in the wrong order.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Conflict {
    message: String,
    /// The value that should be the lower one, and its JSON pointer.
    low: (u64, &'static str),
    /// The value that should be the higher one, and its JSON pointer.
    high: (u64, &'static str),
    /// How the lower one must relate to the higher one, and the other way round.
    words: (&'static str, &'static str),
}

impl Conflict {
    /// The finding, about the value that somebody is most likely to mend: one in the workspace's file before one from
    /// elsewhere, and that before a default.
    fn finding(&self, origins: &Origins) -> Diagnostic {
        let rank = |pointer: &str| match origins.of(&dotted(pointer)) {
            Origin::File { .. } if origins.node(pointer).is_some() => 0,
            Origin::File { .. } | Origin::Flag(_) | Origin::Remembered(_) | Origin::Env(_) | Origin::Old(_) => 1,
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
            Origin::File { .. } if origins.node(about).is_some() => pointing_at(origins.node(about), finding),
            elsewhere => Diagnostic { message: format!("{elsewhere}: {}", self.message), ..finding },
        }
    }
}

pub(super) fn pointing_at(node: Option<&Node>, finding: Diagnostic) -> Diagnostic {
    match node {
        Some(node) => finding.at(node.head()).found(node.describe()),
        None => finding,
    }
}

/// Every rule over several values that the configuration breaks; `left_out` are values that are wrong by themselves, by
/// their pointers.
pub(super) fn conflicts(config: &ConfigDocument, origins: &Origins, left_out: &[&str]) -> Vec<Diagnostic> {
    let is_known = |conflict: &Conflict| !left_out.contains(&conflict.low.1) && !left_out.contains(&conflict.high.1);
    let crossed = crossed(config).into_iter().filter(is_known);
    let receivers = config.runtime.notify.receivers.iter().enumerate().filter_map(|(number, receiver)| {
        let Misfit { key, why, remedy } = receiver.misfit()?;
        let pointer = format!("/runtime/notify/receivers/{number}");
        let pointer = if key.is_empty() { pointer } else { format!("{pointer}/{key}") };
        Some(agents::located(origins, &pointer, why).help(remedy))
    });
    let globs = config.runtime.protects.iter().enumerate().filter_map(|(number, glob)| {
        let error = Pattern::new(glob).err()?;
        let finding = agents::located(
            origins,
            &format!("/runtime/protects/{number}"),
            format!("`runtime.protects[{number}]` is no glob: {}", error.msg),
        );
        Some(
            finding
                .help("write `[[]` for a bracket that is meant itself, and close one that begins a choice of letters"),
        )
    });
    let crossed = crossed.map(|conflict| conflict.finding(origins));
    crossed.chain(agents::findings(config, origins)).chain(receivers).chain(globs).collect()
}

/// Every pair of values in the wrong order.
fn crossed(config: &ConfigDocument) -> Vec<Conflict> {
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
pub(super) fn advice(document: &Document, schema: &Value) -> Vec<Diagnostic> {
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
    for agent in document.node_at("/runtime/backends").map(Node::entries).unwrap_or_default() {
        let pointer = format!("/runtime/backends/{}/retry/max", agent.key);
        let retries = document.node_at(&pointer).and_then(|node| node.to_json().as_f64());
        if retries > Some(f64::from(Retry::MOST)) {
            let message = format!("a phase is tried again {} times at most, as the contract says", Retry::MOST);
            warn(&pointer, message, "`loa-run agent`, outside of a run, takes all of them");
        }
    }
    let misspelt = misspelt_keys(schema, document.root());
    found.extend(misspelt.into_iter().map(|finding| Diagnostic { code: "config-advice", ..finding }));
    found
}

/// A pointer as a key with dots.
pub(super) fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}
