//! `loa-run service`: has the user's service manager look after the run of a workspace.
//!
//! `unit` is the text; this writes it, and asks `systemctl --user` and `loginctl` for the rest. The unit starts
//! `loa-run service run`, which goes on with what is unfinished, and with nothing else.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Parser, Subcommand};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::args::LoaRun;
use super::commands::{command, program, runtime};
use super::given::{Here, bounds, planned, settings_of_the_execution};
use super::needs::find;
use super::notify::{deliverer, listen, listening, tell_of_refusal};
use super::pinned::Files;
use super::refusal::{of_prompt, of_run};
use super::resumed::{Wish, all_taken, planned_for_resume};
use super::show::print_json;
use super::unit::{Parts, Unit, environment_file, is_ours, name, unit};
use crate::backend::{backends, every_backend};
use crate::cli::console::{print, say};
use crate::cli::{ExitStatus, Failure};
use crate::config::lasting;
use crate::events::{RunOrigin, RunStatus, State};
use crate::runner::{Awaited, Notification, Selection, boundary_as_required, stay_until_told};
use crate::system::disk::Kind;
use crate::system::env;
use crate::system::files::{self, FileError, Privacy};
use crate::system::process::{Command, Interrupt, Interrupts, ProcessExit, capture};
use crate::system::service_manager::ServiceManager;

/// How long a service manager may take. To stop a service takes as long as its stages take to end.
const PATIENCE: Duration = Duration::from_mins(4);
const LONGEST: usize = 64 * 1024;

/// Variables that the unit keeps as they are when it is written: where things lie. None of them is a secret.
const KEPT: [&str; 9] = [
    "PATH",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "LOA_RUN_STATE",
    "LANG",
    "LC_ALL",
    "TZ",
];

#[derive(Debug, Subcommand)]
pub(super) enum ServiceVerb {
    /// Write a systemd user unit for this workspace, and enable it
    Install {
        /// A file of NAME=value lines that the run is given, such as keys; it must be yours alone (mode 0600). One that was
        /// named before stays
        #[arg(long, value_name = "FILE")]
        env_file: Option<PathBuf>,
        /// Start it now: what is unfinished goes on, and where there was no run yet, one begins
        #[arg(long)]
        start: bool,
        /// Let your services run while you are not logged in (`loginctl enable-linger`)
        #[arg(long)]
        linger: bool,
        /// Print the unit, and change nothing
        #[arg(long, visible_alias = "print")]
        dry_run: bool,
    },
    /// Start it, such as after an answer
    Start,
    /// Show what the service manager knows of it
    Status,
    /// Stop it, disable it, and take the unit away; the run stays as it is
    Remove {
        /// Say what would be removed, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// What the unit starts: go on with an unfinished run, or begin the first
    Run,
}

pub(super) const SERVICE_HELP: &str = "\
Examples:
  loa-run service install --print     see the unit
  loa-run service install --start     from now on, and after every reboot
  loa-run service install --env-file ~/.config/loa-run/keys
                                      with keys that stand in no unit
  loa-run service status
  loa-run resolve fix_and_resume && loa-run service start
                                      answer a call, and let it go on
  loa-run service remove

A configuration that `run` refuses is refused here, too. The unit goes on with
an unfinished run. It begins one where there was none, never behind one that is
finished. 1 is tried again after two minutes; after 2 nothing happens until you
have answered.";

/// What the unit of this workspace is, and where it lies.
struct Service<'a> {
    here: &'a Here,
    json: bool,
    unit: Unit,
    path: PathBuf,
    /// The variables of the present environment that a run here would hear, and the service does not.
    left_out: Vec<String>,
}

pub(super) fn service(here: &Here, verb: &ServiceVerb, args: &LoaRun) -> Result<ExitStatus, Failure> {
    if let Some(first) = args.overrides.first() {
        let failure = Failure::new(ExitStatus::Usage, format!("{} says nothing to a service", first.origin));
        return Err(failure.hint("put it into .loa.config.yaml; a run that was begun with it goes on with it"));
    }
    if matches!(verb, ServiceVerb::Run) {
        return as_service(here, args);
    }
    let env_file = if let ServiceVerb::Install { env_file, .. } = verb { env_file.as_deref() } else { None };
    let mut service = Service::of(here, env_file, args.json)?;
    let kept = service.kept_env_file().filter(|_| env_file.is_none());
    if let Some(kept) = &kept {
        service = Service::of(here, Some(kept), args.json)?;
    }
    service.left_out = left_out(here, args, env_file.or(kept.as_deref()));
    match verb {
        ServiceVerb::Install { start, linger, dry_run, .. } => {
            if !dry_run {
                would_begin(here, args)?;
            }
            service.install(*start, *linger, *dry_run)
        }
        ServiceVerb::Start => service.start(),
        ServiceVerb::Status => service.status(),
        ServiceVerb::Remove { dry_run } => service.remove(*dry_run),
        ServiceVerb::Run => unreachable!("a run needs no unit"),
    }
}

/// That what the unit starts is not refused, as `run` and `resume` refuse a configuration that cannot work: nobody would see that
/// before the night.
fn would_begin(here: &Here, args: &LoaRun) -> Result<(), Failure> {
    let is_open = |state: State| !matches!(state.status, RunStatus::Completed | RunStatus::Aborted);
    let (settings, plan) = if here.present()?.is_some_and(is_open) {
        let resumed = planned_for_resume(here, args, Wish { only_looks: true, ..Wish::default() })?;
        (resumed.settings, resumed.plan)
    } else {
        let files = Files::on_disk(here);
        let (settings, plan) = planned(here, args, &RunOrigin::config(), Selection::All, &files)?;
        all_taken(here, &files, &plan, &settings)?;
        (settings, plan)
    };
    let backends = backends(&plan, &settings, here.layout.workspace()).map_err(of_prompt)?;
    let bounds = bounds(here, &settings);
    boundary_as_required(&program()?, &here.place, (&plan, &bounds, &backends)).map_err(of_run)
}

impl<'a> Service<'a> {
    fn of(here: &'a Here, env_file: Option<&Path>, json: bool) -> Result<Self, Failure> {
        let program = program()?;
        let text = |path: &Path| path.to_str().map(str::to_owned).ok_or_else(|| not_text(path));
        let (program, workspace) = (text(&program)?, text(here.layout.workspace())?);
        let env_file = env_file.map(private).transpose()?;
        let env_file = env_file.as_deref().map(text).transpose()?;
        let variables: Vec<(String, String)> =
            KEPT.iter().filter_map(|name| Some(((*name).to_owned(), env::var(name)?))).collect();
        let parts = Parts {
            program: &program,
            workspace: &workspace,
            variables: &variables,
            environment_file: env_file.as_deref(),
        };
        let unit = unit(parts).map_err(|error| {
            Failure::new(ExitStatus::Usage, error)
                .hint("rename it, or write a unit by hand that runs `loa-run service run`")
        })?;
        let no_home = || Failure::new(ExitStatus::NoInput, "neither HOME nor XDG_CONFIG_HOME says where units lie");
        let path = env::config_home().ok_or_else(no_home)?.join("systemd/user").join(&unit.name);
        Ok(Self { here, json, unit, path, left_out: Vec::new() })
    }

    fn install(&self, start: bool, linger: bool, dry_run: bool) -> Result<ExitStatus, Failure> {
        let earlier = self.earlier()?;
        let differs = earlier.as_deref() != Some(self.unit.text.as_str());
        if dry_run {
            let document =
                json!({ "unit": self.unit.name, "path": self.path, "text": self.unit.text, "changes": differs });
            say_left_out(&self.left_out);
            return self.told(&document, &format!("# {}\n{}", self.path.display(), self.unit.text));
        }
        self.manager()?;
        // Before anything is written: half of an installation helps nobody.
        answers()?;
        if differs {
            self.write()?;
        }
        systemctl(&["daemon-reload"])?;
        systemctl(&["enable", &self.unit.name])?;
        let lingers = if linger { enable_linger()? } else { self.lingers() };
        if start {
            let _ = systemctl(&["reset-failed", &self.unit.name]);
            systemctl(&["start", "--no-block", &self.unit.name])?;
        }
        let name = &self.unit.name;
        let document = json!({
            "unit": name, "path": self.path, "changed": differs, "enabled": true, "started": start, "linger": lingers,
            "left_out": self.left_out,
        });
        say_left_out(&self.left_out);
        let written = if differs { "written" } else { "as it was" };
        let text = [
            format!("{}: {written}, enabled\n", self.path.display()),
            if start {
                format!("started; see it: `loa-run status`, `journalctl --user -u {name}`\n")
            } else {
                format!("start it now: `systemctl --user start {name}`\n")
            },
            if lingers == Some(true) { String::new() } else { UNTIL_LINGERING.to_owned() },
        ];
        self.told(&document, &text.concat())
    }

    fn start(&self) -> Result<ExitStatus, Failure> {
        let name = &self.unit.name;
        self.manager()?;
        if self.earlier()?.is_none() {
            let failure = Failure::new(ExitStatus::NoInput, format!("{} is not there", self.path.display()));
            return Err(failure.hint("`loa-run service install --start` writes it first"));
        }
        // Whoever asks wants it now, however often it was started before.
        let _ = systemctl(&["reset-failed", name]);
        systemctl(&["start", "--no-block", name])?;
        self.told(&json!({ "unit": name, "started": true }), &format!("started: {name}\n"))
    }

    fn status(&self) -> Result<ExitStatus, Failure> {
        let there = files::kind(&self.path).is_some();
        let ours = there && self.earlier().is_ok();
        let manager = self.manager().ok().and_then(|_| systemctl(&["show", &self.unit.name, SHOWN]).ok());
        let known: serde_json::Map<String, Value> = manager
            .iter()
            .flat_map(|text| text.lines())
            .filter_map(|line| line.split_once('='))
            .map(|(key, value)| (key.to_owned(), json!(value)))
            .collect();
        let lingers = self.lingers();
        let mut text = match (there, ours) {
            (true, true) => format!("{}: installed\n", self.path.display()),
            (true, false) => format!("{}: there, and not written by loa-run\n", self.path.display()),
            (false, _) => format!("{}: not installed; `loa-run service install` writes it\n", self.path.display()),
        };
        text.extend(known.iter().map(|(key, value)| format!("  {key}: {}\n", value.as_str().unwrap_or_default())));
        if manager.is_none() {
            text.push_str("  the user's systemd says nothing of it\n");
        }
        let manager = manager.map(|_| Value::Object(known));
        let document = json!({
            "unit": self.unit.name, "path": self.path, "installed": ours, "manager": manager, "linger": lingers,
        });
        self.told(&document, &text)?;
        Ok(if ours { ExitStatus::Success } else { ExitStatus::NoInput })
    }

    fn remove(&self, dry_run: bool) -> Result<ExitStatus, Failure> {
        let (name, there) = (&self.unit.name, self.earlier()?.is_some());
        if dry_run || !there {
            let text = if there { "would be removed" } else { "is not there" };
            let document = json!({ "unit": name, "path": self.path, "removed": false, "there": there });
            return self.told(&document, &format!("{} {text}\n", self.path.display()));
        }
        let has_manager = self.manager().is_ok() && answers().is_ok();
        if has_manager {
            systemctl(&["disable", "--now", name])?;
        }
        let link = self.path.with_file_name("default.target.wants").join(name);
        for path in [&link, &self.path] {
            if files::kind(path).is_some() {
                files::remove(path).map_err(|error| Failure::new(ExitStatus::WriteFailed, error))?;
            }
        }
        if has_manager {
            systemctl(&["daemon-reload"])?;
        }
        let document =
            json!({ "unit": name, "path": self.path, "removed": true, "there": false, "stopped": has_manager });
        let done = if has_manager { "stopped, disabled and removed" } else { UNANSWERED };
        self.told(&document, &format!("{}: {done}; the run stays as it is\n", self.path.display()))
    }

    /// The file with secrets that the unit names which is there.
    fn kept_env_file(&self) -> Option<PathBuf> {
        environment_file(&self.earlier().ok().flatten()?).map(PathBuf::from)
    }

    /// The unit that is there; one that somebody else wrote is refused.
    fn earlier(&self) -> Result<Option<String>, Failure> {
        let read = match files::kind(&self.path) {
            None => return Ok(None),
            Some(Kind::File) => files::read(&self.path, 1 << 20),
            Some(_) => Ok(Vec::new()),
        };
        let bytes = read.map_err(|error| Failure::new(ExitStatus::NoInput, error))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if is_ours(&text) {
            return Ok(Some(text));
        }
        let message = format!("{} was not written by loa-run, and is left as it is", self.path.display());
        Err(Failure::new(ExitStatus::WriteFailed, message).hint("move it away, and try again"))
    }

    fn write(&self) -> Result<(), Failure> {
        let failed = |error: FileError| Failure::new(ExitStatus::WriteFailed, error);
        self.path.parent().map_or(Ok(()), files::ensure_folder).map_err(failed)?;
        files::write_durably(&self.path, self.unit.text.as_bytes(), Privacy::Shared).map_err(failed)
    }

    /// Whether there is a systemd to ask.
    fn manager(&self) -> Result<String, Failure> {
        let missing = || {
            let message = "`systemctl` is not here: `loa-run service` knows systemd alone, neither launchd nor another";
            Failure::new(ExitStatus::NoInput, message)
                .hint("have whatever starts programs here run `loa-run --workspace DIR service run`, such as `@reboot` in your crontab: exit 1 may be tried again, 2 needs a human")
                .hint("`loa-run service install --print` shows the unit")
        };
        find("systemctl", self.here.layout.workspace()).ok_or_else(missing)
    }

    /// Whether the user's services run while nobody is logged in; `None` where nobody says.
    fn lingers(&self) -> Option<bool> {
        find("loginctl", self.here.layout.workspace())?;
        let user = env::user_id().to_string();
        let said = said("loginctl", &["show-user", &user, "--property=Linger", "--value"]).ok()?.ok()?;
        Some(said.trim() == "yes")
    }

    fn told(&self, document: &Value, text: &str) -> Result<ExitStatus, Failure> {
        if self.json { print_json(document) } else { print(text) }?;
        Ok(ExitStatus::Success)
    }
}

const UNTIL_LINGERING: &str =
    "it ends with your last session, and starts with your next one, until you `loginctl enable-linger`\n";
const SHOWN: &str = "--property=ActiveState,SubState,UnitFileState,Result,NRestarts,ExecMainStatus,StatusText";

const UNANSWERED: &str = "removed with its link; no service manager answered, so what it may have started goes on";

/// Whether the user's own systemd says anything at all.
fn answers() -> Result<(), Failure> {
    systemctl(&["show", "--property=Version"]).map(drop)
}

/// Asks the user's own systemd.
fn systemctl(arguments: &[&str]) -> Result<String, Failure> {
    let words: Vec<&str> = ["--user"].into_iter().chain(arguments.iter().copied()).collect();
    said("systemctl", &words)?.map_err(|why| {
        let failure = Failure::new(ExitStatus::TryAgain, format!("`systemctl {}` failed: {why}", words.join(" ")));
        failure.hint("it needs your own systemd: log in as yourself (no `su`), or `loginctl enable-linger` and set XDG_RUNTIME_DIR=/run/user/$(id -u)")
    })
}

fn enable_linger() -> Result<Option<bool>, Failure> {
    let user = env::user_id().to_string();
    let failed = |why: String| Failure::new(ExitStatus::TryAgain, format!("`loginctl enable-linger` failed: {why}"));
    said("loginctl", &["enable-linger", &user])?.map_err(failed)?;
    Ok(Some(true))
}

/// What a program says, or why it failed.
fn said(program: &str, arguments: &[&str]) -> Result<Result<String, String>, Failure> {
    let command = Command::new(program).args(arguments).env("SYSTEMD_PAGER", "").env("SYSTEMD_COLORS", "0");
    let captured = runtime()?.block_on(capture(&command, LONGEST, PATIENCE));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    Ok(match captured.exit {
        _ if captured.timed_out => Err(format!("it took longer than {} s", PATIENCE.as_secs())),
        ProcessExit::Exited(0) => Ok(text(&captured.stdout)),
        ProcessExit::Exited(code) => Err(format!("exit {code}: {}", text(&captured.stderr))),
        ProcessExit::Signalled(signal) => Err(format!("signal {signal}")),
        ProcessExit::SpawnFailed(error) => Err(error.to_string()),
    })
}

/// The variables that are set now and that a run here would hear, but for those that the unit or its file of variables sets: what
/// they say over the configuration, agents' credentials, and addresses of those who are told.
fn left_out(here: &Here, args: &LoaRun, env_file: Option<&Path>) -> Vec<String> {
    let now = env::vars();
    let mut heard: BTreeSet<String> = lasting(&now).into_keys().collect();
    if let Some(settings) = settings_of_the_execution(here, args) {
        heard.extend(every_backend(&settings).withheld_from(None));
        heard.extend(Notification::from(&settings).variables());
    }
    let text = env_file.and_then(|path| files::read(path, 1 << 20).ok()).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let in_file: Vec<&str> = text.lines().filter_map(|line| Some(line.trim_start().split_once('=')?.0)).collect();
    let is_set = |name: &String| now.get(name).is_some_and(|value| !value.is_empty());
    let is_left = |name: &String| is_set(name) && !KEPT.contains(&name.as_str()) && !in_file.contains(&name.as_str());
    heard.into_iter().filter(is_left).collect()
}

fn say_left_out(names: &[String]) {
    if !names.is_empty() {
        say(format_args!(
            "loa-run: the service does not hear what these variables of your shell say: {}; put what is no secret into \
             .loa.config.yaml, and the rest into a file of NAME=value lines: `loa-run service install --env-file FILE`",
            names.join(", ")
        ));
    }
}

/// A file that may hold keys, which nobody else may read.
fn private(path: &Path) -> Result<PathBuf, Failure> {
    let failed = |source| Failure::new(ExitStatus::NoInput, FileError { action: "read", path: path.into(), source });
    let path = path.canonicalize().map_err(failed)?;
    let data = path.metadata().map_err(failed)?;
    let others = data.mode() & 0o077;
    if data.is_file() && others == 0 && data.uid() == env::user_id() {
        return Ok(path);
    }
    let message = format!("{} may hold keys, and is not a file that you alone may read", path.display());
    Err(Failure::new(ExitStatus::Usage, message).hint(format!("chmod 600 {}", path.display())))
}

fn not_text(path: &Path) -> Failure {
    Failure::new(ExitStatus::Usage, format!("{} is not UTF-8, and cannot stand in a unit", path.display()))
}

/// What the unit starts: goes on with what is unfinished, or begins the first execution, and does nothing else.
fn as_service(here: &Here, args: &LoaRun) -> Result<ExitStatus, Failure> {
    // Whatever comes of it: we were started, and say the rest by our exit code.
    ServiceManager::of_environment().ready();
    let sessions =
        || here.again().and_then(|here| here.present()).ok().flatten().map_or(0, |state| state.sessions.len());
    let before = sessions();
    let verb = match here.present()?.map(|state| state.status) {
        None => Some("run"),
        Some(over @ (RunStatus::Completed | RunStatus::Aborted)) => {
            let word = over.as_str();
            say(format_args!("loa-run: the last run is {word}; a service begins no other one, `loa-run run` does"));
            None
        }
        Some(_) => Some("resume"),
    };
    let runtime = runtime()?;
    // From here on: a signal that comes while an end is told by the command ends what follows, too.
    let mut interrupts = listening(&runtime)?;
    let ended = verb.map_or(Ok(ExitStatus::Success), |verb| command(&typed(verb, here, args)));
    // A session tells of its end itself; what keeps one from beginning is seen by nobody else.
    if let Err(failure) = &ended
        && sessions() == before
        && !is_asked(here)
    {
        tell_of_refusal(here, args, &failure.with_causes())?;
    }
    match stay(here, args, &ended, (&runtime, &mut interrupts))? {
        Some(Awaited::Answered) => as_service(here, args),
        Some(Awaited::Interrupted(Interrupt::Interrupt)) => Ok(ExitStatus::Interrupted),
        Some(Awaited::Interrupted(Interrupt::Terminate)) => Ok(ExitStatus::Terminated),
        Some(Awaited::Over(_)) | None => ended,
    }
}

/// What a person would type.
fn typed(verb: &str, here: &Here, args: &LoaRun) -> LoaRun {
    let mut typed = LoaRun::try_parse_from(["loa-run", verb]).expect("both are commands that need nothing else");
    typed.workspace = Some(here.layout.workspace().to_path_buf());
    typed.json = args.json;
    typed
}

/// Stays until everybody has heard of an end, as often as it takes: nothing starts a service again that has ended like this.
/// An answer that comes meanwhile is gone on with, for a service that runs is not started either.
fn stay(
    here: &Here,
    args: &LoaRun,
    ended: &Result<ExitStatus, Failure>,
    (runtime, interrupts): (&Runtime, &mut Interrupts),
) -> Result<Option<Awaited>, Failure> {
    // Where the workspace is gone, nothing is queued.
    let Ok(here) = here.again() else { return Ok(None) };
    let asks = is_asked(&here);
    // What is tried again in a moment is told then.
    let is_over = matches!(ended, Ok(ExitStatus::Success)) || asks;
    let Some(settings) = settings_of_the_execution(&here, args).filter(|_| is_over) else { return Ok(None) };
    let deliverer = deliverer(&here, &settings);
    let told = stay_until_told(&here.layout, &here.store, deliverer, asks, interrupts, listen);
    runtime.block_on(told).map_err(of_run)
}

/// Whether a call waits for its answer.
fn is_asked(here: &Here) -> bool {
    here.present().ok().flatten().is_some_and(|state| state.status == RunStatus::Escalated)
}

/// Whether a unit of ours looks after the runs of this workspace.
pub(super) fn has_service(here: &Here) -> bool {
    let unit = env::config_home().zip(here.layout.workspace().to_str());
    let path = unit.map(|(folder, workspace)| folder.join("systemd/user").join(name(workspace)));
    path.and_then(|path| files::read(&path, 1 << 20).ok()).is_some_and(|text| is_ours(&String::from_utf8_lossy(&text)))
}
