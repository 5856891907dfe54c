use super::*;

fn subject() -> Subject {
    Subject {
        workspace: PathBuf::from("/w"),
        prompt: "Design it.".to_owned(),
        earlier: None,
        compacts: false,
        permissions: Permissions::All,
        mode: None,
        model: None,
        auth: None,
        max_turns: None,
    }
}

/// A dialogue with an agent that a test plays.
struct Played {
    dialogue: Dialogue,
    /// What was done since it was last looked at.
    steps: Vec<Step>,
}

impl Played {
    fn new(subject: Subject) -> Self {
        let (dialogue, steps) = Dialogue::begin(subject);
        Self { dialogue, steps }
    }

    fn hears(&mut self, message: &Value) -> &mut Self {
        self.hears_line(&message.to_string())
    }

    fn hears_line(&mut self, line: &str) -> &mut Self {
        let steps = self.dialogue.hear(line);
        self.steps.extend(steps);
        self
    }

    fn cancels(&mut self) -> &mut Self {
        let steps = self.dialogue.cancel();
        self.steps.extend(steps);
        self
    }

    fn is_late(&mut self) -> &mut Self {
        let steps = self.dialogue.late();
        self.steps.extend(steps);
        self
    }

    /// The agent answers the last request.
    fn answers(&mut self, result: &Value) -> &mut Self {
        let id = self.dialogue.asked;
        self.hears(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    fn refuses(&mut self, code: i64, message: &str) -> &mut Self {
        let id = self.dialogue.asked;
        self.hears(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }))
    }

    fn updates(&mut self, update: &Value) -> &mut Self {
        let params = json!({ "sessionId": "s-1", "update": update });
        self.hears(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }))
    }

    /// It is as far as the prompt.
    fn works(subject: Subject, abilities: &Value) -> Self {
        let mut played = Self::new(subject);
        played.answers(&json!({ "protocolVersion": 1, "agentCapabilities": abilities }));
        played.answers(&json!({ "sessionId": "s-1" }));
        played.done();
        played
    }

    /// What was done, each in a word: methods, events, and the rest.
    fn done(&mut self) -> Vec<String> {
        let word = |step: Step| match step {
            Step::Send(line) => {
                let message: Value = serde_json::from_str(&line).expect("what we send is JSON");
                assert_eq!(message["jsonrpc"], "2.0");
                let method = message["method"].as_str().map(str::to_owned);
                Some(method.unwrap_or_else(|| message.get("result").unwrap_or(&message["error"]["code"]).to_string()))
            }
            Step::Tell(event) => Some(format!("{event:?}")),
            Step::Within(_) => None,
            step => Some(format!("{step:?}")),
        };
        std::mem::take(&mut self.steps).into_iter().filter_map(word).collect()
    }

    fn class(&self) -> Class {
        self.dialogue.ended(Some(&ProcessExit::Exited(0))).class
    }
}

fn chunk(text: &str) -> Value {
    json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } })
}

#[test]
fn a_turn_from_beginning_to_end() {
    let mut played = Played::new(subject());
    let Some(Step::Send(first)) = played.steps.first() else { panic!("nothing was sent") };
    let first: Value = serde_json::from_str(first).expect("JSON");
    assert_eq!(first["params"]["protocolVersion"], 1);
    assert_eq!(first["params"]["clientCapabilities"]["fs"], json!({ "readTextFile": false, "writeTextFile": false }));
    assert_eq!(first["params"]["clientCapabilities"]["terminal"], false);
    played.done();
    played.answers(&json!({ "protocolVersion": 1, "agentCapabilities": { "sessionCapabilities": { "close": {} } } }));
    assert_eq!(played.done(), ["session/new"]);
    played.answers(&json!({ "sessionId": "s-1" }));
    assert_eq!(played.done(), [r#"Session("s-1")"#, "session/prompt"]);
    played.updates(&chunk("All ")).updates(&chunk("done."));
    played.answers(&json!({ "stopReason": "end_turn" }));
    assert_eq!(played.done(), ["Turn", r#"Said("All done.")"#, "session/close"]);
    played.answers(&Value::Null);
    assert_eq!(played.done(), ["HangUp"]);
    played.is_late().is_late();
    assert_eq!(played.done(), ["Terminate", "GiveUp"]);
    assert_eq!(played.class(), Class::Done);
}

#[test]
fn a_session_is_gone_on_with_as_the_agent_can() {
    let load = json!({ "loadSession": true });
    let both = json!({ "loadSession": true, "sessionCapabilities": { "resume": {} } });
    for (abilities, method) in [(&load, "session/load"), (&both, "session/resume")] {
        let mut played = Played::new(Subject { earlier: Some("s-1".to_owned()), ..subject() });
        played.done();
        played.answers(&json!({ "protocolVersion": 1, "agentCapabilities": abilities }));
        assert_eq!(played.done(), [method]);
        played.updates(&chunk("What an earlier turn said."));
        assert!(played.done().is_empty(), "what is told again is not heard");
        played.answers(&Value::Null);
        assert_eq!(played.done(), [r#"Session("s-1")"#, "session/prompt"]);
    }
}

#[test]
fn a_session_that_is_not_there_is_refused_and_another_failure_is_what_it_is() {
    for (code, message, refused, class) in [
        (-32002, "Resource not found", true, Class::Lost),
        (-32602, "Invalid params", true, Class::Lost),
        (-32603, "No previous sessions found for this project.", true, Class::Lost),
        (-32000, "Authentication required", false, Class::Permanent),
        (-32603, "529 Overloaded", false, Class::Outage),
    ] {
        let mut played = Played::new(Subject { earlier: Some("gone".to_owned()), ..subject() });
        played.answers(&json!({ "protocolVersion": 1, "agentCapabilities": { "loadSession": true } }));
        played.refuses(code, message);
        let verdict = played.dialogue.ended(Some(&ProcessExit::Exited(0)));
        assert_eq!((verdict.session_refused, verdict.class), (refused, class), "{code} {message}");
        assert_eq!(played.done().last().map(String::as_str), Some("HangUp"));
    }
    let mut played = Played::new(Subject { earlier: Some("s-1".to_owned()), ..subject() });
    played.answers(&json!({ "protocolVersion": 1, "agentCapabilities": {} }));
    assert!(played.dialogue.ended(None).session_refused, "it cannot go on with any");
    let mut played = Played::new(subject());
    played.answers(&json!({ "protocolVersion": 1 })).refuses(-32602, "Invalid params");
    assert!(!played.dialogue.ended(None).session_refused, "a new one cannot be gone");
}

#[test]
fn mode_and_model_are_chosen_the_way_they_are_offered() {
    let select = |id: &str, now: &str| json!({ "id": id, "category": id, "currentValue": now });
    let (config, set) = ("session/set_config_option", ["session/set_mode", "session/set_model"]);
    for (offer, asked) in [
        (json!({ "modes": { "currentModeId": "ask" }, "models": { "currentModelId": "small" } }), vec![set[0], set[1]]),
        (json!({ "modes": { "currentModeId": "yolo" }, "models": { "currentModelId": "big" } }), vec![]),
        (json!({ "configOptions": [select("mode", "ask"), select("model", "small")] }), vec![config, config]),
        (json!({ "configOptions": [select("mode", "yolo"), select("model", "big")] }), vec![]),
        (
            json!({ "modes": {}, "configOptions": [select("mode", "ask"), select("model", "small")] }),
            vec![set[0], config],
        ),
    ] {
        let mut played =
            Played::new(Subject { mode: Some("yolo".to_owned()), model: Some("big".to_owned()), ..subject() });
        let mut opened = offer.clone();
        opened["sessionId"] = json!("s-1");
        played.answers(&json!({ "protocolVersion": 1 })).answers(&opened);
        for _ in &asked {
            played.answers(&Value::Null);
        }
        let done = played.done();
        let expected =
            [&["initialize", "session/new", r#"Session("s-1")"#], asked.as_slice(), &["session/prompt"]].concat();
        assert_eq!(done, expected, "{offer}");
    }
    let mut played = Played::new(Subject { model: Some("big".to_owned()), ..subject() });
    played.answers(&json!({ "protocolVersion": 1 })).answers(&json!({ "sessionId": "s-1" }));
    assert_eq!(played.class(), Class::Permanent, "a model that cannot be chosen is not passed over");
    let mut played = Played::new(Subject { mode: Some("none".to_owned()), ..subject() });
    played.answers(&json!({ "protocolVersion": 1 })).answers(&json!({ "sessionId": "s-1" }));
    played.refuses(-32602, "no such mode");
    let verdict = played.dialogue.ended(None);
    assert_eq!((verdict.class, verdict.evidence.as_str()), (Class::Permanent, "its mode: -32602: no such mode"));
}

#[test]
fn what_stands_before_the_prompt_may_fail() {
    let mut played = Played::new(Subject { auth: Some("api-key".to_owned()), ..subject() });
    played.answers(&json!({ "protocolVersion": 1 }));
    assert_eq!(played.done(), ["initialize", "authenticate"]);
    played.refuses(-32603, "no");
    assert_eq!((played.done(), played.class()), (vec!["HangUp".to_owned()], Class::Permanent));
    for (answer, class) in [
        (json!({ "protocolVersion": 2 }), Class::Permanent),
        (json!({ "protocolVersion": "of tomorrow" }), Class::Lost),
        (Value::Null, Class::Lost),
    ] {
        let mut played = Played::new(subject());
        played.answers(&answer);
        assert_eq!(played.class(), class, "{answer}");
    }
    let mut played = Played::new(subject());
    played.answers(&Value::Null).answers(&json!({}));
    assert_eq!(played.class(), Class::Lost, "a session without an id");
    let mut played = Played::new(subject());
    played.is_late();
    assert_eq!(played.class(), Class::Transient { wait: None });
    assert!(played.dialogue.ended(None).evidence.contains("initialize"), "it says what was not answered");
}

#[test]
fn whoever_asks_is_answered_and_what_is_denied_is_told() {
    let asks = |id: i64, kind: &str| {
        let options = json!([{ "optionId": "y", "kind": "allow_once" }, { "optionId": "n", "kind": "reject_once" }]);
        let call = json!({ "toolCallId": "t", "kind": kind, "locations": [{ "path": "/w/x" }] });
        let params = json!({ "sessionId": "s-1", "toolCall": call, "options": options });
        json!({ "jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params })
    };
    let outcome = |option: &str| json!({ "outcome": { "outcome": "selected", "optionId": option } }).to_string();
    let cancelled = json!({ "outcome": { "outcome": "cancelled" } }).to_string();
    let mut played = Played::works(Subject { permissions: Permissions::Edit, ..subject() }, &Value::Null);
    played.hears(&asks(0, "edit")).hears(&asks(1, "execute"));
    played.hears(&json!({ "jsonrpc": "2.0", "id": "x", "method": "fs/read_text_file", "params": {} }));
    played.hears(&json!({ "jsonrpc": "2.0", "method": "_vendor/note", "params": {} }));
    assert_eq!(played.done(), [outcome("y"), outcome("n"), "-32601".to_owned()]);
    played.cancels();
    assert_eq!(played.done(), ["session/cancel"]);
    played.hears(&asks(2, "edit"));
    assert_eq!(played.done(), std::slice::from_ref(&cancelled));
    played.answers(&json!({ "stopReason": "cancelled" }));
    assert_eq!(played.done(), ["Denied(1)", "HangUp"]);
    played.hears(&asks(3, "edit"));
    assert_eq!(played.done(), [cancelled], "nobody is left waiting");
}

#[test]
fn cancelling_ends_it_wherever_it_is() {
    let mut played = Played::works(subject(), &json!({ "sessionCapabilities": { "close": {} } }));
    played.cancels().cancels();
    assert_eq!(played.done(), ["session/cancel"]);
    played.is_late();
    assert_eq!(played.done(), ["session/close"], "it does not wait for ever");
    played.is_late().is_late().is_late();
    assert_eq!(played.done(), ["HangUp", "Terminate", "GiveUp"]);
    assert_eq!(played.class(), Class::Cancelled);

    for reply in [json!({ "stopReason": "end_turn" }), json!({ "stopReason": "cancelled" })] {
        let mut played = Played::works(subject(), &Value::Null);
        played.cancels().answers(&reply);
        assert_eq!(played.class(), Class::Cancelled, "{reply}");
    }
    let mut played = Played::new(subject());
    played.cancels();
    assert_eq!((played.done(), played.class()), (vec!["initialize".to_owned(), "HangUp".to_owned()], Class::Cancelled));
    let total: Duration = [Asked::Prompt, Asked::Close, Asked::Close, Asked::Close]
        .map(|asked| Dialogue { cancelled: true, ..Played::new(subject()).dialogue }.patience(asked))
        .into_iter()
        .sum();
    assert!(total < Duration::from_secs(3), "the run waits no longer: {total:?}");
}

#[test]
fn an_agent_that_turns_for_ever_is_stopped() {
    let mut played = Played::works(Subject { max_turns: Some(2), ..subject() }, &Value::Null);
    for turn in 1..=3 {
        let call = json!({ "sessionUpdate": "tool_call", "toolCallId": format!("t-{turn}"), "status": "completed" });
        played.updates(&call);
    }
    let done = played.done();
    assert_eq!(done.iter().filter(|word| *word == "session/cancel").count(), 1, "{done:?}");
    played.answers(&json!({ "stopReason": "cancelled" }));
    assert_eq!(played.class(), Class::TimedOut);
}

#[test]
fn another_sessions_updates_are_not_heard() {
    let mut played = Played::works(subject(), &Value::Null);
    let params = json!({ "sessionId": "of a subagent", "update": chunk("I am another.") });
    played.hears(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }));
    played.answers(&json!({ "stopReason": "end_turn" }));
    assert_eq!(played.class(), Class::Transient { wait: None }, "it said nothing itself");
}

#[test]
fn lines_that_are_no_messages_are_borne_and_told() {
    let mut played = Played::works(subject(), &Value::Null);
    played.hears_line("listening on stdio").hears_line("").hears_line(r#"{"jsonrpc":"2.0","id":3,"resu"#);
    played.hears_line(r#"{"jsonrpc":"2.0","id":77,"result":{}}"#);
    played.updates(&chunk("Done.")).answers(&json!({ "stopReason": "end_turn" }));
    let verdict = played.dialogue.ended(None);
    assert_eq!(verdict.class, Class::Done);
    assert_eq!(verdict.evidence, "end_turn (lines that are no messages: 2, the first: `listening on stdio`)");

    let mut played = Played::new(subject());
    for _ in 0..STRANGE {
        assert_eq!(played.class(), Class::Lost);
        played.hears_line("a program that is no agent");
    }
    assert_eq!(played.class(), Class::Permanent);
    assert_eq!(played.done(), ["initialize", "HangUp"]);
}

#[test]
fn a_death_without_a_word_is_one() {
    let played = Played::works(subject(), &Value::Null);
    let verdict = played.dialogue.ended(Some(&ProcessExit::Signalled(9)));
    assert_eq!((verdict.class, verdict.session_refused), (Class::Lost, false));
    let mut played = Played::works(subject(), &Value::Null);
    let steps = played.dialogue.closed();
    assert!(steps.contains(&Step::HangUp), "who says nothing any more is not waited for");
}

/// What the agent of this recording said; the dialogue that it was recorded with chose this mode.
fn recorded(case: &str, mode: Option<&str>) -> (Vec<AgentEvent>, Verdict) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/transcripts/acp/{case}.jsonl"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{case}: {error}"));
    let mut played = Played::new(Subject { mode: mode.map(str::to_owned), ..subject() });
    for line in text.lines() {
        played.hears_line(line);
    }
    let events =
        played.steps.iter().filter_map(|step| if let Step::Tell(event) = step { Some(event.clone()) } else { None });
    (events.collect(), played.dialogue.ended(Some(&ProcessExit::Exited(0))))
}

#[test]
fn what_the_real_agents_said_is_understood() {
    let transient = Class::Transient { wait: None };
    for (agent, mode, authentication, refused) in [
        ("claude", Some("bypassPermissions"), Class::Permanent, Class::Permanent),
        ("codex", None, Class::Permanent, Class::Permanent),
        ("gemini", Some("yolo"), Class::Permanent, Class::Permanent),
        ("opencode", None, Class::Permanent, Class::Permanent),
        // Nothing that it sends says that anything failed, but its silence.
        ("pi", None, transient.clone(), transient),
        ("qwen", None, Class::Permanent, Class::Permanent),
    ] {
        let (events, verdict) = recorded(&format!("{agent}-tool"), mode);
        let spent = verdict.spent.map(|spent| (spent.tokens, spent.micro_usd, spent.of_session));
        let told = match agent {
            "claude" => Some(1350),
            "opencode" => Some(0),
            _ => None,
        };
        assert_eq!(spent, told.map(|micro_usd| (None, Some(micro_usd), true)), "{agent}: two tell a price");
        assert_eq!(Verdict { spent: None, ..verdict }, Verdict::new(Class::Done, "end_turn"), "{agent}");
        let count = |is: fn(&AgentEvent) -> bool| events.iter().filter(|event| is(event)).count();
        assert_eq!(count(|event| matches!(event, AgentEvent::Session(_))), 1, "{agent}");
        assert_eq!(count(|event| matches!(event, AgentEvent::Turn)), 2, "{agent}: {events:?}");
        assert_eq!(count(|event| matches!(event, AgentEvent::Usage(_))) > 0, agent != "gemini", "{agent}: {events:?}");
        let said =
            events.iter().rev().find_map(|event| if let AgentEvent::Said(text) = event { Some(text) } else { None });
        assert_eq!(said.map(String::as_str), Some("All is designed."), "{agent}");
        for (case, class) in [("authentication", authentication), ("refused", refused)] {
            let (_, verdict) = recorded(&format!("{agent}-{case}"), mode);
            assert_eq!(verdict.class, class, "{agent} {case}: {}", verdict.evidence);
        }
    }
}
