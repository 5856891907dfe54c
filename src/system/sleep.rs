//! Whether the host goes to sleep by itself, as its own files say: `logind.conf`, and the batteries that the kernel knows.

use std::fs;
use std::path::{Path, PathBuf};

/// What the host's files say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SleepSettings {
    /// What a closed lid does, such as `suspend`; `None` where there is no battery, and so no lid.
    pub lid: Option<String>,
    /// What happens when nobody types for a while.
    pub idle: String,
    /// Whether it runs on its battery now.
    pub on_battery: bool,
}

impl SleepSettings {
    /// Reads them below a root, which is `/`. `None` where systemd does not run, so that nobody here knows who decides.
    #[must_use]
    pub fn read(root: &Path) -> Option<Self> {
        if !root.join("run/systemd/system").is_dir() {
            return None;
        }
        let supplies = supplies(root);
        let has_battery = supplies.iter().any(|supply| word(supply, "type").as_deref() == Some("Battery"));
        let is_main = |supply: &&PathBuf| word(supply, "type").is_some_and(|kind| matches!(&*kind, "Mains" | "USB"));
        let mains: Vec<&PathBuf> = supplies.iter().filter(is_main).collect();
        let is_plugged = mains.iter().any(|supply| word(supply, "online").as_deref() == Some("1"));
        let on_battery = has_battery && !mains.is_empty() && !is_plugged;
        let settings = settings(root);
        let value = |key: &str| settings.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.clone());
        let lid = value("HandleLidSwitch").unwrap_or_else(|| "suspend".to_owned());
        let plugged = value("HandleLidSwitchExternalPower").unwrap_or_else(|| lid.clone());
        Some(Self {
            lid: has_battery.then_some(if on_battery { lid } else { plugged }),
            idle: value("IdleAction").unwrap_or_else(|| "ignore".to_owned()),
            on_battery,
        })
    }

    /// Whether an action ends the work of a night.
    #[must_use]
    pub fn sleeps(action: &str) -> bool {
        !matches!(action, "ignore" | "lock")
    }
}

fn supplies(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root.join("sys/class/power_supply")).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

fn word(folder: &Path, name: &str) -> Option<String> {
    Some(fs::read_to_string(folder.join(name)).ok()?.trim().to_owned())
}

/// All that `logind.conf` and the files beside it say, the strongest last.
fn settings(root: &Path) -> Vec<(String, String)> {
    let folders = ["usr/lib/systemd", "run/systemd", "etc/systemd"].map(|folder| root.join(folder));
    let mut dropped: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder.join("logind.conf.d")).into_iter().flatten())
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "conf"))
        .collect();
    dropped.sort_by(|one, other| one.file_name().cmp(&other.file_name()));
    let main = folders.iter().map(|folder| folder.join("logind.conf"));
    let texts = main.chain(dropped).filter_map(|path| fs::read_to_string(path).ok());
    texts.flat_map(|text| text.lines().filter_map(setting).collect::<Vec<_>>()).collect()
}

fn setting(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    let (key, value) = line.split_once('=').filter(|_| !line.starts_with(['#', ';']))?;
    Some((key.trim().to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::scratch;

    fn host(files: &[(&str, &str)]) -> Option<SleepSettings> {
        let root = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            scratch::lay(&root.path().join(path), text.as_bytes()).expect("laid");
        }
        SleepSettings::read(root.path())
    }

    #[test]
    fn a_laptop_sleeps_when_its_lid_is_closed_unless_its_owner_says_otherwise() {
        let systemd = ("run/systemd/system/x", "");
        let battery = ("sys/class/power_supply/BAT0/type", "Battery\n");
        let mains = ("sys/class/power_supply/AC/type", "Mains\n");
        let online = |is| ("sys/class/power_supply/AC/online", is);
        let told = |lid: Option<&str>, idle: &str, on_battery| {
            Some(SleepSettings { lid: lid.map(str::to_owned), idle: idle.to_owned(), on_battery })
        };
        let conf = "etc/systemd/logind.conf";
        for (files, expected) in [
            (vec![battery], None),
            (vec![systemd], told(None, "ignore", false)),
            (vec![systemd, battery], told(Some("suspend"), "ignore", false)),
            (vec![systemd, battery, mains, online("0")], told(Some("suspend"), "ignore", true)),
            (vec![systemd, battery, mains, online("1")], told(Some("suspend"), "ignore", false)),
            (
                vec![systemd, battery, (conf, "[Login]\nHandleLidSwitch=ignore\n")],
                told(Some("ignore"), "ignore", false),
            ),
            (vec![systemd, battery, (conf, "#HandleLidSwitch=ignore\n")], told(Some("suspend"), "ignore", false)),
            (
                vec![systemd, battery, mains, online("1"), (conf, "HandleLidSwitchExternalPower=ignore\n")],
                told(Some("ignore"), "ignore", false),
            ),
            (
                vec![systemd, battery, mains, online("0"), (conf, "HandleLidSwitchExternalPower=ignore\n")],
                told(Some("suspend"), "ignore", true),
            ),
            (
                vec![
                    systemd,
                    ("usr/lib/systemd/logind.conf.d/10-a.conf", "IdleAction = suspend\n"),
                    ("etc/systemd/logind.conf.d/20-b.conf", "IdleAction=lock\n"),
                    ("etc/systemd/logind.conf", "IdleAction=hibernate\n"),
                ],
                told(None, "lock", false),
            ),
        ] {
            assert_eq!(host(&files), expected, "{files:?}");
        }
        assert!(SleepSettings::sleeps("suspend-then-hibernate") && !SleepSettings::sleeps("lock"));
    }
}
