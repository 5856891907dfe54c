//! What a finding looks like.

use super::*;
use crate::diag::{Budget, Diagnostic, Document, Format};

fn plain(text: &str, finding: &Diagnostic) -> String {
    crate::text::plain(&full(&Source::new("a.yaml", text), finding))
}

fn read(text: &str) -> Box<Diagnostic> {
    Document::read(text.as_bytes(), Format::Yaml, &Budget::default()).expect_err("a bad document")
}

#[test]
fn the_line_is_shown_with_the_span_underlined() {
    let text = "summary: ok\nphase: a\nphase: b\n";
    insta::assert_snapshot!(plain(text, &read(text)));
}

#[test]
fn a_long_line_is_cut_around_the_place() {
    let text = format!("a: [{}\u{7}{}]\n", "é".repeat(5000), "x".repeat(5000));
    insta::assert_snapshot!(plain(&text, &read(&text)));
}

#[test]
fn a_finding_without_a_place_names_the_file() {
    insta::assert_snapshot!(plain("", &Budget::default().exceeded(crate::diag::Limit::Bytes, None)));
}

#[test]
fn a_finding_for_machines_has_stable_keys() {
    let text = "a: 1\na: 2\n";
    insta::assert_snapshot!(format!("{:#}", json("a.yaml", &read(text))));
}

#[test]
fn lines_are_found_in_any_order_and_by_any_ending() {
    let source = Source::new("a.yaml", "\u{feff}one\ntwo\r\nthree\rfour\n");
    for (number, line) in [
        (3, Some("three")),
        (1, Some("one")),
        (4, Some("four")),
        (2, Some("two")),
        (5, Some("")),
        (6, None),
        (5, Some("")),
    ] {
        assert_eq!(source.line(number), line, "line {number}");
    }
}
