//! Rules about memories.

use jiff::civil::Date;

use crate::contract::MemoryCategory;
use crate::diag::{Diagnostic, Node, Value};
use crate::schema::{Example, Explanation, Rule, Subject};

/// How sure an entry of a category must be.
pub(in crate::schema) const MEMORY_CONFIDENCE: Rule = Rule {
    text: Explanation {
        id: "memory-confidence",
        about: "a memory is as sure as its category asks: decision 0.9, fact 0.8, learning 0.7, error 0.6, preference 0.5",
        why: "What is left out counts as 0.8, so a decision without `confidence` is below its own limit. Loa's schema lets \
              that pass, and its text about learnings, errors and preferences is checked by nothing.",
        mend: "Write the confidence that is meant, or another category.",
        example: Some(Example {
            kind: "memory",
            path: "memory.yaml",
            wrong: "id: MEM-20261120-001\ncategory: decision\ncontent: Sessions live in the database\n\
                    source: {session_id: s-1, timestamp: \"2026-11-20T09:30:00Z\"}\n",
            right: "id: MEM-20261120-001\ncategory: decision\ncontent: Sessions live in the database\nconfidence: 0.95\n\
                    source: {session_id: s-1, timestamp: \"2026-11-20T09:30:00Z\"}\n",
        }),
    },
    check: |subject| each(subject, confidence),
};

/// Which file an entry belongs to.
pub(in crate::schema) const MEMORY_FILE: Rule = Rule {
    text: Explanation {
        id: "memory-file",
        about: "the five files of the memory folder hold the category that they are named after",
        why: "Loa's index takes the category from the file's name and not from the entry, so a decision in `facts.yaml` is \
              found as a fact.",
        mend: "Move the entry into the file of its category.",
        example: Some(Example {
            kind: "memory",
            path: "grimoires/loa/memory/facts.yaml",
            wrong: "- id: MEM-20261120-001\n  category: learning\n  content: Tests need a database\n  \
                    source: {session_id: s-1, timestamp: \"2026-11-20T09:30:00Z\"}\n",
            right: "- id: MEM-20261120-001\n  category: fact\n  content: Tests need a database\n  \
                    source: {session_id: s-1, timestamp: \"2026-11-20T09:30:00Z\"}\n",
        }),
    },
    check: |subject| each(subject, file),
};

/// The day in an id.
pub(in crate::schema) const MEMORY_DATE: Rule = Rule {
    text: Explanation {
        id: "memory-date",
        about: "the eight digits of a memory's id are a day of the calendar",
        why: "Memories are sorted and expired by that day.",
        mend: "Write year, month and day, such as `MEM-20261120-001`.",
        example: Some(Example {
            kind: "memory",
            path: "memory.yaml",
            wrong: "id: MEM-20261320-001\ncategory: fact\ncontent: Tests need a database\n\
                    source: {session_id: s-1, timestamp: \"2026-11-20T09:30:00Z\"}\n",
            right: "id: MEM-20261120-001\ncategory: fact\ncontent: Tests need a database\n\
                    source: {session_id: s-1, timestamp: \"2026-11-20T09:30:00Z\"}\n",
        }),
    },
    check: |subject| each(subject, date),
};

/// How long an entry lives.
pub(in crate::schema) const MEMORY_LIFETIME: Rule = Rule {
    text: Explanation {
        id: "memory-lifetime",
        about: "a memory is kept for a day at least",
        why: "`0d` has the right form and is over before anybody can read it.",
        mend: "Write the days, such as `30d`, or `permanent`.",
        example: Some(Example {
            kind: "memory",
            path: "memory.yaml",
            wrong: "id: MEM-20261120-001\ncategory: fact\ncontent: Tests need a database\nttl: 0d\n\
                    source: {session_id: s-1, timestamp: \"2026-11-20T09:30:00Z\"}\n",
            right: "id: MEM-20261120-001\ncategory: fact\ncontent: Tests need a database\nttl: 1d\n\
                    source: {session_id: s-1, timestamp: \"2026-11-20T09:30:00Z\"}\n",
        }),
    },
    check: |subject| each(subject, lifetime),
};

type Check = fn(&Subject<'_>, &Node, &str) -> Option<Diagnostic>;

/// Applies a rule to the one entry, or to every entry of a list, with its pointer.
fn each(subject: &Subject<'_>, check: Check) -> Vec<Diagnostic> {
    match &subject.document.root().value {
        Value::Seq(items) => {
            items.iter().enumerate().filter_map(|(at, item)| check(subject, item, &format!("/{at}"))).collect()
        }
        _ => check(subject, subject.document.root(), "").into_iter().collect(),
    }
}

fn category(entry: &Node) -> Option<(&Node, MemoryCategory)> {
    let node = entry.get("category")?;
    Some((node, node.as_str()?.parse().ok()?))
}

fn confidence(_: &Subject<'_>, entry: &Node, pointer: &str) -> Option<Diagnostic> {
    /// What Loa takes when nothing is said.
    const DEFAULT: f64 = 0.8;
    let (category_node, category) = category(entry)?;
    let node = entry.get("confidence");
    let value = node.map_or(Some(DEFAULT), |node| node.to_json().as_f64())?;
    let least = category.least_confidence();
    if value >= least {
        return None;
    }
    let finding = match category {
        // Loa's schema says so; of the others only its text does.
        MemoryCategory::Decision | MemoryCategory::Fact => Diagnostic::error,
        _ => Diagnostic::warning,
    };
    let found = node.map_or("no `confidence`, which counts as 0.8".to_owned(), Node::describe);
    let finding = finding(MEMORY_CONFIDENCE.text.id, format!("a {category} is less sure than a {category} must be"));
    let finding = finding.of(format!("{pointer}/confidence")).expected(format!("{least} or more")).found(found);
    Some(finding.at(node.map_or(category_node.span, |node| node.span)).help("write the confidence that is meant"))
}

fn file(subject: &Subject<'_>, entry: &Node, pointer: &str) -> Option<Diagnostic> {
    let (node, category) = category(entry)?;
    let stem = subject.path.file_stem()?;
    let meant = MemoryCategory::ALL.iter().find(|category| category.file() == stem)?;
    (*meant != category).then(|| {
        Diagnostic::error(MEMORY_FILE.text.id, format!("a {category} stands among the {stem}"))
            .at(node.span)
            .of(format!("{pointer}/category"))
            .expected(format!("`{meant}`, or the file `{}.yaml`", category.file()))
            .found(node.describe())
            .help("move the entry into the file of its category")
    })
}

fn date(_: &Subject<'_>, entry: &Node, pointer: &str) -> Option<Diagnostic> {
    let node = entry.get("id")?;
    let digits = node.as_str()?.strip_prefix("MEM-")?.get(..8)?;
    let well_formed = digits.bytes().all(|byte| byte.is_ascii_digit());
    (well_formed && Date::strptime("%Y%m%d", digits).is_err()).then(|| {
        Diagnostic::warning(MEMORY_DATE.text.id, "the id names a day that the calendar does not have")
            .at(node.span)
            .of(format!("{pointer}/id"))
            .expected("year, month and day, such as 20261120")
            .found(format!("the day {digits}"))
            .help("write the day on which the memory was made")
    })
}

fn lifetime(_: &Subject<'_>, entry: &Node, pointer: &str) -> Option<Diagnostic> {
    let node = entry.get("ttl")?;
    let days = node.as_str()?.strip_suffix('d')?;
    (!days.is_empty() && days.bytes().all(|byte| byte == b'0')).then(|| {
        Diagnostic::warning(MEMORY_LIFETIME.text.id, "the memory is over at once")
            .at(node.span)
            .of(format!("{pointer}/ttl"))
            .expected("`1d` or more, or `permanent`")
            .found(node.describe())
            .help("leave it out for 30 days")
    })
}
