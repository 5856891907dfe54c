//! The text of a file, by lines.

use std::cell::Cell;

/// The file that a finding is about.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    pub(super) name: &'a str,
    text: &'a str,
    /// Where the last line that was asked for stands. Findings come in the order of the file, so the next is never far,
    /// and a file of one endless line is not searched for its end again and again.
    last: Cell<Line>,
}

/// A line by its number, from 1, and its bytes.
#[derive(Debug, Clone, Copy)]
struct Line {
    number: u32,
    start: usize,
    end: usize,
}

impl<'a> Source<'a> {
    /// A file by its name, as the reader of the finding knows it, and its text: bytes that are no UTF-8 replaced, empty
    /// when the file was too large to be read.
    #[must_use]
    pub fn new(name: &'a str, text: &'a str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self { name, text, last: Cell::new(line_from(text, 1, 0)) }
    }

    /// A line, counted from 1, without its end: LF, CR LF or CR.
    pub(super) fn line(&self, number: u32) -> Option<&'a str> {
        let mut line = self.last.get();
        if number < line.number {
            line = line_from(self.text, 1, 0);
        }
        while line.number < number {
            let ending = &self.text[line.end..];
            let length = if ending.starts_with("\r\n") { 2 } else { 1 };
            if ending.is_empty() {
                return None;
            }
            line = line_from(self.text, line.number + 1, line.end + length);
        }
        self.last.set(line);
        Some(&self.text[line.start..line.end])
    }
}

fn line_from(text: &str, number: u32, start: usize) -> Line {
    let end = text[start..].find(['\n', '\r']).map_or(text.len(), |length| start + length);
    Line { number, start, end }
}
