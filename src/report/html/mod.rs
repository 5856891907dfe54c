//! Conformance as one page: no network, one small script; every word of others is escaped.
//!
//! `chapter` shows one report, `runtime` a candidate of it down to the evidence, `picture` draws what happened in a case.

mod chapter;
mod picture;
mod runtime;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html as markup};
use sha2::{Digest, Sha256};

use super::table;
use crate::conform::judge::Outcome;
use crate::conform::score::ConformanceReport;
use crate::conform::spec::{Column, Level};
use crate::draw::STYLE;
use picture::Pictures;

const PAGE: &str = include_str!("../page.css");
const SURVEY: &str = include_str!("survey.css");
const SCRIPT: &str = include_str!("page.js");

/// One report on a page.
#[derive(Debug, Clone, Copy)]
pub struct Chapter<'a> {
    /// The first part of its anchors: a word.
    pub id: &'a str,
    /// Its title.
    pub title: &'a str,
    /// What it is, in a sentence or two.
    pub lead: &'a str,
    /// What was measured.
    pub report: &'a ConformanceReport,
}

/// The page of one report.
#[must_use]
pub fn html(report: &ConformanceReport) -> String {
    let title = match report.runtimes.as_slice() {
        [only] => format!("Conformance of {}", only.runtime),
        _ => "Conformance report".to_owned(),
    };
    let chapter = Chapter { id: report.profile.as_str(), title: "Matrix", lead: "", report };
    page(&title, Some(report), &[chapter])
}

/// A page of several reports, none of which shares a table with another. The claims of the contract are held against `claims`.
#[must_use]
pub fn page(title: &str, claims: Option<&ConformanceReport>, chapters: &[Chapter<'_>]) -> String {
    let pictures = Pictures::of(chapters);
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(policy());
                // Without it a browser asks for one.
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(PAGE)) (PreEscaped(SURVEY)) }
            }
            body {
                a.skip href="#search" { "Skip to the search" }
                header { h1 { (title) } (chapter::lead(chapters)) }
                (filters(chapters))
                main {
                    @if let Some(report) = claims.filter(|report| !report.claims.is_empty()) { (chapter::claims(report, chapters)) }
                    @for it in chapters { (chapter::chapter(it, &pictures)) }
                    p #nothing hidden { "Nothing matches. " kbd { "Esc" } " clears the filter." }
                }
                footer { (footer()) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// Nothing is loaded from anywhere, and no script but ours runs, whatever a runtime wrote into its output.
fn policy() -> String {
    let script = STANDARD.encode(Sha256::digest(SCRIPT));
    format!(
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{script}'; base-uri 'none'; \
         form-action 'none'"
    )
}

fn filters(chapters: &[Chapter<'_>]) -> Markup {
    let seen = |outcome: &&Outcome| {
        let clauses = chapters.iter().flat_map(|it| &it.report.runtimes).flat_map(|it| &it.clauses);
        clauses.into_iter().any(|it| it.outcome == **outcome || it.cases.iter().any(|case| case.outcome == **outcome))
    };
    let runtimes = || chapters.iter().flat_map(|it| it.report.runtimes.iter().map(move |runtime| (it, runtime)));
    markup! {
        form #filter role="search" hidden {
            div.row {
                input #search type="search" placeholder="Filter: clause, case, words…  ( / )" aria-label="Filter by text"
                    aria-keyshortcuts="/" autocomplete="off" spellcheck="false";
                (select("level", "Level", Level::ALL.iter().map(|it| (it.to_string(), it.to_string()))))
                (select("column", "Column", columns(chapters).map(|it| (it.to_string(), table::title(it).to_owned()))))
                @if runtimes().count() > 1 {
                    (select("runtime", "Candidate", runtimes().map(|(it, runtime)| (anchor(it, &runtime.runtime), runtime.runtime.clone()))))
                }
            }
            fieldset.row {
                legend.unseen { "Outcome" }
                @for outcome in Outcome::ALL.iter().filter(seen) {
                    label.chip { input type="checkbox" name="outcome" value=(outcome); span class={ "badge " (tone(*outcome)) } { (outcome) } }
                }
                button type="reset" { "Clear" }
                output #shown aria-live="polite" {}
            }
        }
    }
}

fn columns<'a>(chapters: &'a [Chapter<'_>]) -> impl Iterator<Item = Column> + 'a {
    let profiles = |column: Column| chapters.iter().any(|it| it.report.profile == column.profile());
    Column::ALL.iter().copied().filter(move |column| profiles(*column))
}

fn select(name: &str, title: &str, options: impl Iterator<Item = (String, String)>) -> Markup {
    markup! {
        select id=(name) name=(name) aria-label=(title) {
            option value="" { (title) ": all" }
            @for (value, text) in options { option value=(value) { (text) } }
        }
    }
}

fn footer() -> Markup {
    markup! {
        "Written by loa-conform " (env!("CARGO_PKG_VERSION")) ". " kbd { "/" } " searches, " kbd { "n" } " and " kbd { "p" }
        " go to the next and the previous red, " kbd { "Esc" } " clears. What a filter hides stays counted."
    }
}

/// The anchor of a candidate.
fn anchor(chapter: &Chapter<'_>, runtime: &str) -> String {
    format!("{}-{}", chapter.id, table::slug(runtime))
}

/// The colour of an outcome.
fn tone(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "good",
        Outcome::Warn | Outcome::Flaky => "retry",
        Outcome::Fail | Outcome::ExpectedFail => "bad",
        Outcome::HarnessError => "note",
        Outcome::NotApplicable | Outcome::NotObserved | Outcome::CouldNotRun | Outcome::Untested => "",
    }
}
