//! The formats by name.

use super::concise::Concise;
use super::full::Full;
use super::github::Github;
use super::json::Json;
use super::json_lines::JsonLines;
use super::junit::Junit;
use super::sarif::Sarif;
use super::{Renderer, Tool};

/// How findings are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// For people: the line with the span underlined, expected, found, help.
    Full,
    /// For people and editors: one line a finding.
    Concise,
    /// For programs: one JSON document.
    Json,
    /// For programs: one JSON object a finding and line, and one at the end.
    JsonLines,
    /// Workflow commands, which GitHub shows as annotations.
    Github,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// `JUnit`'s XML, for CI servers.
    Junit,
}

impl Shape {
    /// Every format.
    pub const ALL: [Self; 7] =
        [Self::Full, Self::Concise, Self::Json, Self::JsonLines, Self::Github, Self::Sarif, Self::Junit];

    /// Its name, as the command line takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Concise => "concise",
            Self::Json => "json",
            Self::JsonLines => "json-lines",
            Self::Github => "github",
            Self::Sarif => "sarif",
            Self::Junit => "junit",
        }
    }

    /// What it is for, in a few words.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Full => "each finding with its line, what was expected and found, and what to do",
            Self::Concise => "one line a finding: file:line:column: severity[rule] message",
            Self::Json => "one JSON document",
            Self::JsonLines => "one JSON object a finding and line, and a summary as the last",
            Self::Github => "workflow commands, which GitHub shows as annotations",
            Self::Sarif => "SARIF 2.1.0, for code scanning",
            Self::Junit => "JUnit's XML, for CI servers",
        }
    }

    /// The format of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|shape| shape.name() == name)
    }

    /// Whether one document is written, which is nothing until it ends.
    #[must_use]
    pub fn is_one_document(self) -> bool {
        matches!(self, Self::Json | Self::Sarif | Self::Junit)
    }

    /// A renderer for one run.
    #[must_use]
    pub fn renderer(self, tool: Tool) -> Box<dyn Renderer> {
        match self {
            Self::Full => Box::new(Full),
            Self::Concise => Box::new(Concise),
            Self::Json => Box::<Json>::default(),
            Self::JsonLines => Box::new(JsonLines),
            Self::Github => Box::new(Github { tool: tool.name }),
            Self::Sarif => Box::new(Sarif::new(tool)),
            Self::Junit => Box::new(Junit::new(tool)),
        }
    }
}
