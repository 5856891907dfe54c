//! `loa-conform` as a program, on small suites of its own: exit codes, reports, interruption.

mod authors;
mod stored;
mod stories;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::assert::OutputAssertExt;
use assert_cmd::cargo::CommandCargoExt;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use tempfile::TempDir;

use crate::personas::is_there;

const LEDGER: &str = "
- {id: X-001, column: exit-codes, level: MUST, source: [table], sections: [S], text: All phases run., how: h,
   lines: [b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9]}
";
pub(crate) const CASE: &str = "
id: x-001-a
clause: X-001
title: Every phase is started
steps: [{run: {}}]
expect:
  - order: [preflight, discovery, design, implementation, audit, submit, deploy, learning]
  - ends: {code: 0}
";
const CLAIMS: &str = "
edition: a contract
claims: [{runtime: Loop, measured: loop, cells: {exit-codes: Partial}}]
checklist: [{section: exit-codes, item: run, clauses: [X-001]}]
";
/// Starts every command of the plan; the plan has one absolute path a phase.
const LOOP: &str = "sed 's/\"id\"/\\n\"id\"/g' \"$1\" | sed -n 's/.*\"command\": *\\[ *\"\\([^\"]*\\)\".*/\\1/p' > list\n\
                    while read -r phase || [ -n \"$phase\" ]; do \"$phase\" </dev/null || exit 1; done < list\n";

/// A suite with a runtime `loop` that conforms, `idle` that does nothing, and what a test adds.
pub(crate) fn suite(manifests: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().expect("a folder");
    let lay = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().expect("a file in a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    lay("ledger/x.yaml", LEDGER);
    lay("cases/x-001-a.yaml", CASE);
    lay("claims.yaml", CLAIMS);
    lay("runtimes/loop/loop.sh", LOOP);
    for (name, manifest) in manifests {
        lay(&format!("runtimes/{name}/manifest.yaml"), manifest);
    }
    root
}

pub(crate) const GOOD: (&str, &str) = (
    "loop",
    "{runtime: loop, version: [sh, -c, echo 1], run: [sh, '{dir}/loop.sh', '{plan}'], \
     expect: {exit-codes: Full, checkpoints: None, context-signals: None, escalation: None}}",
);
pub(crate) const IDLE: (&str, &str) = (
    "idle",
    "{runtime: idle, version: ['true'], run: ['true'], \
     expect: {exit-codes: None, checkpoints: None, context-signals: None, escalation: None}}",
);
/// A manifest that does not say what it earns.
pub(crate) fn without_expectation(manifest: &str) -> String {
    let (head, _) = manifest.split_once(", expect:").expect("it expects something");
    format!("{head}}}")
}

pub(crate) const GONE: (&str, &str) = ("gone", "{runtime: gone, version: [no-such-program], run: [no-such-program]}");

pub(crate) fn score(suite: &TempDir, arguments: &[&str]) -> Command {
    let mut command = conform(&["score"]);
    command.args(arguments).arg("--suite").arg(suite.path()).arg("--out").arg(suite.path().join("out"));
    command.args(["--seed", "7"]);
    command
}

pub(crate) fn conform(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("loa-conform").expect("it is built");
    command.args(arguments);
    command
}

#[test]
fn a_survey_that_finds_what_is_known_succeeds_and_writes_its_report() {
    let suite = suite(&[GOOD, IDLE, GONE]);
    let found = score(&suite, &[]).assert().code(0);
    let found = found.stdout(contains("Full 1/1")).stdout(contains("None 0/1")).stdout(contains("could not run"));
    found.stdout(contains("the machine meanwhile: "));
    let report = fs::read_to_string(suite.path().join("out/report.json")).expect("a report");
    assert!(report.contains("\"seed\": 7") && report.contains("\"late_ms\": "), "{report}");
    let mut validate = Command::cargo_bin("loa-validate").expect("it is built");
    validate.arg("conformance-report").arg(suite.path().join("out/report.json")).assert().code(0);
    assert!(fs::read_to_string(suite.path().join("out/report.md")).expect("a report").contains("| loop | Full 1/1 |"));
}

#[test]
fn a_survey_that_finds_something_else_fails_better_or_worse() {
    let better = ("loop", GOOD.1.replace("exit-codes: Full", "exit-codes: None"));
    let suite = suite(&[(better.0, &better.1), IDLE]);
    score(&suite, &[]).assert().code(1).stdout(contains("known to be None and was Full"));
}

#[test]
fn a_survey_of_a_manifest_that_expects_nothing_is_incomplete() {
    let silent = ("loop", GOOD.1.replace("exit-codes: Full, ", ""));
    let suite = suite(&[(silent.0, &silent.1), IDLE]);
    let said = score(&suite, &[]).assert().code(3);
    said.stdout(contains("loop: its manifest does not `expect` a word for exit-codes"));
}

#[test]
fn named_runtimes_are_held_against_the_contract() {
    let suite = suite(&[GOOD, IDLE, GONE]);
    score(&suite, &["loop"]).assert().code(0).stdout(contains("[x] Exit Codes: run"));
    score(&suite, &["idle"])
        .assert()
        .code(1)
        .stdout(contains("nothing-started"))
        .stdout(contains("next: loa-conform score idle"));
    score(&suite, &["gone"]).assert().code(3);
    score(&suite, &["loop", "--strict-claims"]).assert().code(5);
    let path = suite.path().join("runtimes/loop/manifest.yaml");
    score(&suite, &[path.to_str().expect("UTF-8")]).assert().code(0).stdout(contains("conforms to what was asked"));
}

/// A manifest of one's own says what it earns; one that says nothing is held against the contract.
#[test]
fn a_manifest_of_ones_own_is_held_against_what_it_expects_and_else_against_the_contract() {
    let (name, met) = IDLE;
    let suite = suite(&[IDLE]);
    let path = suite.path().join("runtimes").join(name).join("manifest.yaml");
    for (manifest, code, said) in [
        (met.to_owned(), 0, "earned what its manifest expects, which is not all that the contract asks"),
        (met.replace("exit-codes: None", "exit-codes: Partial"), 1, "earned something else than its manifest expects"),
        (met.replace("exit-codes: None, ", ""), 1, "does not conform"),
        (without_expectation(met), 1, "does not conform"),
    ] {
        fs::write(&path, manifest).expect("a file");
        let path = path.to_str().expect("UTF-8");
        let found = score(&suite, &[path]).assert().code(code).stdout(contains(said));
        found.stdout(contains(format!("next: loa-conform score {path}")));
    }
}

#[test]
fn a_missing_program_fails_when_it_is_required() {
    let suite = suite(&[GOOD, GONE]);
    score(&suite, &["--require", "gone"]).assert().code(1);
    score(&suite, &["--require", "loop"]).assert().code(0);
    score(&suite, &["--require", "stranger"]).assert().code(64);
}

#[test]
fn nothing_selected_and_nothing_started_are_incomplete() {
    let suite = suite(&[GONE]);
    score(&suite, &[]).assert().code(3);
    score(&suite, &["--only", "NO-SUCH"]).assert().code(3).stderr(contains("nothing can be said"));
}

#[test]
fn wrong_usage_missing_input_wrong_data_and_a_full_place_have_codes_of_their_own() {
    let good = suite(&[GOOD]);
    conform(&["--no-such-flag"]).assert().code(64);
    conform(&["score", "--suite", "/no/such/suite"]).assert().code(66);
    score(&good, &["no-such-runtime"]).assert().code(66).stderr(contains("bundled are loop"));
    score(&good, &["/no/such/manifest.yaml"]).assert().code(66);
    fs::write(good.path().join("out"), "a file in the folder's place").expect("a file");
    score(&good, &["loop"]).assert().code(74);
    let wrong = suite(&[("loop", "{runtime: loop, version: [x], run: [x], stranger: 1}")]);
    score(&wrong, &["loop"]).assert().code(78).stderr(contains("stranger"));
    conform(&["lint", "--suite"]).arg(wrong.path()).assert().code(78);
}

#[test]
fn a_judge_that_cannot_work_says_that_it_is_the_judge() {
    let suite = suite(&[GOOD]);
    let programs = suite.path().join("bin");
    fs::create_dir(&programs).expect("a folder");
    std::os::unix::fs::symlink("/bin/sh", programs.join("sh")).expect("a link");
    score(&suite, &["loop"]).env("PATH", &programs).assert().code(4).stdout(contains("git"));
}

#[test]
fn the_agent_profile_is_asked_for_by_name() {
    let shown = |arguments: &[&str]| conform(arguments).args(["--profile", "agent"]).assert();
    shown(&["lint"]).code(0).stdout(contains(" agents: 0 errors"));
    shown(&["list"]).code(0).stdout(contains("agent standin")).stdout(contains("case status-001-answered"));
    shown(&["explain", "CONTROL-001"]).code(0).stdout(contains("SIGINT")).stdout(contains("source: profile"));
    conform(&["explain", "CONTROL-001"]).assert().code(66);
    shown(&["score", "nobody"]).code(66).stderr(contains("no bundled agent `nobody`"));
    conform(&["lint", "--profile", "human"]).assert().code(64);
}

/// What a red of an agent says is enough to do it again.
#[test]
fn a_red_of_an_agent_keeps_what_it_takes_to_do_it_by_hand() {
    let place = tempfile::tempdir().expect("a folder");
    let manifest = place.path().join("deaf.yaml");
    let text =
        "{agent: deaf, version: ['true'], run: [sh, -c, 'exit 3', deaf, '{prompt}'], env: {MODEL: '{address}/v1'}}";
    fs::write(&manifest, text).expect("a file");
    let mut command =
        conform(&["score", "--profile", "agent", "--only", "status-001", "--seed", "7", "--keep", "--out"]);
    command.arg(place.path().join("out")).arg(&manifest).env("TMPDIR", place.path());
    let said = command.assert().code(1).stdout(contains("no-request")).stdout(contains("MODEL=$MODEL/v1 sh -c"));
    let said = String::from_utf8(said.get_output().stdout.clone()).expect("UTF-8");
    let kept = said.lines().find_map(|line| line.trim().strip_prefix("kept: ")).expect("a folder is kept");
    let by_hand = fs::read_to_string(Path::new(kept).join("by-hand.sh")).expect("the commands");
    assert!(by_hand.contains("loa-conform model --script") && by_hand.contains("'exit 3' 'deaf' 'Say "), "{by_hand}");
    let mut validate = Command::cargo_bin("loa-validate").expect("it is built");
    validate.arg("model-script").arg(Path::new(kept).join("model.yaml")).assert().code(0);
}

#[test]
fn the_readme_is_written_by_the_program() {
    let suite = suite(&[GOOD]);
    score(&suite, &["loop"]).assert().code(0);
    let readme = suite.path().join("README.md");
    let write_of = |report: &str, arguments: &[&str]| {
        let mut command = conform(&["readme"]);
        command.args(arguments).arg("--readme").arg(&readme).arg("--suite").arg(suite.path());
        command
            .arg("--report")
            .arg(suite.path().join("out").join(report))
            .arg("--agents")
            .arg(suite.path().join("none"))
            .arg("--driven")
            .arg(suite.path().join("driven"));
        command.assert()
    };
    let write = |arguments: &[&str]| write_of("report.json", arguments);
    write(&[]).code(66);
    fs::write(&readme, "# Title\n<!-- loa:claims -->\n<!-- /loa:claims -->\n").expect("a file");
    write(&[]).code(78).stderr(contains("loa:matrix"));
    let blocks =
        "# Title\n<!-- loa:claims -->\nold\n<!-- /loa:claims -->\nmine\n<!-- loa:matrix --><!-- /loa:matrix -->\n";
    fs::write(&readme, blocks).expect("a file");
    let stale = write(&["--check"]).code(1).stdout(contains("-old").and(contains("+| loop | Full 1/1 |")));
    stale.stderr(contains("run `loa-conform readme`"));
    assert_eq!(fs::read_to_string(&readme).expect("a file"), blocks, "a check changes nothing");
    write(&[]).code(0);
    write(&["--check"]).code(0);
    let text = fs::read_to_string(&readme).expect("a file");
    assert!(text.contains("| loop | Full 1/1 |") && text.contains("\nmine\n") && !text.contains("old"), "{text}");

    let report = fs::read_to_string(suite.path().join("out/report.json")).expect("a report");
    let mut other: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    other["runtimes"][0]["runtime"] = "driven-loop".into();
    let lay = |report: &serde_json::Value| {
        fs::create_dir_all(suite.path().join("driven")).expect("a folder");
        fs::write(suite.path().join("driven/one.json"), report.to_string()).expect("a file");
    };
    lay(&other);
    write(&[]).code(0);
    assert!(fs::read_to_string(&readme).expect("a file").contains("| driven-loop | Full 1/1 |"), "a row of its own");
    other["seed"] = (other["seed"].as_u64().expect("a seed") + 1).into();
    lay(&other);
    write(&[]).code(1).stderr(contains("driven-loop: measured under seed"));
    fs::remove_dir_all(suite.path().join("driven")).expect("removed");

    fs::write(suite.path().join("cases/x-001-a.yaml"), CASE.replace("Every", "Each")).expect("a file");
    write(&["--check"]).code(1).stderr(contains("the suite is").and(contains("run `loa-conform score`")));
    score(&suite, &["loop", "--only", "X"]).assert().code(0);
    write_of("part/report.json", &[]).code(1).stderr(contains("no rating"));
    write(&[]).code(1).stderr(contains("the suite is"));
}

#[test]
fn an_interrupted_judge_ends_its_children_and_says_so() {
    let endless =
        ("endless", "{runtime: endless, version: ['true'], run: [sh, '{dir}/endless.sh'], writes: ['{dir}']}");
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let suite = suite(&[endless]);
        let folder = suite.path().join("runtimes/endless");
        let (mark, script) = (folder.join("started"), "echo here > ${0%/*}/started\nexec sleep 60613\n");
        fs::write(folder.join("endless.sh"), script).expect("a file");
        // A manifest of one's own, for a bundled runtime is copied to a place that is not known.
        let manifest = folder.join("manifest.yaml");
        let mut judge = score(&suite, &[manifest.to_str().expect("UTF-8")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        waited(&mark);
        assert!(is_there("60613"), "the control: it can be seen");
        Command::new("kill").args([format!("-{signal}"), judge.id().to_string()]).status().expect("kill is there");
        assert_eq!(judge.wait().expect("it ends").code(), Some(code));
        assert!(!is_there("60613"), "the runtime is still there");
        let report = fs::read_to_string(suite.path().join("out/report.json")).expect("a report");
        assert!(report.contains("\"complete\": false"), "{report}");
    }
}

/// Waits until a file says something.
fn waited(path: &Path) {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(20) {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return,
            _ => std::thread::sleep(Duration::from_millis(10)),
        }
    }
    panic!("{} never came", path.display());
}

/// The loop around a bare agent, with a program in the agent's place that does what the scripted model would have it do.
#[test]
fn a_bare_agent_is_started_once_a_phase_until_one_does_not_end_with_0() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name);
    fs::create_dir(place("bin")).expect("a folder");
    fs::write(place("bin/claude"), "#!/bin/sh\nsh \"$DRIVEN_PHASES/$LOA_PHASE\"\n").expect("a file");
    fs::set_permissions(place("bin/claude"), fs::Permissions::from_mode(0o755)).expect("may be run");
    let run = |phase: &str, script: &str| serde_json::json!({"id": phase, "command": ["sh", "-c", script]});
    let plan = serde_json::json!({"phases": [run("design", "echo 'it''s' > one"), run("audit", "exit 3"), run("submit", "> two")]});
    fs::write(place("plan.json"), plan.to_string()).expect("a file");
    let drive = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/drivers/drive.py");
    let path = format!("{}:{}", place("bin").display(), std::env::var("PATH").expect("a path"));
    let mut command = Command::new("python3");
    command.arg(drive).args(["bare", "claude", "run", "plan.json"]).current_dir(folder.path()).env("PATH", path);
    command.assert().code(3);
    assert!(place("one").exists() && !place("two").exists());
}

#[test]
fn what_was_left_out_is_said_and_is_no_success() {
    let suite = suite(&[GOOD, IDLE]);
    score(&suite, &["loop", "--skip", "no-such-case"]).assert().code(3).stderr(contains("no case matches it"));
    score(&suite, &["loop", "--stories", "100000000"]).assert().code(64).stderr(contains("10000 are the most"));
    score(&suite, &["loop", "--skip", "X-001"]).assert().code(3).stderr(contains("nothing can be said"));
    let found = score(&suite, &["loop", "--level", "must"]).assert().code(0);
    found.stdout(contains("Only clauses down to MUST")).stdout(contains("Partial 1/1"));
    score(&suite, &["loop", "--level", "nearly"]).assert().code(64);
    score(&suite, &["loop", "--level", "must", "--strict-claims"]).assert().code(3);
}

/// A column of which everything was asked is rated, and held against what a manifest of one's own says of it.
#[test]
fn a_column_that_was_asked_for_is_rated() {
    let suite = suite(&[GOOD, IDLE]);
    let own =
        |name: &str| suite.path().join(format!("runtimes/{name}/manifest.yaml")).to_str().expect("UTF-8").to_owned();
    let column = |name: &str| score(&suite, &[&own(name), "--column", "exit-codes"]).assert();
    let found = column("loop").code(0);
    found.stdout(contains("it alone is rated").and(contains("Full 1/1")).and(contains("no rating").not()));
    column("idle").code(0).stdout(contains("None 0/1").and(contains("what its manifest expects")));
    let better = IDLE.1.replace("exit-codes: None", "exit-codes: Full");
    fs::write(own("idle"), better).expect("a file");
    column("idle").code(1).stdout(contains("something else than its manifest expects"));
    let part = score(&suite, &[&own("loop"), "--column", "exit-codes", "--level", "must"]).assert().code(0);
    part.stdout(contains("this is no rating").and(contains("Full 1/1").not()));
}

/// The quick subset is a part like every other: what it did not run is no rating, and it never takes the place of a whole report.
#[test]
fn the_quick_subset_is_a_part_and_says_so() {
    let suite = suite(&[GOOD, IDLE]);
    score(&suite, &["loop", "--quick"]).assert().code(3).stderr(contains("no case was selected"));
    let marked = CASE.replace("clause: X-001", "clause: X-001\nquick: true").replace("x-001-a", "x-001-quick");
    fs::write(suite.path().join("cases/x-001-quick.yaml"), marked).expect("a case");
    score(&suite, &["loop"]).assert().code(0).stdout(contains("Full 1/1"));
    let whole = fs::read(suite.path().join("out/report.json")).expect("the whole report");
    let found = score(&suite, &["loop", "--quick"]).assert().code(0);
    let said = String::from_utf8(found.get_output().stdout.clone()).expect("UTF-8");
    assert!(said.contains("Only the quick subset, and what it presupposes: this is no rating."), "{said}");
    assert!(said.contains("Partial 1/1") && said.contains("1 pass") && !said.contains("Full 1/1"), "{said}");
    assert_eq!(fs::read(suite.path().join("out/report.json")).expect("it is there"), whole);
    assert!(suite.path().join("out/part/report.json").exists());
    score(&suite, &["idle", "--quick"]).assert().code(1);
}

#[test]
fn a_trace_tells_what_happened_step_by_step() {
    let suite = suite(&[GOOD]);
    let said = score(&suite, &["loop", "--trace", "--keep"]).env("TMPDIR", suite.path()).assert().code(0);
    said.stderr(contains("loop/x-001-a t+"))
        .stderr(contains("design, attempt 1: exit 0 ("))
        .stderr(contains("run ended with 0 ("))
        .stderr(contains("kept: "));
}
