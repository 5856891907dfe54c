//! What to start.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::output::Cut;
use super::{Pipes, Running, Talk};
use crate::system::boundary::{Boundary, Start};
use crate::system::{env, keys, service_manager};

/// A program with its arguments, environment and folder. Unless it is talked with, its standard input is empty. Both outputs
/// are piped to us.
#[derive(Debug, Clone)]
pub struct Command {
    program: OsString,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, Option<OsString>)>,
    inherit: bool,
    folder: Option<PathBuf>,
    lasting: bool,
    cut: Cut,
    boundary: Option<Boundary>,
}

impl Command {
    /// A program by path, or by a name to look up in `PATH`. It inherits our environment.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let program = program.as_ref().to_owned();
        Self {
            program,
            arguments: Vec::new(),
            environment: Vec::new(),
            inherit: true,
            folder: None,
            lasting: false,
            cut: Cut::Lines,
            boundary: None,
        }
    }

    /// A program that helps us, such as git or one that tells people: of our environment it has only what such a program needs.
    pub fn helper(program: impl AsRef<OsStr>) -> Self {
        let given = env::for_helpers().into_iter();
        Self {
            inherit: false,
            environment: given.map(|(name, value)| (name, Some(value))).collect(),
            ..Self::new(program)
        }
    }

    /// The program, as it was given.
    #[must_use]
    pub fn program(&self) -> Cow<'_, str> {
        self.program.to_string_lossy()
    }

    /// Appends arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Sets one variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), Some(value.as_ref().to_owned())));
        self
    }

    /// Takes one variable away.
    #[must_use]
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), None));
        self
    }

    /// Hands down the keys that were taken out of our environment, too. Those that are not for it are to be taken away behind this.
    #[must_use]
    pub fn entrusted(mut self) -> Self {
        self.environment.extend(keys::held().map(|(name, value)| (name.clone(), Some(value.clone()))));
        self
    }

    /// Starts from an empty environment instead of ours.
    #[must_use]
    pub fn env_clear(mut self) -> Self {
        self.inherit = false;
        self
    }

    /// The folder to start in; a relative program path is relative to it.
    #[must_use]
    pub fn folder(mut self, folder: impl AsRef<Path>) -> Self {
        self.folder = Some(folder.as_ref().to_path_buf());
        self
    }

    /// Leaves it alone when its [`Running`] is dropped, instead of killing it: it notices our end by itself.
    #[must_use]
    pub fn lasting(mut self) -> Self {
        self.lasting = true;
        self
    }

    /// Its output comes in blocks of whole lines instead of line by line, which is a hundred times as fast.
    #[must_use]
    pub fn in_blocks(mut self) -> Self {
        self.cut = Cut::Blocks;
        self
    }

    /// Between its lines, a piece without bytes tells of output that ends no line yet: a long one may take its time.
    #[must_use]
    pub fn with_signs_of_life(mut self) -> Self {
        self.cut = Cut::LinesAndLife;
        self
    }

    /// Starts it behind this boundary, or here where there is none.
    #[must_use]
    pub fn behind(mut self, boundary: Option<&Boundary>) -> Self {
        self.boundary = boundary.cloned();
        self
    }

    /// Starts it in a process group of its own.
    ///
    /// # Errors
    /// When the host cannot start it: no such program, not executable, no such folder, no more processes.
    pub fn spawn(&self) -> io::Result<Running> {
        if let Some(boundary) = &self.boundary {
            return self.spawn_behind(boundary, false).map(|(running, _)| running);
        }
        let mut command = self.prepared();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut command = tokio::process::Command::from(command);
        command.kill_on_drop(!self.lasting);
        command.spawn().map(|child| Running::new(child, self.cut)).map_err(|error| self.too_long(error))
    }

    /// The same, to be talked with: its standard input is ours to write to, and its standard output comes by the [`Talk`].
    ///
    /// # Errors
    /// As [`Command::spawn`].
    pub fn converse(&self) -> io::Result<(Running, Talk)> {
        if let Some(boundary) = &self.boundary {
            let (running, talk) = self.spawn_behind(boundary, true)?;
            return Ok((running, talk.ok_or(io::ErrorKind::BrokenPipe)?));
        }
        let mut command = self.prepared();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut command = tokio::process::Command::from(command);
        command.kill_on_drop(!self.lasting);
        let mut child = command.spawn().map_err(|error| self.too_long(error))?;
        let talk = Talk::over(child.stdin.take(), child.stdout.take(), self.cut);
        Ok((Running::new(child, self.cut), talk))
    }

    fn spawn_behind(&self, boundary: &Boundary, talks: bool) -> io::Result<(Running, Option<Talk>)> {
        let (pipes, outlets) = Pipes::new(talks)?;
        let child = boundary.start(self.in_full()?, outlets).map_err(|error| self.too_long(error))?;
        Ok(Running::fostered_and_cut(child, pipes, self.cut))
    }

    /// All that it is started with, for a process that has nothing of ours to hand down.
    fn in_full(&self) -> io::Result<Start> {
        let command = self.plain();
        let mut variables = if self.inherit { env::handed_down() } else { BTreeMap::new() };
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => variables.insert(name.to_owned(), value.to_owned()),
                None => variables.remove(name),
            };
        }
        let folder = match &self.folder {
            Some(folder) => folder.clone(),
            None => env::current_dir()?,
        };
        let argv = [command.get_program()].into_iter().chain(command.get_args()).map(OsStr::to_owned).collect();
        Ok(Start { folder: folder.into(), argv, env: variables.into_iter().collect() })
    }

    /// Starts it in our own group, without any output, and leaves it alone: it outlives us. Says its process id.
    ///
    /// # Errors
    /// When the host cannot start it.
    pub fn leave_beside(&self) -> io::Result<u32> {
        let mut command = self.plain();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map(|child| child.id())
    }

    /// Becomes this program: same process, same group, same outputs. Returns only when that failed.
    #[must_use]
    pub fn replace_us(&self) -> io::Error {
        use std::os::unix::process::CommandExt;
        self.plain().exec()
    }

    /// The host's form of this command, in a group of its own.
    pub(in crate::system) fn prepared(&self) -> std::process::Command {
        use std::os::unix::process::CommandExt;
        let mut command = self.plain();
        command.process_group(0);
        command
    }

    fn plain(&self) -> std::process::Command {
        #[expect(clippy::disallowed_methods, reason = "this is where processes are started")]
        let mut command = std::process::Command::new(self.resolved_program());
        command.args(&self.arguments);
        if !self.inherit {
            command.env_clear();
        } else if let Some(path) = env::search_path() {
            command.env("PATH", path);
        }
        for name in service_manager::VARIABLES.into_iter().chain([keys::HANDED]) {
            command.env_remove(name);
        }
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
    }

    /// The host does not say what it is that is too long.
    fn too_long(&self, error: io::Error) -> io::Error {
        if error.kind() != io::ErrorKind::ArgumentListTooLong {
            return error;
        }
        let longest = self.arguments.iter().map(|argument| argument.len()).max().unwrap_or_default();
        let why = format!("its longest argument has {longest} bytes, and Linux takes at most 131071 of one");
        io::Error::new(error.kind(), format!("{error}: {why}"))
    }

    /// A relative path with a slash is ambiguous once a folder is set: the host may resolve it in ours or in the child's.
    fn resolved_program(&self) -> OsString {
        let path = Path::new(&self.program);
        match &self.folder {
            Some(folder) if path.is_relative() && path.components().count() > 1 => folder.join(path).into_os_string(),
            _ => self.program.clone(),
        }
    }
}
