//! Words for the renderers.

use std::borrow::Cow;

use crate::diag::{Diagnostic, Severity};

/// The text on one line, with everything written out that would act on a terminal or a log instead of standing there:
/// control characters, line ends, marks that turn the direction of writing.
#[must_use]
pub fn harmless(text: &str) -> Cow<'_, str> {
    let acts = |character: char| {
        character.is_control()
            || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let written = |character: char| match character {
        character if acts(character) => character.escape_default().to_string(),
        character => character.to_string(),
    };
    Cow::Owned(text.chars().map(written).collect())
}

/// What a reader sees of a text, on one line.
#[must_use]
pub fn visible(text: &str) -> String {
    let plain = anstream::adapter::strip_str(text).to_string();
    plain.chars().map(|c| if c == '\t' { ' ' } else { c }).filter(|c| is_visible(*c)).collect()
}

/// Whether a character stands where it is: it neither acts on a terminal, nor is it a mark that no reader sees and that
/// changes the order of what is read.
#[must_use]
pub fn is_visible(c: char) -> bool {
    let turns = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    !c.is_control() && !turns
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_written_out() {
        for (text, expected) in [
            ("plain é 😀", "plain é 😀"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("a\r\nb\tc", "a\\r\\nb\\tc"),
            ("a\u{202e}b\u{2028}c\u{85}d", "a\\u{202e}b\\u{2028}c\\u{85}d"),
        ] {
            assert_eq!(harmless(text), expected);
        }
    }
}
