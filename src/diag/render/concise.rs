//! One line a finding, as compilers write them and editors read them.

use super::text::severity;
use super::{Checked, Renderer, Summary};
use crate::diag::Diagnostic;
use crate::text::harmless;

/// `file:line:column: severity[rule] message`; line and column are left out where a finding is about the whole file.
#[derive(Debug)]
pub(super) struct Concise;

impl Renderer for Concise {
    fn file(&mut self, checked: &Checked<'_>) -> String {
        checked.findings.iter().map(|finding| line(checked.file, finding) + "\n").collect()
    }

    fn end(&mut self, _: &Summary) -> String {
        String::new()
    }
}

/// One finding, without a line end.
pub(super) fn line(file: &str, finding: &Diagnostic) -> String {
    let place = finding.span.map_or(String::new(), |span| format!(":{}", span.start));
    let (file, message) = (harmless(file), harmless(&finding.message));
    format!("{file}{place}: {}[{}] {message}", severity(finding), finding.code)
}
