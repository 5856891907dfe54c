//! What is started, on this host or in a container.
//!
//! In a container the program is started by `docker exec`, without a terminal. Whoever ends that client does not end what
//! runs inside. Each start is therefore accompanied by a second one, a watch (`watch.sh`), which finds the program and
//! everything below it by a mark in the environment. It is told when the agent is to end, and learns of our end, whatever the
//! cause, by its standard input; then it ends what is left.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::future::pending;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::Sleep;

use crate::runner::{Container, Surroundings};
use crate::system::process::{Command, Event, ProcessExit, Running, Talk};
use crate::system::{env, ids};

/// What keeps watch in the container; its argument is the mark.
const WATCH: &str = include_str!("watch.sh");
/// The variable whose value marks the processes of one start.
const MARK: &str = "LOA_CONTAINED";
/// How long the watch may take to end what is left: a little more than it waits for TERM to be obeyed.
const CLEARED: Duration = Duration::from_secs(4);
/// Variables that mean something to the client too. Their values stand on its command line: they name places, not secrets.
const CLIENTS_OWN: [&str; 3] = ["PATH", "HOME", "TMPDIR"];

/// A program to start.
#[derive(Debug, Clone)]
pub(super) struct Start {
    command: Command,
    watch: Option<Command>,
}

impl Start {
    /// On this host.
    pub(super) fn here(command: Command) -> Self {
        Self { command: command.with_signs_of_life(), watch: None }
    }

    /// In a container: the words are program and arguments, `own` are the variables of the backend. Of our own environment only
    /// the credentials are passed on.
    pub(super) fn inside<'a>(
        container: &Container,
        words: impl IntoIterator<Item = &'a str>,
        own: impl IntoIterator<Item = (&'a str, &'a str)>,
        surroundings: &Surroundings,
    ) -> Self {
        let docker = &container.docker;
        let own = own.into_iter().map(|(name, value)| (name, OsStr::new(value)));
        let variables = surroundings.variables.iter().map(|(name, value)| (name.as_str(), value.as_os_str()));
        let variables: Vec<(&str, &OsStr)> = own.chain(variables).collect();
        let client = |arguments: Vec<OsString>| {
            let client =
                Command::new(docker.program()).args(["exec", "-i"]).folder(&surroundings.workspace).entrusted();
            let client = surroundings.withheld.iter().fold(client, Command::env_remove);
            client.args(docker.user.iter().flat_map(|user| ["-u", user])).args(arguments)
        };
        let mark = format!("{MARK}={}", ids::uuid());
        let passed = container.credentials.iter().filter(|name| env::var(name).is_some());
        let mut options =
            vec!["-w".into(), docker.workdir(&surroundings.workspace).into(), "-e".into(), mark.clone().into()];
        options.extend(passed.flat_map(|name| ["-e".into(), OsString::from(name)]));
        options.extend(variables.iter().flat_map(|variable| ["-e".into(), said(variable)]));
        options.push(docker.container.clone().into());
        options.extend(words.into_iter().map(OsString::from));
        let command = variables
            .iter()
            .filter(|(name, _)| !is_clients_own(name))
            .fold(client(options), |command, (name, value)| command.env(name, value));
        let watch = [docker.container.as_str(), "sh", "-c", WATCH, "watch", &mark].map(OsString::from);
        Self { command: command.with_signs_of_life(), watch: Some(client(watch.into()).lasting()) }
    }

    /// What is started, which in a container is its client.
    pub(super) fn program(&self) -> Cow<'_, str> {
        self.command.program()
    }

    pub(super) fn spawn(&self) -> io::Result<Started> {
        let watch = self.watch()?;
        Ok(Started { running: self.command.spawn()?, watch, exit: None })
    }

    /// The same, to be talked with.
    pub(super) fn converse(&self) -> io::Result<(Started, Talk)> {
        let watch = self.watch()?;
        let (running, talk) = self.command.converse()?;
        Ok((Started { running, watch, exit: None }, talk))
    }

    fn watch(&self) -> io::Result<Option<Watch>> {
        let Some(command) = &self.watch else { return Ok(None) };
        let (running, talk) = command.converse()?;
        Ok(Some(Watch { running, talk, patience: None }))
    }
}

/// The folder to work in, as the agent sees it.
pub(super) fn workspace(surroundings: &Surroundings) -> &Path {
    let workspace = surroundings.workspace.as_path();
    surroundings.container.as_ref().map_or(workspace, |container| container.docker.workdir(workspace))
}

/// How a variable is passed on: by its name, with the value in the client's environment, where the command line shows it to nobody.
fn said((name, value): &(&str, &OsStr)) -> OsString {
    let mut said = OsString::from(name);
    if is_clients_own(name) {
        said.push("=");
        said.push(value);
    }
    said
}

fn is_clients_own(name: &str) -> bool {
    CLIENTS_OWN.contains(&name) || name.starts_with("DOCKER_")
}

/// A program that was started.
#[derive(Debug)]
pub(super) struct Started {
    running: Running,
    watch: Option<Watch>,
    /// It ended, and the watch clears up behind it.
    exit: Option<ProcessExit>,
}

impl Started {
    pub(super) fn group(&self) -> u32 {
        self.running.group()
    }

    /// As [`Running::next`]; behind its end nothing of it is left in the container either.
    pub(super) async fn next(&mut self) -> Event {
        if self.exit.is_none() {
            match self.running.next().await {
                Event::Ended(exit) if self.watch.is_some() => self.exit = Some(exit),
                event => return event,
            }
        }
        if let Some(watch) = &mut self.watch {
            watch.dismissed().await;
        }
        match self.exit.take() {
            Some(exit) => Event::Ended(exit),
            None => pending().await,
        }
    }

    /// Asks everything of it to end. In a container its client is left alone: it brings what the program still says.
    pub(super) fn ask_to_end(&self) {
        match &self.watch {
            Some(watch) => watch.talk.send(b"end\n".to_vec()),
            None => self.running.ask_to_end(),
        }
    }
}

/// The watch in the container. Dropped, it ends by itself what is left there.
#[derive(Debug)]
struct Watch {
    running: Running,
    talk: Talk,
    /// How much longer it is waited for.
    patience: Option<Pin<Box<Sleep>>>,
}

impl Watch {
    /// Nothing is left, or it took too long. The future may be dropped and asked for anew.
    async fn dismissed(&mut self) {
        self.talk.close();
        let patience = self.patience.get_or_insert_with(|| Box::pin(tokio::time::sleep(CLEARED)));
        loop {
            tokio::select! {
                event = self.running.next() => if matches!(event, Event::Ended(_)) { return },
                () = patience.as_mut() => return,
            }
        }
    }
}

/// What an agent in a container works in, with the workspace mounted at `workdir`.
#[cfg(test)]
pub(super) fn contained(workspace: &Path, workdir: &str) -> Surroundings {
    let docker = crate::config::DockerSection {
        container: "box".to_owned(),
        user: None,
        workdir: Some(workdir.to_owned()),
        program: None,
    };
    let container = Container { docker, credentials: Vec::new() };
    Surroundings { workspace: workspace.to_path_buf(), container: Some(container), ..Surroundings::default() }
}
