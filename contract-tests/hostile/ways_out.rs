//! Ways around the boundary that it does not close: whatever runs outside and does what it is told. They are here so that
//! nobody takes them for closed.

use std::process::{Command, Stdio};

use super::{Stand, attacks, run};
use crate::run::host::not_tested;
use crate::run::workspace::state_home;
use crate::run::workspace::until;

attacks! {
    a_terminal_multiplexer_outside_does_what_it_is_told:
        "A phase has a terminal multiplexer (tmux) that runs outside read the state", Some(false), None, by_tmux;
    a_server_of_commands_outside_does_what_it_is_told:
        "A phase has a server on loopback that runs commands, such as sshd, read the state", Some(false), None, by_server;
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
