//! What a command of the model's did, and what of it came back to the model.

use regex::Regex;

use super::ending::missing;
use super::{Evidence, clip};
use crate::conform::judge::Check;
use crate::conform::model::{Answered, ToolResult};
use crate::conform::spec::Reason;

/// Words that stand before an exit code, and what may stand between. The result is written for a model and no field of it is
/// common to all agents, so the figure must stand beside such a word: in its field, or in its sentence. A command that is
/// repeated in the result is no word of it: the cases write zeros before their codes, which shells read as the same.
const BEFORE_CODE: &str = r#"(?i)(?:exit|code|status|return)["'_ a-z]{0,12}[:=> ]*["'(]?"#;

/// The result of the model's command came back to it and says how the command ended.
pub(super) fn exit(evidence: &Evidence<'_>, step: usize, marker: &str, code: i32) -> Check {
    let marker = evidence.words(marker);
    let expected = format!("the result with {marker} to come back and to say that the command ended with {code}");
    let Some(seen) = evidence.step(step) else { return missing(Reason::NoToolResult, expected, step) };
    let prompts = seen.requests.iter().filter_map(|request| Some((request.at, request.prompt.as_ref()?)));
    let mut results = prompts.flat_map(|(at, prompt)| prompt.last_results.iter().map(move |result| (at, result)));
    let Some((at, result)) = results.find(|(_, result)| result.text.contains(&marker)) else {
        return Check::fail(Reason::NoToolResult, expected, "no such result came back").in_step(step);
    };
    let observed = clip(&result.text);
    let check = if says(result, code) {
        Check::pass(expected, observed)
    } else {
        Check::fail(Reason::CodeLost, expected, observed)
    };
    check.in_step(step).at_time(at)
}

/// Whether a result names the code; of 0, whether it names no other and is not marked as failed.
fn says(result: &ToolResult, code: i32) -> bool {
    let named = |figure: &str| {
        let pattern = Regex::new(&format!(r"{BEFORE_CODE}\b{figure}\b")).expect("a pattern of ours");
        pattern.is_match(&result.text)
    };
    match code {
        0 => result.failed != Some(true) && !named("[1-9][0-9]*"),
        code => named(&code.to_string()),
    }
}

/// A file of the workspace has exactly these bytes.
pub(super) fn file(evidence: &Evidence<'_>, path: &str, content: &str) -> Check {
    let (path, content) = (evidence.words(path), evidence.words(content));
    let expected = format!("{} bytes: {}", content.len(), clip(&format!("{content:?}")));
    let check = match evidence.seen.files.get(&path) {
        None => Check::fail(Reason::FileGone, expected, "no such file"),
        Some(found) if found == content.as_bytes() => Check::pass(expected, "these bytes"),
        Some(found) => {
            let text = clip(&format!("{:?}", String::from_utf8_lossy(found)));
            Check::fail(Reason::WrongBytes, expected, format!("{} bytes: {text}", found.len()))
        }
    };
    check.in_file(path)
}

/// What the model wanted to be done was not done: the file that its command makes is not there.
pub(super) fn no_file(evidence: &Evidence<'_>, path: &str) -> Check {
    let path = evidence.words(path);
    let expected = "no such file";
    let mut requests = evidence.seen.steps.iter().flat_map(|step| &step.requests);
    let check = if evidence.seen.files.contains_key(&path) {
        Check::fail(Reason::NotPrevented, expected, "it is there")
    } else if requests.any(|request| request.answer == Answered::Calls) {
        Check::pass(expected, "it is not there")
    } else {
        Check::fail(Reason::TooFewRequests, "the model to call its command", "it was never asked for one")
    };
    check.in_file(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_counts_only_beside_a_word_for_it() {
        for (text, failed, code, expected) in [
            ("Exit code 2\nm", Some(true), 2, true),
            ("Process exited with code 137\nOutput:\nm", None, 137, true),
            (r#"{"output":"m","metadata":{"exit_code":1,"duration_seconds":0.2}}"#, None, 1, true),
            (r#"{"output":"m","metadata":{"exit_code":1,"duration_seconds":0.2}}"#, None, 2, false),
            ("Wall time: 2 seconds\nm", None, 2, false),
            ("m", Some(true), 2, false),
            ("Exit code 12\nm", Some(true), 2, false),
            ("Exit code 1\nm", Some(true), 137, false),
            ("m", Some(false), 0, true),
            ("Process exited with code 0\nm", None, 0, true),
            ("m", Some(true), 0, false),
            ("Exit code 2\nm", None, 0, false),
            (r#"{"output":"m","exit_code":0,"status":"completed","duration_ms":12}"#, None, 0, true),
            (r#"{"output":"m","status":"failed","exit_code":2,"duration_ms":12}"#, None, 2, true),
            (r#"{"output":"m","status":"failed","exit_code":2,"duration_ms":12}"#, None, 12, false),
            (r#"{"output":"m","exit_code":"137"}"#, None, 137, true),
            ("m\n<exited with exit code 2>", None, 2, true),
            ("m\n<exit_code>2</exit_code>", None, 2, true),
            ("Command: echo m; exit 002\nm", None, 2, false),
            ("Command: echo m; exit 00137\nm", None, 137, false),
            ("status: completed, 2 lines\nm", None, 2, false),
        ] {
            let result = ToolResult { id: "i".to_owned(), text: text.to_owned(), failed };
            assert_eq!(says(&result, code), expected, "{text} {code}");
        }
    }
}
