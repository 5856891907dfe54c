//! How people hear of a call, and how their answer comes in (Escalation Handling).

use std::io::{Read, Write};
use std::net::TcpListener;

use super::{Workspace, until};
use crate::run::workspace::{collected, finished};

const RETRY: &str = "retry: { initial_ms: 1 }";

fn blocked(notify: &str) -> Workspace {
    let workspace =
        Workspace::only(&[("design", "test -f fixed || { echo 'no key' >&2; exit 2; }"), ("submit", "true")]);
    workspace.config(&format!("runtime: {{ {RETRY}, notify: {{ {notify} }} }}\n"));
    workspace
}

#[test]
fn a_command_is_told_of_the_call() {
    let workspace = blocked(
        "command: 'echo $LOA_ESCALATION_TRIGGER $LOA_PHASE $LOA_ESCALATION_REASON > told; test -s $LOA_ESCALATION_REPORT && echo $LOA_SESSION_ID >> told'",
    );
    workspace.run().exits(2);
    assert_eq!(workspace.read("told"), "manual design design failed: exit 2: no key\n\n");
    assert!(workspace.events().contains(&"notified".to_owned()));
    let quiet = blocked("command: touch told, on: [escalated]");
    quiet.write("fixed", "");
    quiet.run().exits(0);
    assert!(!quiet.path("told").exists(), "nobody was called");
}

#[test]
fn a_command_is_told_of_a_halt_of_a_run_whose_process_is_gone() {
    let workspace = blocked("command: 'echo $LOA_ESCALATION_TRIGGER $LOA_PHASE $LOA_ESCALATION_REASON > told'");
    workspace.plan(&[("design", "echo up > up; sleep 60")]);
    let mut run = workspace.start();
    until("the phase is up", || workspace.path("up").exists());
    run.kill().expect("killed");
    run.wait().expect("awaited");
    workspace.loa(&["halt"]).exits(0).says(&["A human is needed"]);
    assert_eq!(workspace.read("told"), "manual design somebody asked for a halt while nothing ran\n");
    assert_eq!(workspace.record()["pending"]["reason"], "somebody asked for a halt while nothing ran");
}

#[test]
fn whoever_is_not_reached_stops_no_run() {
    for (notify, said) in [
        ("command: 'echo broken pipe >&2; exit 3'", "broken pipe"),
        ("command: [no-such-program-here]", "by the command"),
        ("command: sleep 60, timeout_ms: 20", "more than 20 ms"),
        ("webhook: 'http://127.0.0.1:1/secret'", "by the webhook"),
    ] {
        let workspace = blocked(&format!("patience_ms: 0, {notify}"));
        let ran = workspace.run().exits(2).says(&["A human is needed", "nobody was told", said]);
        assert!(!ran.stderr.contains("/secret"), "the address is shown: {}", ran.stderr);
        assert_eq!(workspace.reports().len(), 1, "{notify}");
    }
}

#[test]
fn a_webhook_is_posted_the_call_as_json() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = server.local_addr().expect("an address");
    let heard = std::thread::spawn(move || {
        let (mut stream, _) = server.accept().expect("a client");
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        while !request.ends_with(b"}") {
            let count = stream.read(&mut buffer).expect("read");
            request.extend_from_slice(&buffer[..count]);
        }
        stream.write_all(b"HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n").expect("answered");
        String::from_utf8(request).expect("UTF-8")
    });
    let workspace = blocked(&format!("webhook: 'http://{address}/hook/secret'"));
    let ran = workspace.run().exits(2);
    assert!(!ran.stderr.contains("nobody was told"), "{}", ran.stderr);
    let request = heard.join().expect("heard");
    assert!(request.starts_with("POST /hook/secret HTTP/1.1\r\n"), "{request}");
    let body: serde_json::Value =
        serde_json::from_str(request.split("\r\n\r\n").nth(1).expect("a body")).expect("JSON");
    assert_eq!(
        (&body["event"], &body["phase"], &body["trigger"]),
        (&"escalation".into(), &"design".into(), &"manual".into())
    );
    assert!(body["text"].as_str().expect("a text").contains("no key"));
    assert!(std::path::Path::new(body["report"].as_str().expect("a path")).exists());
    let shown = workspace.loa(&["config", "--explain"]).exits(0).stdout;
    assert!(shown.contains("runtime.notify.webhook") && !shown.contains("secret"), "{shown}");
}

#[test]
fn an_answer_comes_from_the_command_line_a_file_or_the_environment() {
    let workspace = blocked("timeout_ms: 1");
    workspace.run().exits(2);
    workspace.loa(&["resolve"]).exits(64).says(&["fix_and_resume", "LOA_RESOLUTION", "--file"]);
    workspace.write("answer.yaml", "action: shrug\n");
    workspace.loa(&["resolve", "--file", "answer.yaml"]).exits(78).says(&["answer.yaml:1:9", "skip_phase"]);
    workspace.loa(&["resolve", "--file", "none.yaml"]).exits(66).says(&["none.yaml"]);
    let mut wrong = workspace.command(&["resolve"]);
    wrong.env("LOA_RESOLUTION", "shrug");
    finished(wrong).exits(64).says(&["shrug", "abort"]);
    workspace.write("answer.yaml", "action: fix_and_resume\nnotes: from a file\n");
    workspace.loa(&["resolve", "--file", "answer.yaml"]).exits(0);
    assert_eq!(workspace.record()["resolutions"][0]["resolution"]["notes"], "from a file");
    workspace.resume().exits(2);
    let mut command = workspace.command(&["resolve"]);
    command.env("LOA_RESOLUTION", "skip_phase").env("LOA_RESOLUTION_NOTES", "by a timer");
    finished(command).exits(0);
    workspace.resume().exits(0);
    assert_eq!(workspace.checkpoint("design")["summary"], "SKIPPED: by a timer");
}

#[test]
fn a_run_that_waits_goes_on_in_the_same_process_once_it_is_answered() {
    let workspace = blocked("timeout_ms: 1");
    let run = workspace.command(&["run", "--plan", "plan.json", "--wait"]).spawn().expect("it starts");
    until("a report waits", || workspace.record()["status"] == "escalated");
    workspace.write("fixed", "");
    let answered = || workspace.loa(&["resolve", "fix_and_resume"]).code == Some(0);
    until("the answer is taken", answered);
    collected(run).exits(0).says(&["A human is needed", "waiting for an answer", "submit: done"]);
    assert_eq!(workspace.ran(), ["design", "design", "submit"]);
}

#[test]
fn a_wait_ends_with_an_abort_and_with_a_signal() {
    let workspace = blocked("timeout_ms: 1");
    let escalated = || workspace.record()["status"] == "escalated";
    let run = workspace.command(&["run", "--plan", "plan.json", "--wait"]).spawn().expect("it starts");
    until("a report waits", escalated);
    until("the answer is taken", || workspace.loa(&["resolve", "abort"]).code == Some(0));
    collected(run).exits(2);
    let run = workspace.command(&["run", "--plan", "plan.json", "--fresh", "--wait"]).spawn().expect("it starts");
    until("a report waits", || workspace.reports().len() == 2 && escalated());
    let pid = rustix::process::Pid::from_raw(i32::try_from(run.id()).expect("a pid")).expect("a pid");
    // Until it listens, a signal would simply end it.
    let asleep =
        || std::fs::read_to_string(format!("/proc/{}/wchan", run.id())).is_ok_and(|place| place.contains("poll"));
    until("it waits", asleep);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("sent");
    collected(run).exits(143);
    assert_eq!(workspace.record()["status"], "escalated", "nothing is lost");
}
