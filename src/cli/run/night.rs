//! What ends a night although everything works in the evening: a machine that sleeps, a full disk, a login that ends, a
//! quota that is nearly used up.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};

use super::check::{Check, State};
use super::given::Here;
use crate::backend::{Login, every_backend, login, login_file, may_be_let_in_otherwise};
use crate::config::{BackendSettings, Settings};
use crate::draw::{moment, span};
use crate::runner::{Plan, Surroundings};
use crate::system::files::{self, Room};
use crate::system::sleep::SleepSettings;
use crate::system::{clock, env};

/// How much room a run should find on its disk, in bytes, and how much it needs at least.
const ROOM: u64 = 1 << 30;
const LEAST_ROOM: u64 = 64 << 20;
/// The same for the number of files that can still be made.
const FILES: u64 = 20_000;
const LEAST_FILES: u64 = 1000;
/// A quota of which so many hundredths are used is nearly used up.
const NEARLY: u64 = 90;
/// A login that ended longer ago than this was not renewed by its program's daily use.
const STALE: SignedDuration = SignedDuration::from_hours(24);

/// The room wherever a run writes: the workspace, its state, and temporary files.
pub(super) fn disks(here: &Here) -> Vec<Check> {
    let state = here.place.base().ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("/")).to_path_buf();
    let temporary = PathBuf::from(env::var("TMPDIR").unwrap_or_else(|| "/tmp".to_owned()));
    let places = [("disk", here.layout.workspace().to_path_buf()), ("disk, state", state), ("disk, tmp", temporary)];
    places.into_iter().map(|(name, folder)| disk(name, &folder)).collect()
}

fn disk(name: &str, folder: &Path) -> Check {
    match files::room(folder) {
        Ok(room) => {
            let (state, found) = judged(room);
            let remedy = format!("make room where {} lies", folder.display());
            Check::new(name, state, found, &remedy)
        }
        Err(error) => Check::new(name, State::Warning, error.to_string(), "look at the disk"),
    }
}

fn judged(room: Room) -> (State, String) {
    let bytes = match room.bytes {
        0..LEAST_ROOM => State::Bad,
        LEAST_ROOM..ROOM => State::Warning,
        _ => State::Good,
    };
    let files = match room.files {
        Some(0..LEAST_FILES) => State::Bad,
        Some(LEAST_FILES..FILES) => State::Warning,
        _ => State::Good,
    };
    let worst = [State::Bad, State::Warning].into_iter().find(|state| [bytes, files].contains(state));
    let left = room.files.filter(|_| files != State::Good).map(|left| format!(", and {left} files can be made"));
    (worst.unwrap_or(State::Good), format!("{} MiB are free{}", room.bytes >> 20, left.unwrap_or_default()))
}

/// Whether the machine goes to sleep while its owner does.
pub(super) fn sleep(root: &Path) -> Check {
    let name = "sleep";
    let Some(settings) = SleepSettings::read(root) else {
        return Check::new(name, State::NotChecked, "not checked: systemd does not run here", "");
    };
    let mut found = Vec::new();
    if let Some(lid) = settings.lid.as_ref().filter(|lid| SleepSettings::sleeps(lid)) {
        found.push(format!("a closed lid means {lid}"));
    }
    if SleepSettings::sleeps(&settings.idle) {
        found.push(format!("a machine at which nobody types means {}", settings.idle));
    }
    if settings.on_battery {
        found.push("it runs on its battery".to_owned());
    }
    if found.is_empty() {
        return Check::new(name, State::Good, "logind does not let this machine sleep; a desktop of its own may", "");
    }
    let remedy = "plug it in and leave it open, or `systemd-inhibit --what=sleep:idle:handle-lid-switch loa-run run`";
    Check::new(name, State::Warning, found.join("; "), remedy)
}

/// The logins and quotas of the agents that a plan asks.
pub(super) fn agents(plan: &Plan, settings: &Settings, workspace: &Path) -> Vec<Check> {
    let now = clock::now().wall();
    let stages = plan.stages().iter().filter(|stage| !stage.skip);
    let names: BTreeSet<&str> = stages.filter_map(|stage| Some(stage.agent()?.backend.as_str())).collect();
    let backends = every_backend(settings);
    let mut checks = Vec::new();
    for name in names {
        let Some((known, backend)) = settings.backend(name).zip(backends.get(name)) else { continue };
        let has_key = |name: &String| known.section.env.contains_key(name) || env::var(name).is_some();
        // What a container knows of, nobody sees from here; with a key there is no login.
        if known.section.docker.is_none() && !backend.credentials().iter().any(has_key) {
            checks.extend(of_agent(&known, now));
        }
        let surroundings = Surroundings { workspace: workspace.to_path_buf(), ..Surroundings::default() };
        let used = backend.quota().and_then(|most| Some((backend.usage(&surroundings, now)?, most)));
        checks.extend(
            used.map(|(usage, most)| {
                quota(name, usage.cycle.prompts, most, usage.used_up(most), usage.cycle.window.end)
            }),
        );
    }
    checks
}

/// The login of an agent that has no key.
fn of_agent(known: &BackendSettings, now: Timestamp) -> Option<Check> {
    let var = |name: &str| known.section.env.get(name).cloned().or_else(|| env::var(name));
    let file = login_file(known.kind, Path::new(&var("HOME")?), var)?;
    let login = login(known.kind, &file);
    // Its own arguments may name another provider.
    let otherwise = || !known.section.args.is_empty() || may_be_let_in_otherwise(known.kind, &file, var);
    if login == Login::Absent && otherwise() {
        let found = format!("not checked: it has no key and no {}; its own settings may let it in", file.display());
        return Some(Check::new(&format!("{}, login", known.name), State::NotChecked, found, ""));
    }
    Some(of_login(&known.name, &file, &login, now))
}

fn of_login(name: &str, file: &Path, login: &Login, now: Timestamp) -> Check {
    let (what, again) = (format!("{name}, login"), format!("log in again: start `{name}` once, and let it answer"));
    let ago =
        |at: Timestamp| span(u64::try_from(now.duration_since(at).abs().as_secs()).unwrap_or(0).saturating_mul(1000));
    let night = SignedDuration::from_hours(8);
    match *login {
        Login::Absent => {
            let found = format!("it has no key, and nobody has logged in: there is no {}", file.display());
            let remedy = format!("log in: start `{name}` once, and let it answer; or give it a key in its environment");
            Check::new(&what, State::Bad, found, &remedy)
        }
        Login::Unknown => {
            let found = format!("not checked: {} says no end of a login", file.display());
            Check::new(&what, State::NotChecked, found, "")
        }
        Login::Ends(at) if at <= now => Check::new(&what, State::Bad, format!("it ended {} ago", ago(at)), &again),
        Login::Ends(at) if at < now + night => {
            Check::new(&what, State::Warning, format!("it ends in {}, before the night does", ago(at)), &again)
        }
        Login::Renewed(at) if at < now - STALE => {
            let found =
                format!("it ended {} ago; the program tries to renew it, if its provider still agrees", ago(at));
            Check::new(&what, State::Warning, found, &again)
        }
        Login::Ends(at) => Check::new(&what, State::Good, format!("it lasts for {}", ago(at)), ""),
        Login::Renewed(_) => Check::new(&what, State::Good, "the program renews it by itself", ""),
    }
}

fn quota(name: &str, used: u64, most: u64, until: Option<Timestamp>, ends: Timestamp) -> Check {
    let name = format!("{name}, quota");
    let remedy = "begin later, or let the run wait: runtime.limit_patience_hours; `loa-run usage` shows more";
    if let Some(until) = until {
        let found = format!("{used} of {most} prompts: used up until {}", moment(until));
        return Check::new(&name, State::Warning, found, remedy);
    }
    let nearly = used.saturating_mul(100) >= most.saturating_mul(NEARLY);
    let found = format!("{used} of {most} prompts are used in the cycle that ends at {}", moment(ends));
    Check::new(&name, if nearly { State::Warning } else { State::Good }, found, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::scratch;

    fn of(check: &Check) -> (State, String) {
        (check.state(), check.found().to_owned())
    }

    #[test]
    fn a_disk_needs_room_for_bytes_and_for_files() {
        for (bytes, files, state) in [
            (ROOM, Some(FILES), State::Good),
            (ROOM, None, State::Good),
            (ROOM - 1, Some(FILES), State::Warning),
            (LEAST_ROOM - 1, None, State::Bad),
            (ROOM, Some(FILES - 1), State::Warning),
            (ROOM, Some(LEAST_FILES - 1), State::Bad),
            (0, Some(0), State::Bad),
        ] {
            assert_eq!(judged(Room { bytes, files }).0, state, "{bytes} {files:?}");
        }
        assert!(judged(Room { bytes: ROOM, files: Some(7) }).1.contains("7 files"));
    }

    #[test]
    fn a_machine_that_sleeps_is_warned_of_and_one_that_nobody_knows_is_not_called_good() {
        let root = tempfile::tempdir().expect("a folder");
        let lay = |path: &str, text: &str| scratch::lay(&root.path().join(path), text.as_bytes()).expect("laid");
        assert_eq!(of(&sleep(root.path())).0, State::NotChecked);
        lay("run/systemd/system/x", "");
        assert_eq!(of(&sleep(root.path())).0, State::Good);
        lay("sys/class/power_supply/BAT0/type", "Battery");
        let (state, found) = of(&sleep(root.path()));
        assert!(state == State::Warning && found == "a closed lid means suspend", "{found}");
        lay("etc/systemd/logind.conf", "HandleLidSwitch=ignore\nIdleAction=suspend\n");
        let (state, found) = of(&sleep(root.path()));
        assert!(state == State::Warning && found.contains("nobody types"), "{found}");
    }

    #[test]
    fn a_login_that_ended_or_ends_in_the_night_is_told() {
        let now = Timestamp::from_second(1_800_000_000).expect("a time");
        let hours = SignedDuration::from_hours;
        let file = Path::new("/home/me/.claude/.credentials.json");
        for (login, state, words) in [
            (Login::Unknown, State::NotChecked, "not checked"),
            (Login::Absent, State::Bad, "nobody has logged in"),
            (Login::Ends(now - hours(1)), State::Bad, "it ended 1 h ago"),
            (Login::Ends(now + hours(3)), State::Warning, "it ends in 3 h"),
            (Login::Ends(now + hours(30)), State::Good, "it lasts for 30 h"),
            (Login::Renewed(now - hours(1)), State::Good, "renews it"),
            (Login::Renewed(now - hours(50)), State::Warning, "it ended 50 h ago"),
        ] {
            let (found_state, found) = of(&of_login("claude", file, &login, now));
            assert!(found_state == state && found.contains(words), "{login:?}: {found}");
        }
    }

    #[test]
    fn a_quota_is_told_before_it_is_used_up() {
        let at = Timestamp::from_second(1_800_000_000).expect("a time");
        for (used, until, state) in [
            (10, None, State::Good),
            (89, None, State::Good),
            (90, None, State::Warning),
            (100, Some(at), State::Warning),
        ] {
            let check = quota("claude", used, 100, until, at);
            assert_eq!(check.state(), state, "{used}");
        }
    }
}
