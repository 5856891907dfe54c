//! Where something stands in a text.

use serde::Serialize;

/// A position: line and column, both counted from 1, the column in Unicode scalar values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Place {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1, in characters.
    pub column: u32,
}

/// A stretch of text; `end` is the position after its last character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Span {
    /// First character.
    pub start: Place,
    /// After the last character.
    pub end: Place,
}

impl Place {
    /// The start of every text.
    pub const START: Self = Self { line: 1, column: 1 };

    /// The position after `text`, which begins at the start of a file. Lines end in LF, CR LF or CR.
    #[must_use]
    pub fn after(text: &str) -> Self {
        let mut place = Self::START;
        let mut previous = '\0';
        for character in text.chars() {
            match character {
                '\n' if previous == '\r' => {}
                '\n' | '\r' => place = Self { line: place.line.saturating_add(1), column: 1 },
                _ => place.column = place.column.saturating_add(1),
            }
            previous = character;
        }
        place
    }

    /// The position after `text`, which begins here.
    #[must_use]
    pub(super) fn plus(self, text: &str) -> Self {
        let after = Self::after(text);
        let column = if after.line == 1 { self.column.saturating_add(after.column - 1) } else { after.column };
        Self { line: self.line.saturating_add(after.line - 1), column }
    }

    /// The single character here.
    #[must_use]
    pub fn one(self) -> Span {
        Span { start: self, end: Self { column: self.column.saturating_add(1), ..self } }
    }
}

impl Span {
    /// Whether it holds no character.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The same stretch, `lines` further down.
    #[must_use]
    pub(super) fn down(self, lines: u32) -> Self {
        let down = |place: Place| Place { line: place.line.saturating_add(lines), ..place };
        Self { start: down(self.start), end: down(self.end) }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_ending_counts_once() {
        for (text, line, column) in
            [("", 1, 1), ("ab", 1, 3), ("a\n", 2, 1), ("a\r\nb", 2, 2), ("a\rb", 2, 2), ("\n\n", 3, 1), ("äöü", 1, 4)]
        {
            assert_eq!(Place::after(text), Place { line, column }, "{text:?}");
        }
    }
}
