//! What goes over the wire, read back as clients read it: whole answers, what is asked, and what goes wrong.

mod answers;
mod errors;
mod questions;

use serde_json::json;

use super::*;

const IDS: Ids = Ids { seed: 7, number: 3 };
const STAMP: Stamp = Stamp { ids: IDS, created: 1_800_000_000 };

fn reply(text: Option<&str>, calls: usize) -> Reply<'_> {
    let calls =
        (0..calls).map(|n| ("Bash".to_owned(), json!({"command": format!("printf '\"{n}\" é' > file")}))).collect();
    let usage = Usage { input: 6000, cached: 5000, output: 70 };
    Reply { ids: IDS, created: 1_800_000_000, model: "some-model", text, calls, stop: None, usage }
}

fn replies() -> Vec<Reply<'static>> {
    let long = "A sentence that is long enough to be cut into several pieces, ünïcode included. ";
    vec![reply(Some("x"), 0), reply(Some(long), 0), reply(None, 1), reply(None, 3), reply(Some(long), 2)]
}

/// Reads a stream without names as a client does: data and empty lines.
fn chunks(events: &[Event]) -> Vec<Value> {
    let bytes: Vec<u8> = events.iter().flat_map(Event::bytes).collect();
    let text = String::from_utf8(bytes).expect("UTF-8");
    let read = text.strip_suffix("\n\n").expect("an empty line at the end").split("\n\n");
    let read = read.map(|line| line.strip_prefix("data: ").expect("data"));
    read.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).expect("JSON")).collect()
}

/// Reads a stream as a client does: names, data, empty lines.
fn stream(events: &[Event]) -> Vec<(String, Value)> {
    let bytes: Vec<u8> = events.iter().flat_map(Event::bytes).collect();
    let text = String::from_utf8(bytes).expect("UTF-8");
    assert!(text.ends_with("\n\n"));
    let read = text.trim_end().split("\n\n").map(|event| {
        let (name, data) = event.split_once('\n').expect("two lines");
        let data = data.strip_prefix("data: ").expect("data");
        assert!(!data.contains('\n'));
        let data: Value = serde_json::from_str(data).expect("JSON");
        (name.strip_prefix("event: ").expect("a name").to_owned(), data)
    });
    let read: Vec<(String, Value)> = read.collect();
    assert!(read.iter().all(|(name, data)| data["type"] == name.as_str()));
    read
}

#[test]
fn a_path_tells_whose_it_is_and_what_for() {
    use Operation::{Count, Turn};
    for (path, expected) in [
        ("/v1/messages", Some((Dialect::Anthropic, Turn))),
        ("/v1/messages/count_tokens", Some((Dialect::Anthropic, Count))),
        ("/v1/responses", Some((Dialect::Responses, Turn))),
        ("/v1/chat/completions", Some((Dialect::Chat, Turn))),
        ("/v1beta/models/gemini-pro:generateContent", Some((Dialect::Gemini, Turn))),
        ("/v1beta/models/gemini-pro:streamGenerateContent", Some((Dialect::Gemini, Turn))),
        ("/v1beta/models/gemini-pro:countTokens", Some((Dialect::Gemini, Count))),
        ("/v1beta/models/gemini-pro:embedContent", None),
        ("/v1beta/models/gemini-pro", None),
        ("/v1/models", None),
        ("/", None),
    ] {
        assert_eq!(Dialect::of_path(path), expected, "{path}");
    }
    for (path, header, expected) in [
        ("/v1beta/models", "", Dialect::Gemini),
        ("/v1/models", "x-goog-api-key", Dialect::Gemini),
        ("/v1/models", "anthropic-version", Dialect::Anthropic),
        ("/v1/models", "x-api-key", Dialect::Anthropic),
        ("/v1/models", "authorization", Dialect::Responses),
    ] {
        assert_eq!(Dialect::of_stranger(path, |name| name == header), expected, "{path} {header}");
    }
    assert_eq!(Dialect::Gemini.count(7), json!({"totalTokens": 7}));
    assert_eq!(Dialect::Anthropic.count(7), json!({"input_tokens": 7}));
}

#[test]
fn ids_tell_everything_apart() {
    let of = |seed, number| {
        let reply = Reply { ids: Ids { seed, number }, ..reply(Some("x"), 2) };
        let calls = Dialect::Anthropic.whole(&reply)["content"].clone();
        [calls[1]["id"].clone(), calls[2]["id"].clone(), Dialect::Anthropic.whole(&reply)["id"].clone()]
    };
    let all = [of(7, 3), of(7, 4), of(8, 3)].concat();
    let different: std::collections::BTreeSet<String> = all.iter().map(Value::to_string).collect();
    assert_eq!(different.len(), all.len(), "{all:?}");
    assert_eq!(of(7, 3), of(7, 3));
}
