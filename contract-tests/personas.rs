//! Bad company: runtimes that crash, hang, lie, flood and waver, each scored as a user would score it. None may earn what it
//! does not deserve, cost more than its own budget, or leave anything behind.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::conform::{GOOD, score, suite};

const LEDGER: &str = "
- {id: X-002, column: checkpoints, level: MUST, source: [table], sections: [S], text: A phase leaves a checkpoint., how: h,
   lines: [b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9]}
";
const CASE: &str = "
id: x-002-a
clause: X-002
title: Every phase leaves a checkpoint
needs: [X-001]
steps: [{run: {}}]
expect:
  - checkpoint: {phase: all, fields: {/phase: {type: string}}}
";
/// A loop over the plan that leaves checkpoints; what a persona does otherwise is filled in.
const LOOP: &str = r#"sed 's/"id"/\n"id"/g' "$1" | sed -n 's/.*"command": *\[ *"\([^"]*\)".*/\1/p' >list
BEFORE
for id in preflight discovery design implementation audit submit deploy learning; do
    read -r phase
    START
    mkdir -p .loa-checkpoint
    EACH
done <list
AFTER
"#;
const START: &str = r#""$phase" </dev/null || exit 1"#;
const EACH: &str = "echo \"phase: $id\" >.loa-checkpoint/$id.yaml";

/// What a persona does otherwise than a good runtime.
#[derive(Default)]
struct Persona {
    before: &'static str,
    start: Option<&'static str>,
    each: Option<&'static str>,
    after: &'static str,
}

impl Persona {
    /// A suite in which it is the runtime `loop`, with these keys in its manifest.
    fn laid(&self, more: &str) -> TempDir {
        let manifest = format!("{{runtime: loop, version: ['true'], run: [sh, '{{dir}}/loop.sh', '{{plan}}']{more}}}");
        let suite = suite(&[(GOOD.0, &manifest)]);
        let script = LOOP
            .replace("BEFORE", self.before)
            .replace("START", self.start.unwrap_or(START))
            .replace("EACH", self.each.unwrap_or(EACH))
            .replace("AFTER", self.after);
        for (path, text) in [
            ("runtimes/loop/loop.sh", script.as_str()),
            ("ledger/y.yaml", LEDGER),
            ("cases/x-002-a.yaml", CASE),
            ("claims.yaml", "{edition: a contract, claims: [], checklist: []}"),
        ] {
            fs::write(suite.path().join(path), text).expect("written");
        }
        suite
    }
}

/// The exit code, the words of the cells, and the reasons of what is not green.
fn scored(suite: &TempDir, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = score(suite, &[&["loop", "--json"], arguments].concat()).output().expect("it runs");
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let runtime = &report["runtimes"][0];
    let word = |column: &str| runtime["cells"][column]["word"].as_str().unwrap_or("-").to_owned();
    let cases = runtime["clauses"].as_array().expect("clauses").iter().filter_map(|it| it["cases"].as_array());
    let told = cases.flatten().filter(|case| case["outcome"] != "pass").map(|case| {
        let checks = case["checks"].as_array().expect("checks").iter().filter(|check| check["outcome"] != "pass");
        let reasons: Vec<&str> = checks.filter_map(|check| check["reason"].as_str()).collect();
        format!(
            "{} {}: {}",
            case["id"].as_str().unwrap_or("?"),
            case["outcome"].as_str().unwrap_or("?"),
            reasons.join(" ")
        )
    });
    let told: Vec<String> = told.collect();
    (output.status.code(), format!("{} {}", word("exit-codes"), word("checkpoints")), told.join("; "))
}

/// Whether a process with this last word is there.
pub(crate) fn is_there(word: &str) -> bool {
    Command::new("pgrep")
        .args(["-f", &format!("^(sleep|yes) {word}$")])
        .output()
        .is_ok_and(|found| found.status.success())
}

#[test]
fn nobody_earns_what_he_does_not_deserve() {
    let plain = Persona::default;
    for (name, persona, code, words, told) in [
        ("honest", plain(), 0, "Full Full", ""),
        ("slow", Persona { before: "sleep 0.3", ..plain() }, 0, "Full Full", ""),
        ("loud", Persona { before: "yes flood | head -c 600000 >&2", ..plain() }, 0, "Full Full", ""),
        (
            "crashes",
            Persona { each: Some("[ $id != design ] || kill -SEGV $$"), ..plain() },
            1,
            "None None",
            "x-001-a fail: order-differs ended-by-signal; x-002-a could-not-run: needs-red",
        ),
        (
            "ends by a signal",
            Persona { after: "kill -TERM $$", ..plain() },
            1,
            "None None",
            "x-001-a fail: ended-by-signal; x-002-a could-not-run: needs-red",
        ),
        (
            "lies",
            Persona { start: Some("echo \"$id: completed with exit code 0\""), ..plain() },
            1,
            "None None",
            "x-001-a fail: nothing-started; x-002-a could-not-run: needs-red",
        ),
        (
            "writes half a file",
            Persona { each: Some("printf 'phase: \"half' >.loa-checkpoint/$id.yaml"), ..plain() },
            1,
            "Full None",
            "x-002-a fail: unreadable",
        ),
        (
            "writes to the wrong place",
            Persona { each: Some("echo \"phase: $id\" >$id.yaml"), ..plain() },
            1,
            "Full None",
            "x-002-a fail: no-checkpoint",
        ),
        (
            "wavers",
            Persona {
                before: "echo x >>\"$0.count\"",
                each: Some("[ $id != design ] || [ $(wc -l <\"$0.count\") -gt 1 ] || exit 1"),
                ..plain()
            },
            1,
            "None None",
            "x-001-a flaky",
        ),
    ] {
        // Without a place that outlives its case, none could waver.
        let suite = persona.laid(", writes: ['{dir}']");
        let (found_code, found_words, found) = scored(&suite, &["--jobs", "1"]);
        assert_eq!((found_code, found_words.as_str()), (Some(code), words), "{name}: {found}");
        assert!(found == told || (!told.is_empty() && found.starts_with(told)), "{name}: {found}");
    }
}

#[test]
fn who_hangs_costs_his_budget_and_leaves_nothing() {
    for (name, persona, word) in [
        ("hangs", Persona { after: "sleep 86017", ..Persona::default() }, "86017"),
        ("ignores TERM", Persona { before: "trap '' TERM", after: "sleep 86018", ..Persona::default() }, "86018"),
        ("floods for ever", Persona { after: "yes 86020 >&2", ..Persona::default() }, "86020"),
        ("forks a daemon", Persona { before: "setsid sleep 86019 >/dev/null 2>&1 &", ..Persona::default() }, "86019"),
    ] {
        let begun = Instant::now();
        let hangs = name != "forks a daemon";
        let (code, _, found) =
            scored(&persona.laid(if hangs { ", budget_seconds: 2" } else { "" }), &["--only", "X-001"]);
        assert_eq!(code, Some(i32::from(hangs)), "{name}: {found}");
        assert_eq!(found.contains("did-not-end"), hangs, "{name}: {found}");
        // Twice its budget, because a red is done once more, and what ending it may take; far below what it asks for.
        assert!(begun.elapsed() < Duration::from_mins(1), "{name}");
        assert!(!is_there(word), "{name}: it is still there");
    }
}

#[test]
fn claims_are_held_against_what_was_measured_in_both_directions() {
    let other = Persona { each: Some("true"), ..Persona::default() };
    for (persona, claims, code) in [
        (Persona::default(), "exit-codes: Full, checkpoints: Full", 0),
        (Persona::default(), "exit-codes: Full, checkpoints: Partial", 5),
        (Persona::default(), "exit-codes: None", 5),
        // A red is worse than a claim that is wrong.
        (other, "checkpoints: Full", 1),
    ] {
        let (found, _, told) = scored(&persona.laid(&format!(", claims: {{{claims}}}")), &["--strict-claims"]);
        assert_eq!(found, Some(code), "{claims}: {told}");
    }
}
