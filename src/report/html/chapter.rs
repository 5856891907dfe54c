//! One report on the page: provenance, matrix, candidates.

use maud::{Markup, html as markup};

use super::picture::Pictures;
use super::{Chapter, anchor, runtime};
use crate::conform::score::{Cell, ConformanceReport, RuntimeReport};
use crate::conform::spec::{CellWord, ClaimWord, Column, ProfileName};
use crate::report::table;

/// What the marks of a timeline mean; each says more to a pointer that rests on it.
const TIMELINE_LEGEND: &str = "In a timeline a bar is an attempt of a phase with its exit code, a thin line the gap until the \
                               next one; ◆ checkpoints that were seen then, ▲ a usage that was reported, ▼ a signal, ! an \
                               escalation report, × a process left behind.";

/// What every chapter was measured by; once where they agree.
pub(super) fn lead(chapters: &[Chapter<'_>]) -> Markup {
    let candidates: usize = chapters.iter().map(|it| it.report.runtimes.len()).sum();
    let newest = chapters.iter().map(|it| it.report.date).max();
    markup! {
        p.lead {
            "Measured from outside, clause by clause, with the evidence. " (candidates) " "
            (if candidates == 1 { "candidate" } else { "candidates" })
            @if let Some(date) = newest { ", last measured " (day(date)) }
            "."
        }
    }
}

/// A day, which the script turns into an age where there is one.
fn day(date: jiff::Timestamp) -> Markup {
    markup! { time datetime=(date) { (date.strftime("%Y-%m-%d")) } }
}

/// What the contract says about runtimes beside what was measured of them.
pub(super) fn claims(report: &ConformanceReport, chapters: &[Chapter<'_>]) -> Markup {
    let columns: Vec<Column> = Column::of(ProfileName::Runtime).collect();
    markup! {
        section aria-labelledby="claims" {
            h2 #claims { "Claimed and measured" }
            div.wide { table.matrix {
                thead { tr { th scope="col" { "Runtime" } @for column in &columns { th scope="col" { (table::title(*column)) } } } }
                tbody { @for claim in &report.claims {
                    @let measured = claim.measured.as_deref().and_then(|name| report.runtime(name));
                    tr {
                        th scope="row" {
                            (claim.runtime)
                            @if let Some(runtime) = measured { br; (link(runtime, chapters)) }
                        }
                        @for column in &columns {
                            td { (claimed(claim.cells.get(column).copied(), measured.and_then(|it| it.cells.get(column)))) }
                        }
                    }
                } }
            } }
            p.legend { "Above what the contract claims, below what was measured here; – means that nobody has measured it." }
        }
    }
}

fn claimed(says: Option<ClaimWord>, measured: Option<&Cell>) -> Markup {
    markup! {
        span.claim { "claims " (says.map_or("–", |word| word.as_str())) }
        @match measured { Some(it) => (cell(it)), None => span.none { "–" } }
    }
}

/// The name of a runtime, leading to where it stands.
fn link(runtime: &RuntimeReport, chapters: &[Chapter<'_>]) -> Markup {
    let here = |it: &&Chapter<'_>| it.report.runtimes.iter().any(|other| other.runtime == runtime.runtime);
    markup! {
        @match chapters.iter().find(here) {
            Some(chapter) => a href={ "#" (anchor(chapter, &runtime.runtime)) } { (runtime.runtime) },
            None => (runtime.runtime),
        }
    }
}

/// One report.
pub(super) fn chapter(it: &Chapter<'_>, pictures: &Pictures) -> Markup {
    let report = it.report;
    markup! {
        section.chapter id=(it.id) aria-labelledby={ (it.id) "-title" } {
            h2 id={ (it.id) "-title" } { (it.title) }
            @if !it.lead.is_empty() { p { (it.lead) } }
            @for warning in table::warnings(report) { p.warning { (warning) } }
            (matrix(it))
            p.legend { (table::words_legend(report.profile)) ". What was not observed, could not run or has no case is never counted as kept." }
            @if pictures.any(it.id) { p.legend { (TIMELINE_LEGEND) } }
            (provenance(report))
            @for (number, candidate) in report.runtimes.iter().enumerate() {
                (runtime::section(it, number, candidate, pictures))
            }
        }
    }
}

fn matrix(it: &Chapter<'_>) -> Markup {
    let profile = it.report.profile;
    let columns: Vec<Column> = Column::of(profile).collect();
    let first = if profile == ProfileName::Agent { "Agent" } else { "Runtime" };
    markup! {
        div.wide { table.matrix {
            thead { tr { th scope="col" { (first) } @for column in &columns { th scope="col" { (table::title(*column)) } } } }
            tbody { @for runtime in &it.report.runtimes {
                @let anchor = anchor(it, &runtime.runtime);
                tr {
                    th scope="row" { a href={ "#" (anchor) } { (runtime.runtime) } }
                    @for column in &columns {
                        td { @match runtime.cells.get(column) {
                            Some(earned) if runtime.clauses.iter().any(|it| it.column == *column) => {
                                a.cell href={ "#" (anchor) "-" (column) } { (cell(earned)) }
                            }
                            Some(earned) => (cell(earned)),
                            None => span.none { "could not run" },
                        } }
                    }
                }
            } }
        } }
    }
}

/// A cell: its word, its count, and a bar of what stands behind it.
pub(super) fn cell(cell: &Cell) -> Markup {
    let (tone, text) = (word_tone(cell), cell.to_string());
    let (word, rest) = text.split_once(' ').unwrap_or((&text, ""));
    let (count, why) = rest.split_once(", ").unwrap_or((rest, ""));
    let rest = cell.musts - cell.green - cell.failed - cell.flaky;
    let parts = [("good", cell.green), ("bad", cell.failed), ("retry", cell.flaky), ("wait", rest)];
    markup! {
        span.word { span class={ "badge " (tone) } { (word) } " " (count) }
        span.bar aria-hidden="true" {
            @for (tone, count) in parts.iter().filter(|(_, count)| *count > 0) { i class=(tone) style={ "flex:" (count) } {} }
        }
        @if !why.is_empty() { span.why { (why) } }
    }
}

/// Red is what was seen to be broken; a column of which nothing could be seen is no colour.
fn word_tone(cell: &Cell) -> &'static str {
    match cell.word {
        CellWord::Full => "good",
        CellWord::Partial | CellWord::Manual => "retry",
        CellWord::None if cell.failed > 0 => "bad",
        CellWord::None => "",
    }
}

fn provenance(report: &ConformanceReport) -> Markup {
    let facts = [
        ("Edition", report.edition.clone()),
        ("Suite", format!("{:.12}", report.suite)),
        ("Seed", report.seed.to_string()),
        ("Judge", report.judge.clone()),
        ("Host", format!("{}, {} cores", report.host, report.host.cores)),
    ];
    markup! {
        dl.facts {
            div { dt { "Measured" } dd { (day(report.date)) } }
            @if let Some(load) = &report.load { div { dt { "Load" } dd { (load) } } }
            @for (name, value) in &facts { div { dt { (name) } dd { (value) } } }
        }
    }
}
