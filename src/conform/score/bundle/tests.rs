//! A bundle that agrees with itself, and every way in which somebody might have helped it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::contents::{CONTENTS, Contents, REPORT};
use super::*;
use crate::conform::judge::Outcome;
use crate::conform::observe::{Identity, Observation};
use crate::conform::score::{ConformanceReport, Rig, SurveyOptions, Watched, survey};
use crate::conform::spec::{Case, RuntimeProfile, draw};
use crate::conform::suite::{Candidate, Suite};
use crate::conform::suite::{Files, sha256};

const LEDGER: &str = "
- {id: X-001, column: exit-codes, level: MUST, source: [table], sections: [S], text: t, how: h}
- {id: X-002, column: exit-codes, level: MUST, source: [table], sections: [S], text: t, how: h}
- {id: X-003, column: exit-codes, level: MUST, source: [table], sections: [S], text: t, how: h}
";
const CASE: &str = "cases/x-002-a.yaml";
const SEEN: &str = "evidence/it/x-002-a-1.json";

fn files() -> Files {
    let case = |id: &str, draws: &str| {
        let (clause, file) = (id[..5].to_uppercase(), Utf8PathBuf::from(format!("cases/{id}.yaml")));
        let text = format!(
            "{{id: {id}, clause: {clause}, title: t, draw: {draws}, files: {{f: $n}}, steps: [{{run: {{}}}}], \
             expect: [{{ends: {{code: 0}}}}]}}"
        );
        (file, text.into_bytes())
    };
    let manifest = b"{runtime: it, version: [it], run: [it]}".to_vec();
    let all = [
        (Utf8PathBuf::from("ledger/x.yaml"), LEDGER.as_bytes().to_vec()),
        (Utf8PathBuf::from("claims.yaml"), b"{edition: first, claims: [], checklist: []}".to_vec()),
        (Utf8PathBuf::from("runtimes/it/manifest.yaml"), manifest),
        case("x-001-a", "{n: {nonce: 8}}"),
        case("x-002-a", "{n: {nonce: 9}}"),
        case("x-003-a", "{n: {nonce: 10}}"),
    ];
    all.into_iter().collect()
}

/// Ends with 0, but with 1 in the second case, and in the third the first time only.
#[derive(Default)]
struct Scripted(Mutex<BTreeMap<String, u32>>);

impl Rig for Scripted {
    fn identify(&self, _: &Candidate) -> Identity {
        Identity::default()
    }

    fn observe(&self, case: &Case, _: &Candidate) -> Observation {
        let attempt = {
            let mut asked = self.0.lock().expect("nobody panics with it");
            *asked.entry(case.id.clone()).and_modify(|count| *count += 1).or_insert(1)
        };
        let red = case.id == "x-002-a" || (case.id == "x-003-a" && attempt == 1);
        let attempt = json!({"phase": "design", "attempt": 1, "step": 0, "workspace": 0, "started": 1, "ended": 2,
            "exit": 0, "signal": null, "cwd": "", "env": {}, "checkpoints": {}});
        let said = json!({"at": 1, "stream": "stdout", "text": "the word is hunter2"});
        let step = json!({"verb": "run", "argv": ["it"], "started": 0, "ended": 3, "end": {"exited": i32::from(red)},
            "output": [said], "workspace": 0, "checkpoints": {}, "reports": [], "laid": {}});
        let drawn = draw(case, 7).expect("it can be drawn");
        let seen = json!({"drawn": drawn, "initial_backoff": null, "steps": [step], "attempts": [attempt],
            "usages": [], "events": [], "orphans": [], "rig_error": null});
        serde_json::from_value(seen).expect("an observation")
    }

    fn stopped(&self) -> bool {
        false
    }
}

/// A bundle on disk, as `score` writes it.
fn written() -> TempDir {
    let suite = Suite::<RuntimeProfile>::load(files()).expect("a valid suite");
    let candidates = [suite.candidate("it", &PathBuf::from("/nowhere")).expect("it is bundled")];
    let place = tempfile::tempdir().expect("a folder");
    let redact = |text: &str| text.replace("hunter2", "[REDACTED]");
    let recorder = Recorder::begin(place.path(), &suite, &candidates, 7, &redact).expect("begun");
    let watch = |candidate: &Candidate, case: &Case, seen: Observation| recorder.take(candidate, case, &seen);
    let options = SurveyOptions { jobs: 2, timing_jobs: 1, ..SurveyOptions::default() };
    let runtimes =
        survey(&suite, &candidates, &Watched { rig: &Scripted::default(), watch: &watch }, &options, &|_| ());
    let judge = env!("CARGO_PKG_VERSION");
    let report = json!({"version": 1, "edition": "first", "judge": judge, "suite": suite.hash, "seed": 7,
        "host": {"os": "o", "arch": "a", "cores": 1}, "date": "2026-11-20T09:30:00Z", "complete": true,
        "ledger": suite.clauses, "claims": [], "checklist": [], "runtimes": runtimes});
    recorder.seal(&report.to_string()).expect("sealed");
    place
}

fn bundle() -> Bundle {
    Bundle::read(written().path()).expect("a bundle")
}

fn report(bundle: &Bundle) -> ConformanceReport {
    serde_json::from_slice(bundle.report().expect("it has one")).expect("a report")
}

fn verified(bundle: &Bundle) -> Verification {
    verify::<RuntimeProfile>(bundle, &report(bundle), &files())
}

/// A file's JSON, changed at these places.
fn edit(bundle: &mut Bundle, file: &str, changes: &[(&str, Value)]) {
    let bytes = bundle.0.get_mut(Utf8Path::new(file)).expect("it is there");
    let mut value: Value = serde_json::from_slice(bytes).expect("JSON");
    for (pointer, new) in changes {
        *value.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = new.clone();
    }
    *bytes = value.to_string().into_bytes();
}

fn replace(bundle: &mut Bundle, file: &str, from: &str, to: &str) {
    let bytes = bundle.0.get_mut(Utf8Path::new(file)).expect("it is there");
    let text = String::from_utf8(bytes.clone()).expect("UTF-8");
    assert!(text.contains(from), "{file}");
    *bytes = text.replace(from, to).into_bytes();
}

/// Writes the list of files anew, as somebody would who knows how.
fn reseal(bundle: &mut Bundle) {
    bundle.0.remove(Utf8Path::new(CONTENTS));
    let files = bundle.0.iter().map(|(path, bytes)| (path.clone(), sha256(bytes))).collect();
    let contents = Contents { files, ..Contents::default() }.written();
    bundle.0.insert(CONTENTS.into(), contents);
}

#[test]
fn what_was_stored_yields_every_verdict_again() {
    let bundle = bundle();
    let outcomes: Vec<_> = report(&bundle).runtimes[0].clauses.iter().map(|clause| clause.outcome).collect();
    assert_eq!(outcomes, [Outcome::Pass, Outcome::Fail, Outcome::Flaky]);
    let again = verified(&bundle);
    assert_eq!(again.discrepancies, []);
    assert_eq!((again.verdicts, again.cells, again.observations), (3, 4, 5), "both tries of what was red are kept");
    let exhibit = String::from_utf8_lossy(&bundle.0[Utf8Path::new(SEEN)]);
    assert!(exhibit.contains("[REDACTED]") && !exhibit.contains("hunter2"), "{exhibit}");
}

#[test]
fn nobody_else_may_read_it_and_a_place_that_is_taken_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let place = written();
    for file in [CONTENTS, REPORT, SEEN] {
        let mode = std::fs::metadata(place.path().join(file)).expect("there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{file}");
    }
    let suite = Suite::<RuntimeProfile>::load(files()).expect("a valid suite");
    let again = Recorder::begin(place.path(), &suite, &[], 7, &|text| text.to_owned());
    assert!(matches!(again.err(), Some(BundleError::NotEmpty(_))));
    let none = tempfile::tempdir().expect("a folder");
    assert!(matches!(Bundle::read(none.path()), Err(BundleError::NoBundle(_))));
}

#[test]
fn two_candidates_of_one_name_and_a_secret_in_a_manifest_are_refused_before_anything_is_run() {
    let suite = Suite::<RuntimeProfile>::load(files()).expect("a valid suite");
    let it = suite.candidate("it", &PathBuf::from("/nowhere")).expect("it is bundled");
    let place = tempfile::tempdir().expect("a folder");
    let begin = |candidates: &[Candidate], redact: &(dyn Fn(&str) -> String + Sync)| {
        Recorder::begin(place.path(), &suite, candidates, 7, redact).err()
    };
    let twice = begin(&[it.clone(), it.clone()], &|text| text.to_owned());
    assert!(matches!(twice, Some(BundleError::Name(..))), "{twice:?}");
    let secret = begin(&[it], &|text| text.replace("version", "?"));
    assert!(matches!(secret, Some(BundleError::Secret(_))), "{secret:?}");
    assert_eq!(std::fs::read_dir(place.path()).expect("a folder").count(), 0, "nothing half-written");
}

/// What somebody does to a bundle, and what must be said: file and flaw.
type Tampering = (&'static str, fn(&mut Bundle), &'static str, Flaw);

const VERDICT: &str = "/runtimes/0/clauses/1/cases/0/outcome";
const CHECK: &str = "/runtimes/0/clauses/1/cases/0/checks/0/outcome";

const TAMPERINGS: &[Tampering] = &[
    ("a verdict", |it| edit(it, REPORT, &[(VERDICT, json!("pass")), (CHECK, json!("pass"))]), REPORT, Flaw::Verdict),
    ("a clause", |it| edit(it, REPORT, &[("/runtimes/0/clauses/1/outcome", json!("pass"))]), REPORT, Flaw::Verdict),
    (
        "what was observed, in the report",
        |it| edit(it, REPORT, &[("/runtimes/0/clauses/1/cases/0/checks/0/observed", json!("it was late"))]),
        REPORT,
        Flaw::Verdict,
    ),
    ("a flaky case", |it| edit(it, REPORT, &[("/runtimes/0/clauses/2/outcome", json!("pass"))]), REPORT, Flaw::Verdict),
    ("a cell", |it| edit(it, REPORT, &[("/runtimes/0/cells/exit-codes/word", json!("Full"))]), REPORT, Flaw::Cell),
    (
        "an observation",
        |it| {
            for attempt in ["1", "2"] {
                let file = format!("evidence/it/x-002-a-{attempt}.json");
                edit(it, &file, &[("/seen/steps/0/end/exited", json!(0))]);
            }
        },
        REPORT,
        Flaw::Verdict,
    ),
    (
        "a case's text",
        |it| replace(it, &format!("suite/{CASE}"), "code: 0", "code: 1"),
        "suite/cases/x-002-a.yaml",
        Flaw::OtherSuite,
    ),
    ("the ledger", |it| replace(it, "suite/ledger/x.yaml", "MUST", "SHOULD"), "suite/ledger/x.yaml", Flaw::OtherSuite),
    (
        "a manifest",
        |it| replace(it, "manifests/it.yaml", "run: [it]", "run: [that]"),
        "manifests/it.yaml",
        Flaw::OtherManifest,
    ),
    (
        "a manifest's name",
        |it| replace(it, "manifests/it.yaml", "runtime: it", "runtime: that"),
        "manifests/it.yaml",
        Flaw::OtherManifest,
    ),
    ("the seed", |it| edit(it, REPORT, &[("/seed", json!(8))]), SEEN, Flaw::OtherSeed),
    (
        "the seed, everywhere",
        |it| {
            edit(it, REPORT, &[("/seed", json!(8))]);
            let exhibits: Vec<String> = it.below("evidence").map(|(path, _)| format!("evidence/{path}")).collect();
            for file in &exhibits {
                edit(it, file, &[("/seed", json!(8))]);
            }
        },
        SEEN,
        Flaw::OtherDraws,
    ),
    ("the edition", |it| edit(it, REPORT, &[("/edition", json!("second"))]), REPORT, Flaw::OtherEdition),
    ("the report's ledger", |it| edit(it, REPORT, &[("/ledger/1/level", json!("MAY"))]), REPORT, Flaw::OtherEdition),
    ("the suite's hash", |it| edit(it, REPORT, &[("/suite", json!("0000"))]), REPORT, Flaw::OtherSuite),
    ("a missing observation", |it| drop(it.0.remove(Utf8Path::new(SEEN))), SEEN, Flaw::NoEvidence),
    (
        "a missing second observation",
        |it| drop(it.0.remove(Utf8Path::new("evidence/it/x-003-a-2.json"))),
        "evidence/it/x-003-a-2.json",
        Flaw::NoEvidence,
    ),
    (
        "a missing manifest",
        |it| drop(it.0.remove(Utf8Path::new("manifests/it.yaml"))),
        "manifests/it.yaml",
        Flaw::MissingFile,
    ),
    (
        "a missing case",
        |it| drop(it.0.remove(&Utf8Path::new("suite").join(CASE))),
        "suite/cases/x-002-a.yaml",
        Flaw::OtherSuite,
    ),
    (
        "an observation too many",
        |it| {
            let copy = it.0[Utf8Path::new(SEEN)].clone();
            it.0.insert("evidence/it/x-002-a-3.json".into(), copy);
            edit(it, "evidence/it/x-002-a-3.json", &[("/attempt", json!(3))]);
        },
        "evidence/it/x-002-a-3.json",
        Flaw::UnusedEvidence,
    ),
    (
        "an observation of something else",
        |it| {
            let other = it.0[Utf8Path::new("evidence/it/x-001-a-1.json")].clone();
            it.0.insert(SEEN.into(), other);
        },
        SEEN,
        Flaw::OtherEvidence,
    ),
    (
        "a row that was left out",
        |it| edit(it, REPORT, &[("/runtimes", json!([]))]),
        "manifests/it.yaml",
        Flaw::OtherManifest,
    ),
    (
        "a clause's column",
        |it| edit(it, REPORT, &[("/runtimes/0/clauses/1/column", json!("escalation"))]),
        REPORT,
        Flaw::Report,
    ),
    ("a format of tomorrow", |it| edit(it, SEEN, &[("/version", json!(2))]), SEEN, Flaw::Unreadable),
    ("no JSON", |it| replace(it, SEEN, "{", "["), SEEN, Flaw::Unreadable),
];

#[test]
fn whoever_tampers_is_refused_for_the_named_reason_even_with_a_new_list_of_files() {
    let whole = bundle();
    for (what, tamper, file, flaw) in TAMPERINGS {
        let mut bundle = whole.clone();
        tamper(&mut bundle);
        reseal(&mut bundle);
        let found = verified(&bundle).discrepancies;
        let named = found.iter().any(|it| it.file == *file && it.flaw == *flaw);
        assert!(named, "{what}: {found:#?}");
    }
}

#[test]
fn the_list_of_files_tells_what_was_changed_taken_or_added() {
    let whole = bundle();
    let tamperings: &[Tampering] = &[
        ("a changed file", |it| replace(it, REPORT, "\"host\"", " \"host\""), REPORT, Flaw::ChangedFile),
        (
            "a missing file",
            |it| drop(it.0.remove(Utf8Path::new("suite/claims.yaml"))),
            "suite/claims.yaml",
            Flaw::MissingFile,
        ),
        ("an extra file", |it| drop(it.0.insert("notes.txt".into(), Vec::new())), "notes.txt", Flaw::ExtraFile),
        ("no list", |it| drop(it.0.insert(CONTENTS.into(), b"[]".to_vec())), CONTENTS, Flaw::Unreadable),
        ("a list of tomorrow", |it| edit(it, CONTENTS, &[("/version", json!(2))]), CONTENTS, Flaw::Unreadable),
    ];
    for (what, tamper, file, flaw) in tamperings {
        let mut bundle = whole.clone();
        tamper(&mut bundle);
        let found = verified(&bundle).discrepancies;
        let named = found.iter().any(|it| it.file == *file && it.flaw == *flaw);
        assert!(named, "{what}: {found:#?}");
    }
}

#[test]
fn a_red_is_named_with_clause_case_and_both_verdicts() {
    let mut bundle = bundle();
    edit(&mut bundle, REPORT, &[(VERDICT, json!("pass")), (CHECK, json!("pass"))]);
    reseal(&mut bundle);
    let found = verified(&bundle).discrepancies;
    let said = found[0].to_string();
    assert!(said.starts_with("report.json, it, X-002, x-002-a: the verdict is not what was observed"), "{said}");
    assert!(said.contains("stated:     pass") && said.contains("recomputed: fail"), "{said}");
}

#[test]
fn a_report_of_an_interrupted_judge_is_not_computed_again() {
    let mut bundle = bundle();
    edit(&mut bundle, REPORT, &[("/complete", json!(false))]);
    reseal(&mut bundle);
    let again = verified(&bundle);
    assert!(again.interrupted && again.verdicts == 0);
}
