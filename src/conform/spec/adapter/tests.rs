//! Every line that an adapter may write, and every one that it may not.

use serde_json::json;

use super::*;
use crate::conform::spec::ADAPTER_ASK;

/// A dialogue in which `run` is over, and `state` and `halt` are open as 2 and 3.
fn dialogue() -> Dialogue {
    let mut dialogue = Dialogue::new();
    for verb in [Verb::Run, Verb::State, Verb::Halt] {
        dialogue.ask(verb);
    }
    let over = dialogue.hear(b"{\"answer\":1,\"type\":\"exit\",\"code\":0}\n");
    assert!(matches!(over, Ok(Some(AdapterAnswer::Exit { code: 0, .. }))), "{over:?}");
    dialogue
}

fn heard(line: &str) -> Result<Option<AdapterAnswer>, String> {
    dialogue().hear(format!("{line}\n").as_bytes())
}

#[test]
fn every_answer_is_read_and_all_but_what_is_said_end_the_ask() {
    for (line, ends) in [
        (r#"{"answer":2,"type":"said","text":"a"}"#, false),
        (r#"{"answer":2,"type":"exit","code":255}"#, true),
        (r#"{"answer":2,"type":"signal","name":"SIGTERM"}"#, true),
        (r#"{"answer":2,"type":"state","state":{"current_phase":"design"}}"#, true),
        (r#"{"type":"unsupported","answer":2,"why":"no"}"#, true),
    ] {
        let mut dialogue = dialogue();
        let answer = dialogue.hear(format!("{line}\n").as_bytes()).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(answer.map(|answer| answer.ask()), Some(2), "{line}");
        assert_eq!(dialogue.verb(2).is_none(), ends, "{line}");
    }
}

#[test]
fn a_wrong_line_is_quoted_with_what_is_wrong_and_what_was_expected() {
    let mut missed = Vec::new();
    for (line, wrong, expected) in [
        ("Starting up", "`Starting up`: ", "one JSON object a line"),
        ("", "``: ", "one JSON object a line"),
        ("[]", "has the wrong type", "a mapping"),
        (r#"{"answer":2}"#, "", ""),
        (r#"{"answer":2,"type":"exited","code":0}"#, "`type` is none of the values", "`exit`"),
        (r#"{"answer":2,"type":"exit","code":0,"mood":"good"}"#, "no key `mood`", "`code`"),
        (r#"{"answer":2,"type":"exit","code":256}"#, "`code` is out of range", "255"),
        (r#"{"answer":2,"type":"exit","code":"0"}"#, "`code` has the wrong type", "whole number"),
        (r#"{"answer":2,"type":"exit","type":"exit","code":0}"#, "", ""),
        (r#"{"answer":2,"type":"signal","name":"9"}"#, "`name` has the wrong form", ""),
        (r#"{"answer":1,"type":"exit","code":0}"#, "ask 1 is over", "an answer to 2 (`state`), 3 (`halt`)"),
        (r#"{"answer":1,"type":"said","text":"a"}"#, "ask 1 is over", "an answer to 2"),
        (r#"{"answer":4,"type":"exit","code":0}"#, "there was no ask 4", "an answer to 2"),
        (r#"{"answer":0,"type":"exit","code":0}"#, "there was no ask 0", "an answer to 2"),
        (r#"{"answer":3,"type":"state","state":{}}"#, "ask 3 was `halt`", "`exit`, `signal`"),
    ] {
        let fault = heard(line).expect_err(line);
        let (said, asked) = fault.split_once("; expected ").unwrap_or_else(|| panic!("{fault}"));
        let quoted = said.starts_with(&format!("the adapter wrote `{line}`: "));
        if !(quoted && said.contains(wrong) && asked.contains(expected)) {
            missed.push(format!("{wrong} … {expected}: {fault}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn lines_come_in_parts_and_have_an_end() {
    let mut dialogue = dialogue();
    assert_eq!(dialogue.hear(br#"{"answer":2,"type":"#), Ok(None));
    assert!(dialogue.rest().expect("it was begun").contains("its end never came"));
    assert!(matches!(dialogue.hear(b"\"exit\",\"code\":7}\n"), Ok(Some(AdapterAnswer::Exit { code: 7, .. }))));
    assert_eq!(dialogue.rest(), None);
    let parts = (0..=LONGEST_LINE >> 14).map(|_| dialogue.hear(&[b'x'; 1 << 14]).err());
    let faults: Vec<String> = parts.flatten().collect();
    assert_eq!(faults.len(), 1, "a line that never ends costs no more than the longest");
    assert!(faults[0].contains("longer than 1024 KiB") && faults[0].len() < 400, "{}", faults[0]);
}

#[test]
fn a_quote_is_short_on_one_line_and_holds_no_half_of_a_secret() {
    let fault = heard(&format!("{} token=gho_{}", "word ".repeat(20), "a1".repeat(40))).expect_err("no JSON");
    assert!(fault.contains("word…` (") && !fault.contains("gho_"), "{fault}");
    assert!(heard("a\u{1b}[31mred\tb").expect_err("no JSON").contains(r"`a\u{1b}[31mred\tb`"));
}

#[test]
fn what_is_asked_is_what_the_schema_says() {
    let checker = Checker::new(&ADAPTER_ASK);
    for verb in Verb::ALL {
        let action = (*verb == Verb::Resolve).then(|| "abort".to_owned());
        let env = BTreeMap::from([("HOME".to_owned(), "/h".to_owned())]);
        let ask = AdapterAsk { ask: 1, verb: *verb, action, plan: "/p".to_owned(), workspace: "/w".to_owned(), env };
        let line = serde_json::to_string(&ask).expect("plain data");
        let path = Utf8Path::new("asks.jsonl");
        assert_eq!(checker.check(line.as_bytes(), path, &Budget::default()), [], "{line}");
        assert_eq!(checker.read::<AdapterAsk>(line.as_bytes(), path, &Budget::default()), Ok(ask));
    }
    let stranger = json!({"ask": 1, "verb": "report", "plan": "/p", "workspace": "/w", "env": {}}).to_string();
    assert_eq!(checker.check(stranger.as_bytes(), Utf8Path::new("a.jsonl"), &Budget::default()).len(), 1);
}
