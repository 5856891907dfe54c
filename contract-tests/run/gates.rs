//! The files that a gate is made of: missing at the start, found by `PATH`, touched while it runs, and shown where they changed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::Workspace;
use super::pinned::gated;
use super::workspace::{Ran, finished};

const TOLD: &str = "  notify: { patience_ms: 0, receivers: [{ kind: command, command: 'cat > ../told' }] }\n";

/// The same with another gate of the design.
fn with_gate(workspace: &Workspace, gate: &str) {
    let text = workspace.read(".loa.config.yaml");
    assert!(text.contains("verify: 'sh ./gate.sh'"), "{text}");
    workspace.config(&text.replace("verify: 'sh ./gate.sh'", &format!("verify: {gate}")));
}

fn lay_program(workspace: &Workspace, path: &str, text: &str) {
    let path = workspace.path(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("made");
    fs::write(&path, text).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("ours");
}

#[test]
fn a_script_that_was_not_there_at_the_start_is_no_gate_before_a_person_says_so() {
    for (gate, evil, path) in [
        ("'sh ./late.sh'", "echo 'echo late >> ran' > late.sh", "late.sh"),
        ("['./late']", "printf '#!/bin/sh\\necho late >> ran\\n' > late; chmod +x late", "late"),
        (
            "'cd sub && ./late --all'",
            "mkdir sub; printf '#!/bin/sh\\necho late >> ../ran\\n' > sub/late; chmod +x sub/late",
            "sub/late",
        ),
    ] {
        let workspace = gated(evil, TOLD);
        with_gate(&workspace, gate);
        let changed = format!("design: gate script changed since the start: {path}; the gate was not asked");
        let missing = format!("gates start what is not there: {path}.");
        workspace.loa(&["run"]).exits(2).says(&[&missing, &changed]);
        assert_eq!(workspace.ran(), Vec::<String>::new(), "{gate}");
        let told = workspace.read("../told");
        assert!(told.contains(&format!("What changed in {path}:\nit is new\n")) && told.contains('+'), "{told}");
        // Whoever wants a new configuration is asked, too.
        workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
        workspace.resume().exits(0);
        assert_eq!(workspace.ran(), ["late"], "{gate}");
    }
    // One that never comes is a gate that fails.
    let workspace = gated("true", "  retry: { max: 0 }\n");
    with_gate(&workspace, "'sh ./late.sh'");
    workspace.loa(&["run"]).exits(2).says(&["late.sh"]);
    // What the work makes and a gate only looks at is no script.
    let workspace = gated("mkdir out; echo yes > out/result", "");
    with_gate(&workspace, "[test, -e, out/result]");
    workspace.loa(&["run"]).exits(0);
}

#[test]
fn a_new_configuration_takes_no_script_that_came_later_without_a_word() {
    let workspace = gated("echo 'exit 0' > late.sh; exit 2", "");
    with_gate(&workspace, "'sh ./late.sh'");
    workspace.loa(&["run"]).exits(2);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.loa(&["resume", "--config", "new"]).exits(2).says(&["the gate script late.sh is new", "--weaker"]);
}

/// With `bin` of the workspace, and a folder beside it, before everything else.
fn by_path(workspace: &Workspace, arguments: &[&str]) -> Ran {
    let mut command = workspace.command(arguments);
    let usual = std::env::var("PATH").expect("set");
    let folders = ["first", "../bin"].map(|folder| workspace.path(folder).display().to_string());
    command.env("PATH", format!("{}:{usual}", folders.join(":")));
    finished(command)
}

#[test]
fn a_program_that_a_gate_finds_by_path_is_the_one_of_the_start() {
    let other =
        |place: &str| format!("mkdir -p {place}; printf '#!/bin/sh\\n' > {place}/check; chmod +x {place}/check");
    for (evil, named) in [
        (other("../bin"), "/bin/check"),
        (other("first"), "./first/check"),
        ("rm ../bin/check".to_owned(), "/bin/check (gone)"),
    ] {
        let workspace = gated(&evil, TOLD);
        with_gate(&workspace, "'check --all'");
        lay_program(&workspace, "../bin/check", "#!/bin/sh\necho check >> ran\n");
        let ran = by_path(&workspace, &["run"]).exits(2).says(&["program changed since the start: "]);
        assert!(ran.stderr.contains(named), "{named}: {}", ran.stderr);
        assert_eq!(workspace.ran(), Vec::<String>::new(), "{evil}");
        assert!(workspace.read("../told").contains("What changed in "), "{}", workspace.read("../told"));
        by_path(&workspace, &["resolve", "fix_and_resume"]).exits(0);
        if !named.contains("gone") {
            by_path(&workspace, &["resume"]).exits(0);
        }
        // Nor does a new configuration take it without a word.
        let workspace = gated(&format!("{evil}; exit 2"), "");
        with_gate(&workspace, "'check --all'");
        lay_program(&workspace, "../bin/check", "#!/bin/sh\necho check >> ran\n");
        by_path(&workspace, &["run"]).exits(2);
        by_path(&workspace, &["resolve", "fix_and_resume"]).exits(0);
        by_path(&workspace, &["resume", "--config", "new"]).exits(2).says(&["the program ", "--weaker"]);
    }
    let workspace = gated("true", "");
    with_gate(&workspace, "'check --all'");
    lay_program(&workspace, "../bin/check", "#!/bin/sh\necho check >> ran\n");
    by_path(&workspace, &["run"]).exits(0);
    assert_eq!(workspace.ran(), ["check"]);
}

#[test]
fn a_gate_that_is_another_one_while_it_runs_says_nothing_for_the_work() {
    // Each gate does to itself what somebody else could do to it meanwhile.
    for (deed, named) in [
        ("cp gate.sh kept; echo 'exit 0' > gate.sh; cp kept gate.sh", true),
        ("mv gate.sh kept; echo 'exit 0' > gate.sh; mv kept gate.sh", true),
        ("mv ci kept; mkdir ci; rmdir ci; mv kept ci", true),
        ("echo '# more' >> gate.sh", true),
        ("chmod +x gate.sh; touch ci/other; : > out", false),
    ] {
        let workspace = gated("true", TOLD);
        fs::create_dir_all(workspace.path("ci")).expect("made");
        workspace.write("ci/two.sh", "true\n");
        workspace.write("gate.sh", &format!("echo gate >> ran; test -e ../done || {{ : > ../done; {deed}; }}\n"));
        with_gate(&workspace, "'sh ./gate.sh && sh ci/two.sh'");
        let ran = workspace.loa(&["run"]);
        assert_eq!(workspace.ran(), ["gate"], "{deed}");
        if !named {
            ran.exits(0);
            continue;
        }
        ran.exits(2).says(&["what the gate said does not count"]);
        let told = workspace.read("../told");
        assert!(told.contains("What changed in "), "{deed}: {told}");
        assert!(workspace.checkpoint("design").is_null(), "{deed}: no outcome");
        workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
        workspace.resume().exits(0);
        assert_eq!(workspace.ran(), ["gate", "gate"], "{deed}");
    }
    // An audit is a gate by itself.
    let workspace = gated("true", "");
    let text = workspace.read(".loa.config.yaml");
    workspace.write("audit.sh", "echo audit >> ran; echo '#' >> audit.sh\n");
    workspace.config(&text.replace("audit: { command: 'true' }", "audit: { command: [sh, audit.sh] }"));
    workspace
        .loa(&["run"])
        .exits(2)
        .says(&["audit: gate script changed since the start: audit.sh; what the gate said"]);
}

#[test]
fn who_is_asked_about_a_changed_gate_reads_what_changed_and_no_secret() {
    let evil = "printf 'echo gate >> ran\\nexit 0 # hunter2hunter2\\n' > gate.sh; echo changed > tests/one; ln -sf /nowhere tests/two";
    let workspace = gated(evil, &format!("  protects: [tests/**, gate.sh]\n  redact: [MINE]\n{TOLD}"));
    let mut run = workspace.command(&["run"]);
    run.env("MINE", "hunter2hunter2");
    let ran = finished(run).exits(2);
    let asked = "design: gate script changed since the start: gate.sh; protected files changed since the start: tests/one, tests/two;";
    assert!(ran.stderr.contains(asked), "each is named once: {}", ran.stderr);
    let told = workspace.read("../told");
    for part in [
        "What changed in gate.sh:\n@@ -1 +1,2 @@\n echo gate >> ran\n+exit 0 # [REDACTED",
        "What changed in tests/one:\n@@ -1 +1 @@\n-one\n+changed\n",
        "What changed in tests/two:\n@@ -1 +1 @@\n-two\n+a link to /nowhere\n",
    ] {
        assert!(told.contains(part), "{part}:\n{told}");
    }
    assert!(!told.contains("hunter2"), "{told}");
    assert_eq!(told.matches("What changed in gate.sh").count(), 1, "a script that is protected besides: {told}");
    assert!(
        told.find("What changed in").expect("shown") < told.find("Where: ").expect("told"),
        "it comes first: {told}"
    );
    // A call about something else shows none.
    let workspace = gated("exit 2", TOLD);
    workspace.loa(&["run"]).exits(2);
    assert!(!workspace.read("../told").contains("What changed in"));
}
