//! `loa-run doctor`: whether a run could work here, and what would stand in its way.

use std::collections::BTreeMap;
use std::path::Path;

use super::args::{LoaRun, PhaseArgs};
use super::check::{Check, State, told};
use super::given::{Here, origin, planned, sound};
use super::needs::needs;
use super::night::{agents, disks, sleep};
use super::pinned::Files;
use super::resumed::{Wish, planned_for_resume};
use super::settings_doctor::{protected, receivers};
use crate::cli::{ExitStatus, Failure};
use crate::config::{Network, Settings};
use crate::contract::Phase;
use crate::events::{self, ApprovalState, RunStatus};
use crate::runner::{Plan, network_to_have};
use crate::store::{Basis, Layout, RunStore};
use crate::system::boundary::{self, Boundary, View};
use crate::system::git::{self, NoRepository};
use crate::system::{env, files, sweep};

/// Looks at everything, and ends with 2 when something is bad. `unreadable` is why nothing is known of the state.
pub(super) fn doctor(
    (here, unreadable): (&Here, Option<Failure>),
    plan: Option<&Path>,
    phases: &PhaseArgs,
    args: &LoaRun,
) -> Result<ExitStatus, Failure> {
    let layout = &here.layout;
    let mut checks = configuration(here, plan, phases, args);
    checks.extend([repository(layout), writable(layout)]);
    checks.extend(match unreadable {
        Some(failure) => vec![unreadable_state(&failure.with_causes())],
        None => vec![state(here), lock(here), children(here), records(here)],
    });
    checks.push(ignored(layout));
    checks.push(of_boundary(here));
    checks.extend(disks(here));
    checks.push(sleep(Path::new("/")));
    told(&checks, args.json)
}

/// The configuration, what its phases need, and where a run would stop for a person.
fn configuration(here: &Here, asked: Option<&Path>, phases: &PhaseArgs, args: &LoaRun) -> Vec<Check> {
    let (name, selection) = ("configuration", phases.selection());
    let is_open = |state: events::State| !matches!(state.status, RunStatus::Completed | RunStatus::Aborted);
    // What is over needs nothing any more: what counts is the next run.
    let goes_on = asked.is_none() && !phases.is_given() && here.present().ok().flatten().is_some_and(is_open);
    let plan = if goes_on {
        planned_for_resume(here, args, Wish { only_looks: true, ..Wish::default() })
            .map(|it| ((it.settings, it.plan), it.notices))
    } else {
        origin(asked)
            .and_then(|origin| planned(here, args, &origin, selection, &Files::on_disk(here)))
            .map(|planned| (planned, Vec::new()))
    };
    match plan {
        Err(failure) => {
            let mut checks = vec![Check::new(name, State::Bad, failure.text(), "mend it; `loa-run config` says more")];
            let next = (!goes_on).then(|| origin(asked).ok()).flatten();
            let sound = next.and_then(|origin| sound(here, args, &origin, selection, &Files::on_disk(here)));
            checks.extend(sound.into_iter().flat_map(|(settings, plan)| counted_on(here, &plan, &settings)));
            checks
        }
        Ok(((settings, plan), notices)) => {
            let mut checks = vec![Check::new(name, State::Good, "valid", "")];
            let remedy = "nothing, if that is wanted";
            checks.extend(notices.into_iter().map(|notice| Check::new(name, State::Warning, notice, remedy)));
            checks.extend(counted_on(here, &plan, &settings));
            checks.extend(agents(&plan, &settings, here.layout.workspace()));
            checks.extend(approval(here, &plan, &settings));
            checks
        }
    }
}

/// All that settings and plan name, and that has to be there.
fn counted_on(here: &Here, plan: &Plan, settings: &Settings) -> Vec<Check> {
    let workspace = here.layout.workspace();
    let named = [receivers(settings, workspace), protected(plan, settings, workspace)].concat();
    needs(plan, workspace, settings)
        .into_iter()
        .chain(named)
        .chain(networks(here, plan, settings))
        .chain(limits(plan, settings))
        .collect()
}

/// Whether limits would be held.
fn limits(plan: &Plan, settings: &Settings) -> Option<Check> {
    let in_container = |backend: &str| settings.backend(backend).is_some_and(|it| it.section.docker.is_some());
    let bounded = plan.stages().iter().filter(|stage| !stage.skip && !stage.limits.is_empty());
    let unheld = bounded.filter(|stage| stage.agent().is_some_and(|agent| in_container(&agent.backend)));
    let phases: Vec<&str> = unheld.map(|stage| stage.phase.as_str()).collect();
    (!phases.is_empty()).then(|| {
        let found =
            format!("limits of {} are not held: what runs in a container is not seen from here", phases.join(", "));
        Check::new("limits", State::Warning, found, "give the container limits of its own, by its engine")
    })
}

/// Whether phases could have the networks that they are to have, and whether anybody listens at the gateway.
fn networks(here: &Here, plan: &Plan, settings: &Settings) -> Vec<Check> {
    let mut phases: BTreeMap<Network, Vec<&str>> = BTreeMap::new();
    let own = plan.stages().iter().filter(|stage| !stage.skip && stage.network != Network::Host);
    own.for_each(|stage| phases.entry(stage.network).or_default().push(stage.phase.as_str()));
    phases.into_iter().map(|(network, phases)| of_network(here, network, &phases.join(", "), settings)).collect()
}

fn of_network(here: &Here, network: Network, phases: &str, settings: &Settings) -> Check {
    let (name, word) = ("network", network.as_str());
    let gateway = settings.boundary().gateway.as_deref();
    let drawn = network_to_have(network, gateway).and_then(|network| {
        let view = View { hidden: here.place.of_states(), network: network.clone(), ..View::default() };
        let program = env::current_exe().map_err(|error| error.to_string())?;
        Boundary::open(&program, &view).map(|_| network)
    });
    match drawn {
        Err(why) => {
            let found = format!("this host does not give {phases} the network `{word}`: {why}");
            Check::new(name, State::Bad, found, "mend what `boundary` says, or `network: host`")
        }
        Ok(boundary::Network::Gateway(gateway)) if gateway.connect().is_err() => {
            let found = format!("nobody listens at {gateway}, which is all that {phases} can reach");
            Check::new(name, State::Warning, found, "start the gateway before the run begins")
        }
        Ok(_) => Check::new(name, State::Good, format!("`{word}` for {phases}"), ""),
    }
}

/// That a person is asked before `deploy`: whoever sleeps by then finds the work stopped.
fn approval(here: &Here, plan: &Plan, settings: &Settings) -> Option<Check> {
    let deploys = plan.stage(Phase::Deploy).is_some_and(|stage| !stage.skip);
    let state = here.present().ok().flatten();
    let given = state.is_some_and(|state| state.deploy == ApprovalState::Given || state.is_completed(Phase::Deploy));
    (deploys && !given && settings.deploy_needs_approval()).then(|| {
        let found =
            "the run stops before deploy and ends with 2, until a person agrees: `loa-run resolve fix_and_resume`";
        let remedy = "nothing, if that is wanted; or autonomous_agent.require_human_deploy_approval: false";
        Check::new("approval", State::Warning, found, remedy)
    })
}

/// Whether checkpoints and logs could be written.
fn writable(layout: &Layout) -> Check {
    let own = Layout::OWN.iter().map(|name| layout.workspace().join(name)).filter(|folder| folder.is_dir());
    let mut folders = std::iter::once(layout.workspace().to_path_buf()).chain(own);
    match folders
        .find_map(|folder| files::try_writing(&folder.join("loa-run-doctor")).err().map(|error| (folder, error)))
    {
        None => Check::new("workspace", State::Good, layout.workspace().display().to_string(), ""),
        Some((folder, error)) => {
            let found = format!("{} cannot be written to: {}", folder.display(), error.source);
            Check::new("workspace", State::Bad, found, "make it writable for whoever runs this")
        }
    }
}

fn repository(layout: &Layout) -> Check {
    match git::snapshot(layout.workspace(), Layout::OWN) {
        Some(_) => Check::new("git", State::Good, "the workspace is a repository", ""),
        None => without_repository(&git::why_no_repository(layout.workspace()), layout.workspace()),
    }
}

fn without_repository(why: &NoRepository, workspace: &Path) -> Check {
    let (found, remedy) = match why {
        NoRepository::NoGit => ("there is no git".to_owned(), "install git".to_owned()),
        NoRepository::None => ("no repository".to_owned(), "git init".to_owned()),
        NoRepository::Refused(said) if said.contains("dubious ownership") => {
            let folder = workspace.display();
            let remedy = format!("make it yours, or `git config --global --add safe.directory {folder}`");
            ("the repository belongs to another user, and git does not look into it".to_owned(), remedy)
        }
        NoRepository::Refused(said) => {
            let remedy =
                "make the repository, its .git among it, readable for whoever runs this, or mend it".to_owned();
            let why = if said.is_empty() { String::new() } else { format!(" ({said})") };
            (format!("there is a repository, and it cannot be read{why}"), remedy)
        }
    };
    let found = format!("{found}: that a loop makes no progress is seen by its findings alone");
    Check::new("git", State::Warning, found, &remedy)
}

/// The state of the runs where it cannot even be looked at.
fn unreadable_state(why: &str) -> Check {
    let remedy = "make it readable and writable, or name another folder: runtime.state or LOA_RUN_STATE";
    Check::new("state", State::Bad, why, remedy)
}

/// Where the state of the runs is, whether it could be written there, and what it takes.
fn state(here: &Here) -> Check {
    let (place, name) = (&here.place, "state");
    let folder = place.folder();
    let there = folder.ancestors().find(|ancestor| ancestor.is_dir()).unwrap_or(&folder);
    let basis = place.basis().words();
    let found = if folder.is_dir() {
        let size = files::size_of_tree(&folder).div_ceil(1024);
        format!("{}, {basis}; {size} KiB of this workspace", folder.display())
    } else {
        // What its folder will be called is not said: only a first run gives the workspace its id.
        format!("{}, {basis}; nothing of this workspace yet", place.base().display())
    };
    if let Some(file) = place.base().ancestors().find(|path| path.exists()).filter(|path| !path.is_dir()) {
        return unreadable_state(&format!("{} is no folder", file.display()));
    }
    let lost = files::is_volatile(place.base()) == Some(true);
    match (place.basis(), files::try_writing(&there.join("loa-run-doctor"))) {
        (_, Err(error)) => {
            let found = format!("{found}: {error}: {}", error.source);
            Check::new(
                name,
                State::Bad,
                found,
                "make it writable, or name another folder: runtime.state or LOA_RUN_STATE",
            )
        }
        (Basis::Workspace, Ok(())) => {
            Check::new(name, State::Warning, found, "name a folder elsewhere: runtime.state or LOA_RUN_STATE")
        }
        (_, Ok(())) if lost => {
            let remedy = "name a folder on a disk or a volume: runtime.state or LOA_RUN_STATE";
            Check::new(name, State::Warning, format!("{found}; a restart of this host would lose it"), remedy)
        }
        _ if files::is_open_to_others(&folder) => {
            let found = format!("{found}; other users may look into it");
            Check::new(name, State::Warning, found, &format!("chmod 700 {}", folder.display()))
        }
        _ => Check::new(name, State::Good, found, ""),
    }
}

/// Whether phases would run where the state of runs is not there.
fn of_boundary(here: &Here) -> Check {
    let view = View { hidden: here.place.of_states(), ..View::default() };
    let drawn =
        env::current_exe().map_err(|error| error.to_string()).and_then(|program| Boundary::open(&program, &view));
    match drawn {
        Ok(_) => {
            Check::new("boundary", State::Good, "phases see neither the state of runs nor processes of others", "")
        }
        Err(why) => {
            let found = format!("this host makes none, so phases can reach the state of runs: {why}");
            let remedy = "install util-linux, and allow namespaces of users (user.max_user_namespaces, \
                          kernel.unprivileged_userns_clone, or AppArmor's `userns`); or run as another user, in a container";
            Check::new("boundary", State::Warning, found, remedy)
        }
    }
}

fn lock(here: &Here) -> Check {
    match here.store.holder() {
        Ok(None) => Check::new("lock", State::Good, "nobody works here", ""),
        Ok(Some(holder)) => Check::new("lock", State::Good, format!("{} works here", holder.words()), ""),
        Err(error) => Check::new("lock", State::Bad, error.to_string(), "make .loa-run/lock readable and writable"),
    }
}

/// Processes that a session left which died.
fn children(here: &Here) -> Check {
    let name = "children";
    let died = here.present().ok().flatten().filter(|state| state.status == RunStatus::Running);
    let working = here.store.holder().is_ok_and(|holder| holder.is_some());
    let session = died.filter(|_| !working).and_then(|state| state.sessions.last().cloned());
    match session.map(|session| sweep::processes_with("LOA_SESSION_ID", session.as_str())) {
        None | Some(0) => Check::new(name, State::Good, "no process of a dead run is left", ""),
        Some(left) => {
            let found = format!("{left} processes of a run that died still work");
            Check::new(name, State::Warning, found, "`loa-run resume` ends them first")
        }
    }
}

fn records(here: &Here) -> Check {
    let name = "journal";
    match here.present() {
        Ok(None) => Check::new(name, State::Good, "no execution yet", ""),
        Ok(Some(state)) => {
            let found = format!("readable, {} events; the execution is {}", state.seq, state.status.as_str());
            Check::new(name, State::Good, found, "")
        }
        Err(failure) => {
            Check::new(name, State::Bad, failure.text(), "put it back from a backup, or `loa-run run --fresh`")
        }
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
