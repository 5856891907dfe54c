//! What a runtime said in a step, line by line, without what the probe said through it.
//!
//! The probe marks its lines with a word that stands nowhere else. What a runtime passes on is cut out, with the few words that
//! it may set before it; of a sentence in which it quotes the probe, its own words stay. The first lines and the last are kept
//! when there are too many.

use std::collections::{BTreeSet, VecDeque};
use std::mem;

use regex::Regex;

use super::OutputLine;
use crate::contract::Phase;
use crate::system::clock::Millis;

/// Fewer words of its own than these may be what a runtime sets before each line that it passes on.
const SENTENCE: usize = 6;
/// Bytes of the beginning that are always kept.
const HEAD: usize = 256 << 10;
/// Bytes of the end that are always kept.
const TAIL: usize = 1 << 20;

/// The output of the current step.
#[derive(Debug)]
pub(super) struct Transcript {
    tag: String,
    /// What the probe printed, without the word.
    said: BTreeSet<String>,
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
            said: BTreeSet::new(),
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
    pub(super) fn tagged(&mut self, line: &str) -> String {
        self.said.insert(line.to_owned());
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
        if self.printed.iter().any(|printed| line.text.contains(printed)) {
            return;
        }
        let Some(text) = self.own_words(&line.text) else { return };
        let line = OutputLine { text, ..line };
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

    /// A line without what it quotes of the probe; `None` where hardly anything is left, or what is quoted cannot be told from
    /// the rest.
    fn own_words(&self, line: &str) -> Option<String> {
        let mark = format!(" [{}]", self.tag);
        let mut own = line.to_owned();
        while let Some(at) = own.find(&mark) {
            let quoted =
                self.said.iter().map(|said| common_end(&own[..at], said)).max().filter(|length| *length > 0)?;
            own.replace_range(at - quoted..at + mark.len(), "");
        }
        let is_whole = own.len() == line.len();
        (!own.contains(&self.tag) && (is_whole || words(&own) >= SENTENCE)).then_some(own)
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

/// How many bytes two texts have in common at their ends.
fn common_end(text: &str, other: &str) -> usize {
    let pairs = text.chars().rev().zip(other.chars().rev());
    pairs.take_while(|(one, other)| one == other).map(|(letter, _)| letter.len_utf8()).sum()
}

/// How many words a text has, paths and names of phases left out.
fn words(text: &str) -> usize {
    let bare = |word: &'_ str| word.trim_matches(|letter: char| !letter.is_alphabetic()).to_owned();
    let words = text.split_whitespace().filter(|word| !word.contains('/')).map(bare);
    words.filter(|word| !word.is_empty() && !Phase::WORDS.contains(&word.as_str())).count()
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
        let quotes = |before: &str| format!("{before}{own} [/w/design.yaml]");
        heard.hear(line(1, "stderr", quotes("design failed: the phase ended with exit code 3, which nobody knows: ")));
        heard.hear(line(1, "stderr", quotes("12:00 INFO stage: output of design: ")));
        heard.hear(line(
            1,
            "stderr",
            quotes("the phase ended with exit code 3, and said: other").replace("boom", "\u{1}"),
        ));
        let kept = heard.take();
        assert_eq!(
            kept[3].text,
            "design failed: the phase ended with exit code 3, which nobody knows:  [/w/design.yaml]"
        );
        assert_eq!(kept.len(), 4, "{kept:?}");
        kept.into_iter().take(3).for_each(|line| heard.hear(line));
        assert_eq!(heard.sightings(), 2);
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
