//! The exit codes of the three programs: one enum, one match, one table in every `--help`.

use std::process::ExitCode;

/// How a program of ours ends.
///
/// 0, 1 and 2 carry the contract's meaning, so that `loa-run` is itself a lawful phase; everything that concerns the tool
/// and not the work lies at 64 and above, after `sysexits.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// Every phase done; the documents are valid; the runtime conforms to what was asked.
    Success,
    /// `loa-run`: trying again may help.
    TryAgain,
    /// `loa-validate`: at least one finding.
    Findings,
    /// `loa-conform`: it does not conform, or it regressed, or a baseline is stale.
    NotConforming,
    /// `loa-run`: escalated or halted, a human is needed.
    HumanNeeded,
    /// `loa-conform`: too little was measured to say.
    Incomplete,
    /// `loa-conform`: the harness itself failed.
    HarnessFailed,
    /// `loa-conform --strict-claims`: claims differ from the measurement.
    ClaimsDiffer,
    /// The command line was wrong.
    Usage,
    /// An input is missing or unreadable.
    NoInput,
    /// A defect of ours.
    Internal,
    /// Something could not be written.
    WriteFailed,
    /// The configuration is wrong.
    Config,
    /// Ended by SIGINT, after the children.
    Interrupted,
    /// Ended by SIGTERM, after the children.
    Terminated,
}

impl ExitStatus {
    /// The number that the process returns.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::TryAgain | Self::Findings | Self::NotConforming => 1,
            Self::HumanNeeded => 2,
            Self::Incomplete => 3,
            Self::HarnessFailed => 4,
            Self::ClaimsDiffer => 5,
            Self::Usage => 64,
            Self::NoInput => 66,
            Self::Internal => 70,
            Self::WriteFailed => 74,
            Self::Config => 78,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.code())
    }
}

/// The exit codes that all three programs share, for the end of `--help`.
pub(super) const SHARED_CODES: &str = "  64   wrong usage
  66   an input is missing or unreadable
  70   a defect of this program
  74   something could not be written
  78   the configuration is wrong
  130  interrupted, after children were ended and state was saved
  143  terminated, likewise

Errors with --json:
  one line on standard output, beside the words on standard error:
  {\"error\": {\"code\": 66, \"message\": \"...\", \"hints\": [\"...\"]}}";
