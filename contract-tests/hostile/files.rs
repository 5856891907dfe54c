//! Attacks on the files that a stage and the run exchange, and on those that the run writes into the workspace.

use std::fs;

use super::{Stand, attacks, loa, run};

const BOTH: Option<bool> = Some(true);

/// Whether a run of one phase that does this to itself ends as it would without.
fn ends(stand: Stand, script: &str, code: i32) -> bool {
    let workspace = stand.workspace(&[("design", script), ("submit", "true")]);
    run(&workspace).code == Some(code)
}

attacks! {
    a_pipe_for_signals_freezes_nothing:
        "A named pipe in the place of the signal file", BOTH, BOTH,
        |stand| ends(stand, "rm -f $LOA_SIGNAL_FILE; mkfifo $LOA_SIGNAL_FILE; exit 0", 0);
    a_pipe_for_a_result_freezes_nothing:
        "A named pipe in the place of the result file", BOTH, BOTH,
        |stand| ends(stand, "rm -f $LOA_RESULT_FILE; mkfifo $LOA_RESULT_FILE; exit 0", 0);
    a_pipe_for_events_freezes_nothing:
        "A named pipe in the place of the event file", BOTH, BOTH,
        |stand| ends(stand, "echo '{\"type\":\"USAGE\",\"context_tokens\":999999}' >> $LOA_SIGNAL_FILE; rm -f $LOA_EVENT_FILE; mkfifo $LOA_EVENT_FILE; exit 0", 0);
    an_endless_signal_file_is_not_read:
        "A link to /dev/zero in the place of the signal file", BOTH, BOTH,
        |stand| ends(stand, "ln -sf /dev/zero $LOA_SIGNAL_FILE; sleep 0.1; exit 0", 0);
    an_endless_result_file_is_not_read:
        "A link to /dev/zero in the place of the result file", BOTH, BOTH,
        |stand| ends(stand, "ln -sf /dev/zero $LOA_RESULT_FILE; exit 0", 0);
    a_folder_in_the_place_of_both_is_no_end:
        "A folder in the place of the result file, and in that of the signal file", BOTH, BOTH,
        |stand| ends(stand, "rm -f $LOA_SIGNAL_FILE $LOA_RESULT_FILE; mkdir $LOA_SIGNAL_FILE $LOA_RESULT_FILE", 0);
    a_signal_of_fifty_megabytes_is_dropped:
        "A line of 50 MB in the signal file", BOTH, BOTH,
        |stand| ends(stand, "head -c 50000000 /dev/zero | tr '\\0' x >> $LOA_SIGNAL_FILE; exit 0", 0);
    a_link_in_the_place_of_a_log_is_not_followed:
        "A link in the place of the copy of a log", BOTH, BOTH,
        |stand| spares(stand, "mkdir -p .loa-run/logs; ln -sf \"$PWD/../victim\" .loa-run/logs/design-1.log; echo something");
    a_link_in_the_place_of_the_logs_is_not_followed:
        "A link in the place of the folder of logs", BOTH, BOTH,
        |stand| {
            let script = "rm -rf .loa-run/logs; mkdir -p .loa-run; ln -s \"$PWD/../others\" .loa-run/logs; echo something";
            spares(stand, script)
        };
    a_link_in_the_place_of_a_checkpoint_is_not_followed:
        "A link in the place of a checkpoint", BOTH, BOTH,
        |stand| spares(stand, "ln -sf \"$PWD/../victim\" .loa-checkpoint/design.yaml");
    a_link_in_the_place_of_all_checkpoints_is_not_followed:
        "A link in the place of the folder of checkpoints", BOTH, BOTH,
        |stand| spares(stand, "rm -rf .loa-checkpoint; ln -s \"$PWD/../others\" .loa-checkpoint");
    a_link_to_the_state_is_not_followed_for_the_phase:
        "A link into the state in the place of a log, which the run could write through", BOTH, BOTH,
        |stand| {
            // The name is known, whether it can be seen or not.
            let script = "mkdir -p .loa-run/logs; ln -sf \"$XDG_STATE_HOME/loa-run/planted\" .loa-run/logs/design-1.log; echo something";
            let workspace = stand.workspace(&[("design", script), ("submit", "true")]);
            run(&workspace).exits(0);
            let planted = crate::run::workspace::state_home(&workspace.path("")).join("loa-run/planted");
            !planted.exists() && loa(&workspace, &["status"]).code == Some(0)
        };
    the_journal_is_not_read_as_signals:
        "A link to the journal in the place of the signal file: each line that is not understood is journaled", BOTH, BOTH,
        |stand| {
            let script = "ln -sf \"$(dirname $LOA_SIGNAL_FILE)/../../journal.jsonl\" $LOA_SIGNAL_FILE; sleep 0.3";
            let workspace = stand.workspace(&[("design", script), ("submit", "true")]);
            run(&workspace).code == Some(0) && workspace.events().len() < 100
        };
    the_journal_is_not_written_as_events:
        "A link to the journal in the place of the event file, which the run could append to", BOTH, BOTH,
        |stand| {
            let script = "ln -sf \"$(dirname $LOA_EVENT_FILE)/../../journal.jsonl\" $LOA_EVENT_FILE
                echo '{\"type\":\"USAGE\",\"context_tokens\":999}' >> $LOA_SIGNAL_FILE; sleep 0.1";
            ends(stand, script, 0)
        };
    the_state_is_not_read_as_a_result:
        "A link into the state in the place of the result file, whose summary is shown", BOTH, BOTH,
        |stand| {
            let workspace = stand.workspace(&[("design", "true")]);
            run(&workspace).exits(0);
            let planted = workspace.journal().with_file_name("planted.json");
            fs::write(&planted, "{\"summary\":\"a secret of the state\"}").expect("written");
            workspace.plan(&[("design", &format!("ln -sf '{}' $LOA_RESULT_FILE", planted.display()))]);
            run(&workspace).exits(0);
            workspace.checkpoint("design")["summary"] != "a secret of the state"
        };
    a_taken_folder_is_made_again:
        "A phase removes the folder of its results and signals", BOTH, BOTH,
        |stand| ends(stand, "rm -rf \"$(dirname $LOA_RESULT_FILE)\"; exit 0", 0);
}

/// Whether a file and a folder outside of the workspace stay as they are when a phase does this.
fn spares(stand: Stand, script: &str) -> bool {
    let workspace = stand.workspace(&[("design", script), ("submit", "echo more")]);
    workspace.write("../victim", "mine");
    fs::create_dir(workspace.path("../others")).expect("made");
    run(&workspace).exits(0);
    let others = fs::read_dir(workspace.path("../others")).expect("there").count();
    workspace.read("../victim") == "mine" && others == 0
}
