//! Words for the renderers.

use crate::diag::{Diagnostic, Severity};
use crate::text::harmless;

/// `1 file`, `2 files`.
pub(super) fn count(number: usize, unit: &str) -> String {
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

/// How bad a finding is, in the word that all formats for people use.
pub(super) fn severity(finding: &Diagnostic) -> &'static str {
    match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// The message with what was expected, what was found and what to do, a line each.
pub(super) fn in_full(finding: &Diagnostic) -> Vec<String> {
    let notes = [("expected", &finding.expected), ("found", &finding.found), ("help", &finding.help)];
    let notes = notes.into_iter().filter_map(|(name, text)| Some(format!("{name}: {}", harmless(text.as_deref()?))));
    std::iter::once(harmless(&finding.message).into_owned()).chain(notes).collect()
}
