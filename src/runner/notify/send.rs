//! Gives a message to one receiver, once, and says what became of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;

use super::morning::Morning;
use super::outbox::Outcome;
use super::render;
use crate::config::Secret;
use crate::policy::Redactor;
use crate::runner::receivers::{Means, Receiver};
use crate::system::process::{Captured, Command, ProcessExit, capture_told};
use crate::system::webhook::{self, Answer, Post};
use crate::system::{clock, env};
use crate::text::Untrusted;

/// How much of what a program says is kept.
const SAID: usize = 4096;
/// What `sendmail` returns where it may work later.
const TEMPORARY: i32 = 75;
/// What it returns, besides, where it will never work.
const PERMANENT: std::ops::RangeInclusive<i32> = 64..=78;

/// Gives messages to receivers.
#[derive(Debug, Clone)]
pub(super) struct Sender {
    /// Where the run worked.
    pub(super) workspace: PathBuf,
    /// What must not be said.
    pub(super) redactor: Redactor,
    /// Variables of our environment that programs are given besides those of every helper.
    pub(super) given: Vec<String>,
}

impl Sender {
    /// Gives a message to a receiver, within `time`.
    pub(super) async fn send(&self, receiver: &Receiver, morning: &Morning, time: Duration) -> Outcome {
        let time = receiver.time.min(time);
        match &receiver.means {
            Means::Command(argv) => self.by_command(argv, morning, time).await,
            Means::Email { to, from, program } => {
                let mail = render::email(morning, (from, to), clock::now().wall());
                let captured = match self.command(program, morning) {
                    Ok(command) => capture_told(&command, mail.into_bytes(), SAID, time).await,
                    Err(reason) => return Outcome::Never { reason: reason.into() },
                };
                self.ended(captured, time, |code| code != TEMPORARY && PERMANENT.contains(&code))
            }
            Means::Webhook { url, token } => {
                self.by_post((url, token.as_ref()), json(), render::webhook(morning), morning, time).await
            }
            Means::Slack(url) => self.by_post((url, None), json(), render::slack(morning), morning, time).await,
            Means::Discord(url) => self.by_post((url, None), json(), render::discord(morning), morning, time).await,
            Means::Ntfy { url, token } => {
                let (headers, text) = render::ntfy(morning);
                self.by_post((url, token.as_ref()), headers, text, morning, time).await
            }
        }
    }

    async fn by_command(&self, argv: &[String], morning: &Morning, time: Duration) -> Outcome {
        match self.command(argv, morning) {
            Ok(command) => {
                let captured = capture_told(&command, render::plain(morning).into_bytes(), SAID, time).await;
                self.ended(captured, time, |_| false)
            }
            Err(reason) => Outcome::Never { reason: reason.into() },
        }
    }

    fn command(&self, argv: &[String], morning: &Morning) -> Result<Command, String> {
        let (program, arguments) = argv.split_first().ok_or("nothing to run")?;
        // Where the workspace is gone, somebody has to be told of that too.
        let folder = if self.workspace.is_dir() { &self.workspace } else { Path::new("/") };
        let mut command = Command::helper(program)
            .args(arguments)
            .folder(folder)
            .env("LOA_EXECUTION_ID", &morning.execution)
            .env("LOA_WORKSPACE", &self.workspace)
            .env("LOA_MESSAGE_ID", &morning.id)
            .env("LOA_MESSAGE_EVENT", morning.event)
            .env("LOA_MESSAGE_TITLE", &morning.title);
        if let Some(call) = &morning.call {
            command = command
                .env("LOA_PHASE", call.phase.as_str())
                .env("LOA_ESCALATION_TRIGGER", &call.trigger)
                .env("LOA_ESCALATION_REASON", &call.reason)
                .env("LOA_ESCALATION_REPORT", &call.report.markdown)
                .env("LOA_ESCALATION_REPORT_YAML", &call.report.yaml);
        }
        let given = self.given.iter().filter_map(|name| Some((name, env::var(name)?)));
        Ok(given.fold(command, |command, (name, value)| command.env(name, value)))
    }

    fn ended(&self, captured: Captured, time: Duration, is_for_good: impl Fn(i32) -> bool) -> Outcome {
        let said = String::from_utf8_lossy(&captured.stderr);
        let last = said.lines().rfind(|line| !line.trim().is_empty()).map(|line| format!(": {}", line.trim()));
        let reason = |text: String| Untrusted::from(self.redactor.text(&text));
        match captured.exit {
            _ if captured.timed_out => {
                Outcome::Later { reason: format!("it took more than {} ms", time.as_millis()).into(), after: None }
            }
            ProcessExit::Exited(0) => Outcome::Taken,
            ProcessExit::Exited(code) if is_for_good(code) => {
                Outcome::Never { reason: reason(format!("exit {code}{}", last.unwrap_or_default())) }
            }
            exit => Outcome::Later { reason: reason(format!("{exit}{}", last.unwrap_or_default())), after: None },
        }
    }

    async fn by_post(
        &self,
        (url, token): (&Secret, Option<&Secret>),
        mut headers: Vec<(&'static str, String)>,
        body: String,
        morning: &Morning,
        time: Duration,
    ) -> Outcome {
        let find = |secret: &Secret| secret.found(&self.workspace);
        let found = find(url).and_then(|url| Ok((url, token.map(find).transpose()?)));
        let (url, token) = match found {
            Ok(found) => found,
            // It may be there for the next command.
            Err(reason) => return Outcome::Later { reason: reason.into(), after: None },
        };
        headers.push(("idempotency-key", morning.id.clone()));
        headers.extend(token.iter().map(|token| ("authorization", format!("Bearer {token}"))));
        let hidden = hidden(&url, token.as_deref());
        let post = Post { url, headers, body, time };
        let outcome = match tokio::time::timeout(time, webhook::post(post)).await {
            Ok(Ok(Ok(answer))) => answered(&answer, clock::now().wall()),
            Ok(Ok(Err(reason))) => Outcome::Later { reason: reason.into(), after: None },
            Ok(Err(_)) => Outcome::Later { reason: "the client failed".into(), after: None },
            Err(_) => {
                Outcome::Later { reason: format!("no answer within {} ms", time.as_millis()).into(), after: None }
            }
        };
        let hide = |text: Untrusted| Untrusted::from(self.redactor.text(&hidden.text(text.raw())));
        match outcome {
            Outcome::Taken => Outcome::Taken,
            Outcome::Later { reason, after } => Outcome::Later { reason: hide(reason), after },
            Outcome::Never { reason } => Outcome::Never { reason: hide(reason) },
        }
    }
}

fn json() -> Vec<(&'static str, String)> {
    vec![("content-type", "application/json".to_owned())]
}

/// What an answer means: what is said to be temporary is tried again, what is said to be wrong is not.
fn answered(answer: &Answer, now: Timestamp) -> Outcome {
    let said = if answer.said.is_empty() { String::new() } else { format!(": {}", answer.said) };
    let reason = Untrusted::from(format!("status {}{said}", answer.status));
    match answer.status {
        200..=299 => Outcome::Taken,
        300..=399 => Outcome::Never {
            reason: format!("{} (a redirect, which is not followed: name the place that it leads to)", reason.raw())
                .into(),
        },
        408 | 425 | 429 | 500..=599 => {
            Outcome::Later { reason, after: answer.retry_after.as_deref().and_then(|after| pause(after, now)) }
        }
        _ => Outcome::Never { reason },
    }
}

/// What `Retry-After` asks for: seconds, also with a fraction, or a date.
fn pause(text: &str, now: Timestamp) -> Option<Duration> {
    if let Ok(seconds) = text.trim().parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = jiff::fmt::rfc2822::parse(text.trim()).ok()?.timestamp();
    Duration::try_from(until.duration_since(now)).ok()
}

/// What of an address must not be said: whatever a server may repeat of it.
fn hidden(url: &str, token: Option<&str>) -> Redactor {
    let path = url.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path);
    let pieces = path.split(['/', '?', '&', '=']).filter(|piece| piece.len() > 7).map(|piece| ("address", piece));
    Redactor::new([("address", url), ("address", path)].into_iter().chain(pieces).chain(token.map(|it| ("token", it))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_taken_tried_again_or_given_up() {
        let now: Timestamp = "2015-10-21T07:27:00Z".parse().expect("a time");
        for (status, retry_after, expected) in [
            (204, None, "taken"),
            (302, None, "never"),
            (400, None, "never"),
            (404, Some("5"), "never"),
            (408, None, "later None"),
            (429, Some("7"), "later Some(7s)"),
            (429, Some("0.5"), "later Some(500ms)"),
            (503, Some("Wed, 21 Oct 2015 07:28:00 GMT"), "later Some(60s)"),
            (503, Some("soon"), "later None"),
            (503, Some("-1"), "later None"),
        ] {
            let answer = Answer { status, retry_after: retry_after.map(str::to_owned), said: "so".to_owned() };
            let found = match answered(&answer, now) {
                Outcome::Taken => "taken".to_owned(),
                Outcome::Later { after, .. } => format!("later {after:?}"),
                Outcome::Never { .. } => "never".to_owned(),
            };
            assert_eq!(found, expected, "{status} {retry_after:?}");
        }
    }

    #[test]
    fn nothing_of_an_address_is_said() {
        let hidden = hidden("https://hooks.example.org/services/T0000001/B0000002?key=abcdefgh", Some("tk_12345678"));
        let said = "no T0000001 in /services/T0000001/B0000002?key=abcdefgh, nor abcdefgh, nor tk_12345678";
        let shown = hidden.text(said);
        for secret in ["T0000001", "B0000002", "abcdefgh", "tk_12345678"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert!(shown.contains("nor"), "{shown}");
    }
}
