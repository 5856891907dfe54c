//! A candidate on the page: what it is, its checklist, and its columns down to the evidence of each case.

use maud::{Markup, PreEscaped, html as markup};

use super::chapter::cell;
use super::picture::{Key, Pictures};
use super::{Chapter, anchor, tone};
use crate::conform::judge::{Check, Outcome};
use crate::conform::score::{CaseReport, ClauseReport, ConformanceReport, RuntimeReport};
use crate::conform::spec::{Column, Reason, TimeMethod};
use crate::draw::span;
use crate::report::table;

/// Where a candidate stands on the page.
struct Seat<'a> {
    chapter: &'a Chapter<'a>,
    number: usize,
    runtime: &'a RuntimeReport,
    anchor: String,
    pictures: &'a Pictures,
}

pub(super) fn section(chapter: &Chapter<'_>, number: usize, runtime: &RuntimeReport, pictures: &Pictures) -> Markup {
    let anchor = anchor(chapter, &runtime.runtime);
    let seat = Seat { chapter, number, runtime, anchor, pictures };
    markup! {
        section.runtime id=(seat.anchor) aria-labelledby={ (seat.anchor) "-title" } {
            h3 id={ (seat.anchor) "-title" } { (runtime.runtime) }
            @match &runtime.problem {
                Some(problem) => p.warning { "Could not run: " (problem) },
                None => { (about(chapter.report, runtime)) @for column in Column::ALL { (seat.column(*column)) } }
            }
        }
    }
}

fn about(report: &ConformanceReport, runtime: &RuntimeReport) -> Markup {
    let program = runtime.program.as_deref().unwrap_or("unknown");
    let boxes = table::boxes(report, runtime);
    markup! {
        p.lead {
            (table::version(runtime)) "; program " code { (format!("{program:.12}")) } ", manifest "
            code { (format!("{:.12}", runtime.manifest)) } ". Cases: " (table::tally(runtime)) "."
        }
        @for it in table::attested(runtime) { p { "Attested, not measured: " (it) } }
        @if let Some(boxes) = boxes {
            details.checklist {
                summary { (boxes) }
                ul { @for item in &report.checklist {
                    @let tick = runtime.ticks(item);
                    li class=(if tick { "ticked" } else { "open" }) {
                        span.tick role="img" aria-label=(if tick { "kept" } else { "not shown to be kept" }) {}
                        (table::title(item.section)) ": " (item.item) " " span.why { (item.clauses.join(", ")) }
                    }
                } }
                p.legend { "A box is ticked when every clause behind it was seen to be kept." }
            }
        }
        (list("What differs from its makers' defaults in every case", runtime.settings.iter().map(table::setting).collect()))
        (list("What the judge could not see here", runtime.unseen.clone()))
    }
}

fn list(title: &str, items: Vec<String>) -> Markup {
    markup! {
        @if !items.is_empty() { details.checklist { summary { (title) } ul { @for item in items { li { (item) } } } } }
    }
}

impl Seat<'_> {
    fn column(&self, column: Column) -> Markup {
        let clauses = || self.runtime.clauses.iter().enumerate().filter(move |(_, it)| it.column == column);
        // Of a single candidate, what is broken is in sight at once.
        let open = self.chapter.report.runtimes.len() == 1 && clauses().any(|(_, it)| it.outcome.is_red());
        markup! {
            @if clauses().next().is_some() {
                details.column id={ (self.anchor) "-" (column) } open[open] {
                    summary {
                        strong { (table::title(column)) }
                        @if let Some(earned) = self.runtime.cells.get(&column) { (cell(earned)) }
                        @else { span.why { "scored beside the matrix: " (clauses().count()) " clauses" } }
                    }
                    @for (number, clause) in clauses() { (self.clause(number, clause)) }
                }
            }
        }
    }

    fn clause(&self, number: usize, report: &ClauseReport) -> Markup {
        let clause = self.chapter.report.clause(&report.id);
        let mut outcomes: Vec<&str> = report.cases.iter().map(|case| case.outcome.as_str()).collect();
        outcomes.push(report.outcome.as_str());
        outcomes.dedup();
        markup! {
            details.clause data-o=(outcomes.join(" ")) data-l=(report.level) data-c=(report.column) data-r=(self.anchor) {
                summary {
                    span class={ "badge " (tone(report.outcome)) } { (report.outcome) } " "
                    span.id { (report.id) } " " span.level { (report.level) } " "
                    @if let Some(clause) = clause { span.said { (clause.text) } }
                }
                @if let Some(alone) = table::alone(report) { p.reading { "This verdict is " (alone) "." } }
                @if let Some(clause) = clause {
                    // How it may be read matters where something was read so or so.
                    @for reading in clause.readings.iter().filter(|_| report.outcome != Outcome::CouldNotRun) {
                        p.reading { "Reading " (reading.id) @if reading.ours { ", loa-run's" } ": " (reading.text) }
                    }
                    @if let Some(why) = &clause.untested { p.reading { "Not tested: " (why) } }
                }
                @for (case_number, case) in report.cases.iter().enumerate() {
                    (self.case(report, case, (self.number, number, case_number)))
                }
            }
        }
    }

    fn case(&self, clause: &ClauseReport, case: &CaseReport, at: (usize, usize, usize)) -> Markup {
        let picture = self.pictures.get(&Key { chapter: self.chapter.id.to_owned(), at });
        let waits = case.checks.iter().any(|check| check.reason == Reason::NeedsRed);
        let again = !case.outcome.is_green() && case.outcome != Outcome::NotApplicable && !waits;
        markup! {
            article.case {
                h4 { span class={ "badge " (tone(case.outcome)) } { (case.outcome) } " " (case.title) }
                p.legend { code { (case.id) } @if case.elapsed_ms > 0 { " · took " (span(case.elapsed_ms)) }
                    @if case.time == TimeMethod::Scaled { " · time was scaled by the manifest's knobs" } }
                @for check in &case.checks { (evidence(check)) }
                @for it in &case.settings { p.reading { "Turned: " (table::setting(it)) } }
                @if let Some(svg) = picture { figure tabindex="0" aria-label="What happened" { (PreEscaped(svg)) } }
                @if !case.commands.is_empty() { (by_hand(case)) }
                @if again {
                    p.next { "Again: " code { (table::next(self.runtime, clause.column, case, self.chapter.report.seed)) } }
                }
            }
        }
    }
}

fn evidence(check: &Check) -> Markup {
    if check.reason == Reason::NeedsRed {
        return markup! { p.reading { "Waits for what it presupposes: " (check.observed) } };
    }
    let place = check.place.to_string();
    let green = check.outcome.is_green();
    markup! {
        dl class={ "check " (tone(check.outcome)) } {
            div { dt { "expected" } dd { (check.expected) } }
            div { dt { "observed" } dd { (check.observed) } }
            @if !place.is_empty() { div { dt { "where" } dd { (place) } } }
            @if !green { div { dt { "why" } dd { (table::why(check)) } } }
            @if !check.readings.is_empty() { div { dt { "reading" } dd { (check.readings.join(", ")) } } }
        }
    }
}

fn by_hand(case: &CaseReport) -> Markup {
    markup! {
        pre tabindex="0" {
            @for it in &case.commands {
                (table::command_line(it)) "\n  " (table::ending(it)) "\n"
                @for request in &it.requests { "  the model, " (request) "\n" }
            }
        }
    }
}
