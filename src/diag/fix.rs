//! Edits that mend a document and touch nothing beside their spans.

use super::{Place, Span};

/// A change that does not alter what the author meant; a program may make it unasked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What it does, in the imperative.
    pub title: &'static str,
    /// The edits, in the order of the file, not overlapping.
    pub edits: Vec<Edit>,
}

/// One stretch of text and what stands there afterwards. An empty stretch is an insertion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// What goes.
    pub span: Span,
    /// What comes.
    pub text: String,
}

impl Fix {
    /// Replaces one stretch.
    #[must_use]
    pub fn replace(title: &'static str, span: Span, text: impl Into<String>) -> Self {
        Self { title, edits: vec![Edit { span, text: text.into() }] }
    }

    /// Puts text before and after a stretch.
    #[must_use]
    pub fn surround(title: &'static str, span: Span, text: &str) -> Self {
        let at = |place: Place| Edit { span: Span { start: place, end: place }, text: text.to_owned() };
        Self { title, edits: vec![at(span.start), at(span.end)] }
    }

    /// The same fix, `lines` further down.
    #[must_use]
    pub(super) fn down(mut self, lines: u32) -> Self {
        for edit in &mut self.edits {
            edit.span = edit.span.down(lines);
        }
        self
    }

    /// The text with the fix applied, everything beside its spans byte for byte as it was; `None` where a span does not
    /// lie in the text, or where what stands there is an alias, an anchor or a tag and not the value itself.
    #[must_use]
    pub fn apply(&self, text: &str) -> Option<String> {
        let mut mended = text.to_owned();
        for edit in self.edits.iter().rev() {
            let (start, end) = (offset(text, edit.span.start)?, offset(text, edit.span.end)?);
            if text[start..].starts_with(['*', '&', '!']) || end < start {
                return None;
            }
            mended.replace_range(start..end, &edit.text);
        }
        Some(mended)
    }
}

/// The byte offset of a place; a byte order mark counts as no column.
fn offset(text: &str, place: Place) -> Option<usize> {
    let begin = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut at = begin;
    for _ in 1..place.line {
        let end = at + text[at..].find(['\n', '\r'])?;
        at = end + if text[end..].starts_with("\r\n") { 2 } else { 1 };
    }
    let columns = (place.column as usize).checked_sub(1)?;
    let line = &text[at..];
    let line = &line[..line.find(['\n', '\r']).unwrap_or(line.len())];
    match line.char_indices().nth(columns) {
        Some((column, _)) => Some(at + column),
        None => (line.chars().count() == columns).then_some(at + line.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: (u32, u32), end: (u32, u32)) -> Span {
        let place = |(line, column)| Place { line, column };
        Span { start: place(start), end: place(end) }
    }

    #[test]
    fn nothing_changes_beside_the_span() {
        let text = "\u{feff}a: ü # kept\r\nb: \"0\"  # kept too\r\n";
        let fix = Fix::replace("x", span((2, 4), (2, 7)), "0");
        assert_eq!(fix.apply(text).as_deref(), Some("\u{feff}a: ü # kept\r\nb: 0  # kept too\r\n"));
        let fix = Fix::surround("x", span((1, 4), (1, 5)), "\"");
        assert_eq!(fix.apply(text).as_deref(), Some("\u{feff}a: \"ü\" # kept\r\nb: \"0\"  # kept too\r\n"));
        assert_eq!(Fix::surround("x", span((1, 1), (1, 2)), "'").apply("7").as_deref(), Some("'7'"), "at the end");
    }

    #[test]
    fn what_is_not_the_value_itself_is_left_alone() {
        for text in ["a: *x\n", "a: &x 7\n", "a: !!int 7\n"] {
            assert_eq!(Fix::surround("x", span((1, 4), (1, 6)), "\"").apply(text), None, "{text}");
        }
        for outside in [span((1, 9), (1, 9)), span((3, 1), (3, 2))] {
            assert_eq!(Fix::replace("x", outside, "").apply("a: 7\n"), None);
        }
    }
}
