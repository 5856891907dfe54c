//! A small part of `contract-tests/sweep/sweep`, which kills a run at every step: drawn anew each time, the seed is said.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::host::{not_tested, strace};

const RUN: &str = env!("CARGO_BIN_EXE_loa-run");

/// Sweeps some points of a program; whether nothing was lost, and what was said. `None` when it cannot be done here.
fn swept(program: &Path, asked: &[&str], seed: u32) -> Option<(bool, String)> {
    if !strace() {
        return None;
    }
    let mut command = Command::new("python3");
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/contract-tests/sweep/sweep")).arg("--loa-run").arg(program);
    command.args(["--loa-validate", env!("CARGO_BIN_EXE_loa-validate"), "--jobs", "4"]);
    let swept = match command.args(["--seed", &seed.to_string()]).args(asked).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            not_tested("python3 is missing");
            return None;
        }
        swept => swept.expect("python3 starts"),
    };
    let said = String::from_utf8_lossy(&swept.stdout).into_owned() + &String::from_utf8_lossy(&swept.stderr);
    Some((swept.status.success(), said))
}

#[test]
fn a_run_that_is_killed_at_some_steps_loses_nothing() {
    let seed = std::process::id();
    if let Some((passed, said)) = swept(Path::new(RUN), &["--points", "20"], seed) {
        assert!(passed && said.contains("- lost something: 0\n"), "seed {seed}:\n{said}");
    }
}

/// Each is `loa-run` with one fault, in the shell: what the sweep cannot see it cannot vouch for.
#[test]
fn a_runtime_that_loses_something_does_not_pass_the_sweep() {
    let faults = [
        ("repeated", r#"resume) rm -f .loa-checkpoint/discovery.yaml; set -- "$@" --rerun ;;"#),
        ("torn", r#"status) sed -i 's/"seq":3,/"seq":7,/' "$LOA_RUN_STATE"/*/runs/*/journal.jsonl ;;"#),
        ("forgotten", r#"resume) sed -i '$d' "$LOA_RUN_STATE"/*/runs/*/journal.jsonl ;;"#),
        ("orphan", "resume) setsid sleep 8 > /dev/null 2>&1 &"),
        ("unfinished", r#"resume) : > "$LOA_RUN_STATE/.x.unfinished" ;;"#),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    for (kind, fault) in faults {
        let program = folder.path().join(kind);
        std::fs::write(&program, format!("#!/bin/sh\ncase $1 in\n{fault}\nesac\nexec {RUN} \"$@\"\n"))
            .expect("written");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("set");
        if let Some((passed, said)) = swept(&program, &["--acts", "resume", "--points", "2"], 1) {
            assert!(!passed && said.contains(&format!("## {kind}: ")), "{kind}:\n{said}");
        }
    }
}
