//! `loa-run agent`: one agent, asked outside of a run: its answer, its sessions, what is tried again, and how it ends.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;

use super::{Player, StandIn};
use crate::run::until;
use crate::run::workspace::{Ran, collected, finished};

impl StandIn {
    /// `loa-run agent …`
    pub(super) fn ask(&self, arguments: &[&str]) -> Ran {
        self.workspace.loa(&[&["agent"], arguments].concat())
    }
}

/// The lines of a stream.
pub(super) fn lines(ran: &Ran) -> Vec<Value> {
    ran.stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

pub(super) fn of<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["type"] == kind).collect()
}

/// The last line, which is the only one that says how it ended.
#[track_caller]
pub(super) fn ended(lines: &[Value]) -> &Value {
    let last = lines.last().expect("a stream is not empty");
    assert_eq!((&last["type"], of(lines, "ended").len()), (&"ended".into(), 1), "{lines:#?}");
    last
}

/// What Claude Code says when it answers with these texts in one message.
pub(super) fn says(texts: &[&str]) -> String {
    let content: Vec<Value> = texts.iter().map(|text| serde_json::json!({ "type": "text", "text": text })).collect();
    let lines = [
        serde_json::json!({ "type": "system", "subtype": "init", "session_id": "s-1" }),
        serde_json::json!({ "type": "assistant", "parent_tool_use_id": null,
            "message": { "id": "m-1", "model": "m", "content": content, "usage": { "input_tokens": 500 } } }),
        serde_json::json!({ "type": "result", "subtype": "success", "is_error": false, "terminal_reason": "completed" }),
    ];
    lines.map(|line| format!("{line}\n")).concat()
}

#[test]
fn the_answer_goes_to_standard_output_and_everything_else_beside_it() {
    for player in Player::ALL {
        let agent = StandIn::new(player);
        agent.plays("rest", "tool", 0);
        let told = ["loa-run: ", " begins", "session "];
        let told = if player.resumes() { &told[..] } else { &told[..2] };
        let ran = agent.ask(&["run", "What is this?"]).exits(0).says(told);
        assert_eq!(ran.stdout.lines().count(), 1, "{player:?}: {}", ran.stdout);
        assert!(agent.arguments(1).contains("What is this?"), "{player:?}");
        assert!(!agent.workspace.path(".loa-run").exists(), "{player:?}: nothing of a run is left");
    }
}

#[test]
fn a_stream_tells_each_thing_once_and_ends_once() {
    for player in Player::with_sessions() {
        let agent = StandIn::new(player);
        agent.plays("rest", "tool", 0);
        let ran = agent.ask(&["run", "--json", "What is this?"]).exits(0);
        let lines = lines(&ran);
        assert_eq!(lines[0]["type"], "session", "{player:?}");
        assert!(of(&lines, "attempt").is_empty(), "{player:?}");
        let end = ended(&lines);
        assert_eq!((&end["class"], &end["exit_code"]), (&"done".into(), &0.into()), "{player:?}");
        assert_eq!(of(&lines, "session")[0]["session"], end["session"], "{player:?}");
        assert_eq!(of(&lines, "said").last().expect("it speaks")["text"], end["answer"], "{player:?}");
        assert!(of(&lines, "turn").len() == 2 && of(&lines, "usage").len() == 2, "{player:?}: {lines:#?}");
        agent.workspace.write("stream.jsonl", &ran.stdout);
        let checked = Command::new(env!("CARGO_BIN_EXE_loa-validate"))
            .args(["agent-event".as_ref(), agent.workspace.path("stream.jsonl").as_os_str()])
            .output();
        assert!(checked.as_ref().is_ok_and(|output| output.status.success()), "{player:?}: {checked:?}");
    }
}

#[test]
fn a_message_of_several_texts_is_told_once_each() {
    let agent = StandIn::new(Player::Claude);
    agent.says("rest", &says(&["One.", "Two.", "Three."]), 0);
    let lines = lines(&agent.ask(&["run", "--json", "Count."]).exits(0));
    let said: Vec<&Value> = of(&lines, "said").into_iter().map(|line| &line["text"]).collect();
    assert_eq!(said, ["One.", "Two.", "Three."]);
    assert_eq!(of(&lines, "turn").len(), 1);
}

#[test]
fn an_answer_may_go_to_a_file_of_ones_own() {
    let agent = StandIn::new(Player::Claude);
    agent.says("1", &says(&["It is designed."]), 0);
    agent.plays("rest", "authentication", 1);
    agent.workspace.write("answer.md", "an answer of yesterday, which is longer");
    let ran = agent.ask(&["run", "--output", "answer.md", "Design it."]).exits(0);
    assert_eq!((ran.stdout.as_str(), agent.workspace.read("answer.md").as_str()), ("", "It is designed.\n"));
    let mode = std::fs::metadata(agent.workspace.path("answer.md")).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    agent.ask(&["run", "--output", "answer.md", "Design it."]).exits(2).says(&["no answer; answer.md is left"]);
    assert_eq!(agent.workspace.read("answer.md"), "It is designed.\n", "nothing takes its place");
    for nowhere in ["nowhere/answer.md", "/dev/null/answer.md", "."] {
        agent.ask(&["run", "--output", nowhere, "Design it."]).exits(74);
    }
    assert_eq!(agent.starts(), 2, "nobody was asked for an answer that cannot be kept");
}

#[test]
fn an_answer_whose_file_cannot_be_written_in_the_end_is_printed() {
    let agent = StandIn::new(Player::Claude);
    agent.says("rest", &says(&["It is designed."]), 0);
    agent.does("rest", "rm -r kept");
    for (arguments, answers) in [(&["run"][..], 1), (&["run", "--json"], 0)] {
        std::fs::create_dir(agent.workspace.path("kept")).expect("made");
        let arguments = [arguments, &["--output", "kept/answer.md", "Design it."]].concat();
        let ran = agent.ask(&arguments).exits(74).says(&["kept/answer.md"]);
        assert_eq!(ran.stdout.lines().filter(|line| *line == "It is designed.").count(), answers, "{}", ran.stdout);
        assert!(ran.stdout.contains("It is designed."), "{}", ran.stdout);
    }
}

#[test]
fn a_prompt_may_be_a_text_a_file_or_standard_input() {
    let agent = StandIn::new(Player::Claude);
    agent.says("rest", &says(&["Yes."]), 0);
    agent.workspace.write("task.md", "Do what stands here.");
    agent.workspace.write("house.md", "Be brief.");
    agent.ask(&["run", "--system", "@house.md", "--max-turns", "7", "@task.md"]).exits(0);
    let told = agent.arguments(1);
    assert!(told.contains("--append-system-prompt\nBe brief.\n") && told.contains("--max-turns\n7\n"), "{told}");
    assert!(told.ends_with("--\nDo what stands here.\n"), "{told}");
    agent.ask(&["run", "@@mention"]).exits(0);
    assert!(agent.arguments(2).ends_with("--\n@mention\n"), "{}", agent.arguments(2));
    let mut piped = agent.workspace.command(&["agent", "run", "-"]);
    piped.stdin(std::fs::File::open(agent.workspace.path("task.md")).expect("there"));
    finished(piped).exits(0);
    assert!(agent.arguments(3).ends_with("--\nDo what stands here.\n"), "{}", agent.arguments(3));
    agent.ask(&["run", "@none.md"]).exits(66).says(&["none.md"]);
    agent.ask(&["run", " "]).exits(64).says(&["empty"]);
    agent.ask(&["run", "--backend", "cluade", "x"]).exits(78).says(&["--backend cluade", "did you mean `claude`?"]);
    assert_eq!(agent.starts(), 3, "nothing was asked");
}

#[test]
fn a_session_is_named_and_gone_on_with() {
    let agent = StandIn::new(Player::Claude);
    agent.says("rest", &says(&["Yes."]), 0);
    agent.ask(&["run", "--session", "11111111-2222-4333-8444-555555555555", "x"]).exits(0);
    assert!(agent.arguments(1).contains("--session-id\n11111111-2222-4333-8444-555555555555\n"));
    let lines = lines(&agent.ask(&["resume", "--json", "s-1", "And now?"]).exits(0));
    assert_eq!((&lines[0]["begins"], &lines[0]["session"]), (&"resumed".into(), &"s-1".into()));
    let told = agent.arguments(2);
    assert!(told.contains("--resume\ns-1\n") && told.ends_with("--\nAnd now?\n"), "{told}");
    assert!(!told.contains("--session-id") && !told.contains("--append-system-prompt"), "{told}");
    let codex = StandIn::new(Player::Codex);
    codex.plays("rest", "tool", 0);
    codex.ask(&["run", "--session", "mine", "x"]).exits(0).says(&["names of its own"]);
    assert!(!codex.arguments(1).contains("mine"), "{}", codex.arguments(1));
}

#[test]
fn what_may_pass_is_tried_again_in_the_session_that_was_begun() {
    for player in Player::with_sessions() {
        let agent = StandIn::new(player);
        agent.plays("1", "overloaded", 1);
        agent.plays("rest", "tool", 0);
        let arguments = ["run", "--json", "--session", "11111111-2222-4333-8444-555555555555", "Design it."];
        let lines = lines(&agent.ask(&arguments).exits(0));
        assert_eq!(agent.starts(), 2, "{player:?}");
        let waiting = of(&lines, "waiting");
        assert_eq!((waiting.len(), &waiting[0]["class"]), (1, &"transient".into()), "{player:?}");
        let session = of(&lines, "session")[0]["session"].as_str().expect("an id").to_owned();
        assert_eq!(of(&lines, "attempt").last().expect("another")["begins"], "resumed", "{player:?}");
        agent.went_on(2, &session);
        assert!(!agent.arguments(2).contains("--session-id"), "{player:?}: an id names one session");
    }
}

#[test]
fn a_name_that_may_be_taken_is_asked_for_before_it_is_given_again() {
    let agent = StandIn::new(Player::Claude);
    agent.says("1", "", 1);
    agent.plays("2", "resume-unknown", 1);
    agent.says("rest", &says(&["Yes."]), 0);
    let lines = lines(&agent.ask(&["run", "--json", "--session", "one-of-mine", "Design it."]).exits(0));
    let begins: Vec<&Value> = of(&lines, "attempt").into_iter().map(|line| &line["begins"]).collect();
    assert_eq!(begins, ["named", "resumed", "named"]);
    assert!((1..4).all(|start| agent.arguments(start).contains("one-of-mine\n")));
    assert!(agent.arguments(2).ends_with("--\nDesign it.\n"), "it may never have been told: {}", agent.arguments(2));
}

#[test]
fn each_class_is_repeated_and_ends_as_it_should() {
    for (case, code, starts, exit, class) in [
        ("overloaded", 1, 4, 1, "transient"),
        ("authentication", 1, 1, 2, "permanent"),
        ("credit", 1, 1, 2, "permanent"),
        ("prompt-too-long", 1, 1, 2, "overflow"),
        ("max-turns", 1, 2, 1, "timed_out"),
        ("sigint-waiting", 0, 2, 1, "lost"),
        ("sigint-tool", 0, 1, 1, "cancelled"),
        ("success", 0, 1, 0, "done"),
    ] {
        let agent = StandIn::new(Player::Claude);
        agent.plays("rest", case, code);
        let ran = agent.ask(&["run", "--json", "x"]).exits(exit);
        assert_eq!((agent.starts(), &ended(&lines(&ran))["class"]), (starts, &class.into()), "{case}");
    }
    let agent = StandIn::new(Player::Claude);
    agent.plays("rest", "max-turns", 1);
    agent.ask(&["run", "--max-turns", "1", "x"]).exits(1);
    assert_eq!(agent.starts(), 1, "turns that were bounded are not given twice");
    agent.ask(&["run", "--set", "runtime.retry.max=0", "x"]).exits(1);
    assert_eq!(agent.starts(), 2);
    agent.plays("rest", "overloaded", 1);
    agent.ask(&["run", "--set", "runtime.retry.max=2", "x"]).exits(1);
    assert_eq!(agent.starts(), 5, "two repetitions are three invocations");
}

#[test]
fn what_was_not_allowed_is_not_tried_again_unless_something_else_was_wrong() {
    for (reason, class, starts, exit) in [
        (r#""max_turns""#, "timed_out", 1, 2),
        (r#""api_error","is_error":true,"api_error_status":529"#, "transient", 4, 1),
        (r#""aborted_tools""#, "cancelled", 1, 1),
        (r#""completed""#, "done", 1, 0),
    ] {
        let agent = StandIn::new(Player::Claude);
        let denied = says(&["I may not."]).replace(
            r#""terminal_reason":"completed""#,
            &format!(r#""permission_denials":[{{"tool_name":"Bash"}}],"terminal_reason":{reason}"#),
        );
        agent.says("rest", &denied, 1);
        let lines = lines(&agent.ask(&["run", "--json", "x"]).exits(exit));
        assert_eq!((agent.starts(), &of(&lines, "denied")[0]["tools"]), (starts, &1.into()), "{class}");
        assert_eq!(ended(&lines)["class"], class);
    }
}

#[test]
fn a_session_that_is_not_there_is_a_refusal() {
    let agent = StandIn::new(Player::Claude);
    agent.plays("rest", "resume-unknown", 1);
    let ran = agent.ask(&["resume", "--json", "none", "x"]).exits(2);
    let lines = lines(&ran);
    assert_eq!((agent.starts(), &ended(&lines)["class"]), (1, &"permanent".into()));
    assert!(ended(&lines)["evidence"].as_str().is_some_and(|evidence| evidence.contains("not there")), "{lines:#?}");
}

#[test]
fn a_program_that_is_not_there_ends_the_stream_too() {
    let agent = StandIn::new(Player::Codex);
    agent.workspace.config("runtime: { backend: codex, backends: { codex: { binary: /nonexistent/codex } } }\n");
    let ran = agent.ask(&["run", "--json", "x"]).exits(2);
    let lines = lines(&ran);
    let evidence = ended(&lines)["evidence"].as_str().expect("a text");
    assert!(evidence.contains("could not be started: `/nonexistent/codex`: No such file"), "{evidence}");
}

#[test]
fn a_signal_ends_the_agent_and_everything_below_it() {
    for (signal, exit) in [("-INT", 130), ("-TERM", 143)] {
        let agent = StandIn::new(Player::Claude);
        agent.says("rest", &says(&["I begin."]), 0);
        agent.does("rest", "sleep 60 & echo $! > child; env -i setsid sleep 60 & echo $! > hidden; wait");
        let run = agent.workspace.command(&["agent", "run", "--json", "x"]).spawn().expect("it starts");
        until("the agent works", || !agent.workspace.read("hidden").is_empty());
        let sent = Command::new("kill").args([signal, &run.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()));
        let ran = collected(run).exits(exit);
        let lines = lines(&ran);
        assert_eq!((&ended(&lines)["class"], &ended(&lines)["session"]), (&"cancelled".into(), &"s-1".into()));
        for name in ["child", "hidden"] {
            let pid = agent.workspace.read(name);
            until("it is gone", || !alive(pid.trim()));
        }
    }
}

#[test]
fn after_kill_9_nothing_of_the_agent_is_left() {
    let agent = StandIn::new(Player::Claude);
    agent.says("rest", &says(&["I begin."]), 0);
    agent.does("rest", "sleep 60 & echo $! > child; wait");
    let mut run = agent.workspace.command(&["agent", "run", "x"]).spawn().expect("it starts");
    until("the agent works", || !agent.workspace.read("child").is_empty());
    run.kill().expect("killed");
    run.wait().expect("awaited");
    let pid = agent.workspace.read("child");
    until("it is gone", || !alive(pid.trim()));
}

pub(super) fn alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// A program without sessions, which says what it was told.
fn told_by(agent: &StandIn) {
    agent.workspace.write("mine", "printf '%s\\n' \"$1\" >> told; echo 'First line.'; echo; echo 'Last line.'\n");
    agent.workspace.config("runtime:\n  backend: mine\n  backends: { mine: { run: [sh, mine, '{prompt}'] } }\n");
}

#[test]
fn all_that_a_program_prints_for_people_is_its_answer() {
    let agent = StandIn::new(Player::Claude);
    told_by(&agent);
    let ran = agent.ask(&["run", "--system", "Be brief.", "Design it."]).exits(0);
    assert_eq!(ran.stdout, "First line.\n\nLast line.\n");
    assert_eq!(agent.workspace.read("told"), "Be brief.\n\nDesign it.\n");
}

#[test]
fn one_that_has_no_sessions_is_told_again_what_it_said() {
    let agent = StandIn::new(Player::Claude);
    told_by(&agent);
    agent.ask(&["run", "--output", "one.txt", "Design it."]).exits(0);
    agent.workspace.write("told", "");
    let ran = agent.ask(&["resume", "@one.txt", "Make it shorter."]).exits(0);
    assert!(ran.stderr.contains("has no session to go on with"), "{}", ran.stderr);
    let told = agent.workspace.read("told");
    assert!(told.contains("First line.\n\nLast line.") && told.ends_with("Make it shorter.\n"), "{told}");
    agent.ask(&["resume", "some-id", "Make it shorter."]).exits(64).says(&["`mine`", "@FILE"]);
}

#[test]
fn a_key_reaches_the_agent_that_it_belongs_to_and_the_others_are_named() {
    let agent = StandIn::new(Player::Claude);
    agent.plays("rest", "success", 0);
    let mut command = agent.workspace.command(&["agent", "run", "x"]);
    command.env("ANTHROPIC_API_KEY", "sk-dummy-anthropic").env("OPENAI_API_KEY", "sk-dummy-openai");
    let ran = finished(command).exits(0).says(&["kept from claude: OPENAI_API_KEY", "runtime.backends.claude"]);
    assert!(!ran.stderr.contains("sk-dummy"), "{}", ran.stderr);
    let environment = agent.environment(1);
    assert!(environment.contains("ANTHROPIC_API_KEY=sk-dummy-anthropic"));
    assert!(!environment.contains("sk-dummy-openai"));
    assert!(environment.contains("LOA_WORKSPACE="));
}
