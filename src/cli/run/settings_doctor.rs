//! What the configuration counts on beside its phases: whoever is to be told, and the files that no phase is to change.

use std::path::Path;

use super::check::{Check, State};
use super::needs::of_command;
use crate::config::{NO_ADDRESS, Secret, Settings, is_address};
use crate::events::PinnedRole;
use crate::runner::{Means, Notification, Plan, Receiver, recorded_files};

/// Whether each receiver could be told.
pub(super) fn receivers(settings: &Settings, workspace: &Path) -> Vec<Check> {
    Notification::from(settings).receivers.iter().flat_map(|receiver| of_receiver(receiver, workspace)).collect()
}

fn of_receiver(receiver: &Receiver, workspace: &Path) -> Vec<Check> {
    let name = format!("notify, {}", receiver.name);
    match &receiver.means {
        Means::Command(argv) => of_command(&name, argv, workspace),
        Means::Email { program, .. } => of_command(&name, program, workspace),
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

/// Whether `runtime.protects` names anything.
pub(super) fn protected(plan: &Plan, settings: &Settings, workspace: &Path) -> Vec<Check> {
    let name = "protects";
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
