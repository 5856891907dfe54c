//! Attacks on the state of the run: its journal, its lock, its questions, and what is copied from it into the workspace.

use std::fs;

use super::{Stand, attacks, loa, run};
use crate::run::workspace::until;

const STATE: &str = r#"s="$XDG_STATE_HOME/loa-run""#;

attacks! {
    a_phase_that_answers_for_a_human_gets_nowhere:
        "A phase removes the lock in the workspace, answers the approval of a deployment and resumes", Some(true), Some(true),
        |stand| {
            let tries = "rm -f .loa-run/lock; $RUNNER resume; $RUNNER resolve fix_and_resume; $RUNNER resume; true";
            let workspace = stand.workspace(&[("design", tries), ("deploy", "echo > deployed")]);
            run(&workspace).exits(2);
            !workspace.path("deployed").exists()
        };
    a_daemon_that_kills_runner_and_guard_and_answers_gets_nowhere:
        "A daemon without an environment kills runner and guard, answers the approval of a deployment and resumes",
        Some(true), Some(false), killed_and_answered;
    an_answer_from_outside_is_marked_where_phases_could_give_it:
        "A phase can answer in the place of a human, who cannot tell (an answer is then marked `unguarded`)",
        Some(true), Some(false),
        |stand| {
            let workspace = stand.workspace(&[("design", "exit 2"), ("submit", "true")]);
            run(&workspace).exits(2);
            loa(&workspace, &["resolve", "fix_and_resume"]).exits(0);
            let status = loa(&workspace, &["status"]).stdout;
            assert_eq!(status.contains("  boundary: none"), stand == Stand::Without, "{status}");
            !status.contains("(unguarded")
        };
    a_weaker_configuration_is_not_taken:
        "A phase rewrites the configuration: no audit, no approval, no boundary; a human answers its call", Some(true), Some(true),
        |stand| {
            let weaker = "autonomous_agent: { require_human_deploy_approval: false }\\nruntime: { boundary: { mode: off }, phases: { audit: { skip: true } } }";
            let script = format!("test -e again && exit 0; echo > again; printf '{weaker}' > .loa.config.yaml; exit 2");
            let workspace = stand.workspace(&[("implementation", &script), ("audit", "true"), ("deploy", "echo > deployed")]);
            run(&workspace).exits(2);
            loa(&workspace, &["resolve", "fix_and_resume"]).exits(0);
            loa(&workspace, &["resume"]).exits(2);
            workspace.starts("audit") == 1 && !workspace.path("deployed").exists()
        };
    a_forged_checkpoint_does_not_count:
        "A phase writes the checkpoints of later ones, and a human answers its call", Some(true), Some(true),
        |stand| {
            let forged = "test -e again && exit 0; echo > again; for p in audit submit; do printf \"execution_id: $LOA_EXECUTION_ID\\nphase: $p\\ncreated_at: '2026-01-01T00:00:00Z'\\nexit_code: 0\\nsummary: done\\n\" > .loa-checkpoint/$p.yaml; done; exit 2";
            let workspace = stand.workspace(&[("implementation", forged), ("audit", "true"), ("submit", "true")]);
            run(&workspace).exits(2);
            loa(&workspace, &["resolve", "fix_and_resume"]).exits(0);
            if loa(&workspace, &["resume"]).code != Some(0) {
                loa(&workspace, &["resume", "--restore"]).exits(0);
            }
            (workspace.starts("audit"), workspace.starts("submit")) == (1, 1)
        };
    a_cleaned_workspace_is_still_owned:
        "A phase cleans the repository (`git clean -fdxq`); meanwhile another run is begun", Some(true), Some(true),
        |stand| {
            let script = "git init -q . 2>/dev/null; git clean -fdxq -e plan.json; $RUNNER run --plan plan.json; echo $? > second";
            let workspace = stand.workspace(&[("design", script), ("submit", "true")]);
            let code = run(&workspace).code;
            let all = ["design", "submit"].iter().all(|phase| workspace.checkpoint(phase)["exit_code"] == 0);
            code == Some(0) && all && workspace.read("second").trim() != "0" && workspace.starts("submit") == 1
        };
    another_state_does_not_make_another_owner:
        "A phase begins another run in the same workspace, with a state folder of its own", Some(true), Some(true),
        |stand| {
            let script = "LOA_RUN_STATE=\"$PWD/../mine\" $RUNNER run --plan plan.json; echo $? > second";
            let workspace = stand.workspace(&[("design", script), ("submit", "true")]);
            run(&workspace).exits(0);
            workspace.read("second").trim() != "0" && workspace.starts("submit") == 1
        };
    the_journal_is_not_read:
        "A phase reads the journal and the logs of this run, and of others", Some(true), Some(false),
        |stand| {
            let script = format!("{STATE}; find \"$s\" -name '*.jsonl' -o -name lock -o -name workspace.json > seen");
            let workspace = stand.workspace(&[("design", "echo something"), ("submit", &script)]);
            run(&workspace).exits(0);
            // What it exchanges with the run is there for it, and nothing else.
            !workspace.read("seen").lines().any(|line| !line.contains("/stages/"))
        };
    the_journal_is_not_written:
        "A phase writes into the journal", Some(true), Some(false),
        |stand| {
            let script = format!("{STATE}; for j in \"$s\"/*/runs/*/journal.jsonl; do test -e \"$j\" && echo junk >> \"$j\"; done; true");
            let workspace = stand.workspace(&[("design", &script), ("submit", "true")]);
            run(&workspace).code == Some(0) && loa(&workspace, &["journal"]).code == Some(0)
        };
    a_removed_state_is_still_there:
        "A phase removes the folder of the state", Some(true), Some(false),
        |stand| {
            let workspace = stand.workspace(&[("design", "rm -rf \"$XDG_STATE_HOME\"; true"), ("submit", "true")]);
            run(&workspace).code == Some(0) && loa(&workspace, &["status"]).code == Some(0)
        };
    what_hides_the_state_is_not_taken_away:
        "A phase unmounts what hides the state, in its own namespace or in one that it makes, or enters another", Some(true), None,
        |stand| {
            let script = format!(
                "{STATE}; look() {{ find \"$s\" -name journal.jsonl >> seen 2>&-; }}; exec 2>&-; look
                 umount -l \"$s\"; look
                 unshare -Urm sh -c 'umount -l \"$0\"; find \"$0\" -name journal.jsonl' \"$s\" >> seen
                 unshare -Urmpf --mount-proc sh -c 'umount -l \"$0\"; find \"$0\" /proc/1/root\"$0\" -name journal.jsonl' \"$s\" >> seen
                 nsenter -t 1 -m find \"$s\" -name journal.jsonl >> seen
                 nsenter -t $$ -U -m umount -l \"$s\"; look
                 mkdir ../other; mount --bind \"$XDG_STATE_HOME\" ../other; unshare -Urm sh -c 'mount --bind \"$0\" ../other; find ../other -name journal.jsonl' \"$XDG_STATE_HOME\" >> seen
                 true"
            );
            let workspace = stand.workspace(&[("design", &script), ("submit", "true")]);
            run(&workspace).exits(0);
            workspace.read("seen").is_empty()
        };
    the_state_has_no_other_name:
        "A phase looks for the state through the folders and descriptors of other processes", Some(true), None,
        |stand| {
            let script = format!("{STATE}; exec 2>&-; for p in /proc/[0-9]*; do find \"$p/root$s\" \"$p/cwd/\" -maxdepth 5 -name journal.jsonl; ls -l $p/fd | grep 'loa-run/'; done > seen; true");
            let workspace = stand.workspace(&[("design", &script), ("submit", "true")]);
            run(&workspace).exits(0);
            !workspace.read("seen").contains("journal.jsonl")
        };
}

fn killed_and_answered(stand: Stand) -> bool {
    let daemon = "trap '' TERM HUP; kill -9 $GUARD $RUN; sleep 0.2
        for again in 1 2 3 4 5; do $RUNNER resume; $RUNNER resolve fix_and_resume; done; echo > over";
    let script = "test -e began && exit 0; echo > began
        for p in /proc/[0-9]*; do grep -qs __guard $p/cmdline && grep -qs \"^PPid:.$PPID\\$\" $p/status && guard=${p#/proc/}; done
        env -i PATH=\"$PATH\" XDG_STATE_HOME=\"$XDG_STATE_HOME\" RUNNER=\"$RUNNER\" RUN=$PPID GUARD=$guard setsid sh daemon.sh > /dev/null 2>&1 < /dev/null &
        sleep 0.5";
    let workspace = stand.workspace(&[("design", script), ("deploy", "echo > deployed")]);
    workspace.write("daemon.sh", daemon);
    let ran = run(&workspace);
    if stand == Stand::Without {
        until("the daemon is done", || workspace.path("over").exists());
    } else {
        // It waits for the approval, as it should.
        ran.exits(2);
    }
    let held = !workspace.path("deployed").exists();
    let _ = fs::remove_file(workspace.path("daemon.sh"));
    held
}
