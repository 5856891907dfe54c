//! What old names say, in which order, and below what.

use std::time::Duration;

use super::*;
use crate::config::{FILE_NAME, OnDisk, Settings, from_environment, resolve_over};
use crate::contract::Phase;
use crate::policy::Backoff;
use crate::system::files;

fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn file(path: &str, text: &str) -> Vec<OldName> {
    in_file(&Source { path: path.into(), bytes: text.into() }).expect("valid")
}

/// Settings over a file of ours, variables of both kinds, and old files.
fn settings(ours: &str, environment: &[(&str, &str)], old_files: Vec<OldName>) -> Settings {
    let environment = variables(environment);
    let mut old = old_files;
    old.extend(in_environment(&environment).expect("valid"));
    let ours = Source { path: FILE_NAME.into(), bytes: ours.into() };
    resolve_over(None, Some(ours), from_environment(&environment), &old).expect("valid")
}

#[test]
fn each_old_name_has_one_of_ours() {
    for (environment, key, value) in [
        (("WIGGUM_RUNTIME_BACKEND", "codex"), "runtime.backend", json!("codex")),
        (("WIGGUM_RUNTIME_MAX_RETRIES", "1"), "runtime.backends.claude.retry.max", json!(1)),
        (("WIGGUM_RUNTIME_INITIAL_BACKOFF", "2"), "runtime.backends.claude.retry.initial_ms", json!(2000)),
        (("WIGGUM_RUNTIME_MAX_BACKOFF", "90"), "runtime.backends.claude.retry.max_ms", json!(90_000)),
        (("WIGGUM_RUNTIME_BACKOFF_MULTIPLIER", "3"), "runtime.backends.claude.retry.multiplier", json!(3.0)),
        (("WIGGUM_CLAUDE_MAX_RETRIES", "1"), "runtime.backends.claude.retry.max", json!(1)),
        (("WIGGUM_CLAUDE_INITIAL_BACKOFF", "0.5"), "runtime.backends.claude.retry.initial_ms", json!(500)),
        (("WIGGUM_CLAUDE_MAX_BACKOFF", "1"), "runtime.backends.claude.retry.max_ms", json!(1000)),
        (("WIGGUM_CLAUDE_BACKOFF_MULTIPLIER", "1.5"), "runtime.backends.claude.retry.multiplier", json!(1.5)),
        (("WIGGUM_RATE_LIMIT_THRESHOLD", "900"), "runtime.backends.claude.quota.prompts", json!(900)),
        (("WIGGUM_PROMPT_PRE_SYSTEM", "A"), "runtime.backends.claude.prompts.pre_system", json!("A")),
        (("WIGGUM_PROMPT_POST_SYSTEM", "@b"), "runtime.backends.claude.prompts.post_system", json!("@b")),
        (("WIGGUM_PROMPT_PRE_USER", "true"), "runtime.backends.claude.prompts.pre_user", json!("true")),
        (("WIGGUM_PROMPT_POST_USER", "7"), "runtime.backends.claude.prompts.post_user", json!("7")),
    ] {
        let settings = settings("{}", &[environment], Vec::new());
        let explained = settings.explain();
        let one = explained.iter().find(|one| one.key == key).unwrap_or_else(|| panic!("{key}: {explained:#?}"));
        let origin = format!("environment variable {}, an old name", environment.0);
        assert_eq!((&one.value, one.origin.to_string()), (&value, origin), "{key}");
        let [notice] = settings.warnings() else { panic!("{:#?}", settings.warnings()) };
        assert!(notice.message.contains(environment.0) && notice.help.as_ref().is_some_and(|help| help.contains(key)));
    }
}

const GLOBAL_TEXT: &str = r#"{
  "runtime": {
    "backend": "codex",
    "backends": {
      "claude": { "binary": "/opt/claude", "max_retries": 4, "prompts": { "pre_user": "global", "post_user": "" } }
    }
  },
  "claude": { "max_retries": 9, "initial_backoff_seconds": 8, "max_backoff_seconds": 80, "backoff_multiplier": 4 },
  "rate_limit": { "threshold_prompts": 900 }
}"#;

#[test]
fn both_forms_of_a_file_are_read_and_the_newer_goes_first() {
    let settings = settings("{}", &[], file("/w/config/config.json", GLOBAL_TEXT));
    assert_eq!(settings.default_backend(), "codex");
    let claude = settings.backend("claude").expect("built in").section;
    assert_eq!((claude.binary.as_deref(), claude.prompts.pre_user.as_deref()), (Some("/opt/claude"), Some("global")));
    assert_eq!(claude.prompts.post_user, None, "an empty text says nothing");
    let retry = settings.agent_retry("claude");
    let seconds = Duration::from_secs;
    let backoff = Backoff { initial: seconds(8), multiplier: 4.0, max: seconds(80), jitter: 0.25 };
    assert_eq!((retry.max, retry.backoff), (4, backoff));
    let origin = settings.origin("runtime.backends.claude.retry.max").to_string();
    assert_eq!(origin, "/w/config/config.json:5, an old name");
}

#[test]
fn the_environment_goes_before_the_project_and_that_before_the_home_and_all_below_ours() {
    let old_files = || {
        let project = r#"{ "runtime": { "backend": "claude", "backends": { "claude": { "max_retries": 5 } } } }"#;
        [file("global", GLOBAL_TEXT), file("project", project)].concat()
    };
    let both = [("WIGGUM_RUNTIME_MAX_RETRIES", "6"), ("WIGGUM_CLAUDE_MAX_RETRIES", "7")];
    let (newer, older) = (&both[..1], &both[1..]);
    let backends = "runtime: { backends: { claude: { retry: { max: 1 } } } }";
    let ours = [("LOA_RUN_BACKENDS_CLAUDE_RETRY_MAX", "2"), both[0]];
    let general = [("LOA_RUN_RETRY_MAX", "3"), both[0]];
    for (file, environment, old, max) in [
        ("{}", &[][..], file("global", GLOBAL_TEXT), 4),
        ("{}", &[], old_files(), 5),
        ("{}", older, old_files(), 7),
        ("{}", &both, old_files(), 6),
        ("{}", newer, old_files(), 6),
        (backends, &both, old_files(), 1),
        ("runtime: { retry: { max: 2 } }", &both, old_files(), 2),
        ("{}", &ours, old_files(), 2),
        ("{}", &general, old_files(), 3),
    ] {
        assert_eq!(settings(file, environment, old).agent_retry("claude").max, max, "{file} {environment:?}");
    }
    let chosen = |file: &str, environment: &[(&str, &str)]| {
        settings(file, environment, old_files()).default_backend().to_owned()
    };
    assert_eq!(chosen("{}", &[]), "claude");
    assert_eq!(chosen("{}", &[("WIGGUM_RUNTIME_BACKEND", "codex")]), "codex");
    assert_eq!(chosen("runtime: { backend: claude }", &[("WIGGUM_RUNTIME_BACKEND", "codex")]), "claude");
    assert_eq!(chosen("{}", &[("WIGGUM_RUNTIME_BACKEND", "claude"), ("LOA_RUN_BACKEND", "codex")]), "codex");
}

#[test]
fn a_variable_speaks_for_the_agent_that_is_the_default_in_the_end() {
    let environment = [("WIGGUM_RUNTIME_MAX_RETRIES", "6"), ("WIGGUM_RUNTIME_BACKEND", "claude")];
    let settings = settings("runtime: { backend: codex }", &environment, Vec::new());
    assert_eq!((settings.agent_retry("codex").max, settings.agent_retry("claude").max), (6, 3));
}

#[test]
fn a_wrong_value_is_refused_with_its_place() {
    for (name, value) in [
        ("WIGGUM_RUNTIME_BACKEND", "../../../etc/passwd"),
        ("WIGGUM_RUNTIME_MAX_RETRIES", "many"),
        ("WIGGUM_RUNTIME_INITIAL_BACKOFF", "-1"),
        ("WIGGUM_CLAUDE_BACKOFF_MULTIPLIER", "two"),
    ] {
        let finding = in_environment(&variables(&[(name, value)])).expect_err(value);
        assert!(finding.message.starts_with(&format!("environment variable {name}: `{value}`")), "{finding:?}");
    }
    for (text, line, column) in [
        (r#"{"runtime": {"backend": "../../../etc/passwd"}}"#, 1, 25),
        ("{\"runtime\": {\n\"backends\": {\"../x\": {}}}}", 2, 14),
        (r#"{"runtime": {"backends": {"claude": {"max_retries": "3"}}}}"#, 1, 53),
        (r#"{"claude": {"max_backoff_seconds": -1}}"#, 1, 36),
        (r#"{"runtime": {"backends": {"claude": {"prompts": {"pre_user": 7}}}}}"#, 1, 62),
    ] {
        let source = Source { path: "old".into(), bytes: text.into() };
        let place = in_file(&source).expect_err(text).span.expect("a place").start;
        assert_eq!((place.line, place.column), (line, column), "{text}");
    }
    let old = in_environment(&variables(&[("WIGGUM_RUNTIME_MAX_RETRIES", "5000")])).expect("of the right form");
    let Err(ConfigError::Invalid { problems, .. }) = resolve_over(None, None, Vec::new(), &old) else {
        panic!("it is accepted");
    };
    assert!(problems[0].findings[0].message.contains("WIGGUM_RUNTIME_MAX_RETRIES"), "{problems:?}");
    // An unknown agent is told of where a phase needs it, with this as its origin.
    let old = in_environment(&variables(&[("WIGGUM_RUNTIME_BACKEND", "nobody")])).expect("of the right form");
    let settings = resolve_over(None, None, Vec::new(), &old).expect("no phase has an agent");
    assert!(settings.origin_of_backend(Phase::Design).to_string().contains("WIGGUM_RUNTIME_BACKEND"));
}

#[test]
fn the_projects_file_lies_where_the_text_says_and_nowhere_deeper() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        files::ensure_folder(path.parent().expect("a folder")).expect("made");
        files::write_durably(&path, text.as_bytes(), files::Privacy::Shared).expect("written");
    };
    let read = |pairs: &[(&str, &str)]| {
        let old = read_old_names(&OnDisk, folder.path(), Some(folder.path()), &variables(pairs)).expect("valid");
        old.last().and_then(|name| name.default_agent().map(str::to_owned))
    };
    let says = |name: &str| format!(r#"{{"runtime": {{"backend": "{name}"}}}}"#);
    write(".ralph/.ralph/config.json", &says("doubled"));
    write("config/config.json", &says("of-the-workspace"));
    assert_eq!(read(&[]), None);
    write(".claude/chief-wiggum/config/config.json", &says("at-home"));
    assert_eq!(read(&[]).as_deref(), Some("at-home"));
    write("elsewhere/config/config.json", &says("elsewhere"));
    let elsewhere = folder.path().join("elsewhere");
    assert_eq!(read(&[("WIGGUM_HOME", elsewhere.to_str().expect("UTF-8"))]).as_deref(), Some("elsewhere"));
    write(".ralph/config.json", &says("of-the-project"));
    assert_eq!(read(&[]).as_deref(), Some("of-the-project"));
    write(".ralph/config.json", "{");
    let Err(ConfigError::Invalid { problems, .. }) = read_old_names(&OnDisk, folder.path(), None, &BTreeMap::new())
    else {
        panic!("it is no JSON")
    };
    assert!(problems[0].source.is_some());
    files::remove_tree(&folder.path().join(".ralph")).expect("removed");
    write(".ralph", "a file of something else");
    assert_eq!(read(&[]).as_deref(), Some("at-home"));
}
