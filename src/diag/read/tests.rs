//! What the readers make of good and of hostile text.

use serde_json::json;

use super::*;
use crate::diag::{Place, Value};

fn yaml(text: &str) -> Read<Document> {
    Document::read(text.as_bytes(), Format::Yaml, &Budget::default())
}

fn json(text: &str) -> Read<Document> {
    Document::read(text.as_bytes(), Format::Json, &Budget::default())
}

fn place(finding: &Diagnostic) -> (u32, u32) {
    let Place { line, column } = finding.span.expect("the finding has a place").start;
    (line, column)
}

#[test]
fn every_value_knows_where_it_stands() {
    let document = yaml("# first\na: 1\nb:\n  - x\n  - {c: \"é\", d: }\ne:\nf/g: ~\n").expect("plain YAML");
    assert_eq!(document.to_json(), json!({"a": 1, "b": ["x", {"c": "é", "d": null}], "e": null, "f/g": null}));
    for (pointer, start, end) in [
        ("", "2:1", "2:2"),
        ("/a", "2:4", "2:5"),
        ("/b", "4:3", "4:4"),
        ("/b/0", "4:5", "4:6"),
        ("/b/1/c", "5:9", "5:12"),
        ("/b/1/d", "5:14", "5:15"),
        ("/e", "6:1", "6:2"),
        ("/f~1g", "7:6", "7:7"),
    ] {
        let span = document.span_of(pointer).expect(pointer);
        assert_eq!((span.start.to_string().as_str(), span.end.to_string().as_str()), (start, end), "{pointer}");
    }
    assert_eq!(document.span_of("/b/2"), None);
    assert_eq!(document.holder_of("/b").map(|span| span.start.to_string()), Some("3:1".to_owned()));
    assert_eq!(document.holder_of("/b/1").map(|span| span.start.to_string()), Some("5:5".to_owned()));
}

#[test]
fn a_text_in_quotes_ends_with_its_quotes() {
    for (text, end) in [
        ("é: \"1\"   # \"kept\"\n", "1:7"),
        ("é: '1'\t# kept\n", "1:7"),
        ("a: 'it''s' \n", "1:11"),
        ("a: \"\\\"ä\\\\\" # x\n", "1:11"),
        ("# ä\r\na: \"x\r\n  ö\"  # y\r\n", "3:5"),
        ("{é: \"1\" , b: 2}\n", "1:8"),
    ] {
        let document = yaml(text).expect("plain YAML");
        let Value::Map(entries) = &document.root().value else { panic!("a mapping") };
        assert_eq!(entries[0].value.span.end.to_string(), end, "{text}");
    }
    let document = yaml("? \"a\" # x\n: 1\n'b' : 2\n").expect("plain YAML");
    let Value::Map(entries) = &document.root().value else { panic!("a mapping") };
    let ends: Vec<String> = entries.iter().map(|entry| entry.key_span.end.to_string()).collect();
    assert_eq!(ends, ["1:6", "3:4"]);
}

#[test]
fn what_two_readers_could_read_in_two_ways_is_refused_with_its_place() {
    for (text, code, at) in [
        ("", "empty", (1, 1)),
        ("# only a comment\n", "empty", (1, 1)),
        ("a: 1\nb: 2\na: 3\n", "duplicate-key", (3, 1)),
        ("a: {b: 1, \"b\": 2}\n", "duplicate-key", (1, 11)),
        ("a: 1\n---\nb: 2\n", "many-documents", (2, 1)),
        ("a: 1\n---\n", "many-documents", (2, 1)),
        ("a: !custom x\n", "tag", (1, 4)),
        ("a: !!int x\n", "tag", (1, 4)),
        ("a: !thing [1]\n", "tag", (1, 4)),
        ("b: &x {k: 1}\na:\n  <<: *x\n", "merge-key", (3, 3)),
        ("? [1]\n: 2\n", "complex-key", (1, 3)),
        ("a: &x [*x]\n", "alias", (1, 8)),
        ("a: b: c\n", "syntax", (1, 5)),
        ("a: [1, 2\n", "syntax", (2, 1)),
        ("a:\n\t- b\n", "syntax", (2, 2)),
        ("a: x\u{7}y\n", "control-character", (1, 5)),
        ("a: 1\nb: \0\n", "control-character", (2, 4)),
    ] {
        let finding = yaml(text).expect_err(text);
        assert_eq!((finding.code, place(&finding)), (code, at), "{text:?}: {}", finding.message);
    }
}

#[test]
fn a_duplicate_key_names_both_places() {
    let finding = yaml("a: 1\nb: 2\na: 3\n").expect_err("twice");
    assert_eq!(finding.related[0].span.start, Place { line: 1, column: 1 });
}

#[test]
fn encodings_other_than_utf8_are_named() {
    for (bytes, code, at) in [
        (&b"\xff\xfea\0:\0"[..], "encoding", Some((1, 1))),
        (b"\xfe\xff\0a\0:", "encoding", Some((1, 1))),
        (b"a: 1\nb: \xe9t\xe9\n", "encoding", Some((2, 4))),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary", None),
    ] {
        let finding = Document::read(bytes, Format::Yaml, &Budget::default()).expect_err(code);
        assert_eq!((finding.code, finding.span.map(|_| place(&finding))), (code, at));
    }
    let with_mark = Document::read(b"\xef\xbb\xbfa: 1\n", Format::Yaml, &Budget::default()).expect("a mark is fine");
    assert_eq!((with_mark.to_json(), with_mark.span_of("/a").map(|s| s.start.column)), (json!({"a": 1}), Some(4)));
}

#[test]
fn tags_of_the_core_schema_hold() {
    let document = yaml("a: !!str 123\nb: ! 5\nc: !!int \"7\"\nd: !!seq []\n").expect("core tags");
    assert_eq!(document.to_json(), json!({"a": "123", "b": "5", "c": 7, "d": []}));
}

#[test]
fn aliases_repeat_their_anchor() {
    let document = yaml("a: &x {k: [1]}\nb: *x\n").expect("an alias");
    assert_eq!(document.to_json(), json!({"a": {"k": [1]}, "b": {"k": [1]}}));
    let line = |pointer: &str| document.span_of(pointer).map(|span| span.start.line);
    assert_eq!((line("/b"), line("/b/k")), (Some(2), Some(1)), "the copy is the alias, its content the anchor's");
}

#[test]
fn a_hostile_text_meets_a_budget_that_is_named() {
    let laughs = (1..9).fold("a0: &a0 [x, x]\n".to_owned(), |text, level| {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        format!("{text}a{level}: &a{level} [{aliases}]\n")
    });
    let quadratic = format!("a: &a [{}]\nb: [{}]\n", vec!["x"; 3000].join(", "), vec!["*a"; 3000].join(", "));
    let block = (0..200).fold(String::new(), |text, depth| format!("{text}{}a:\n", " ".repeat(depth)));
    for (name, text, budget) in [
        ("flow", "[".repeat(200_000), "depth"),
        ("dashes", "- ".repeat(200_000), "depth"),
        ("block", block, "depth"),
        ("maps", "{a: ".repeat(200_000), "depth"),
        ("laughs", laughs, "aliases"),
        ("quadratic", quadratic, "aliases"),
        ("nodes", format!("[{}]", "1,".repeat(1_100_000)), "nodes"),
        ("bytes", format!("a: {}", "x".repeat(17 << 20)), "bytes"),
    ] {
        let finding = yaml(&text).expect_err(name);
        assert_eq!(finding.code, "budget", "{name}: {}", finding.message);
        assert!(finding.message.contains(&format!("`{budget}`")), "{name}: {}", finding.message);
        assert!(finding.help.is_some_and(|help| help.contains(&format!("{budget}=N"))), "{name}");
    }
    let finding = json(&"[".repeat(200_000)).expect_err("JSON too");
    assert_eq!((finding.code, place(&finding)), ("budget", (1, 65)));
}

#[test]
fn a_large_honest_document_passes() {
    let artifact = "  - path: src/some/module/with/a/long/enough/name/for/a/real/project/and/a/bit/more.rs\n    action: created\n    size_bytes: 12450\n";
    let text = format!("artifacts:\n{}", artifact.repeat(40_000));
    assert!(text.len() > 5_000_000);
    assert!(yaml(&text).is_ok());
}

#[test]
fn json_is_json_and_not_yaml() {
    let document =
        json("{\n\t\"a\": [1, -2.5e1, \"\\ud83d\\ude00\\/\"],\r\n\t\"b\": {}, \"c\": null }\n").expect("JSON");
    assert_eq!(document.to_json(), json!({"a": [1, -25, "😀/"], "b": {}, "c": null}));
    assert_eq!(document.span_of("/a/2").map(|span| span.start.to_string()), Some("2:19".to_owned()));
    assert_eq!(document.span_of("/c").map(|span| span.start.to_string()), Some("3:16".to_owned()));
    for (text, code, at) in [
        ("", "empty", (1, 1)),
        ("{a: 1}", "syntax", (1, 2)),
        ("{\"a\": 1,}", "syntax", (1, 9)),
        ("[1 2]", "syntax", (1, 4)),
        ("[01]", "syntax", (1, 2)),
        ("[1]\n[2]", "syntax", (2, 1)),
        ("{\"a\": \"x", "syntax", (1, 7)),
        ("{\"a\" 1}", "syntax", (1, 6)),
        ("[\"\\q\"]", "syntax", (1, 2)),
        ("[1", "syntax", (1, 3)),
        ("{\"a\": 1, \"a\": 2}", "duplicate-key", (1, 10)),
    ] {
        let finding = json(text).expect_err(text);
        assert_eq!((finding.code, place(&finding)), (code, at), "{text:?}: {}", finding.message);
    }
}

#[test]
fn json_lines_go_on_after_a_bad_line_and_keep_their_numbers() {
    let read = |text: &str| documents(text.as_bytes(), Format::JsonLines, &Budget::default()).collect::<Vec<_>>();
    let lines = read("{\"a\": 1}\n\nnot json\n{\"b\": 2}\n");
    assert_eq!(lines.len(), 3);
    assert_eq!(place(lines[1].as_ref().expect_err("not json")), (3, 1));
    let last = lines[2].as_ref().expect("a value").span_of("/b").expect("stands there");
    assert_eq!(last.start.to_string(), "4:7");
    assert_eq!(read("{\n  \"a\": 1\n}\n").len(), 1, "one object over several lines");
    assert_eq!(read("")[0].clone().expect_err("nothing").code, "empty");
}
