//! The artifacts of phases that do not name them (Checkpoint Schema: `artifacts`).

use std::process::Command;

use super::{Workspace, until};

fn git(workspace: &Workspace, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=n", "-c", "user.email=e", "-c", "init.defaultBranch=main"]).args(arguments);
    let ran = command.current_dir(workspace.path("")).output().expect("git starts");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// Path, action and size of each artifact of a phase.
fn artifacts(workspace: &Workspace, phase: &str) -> Vec<(String, String, Option<u64>)> {
    let checkpoint = workspace.checkpoint(phase);
    let listed = checkpoint["artifacts"].as_sequence().cloned().unwrap_or_default();
    let word = |value: &serde_yaml_archived::Value| value.as_str().expect("a text").to_owned();
    listed.iter().map(|one| (word(&one["path"]), word(&one["action"]), one["size_bytes"].as_u64())).collect()
}

fn row(path: &str, action: &str, size: Option<u64>) -> (String, String, Option<u64>) {
    (path.to_owned(), action.to_owned(), size)
}

#[test]
fn what_a_phase_did_to_the_files_stands_in_its_checkpoint_also_when_it_committed_it() {
    let work = "printf new > 'a name'\nprintf more >> edited\nrm gone\nmkdir deep\nprintf '%s' deeper > \"deep/two\nlines\"\nprintf x > built.o\nln -s /etc/passwd link\n";
    let commit = "git mv moved there\ngit add -A\ngit -c user.name=n -c user.email=e commit -qm work\n";
    let workspace = Workspace::only(&[
        ("discovery", "true"),
        ("design", &format!("{work}{commit}")),
        ("submit", "printf s > sent"),
    ]);
    for (name, text) in [(".gitignore", "*.o\n"), ("edited", "one"), ("gone", "g"), ("moved", "m"), ("ran", "")] {
        workspace.write(name, text);
    }
    git(&workspace, &["init", "-q"]);
    git(&workspace, &["add", "-A"]);
    git(&workspace, &["commit", "-qm", "before"]);
    workspace.run().exits(0);
    assert_eq!(artifacts(&workspace, "discovery"), [row("ran", "modified", Some(10))]);
    let expected = [
        row("a name", "created", Some(3)),
        row("deep/two\nlines", "created", Some(6)),
        row("edited", "modified", Some(7)),
        row("gone", "deleted", None),
        row("moved", "deleted", None),
        row("ran", "modified", Some(17)),
        row("there", "created", Some(1)),
    ];
    assert_eq!(artifacts(&workspace, "design"), expected);
    let expected = [row("ran", "modified", Some(24)), row("sent", "created", Some(1))];
    assert_eq!(artifacts(&workspace, "submit"), expected, "only its own");
}

#[test]
fn a_phase_that_names_its_artifacts_is_believed_and_nobody_else_looks_where_that_is_not_wanted() {
    let says = r#"touch made; echo '{"artifacts":[{"path":"other","action":"created"}]}' > $LOA_RESULT_FILE"#;
    let workspace = Workspace::only(&[("design", says), ("submit", "touch sent; exit 2")]);
    workspace.run().exits(2);
    assert_eq!(artifacts(&workspace, "design"), [row("other", "created", None)]);
    let expected = [row("ran", "modified", Some(14)), row("sent", "created", Some(0))];
    assert_eq!(artifacts(&workspace, "submit"), expected, "a failed phase too, without a repository too");
    workspace.loa(&["run", "--plan", "plan.json", "--fresh", "--set", "runtime.find_artifacts=false"]).exits(2);
    assert_eq!(artifacts(&workspace, "submit"), []);
}

#[test]
fn what_a_phase_did_before_its_run_was_killed_counts() {
    let slow = "test -f go && exit 0; printf one > early; echo up > up; sleep 60";
    let workspace = Workspace::only(&[("design", slow)]);
    workspace.write("ran", "");
    let mut run = workspace.start();
    until("the phase is up", || !workspace.read("up").is_empty());
    run.kill().expect("killed");
    run.wait().expect("awaited");
    workspace.write("go", "");
    workspace.resume().exits(0);
    let found = artifacts(&workspace, "design");
    assert!(found.iter().any(|one| one.0 == "early"), "{found:?}");
    assert!(found.iter().any(|one| *one == row("ran", "modified", Some(14))), "{found:?}");
    assert!(!found.iter().any(|one| one.0 == "plan.json"), "{found:?}");
}

#[test]
fn files_beyond_those_that_a_checkpoint_names_are_counted() {
    let workspace = Workspace::only(&[("design", "for n in $(seq 205); do : > file-$n; done")]);
    workspace.write("ran", "");
    workspace.run().exits(0).says(&["design: it changed 206 files; its checkpoint names the first 200"]);
    assert_eq!(artifacts(&workspace, "design").len(), 200);
    workspace.loa(&["report"]).exits(0);
    assert!(workspace.read(".loa-run/report.html").contains("its checkpoint names the first 200"));
}
