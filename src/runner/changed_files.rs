//! Which recorded files are not as an execution began with them: before a gate is asked, at the end of a session, and when a
//! human wants to go on. Several digests of one file are all agreed to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::recorded_files::{digest_now, protected_now};
use super::scripts::{approved, gates, named};
use super::{NotRecorded, Plan, Stage, programs};
use crate::diag::Budget;
use crate::events::{ChangedFiles, PinnedFile, PinnedRole};
use crate::system::file_watch::FileWatch;
use crate::system::files;

/// What keeps a stage's gate, or an audit, from being asked, and its answer from being believed: its scripts, its programs, and the
/// protected files, that are none of those that were pinned.
///
/// # Errors
/// [`NotRecorded`] when a folder of protected files cannot be looked through.
pub(super) fn before_gate(
    workspace: &Path,
    stage: &Stage,
    pinned: &[PinnedFile],
    protects: &[String],
) -> Result<Vec<PinnedFile>, NotRecorded> {
    let files: Vec<PathBuf> = gates(stage).flat_map(|gate| recorded(workspace, gate, pinned)).collect();
    let mut changed = named_differently(workspace, (PinnedRole::Gate, &files), pinned);
    changed.extend(programs::changed(workspace, stage, gates(stage), pinned));
    changed.extend(changed_protected(workspace, pinned, protects)?);
    Ok(changed)
}

/// What the deployment runs and nobody has agreed to: its files and programs, and the protected files, that are none of those that
/// were pinned.
///
/// # Errors
/// [`NotRecorded`] when a folder of protected files cannot be looked through.
pub(super) fn before_deploy(
    workspace: &Path,
    stage: &Stage,
    pinned: &[PinnedFile],
    protects: &[String],
) -> Result<Vec<PinnedFile>, NotRecorded> {
    let files: Vec<PathBuf> = approved(stage).flat_map(|argv| recorded(workspace, argv, pinned)).collect();
    let mut changed = named_differently(workspace, (PinnedRole::Deploy, &files), pinned);
    changed.extend(programs::changed(workspace, stage, approved(stage), pinned));
    changed.extend(changed_protected(workspace, pinned, protects)?);
    Ok(changed)
}

/// What a program by which people are told is made of and is none of what was pinned: it would run outside of every boundary, as
/// the person who is told. An execution that an earlier program began recorded nothing of it.
pub(super) fn before_telling(workspace: &Path, argv: &[String], pinned: &[PinnedFile]) -> Vec<PinnedFile> {
    let files = recorded(workspace, argv, pinned);
    named_differently(workspace, (PinnedRole::Notify, &files), pinned)
}

/// Those of these files that are not as they were pinned in that role.
fn named_differently(
    workspace: &Path,
    (role, files): (PinnedRole, &[PathBuf]),
    pinned: &[PinnedFile],
) -> Vec<PinnedFile> {
    let is_its = |file: &&PinnedFile| file.role == role && files.contains(&file.path);
    let now: Vec<PinnedFile> = pinned.iter().filter(is_its).map(|file| now(workspace, file)).collect();
    differing(pinned.iter().filter(is_its), &now)
}

/// The recorded files that a gate names, whatever lies there now: they may be gone, or no regular files any more.
fn recorded(workspace: &Path, gate: &[String], pinned: &[PinnedFile]) -> Vec<PathBuf> {
    let was_there = |path: &Path| pinned.iter().any(|file| !file.is_read() && file.path == path).then_some(false);
    named(gate, workspace, &was_there).into_iter().map(|file| file.path).collect()
}

/// Watches over the scripts and the programs of a gate while it runs: one that is another one for a moment is no gate.
#[derive(Debug)]
pub(super) struct GateWatch(FileWatch);

impl GateWatch {
    /// Begins. Before the files are compared with what was pinned, so that nothing comes between.
    pub(super) fn over(workspace: &Path, stage: &Stage, gate: &[String], pinned: &[PinnedFile]) -> Self {
        let is_script = |path: &PathBuf| pinned.iter().any(|file| file.role == PinnedRole::Gate && file.path == *path);
        let scripts = recorded(workspace, gate, pinned).into_iter().filter(is_script);
        let files: Vec<PathBuf> = scripts.chain(programs::places(workspace, stage, gate)).collect();
        Self(FileWatch::over(workspace, files.iter().map(PathBuf::as_path)))
    }

    /// Those of them that somebody touched, as they are now.
    pub(super) fn touched(self, workspace: &Path, pinned: &[PinnedFile]) -> Vec<PinnedFile> {
        let role = |path: &PathBuf| {
            let is_script = pinned.iter().any(|file| file.role == PinnedRole::Gate && file.path == *path);
            if is_script { PinnedRole::Gate } else { PinnedRole::Program }
        };
        let touched = self.0.touched().into_iter().map(|path| PinnedFile { role: role(&path), path, sha256: None });
        touched.map(|file| now(workspace, &file)).collect()
    }
}

/// What is not as an execution began with it, of all that it recorded, to be named.
#[must_use]
pub(super) fn since_the_start(workspace: &Path, pinned: &[PinnedFile], protects: &[String]) -> ChangedFiles {
    let (protected, unknown) = match changed_protected(workspace, pinned, protects) {
        Ok(protected) => (protected, None),
        Err(error) => (Vec::new(), Some(format!("protected files that cannot be compared ({error})"))),
    };
    let is_file = |file: &&PinnedFile| !matches!(file.role, PinnedRole::Environment | PinnedRole::Other);
    let read: Vec<PinnedFile> =
        pinned.iter().filter(is_file).filter(|file| file.is_read()).map(|file| read_now(workspace, file)).collect();
    let read = differing(pinned.iter().filter(is_file).filter(|file| file.is_read()), &read);
    let named = differing(pinned.iter().filter(|file| is_named(file)), &named_now(workspace, pinned));
    ChangedFiles::of(protected.iter().chain(&read).chain(&named)).with(unknown)
}

fn changed_protected(
    workspace: &Path,
    pinned: &[PinnedFile],
    protects: &[String],
) -> Result<Vec<PinnedFile>, NotRecorded> {
    let is_protected = |file: &&PinnedFile| file.role == PinnedRole::Protected;
    let now = protected_now(workspace, protects)?;
    let mut changed = differing(pinned.iter().filter(is_protected), &now);
    let is_known = |new: &PinnedFile| pinned.iter().filter(is_protected).any(|file| file.path == new.path);
    changed.extend(now.into_iter().filter(|file| !is_known(file)));
    Ok(changed)
}

/// Whether a command, a gate or the configuration names the file.
fn is_named(file: &PinnedFile) -> bool {
    !file.is_read() && file.role != PinnedRole::Protected
}

/// Those files, as they are now.
fn named_now(workspace: &Path, pinned: &[PinnedFile]) -> Vec<PinnedFile> {
    pinned.iter().filter(|file| is_named(file)).map(|file| now(workspace, file)).collect()
}

fn now(workspace: &Path, file: &PinnedFile) -> PinnedFile {
    match file.role {
        PinnedRole::Program => programs::now(workspace, file.clone()),
        _ => PinnedFile { sha256: digest_now(workspace, &file.path), ..file.clone() },
    }
}

/// A file that settings or a plan are read from, as it is now.
#[must_use]
pub fn read_now(workspace: &Path, file: &PinnedFile) -> PinnedFile {
    let bytes = files::read(&file.place(workspace), Budget::default().bytes).ok();
    // Its text is kept, not its bytes.
    let sha256 = bytes.map(|bytes| PinnedFile::digest(String::from_utf8_lossy(&bytes).as_bytes()));
    PinnedFile { sha256, ..file.clone() }
}

type Known<'a> = BTreeMap<(PinnedRole, &'a Path), Vec<Option<&'a str>>>;

fn known<'a>(pinned: impl Iterator<Item = &'a PinnedFile>) -> Known<'a> {
    let mut known = Known::new();
    for file in pinned {
        known.entry((file.role, &file.path)).or_default().push(file.sha256.as_deref());
    }
    known
}

fn found_now<'a>(now: &'a [PinnedFile], role: PinnedRole, path: &Path) -> Option<&'a str> {
    now.iter().find(|file| file.role == role && file.path == path)?.sha256.as_deref()
}

/// Those of the pinned files that are none of what they were, as they are now.
fn differing<'a>(pinned: impl Iterator<Item = &'a PinnedFile>, now: &[PinnedFile]) -> Vec<PinnedFile> {
    let differs = known(pinned).into_iter().filter_map(|((role, path), digests)| {
        let sha256 = found_now(now, role, path);
        let file = || PinnedFile { role, path: path.to_path_buf(), sha256: sha256.map(str::to_owned) };
        (!digests.contains(&sha256)).then(file)
    });
    differs.collect()
}

/// How recorded files differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Differences {
    /// What differs, one line each.
    pub lines: Vec<String>,
    /// Those of them that ask less of a run: a script or program of a gate, what is deployed with, or a protected file, that is
    /// another one, or gone, or a script or program that nobody began with.
    pub weaker: Vec<String>,
}

/// How the files that commands and gates of a plan name, and those that are protected, differ from what was pinned.
///
/// # Errors
/// [`NotRecorded`] when a folder of protected files cannot be looked through.
pub fn differences(
    workspace: &Path,
    plan: &Plan,
    pinned: &[PinnedFile],
    protects: &[String],
) -> Result<Differences, NotRecorded> {
    let now = named_now(workspace, pinned).into_iter().chain(protected_now(workspace, protects)?);
    let mut found = between(pinned, &now.collect::<Vec<_>>());
    let stages = plan.stages().iter().filter(|stage| !stage.skip);
    for program in
        stages.flat_map(|stage| programs::changed(workspace, stage, gates(stage).chain(approved(stage)), pinned))
    {
        let is_told = pinned.iter().any(|file| file.role == program.role && file.path == program.path);
        let line = format!("{} {} is new", words(program.role), program.path.display());
        if !is_told && !found.lines.contains(&line) {
            found.weaker.push(line.clone());
            found.lines.push(line);
        }
    }
    Ok(found)
}

/// As these, a file is told of before all others.
const STRONG: [PinnedRole; 4] = [PinnedRole::Gate, PinnedRole::Deploy, PinnedRole::Notify, PinnedRole::Protected];

fn between(pinned: &[PinnedFile], now: &[PinnedFile]) -> Differences {
    let mut found = Differences::default();
    let known = known(pinned.iter().filter(|file| !file.is_read()));
    for ((role, path), digests) in &known {
        let now = found_now(now, *role, path);
        let was_there = digests[0].is_some();
        let is_weak = matches!(role, PinnedRole::Command | PinnedRole::GateInput);
        let is_told = is_weak && STRONG.iter().any(|role| known.contains_key(&(*role, *path)));
        if digests.contains(&now) || is_told {
            continue;
        }
        let how = match (was_there, now) {
            (true, None) => "is gone",
            (false, Some(_)) => "is new",
            _ => "changed",
        };
        let line = format!("{} {} {how}", words(*role), path.display());
        if !is_weak && (was_there || matches!(role, PinnedRole::Gate | PinnedRole::Deploy | PinnedRole::Notify)) {
            found.weaker.push(line.clone());
        }
        found.lines.push(line);
    }
    let is_new =
        |file: &&PinnedFile| file.role == PinnedRole::Protected && !known.contains_key(&(file.role, &*file.path));
    let new = now.iter().filter(is_new);
    found.lines.extend(new.map(|file| format!("{} {} is new", words(file.role), file.path.display())));
    found
}

fn words(role: PinnedRole) -> &'static str {
    match role {
        PinnedRole::Gate => "the gate script",
        PinnedRole::GateInput => "what a gate reads,",
        PinnedRole::Deploy => "what is deployed with,",
        PinnedRole::Notify => "what tells people,",
        PinnedRole::Program => "the program",
        PinnedRole::Prompt => "the prompt",
        PinnedRole::Protected => "the protected file",
        _ => "the file",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(role: PinnedRole, path: &str, sha256: Option<&str>) -> PinnedFile {
        PinnedFile { role, path: path.into(), sha256: sha256.map(str::to_owned) }
    }

    #[test]
    fn what_changed_is_named_and_what_asks_for_less_is_weaker() {
        use PinnedRole::{Command, Deploy, Gate, GateInput, Protected};
        for (before, after, line, is_weaker) in [
            (vec![file(Gate, "g", Some("1"))], Some(file(Gate, "g", Some("1"))), "", false),
            (vec![file(Gate, "g", Some("1"))], Some(file(Gate, "g", Some("2"))), "the gate script g changed", true),
            (vec![file(Gate, "g", Some("1"))], Some(file(Gate, "g", None)), "the gate script g is gone", true),
            (vec![file(Gate, "g", None)], Some(file(Gate, "g", Some("2"))), "the gate script g is new", true),
            (vec![file(PinnedRole::Program, "p", Some("1"))], None, "the program p is gone", true),
            (vec![file(Gate, "g", Some("1")), file(Gate, "g", Some("2"))], Some(file(Gate, "g", Some("2"))), "", false),
            (
                vec![file(Deploy, "d", Some("1"))],
                Some(file(Deploy, "d", Some("2"))),
                "what is deployed with, d changed",
                true,
            ),
            (
                vec![file(GateInput, "i", Some("1"))],
                Some(file(GateInput, "i", Some("2"))),
                "what a gate reads, i changed",
                false,
            ),
            (vec![file(Command, "c", Some("1"))], Some(file(Command, "c", Some("2"))), "the file c changed", false),
            (vec![file(Protected, "p", Some("1"))], None, "the protected file p is gone", true),
            (vec![], Some(file(Protected, "p", Some("1"))), "the protected file p is new", false),
            (vec![file(PinnedRole::Plan, "plan", Some("1"))], None, "", false),
        ] {
            let found = between(&before, &after.into_iter().collect::<Vec<_>>());
            assert_eq!((found.lines.join("\n"), found.weaker.is_empty()), (line.to_owned(), !is_weaker), "{before:?}");
        }
    }

    #[test]
    fn what_is_none_of_what_was_pinned_differs_and_what_was_agreed_to_does_not() {
        use PinnedRole::{Gate, Protected};
        for (before, now, differs) in [
            (vec![file(Gate, "g", Some("1"))], vec![file(Gate, "g", Some("1"))], ""),
            (vec![file(Gate, "g", Some("1"))], vec![file(Gate, "g", Some("2"))], "g"),
            (vec![file(Gate, "g", Some("1"))], vec![file(Gate, "g", None)], "g (gone)"),
            (vec![file(Protected, "p", Some("1"))], vec![], "p (gone)"),
            (vec![file(Protected, "p", Some("1")), file(Protected, "p", None)], vec![], ""),
            (vec![file(Gate, "g", Some("1")), file(Gate, "g", Some("2"))], vec![file(Gate, "g", Some("2"))], ""),
        ] {
            let found = differing(before.iter(), &now);
            assert_eq!(ChangedFiles::of(&found).to_string(), differs, "{before:?} {now:?}");
        }
    }
}
