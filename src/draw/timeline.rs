//! A timeline: lanes with bars, marks on them, links between them, and stretches that are cut out.

use std::fmt::Write;

mod crowd;

use super::scale::Scale;
use super::text::span;
use crate::text::xml;

/// What a colour stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// It went well.
    Good,
    /// It did not, and was tried again.
    Retry,
    /// It failed.
    Bad,
    /// It is going on.
    Busy,
    /// Nothing was done.
    Wait,
    /// Worth a look, neither good nor bad.
    Note,
}

impl Tone {
    fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Retry => "retry",
            Self::Bad => "bad",
            Self::Busy => "busy",
            Self::Wait => "wait",
            Self::Note => "note",
        }
    }
}

/// A stretch of a lane. All times are in milliseconds from the picture's beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bar {
    /// When it begins.
    pub from: u64,
    /// When it ends.
    pub to: u64,
    /// What it means.
    pub tone: Tone,
    /// A thin line instead of a block: a pause.
    pub thin: bool,
    /// A few characters on the bar, shown where they fit.
    pub text: String,
    /// What it is, in words: for a pointer that rests on it, and for readers who see no picture.
    pub tip: String,
    /// Where it leads, such as `#attempt-3`; it can then be reached by keyboard.
    pub href: Option<String>,
}

/// A row of the picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// Its name.
    pub name: String,
    /// What stands at its right end, such as a total.
    pub note: String,
    /// What happened in it, in order.
    pub bars: Vec<Bar>,
}

/// A moment on a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub at: u64,
    /// The lane, from 0.
    pub lane: usize,
    /// One character on it.
    pub glyph: char,
    /// What it means.
    pub tone: Tone,
    /// What it is, in words.
    pub tip: String,
    /// Where it leads.
    pub href: Option<String>,
}

/// A way from one moment of a lane to another of another lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Lane and moment where it begins.
    pub from: (usize, u64),
    /// Lane and moment where it ends.
    pub to: (usize, u64),
    /// What it is, in words.
    pub tip: String,
}

/// A stretch of time that is cut out of the picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Break {
    /// When it begins.
    pub from: u64,
    /// When it ends.
    pub to: u64,
    /// What happened meanwhile, in words.
    pub tip: String,
}

/// The picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// What it shows.
    pub title: String,
    /// What can be seen in it, in words: the whole of it for readers who see no picture.
    pub description: String,
    /// When it ends.
    pub end: u64,
    /// Its rows, from the top.
    pub lanes: Vec<Lane>,
    /// Moments on them.
    pub marks: Vec<Mark>,
    /// Ways between them.
    pub links: Vec<Link>,
    /// What is cut out.
    pub breaks: Vec<Break>,
}

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 126.0;
const RIGHT: f64 = 920.0;
const TOP: f64 = 34.0;
const LANE: f64 = 42.0;
const BAR: f64 = 18.0;
/// From the top of a lane to the middle of its bars; marks stand above it.
const MIDDLE: f64 = 27.0;
/// The width of a mark.
const MARK: f64 = 16.0;
/// The least width of a bar: even what took no time can be pointed at.
const LEAST: f64 = 5.0;

impl Timeline {
    /// The picture as one `svg` element, to stand in a page that has [`super::STYLE`].
    #[must_use]
    pub fn svg(&self) -> String {
        let mut svg = String::new();
        // Writing to a String cannot fail.
        let _ = self.write(&mut svg);
        svg
    }

    fn write(&self, svg: &mut String) -> std::fmt::Result {
        let cuts: Vec<(u64, u64)> = self.breaks.iter().map(|cut| (cut.from, cut.to)).collect();
        let scale = Scale::new(self.end, &cuts, LEFT, RIGHT);
        let bottom = TOP + LANE * lanes(self.lanes.len());
        writeln!(
            svg,
            "<svg class=\"timeline\" viewBox=\"0 0 {WIDTH} {:.0}\" role=\"group\">\n\
             <title>{}</title>\n<desc>{}</desc>",
            bottom + 14.0,
            xml(&self.title),
            xml(&self.description)
        )?;
        // Their ids may stand in a page once; pictures that need none can stand in it as often as they like.
        if !(self.links.is_empty() && self.breaks.is_empty()) {
            svg.push_str(DEFINITIONS);
        }
        for (index, lane) in self.lanes.iter().enumerate() {
            let y = top_of(index);
            if index % 2 == 0 {
                writeln!(svg, "<rect class=\"stripe\" x=\"0\" y=\"{y:.1}\" width=\"{WIDTH}\" height=\"{LANE}\"/>")?;
            }
            let middle = y + MIDDLE + 4.0;
            writeln!(svg, "<text x=\"8\" y=\"{middle:.1}\">{}</text>", xml(&lane.name))?;
            let note = xml(&lane.note);
            writeln!(svg, "<text class=\"faint\" x=\"992\" y=\"{middle:.1}\" text-anchor=\"end\">{note}</text>")?;
        }
        for at in scale.ticks(&cuts) {
            let (x, text) = (scale.x(at), span(at));
            writeln!(
                svg,
                "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>\
                 <text class=\"faint\" x=\"{x:.1}\" y=\"22\" text-anchor=\"middle\">{text}</text>"
            )?;
        }
        self.breaks.iter().try_for_each(|cut| write_break(svg, &scale, cut, bottom))?;
        crowd::links(&scale, &self.links).into_iter().try_for_each(|link| write_link(svg, &scale, link))?;
        self.lanes.iter().enumerate().try_for_each(|(index, lane)| write_bars(svg, &scale, index, lane))?;
        crowd::marks(&scale, &self.marks).iter().try_for_each(|placed| write_mark(svg, placed))?;
        writeln!(svg, "</svg>")
    }
}

const DEFINITIONS: &str = "<defs>\
<pattern id=\"cut\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
<line class=\"cut-line\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"8\" stroke-opacity=\"0.35\"/></pattern>\
<marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
<path class=\"arrow\" d=\"M0 0 8 4 0 8z\"/></marker></defs>";

fn lanes(count: usize) -> f64 {
    f64::from(u16::try_from(count).unwrap_or(u16::MAX))
}

fn top_of(lane: usize) -> f64 {
    TOP + LANE * lanes(lane)
}

/// A shape with its words, and the link around it when it leads somewhere.
fn described(svg: &mut String, href: Option<&str>, tip: &str, shape: &str) -> std::fmt::Result {
    let tip = xml(tip);
    match href {
        Some(href) => {
            let href = xml(href);
            writeln!(svg, "<a href=\"{href}\"><title>{tip}</title>{shape}</a>")
        }
        None => writeln!(svg, "<g role=\"img\"><title>{tip}</title>{shape}</g>"),
    }
}

fn write_bars(svg: &mut String, scale: &Scale, index: usize, lane: &Lane) -> std::fmt::Result {
    for placed in crowd::bars(scale, &lane.bars) {
        let crowd::PlacedBar { x, width, bar } = &placed;
        let height = if bar.thin { 4.0 } else { BAR };
        let y = top_of(index) + MIDDLE - height / 2.0;
        let tone = bar.tone.class();
        let mut shape = format!(
            "<rect class=\"shape {tone}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height}\" rx=\"2\"/>"
        );
        if *width > 8.0 + 7.0 * lanes(bar.text.chars().count()) && !bar.text.is_empty() {
            let (x, y) = (x + 5.0, y + BAR / 2.0 + 4.0);
            write!(shape, "<text class=\"on\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", xml(&bar.text))?;
        }
        described(svg, bar.href.as_deref(), &bar.tip, &shape)?;
    }
    Ok(())
}

fn write_mark(svg: &mut String, placed: &crowd::PlacedMark) -> std::fmt::Result {
    let crowd::PlacedMark { x, glyph, mark } = placed;
    let y = top_of(mark.lane) + 9.0;
    let (tone, glyph) = (mark.tone.class(), xml(glyph));
    let shape = format!(
        "<circle class=\"shape {tone}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"7.5\"/>\
         <text class=\"on\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{glyph}</text>",
        y + 4.0
    );
    described(svg, mark.href.as_deref(), &mark.tip, &shape)
}

fn write_link(svg: &mut String, scale: &Scale, link: &Link) -> std::fmt::Result {
    let middle = |lane: usize| top_of(lane) + MIDDLE;
    let (x1, y1) = (scale.x(link.from.1), middle(link.from.0));
    let (x2, y2) = (scale.x(link.to.1), middle(link.to.0));
    let bend = 26.0;
    let shape = format!(
        "<path class=\"link\" marker-end=\"url(#arrow)\" d=\"M{x1:.1} {y1:.1}C{:.1} {y1:.1} {:.1} {y2:.1} {x2:.1} {y2:.1}\"/>",
        x1 + bend,
        x2 - bend
    );
    described(svg, None, &link.tip, &shape)
}

fn write_break(svg: &mut String, scale: &Scale, cut: &Break, bottom: f64) -> std::fmt::Result {
    let (from, to) = (scale.x(cut.from), scale.x(cut.to));
    let (width, middle) = (to - from, f64::midpoint(from, to));
    let mut shape = format!(
        "<rect class=\"cut\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{width:.1}\" height=\"{:.1}\"/>",
        bottom - TOP
    );
    let text = span(round(cut.to.saturating_sub(cut.from)));
    // Where many are cut out each is narrow, and their labels would lie over each other.
    if width > 7.0 * lanes(text.chars().count()) {
        let y = bottom + 11.0;
        write!(shape, "<text class=\"faint\" x=\"{middle:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{text}</text>")?;
    }
    described(svg, None, &cut.tip, &shape)
}

/// A duration without the digits that a narrow label has no room for.
fn round(time: u64) -> u64 {
    match time {
        0..1000 => time,
        1000..600_000 => time / 1000 * 1000,
        _ => time / 60_000 * 60_000,
    }
}

#[cfg(test)]
mod tests;
