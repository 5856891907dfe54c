//! How long the login of an agent's program lasts, as far as its own file says. Tokens are read and never told.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde_json::Value;

use crate::config::BackendKind;
use crate::system::files;

/// A longer file is none of these.
const LONGEST: u64 = 1 << 20;

/// What is known of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    /// Nobody knows: the program keeps none in a file that is understood here.
    Unknown,
    /// There is no such file: nobody has logged in.
    Absent,
    /// It ends then, and nothing renews it.
    Ends(Timestamp),
    /// It ends then, and the program renews it by itself, as long as its provider agrees.
    Renewed(Timestamp),
}

/// The file in which a program keeps its login. `var` looks up a variable.
#[must_use]
pub fn login_file(kind: BackendKind, home: &Path, var: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let folder = |variable: &str, name: &str| var(variable).map_or_else(|| home.join(name), PathBuf::from);
    match kind {
        BackendKind::Claude => Some(folder("CLAUDE_CONFIG_DIR", ".claude").join(".credentials.json")),
        BackendKind::Codex => Some(folder("CODEX_HOME", ".codex").join("auth.json")),
        BackendKind::Gemini => Some(home.join(".gemini/oauth_creds.json")),
        BackendKind::Qwen => Some(home.join(".qwen/oauth_creds.json")),
        BackendKind::OpenCode | BackendKind::Aider | BackendKind::Pi | BackendKind::Command | BackendKind::Acp => None,
    }
}

/// What the file says.
#[must_use]
pub fn login(kind: BackendKind, file: &Path) -> Login {
    let bytes = match files::read(file, LONGEST) {
        Err(error) if error.is_not_found() => return Login::Absent,
        bytes => bytes.unwrap_or_default(),
    };
    let read = serde_json::from_slice::<Value>(&bytes).ok();
    read.map_or(Login::Unknown, |value| understood(kind, &value))
}

/// Whether a program may be let in otherwise than by a key in its environment or by its login file: by a cloud's account, by
/// a provider of its own configuration, or by a file of variables. Only signs of it are looked for, in the folder of the login
/// file and in the variables.
#[must_use]
pub fn may_be_let_in_otherwise(kind: BackendKind, file: &Path, var: impl Fn(&str) -> Option<String>) -> bool {
    let (variables, files): (&[&str], &[(&str, &str)]) = match kind {
        BackendKind::Claude => (
            &["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"],
            &[
                ("settings.json", "apiKeyHelper"),
                ("settings.json", "CLAUDE_CODE_USE_"),
                ("settings.json", "ANTHROPIC_"),
            ],
        ),
        BackendKind::Codex => (&[], &[("config.toml", "model_provider"), ("config.toml", "oss")]),
        BackendKind::Gemini => (&["GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"], &[(".env", "")]),
        _ => (&[], &[(".env", ""), ("settings.json", "apiKey"), ("settings.json", "_API_KEY")]),
    };
    let says = |(name, word): &(&str, &str)| {
        let text = files::read(&file.with_file_name(name), LONGEST);
        text.is_ok_and(|text| String::from_utf8_lossy(&text).contains(word))
    };
    variables.iter().any(|name| var(name).is_some()) || files.iter().any(says)
}

fn understood(kind: BackendKind, file: &Value) -> Login {
    let (ends, renews) = match kind {
        BackendKind::Claude => {
            let login = &file["claudeAiOauth"];
            (millis(&login["expiresAt"]), &login["refreshToken"])
        }
        // A key does not end by itself.
        BackendKind::Codex if is_text(&file["OPENAI_API_KEY"]) => return Login::Unknown,
        BackendKind::Codex => (expiry(&file["tokens"]["access_token"]), &file["tokens"]["refresh_token"]),
        _ => (millis(&file["expiry_date"]), &file["refresh_token"]),
    };
    match ends {
        None => Login::Unknown,
        Some(ends) if is_text(renews) => Login::Renewed(ends),
        Some(ends) => Login::Ends(ends),
    }
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

fn millis(value: &Value) -> Option<Timestamp> {
    Timestamp::from_millisecond(value.as_i64()?).ok()
}

/// The end of a token that says it itself, in its middle part (RFC 7519).
fn expiry(token: &Value) -> Option<Timestamp> {
    let payload = token.as_str()?.split('.').nth(1)?;
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()?;
    Timestamp::from_second(claims["exp"].as_i64()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_end_of_a_login_is_read_in_the_form_of_each_program() {
        let at = |second| Timestamp::from_second(second).expect("a time");
        let token = format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(json!({ "exp": 1_800_000_000 }).to_string()));
        for (kind, file, expected) in [
            (
                BackendKind::Claude,
                json!({ "claudeAiOauth": { "accessToken": "a", "refreshToken": "r", "expiresAt": 1_800_000_000_000_i64 } }),
                Login::Renewed(at(1_800_000_000)),
            ),
            (
                BackendKind::Claude,
                json!({ "claudeAiOauth": { "accessToken": "a", "refreshToken": "", "expiresAt": 1_800_000_000_000_i64 } }),
                Login::Ends(at(1_800_000_000)),
            ),
            (BackendKind::Claude, json!({ "other": 1 }), Login::Unknown),
            (
                BackendKind::Codex,
                json!({ "OPENAI_API_KEY": null, "tokens": { "access_token": token, "refresh_token": "r" } }),
                Login::Renewed(at(1_800_000_000)),
            ),
            (BackendKind::Codex, json!({ "tokens": { "access_token": token } }), Login::Ends(at(1_800_000_000))),
            (
                BackendKind::Codex,
                json!({ "OPENAI_API_KEY": "key", "tokens": { "access_token": token } }),
                Login::Unknown,
            ),
            (BackendKind::Codex, json!({ "tokens": { "access_token": "opaque" } }), Login::Unknown),
            (BackendKind::Gemini, json!({ "expiry_date": 1_800_000_000_000_i64 }), Login::Ends(at(1_800_000_000))),
        ] {
            assert_eq!(understood(kind, &file), expected, "{kind} {file}");
        }
    }

    #[test]
    fn a_file_lies_where_its_program_looks_for_it() {
        let none = |_: &str| None;
        let named = |name: &str| (name == "CODEX_HOME").then(|| "/elsewhere".to_owned());
        let home = Path::new("/home/me");
        let claude = login_file(BackendKind::Claude, home, none);
        assert_eq!(claude, Some(PathBuf::from("/home/me/.claude/.credentials.json")));
        assert_eq!(login_file(BackendKind::Codex, home, named), Some(PathBuf::from("/elsewhere/auth.json")));
        assert_eq!(login_file(BackendKind::Aider, home, none), None);
        assert_eq!(login(BackendKind::Claude, Path::new("/nowhere")), Login::Absent);
    }

    #[test]
    fn other_ways_in_are_seen_by_their_signs() {
        let place = tempfile::tempdir().expect("a folder");
        let file = place.path().join(".credentials.json");
        let none = |_: &str| None;
        let cloud = |name: &str| (name == "CLAUDE_CODE_USE_BEDROCK").then(|| "1".to_owned());
        assert!(!may_be_let_in_otherwise(BackendKind::Claude, &file, none));
        assert!(may_be_let_in_otherwise(BackendKind::Claude, &file, cloud));
        assert!(!may_be_let_in_otherwise(BackendKind::Codex, &file, cloud));
        let helper = br#"{"apiKeyHelper": "/bin/key"}"#;
        files::replace(&place.path().join("settings.json"), helper, files::Privacy::Private).expect("written");
        assert!(may_be_let_in_otherwise(BackendKind::Claude, &file, none));
        assert!(!may_be_let_in_otherwise(BackendKind::Gemini, &file, none));
    }
}
