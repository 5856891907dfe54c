//! Messages: who hears how a run ended, in which shape, how often, and what of it stands where.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, Mutex};

use loa::events::Event;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::Workspace;
use crate::run::workspace::{collected, finished, until};

/// A server on this machine that keeps what it is sent.
struct Server {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Gives these answers, one after the other, and then the last for ever; an empty one is none at all.
    fn start(answers: &'static [&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let heard = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heard);
        std::thread::spawn(move || {
            let mut hanging = Vec::new();
            for (number, stream) in listener.incoming().enumerate() {
                let mut stream = stream.expect("a client");
                let request = read_request(&mut stream);
                kept.lock().expect("no panic").push(request);
                let answer = answers[number.min(answers.len() - 1)];
                if answer.is_empty() {
                    hanging.push(stream);
                } else {
                    let whole = format!("HTTP/1.1 {answer}\r\nconnection: close\r\ncontent-length: 2\r\n\r\nso");
                    let _ = stream.write_all(whole.as_bytes());
                }
            }
        });
        Self { address, heard }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().expect("no panic").clone()
    }
}

fn read_request(stream: &mut std::net::TcpStream) -> String {
    let mut request = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        let count = stream.read(&mut buffer).expect("read");
        request.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = header(head, "content-length").parse::<usize>().expect("a length");
        if body.len() >= length || count == 0 {
            return text;
        }
    }
}

fn header(head: &str, name: &str) -> String {
    let lines = head.lines().filter_map(|line| line.split_once(": "));
    let mut values = lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned());
    values.next().unwrap_or_default()
}

fn body(request: &str) -> &str {
    request.split_once("\r\n\r\n").expect("a body").1
}

fn ids(requests: &[String]) -> Vec<String> {
    requests.iter().map(|request| header(request, "idempotency-key")).collect()
}

/// A workspace whose design is blocked until `fixed` is there, and whose ends are told as `notify` says.
fn blocked(notify: &str) -> Workspace {
    let script = "printf '\\033[31mred\\033[0m line\\n'; test -f fixed || { echo 'no key' >&2; exit 2; }";
    let workspace = Workspace::only(&[("discovery", "true"), ("design", script)]);
    notified(&workspace, notify);
    workspace
}

fn notified(workspace: &Workspace, notify: &str) {
    workspace.config(&format!("runtime: {{ retry: {{ initial_ms: 1 }}, notify: {{ patience_ms: 0, {notify} }} }}\n"));
}

/// A receiver that posts to a server.
fn webhook(server: &Server) -> String {
    format!("receivers: [{{ kind: webhook, url: '{}' }}]", server.url("hook"))
}

#[test]
fn every_shape_reaches_its_service_with_one_id() {
    let server = Server::start(&["200 OK"]);
    let receivers = [
        format!("{{ kind: webhook, url: '{}', token: t0ken-t0ken }}", server.url("webhook")),
        format!("{{ kind: slack, url: '{}' }}", server.url("slack")),
        format!("{{ kind: discord, url: '{}' }}", server.url("discord")),
        format!("{{ kind: ntfy, url: '{}', token: {{ env: NTFY_TOKEN }} }}", server.url("topic")),
        "{ kind: email, to: me@example.org, command: ['sh', '-c', 'cat > mail'] }".to_owned(),
        "{ kind: command, command: 'cat > message; echo $LOA_MESSAGE_ID $LOA_MESSAGE_EVENT $LOA_ESCALATION_TRIGGER > told' }".to_owned(),
    ];
    let workspace = blocked(&format!("receivers: [{}]", receivers.join(", ")));
    let mut run = workspace.command(&["run", "--plan", "plan.json"]);
    run.env("NTFY_TOKEN", "tk_secretsecret");
    let ran = finished(run).exits(2);
    assert!(!ran.stderr.contains("nobody was told"), "{}", ran.stderr);
    let requests = server.heard();
    assert_eq!(requests.len(), 4);
    let of = |path: &str| {
        let begin = format!("POST /{path} ");
        requests.iter().find(|request| request.starts_with(&begin)).unwrap_or_else(|| panic!("{path}: {requests:?}"))
    };
    let json = |path: &str| serde_json::from_str::<Value>(body(of(path))).expect("JSON");
    let document = json("webhook");
    assert_eq!((&document["event"], &document["trigger"]), (&"escalation".into(), &"manual".into()));
    let id = document["id"].as_str().expect("an id").to_owned();
    assert!(ids(&requests).iter().all(|it| *it == id), "{requests:?}");
    assert_eq!(header(of("webhook"), "authorization"), "Bearer t0ken-t0ken");
    let blocks = json("slack")["blocks"].to_string();
    assert!(blocks.contains("resolve fix_and_resume") && blocks.contains("no key"), "{blocks}");
    let discord = json("discord");
    assert!(discord["content"].as_str().expect("a text").contains("a human is needed"), "{discord}");
    assert_eq!(header(of("topic"), "authorization"), "Bearer tk_secretsecret");
    assert!(header(of("topic"), "title").contains("a human is needed") && body(of("topic")).contains("no key"));
    let mail = workspace.read("mail");
    assert!(mail.contains("To: me@example.org\n") && mail.contains(&format!("Message-ID: <{id}@")), "{mail}");
    assert_eq!(workspace.read("told"), format!("{id} escalated manual\n"));
    let message = workspace.read("message");
    for words in ["discovery: done, 1 attempt", "design: failed, 1 attempt", "since it began", "red line", "no key"] {
        assert!(message.contains(words), "{words} is missing: {message}");
    }
    assert!(!message.contains('\u{1b}'), "{message:?}");
    assert_eq!(document["message"].as_str(), Some(message.as_str()), "one message in every shape");
}

#[test]
fn the_words_to_answer_with_work_as_they_are_pasted() {
    let workspace = blocked("receivers: [{ kind: command, command: 'cat > message' }]");
    workspace.run().exits(2);
    let message = workspace.read("message");
    let line =
        message.lines().find(|line| line.contains("resolve fix_and_resume")).expect("an answer").trim().to_owned();
    workspace.write("fixed", "");
    let programs = std::path::Path::new(env!("CARGO_BIN_EXE_loa-run")).parent().expect("a folder");
    let mut shell = crate::run::workspace::program(std::path::Path::new("sh"), &workspace.path(""), &["-c", &line]);
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    // From another folder, as one does from a telephone.
    shell.env("PATH", path).current_dir("/");
    finished(shell).exits(0);
    let message = workspace.read("message");
    assert!(message.contains(" is done, 2 phases") && message.contains("design: done, 2 attempts"), "{message}");
}

#[test]
fn the_words_of_a_run_that_waits_for_its_answer_work_while_it_does() {
    let workspace = blocked("receivers: [{ kind: command, command: 'cat > message.new; mv message.new message' }]");
    let waiting = workspace.command(&["run", "--plan", "plan.json", "--wait"]).spawn().expect("started");
    until("it is told", || workspace.path("message").exists());
    let message = workspace.read("message");
    assert!(message.contains("A process waits for the answer, and goes on by itself\n"), "{message}");
    assert!(!message.contains(" resume\n") && !message.contains("&&"), "nobody else can go on meanwhile: {message}");
    let line = message.lines().find(|line| line.contains("resolve fix_and_resume")).expect("an answer").trim();
    workspace.write("fixed", "");
    let mut shell = crate::run::workspace::program(Path::new("sh"), &workspace.path(""), &["-c", line]);
    shell.current_dir("/");
    finished(shell).exits(0);
    assert_eq!(collected(waiting).code, Some(0));
}

#[test]
fn whoever_is_asked_for_an_approval_is_told_that_a_phase_could_have_given_it() {
    for (section, is_told) in [(", boundary: off", true), ("", false)] {
        let workspace = Workspace::only(&[]);
        let skipped = ["preflight", "discovery", "implementation", "audit", "submit", "learning"];
        let skipped = skipped.map(|phase| format!("{phase}: {{ skip: true }}")).join(", ");
        workspace.config(&format!(
            "runtime:\n  notify: {{ receivers: [{{ kind: command, command: 'cat > message' }}] }}\n  \
             phases: {{ {skipped}, design: {{ command: 'true'{section} }}, deploy: {{ command: 'true' }} }}\n"
        ));
        workspace.loa(&["run"]).exits(2);
        let (message, status) = (workspace.read("message"), workspace.loa(&["status"]).stdout);
        let boundary = status.lines().find_map(|line| line.trim().strip_prefix("boundary: "));
        let note = boundary.map(|drawn| format!("Boundary: {drawn}\n"));
        assert!(note.as_ref().is_none_or(|note| message.contains(note)), "{message}\n{status}");
        // Where the host has no boundary, every phase runs without one.
        let without = boundary.is_some_and(|drawn| drawn.starts_with("none"));
        assert_eq!(message.contains("Unguarded: a phase ran that"), is_told || without, "{section}: {message}");
        assert!(!is_told || boundary.is_some_and(|drawn| without || drawn.ends_with("but for design")), "{status}");
    }
}

#[test]
fn the_words_of_an_earlier_call_answer_no_later_one() {
    let workspace = Workspace::only(&[("design", "test -f fixed || exit 2"), ("deploy", "true")]);
    // Nothing waives the approval of a deploy.
    workspace
        .config("runtime: { notify: { patience_ms: 0, receivers: [{ kind: command, command: 'cat > message' }] } }\n");
    workspace.run().exits(2);
    let message = workspace.read("message");
    let line =
        message.lines().find(|line| line.contains("resolve fix_and_resume")).expect("an answer").trim().to_owned();
    let pasted = || {
        let arguments = ["-c", &line];
        finished(crate::run::workspace::program(Path::new("sh"), &workspace.path(""), &arguments))
    };
    workspace.write("fixed", "");
    pasted().exits(2);
    assert_eq!(workspace.starts("deploy"), 0);
    let refused =
        pasted().exits(66).says(&["it was answered", "fix_and_resume; the call that waits now is", "in deploy"]);
    assert!(!refused.stderr.contains("attempt"), "nothing goes on: {}", refused.stderr);
    assert_eq!(workspace.starts("deploy"), 0, "an answer to another call is no approval");
    let waits: Value = serde_json::from_str(&workspace.loa(&["status", "--json"]).exits(2).stdout).expect("JSON");
    let id = waits["pending"]["id"].as_str().expect("an id").to_owned();
    workspace.loa(&["resolve", "fix_and_resume", "--call", &id]).exits(0);
    workspace
        .loa(&["resolve", "fix_and_resume", "--call", &id])
        .exits(66)
        .says(&["no call waits now", "loa-run status"]);
    workspace.resume().exits(0);
    assert_eq!(workspace.starts("deploy"), 1);
}

#[test]
fn whoever_is_called_about_an_audit_reads_what_it_found() {
    let finding = |number: u32| {
        format!(r#"{{"id":"F-{number}","severity":"high","category":"security","description":"hole {number}"}}"#)
    };
    let findings = (1..=10).map(finding).collect::<Vec<_>>().join(",");
    let result = format!(
        r#"{{"summary":"Audit found holes","errors":[{{"code":"AUDIT_FAILED","message":"holes","recoverable":true}}],"findings":[{findings}]}}"#
    );
    let audit = format!("cat > \"$LOA_RESULT_FILE\" <<'END'\n{result}\nEND\nexit 1");
    let workspace = Workspace::only(&[("implementation", "date +%N > changed"), ("audit", &audit)]);
    workspace.config(
        "autonomous_agent: { max_remediation_loops: 1 }\nruntime: { retry: { initial_ms: 1 }, notify: { patience_ms: 0, receivers: [{ kind: command, command: 'cat > message' }] } }\n",
    );
    workspace.run().exits(2);
    let message = workspace.read("message");
    for words in [
        "max_loops (the audit still fails after the last remediation loop) in audit",
        "1 remediation loop was made.\nFindings that remain:\n  high F-1: hole 1\n",
        "  high F-8: hole 8\n  and 2 more, which the report names\n",
    ] {
        assert!(message.contains(words), "{words}\n{message}");
    }
}

#[test]
fn whoever_hangs_keeps_no_other_from_being_tried_again() {
    let (hanging, busy) = (Server::start(&[""]), Server::start(&["500 Busy", "200 OK"]));
    let workspace = Workspace::only(&[("design", "exit 2")]);
    let receiver =
        |name: &str, server: &Server| format!("{{ kind: webhook, name: {name}, url: '{}' }}", server.url(name));
    let receivers = format!("{}, {}", receiver("hangs", &hanging), receiver("busy", &busy));
    workspace.config(&format!(
        "runtime: {{ notify: {{ timeout_ms: 2500, patience_ms: 2400, receivers: [{receivers}] }} }}\n"
    ));
    let ran = workspace.run().exits(2).says(&["nobody was told by the hangs"]);
    assert!(!ran.stderr.contains("nobody was told by the busy"), "{}", ran.stderr);
    assert_eq!((hanging.heard().len(), busy.heard().len()), (1, 2));
    // Tried again, and not only when the other was given up.
    let envelopes = workspace.recorded().expect("a journal").envelopes.into_iter();
    let tried = envelopes.filter_map(|it| match it.event {
        Event::Notified { means, failed, .. } => Some((means, failed.is_none())),
        _ => None,
    });
    let told = |name: &str, is_taken| (name.to_owned(), is_taken);
    assert_eq!(tried.collect::<Vec<_>>(), [told("busy", false), told("busy", true), told("hangs", false)]);
}

#[test]
fn each_end_is_told_to_whom_it_may_concern() {
    let workspace = blocked(
        "receivers: [{ kind: command, command: 'echo $LOA_MESSAGE_EVENT >> all' }, { kind: command, command: 'echo $LOA_MESSAGE_EVENT >> calls', on: [escalated] }]",
    );
    workspace.run().exits(2);
    workspace.write("fixed", "");
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.resume().exits(0);
    assert_eq!(
        (workspace.read("all").as_str(), workspace.read("calls").as_str()),
        ("escalated\ncompleted\n", "escalated\n")
    );
}

#[test]
fn a_command_or_a_webhook_by_itself_is_told_of_every_end_and_of_a_finished_run_once() {
    let server = Server::start(&["200 OK"]);
    let workspace = blocked(&format!("command: 'echo $LOA_MESSAGE_EVENT >> all', webhook: '{}'", server.url("hook")));
    workspace.run().exits(2);
    workspace.write("fixed", "");
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.resume().exits(0);
    // Whoever goes on with a finished run finds nothing to do, and has nothing to tell.
    workspace.resume().exits(0);
    workspace.loa(&["service", "run"]).exits(0);
    assert_eq!(workspace.read("all"), "escalated\ncompleted\n");
    assert_eq!(server.heard().len(), 2);
    // What is done again is told again.
    workspace.loa(&["resume", "--rerun"]).exits(0);
    std::fs::remove_file(workspace.path(".loa-checkpoint/design.yaml")).expect("removed");
    workspace.loa(&["resume", "--rerun"]).exits(0);
    assert_eq!(workspace.read("all"), "escalated\ncompleted\ncompleted\n");
}

#[test]
fn the_reason_of_a_fatal_end_is_told_and_kept() {
    let server = Server::start(&["200 OK"]);
    let workspace = Workspace::only(&[("discovery", "true"), ("design", "yes | head -n 100000")]);
    notified(&workspace, &webhook(&server));
    let run = format!("ulimit -f 32; exec {} run --plan plan.json", env!("CARGO_BIN_EXE_loa-run"));
    let run = crate::run::workspace::program("bash".as_ref(), &workspace.path(""), &["-c", &run]);
    finished(run).exits(74).says(&["File too large"]);
    let heard = server.heard();
    let document: Value = serde_json::from_str(body(&heard[0])).expect("JSON");
    assert_eq!((heard.len(), &document["event"]), (1, &"failed".into()));
    assert!(document["text"].as_str().expect("a text").contains("File too large"), "{document}");
    assert!(document["answers"][0]["run"].as_str().expect("a line").ends_with(" resume"), "{document}");
    workspace.loa(&["status"]).exits(2).prints("the last session ended by an error: ");
}

#[test]
fn an_end_that_cannot_be_recorded_is_told_all_the_same() {
    let server = Server::start(&["200 OK"]);
    let workspace = Workspace::only(&[("discovery", "true"), ("design", "mv \"$PWD\" \"$PWD.moved\"")]);
    let url = server.url("hook");
    let calls = format!("{{ kind: webhook, name: calls, url: '{url}', on: [escalated] }}");
    notified(&workspace, &format!("receivers: [{{ kind: webhook, url: '{url}' }}, {calls}]"));
    workspace.run().exits(74).says(&["moved, removed or replaced"]);
    let heard = server.heard();
    assert_eq!(heard.len(), 1, "who hears of calls alone hears nothing: {heard:?}");
    let document: Value = serde_json::from_str(body(&heard[0])).expect("JSON");
    let text = document["text"].as_str().expect("a text");
    assert!(document["event"] == "failed" && text.contains("moved, removed or replaced"), "{document}");
}

#[test]
fn who_waits_for_an_answer_and_a_service_go_on_telling_until_it_was_taken() {
    for waits in [&["run", "--plan", "plan.json", "--wait"][..], &["service", "run"]] {
        let server = Server::start(&["503 Busy", "503 Busy", "200 OK"]);
        let workspace = blocked(&webhook(&server));
        if waits[0] == "service" {
            workspace.run().exits(2);
        }
        let waiting = workspace.command(waits).spawn().expect("started");
        until("it was taken", || server.heard().len() == 3);
        let all = ids(&server.heard());
        assert!(all.iter().all(|id| *id == all[0]), "{all:?}");
        if waits[0] == "service" {
            // Everybody has heard, so nothing is left to stay for.
            assert_eq!(collected(waiting).code, Some(2));
            continue;
        }
        workspace.write("fixed", "");
        workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
        assert_eq!(collected(waiting).code, Some(0));
    }
}

#[test]
fn a_service_that_still_tells_goes_on_when_it_is_answered() {
    let server = Server::start(&["503 Busy\r\nretry-after: 3600"]);
    let workspace = blocked(&webhook(&server));
    workspace.run().exits(2);
    let service = workspace.command(&["service", "run"]).spawn().expect("started");
    workspace.write("fixed", "");
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    // The end is not taken either, and is told on until a signal comes.
    until("the run is completed", || workspace.loa(&["status"]).stdout.contains(": completed"));
    let pid = rustix::process::Pid::from_child(&service);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("sent");
    assert_eq!(collected(service).code, Some(143));
    assert_eq!(workspace.starts("design"), 2);
}

#[test]
fn a_service_behind_a_finished_run_delivers_what_is_left_of_it() {
    let server = Server::start(&["503 Busy", "503 Busy", "200 OK"]);
    let workspace = Workspace::only(&[("design", "true")]);
    notified(&workspace, &webhook(&server));
    workspace.run().exits(0);
    assert_eq!(server.heard().len(), 1);
    workspace.loa(&["service", "run"]).exits(0);
    let all = ids(&server.heard());
    assert!(all.len() == 3 && all.iter().all(|id| *id == all[0]), "{all:?}");
    workspace.loa(&["service", "run"]).exits(0);
    assert_eq!(server.heard().len(), 3, "it was taken");
}

#[test]
fn the_next_run_tells_what_the_one_before_left_before_its_phases() {
    let workspace = Workspace::only(&[("design", "echo design >> told")]);
    // Whoever tells is killed by the first receiver, and so leaves the message in the queue.
    notified(
        &workspace,
        "receivers: [{ kind: command, command: 'test -f again || { touch again; kill -9 $PPID; exit; }; echo told >> told' }]",
    );
    let killed = workspace.run();
    assert_eq!(killed.code, None, "{}", killed.stderr);
    workspace.run().exits(0);
    assert_eq!(workspace.read("told"), "design\ntold\ndesign\ntold\n");
}

#[test]
fn the_words_to_answer_with_reach_a_state_that_the_environment_named() {
    let workspace = blocked("receivers: [{ kind: command, command: 'cat > message' }]");
    workspace.run().exits(2);
    let message = workspace.read("message");
    let line = message.lines().find(|line| line.contains("resolve abort")).expect("an answer").trim().to_owned();
    assert!(line.contains("LOA_RUN_STATE="), "{line}");
    let mut shell = std::process::Command::new("sh");
    shell.env_clear().env("PATH", "/usr/bin:/bin").current_dir("/").args(["-c", &line]);
    assert!(shell.status().expect("started").success(), "{line}");
    let elsewhere =
        blocked("answer_with: docker exec loa loa-run, receivers: [{ kind: command, command: 'cat > message' }]");
    elsewhere.run().exits(2);
    let message = elsewhere.read("message");
    let (answer, goes_on) = message
        .lines()
        .find_map(|line| {
            line.strip_prefix("  docker exec loa loa-run resolve fix_and_resume --call ")?.split_once(" && ")
        })
        .unwrap_or_else(|| panic!("{message}"));
    assert_eq!((answer.contains(' '), goes_on), (false, "docker exec loa loa-run resume"), "{message}");
}

#[test]
fn the_log_is_of_a_phase_that_said_something_and_an_older_change_is_told_as_such() {
    let workspace = Workspace::only(&[("design", "echo it is designed"), ("implementation", "true")]);
    notified(&workspace, "receivers: [{ kind: command, command: 'cat > message' }]");
    let git = "git init -q . && echo one > a && git add a && git -c user.name=n -c user.email=e commit -qm one";
    let mut repository = crate::run::workspace::program("sh".as_ref(), &workspace.path(""), &["-c", git]);
    assert!(repository.status().expect("git").success());
    workspace.run().exits(0);
    let message = workspace.read("message");
    assert!(message.contains("The log of design, attempt 1, ends with:\n| it is designed\n"), "{message}");
    assert!(!message.contains("a | "), "{message}");
    workspace.write("a", "two\n");
    workspace.run().exits(0);
    let message = workspace.read("message");
    assert!(message.contains("what was not committed when the run began among it:\na | "), "{message}");
}

#[test]
fn a_service_that_may_not_go_on_says_so() {
    let server = Server::start(&["200 OK"]);
    let workspace = Workspace::only(&[("discovery", "true")]);
    workspace.run().exits(0);
    let checkpoint = workspace.read(".loa-checkpoint/discovery.yaml");
    let other = Workspace::only(&[]);
    std::fs::create_dir(other.path(".loa-checkpoint")).expect("made");
    other.write(".loa-checkpoint/discovery.yaml", &checkpoint);
    let phases = crate::run::workspace::PHASES.map(|phase| format!("{phase}: {{ command: 'true' }}")).join(", ");
    other.config(&format!("runtime: {{ phases: {{ {phases} }}, notify: {{ {} }} }}\n", webhook(&server)));
    other.loa(&["service", "run"]).exits(2);
    let heard = server.heard();
    assert_eq!(heard.len(), 1, "{heard:?}");
    let document: Value = serde_json::from_str(body(&heard[0])).expect("JSON");
    let text = document["message"].as_str().expect("a text");
    assert!(document["event"] == "failed" && text.contains("checkpoint"), "{document}");
}

#[test]
fn whoever_is_busy_is_left_alone_as_long_as_it_asks_and_told_the_same_again() {
    let server = Server::start(&["503 Busy\r\nretry-after: 3600", "429 Slow Down\r\nretry-after: 7200", "204 Fine"]);
    let workspace = blocked(&webhook(&server));
    workspace.run().exits(2).says(&["nobody was told by the webhook: status 503", "loa-run notify"]);
    workspace
        .loa(&["status"])
        .exits(2)
        .prints("nobody was told by the webhook: status 503: so (`escalated`); `loa-run notify` tries again from ");
    let left: Value = serde_json::from_str(&workspace.loa(&["notify", "--json"]).exits(1).stdout).expect("JSON");
    let again: jiff::Timestamp = left["left"][0]["again_at"].as_str().expect("a time").parse().expect("a time");
    let queued = workspace.recorded().expect("a journal").state.outbox.expect("opened").messages[0].at;
    assert!(again.duration_since(queued).as_secs() >= 3600, "{left}");
    workspace.resume().exits(2);
    assert_eq!(server.heard().len(), 1, "it asked for an hour");
    workspace.loa(&["notify", "--retry"]).exits(1).says(&["status 429"]);
    let told = workspace.loa(&["notify", "--retry", "--json"]).exits(0);
    let document: Value = serde_json::from_str(&told.stdout).expect("JSON");
    assert_eq!(document["taken"][0]["receiver"], "webhook");
    workspace.loa(&["notify", "--retry"]).exits(0).prints("nothing is left to tell");
    let all = ids(&server.heard());
    assert!(all.len() == 3 && all.iter().all(|id| *id == all[0]), "{all:?}");
    assert_eq!(document["taken"][0]["message"], all[0].as_str());
}

#[test]
fn whoever_refuses_is_not_asked_again_until_somebody_says_so() {
    const REFUSALS: [&[&str]; 2] = [&["400 Bad Request"], &["302 Found\r\nlocation: http://127.0.0.1:1/elsewhere"]];
    for answers in REFUSALS {
        let (server, answer) = (Server::start(answers), answers[0]);
        let workspace = blocked(&webhook(&server));
        workspace.run().exits(2).says(&["nobody was told by the webhook", &answer[..3], "it is not tried again"]);
        workspace.loa(&["notify"]).exits(2).says(&["notify --retry"]);
        workspace.resume().exits(2);
        assert_eq!(server.heard().len(), 1, "{answer}");
        workspace.loa(&["notify", "--retry"]).exits(2);
        assert_eq!(server.heard().len(), 2, "{answer}");
    }
}

#[test]
fn whoever_hangs_keeps_nobody() {
    let server = Server::start(&["", "200 OK"]);
    let workspace = blocked(&format!("{}, timeout_ms: 50", webhook(&server)));
    workspace.run().exits(2).says(&["nobody was told by the webhook", "50 ms"]);
    workspace.loa(&["notify", "--retry"]).exits(0);
    assert_eq!(server.heard().len(), 2);
}

#[test]
fn a_kill_between_the_report_and_the_message_loses_neither() {
    let command = "echo $LOA_MESSAGE_ID >> told; test -f died || { touch died; kill -9 $PPID; exit; }";
    let workspace = blocked(&format!("receivers: [{{ kind: command, command: '{command}' }}]"));
    let ran = workspace.run();
    assert_eq!(ran.code, None, "it was killed: {}", ran.stderr);
    workspace.loa(&["status"]).exits(2).prints("nobody was told by the command: nobody has tried (`escalated`)");
    workspace.resume().exits(2);
    assert!(!workspace.loa(&["status"]).exits(2).stdout.contains("nobody was told"));
    let told = workspace.read("told");
    let ids: Vec<&str> = told.lines().collect();
    assert!(ids.len() == 2 && ids[0] == ids[1], "{told}");
    workspace.resume().exits(2);
    assert_eq!(workspace.read("told"), told, "it was taken");
}

#[test]
fn what_was_answered_is_told_to_nobody() {
    let server = Server::start(&["503 Busy"]);
    let workspace = blocked(&webhook(&server));
    workspace.run().exits(2);
    workspace.loa(&["resolve", "abort"]).exits(0);
    workspace.loa(&["notify", "--retry"]).exits(0).prints("nothing is left to tell");
    assert_eq!(server.heard().len(), 1);
}

#[test]
fn that_a_run_is_done_is_told_although_another_has_begun() {
    let server = Server::start(&["503 Busy\r\nretry-after: 3600", "503 Busy\r\nretry-after: 3600", "200 OK"]);
    let workspace = Workspace::only(&[("design", "echo it works")]);
    notified(&workspace, &webhook(&server));
    workspace.run().exits(0);
    let first = ids(&server.heard())[0].clone();
    workspace.run().exits(0);
    workspace.loa(&["notify", "--retry"]).exits(0);
    let all = server.heard();
    assert!(ids(&all[2..]).contains(&first), "{:?}", ids(&all));
    assert_eq!(all.len(), 4, "each was tried twice");
}

#[test]
fn what_changed_in_the_work_tree_is_told_and_nothing_of_the_repository_is_run() {
    let workspace = Workspace::only(&[(
        "design",
        "echo two > known; echo two > größe; echo new > unknown; printf '* filter=evil\\n' > .gitattributes",
    )]);
    notified(&workspace, "receivers: [{ kind: command, command: 'cat > message' }]");
    let git = |arguments: &[&str]| {
        let mut git = crate::run::workspace::program(std::path::Path::new("git"), &workspace.path(""), arguments);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null");
        finished(git).exits(0);
    };
    workspace.write("known", "one\n");
    workspace.write("older", "one\n");
    workspace.write("größe", "one\n");
    git(&["init", "-q"]);
    git(&["add", "known", "größe"]);
    git(&["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "first"]);
    let trap = format!("touch {}", workspace.path("trap").display());
    for key in ["filter.evil.clean", "core.fsmonitor", "diff.external", "core.pager"] {
        git(&["config", key, &trap]);
    }
    workspace.run().exits(0);
    let message = workspace.read("message");
    assert!(message.contains("\ngröße | 2 +-\n"), "{message}");
    assert!(message.contains("known | 2 +-\n") && message.contains("\nunknown | new, 1 line\n"), "{message}");
    assert!(!message.contains("older"), "it was there before: {message}");
    assert!(!workspace.path("trap").exists(), "something of the repository was run");
}

#[test]
fn where_git_cannot_tell_what_changed_the_message_says_so() {
    for (prepared, line) in [
        ("true", "Changed since it began:\nnot known: there was no git repository when it began\n"),
        (
            "git init -q",
            "the repository had no commit when it began\nfiles that git does not know:\nmade | new, 2 lines\n",
        ),
    ] {
        let workspace = Workspace::only(&[("design", "seq 2 > made")]);
        notified(&workspace, "receivers: [{ kind: command, command: 'cat > ../message' }]");
        finished(crate::run::workspace::program("sh".as_ref(), &workspace.path(""), &["-c", prepared])).exits(0);
        workspace.run().exits(0);
        let message = workspace.read("../message");
        assert!(message.contains(line), "{message}");
    }
}

#[test]
fn an_address_is_the_one_that_the_run_began_with_until_somebody_says_otherwise() {
    let (gone, right) = (Server::start(&["404 Gone"]), Server::start(&["200 OK"]));
    let workspace = blocked(&webhook(&gone));
    workspace.run().exits(2).says(&["the address that the run began with", "`loa-run notify --retry --config new`"]);
    notified(&workspace, &webhook(&right));
    workspace.loa(&["notify", "--retry"]).exits(2);
    assert_eq!((gone.heard().len(), right.heard().len()), (2, 0), "a phase could have written that file");
    workspace.loa(&["notify", "--retry", "--config", "new"]).exits(0).prints("told by the webhook");
    assert_eq!((gone.heard().len(), right.heard().len()), (2, 1));
    workspace.loa(&["notify", "--test", "--config", "new"]).exits(64);
}

#[test]
fn a_phase_that_writes_another_address_into_the_configuration_gets_no_message_of_the_end() {
    let (mine, other) = (Server::start(&["503 Busy"]), Server::start(&["200 OK"]));
    let workspace = Workspace::only(&[("design", "cp ../evil .loa.config.yaml")]);
    notified(&workspace, &webhook(&other));
    std::fs::rename(workspace.path(".loa.config.yaml"), workspace.path("../evil")).expect("moved");
    notified(&workspace, &webhook(&mine));
    workspace.run().exits(0).says(&["nobody was told by the webhook"]);
    workspace.loa(&["notify", "--retry"]).exits(1);
    assert!(mine.heard().len() >= 2, "{:?}", mine.heard());
    assert_eq!(other.heard().len(), 0, "the end went where a phase wanted it");
}

#[test]
fn a_run_that_was_asked_to_stop_is_told_of_and_one_that_was_interrupted_is_not() {
    for (signal, told) in [(Signal::TERM, true), (Signal::INT, false)] {
        let workspace = Workspace::only(&[("design", "touch began; sleep 60")]);
        notified(&workspace, "receivers: [{ kind: command, command: 'cat > message' }]");
        let run = workspace.start();
        until("it works", || workspace.path("began").exists());
        kill_process(Pid::from_child(&run), signal).expect("sent");
        collected(run);
        assert_eq!(workspace.path("message").exists(), told);
        if told {
            let message = workspace.read("message");
            assert!(message.contains(" is paused: it was asked to stop (TERM)\n"), "{message}");
        }
    }
}

#[test]
fn a_run_whose_process_died_is_told_of_once_and_listed_as_such() {
    for verb in [&["notify"][..], &["resume"], &["run", "--plan", "plan.json"]] {
        let script = "test -f began && exit 0; touch began; kill -9 $PPID; sleep 60";
        let workspace = Workspace::only(&[("design", script)]);
        workspace.without_boundary();
        notified(&workspace, "receivers: [{ kind: command, command: 'cat >> message' }]");
        assert_eq!(workspace.run().code, None, "it was killed");
        workspace.loa(&["runs"]).exits(0).prints("  died ");
        workspace.loa(verb);
        workspace.loa(&["notify"]).exits(0).prints("nothing is left to tell");
        let message = workspace.read("message");
        assert_eq!(message.matches("was stopped by an error: its process died").count(), 1, "{verb:?}: {message}");
        workspace.resume().exits(0);
        workspace.loa(&["runs"]).exits(0).prints("  completed ");
    }
}

#[test]
fn what_a_receiver_is_reached_by_stands_nowhere() {
    let server = Server::start(&["403 No"]);
    let notify = "receivers: [{ kind: slack, url: { env: HOOK } }, { kind: ntfy, url: { file: address } }, { kind: webhook, url: { env: NO_SUCH_HOOK } }]";
    let workspace = Workspace::only(&[("design", "echo $HOOK")]);
    notified(&workspace, notify);
    workspace.write("address", &server.url("topic-of-s3cret"));
    let mut run = workspace.command(&["run", "--plan", "plan.json"]);
    run.env("HOOK", server.url("services/s3cret-s3cret"));
    let ran = finished(run).exits(0).says(&["nobody was told by the slack: status 403", "NO_SUCH_HOOK is not set"]);
    assert_eq!(server.heard().len(), 2);
    let log = workspace.journal().with_file_name("logs").join("design-1.log");
    for text in [
        ran.stderr,
        ran.stdout,
        std::fs::read_to_string(workspace.journal()).expect("a journal"),
        std::fs::read_to_string(log).expect("a log"),
    ] {
        assert!(!text.contains("s3cret"), "{text}");
    }
}

#[test]
fn receivers_are_tried_out_without_a_run() {
    let server = Server::start(&["200 OK", "200 OK", "404 Gone"]);
    let workspace = Workspace::only(&[("design", "true")]);
    workspace.loa(&["notify", "--test"]).exits(78).says(&["runtime.notify.receivers"]);
    workspace.loa(&["notify"]).exits(66);
    notified(&workspace, &webhook(&server));
    workspace.loa(&["notify", "--test"]).exits(0).prints("webhook has taken the test message");
    let tried = workspace.loa(&["notify", "--test", "--json"]).exits(0);
    let document: Value = serde_json::from_str(&tried.stdout).expect("JSON");
    assert_eq!(document["tried"][0]["outcome"], "taken");
    assert_eq!(serde_json::from_str::<Value>(body(&server.heard()[0])).expect("JSON")["event"], "test");
    workspace.loa(&["notify", "--test"]).exits(2).prints("404");
}

#[test]
fn a_receiver_that_cannot_work_is_refused_with_its_place() {
    for (receiver, words) in [
        ("{ kind: slak, url: x }", &["slak", "slack"][..]),
        ("{ kind: slack }", &["needs `url`"]),
        ("{ kind: email, to: nobody }", &["nobody"]),
        ("{ kind: ntfy, url: x, to: me@example.org }", &["`to` says nothing", "ntfy"]),
        ("{ kind: webhook, url: { env: A, file: b } }", &["url"]),
        ("{ kind: command, command: say, on: [finished] }", &["finished", "completed"]),
    ] {
        let workspace = Workspace::only(&[("design", "true")]);
        workspace.config(&format!("runtime:\n  notify:\n    receivers:\n      - {receiver}\n"));
        workspace.run().exits(78).says(&[".loa.config.yaml:4:"]).says(words);
    }
}

#[test]
fn an_interrupt_while_somebody_is_told_ends_whatever_tells_them() {
    let workspace =
        blocked("receivers: [{ kind: command, command: 'sleep 60 & echo $$ $! > told.new; mv told.new told; wait' }]");
    let run = workspace.start();
    until("somebody is being told", || workspace.path("told").exists());
    let pid = Pid::from_raw(i32::try_from(run.id()).expect("a pid")).expect("a pid");
    kill_process(pid, Signal::INT).expect("sent");
    collected(run);
    let told = workspace.read("told");
    for left in told.split_whitespace() {
        until("it is gone", || !Path::new("/proc").join(left).join("exe").exists());
    }
}

#[test]
fn a_program_that_tells_people_is_given_what_it_needs_and_no_key() {
    let named = "env: [MY_TOKEN, ANTHROPIC_API_KEY, LOA_NO_SUCH_VARIABLE]";
    let receivers = "receivers: [{ kind: command, command: 'env > told' }, \
        { kind: email, to: me@example.org, command: [sh, -c, 'env > mailed; cat > /dev/null'] }]";
    for (named, is_given) in [(named, true), ("", false)] {
        let comma = if named.is_empty() { "" } else { ", " };
        let workspace = blocked(&format!("{receivers}{comma}{named}"));
        let mut run = workspace.command(&["run", "--plan", "plan.json"]);
        run.env("ANTHROPIC_API_KEY", "key-of-an-agent")
            .env("MY_TOKEN", "token-of-mine")
            .env("OTHER_SECRET", "of-others");
        run.env("LC_ALL", "C.UTF-8").env("https_proxy", "http://proxy.invalid:1");
        finished(run).exits(2);
        for file in ["told", "mailed"] {
            let environment = workspace.read(file);
            for line in ["LC_ALL=C.UTF-8", "https_proxy=http://proxy.invalid:1", "LOA_MESSAGE_EVENT=escalated"] {
                assert!(environment.lines().any(|it| it == line), "{line}: {environment}");
            }
            assert!(environment.contains("\nPATH=") || environment.starts_with("PATH="), "{environment}");
            assert_eq!(environment.contains("MY_TOKEN=token-of-mine"), is_given, "{environment}");
            for secret in ["key-of-an-agent", "of-others"] {
                assert!(!environment.contains(secret), "{secret}: {environment}");
            }
        }
    }
}
