//! What was measured, kept: bundles, baselines, reports beside each other, and the same again under other seeds.

use std::fs;
use std::process::Command;

use assert_cmd::assert::OutputAssertExt;
use assert_cmd::cargo::CommandCargoExt;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use super::{GOOD, IDLE, conform, score, suite};

#[test]
fn a_bundle_is_verified_offline_and_a_changed_one_is_refused() {
    let suite = suite(&[GOOD, IDLE]);
    let bundle = suite.path().join("bundle");
    let place = bundle.to_str().expect("UTF-8");
    score(&suite, &["--bundle", place]).assert().code(0).stdout(contains("loa-conform verify"));
    score(&suite, &["--bundle", place]).assert().code(64).stderr(contains("is not empty"));
    let verify = |more: &[&str]| {
        let mut command = conform(&["verify", place]);
        command.args(more);
        command.assert()
    };
    let trusted = suite.path().to_str().expect("UTF-8");
    let said = verify(&["--suite", trusted]).code(0);
    said.stdout(contains("2 verdicts and 8 cells computed again from 2 observations")).stdout(contains("can invent"));
    verify(&[]).code(1).stdout(contains("judged by another suite than the trusted one"));
    let exhibit = bundle.join("evidence/idle/x-001-a-1.json");
    let text = fs::read_to_string(bundle.join("evidence/loop/x-001-a-1.json")).expect("an observation");
    fs::write(&exhibit, text).expect("written");
    let refused = verify(&["--suite", trusted, "--json"]).code(1);
    refused.stdout(contains("other-evidence")).stdout(contains("\"exit_code\": 1"));
    fs::remove_file(bundle.join("report.json")).expect("removed");
    verify(&["--suite", trusted]).code(1).stderr(contains("report.json"));
    conform(&["verify", "/nowhere"]).assert().code(66).stderr(contains("is no bundle"));
}

/// Whoever writes a bundle writes no command into the log of the workflow that verifies it, and no line of ours.
#[test]
fn what_stands_in_a_bundle_forges_nothing_in_what_is_said_of_it() {
    let suite = suite(&[GOOD]);
    let bundle = suite.path().join("bundle");
    let place = bundle.to_str().expect("UTF-8");
    score(&suite, &["--bundle", place]).assert().code(0);
    let edit = |name: &str, change: &dyn Fn(&mut serde_json::Value)| {
        let mut document = serde_json::from_slice(&fs::read(bundle.join(name)).expect("there")).expect("JSON");
        change(&mut document);
        fs::write(bundle.join(name), document.to_string()).expect("written");
    };
    let forged = "x\n::error::FORGED\r::add-mask::FORGED\u{1b}]52;c;eA==\u{7}\u{202e} ##[error]FORGED\nverdict: FORGED";
    edit("contents.json", &|it| it["files"][forged] = "0".into());
    edit("report.json", &|it| {
        it["judge"] = forged.into();
        it["runtimes"][0]["version"] = forged.into();
        it["runtimes"][0]["problem"] = forged.into();
    });
    let told = conform(&["verify", place, "--suite", suite.path().to_str().expect("UTF-8")])
        .env("GITHUB_ACTIONS", "true")
        .assert()
        .code(1);
    let told = String::from_utf8(told.get_output().stdout.clone()).expect("UTF-8");
    assert!(told.contains("FORGED"), "{told}");
    for line in told.split(['\n', '\r']) {
        let begins = ["::", "verdict: FORGED"].iter().any(|begin| line.trim_start().starts_with(begin));
        assert!(!begins && !line.contains("##[") && !line.contains(['\u{1b}', '\u{202e}']), "{line:?} in {told}");
    }
}

/// A runtime says its version itself.
#[test]
fn what_a_runtime_says_of_itself_is_no_tag_no_row_and_no_line_of_a_report() {
    let forged =
        "1 <script>alert(1)</script> | x | [Full 13/13](http://evil.example) \\\\033]52;c;eA==\\\\007 ##[error]x";
    let manifest = GOOD.1.replace("echo 1", &format!("\"printf '{forged}'\""));
    let suite = suite(&[(GOOD.0, &manifest)]);
    let scored = score(&suite, &["loop", "--format", "summary"]).assert().code(0);
    let printed = String::from_utf8_lossy(&scored.get_output().stdout).into_owned();
    let read = |name: &str| fs::read_to_string(suite.path().join(name)).unwrap_or_default();
    let (page, report, summary) = (read("out/report.html"), read("out/report.md"), read("out/summary.md"));
    assert!(!summary.is_empty(), "it is written");
    assert!(printed.contains("alert(1)") && report.contains("alert(1)"), "{printed}{report}");
    for (name, text) in [("page", &page), ("report", &report), ("summary", &summary), ("terminal", &printed)] {
        assert!(name == "terminal" || !text.contains("<script>alert"), "{name}: {text}");
        assert!(!text.contains('\u{1b}') && !text.contains("]52;") && !text.contains("##["), "{name}: {text}");
    }
    assert!(!report.contains(" [Full 13/13](") && !report.contains("</script> | x"), "{report}");
}

#[test]
fn a_known_red_no_longer_fails_and_an_entry_that_no_longer_fits_does() {
    let suite = suite(&[GOOD, IDLE]);
    let file = suite.path().join("baseline.yaml");
    let place = file.to_str().expect("UTF-8");
    score(&suite, &["idle"]).assert().code(1);
    let report = suite.path().join("out/report.json");
    let report = report.to_str().expect("UTF-8");
    let write = |more: &[&str]| conform(&[&["baseline", report, "--issue", "#12"], more].concat()).assert();
    write(&[]).code(0).stdout(contains("reason: nothing-started"));
    write(&["--write", place]).code(0).stdout(contains("1 known reds"));
    write(&["--write", place]).code(0).stdout(contains("1 known reds"));
    write(&["--expires", "2020-01-01"]).code(64).stderr(contains("that day is over"));
    let mut validate = Command::cargo_bin("loa-validate").expect("it is built");
    validate.args(["baseline", place]).assert().code(0);
    let known = score(&suite, &["idle", "--baseline", place]).assert().code(0);
    known.stdout(contains("1 expected-fail").and(contains("1 failed")).and(contains("this is no conformance")));
    let stale = score(&suite, &["loop", "--baseline", place]).assert().code(1);
    stale.stderr(contains("baseline-unmatched").and(contains("baseline.yaml:3")));
    let renamed = fs::read_to_string(&file).expect("a baseline").replace("idle", "loop");
    fs::write(&file, &renamed).expect("written");
    score(&suite, &["loop", "--baseline", place]).assert().code(1).stderr(contains("baseline-stale"));
    fs::write(&file, renamed.replace("issue", "tissue")).expect("written");
    score(&suite, &["loop", "--baseline", place]).assert().code(78).stderr(contains("the baseline is not valid"));
    score(&suite, &["loop", "--baseline", "/nowhere"]).assert().code(66).stderr(contains("loa-conform baseline"));
}

#[test]
fn reports_are_compared_joined_and_held_against_older_ones() {
    let suite = suite(&[GOOD, IDLE]);
    let lay = |name: &str, text: &str| fs::write(suite.path().join(name), text).expect("written");
    let path = |name: &str| suite.path().join(name).to_str().expect("UTF-8").to_owned();
    let report = || fs::read_to_string(suite.path().join("out/report.json")).expect("a report");
    score(&suite, &["idle"]).assert().code(1);
    lay("idle.json", &report());
    score(&suite, &["loop"]).assert().code(0);
    lay("loop.json", &report());
    // The same program under the other's name: one clause goes down.
    lay("worse.json", &fs::read_to_string(path("idle.json")).expect("there").replace("\"idle\"", "\"loop\""));
    let (idle, good, worse) = (path("idle.json"), path("loop.json"), path("worse.json"));
    conform(&["diff", &good, &good]).assert().code(0).stdout(contains("1 clauses compared, 0 differ"));
    conform(&["diff", &good, &worse]).assert().code(1).stdout(contains("down    loop X-001: pass -> fail"));
    conform(&["diff", &worse, &good, "--json"]).assert().code(1).stdout(contains("\"direction\": \"up\""));
    conform(&["diff", &good, &idle]).assert().code(3).stdout(contains("only in the newer: idle"));
    score(&suite, &["loop", "--against", &good]).assert().code(0);
    score(&suite, &["loop", "--against", &worse]).assert().code(0);
    score(&suite, &["loop", "--against", &idle]).assert().code(3).stderr(contains("nothing can be compared"));
    lay("better.json", &fs::read_to_string(&good).expect("there").replace("\"loop\"", "\"idle\""));
    let down = score(&suite, &["idle", "--against", &path("better.json")]).assert().code(1);
    down.stderr(contains("idle X-001 went down: pass -> fail"));
    let both = path("both");
    conform(&["merge", &idle, &good, "--out", &both]).assert().code(0).stdout(contains("2 rows"));
    conform(&["diff", &both, &good]).assert().code(66);
    conform(&["diff", &format!("{both}/report.json"), &good]).assert().code(1).stdout(contains("only in the older"));
    conform(&["merge", &idle, &idle]).assert().code(1).stderr(contains("stands in more than one"));
    lay("other.json", &fs::read_to_string(&idle).expect("there").replace("\"a contract\"", "\"another\""));
    conform(&["merge", &good, &path("other.json")]).assert().code(1).stderr(contains("edition: `a contract` and"));
    conform(&["merge", &good]).assert().code(64);
}

#[test]
fn stability_names_what_wavers() {
    let counted = "{runtime: wavers, version: ['true'], \
         run: [sh, -c, 'echo x >> \"$0/count\"; [ $(wc -l < \"$0/count\") -gt 2 ] || exec sh \"$0/../loop/loop.sh\" \"$1\"; exit 1', \
         '{dir}', '{plan}'], writes: ['{dir}']}";
    let suite = suite(&[GOOD, ("wavers", counted)]);
    let place = suite.path().to_str().expect("UTF-8");
    let stability = |arguments: &[&str]| {
        let mut command = conform(&["stability"]);
        command.args(arguments).args(["--suite", place, "--seed", "3"]).assert()
    };
    stability(&["2", "loop"]).code(0).stdout(contains("1 cases, 2 times: 2 pass\n0 wavered"));
    let manifest = suite.path().join("runtimes/wavers/manifest.yaml");
    let found = stability(&["3", manifest.to_str().expect("UTF-8"), "--json"]).code(1);
    found.stdout(contains("\"wavering\": [\n    {\n      \"runtime\": \"wavers\"").and(contains("\"pass\"")));
    stability(&["0", "loop"]).code(64);
    stability(&["1", "gone"]).code(66);
}

#[test]
fn a_bundle_of_the_first_format_is_still_verified() {
    let bundle = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/formats/1/bundle");
    let trusted = format!("{bundle}/suite");
    conform(&["verify", bundle, "--suite", &trusted]).assert().code(0).stdout(contains("1 verdicts and 4 cells"));
}
