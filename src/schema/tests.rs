//! What the check finds, and where. The documents of `fixtures/documents/` say more, one wrong thing each.

use camino::Utf8Path;

use super::*;
use crate::contract::{Checkpoint, Phase};
use crate::diag::{Budget, Diagnostic};

fn check(kind: &Kind, path: &str, text: &str) -> Vec<Diagnostic> {
    Checker::new(kind).check(text.as_bytes(), Utf8Path::new(path), &Budget::default())
}

/// `code line:column pointer` of every finding.
fn brief(kind: &Kind, text: &str) -> Vec<String> {
    let brief = |finding: &Diagnostic| {
        let place = finding.span.map_or("-".to_owned(), |span| span.start.to_string());
        format!("{} {place} {}", finding.code, finding.pointer.as_deref().unwrap_or("-"))
    };
    check(kind, "a.yaml", text).iter().map(brief).collect()
}

const GOOD: &str = "\
execution_id: \"e-1\"
phase: design
created_at: \"2026-11-20T09:30:00Z\"
exit_code: 0
summary: no
";

#[test]
fn several_findings_come_in_the_order_of_the_file() {
    assert_eq!(brief(&CHECKPOINT, GOOD), [""; 0]);
    let bad = "execution_id: 5\nphase: desing\ncreated_at: yesterday\nexit_cod: 0\nmetrics: {}\n";
    assert_eq!(
        brief(&CHECKPOINT, bad),
        [
            "required 1:1 /exit_code",
            "required 1:1 /summary",
            "type 1:15 /execution_id",
            "enum 2:8 /phase",
            "format 3:13 /created_at",
            "required 5:1 /metrics/duration_ms",
        ]
    );
}

#[test]
fn expected_found_and_help_are_in_plain_words() {
    let phases = "`preflight`, `discovery`, `design`, `implementation`, `audit`, `submit`, `deploy` or `learning`";
    for (from, to, expected, found, help) in [
        ("exit_code: 0", "exit_code: \"0\"", "0, 1 or 2", "the text \"0\"", Some("remove the quotes")),
        ("exit_code: 0", "exit_code: 3", "0, 1 or 2", "the number 3", None),
        ("exit_code: 0", "exit_code:", "0, 1 or 2", "nothing (null)", Some("give it a value")),
        ("exit_code: 0", "exit_cod: 0", "`exit_code`: 0, 1 or 2", "no such key", Some("did you mean `exit_code`?")),
        ("phase: design", "phase: desing", phases, "the text \"desing\"", Some("did you mean `design`?")),
        ("phase: design", "phase: quality", phases, "the text \"quality\"", Some("`audit`")),
        ("\"e-1\"", "20260131", "a text that is not empty", "the number 20260131", Some("put it in quotes")),
        ("\"e-1\"", "\"\"", "a text that is not empty", "the text \"\"", None),
        ("summary: no", "summary: {a: 1}", "a text", "a mapping of 1 key", None),
        ("summary: no", "summary: x\nartifacts: 1", "a list", "the number 1", None),
        ("summary: no", "summary: x\nmetrics: {duration_ms: -1}", "a whole number, 0 or more", "the number -1", None),
        ("T09:30:00Z", " 09:30:00Z", "a timestamp such as", "the text \"2026-11-20 09:30:00Z\"", Some("RFC 3339")),
    ] {
        let text = GOOD.replace(from, to);
        let findings = check(&CHECKPOINT, "a.yaml", &text);
        let [finding] = findings.as_slice() else { panic!("one thing is wrong in\n{text}\nnot {findings:#?}") };
        assert!(finding.expected.as_deref().is_some_and(|text| text.starts_with(expected)), "{finding:#?}");
        assert_eq!(finding.found.as_deref(), Some(found));
        match help {
            Some(help) => assert!(finding.help.as_deref().is_some_and(|text| text.contains(help)), "{finding:#?}"),
            None => assert_eq!(finding.help, None),
        }
    }
}

#[test]
fn unknown_keys_are_tolerated_in_the_contracts_documents_and_refused_in_ours() {
    assert_eq!(brief(&CHECKPOINT, &format!("{GOOD}remediation_loop: 1\n")), [""; 0]);
    let findings = check(&PHASE_RESULT, "a.yaml", "sumary: done\n");
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!((findings[0].code, findings[0].help.as_deref()), ("unknown-key", Some("did you mean `summary`?")));
}

#[test]
fn a_slip_in_a_key_that_must_be_there_is_one_finding_where_the_slip_is_refused_anyway() {
    #[derive(schemars::JsonSchema)]
    #[schemars(title = "Note")]
    #[serde(deny_unknown_fields)]
    /// A note.
    #[expect(dead_code, reason = "only its schema is used")]
    struct Note {
        /// What it says.
        text: String,
        /// What else it says.
        texts: String,
    }
    const NOTE: Kind = Kind::of::<Note>("note", || vec![serde_json::json!({"text": "", "texts": ""})]);
    assert_eq!(brief(&NOTE, "txt: a\ntexts: b\n"), ["unknown-key 1:1 /txt"]);
    // The one slip explains one of the two that are missing, and the other is still said.
    assert_eq!(brief(&NOTE, "text_: a\n"), ["unknown-key 1:1 /text_", "required 1:1 /texts"]);
    assert_eq!(brief(&NOTE, "note: a\ntexts: b\n"), ["unknown-key 1:1 /note", "required 1:1 /text"]);
    // An open format has no word to say about the slip itself.
    assert_eq!(brief(&CHECKPOINT, &GOOD.replace("summary", "sumary")), ["required 1:1 /summary"]);
}

#[test]
fn what_may_be_of_several_types_is_said_with_all_of_them() {
    #[derive(schemars::JsonSchema)]
    #[schemars(title = "Note", extend("properties" = {"run": {"type": ["array", "string"], "minItems": 1}}))]
    /// A note.
    struct Note {}
    const NOTE: Kind = Kind::of::<Note>("note", || vec![serde_json::json!({"run": "make"})]);
    let findings = check(&NOTE, "a.yaml", "run: 7\n");
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(findings[0].expected.as_deref(), Some("a list that is not empty, or a text"));
    assert_eq!(findings[0].help.as_deref(), Some("put it in quotes"));
}

#[test]
fn a_signal_is_explained_by_the_type_that_it_names() {
    for (line, expected) in [
        ("{\"type\": \"USAGE\", \"context_tokens\": 5}", &[][..]),
        ("{\"type\": \"USAGE\", \"context_tokens\": \"5\"}", &["type 1:37 /context_tokens"]),
        ("{\"type\": \"COMPACTION\", \"level\": \"soft\"}", &["enum 1:33 /level"]),
        ("{\"type\": \"USED\", \"context_tokens\": 5}", &["enum 1:10 /type"]),
        ("{\"context_tokens\": 5}", &["required 1:1 /type"]),
        ("[]", &["type 1:1 "]),
    ] {
        assert_eq!(brief(&SIGNAL, line), expected, "{line}");
    }
}

#[test]
fn a_checkpoint_is_named_after_its_phase_where_a_runtime_looks_for_it() {
    let stem = |path: &str| check(&CHECKPOINT, path, GOOD).iter().map(|finding| finding.code).collect::<Vec<_>>();
    assert_eq!(stem("w/.loa-checkpoint/design.yaml"), [""; 0]);
    assert_eq!(stem("w/.loa-checkpoint/phase-design.yaml"), ["phase-prefix"]);
    assert_eq!(stem(".loa-checkpoint/audit.yaml"), ["stem-equals-phase"]);
    assert_eq!(stem("elsewhere/audit.yaml"), [""; 0]);
}

#[test]
fn what_passes_is_read_into_its_type() {
    let read = |text: &str| -> Result<Checkpoint, Vec<Diagnostic>> {
        Checker::new(&CHECKPOINT).read(text.as_bytes(), Utf8Path::new("a.yaml"), &Budget::default())
    };
    assert_eq!(read(GOOD).expect("valid").phase, Phase::Design);
    // A whole number may be written with a fraction of zero; JSON Schema counts it as whole, and so does the type.
    assert!(read(&GOOD.replace("exit_code: 0", "exit_code: 0.0")).is_ok());
    assert_eq!(read("- a list\n").expect_err("a list")[0].code, "type");
    assert_eq!(read("").expect_err("empty")[0].code, "empty");
}
