//! Runtimes behind an adapter: one that works earns what the runtime earns without it, and one that does not is blamed itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::assert::OutputAssertExt;
use loa::conform::judge::{Evidence, Outcome, judge};
use loa::conform::observe::{MarkKind, Observation, ProcessEnd, RigOptions, observe};
use loa::conform::score::{CaseReport, RuntimeReport, SurveyOptions, survey};
use loa::conform::spec::{ADAPTER_ANSWER, ADAPTER_ASK, Case, Manifest, ProfileName, Reason, RuntimeProfile};
use loa::conform::suite::{Candidate, Files, Selection, Suite};
use loa::diag::Budget;
use loa::schema::Checker;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::{Value, json};

use crate::conform::conform;

fn fixtures(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    path.to_str().expect("UTF-8").to_owned()
}

fn options() -> RigOptions {
    RigOptions::new(7, PathBuf::from(env!("CARGO_BIN_EXE_loa-conform")))
}

/// The bundled `sh`, bare or with every verb but its `version` behind the bundled adapter.
fn candidate(name: &str, adapter: bool) -> Candidate {
    let dir = PathBuf::from(fixtures("runtimes/sh"));
    let mut candidate = Candidate::<RuntimeProfile>::open(&dir.join("manifest.yaml")).expect("a manifest");
    let manifest = &mut candidate.manifest;
    name.clone_into(&mut manifest.runtime);
    if adapter {
        for verb in [&mut manifest.run, &mut manifest.resume, &mut manifest.resolve, &mut manifest.state] {
            *verb = None;
        }
        manifest.halt = None;
        let words = ["python3", &fixtures("adapters/command.py"), "sh", "{dir}/runtime.sh"];
        manifest.adapter = Some(words.map(str::to_owned).to_vec());
    }
    candidate
}

/// What these cases and those that they need say about each, by case.
fn outcomes(candidates: &[Candidate], only: &str) -> Vec<BTreeMap<String, Said>> {
    let suite =
        Suite::<RuntimeProfile>::load(Files::bundled(ProfileName::Runtime)).unwrap_or_else(|_| panic!("a suite"));
    let selection = Selection { only: Some(only.to_owned()), ..Selection::default() };
    let wish = SurveyOptions { selection, jobs: 2, timing_jobs: 2, ..SurveyOptions::default() };
    let reports = survey(&suite, candidates, &options(), &wish, &|_| {});
    let problems: Vec<_> = reports.iter().filter_map(|report| report.problem.as_ref()).collect();
    assert!(problems.is_empty(), "{problems:?}");
    let of = |report: &RuntimeReport| report.cases().map(|(_, case)| (case.id.clone(), said(case))).collect();
    reports.iter().map(of).collect()
}

/// How it came out, why, and how each step ended.
type Said = (Outcome, Vec<Reason>, Vec<String>);

fn said(case: &CaseReport) -> Said {
    let steps = case.timeline.iter().filter(|mark| mark.kind == MarkKind::Step).map(|mark| mark.label.clone());
    (case.outcome, case.checks.iter().map(|check| check.reason).collect(), steps.collect())
}

/// Two kills in one run, one at a checkpoint, a halt, every resolution and one that is none, a state, a report, a clean halt.
#[test]
fn a_runtime_behind_an_adapter_earns_what_it_earns_without() {
    let candidates = [candidate("bare", false), candidate("behind", true)];
    let mut green = 0;
    for only in ["ckpt-033", "ckpt-034", "ckpt-031", "esc-006", "esc-021", "esc-022"] {
        let [bare, behind] = &outcomes(&candidates, only)[..] else { panic!("two rows") };
        assert_eq!(bare, behind, "{only}");
        green += bare.iter().filter(|(id, (outcome, ..))| id.starts_with(only) && outcome.is_green()).count();
    }
    assert_eq!(green, 18);
}

/// A runtime that is driven by an adapter in Python; what follows `PRELUDE` is the adapter's own.
struct Behind {
    place: tempfile::TempDir,
    manifest: Value,
    budget: Duration,
}

/// `plan(ask)` are the commands of the plan; `end(ask, code)` ends an ask; every ask is kept in `asks.jsonl`.
const PRELUDE: &str = r#"
import json, os, signal, subprocess, sys, time
def plan(ask): return [phase["command"] for phase in json.load(open(ask["plan"]))["phases"]]
def put(text): print(text, flush=True)
def end(ask, code): put(json.dumps({"answer": ask["ask"], "type": "exit", "code": code}))
def phases(ask, many=8): return [subprocess.call(it, cwd=ask["workspace"], env=ask["env"], stdout=sys.stderr) for it in plan(ask)[:many]]
def asks():
    for line in sys.stdin:
        open(os.path.dirname(sys.argv[0]) + "/asks.jsonl", "a").write(line)
        yield json.loads(line)
"#;

impl Behind {
    fn new(adapter: &str) -> Self {
        let place = tempfile::tempdir().expect("a folder");
        std::fs::write(place.path().join("adapter.py"), format!("{PRELUDE}{adapter}")).expect("written");
        let manifest = json!({
            "runtime": "behind", "version": ["true"], "adapter": ["python3", "{dir}/adapter.py"], "poll_ms": 20,
            "writes": ["{dir}"],
        });
        Self { place, manifest, budget: Duration::from_secs(20) }
    }

    fn with(mut self, key: &str, value: Value) -> Self {
        self.manifest[key] = value;
        self
    }

    fn budget(mut self, millis: u64) -> Self {
        self.budget = Duration::from_millis(millis);
        self
    }

    fn manifest(&self) -> Manifest {
        serde_json::from_value(self.manifest.clone()).expect("a manifest")
    }

    fn see(&self, case: &Case) -> Observation {
        let options = RigOptions { budget: self.budget, ..options() };
        let seen = observe(case, &self.manifest(), self.place.path(), &options);
        assert_eq!(seen.rig_error, None);
        seen
    }

    /// What is observed, and what a case that asks for next to nothing says of it.
    fn run(&self, phases: &Value, steps: &Value) -> (Observation, Outcome, Reason) {
        let case = case(phases, steps);
        let seen = self.see(&case);
        let clause = serde_json::from_value(json!({
            "id": "X", "column": "exit-codes", "level": "MUST", "source": ["table"], "sections": ["S"], "text": "t",
            "how": "h",
        }));
        let (clause, manifest) = (clause.expect("a clause"), self.manifest());
        let evidence = Evidence { case: &case, clause: &clause, manifest: &manifest, seen: &seen, control: None };
        let checks = judge(&evidence);
        let worst = checks.iter().max_by_key(|check| !check.outcome.is_green()).expect("a check");
        let (outcome, reason) = (worst.outcome, worst.reason);
        (seen, outcome, reason)
    }

    /// The adapter is blamed in these words, nothing passes, and nothing of it is left.
    fn blamed(&self, phases: &Value, steps: &Value, words: &[&str]) -> Observation {
        let begun = std::time::Instant::now();
        let (seen, outcome, reason) = self.run(phases, steps);
        assert_eq!((outcome, reason), (Outcome::CouldNotRun, Reason::AdapterFailed), "{:?}", ends(&seen));
        let faults: Vec<&String> = seen
            .steps
            .iter()
            .filter_map(|step| match &step.end {
                ProcessEnd::AdapterFailed(why) => Some(why),
                _ => None,
            })
            .collect();
        for word in words {
            assert!(faults[0].contains(word), "{word}: {faults:?}");
        }
        assert!(faults[0].contains("expected") && faults[0].len() < 600, "{faults:?}");
        assert!(begun.elapsed() < Duration::from_secs(30), "it hung for {:?}", begun.elapsed());
        assert!(!self.is_at_work(), "an adapter is left");
        seen
    }

    /// Whether a process that was started from our folder is there.
    fn is_at_work(&self) -> bool {
        let place = self.place.path().to_string_lossy().into_owned();
        let pids = std::fs::read_dir("/proc").expect("Linux").flatten();
        let lines = pids.filter_map(|pid| std::fs::read_to_string(pid.path().join("cmdline")).ok());
        lines.into_iter().any(|line| line.contains(&place))
    }

    /// What it was asked, in order.
    fn asked(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.place.path().join("asks.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

fn case(phases: &Value, steps: &Value) -> Case {
    let case = json!({
        "id": "x", "clause": "X", "title": "t", "phases": phases, "steps": steps,
        "expect": [{ "starts": { "phase": "preflight", "count": 1 } }],
    });
    serde_json::from_value(case).expect("a case")
}

fn ends(seen: &Observation) -> Vec<&ProcessEnd> {
    seen.steps.iter().map(|step| &step.end).collect()
}

fn run() -> Value {
    json!([{ "run": {} }])
}

/// An adapter that does everything right.
const GOOD: &str = r#"
for ask in asks():
    if ask["verb"] == "state":
        put(json.dumps({"answer": ask["ask"], "type": "state", "state": {"current_phase": "design"}}))
    elif ask["verb"] == "resolve":
        end(ask, 0 if ask["action"] == "abort" else 1)
    else:
        print("to the side", file=sys.stderr, flush=True)
        put(json.dumps({"answer": ask["ask"], "type": "said", "text": "one\ntwo"}))
        end(ask, max(phases(ask)))
"#;

#[test]
fn what_is_asked_and_answered_is_seen_as_with_commands() {
    let behind = Behind::new(GOOD).with("env", json!({ "MINE": "{workspace}" }));
    let steps =
        json!([{ "run": {} }, "state", { "resolve": "abort" }, { "resolve": "perish" }, "fresh", { "run": {} }]);
    let (seen, outcome, _) = behind.run(&json!({ "design": [[{ "exit": 3 }], [{ "exit": 0 }]] }), &steps);
    assert_eq!(outcome, Outcome::Fail, "preflight was started twice");
    let exits = [Some(3), Some(0), Some(0), Some(1), None, Some(0)];
    let found = ends(&seen).into_iter().map(|end| match end {
        ProcessEnd::Exited(code) => Some(*code),
        _ => None,
    });
    assert_eq!(found.collect::<Vec<_>>(), exits);
    let text = |step: usize, stream: &str| -> Vec<&str> {
        let lines = seen.steps[step].output.iter().filter(|line| line.stream == stream);
        lines.map(|line| line.text.as_str()).collect()
    };
    assert_eq!((text(0, "stdout"), text(0, "stderr")), (vec!["one", "two"], vec!["to the side"]));
    assert_eq!(text(1, "stdout"), [r#"{"current_phase":"design"}"#]);
    assert!(seen.orphans.is_empty() && !behind.is_at_work());
    let asked = behind.asked();
    let verbs: Vec<_> = asked.iter().map(|ask| (ask["ask"].as_u64(), ask["verb"].as_str())).collect();
    let expected = ["run", "state", "resolve", "resolve", "run"];
    assert_eq!(
        verbs,
        expected.iter().enumerate().map(|(n, verb)| (Some(n as u64 + 1), Some(*verb))).collect::<Vec<_>>()
    );
    assert_eq!(asked[4]["workspace"], asked[4]["env"]["MINE"], "one adapter, and a second workspace");
    assert!(asked[4]["workspace"].as_str().expect("a path").ends_with("workspace-1"));
    let env: Vec<&str> = asked[0]["env"].as_object().expect("a map").keys().map(String::as_str).collect();
    assert_eq!(env, ["HOME", "LANG", "LOA_OPERATOR", "MINE", "PATH", "TMPDIR"]);
    let checker = Checker::new(&ADAPTER_ASK);
    let lines = std::fs::read(behind.place.path().join("asks.jsonl")).expect("asks");
    assert_eq!(checker.check(&lines, "asks.jsonl".into(), &Budget::default()), []);
}

#[test]
fn a_command_goes_before_the_adapter() {
    let behind = Behind::new(GOOD).with("state", json!(["echo", "{}"]));
    let (seen, ..) = behind.run(&json!({}), &json!([{ "run": {} }, "state"]));
    assert_eq!(seen.steps[1].argv, ["echo", "{}"]);
    assert_eq!(behind.asked().len(), 1);
    let manifest: Manifest = serde_json::from_value(json!({ "runtime": "x", "version": ["true"] })).expect("plain");
    let none = loa::conform::observe::identify(&manifest, Path::new("/"), Path::new("/judge"));
    assert!(none.problem.expect("one").raw().contains("neither `run` nor `adapter`"));
}

#[test]
fn what_an_adapter_does_not_support_is_not_observed() {
    let adapter = r#"
for ask in asks():
    if ask["verb"] == "run":
        end(ask, max(phases(ask)))
    else:
        put(json.dumps({"answer": ask["ask"], "type": "unsupported", "why": "no"}))
"#;
    let (seen, outcome, reason) = Behind::new(adapter).run(&json!({}), &json!([{ "run": {} }, "state"]));
    assert_eq!((outcome, reason), (Outcome::NotObserved, Reason::NoVerb), "{:?}", ends(&seen));
    let adapter = r#"put('{"answer":1,"type":"unsupported","why":"never"}') if next(asks()) else 0; sys.stdin.read()"#;
    Behind::new(adapter).blamed(&json!({}), &run(), &["does not support `run`: never"]);
}

/// Adapters that break off in the middle of a run, after every phase was started and ended with 0.
#[test]
fn a_wrong_line_is_the_adapters_fault_however_well_the_phases_went() {
    for (line, words) in [
        ("Done, all is well.", vec!["`Done, all is well.`", "one JSON object"]),
        (r#"{"answer":1,"type":"exit","code":0,"mood":"good"}"#, vec!["no key `mood`"]),
        (r#"{"answer":7,"type":"exit","code":0}"#, vec!["there was no ask 7", "an answer to 1 (`run`)"]),
        (r#"{"answer":1,"type":"state","state":{}}"#, vec!["a state answers `state` alone"]),
        (r#"{"answer":1,"type":"exit","code":"0"}"#, vec!["`code` has the wrong type"]),
    ] {
        let adapter = format!("ask = next(asks()); phases(ask); put('{line}'); sys.stdin.read()");
        Behind::new(&adapter).blamed(&json!({}), &run(), &words);
    }
}

#[test]
fn an_ask_is_ended_once_even_when_nobody_asks_again() {
    let adapter = "ask = next(asks()); phases(ask); end(ask, 0); sys.stdin.read(); end(ask, 0)";
    Behind::new(adapter).blamed(&json!({}), &run(), &["ask 1 is over", "no ask is open"]);
    let adapter = "all = asks(); ask = next(all); phases(ask); end(ask, 0); end(ask, 0); [end(ask, 0) for ask in all]";
    Behind::new(adapter).blamed(&json!({}), &json!([{ "run": {} }, { "resume": {} }]), &["ask 1 is over"]);
}

#[test]
fn an_adapter_that_goes_away_is_told_by_how_it_went() {
    for (end, words) in [
        ("sys.exit(3)", vec!["the adapter ended (exit 3)", "an answer to 1 (`run`)"]),
        ("os.kill(os.getpid(), 9)", vec!["the adapter ended (killed by SIGKILL)"]),
        ("sys.stdout.close(); os.close(1); time.sleep(60)", vec!["the adapter closed its standard output"]),
        ("sys.stdout.write('{\"answer\":1'); sys.exit(0)", vec!["exit 0", "its end never came"]),
    ] {
        Behind::new(&format!("ask = next(asks()); phases(ask); {end}")).blamed(&json!({}), &run(), &words);
    }
    let missing = Behind::new("").with("adapter", json!(["{dir}/none"]));
    missing.blamed(&json!({}), &run(), &["could not be started", "No such file"]);
}

#[test]
fn silence_until_the_budget_is_the_adapters_and_a_phase_that_hangs_is_the_runtimes() {
    let silent = Behind::new("time.sleep(60)").budget(400);
    silent.blamed(&json!({}), &run(), &["did not say a word to `run` for 0.4 s"]);
    let deaf = Behind::new("ask = next(asks()); phases(ask); end(ask, 0); time.sleep(60)").budget(3000);
    deaf.blamed(&json!({}), &json!([{ "run": {} }, "state"]), &["did not say a word to `state`"]);
    let (seen, outcome, _) = Behind::new(GOOD).budget(3000).run(&json!({ "design": [["hang"]] }), &run());
    assert_eq!(
        (ends(&seen), outcome),
        (vec![&ProcessEnd::OutOfBudget], Outcome::Pass),
        "`starts` is all that is asked"
    );
}

#[test]
fn a_runtime_that_waits_for_its_human_is_ended_with_its_adapter_and_another_one_is_asked() {
    let adapter = r#"
for ask in asks():
    if ask["verb"] == "run":
        phases(ask, 2)
        open(ask["workspace"] + "/report.yaml", "w").write("trigger: manual\n")
        time.sleep(60)
    end(ask, 0)
"#;
    let waiting = Behind::new(adapter).with("waits", json!(true));
    let (seen, ..) = waiting.run(&json!({}), &json!([{ "run": {} }, { "resolve": "abort" }]));
    assert_eq!(ends(&seen), [&ProcessEnd::Waiting, &ProcessEnd::Exited(0)]);
    assert_eq!(waiting.asked()[1]["ask"], 1, "the first of another adapter");
}

#[test]
fn a_flood_costs_no_more_than_the_longest_line_or_the_budget() {
    let endless = "next(asks())\nwhile True: sys.stdout.write('x' * 65536)";
    Behind::new(endless).blamed(&json!({}), &run(), &["longer than 1024 KiB", "bytes"]);
    let chatty = "next(asks())\nwhile True: put('{\"answer\":1,\"type\":\"said\",\"text\":\"word\"}')";
    let (seen, outcome, _) = Behind::new(chatty).budget(3000).run(&json!({}), &run());
    assert_eq!((ends(&seen), outcome), (vec![&ProcessEnd::OutOfBudget], Outcome::Fail));
    let kept: usize = seen.steps[0].output.iter().map(|line| line.text.len()).sum();
    assert!(kept < 2 << 20, "{kept} bytes were kept");
}

/// Runs design alone and obeys `kill`; what `{kill}` stands for is how.
fn killed(how: &str) -> Behind {
    let adapter = r#"
all = asks()
run = next(all)
phase = subprocess.Popen(plan(run)[0], cwd=run["workspace"], env=run["env"], stdout=sys.stderr)
kill = next(all)
HOW
for ask in all:
    end(ask, 0)
"#;
    Behind::new(&adapter.replace("HOW", how)).budget(3000)
}

const KILLED: &str = r#"put(json.dumps({"answer": run["ask"], "type": "signal", "name": "KILL"}))"#;

#[test]
fn a_kill_is_asked_for_and_what_is_below_is_ended_by_the_judge() {
    let phases = json!({ "preflight": [["hang"]] });
    let steps = json!([{ "run": { "kill_during": "preflight" } }, { "resume": {} }]);
    let obedient = killed(&format!("end(kill, 0); {KILLED}"));
    let (seen, ..) = obedient.run(&phases, &steps);
    assert_eq!(ends(&seen), [&ProcessEnd::KilledAsPlanned, &ProcessEnd::Exited(0)]);
    assert!(seen.attempts[0].ended.expect("the judge ended it") <= seen.steps[1].started);
    let asked = obedient.asked();
    assert_eq!((asked[1]["verb"].as_str(), asked[1].get("action")), (Some("kill"), None));
    for (how, words) in [
        ("end(kill, 1)", vec!["ended `kill` with 1"]),
        ("end(kill, 0)", vec!["did not end `run`", "killed the runtime"]),
        ("time.sleep(60)", vec!["did not answer `kill`"]),
    ] {
        killed(how).blamed(&phases, &steps, &words);
    }
    let unable =
        r#"put(json.dumps({"answer": kill["ask"], "type": "unsupported", "why": "a thread cannot be killed"}))"#;
    let (seen, outcome, reason) = killed(unable).run(&phases, &steps);
    assert_eq!((outcome, reason), (Outcome::NotObserved, Reason::NoVerb), "{:?}", ends(&seen));
}

#[test]
fn a_halt_is_asked_for_while_a_run_is_open() {
    let phases = json!({ "preflight": [["hang"]] });
    let steps = json!([{ "run": { "halt_during": "preflight" } }]);
    let (seen, ..) = killed("phase.kill(); end(kill, 0); end(run, 2)").run(&phases, &steps);
    assert_eq!(ends(&seen), [&ProcessEnd::Exited(2)]);
    killed("end(run, 2)\ntime.sleep(60)").blamed(&phases, &steps, &["did not say a word to `halt`"]);
    killed("put('Halting.')\ntime.sleep(60)").blamed(&phases, &steps, &["`Halting.`"]);
}

#[test]
fn the_adapter_is_no_leftover_and_what_it_leaves_is_one() {
    let helpful = "helper = subprocess.Popen(['sleep', '50'])\n\
                   for ask in asks(): end(ask, max(phases(ask)))\nhelper.kill()";
    let (seen, outcome, _) = Behind::new(helpful).run(&json!({}), &run());
    assert_eq!((outcome, seen.orphans.len()), (Outcome::Pass, 0), "{:?}", seen.orphans);
    let (seen, ..) = Behind::new(&helpful.replace("\nhelper.kill()", "")).run(&json!({}), &run());
    let left: Vec<&str> = seen.orphans.iter().map(|orphan| orphan.command.as_str()).collect();
    assert_eq!(left, ["sleep 50"]);
    let stubborn = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
                    for ask in asks(): end(ask, max(phases(ask)))\ntime.sleep(60)";
    let stubborn = Behind::new(stubborn);
    let (seen, outcome, _) = stubborn.run(&json!({}), &run());
    assert!(outcome == Outcome::Pass && seen.orphans.is_empty() && !stubborn.is_at_work());
}

#[test]
fn the_doctor_blames_the_adapter_and_the_reproducer_says_why_it_cannot() {
    let place = tempfile::tempdir().expect("a folder");
    let path = |name: &str| place.path().join(name).to_str().expect("UTF-8").to_owned();
    let write = |name: &str, text: &str| std::fs::write(path(name), text).expect("written");
    let manifest =
        |adapter: &str| format!("{{runtime: behind, version: ['true'], adapter: {adapter}, writes: ['{{dir}}']}}");
    write("good.yaml", &manifest("[python3, '{dir}/good.py']"));
    write("good.py", &format!("{PRELUDE}{GOOD}"));
    write("chatty.yaml", &manifest("[sh, -c, 'echo Hello.; exec cat >/dev/null']"));
    write("neither.yaml", "{runtime: behind, version: ['true']}");
    let doctor = |name: &str| conform(&["doctor", &path(name)]).assert();
    let said = doctor("chatty.yaml").code(1);
    said.stdout(contains("fault adapter: `run`: the adapter wrote `Hello.`").and(contains("adapter-answer")));
    doctor("neither.yaml").code(78).stderr(contains("nothing says how the runtime is started"));
    // It writes no checkpoints and never retries, and that is the runtime's affair.
    let said = String::from_utf8(doctor("good.yaml").get_output().stdout.clone()).expect("UTF-8");
    assert!(said.contains("all eight were started") && !said.contains("adapter: `run`"), "{said}");
    let case = "exit-009-blocked-is-not-retried";
    let repro = conform(&["repro", case, &path("good.yaml"), "--seed", "7"]).assert().code(78);
    repro.stderr(contains("`run` of behind is asked of its adapter").and(contains(format!("--only {case} --seed 7"))));
}

#[test]
fn the_example_of_the_page_is_a_conversation_of_these_kinds() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("contract-tests/PLUGGING-IN.md");
    let page = std::fs::read_to_string(page).expect("the page");
    for (arrow, kind) in [("→ ", ADAPTER_ASK), ("← ", ADAPTER_ANSWER)] {
        let lines: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix(arrow)).collect();
        assert!(lines.len() >= 4, "{arrow}{lines:?}");
        let found = Checker::new(&kind).check(lines.join("\n").as_bytes(), "page.jsonl".into(), &Budget::default());
        assert_eq!(found, [], "{arrow}");
    }
}
