//! For people: file, line, column, the line with the span underlined, expected, found, help.

use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Snippet, Title};

use super::text::count;
use super::{Checked, Renderer, Source, Summary};
use crate::diag::{Diagnostic, Severity, Span};
use crate::text::harmless;

/// Every finding with its line, and nothing at the end.
#[derive(Debug)]
pub(super) struct Full;

impl Renderer for Full {
    /// A file that is wrong all over is cut short: nobody reads on, and the formats for machines have all of it.
    fn file(&mut self, checked: &Checked<'_>) -> String {
        const MOST: usize = 50;
        let name = harmless(checked.file);
        let text = String::from_utf8_lossy(checked.bytes);
        let source = Source::new(&name, &text);
        let mut output = String::new();
        for finding in checked.findings.iter().take(MOST) {
            output.push_str(&full(&source, finding));
            output.push_str("\n\n");
        }
        if let more @ 1.. = checked.findings.len().saturating_sub(MOST) {
            output.extend([&name, ": ", &count(more, "more finding"), "; --format json lists all\n\n"]);
        }
        output
    }

    fn end(&mut self, _: &Summary) -> String {
        String::new()
    }
}

/// A finding with the line it is about. The text is styled for a terminal; whoever prints it drops the colours where they
/// are not wanted. Ends without a line end.
#[must_use]
pub fn full(source: &Source<'_>, finding: &Diagnostic) -> String {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(harmless(&finding.message)).id(finding.code);
    let mut group = match finding.span {
        None => title.element(Origin::path(source.name)),
        Some(span) => located(title, source, finding, span),
    };
    let notes = [("expected", &finding.expected), ("found", &finding.found), ("help", &finding.help)];
    for (name, text) in notes {
        if let Some(text) = text {
            group = group.element(Level::NOTE.with_name(name).message(harmless(text)));
        }
    }
    annotate_snippets::Renderer::styled().render(&[group])
}

/// All findings about one file as [`full`] shows them, one below the other.
#[must_use]
pub fn all(name: &str, bytes: &[u8], findings: &[Diagnostic]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let source = Source::new(name, &text);
    findings.iter().map(|finding| full(&source, finding)).collect::<Vec<_>>().join("\n")
}

/// Longer lines are cut around the place of interest.
const LONG_LINE: usize = 160;

/// Adds the line with its span underlined, and the lines of the related places.
fn located<'a>(title: Title<'a>, source: &Source<'a>, finding: &'a Diagnostic, span: Span) -> Group<'a> {
    let related = finding.related.iter().map(|related| (related.span, Some(related.label.as_str())));
    let spans: Vec<(Span, Option<&str>)> = std::iter::once((span, None)).chain(related).collect();
    let lines = |(span, _): &(Span, Option<&str>)| source.line(span.start.line).filter(|line| line.len() <= LONG_LINE);
    if spans.iter().all(|span| lines(span).is_some()) {
        return title.element(region(source, &spans));
    }
    let group =
        title.element(Origin::path(source.name).line(span.start.line as usize).char_column(span.start.column as usize));
    match source.line(span.start.line) {
        Some(line) => group.element(window(line, span)),
        None => group,
    }
}

/// The lines from the first to the last place; what lies between them is folded away.
fn region<'a>(source: &Source<'a>, spans: &[(Span, Option<&'a str>)]) -> Snippet<'a, Annotation<'a>> {
    let numbers = || spans.iter().map(|(span, _)| span.start.line);
    let (first, last) = (numbers().min().unwrap_or(1), numbers().max().unwrap_or(1));
    let mut text = String::new();
    let mut offsets = Vec::new();
    for line in (first..=last).filter_map(|number| source.line(number)) {
        offsets.push(text.len());
        text.push_str(line);
        text.push('\n');
    }
    let mut snippet = Snippet::source(text).line_start(first as usize).path(source.name);
    for (index, (span, label)) in spans.iter().enumerate() {
        let kind = if index == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
        let offset = offsets[(span.start.line - first) as usize];
        let marked = marked(source.line(span.start.line).unwrap_or_default(), *span);
        snippet = snippet.annotation(kind.span(offset + marked.start..offset + marked.end).label(*label));
    }
    snippet
}

/// A piece of a long line.
fn window<'a>(line: &str, span: Span) -> Snippet<'a, Annotation<'a>> {
    const AROUND: usize = 50;
    let Range { start, end } = marked(line, span);
    let first = line[..start].char_indices().rev().nth(AROUND).map_or(0, |(at, _)| at);
    let last = line[start..].char_indices().nth(AROUND).map_or(line.len(), |(at, _)| start + at);
    let (head, tail) = (if first > 0 { "…" } else { "" }, if last < line.len() { "…" } else { "" });
    let shift = |at: usize| at.min(last) - first + head.len();
    Snippet::source(format!("{head}{}{tail}", &line[first..last]))
        .line_start(span.start.line as usize)
        .annotation(AnnotationKind::Primary.span(shift(start)..shift(end)))
}

/// The bytes of a line that a span covers: to the end of the line when the span goes on below.
fn marked(line: &str, span: Span) -> Range<usize> {
    let byte_of =
        |column: u32| line.char_indices().nth(column.saturating_sub(1) as usize).map_or(line.len(), |(at, _)| at);
    let start = byte_of(span.start.column);
    let end = if span.end.line > span.start.line { line.len() } else { byte_of(span.end.column) };
    start..end.max(start)
}
