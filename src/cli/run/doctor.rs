//! `loa-run doctor`: whether a run could work here, and what would stand in its way.

use std::path::Path;

use super::args::LoaRun;
use super::check::{Check, State, told};
use super::given::{origin, planned, recorded_origin, settings};
use super::locate::{Missing, locate};
use crate::cli::{ExitStatus, Failure};
use crate::config::Settings;
use crate::runner::{Plan, Stage, Work};
use crate::store::{Layout, RunStatus, read_past, read_record};
use crate::system::lock::Lock;
use crate::system::{env, files, git, sweep};

/// How much room a run should find on its disk, in bytes, and how much it needs at least.
const ROOM: u64 = 1 << 30;
const LEAST_ROOM: u64 = 64 << 20;

/// Looks at everything, and ends with 2 when something is bad.
pub(super) fn doctor(layout: &Layout, plan: Option<&Path>, args: &LoaRun) -> Result<ExitStatus, Failure> {
    let mut checks = programs(layout, plan, args);
    checks.extend([repository(layout), disk(layout), lock(layout), children(layout), records(layout), ignored(layout)]);
    told(&checks, args.json)
}

/// The configuration, and every program that its phases name.
fn programs(layout: &Layout, asked: Option<&Path>, args: &LoaRun) -> Vec<Check> {
    let name = "configuration";
    let plan = settings(layout, args).and_then(|settings| {
        let origin = if asked.is_some() { origin(asked) } else { recorded_origin(layout) };
        let plan = origin.and_then(|origin| planned(&origin, &settings).map_err(super::refusal::of_run));
        plan.map(|plan| (settings, plan))
    });
    match plan {
        Err(failure) => vec![Check::new(name, State::Bad, failure.text(), "mend it; `loa-run config` says more")],
        Ok((settings, plan)) => {
            let mut checks = vec![Check::new(name, State::Good, "valid", "")];
            checks.extend(plan_programs(&plan, layout.workspace(), &settings));
            checks
        }
    }
}

fn plan_programs(plan: &Plan, workspace: &Path, settings: &Settings) -> Vec<Check> {
    let of = |stage: &Stage| {
        let work = stage.work.as_ref().and_then(|work| match work {
            Work::Command(argv) => command(argv, workspace),
            Work::Agent(agent) => Some(locate(&settings.backend(&agent.backend)?, workspace)),
        });
        let gate = stage.verify.as_ref().and_then(|argv| command(argv, workspace));
        let named = [("", work), (", its gate", gate)].into_iter();
        named.filter_map(|(which, found)| Some((which, found?))).collect::<Vec<_>>()
    };
    let stages = plan.stages().iter().filter(|stage| !stage.skip);
    let all = stages.flat_map(|stage| of(stage).into_iter().map(move |(which, found)| (stage.phase, which, found)));
    all.map(|(phase, which, found)| {
        let name = format!("{phase}{which}");
        match found {
            Ok(path) => Check::new(&name, State::Good, path, ""),
            Err(missing) => Check::new(&name, State::Bad, missing.found, &missing.remedy),
        }
    })
    .collect()
}

fn command(argv: &[String], workspace: &Path) -> Option<Result<String, Missing>> {
    let program = argv.first()?;
    let missing = || {
        let remedy = "install it, or correct its path".to_owned();
        Missing { found: format!("`{program}` is not found"), remedy }
    };
    Some(find(program, workspace).ok_or_else(missing))
}

/// Where a program lies that is named by path or looked up in `PATH`.
pub(super) fn find(program: &str, workspace: &Path) -> Option<String> {
    if program.contains('/') {
        let path = workspace.join(program);
        return files::is_program(&path).then(|| path.display().to_string());
    }
    let folders = env::var("PATH")?;
    let mut paths = folders.split(':').map(|folder| Path::new(folder).join(program));
    paths.find(|path| files::is_program(path)).map(|path| path.display().to_string())
}

fn repository(layout: &Layout) -> Check {
    match git::snapshot(layout.workspace(), Layout::OWN) {
        Some(_) => Check::new("git", State::Good, "the workspace is a repository", ""),
        None => Check::new(
            "git",
            State::Warning,
            "no repository, or no git: that a loop makes no progress is seen by its findings alone",
            "git init",
        ),
    }
}

fn disk(layout: &Layout) -> Check {
    match files::free_space(layout.workspace()) {
        Ok(free) => {
            let state = match free {
                0..LEAST_ROOM => State::Bad,
                LEAST_ROOM..ROOM => State::Warning,
                _ => State::Good,
            };
            Check::new("disk", state, format!("{} MiB are free", free >> 20), "make room")
        }
        Err(error) => Check::new("disk", State::Warning, error.to_string(), "look at the disk"),
    }
}

fn lock(layout: &Layout) -> Check {
    match Lock::holder(&layout.lock()) {
        Ok(None) => Check::new("lock", State::Good, "nobody works here", ""),
        Ok(Some(holder)) => {
            Check::new("lock", State::Good, format!("process {} works here since {}", holder.pid, holder.since), "")
        }
        Err(error) => Check::new("lock", State::Bad, error.to_string(), "make .loa-run/lock readable and writable"),
    }
}

/// Processes that a session left which died.
fn children(layout: &Layout) -> Check {
    let name = "children";
    let died = read_record(layout).ok().flatten().filter(|record| record.status == RunStatus::Running);
    let working = Lock::holder(&layout.lock()).is_ok_and(|holder| holder.is_some());
    let session = died.filter(|_| !working).and_then(|record| record.sessions.last().cloned());
    match session.map(|session| sweep::processes_with("LOA_SESSION_ID", session.as_str())) {
        None | Some(0) => Check::new(name, State::Good, "no process of a dead run is left", ""),
        Some(left) => {
            let found = format!("{left} processes of a run that died still work");
            Check::new(name, State::Warning, found, "`loa-run resume` ends them first")
        }
    }
}

fn records(layout: &Layout) -> Check {
    match read_past(layout, None) {
        Ok(None) => Check::new("records", State::Good, "no execution yet", ""),
        Ok(Some(past)) => {
            let status = past.record.as_ref().map_or("found", |record| record.status.as_str());
            Check::new("records", State::Good, format!("readable; the execution is {status}"), "")
        }
        Err(error) => Check::new("records", State::Bad, error.to_string(), "mend the file, or `loa-run run --fresh`"),
    }
}

fn ignored(layout: &Layout) -> Check {
    let missing: Vec<_> =
        Layout::OWN.iter().filter(|folder| git::is_ignored(layout.workspace(), folder) == Some(false)).collect();
    if missing.is_empty() {
        return Check::new(".gitignore", State::Good, "nothing of a run would be committed", "");
    }
    let names: Vec<String> = missing.iter().map(|folder| format!("{folder}/")).collect();
    Check::new(
        ".gitignore",
        State::Warning,
        format!("{} would be committed", names.join(" and ")),
        "`loa-run init --ignore`",
    )
}
