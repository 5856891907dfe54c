//! Badges: one small SVG for each column of each runtime. A badge carries its edition and its date, because it is looked at
//! long after it was made; drawn again when it is old or the suite has gone on, it is grey and says so.

use std::fmt::Write;

use jiff::Timestamp;
use maud::html as escaped;

use super::table;
use crate::conform::score::{Cell, ConformanceReport, RuntimeReport};
use crate::conform::spec::{CellWord, Column};

/// What makes a badge old.
#[derive(Debug, Clone, Copy)]
pub struct Freshness<'a> {
    /// Now.
    pub now: Timestamp,
    /// For so many days a measurement is fresh.
    pub days: u32,
    /// The suite's hash by now, where it is known.
    pub suite: Option<&'a str>,
}

/// A badge, and the name of the file that it belongs into: `<runtime>-<column>.svg`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Badge {
    /// The file's name.
    pub name: String,
    /// The picture.
    pub svg: String,
}

/// Every badge of a report.
#[must_use]
pub fn badges(report: &ConformanceReport, fresh: Freshness<'_>) -> Vec<Badge> {
    let columns = || Column::of(report.profile);
    let all = report.runtimes.iter().flat_map(|runtime| columns().map(move |column| (runtime, column)));
    all.map(|(runtime, column)| Badge {
        name: format!("{}-{column}.svg", table::slug(&runtime.runtime)),
        svg: badge(report, runtime, column, fresh),
    })
    .collect()
}

fn badge(report: &ConformanceReport, runtime: &RuntimeReport, column: Column, fresh: Freshness<'_>) -> String {
    let cell = runtime.cells.get(&column);
    let day = report.date.strftime("%Y-%m-%d");
    let rated = report.rates(column) && report.complete;
    let (word, colour) = match cell {
        _ if !rated => ("no rating".to_owned(), GREY),
        None => ("could not run".to_owned(), GREY),
        Some(cell) => (format!("{} {}/{}", cell.word, cell.green, cell.musts), colour(cell)),
    };
    let stale = staleness(report, fresh);
    let colour = if stale.is_some() { GREY } else { colour };
    let edition = edition(&report.edition);
    let age = match &stale {
        None => format!("{edition} {day}"),
        Some(why) => format!("{edition} {day}: {why}"),
    };
    let title = format!(
        "{}, {}: {word}. {}, suite {:.12}, measured {day}{}",
        runtime.runtime,
        table::title(column),
        report.edition,
        report.suite,
        stale.map(|why| format!(", {why}")).unwrap_or_default()
    );
    drawn(&title, &[(table::title(column), INK), (&word, colour), (age.trim_start(), PALE)])
}

const INK: &str = "#3c434a";
const PALE: &str = "#59636e";
const GREY: &str = "#6e7781";

fn colour(cell: &Cell) -> &'static str {
    match cell.word {
        CellWord::Full => "#1a7f37",
        CellWord::Partial | CellWord::Manual => "#9a6700",
        CellWord::None => "#cf222e",
    }
}

/// Why a badge says too little about today, if so.
fn staleness(report: &ConformanceReport, fresh: Freshness<'_>) -> Option<String> {
    let days = fresh.now.duration_since(report.date).as_hours() / 24;
    if fresh.suite.is_some_and(|suite| suite != report.suite) {
        return Some("stale, the suite has gone on".to_owned());
    }
    (days >= i64::from(fresh.days)).then(|| format!("stale, {days} days old"))
}

/// The edition in few characters: what stands after its word `version` or `edition`.
fn edition(text: &str) -> String {
    let words: Vec<&str> = text.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let number = words.windows(2).find(|pair| matches!(pair[0], "version" | "edition"));
    number.map(|pair| format!("v{}", pair[1])).unwrap_or_default()
}

/// Fields side by side, each as wide as its text.
fn drawn(title: &str, fields: &[(&str, &str)]) -> String {
    let mut body = String::new();
    let mut x = 0;
    for (text, colour) in fields {
        let length = u32::try_from(text.chars().count()).unwrap_or(u32::MAX).min(200);
        let inner = length * 13 / 2 + 1;
        let (width, middle) = (inner + 12, x + 6 + inner / 2);
        let text = escaped! { (text) }.into_string();
        // Writing to a String cannot fail.
        let _ = writeln!(
            body,
            "<rect x=\"{x}\" width=\"{width}\" height=\"20\" fill=\"{colour}\"/>\
             <text x=\"{middle}\" y=\"14\" textLength=\"{inner}\" lengthAdjust=\"spacingAndGlyphs\">{text}</text>"
        );
        x += width;
    }
    let title = escaped! { (title) }.into_string();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{x}\" height=\"20\" role=\"img\" aria-label=\"{title}\">\n\
         <title>{title}</title>\n<clipPath id=\"r\"><rect width=\"{x}\" height=\"20\" rx=\"4\"/></clipPath>\n\
         <g clip-path=\"url(#r)\" fill=\"#fff\" text-anchor=\"middle\" \
         font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">\n{body}</g>\n</svg>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edition_in_few_characters() {
        for (text, short) in [
            ("Loa runtime contract, as of framework version 1.13 with features", "v1.13"),
            ("Agent profile, edition 1", "v1"),
            ("a contract", ""),
        ] {
            assert_eq!(edition(text), short);
        }
    }
}
