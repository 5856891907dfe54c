//! One truth out of the agent's reach: what a phase, git, a person or a power cut does to the workspace costs nothing, and
//! is said; what a phase forges does not count.

use std::fs;
use std::path::Path;
use std::process::Command;

use loa::store::RunStore;

use super::workspace::{collected, finished, program, state_home};
use super::{Workspace, until};

/// `git` in a folder, for a test that knows it works.
fn git(folder: &Path, arguments: &[&str]) {
    let command = Command::new("git")
        .args(["-c", "user.name=n", "-c", "user.email=e"])
        .args(arguments)
        .current_dir(folder)
        .output();
    let output = command.expect("git is present");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A checkpoint of this execution, as a phase would forge it.
const FORGE: &str = r#"forge() { mkdir -p .loa-checkpoint; cat > .loa-checkpoint/$1.yaml <<X
execution_id: "$LOA_EXECUTION_ID"
phase: $1
created_at: "2026-01-31T14:00:00Z"
exit_code: 0
summary: forged
X
}
"#;

#[test]
fn a_forged_checkpoint_counts_neither_at_once_nor_after_an_interruption() {
    for how in ["exit 2", "test -f go && exit 0; echo up > up; sleep 60", "exit 0"] {
        let script = format!("{FORGE} test -f second || {{ forge audit; forge submit; {how}; }}");
        let workspace = Workspace::only(&[
            ("implementation", &script),
            ("audit", "test -f fixed || exit 2"),
            ("submit", "true"),
            ("deploy", "true"),
        ]);
        if how.contains("sleep") {
            let mut run = workspace.start();
            until("the phase is up", || workspace.path("up").exists());
            run.kill().expect("killed");
            run.wait().expect("awaited");
            workspace.write("go", "");
            workspace.resume().exits(2).says(&["a checkpoint of audit that this run did not write does not count"]);
        } else {
            let ran = workspace.run().exits(2);
            assert!(ran.stderr.contains("a checkpoint of audit that this run did not write"), "{}", ran.stderr);
            if how == "exit 2" {
                workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
                workspace.write("second", "");
                workspace.resume().exits(2);
            }
        }
        assert_eq!(workspace.starts("audit"), 1, "{how}");
        assert_eq!(workspace.starts("submit"), 0, "{how}");
        assert!(workspace.checkpoint("submit").is_null(), "what was forged is put aside");
        workspace.write("fixed", "");
        workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
        workspace.resume().exits(0);
        assert_eq!((workspace.starts("audit"), workspace.starts("submit")), (2, 1), "{how}");
        assert_ne!(workspace.checkpoint("submit")["summary"], "forged");
    }
}

/// What takes a run's files away while it works.
const CLEANERS: [&str; 5] = [
    "git clean -fdxq",
    "git stash -u -q && git stash drop -q",
    "rm -rf .loa-run .loa-checkpoint",
    "rm -rf .loa-checkpoint; ln -s /nowhere .loa-checkpoint; rm .loa-checkpoint",
    "git add -A -f . && git -c user.name=n -c user.email=e commit -qm all && git checkout -q -f other && git clean -fdxq",
];

/// A repository in which the cleaners have something to clean.
fn repository(scripts: &[(&str, &str)]) -> Workspace {
    let workspace = Workspace::only(scripts);
    let folder = workspace.path("");
    git(&folder, &["init", "-q"]);
    workspace.write(".gitignore", ".loa-run/\n");
    git(&folder, &["add", "plan.json", ".loa.config.yaml", ".gitignore"]);
    git(&folder, &["commit", "-qm", "first"]);
    git(&folder, &["branch", "other"]);
    workspace
}

#[test]
fn what_cleans_the_workspace_in_any_phase_costs_nothing_and_is_said() {
    for cleaner in CLEANERS {
        for cleaned in ["discovery", "design", "submit"] {
            let told = "echo ${LOA_PHASE} >> ../told";
            let phases = ["preflight", "discovery", "design", "submit"].map(|phase| {
                let script = if phase == cleaned { format!("{cleaner}\n{told}") } else { told.to_owned() };
                (phase, script)
            });
            let phases: Vec<(&str, &str)> = phases.iter().map(|(phase, script)| (*phase, script.as_str())).collect();
            let workspace = repository(&phases);
            let ran = workspace.run().exits(0);
            assert!(ran.stderr.contains("is written again"), "{cleaner} in {cleaned}:\n{}", ran.stderr);
            assert_eq!(workspace.read("../told"), "preflight\ndiscovery\ndesign\nsubmit\n", "{cleaner} in {cleaned}");
            for (phase, _) in &phases {
                assert_eq!(workspace.checkpoint(phase)["exit_code"], 0, "{cleaner} in {cleaned}: {phase}");
            }
            workspace.resume().exits(0);
            assert_eq!(workspace.read("../told").lines().count(), 4, "nothing ran twice");
        }
    }
}

#[test]
fn what_a_command_hands_over_before_and_after_it_cleans_the_workspace_is_taken() {
    let result = r#"echo '{"summary": "handed over"}' > "$LOA_RESULT_FILE""#;
    for cleaner in CLEANERS {
        for script in [format!("{cleaner}\n{result}"), format!("{result}\n{cleaner}")] {
            let workspace = repository(&[("design", &script), ("submit", "true")]);
            workspace.run().exits(0);
            assert_eq!(workspace.checkpoint("design")["summary"], "handed over", "{script}");
        }
    }
}

#[test]
fn a_lock_that_is_taken_away_under_a_live_run_is_made_again_and_a_state_that_is_taken_away_is_named() {
    let workspace =
        Workspace::only(&[("design", "touch ../up; until test -f ../go; do sleep 0.01; done"), ("submit", "true")]);
    let run = workspace.start();
    until("the phase is up", || workspace.path("../up").exists());
    let lock = workspace.store().place().folder().join("lock");
    fs::remove_file(&lock).expect("removed");
    let who = format!("process {}", run.id());
    workspace.loa(&["resume"]).exits(1).says(&[&who]);
    workspace.write("../go", "");
    collected(run).exits(0);
    assert_eq!(workspace.ran(), ["design", "submit"]);
    let workspace = Workspace::only(&[("design", "mv \"$XDG_STATE_HOME\" ../gone"), ("submit", "true")]);
    workspace.without_boundary();
    workspace.run().exits(74).says(&["somebody removed it while a run worked here"]);
    assert_eq!(workspace.ran(), ["design"]);
}

#[test]
fn an_error_at_the_beginning_of_a_session_is_its_last_event() {
    let workspace = Workspace::only(&[("design", "test -f go || exit 2")]);
    workspace.run().exits(2);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.config("memory_schema: { enabled: true }\n");
    fs::create_dir_all(workspace.path("grimoires/loa")).expect("made");
    // A folder of memories that is a file: found out when the session has begun.
    workspace.write("grimoires/loa/memory", "");
    let failed = workspace.loa(&["resume", "--config", "new"]);
    assert_ne!(failed.code, Some(0), "{}", failed.stderr);
    let told = workspace.events();
    assert_eq!(told.last().map(String::as_str), Some("session_ended"), "{told:?}\n{}", failed.stderr);
    let next = workspace.loa(&["resume", "--set", "memory_schema.enabled=false"]);
    assert!(!next.stderr.contains("died"), "{}", next.stderr);
}

#[test]
fn what_cleans_the_workspace_between_two_sessions_costs_nothing() {
    for cleaner in CLEANERS {
        let workspace = repository(&[
            ("discovery", "echo discovery >> ../told"),
            ("design", "echo design >> ../told; test -f ../go || exit 2"),
            ("submit", "echo submit >> ../told"),
        ]);
        workspace.run().exits(2);
        let cleaned = Command::new("sh").args(["-c", cleaner]).current_dir(workspace.path("")).status();
        assert!(cleaned.expect("sh").success(), "{cleaner}");
        let status = workspace.loa(&["status"]).exits(2).stdout;
        assert!(status.contains("escalated") && status.contains("waits for an answer"), "{cleaner}: {status}");
        workspace.write("../go", "");
        workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
        assert_eq!(workspace.reports().len(), 1, "{cleaner}: the report is back");
        workspace.resume().exits(0);
        assert_eq!(workspace.read("../told"), "discovery\ndesign\ndesign\nsubmit\n", "{cleaner}");
    }
}

#[test]
fn a_clean_in_a_live_run_lets_no_second_one_in() {
    let workspace = repository(&[("design", "git clean -fdxq; touch ../up; until test -f ../go; do sleep 0.01; done")]);
    let run = workspace.start();
    until("the phase is up", || workspace.path("../up").exists());
    let who = format!("process {}", run.id());
    for arguments in [&["run", "--plan", "plan.json"][..], &["run", "--plan", "plan.json", "--fresh"], &["resume"]] {
        workspace.loa(arguments).exits(1).says(&[&who]);
    }
    // With a state of its own, too: the workspace itself is locked.
    let mut elsewhere = workspace.command(&["run", "--plan", "plan.json"]);
    elsewhere.env("LOA_RUN_STATE", workspace.path("../elsewhere"));
    finished(elsewhere).exits(1).says(&["is held by"]);
    workspace.write("../go", "");
    collected(run).exits(0);
}

#[test]
fn a_phase_cannot_take_over_its_own_run() {
    let script = format!(
        "rm -rf .loa-run/lock; for verb in 'resume' 'run --fresh --plan plan.json' 'resolve fix_and_resume' 'resume --adopt'; do \
         {} $verb >> ../tried 2>&1; echo $? >> ../codes; done; exit 2",
        env!("CARGO_BIN_EXE_loa-run")
    );
    let workspace = Workspace::new(&[("submit", &script)]);
    workspace.without_boundary();
    workspace.config("autonomous_agent: { require_human_deploy_approval: true }\n");
    workspace.run().exits(2);
    assert_eq!(workspace.read("../codes"), "1\n1\n1\n1\n", "{}", workspace.read("../tried"));
    assert_eq!(workspace.starts("deploy"), 0);
    let sessions = workspace.record()["sessions"].as_sequence().expect("a list").len();
    assert_eq!(sessions, 1);
}

#[test]
fn junk_in_a_later_checkpoint_locks_nothing() {
    for junk in ["phase: quality\n", "", "\u{0}\u{0}", "- a\n", "execution_id: x\nphase: deploy\n"] {
        let workspace = Workspace::new(&[("design", "test -f fixed || exit 2")]);
        workspace.run().exits(2);
        workspace.write(".loa-checkpoint/deploy.yaml", junk);
        workspace.loa(&["status"]).exits(2);
        workspace.loa(&["state"]).exits(0);
        workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
        workspace.write("fixed", "");
        workspace.resume().exits(0).says(&["deploy", "put aside"]);
        assert_eq!(workspace.checkpoint("deploy")["exit_code"], 0);
        assert_eq!(workspace.read(".loa-run/archive/ignored/deploy.1.yaml"), junk, "nothing is deleted");
    }
}

#[test]
fn what_a_power_cut_tears_in_the_workspace_is_written_again() {
    let workspace = Workspace::only(&[("discovery", "true"), ("design", "test -f go || exit 2"), ("submit", "true")]);
    workspace.run().exits(2);
    let whole = workspace.read(".loa-checkpoint/discovery.yaml");
    let context = workspace.read(".loa-checkpoint/context-state.yaml");
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    for cut in [0, 1, whole.len() / 2, whole.len() - 1] {
        workspace.write(".loa-checkpoint/discovery.yaml", &whole[..cut]);
        workspace.write(".loa-checkpoint/context-state.yaml", &context[..cut.min(context.len() / 2)]);
        workspace
            .resume()
            .exits(2)
            .says(&["checkpoint of discovery is written again", "context-state.yaml is written again"]);
        assert_eq!(workspace.read(".loa-checkpoint/discovery.yaml"), whole);
        workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    }
    workspace.write("go", "");
    workspace.resume().exits(0);
    assert_eq!(workspace.starts("discovery"), 1);
}

#[test]
fn a_valid_change_is_undone_and_an_adopted_one_counts() {
    let stopped = || {
        let workspace = Workspace::only(&[
            ("discovery", "true"),
            ("design", "true"),
            ("submit", "test -f go || exit 2"),
            ("deploy", "true"),
        ]);
        workspace.run().exits(2);
        workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
        workspace.write("go", "");
        let failed = workspace.read(".loa-checkpoint/design.yaml").replace("exit_code: 0", "exit_code: 1");
        workspace.write(".loa-checkpoint/design.yaml", &failed);
        workspace
    };
    let workspace = stopped();
    workspace.resume().exits(0).says(&["checkpoint of design is written again: its content was changed"]);
    assert_eq!((workspace.starts("design"), &workspace.checkpoint("design")["exit_code"]), (1, &0.into()));
    let workspace = stopped();
    let forged = workspace.read(".loa-checkpoint/discovery.yaml").replace("'discovery'", "'deploy'");
    workspace.write(".loa-checkpoint/deploy.yaml", &forged);
    workspace.loa(&["resume", "--adopt"]).exits(0).says(&["the checkpoint of design counts as it is on disk"]);
    assert_eq!((workspace.starts("design"), workspace.starts("discovery")), (2, 1));
    assert_eq!(workspace.starts("deploy"), 1, "what nobody concluded is not adopted");
    workspace.loa(&["resume", "--adopt", "--restore"]).exits(64);
}

#[test]
fn a_workspace_that_was_moved_goes_on_and_a_copy_does_not() {
    let workspace = Workspace::only(&[("discovery", "true"), ("design", "test -f go || exit 2")]);
    workspace.run().exits(2);
    let (here, state) = (workspace.path(""), state_home(&workspace.path("")));
    let [copy, moved] = ["copy", "moved"].map(|name| here.with_file_name(name));
    assert!(Command::new("cp").arg("-a").args([&here, &copy]).status().expect("cp").success());
    let loa = |folder: &Path, arguments: &[&str]| {
        let mut command = program(Path::new(env!("CARGO_BIN_EXE_loa-run")), folder, arguments);
        finished({
            command.env("XDG_STATE_HOME", &state);
            command
        })
    };
    loa(&copy, &["resume", "--plan", "plan.json"]).exits(2).says(&["did not write", "discovery done, design failed"]);
    loa(&copy, &["resolve", "fix_and_resume"]).exits(66);
    loa(&here, &["resolve", "fix_and_resume"]).exits(0);
    fs::rename(&here, &moved).expect("moved");
    fs::write(moved.join("go"), "").expect("written");
    fs::write(copy.join("go"), "").expect("written");
    loa(&moved, &["resume"]).exits(0).says(&["the workspace was moved here from"]);
    assert_eq!(fs::read_to_string(moved.join("ran")).expect("there"), "discovery\ndesign\ndesign\n");
    loa(&copy, &["resume", "--plan", "plan.json", "--adopt"]).exits(0);
    assert_eq!(fs::read_to_string(copy.join("ran")).expect("there"), "discovery\ndesign\ndesign\n");
    // And with the state gone, nobody's journal is mixed up with another's.
    fs::remove_dir_all(&state).expect("removed");
    loa(&moved, &["resume", "--plan", "plan.json"]).exits(2).says(&["--adopt"]);
}

#[test]
fn the_state_is_private_and_the_workspace_holds_only_copies() {
    use std::os::unix::fs::PermissionsExt;
    let workspace = Workspace::only(&[("design", "echo hello")]);
    workspace.run().exits(0);
    let mut folders = vec![workspace.store().place().base().to_path_buf()];
    while let Some(folder) = folders.pop() {
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for entry in fs::read_dir(&folder).expect("listed").map(|entry| entry.expect("listed").path()) {
            if entry.is_dir() { folders.push(entry) } else { assert_eq!(mode(&entry), 0o600, "{}", entry.display()) }
        }
    }
    let id = workspace.checkpoint("design")["execution_id"].as_str().expect("an id").to_owned();
    let runs: serde_json::Value =
        serde_json::from_str(&workspace.loa(&["runs", "--json"]).exits(0).stdout).expect("JSON");
    assert_eq!(runs["runs"][0]["execution_id"], id.as_str());
    fs::remove_dir_all(workspace.path(".loa-run")).expect("removed");
    assert_eq!(workspace.loa(&["logs", "design"]).exits(0).stdout, "hello\n");
    workspace.loa(&["report"]).exits(0);
}

#[test]
fn executions_that_are_over_are_listed_and_pruned() {
    let workspace = Workspace::only(&[("design", "true")]);
    for _ in 0..4 {
        workspace.run().exits(0);
    }
    let listed = |arguments: &[&str], key: &str| {
        let text = workspace.loa(arguments).exits(0).stdout;
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        value[key].as_array().expect("a list").clone()
    };
    let all = listed(&["runs", "--json"], "runs");
    assert_eq!((all.len(), &all[3]["present"], &all[0]["status"]), (4, &true.into(), &"completed".into()));
    assert_eq!(listed(&["prune", "--keep", "2", "--dry-run", "--json"], "removed").len(), 2);
    assert_eq!(listed(&["runs", "--json"], "runs").len(), 4);
    workspace.loa(&["prune"]).exits(64).says(&["--older-than", "--keep"]);
    let put_aside = || fs::read_dir(workspace.path(".loa-run/archive")).expect("listed").count();
    assert_eq!(put_aside(), 3);
    assert_eq!(listed(&["prune", "--keep", "2", "--json"], "removed"), all[..2].to_vec());
    assert_eq!(put_aside(), 1, "what was put aside of an execution goes with it");
    assert_eq!(listed(&["prune", "--keep", "0", "--json"], "removed").len(), 1, "the present one stays");
    assert!(listed(&["prune", "--older-than", "1", "--json"], "removed").is_empty());
    workspace.resume().exits(0);
}

#[test]
fn an_execution_that_was_begun_and_never_became_the_present_one_is_told_as_never_started() {
    let workspace = Workspace::only(&[("design", "true")]);
    workspace.run().exits(0);
    let first = workspace.checkpoint("design")["execution_id"].as_str().expect("an id").to_owned();
    let journal = workspace.journal();
    workspace.run().exits(0);
    assert!(!workspace.loa(&["runs"]).exits(0).stdout.contains("never started"));
    // What a start leaves that dies before it names itself the present one.
    let text = fs::read_to_string(&journal).expect("readable");
    fs::write(&journal, &text[..=text.find('\n').expect("a line")]).expect("written");
    assert_eq!(workspace.loa(&["runs"]).exits(0).stdout.matches("never started").count(), 1);
    let runs: serde_json::Value =
        serde_json::from_str(&workspace.loa(&["runs", "--json"]).exits(0).stdout).expect("JSON");
    let told = |number: usize| {
        (runs["runs"][number]["execution_id"].as_str(), runs["runs"][number]["never_started"].as_bool())
    };
    assert_eq!((told(0), told(1).1), ((Some(&*first), Some(true)), Some(false)));
}

#[test]
fn a_resume_waits_for_an_owner_that_is_dying_and_for_no_other() {
    let script = "trap 'sleep 0.7; exit 0' TERM; echo $$ > up; while :; do sleep 0.01; done";
    let workspace = Workspace::only(&[("design", &format!("test -f go && exit 0; {script}"))]);
    let run = workspace.start();
    until("the phase is up", || !workspace.read("up").is_empty());
    workspace.resume().exits(1).says(&["is held by process"]);
    workspace.write("go", "");
    Command::new("kill").args(["-INT", &run.id().to_string()]).status().expect("kill runs");
    // It ends its stage now, which takes a while; whoever asks in between waits for it.
    let dying =
        || fs::read_to_string(workspace.store().place().folder().join("lock")).is_ok_and(|it| it.contains("ending"));
    let gone = || workspace.store().holder().expect("readable").is_none();
    until("it says that it is ending", || dying() || gone());
    workspace.resume().exits(0);
    collected(run).exits(130);
    assert_eq!(workspace.starts("design"), 2);
}

#[test]
fn an_owner_that_was_superseded_appends_nothing_ends_its_stage_and_leaves() {
    let workspace = Workspace::only(&[("design", "test -f ../go && exit 0; echo $$ > ../up; sleep 60")]);
    workspace.without_boundary();
    let run = workspace.start();
    until("the phase is up", || !workspace.read("../up").is_empty());
    let journal = workspace.journal();
    let before = fs::read(&journal).expect("readable");
    // Its witnesses are taken away one by one: the folder is another one now, the lock's file is gone.
    let here = workspace.path("");
    let aside = here.with_file_name("aside");
    fs::remove_file(workspace.store().place().folder().join("lock")).expect("removed");
    fs::rename(&here, &aside).expect("moved");
    assert!(Command::new("cp").arg("-a").args([&aside, &here]).status().expect("cp").success());
    fs::remove_dir_all(&aside).expect("removed");
    workspace.write("../go", "");
    workspace.resume().exits(0);
    let after = fs::read(&journal).expect("readable");
    assert!(after.starts_with(&before), "what was acknowledged stays");
    // The old one notices with its next event that it is no longer the owner.
    Command::new("kill").args(["-INT", &run.id().to_string()]).status().expect("kill runs");
    let old = collected(run);
    assert_eq!(old.code, Some(1), "{}", old.stderr);
    assert!(old.stderr.contains("another process has taken over"), "{}", old.stderr);
    assert_eq!(fs::read(&journal).expect("readable"), after, "it appended nothing");
    assert!(!super::exits::alive(workspace.read("../up").trim()), "its stage is ended");
    workspace.resume().exits(0);
}

#[test]
fn two_first_starts_at_once_are_one_run() {
    for round in 0..12 {
        let workspace = Workspace::only(&[("design", "true")]);
        let both = [workspace.start(), workspace.start()].map(collected);
        let mut codes = both.each_ref().map(|ran| ran.code.unwrap_or(-1));
        codes.sort_unstable();
        // The later one finds it done and begins another, finds it held, or finds it unfinished.
        assert!(codes[0] == 0 && [0, 1, 2].contains(&codes[1]), "{round}: {both:?}");
        let finished = workspace.recorded().expect("an execution").state;
        assert_eq!(finished.status, loa::events::RunStatus::Completed, "{round}");
        let states = fs::read_dir(workspace.store().place().base()).expect("listed").count();
        assert_eq!(states, 1, "one workspace has one state");
    }
}

#[test]
fn what_names_the_present_execution_may_be_lost_and_strangers_beside_the_state_lock_nobody_out() {
    let workspace = Workspace::only(&[("discovery", "true"), ("design", "test -f go || exit 2")]);
    workspace.run().exits(2);
    let folder = workspace.store().place().folder();
    for content in [None, Some("")] {
        match content {
            None => fs::remove_file(folder.join("current")).expect("removed"),
            Some(text) => fs::write(folder.join("current"), text).expect("emptied"),
        }
        assert!(workspace.loa(&["status"]).exits(2).stdout.contains("escalated"));
    }
    let base = workspace.store().place().base().to_path_buf();
    fs::write(base.join(".DS_Store"), "").expect("written");
    fs::create_dir(base.join("newer")).expect("made");
    fs::write(base.join("newer/workspace.json"), r#"{"version":9}"#).expect("written");
    fs::remove_dir_all(workspace.path(".loa-run")).expect("removed");
    workspace.write("go", "");
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.resume().exits(0);
    assert_eq!(workspace.ran(), ["discovery", "design", "design"]);
}

#[test]
fn a_journal_that_is_adopted_over_is_kept() {
    let workspace = Workspace::only(&[("discovery", "true"), ("design", "test -f go || exit 2")]);
    workspace.run().exits(2);
    let journal = workspace.journal();
    let text = fs::read_to_string(&journal).expect("readable");
    let folder = journal.parent().expect("a folder").to_path_buf();
    fs::write(&journal, text.replacen("\"design\"", "\"audit\"", 1)).expect("edited");
    workspace.loa(&["resume", "--adopt"]).exits(78).says(&["journal.jsonl:1"]);
    fs::rename(&journal, folder.join("aside.jsonl")).expect("moved");
    workspace.write("go", "");
    workspace.loa(&["resume", "--plan", "plan.json"]).exits(2).says(&["--adopt"]);
    workspace.loa(&["resume", "--plan", "plan.json", "--adopt"]).exits(0);
    assert_eq!(workspace.ran(), ["discovery", "design", "design"]);
}

#[test]
fn a_pipe_a_folder_or_a_link_in_the_place_of_anything_freezes_nothing() {
    let places = [".loa-checkpoint/context-state.yaml", ".loa-checkpoint/operator-type.yaml", ".loa-run/lock"];
    for place in places {
        for make in ["mkfifo", "mkdir", "ln -s /dev/zero"] {
            let script = format!("rm -rf {place}; {make} {place}");
            let workspace = Workspace::only(&[("design", &script), ("submit", &script)]);
            workspace.run().exits(0);
            workspace.loa(&["status"]).exits(0);
            workspace.resume().exits(0);
            workspace.run().exits(0);
            assert!(!workspace.checkpoint("submit").is_null(), "{make} {place}");
        }
    }
    for place in [".loa-run", ".loa-run/logs", ".loa-run/archive", ".loa-checkpoint/escalations"] {
        for make in ["mkfifo", "touch", "ln -s /tmp"] {
            let script = format!("echo said; rm -rf {place}; mkdir -p .loa-run; rmdir .loa-run; {make} {place}");
            let workspace = Workspace::only(&[("design", &script), ("audit", "echo said"), ("submit", "exit 2")]);
            workspace.run().exits(2);
            workspace.loa(&["status"]).exits(2);
            assert_eq!(workspace.reports().len(), 1, "{make} {place}");
            let report = &workspace.reports()[0];
            assert_eq!(report["phase"], "submit", "{make} {place}");
            workspace.loa(&["resolve", "skip_phase"]).exits(0);
            workspace.resume().exits(0);
            assert_eq!(workspace.ran(), ["design", "audit", "submit"], "{make} {place}");
        }
    }
    let report = "mkdir -p .loa-checkpoint/escalations/$LOA_EXECUTION_ID-1.md/x .loa-checkpoint/escalations/$LOA_EXECUTION_ID-1.yaml";
    let workspace = Workspace::only(&[("design", &format!("{report}; exit 2"))]);
    workspace.run().exits(2).says(&["A human is needed", "is put aside"]);
    assert_eq!(workspace.report()["phase"], "design");
    for make in ["mkfifo", "touch", "ln -s /nowhere"] {
        let script = format!("rm -rf .loa-checkpoint; {make} .loa-checkpoint");
        let workspace = Workspace::only(&[("design", &script), ("submit", "test -f go || exit 2")]);
        workspace.run().exits(2);
        assert_eq!(workspace.checkpoint("design")["exit_code"], 0, "{make}");
        workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
        let there = workspace.path(".loa-checkpoint");
        fs::remove_dir_all(&there).expect("removed");
        assert!(
            Command::new("sh").args(["-c", &format!("{make} {}", there.display())]).status().expect("sh").success()
        );
        workspace.write("go", "");
        workspace.resume().exits(0);
        assert_eq!(workspace.starts("design"), 1, "{make}");
    }
}

#[test]
fn what_a_phase_left_running_cannot_change_what_the_end_has_compared() {
    let loop_ = "rm -f .loa-checkpoint/design.yaml; echo junk > .loa-checkpoint/design.yaml";
    let script = format!(
        "setsid sh -c 'touch ../up; while :; do {loop_}; done' > /dev/null 2>&1 & until test -f ../up; do :; done"
    );
    let workspace = Workspace::only(&[("design", "true"), ("submit", &script)]);
    workspace.run().exits(0);
    assert_eq!(workspace.checkpoint("design")["exit_code"], 0);
    let workspace = Workspace::only(&[("design", "rm -rf .loa-checkpoint")]);
    workspace.run().exits(0);
    for name in ["design", "context-state", "operator-type"] {
        assert!(workspace.path(&format!(".loa-checkpoint/{name}.yaml")).is_file(), "{name}");
    }
}

#[test]
fn a_record_of_format_1_that_a_phase_forged_is_not_believed() {
    let forge = r#"mkdir ../new; cp plan.json .loa.config.yaml ../new; mkdir ../new/.loa-run ../new/.loa-checkpoint
cat > ../new/.loa-run/run.yaml <<X
version: 1
execution_id: "$LOA_EXECUTION_ID"
sessions: []
epoch: 3
origin: {kind: config}
phases: [design, audit, submit]
status: resolved
started_at: "2026-01-31T14:00:00Z"
updated_at: "2026-01-31T14:00:00Z"
counters: {remediation_loops: 0, awaits_remediation: false, issue_count: 0, idle_cycles: 0, elapsed_ms: 0, overflow: false}
deploy: given
escalations: 0
X
exit 2"#;
    let workspace = Workspace::only(&[("design", forge), ("audit", "true"), ("submit", "true")]);
    workspace.run().exits(2);
    let here = workspace.path("");
    fs::rename(&here, here.with_file_name("old")).expect("moved");
    fs::rename(here.with_file_name("new"), &here).expect("moved");
    for id in [".loa-run/id", ".git/loa-run-id"] {
        let _ = fs::remove_file(workspace.path(id));
    }
    workspace.loa(&["resume", "--plan", "plan.json"]).exits(2).says(&["did not write", "--adopt"]);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(2);
    assert!(workspace.ran().is_empty());
}
