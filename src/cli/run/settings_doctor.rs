//! What the configuration counts on beside its phases: whoever is to be told, and the files that no phase is to change.

use std::path::Path;

use super::check::{Check, State};
use super::needs::of_command;
use crate::config::{NO_ADDRESS, Secret, Settings, is_address};
use crate::contract::Phase;
use crate::events::PinnedRole;
use crate::runner::{Means, Notification, Plan, Receiver, Stage, Work, recorded_files, starts_unknown_files};

/// Whether each receiver could be told.
pub(super) fn receivers(settings: &Settings, workspace: &Path) -> Vec<Check> {
    let receivers = Notification::from(settings).receivers;
    if receivers.is_empty() {
        let remedy =
            "name who is to be told: runtime.notify.receivers, such as [{ kind: ntfy, url: https://ntfy.sh/TOPIC }]";
        return vec![Check::new("notify", State::Warning, "nobody is told when a run stops", remedy)];
    }
    receivers.iter().flat_map(|receiver| of_receiver(receiver, workspace)).collect()
}

fn of_receiver(receiver: &Receiver, workspace: &Path) -> Vec<Check> {
    let name = format!("notify, {}", receiver.name);
    match &receiver.means {
        Means::Command(argv) => of_command(&name, argv, workspace),
        Means::Email { program, .. } => {
            let remedy = "install one, or name the program: `command: /PATH/TO/sendmail` of this receiver";
            of_command(&name, program, workspace).into_iter().map(|check| check.with_remedy(remedy)).collect()
        }
        Means::Webhook { url, token } | Means::Ntfy { url, token } => {
            let token = token.as_ref().and_then(|token| token.found(workspace).err());
            let token = token.map(|why| missing(&format!("{name}, its token"), why));
            std::iter::once(of_address(&name, url, workspace)).chain(token).collect()
        }
        Means::Slack(url) | Means::Discord(url) => vec![of_address(&name, url, workspace)],
    }
}

/// What the address is stands nowhere: who knows it can use it.
fn of_address(name: &str, url: &Secret, workspace: &Path) -> Check {
    let place = match url {
        Secret::Literal(_) => "the address in the configuration".to_owned(),
        Secret::Env(name) => format!("the address in the environment variable {name}"),
        Secret::File(path) => format!("the address in {path}"),
    };
    match url.found(workspace) {
        Err(why) => missing(name, why),
        Ok(found) if !is_address(&found) => missing(name, format!("{place} {NO_ADDRESS}")),
        Ok(_) => Check::new(name, State::Good, format!("{place}; `loa-run notify --test` tries it"), ""),
    }
}

fn missing(name: &str, why: String) -> Check {
    Check::new(name, State::Bad, why, "put it there before the run begins, or correct runtime.notify")
}

/// Whether `runtime.protects` names anything, and whether a gate needs it that is not safe without.
pub(super) fn protected(plan: &Plan, settings: &Settings, workspace: &Path) -> Vec<Check> {
    let name = "protects";
    if settings.protects().is_empty() {
        return unprotected(plan).into_iter().collect();
    }
    let check = |glob: &String| match recorded_files(workspace, plan, std::slice::from_ref(glob)) {
        Err(error) => Check::new(name, State::Bad, error.to_string(), "name fewer or smaller files"),
        Ok(files) => {
            let number = files.iter().filter(|it| it.file.role == PinnedRole::Protected).count();
            let found = format!("`{glob}` names {number} files");
            let remedy = "correct it: it is relative to the workspace, and `**` is for folders in folders";
            Check::new(name, if number == 0 { State::Warning } else { State::Good }, found, remedy)
        }
    };
    settings.protects().iter().map(check).collect()
}

/// That what gates run is not known from their words, so that a phase that changes it would not be noticed.
fn unprotected(plan: &Plan) -> Option<Check> {
    let stages = plan.stages().iter().filter(|stage| !stage.skip);
    let phases: Vec<&str> =
        stages.filter(|stage| gates(stage).any(starts_unknown_files)).map(|it| it.phase.as_str()).collect();
    let found =
        format!("not checked: which files the gates of {} run; a phase could change them unnoticed", phases.join(", "));
    let remedy = "name what decides in runtime.protects, such as ['tests/**', Makefile]";
    (!phases.is_empty()).then(|| Check::new("protects", State::NotChecked, found, remedy))
}

/// The commands that decide about a phase. An audit is a gate by itself.
fn gates(stage: &Stage) -> impl Iterator<Item = &[String]> {
    let own = match &stage.work {
        Some(Work::Command(argv)) if stage.phase == Phase::Audit => Some(argv),
        _ => None,
    };
    own.into_iter().chain(&stage.verify).map(Vec::as_slice)
}
