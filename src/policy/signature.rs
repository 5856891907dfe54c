//! What makes two failures the same issue: the contract counts repetitions and does not say of what.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::contract::{Finding, PhaseError};

/// The identity of a failure, equal for two failures that are the same issue.
///
/// A failure that says nothing about itself has no signature: silence is not proof of sameness.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Signature(String);

impl Signature {
    /// The identifiers of the findings, sorted; without findings the codes of the errors; without either the last line
    /// of the error output, less what differs from run to run.
    #[must_use]
    pub fn of(findings: &[Finding], errors: &[PhaseError], stderr: &str) -> Option<Self> {
        let findings = sorted(findings.iter().map(|finding| finding.id.raw()));
        let errors = sorted(errors.iter().map(|error| error.code.raw()));
        let text = match (findings.as_str(), errors.as_str()) {
            ("", "") => format!("stderr {}", last_line(stderr)?),
            ("", codes) => format!("errors {codes}"),
            (ids, _) => format!("findings {ids}"),
        };
        Some(Self(text))
    }

    /// The signature, for people.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn sorted<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut words: Vec<&str> = words.collect();
    words.sort_unstable();
    words.dedup();
    words.join(" ")
}

fn last_line(text: &str) -> Option<String> {
    let line = text.lines().rfind(|line| !line.trim().is_empty())?;
    let steady = VARYING.replace_all(line, Cow::Borrowed(""));
    let words: Vec<&str> = steady.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// UUIDs, dates, times, decimal fractions, hexadecimal words that hold a digit, and numbers, the most specific first.
static VARYING: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?ix)
        \b [0-9a-f]{8} (?: - [0-9a-f]{4} ){3} - [0-9a-f]{12} \b
      | \d{4}-\d\d-\d\d (?: [T\x20] \d\d:\d\d (?: :\d\d (?: [.,]\d+ )? )? )? (?: Z | [+-]\d\d:?\d\d )?
      | \b \d{1,2}:\d\d (?: :\d\d (?: [.,]\d+ )? )? Z?
      | \d+ (?: [.,]\d+ )+
      | \b (?: 0x [0-9a-f]+ | [a-f]* \d [0-9a-f]* ) \b
      | \d+";
    Regex::new(pattern).expect("the pattern is a constant that the tests compile")
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Severity;

    fn finding(id: &str) -> Finding {
        let (category, description) = ("security".into(), format!("about {id}").into());
        Finding { id: id.into(), severity: Severity::High, category, description }
    }

    fn error(code: &str) -> PhaseError {
        PhaseError { code: code.into(), message: "why".into(), recoverable: true }
    }

    #[test]
    fn findings_come_before_errors_and_errors_before_output() {
        let both = [finding("F-2"), finding("F-1"), finding("F-2")];
        for (findings, errors, stderr, expected) in [
            (&both[..], &[error("E")][..], "boom", Some("findings F-1 F-2")),
            (&[], &[error("E-2"), error("E-1")], "boom", Some("errors E-1 E-2")),
            (&[], &[], "first\nboom\n\n", Some("stderr boom")),
            (&[], &[], "", None),
            (&[], &[], " \n\t\n", None),
            (&[], &[], "4711", None),
        ] {
            let signature = Signature::of(findings, errors, stderr);
            assert_eq!(signature.as_ref().map(Signature::as_str), expected, "{stderr:?}");
        }
    }

    #[test]
    fn what_differs_from_run_to_run_does_not_count() {
        for (one, other) in [
            ("test 17 failed", "test 4 failed"),
            ("took 1.25s", "took 13s"),
            ("at 2026-01-31T14:00:00Z: down", "at 2026-02-01T03:04:05.678+01:00: down"),
            ("14:00 down", "9:30:01.5 down"),
            ("commit 9f3c2ab lost", "commit 00e1 lost"),
            ("pointer 0xdeadbeef", "pointer 0xFF"),
            ("job 3f2a9c10-abcd-abcd-abcd-abcdefabcdef", "job 00000000-0000-0000-0000-000000000000"),
        ] {
            assert_eq!(Signature::of(&[], &[], one), Signature::of(&[], &[], other), "{one:?} and {other:?}");
        }
        for (one, other) in [("file added", "file faded"), ("E12 in parser", "E12 in lexer"), ("a", "b")] {
            assert_ne!(Signature::of(&[], &[], one), Signature::of(&[], &[], other), "{one:?} and {other:?}");
        }
    }
}
