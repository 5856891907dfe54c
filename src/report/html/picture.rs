//! What happened in a case, drawn: a lane for the program and one for each phase.

use std::collections::BTreeMap;

use super::Chapter;
use crate::conform::judge::Outcome;
use crate::conform::observe::{MarkKind, TimelineMark};
use crate::conform::score::CaseReport;
use crate::draw::{Bar, Lane, Mark, Timeline, Tone, span};

/// Bytes that the pictures of a page have together, so that a survey of many runtimes stays a page that opens at once.
const ROOM: usize = 1_200_000;

/// Which case: the chapter, and the numbers of runtime, clause and case in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) chapter: String,
    pub(super) at: (usize, usize, usize),
}

/// The pictures of a page, by the case that they show.
#[derive(Debug, Default)]
pub(super) struct Pictures(BTreeMap<Key, String>);

impl Pictures {
    /// As many as there is room for: what is red first, then what was not judged, then what was kept.
    pub(super) fn of(chapters: &[Chapter<'_>]) -> Self {
        let mut wanted: Vec<(u8, Key, &CaseReport)> = chapters.iter().flat_map(cases).collect();
        wanted.sort_by_key(|(rank, ..)| *rank);
        let mut room = ROOM;
        let mut all = BTreeMap::new();
        for (_, key, case) in wanted {
            let svg = draw(case).svg();
            let Some(left) = room.checked_sub(svg.len()) else { break };
            room = left;
            all.insert(key, svg);
        }
        Self(all)
    }

    /// Whether a chapter has one.
    pub(super) fn any(&self, chapter: &str) -> bool {
        self.0.keys().any(|key| key.chapter == chapter)
    }

    pub(super) fn get(&self, key: &Key) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }
}

/// Every case with something to draw, and how much it matters.
fn cases<'a>(chapter: &'a Chapter<'_>) -> Vec<(u8, Key, &'a CaseReport)> {
    let mut found = Vec::new();
    for (runtime_number, runtime) in chapter.report.runtimes.iter().enumerate() {
        for (clause_number, clause) in runtime.clauses.iter().enumerate() {
            for (number, case) in clause.cases.iter().enumerate().filter(|(_, case)| !case.timeline.is_empty()) {
                let at = (runtime_number, clause_number, number);
                found.push((rank(case.outcome), Key { chapter: chapter.id.to_owned(), at }, case));
            }
        }
    }
    found
}

fn rank(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Fail | Outcome::Flaky | Outcome::HarnessError | Outcome::ExpectedFail => 0,
        outcome if outcome.is_green() => 2,
        _ => 1,
    }
}

/// The picture of a case.
pub(super) fn draw(case: &CaseReport) -> Timeline {
    let lanes = Lanes::of(&case.timeline);
    let end = case.timeline.iter().map(|mark| mark.until.unwrap_or(mark.at)).max().unwrap_or(0);
    let moments = case.timeline.iter().filter(|mark| !is_bar(mark));
    Timeline {
        title: format!("What happened in {}", case.id),
        description: lanes.words(&case.timeline),
        end,
        lanes: lanes.names.iter().map(|name| lane(name, &case.timeline, end)).collect(),
        marks: moments.map(|mark| moment(mark, &lanes)).collect(),
        links: Vec::new(),
        breaks: Vec::new(),
    }
}

/// The names of the lanes, from the top.
struct Lanes {
    names: Vec<String>,
}

impl Lanes {
    fn of(marks: &[TimelineMark]) -> Self {
        let mut names = vec!["program".to_owned()];
        for mark in marks {
            let name = Self::name(mark);
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        Self { names }
    }

    fn name(mark: &TimelineMark) -> &str {
        match (&mark.phase, mark.kind) {
            (Some(phase), _) => phase,
            (None, MarkKind::Request) => "model",
            _ => "program",
        }
    }

    fn words(&self, marks: &[TimelineMark]) -> String {
        let count = |kind: MarkKind| marks.iter().filter(|mark| mark.kind == kind).count();
        let told = [(MarkKind::Attempt, "attempts"), (MarkKind::Request, "requests"), (MarkKind::Report, "reports")];
        let told = told.into_iter().filter(|(kind, _)| count(*kind) > 0);
        let told: Vec<String> = told.map(|(kind, what)| format!("{} {what}", count(kind))).collect();
        format!("Lanes: {}. {}", self.names.join(", "), told.join(", "))
    }
}

/// Whether it is drawn as a stretch: what lasts, and an attempt whose end was not seen.
fn is_bar(mark: &TimelineMark) -> bool {
    mark.until.is_some() || mark.kind == MarkKind::Attempt
}

fn lane(name: &str, marks: &[TimelineMark], end: u64) -> Lane {
    let here = marks.iter().filter(|mark| is_bar(mark) && Lanes::name(mark) == name);
    let mut bars: Vec<Bar> = here.map(|mark| bar(mark, end)).collect();
    let is_phase = marks.iter().any(|mark| mark.phase.as_deref() == Some(name));
    let gaps: Vec<Bar> = bars.windows(2).filter(|_| is_phase).filter_map(gap).collect();
    bars.extend(gaps);
    bars.sort_by_key(|bar| bar.from);
    Lane { name: name.to_owned(), note: String::new(), bars }
}

fn bar(mark: &TimelineMark, end: u64) -> Bar {
    let to = mark.until.unwrap_or(end).max(mark.at);
    let (tone, text) = match (mark.kind, mark.exit) {
        // What its program ends with is right or wrong by the clause, not by its number.
        (MarkKind::Step | MarkKind::Request, _) => (Tone::Wait, mark.label.clone()),
        (_, Some(code)) => (
            if code == 0 {
                Tone::Good
            } else if code == 1 {
                Tone::Retry
            } else {
                Tone::Bad
            },
            code.to_string(),
        ),
        (_, None) if mark.until.is_none() => (Tone::Busy, "?".to_owned()),
        (_, None) => (Tone::Bad, "×".to_owned()),
    };
    let tip = format!("{}, {} to {}", described(mark), span(mark.at), span(to));
    Bar { from: mark.at, to, tone, thin: false, text, tip, href: None }
}

/// The pause between two attempts of a phase.
fn gap(pair: &[Bar]) -> Option<Bar> {
    let [before, after] = pair else { return None };
    let waited = after.from.checked_sub(before.to).filter(|waited| *waited > 0)?;
    let tip = format!("a gap of {}", span(waited));
    Some(Bar { from: before.to, to: after.from, tone: Tone::Wait, thin: true, text: String::new(), tip, href: None })
}

fn moment(mark: &TimelineMark, lanes: &Lanes) -> Mark {
    let (glyph, tone) = match mark.kind {
        MarkKind::Checkpoint => ('◆', Tone::Good),
        MarkKind::Usage => ('▲', Tone::Retry),
        MarkKind::Signal => ('▼', Tone::Note),
        MarkKind::Report => ('!', Tone::Bad),
        MarkKind::Left => ('×', Tone::Bad),
        MarkKind::Step | MarkKind::Attempt | MarkKind::Request => ('·', Tone::Busy),
        MarkKind::More => ('…', Tone::Wait),
    };
    let lane = lanes.names.iter().position(|name| name == Lanes::name(mark)).unwrap_or(0);
    Mark { at: mark.at, lane, glyph, tone, tip: format!("{}, at {}", described(mark), span(mark.at)), href: None }
}

fn described(mark: &TimelineMark) -> String {
    match &mark.phase {
        Some(phase) => format!("{phase}, {}", mark.label),
        None => mark.label.clone(),
    }
}
