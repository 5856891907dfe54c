//! What went wrong, as an exit code with hints: one exhaustive match an error.

use crate::backend::PromptError;
use crate::cli::{ExitStatus, Failure};
use crate::config::{ConfigError, Problems};
use crate::diag::render::all;
use crate::events::RunStatus;
use crate::runner::{PlanError, RunError};
use crate::store::StoreError;
use crate::system::files::FileError;
use crate::system::lock::LockError;

pub(super) fn of_run(error: RunError) -> Failure {
    let (status, hints) = match &error {
        RunError::File(file) => (of_file(file), Vec::new()),
        RunError::NotOurs { .. } => (
            ExitStatus::HumanNeeded,
            vec!["`loa-run resume --adopt` takes them over; `loa-run run --fresh` puts them aside and begins anew".to_owned()],
        ),
        RunError::NotACheckpoint { .. } => (
            ExitStatus::HumanNeeded,
            vec![
                "`loa-run resume --restore` writes them again from the journal; `loa-run resume --rerun` runs the phases again".to_owned(),
                "or correct the file and `loa-run resume --adopt`: then what is there counts".to_owned(),
            ],
        ),
        RunError::Unprojected { .. } => (
            ExitStatus::WriteFailed,
            vec!["make room for it; `loa-run resume` writes it and ends the run".to_owned()],
        ),
        RunError::Store(store) => of_store(store),
        RunError::NotRecorded(_) => {
            (ExitStatus::Config, vec!["name fewer or smaller files under `runtime.protects`".to_owned()])
        }
        RunError::Plan(plan) => of_plan(plan),
        RunError::Unfinished { status, .. } => {
            let answered = *status != RunStatus::Escalated.as_str();
            let first = if answered { "" } else { "answer it: `loa-run resolve fix_and_resume` (or skip_phase, reset, abort); then " };
            let hint = format!("{first}`loa-run resume` goes on with it; `loa-run run --fresh` puts it aside and begins anew");
            (ExitStatus::HumanNeeded, vec![hint])
        }
        RunError::NoExecution { .. } => (ExitStatus::NoInput, vec!["`loa-run run` begins one".to_owned()]),
        RunError::AwaitsResolution { .. } => (
            ExitStatus::HumanNeeded,
            vec![
                "answer it: `loa-run resolve fix_and_resume` (or skip_phase, reset, abort), then `loa-run resume`"
                    .to_owned(),
            ],
        ),
        RunError::NothingToResolve { .. } | RunError::AnotherCall { .. } => {
            let hint = "`loa-run status` shows where it stands, and the words that answer what waits";
            (ExitStatus::NoInput, vec![hint.to_owned()])
        }
        RunError::NotAnAnswer { .. } => (
            ExitStatus::Usage,
            vec![
                "`loa-run resolve fix_and_resume` agrees to the new configuration; `loa-run resume` goes on with the old one; \
                 `abort` and `reset` do what they always do"
                    .to_owned(),
            ],
        ),
        RunError::Aborted { .. } => {
            (ExitStatus::HumanNeeded, vec!["`loa-run run --fresh` puts it aside and begins anew".to_owned()])
        }
        RunError::NoBoundary { .. } => (
            ExitStatus::Config,
            vec!["`loa-run doctor` says what helps; with `runtime.boundary.mode: auto` phases run without one".to_owned()],
        ),
        RunError::NoNetwork { phase, .. } => (
            ExitStatus::Config,
            vec![format!(
                "`loa-run doctor` says what helps; with `runtime.phases.{phase}.network: host` it has the network of the host"
            )],
        ),
        RunError::Host { .. } => (ExitStatus::Internal, Vec::new()),
    };
    hints.into_iter().fold(Failure::new(status, error), Failure::hint)
}

pub(super) fn of_prompt(error: PromptError) -> Failure {
    let hint = match &error {
        PromptError::Unreadable { .. } => "make the file, or correct its name: it is relative to the workspace",
        PromptError::Outside { .. } => "put the file into the workspace",
        PromptError::NoText { .. } => "save it as UTF-8",
    };
    Failure::new(ExitStatus::Config, error).hint(hint)
}

pub(super) fn of_config(error: ConfigError) -> Failure {
    match error {
        ConfigError::Unreadable(file) => Failure::new(of_file(&file), file),
        ConfigError::Invalid { ref problems, .. } => {
            let shown = problems.iter().map(|Problems { source, findings }| match source {
                Some(source) => all(&source.path.display().to_string(), &source.bytes, findings),
                None => all("the environment and the command line", &[], findings),
            });
            Failure::new(ExitStatus::Config, format!("{error}\n{}", shown.collect::<Vec<_>>().join("\n")))
        }
    }
}

fn of_file(error: &FileError) -> ExitStatus {
    match error.action {
        "read" | "list" | "look at the lock" => ExitStatus::NoInput,
        _ => ExitStatus::WriteFailed,
    }
}

fn of_store(error: &StoreError) -> (ExitStatus, Vec<String>) {
    match error {
        StoreError::File(file) | StoreError::Lock(LockError::File(file)) => (of_file(file), Vec::new()),
        StoreError::Invalid { .. } => (
            ExitStatus::Config,
            vec!["mend the file, or `loa-run run --fresh` puts the execution aside and begins anew".to_owned()],
        ),
        StoreError::Newer { .. } => (ExitStatus::Config, vec!["use the newer program that wrote it".to_owned()]),
        StoreError::Unwritable { .. } => (ExitStatus::Internal, Vec::new()),
        StoreError::Lock(LockError::Held { .. }) => {
            (ExitStatus::TryAgain, vec!["`loa-run status` shows where it stands; `loa-run halt` stops it".to_owned()])
        }
        StoreError::Superseded { .. } => {
            (ExitStatus::TryAgain, vec!["`loa-run status` shows who works on it and where it stands".to_owned()])
        }
        StoreError::Edited { .. } => (
            ExitStatus::Config,
            vec![
                "put back the file from a backup, or `loa-run run --fresh` puts the execution aside and begins anew"
                    .to_owned(),
            ],
        ),
    }
}

fn of_plan(error: &PlanError) -> (ExitStatus, Vec<String>) {
    match error {
        PlanError::File(file) => (of_file(file), Vec::new()),
        PlanError::Invalid { .. } | PlanError::Twice { .. } => (ExitStatus::Config, Vec::new()),
        PlanError::NoCommand { phases } => {
            let phase = phases.first().map(ToString::to_string).unwrap_or_default();
            let one = format!(
                "set runtime.phases.{phase}.command or .prompt in .loa.config.yaml, or runtime.phases.{phase}.skip: true"
            );
            let part =
                "`loa-run run --phase PHASE`, and --from with --until, need no more than the phases that they run";
            (ExitStatus::Config, vec![one, part.to_owned()])
        }
        PlanError::NoBackend { backend, similar, .. } => {
            let similar = similar.iter().map(|similar| format!("did you mean `{similar}`?"));
            let known = format!(
                "`loa-run backends` lists those that are known; say under runtime.backends.{backend} in .loa.config.yaml how it \
                 is started"
            );
            (ExitStatus::Config, similar.chain([known]).collect())
        }
        PlanError::Missing { .. } => (ExitStatus::Config, vec!["`loa-run run --dry-run` shows the plan".to_owned()]),
        PlanError::NotPlanned { .. } => {
            (ExitStatus::Usage, vec!["name a phase of the plan, or add it there".to_owned()])
        }
        PlanError::AllSkipped { .. } => (
            ExitStatus::Usage,
            vec!["leave out `--skip` or `skip: true` for one of them, or ask for another".to_owned()],
        ),
        PlanError::Backwards { from, until } => {
            (ExitStatus::Usage, vec![format!("the other way round it is `--from {until} --until {from}`")])
        }
        PlanError::Several(all) => {
            let hints = all.iter().flat_map(|error| of_plan(error).1).collect();
            (ExitStatus::Config, hints)
        }
    }
}
