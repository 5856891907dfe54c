//! GitHub's workflow commands: each line becomes an annotation on the line of the file that it names.
//!
//! GitHub shows ten errors and ten warnings of a step; the others stand in its log.

use super::text::{in_full, severity};
use super::{Checked, Renderer, Summary};
use crate::diag::{Diagnostic, Span};
use crate::text::{harmless, workflow_data, workflow_property};

/// `::error file=…,line=…,col=…,title=…::message`.
#[derive(Debug)]
pub(super) struct Github {
    pub(super) tool: &'static str,
}

/// An annotation on a whole file: `::error file=…,title=…::message`. Lines of the message stay lines.
#[must_use]
pub fn annotation(severity: &str, file: &str, title: &str, message: &str) -> String {
    format!("::{severity} file={},title={}::{}\n", property(file), property(title), workflow_data(message))
}

impl Renderer for Github {
    fn file(&mut self, checked: &Checked<'_>) -> String {
        checked.findings.iter().map(|finding| self.command(checked.file, finding)).collect()
    }

    fn end(&mut self, summary: &Summary) -> String {
        let title = format!("{}: not read", self.tool);
        summary.unread.iter().map(|unread| annotation("error", &unread.file, &title, &unread.message)).collect()
    }
}

impl Github {
    fn command(&self, file: &str, finding: &Diagnostic) -> String {
        let place = finding.span.map(place).unwrap_or_default();
        let title = property(&format!("{} ({})", self.tool, finding.code));
        let message = workflow_data(&in_full(finding).join("\n"));
        format!("::{} file={}{place},title={title}::{message}\n", severity(finding), property(file))
    }
}

/// GitHub takes columns only where the first and the last line are the same.
fn place(span: Span) -> String {
    let (start, end) = (span.start, span.end);
    if start.line == end.line {
        format!(",line={},col={},endColumn={}", start.line, start.column, end.column)
    } else {
        format!(",line={},endLine={}", start.line, end.line)
    }
}

/// The value of a property, on one line.
fn property(text: &str) -> String {
    workflow_property(&harmless(text))
}
