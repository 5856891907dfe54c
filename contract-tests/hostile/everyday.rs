//! Everyday work that goes on behind the boundary as it does without one.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::Command;

use super::{Stand, can_be_drawn, command, run, works};
use crate::run::host::not_tested;
use crate::run::workspace::until;
use crate::run::workspace::{Workspace, collected};

/// Runs this script as the only phase behind the boundary, which has to succeed; `None` where there is no boundary.
fn works_behind(script: &str) -> Option<Workspace> {
    let workspace = Stand::Behind.workspace(&[("design", script)]);
    (can_be_drawn()).then(|| {
        run(&workspace).exits(0);
        workspace
    })
}

pub(super) fn there(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    let found = found.is_ok_and(|found| found.status.success());
    if !found {
        not_tested(&format!("{program} is missing"));
    }
    found
}

#[test]
fn the_user_and_the_home_are_the_same() {
    let script = "id -u > id; id -g >> id; cat \"$HOME/.login\" > login; echo new > \"$HOME/.kept\"; ls -n \"$HOME/.login\" > owner";
    let workspace = Stand::Behind.workspace(&[("design", script)]);
    if !can_be_drawn() {
        return;
    }
    let home = workspace.path("../home");
    fs::create_dir(&home).expect("made");
    fs::write(home.join(".login"), "token").expect("written");
    let mut run = command(&workspace, &["run", "--plan", "plan.json"]);
    run.env("HOME", &home);
    collected(run.spawn().expect("started")).exits(0);
    let id = |what: &str| Command::new("id").arg(what).output().expect("id").stdout;
    let ids = [id("-u"), id("-g")].concat();
    assert_eq!(workspace.read("id").as_bytes(), ids);
    assert_eq!(workspace.read("login"), "token");
    assert_eq!(fs::read_to_string(home.join(".kept")).expect("kept"), "new\n");
    let user = String::from_utf8_lossy(&id("-u")).trim().to_owned();
    assert_eq!(workspace.read("owner").split_whitespace().nth(2), Some(user.as_str()));
}

#[test]
fn what_a_stage_tells_arrives() {
    let script = "echo '{\"type\":\"USAGE\",\"context_tokens\":70000}' >> $LOA_SIGNAL_FILE
        echo '{\"summary\":\"told from behind\"}' > $LOA_RESULT_FILE
        while ! grep -q CONTEXT $LOA_EVENT_FILE; do sleep 0.02; done; echo said; echo wrong >&2; exit 0";
    let Some(workspace) = works_behind(script) else { return };
    assert_eq!(workspace.checkpoint("design")["summary"], "told from behind");
    let log = workspace.read(".loa-run/logs/design-1.log");
    assert!(log.contains("said\n") && log.contains("wrong\n"), "{log}");
}

#[test]
fn an_exit_a_signal_and_a_missing_program_are_told_apart() {
    if !can_be_drawn() {
        return;
    }
    for (script, code, words) in [
        ("exit 3", 2, "exit code 3"),
        ("kill -9 $$", 2, "SIGKILL"),
        ("trap 'echo heard; exit 1' TERM; sleep 60 & wait", 2, "heard"),
        ("exec ./no-such-program", 2, "127"),
    ] {
        let limit = if script.contains("trap") { "timeout_ms: 500" } else { "" };
        let workspace = Stand::Behind.configured(&[("design", script)], &format!("{{ design: {{ {limit} }} }}"));
        let ran = run(&workspace).exits(code);
        assert!(ran.stderr.contains(words) || ran.stdout.contains(words), "{script}: {}{}", ran.stdout, ran.stderr);
    }
    let workspace = Stand::Behind.configured(&[("design", "true")], "{ submit: { command: [./missing] } }");
    super::loa(&workspace, &["run", "--phase", "submit"]).exits(2).says(&["./missing", "No such file"]);
}

#[test]
fn a_gate_and_a_retry_go_on_behind_it() {
    if !can_be_drawn() {
        return;
    }
    let script = "test -e tried && exit 0; echo > tried; exit 1";
    let more = "{ design: { verify: 'test $(cat /proc/1/comm) = loa-run && echo > verified', retry: { max: 1 } } }";
    let workspace = Stand::Behind.configured(&[("design", script)], more);
    run(&workspace).exits(0);
    assert!(workspace.path("verified").exists() && workspace.starts("design") == 2);
}

#[test]
fn git_commits() {
    let script = "git init -q . && git add plan.json && git -c user.name=n -c user.email=e commit -qm m && git log --oneline > log";
    if there("git")
        && let Some(workspace) = works_behind(script)
    {
        assert_eq!(workspace.read("log").lines().count(), 1);
    }
}

#[test]
fn a_server_on_loopback_is_reached() {
    let script = "python3 -c \"
import socket, threading
server = socket.create_server(('127.0.0.1', 0))
threading.Thread(target=lambda: server.accept()[0].sendall(b'hello')).start()
open('heard', 'w').write(socket.create_connection(server.getsockname()).recv(9).decode())\"";
    if there("python3")
        && let Some(workspace) = works_behind(script)
    {
        assert_eq!(workspace.read("heard"), "hello");
    }
}

/// Sockets of the host with a path, such as those of ssh-agent and of docker, are reached: the variable says which.
#[test]
fn sockets_of_the_host_are_reached() {
    if !there("python3") || !can_be_drawn() {
        return;
    }
    for variable in ["SSH_AUTH_SOCK", "DOCKER_HOST"] {
        let script = format!(
            "python3 -c \"
import os, socket
it = socket.socket(socket.AF_UNIX); it.connect(os.environ['{variable}'].removeprefix('unix://')); it.sendall(b'asks')
open('answer', 'w').write(it.recv(9).decode())\""
        );
        let workspace = Stand::Behind.workspace(&[("design", &script)]);
        let socket = workspace.path("../socket");
        let listener = UnixListener::bind(&socket).expect("bound");
        let answers = std::thread::spawn(move || {
            let (mut asked, _) = listener.accept().expect("asked");
            let mut words = [0; 4];
            asked.read_exact(&mut words).expect("read");
            asked.write_all(b"answers").expect("written");
            words
        });
        let mut run = command(&workspace, &["run", "--plan", "plan.json"]);
        run.env(variable, format!("{}{}", if variable == "DOCKER_HOST" { "unix://" } else { "" }, socket.display()));
        collected(run.spawn().expect("started")).exits(0);
        assert_eq!((&answers.join().expect("answered"), workspace.read("answer").as_str()), (b"asks", "answers"));
    }
}

#[test]
fn a_real_agent_of_ssh_lists_its_keys() {
    if !there("ssh-agent") || !there("ssh-keygen") || !can_be_drawn() {
        return;
    }
    let workspace = Stand::Behind.workspace(&[("design", "ssh-add -l > keys")]);
    let socket = workspace.path("../agent").display().to_string();
    let mut agent = Command::new("ssh-agent")
        .args(["-D", "-a", &socket])
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("started");
    until("it listens", || workspace.path("../agent").exists());
    let key = workspace.path("../key").display().to_string();
    let made =
        Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &key]).status().expect("ssh-keygen");
    assert!(made.success());
    let added = Command::new("ssh-add").arg("-q").arg(&key).env("SSH_AUTH_SOCK", &socket).status().expect("ssh-add");
    assert!(added.success());
    let mut run = command(&workspace, &["run", "--plan", "plan.json"]);
    run.env("SSH_AUTH_SOCK", &socket);
    collected(run.spawn().expect("started")).exits(0);
    let _ = agent.kill();
    let _ = agent.wait();
    assert!(workspace.read("keys").contains("ED25519"), "{}", workspace.read("keys"));
}

/// The client refuses settings that belong to neither root nor the user, as all of root's look where root is nobody.
#[test]
fn the_client_of_ssh_reads_the_settings_of_the_host() {
    if there("ssh") {
        works_behind("ssh -G localhost > settings");
    }
}

#[test]
fn gpg_signs() {
    let script = "export GNUPGHOME=\"$PWD/../gpg\"; mkdir -m 700 $GNUPGHOME
        gpg --batch --quiet --passphrase '' --quick-generate-key it@example.org ed25519 sign never &&
        echo text | gpg --batch --quiet --clearsign > signed";
    if there("gpg")
        && let Some(workspace) = works_behind(script)
    {
        assert!(workspace.read("signed").contains("BEGIN PGP SIGNATURE"));
        assert!(!works(&format!("{}/../gpg", workspace.path("").display())), "its own agent ended with the stage");
    }
}

#[test]
fn an_agent_may_have_a_sandbox_of_its_own() {
    works_behind("unshare -Ur true && unshare -Urmpf --mount-proc sh -c 'mount -t tmpfs none /mnt && test $$ = 1'");
}

#[test]
fn a_database_lives_for_the_run_where_that_is_wanted() {
    if !can_be_drawn() {
        return;
    }
    let workspace = Workspace::only(&[
        (
            "preflight",
            "setsid sh \"$PWD/database.sh\" > /dev/null 2>&1 < /dev/null & while test ! -e beat; do sleep 0.02; done",
        ),
        ("submit", "rm beat; while test ! -e beat; do sleep 0.02; done"),
    ]);
    workspace.config("runtime: { boundary: { mode: required, lifetime: run } }\n");
    workspace.write("database.sh", "while :; do echo > beat; sleep 0.02; done");
    run(&workspace).exits(0);
    let database = format!("{}/database.sh", workspace.path("").canonicalize().expect("there").display());
    assert!(!works(&database), "it ended with the run");
}

#[test]
fn a_phase_may_be_left_outside_and_is_shown_so() {
    if !can_be_drawn() {
        return;
    }
    let look = "cat /proc/1/comm > $LOA_PHASE.first";
    let workspace = Stand::Behind.configured(&[("design", look), ("submit", look)], "{ submit: { boundary: 'off' } }");
    run(&workspace).exits(0);
    assert_eq!(workspace.read("design.first"), "loa-run\n");
    assert_ne!(workspace.read("submit.first"), "loa-run\n");
    super::loa(&workspace, &["status"]).exits(0).prints("but for submit");
    let report = super::loa(&workspace, &["report", "--json"]).exits(0);
    assert!(report.stdout.contains("\"outside\""), "{}", report.stdout);
}

/// A host that makes no boundary: there is no program for it.
pub(super) fn without_unshare(workspace: &Workspace, arguments: &[&str]) -> crate::run::workspace::Ran {
    let bin = workspace.path("../bin");
    if !bin.is_dir() {
        fs::create_dir(&bin).expect("made");
        let unshare = bin.join("unshare");
        fs::write(&unshare, "#!/bin/sh\necho 'unshare: unshare failed: Operation not permitted' >&2\nexit 1\n")
            .expect("written");
        fs::set_permissions(&unshare, fs::Permissions::from_mode(0o755)).expect("made executable");
    }
    let mut command = command(workspace, arguments);
    command.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").expect("a path")));
    collected(command.spawn().expect("started"))
}

#[test]
fn a_host_that_cannot_says_so_and_a_run_that_requires_it_refuses() {
    let workspace = Workspace::only(&[("design", "true")]);
    let why =
        "boundary: none, so phases can reach the state of the run: unshare: unshare failed: Operation not permitted";
    without_unshare(&workspace, &["run", "--plan", "plan.json"]).exits(0).says(&[why]);
    without_unshare(&workspace, &["status"]).exits(0).prints(why);
    without_unshare(&workspace, &["report", "--json"]).exits(0).prints("\"why_not\"");
    without_unshare(&workspace, &["doctor"]).prints("boundary: this host makes none");
    workspace.config("runtime: { boundary: { mode: required } }\n");
    without_unshare(&workspace, &["run", "--plan", "plan.json"]).exits(78).says(&[
        "a boundary is required",
        "unshare failed",
        "runtime.boundary.mode: auto",
    ]);
    assert_eq!(workspace.starts("design"), 1, "nothing was started");
}

#[test]
fn a_weaker_boundary_is_a_question_to_a_person() {
    let workspace = Workspace::only(&[("design", "test -e again && exit 0; echo > again; exit 2"), ("submit", "true")]);
    run(&workspace).exits(2);
    super::loa(&workspace, &["resolve", "fix_and_resume"]).exits(0);
    workspace.config("runtime: { boundary: { mode: off, lifetime: run } }\n");
    let asked = super::loa(&workspace, &["resume", "--config", "new"]).exits(2);
    asked.says(&["submit runs without a boundary", "what phases leave running lives as long as the run"]);
}
