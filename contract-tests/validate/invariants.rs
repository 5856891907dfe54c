//! What holds for the reading of any bytes at all. The fuzz targets of `fuzz/` look for bytes for which it does not; the
//! tests replay what they found.

use std::sync::LazyLock;

use camino::Utf8Path;
use loa::conform::model;
use loa::conform::{score, spec, suite};
use loa::diag::render::{Checked, Shape, Summary, Tool};
use loa::diag::{Budget, Diagnostic, Document, Format, Node, Place, Value, documents};
use loa::schema::Checker;
use loa::{config, contract, runner};
use serde::de::DeserializeOwned;

/// Small enough that a fuzzer meets every limit.
const BUDGET: Budget = Budget { depth: 16, nodes: 2_000, bytes: 64 << 10, aliases: 16 << 10 };

/// The reader of YAML.
pub(crate) fn yaml(bytes: &[u8]) {
    drop(one(bytes, Format::Yaml));
}

/// The reader of JSON, which takes what `serde_json` takes and nothing else.
pub(crate) fn json(bytes: &[u8]) {
    let ours = one(bytes, Format::Json);
    let theirs = serde_json::from_slice::<serde_json::Value>(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
    match (ours, theirs) {
        (Ok(_), Ok(_)) | (Err(_), Err(_)) => {}
        (Ok(_), Err(error)) => panic!("read by us and refused by serde_json: {error}"),
        (Err(finding), Ok(_)) => {
            let stricter = ["budget", "duplicate-key", "control-character", "encoding"];
            assert!(stricter.contains(&finding.code), "refused by us and read by serde_json: {finding:#?}");
        }
    }
}

/// The reader of JSON lines.
pub(crate) fn json_lines(bytes: &[u8]) {
    for read in documents(bytes, Format::JsonLines, &BUDGET) {
        check_read(bytes, &read);
    }
}

/// Whether a document reads into the type of its kind.
pub(crate) fn read_as(kind: &str, value: &serde_json::Value) -> Result<(), serde_json::Error> {
    fn typed<T: DeserializeOwned>(value: &serde_json::Value) -> Result<(), serde_json::Error> {
        serde_json::from_value::<T>(value.clone()).map(drop)
    }
    match kind {
        "checkpoint" => typed::<contract::Checkpoint>(value),
        "escalation-report" => typed::<contract::EscalationReport>(value),
        "context-state" => typed::<contract::ContextState>(value),
        "operator-type" => typed::<contract::OperatorRecord>(value),
        "execution-state" => typed::<contract::ExecutionState>(value),
        "phase-result" => typed::<contract::PhaseResult>(value),
        "signal" => typed::<contract::Signal>(value),
        "memory" => typed::<contract::MemoryDocument>(value),
        "trajectory" => typed::<contract::TrajectoryLine>(value),
        "messages" => typed::<contract::Message>(value),
        "config" => typed::<config::ConfigDocument>(value),
        "plan" => typed::<runner::PlanDocument>(value),
        "resolution" => typed::<runner::ResolutionDocument>(value),
        "agent-event" => typed::<loa::events::AgentActivity>(value),
        "runtime-manifest" => typed::<spec::Manifest>(value),
        "adapter-ask" => typed::<spec::AdapterAsk>(value),
        "adapter-answer" => typed::<spec::AdapterAnswer>(value),
        "contract-case" => typed::<spec::Case>(value),
        "agent-manifest" => typed::<spec::AgentManifest>(value),
        "agent-case" => typed::<spec::AgentCase>(value),
        "contract-claims" => typed::<spec::Claims>(value),
        "contract-ledger" => typed::<Vec<spec::Clause>>(value),
        "contract-defects" => typed::<suite::Defects>(value),
        "baseline" => typed::<score::Baseline>(value),
        "conformance-report" => typed::<score::ConformanceReport>(value),
        "model-script" => typed::<model::Script>(value),
        unknown => panic!("the type of {unknown} is not told here"),
    }
}

/// The check of a document of each kind, which the first line names, its type, and every format of what was found.
pub(crate) fn kinds(bytes: &[u8]) {
    static CHECKERS: LazyLock<Vec<Checker>> = LazyLock::new(|| loa::cli::kinds().iter().map(Checker::new).collect());
    let line = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (name, bytes) = (&bytes[..line], bytes.get(line + 1..).unwrap_or_default());
    let named = CHECKERS.iter().find(|checker| checker.kind().name().as_bytes() == name);
    let any = || &CHECKERS[name.iter().map(|byte| usize::from(*byte)).sum::<usize>() % CHECKERS.len()];
    let checker = named.unwrap_or_else(any);
    for name in ["a.yaml", ".loa-checkpoint/design.yaml", "a.json", "a.jsonl"] {
        let findings = checker.check(bytes, Utf8Path::new(name), &BUDGET);
        assert!(findings.len() <= Checker::MOST_FINDINGS + 1);
        let again = checker.check(bytes, Utf8Path::new(name), &BUDGET);
        assert_eq!(findings, again, "the same bytes, the same findings");
        for finding in &findings {
            check_finding(bytes, finding);
        }
        render(bytes, &findings);
        if findings.is_empty() {
            check_typed(checker, bytes, Utf8Path::new(name));
        }
    }
}

/// What a kind finds nothing wrong with, its type reads.
fn check_typed(checker: &Checker, bytes: &[u8], path: &Utf8Path) {
    for document in documents(bytes, checker.kind().format_of(path), &BUDGET) {
        let json = document.expect("nothing was found").to_json();
        if let Err(error) = read_as(checker.kind().name(), &json) {
            panic!("{error}: {json}");
        }
    }
}

fn one(bytes: &[u8], format: Format) -> Result<Document, Box<Diagnostic>> {
    let read = Document::read(bytes, format, &BUDGET);
    check_read(bytes, &read);
    read
}

fn check_read(bytes: &[u8], read: &Result<Document, Box<Diagnostic>>) {
    match read {
        Ok(document) => {
            let json = document.to_json();
            let (mut nodes, mut pointer) = (0, String::new());
            walk(bytes, document, document.root(), &mut pointer, &mut nodes, 0);
            assert!(nodes <= BUDGET.nodes, "{nodes} values");
            assert_eq!(serde_json::to_value(&json).expect("JSON"), json);
        }
        Err(finding) => {
            check_finding(bytes, finding);
            render(bytes, std::slice::from_ref(&**finding));
        }
    }
}

/// Every value lies in the text, within the limits, and is found by its pointer.
fn walk(bytes: &[u8], document: &Document, node: &Node, pointer: &mut String, nodes: &mut u64, depth: u64) {
    *nodes += 1;
    assert!(depth <= BUDGET.depth, "{depth} levels");
    assert!(node.span.start <= node.span.end, "{:?}", node.span);
    check_place(bytes, node.span.end);
    let found = document.node_at(pointer).unwrap_or_else(|| panic!("nothing at {pointer:?}"));
    assert!(std::ptr::eq(found, node), "something else at {pointer:?}");
    let length = pointer.len();
    match &node.value {
        Value::Seq(items) => {
            for (index, item) in items.iter().enumerate() {
                pointer.extend(["/", &index.to_string()]);
                walk(bytes, document, item, pointer, nodes, depth + 1);
                pointer.truncate(length);
            }
        }
        Value::Map(entries) => {
            for entry in entries {
                let first = node.get(&entry.key).expect("its own key");
                assert!(std::ptr::eq(first, &raw const entry.value), "a key twice");
                pointer.push('/');
                pointer.push_str(&entry.key.replace('~', "~0").replace('/', "~1"));
                walk(bytes, document, &entry.value, pointer, nodes, depth + 1);
                pointer.truncate(length);
            }
        }
        _ => {}
    }
}

fn check_finding(bytes: &[u8], finding: &Diagnostic) {
    assert!(!finding.code.is_empty() && !finding.message.is_empty() && !finding.message.ends_with('.'));
    for span in finding.span.into_iter().chain(finding.related.iter().map(|related| related.span)) {
        assert!(span.start <= span.end, "{finding:#?}");
        check_place(bytes, span.start);
    }
    let named = finding.message.contains("the budget `");
    assert_eq!(named, finding.code == "budget", "{finding:#?}");
}

/// A place is one of the text, or just after it.
fn check_place(bytes: &[u8], place: Place) {
    let lines = 1 + bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count();
    assert!(place.line >= 1 && place.column >= 1, "{place}");
    assert!(place.line as usize <= lines + 1, "{place} of {lines} lines");
    assert!(place.column as usize <= bytes.len() + 2, "{place} of {} bytes", bytes.len());
}

/// No format fails, and none lets through what acts on a terminal.
fn render(bytes: &[u8], findings: &[Diagnostic]) {
    let tool = Tool { name: "loa-validate", version: "0", url: "https://example.org", rule: |_| None };
    let checked = Checked { file: "a.yaml", kind: "checkpoint", because: Some("of its path"), bytes, findings };
    for shape in Shape::ALL {
        let mut renderer = shape.renderer(tool);
        let mut summary = Summary::default();
        summary.add(&checked);
        let text = renderer.file(&checked) + &renderer.end(&summary);
        let commands = text.lines().filter(|line| line.starts_with("::")).count();
        match shape {
            Shape::Full => {}
            Shape::Github => assert_eq!(commands, findings.len(), "{text}"),
            Shape::Concise => assert_eq!(text.lines().count(), findings.len(), "{text}"),
            _ => assert_eq!(commands, 0, "{text}"),
        }
        assert!(shape == Shape::Full || !text.contains('\u{1b}'), "{shape:?}: {text}");
    }
}
