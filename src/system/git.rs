//! What a git repository looks like now, to tell whether work changed anything. Read only, and no repository is fine.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

use base16ct::lower::encode_string;
use sha2::{Digest, Sha256};

use super::env;
use super::process::Command;

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
    let with_paths = |arguments: &[&str]| {
        let mut all: Vec<&str> = arguments.to_vec();
        all.extend(["--", "."]);
        all.extend(excluded.iter().map(String::as_str));
        git(folder, &all)
    };
    let mut digest = Sha256::new();
    let base: &[&str] = if head.is_some() { &["HEAD"] } else { &["--cached"] };
    let diff = with_paths(&[&["diff", "--no-ext-diff", "--no-textconv", "--binary"], base].concat())?;
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
    reader(folder).args(["config", "--name-only", "--get-regexp", "^filter\\."])
}

/// Prints what changed in the work tree since a commit, in a few short lines. Nothing that the repository configures is
/// run for it: no hook, no filter, no pager, no program that shows or watches files.
#[must_use]
pub fn diffstat(folder: &Path, since: &str, filters: &str, except: &[&str]) -> Command {
    let names = filters.lines().filter_map(|key| key.strip_suffix(".clean").or_else(|| key.strip_suffix(".process")));
    let off = names.flat_map(|name| [(name, "clean", ""), (name, "process", ""), (name, "required", "false")]);
    // By the environment: a name may hold any character, also `=`.
    let mut command = reader(folder);
    let mut count = 0;
    for (name, key, value) in off {
        command = command.env(format!("GIT_CONFIG_KEY_{count}"), format!("{name}.{key}"));
        command = command.env(format!("GIT_CONFIG_VALUE_{count}"), value);
        count += 1;
    }
    let how = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all"];
    let form = ["--stat=60,40", "--stat-count=12", since, "--", "."];
    let excluded = except.iter().map(|path| format!(":(exclude){path}"));
    command.env("GIT_CONFIG_COUNT", count.to_string()).args(how).args(form).args(excluded)
}

/// Prints the names of files that git does not know and does not ignore, each with a zero byte behind it.
#[must_use]
pub fn unknown_files(folder: &Path, except: &[&str]) -> Command {
    reader(folder).args(others(except))
}

fn others(except: &[&str]) -> Vec<String> {
    let how = ["ls-files", "--others", "--exclude-standard", "-z", "--", "."].map(str::to_owned);
    how.into_iter().chain(except.iter().map(|path| format!(":(exclude){path}"))).collect()
}

/// A git that only reads, and starts nothing by itself.
fn reader(folder: &Path) -> Command {
    Command::new("git")
        .args([
            "--no-pager",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.quotePath=false",
        ])
        .folder(folder)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
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

/// What git says, whatever that is; `None` where there is no git.
fn asked(folder: &Path, arguments: &[&str]) -> Option<Output> {
    #[expect(clippy::disallowed_methods, reason = "a short-lived reader that needs none of `process`'s care")]
    let mut command = std::process::Command::new("git");
    if let Some(path) = env::search_path() {
        command.env("PATH", path);
    }
    command
        .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .stdin(std::process::Stdio::null())
        .output()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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
