//! The files that an execution records when it begins, besides what settings and plan come from: those that commands name and
//! the programs of gates by their digests, and scripts of gates and what `runtime.protects` names with their contents too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use glob::{MatchOptions, Pattern};

use super::receivers::{Notification, Receiver};
use super::scripts::{named, of_plan};
use super::{Plan, programs};
use crate::config::Settings;
use crate::events::{PinnedFile, PinnedRole};
use crate::store::Layout;
use crate::system::beneath;
use crate::system::files::{self, FileError};

/// The most files that `runtime.protects` may name.
const MOST_FILES: usize = 2_000;
/// The most bytes of each of them.
const MOST_BYTES: u64 = 8 << 20;
/// The most bytes of all of them.
const MOST_BYTES_IN_ALL: u64 = 64 << 20;
/// The most bytes of a gate's script whose contents are kept, so that people can be shown what changed in it.
const MOST_BYTES_OF_SCRIPT: u64 = 64 << 10;
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

/// What is recorded of the workspace now, and of the programs that gates look for. A script that is to be started and is not there
/// is recorded as missing.
///
/// # Errors
/// [`NotRecorded`] when something that is to be protected cannot be read, or there is more of it than is kept.
pub fn recorded_files(workspace: &Path, plan: &Plan, protects: &[String]) -> Result<Vec<PinnedText>, NotRecorded> {
    let named = of_plan(plan, workspace, &|path| beneath::is_executable(workspace, path)).into_iter();
    let mut all: Vec<PinnedText> = named.map(|(role, path)| named_file(workspace, role, path)).collect();
    let programs = programs::of_plan(workspace, plan).into_iter();
    all.extend(programs.map(|file| PinnedText { file, text: None }));
    let mut protected: BTreeMap<PathBuf, PinnedText> = BTreeMap::new();
    let mut bytes = 0;
    for glob in protects {
        let too_much = |what: String| NotRecorded::TooMuch { glob: glob.clone(), what };
        for path in matching(workspace, glob)? {
            if protected.contains_key(&path) {
                continue;
            }
            let failed = |source| NotRecorded::File { glob: glob.clone(), source };
            let text = match link(workspace, &path) {
                Some(link) => link,
                None => beneath::read(workspace, &path, MOST_BYTES).map_err(failed)?,
            };
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

/// A file that a command or a gate names, as it is now; of a gate's script, and of what is deployed with, what stands in it, too.
fn named_file(workspace: &Path, role: PinnedRole, path: PathBuf) -> PinnedText {
    let is_shown = matches!(role, PinnedRole::Gate | PinnedRole::Deploy);
    let text = is_shown.then(|| beneath::read(workspace, &path, MOST_BYTES_OF_SCRIPT).ok()).flatten();
    let sha256 = text.as_ref().map(PinnedFile::digest).or_else(|| digest_now(workspace, &path));
    PinnedText { file: PinnedFile { role, path, sha256 }, text }
}

/// The scripts of the workspace that programs by which people are told start: they run outside of every boundary.
#[must_use]
pub fn notify_files(workspace: &Path, notification: &Notification) -> Vec<PinnedText> {
    let look = |path: &Path| beneath::is_executable(workspace, path);
    let argvs = notification.receivers.iter().filter_map(Receiver::program);
    let scripts = argvs.flat_map(|argv| named(argv, workspace, &look)).filter(|file| file.is_script);
    let paths: BTreeSet<PathBuf> = scripts.map(|file| file.path).collect();
    paths.into_iter().map(|path| named_file(workspace, PinnedRole::Notify, path)).collect()
}

/// The files whose texts stand around what the agents of a plan are told: their digests.
#[must_use]
pub fn prompt_files(workspace: &Path, plan: &Plan, settings: &Settings) -> Vec<PinnedText> {
    let at_work: BTreeSet<&str> = plan.stages().iter().filter_map(|stage| Some(&*stage.agent()?.backend)).collect();
    let agents = at_work.into_iter().filter_map(|name| settings.backend(name));
    let prompts = agents.map(|agent| agent.section.prompts);
    let names = prompts.flat_map(|prompts| prompts.entries().map(|(_, text)| Some(text?.strip_prefix('@')?.into())));
    let paths: BTreeSet<PathBuf> = names.flatten().collect();
    let recorded = paths.into_iter().filter_map(|path| {
        let sha256 = Some(digest_now(workspace, &path)?);
        Some(PinnedText { file: PinnedFile { role: PinnedRole::Prompt, path, sha256 }, text: None })
    });
    recorded.collect()
}

/// The protected files as they are now, without what stands in them.
///
/// # Errors
/// [`NotRecorded`] when a folder cannot be looked through.
pub(super) fn protected_now(workspace: &Path, protects: &[String]) -> Result<Vec<PinnedFile>, NotRecorded> {
    let mut all: BTreeMap<PathBuf, Option<String>> = BTreeMap::new();
    for glob in protects {
        for path in matching(workspace, glob)? {
            all.entry(path).or_insert_with_key(|path| match link(workspace, path) {
                Some(link) => Some(PinnedFile::digest(link)),
                None => digest_now(workspace, path),
            });
        }
    }
    let role = PinnedRole::Protected;
    Ok(all.into_iter().map(|(path, sha256)| PinnedFile { role, path, sha256 }).collect())
}

/// What a link counts as that lies in the place of a protected file: where it leads, and not what is there.
fn link(workspace: &Path, path: &Path) -> Option<Vec<u8>> {
    let leads = files::link_target(&workspace.join(path))?;
    Some(format!("a link to {}", leads.display()).into_bytes())
}

/// The regular files and the links that a glob names.
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

/// What stands in a recorded file now, where that is short; of a link in the place of a protected file, what it counts as.
pub(super) fn text_now(workspace: &Path, file: &PinnedFile) -> Option<Vec<u8>> {
    let link = if file.role == PinnedRole::Protected { link(workspace, &file.path) } else { None };
    link.or_else(|| beneath::read(workspace, &file.path, MOST_BYTES_OF_SCRIPT).ok())
}

/// The digest of what stands in a file of the workspace; `None` where there is no regular one that can be read.
pub(super) fn digest_now(workspace: &Path, path: &Path) -> Option<String> {
    PinnedFile::digest_of(beneath::open(workspace, path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::files::{self, Privacy};

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
            ["Makefile", "tests/a/one", "tests/link", "tests/two"]
        );
        let now = protected_now(root, &["tests/**".to_owned()]).expect("few");
        let begun = recorded_files(root, &plan, &["tests/**".to_owned()]).expect("few");
        assert_eq!(now, begun.into_iter().map(|it| it.file).collect::<Vec<_>>());
        assert_eq!(protected(&["*"]).expect("few"), ["Makefile"]);
        assert_eq!(protected(&["missing", "**/no"]).expect("few"), ["src/tests/no"]);
        assert!(protected(&["a["]).expect_err("no glob").to_string().contains("runtime.protects: `a[` is no glob"));
        let big = vec![0; usize::try_from(MOST_BYTES).expect("small") + 1];
        files::replace(&root.join("tests/big"), &big, Privacy::Shared).expect("written");
        let refused = protected(&["tests/**"]).expect_err("too big");
        assert!(crate::diag::in_one_line(&refused).contains("longer than the 8388608 bytes"), "{refused}");
    }
}
