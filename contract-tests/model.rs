//! The scripted model on real sockets, as a client that is no agent sees it; and `loa-conform model` as a program.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use assert_cmd::assert::OutputAssertExt;
use loa::conform::model::{Answered, By, Model, ModelError, Options, RequestSeen, Script};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::{Value, json};

/// Longer than anything here takes; only a defect waits so long.
const PATIENCE: Duration = Duration::from_secs(20);
const MESSAGES: &str = "/v1/messages?beta=true";
const RESPONSES: &str = "/v1/responses";

fn model(script: Value) -> Model {
    let script: Script = serde_json::from_value(script).expect("a script");
    Model::start(&script, &Options::default()).expect("it starts")
}

/// What came back: all of it, and how the connection ended.
struct Reply {
    bytes: Vec<u8>,
    end: io::Result<()>,
}

impl Reply {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    fn status(&self) -> u16 {
        self.text().split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status line")
    }

    fn json(&self) -> Value {
        let text = self.text();
        serde_json::from_str(text.split_once("\r\n\r\n").expect("a body").1).expect("JSON")
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    stream
}

fn head(method: &str, path: &str, more: &str, length: usize) -> String {
    format!("{method} {path} HTTP/1.1\r\nhost: loopback\r\ncontent-length: {length}\r\n{more}\r\n")
}

/// One request on a connection of its own.
fn send(address: SocketAddr, path: &str, more: &str, body: &str) -> Reply {
    let mut stream = connect(address);
    let head = head("POST", path, &format!("connection: close\r\n{more}"), body.len());
    stream.write_all((head + body).as_bytes()).expect("sent");
    received(stream)
}

fn received(mut stream: TcpStream) -> Reply {
    let mut bytes = Vec::new();
    let end = stream.read_to_end(&mut bytes).map(|_| ());
    Reply { bytes, end }
}

fn turn(stream: bool) -> String {
    let schema = json!({"properties": {"command": {"type": "string"}}});
    let tools = json!([{"name": "Bash", "input_schema": schema, "parameters": schema}]);
    let messages = json!([{"role": "user", "content": "do it"}]);
    json!({"model": "m", "max_tokens": 9, "stream": stream, "messages": messages, "input": "do it", "tools": tools})
        .to_string()
}

fn ended(model: &Model) -> Vec<RequestSeen> {
    assert!(model.wait_for(PATIENCE, |requests| requests.iter().all(|request| request.ended.is_some())));
    model.requests()
}

#[test]
fn one_connection_serves_request_after_request() {
    let model = model(json!({"steps": [{"text": "one"}, {"text": "two"}]}));
    let mut stream = BufReader::new(connect(model.address()));
    for word in ["one", "two"] {
        let body = turn(false);
        stream.get_mut().write_all((head("POST", MESSAGES, "", body.len()) + &body).as_bytes()).expect("sent");
        let mut length = 0;
        let mut line = String::new();
        while stream.read_line(&mut line).expect("a head") > 2 {
            if let Some(bytes) = line.strip_prefix("content-length: ") {
                length = bytes.trim().parse().expect("a number");
            }
            line.clear();
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).expect("a body");
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(body["content"][0]["text"], word);
    }
    let seen = ended(&model);
    assert_eq!(seen.iter().map(|request| &request.by).collect::<Vec<_>>(), [&By::Step(0), &By::Step(1)]);
    assert!(seen[0].at <= seen[1].at && !seen[0].left && !seen[1].left);
}

#[test]
fn a_stream_arrives_whole_in_both_dialects() {
    let model =
        model(json!({"then": "repeat", "steps": [{"shell": "ls", "usage": {"input": 7, "cached": 3, "output": 2}}]}));
    for (path, first, last) in [
        (MESSAGES, "event: message_start\n", "event: message_stop\n"),
        (RESPONSES, "event: response.created\n", "event: response.completed\n"),
    ] {
        let reply = send(model.address(), path, "", &turn(true));
        let text = reply.text();
        assert!(reply.end.is_ok() && text.ends_with("\r\n0\r\n\r\n"), "{text}");
        assert!(
            text.contains("content-type: text/event-stream") && text.contains(first) && text.contains(last),
            "{text}"
        );
    }
    let seen = ended(&model);
    assert!(
        seen.iter().all(|request| request.answer == Answered::Calls && request.status == Some(200) && !request.left)
    );
    assert_eq!(seen[0].usage.map(|usage| (usage.input, usage.cached, usage.output)), Some((7, 3, 2)));
}

#[test]
fn no_key_is_ever_recorded() {
    let model = model(json!({}));
    let keys = "authorization: Bearer sk-hidden\r\nx-api-key: sk-hidden\r\ncookie: sk-hidden\r\nx-goog-api-key: sk-hidden\r\n\
                proxy-authorization: sk-hidden\r\nuser-agent: tester\r\n";
    for path in [MESSAGES, RESPONSES, "/v1/messages?key=sk-hidden", "/nowhere?key=sk-hidden"] {
        send(model.address(), path, keys, &turn(true));
    }
    let seen = ended(&model);
    assert_eq!(seen.len(), 4);
    assert!(seen.iter().all(|request| request.headers["user-agent"] == "tester"));
    let record = serde_json::to_string(&seen).expect("JSON") + &format!("{seen:?}");
    assert!(!record.contains("hidden"), "{record}");
}

#[test]
fn a_reset_is_one_for_the_client_and_what_was_sent_before_arrives() {
    let way = |point: &str| json!({"then": "repeat", "steps": [{"reset": point}]});
    for (point, arrives) in [("before_headers", false), ("in_stream", true)] {
        let model = model(way(point));
        for (path, stream) in [(MESSAGES, true), (MESSAGES, false), (RESPONSES, true), (RESPONSES, false)] {
            let reply = send(model.address(), path, "", &turn(stream));
            let error = reply.end.as_ref().expect_err("a reset");
            assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "{point} {path} {stream}");
            assert_eq!(!reply.bytes.is_empty(), arrives, "{point} {path} {stream}: {}", reply.text());
            assert_eq!(arrives && stream, reply.text().contains("event: "), "{}", reply.text());
        }
        let seen = ended(&model);
        let status = arrives.then_some(200);
        assert!(
            seen.iter().all(|request| request.answer == Answered::Reset && request.status == status && !request.left)
        );
    }
}

#[test]
fn a_truncated_answer_ends_in_good_order() {
    let model = model(json!({"steps": [{"truncate": "in_stream", "times": 2}, {"truncate": "before_headers"}]}));
    let streamed = send(model.address(), MESSAGES, "", &turn(true));
    assert!(streamed.end.is_ok() && streamed.text().ends_with("\r\n0\r\n\r\n"), "{}", streamed.text());
    assert!(streamed.text().contains("message_start") && !streamed.text().contains("message_stop"));
    let plain = send(model.address(), MESSAGES, "", &turn(false));
    let text = plain.text();
    let (head, body) = text.split_once("\r\n\r\n").expect("a body");
    assert!(plain.end.is_ok() && head.contains(&format!("content-length: {}", body.len())), "{text}");
    assert!(serde_json::from_str::<Value>(body).is_err(), "{body}");
    let nothing = send(model.address(), MESSAGES, "", &turn(true));
    assert!(nothing.end.is_ok() && nothing.bytes.is_empty(), "{}", nothing.text());
}

#[test]
fn a_stall_lasts_until_the_client_leaves() {
    for (point, stream) in [("before_headers", true), ("in_stream", true), ("in_stream", false)] {
        let model = model(json!({"steps": [{"stall": point}]}));
        let mut client = connect(model.address());
        let body = turn(stream);
        client.write_all((head("POST", RESPONSES, "", body.len()) + &body).as_bytes()).expect("sent");
        assert!(model.wait_for(PATIENCE, |requests| requests.len() == 1));
        client.set_read_timeout(Some(Duration::from_millis(100))).expect("a socket");
        let mut bytes = Vec::new();
        let silence = client.read_to_end(&mut bytes).expect_err("nothing more");
        assert!(matches!(silence.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut), "{silence}");
        assert_eq!(bytes.is_empty(), point == "before_headers");
        assert_eq!(model.requests()[0].ended, None, "{point}: it is still going on");
        drop(client);
        let seen = ended(&model);
        assert!(seen[0].left && seen[0].answer == Answered::Stall, "{seen:?}");
    }
}

/// The answer to one request on a connection of its own that the server ends.
fn answered_whole(address: SocketAddr) {
    let body = turn(true);
    let mut client = connect(address);
    client.write_all((head("POST", MESSAGES, "", body.len()) + &body).as_bytes()).expect("sent");
    let first = received(client);
    assert!(first.end.is_ok() && first.text().ends_with("\r\n0\r\n\r\n"), "whole, then closed: {}", first.text());
}

#[test]
fn a_server_that_is_away_ends_every_connection_and_refuses_others() {
    // So long that no machine is too slow to look meanwhile.
    let model = model(json!({"steps": [{"text": "one", "away_ms": 3_600_000}, {"text": "two"}]}));
    let mut idle = connect(model.address());
    answered_whole(model.address());
    assert_eq!(idle.read(&mut [0; 1]).map_err(|error| error.kind()).unwrap_or(0), 0, "other connections end, too");
    let refused = TcpStream::connect(model.address()).expect_err("nobody listens");
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    assert_eq!(ended(&model).iter().map(|request| request.away_ms).collect::<Vec<_>>(), [Some(3_600_000)]);
}

#[test]
fn a_server_that_was_away_comes_back_to_the_same_address_and_no_sooner() {
    let model = model(json!({"steps": [{"text": "one", "away_ms": 50}, {"text": "two"}]}));
    let mut idle = connect(model.address());
    answered_whole(model.address());
    // It ends when the server has left, so that what is accepted from here on is accepted by the one that came back.
    assert_eq!(idle.read(&mut [0; 1]).map_err(|error| error.kind()).unwrap_or(0), 0);
    let since = Instant::now();
    while TcpStream::connect(model.address()).is_err() {
        assert!(since.elapsed() < PATIENCE, "it never came back");
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(send(model.address(), MESSAGES, "", &turn(false)).json()["content"][0]["text"], "two");
    let seen = ended(&model);
    assert!(seen[1].at >= seen[0].ended.expect("it ended") + 50, "{seen:?}");
}

#[test]
fn a_model_that_is_dropped_closes_its_connections() {
    // Another test may be given the port that is free again; that this happens each time is no accident any more.
    let still_listened_to = |_| {
        let model = model(json!({"steps": [{"stall": "before_headers"}]}));
        let address = model.address();
        let mut client = connect(address);
        let body = turn(true);
        client.write_all((head("POST", MESSAGES, "", body.len()) + &body).as_bytes()).expect("sent");
        assert!(model.wait_for(PATIENCE, |requests| requests.len() == 1));
        drop(model);
        assert!(received(client).bytes.is_empty());
        TcpStream::connect(address).is_ok()
    };
    assert!(!(0..5).all(still_listened_to), "nobody listens any more");
}

#[test]
fn what_cannot_be_understood_is_answered_in_the_vendors_shape_and_recorded() {
    let model = model(json!({"steps": [{"text": "never used up"}]}));
    let address = model.address();
    let anthropic = send(address, MESSAGES, "", "{");
    assert_eq!((anthropic.status(), &anthropic.json()["error"]["type"]), (400, &json!("invalid_request_error")));
    let responses = send(address, RESPONSES, "", "{\"model\": \"m\"}");
    assert_eq!((responses.status(), &responses.json()["error"]["param"]), (400, &json!("input")));
    let packed = send(address, MESSAGES, "content-encoding: gzip\r\n", &turn(true));
    assert_eq!(packed.status(), 400);
    // Announced, and never sent.
    let mut stream = connect(address);
    stream.write_all(head("POST", MESSAGES, "connection: close\r\n", 40 << 20).as_bytes()).expect("sent");
    let large = received(stream);
    assert_eq!((large.status(), &large.json()["error"]["type"]), (413, &json!("request_too_large")));
    let seen = ended(&model);
    assert_eq!(seen.len(), 4);
    let refused = |request: &RequestSeen| {
        request.answer == Answered::Refused && request.by == By::Server && request.fault.is_some() && !request.is_turn()
    };
    assert!(seen.iter().all(refused), "{seen:?}");
    assert_eq!(send(address, MESSAGES, "", &turn(false)).json()["content"][0]["text"], "never used up");
}

#[test]
fn a_body_without_an_end_is_cut_off() {
    let model = model(json!({}));
    let mut stream = connect(model.address());
    let head = "POST /v1/messages HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("sent");
    let mebibyte = [b"100000\r\n".as_slice(), &vec![b' '; 1 << 20], b"\r\n"].concat();
    let sent = (0..64).take_while(|_| stream.write_all(&mebibyte).is_ok()).count();
    assert!((32..64).contains(&sent), "{sent} MiB were taken");
    assert!(model.wait_for(PATIENCE, |requests| requests.len() == 1));
    assert_eq!(model.requests()[0].status, Some(413));
}

#[test]
fn other_paths_are_answered_as_the_vendors_do() {
    let model = model(json!({}));
    let ask = |method: &str, path: &str, more: &str| {
        let mut stream = connect(model.address());
        stream.write_all(head(method, path, &format!("connection: close\r\n{more}"), 0).as_bytes()).expect("sent");
        received(stream)
    };
    let version = "anthropic-version: 2023-06-01\r\n";
    assert_eq!(ask("HEAD", "/", "").status(), 200);
    assert_eq!(ask("GET", "/api/hello", "").json()["message"], "hello");
    let socket = ask("GET", "/v1/responses", "");
    assert_eq!((socket.status(), &socket.json()["error"]["code"]), (404, &Value::Null));
    let unknown = ask("POST", "/v1/unknown", version);
    assert_eq!((unknown.status(), &unknown.json()["error"]["type"]), (404, &json!("not_found_error")));
    let count = send(model.address(), "/v1/messages/count_tokens", version, &turn(false));
    assert!(count.json()["input_tokens"].as_u64() > Some(0));
    let answers: Vec<(Answered, bool)> = ended(&model).iter().map(|request| (request.answer, request.left)).collect();
    let whole = [Answered::Hello, Answered::Hello, Answered::NoSuchPath, Answered::NoSuchPath, Answered::Count];
    assert_eq!(answers, whole.map(|answer| (answer, false)));
}

#[test]
fn many_clients_at_once_get_each_step_as_often_as_it_is_written() {
    let model = model(json!({"steps": [{"text": "a", "times": 30}, {"shell": "ls", "times": 50}]}));
    let address = model.address();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for turns in 0..10 {
                    let path = if turns % 2 == 0 { MESSAGES } else { RESPONSES };
                    assert_eq!(send(address, path, "", &turn(turns % 3 == 0)).status(), 200);
                }
            });
        }
    });
    let seen = ended(&model);
    let mut by: BTreeMap<String, usize> = BTreeMap::new();
    for (at, request) in seen.iter().enumerate() {
        assert_eq!(request.number, at as u64);
        *by.entry(format!("{:?}", request.by)).or_default() += 1;
    }
    assert_eq!(by, BTreeMap::from([("Step(0)".to_owned(), 30), ("Step(1)".to_owned(), 50)]));
    assert!(seen.is_sorted_by_key(|request| request.at));
}

#[test]
fn no_more_connections_are_served_than_there_is_room_for() {
    let model = model(json!({}));
    let mut idle: Vec<TcpStream> = (0..256).map(|_| connect(model.address())).collect();
    // All of them are being served before the next one comes.
    for stream in &mut idle {
        stream.write_all(head("GET", "/api/hello", "", 0).as_bytes()).expect("sent");
        assert!(stream.read(&mut [0; 64]).expect("an answer") > 0);
    }
    let mut late = connect(model.address());
    late.write_all(head("GET", "/api/hello", "connection: close\r\n", 0).as_bytes()).expect("sent");
    late.set_read_timeout(Some(Duration::from_millis(100))).expect("a socket");
    assert!(late.read(&mut [0; 64]).is_err(), "it waits for its turn");
    idle.pop();
    late.set_read_timeout(Some(PATIENCE)).expect("a socket");
    assert_eq!(received(late).status(), 200);
}

#[test]
fn a_port_that_is_taken_and_a_script_that_cannot_be_played_are_refused() {
    let first = model(json!({}));
    let options = Options { port: Some(first.address().port()), ..Options::default() };
    let taken = Model::start(&Script::default(), &options).expect_err("the port is taken");
    assert!(matches!(taken, ModelError::Listen { address, .. } if address == first.address()), "{taken}");
    let script: Script = serde_json::from_value(json!({"steps": [{}]})).expect("a script");
    let wrong = Model::start(&script, &Options::default()).expect_err("it says nothing");
    assert!(wrong.to_string().contains("/steps/0: the step says nothing"), "{wrong}");
}

/// A served program that is ended with its test.
struct Served {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Served {
    fn start(arguments: &[&str]) -> Self {
        let mut child = conform(arguments).stdout(Stdio::piped()).spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        line
    }

    fn json(&mut self) -> Value {
        serde_json::from_str(&self.line()).expect("JSON")
    }

    fn signalled(mut self, signal: &str) -> Option<i32> {
        Command::new("kill").args([format!("-{signal}"), self.child.id().to_string()]).status().expect("kill is there");
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status.code();
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("it did not end");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn conform(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loa-conform"));
    command.arg("model").args(arguments).stdin(Stdio::null());
    command
}

fn example(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/models").join(name).to_string_lossy().into_owned()
}

#[test]
fn the_program_serves_a_script_and_tells_each_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("requests.jsonl");
    let arguments = ["--script", &example("tool.yaml"), "--json", "--log", &log.to_string_lossy(), "--seed", "5"];
    let mut served = Served::start(&arguments);
    let listening = served.json()["listening"].clone();
    assert_eq!(listening["seed"], 5);
    let address: SocketAddr = listening["address"].as_str().and_then(|text| text.parse().ok()).expect("an address");
    assert_eq!(listening["openai"], format!("http://{address}/v1"));
    let key = "x-api-key: sk-hidden\r\n";
    assert!(send(address, MESSAGES, key, &turn(true)).text().contains("tool_use"));
    let request = served.json()["request"].clone();
    assert_eq!((&request["by"]["step"], &request["answer"]), (&json!(0), &json!("calls")));
    assert_eq!((&served.json()["ended"]["number"], &request["prompt"]["last_text"]), (&json!(0), &json!("do it")));
    assert_eq!(served.signalled("INT"), Some(130));
    let logged = fs::read_to_string(&log).expect("a log");
    assert_eq!(logged.lines().count(), 3, "{logged}");
    assert!(!logged.contains("hidden"));
    assert_eq!(fs::metadata(&log).expect("a log").permissions().mode() & 0o777, 0o600);
}

#[test]
fn people_are_told_what_to_set_and_then_one_line_a_request() {
    let mut served = Served::start(&["--script", &example("probe.yaml")]);
    let mut told = String::new();
    while told.matches("do the task").count() < 2 {
        told += &served.line();
    }
    assert!(!told.contains('\x1b'), "no colours on a pipe");
    assert!(told.contains("ANTHROPIC_API_KEY=") && told.contains("wire_api=\"responses\""), "{told}");
    let url = told.split("ANTHROPIC_BASE_URL=http://").nth(1).and_then(|rest| rest.split(' ').next());
    let address: SocketAddr = url.and_then(|text| text.parse().ok()).expect("an address");
    let body = turn(false).replace("do it", "Run exactly this command: `ls`");
    send(address, MESSAGES, "", &body);
    assert_eq!(served.line(), "\n");
    let line = served.line();
    assert!(line.ends_with(" #0 anthropic route ordered -> 200 calls; m, no stream, 1 tools\n"), "{line}");
    assert_eq!(served.signalled("TERM"), Some(143));
}

#[test]
fn a_wrong_script_is_explained_and_nothing_is_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("script.yaml");
    let script = path.to_string_lossy().into_owned();
    let refused = |text: &str| {
        fs::write(&path, text).expect("a file");
        conform(&["--script", &script]).assert().code(78)
    };
    refused("steps: [{sell: ls}]\n").stderr(contains("script.yaml:1:10").and(contains("shell")));
    refused("steps:\n  - {text: a}\n  - {reset: in_stream, stall: in_stream}\n")
        .stderr(contains("script.yaml:3:").and(contains("beside")));
    refused("routes: [{name: r, match: '(', reply: {text: a}}]\n").stderr(contains("does not compile"));
    refused("steps: [{text: a}]\nsteps: []\n").stderr(contains("script.yaml:2"));
    conform(&["--script", "/nowhere.yaml"]).assert().code(66).stderr(contains("/nowhere.yaml"));
    conform(&["--script", &script, "--port", "0"]).assert().code(64);
    conform(&[]).assert().code(64).stderr(contains("--script"));
    fs::write(&path, "{}\n").expect("a file");
    let log = folder.path().join("none/log");
    conform(&["--script", &script, "--log", &log.to_string_lossy()]).assert().code(74).stderr(contains("none/log"));
    let busy = model(json!({}));
    let port = busy.address().port().to_string();
    conform(&["--script", &script, "--port", &port])
        .assert()
        .code(4)
        .stderr(contains(port.as_str()).and(contains("hint:")));
}

#[test]
fn the_examples_can_be_played() {
    for entry in fs::read_dir(example("")).expect("a folder") {
        let path = entry.expect("an entry").path();
        let mut served = Served::start(&["--script", &path.to_string_lossy(), "--json"]);
        assert!(served.json()["listening"].is_object(), "{}", path.display());
    }
}
