//! The files of the workspace that an execution records when it begins, besides what settings and plan come from: scripts by
//! their digests, and what `runtime.protects` names with its contents too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use glob::{MatchOptions, Pattern};

use super::scripts::{of_plan, scripts};
use super::{Plan, Stage, Work};
use crate::contract::Phase;
use crate::events::{PinnedFile, PinnedRole};
use crate::store::Layout;
use crate::system::beneath;
use crate::system::files::FileError;

/// The most files that `runtime.protects` may name.
const MOST_FILES: usize = 2_000;
/// The most bytes of each of them, and of a script.
const MOST_BYTES: u64 = 8 << 20;
/// The most bytes of all of them.
const MOST_BYTES_IN_ALL: u64 = 64 << 20;
/// The most entries of folders that are looked at for them.
const MOST_ENTRIES: usize = 100_000;

/// A file that is taken for an execution, with what stands in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedText {
    /// The file.
    pub file: PinnedFile,
    /// What stands in it and is to be kept; `None` where there is no such file, or its digest alone is wanted.
    pub text: Option<Vec<u8>>,
}

/// Why files cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum NotRecorded {
    /// Not a glob.
    #[error("runtime.protects: `{glob}` is no glob: {reason}")]
    Glob {
        /// What was written.
        glob: String,
        /// Why.
        reason: String,
    },
    /// Beyond a limit.
    #[error("runtime.protects: `{glob}` names {what}, which is the limit")]
    TooMuch {
        /// The glob at which it was met.
        glob: String,
        /// The limit, in words.
        what: String,
    },
    /// One of them cannot be read.
    #[error("runtime.protects: `{glob}` names a file that cannot be recorded")]
    File {
        /// The glob.
        glob: String,
        /// Why.
        #[source]
        source: FileError,
    },
}

/// What is recorded of the workspace now.
///
/// # Errors
/// [`NotRecorded`] when something that is to be protected cannot be read, or there is more of it than is kept.
pub fn recorded_files(workspace: &Path, plan: &Plan, protects: &[String]) -> Result<Vec<PinnedText>, NotRecorded> {
    let scripts = of_plan(plan, workspace).into_iter().map(|(role, path)| {
        let sha256 = digest_of(workspace, &path);
        PinnedText { file: PinnedFile { role, path, sha256 }, text: None }
    });
    let mut all: Vec<PinnedText> = scripts.collect();
    let mut protected: BTreeMap<PathBuf, PinnedText> = BTreeMap::new();
    let mut bytes = 0;
    for glob in protects {
        let too_much = |what: String| NotRecorded::TooMuch { glob: glob.clone(), what };
        for path in matching(workspace, glob)? {
            if protected.contains_key(&path) {
                continue;
            }
            let failed = |source| NotRecorded::File { glob: glob.clone(), source };
            let text = beneath::read(workspace, &path, MOST_BYTES).map_err(failed)?;
            bytes += text.len() as u64;
            let sha256 = Some(PinnedFile::digest(&text));
            let file = PinnedFile { role: PinnedRole::Protected, path: path.clone(), sha256 };
            protected.insert(path, PinnedText { file, text: Some(text) });
            if protected.len() > MOST_FILES {
                return Err(too_much(format!("more than {MOST_FILES} files")));
            }
            if bytes > MOST_BYTES_IN_ALL {
                return Err(too_much(format!("more than {} MiB in all", MOST_BYTES_IN_ALL >> 20)));
            }
        }
    }
    all.extend(protected.into_values());
    Ok(all)
}

/// The regular files that a glob names.
fn matching(workspace: &Path, glob: &str) -> Result<Vec<PathBuf>, NotRecorded> {
    let wrong = |error: glob::PatternError| NotRecorded::Glob { glob: glob.to_owned(), reason: error.to_string() };
    let pattern = Pattern::new(glob).map_err(wrong)?;
    let options = MatchOptions { require_literal_separator: true, ..MatchOptions::default() };
    // Only what lies below its plain beginning can match.
    let base: PathBuf = glob.split('/').take_while(|part| !part.contains(['*', '?', '['])).collect();
    let left_out = [&[".git"], Layout::OWN].concat();
    let failed = |source| NotRecorded::File { glob: glob.to_owned(), source };
    let found = beneath::files(workspace, &base, &left_out, MOST_ENTRIES).map_err(failed)?;
    let too_many = || NotRecorded::TooMuch {
        glob: glob.to_owned(),
        what: format!("a place with more than {MOST_ENTRIES} entries"),
    };
    let found = found.ok_or_else(too_many)?;
    Ok(found.into_iter().filter(|path| pattern.matches_path_with(path, options)).collect())
}

/// The digest of what stands in a file of the workspace; `None` where there is no regular one that can be read.
fn digest_of(workspace: &Path, path: &Path) -> Option<String> {
    beneath::read(workspace, path, MOST_BYTES).ok().map(PinnedFile::digest)
}

/// The scripts of a stage's gate, or of an audit's own command, that are there and are none of those that were pinned. A script
/// that was not there when it was pinned is no such script: nobody began with it.
pub(super) fn changed_scripts(workspace: &Path, stage: &Stage, pinned: &[PinnedFile]) -> Vec<PinnedFile> {
    let own = stage.work.iter().filter_map(|work| match work {
        Work::Command(argv) if stage.phase == Phase::Audit => Some(argv),
        _ => None,
    });
    let gates = own.chain(&stage.verify).flat_map(|argv| scripts(argv, workspace));
    let changed = gates.filter_map(|path| {
        let known: Vec<&PinnedFile> =
            pinned.iter().filter(|file| file.role == PinnedRole::Gate && file.path == path).collect();
        if known.first().is_none_or(|first| first.sha256.is_none()) {
            return None;
        }
        let sha256 = digest_of(workspace, &path);
        (!known.iter().any(|file| file.sha256 == sha256)).then_some(PinnedFile { role: PinnedRole::Gate, path, sha256 })
    });
    changed.collect()
}

/// How recorded files differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Differences {
    /// What differs, one line each.
    pub lines: Vec<String>,
    /// Those of them that ask less of a run: a gate's script or a protected file that is another one, or gone.
    pub weaker: Vec<String>,
}

/// How files differ from those that were pinned. `pinned` may have several digests of one file, which are all agreed to.
#[must_use]
pub fn differences(pinned: &[PinnedFile], now: &[PinnedText]) -> Differences {
    let mut found = Differences::default();
    let before = pinned.iter().filter(|file| !file.is_read());
    let mut known: BTreeMap<(PinnedRole, &Path), Vec<Option<&str>>> = BTreeMap::new();
    for file in before {
        known.entry((file.role, &file.path)).or_default().push(file.sha256.as_deref());
    }
    let mut present: BTreeMap<(PinnedRole, &Path), Option<&str>> = BTreeMap::new();
    for file in now.iter().map(|pinned| &pinned.file).filter(|file| !file.is_read()) {
        present.insert((file.role, &file.path), file.sha256.as_deref());
    }
    for ((role, path), digests) in &known {
        let now = present.get(&(*role, *path)).copied().flatten();
        let was_there = digests[0].is_some();
        if digests.contains(&now) {
            continue;
        }
        let how = match (was_there, now) {
            (true, None) => "is gone",
            (false, Some(_)) => "is new",
            _ => "changed",
        };
        let line = format!("{} {} {how}", words(*role), path.display());
        if was_there && *role != PinnedRole::Command {
            found.weaker.push(line.clone());
        }
        found.lines.push(line);
    }
    let is_new =
        |(role, path): &&(PinnedRole, &Path)| *role == PinnedRole::Protected && !known.contains_key(&(*role, *path));
    let new = present.keys().filter(is_new);
    found.lines.extend(new.map(|(role, path)| format!("{} {} is new", words(*role), path.display())));
    found
}

fn words(role: PinnedRole) -> &'static str {
    match role {
        PinnedRole::Gate => "the gate script",
        PinnedRole::Protected => "the protected file",
        _ => "the script",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::files::{self, Privacy};

    fn file(role: PinnedRole, path: &str, sha256: Option<&str>) -> PinnedFile {
        PinnedFile { role, path: path.into(), sha256: sha256.map(str::to_owned) }
    }

    #[test]
    fn what_changed_is_named_and_what_asks_for_less_is_weaker() {
        use PinnedRole::{Command, Gate, Protected};
        let text = |file: PinnedFile| PinnedText { file, text: None };
        for (before, after, line, is_weaker) in [
            (vec![file(Gate, "g", Some("1"))], Some(file(Gate, "g", Some("1"))), "", false),
            (vec![file(Gate, "g", Some("1"))], Some(file(Gate, "g", Some("2"))), "the gate script g changed", true),
            (vec![file(Gate, "g", Some("1"))], Some(file(Gate, "g", None)), "the gate script g is gone", true),
            (vec![file(Gate, "g", None)], Some(file(Gate, "g", Some("2"))), "the gate script g is new", false),
            (vec![file(Gate, "g", Some("1")), file(Gate, "g", Some("2"))], Some(file(Gate, "g", Some("2"))), "", false),
            (vec![file(Command, "c", Some("1"))], Some(file(Command, "c", Some("2"))), "the script c changed", false),
            (vec![file(Protected, "p", Some("1"))], None, "the protected file p is gone", true),
            (vec![], Some(file(Protected, "p", Some("1"))), "the protected file p is new", false),
            (vec![file(PinnedRole::Plan, "plan", Some("1"))], None, "", false),
        ] {
            let found = differences(&before, &after.into_iter().map(text).collect::<Vec<_>>());
            assert_eq!((found.lines.join("\n"), found.weaker.is_empty()), (line.to_owned(), !is_weaker), "{before:?}");
        }
    }

    #[test]
    fn what_is_protected_is_found_by_its_globs_and_bounded() {
        let place = tempfile::tempdir().expect("a folder");
        let root = place.path();
        for name in ["tests/a/one", "tests/two", "Makefile", "src/tests/no", ".git/tests", ".loa-run/x"] {
            files::ensure_folder(root.join(name).parent().expect("a parent")).expect("made");
            files::replace(&root.join(name), name.as_bytes(), Privacy::Shared).expect("written");
        }
        std::os::unix::fs::symlink("/etc/hostname", root.join("tests/link")).expect("linked");
        let plan = Plan::new(Vec::new()).expect("a plan");
        let protected = |globs: &[&str]| {
            let globs: Vec<String> = globs.iter().map(|glob| (*glob).to_owned()).collect();
            let found = recorded_files(root, &plan, &globs)?;
            assert!(found.iter().all(|it| it.text.as_deref().map(PinnedFile::digest) == it.file.sha256));
            Ok::<_, NotRecorded>(found.into_iter().map(|it| it.file.path.display().to_string()).collect::<Vec<_>>())
        };
        assert_eq!(
            protected(&["tests/**", "Makefile", "tests/two"]).expect("few"),
            ["Makefile", "tests/a/one", "tests/two"]
        );
        assert_eq!(protected(&["*"]).expect("few"), ["Makefile"]);
        assert_eq!(protected(&["missing", "**/no"]).expect("few"), ["src/tests/no"]);
        assert!(protected(&["a["]).expect_err("no glob").to_string().contains("runtime.protects: `a[` is no glob"));
        let big = vec![0; usize::try_from(MOST_BYTES).expect("small") + 1];
        files::replace(&root.join("tests/big"), &big, Privacy::Shared).expect("written");
        let refused = protected(&["tests/**"]).expect_err("too big");
        assert!(crate::diag::in_one_line(&refused).contains("longer than the 8388608 bytes"), "{refused}");
    }
}
