//! One finding about one document.

use serde::Serialize;

use super::{Fix, Span};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The document is wrong.
    Error,
    /// The document is right and somebody should look.
    Warning,
}

/// Another place that belongs to a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Related {
    /// Where.
    pub span: Span,
    /// What stands there.
    pub label: String,
}

/// What is wrong, where, what was expected instead, and what to do. Holds no text of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable name of the rule, in kebab case.
    pub code: &'static str,
    /// How bad.
    pub severity: Severity,
    /// One sentence without a full stop.
    pub message: String,
    /// Where; `None` when the finding is about the file as a whole.
    pub span: Option<Span>,
    /// JSON pointer (RFC 6901) of the value concerned, where there is one.
    pub pointer: Option<String>,
    /// What would have been right.
    pub expected: Option<String>,
    /// What stands there.
    pub found: Option<String>,
    /// What to do.
    pub help: Option<String>,
    /// Other places that belong to it.
    pub related: Vec<Related>,
    /// What a program may change to mend it, where that is safe.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// An error about the file as a whole; the other methods say more.
    #[must_use]
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: message.into(),
            span: None,
            pointer: None,
            expected: None,
            found: None,
            help: None,
            related: Vec::new(),
            fix: None,
        }
    }

    /// The same as a warning.
    #[must_use]
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    /// Says where.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }

    /// Says of which value.
    #[must_use]
    pub fn of(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = Some(pointer.into());
        self
    }

    /// Says what would have been right.
    #[must_use]
    pub fn expected(mut self, text: impl Into<String>) -> Self {
        self.expected = Some(text.into());
        self
    }

    /// Says what stands there.
    #[must_use]
    pub fn found(mut self, text: impl Into<String>) -> Self {
        self.found = Some(text.into());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Adds another place.
    #[must_use]
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push(Related { span, label: label.into() });
        self
    }

    /// Says what a program may change.
    #[must_use]
    pub fn fix(mut self, fix: Fix) -> Self {
        self.fix = Some(fix);
        self
    }

    /// Moves every place `lines` further down, for a document that is a part of a file.
    #[must_use]
    pub(super) fn down(mut self, lines: u32) -> Self {
        self.span = self.span.map(|span| span.down(lines));
        for related in &mut self.related {
            related.span = related.span.down(lines);
        }
        self.fix = self.fix.map(|fix| fix.down(lines));
        self
    }
}
