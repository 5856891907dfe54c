//! Attacks on the network of a phase that has one of its own, and what it reaches all the same.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use super::everyday::there;
use super::{Stand, attacks, can_be_drawn, command, loa, run};
use crate::run::host::not_tested;
use crate::run::workspace::{Ran, Workspace, finished};

attacks! {
    a_server_on_loopback_of_the_host_is_not_reached:
        "A phase with `network: none` connects to a server on loopback of the host", Some(true), None,
        |stand| {
            let server = TcpListener::bind("127.0.0.1:0").expect("bound");
            let port = server.local_addr().expect("an address").port();
            !reaches(stand, "none", &format!("socket.create_connection(('127.0.0.1', {port}), 5)"))
        };
    a_socket_without_a_path_is_not_reached:
        "A phase with `network: none` connects to a socket of the host that has a name and no path", Some(true), None,
        |stand| {
            let name = format!("loa-hostile-{}", std::process::id());
            let _server = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).expect("a name")).expect("bound");
            !reaches(stand, "none", &format!("socket.socket(socket.AF_UNIX).connect('\\0{name}')"))
        };
    no_address_of_another_host_is_reached:
        "A phase with `network: none` sends a packet to another host", Some(true), None,
        |stand| !reaches(stand, "none", "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))");
    only_the_gateway_is_reached:
        "A phase with `network: gateway` connects to a server on loopback of the host that is not the gateway", Some(true), None,
        |stand| {
            let server = TcpListener::bind("127.0.0.1:0").expect("bound");
            let port = server.local_addr().expect("an address").port();
            !reaches(stand, "gateway", &format!("socket.create_connection(('127.0.0.1', {port}), 5)"))
        };
    no_other_host_is_reached_beside_the_gateway:
        "A phase with `network: gateway` sends a packet to another host", Some(true), None,
        |stand| !reaches(stand, "gateway", "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))");
    a_network_is_not_taken_back_by_the_configuration:
        "A phase with `network: none` rewrites the configuration: the network of the host; a human answers its call",
        Some(true), None,
        |stand| {
            let script = "test -e again && exit 0; echo > again; echo 'runtime: { boundary: { mode: required, network: host } }' > .loa.config.yaml; exit 2";
            let look = "readlink /proc/self/ns/net > network";
            let workspace = stand.configured(&[("design", script), ("submit", look)], "{ design: { network: none }, submit: { network: none } }");
            run(&workspace).exits(2);
            loa(&workspace, &["resolve", "fix_and_resume"]).exits(0);
            loa(&workspace, &["resume"]).exits(0);
            workspace.read("network").trim() != ours()
        };
}

/// The network that we are in.
fn ours() -> String {
    std::fs::read_link("/proc/self/ns/net").expect("Linux").display().to_string()
}

const GATEWAY: &str = "runtime.boundary.gateway";

/// A run of the workspace's plan, with a gateway at this address.
fn run_by(workspace: &Workspace, address: &str) -> Ran {
    finished(command(workspace, &["run", "--plan", "plan.json", "--set", &format!("{GATEWAY}={address}")]))
}

/// Whether a phase with this network can do that, in Python. What keeps it from that must be the host, not a mistake.
fn reaches(stand: Stand, network: &str, what: &str) -> bool {
    if !there("python3") {
        return false;
    }
    let script = format!(
        "python3 -c \"
import socket
try:
    {what}
    print('reached')
except OSError as error:
    print('refused', error)\" > seen"
    );
    let workspace = stand.configured(&[("design", &script)], &format!("{{ design: {{ network: {network} }} }}"));
    let nowhere = format!("unix:{}", workspace.path("nowhere").display());
    run_by(&workspace, &nowhere).exits(0);
    let seen = workspace.read("seen");
    assert!(seen.starts_with("reached") || seen.starts_with("refused"), "{seen}");
    // The same is done by another phase that has the network of the host.
    workspace.plan(&[("submit", &script)]);
    run_by(&workspace, &nowhere).exits(0);
    let control = workspace.read("seen");
    if control.contains("unreachable") {
        not_tested("this host reaches no other host");
        return false;
    }
    assert!(control.starts_with("reached"), "{control}");
    seen.starts_with("reached")
}

const ASK: &str = "python3 -c \"
import os, socket, urllib.parse
proxy = urllib.parse.urlparse(os.environ['HTTPS_PROXY'])
it = socket.create_connection((proxy.hostname, proxy.port)); it.sendall(b'asks'); it.shutdown(socket.SHUT_WR)
open('answer', 'w').write(it.makefile().read())\"";

#[test]
fn the_gateway_is_reached_as_a_proxy() {
    if !there("python3") || !can_be_drawn() {
        return;
    }
    for by_path in [true, false] {
        let workspace = Stand::Behind.configured(&[("design", ASK)], "{ design: { network: gateway } }");
        let path = workspace.path("gateway");
        let (address, answers) = if by_path {
            let listener = UnixListener::bind(&path).expect("bound");
            let answers = std::thread::spawn(move || answered(listener.accept().expect("asked").0));
            (format!("unix:{}", path.canonicalize().expect("there").display()), answers)
        } else {
            let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
            let address = listener.local_addr().expect("an address").to_string();
            (address, std::thread::spawn(move || answered(listener.accept().expect("asked").0)))
        };
        run_by(&workspace, &address).exits(0);
        assert_eq!((answers.join().expect("asked").as_str(), workspace.read("answer").as_str()), ("asks", "answers"));
    }
}

fn answered(mut asked: impl Read + Write) -> String {
    let mut question = String::new();
    asked.read_to_string(&mut question).expect("read");
    asked.write_all(b"answers").expect("answered");
    question
}

#[test]
fn a_phase_without_a_network_has_a_loopback_of_its_own_and_others_have_what_they_had() {
    let serve = "python3 -c \"
import socket
server = socket.create_server(('127.0.0.1', 0)); socket.create_connection(server.getsockname())\" && readlink /proc/self/ns/net > $LOA_PHASE.network";
    if !there("python3") || !can_be_drawn() {
        return;
    }
    let workspace = Stand::Behind.configured(&[("design", serve), ("submit", serve)], "{ design: { network: none } }");
    run(&workspace).exits(0).says(&["network: none for design"]);
    assert_ne!(workspace.read("design.network").trim(), ours());
    assert_eq!(workspace.read("submit.network").trim(), ours());
    loa(&workspace, &["status"]).exits(0).prints("network: none for design");
    loa(&workspace, &["report", "--json"]).exits(0).prints("\"networks\"");
}

#[test]
fn a_network_that_cannot_be_had_is_a_refusal_and_never_that_of_the_host() {
    let workspace = Workspace::only(&[("design", "true")]);
    for (runtime, why) in [
        (
            "boundary: { mode: off, network: none }",
            "design cannot have the network that it is to have: its network is to be `none`, and it runs without a boundary",
        ),
        ("phases: { design: { boundary: off, network: gateway } }", "runs without a boundary"),
        ("boundary: { network: gateway }", "runtime.boundary.gateway names no address"),
    ] {
        workspace.config(&format!("runtime: {{ {runtime} }}\n"));
        run(&workspace).exits(78).says(&[why, "runtime.phases.design.network: host"]);
    }
    workspace.config("runtime: { boundary: { network: none } }\n");
    let unshare = super::everyday::without_unshare;
    unshare(&workspace, &["run", "--plan", "plan.json"]).exits(78).says(&["unshare failed: Operation not permitted"]);
    unshare(&workspace, &["doctor", "--plan", "plan.json"])
        .prints("network: this host does not give design the network `none`");
    assert_eq!(workspace.starts("design"), 0, "nothing was started");
    workspace.config("runtime: { boundary: { network: gateway, gateway: '192.0.2.1:80' } }\n");
    run(&workspace).exits(78).says(&["gateway"]);
}

#[test]
fn another_network_is_a_question_to_a_person() {
    let workspace = Workspace::only(&[("design", "test -e again && exit 0; echo > again; exit 2"), ("submit", "true")]);
    workspace.config("runtime: { boundary: { mode: required, network: none } }\n");
    if !can_be_drawn() {
        return;
    }
    run(&workspace).exits(2);
    loa(&workspace, &["resolve", "fix_and_resume"]).exits(0);
    workspace.config("runtime: { boundary: { mode: required } }\n");
    let asked = loa(&workspace, &["resume", "--config", "new"]).exits(2);
    asked.says(&["submit has the network `host`; it was `none`"]);
}
