//! Who operates a run (Loa's operator detection). The first of the rules that holds decides; where none does, nobody is
//! taken to watch: that is the side on which gates are mandatory and a deployment needs a person.

use std::collections::BTreeMap;

use crate::contract::{Confidence, DetectionMethod, OperatorType};

/// What is known of the surroundings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// What the configuration says, if it says who operates.
    pub configured: Option<OperatorType>,
    /// The environment.
    pub variables: BTreeMap<String, String>,
    /// An agent's gateway is set up for the user.
    pub gateway: bool,
    /// How many of an agent's own documents lie in the workspace.
    pub documents: usize,
    /// A heartbeat of an agent is less than five minutes old.
    pub heartbeat: bool,
    /// Somebody may be watching: input and output are a terminal.
    pub terminal: bool,
}

/// Who operates, how that was found out, and how sure it is.
#[must_use]
pub fn operator(known: &Surroundings) -> (OperatorType, DetectionMethod, Confidence) {
    use {Confidence as C, DetectionMethod as M, OperatorType as T};
    let value = |name: &str| known.variables.get(name).map(String::as_str).filter(|value| !value.is_empty());
    let is = |(name, expected): &(&str, &str)| value(name).is_some_and(|value| value.eq_ignore_ascii_case(expected));
    if let Some(configured) = known.configured {
        return (configured, M::EnvVar, C::High);
    }
    if GATEWAY.iter().any(|name| value(name).is_some()) || is(&("CLAWDBOT_PATH_BOOTSTRAPPED", "1")) {
        return (T::Ai, M::EnvVar, C::High);
    }
    match value("LOA_OPERATOR") {
        Some("human") => return (T::Human, M::EnvVar, C::High),
        // A word that nobody knows is no leave to be lax.
        Some(word) => return (T::Ai, M::EnvVar, if word == "ai" { C::High } else { C::Low }),
        None => {}
    }
    if AGENTS.iter().any(is) {
        return (T::Ai, M::EnvVar, C::High);
    }
    match known {
        Surroundings { gateway: true, .. } => (T::Ai, M::EnvVar, C::Medium),
        Surroundings { documents: 2.., .. } => (T::Ai, M::AgentsMd, C::Medium),
        Surroundings { heartbeat: true, .. } => (T::Ai, M::Heartbeat, C::Medium),
        Surroundings { terminal: true, .. } => (T::Human, M::Tty, C::Low),
        _ => (T::Ai, M::Tty, C::Low),
    }
}

/// Variables that an agent's gateway sets.
const GATEWAY: [&str; 2] = ["CLAWDBOT_GATEWAY_TOKEN", "CLAWDBOT_GATEWAY_PORT"];

/// Variables that agents set for what they start.
const AGENTS: [(&str, &str); 5] = [
    ("CLAWDBOT_AGENT", "true"),
    ("CLAUDECODE", "1"),
    ("CURSOR_AGENT", "true"),
    ("WINDSURF_AGENT", "true"),
    ("AIDER_SESSION", "true"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use Confidence as C;
    use DetectionMethod as M;
    use OperatorType as T;

    fn with(pairs: &[(&str, &str)]) -> Surroundings {
        let variables = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Surroundings { variables, ..Surroundings::default() }
    }

    #[test]
    fn the_first_rule_that_holds_decides_and_nobody_is_taken_to_watch() {
        let nobody = Surroundings::default();
        for (known, expected) in [
            (nobody.clone(), (T::Ai, M::Tty, C::Low)),
            (Surroundings { terminal: true, ..nobody.clone() }, (T::Human, M::Tty, C::Low)),
            (Surroundings { terminal: true, heartbeat: true, ..nobody.clone() }, (T::Ai, M::Heartbeat, C::Medium)),
            (Surroundings { terminal: true, documents: 2, ..nobody.clone() }, (T::Ai, M::AgentsMd, C::Medium)),
            (Surroundings { terminal: true, documents: 1, ..nobody.clone() }, (T::Human, M::Tty, C::Low)),
            (Surroundings { terminal: true, gateway: true, ..nobody.clone() }, (T::Ai, M::EnvVar, C::Medium)),
            (Surroundings { terminal: true, ..with(&[("CLAUDECODE", "1")]) }, (T::Ai, M::EnvVar, C::High)),
            (with(&[("CLAUDECODE", "0")]), (T::Ai, M::Tty, C::Low)),
            (with(&[("LOA_OPERATOR", "human"), ("CLAUDECODE", "1")]), (T::Human, M::EnvVar, C::High)),
            (with(&[("LOA_OPERATOR", "ai")]), (T::Ai, M::EnvVar, C::High)),
            (Surroundings { terminal: true, ..with(&[("LOA_OPERATOR", "robot")]) }, (T::Ai, M::EnvVar, C::Low)),
            (Surroundings { terminal: true, ..with(&[("LOA_OPERATOR", "")]) }, (T::Human, M::Tty, C::Low)),
            (with(&[("CLAWDBOT_GATEWAY_PORT", "1"), ("LOA_OPERATOR", "human")]), (T::Ai, M::EnvVar, C::High)),
            (
                Surroundings { configured: Some(T::Human), ..with(&[("CLAWDBOT_GATEWAY_PORT", "1")]) },
                (T::Human, M::EnvVar, C::High),
            ),
        ] {
            assert_eq!(operator(&known), expected, "{known:?}");
        }
    }
}
