//! What a git repository looks like now, to tell whether work changed anything. Read only, and no repository is fine. A phase
//! may have written its configuration: git starts no program for us that stands there.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use base16ct::lower::encode_string;
use rustix::process::{Pid, Signal, kill_process_group};
use sha2::{Digest, Sha256};

use super::env;
use super::process::Command;
use super::process::own::Own;

/// The longest that git is waited for.
const LONGEST: Duration = Duration::from_secs(30);
/// The most settings that are taken over from the environment.
const MOST_SETTINGS: usize = 100;

/// The state of a work tree: its commit and a digest of everything that differs from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The commit; `None` before the first.
    pub head: Option<String>,
    /// SHA-256 in hex over the differences from the commit and over the untracked files' names, sizes and times.
    pub tree: String,
}

/// The state of the repository that contains `folder`, without the paths in `except`; `None` when there is no
/// repository or no git.
#[must_use]
pub fn snapshot(folder: &Path, except: &[&str]) -> Option<Snapshot> {
    git(folder, &["rev-parse", "--git-dir"])?;
    let head = git(folder, &["rev-parse", "--verify", "-q", "HEAD"]);
    let excluded: Vec<String> = except.iter().map(|path| format!(":(exclude){path}")).collect();
    let filters = filters_now(folder);
    let with_paths = |arguments: &[&str]| {
        let mut all: Vec<&str> = arguments.to_vec();
        all.extend(["--", "."]);
        all.extend(excluded.iter().map(String::as_str));
        asked_without(folder, &filters, &all).filter(|output| output.status.success()).map(|output| output.stdout)
    };
    let mut digest = Sha256::new();
    let base: &[&str] = if head.is_some() { &["HEAD"] } else { &["--cached"] };
    let diff = with_paths(&[&DIFF[..], &["--binary", "--ignore-submodules=dirty"], base].concat())?;
    digest.update(&diff);
    let untracked = with_paths(&["ls-files", "--others", "--exclude-standard", "-z"])?;
    for name in untracked.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        digest.update(name);
        digest.update(describe(folder, name));
    }
    let head = head.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
    Some(Snapshot { head, tree: encode_string(&digest.finalize()) })
}

/// Why a folder counts as in no repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoRepository {
    /// There is no git.
    NoGit,
    /// There is none.
    None,
    /// There is one, and git does not look into it, in its own words; in none where it takes it for no repository.
    Refused(String),
}

/// Why [`snapshot`] found nothing in the folder.
#[must_use]
pub fn why_no_repository(folder: &Path) -> NoRepository {
    let Some(output) = asked(folder, &["rev-parse", "--git-dir"]) else { return NoRepository::NoGit };
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let is_there = folder.ancestors().any(|folder| std::fs::symlink_metadata(folder.join(".git")).is_ok());
    if !is_there && !said.contains("dubious ownership") {
        return NoRepository::None;
    }
    let said = said.trim_start_matches("fatal: ");
    let says_why = !output.status.success() && !said.starts_with("not a git repository");
    NoRepository::Refused(if says_why { said.to_owned() } else { String::new() })
}

/// The commit of the repository that contains `folder`; `None` before the first, and where there is no repository.
#[must_use]
pub fn head(folder: &Path) -> Option<String> {
    let head = git(folder, &["rev-parse", "--verify", "-q", "HEAD^{commit}"])?;
    Some(String::from_utf8_lossy(&head).trim().to_owned())
}

/// Whether files that git knows differ from the commit, or may.
#[must_use]
pub fn is_changed(folder: &Path, except: &[&str]) -> bool {
    let excluded: Vec<String> = except.iter().map(|path| format!(":(exclude){path}")).collect();
    // Looks at sizes and times alone, so that no filter of the repository is run.
    let how = ["diff-index", "--name-only", "--ignore-submodules=all", "HEAD", "--", "."];
    git(folder, &how.into_iter().chain(excluded.iter().map(String::as_str)).collect::<Vec<_>>())
        .is_some_and(|names| !names.is_empty())
}

/// The files that git does not know and does not ignore, by their names, each with what tells whether it was changed; `None`
/// when there is no repository or no git, and where there are more than `most`.
#[must_use]
pub fn untracked(folder: &Path, except: &[&str], most: usize) -> Option<BTreeMap<String, String>> {
    let names = git(folder, &others(except).iter().map(String::as_str).collect::<Vec<_>>())?;
    let names = String::from_utf8_lossy(&names);
    let names: Vec<&str> = names.split('\0').filter(|name| !name.is_empty()).collect();
    let stamped = |name: &str| (name.to_owned(), stamp(folder, name));
    (names.len() <= most).then(|| names.into_iter().map(stamped).collect())
}

/// What tells whether a file was changed: its size in bytes, and behind a colon when it was written.
#[must_use]
pub fn stamp(folder: &Path, name: &str) -> String {
    describe(folder, name.as_bytes())
}

/// Prints the names of the repository's filters, one a line, to be switched off by [`diffstat`].
#[must_use]
pub fn filters(folder: &Path) -> Command {
    reader(folder, "").args(FILTERS)
}

/// Prints what changed in the work tree since a commit, in a few short lines. Nothing that the repository configures is
/// run for it: no hook, no filter, no pager, no program that shows or watches files.
#[must_use]
pub fn diffstat(folder: &Path, since: &str, filters: &str, except: &[&str]) -> Command {
    let form = ["--no-color", "--ignore-submodules=all", "--stat=60,40", "--stat-count=12", since, "--", "."];
    let excluded = except.iter().map(|path| format!(":(exclude){path}"));
    reader(folder, filters).args(DIFF).args(form).args(excluded)
}

/// Prints the names of files that git does not know and does not ignore, each with a zero byte behind it.
#[must_use]
pub fn unknown_files(folder: &Path, except: &[&str]) -> Command {
    reader(folder, "").args(others(except))
}

fn others(except: &[&str]) -> Vec<String> {
    let how = ["ls-files", "--others", "--exclude-standard", "-z", "--", "."].map(str::to_owned);
    how.into_iter().chain(except.iter().map(|path| format!(":(exclude){path}"))).collect()
}

/// Asks for the names of filters.
const FILTERS: [&str; 4] = ["config", "--name-only", "--get-regexp", "^filter\\."];
/// Asks for what changed, and shows it by no program of the repository's.
const DIFF: [&str; 4] = ["diff", "--no-ext-diff", "--no-textconv", "--submodule=short"];

/// A git that only reads, and starts nothing by itself. `filters` are the names of those to be switched off.
fn reader(folder: &Path, filters: &str) -> Command {
    let command = Command::helper("git").args(["--no-pager"]).folder(folder);
    let settings = settings(filters, &env::vars());
    settings.into_iter().fold(command, |command, (name, value)| command.env(name, value))
}

/// What git is told by its environment. What the repository configures to be run is off; of what the user's own environment
/// configures, which folders are safe is kept.
fn settings(filters: &str, vars: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let mut keys: Vec<(String, String)> =
        [("core.fsmonitor", "false"), ("core.hooksPath", "/dev/null"), ("core.quotePath", "false")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .to_vec();
    let var = |name: String| vars.get(&name).cloned();
    let count = var("GIT_CONFIG_COUNT".to_owned()).and_then(|count| count.parse().ok()).unwrap_or(0_usize);
    keys.extend((0..count.min(MOST_SETTINGS)).filter_map(|number| {
        let key = var(format!("GIT_CONFIG_KEY_{number}")).filter(|key| key.eq_ignore_ascii_case("safe.directory"))?;
        Some((key, var(format!("GIT_CONFIG_VALUE_{number}"))?))
    }));
    let names = filters.lines().filter_map(|key| key.strip_suffix(".clean").or_else(|| key.strip_suffix(".process")));
    let off = |name: &str| {
        [("clean", ""), ("process", ""), ("required", "false")]
            .map(|(key, value)| (format!("{name}.{key}"), value.to_owned()))
    };
    keys.extend(names.flat_map(off));
    let kept = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES"];
    let kept = kept.into_iter().filter_map(|name| Some((name.to_owned(), vars.get(name)?.clone())));
    let fixed =
        [("GIT_OPTIONAL_LOCKS", "0"), ("GIT_TERMINAL_PROMPT", "0"), ("GIT_NO_LAZY_FETCH", "1"), ("LC_ALL", "C")];
    let fixed = fixed.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter();
    let count = ("GIT_CONFIG_COUNT".to_owned(), keys.len().to_string());
    // By the environment and not by `-c`: a name may hold any character, also `=`.
    let keys = keys.into_iter().enumerate().flat_map(|(number, (key, value))| {
        [(format!("GIT_CONFIG_KEY_{number}"), key), (format!("GIT_CONFIG_VALUE_{number}"), value)]
    });
    kept.chain(fixed).chain([count]).chain(keys).collect()
}

/// Whether git would leave a path of the folder alone; `None` when there is no repository or no git.
#[must_use]
pub fn is_ignored(folder: &Path, path: &str) -> Option<bool> {
    git(folder, &["rev-parse", "--git-dir"])?;
    // A folder that is not there yet is matched by a rule for folders only when it is named as one.
    Some(git(folder, &["check-ignore", "-q", "--no-index", &format!("{path}/")]).is_some())
}

fn describe(folder: &Path, name: &[u8]) -> String {
    use std::os::unix::ffi::OsStrExt;
    let path = folder.join(std::ffi::OsStr::from_bytes(name));
    std::fs::symlink_metadata(path)
        .map_or_else(|_| "gone".to_owned(), |m| format!("{}:{:?}", m.len(), m.modified().ok()))
}

fn git(folder: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let output = asked(folder, arguments)?;
    output.status.success().then_some(output.stdout)
}

/// The filters of the repository, whose programs nobody starts for a look.
fn filters_now(folder: &Path) -> String {
    let names = git(folder, &FILTERS).unwrap_or_default();
    String::from_utf8_lossy(&names).into_owned()
}

/// What git says, whatever that is; `None` where there is no git, or where it takes too long.
fn asked(folder: &Path, arguments: &[&str]) -> Option<Output> {
    asked_without(folder, "", arguments)
}

fn asked_without(folder: &Path, filters: &str, arguments: &[&str]) -> Option<Output> {
    let mut command = reader(folder, filters).args(arguments).prepared();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().ok()?;
    let own = Own::mark(child.id());
    let group = Pid::from_raw(i32::try_from(child.id()).ok()?);
    let (sender, output) = mpsc::channel();
    std::thread::spawn(move || {
        // Whoever asked may have gone on.
        let _ = sender.send(child.wait_with_output());
        drop(own);
    });
    let Ok(output) = output.recv_timeout(LONGEST) else {
        // It and what it started: nobody waits for a repository that lets nobody look.
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        return None;
    };
    output.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_is_told_which_folders_are_safe_and_starts_nothing_of_the_repository() {
        let vars = [
            ("GIT_CONFIG_COUNT", "3"),
            ("GIT_CONFIG_KEY_0", "safe.directory"),
            ("GIT_CONFIG_VALUE_0", "/workspace"),
            ("GIT_CONFIG_KEY_1", "core.fsmonitor"),
            ("GIT_CONFIG_VALUE_1", "evil"),
            ("ANTHROPIC_API_KEY", "key"),
            ("GIT_DIR", "/elsewhere"),
        ];
        let vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let told = settings("filter.a=b.clean\nfilter.a=b.required\nfilter.lfs.process\n", &vars);
        let has = |name: &str| told.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let keys: Vec<&str> =
            told.iter().filter(|(name, _)| name.starts_with("GIT_CONFIG_KEY_")).map(|(_, key)| key.as_str()).collect();
        assert_eq!(has("GIT_CONFIG_COUNT"), Some("10"), "{told:?}");
        assert!(keys.contains(&"safe.directory") && keys.contains(&"filter.a=b.clean"), "{keys:?}");
        assert_eq!(keys.iter().filter(|key| **key == "core.fsmonitor").count(), 1, "{keys:?}");
        assert!(
            has("ANTHROPIC_API_KEY").is_none() && has("GIT_DIR").is_none() && !told.iter().any(|(_, it)| it == "evil")
        );
    }

    #[test]
    fn a_change_of_content_or_of_an_untracked_file_changes_the_snapshot() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path();
        assert_eq!(snapshot(at, &[]), None, "no repository");
        assert_eq!(why_no_repository(at), NoRepository::None);
        super::super::files::ensure_folder(&at.join(".git")).expect("made");
        assert!(matches!(why_no_repository(at), NoRepository::Refused(_)), "one that is broken");
        git(at, &["init", "-q"]).expect("git is present");
        let empty = snapshot(at, &[".loa-run"]).expect("a repository");
        assert_eq!(empty.head, None);
        let write = |name: &str, text: &str| {
            super::super::files::write_durably(&at.join(name), text.as_bytes(), super::super::files::Privacy::Shared)
                .expect("written");
        };
        write("a", "one");
        let one = snapshot(at, &[".loa-run"]).expect("a repository");
        assert_ne!(one, empty);
        super::super::files::ensure_folder(&at.join(".loa-run")).expect("made");
        write(".loa-run/state", "x");
        assert_eq!(snapshot(at, &[".loa-run"]).expect("a repository"), one, "excepted paths do not count");
        git(at, &["add", "a"]).expect("added");
        git(at, &["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "first"]).expect("committed");
        let committed = snapshot(at, &[".loa-run"]).expect("a repository");
        assert!(committed.head.is_some());
        write("a", "two");
        let edited = snapshot(at, &[".loa-run"]).expect("a repository");
        write("a", "six");
        assert_ne!(snapshot(at, &[".loa-run"]).expect("a repository"), edited, "content counts, not only names");
    }
}
