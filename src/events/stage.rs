//! The name of a stage.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::contract::Phase;

/// One stage of a plan, by its name. A phase may have several; in a plan of phases each phase is one stage, which is named
/// as the phase is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StageId(Cow<'static, str>);

impl StageId {
    /// A stage of this name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self(Cow::Owned(name.into()))
    }

    /// The stage that an event of a phase is about: the one that it names, or the phase's own.
    #[must_use]
    pub fn of(stage: Option<&Self>, phase: Phase) -> Self {
        stage.cloned().unwrap_or_else(|| phase.into())
    }
}

impl From<Phase> for StageId {
    fn from(phase: Phase) -> Self {
        Self(Cow::Borrowed(phase.as_str()))
    }
}

impl fmt::Display for StageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
