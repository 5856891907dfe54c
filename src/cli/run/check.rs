//! What a doctor says: one thing that was looked at, how it is, and what would help.

use serde::Serialize;

use super::show::print_json;
use crate::cli::console::print;
use crate::cli::{ExitStatus, Failure};
use crate::text::plain;

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Check {
    name: String,
    state: State,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Good,
    Warning,
    Bad,
    /// Nobody can tell here.
    #[serde(rename = "not_checked")]
    NotChecked,
}

impl Check {
    pub(super) fn new(name: &str, state: State, found: impl Into<String>, remedy: &str) -> Self {
        let remedy = (!remedy.is_empty() && state != State::Good).then(|| remedy.to_owned());
        Self { name: name.to_owned(), state, found: found.into(), remedy }
    }

    /// The same with another remedy, where one is needed.
    pub(super) fn with_remedy(self, remedy: &str) -> Self {
        let remedy = self.remedy.map(|_| remedy.to_owned());
        Self { remedy, ..self }
    }
}

#[cfg(test)]
impl Check {
    pub(super) fn state(&self) -> State {
        self.state
    }

    pub(super) fn found(&self) -> &str {
        &self.found
    }
}

/// Prints what was found, and ends with 2 when something is bad.
pub(super) fn told(checks: &[Check], json: bool) -> Result<ExitStatus, Failure> {
    let bad = checks.iter().any(|check| check.state == State::Bad);
    if json {
        // What was found may have been rendered with colours, which are for terminals.
        let plain = |check: &Check| {
            let found = plain(&check.found);
            let (name, state, remedy) = (check.name.clone(), check.state, check.remedy.clone());
            Check { name, state, found, remedy }
        };
        let checks: Vec<Check> = checks.iter().map(plain).collect();
        print_json(&serde_json::json!({ "good": !bad, "checks": checks }))?;
    } else {
        print(&checks.iter().map(line).collect::<String>())?;
    }
    Ok(if bad { ExitStatus::HumanNeeded } else { ExitStatus::Success })
}

fn line(check: &Check) -> String {
    let word = match check.state {
        State::Good => "good",
        State::Warning => "warn",
        State::Bad => "BAD ",
        State::NotChecked => "?   ",
    };
    let remedy = check.remedy.as_ref().map(|remedy| format!("      do: {remedy}\n")).unwrap_or_default();
    format!("{word}  {}: {}\n{remedy}", check.name, check.found)
}
