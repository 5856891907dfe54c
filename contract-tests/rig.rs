//! The judge's rig, seen through tiny runtimes in portable sh: what each of them does must stand in the observation, as it
//! was and in the order in which it was.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use loa::conform::observe::{Observation, ProcessEnd, RigOptions, observe};
use loa::conform::spec::{Case, Manifest};
use serde_json::{Value, json};

use crate::run::host::not_tested;

/// Every runtime below begins with this: `plan` prints `id command` a line.
const PLAN: &str = r#"plan() { tr '{' '\n' < "$1" | sed -n 's/.*"id":"\([a-z]*\)","command":\["\([^"]*\)"\].*/\1 \2/p'; }
"#;

/// Runs every phase once and stops at the first that fails.
const PLAIN: &str = r#"plan "$1" > "$TMPDIR/plan"
while read -r id command; do "$command" || exit; done < "$TMPDIR/plan"
"#;

struct Rig {
    place: tempfile::TempDir,
    manifest: Value,
    budget: Duration,
    hermetic: bool,
}

impl Rig {
    /// A runtime whose `run` is this script.
    fn new(run: &str) -> Self {
        let place = tempfile::tempdir().expect("a folder");
        let manifest = json!({
            "runtime": "tiny", "version": ["true"], "run": ["sh", "{dir}/run.sh", "{plan}"], "poll_ms": 50,
        });
        let rig = Self { place, manifest, budget: Duration::from_secs(20), hermetic: false };
        rig.script("run.sh", run)
    }

    fn script(self, name: &str, text: &str) -> Self {
        std::fs::write(self.place.path().join(name), format!("{PLAN}{text}")).expect("written");
        self
    }

    fn with(mut self, key: &str, value: Value) -> Self {
        self.manifest[key] = value;
        self
    }

    fn budget(mut self, millis: u64) -> Self {
        self.budget = Duration::from_millis(millis);
        self
    }

    /// Observes a case of these phases and steps.
    fn see(&self, phases: &Value, steps: &Value) -> Observation {
        self.see_case(json!({ "phases": phases, "steps": steps }))
    }

    fn see_case(&self, mut case: Value) -> Observation {
        for (key, value) in [("id", "x"), ("clause", "X"), ("title", "t")] {
            case[key] = json!(value);
        }
        case["expect"] = json!([]);
        let case: Case = serde_json::from_value(case).expect("a case");
        let manifest: Manifest = serde_json::from_value(self.manifest.clone()).expect("a manifest");
        let judge = PathBuf::from(env!("CARGO_BIN_EXE_loa-conform"));
        let options = RigOptions { budget: self.budget, hermetic: self.hermetic, ..RigOptions::new(1, judge) };
        let seen = observe(&case, &manifest, self.place.path(), &options);
        assert_eq!(seen.rig_error, None);
        seen
    }
}

/// One `run`.
fn run() -> Value {
    json!([{ "run": {} }])
}

fn phases(seen: &Observation) -> Vec<&str> {
    seen.attempts.iter().map(|attempt| attempt.phase.as_str()).collect()
}

fn said(seen: &Observation, step: usize) -> Vec<&str> {
    seen.steps[step].output.iter().map(|line| line.text.as_str()).collect()
}

/// A dead process that nobody has awaited is not alive.
fn is_alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_plain_run_is_seen_phase_by_phase() {
    let rig = Rig::new(
        r#"plan "$1" > "$TMPDIR/plan"; mkdir .loa-checkpoint
        while read -r id command; do "$command" || exit; echo "phase: $id" > ".loa-checkpoint/$id.yaml"; done < "$TMPDIR/plan"
        git status --porcelain; echo done >&2"#,
    );
    let seen = rig.see_case(json!({ "files": { "a.txt": "laid" }, "steps": run() }));
    let all = ["preflight", "discovery", "design", "implementation", "audit", "submit", "deploy", "learning"];
    assert_eq!(phases(&seen), all);
    let mut end = 0;
    for (number, attempt) in seen.attempts.iter().enumerate() {
        assert_eq!((attempt.attempt, attempt.exit, attempt.step), (1, Some(0), 0));
        assert!(attempt.started >= end, "{attempt:?}");
        end = attempt.ended.expect("it ended");
        assert!(attempt.cwd.ends_with("workspace-0"));
        let there: Vec<_> = attempt.checkpoints.keys().map(|name| name.trim_end_matches(".yaml")).collect();
        let mut before = all[..number].to_vec();
        before.sort_unstable();
        assert_eq!(there, before);
    }
    let step = &seen.steps[0];
    assert_eq!((step.end.clone(), step.checkpoints.len()), (ProcessEnd::Exited(0), 8));
    assert_eq!(said(&seen, 0), ["?? .loa-checkpoint/", "done"], "a clean repository, with what was laid in it");
    assert_eq!(step.laid["a.txt"].text, "laid");
    assert!(step.laid[".loa.config.yaml"].text.contains("require_human_deploy_approval: false"));
    assert!(step.ended >= end && seen.orphans.is_empty() && step.reports.is_empty());
}

#[test]
fn attempts_are_counted_and_their_ends_told_apart() {
    let rig = Rig::new(
        r#"plan "$1" > "$TMPDIR/plan"
        while read -r id command; do until "$command"; do sleep 0.3; done; done < "$TMPDIR/plan""#,
    );
    let acts = json!({ "design": [[{ "exit": 1 }], [{ "die": "KILL" }], [{ "sleep": 30 }, { "exit": 0 }]] });
    let seen = rig.see(&acts, &run());
    let design: Vec<_> = seen.attempts.iter().filter(|attempt| attempt.phase == "design").collect();
    let ends: Vec<_> = design.iter().map(|it| (it.attempt, it.exit, it.signal.as_deref())).collect();
    assert_eq!(ends, [(1, Some(1), None), (2, None, Some("KILL")), (3, Some(0), None)]);
    assert!(
        design[1].started >= design[0].ended.expect("it ended") + 20,
        "the gap is the runtime's own wait, less what a busy machine notices late"
    );
    assert!(design[2].ended.expect("it ended") >= design[2].started + 30);
    assert_eq!(phases(&seen).len(), 10);
}

#[test]
fn a_runtime_that_dies_by_a_signal_has_no_exit_code() {
    let seen = Rig::new("kill -9 $$").see(&json!({}), &run());
    assert_eq!(seen.steps[0].end, ProcessEnd::Signalled("SIGKILL".to_owned()));
    let seen = Rig::new("exit 137").see(&json!({}), &run());
    assert_eq!(seen.steps[0].end, ProcessEnd::Exited(137));
}

#[test]
fn a_program_that_is_not_there_and_a_verb_that_is_not_offered_are_two_things() {
    let rig = Rig::new("").with("run", json!(["{dir}/none"]));
    let seen =
        rig.see(&json!({}), &json!([{ "run": {} }, { "resume": {} }, "state", { "run": { "halt_during": "design" } }]));
    assert!(matches!(seen.steps[0].end, ProcessEnd::NotStarted(_)));
    assert!(seen.steps[1..].iter().all(|step| step.end == ProcessEnd::NoVerb));
}

#[test]
fn whoever_only_says_that_a_phase_started_has_started_none() {
    let rig = Rig::new(
        r#"
        command=$(plan "$1" | sed -n '1s/^[a-z]* //p')
        socket=$(sed -n "s/.* __phase '\([^']*\)' .*/\1/p" "$command")
        python3 - "$socket" <<'PYTHON'
import json, socket, sys
judge = socket.socket(socket.AF_UNIX)
judge.connect(sys.argv[1])
judge.sendall(json.dumps({"phase": "preflight", "cwd": "/", "env": {}}).encode() + b"\n")
judge.recv(1000)
PYTHON
        "$command""#,
    );
    let seen = rig.see(&json!({}), &run());
    assert_eq!(phases(&seen), ["preflight"], "the one that was really started");
    assert_eq!(seen.strangers.len(), 1, "{:?}", seen.strangers);
    assert!(seen.strangers[0].command.contains("python3"), "{:?}", seen.strangers);
}

/// The program of a phase is there for everybody to start; it is a phase only where the runtime lives.
#[test]
fn whoever_speaks_from_outside_of_the_chamber_is_no_phase() {
    let rig = Rig::new(TELLS_ITS_SOCKET).with("writes", json!(["{dir}"]));
    let place = rig.place.path().to_path_buf();
    let outside = std::thread::spawn(move || {
        while !place.join("told").exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let socket = std::fs::read_to_string(place.join("told")).expect("told");
        let mut phase = std::process::Command::new(env!("CARGO_BIN_EXE_loa-conform"));
        let end = phase.args(["__phase", socket.trim(), "preflight"]).status().expect("started");
        std::fs::write(place.join("spoken"), "").expect("written");
        end
    });
    let seen = rig.see(&json!({}), &run());
    assert_eq!(outside.join().expect("no panic").code(), Some(70), "nobody listened");
    assert_eq!((phases(&seen).len(), seen.strangers.len()), (0, 1), "{:?}", seen.strangers);
    assert!(seen.strangers[0].command.contains("preflight"), "{:?}", seen.strangers);
}

/// A library that the loader loads beforehand runs inside of the judge's own program, and could speak as it.
#[test]
fn a_phase_into_which_a_runtime_loads_code_of_its_own_is_none() {
    let rig = Rig::new(
        r#"command=$(plan "$1" | sed -n '1s/^[a-z]* //p'); LD_PRELOAD="$(dirname "$0")/inside.so" "$command"; "$command""#,
    );
    let (source, library) = (rig.place.path().join("inside.c"), rig.place.path().join("inside.so"));
    std::fs::write(&source, "__attribute__((constructor)) static void begin(void) {}\n").expect("written");
    let made = std::process::Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(library).arg(source).status();
    assert!(made.expect("who builds this has a C compiler").success());
    let seen = rig.see(&json!({}), &run());
    assert_eq!((phases(&seen), seen.strangers.len()), (vec!["preflight"], 1), "{:?}", seen.strangers);
    let told = &seen.strangers[0].command;
    assert!(told.contains("__phase") && told.contains("it runs code of ") && told.contains("inside.so"), "{told}");
}

/// The kernel says who connected, and not who speaks: what became the judge's program only then left the line to another one.
#[test]
fn a_line_that_was_opened_before_its_program_became_the_judges_is_no_phases() {
    let rig = Rig::new(
        r#"
        command=$(plan "$1" | sed -n '1s/^[a-z]* //p')
        socket=$(sed -n "s/.* __phase '\([^']*\)' .*/\1/p" "$command")
        program=$(sed -n "s/^exec '\([^']*\)' .*/\1/p" "$command")
        python3 - "$socket" "$program" <<'PYTHON'
import json, os, socket, sys, time
ours, theirs = socket.socketpair()
child = os.fork()
if child == 0:
    judge = socket.socket(socket.AF_UNIX)
    socket.send_fds(theirs, [b"x"], [judge.fileno()])
    judge.set_inheritable(True)
    judge.connect(sys.argv[1])
    os.execv(sys.argv[2], [sys.argv[2], "__phase", "--sleep"])
_, connections, _, _ = socket.recv_fds(ours, 1, 1)
judge = socket.socket(fileno=connections[0])
while True:
    try: _, lines, _, _ = socket.recv_fds(judge, 1, 1); break
    except OSError: time.sleep(0.001)
if not lines: sys.exit()
line = socket.socket(fileno=lines[0])
while "__phase" not in open(f"/proc/{child}/cmdline").read():
    time.sleep(0.001)
line.sendall(json.dumps({"phase": "preflight", "cwd": "/", "env": {}}).encode() + b"\n")
line.recv(1000)
os.kill(child, 9)
PYTHON"#,
    );
    let seen = rig.see(&json!({}), &run());
    assert_eq!((phases(&seen).len(), seen.strangers.len()), (0, 1), "{:?} {:?}", seen.strangers, said(&seen, 0));
    // It is seen when it connects, unless it becomes the judge's program before the judge has looked.
    let told = &seen.strangers[0].command;
    assert!(
        ["it runs another program", "a line that another program opened"].iter().any(|why| told.contains(why)),
        "{told}"
    );
}

/// A tracer can have a phase do something else than it is ordered. Held by its tracer, it is none.
#[test]
fn a_phase_that_a_runtime_traces_is_none() {
    let rig = Rig::new(
        r#"
        command=$(plan "$1" | sed -n '1s/^[a-z]* //p')
        python3 - "$command" <<'PYTHON'
import ctypes, os, sys
libc = ctypes.CDLL(None)
child = os.fork()
if child == 0:
    libc.ptrace(0, 0, 0, 0)
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    _, status = os.waitpid(child, 0)
    if not os.WIFSTOPPED(status):
        break
    libc.ptrace(7, child, None, None)
PYTHON"#,
    );
    let seen = rig.see(&json!({}), &run());
    assert_eq!((phases(&seen).len(), seen.strangers.len()), (0, 1), "{:?}", seen.strangers);
    assert!(seen.strangers[0].command.contains("another process traces it"), "{:?}", seen.strangers);
}

/// Says where its phases speak, and waits until somebody did.
const TELLS_ITS_SOCKET: &str = r#"
dir=$(dirname "$0")
command=$(plan "$1" | sed -n '1s/^[a-z]* //p')
sed -n "s/.* __phase '\([^']*\)' .*/\1/p" "$command" > "$dir/told.new"
mv "$dir/told.new" "$dir/told"
while [ ! -e "$dir/spoken" ]; do sleep 0.01; done
"#;

#[test]
fn a_runtime_can_change_nothing_but_its_case_and_sees_nobody_elses_processes() {
    let attacks = r#"
        dir=$(dirname "$0")
        try() { name=$1; shift; if "$@" 2> /dev/null > /dev/null; then echo "$name: done"; else echo "$name: refused"; fi; }
        try "beside itself" touch "$dir/mine"
        try "in the judge's folder" touch "$(dirname "$(readlink -f "$JUDGE")")/mine"
        try "over the judge" sh -c ': >> "$JUDGE"'
        try "by a mount" mount -o remount,rw,bind "$dir"
        try "by no mount" umount /tmp
        try "in memory" touch /dev/shm/mine
        try "in its own place" touch "$HOME/mine" "$TMPDIR/mine" /tmp/mine mine
        try "the first process" kill -9 1
        try "another's secrets" cat /proc/1/environ
        echo "processes: $(ls /proc | grep -c '^[0-9]*$')"
        echo "powers: $(sed -n 's/^CapEff:[^0-9a-f]*0*//p' /proc/self/status)"
        (setsid env -i sh -c 'while :; do sleep 0.01; touch "$0"; done' "$dir/late" > /dev/null 2>&1 &)
        "#;
    let rig = Rig::new(attacks).with("env", json!({ "JUDGE": env!("CARGO_BIN_EXE_loa-conform") }));
    let seen = rig.see(&json!({}), &run());
    if !seen.shared.is_empty() {
        return assert!(seen.shared[0].starts_with("processes, mounts"), "a machine without namespaces says so");
    }
    let said = said(&seen, 0);
    let refused = said.iter().filter(|line| line.ends_with(": refused")).count();
    let done: Vec<_> = said.iter().filter(|line| line.ends_with(": done")).copied().collect();
    // The first process of a chamber takes no notice of a signal from inside.
    assert_eq!(done, ["in memory: done", "in its own place: done", "the first process: done"], "{said:?}");
    assert_eq!((refused, said.contains(&"powers: ")), (6, true), "{said:?}");
    let processes = said.iter().find_map(|line| line.strip_prefix("processes: ")).expect("counted");
    assert!(processes.parse::<u32>().expect("a number") < 10, "{said:?}");
    let daemon =
        seen.orphans.iter().find(|orphan| orphan.command.contains("/late")).expect("found without an environment");
    assert!(!is_alive(daemon.pid) && !rig.place.path().join("late").exists());
}

/// A network of one's own does not close what is reached by a path.
#[test]
fn a_hermetic_case_reaches_no_socket_of_the_host() {
    let script = r#"python3 -c '
import socket, sys
try: socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print("reached")
except OSError as error: print(type(error).__name__)' "$(dirname "$0")/host.sock""#;
    let mut rig = Rig::new(script);
    let _host = std::os::unix::net::UnixListener::bind(rig.place.path().join("host.sock")).expect("bound");
    assert_eq!(said(&rig.see(&json!({}), &run()), 0), ["reached"]);
    rig.hermetic = true;
    let seen = rig.see(&json!({}), &run());
    if seen.shared.is_empty() {
        assert_eq!(said(&seen, 0), ["ConnectionRefusedError"]);
    } else {
        assert!(seen.shared.iter().any(|line| line.starts_with("sockets of the host")), "{:?}", seen.shared);
    }
}

#[test]
fn what_a_manifest_lets_be_written_and_what_lives_elsewhere_is_said() {
    let script = r#"touch "$(dirname "$0")/mine" && echo written"#;
    let rig = Rig::new(script).with("writes", json!(["{dir}"]));
    let seen = rig.see(&json!({}), &run());
    assert_eq!(said(&seen, 0), ["written"]);
    assert!(seen.shared.iter().any(|line| line.contains("changed in {dir}")), "{:?}", seen.shared);
    let rig = Rig::new(script).with("lives_outside", json!("it is a server of its own"));
    let seen = rig.see(&json!({}), &run());
    assert_eq!(said(&seen, 0), ["written"]);
    assert_eq!(seen.shared, ["what lives outside of the case was not observed: it is a server of its own"]);
}

#[test]
fn a_phase_that_waits_for_the_halt_stays_until_it_has_answered() {
    let rig = Rig::new(PLAIN).script("halt.sh", "sleep 0.6; touch halted").with("halt", json!(["sh", "{dir}/halt.sh"]));
    let seen = rig
        .see(&json!({ "design": [["until_halted", { "exit": 0 }]] }), &json!([{ "run": { "halt_during": "design" } }]));
    let design = seen.attempts.iter().find(|attempt| attempt.phase == "design").expect("it started");
    let stayed = design.ended.expect("it ended") - design.started;
    assert!(stayed >= 600 + 500, "the halt, and ten polls: {stayed} ms");
    assert_eq!(seen.steps[0].end, ProcessEnd::Exited(0));
}

#[test]
fn an_hour_is_an_hour_by_whichever_clock_the_machine_keeps_up_with() {
    let rig = Rig::new(&format!("date +%s\n{PLAIN}date +%s"));
    let seen = rig.see_case(
        json!({ "time": "accelerated", "phases": { "design": [[{ "sleep": 500 }, { "exit": 0 }]] }, "steps": run() }),
    );
    if !seen.unseen.is_empty() {
        return not_tested(&seen.unseen.join("; "));
    }
    let speed = seen.speed.expect("a clock that runs faster");
    assert!((1800..=7200).contains(&speed), "{speed}");
    assert!(seen.steps[0].argv.contains(&format!("+0 x{speed}")), "{:?}", seen.steps[0].argv);
    let said: Vec<i64> = said(&seen, 0).iter().map(|text| text.parse().expect("a time")).collect();
    assert!(said[1] - said[0] >= 3600, "the phase slept for half a second of the fastest clock: {said:?}");
    assert_eq!(rig.see(&json!({}), &run()).speed, None, "any other case has the clock of the wall");
}

#[test]
fn a_phase_that_is_started_again_and_again_is_cut_long_before_its_budget() {
    let rig = Rig::new(r#"command=$(plan "$1" | sed -n '1s/^[a-z]* //p'); while :; do "$command"; done"#);
    let seen = rig.see(&json!({}), &run());
    assert!(matches!(seen.steps[0].end, ProcessEnd::Runaway(17..)), "{:?}", seen.steps[0].end);
    assert!(seen.orphans.is_empty());
}

#[test]
fn an_edit_leaves_a_checkpoint_in_the_format_that_it_had() {
    let text = "{\"phase\": \"design\", \"summary\": \"s\", \"exit_code\": 0}";
    let steps = json!([{ "run": {} }, { "edit": { "path": ".loa-checkpoint/design.yaml", "remove": ["summary"] } }]);
    let seen = Rig::new(&format!("mkdir .loa-checkpoint; printf '%s' '{text}' > .loa-checkpoint/design.yaml"))
        .see(&json!({}), &steps);
    let edited = seen.steps[1].edited.as_ref().expect("it was there");
    assert_eq!((edited.before.as_str(), edited.after.as_str()), (text, "{\"phase\": \"design\", \"exit_code\": 0}"));
    assert_eq!(seen.steps[1].checkpoints["design.yaml"].text, edited.after);
}

#[test]
fn a_hang_costs_its_budget_and_leaves_nothing() {
    let seen = Rig::new(PLAIN).budget(300).see(&json!({ "audit": [["hang"]] }), &run());
    let step = &seen.steps[0];
    assert_eq!(step.end, ProcessEnd::OutOfBudget);
    assert!((300..20_000).contains(&(step.ended - step.started)), "its own budget, not the usual one: {step:?}");
    let last = seen.attempts.last().expect("an attempt");
    assert_eq!((last.phase.as_str(), last.exit), ("audit", None));
    assert!(last.ended.is_some() && seen.orphans.is_empty());
}

#[test]
fn a_runtime_that_ignores_term_is_ended_too() {
    let seen = Rig::new("trap '' TERM; while :; do sleep 0.05; done").budget(100).see(&json!({}), &run());
    assert_eq!(seen.steps[0].end, ProcessEnd::OutOfBudget);
    assert!(seen.orphans.is_empty());
}

#[test]
fn a_planned_kill_strikes_while_the_phase_hangs_and_the_next_step_finds_quiet() {
    let rig = Rig::new(PLAIN).script("resume.sh", "echo again").with("resume", json!(["sh", "{dir}/resume.sh"]));
    let steps = json!([{ "run": { "kill_during": "design" } }, { "resume": {} }]);
    let seen = rig.see(&json!({ "design": [["hang"], [{ "exit": 0 }]] }), &steps);
    assert_eq!(seen.steps[0].end, ProcessEnd::KilledAsPlanned);
    assert_eq!(phases(&seen), ["preflight", "discovery", "design"]);
    assert!(seen.attempts[2].ended.expect("the judge ended it") <= seen.steps[1].started);
    assert_eq!((said(&seen, 1), seen.steps[1].end.clone()), (vec!["again"], ProcessEnd::Exited(0)));
    assert!(seen.orphans.is_empty());
}

#[test]
fn halt_is_asked_while_the_phase_runs() {
    let rig = Rig::new(
        r#"set -- $(plan "$1" | head -n 1); "$2" & while [ ! -e halt ]; do sleep 0.02; done; kill $!; exit 2"#,
    )
    .with("halt", json!(["sh", "-c", "touch halt"]));
    let seen = rig.see(&json!({ "preflight": [["hang"]] }), &json!([{ "run": { "halt_during": "preflight" } }]));
    assert_eq!(seen.steps[0].end, ProcessEnd::Exited(2));
    assert!(seen.attempts[0].ended.is_some() && seen.orphans.is_empty());
}

#[test]
fn what_a_phase_leaves_behind_is_an_orphan_even_without_an_environment() {
    for start in ["\"$command\"", "(cd / && env -i \"$command\")"] {
        let script = PLAIN.replace("\"$command\"", start);
        let seen = Rig::new(&script).see(&json!({ "design": [["spawn"]] }), &run());
        assert_eq!(seen.steps[0].end, ProcessEnd::Exited(0), "{start}");
        assert_eq!(seen.orphans.len(), 1, "{start}: {:?}", seen.orphans);
        assert!(seen.orphans[0].command.contains("--sleep") && !is_alive(seen.orphans[0].pid));
    }
}

#[test]
fn a_runtimes_own_daemon_is_found_and_ended() {
    let seen = Rig::new("setsid sleep 50 & sleep 0.02").see(&json!({}), &run());
    assert_eq!(seen.orphans.len(), 1, "{:?}", seen.orphans);
    assert!(!is_alive(seen.orphans[0].pid));
}

#[test]
fn a_process_without_an_environment_is_found_by_its_arguments_or_its_parent() {
    let script = "set -- $(plan \"$1\" | head -n 1); env -i \"$2\" & sleep 0.1";
    let seen = Rig::new(script).see(&json!({ "preflight": [["hang"]] }), &run());
    assert_eq!(seen.orphans.len(), 1, "{:?}", seen.orphans);
    assert!(seen.orphans[0].command.contains("__phase") && seen.attempts[0].ended.is_some());
    let seen = Rig::new("sh -c 'env -i sleep 50; true' & sleep 0.05").see(&json!({}), &run());
    let commands: Vec<_> = seen.orphans.iter().map(|orphan| orphan.command.as_str()).collect();
    assert_eq!(commands, ["sh -c env -i sleep 50; true", "sleep 50"]);
}

#[test]
fn phases_work_without_an_environment_and_in_any_folder() {
    let script = PLAIN.replace("\"$command\"", "(cd / && env -i \"$command\")");
    let acts = json!({ "design": [[{ "result": { "summary": "s" } }]] });
    let seen = Rig::new(&script).see(&acts, &run());
    assert_eq!(phases(&seen).len(), 8);
    assert_eq!((seen.attempts[2].cwd.as_str(), seen.attempts[2].env.len()), ("/", 0));
}

#[test]
fn the_probes_own_lines_are_cut_out_and_the_runtimes_stay() {
    let script = PLAIN.replace("\"$command\"", "echo \"-- $id\"; \"$command\" 2>&1 | sed \"s/^/$id | /\"");
    let acts = json!({ "design": [[{ "stdout": "trigger: manual" }, { "stderr": "design failed" }]] });
    let seen = Rig::new(&script).see(&acts, &run());
    assert_eq!(said(&seen, 0).len(), 8, "{:?}", said(&seen, 0));
    assert_eq!(said(&seen, 0)[2], "-- design");
    assert!(seen.steps[0].reports.is_empty(), "what a phase prints is no report");
}

#[test]
fn a_report_is_found_in_a_file_of_home_and_on_the_output() {
    let rig = Rig::new(
        r#"mkdir -p "$HOME/out"; echo "trigger: timeout" > "$HOME/out/r.yaml"; sleep 0.02
        printf 'escalated\n{\n "trigger": "manual"\n}\n'"#,
    );
    let seen = rig.see(&json!({}), &json!([{ "run": {} }, { "write": { "path": "x.yaml", "content": "trigger: x" } }]));
    let reports: Vec<_> =
        seen.steps[0].reports.iter().map(|report| (report.path.as_str(), &report.document["trigger"])).collect();
    assert_eq!(reports, [("out/r.yaml", &json!("timeout")), ("output", &json!("manual"))]);
    assert!(seen.steps[1].reports.is_empty(), "what the judge writes is no report");
    let told = rig.with("report", json!("*.yaml")).see(&json!({}), &run());
    assert!(told.steps[0].reports.is_empty(), "the manifest's glob replaces the search");
}

#[test]
fn an_old_report_is_not_seen_again() {
    let rig = Rig::new("echo 'trigger: manual' > report.yaml").with("resume", json!(["true"]));
    let seen = rig.see(&json!({}), &json!([{ "run": {} }, { "resume": {} }]));
    assert_eq!((seen.steps[0].reports.len(), seen.steps[1].reports.len()), (1, 0));
}

#[test]
fn a_runtime_that_has_reported_may_wait_for_its_human() {
    let rig = Rig::new("echo 'trigger: manual' > report.yaml; while :; do sleep 0.02; done").budget(1000);
    let waiting = rig.with("waits", json!(true)).with("poll_ms", json!(20));
    assert_eq!(waiting.see(&json!({}), &run()).steps[0].end, ProcessEnd::Waiting);
    let stuck = waiting.with("waits", json!(false)).budget(300);
    assert_eq!(stuck.see(&json!({}), &run()).steps[0].end, ProcessEnd::OutOfBudget);
    let silent = Rig::new("while :; do sleep 0.02; done").with("waits", json!(true)).with("poll_ms", json!(20));
    assert_eq!(silent.budget(300).see(&json!({}), &run()).steps[0].end, ProcessEnd::OutOfBudget, "without a report");
}

#[test]
fn a_runtime_that_ends_soon_after_its_report_has_ended_by_itself() {
    let rig = Rig::new("echo 'trigger: manual' > report.yaml; sleep 0.4; exit 2").with("waits", json!(true));
    let seen = rig.with("poll_ms", json!(100)).see(&json!({}), &run());
    assert_eq!(seen.steps[0].end, ProcessEnd::Exited(2));
}

/// Reacts to every line of the signal file by a state and an event; `$REACT` switches it off.
const CONTEXT: &str = r#"export LOA_SIGNAL_FILE="$TMPDIR/signals" LOA_EVENT_FILE="$TMPDIR/events"; mkdir .loa-checkpoint
: > "$LOA_SIGNAL_FILE"; set -- $(plan "$1" | head -n 1); "$2" & seen=0
while kill -0 $! 2>/dev/null; do
  lines=$(wc -l < "$LOA_SIGNAL_FILE")
  if [ "$lines" -gt "$seen" ] && [ "$REACT" = yes ]; then
    seen=$lines; echo "current_tokens: $(sed -n "$seen{s/[^0-9]//g;p;}" "$LOA_SIGNAL_FILE")" > .loa-checkpoint/context-state.yaml
    echo "{\"type\":\"CONTEXT_WARNING\",\"line\":$seen}" >> "$LOA_EVENT_FILE"
  fi
  sleep 0.01
done"#;

#[test]
fn a_usage_waits_for_the_reaction_and_no_longer() {
    let rig = Rig::new(CONTEXT)
        .with("usage", json!("signal_file"))
        .with("poll_ms", json!(10_000))
        .with("env", json!({ "REACT": "yes" }));
    let seen = rig.see(&json!({ "preflight": [[{ "usage": 999 }, { "usage": 1000 }]] }), &run());
    let usages: Vec<_> =
        seen.usages.iter().map(|it| (it.tokens, it.context_state.clone().unwrap_or_default())).collect();
    assert_eq!(usages, [(999, json!({ "current_tokens": 999 })), (1000, json!({ "current_tokens": 1000 }))]);
    for (number, (usage, event)) in seen.usages.iter().zip(&seen.events).enumerate() {
        assert_eq!(event.line, json!({ "type": "CONTEXT_WARNING", "line": number + 1 }));
        assert!((usage.at..=usage.until).contains(&event.at), "{usage:?} {event:?}");
        assert!(usage.until - usage.at < 20_000, "{usage:?}");
    }
    assert!(seen.usages[0].until < seen.usages[1].at && seen.events[0].at < seen.usages[1].at);
}

#[test]
fn a_usage_without_a_reaction_waits_twice_the_poll() {
    let rig = Rig::new(CONTEXT).with("usage", json!("signal_file")).with("env", json!({ "REACT": "no" }));
    let seen = rig.see(&json!({ "preflight": [[{ "usage": 5 }]] }), &run());
    let usage = &seen.usages[0];
    assert!(usage.until - usage.at >= 100 && usage.context_state.is_none() && seen.events.is_empty());
    let deaf = Rig::new(CONTEXT).see(&json!({ "preflight": [[{ "usage": 5 }]] }), &run());
    assert!(deaf.usages.is_empty(), "a runtime that cannot learn a usage is told none");
}

#[test]
fn a_usage_on_stdout_is_printed_as_the_manifest_says_and_cut_out() {
    let script = PLAIN.replace("\"$command\"", "\"$command\" | sed 's/^tokens=/heard: tokens=/'");
    let rig = Rig::new(&script).with("usage", json!({ "stdout": "tokens={tokens}" }));
    let seen = rig.with("poll_ms", json!(10)).see(&json!({ "design": [[{ "usage": 77 }]] }), &run());
    assert_eq!(seen.usages[0].tokens, 77);
    assert!(said(&seen, 0).is_empty());
}

#[test]
fn a_phase_leaves_its_result_where_it_is_told() {
    let script = PLAIN.replace("\"$command\"", "LOA_RESULT_FILE=\"$TMPDIR/$id.json\" \"$command\"");
    let rig = Rig::new(&format!("{script}\ncat \"$TMPDIR/design.json\""));
    let case = json!({
        "draw": { "n": { "nonce": 9 }, "code": { "code": [3] }, "p": { "phase": ["design"] } },
        "phases": { "$p": [[{ "result": { "summary": "$n", "code": "$code" } }]] }, "steps": run(),
    });
    let seen = rig.see_case(case);
    let result: Value = serde_json::from_str(said(&seen, 0)[0]).expect("JSON");
    assert_eq!(result, json!({ "summary": seen.drawn["n"], "code": 3 }));
    assert!(seen.attempts[2].env.contains_key("LOA_RESULT_FILE"));
}

#[test]
fn the_other_steps_do_what_they_say() {
    let rig = Rig::new("cat a.txt c.txt 2>/dev/null; pwd")
        .with("state", json!(["sh", "-c", "echo '{\"current_phase\":\"design\"}'"]))
        .with("resolve", json!(["sh", "-c", "test \"$1\" = abort", "sh", "{action}"]));
    let steps = json!([
        { "write": { "path": "c.txt", "content": "c" } }, { "run": {} }, { "delete": "a.txt" }, "state",
        { "resolve": "abort" }, { "resolve": "perish" }, "fresh", { "run": {} },
    ]);
    let seen = rig.see_case(json!({ "files": { "a.txt": "a\n" }, "steps": steps }));
    let verbs: Vec<_> = seen.steps.iter().map(|step| step.verb.as_str()).collect();
    assert_eq!(verbs, ["write", "run", "delete", "state", "resolve", "resolve", "fresh", "run"]);
    assert_eq!((seen.steps[0].end.clone(), &said(&seen, 1)[..1]), (ProcessEnd::Nothing, &["a"][..]));
    assert!(!seen.steps[2].laid.contains_key("a.txt") && seen.steps[2].laid.contains_key("c.txt"));
    assert_eq!(said(&seen, 3), ["{\"current_phase\":\"design\"}"]);
    let ends: Vec<_> = seen.steps[4..6].iter().map(|step| step.end.clone()).collect();
    assert_eq!(ends, [ProcessEnd::Exited(0), ProcessEnd::Exited(1)]);
    assert_eq!((seen.steps[7].workspace, seen.steps[1].workspace), (1, 0));
    assert!(said(&seen, 7)[1].ends_with("workspace-1"), "{:?}", said(&seen, 7));
}

#[test]
fn a_link_that_a_runtime_leaves_does_not_lead_the_judge_out_of_its_case() {
    let attack = r#"
        out=$(dirname "$0")
        mkdir .loa-checkpoint
        ln -s "$out/theirs" .loa-checkpoint/design.yaml
        ln -s "$out" away
        ln -s "$out/none" new.txt
        mkfifo pipe
        mkdir store && echo "phase: design" > store/testing.yaml
        ln -s "$PWD/store/testing.yaml" .loa-checkpoint/testing.yaml
        ln -s "$out" ../workspace-1
    "#;
    let rig = Rig::new(attack);
    std::fs::write(rig.place.path().join("theirs"), "phase: design\n").expect("written");
    let edit = |path: &str| json!({ "edit": { "path": path, "set": { "exit_code": 1 } } });
    let write = |path: &str| json!({ "write": { "path": path, "content": "judge" } });
    let steps = json!([
        { "run": {} }, edit(".loa-checkpoint/design.yaml"), write("away/theirs"), write("new.txt"), write("pipe"),
        { "delete": "away/theirs" }, edit(".loa-checkpoint/testing.yaml"),
    ]);
    let seen = rig.see(&json!({}), &steps);
    assert_eq!(seen.rig_error, None);
    for step in &seen.steps[2..6] {
        assert!(matches!(&step.end, ProcessEnd::NotStarted(why) if why.contains("cannot")), "{:?}", step.end);
    }
    assert_eq!(seen.steps[1].end, ProcessEnd::Nothing, "what lies elsewhere is not left here");
    assert!(!format!("{:?}", seen.steps[1].checkpoints.get("design.yaml")).contains("phase: design"), "nor read");
    assert_eq!(seen.steps[6].end, ProcessEnd::Nothing);
    assert!(
        seen.steps[6].checkpoints["testing.yaml"].text.contains("exit_code: 1"),
        "a link inside is an editor's way"
    );
    let theirs = std::fs::read_to_string(rig.place.path().join("theirs")).expect("it stands");
    assert_eq!(theirs, "phase: design\n");
    assert!(!rig.place.path().join("none").exists());

    let seen = rig.see(&json!({}), &json!([{ "run": {} }, "fresh"]));
    assert!(
        matches!(&seen.steps[1].end, ProcessEnd::NotStarted(why) if why.contains("cannot lay")),
        "{:?}",
        seen.steps[1]
    );
    assert!(!rig.place.path().join(".git").exists());
}

#[test]
fn an_edit_changes_the_keys_it_names_and_nothing_else() {
    let left = "phase: design\nexit_code: 2\ncreated_at: \"2026-01-31T14:00:00Z\"\nerrors:\n  - code: E\n";
    let edit =
        |path: &str| json!({ "edit": { "path": path, "set": { "exit_code": 0, "word": "$n" }, "remove": ["errors"] } });
    let seen = Rig::new("true").see_case(json!({
        "draw": { "n": { "nonce": 3 } }, "files": { "a.yaml": left, "b.yaml": "- no\n- mapping\n" },
        "steps": [edit("a.yaml"), edit("b.yaml"), edit("none.yaml")],
    }));
    let drawn = seen.drawn["n"].as_str().expect("a word");
    let expected = format!("phase: design\nexit_code: 0\ncreated_at: \"2026-01-31T14:00:00Z\"\nword: \"{drawn}\"\n");
    let laid = &seen.steps[2].laid;
    assert_eq!((laid["a.yaml"].text.as_str(), laid["b.yaml"].text.as_str()), (expected.as_str(), "- no\n- mapping\n"));
    assert!(!laid.contains_key("none.yaml"));
}

#[test]
fn prepare_runs_before_each_run_and_its_failure_is_told() {
    let prepared = Rig::new("cat made").with("prepare", json!(["sh", "-c", "echo made; echo x >> made"]));
    let seen = prepared.see(&json!({}), &json!([{ "run": {} }, { "run": {} }]));
    assert_eq!((said(&seen, 0), said(&seen, 1)), (vec!["x"], vec!["x", "x"]));
    let broken = Rig::new("").with("prepare", json!(["sh", "-c", "echo why; exit 3"]));
    let ProcessEnd::NotStarted(why) = broken.see(&json!({}), &run()).steps[0].end.clone() else { panic!("it started") };
    assert!(why.contains("why") && why.contains('3'), "{why}");
}

#[test]
fn the_environment_is_an_allow_list() {
    let rig = Rig::new("env | sed 's/=.*//' | sort").with("env", json!({ "MINE": "{dir}" }));
    let config = json!({ "autonomous_agent.context.soft_limit_tokens": 1000 });
    let seen = rig.see_case(json!({ "config": config, "steps": run() }));
    // The shell adds some of its own.
    let allowed = ["CONTEXT_SOFT_LIMIT", "HOME", "LANG", "LOA_OPERATOR", "MINE", "PATH", "PWD", "TMPDIR"];
    let names: Vec<_> = said(&seen, 0).into_iter().filter(|name| !["OLDPWD", "SHLVL", "_"].contains(name)).collect();
    assert_eq!(names, allowed);
}

#[test]
fn a_fault_of_the_rig_is_told_and_is_not_the_runtimes() {
    let case = json!({
        "id": "x", "clause": "X", "title": "t", "draw": { "c": { "code": [] } }, "steps": run(), "expect": [],
    });
    let case: Case = serde_json::from_value(case).expect("a case");
    let manifest: BTreeMap<&str, Value> =
        BTreeMap::from([("runtime", json!("x")), ("version", json!(["true"])), ("run", json!(["true"]))]);
    let manifest: Manifest = serde_json::from_value(json!(manifest)).expect("a manifest");
    let seen = observe(&case, &manifest, Path::new("/"), &RigOptions::new(1, PathBuf::from("/judge")));
    assert!(seen.rig_error.expect("one").contains("nothing to draw from") && seen.steps.is_empty());
}
