//! The document kind `config`: the schema, and the rules that a schema cannot say.

use std::path::Path;
use std::sync::LazyLock;

use camino::Utf8Path;
use serde_json::{Value, json};

use super::load::{FILE_NAME, typed};
use super::settings::Origins;
use super::{ConfigDocument, agents, check};
use crate::diag::{Diagnostic, Document};
use crate::schema::{Checker, Example, Explanation, Kind, Marks, Rule};

/// `.loa.config.yaml`.
pub const CONFIG: Kind = Kind::of::<ConfigDocument>("config", || vec![example()])
    .place(".loa.config.yaml")
    .known_by(Marks { paths: &[".loa.config.yaml", ".loa.config.yaml.example"], keys: &["autonomous_agent"] })
    .rules(&[CONFLICT, ADVICE]);

/// Two values that do not fit together.
pub(super) const CONFLICT: Rule = Rule {
    text: Explanation {
        id: "config-conflict",
        about: "the soft limit is below the hard one, the least budget of a level is not above its most, a phase has a command \
                or a prompt, and its agent is known",
        why: "With the limits the wrong way round a standard compaction is never asked for; with a budget whose least is \
              above its most no number of thinking tokens is right; with a command and a prompt nobody knows what to run.",
        mend: "Change one of the two values. One that is left out has its default.",
        example: Some(Example {
            kind: "config",
            path: ".loa.config.yaml",
            wrong: "autonomous_agent:\n  context:\n    soft_limit_tokens: 200000\n",
            right: "autonomous_agent:\n  context:\n    soft_limit_tokens: 100000\n",
        }),
    },
    check: |subject| {
        let Ok(config) = typed(subject.document.to_json()) else { return Vec::new() };
        let file = Some((subject.path.into(), subject.document.clone()));
        let origins = Origins { file, ..Origins::default() };
        [check::conflicts(&config, &origins, &[]), agents::strangers(&config, &origins)].concat()
    },
};

/// What is allowed and still worth a look.
const ADVICE: Rule = Rule {
    text: Explanation {
        id: "config-advice",
        about: "no key stands there that nothing reads, and none is nearly one that is read",
        why: "Loa's reference of its configuration names keys that no program knows, such as `effort.unit`. Whoever sets one \
              believes that something changed.",
        mend: "Remove the key, or write the one that was meant.",
        example: Some(Example {
            kind: "config",
            path: ".loa.config.yaml",
            wrong: "effort:\n  unit: story_points\n",
            right: "effort:\n  default_level: medium\n",
        }),
    },
    check: |subject| check::advice(subject.document, subject.schema),
};

/// Every finding about a configuration by itself.
pub(super) fn findings(document: &Document, path: &Path) -> Vec<Diagnostic> {
    static CHECKER: LazyLock<Checker> = LazyLock::new(|| Checker::new(&CONFIG));
    let path = Utf8Path::from_path(path).unwrap_or(Utf8Path::new(FILE_NAME));
    CHECKER.check_document(document, path)
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
                "audit": {"prompt": "Review the work of this branch.", "backend": "codex", "verify": "test -s audit.md"},
                "deploy": {"skip": true}
            },
            "backends": {"codex": {"permissions": "edit", "args": ["--color", "never"]}}
        }
    })
}
