//! Names that Chief Wiggum had for what is ours now: its variables and its two files, read below everything of ours.
//!
//! `.ralph/config.json` of the workspace and `config/config.json` of its own home say `runtime.backend` and
//! `runtime.backends.<name>.…`, with seconds where we have milliseconds, or, older still, `claude.…`. What has no name of
//! ours is not read. A variable speaks for whichever agent is the default.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{ConfigError, ConfigFiles, FileRole, Origin, Override, Problems, Source};
use crate::diag::{Budget, Diagnostic, Document, Format, Node};
use crate::system::files::FileError;

/// The project's file, in the workspace. Not below `.ralph` a second time.
const PROJECT: &str = ".ralph/config.json";
/// The file of Chief Wiggum's own home.
const GLOBAL: &str = "config/config.json";
/// Where that is, by a variable, or else below the user's home.
const HOME: (&str, &str) = ("WIGGUM_HOME", ".claude/chief-wiggum");

/// One thing that an old name says.
#[derive(Debug, Clone, PartialEq)]
pub struct OldName {
    /// The agent whose section it belongs to; without one, the default agent's.
    agent: Option<String>,
    /// The key in that section; without one, it names the default agent itself.
    key: Option<&'static str>,
    value: Value,
    place: String,
}

impl OldName {
    /// The default agent, when this is what it names.
    pub(super) fn default_agent(&self) -> Option<&str> {
        self.value.as_str().filter(|_| self.key.is_none())
    }

    /// The key of ours in the general section that would speak for this one too.
    pub(super) fn general_key(&self) -> Option<String> {
        self.key.filter(|key| key.starts_with("retry.")).map(|key| format!("runtime.{key}"))
    }

    /// As a value of ours, where this is the default agent.
    pub(super) fn as_ours(&self, default_agent: &str) -> Override {
        let agent = self.agent.as_deref().unwrap_or(default_agent);
        let key = self.key.map_or("runtime.backend".to_owned(), |key| format!("runtime.backends.{agent}.{key}"));
        Override { key, value: self.value.to_string(), origin: Origin::Old(self.place.clone()) }
    }
}

/// How an old value becomes one of ours.
#[derive(Debug, Clone, Copy)]
enum Form {
    Name,
    Text,
    Number,
    /// Seconds, which are milliseconds with us.
    Seconds,
}

impl Form {
    fn expected(self) -> &'static str {
        match self {
            Self::Name => "the name of a backend: letters, digits, - and _",
            Self::Text => "a text",
            Self::Number => "a number, not below 0",
            Self::Seconds => "a number of seconds, not below 0",
        }
    }

    fn read(self, value: &Value) -> Option<Value> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        match self {
            Self::Name => value.as_str().filter(|name| !name.is_empty() && name.chars().all(plain)).map(Value::from),
            Self::Text => value.as_str().map(Value::from),
            Self::Number => value.as_f64().filter(|number| *number >= 0.0).map(|_| value.clone()),
            Self::Seconds => {
                let millis = value.as_f64().filter(|seconds| (0.0..=1e9).contains(seconds))? * 1000.0;
                Some(json!(millis.round()))
            }
        }
    }
}

/// What an agent's section in a file says, by its keys in that file.
const SECTION: [(&str, &str, Form); 9] = [
    ("/binary", "binary", Form::Text),
    ("/max_retries", "retry.max", Form::Number),
    ("/initial_backoff", "retry.initial_ms", Form::Seconds),
    ("/max_backoff", "retry.max_ms", Form::Seconds),
    ("/backoff_multiplier", "retry.multiplier", Form::Number),
    ("/prompts/pre_system", "prompts.pre_system", Form::Text),
    ("/prompts/post_system", "prompts.post_system", Form::Text),
    ("/prompts/pre_user", "prompts.pre_user", Form::Text),
    ("/prompts/post_user", "prompts.post_user", Form::Text),
];

/// What the older section `claude` says.
const CLAUDE: [(&str, &str, Form); 4] = [
    ("/max_retries", "retry.max", Form::Number),
    ("/initial_backoff_seconds", "retry.initial_ms", Form::Seconds),
    ("/max_backoff_seconds", "retry.max_ms", Form::Seconds),
    ("/backoff_multiplier", "retry.multiplier", Form::Number),
];

/// The variables, the weakest first: name, agent, key, form.
const VARIABLES: [(&str, Option<&str>, Option<&str>, Form); 14] = [
    ("WIGGUM_CLAUDE_MAX_RETRIES", Some("claude"), Some("retry.max"), Form::Number),
    ("WIGGUM_CLAUDE_INITIAL_BACKOFF", Some("claude"), Some("retry.initial_ms"), Form::Seconds),
    ("WIGGUM_CLAUDE_MAX_BACKOFF", Some("claude"), Some("retry.max_ms"), Form::Seconds),
    ("WIGGUM_CLAUDE_BACKOFF_MULTIPLIER", Some("claude"), Some("retry.multiplier"), Form::Number),
    ("WIGGUM_RUNTIME_MAX_RETRIES", None, Some("retry.max"), Form::Number),
    ("WIGGUM_RUNTIME_INITIAL_BACKOFF", None, Some("retry.initial_ms"), Form::Seconds),
    ("WIGGUM_RUNTIME_MAX_BACKOFF", None, Some("retry.max_ms"), Form::Seconds),
    ("WIGGUM_RUNTIME_BACKOFF_MULTIPLIER", None, Some("retry.multiplier"), Form::Number),
    ("WIGGUM_PROMPT_PRE_SYSTEM", None, Some("prompts.pre_system"), Form::Text),
    ("WIGGUM_PROMPT_POST_SYSTEM", None, Some("prompts.post_system"), Form::Text),
    ("WIGGUM_PROMPT_PRE_USER", None, Some("prompts.pre_user"), Form::Text),
    ("WIGGUM_PROMPT_POST_USER", None, Some("prompts.post_user"), Form::Text),
    ("WIGGUM_RATE_LIMIT_THRESHOLD", Some("claude"), Some("quota.prompts"), Form::Number),
    ("WIGGUM_RUNTIME_BACKEND", None, None, Form::Name),
];

/// Whether a variable is an old name that says something.
pub(super) fn is_variable(name: &str) -> bool {
    VARIABLES.iter().any(|(known, ..)| *known == name)
}

/// Reads everything that old names say about a workspace, the weakest first.
///
/// # Errors
/// [`ConfigError`] when a file cannot be read, or an old name says something wrong; its place is told.
pub fn read_old_names(
    files: &dyn ConfigFiles,
    workspace: &Path,
    home: Option<&Path>,
    variables: &BTreeMap<String, String>,
) -> Result<Vec<OldName>, ConfigError> {
    let named = variables.get(HOME.0).filter(|home| !home.is_empty()).map(PathBuf::from);
    let is_named = named.is_some();
    let home = named.or_else(|| home.map(|home| home.join(HOME.1)));
    let mut found = Vec::new();
    let global = home.map(|home| (FileRole::OldHome, home.join(GLOBAL), is_named));
    for (role, path, is_meant) in global.into_iter().chain([(FileRole::OldProject, workspace.join(PROJECT), true)]) {
        let file = match files.read(role, &path) {
            Err(error) if is_nobodys(&error, is_meant) => None,
            file => file?,
        };
        if let Some(file) = file {
            found.extend(in_file(&file).map_err(|finding| wrong(Some(file), *finding))?);
        }
    }
    found.extend(in_environment(variables).map_err(|finding| wrong(None, *finding))?);
    Ok(found)
}

/// Whether a file that cannot be read was not meant for us: we were started as somebody else with the home folder of another.
fn is_nobodys(error: &FileError, is_meant: bool) -> bool {
    error.source.kind() == ErrorKind::PermissionDenied && !is_meant
}

fn wrong(source: Option<Source>, finding: Diagnostic) -> ConfigError {
    ConfigError::Invalid { problems: vec![Problems { source, findings: vec![finding] }], rest: None }
}

fn in_environment(variables: &BTreeMap<String, String>) -> Result<Vec<OldName>, Box<Diagnostic>> {
    let set = |name: &str| variables.get(name).filter(|value| !value.is_empty());
    let said = VARIABLES.iter().filter_map(|(name, agent, key, form)| Some((name, agent, key, form, set(name)?)));
    let old = said.map(|(name, agent, key, form, text)| {
        let place = format!("environment variable {name}");
        let number = || text.parse::<serde_json::Number>().ok().map(Value::Number);
        let value = match form {
            Form::Name | Form::Text => Some(Value::from(text.as_str())),
            Form::Number | Form::Seconds => number(),
        };
        if let Some(value) = value.and_then(|value| form.read(&value)) {
            return Ok(OldName { agent: agent.map(str::to_owned), key: *key, value, place });
        }
        let message = format!("{place}: `{text}` is not what it may say");
        Err(Box::new(Diagnostic::error("config-value", message).expected(form.expected())))
    });
    old.collect()
}

fn in_file(file: &Source) -> Result<Vec<OldName>, Box<Diagnostic>> {
    let document = Document::read(&file.bytes, Format::Json, &Budget::default())?;
    let read = |node: &Node, pointer: &str, agent: Option<&str>, key, form: Form| {
        if let Some(value) = form.read(&node.to_json()) {
            let place = format!("{}:{}", file.path.display(), node.span.start.line);
            return Ok(OldName { agent: agent.map(str::to_owned), key, value, place });
        }
        let finding = Diagnostic::error("config-value", "this old name says what it may not say").of(pointer);
        Err(Box::new(finding.at(node.head()).expected(form.expected()).found(node.describe())))
    };
    let mut found = Vec::new();
    let mut section = |holder: &str, agent: &str, keys: &[(&str, &'static str, Form)]| {
        for (old, key, form) in keys {
            let pointer = format!("{holder}{old}");
            let said = document.node_at(&pointer).filter(|node| !is_nothing(node));
            if let Some(node) = said {
                found.push(read(node, &pointer, Some(agent), Some(key), *form)?);
            }
        }
        Ok::<(), Box<Diagnostic>>(())
    };
    section("/claude", "claude", &CLAUDE)?;
    for agent in document.node_at("/runtime/backends").map(Node::entries).unwrap_or_default() {
        if Form::Name.read(&Value::from(agent.key.as_str())).is_none() {
            let message = format!("`{}` is no name of a backend", agent.key);
            let finding = Diagnostic::error("config-value", message).at(agent.key_span);
            return Err(Box::new(finding.expected(Form::Name.expected())));
        }
        section(&format!("/runtime/backends/{}", agent.key), &agent.key, &SECTION)?;
    }
    let pointer = "/runtime/backend";
    if let Some(node) = document.node_at(pointer).filter(|node| !is_nothing(node)) {
        found.push(read(node, pointer, None, None, Form::Name)?);
    }
    Ok(found)
}

/// Whether a value says nothing: null, or an empty text.
fn is_nothing(node: &Node) -> bool {
    matches!(node.to_json(), Value::Null) || node.as_str().is_some_and(str::is_empty)
}

#[cfg(test)]
mod tests;
