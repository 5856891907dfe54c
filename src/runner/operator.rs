//! Looks at the surroundings, and writes down who operates the run.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use crate::config::{OperatorChoice, Settings};
use crate::contract::{OperatorRecord, OperatorType};
use crate::policy::{Surroundings, operator};
use crate::system::{env, files};

/// An agent's own documents.
const DOCUMENTS: [&str; 7] =
    ["AGENTS.md", "SOUL.md", "IDENTITY.md", "HEARTBEAT.md", "TOOLS.md", "USER.md", "WORKLEDGER.md"];
/// A document that begins like this was written by a tool and not by an agent.
const GENERATED: &str = "agents-md-gen.sh";
const HEARTBEAT: &str = ".claude/HEARTBEAT.md";
/// How old a heartbeat may be.
const FRESH: Duration = Duration::from_mins(5);

/// What the configuration says about the operator.
pub(in crate::runner) fn configured(settings: &Settings) -> Option<OperatorType> {
    match settings.operator() {
        OperatorChoice::Auto => None,
        OperatorChoice::Human => Some(OperatorType::Human),
        OperatorChoice::Ai => Some(OperatorType::Ai),
    }
}

/// Finds out who operates.
pub(in crate::runner) fn detect(workspace: &Path, configured: Option<OperatorType>, now: Timestamp) -> OperatorRecord {
    let is_there = |name: &&&str| workspace.join(name).is_file() && !is_generated(workspace, name);
    let heartbeat = files::age(&workspace.join(HEARTBEAT), now).is_some_and(|age| age < FRESH)
        && text(&workspace.join(HEARTBEAT)).contains("Agent");
    let gateway = env::home().is_some_and(|home| home.join(".clawdbot/clawdbot.json").is_file());
    let known = Surroundings {
        configured,
        variables: env::vars(),
        gateway,
        documents: DOCUMENTS.iter().filter(is_there).count(),
        heartbeat,
        terminal: env::is_interactive(),
    };
    let (operator_type, detection_method, confidence) = operator(&known);
    OperatorRecord { operator_type, detected_at: now, detection_method, confidence }
}

fn is_generated(workspace: &Path, name: &str) -> bool {
    name == "AGENTS.md" && text(&workspace.join(name)).lines().next().is_some_and(|line| line.contains(GENERATED))
}

fn text(path: &Path) -> String {
    files::read(path, 1024 * 1024).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
