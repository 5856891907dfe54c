//! Where a value comes from, and the values that come from outside the file.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use super::keys::{PREFIX, backend_key, likely_key, runtime_variables};
use super::old_names;

/// Where a value comes from, the strongest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A flag of the command line, as it was written.
    Flag(String),
    /// A flag of an earlier command line of the same execution.
    Remembered(String),
    /// An environment variable.
    Env(String),
    /// A configuration file: the workspace's, or the user's own.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u32,
    },
    /// An old name, of Chief Wiggum's: a variable, or a line of a file.
    Old(String),
    /// Nobody said anything.
    Default,
}

impl Origin {
    /// The environment variable, where it is one.
    fn variable(&self) -> Option<&str> {
        if let Self::Env(name) = self { Some(name) } else { None }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => f.write_str(flag),
            Self::Remembered(flag) => write!(f, "{flag}, which this execution was started with"),
            Self::Env(name) => write!(f, "environment variable {name}"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Old(place) => write!(f, "{place}, an old name"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// Whether the value of a key is shown to nobody: who knows the address can use it, and so with an agent's key.
#[must_use]
pub fn is_secret(key: &str) -> bool {
    key == "runtime.notify.webhook" || key.starts_with("runtime.notify.receivers") || is_of_agents_environment(key)
}

fn is_of_agents_environment(key: &str) -> bool {
    key.strip_prefix("runtime.backends.").is_some_and(|rest| rest.contains(".env."))
}

/// One value that goes before the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The key with dots, such as `runtime.retry.max`.
    pub key: String,
    /// The value as text: `true`, `false` and numbers are what they look like, anything else is a string.
    pub value: String,
    /// Who says so.
    pub origin: Origin,
}

/// A `--set` without an equals sign or without a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not KEY=VALUE")]
pub struct NotAnAssignment(pub String);

impl Override {
    /// Reads the `KEY=VALUE` of a `--set`.
    ///
    /// # Errors
    /// [`NotAnAssignment`] when it has another form.
    pub fn set(assignment: &str) -> Result<Self, NotAnAssignment> {
        match assignment.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok(Self {
                key: key.to_owned(),
                value: value.to_owned(),
                origin: Origin::Flag(format!("--set {}", if is_secret(key) { key } else { assignment })),
            }),
            _ => Err(NotAnAssignment(assignment.to_owned())),
        }
    }

    /// Whether it may be written down, for a later command line of the same execution.
    #[must_use]
    pub fn may_be_kept(&self) -> bool {
        !is_of_agents_environment(&self.key)
    }
}

/// The environment variables that are read besides those of our own section ([`super::runtime_variables`]), and the key
/// of each.
pub const VARIABLES: [(&str, &str); 3] = [
    ("CONTEXT_SOFT_LIMIT", "autonomous_agent.context.soft_limit_tokens"),
    ("CONTEXT_HARD_LIMIT", "autonomous_agent.context.hard_limit_tokens"),
    ("LOA_RUN_TIMEOUT_HOURS", "run_mode.defaults.timeout_hours"),
];

/// What the environment says about the configuration. A variable that is set to nothing says nothing; one that begins
/// like ours and is none names a key that does not exist, for [`super::resolve`] to find.
#[must_use]
pub fn from_environment(variables: &BTreeMap<String, String>) -> Vec<Override> {
    let own = if variables.keys().any(|name| name.starts_with(PREFIX)) { runtime_variables() } else { BTreeMap::new() };
    let key = |name: &str| {
        let fixed = VARIABLES.iter().find(|(known, _)| *known == name).map(|(_, key)| (*key).to_owned());
        let known = || own.get(name).cloned().or_else(|| backend_key(name));
        let ours = || name.starts_with(PREFIX).then(|| known().unwrap_or_else(|| likely_key(name)));
        fixed.or_else(ours)
    };
    let said = variables.iter().filter(|(_, value)| !value.is_empty());
    said.filter_map(|(name, value)| Some((name, value, key(name)?)))
        .map(|(name, value, key)| Override { key, value: value.clone(), origin: Origin::Env(name.clone()) })
        .collect()
}

/// By what programs are found. An execution that goes on finds those that it began with, whoever's shell it goes on from.
pub const SEARCH_PATH: &str = "PATH";

/// What of these variables is written down for an execution, which then goes on with it: [`SEARCH_PATH`], and what they say
/// about the configuration, but for where the state lies, which is how an execution is found. Of a secret it is written down
/// that it was said, as an empty text.
#[must_use]
pub fn lasting(variables: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let said = from_environment(variables);
    let said = said.into_iter().filter(|one| one.key != "runtime.state");
    let ours: BTreeMap<String, bool> = said
        .map(|one| (one.origin.variable().unwrap_or_default().to_owned(), is_secret(&one.key) || !one.may_be_kept()))
        .collect();
    let lasts = |(name, value): (&String, &String)| {
        let is_kept = name == SEARCH_PATH || old_names::is_variable(name);
        match ours.get(name) {
            Some(true) => Some((name.clone(), String::new())),
            Some(false) => Some((name.clone(), value.clone())),
            None => is_kept.then(|| (name.clone(), value.clone())),
        }
    };
    variables.iter().filter_map(lasts).collect()
}

/// The variables of an execution that began with those that were written down: they, and of the present ones what is not,
/// secrets among them.
#[must_use]
pub fn with_lasting(now: &BTreeMap<String, String>, began: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let lasting = lasting(now);
    let others = now.iter().filter(|(name, _)| lasting.get(*name).is_none_or(String::is_empty));
    let began = began.iter().filter(|(_, value)| !value.is_empty());
    others.chain(began).map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_variables_of_the_table_that_say_something_are_read() {
        let pairs = [("CONTEXT_SOFT_LIMIT", "1000"), ("LOA_RUN_RETRY_MAX", ""), ("HOME", "/root")];
        let variables: BTreeMap<_, _> = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let found = from_environment(&variables);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].key.as_str(), found[0].value.as_str()), (VARIABLES[0].1, "1000"));
        assert_eq!(found[0].origin.to_string(), "environment variable CONTEXT_SOFT_LIMIT");
    }

    #[test]
    fn a_key_of_ours_has_a_variable_and_one_that_is_none_names_no_key() {
        let pairs = [("LOA_RUN_PHASES_AUDIT_SKIP", "true"), ("LOA_RUN_RETRY_MAXIMUM", "1"), ("LOA_SESSION_ID", "x")];
        let found = from_environment(&pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        let keys: Vec<_> = found.iter().map(|one| one.key.as_str()).collect();
        assert_eq!(keys, ["runtime.phases.audit.skip", "runtime.retry_maximum"]);
    }

    #[test]
    fn what_the_environment_said_lasts_but_for_secrets_and_the_place_of_the_state() {
        let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let began = map(&[
            ("LOA_RUN_PHASES_AUDIT_SKIP", "true"),
            ("LOA_RUN_TIMEOUT_HOURS", "1"),
            ("CONTEXT_SOFT_LIMIT", "9"),
            ("WIGGUM_CLAUDE_MAX_RETRIES", "1"),
            ("LOA_RUN_NOTIFY_WEBHOOK", "https://secret"),
            ("LOA_RUN_NOTIFY_RECEIVERS", "[]"),
            ("LOA_RUN_STATE", "/s"),
            ("LOA_RUN_RETRY_MAX", ""),
            ("HOME", "/root"),
            ("PATH", "/evening"),
        ]);
        let kept = lasting(&began);
        let names: Vec<&str> = kept.keys().map(String::as_str).collect();
        let expected = [
            "CONTEXT_SOFT_LIMIT",
            "LOA_RUN_NOTIFY_RECEIVERS",
            "LOA_RUN_NOTIFY_WEBHOOK",
            "LOA_RUN_PHASES_AUDIT_SKIP",
            "LOA_RUN_TIMEOUT_HOURS",
            "PATH",
            "WIGGUM_CLAUDE_MAX_RETRIES",
        ];
        assert_eq!(names, expected);
        assert_eq!((kept["LOA_RUN_NOTIFY_WEBHOOK"].as_str(), kept["LOA_RUN_TIMEOUT_HOURS"].as_str()), ("", "1"));
        let again = with_lasting(&map(&[("LOA_RUN_NOTIFY_WEBHOOK", "https://other")]), &kept);
        assert_eq!(
            again["LOA_RUN_NOTIFY_WEBHOOK"], "https://other",
            "a secret is never written down: the present one counts"
        );
        assert!(!again.contains_key("LOA_RUN_NOTIFY_RECEIVERS"), "{again:?}");
        let now = map(&[
            ("LOA_RUN_TIMEOUT_HOURS", "9"),
            ("LOA_RUN_PHASES_DESIGN_SKIP", "true"),
            ("LOA_RUN_STATE", "/t"),
            ("PATH", "/m"),
        ]);
        let both = with_lasting(&now, &kept);
        assert_eq!(both.get("LOA_RUN_TIMEOUT_HOURS").map(String::as_str), Some("1"));
        assert_eq!(both.get("PATH").map(String::as_str), Some("/evening"));
        assert_eq!(both.get("LOA_RUN_STATE").map(String::as_str), Some("/t"));
        assert!(!both.contains_key("LOA_RUN_PHASES_DESIGN_SKIP"), "{both:?}");
    }

    #[test]
    fn an_assignment_needs_a_key() {
        let set = Override::set("a.b=c=d").expect("an assignment");
        assert_eq!((set.key.as_str(), set.value.as_str()), ("a.b", "c=d"));
        for (assignment, flag, may_be_kept) in [
            ("a.b=c=d", "--set a.b=c=d", true),
            ("runtime.notify.webhook=https://example.org/x", "--set runtime.notify.webhook", true),
            ("runtime.backends.mine.env.MY_KEY=s", "--set runtime.backends.mine.env.MY_KEY", false),
            ("runtime.backends.mine.model=s", "--set runtime.backends.mine.model=s", true),
            ("runtime.phases.audit.env.LANG=C", "--set runtime.phases.audit.env.LANG=C", true),
        ] {
            let set = Override::set(assignment).expect("an assignment");
            assert_eq!((set.origin.to_string().as_str(), set.may_be_kept()), (flag, may_be_kept), "{assignment}");
        }
        for wrong in ["", "a.b", "=c"] {
            assert_eq!(Override::set(wrong), Err(NotAnAssignment(wrong.to_owned())));
        }
    }
}
