//! The programs that gates and the deployment look for by `PATH`: where they are found, what they are, and whether they are those of the start.
//!
//! Each is recorded under the name that is looked for, which is the last part of its path. One that is not found is recorded as
//! `$PATH/NAME`, so that one that appears later is another one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::scripts::{approved, gates, looked_for};
use super::{Plan, Stage};
use crate::config::SEARCH_PATH;
use crate::events::{PinnedFile, PinnedRole};
use crate::system::{env, files};

/// Where one lies that is nowhere.
const NOWHERE: &str = "$PATH";

/// The programs of every gate of a plan and of its deployment, as they are now.
pub(super) fn of_plan(workspace: &Path, plan: &Plan) -> Vec<PinnedFile> {
    let mut all: Vec<PinnedFile> = Vec::new();
    let stages = plan.stages().iter().filter(|stage| !stage.skip);
    for program in stages.flat_map(|stage| of_argvs(workspace, stage, gates(stage).chain(approved(stage)))) {
        if !all.contains(&program) {
            all.push(program);
        }
    }
    all
}

/// The programs of some of a stage's argument vectors that are none of those that were recorded under their names, as they are
/// now. An execution that an earlier program began recorded none.
pub(super) fn changed<'a>(
    workspace: &Path,
    stage: &Stage,
    argvs: impl Iterator<Item = &'a [String]>,
    pinned: &[PinnedFile],
) -> Vec<PinnedFile> {
    let is_another = |now: &PinnedFile| {
        let mut known = pinned.iter().filter(|file| is_same_name(file, now)).peekable();
        known.peek().is_some() && !known.any(|file| file.sha256 == now.sha256 && file.path == now.path)
    };
    of_argvs(workspace, stage, argvs).into_iter().filter(is_another).collect()
}

fn of_argvs<'a>(workspace: &Path, stage: &Stage, argvs: impl Iterator<Item = &'a [String]>) -> Vec<PinnedFile> {
    let names: BTreeSet<String> = argvs.flat_map(looked_for).collect();
    names.into_iter().map(|name| now(workspace, found(workspace, stage, &name))).collect()
}

/// Where the programs lie that a gate of a stage looks for.
pub(super) fn places(workspace: &Path, stage: &Stage, gate: &[String]) -> Vec<PathBuf> {
    looked_for(gate).iter().map(|name| found(workspace, stage, name).path).collect()
}

fn found(workspace: &Path, stage: &Stage, name: &str) -> PinnedFile {
    let path = stage.env.get(SEARCH_PATH).cloned().or_else(|| env::var(SEARCH_PATH)).unwrap_or_default();
    let found = files::find_program(name, &path, workspace);
    // A workspace may move.
    let inside =
        |path: PathBuf| path.strip_prefix(workspace).map(|path| Path::new(".").join(path)).unwrap_or(path.clone());
    let place = found.map_or_else(|| Path::new(NOWHERE).join(name), inside);
    PinnedFile { role: PinnedRole::Program, path: place, sha256: None }
}

/// The program that lies there now.
pub(super) fn now(workspace: &Path, file: PinnedFile) -> PinnedFile {
    let opened = files::open(&file.place(workspace)).ok();
    let sha256 = opened.and_then(|program| PinnedFile::digest_of(program).ok());
    PinnedFile { sha256, ..file }
}

fn is_same_name(one: &PinnedFile, other: &PinnedFile) -> bool {
    one.role == PinnedRole::Program && one.path.file_name() == other.path.file_name()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{FILE_NAME, Source, resolve};
    use crate::runner::Selection;
    use crate::system::scratch;

    fn plan(path: &str) -> Plan {
        let skipped = ["preflight", "discovery", "implementation", "submit", "deploy", "learning"];
        let skipped: String = skipped.map(|phase| format!("{phase}: {{ skip: true }}, ")).concat();
        let env = format!("env: {{ PATH: '{path}' }}");
        let text = format!(
            "runtime: {{ phases: {{ {skipped} design: {{ command: work, verify: [check, x], {env} }}, audit: {{ command: 'other; ls', {env} }} }} }}\n"
        );
        let source = Source { path: FILE_NAME.into(), bytes: text.into_bytes() };
        Plan::from_settings(&resolve(Some(source), Vec::new()).expect("valid"), Selection::All).expect("a plan")
    }

    #[test]
    fn a_program_that_is_found_elsewhere_or_is_another_one_differs_and_the_same_one_does_not() {
        let place = tempfile::tempdir().expect("a folder");
        let root = place.path();
        let lay = |path: &str, text: &str| scratch::lay_program(&root.join(path), text.as_bytes()).expect("laid");
        lay("bin/check", "one");
        let plan = plan("first:bin");
        let begun = of_plan(root, &plan);
        let shown = |files: &[PinnedFile]| {
            let words = files
                .iter()
                .map(|file| format!("{}{}", file.path.display(), if file.sha256.is_none() { "?" } else { "" }));
            words.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown(&begun), "./bin/check $PATH/ls? $PATH/other? $PATH/sh?");
        let changed = |pinned: &[PinnedFile]| {
            let stages = plan.stages().iter().filter(|stage| !stage.skip);
            shown(&stages.flat_map(|stage| changed(root, stage, gates(stage), pinned)).collect::<Vec<_>>())
        };
        assert_eq!((changed(&begun), changed(&[])), (String::new(), String::new()));
        lay("bin/other", "new");
        assert_eq!(changed(&begun), "./bin/other");
        lay("first/check", "one");
        assert_eq!(changed(&begun), "./first/check ./bin/other", "it hides the one of the start");
        files::remove(&root.join("first/check")).expect("removed");
        lay("bin/check", "two");
        assert_eq!(changed(&begun), "./bin/check ./bin/other");
        files::remove(&root.join("bin/check")).expect("removed");
        assert_eq!(changed(&begun), "$PATH/check? ./bin/other");
        let agreed = [begun, of_plan(root, &plan)].concat();
        assert_eq!(changed(&agreed), "");
    }
}
