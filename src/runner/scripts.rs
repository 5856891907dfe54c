//! Which files of the workspace an argument vector names, which of them it starts, and which programs it looks for by `PATH`.
//!
//! One rule: every word that names a regular file in the workspace counts, also every word of a text that a shell is given. A
//! leading `<`, `$PWD/` or `${PWD}/` is taken off first, and within such a text a `cd` is followed, and a variable that the text
//! itself sets to a plain word. Such a file is a script
//! where it is executable, or where it is the first behind an interpreter or `make`. One that is to be started and is not
//! there is a script, too. What a script reads beyond itself is not known here. Pure, but for the look at each file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::shell_line::{Join, SHELLS, Simple, Word, commands, folder_of_cd};
use super::{Plan, Stage, Work};
use crate::contract::Phase;
use crate::events::PinnedRole;
use crate::store::Layout;

/// What starts the first file behind it, besides shells.
const STARTERS: &[&str] =
    &["python", "python3", "node", "ruby", "perl", "php", "lua", "Rscript", "tclsh", "fish", "make", "gmake", "source"];

/// What reads one of these files where none is named.
const MAKES: &[&str] = &["make", "gmake"];
const MAKEFILES: &[&str] = &["GNUmakefile", "makefile", "Makefile"];

/// Words behind which a program still follows: what starts another program, and what a shell puts before a command.
const BEFORE: &[&str] = &[
    "env", "nice", "nohup", "setsid", "stdbuf", "timeout", "time", "exec", "command", "sudo", "xargs", "ionice", "if",
    "then", "elif", "else", "while", "until", "do", "!", "{",
];

/// Words that a shell does not look for by `PATH`.
const OF_THE_SHELL: &[&str] = &[
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "select", "function",
    "{", "}", "!", "[[", "[", ":", ".", "source", "alias", "break", "cd", "command", "continue", "echo", "eval",
    "exec", "exit", "export", "false", "hash", "kill", "let", "local", "printf", "pwd", "read", "readonly", "return",
    "set", "shift", "test", "time", "times", "trap", "true", "type", "ulimit", "umask", "unset", "wait",
];

/// A file that an argument vector names, relative to the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) path: PathBuf,
    /// It is started, not only read.
    pub(super) is_script: bool,
}

/// What an argument vector names.
#[derive(Debug, Default)]
struct Found {
    files: Vec<Named>,
    /// The programs that are looked for by `PATH`.
    programs: BTreeSet<String>,
    /// Something is started that only the shell knows: a variable, a pattern.
    starts_unknown: bool,
}

impl Found {
    fn and(&mut self, other: Self) {
        self.files.extend(other.files);
        self.programs.extend(other.programs);
        self.starts_unknown |= other.starts_unknown;
    }
}

/// What is found where a file may be: whether it is executable; `None` where there is no regular file.
pub(super) type Look<'a> = &'a dyn Fn(&Path) -> Option<bool>;

/// Where an argument vector is read.
#[derive(Clone, Copy)]
struct Reading<'a> {
    workspace: &'a Path,
    look: Look<'a>,
    /// By a shell, which knows some words itself.
    in_shell: bool,
}

/// The files that a plan names and what each is to it, relative to the workspace.
pub(super) fn of_plan(plan: &Plan, workspace: &Path, look: Look<'_>) -> Vec<(PinnedRole, PathBuf)> {
    let mut all = Vec::new();
    for stage in plan.stages().iter().filter(|stage| !stage.skip) {
        let own = if stage.phase == Phase::Deploy { PinnedRole::Deploy } else { PinnedRole::Command };
        let own = work(stage).filter(|_| stage.phase != Phase::Audit).map(|argv| (argv, own));
        for (argv, role) in own.chain(gates(stage).map(|argv| (argv, PinnedRole::Gate))) {
            all.extend(named(argv, workspace, look).into_iter().map(|file| {
                let is_read = role == PinnedRole::Gate && !file.is_script;
                (if is_read { PinnedRole::GateInput } else { role }, file.path)
            }));
        }
    }
    all.sort();
    all.dedup();
    all
}

/// The argument vectors that decide on a stage. An audit is a gate by itself.
pub(super) fn gates(stage: &Stage) -> impl Iterator<Item = &[String]> {
    work(stage).filter(|_| stage.phase == Phase::Audit).chain(stage.verify.as_deref())
}

/// The argument vectors whose approval is asked for: those of the deployment.
pub(super) fn approved(stage: &Stage) -> impl Iterator<Item = &[String]> {
    work(stage).filter(|_| stage.phase == Phase::Deploy)
}

/// The argument vectors of a stage's work, as far as the plan knows those of an agent.
fn work(stage: &Stage) -> impl Iterator<Item = &[String]> {
    let (command, agent) = match &stage.work {
        Some(Work::Command(argv)) => (Some(argv.as_slice()), &[][..]),
        Some(Work::Agent(agent)) => (None, &agent.starts[..]),
        None => (None, &[][..]),
    };
    command.into_iter().chain(agent.iter().map(Vec::as_slice))
}

/// The files that an argument vector names.
pub(super) fn named(argv: &[String], workspace: &Path, look: Look<'_>) -> Vec<Named> {
    named_from(argv, &[PathBuf::new()], Reading { workspace, look, in_shell: false }).files
}

/// The names of the programs that an argument vector starts and that are looked for by `PATH`.
pub(super) fn looked_for(argv: &[String]) -> BTreeSet<String> {
    read_alone(argv).programs
}

/// What an argument vector says without a look at the workspace.
fn read_alone(argv: &[String]) -> Found {
    let reading = Reading { workspace: Path::new("/"), look: &|_| None, in_shell: false };
    named_from(argv, &[PathBuf::new()], reading)
}

/// What an argument vector names that begins in one of these folders, relative to the workspace.
fn named_from(argv: &[String], folders: &[PathBuf], reading: Reading<'_>) -> Found {
    let mut found = Found::default();
    let (mut wants_script, mut is_shell, mut wants_text, mut starts, mut wants_module) =
        (false, false, false, true, false);
    for word in argv {
        if std::mem::take(&mut wants_module) {
            found.files.extend(modules(word, folders, reading));
            wants_script = false;
            continue;
        }
        if std::mem::take(&mut wants_text) {
            found.and(of_line(word, folders, Reading { in_shell: true, ..reading }));
            (wants_script, is_shell) = (false, false);
            continue;
        }
        let places: Vec<PathBuf> = folders.iter().filter_map(|folder| place(word, folder, reading.workspace)).collect();
        let is_there = |path: &PathBuf| Some((path.clone(), (reading.look)(path)?));
        let mut files: Vec<(PathBuf, bool)> = places.iter().filter_map(is_there).collect();
        if files.is_empty() && is_to_be_started(word, starts, wants_script) {
            files.extend(places.into_iter().map(|path| (path, true)));
        }
        if starts && is_looked_for(word, reading.in_shell) {
            found.programs.insert(word.clone());
        }
        let is_started = starts && !is_beside_a_program(word) || wants_script && !word.starts_with('-');
        found.starts_unknown |= reading.in_shell && files.is_empty() && is_started && is_expanded(word);
        if starts && is_one_of(word, MAKES) {
            let files = MAKEFILES
                .iter()
                .flat_map(|name| folders.iter().filter_map(|folder| place(name, folder, reading.workspace)));
            let files = files.filter(|path| (reading.look)(path).is_some());
            found.files.extend(files.map(|path| Named { path, is_script: true }));
        }
        let is_file = !files.is_empty();
        let started = |(path, is_executable)| Named { path, is_script: is_executable || wants_script };
        found.files.extend(files.into_iter().map(started));
        if is_file {
            (wants_script, is_shell) = (false, false);
        }
        wants_text = is_shell && is_a_line(word);
        wants_module = wants_script && !is_shell && word == "-m";
        // Behind these an interpreter is given a text, and no file.
        wants_script &= is_shell || !["-c", "-e"].contains(&word.as_str());
        is_shell |= is_one_of(word, SHELLS);
        wants_script |= is_one_of(word, SHELLS) || is_one_of(word, STARTERS) || word == ".";
        starts &= is_one_of(word, BEFORE) || is_beside_a_program(word);
    }
    found
}

/// Where `python -m` finds a module in these folders.
fn modules(name: &str, folders: &[PathBuf], reading: Reading<'_>) -> Vec<Named> {
    let stem = name.replace('.', "/");
    let names = [format!("{stem}.py"), format!("{stem}/__init__.py"), format!("{stem}/__main__.py")];
    let places =
        folders.iter().flat_map(|folder| names.iter().filter_map(|name| place(name, folder, reading.workspace)));
    places.filter(|path| (reading.look)(path).is_some()).map(|path| Named { path, is_script: true }).collect()
}

/// Whether only the shell knows what a word means.
fn is_expanded(word: &str) -> bool {
    without_here(word).contains(['$', '`', '*', '?']) || word == "{}"
}

/// Whether a word that names no file that is there is one to be started all the same: a path in the place of a program, or what
/// looks like a file behind an interpreter.
fn is_to_be_started(word: &str, is_program: bool, is_script: bool) -> bool {
    let is_path = word.contains('/') || is_script && Path::new(word).extension().is_some();
    (is_program || is_script) && is_path && is_plain(without_here(word)) && !word.starts_with('-')
}

/// Whether a word in the place of a program is one that is looked for by `PATH`.
fn is_looked_for(word: &str, in_shell: bool) -> bool {
    let is_known = in_shell && OF_THE_SHELL.contains(&word);
    !word.is_empty() && !word.contains('/') && is_plain(word) && !is_beside_a_program(word) && !is_known
}

/// Whether a word before a program is none itself: an option, a variable, how long it may take.
fn is_beside_a_program(word: &str) -> bool {
    word.starts_with(['-', '+']) || word.contains('=') || word.starts_with(|letter: char| letter.is_ascii_digit())
}

/// Whether a shell makes nothing else of a word.
fn is_plain(word: &str) -> bool {
    !word.contains(['$', '`', '*', '?', '[', '~', '=', '{', '<', ' '])
}

/// The files that a line for the shell names. A `cd` is followed; where it is not certain whether it counts, such as one in
/// parentheses, files are looked for in both folders.
fn of_line(line: &str, folders: &[PathBuf], reading: Reading<'_>) -> Found {
    let (mut found, mut folders, mut before) = (Found::default(), folders.to_vec(), folders.to_vec());
    let mut variables = Variables::default();
    for simple in commands(line) {
        let is_plain = !simple.words.iter().any(|word| word.is_expanded);
        let (join, is_certain) = (simple.join, simple.is_certain && simple.join == Join::After);
        variables.learn(&simple.words);
        let mut either: Vec<Vec<String>> = variables.readings(&simple.words);
        let words = either.remove(0);
        for words in either {
            found.and(named_from(&words, &folders, reading));
        }
        if words[0] == "eval" {
            found.and(of_line(&words[1..].join(" "), &folders, reading));
            continue;
        }
        match folder_of_cd(&words).filter(|_| is_plain) {
            Some(name) => {
                let entered = folders.iter().filter_map(|folder| below(folder, name, reading.workspace)).collect();
                before = std::mem::replace(&mut folders, entered);
                if !is_certain {
                    folders.extend(before.iter().cloned());
                }
            }
            // It runs where the one before failed, which may have been the `cd`.
            None if join == Join::Instead => {
                let either: Vec<PathBuf> = folders.iter().chain(&before).cloned().collect();
                found.and(named_from(&words, &either, reading));
            }
            None => found.and(named_from(&words, &folders, reading)),
        }
    }
    let mut known: Vec<Named> = Vec::new();
    for file in found.files {
        if !known.contains(&file) {
            known.push(file);
        }
    }
    Found { files: known, ..found }
}

/// What a line for the shell itself gives variables, each value that one may have.
#[derive(Debug, Default)]
struct Variables(BTreeMap<String, Vec<String>>);

impl Variables {
    /// `NAME=word`, which counts for what follows, and `for NAME in word…`.
    fn learn(&mut self, words: &[Word]) {
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        let set: Vec<(&str, &str)> = texts.iter().map_while(|text| text.split_once('=')).collect();
        match texts[..] {
            ["for", name, "in", ..] => {
                let values = texts[3..].iter().take(Self::MOST).map(|text| (*text).to_owned()).collect();
                self.0.insert(name.to_owned(), values);
            }
            _ if set.len() == texts.len() => {
                let values = set.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
                self.0.extend(values.filter(|(_, value)| !is_expanded(value)).map(|(name, value)| (name, vec![value])));
            }
            _ => {}
        }
    }

    /// The most values of one variable that are looked at.
    const MOST: usize = 64;

    /// The words of a command, once for each value that a variable in it may have; at least once.
    fn readings(&self, words: &[Word]) -> Vec<Vec<String>> {
        let values: Vec<Vec<String>> = words.iter().map(|word| self.values(word)).collect();
        let times = values.iter().map(Vec::len).max().unwrap_or_default().max(1);
        (0..times)
            .map(|time| values.iter().filter_map(|of| of.get(time % of.len().max(1)).cloned()).collect())
            .collect()
    }

    /// A word with each value that a variable at its beginning may have.
    fn values(&self, word: &Word) -> Vec<String> {
        let known = self.0.iter().find_map(|(name, values)| {
            let spelt = [format!("${name}"), format!("${{{name}}}")];
            let rest = spelt.iter().find_map(|spelt| word.text.strip_prefix(spelt))?;
            let is_whole = word.text.starts_with("${") || !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            is_whole.then(|| values.iter().map(|value| format!("{value}{rest}")).collect())
        });
        let known = known.filter(|values: &Vec<String>| word.is_expanded && !values.is_empty());
        known.unwrap_or_else(|| vec![word.text.clone()])
    }
}

/// Programs that run what the files of a repository say, without a word of which these are.
const RUNNERS: &[&str] = &[
    "run-parts",
    "make",
    "gmake",
    "just",
    "ninja",
    "rake",
    "bundle",
    "cargo",
    "go",
    "npm",
    "npx",
    "pnpm",
    "yarn",
    "bun",
    "deno",
    "pytest",
    "tox",
    "nox",
    "mvn",
    "gradle",
    "dotnet",
    "composer",
    "phpunit",
    "ctest",
    "mix",
];

/// Whether a gate runs files of the workspace that nobody can know from its words, such as `make`, `python -m` and `sh ci/*.sh`.
#[must_use]
pub fn starts_unknown_files(argv: &[String]) -> bool {
    let is_module = |two: &[String]| two[1] == "-m" && is_one_of(&two[0], &["python", "python3"]);
    let of_shell = |two: &[String]| {
        let words = |simple: Simple| simple.words.into_iter().map(|word| word.text).collect::<Vec<_>>();
        is_a_line(&two[0]) && commands(&two[1]).into_iter().any(|simple| starts_unknown_files(&words(simple)))
    };
    let is_shell = argv.first().is_some_and(|program| is_one_of(program, SHELLS));
    read_alone(argv).starts_unknown
        || argv.iter().any(|word| is_one_of(word, RUNNERS))
        || argv.windows(2).any(|two| is_module(two) || is_shell && of_shell(two))
}

/// Whether a flag of a shell announces a text: `-c`, or `-ec`.
fn is_a_line(flag: &str) -> bool {
    flag.starts_with('-') && !flag.starts_with("--") && flag.ends_with('c')
}

fn is_one_of(program: &str, names: &[&str]) -> bool {
    Path::new(program).file_name().and_then(|name| name.to_str()).is_some_and(|name| names.contains(&name))
}

/// Where a word leads in the workspace that is said in one of its folders. What the runtime itself writes there is nobody's
/// script.
fn place(word: &str, folder: &Path, workspace: &Path) -> Option<PathBuf> {
    let path = below(folder, without_here(word.trim_start_matches('<')), workspace)?;
    let is_ours = |path: &PathBuf| Layout::OWN.iter().any(|own| path.starts_with(own));
    Some(path).filter(|path| path.iter().next().is_some() && !is_ours(path))
}

fn without_here(word: &str) -> &str {
    ["$PWD/", "${PWD}/"].iter().find_map(|here| word.strip_prefix(here)).unwrap_or(word)
}

/// Where a path leads from a folder of the workspace; `None` where that is outside of it.
fn below(folder: &Path, path: &str, workspace: &Path) -> Option<PathBuf> {
    let path = Path::new(path);
    let path = path.strip_prefix(workspace).map_or_else(|_| folder.join(path), Path::to_path_buf);
    let mut place = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(part) => place.push(part),
            Component::ParentDir if place.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(place)
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
            let is_name = ["bin/check", "b b.sh", "Makefile", "sub/Makefile"].contains(&name)
                || name.contains('.') && !name.contains([' ', '=']);
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
            (&["xargs", "-a", "/dev/null", "./check.sh"], "check.sh!"),
            (&["env", "FOO=1", "./check.sh"], "check.sh!"),
            (&["python3", "-u", "tools/a.py"], "tools/a.py!"),
            (&["/w/bin/check"], "bin/check!"),
            (&["test", "-f", "result.txt"], "result.txt"),
            (&["grep", "-q", "x", "src/lib.rs"], "src/lib.rs"),
            (&["python3", "-c", "print(1)"], ""),
            (&["sh", "../outside.sh"], ""),
            (&["sh", "missing.sh"], "missing.sh!"),
            (&["timeout", "60", "./missing", "--all"], "missing!"),
            (&["sh", "-c", "A=1 ./missing out/result && exec sh -e sub/missing"], "missing! sub/missing!"),
            (&["sh", "-c", "cd sub || ./missing; $PWD/missing"], "sub/missing! missing!"),
            (&["sh", "-c", "bash < missing.sh; cat < missing.sh; sh $x/missing"], "missing.sh!"),
            (&["bash", "-o", "pipefail", "missing.sh"], "missing.sh!"),
            (&["test", "-e", "out/missing"], ""),
            (&["make", "test"], "Makefile!"),
            (&["sh", "-c", "cd sub && CI=1 make -j test"], "sub/Makefile!"),
            (&["make", "-f", "c.mk", "x"], "Makefile! c.mk!"),
            (&["cat", ".loa-run/x.txt"], ""),
            (&[], ""),
            (&["sh", "-c", "./check.sh && CI=1 sh 'b b.sh' || exec ./a.sh"], "check.sh! b b.sh! a.sh"),
            (&["sh", "-c", "if ./check.sh; then echo x > ./out.txt; fi # ./b.sh"], "check.sh!"),
            (&["sh", "-c", "grep -q done notes.md 2>/dev/null"], "notes.md"),
            (&["sh", "-c", "! (. ./env.sh)"], "env.sh!"),
            (&["sh", "-c", "bash <a.sh"], "a.sh!"),
            (&["sh", "-c", "bash < a.sh"], "a.sh!"),
            (&["sh", "-c", "$PWD/check.sh; sh \"${PWD}/a.sh\""], "check.sh! a.sh!"),
            (&["timeout", "9", "bash", "-ec", "cd sub; bash -c 'sh a.sh'"], "sub/a.sh!"),
            (&["sh", "-c", "cd bin && ./check --all"], "bin/check!"),
            (&["sh", "-c", "cd 'b' && cd .. && ./check.sh"], "check.sh!"),
            (&["sh", "-c", "cd sub || sh a.sh"], "sub/a.sh! a.sh!"),
            (&["sh", "-c", "cd sub || exit 1; sh a.sh"], "sub/a.sh!"),
            (&["sh", "-c", "(cd sub && sh a.sh); sh b.sh"], "sub/a.sh! a.sh! sub/b.sh! b.sh!"),
            (&["sh", "-c", "cd \"$SUB\" && ./check.sh"], "check.sh!"),
            (&["sh", "-c", "cd /w/sub && sh ../a.sh"], "a.sh!"),
            (&["sh", "-c", "cd /elsewhere && sh a.sh"], ""),
            (&["sh", "-c", "cd .. && sh a.sh"], ""),
            (&["sh", "a.sh", "-c", "./check.sh x"], "a.sh!"),
            (&["sh", "-c", "G=a.sh; sh $G && sh \"${G}\" x; sh $GO"], "a.sh!"),
            (&["sh", "-c", "D=sub; sh $D/a.sh; sh '$D/b.sh'"], "sub/a.sh! $D/b.sh!"),
            (&["sh", "-c", "for t in a.sh b.sh; do sh $t; done"], "a.sh b.sh b.sh! a.sh!"),
            (&["sh", "-c", "eval 'sh a.sh' && eval sh b.sh"], "a.sh! b.sh!"),
            (
                &["sh", "-c", "python3 -m pkg.check || true"],
                "pkg/check.py! pkg/check/__init__.py! pkg/check/__main__.py!",
            ),
            (&["python3", "-c", "a.py"], "a.py"),
            (&["diff", "out.txt", "expected.txt"], "out.txt expected.txt"),
        ] {
            assert_eq!(found(argv), expected, "{argv:?}");
        }
    }

    #[test]
    fn what_is_looked_for_by_path_is_what_stands_in_the_place_of_a_program() {
        for (argv, expected) in [
            (&["check", "plan.md"][..], "check"),
            (&["timeout", "-k", "5", "60", "make", "test"], "make timeout"),
            (&["env", "A=1", "pytest", "-q"], "env pytest"),
            (&["./check.sh", "x"], ""),
            (&["/bin/sh", "-c", "cd sub && make test || npm run x"], "make npm"),
            (&["sh", "-ec", "if ! check a; then exit 1; fi; test -e x && $TOOL y"], "check sh"),
            (&["test", "-e", "x"], "test"),
            (&["sh", "-c", "(cd sub; check) | tee log; A=1 other"], "check other sh tee"),
            (&[], ""),
        ] {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(looked_for(&argv).into_iter().collect::<Vec<_>>().join(" "), expected, "{argv:?}");
        }
    }

    #[test]
    fn a_gate_that_runs_what_the_repository_says_is_known_by_its_program() {
        for (argv, is_unknown) in [
            (&["sh", "-c", "cd sub && make test"][..], true),
            (&["timeout", "60", "cargo", "test"], true),
            (&["sh", "-c", "CI=1 npm test"], true),
            (&["python3", "-m", "pkg.check"], true),
            (&["sh", "-ec", "python -m pytest"], true),
            (&["python3", "tools/check.py"], false),
            (&["sh", "-c", "./check.sh --make"], false),
            (&["sh", "check.sh"], false),
            (&["run-parts", "ci"], true),
            (&["sh", "-c", "sh ci/*.sh"], true),
            (&["sh", "-c", "$TOOL x"], true),
            (&["sh", "-c", "G=check.sh; sh $G"], false),
            (&["sh", "-c", "for t in ci/*.sh; do sh $t; done"], true),
            (&["sh", "-c", "eval \"$CMD\""], true),
            (&["sh", "-c", "grep -q '*' notes.md; test -e \"$x\""], false),
            (&[], false),
        ] {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(starts_unknown_files(&argv), is_unknown, "{argv:?}");
        }
    }
}
