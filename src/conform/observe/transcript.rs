//! What a runtime said in a step, line by line, without what the probe said through it.
//!
//! The probe marks its lines with a word that stands nowhere else. A runtime may write its own words before them, so every
//! line that holds the word is cut out. The first lines and the last are kept when there are too many.

use std::collections::VecDeque;
use std::mem;

use regex::Regex;

use super::OutputLine;
use crate::system::clock::Millis;

/// Bytes of the beginning that are always kept.
const HEAD: usize = 256 << 10;
/// Bytes of the end that are always kept.
const TAIL: usize = 1 << 20;

/// The output of the current step.
#[derive(Debug)]
pub(super) struct Transcript {
    tag: String,
    /// Lines that the probe had to print as they are, without the word.
    printed: Vec<String>,
    sights: Vec<Regex>,
    sightings: usize,
    head: Vec<OutputLine>,
    head_bytes: usize,
    tail: VecDeque<OutputLine>,
    tail_bytes: usize,
}

impl Transcript {
    /// `tag` marks the probe's lines; `sights` are the manifest's patterns.
    pub(super) fn new(tag: String, sights: Vec<Regex>) -> Self {
        Self {
            tag,
            printed: Vec::new(),
            sights,
            sightings: 0,
            head: Vec::new(),
            head_bytes: 0,
            tail: VecDeque::new(),
            tail_bytes: 0,
        }
    }

    /// A line for the probe to print.
    pub(super) fn tagged(&self, line: &str) -> String {
        format!("{line} [{}]", self.tag)
    }

    /// The probe will print this line as it is, because the runtime must be able to read it.
    pub(super) fn expect_print(&mut self, line: &str) {
        if !self.printed.iter().any(|printed| printed == line) {
            self.printed.push(line.to_owned());
        }
    }

    /// How many lines matched a pattern of the manifest.
    pub(super) fn sightings(&self) -> usize {
        self.sightings
    }

    pub(super) fn hear(&mut self, line: OutputLine) {
        if line.text.contains(&self.tag) || self.printed.iter().any(|printed| line.text.contains(printed)) {
            return;
        }
        self.sightings += usize::from(self.sights.iter().any(|sight| sight.is_match(&line.text)));
        if self.tail.is_empty() && self.head_bytes + line.text.len() <= HEAD {
            self.head_bytes += line.text.len();
            self.head.push(line);
            return;
        }
        self.tail_bytes += line.text.len();
        self.tail.push_back(line);
        while self.tail_bytes > TAIL {
            self.tail_bytes -= self.tail.pop_front().map_or(self.tail_bytes, |dropped| dropped.text.len());
        }
    }

    /// What was heard so far.
    pub(super) fn lines(&self) -> Vec<OutputLine> {
        self.head.iter().chain(&self.tail).cloned().collect()
    }

    /// What was heard, and a clean sheet for the next step.
    pub(super) fn take(&mut self) -> Vec<OutputLine> {
        (self.head_bytes, self.tail_bytes) = (0, 0);
        let mut lines = mem::take(&mut self.head);
        lines.extend(mem::take(&mut self.tail));
        lines
    }
}

/// One line at a time.
pub(super) fn line(at: Millis, stream: &str, text: String) -> OutputLine {
    OutputLine { at, stream: stream.to_owned(), text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transcript() -> Transcript {
        Transcript::new("qzx".to_owned(), vec![Regex::new("^warn").expect("a pattern")])
    }

    fn texts(transcript: &Transcript) -> Vec<String> {
        transcript.lines().into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn the_probes_lines_are_cut_with_whatever_stands_before_them() {
        let mut heard = transcript();
        let own = heard.tagged("boom");
        heard.expect_print("tokens=5");
        for text in ["a", &format!("design | {own}"), "design | tokens=5", "warn b", "boom"] {
            heard.hear(line(1, "stdout", text.to_owned()));
        }
        assert_eq!(texts(&heard), ["a", "warn b", "boom"]);
        assert_eq!(heard.sightings(), 1);
        assert_eq!(heard.take().len(), 3);
        assert!(heard.lines().is_empty());
    }

    #[test]
    fn a_flood_keeps_its_beginning_and_its_end() {
        let mut heard = transcript();
        for number in 0..40_000 {
            heard.hear(line(1, "stdout", format!("{number:0100}")));
        }
        let texts = texts(&heard);
        assert!(texts.len() < 14_000, "{}", texts.len());
        assert!(texts[0].ends_with("00") && texts[texts.len() - 1].ends_with("39999"));
    }
}
