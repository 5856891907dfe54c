//! Bars, marks and links that are too many for their lane. Few of them lie side by side, moved a little where they would
//! cover each other; more than that are drawn as one that says how many it stands for.

use super::super::scale::Scale;
use super::{Bar, LEAST, LEFT, Link, MARK, Mark, RIGHT, Tone, WIDTH};

/// How far a shape may be moved, in pixels, before it would tell lies about time.
const DRIFT: f64 = 3.0 * MARK;
/// The width of a bar that stands for many; the next one begins behind it.
const SLICE: f64 = 24.0;
/// The most links that can be told from each other.
const LINKS: usize = 60;

/// A bar where it is drawn.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlacedBar {
    pub(super) x: f64,
    pub(super) width: f64,
    pub(super) bar: Bar,
}

/// A mark where it is drawn.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlacedMark {
    pub(super) x: f64,
    pub(super) glyph: String,
    pub(super) mark: Mark,
}

/// The bars of a lane, none over another.
pub(super) fn bars(scale: &Scale, bars: &[Bar]) -> Vec<PlacedBar> {
    let placed = side_by_side(scale, bars);
    let strays = |placed: &PlacedBar| placed.x - scale.x(placed.bar.from) > DRIFT || placed.x > RIGHT + LEAST;
    if placed.iter().any(strays) { merged_bars(scale, bars) } else { placed }
}

fn side_by_side(scale: &Scale, bars: &[Bar]) -> Vec<PlacedBar> {
    let mut free = LEFT;
    let place = |bar: &Bar| {
        let (from, to) = (scale.x(bar.from), scale.x(bar.to));
        let x = from.max(free);
        let least = if bar.thin { 0.0 } else { LEAST };
        let width = (to - x).max(least).min(RIGHT + 40.0 - x).max(1.0);
        free = x + width + if bar.thin { 0.0 } else { 1.0 };
        PlacedBar { x, width, bar: bar.clone() }
    };
    bars.iter().map(place).collect()
}

/// Pauses between bars that are drawn as one are not drawn.
fn merged_bars(scale: &Scale, bars: &[Bar]) -> Vec<PlacedBar> {
    let mut placed: Vec<(PlacedBar, usize, String)> = Vec::new();
    for bar in bars.iter().filter(|bar| !bar.thin) {
        let (from, to) = (scale.x(bar.from), scale.x(bar.to));
        if let Some((last, count, newest)) = placed.last_mut() {
            let right = last.x + last.width;
            if from < right + LEAST && last.width < SLICE {
                last.width = (to.min(RIGHT) - last.x).max(last.width);
                last.bar.to = last.bar.to.max(bar.to);
                last.bar.tone = worse(last.bar.tone, bar.tone);
                *count += 1;
                newest.clone_from(&bar.tip);
                continue;
            }
        }
        let free = placed.last().map_or(LEFT, |(last, ..)| last.x + last.width + 1.0);
        let x = from.max(free).min(RIGHT);
        let width = (to - x).max(LEAST);
        placed.push((PlacedBar { x, width, bar: bar.clone() }, 1, String::new()));
    }
    let told = |(mut placed, count, newest): (PlacedBar, usize, String)| {
        if count > 1 {
            placed.bar.text = count.to_string();
            placed.bar.tip = format!("{count} in a row: from {} to {newest}", placed.bar.tip);
        }
        placed
    };
    placed.into_iter().map(told).collect()
}

/// The tone that somebody has to see.
fn worse(one: Tone, other: Tone) -> Tone {
    let order = [Tone::Bad, Tone::Busy, Tone::Retry, Tone::Wait, Tone::Note];
    order.into_iter().find(|tone| [one, other].contains(tone)).unwrap_or(Tone::Good)
}

/// Marks of one lane that would cover each other stand side by side, in the order in which they are given.
pub(super) fn marks(scale: &Scale, marks: &[Mark]) -> Vec<PlacedMark> {
    let mut placed: Vec<PlacedMark> = Vec::new();
    for mark in marks {
        let of_lane = placed.iter().filter(|placed| placed.mark.lane == mark.lane);
        let taken: Vec<f64> = of_lane.map(|placed| placed.x).collect();
        let mut x = scale.x(mark.at);
        while taken.iter().any(|other| (other - x).abs() < MARK) && x < WIDTH - MARK {
            x += MARK / 2.0;
        }
        if x - scale.x(mark.at) > DRIFT {
            return merged_marks(scale, marks);
        }
        placed.push(PlacedMark { x, glyph: mark.glyph.to_string(), mark: mark.clone() });
    }
    placed
}

fn merged_marks(scale: &Scale, marks: &[Mark]) -> Vec<PlacedMark> {
    let mut sorted: Vec<&Mark> = marks.iter().collect();
    sorted.sort_by_key(|mark| (mark.lane, mark.at));
    let mut placed: Vec<(PlacedMark, usize, String)> = Vec::new();
    for mark in sorted {
        let x = scale.x(mark.at);
        match placed.last_mut() {
            Some((last, count, newest)) if last.mark.lane == mark.lane && x - last.x < MARK => {
                last.mark.tone = worse(last.mark.tone, mark.tone);
                *count += 1;
                newest.clone_from(&mark.tip);
            }
            _ => placed.push((PlacedMark { x, glyph: mark.glyph.to_string(), mark: mark.clone() }, 1, String::new())),
        }
    }
    let told = |(mut placed, count, newest): (PlacedMark, usize, String)| {
        if count > 1 {
            placed.glyph = if count > 99 { "…".to_owned() } else { count.to_string() };
            placed.mark.tip = format!("{count} here: from {} to {newest}", placed.mark.tip);
        }
        placed
    };
    placed.into_iter().map(told).collect()
}

/// The links that can be told from each other: of many that begin at one place the first.
pub(super) fn links<'a>(scale: &Scale, links: &'a [Link]) -> Vec<&'a Link> {
    let mut before = f64::NEG_INFINITY;
    let apart = |link: &&Link| {
        let x = scale.x(link.from.1);
        let is_apart = links.len() <= LINKS || x - before >= MARK;
        before = if is_apart { x } else { before };
        is_apart
    };
    links.iter().filter(apart).collect()
}
