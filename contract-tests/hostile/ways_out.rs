//! Ways around the boundary: whatever runs outside and does what it is told. Those that stay open are here so that nobody takes
//! them for closed, and those that `strict` closes with something that stands in for the program.

use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

use super::everyday::there;
use super::{Stand, attacks, can_be_drawn, command, run};
use crate::run::host::not_tested;
use crate::run::workspace::{collected, state_home, until};

attacks! {
    a_terminal_multiplexer_outside_does_what_it_is_told:
        "A phase has a terminal multiplexer (tmux) that runs outside read the state", Some(false), None, by_tmux;
    a_server_of_commands_outside_does_what_it_is_told:
        "A phase has a server on loopback that runs commands, such as sshd, read the state", Some(false), None, by_server;
    strict_takes_the_bus_of_the_user_away:
        "A phase with `boundary: strict` connects to the bus of the user, by which `systemd-run --user` starts programs", Some(true), None,
        |stand| !answers(stand, "XDG_RUNTIME_DIR", "", "bus");
    strict_takes_docker_away:
        "A phase with `boundary: strict` connects to the socket of docker that DOCKER_HOST names", Some(true), None,
        |stand| !answers(stand, "DOCKER_HOST", "unix://", "");
    strict_takes_podman_away:
        "A phase with `boundary: strict` connects to the socket of podman", Some(true), None,
        |stand| !answers(stand, "XDG_RUNTIME_DIR", "", "podman/podman.sock");
    strict_takes_tmux_away:
        "A phase with `boundary: strict` connects to a server of tmux", Some(true), None,
        |stand| !answers(stand, "TMUX_TMPDIR", "", &format!("tmux-{}/default", user()));
    strict_takes_screen_away:
        "A phase with `boundary: strict` connects to a session of screen", Some(true), None,
        |stand| !answers(stand, "SCREENDIR", "", "1.session");
    strict_takes_an_editor_away:
        "A phase with `boundary: strict` connects to an editor that listens (NVIM)", Some(true), None,
        |stand| !answers(stand, "NVIM", "", "");
}

fn state(workspace: &crate::run::workspace::Workspace) -> String {
    state_home(&workspace.path("")).canonicalize().expect("there").join("loa-run").display().to_string()
}

fn by_tmux(stand: Stand) -> bool {
    let workspace = stand.workspace(&[("design", "true")]);
    run(&workspace).exits(0);
    let socket = workspace.path("../tmux").display().to_string();
    let tmux = |arguments: &[&str]| {
        let mut command = Command::new("tmux");
        command.args(["-S", &socket, "-f", "/dev/null"]).args(arguments).stderr(Stdio::null()).status()
    };
    if !tmux(&["new-session", "-d", "sleep 60"]).is_ok_and(|status| status.success()) {
        not_tested("tmux is missing");
        return false;
    }
    let seen = workspace.path("seen").display().to_string();
    let script = format!(
        "tmux -S {socket} new-window 'ls {}/*/runs > {seen}'; while test ! -s seen; do sleep 0.02; done",
        state(&workspace)
    );
    workspace.plan(&[("design", &script)]);
    run(&workspace).exits(0);
    let _ = tmux(&["kill-server"]);
    workspace.read("seen").trim().is_empty()
}

const SERVER: &str = "
import socket, subprocess
server = socket.create_server(('127.0.0.1', 0))
open('port.new', 'w').write(str(server.getsockname()[1]))
import os; os.rename('port.new', 'port')
connection, _ = server.accept()
line = connection.makefile().readline()
connection.sendall(subprocess.run(line, shell=True, capture_output=True).stdout)
";
const CLIENT: &str = "
import socket, sys
connection = socket.create_connection(('127.0.0.1', int(open('port').read())))
connection.sendall((sys.argv[1] + '\\n').encode())
print(connection.makefile().read())
";

fn by_server(stand: Stand) -> bool {
    let workspace = stand.workspace(&[("design", "true")]);
    run(&workspace).exits(0);
    workspace.write("client.py", CLIENT);
    let mut server =
        Command::new("python3").args(["-c", SERVER]).current_dir(workspace.path("")).spawn().expect("python3");
    until("it listens", || workspace.path("port").exists());
    let script = format!("python3 client.py 'ls {}/*/runs' > seen", state(&workspace));
    workspace.plan(&[("design", &script)]);
    run(&workspace).exits(0);
    let _ = server.kill();
    let _ = server.wait();
    workspace.read("seen").trim().is_empty()
}

fn user() -> String {
    String::from_utf8_lossy(&Command::new("id").arg("-u").output().expect("id").stdout).trim().to_owned()
}

/// Whether a phase with `boundary: strict` reaches a socket at this path below what a variable names. One without does.
fn answers(stand: Stand, variable: &str, scheme: &str, below: &str) -> bool {
    if !there("python3") {
        return false;
    }
    let script = |seen: &str| {
        format!(
            "python3 -c \"
import os, socket
it = socket.socket(socket.AF_UNIX)
path = os.path.join(os.environ['{variable}'].removeprefix('{scheme}'), '{below}').rstrip('/')
try: it.connect(path); seen = 'answered'
except OSError as error: seen = 'refused: %s' % error
open('{seen}', 'w').write(seen)\""
        )
    };
    let (with, without) = (script("with"), script("without"));
    let workspace = stand.configured(&[("design", &with), ("submit", &without)], "{ design: { boundary: strict } }");
    let base = workspace.path("../b");
    let socket = if below.is_empty() { base.clone() } else { base.join(below) };
    std::fs::create_dir_all(socket.parent().expect("a folder")).expect("made");
    let _listener = UnixListener::bind(&socket).expect("bound");
    let mut run = command(&workspace, &["run", "--plan", "plan.json"]);
    run.env(variable, format!("{scheme}{}", base.canonicalize().expect("there").display()));
    collected(run.spawn().expect("started")).exits(0);
    assert_eq!(workspace.read("without"), "answered", "the way is there");
    let seen = workspace.read("with");
    assert!(seen == "answered" || seen.starts_with("refused"), "{seen}");
    seen == "answered"
}

/// What lets a phase in elsewhere, and does nothing here, stays.
#[test]
fn strict_leaves_the_agent_of_ssh() {
    if !there("python3") || !can_be_drawn() {
        return;
    }
    let script = "python3 -c \"
import os, socket
socket.socket(socket.AF_UNIX).connect(os.environ['SSH_AUTH_SOCK'])\"";
    let workspace = Stand::Behind.configured(&[("design", script)], "{ design: { boundary: strict } }");
    let socket = workspace.path("../agent");
    let _listener = UnixListener::bind(&socket).expect("bound");
    let mut run = command(&workspace, &["run", "--plan", "plan.json"]);
    run.env("SSH_AUTH_SOCK", &socket);
    collected(run.spawn().expect("started")).exits(0);
}

#[test]
fn strict_takes_away_what_cron_would_run() {
    let spool = std::path::Path::new("/var/spool/cron");
    if !can_be_drawn() || !spool.is_dir() {
        not_tested("there is no spool of cron");
        return;
    }
    let name = format!("loa-hostile-{}", std::process::id());
    let script = format!("echo '* * * * * true' > /var/spool/cron/{name}; ls /var/spool/cron > seen; true");
    let workspace = Stand::Behind.configured(&[("design", &script)], "{ design: { boundary: strict } }");
    run(&workspace).exits(0);
    let was_written = spool.join(&name).exists();
    let _ = std::fs::remove_file(spool.join(&name));
    assert!(!was_written && !workspace.read("seen").contains("crontabs"));
}
