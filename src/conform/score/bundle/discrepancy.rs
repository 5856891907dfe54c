//! What does not agree in a bundle: where, what is stated there, and what came out when it was computed again.

use std::fmt::{self, Display};

use camino::Utf8PathBuf;
use serde::Serialize;

use crate::contract::vocabulary;
use crate::text::line;

vocabulary! {
    /// In which way a part of a bundle does not agree with the rest.
    pub enum Flaw ("flaw") {
        /// The file is not as it was when the bundle was written.
        ChangedFile = "changed-file",
        /// The file is gone.
        MissingFile = "missing-file",
        /// The file was not there when the bundle was written.
        ExtraFile = "extra-file",
        /// The file cannot be read as what it should be.
        Unreadable = "unreadable",
        /// It was judged by another suite than the one that is trusted.
        OtherSuite = "other-suite",
        /// The report names another edition of the contract, other clauses or other claims than its suite.
        OtherEdition = "other-edition",
        /// The manifest is not the one of the report.
        OtherManifest = "other-manifest",
        /// The observation is another's: of another runtime, case, suite or try.
        OtherEvidence = "other-evidence",
        /// The observation was made under another seed.
        OtherSeed = "other-seed",
        /// The values that were drawn are not those of the seed.
        OtherDraws = "other-draws",
        /// There is no observation for a verdict.
        NoEvidence = "no-evidence",
        /// No verdict rests on the observation.
        UnusedEvidence = "unused-evidence",
        /// A verdict is not what the observation yields.
        Verdict = "verdict",
        /// A cell is not what the verdicts yield.
        Cell = "cell",
        /// Something else of the report is not what the bundle yields.
        Report = "report",
    }
}

impl Flaw {
    /// The same in words.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::ChangedFile => "the file was changed after the bundle was written",
            Self::MissingFile => "the file is missing",
            Self::ExtraFile => "the file was not there when the bundle was written",
            Self::Unreadable => "the file cannot be read as what it should be",
            Self::OtherSuite => "it was judged by another suite than the trusted one",
            Self::OtherEdition => "the report does not speak of the edition, clauses or claims that its suite has",
            Self::OtherManifest => "the manifest is not the one that the report names",
            Self::OtherEvidence => "the observation is of something else than its name says",
            Self::OtherSeed => "the observation was made under another seed than the report's",
            Self::OtherDraws => "the seed does not draw these values",
            Self::NoEvidence => "a verdict has no observation that it could rest on",
            Self::UnusedEvidence => "no verdict of the report rests on this observation",
            Self::Verdict => "the verdict is not what was observed",
            Self::Cell => "the cell is not what the verdicts add up to",
            Self::Report => "the report says something else than the bundle",
        }
    }
}

/// Something in a bundle that does not agree with the rest. What stands in a bundle was written by others: for people, each part
/// is shown on one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Discrepancy {
    /// The file, below the bundle's root.
    pub file: Utf8PathBuf,
    /// The runtime or agent, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// The clause, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clause: Option<String>,
    /// The case, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// In which way.
    pub flaw: Flaw,
    /// What the file says.
    pub stated: String,
    /// What came out.
    pub recomputed: String,
}

impl Discrepancy {
    pub(super) fn about(
        file: impl Into<Utf8PathBuf>,
        flaw: Flaw,
        stated: impl Display,
        recomputed: impl Display,
    ) -> Self {
        let (stated, recomputed) = (stated.to_string(), recomputed.to_string());
        Self { file: file.into(), runtime: None, clause: None, case: None, flaw, stated, recomputed }
    }

    pub(super) fn of(self, runtime: &str) -> Self {
        Self { runtime: Some(runtime.to_owned()), ..self }
    }

    pub(super) fn in_clause(self, clause: &str) -> Self {
        Self { clause: Some(clause.to_owned()), ..self }
    }

    pub(super) fn in_case(self, case: &str) -> Self {
        Self { case: Some(case.to_owned()), ..self }
    }
}

impl Display for Discrepancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", line(self.file.as_str()))?;
        for part in [&self.runtime, &self.clause, &self.case].into_iter().flatten() {
            write!(f, ", {}", line(part))?;
        }
        let (flaw, stated, recomputed) = (self.flaw, line(&self.stated), line(&self.recomputed));
        write!(f, ": {}\n  stated:     {stated}\n  recomputed: {recomputed}", flaw.sentence())
    }
}
