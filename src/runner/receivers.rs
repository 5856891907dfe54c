//! Who is told how a run ends, as the configuration names them.

use std::time::Duration;

use crate::config::{Command, Notify, NotifyOn, ReceiverKind, Secret, Settings};
use crate::events::News;

/// Who is told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notification {
    /// Each of them; no two have one name.
    pub receivers: Vec<Receiver>,
    /// Variables of our environment that their programs are given besides the usual ones.
    pub given: Vec<String>,
    /// How long a run that has ended goes on trying.
    pub patience: Duration,
    /// What a command line begins with that reaches the run from a person's shell, where the configuration says so.
    pub answer_with: Option<String>,
}

/// Somebody who is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receiver {
    /// The name, as it stands in the journal.
    pub name: String,
    /// The ends that are told.
    pub on: Vec<NotifyOn>,
    /// The time for one try.
    pub time: Duration,
    /// How.
    pub means: Means,
}

/// How somebody is told. What must not be seen is found when it is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Means {
    /// A program and its arguments.
    Command(Vec<String>),
    /// A JSON document to an address.
    Webhook {
        /// The address.
        url: Secret,
        /// What the server knows us by.
        token: Option<Secret>,
    },
    /// An incoming webhook of Slack.
    Slack(Secret),
    /// A webhook of Discord.
    Discord(Secret),
    /// A topic of an ntfy server.
    Ntfy {
        /// The address, with the topic.
        url: Secret,
        /// What the server knows us by.
        token: Option<Secret>,
    },
    /// A mail.
    Email {
        /// Whom it is for.
        to: String,
        /// Whom it is from.
        from: String,
        /// The program that takes it on its standard input.
        program: Vec<String>,
    },
}

impl Receiver {
    /// The argument vector of the program by which it is told, if it is one.
    #[must_use]
    pub(super) fn program(&self) -> Option<&[String]> {
        match &self.means {
            Means::Command(argv) | Means::Email { program: argv, .. } => Some(argv),
            Means::Webhook { .. } | Means::Slack(_) | Means::Discord(_) | Means::Ntfy { .. } => None,
        }
    }

    /// Whether it wants to be told of this.
    #[must_use]
    pub fn wants(&self, news: &News) -> bool {
        self.on.iter().any(|end| end.as_str() == news.word())
    }
}

impl From<&Settings> for Notification {
    fn from(settings: &Settings) -> Self {
        let section = settings.notify();
        let time = Duration::from_millis(section.timeout_ms);
        let ends = || section.on.clone().unwrap_or_else(|| NotifyOn::ALL.to_vec());
        let receiver = |name: &str, means| Receiver { name: name.to_owned(), on: ends(), time, means };
        let command = section.command.as_ref().map(|command| receiver("command", Means::Command(command.argv())));
        let webhook = section
            .webhook
            .as_ref()
            .map(|url| receiver("webhook", Means::Webhook { url: Secret::Literal(url.clone()), token: None }));
        let mut receivers: Vec<Receiver> = command.into_iter().chain(webhook).collect();
        for one in &section.receivers {
            let name = free_name(one.name.as_deref().unwrap_or(one.kind.as_str()), &receivers);
            let on = one.on.clone().unwrap_or_else(ends);
            receivers.extend(means(one).map(|means| Receiver { name, on, time, means }));
        }
        Self {
            receivers,
            given: section.env.clone(),
            patience: patience(section),
            answer_with: section.answer_with.clone(),
        }
    }
}

impl Notification {
    /// The environment variables in which addresses and tokens of receivers are looked up, and those that their programs are given.
    #[must_use]
    pub fn variables(&self) -> Vec<String> {
        let secrets = self.receivers.iter().flat_map(|receiver| match &receiver.means {
            Means::Webhook { url, token } | Means::Ntfy { url, token } => vec![Some(url), token.as_ref()],
            Means::Slack(url) | Means::Discord(url) => vec![Some(url)],
            Means::Command(_) | Means::Email { .. } => Vec::new(),
        });
        let name = |secret: &Secret| if let Secret::Env(name) = secret { Some(name.clone()) } else { None };
        secrets.flatten().filter_map(name).chain(self.given.iter().cloned()).collect()
    }
}

fn patience(section: &Notify) -> Duration {
    Duration::from_millis(section.patience_ms)
}

/// The name, with a number where it is taken.
fn free_name(name: &str, taken: &[Receiver]) -> String {
    let is_free = |name: &String| !taken.iter().any(|receiver| receiver.name == *name);
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(is_free).expect("there are more numbers than receivers")
}

/// How an entry of the configuration is told; `None` where it lacks something, which the check of the configuration says.
fn means(one: &crate::config::Receiver) -> Option<Means> {
    let (url, token) = (one.url.clone(), one.token.clone());
    Some(match one.kind {
        ReceiverKind::Command => Means::Command(one.command.as_ref().map(Command::argv)?),
        ReceiverKind::Webhook => Means::Webhook { url: url?, token },
        ReceiverKind::Slack => Means::Slack(url?),
        ReceiverKind::Discord => Means::Discord(url?),
        ReceiverKind::Ntfy => Means::Ntfy { url: url?, token },
        ReceiverKind::Email => {
            let to = one.to.clone()?;
            let program = mailer(one.command.as_ref());
            Means::Email { from: one.from.clone().unwrap_or_else(|| to.clone()), to, program }
        }
    })
}

/// What a mail is given to. A program that is named alone takes it as `sendmail` does; one with arguments has its own.
fn mailer(command: Option<&Command>) -> Vec<String> {
    let alone = match command {
        None => "sendmail",
        Some(Command::Shell(word)) if word.chars().all(is_of_a_path) => word,
        Some(Command::Argv(words)) if words.len() == 1 => &words[0],
        Some(other) => return other.argv(),
    };
    [alone, "-t", "-i"].map(str::to_owned).to_vec()
}

/// Whether a letter means nothing to the shell.
fn is_of_a_path(letter: char) -> bool {
    letter.is_alphanumeric() || "/._-+@".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{FILE_NAME, Source, resolve};

    #[test]
    fn a_program_that_is_named_alone_takes_a_mail_as_sendmail_does() {
        let shell = |line: &str| Some(Command::Shell(line.to_owned()));
        let argv = |words: &[&str]| Some(Command::Argv(words.iter().map(|word| (*word).to_owned()).collect()));
        for (command, program) in [
            (None, "sendmail -t -i"),
            (shell("/usr/lib/sendmail"), "/usr/lib/sendmail -t -i"),
            (argv(&["./my mailer"]), "./my mailer -t -i"),
            (shell("msmtp -t"), "sh -c msmtp -t"),
            (shell("$MAILER"), "sh -c $MAILER"),
            (argv(&["msmtp", "--read-recipients"]), "msmtp --read-recipients"),
        ] {
            assert_eq!(mailer(command.as_ref()).join(" "), program, "{command:?}");
        }
    }

    fn of(notify: &str) -> Vec<(String, Vec<&'static str>)> {
        let text = format!("runtime: {{ notify: {{ {notify} }} }}\n");
        let source = Source { path: FILE_NAME.into(), bytes: text.into_bytes() };
        let settings = resolve(Some(source), Vec::new()).expect("valid");
        let words = |on: Vec<NotifyOn>| on.into_iter().map(NotifyOn::as_str).collect();
        let receivers = Notification::from(&settings).receivers.into_iter();
        receivers.map(|receiver| (receiver.name, words(receiver.on))).collect()
    }

    #[test]
    fn each_receiver_has_a_name_of_its_own_and_chooses_its_ends() {
        let slack = "{ kind: slack, url: { env: A } }";
        for (notify, names, on) in [
            ("command: say, webhook: http://x", "command webhook", "completed paused failed escalated"),
            ("command: say, on: [failed, completed]", "command", "failed completed"),
            (&format!("receivers: [{slack}, {slack}]"), "slack slack-2", "completed paused failed escalated"),
            (&format!("receivers: [{slack}], on: [paused]"), "slack", "paused"),
            ("on: [paused], receivers: [{ kind: command, command: say, name: me, on: [failed] }]", "me", "failed"),
        ] {
            let found = of(notify);
            assert_eq!(found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" "), names, "{notify}");
            assert!(found.iter().all(|(_, of)| of.join(" ") == on), "{notify}: {found:?}");
        }
    }
}
