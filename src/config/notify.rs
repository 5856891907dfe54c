//! Section `runtime.notify`: how people who do not look at the terminal hear how a run ended, and what it asks of them.

use std::borrow::Cow;
use std::path::Path;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use super::Command;
use crate::system::{env, files};

/// Section `runtime.notify`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Notify {
    /// What to run when a run ends: the same as a receiver of the kind `command`. It has the message on its standard input, its
    /// first line in `LOA_MESSAGE_TITLE`, and of a call more in `LOA_ESCALATION_…` variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
    /// Where to post the message as JSON, `http` or `https`: the same as a receiver of the kind `webhook`. Who knows such an
    /// address can often use it: it is never shown.
    #[schemars(regex(pattern = "^https?://."), extend("examples" = ["https://example.org/hook"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook: Option<String>,
    /// Who is told, and how.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub receivers: Vec<Receiver>,
    /// Names of variables of our environment that commands and mail programs of receivers are given besides the usual ones, such
    /// as `PATH`, `HOME` and the locale. Keys of agents are never among them.
    #[schemars(inner(regex(pattern = "^[A-Za-z_][A-Za-z0-9_]*$")), extend("examples" = [["PUSHOVER_TOKEN"]]))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// What a command line begins with that reaches this run from a person's shell, where that is not `loa-run --workspace
    /// DIR`: for a run in a container, such as `docker compose run --rm loa-run`. The messages' answers are written with it.
    #[schemars(regex(pattern = "^[^\\r\\n]+$"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_with: Option<String>,
    /// Which ends are told of, where a receiver does not say it itself: all by default.
    #[schemars(length(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<Vec<NotifyOn>>,
    /// Longest time for each of them, in milliseconds; what takes longer is given up, and tried again.
    #[schemars(range(min = 1, max = 600_000))]
    pub timeout_ms: u64,
    /// How long a run that has ended goes on trying to deliver, in milliseconds; `loa-run notify`, `run`, `resume`
    /// and a service go on after that.
    #[schemars(range(max = 10_000))]
    pub patience_ms: u64,
}

impl Default for Notify {
    fn default() -> Self {
        let (command, webhook, receivers, env, answer_with, on) = (None, None, Vec::new(), Vec::new(), None, None);
        Self { command, webhook, receivers, env, answer_with, on, timeout_ms: 10_000, patience_ms: 10_000 }
    }
}

/// An end that somebody wants to be told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotifyOn {
    /// Every phase is done.
    Completed,
    /// The run cannot go on now; `resume` goes on later.
    Paused,
    /// Something could not be read or written.
    Failed,
    /// A human is needed.
    Escalated,
}

impl NotifyOn {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Completed, Self::Paused, Self::Failed, Self::Escalated];

    /// The word in a configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Paused => "paused",
            Self::Failed => "failed",
            Self::Escalated => "escalated",
        }
    }
}

/// One entry of `runtime.notify.receivers`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Receiver {
    /// What it is.
    pub kind: ReceiverKind,
    /// Its name in the journal and in what is said; the kind by default, with a number where there are several.
    #[schemars(regex(pattern = "^[A-Za-z0-9._-]{1,40}$"), extend("examples" = ["phone"]))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Which ends it is told of; what `runtime.notify.on` says by default.
    #[schemars(length(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Vec<NotifyOn>>,
    /// The address of a `webhook`, of a Slack or Discord webhook, or of an ntfy topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Secret>,
    /// What a `webhook` or an ntfy server knows us by: sent as `authorization: Bearer …`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Secret>,
    /// What a `command` runs, or the program that an `email` is given to in place of `sendmail`; one that is named without
    /// arguments is started with `-t -i`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
    /// Whom an `email` is for.
    #[schemars(regex(pattern = "^[^\\s<>,;:]+@[^\\s<>,;:]+$"), extend("examples" = ["me@example.org"]))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Whom an `email` is from; whom it is for, by default.
    #[schemars(regex(pattern = "^[^\\s<>,;:]+@[^\\s<>,;:]+$"), extend("examples" = ["me@example.org"]))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// What a receiver is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReceiverKind {
    /// A program that is run: told in its environment, and on its standard input.
    Command,
    /// An address that a JSON document is posted to.
    Webhook,
    /// An incoming webhook of Slack.
    Slack,
    /// A webhook of Discord.
    Discord,
    /// A topic of an ntfy server.
    Ntfy,
    /// A mail, by `sendmail`.
    Email,
}

impl ReceiverKind {
    /// The word in a configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Webhook => "webhook",
            Self::Slack => "slack",
            Self::Discord => "discord",
            Self::Ntfy => "ntfy",
            Self::Email => "email",
        }
    }
}

impl Receiver {
    /// What is wrong with its keys.
    pub(super) fn misfit(&self) -> Option<Misfit> {
        use ReceiverKind::{Command, Discord, Email, Ntfy, Slack, Webhook};
        let kind = self.kind;
        let keys = [
            ("url", self.url.is_some(), &[Webhook, Slack, Discord, Ntfy][..], true),
            ("token", self.token.is_some(), &[Webhook, Ntfy], false),
            ("command", self.command.is_some(), &[Command, Email], kind == Command),
            ("to", self.to.is_some(), &[Email], true),
            ("from", self.from.is_some(), &[Email], false),
        ];
        for (key, is_there, of, needed) in keys {
            let fits = of.contains(&kind);
            if is_there && !fits {
                let why = format!("`{key}` says nothing to a receiver of the kind `{}`", kind.as_str());
                return Some(Misfit { key, why, remedy: format!("remove `{key}`, or correct the kind") });
            }
            if !is_there && fits && needed {
                let why = format!("a receiver of the kind `{}` needs `{key}`", kind.as_str());
                return Some(Misfit { key: "", why, remedy: format!("add {}", written(key)) });
            }
        }
        let literal = if let Some(Secret::Literal(url)) = &self.url { Some(url) } else { None };
        let wrong = literal.filter(|url| !is_address(url));
        wrong.map(|_| Misfit {
            key: "url",
            why: format!("`url` {NO_ADDRESS}"),
            remedy: format!("write {}", written("url")),
        })
    }
}

/// What is wrong with the keys of a receiver.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Misfit {
    /// The key; nothing for the whole.
    pub(super) key: &'static str,
    pub(super) why: String,
    /// What helps.
    pub(super) remedy: String,
}

/// What is said of an address that is none.
pub const NO_ADDRESS: &str = "is no address that begins with http:// or https:// and names a host";

/// Whether messages can be posted to it.
#[must_use]
pub fn is_address(url: &str) -> bool {
    let scheme = |scheme: &str| url.get(..scheme.len()).filter(|begin| begin.eq_ignore_ascii_case(scheme));
    let behind = ["https://", "http://"].into_iter().find_map(|name| scheme(name).map(|_| &url[name.len()..]));
    behind.is_some_and(|rest| !rest.starts_with(['/', '?', '#', ':']) && !rest.is_empty())
        && !url.chars().any(|letter| letter.is_whitespace() || letter.is_control())
}

/// A key of a receiver as it is written.
fn written(key: &str) -> &'static str {
    match key {
        "url" => "`url: https://…`, or `url: { env: NAME }`, or `url: { file: PATH }`",
        "command" => "`command: [PROGRAM, ARGUMENT]`",
        _ => "`to: me@example.org`",
    }
}

/// Something that others must not see, or where it is found when it is needed.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    /// As it is.
    Literal(String),
    /// The value of an environment variable.
    Env(String),
    /// What stands in a file, without white space around it; relative to the workspace, `~/` is the home folder.
    File(String),
}

/// The most bytes that a secret in a file may have.
const LONGEST: u64 = 16 * 1024;

impl Secret {
    /// What it is now, without white space around it.
    ///
    /// # Errors
    /// Why it is not there, without a word of what it is.
    pub fn found(&self, workspace: &Path) -> Result<String, String> {
        match self {
            Self::Literal(value) => Ok(value.clone()),
            Self::Env(name) => env::var(name)
                .map(|value| value.trim().to_owned())
                .filter(|value| !value.is_empty())
                .ok_or_else(|| format!("the environment variable {name} is not set")),
            Self::File(path) => {
                let path = match (path.strip_prefix("~/"), env::home()) {
                    (Some(rest), Some(home)) => home.join(rest),
                    _ => workspace.join(path),
                };
                let bytes = files::read(&path, LONGEST).map_err(|error| format!("{error}: {}", error.source))?;
                let text = String::from_utf8_lossy(&bytes).trim().to_owned();
                if text.is_empty() { Err(format!("{} is empty", path.display())) } else { Ok(text) }
            }
        }
    }
}

/// Shows where it is found, and never what it is.
impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Literal(_) => f.write_str("Literal(…)"),
            Self::Env(name) => write!(f, "Env({name})"),
            Self::File(path) => write!(f, "File({path})"),
        }
    }
}

impl JsonSchema for Secret {
    fn schema_name() -> Cow<'static, str> {
        "Secret".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "object"],
            "minLength": 1,
            "properties": {
                "env": { "type": "string", "minLength": 1, "description": "The environment variable that holds it." },
                "file": {
                    "type": "string",
                    "minLength": 1,
                    "description": "The file that holds it, relative to the workspace; `~/` is the home folder."
                }
            },
            "additionalProperties": false,
            "minProperties": 1,
            "maxProperties": 1,
            "description": "The value itself, or where it is found at the time of a delivery: `{ env: NAME }` or `{ file: PATH }`."
        })
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Literal(value) => value.serialize(serializer),
            Self::Env(name) => json!({ "env": name }).serialize(serializer),
            Self::File(path) => json!({ "file": path }).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wrong = || serde::de::Error::custom("expected a string, `{ env: NAME }` or `{ file: PATH }`");
        match Value::deserialize(deserializer)? {
            Value::String(value) if !value.is_empty() => Ok(Self::Literal(value)),
            Value::Object(entries) if entries.len() == 1 => {
                let (key, value) = entries.iter().next().ok_or_else(wrong)?;
                let value = value.as_str().filter(|value| !value.is_empty()).ok_or_else(wrong)?.to_owned();
                match key.as_str() {
                    "env" => Ok(Self::Env(value)),
                    "file" => Ok(Self::File(value)),
                    _ => Err(wrong()),
                }
            }
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver(text: &str) -> Receiver {
        serde_yaml::from_str(text).expect("a receiver")
    }

    #[test]
    fn each_kind_has_its_keys() {
        for (text, wrong) in [
            ("{ kind: command, command: say }", None),
            ("{ kind: command }", Some(("", "a receiver of the kind `command` needs `command`"))),
            (
                "{ kind: command, command: say, url: http://x }",
                Some(("url", "`url` says nothing to a receiver of the kind `command`")),
            ),
            ("{ kind: slack, url: { env: SLACK } }", None),
            ("{ kind: slack }", Some(("", "a receiver of the kind `slack` needs `url`"))),
            (
                "{ kind: discord, url: http://x, token: t }",
                Some(("token", "`token` says nothing to a receiver of the kind `discord`")),
            ),
            ("{ kind: ntfy, url: http://x, token: { file: t } }", None),
            ("{ kind: email, to: me@example.org }", None),
            ("{ kind: email, to: me@example.org, command: [msmtp, -t] }", None),
            ("{ kind: email }", Some(("", "a receiver of the kind `email` needs `to`"))),
            (
                "{ kind: webhook, url: 'ftp://x' }",
                Some(("url", "`url` is no address that begins with http:// or https:// and names a host")),
            ),
        ] {
            let found = receiver(text).misfit();
            assert_eq!(found.as_ref().map(|it| (it.key, it.why.as_str())), wrong, "{text}");
            assert!(found.is_none_or(|it| !it.remedy.is_empty()), "{text}");
        }
    }

    #[test]
    fn an_address_is_of_http_and_names_a_host() {
        for (url, is_one) in [
            ("http://x", true),
            ("HTTPS://hooks.example.org/a?b=c", true),
            ("http://me:pass@127.0.0.1:80/x", true),
            ("ftp://x", false),
            ("http://", false),
            ("https:///path", false),
            ("http://a b", false),
            ("example.org", false),
            ("", false),
            ("ü", false),
        ] {
            assert_eq!(is_address(url), is_one, "{url}");
        }
    }

    #[test]
    fn a_secret_is_itself_a_variable_or_a_file_and_is_not_shown() {
        for (text, secret, shown) in [
            ("s3cret", Secret::Literal("s3cret".to_owned()), "Literal(…)"),
            ("{ env: A }", Secret::Env("A".to_owned()), "Env(A)"),
            ("{ file: a/b }", Secret::File("a/b".to_owned()), "File(a/b)"),
        ] {
            let read: Secret = serde_yaml::from_str(text).expect("a secret");
            assert_eq!((format!("{read:?}").as_str(), &read), (shown, &secret));
        }
        for wrong in ["7", "''", "{}", "{ env: '' }", "{ env: A, file: b }", "{ vault: x }"] {
            assert!(serde_yaml::from_str::<Secret>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_secret_is_found_when_it_is_needed() {
        let folder = tempfile::tempdir().expect("a folder");
        files::write_durably(&folder.path().join("key"), b" s3cret\n", files::Privacy::Private).expect("written");
        let find = |secret: Secret| secret.found(folder.path());
        assert_eq!(find(Secret::Literal("a".to_owned())), Ok("a".to_owned()));
        assert_eq!(find(Secret::File("key".to_owned())), Ok("s3cret".to_owned()));
        assert!(find(Secret::File("none".to_owned())).expect_err("missing").contains("none"));
        assert!(
            find(Secret::Env("LOA_NO_SUCH_VARIABLE".to_owned())).expect_err("unset").contains("LOA_NO_SUCH_VARIABLE")
        );
    }
}
