//! The document kind `config`: the schema, and the rules that a schema cannot say.

use std::path::Path;
use std::sync::LazyLock;

use camino::Utf8Path;
use serde_json::{Value, json};

use super::load::{FILE_NAME, typed};
use super::settings::Origins;
use super::{ConfigDocument, check};
use crate::diag::{Diagnostic, Document};
use crate::schema::{Checker, Kind, Rule, Subject};

/// `.loa.config.yaml`.
pub const CONFIG: Kind =
    Kind::of::<ConfigDocument>("config", || vec![example()]).place(".loa.config.yaml").rules(&[CONFLICT, ADVICE]);

/// Two values that do not fit together.
pub(super) const CONFLICT: Rule = Rule {
    id: "config-conflict",
    about: "the soft limit is below the hard one, and the least budget of a level is not above its most",
    check: |subject| {
        let Ok(config) = typed(subject.document.to_json()) else { return Vec::new() };
        let file = Some((subject.path.into(), subject.document.clone()));
        let origins = Origins { file, overrides: Vec::new() };
        check::conflicts(&config).iter().map(|conflict| conflict.finding(&origins)).collect()
    },
};

/// What is allowed and still worth a look.
const ADVICE: Rule = Rule {
    id: "config-advice",
    about: "no key stands there that nothing reads, no section is nearly one that is read",
    check: |subject: &Subject<'_>| check::advice(subject.document),
};

/// Every finding about a configuration by itself.
pub(super) fn findings(document: &Document, path: &Path) -> Vec<Diagnostic> {
    static CHECKER: LazyLock<Checker> = LazyLock::new(|| Checker::new(&CONFIG));
    let path = Utf8Path::from_path(path).unwrap_or(Utf8Path::new(FILE_NAME));
    CHECKER.check_document(document, path).0
}

fn example() -> Value {
    json!({
        "autonomous_agent": {
            "max_remediation_loops": 3,
            "require_human_deploy_approval": true,
            "context": {"soft_limit_tokens": 80_000, "hard_limit_tokens": 150_000}
        },
        "run_mode": {"defaults": {"timeout_hours": 8}},
        "runtime": {
            "retry": {"max": 3, "initial_ms": 5000},
            "phases": {
                "preflight": {"command": ["git", "rev-parse", "--git-dir"]},
                "implementation": {"command": "./implement.sh && git add -A", "verify": ["make", "test"]},
                "deploy": {"skip": true}
            }
        }
    })
}
