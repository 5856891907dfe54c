//! Documents with the verdict that each must get: an example of each kind with one value changed, by a table.

use loa::schema::Kind;
use serde_json::{Value, json};

/// A document with one thing done to it.
pub(super) struct Document {
    pub(super) kind: Kind,
    /// What was done: `checkpoint /exit_code = "0"`.
    pub(super) name: String,
    pub(super) value: Value,
    /// Whether the kind's schema accepts it.
    pub(super) valid: bool,
}

/// What may stand at a place, and what may not.
enum Shape {
    /// A text.
    Text,
    /// A text that is not empty.
    Name,
    /// A whole number from the first to the second.
    Count(u64, u64),
    /// A number from the first to the second.
    Number(f64, f64),
    /// True or false.
    Flag,
    /// A moment with its zone.
    Moment,
    /// One of these words.
    Word(&'static [&'static str]),
    /// One of these numbers.
    Code(&'static [u64]),
    /// A list that may be empty.
    List,
    /// A list that may not.
    Some,
    /// A command: a text or a list of texts, neither empty.
    Command,
}

use Shape::{Code, Command, Count, Flag, List, Moment, Name, Number, Some as SomeOf, Text, Word};

/// Whether the key may be left out.
#[derive(Clone, Copy, PartialEq)]
enum Key {
    Must,
    May,
}

use Key::{May, Must};

const EXACT: u64 = (1 << 53) - 1;
const U32: u64 = u32::MAX as u64;
const PHASES: &[&str] =
    &["preflight", "discovery", "design", "implementation", "audit", "submit", "deploy", "learning"];
const TRIGGERS: &[&str] = &["max_loops", "same_issue", "no_progress", "timeout", "context_overflow", "manual"];
const CELLS: &[&str] = &["Full", "Partial", "Manual", "None"];

/// Kind, place, whether it must be there, and what may stand there, as the contract and the formats of ours have it.
const TABLE: &[(&str, &str, Key, Shape)] = &[
    ("checkpoint", "/execution_id", Must, Name),
    ("checkpoint", "/phase", Must, Word(PHASES)),
    ("checkpoint", "/created_at", Must, Moment),
    ("checkpoint", "/exit_code", Must, Code(&[0, 1, 2])),
    ("checkpoint", "/summary", Must, Text),
    ("checkpoint", "/decisions", May, List),
    ("checkpoint", "/decisions/0/id", Must, Text),
    ("checkpoint", "/decisions/0/description", Must, Text),
    ("checkpoint", "/decisions/0/timestamp", Must, Text),
    ("checkpoint", "/artifacts", May, List),
    ("checkpoint", "/artifacts/0/path", Must, Text),
    ("checkpoint", "/artifacts/0/action", Must, Word(&["created", "modified", "deleted"])),
    ("checkpoint", "/artifacts/0/size_bytes", May, Count(0, EXACT)),
    ("checkpoint", "/errors", May, List),
    ("checkpoint", "/metrics/duration_ms", Must, Count(0, EXACT)),
    ("checkpoint", "/metrics/api_calls", May, Count(0, EXACT)),
    ("escalation-report", "/session_id", Must, Name),
    ("escalation-report", "/trigger", Must, Word(TRIGGERS)),
    ("escalation-report", "/phase", Must, Word(PHASES)),
    ("escalation-report", "/timestamp", Must, Moment),
    ("escalation-report", "/state/phases", Must, List),
    ("escalation-report", "/state/phases/0/status", Must, Word(&["completed", "in_progress", "failed", "pending"])),
    ("escalation-report", "/state/last_checkpoint/exit_code", Must, Code(&[0, 1, 2])),
    ("escalation-report", "/state/remaining_findings/0/severity", Must, Word(&["critical", "high", "medium", "low"])),
    ("escalation-report", "/context/remediation_attempts", Must, Count(0, U32)),
    ("escalation-report", "/context/suggested_actions", Must, List),
    ("context-state", "/version", Must, Code(&[1])),
    ("context-state", "/soft_limit", Must, Count(0, EXACT)),
    ("context-state", "/warning_level", Must, Word(&["none", "soft", "hard"])),
    ("context-state", "/percent_used", Must, Number(f64::MIN, f64::MAX)),
    ("context-state", "/updated_at", Must, Moment),
    ("operator-type", "/operator_type", Must, Word(&["AI_OPERATOR", "HUMAN_OPERATOR"])),
    ("operator-type", "/detection_method", Must, Word(&["env_var", "agents_md", "heartbeat", "tty"])),
    ("operator-type", "/confidence", Must, Word(&["high", "medium", "low"])),
    ("operator-type", "/detected_at", Must, Moment),
    ("execution-state", "/execution_id", Must, Name),
    ("execution-state", "/current_phase", Must, Word(PHASES)),
    ("execution-state", "/completed_phases", Must, List),
    ("execution-state", "/completed_phases/0", Must, Word(PHASES)),
    ("phase-result", "/summary", May, Text),
    ("phase-result", "/errors/0/recoverable", Must, Flag),
    ("phase-result", "/findings/0/id", Must, Text),
    ("phase-result", "/metrics/tokens_used", May, Count(0, EXACT)),
    ("signal", "/context_tokens", Must, Count(0, EXACT)),
    ("resolution", "/action", Must, Word(&["fix_and_resume", "skip_phase", "reset", "abort"])),
    ("resolution", "/notes", May, Text),
    ("agent-event", "/number", Must, Count(1, U32)),
    ("agent-event", "/begins", Must, Word(&["new", "named", "resumed", "retold"])),
    ("plan", "/phases", Must, SomeOf),
    ("plan", "/phases/0/id", Must, Word(PHASES)),
    // A prompt may stand in its place.
    ("plan", "/phases/0/command", May, Command),
    ("config", "/autonomous_agent/max_remediation_loops", May, Count(1, 1000)),
    ("config", "/autonomous_agent/require_human_deploy_approval", May, Flag),
    ("config", "/autonomous_agent/context/soft_limit_tokens", May, Count(1, 1_000_000_000)),
    ("config", "/run_mode/defaults/timeout_hours", May, Number(1e-6, 8760.0)),
    ("config", "/runtime/retry/max", May, Count(0, 3)),
    ("config", "/runtime/retry/jitter", May, Number(0.0, 0.25)),
    ("config", "/runtime/phases/preflight/command", May, Command),
    ("config", "/runtime/phases/deploy/skip", May, Flag),
    ("runtime-manifest", "/runtime", Must, Text),
    ("runtime-manifest", "/poll_ms", May, Count(10, 10_000)),
    ("runtime-manifest", "/waits", May, Flag),
    ("adapter-ask", "/verb", Must, Word(&["run", "resume", "resolve", "halt", "state", "kill"])),
    ("adapter-ask", "/workspace", Must, Text),
    ("adapter-answer", "/code", Must, Count(0, 255)),
    ("conformance-report", "/date", Must, Moment),
    ("conformance-report", "/complete", Must, Flag),
    ("conformance-report", "/host/cores", Must, Count(0, EXACT)),
    ("conformance-report", "/runtimes/0/cells/exit-codes/word", Must, Word(CELLS)),
    ("contract-claims", "/edition", Must, Text),
    ("contract-claims", "/checklist/0/clauses", Must, SomeOf),
    ("contract-ledger", "/0/level", Must, Word(&["MUST", "SHOULD", "MAY", "EXT"])),
    ("contract-ledger", "/0/text", Must, Text),
    ("contract-case", "/title", Must, Text),
];

/// Every document of the table: the example itself once a row, then one change each.
pub(super) fn documents() -> Vec<Document> {
    let kinds = loa::cli::kinds();
    let mut all = Vec::new();
    for (name, pointer, key, shape) in TABLE {
        let kind = *kinds.iter().find(|kind| kind.name() == *name).expect("a kind of ours");
        let example = kind.schema()["examples"][0].clone();
        let mut add = |what: String, value: Value, valid: bool| {
            all.push(Document { kind, name: format!("{name} {pointer} {what}"), value, valid });
        };
        if pointer.parse::<u8>().is_err() && !pointer.ends_with("/0") {
            add("left out".to_owned(), changed(&example, pointer, None), *key == May);
        }
        let (good, bad) = shape.values();
        for (values, valid) in [(good, true), (bad, false)] {
            for value in values {
                add(format!("= {value}"), changed(&example, pointer, Some(value)), valid);
            }
        }
    }
    all
}

fn changed(example: &Value, pointer: &str, value: Option<Value>) -> Value {
    let mut document = example.clone();
    let (holder, key) = pointer.rsplit_once('/').expect("a pointer");
    let holder = document.pointer_mut(holder).unwrap_or_else(|| panic!("the example has no {holder:?}"));
    match (holder, value) {
        (Value::Array(items), Some(value)) => items[key.parse::<usize>().expect("an index")] = value,
        (Value::Object(entries), Some(value)) => drop(entries.insert(key.to_owned(), value)),
        (Value::Object(entries), None) => drop(entries.shift_remove(key)),
        (holder, _) => panic!("{pointer} is in {holder}"),
    }
    document
}

impl Shape {
    /// What passes, and what does not.
    fn values(&self) -> (Vec<Value>, Vec<Value>) {
        let texts = || vec![json!("x"), json!("no"), json!("é 😀")];
        let no_text = || vec![json!(1), json!(true), Value::Null, json!([]), json!({})];
        match self {
            Text => ([texts(), vec![json!("")]].concat(), no_text()),
            Name => (texts(), [no_text(), vec![json!("")]].concat()),
            Count(least, most) => (
                vec![json!(least), json!(most), json!(least + 1)],
                [vec![below(*least), json!(most + 1), number(&format!("{least}.5"))], no_number()].concat(),
            ),
            Number(least, most) if *most >= f64::MAX => {
                (vec![json!(0), json!(-1.5), json!(least), json!(most)], no_number())
            }
            Number(least, most) => {
                (vec![json!(least), json!(most)], [vec![json!(least - 1.0), json!(most + 0.5)], no_number()].concat())
            }
            Flag => (
                vec![json!(true), json!(false)],
                vec![json!("true"), json!("yes"), json!(0), json!(1), Value::Null, json!([])],
            ),
            Moment => (moments(), no_moments()),
            Word(words) => (
                words.iter().map(|word| json!(word)).collect(),
                vec![
                    json!(""),
                    json!(format!(" {}", words[0])),
                    json!(words[0].repeat(2)),
                    json!(swapped(words[0])),
                    json!(0),
                    Value::Null,
                    json!([words[0]]),
                ],
            ),
            Code(codes) => (
                codes.iter().flat_map(|code| [json!(code), number(&format!("{code}.0"))]).collect(),
                vec![
                    json!(codes.len() as u64 + 2),
                    json!(-1),
                    json!(0.5),
                    json!("0"),
                    json!(true),
                    Value::Null,
                    json!([0]),
                ],
            ),
            List => (vec![json!([])], no_list()),
            SomeOf => (vec![], [vec![json!([])], no_list()].concat()),
            Command => (
                vec![json!("make"), json!(["make", "all"])],
                vec![json!(""), json!([]), json!([1]), json!(1), Value::Null, json!({}), json!([["make"]])],
            ),
        }
    }
}

/// The whole number before this one.
fn below(number: u64) -> Value {
    number.checked_sub(1).map_or(json!(-1), Value::from)
}

fn number(digits: &str) -> Value {
    digits.parse::<f64>().map(Value::from).expect("a number")
}

/// In the other case.
fn swapped(word: &str) -> String {
    let upper = word.to_uppercase();
    if upper == word { word.to_lowercase() } else { upper }
}

fn no_number() -> Vec<Value> {
    vec![json!("1"), json!(true), Value::Null, json!([1])]
}

fn no_list() -> Vec<Value> {
    vec![json!({}), json!("x"), json!(0), Value::Null, json!(false)]
}

fn moments() -> Vec<Value> {
    vec![json!("2026-11-20T09:30:00Z"), json!("2026-11-20T09:30:00.123456+02:00"), json!("2024-02-29T23:59:59-11:30")]
}

fn no_moments() -> Vec<Value> {
    let texts = [
        "",
        "yesterday",
        "2026-11-20",
        "09:30:00Z",
        "2026-11-20T09:30:00",
        "2026-11-20 09:30:00Z",
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-11-20T24:00:00Z",
        "2026-11-20T09:60:00Z",
        "2026-11-20T09:30Z",
        "2026-11-20T09:30:00,5Z",
        "20261120T093000Z",
        "2026-11-20T09:30:00+0200",
    ];
    [texts.map(Value::from).to_vec(), vec![json!(1_763_631_000), Value::Null]].concat()
}
