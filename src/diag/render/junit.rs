//! `JUnit`'s XML: a suite a kind, a test case a file. A file with errors is a failure, with warnings alone a success that says
//! so, an unread one an error.

use std::collections::BTreeMap;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::concise::line;
use super::text::count;
use super::{Checked, Renderer, Summary, Tool};
use crate::diag::Severity;
use crate::text::harmless;

/// The suites by kind, until the last file is known.
#[derive(Debug)]
pub(super) struct Junit {
    name: &'static str,
    suites: BTreeMap<String, Vec<TestCase>>,
}

impl Junit {
    pub(super) fn new(tool: Tool) -> Self {
        Self { name: tool.name, suites: BTreeMap::new() }
    }
}

impl Renderer for Junit {
    fn file(&mut self, checked: &Checked<'_>) -> String {
        let lines: Vec<String> = checked.findings.iter().map(|finding| line(checked.file, finding)).collect();
        let status = match checked.findings.iter().find(|finding| finding.severity == Severity::Error) {
            None => TestCaseStatus::success(),
            Some(first) => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                let message = match lines.len() - 1 {
                    0 => harmless(&first.message).into_owned(),
                    others => format!("{}, and {}", harmless(&first.message), count(others, "other finding")),
                };
                status.set_message(message).set_type(first.code).set_description(lines.join("\n"));
                status
            }
        };
        let mut case = TestCase::new(harmless(checked.file), status);
        case.set_classname(checked.kind);
        if !lines.is_empty() && !checked.is_invalid() {
            case.set_system_out(lines.join("\n"));
        }
        self.suites.entry(checked.kind.to_owned()).or_default().push(case);
        String::new()
    }

    fn end(&mut self, summary: &Summary) -> String {
        for unread in &summary.unread {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(harmless(&unread.message)).set_type("not-read");
            let case = TestCase::new(harmless(&unread.file), status);
            self.suites.entry("not read".to_owned()).or_default().push(case);
        }
        let mut report = Report::new(self.name);
        for (kind, cases) in std::mem::take(&mut self.suites) {
            let mut suite = TestSuite::new(kind);
            suite.add_test_cases(cases);
            report.add_test_suite(suite);
        }
        report.to_string().expect("XML is written into memory")
    }
}
