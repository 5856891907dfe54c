use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::policy::redaction::{RedactedStream, Redactor};

const NAME: &str = "KEY";
const MARK: &str = "[REDACTED:$KEY]";

/// Values in which nothing looks escaped.
const PLAIN: &str = r"[!-$&-\[\]-~é😀][ -$&-\[\]-~é😀]{10,40}[!-$&-\[\]-~é😀]";
/// Values in which something may.
const ESCAPED: [&str; 2] = [r"[a-z][ -$&-~]{10,40}[a-z]", r"[a-z][ -\[\]-~]{10,40}[a-z]"];

fn redacted(value: &str, pieces: &[&[u8]]) -> String {
    let redactor = Redactor::new([(NAME, value)]);
    let mut stream = RedactedStream::default();
    let mut out: Vec<u8> = pieces.iter().flat_map(|piece| stream.push(&redactor, piece)).collect();
    out.extend(stream.finish(&redactor));
    String::from_utf8_lossy(&out).into_owned()
}

fn percent(value: &str, keeps: fn(u8) -> bool) -> String {
    let byte = |byte: u8| if keeps(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    value.bytes().map(byte).collect()
}

fn in_json(value: &str) -> String {
    let quoted = json!(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// The forms of a value that must be found, each behind a few bytes of its own kind.
fn encoded(value: &str) -> Vec<(&'static str, String)> {
    let unicode = |value: &str| value.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect::<Vec<_>>().concat();
    let wrapped = |text: String| text.as_bytes().chunks(20).map(String::from_utf8_lossy).collect::<Vec<_>>().join("\n");
    let coloured =
        |value: &str| value.chars().map(|c| format!("\u{1b}[1;32m{c}\u{1b}[0m")).collect::<Vec<_>>().concat();
    let mut forms = vec![
        ("as it is", value.to_owned()),
        ("JSON", in_json(value)),
        ("JSON in JSON", in_json(&in_json(value))),
        ("JSON of ASCII", unicode(value)),
        ("slashes", value.replace('/', "\\/")),
        ("address", percent(value, |byte| byte.is_ascii_alphanumeric())),
        ("address, the least", percent(value, |byte| !b"% \"<>\\^`{|}".contains(&byte) && byte.is_ascii_graphic())),
        ("address, each byte", percent(value, |_| false).to_lowercase()),
        ("address twice", percent(&percent(value, |byte| byte.is_ascii_alphanumeric()), |byte| byte != b'%')),
        ("form", percent(value, |byte| byte.is_ascii_alphanumeric() || byte == b' ').replace(' ', "+")),
        ("hexadecimal", base16ct::lower::encode_string(value.as_bytes())),
        ("HEXADECIMAL", base16ct::upper::encode_string(value.as_bytes())),
        ("bytes", value.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<Vec<_>>().concat()),
        ("colours", coloured(value)),
        ("colours in JSON", in_json(&coloured(value))),
    ];
    for before in ["", "u", "us", "use"] {
        let whole = format!("{before}{value}z");
        forms.push(("base 64", STANDARD.encode(&whole)));
        forms.push(("base 64 of an address", URL_SAFE.encode(&whole)));
        forms.push(("base 64 in lines", wrapped(STANDARD.encode(&whole))));
        forms.push(("base 64 in lines of JSON", in_json(&wrapped(STANDARD.encode(&whole)))));
    }
    forms
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_form_is_found_wherever_the_stream_is_cut(value in PLAIN, seed in any::<usize>()) {
        for (form, text) in encoded(&value) {
            let line = format!("it is <{text}> so\n");
            let at = seed % line.len();
            let cut = redacted(&value, &[&line.as_bytes()[..at], &line.as_bytes()[at..]]);
            prop_assert!(cut.contains(MARK), "{form} of {value:?} at {at}: {cut:?}");
            prop_assert_eq!(&cut, &redacted(&value, &[line.as_bytes()]), "{} cut at {}", form, at);
            prop_assert!(!cut.contains(&text), "{form}: {cut:?}");
        }
    }

    #[test]
    fn a_value_may_itself_look_escaped(value in prop_oneof![ESCAPED[0], ESCAPED[1]]) {
        for (form, text) in encoded(&value) {
            if ["as it is", "JSON", "JSON in JSON", "address", "address, each byte", "base 64", "HEXADECIMAL"].contains(&form) {
                let out = redacted(&value, &[format!("it is <{text}> so\n").as_bytes()]);
                prop_assert!(out.contains(MARK), "{form} of {value:?}: {out:?}");
            }
        }
    }

    #[test]
    fn a_line_end_anywhere_hides_no_more_than_three_characters(value in "[a-zA-Z0-9/+=_.-]{12,60}", end in 0..4_usize) {
        let end = ["\n", "\r\n", "\n\u{1b}[2m", "\\n"][end];
        for at in 1..value.len() {
            let text = format!("<{}{end}{}>\nnext\n", &value[..at], &value[at..]);
            for pieces in [vec![text.as_bytes()], text.as_bytes().chunks(1).collect(), text.as_bytes().chunks(7).collect()] {
                let out = redacted(&value, &pieces);
                prop_assert!(out.contains(MARK), "{at}: {out:?}");
                let rest = [&value[..at.min(4)], &value[at..]].into_iter().filter(|part| part.len() > 3);
                for part in rest {
                    prop_assert!(!out.replace(MARK, "").contains(part), "{part:?} of {at}: {out:?}");
                }
                prop_assert!(out.ends_with("next\n"), "{out:?}");
            }
        }
    }

    #[test]
    fn what_holds_no_value_passes_as_it_is(text in "(?s).{0,200}", size in 1..20_usize) {
        let value = "correct horse battery staple";
        let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
        prop_assert_eq!(redacted(value, &pieces), text);
    }
}

#[test]
fn a_line_waits_only_for_what_may_follow() {
    let redactor = Redactor::new([(NAME, "correct-horse-battery")]);
    let mut stream = RedactedStream::default();
    let mut push = |text: &str| String::from_utf8(stream.push(&redactor, text.as_bytes())).expect("UTF-8");
    assert_eq!(push("plain\n"), "plain\n");
    assert_eq!(push("one\nit is corr\n"), "one\n", "the line may go on");
    assert_eq!(push("ect me\n"), "it is corr\nect me\n", "and did not");
    assert_eq!(push("it is cor\n"), "it is cor\n", "three characters are not waited for");
    assert_eq!(push("rect-horse-battery, so\n"), "[REDACTED:$KEY], so\n");
    assert_eq!(push("it is correct-horse-\n"), "");
    assert_eq!(stream.finish(&redactor), b"it is correct-horse-\n", "at the end all is given out");
}

#[test]
fn numbers_below_each_other_are_no_value() {
    assert_eq!(redacted("123456", &[b"1\n2\n3\n4\n5\n6\n"]), "1\n2\n3\n4\n5\n6\n");
    assert_eq!(redacted("123456", &[b"it is 123456\n"]), format!("it is {MARK}\n"));
    assert_eq!(redacted("a/b+c \"d\"", &[b"a\\/b%2Bc \\\"d\\\""]), MARK);
}

#[test]
fn lines_of_json_stay_json() {
    let value = "pa\"ss\\word/with every+thing";
    let line = json!({ "text": format!("it is {value}\nand on"), "n": 1 }).to_string();
    let out = redacted(value, &[line.as_bytes(), b"\n"]);
    let read: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(read["text"], format!("it is {MARK}\nand on"));
}
