//! `loa-run backends doctor`: whether each agent would work, and what would stand in its way.

use std::time::Duration;

use tokio::runtime::Runtime;

use super::args::LoaRun;
use super::check::{Check, State, told};
use super::commands::{program, runtime};
use super::given::{Here, settings};
use super::locate::{MARK, locate};
use crate::backend::{every_backend, ready, unheeded};
use crate::cli::{ExitStatus, Failure};
use crate::config::{BackendSettings, Settings};
use crate::diag::closest;
use crate::runner::{Backend, Backends};
use crate::system::guard::Guard;
use crate::system::process::{Captured, Command, ProcessExit, capture};
use crate::system::{env, ids};
use crate::text::{cut, line};

/// How long a program may take to print its version.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most bytes of it that are read.
const LONGEST_VERSION: usize = 64 * 1024;

#[derive(Debug, thiserror::Error)]
#[error("there is no backend `{0}`")]
struct Unknown(String);

/// Looks at the agents of these names, or at every one, and ends with 2 when one that is counted on would not work.
pub(super) fn examine(here: &Here, names: &[String], args: &LoaRun) -> Result<ExitStatus, Failure> {
    let settings = match settings(here, args) {
        Ok(settings) => settings,
        Err(failure) => {
            let remedy = "mend it; `loa-run config` says more";
            return told(&[Check::new("configuration", State::Bad, failure.text(), remedy)], args.json);
        }
    };
    let backends = every_backend(&settings);
    if let Some(unknown) = names.iter().find(|name| backends.get(name).is_none()) {
        let failure = Failure::new(ExitStatus::Usage, Unknown(unknown.clone()));
        let similar = closest(unknown, backends.iter().map(Backend::name));
        let hint = similar.map(|similar| format!("did you mean `{similar}`?"));
        return Err(failure.hint(hint.unwrap_or_else(|| "`loa-run backends` shows them".to_owned())));
    }
    let mark = ids::session();
    let internal = |error| Failure::new(ExitStatus::Internal, error);
    let (guard, runtime) = (Guard::start(&program()?, (MARK, &mark)).map_err(internal)?, runtime()?);
    let all = Examination { here, settings: &settings, backends: &backends, runtime: &runtime, mark: &mark };
    let asked = backends.iter().filter(|backend| names.is_empty() || names.iter().any(|name| name == backend.name()));
    let checks: Vec<Check> = asked.flat_map(|backend| all.of(backend, !names.is_empty())).collect();
    guard.dismiss();
    told(&checks, args.json)
}

/// What the examination of every agent needs.
struct Examination<'a> {
    here: &'a Here,
    settings: &'a Settings,
    backends: &'a Backends,
    runtime: &'a Runtime,
    mark: &'a str,
}

impl Examination<'_> {
    fn of(&self, backend: &dyn Backend, asked_for: bool) -> Vec<Check> {
        let name = backend.name();
        let Some(settings) = self.settings.backend(name) else { return Vec::new() };
        let path = match locate(&settings, self.here.layout.workspace()) {
            Ok(path) => path,
            Err(missing) => {
                let state = if asked_for || self.settings.names_backend(name) { State::Bad } else { State::Warning };
                return vec![Check::new(name, state, missing.found, &missing.remedy)];
            }
        };
        let mut checks = vec![match settings.section.docker {
            Some(_) => Check::new(name, State::Good, path, ""),
            None => self.version(&settings, &path),
        }];
        checks.extend(credentials(backend));
        if let Err(error) = ready(settings.clone(), self.here.layout.workspace()) {
            let remedy = "correct the value: a file is relative to the workspace, and lies in it";
            checks.push(Check::new(&format!("{name}, prompts"), State::Bad, error.to_string(), remedy));
        }
        checks.extend(unheeded(&settings).into_iter().map(|(key, remedy)| {
            let found = format!("`runtime.backends.{name}.{key}` changes nothing");
            Check::new(&format!("{name}, settings"), State::Warning, found, remedy)
        }));
        checks
    }

    /// Asks the program for its version, without any key: none is needed for that.
    fn version(&self, settings: &BackendSettings, path: &str) -> Check {
        let command = Command::new(path).args(["--version"]).folder(self.here.layout.workspace()).env(MARK, self.mark);
        let command = self.backends.withheld_from(None).iter().fold(command, Command::env_remove);
        let command = settings.section.env.iter().fold(command, |command, (name, value)| command.env(name, value));
        let captured = self.runtime.block_on(capture(&command, LONGEST_VERSION, PATIENCE));
        match version_in(&captured) {
            Ok(version) => Check::new(&settings.name, State::Good, format!("{path}: {version}"), ""),
            Err(why) => {
                let remedy = format!("try `{} --version`; what it says there is what is wrong", settings.program());
                Check::new(&settings.name, State::Warning, format!("{path} tells no version: {why}"), &remedy)
            }
        }
    }
}

/// The first line that a program printed, if it ended well.
fn version_in(captured: &Captured) -> Result<String, String> {
    let first = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.lines().map(line).find(|line| !line.is_empty()).map(|line| cut(line, 200))
    };
    match (&captured.exit, captured.timed_out) {
        (_, true) => Err(format!("it said nothing for {} s", PATIENCE.as_secs())),
        // Some print it where others print what went wrong.
        (ProcessExit::Exited(0), _) => {
            let printed = first(&captured.stdout).or_else(|| first(&captured.stderr));
            printed.ok_or_else(|| "it printed nothing".to_owned())
        }
        (exit, _) => Err(first(&captured.stderr).map_or_else(|| exit.to_string(), |line| format!("{exit}: {line}"))),
    }
}

/// Which of the variables are set that hold the agent's keys. Never what is in them.
fn credentials(backend: &dyn Backend) -> Option<Check> {
    let names = backend.credentials();
    let name = format!("{}, key", backend.name());
    let (set, unset): (Vec<&String>, Vec<&String>) = names.iter().partition(|name| env::var(name).is_some());
    let list = |names: Vec<&String>| names.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    match (set.is_empty(), names.is_empty()) {
        (_, true) => None,
        (false, _) => Some(Check::new(&name, State::Good, format!("set: {}", list(set)), "")),
        (true, _) => {
            let found = format!("none is set: {}", list(unset));
            Some(Check::new(&name, State::Warning, found, "set one, unless the program is logged in or needs none"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_the_first_line_of_a_program_that_ended_well() {
        let captured = |exit, stdout: &str, stderr: &str, timed_out| Captured {
            exit,
            stdout: stdout.into(),
            stderr: stderr.into(),
            truncated: false,
            timed_out,
        };
        for (captured, version) in [
            (captured(ProcessExit::Exited(0), "\n  mine 1.2 \nmore", "", false), Ok("mine 1.2")),
            (captured(ProcessExit::Exited(0), "", "0.73.1\n", false), Ok("0.73.1")),
            (captured(ProcessExit::Exited(0), " \n", "", false), Err("it printed nothing")),
            (captured(ProcessExit::Exited(2), "usage", "no such option\n", false), Err("exit 2: no such option")),
            (captured(ProcessExit::Exited(1), "", "", false), Err("exit 1")),
            (captured(ProcessExit::Signalled(9), "mine", "", true), Err("it said nothing for 10 s")),
        ] {
            assert_eq!(version_in(&captured), version.map(str::to_owned).map_err(str::to_owned));
        }
    }
}
