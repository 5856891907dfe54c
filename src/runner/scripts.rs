//! Which files of the workspace an argument vector names, and which of them it starts.
//!
//! One rule: every word that names a regular file in the workspace counts, also every word of a text that a shell is given. A
//! leading `<`, `$PWD/` or `${PWD}/` is taken off first. Such a file is a script where it is executable, or where it is the first
//! behind an interpreter or `make`. What a script reads beyond itself is not known here. Pure, but for the look at each file.

use std::path::{Path, PathBuf};

use super::shell_line::{SHELLS, Simple, commands};
use super::{Plan, Work};
use crate::contract::Phase;
use crate::events::PinnedRole;
use crate::store::Layout;
use crate::system::beneath::downward;

/// What starts the first file behind it, besides shells.
const STARTERS: &[&str] =
    &["python", "python3", "node", "ruby", "perl", "php", "lua", "Rscript", "tclsh", "fish", "make", "gmake", "source"];

/// A file that an argument vector names, relative to the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) path: PathBuf,
    /// It is started, not only read.
    pub(super) is_script: bool,
}

/// What is found where a file may be: whether it is executable; `None` where there is no regular file.
pub(super) type Look<'a> = &'a dyn Fn(&Path) -> Option<bool>;

/// The files that a plan names and what each is to it, relative to the workspace. An audit is a gate by itself.
pub(super) fn of_plan(plan: &Plan, workspace: &Path, look: Look<'_>) -> Vec<(PinnedRole, PathBuf)> {
    let mut all = Vec::new();
    for stage in plan.stages().iter().filter(|stage| !stage.skip) {
        let own = stage.work.iter().filter_map(|work| match work {
            Work::Command(argv) => Some((argv, stage.phase == Phase::Audit)),
            Work::Agent(_) => None,
        });
        for (argv, is_gate) in own.chain(stage.verify.iter().map(|argv| (argv, true))) {
            all.extend(named(argv, workspace, look).into_iter().map(|file| {
                let role = if is_gate && file.is_script { PinnedRole::Gate } else { PinnedRole::Command };
                (role, file.path)
            }));
        }
    }
    all.sort();
    all.dedup();
    all
}

/// The files that an argument vector names.
pub(super) fn named(argv: &[String], workspace: &Path, look: Look<'_>) -> Vec<Named> {
    let mut found = Vec::new();
    let (mut wants_script, mut is_shell, mut wants_text) = (false, false, false);
    for word in argv {
        if std::mem::take(&mut wants_text) {
            let words = |simple: Simple| simple.words.into_iter().map(|word| word.text).collect::<Vec<_>>();
            found.extend(commands(word).into_iter().flat_map(|simple| named(&words(simple), workspace, look)));
            (wants_script, is_shell) = (false, false);
            continue;
        }
        let file = place(word, workspace).and_then(|path| Some((look(&path)?, path)));
        if let Some((is_executable, path)) = file {
            found.push(Named { path, is_script: is_executable || wants_script });
            (wants_script, is_shell) = (false, false);
        }
        wants_text = is_shell && is_a_line(word);
        is_shell |= is_one_of(word, SHELLS);
        wants_script |= is_one_of(word, SHELLS) || is_one_of(word, STARTERS) || word == ".";
    }
    found
}

/// Whether a flag of a shell announces a text: `-c`, or `-ec`.
fn is_a_line(flag: &str) -> bool {
    flag.starts_with('-') && !flag.starts_with("--") && flag.ends_with('c')
}

fn is_one_of(program: &str, names: &[&str]) -> bool {
    Path::new(program).file_name().and_then(|name| name.to_str()).is_some_and(|name| names.contains(&name))
}

/// Where a word leads in the workspace. What the runtime itself writes there is nobody's script.
fn place(word: &str, workspace: &Path) -> Option<PathBuf> {
    let word = word.trim_start_matches('<');
    let here = ["$PWD/", "${PWD}/"].iter().find_map(|here| word.strip_prefix(here));
    let path = Path::new(here.unwrap_or(word));
    let path = downward(path.strip_prefix(workspace).unwrap_or(path))?;
    let is_ours = |path: &PathBuf| Layout::OWN.iter().any(|own| path.starts_with(own));
    Some(path).filter(|path| !is_ours(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These are executable, and everything else below the workspace but `missing` is a file.
    const EXECUTABLE: &[&str] = &["check.sh", "bin/check"];

    fn found(argv: &[&str]) -> String {
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        let is_file = |path: &Path| {
            let name = path.to_str().expect("UTF-8");
            let is_name = ["bin/check", "b b.sh"].contains(&name) || name.contains('.') && !name.contains(' ');
            (is_name && name != "missing.sh").then(|| EXECUTABLE.contains(&name))
        };
        let named = named(&argv, Path::new("/w"), &is_file).into_iter();
        let words = named.map(|file| format!("{}{}", file.path.display(), if file.is_script { "!" } else { "" }));
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_word_that_names_a_file_counts_and_what_is_started_is_a_script() {
        for (argv, expected) in [
            (&["./check.sh", "plan.md"][..], "check.sh! plan.md"),
            (&["sh", "a.sh", "data.txt"], "a.sh! data.txt"),
            (&["sh", "-eux", "./ci/a.sh", "--all"], "ci/a.sh!"),
            (&["timeout", "60", "./check.sh"], "check.sh!"),
            (&["timeout", "10", "sh", "a.sh"], "a.sh!"),
            (&["bash", "-eu", "-o", "pipefail", "a.sh"], "a.sh!"),
            (&["bash", "--norc", "a.sh"], "a.sh!"),
            (&["make", "-f", "c.mk"], "c.mk!"),
            (&["xargs", "-a", "/dev/null", "./check.sh"], "check.sh!"),
            (&["env", "FOO=1", "./check.sh"], "check.sh!"),
            (&["python3", "-u", "tools/a.py"], "tools/a.py!"),
            (&["/w/bin/check"], "bin/check!"),
            (&["test", "-f", "result.txt"], "result.txt"),
            (&["grep", "-q", "x", "src/lib.rs"], "src/lib.rs"),
            (&["python3", "-c", "print(1)"], ""),
            (&["sh", "../outside.sh"], ""),
            (&["sh", "missing.sh"], ""),
            (&["cat", ".loa-run/x.txt"], ""),
            (&[], ""),
            (&["sh", "-c", "./check.sh && CI=1 sh 'b b.sh' || exec ./a.sh"], "check.sh! b b.sh! a.sh"),
            (&["sh", "-c", "if ./check.sh; then echo x > ./out.txt; fi # ./b.sh"], "check.sh!"),
            (&["sh", "-c", "grep -q done notes.md 2>/dev/null"], "notes.md"),
            (&["sh", "-c", "! (. ./env.sh)"], "env.sh!"),
            (&["sh", "-c", "bash <a.sh"], "a.sh!"),
            (&["sh", "-c", "bash < a.sh"], "a.sh!"),
            (&["sh", "-c", "$PWD/check.sh; sh \"${PWD}/a.sh\""], "check.sh! a.sh!"),
            (&["timeout", "9", "bash", "-ec", "cd sub; bash -c 'sh a.sh'"], "a.sh!"),
            (&["sh", "a.sh", "-c", "./check.sh x"], "a.sh!"),
        ] {
            assert_eq!(found(argv), expected, "{argv:?}");
        }
    }
}
