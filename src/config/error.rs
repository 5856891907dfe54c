//! Why there are no settings.

use std::path::PathBuf;

use crate::diag::Diagnostic;
use crate::system::files::FileError;

/// A configuration file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    /// What stands in it.
    pub bytes: Vec<u8>,
}

/// Why there are no settings.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is there and cannot be read.
    #[error(transparent)]
    Unreadable(#[from] FileError),
    /// Files, variables or flags say something wrong.
    #[error("{}", counted(problems))]
    Invalid {
        /// What is wrong, by where; at least one.
        problems: Vec<Problems>,
    },
}

/// What is wrong in one place.
#[derive(Debug)]
pub struct Problems {
    /// The file that the findings are about; `None` when it is the environment or the command line.
    pub source: Option<Source>,
    /// What is wrong; at least one.
    pub findings: Vec<Diagnostic>,
}

fn counted(problems: &[Problems]) -> String {
    match problems.iter().map(|problems| problems.findings.len()).sum() {
        1 => "1 problem in the configuration".to_owned(),
        number => format!("{number} problems in the configuration"),
    }
}

impl ConfigError {
    /// What is wrong here and there; a file that cannot be read goes first.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Invalid { problems }, Self::Invalid { problems: more }) => {
                Self::Invalid { problems: problems.into_iter().chain(more).collect() }
            }
            (Self::Invalid { .. }, unreadable) | (unreadable, _) => unreadable,
        }
    }
}
