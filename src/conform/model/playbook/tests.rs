//! Which answer comes, and what a script must not say.

use serde_json::{Value, json};

use super::*;
use crate::conform::model::answer::Message;

fn script(document: Value) -> Script {
    serde_json::from_value(document).expect("a script")
}

fn ready(document: Value) -> Playbook {
    Playbook::new(&script(document)).expect("it can be played")
}

/// What decided, and what is then said and done.
fn played(playbook: &Playbook, last: &str, before: u64) -> (By, Vec<String>) {
    let (by, answer) = playbook.answer(last, before);
    let said = match answer {
        Answer::Refusal(refusal) => vec![format!("error {}", refusal.status.expect("a status"))],
        Answer::Message(Message { text, commands, .. }) => text.into_iter().chain(commands).collect(),
    };
    (by, said)
}

#[test]
fn steps_come_in_their_order_and_as_often_as_they_say() {
    let steps = json!([{"error": {"status": 529}, "times": 2}, {"shell": "ls"}, {"text": "a", "shells": ["b", "c"]}]);
    let once = ready(json!({"steps": steps}));
    for (before, step, said) in
        [(0, 0, &["error 529"][..]), (1, 0, &["error 529"]), (2, 1, &["ls"]), (3, 2, &["a", "b", "c"])]
    {
        assert_eq!(played(&once, "", before), (By::Step(step), said.iter().map(|&word| word.to_owned()).collect()));
    }
    assert_eq!(played(&once, "", 4), (By::After, vec![DONE.to_owned()]));
    assert_eq!(played(&once, "", u64::MAX), (By::After, vec![DONE.to_owned()]));
    let again = ready(json!({"steps": steps, "then": "repeat"}));
    assert_eq!(played(&again, "", 99).0, By::Step(2));
    assert_eq!(played(&ready(json!({})), "", 0), (By::After, vec![DONE.to_owned()]));
}

#[test]
fn the_first_route_that_matches_the_last_message_answers_with_what_it_found() {
    let playbook = ready(json!({
        "steps": [{"text": "main"}],
        "routes": [
            {"name": "first", "match": "(?<a>\\d+)-(?<b>\\d+)", "reply": {"text": "{{b}}{{a}}{{b}}", "shells": ["x {{a}}", "{{b}}"]}},
            {"name": "second", "match": "\\d", "reply": {"shell": "${HOME} {{ {{}} {{a b}} {x}"}}
        ]
    }));
    let route = |name: &str| By::Route(name.to_owned());
    let said = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    assert_eq!(played(&playbook, "from 10-2 on", 0), (route("first"), said(&["2102", "x 10", "2"])));
    assert_eq!(played(&playbook, "only 7", 0), (route("second"), said(&["${HOME} {{ {{}} {{a b}} {x}"])));
    assert_eq!(played(&playbook, "none", 0), (By::Step(0), said(&["main"])));
}

#[test]
fn what_is_wrong_is_found_at_its_place() {
    let route = |reply: Value| json!({"routes": [{"name": "r", "match": "(?<a>x)|(?<b>y)", "reply": reply}]});
    let step = |step: Value| json!({"steps": [{"text": "sound"}, step]});
    let twins = json!([{"name": "r", "match": "x", "reply": {"text": "a"}}, {"name": "r", "match": "y", "reply": {"text": "b"}}]);
    for (document, pointer, message) in [
        (step(json!({})), "/steps/1", "says nothing"),
        (step(json!({"usage": {"input": 5}})), "/steps/1", "says nothing"),
        (step(json!({"stall": "in_stream", "reset": "in_stream"})), "/steps/1/reset", "`reset` beside `stall`"),
        (step(json!({"error": {"status": 500}, "text": "x"})), "/steps/1/text", "`text` beside `error`"),
        (step(json!({"error": {"status": 500}, "usage": {}})), "/steps/1/usage", "`usage` beside `error`"),
        (step(json!({"shell": "a", "shells": ["b"]})), "/steps/1/shells", "`shells` beside `shell`"),
        (step(json!({"text": "x", "usage": {"input": 5, "cached": 6}})), "/steps/1/usage/cached", "6 of 5 tokens"),
        (step(json!({"error": {}})), "/steps/1/error", "neither `kind` nor `status`"),
        (
            step(json!({"error": {"status": 429, "headers": {"retry after": "2"}}})),
            "/steps/1/error/headers/retry after",
            "is no header",
        ),
        (
            step(json!({"error": {"status": 429, "headers": {"x/y": "a\nb"}}})),
            "/steps/1/error/headers/x~1y",
            "is no header",
        ),
        (
            step(json!({"error": {"status": 429, "headers": {"Content-Length": "2"}}})),
            "/steps/1/error/headers/Content-Length",
            "by itself",
        ),
        (route(json!({"text": "{{c}}"})), "/routes/0/reply/text", "no group `c`"),
        (route(json!({"shells": ["{{a}}", "{{B}}"]})), "/routes/0/reply/shells/1", "no group `B`"),
        (route(json!({"text": "x", "times": 2})), "/routes/0/reply/times", "`times`"),
        (route(json!({})), "/routes/0/reply", "says nothing"),
        (json!({"routes": [{"name": "r", "match": "(", "reply": {"text": "x"}}]}), "/routes/0/match", "unclosed group"),
        (json!({"routes": twins}), "/routes/1/name", "another route"),
        (json!({"then": "repeat"}), "/then", "no step to repeat"),
    ] {
        let faults = script(document.clone()).faults();
        let [fault] = &faults[..] else { panic!("{document}: {faults:?}") };
        assert_eq!(fault.pointer, pointer, "{document}");
        assert!(fault.message.contains(message) && !fault.help.is_empty(), "{document}: {fault:?}");
    }
}

#[test]
fn everything_wrong_is_said_at_once() {
    let faults =
        script(json!({"steps": [{}, {"error": {}}], "routes": [{"name": "", "match": "(", "reply": {}}]})).faults();
    let places: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
    assert_eq!(places, ["/steps/0", "/steps/1/error", "/routes/0/match"]);
}
