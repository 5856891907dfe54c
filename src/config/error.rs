//! Why there are no settings.

use std::path::PathBuf;

use super::Settings;
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
        /// What the rest says, for whoever wants to know at once what else is wrong. Nothing runs by it.
        rest: Option<Box<Settings>>,
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

impl Problems {
    /// The values that are wrong, where a single one is.
    pub(super) fn pointers(&self) -> impl Iterator<Item = &str> {
        self.findings.iter().filter_map(|finding| finding.pointer.as_deref())
    }
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
            (Self::Invalid { problems, rest }, Self::Invalid { problems: more, rest: other }) => {
                Self::Invalid { problems: problems.into_iter().chain(more).collect(), rest: rest.or(other) }
            }
            (Self::Invalid { .. }, unreadable) | (unreadable, _) => unreadable,
        }
    }
}
