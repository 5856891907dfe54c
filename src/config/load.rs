//! From bytes, environment and flags to settings, or to findings that say what is wrong and where.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::{Map, Value, json};

use super::keys::{backend_key, backend_name_in_key};
use super::kind::{self, CONFLICT};
use super::loas_own::is_loas_own;
use super::settings::{Origins, Settings, effective, leaves};
use super::{
    ConfigDocument, ConfigError, ConfigFiles, FileRole, OldName, OnDisk, Origin, Override, PREFIX, Problems, Source,
    VARIABLES, check, runtime_variables,
};
use crate::contract::Phase;
use crate::diag::{Budget, Diagnostic, Document, Format, Severity, closest, documents};

/// The name of the configuration file in a workspace.
pub const FILE_NAME: &str = ".loa.config.yaml";

/// The name of a user's own configuration file, in the folder of the user's configurations.
pub const USER_FILE: &str = "loa-run/config.yaml";

/// The folder that is named for the state of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedState {
    /// The folder; where it is relative, it is so to the workspace.
    pub folder: PathBuf,
    /// Whether a flag or a variable names it, and not a file, which phases may write.
    pub by_word: bool,
}

/// The folder that the configuration names for the state of runs: by a flag, a variable, the workspace's file, or the
/// user's own. A file that is wrong elsewhere still says this, for whoever only looks where an execution stands.
#[must_use]
pub fn named_state(
    path: &Path,
    user: Option<&Path>,
    overrides: &[Override],
    home: Option<&Path>,
) -> Option<NamedState> {
    let by_word = overrides.iter().rev().find(|value| value.key == "runtime.state").map(|value| value.value.clone());
    let in_file = |path: &Path| {
        let source = OnDisk.read(FileRole::Workspace, path).ok()??;
        let document = documents(&source.bytes, Format::Yaml, &Budget::default()).next()?.ok()?.to_json();
        document["runtime"]["state"].as_str().map(str::to_owned)
    };
    let is_by_word = by_word.is_some();
    let said = by_word.or_else(|| in_file(path)).or_else(|| in_file(user?))?;
    let folder = match (said.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(said),
    };
    Some(NamedState { folder, by_word: is_by_word })
}

/// Reads a workspace's configuration file and the user's own, where they are there, and resolves them.
///
/// # Errors
/// [`ConfigError::Unreadable`] when a file is there and cannot be read, otherwise as [`resolve`].
pub fn load(
    files: &dyn ConfigFiles,
    (path, user): (&Path, Option<&Path>),
    overrides: Vec<Override>,
    old: &[OldName],
) -> Result<Settings, ConfigError> {
    let (user, shut) = match user.map(|path| files.read(FileRole::User, path)).transpose() {
        // Started as somebody else, with the home folder of another: nothing there was meant for us.
        Err(error) if error.source.kind() == std::io::ErrorKind::PermissionDenied => (None, Some(error)),
        user => (user?.flatten(), None),
    };
    let mut settings = resolve_over(user, files.read(FileRole::Workspace, path)?, overrides, old)?;
    settings
        .warnings
        .extend(shut.map(|error| Diagnostic::warning("config-advice", format!("{error}: {}", error.source))));
    Ok(settings)
}

/// Resolves what the file, the environment and the flags say; `overrides` has the strongest last.
///
/// # Errors
/// [`ConfigError::Invalid`] with everything that is wrong.
pub fn resolve(source: Option<Source>, overrides: Vec<Override>) -> Result<Settings, ConfigError> {
    resolve_over(None, source, overrides, &[])
}

/// As [`resolve`], over what the user's own file says, and that over what `old` names say, the weakest of them first.
///
/// # Errors
/// As [`resolve`].
pub fn resolve_over(
    user: Option<Source>,
    source: Option<Source>,
    overrides: Vec<Override>,
    old: &[OldName],
) -> Result<Settings, ConfigError> {
    let mut problems = Vec::new();
    let (user, about_user) = checked(user, &mut problems);
    let (file, mut warnings) = checked(source.clone(), &mut problems);
    // Shown with the workspace's file, where their places mean nothing.
    warnings.extend(about_user.into_iter().map(|finding| without_place(finding, &user_origin(user.as_ref()))));
    let Layers { tree, overrides, old, wrong, advice } = layers(&user, &file, overrides, old);
    if !wrong.is_empty() {
        problems.push(Problems { source: None, findings: wrong });
    }
    warnings.extend(advice.into_iter().chain(old.iter().map(notice)));
    let settings = match without_errors(tree, &problems).map(typed) {
        Some(Ok(config)) => Some(Settings { config, origins: Origins { file, user, overrides, old }, warnings }),
        Some(Err(findings)) if problems.is_empty() => {
            problems.push(Problems { source: None, findings });
            None
        }
        // Too little is left to say more.
        Some(Err(_)) | None => None,
    };
    let left_out: Vec<&str> = problems.iter().flat_map(Problems::pointers).collect();
    let conflicts = settings.as_ref().map_or(Vec::new(), |it| check::conflicts(&it.config, &it.origins, &left_out));
    if !conflicts.is_empty() {
        let in_file = conflicts.iter().any(|finding| finding.span.is_some());
        problems.push(Problems { source: source.filter(|_| in_file), findings: conflicts });
    }
    match settings {
        Some(settings) if problems.is_empty() => Ok(settings),
        rest => Err(ConfigError::Invalid { problems, rest: rest.map(Box::new) }),
    }
}

/// The tree without the values that are wrong; `None` where nobody knows what would be left.
fn without_errors(mut tree: Value, problems: &[Problems]) -> Option<Value> {
    for problem in problems {
        for finding in &problem.findings {
            match &finding.pointer {
                Some(pointer) => leave_out(&mut tree, pointer)?,
                // A file that cannot be read, or a variable that is none.
                None if problem.source.is_some() => return None,
                None => {}
            }
        }
    }
    Some(tree)
}

/// Takes a wrong value out of the tree. Of a phase with one nobody knows what it would run: it counts as passed over, so
/// that nothing is said of it that is not so. `None` for a whole section that others refer to.
fn leave_out(tree: &mut Value, pointer: &str) -> Option<()> {
    let mut words: Vec<&str> = pointer.split('/').skip(1).collect();
    let of_phase = matches!(words[..], ["runtime", "phases", _, ..]);
    words.truncate(if of_phase { 3 } else { words.len() });
    if matches!(words[..], [] | ["runtime"] | ["runtime", "phases" | "backends"] | ["runtime", "backends", _]) {
        return None;
    }
    let (last, path) = words.split_last()?;
    let section = path.iter().try_fold(tree, |at, word| at.get_mut(*word)).and_then(Value::as_object_mut);
    let phase = Phase::from_str(last).ok().filter(|_| of_phase);
    match (section, phase) {
        (Some(section), Some(phase)) => drop(section.insert(phase.to_string(), json!({ "skip": true }))),
        (Some(section), None) => drop(section.remove(*last)),
        (None, _) => {}
    }
    Some(())
}

type Layer = Option<(PathBuf, Document)>;

/// A file, and what is worth a look in it. What is wrong in it goes to the problems.
fn checked(source: Option<Source>, problems: &mut Vec<Problems>) -> (Layer, Vec<Diagnostic>) {
    let Some(source) = source else { return (None, Vec::new()) };
    let document = documents(&source.bytes, Format::Yaml, &Budget::default()).next();
    let (document, errors, warnings) = match document.expect("a YAML file is one document or one finding") {
        Ok(document) => {
            let (errors, warnings) = by_itself(&document, &source.path);
            (Some(document), errors, warnings)
        }
        Err(finding) => (None, vec![*finding], Vec::new()),
    };
    let path = source.path.clone();
    if !errors.is_empty() {
        problems.push(Problems { source: Some(source), findings: errors });
    }
    (document.map(|document| (path, document)), warnings)
}

fn user_origin(user: Option<&(PathBuf, Document)>) -> Origin {
    user.map_or(Origin::Default, |(path, _)| Origin::File { path: path.clone(), line: 1 })
}

/// That an old name is in force.
fn notice(old: &Override) -> Diagnostic {
    Diagnostic::warning("config-advice", old.origin.to_string()).help(format!("ours is `{}`", old.key))
}

/// All layers, one over the other.
struct Layers {
    tree: Value,
    overrides: Vec<Override>,
    old: Vec<Override>,
    /// What single values of the environment, of flags and of old names say that is wrong, and that is worth a look.
    wrong: Vec<Diagnostic>,
    advice: Vec<Diagnostic>,
}

fn layers(user: &Layer, file: &Layer, overrides: Vec<Override>, old: &[OldName]) -> Layers {
    let mut ours = Value::Object(Map::new());
    for (_, document) in [user, file].into_iter().flatten() {
        lay_over(&mut ours, document.to_json());
    }
    let overrides: Vec<Override> = overrides.into_iter().map(|value| of_known_backend(value, &ours)).collect();
    let mut advice = Vec::new();
    let mut wrong: Vec<Diagnostic> = overrides.iter().filter_map(|value| put(&mut ours, value, &mut advice)).collect();
    let old = in_force(old, &ours);
    let mut tree = Value::Object(Map::new());
    wrong.extend(old.iter().filter_map(|value| put(&mut tree, value, &mut advice)));
    lay_over(&mut tree, ours);
    Layers { tree, overrides, old, wrong, advice }
}

/// A variable cannot say how the name of a backend is written; the configuration can.
fn of_known_backend(value: Override, ours: &Value) -> Override {
    let renamed = |key: &str| {
        let (name, rest) = key.strip_prefix("runtime.backends.")?.split_once('.')?;
        let known = ours["runtime"]["backends"].as_object()?.keys().find(|known| backend_name_in_key(known) == name)?;
        Some(format!("runtime.backends.{known}.{rest}"))
    };
    match &value.origin {
        Origin::Env(_) => Override { key: renamed(&value.key).unwrap_or(value.key), ..value },
        _ => value,
    }
}

/// What old names say that nobody of ours says: one value a key.
fn in_force(old: &[OldName], ours: &Value) -> Vec<Override> {
    let said = |key: &str| ours.pointer(&format!("/{}", key.replace('.', "/"))).is_some();
    let default = ConfigDocument::default().runtime.backend;
    let named = old.iter().rev().find_map(OldName::default_agent);
    let agent = ours["runtime"]["backend"].as_str().or(named).unwrap_or(&default);
    let mut kept: Vec<Override> = Vec::new();
    for name in old.iter().rev() {
        let value = name.as_ours(agent);
        let spoken_for = said(&value.key) || name.general_key().is_some_and(|key| said(&key));
        if !spoken_for && !kept.iter().any(|stronger| stronger.key == value.key) {
            kept.push(value);
        }
    }
    kept
}

/// Puts a stronger tree over a weaker one: sections are merged key by key, anything else takes the other's place.
fn lay_over(weaker: &mut Value, stronger: Value) {
    match (weaker, stronger) {
        (Value::Object(weaker), Value::Object(stronger)) => {
            for (key, value) in stronger {
                lay_over(weaker.entry(key).or_insert(Value::Null), value);
            }
        }
        (weaker, stronger) => *weaker = stronger,
    }
}

/// Errors and warnings about a document. Whether its values fit together is seen later, when the other layers are in.
fn by_itself(document: &Document, path: &Path) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
    let is_error = |finding: &Diagnostic| finding.severity == Severity::Error;
    let unread = |finding: &Diagnostic| is_error(finding) && finding.pointer.as_deref().is_some_and(is_loas_own);
    let findings = kind::findings(document, path).into_iter();
    // What Loa alone reads keeps no run from starting.
    let findings = findings.filter(|finding| finding.code != CONFLICT.text.id && !unread(finding));
    findings.partition(is_error)
}

/// Reads the tree into types. It has passed the schema, so only a number beyond every sense can still be wrong.
pub(super) fn typed(tree: Value) -> Result<ConfigDocument, Vec<Diagnostic>> {
    serde_json::from_value(whole_numbers(tree))
        .map_err(|error| vec![Diagnostic::error("config-value", format!("a value is out of range: {error}"))])
}

/// Writes `3.0` as `3`: a schema takes both for an integer, a type only the latter.
fn whole_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(n) if number.is_f64() && n.fract() == 0.0 && n.abs() < 9e15 => {
                format!("{n:.0}").parse().map_or(Value::Number(number), Value::Number)
            }
            _ => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(whole_numbers).collect(),
        Value::Object(entries) => entries.into_iter().map(|(key, value)| (key, whole_numbers(value))).collect(),
        other => other,
    }
}

/// Puts a value of the environment or of a flag into the tree, unless it is wrong by itself.
fn put(tree: &mut Value, value: &Override, advice: &mut Vec<Diagnostic>) -> Option<Diagnostic> {
    if let Origin::Env(name) = &value.origin
        && let Some(finding) = unknown_variable(name)
    {
        return Some(finding);
    }
    let scalar = serde_json::from_str(&value.value).unwrap_or_else(|_| Value::String(value.value.clone()));
    let mut alone = Value::Object(Map::new());
    insert(&mut alone, &value.key, scalar.clone());
    let text = alone.to_string();
    let document = documents(text.as_bytes(), Format::Json, &Budget::default()).next().and_then(Result::ok);
    let (wrong, worth_a_look) = document.map(|document| by_itself(&document, Path::new(""))).unwrap_or_default();
    if let Some(finding) = wrong.into_iter().next() {
        return Some(without_place(finding, &value.origin));
    }
    advice.extend(worth_a_look.into_iter().map(|finding| without_place(finding, &value.origin)));
    let known = typed(alone).is_ok_and(|config| leaves(&effective(&config)).iter().any(|(key, _)| *key == value.key));
    if !known {
        return Some(unknown_key(value));
    }
    insert(tree, &value.key, scalar);
    None
}

fn insert(tree: &mut Value, key: &str, value: Value) {
    let mut at = tree;
    for part in key.split('.') {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        at = &mut at[part];
    }
    *at = value;
}

/// The place of such a finding lies in a text that nobody wrote; who said it takes its part.
fn without_place(finding: Diagnostic, origin: &Origin) -> Diagnostic {
    let message = format!("{origin}: {}", finding.message);
    Diagnostic { span: None, related: Vec::new(), message, ..finding }
}

/// A variable that begins like ours and is none.
fn unknown_variable(name: &str) -> Option<Diagnostic> {
    let fixed = || VARIABLES.iter().any(|(known, _)| *known == name);
    if !name.starts_with(PREFIX) || fixed() || backend_key(name).is_some() {
        return None;
    }
    let known = runtime_variables();
    if known.contains_key(name) {
        return None;
    }
    let finding = Diagnostic::error("config-key", format!("environment variable {name}: there is no key for it"));
    let names = known.keys().map(String::as_str);
    Some(match closest(name, names).and_then(|similar| known.get_key_value(similar)) {
        Some((similar, key)) => finding.help(format!("did you mean `{similar}`, which is `{key}`?")),
        None => finding.help("the name is LOA_RUN_ and the key below `runtime`, in capitals, with _ for each dot"),
    })
}

fn unknown_key(value: &Override) -> Diagnostic {
    let known = leaves(&effective(&ConfigDocument::default()));
    let finding = Diagnostic::error("config-key", format!("{}: there is no value `{}`", value.origin, value.key));
    match closest(&value.key, known.iter().map(|(key, _)| key.as_str())) {
        Some(similar) => finding.help(format!("did you mean `{similar}`?")),
        None => finding.help("`loa-run init` writes a configuration with every key"),
    }
}

#[cfg(test)]
mod tests;
