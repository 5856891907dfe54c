//! What the phases of a plan need here: programs, the scripts that these are given, and the slash commands of prompts.
//!
//! Only what is certain is called missing. What stands behind another program in a line for the shell may be made by that
//! one: of it only programs, and scripts that an interpreter is given, are told, and as a warning.

use std::path::{Path, PathBuf};

use super::check::{Check, State};
use super::locate::{Missing, locate};
use crate::config::{BackendKind, Settings, is_loas_command, slash_commands};
use crate::runner::{AgentWork, Join, Plan, SHELLS, Simple, Stage, Word, Work, commands, folder_of_cd};
use crate::system::{env, files};

/// Every need of the phases that run, and of what runs beside them.
pub(super) fn needs(plan: &Plan, workspace: &Path, settings: &Settings) -> Vec<Check> {
    let mut checks: Vec<Check> = plan
        .stages()
        .iter()
        .filter(|stage| !stage.skip)
        .flat_map(|stage| of_stage(stage, workspace, settings))
        .collect();
    checks
        .extend(settings.compaction().map(|it| of_command("compaction", &it.argv(), workspace)).into_iter().flatten());
    checks
}

fn of_stage(stage: &Stage, workspace: &Path, settings: &Settings) -> Vec<Check> {
    let name = stage.phase.to_string();
    let mut checks = Vec::new();
    match &stage.work {
        Some(Work::Command(argv)) => checks.extend(of_command(&name, argv, workspace)),
        Some(Work::Agent(agent)) => checks.extend(of_agent(&name, agent, workspace, settings)),
        None => {}
    }
    let gate = stage.verify.as_ref().map(|argv| of_command(&format!("{name}, its gate"), argv, workspace));
    checks.extend(gate.into_iter().flatten());
    checks
}

fn of_agent(phase: &str, agent: &AgentWork, workspace: &Path, settings: &Settings) -> Vec<Check> {
    let Some(known) = settings.backend(&agent.backend) else { return Vec::new() };
    let mut checks = vec![found(phase, locate(&known, workspace))];
    let begins = agent.prompt.trim_start().starts_with('/');
    // A command at the beginning is one; elsewhere the word may be a path, unless it is one of Loa's.
    let named = slash_commands(&agent.prompt).enumerate();
    let named = named.filter(|(index, name)| *index == 0 && begins || is_loas_command(name)).map(|(_, name)| name);
    let missing = named.filter(|name| known.kind == BackendKind::Claude && !knows_command(workspace, name));
    checks.extend(missing.map(|name| {
        // The program has commands of its own, and those of plugins.
        let state = if is_loas_command(name) { State::Bad } else { State::Warning };
        let missing = format!("its prompt names `/{name}`, and there is no .claude/commands/{name}.md");
        Check::new(
            &format!("{phase}, its prompt"),
            state,
            missing,
            "install Loa in this repository, or say it in words",
        )
    }));
    checks
}

/// Whether Claude Code would find a slash command: in the workspace, or in its user's own folder.
pub(super) fn knows_command(workspace: &Path, name: &str) -> bool {
    let own = env::var("CLAUDE_CONFIG_DIR").map(PathBuf::from).or_else(|| Some(env::home()?.join(".claude")));
    let mut folders = std::iter::once(workspace.join(".claude")).chain(own);
    folders.any(|folder| {
        let skill = folder.join("skills").join(name).join("SKILL.md");
        folder.join("commands").join(format!("{name}.md")).is_file() || skill.is_file()
    })
}

fn found(name: &str, found: Result<String, Missing>) -> Check {
    match found {
        Ok(path) => Check::new(name, State::Good, path, ""),
        Err(missing) => Check::new(name, State::Bad, missing.found, &missing.remedy),
    }
}

/// What a command needs: where its program lies, or everything that is missing.
pub(super) fn of_command(name: &str, argv: &[String], workspace: &Path) -> Vec<Check> {
    let needs = command(argv, workspace);
    let missing = needs.iter().filter(|need| need.state != State::Good);
    let missing: Vec<Check> = missing.map(|it| Check::new(name, it.state, it.found.as_str(), &it.remedy)).collect();
    let good = needs.iter().find(|need| need.state == State::Good).map(|need| need.found.clone());
    let good = good.map(|shell| first_of_line(argv, workspace).unwrap_or(shell));
    let good = good.filter(|_| missing.is_empty()).map(|found| Check::new(name, State::Good, found, ""));
    good.into_iter().chain(missing).collect()
}

/// Where the first program of a line for the shell lies, which says more than where the shell lies.
fn first_of_line(argv: &[String], workspace: &Path) -> Option<String> {
    let Started::Line(line) = started(argv) else { return None };
    let first = commands(line).into_iter().next().filter(|simple| simple.is_certain)?;
    let mut words = first.words.into_iter().filter(|word| !word.is_input).skip_while(|word| assigns(&word.text));
    let program = words.next().filter(|word| !word.is_expanded)?.text;
    find(&program, workspace)
}

/// One thing that a command needs, and how it is.
struct Need {
    state: State,
    found: String,
    remedy: String,
}

impl Need {
    fn good(path: String) -> Self {
        Self { state: State::Good, found: path, remedy: String::new() }
    }

    fn missing(found: String) -> Self {
        Self { state: State::Bad, found, remedy: "install it, or correct its path".to_owned() }
    }
}

impl From<Missing> for Need {
    fn from(Missing { found, remedy }: Missing) -> Self {
        Self { state: State::Bad, found, remedy }
    }
}

/// What a command needs that begins in `folder`, its program first.
fn command(argv: &[String], folder: &Path) -> Vec<Need> {
    let program = argv.first().map(String::as_str).unwrap_or_default();
    let Some(path) = find(program, folder) else { return vec![not_found(program, folder).into()] };
    let broken = broken_first_line(Path::new(&path), program);
    let mut needs: Vec<Need> = std::iter::once(Need::good(path)).chain(broken).collect();
    needs.extend(match started(argv) {
        Started::Line(line) => of_line(line, folder),
        Started::Script(script) if is_missing_script(program, script, folder) => {
            vec![missing_script(program, script)]
        }
        Started::Script(script) => with_line_ends_of_windows(&folder.join(script), script).into_iter().collect(),
        Started::Nothing => Vec::new(),
        Started::Other(argv) => command(argv, folder),
    });
    needs
}

/// What the commands of a line need, as far as that is certain.
fn of_line(line: &str, folder: &Path) -> Vec<Need> {
    let (mut needs, mut folder, mut is_sure, mut changes) = (Vec::new(), folder.to_path_buf(), true, false);
    // A file that the line itself writes may be the next script.
    let mut written = false;
    for Simple { join, words, writes, .. } in commands(line).into_iter().take_while(|simple| simple.is_certain) {
        match join {
            // It runs where the one before failed, and may never be meant to.
            Join::Instead => break,
            Join::After => is_sure = !changes,
            Join::Beside => {}
        }
        let words = words.into_iter().filter(|word| !word.is_input);
        let is_before = |word: &Word| !word.is_expanded && (word.text == "exec" || assigns(&word.text));
        let words = words.skip_while(is_before).map_while(|word| (!word.is_expanded).then_some(word.text));
        let words: Vec<String> = words.collect();
        match words.first().map(String::as_str) {
            Some("cd") => match entered(&words, &folder) {
                Some(Ok(inner)) => folder = inner,
                Some(Err(need)) if is_sure => return needs.into_iter().chain([need]).collect(),
                Some(Err(_)) | None => break,
            },
            Some("." | "source") => {
                let need = sourced(&words, &folder);
                needs.extend(need.and_then(|need| if is_sure { Some(need) } else { doubted(need, false, written) }));
                // Whatever it says holds from here on.
                break;
            }
            Some(word) if HARMLESS.contains(&word) => {}
            Some(word) if OF_THE_SHELL.contains(&word) => break,
            Some(word) => {
                let by_name = !word.contains('/');
                let found = command(&words, &folder).into_iter().filter(|need| need.state != State::Good);
                needs.extend(
                    found.filter_map(|need| if is_sure { Some(need) } else { doubted(need, by_name, written) }),
                );
                changes = true;
            }
            // Nobody knows what it is.
            None => changes = true,
        }
        (changes, written) = (changes || writes, written || writes);
    }
    needs
}

/// What is missing now and may be there when its turn comes: of that only a program is worth a word, and a script where the line
/// itself writes no file.
fn doubted(need: Need, by_name: bool, written: bool) -> Option<Need> {
    let is_program = by_name && need.found.ends_with("` is not found");
    let is_script = !written && need.found.ends_with(GIVEN);
    let remedy = format!("{}, unless what stands before it makes it", need.remedy);
    (is_program || is_script).then_some(Need { state: State::Warning, remedy, ..need })
}

/// How the news ends that a script is missing which something is given.
const GIVEN: &str = "is given, is not found";

fn missing_script(program: &str, script: &str) -> Need {
    Need::missing(format!("`{script}`, which `{program}` {GIVEN}"))
}

/// The file that a shell is to read commands from, where it is missing.
fn sourced(words: &[String], folder: &Path) -> Option<Need> {
    let [program, script, ..] = words else { return None };
    let is_missing = !script.starts_with('-') && is_missing_script("sh", script, folder);
    is_missing.then(|| missing_script(program, script))
}

/// The folder that a `cd` leads to; nothing where that is not certain.
fn entered(words: &[String], folder: &Path) -> Option<Result<PathBuf, Need>> {
    let name = folder_of_cd(words)?;
    let inner = folder.join(name);
    let remedy = "make it, or correct its path".to_owned();
    let found = format!("`{name}`, which `cd` is given, is no folder");
    Some(if inner.is_dir() { Ok(inner) } else { Err(Need { state: State::Bad, found, remedy }) })
}

fn assigns(word: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// Why a program cannot be started: it is not there, or may not be run.
fn not_found(program: &str, workspace: &Path) -> Missing {
    if program.contains('/') && workspace.join(program).is_file() {
        let (found, remedy) = (format!("`{program}` is not executable"), format!("chmod +x {program}"));
        return Missing { found, remedy };
    }
    Missing { found: format!("`{program}` is not found"), remedy: "install it, or correct its path".to_owned() }
}

/// Where a program lies that is named by path or looked up in `PATH`.
pub(super) fn find(program: &str, workspace: &Path) -> Option<String> {
    if program.contains('/') {
        let path = workspace.join(program);
        return files::is_program(&path).then(|| path.display().to_string());
    }
    files::find_program(program, &env::var("PATH")?, workspace).map(|path| path.display().to_string())
}

/// Programs whose first argument, where it is no option, is a file to run.
const INTERPRETERS: [&str; 5] = ["python", "python3", "node", "perl", "ruby"];
/// Their options that take no word and leave the next one a file to run.
const SIMPLE: [&str; 8] = ["-u", "-B", "-E", "-I", "-O", "-s", "-S", "-w"];
/// Programs that start the program behind their options.
const BEFORE: [&str; 6] = ["env", "nice", "nohup", "setsid", "stdbuf", "timeout"];

/// What a program starts in turn.
#[derive(Debug, PartialEq, Eq)]
enum Started<'a> {
    /// Nothing, or nobody knows.
    Nothing,
    /// A line for the shell.
    Line(&'a str),
    /// A file.
    Script(&'a str),
    /// Another program.
    Other(&'a [String]),
}

fn started(argv: &[String]) -> Started<'_> {
    let Some((program, rest)) = argv.split_first() else { return Started::Nothing };
    let name = program.rsplit('/').next().unwrap_or_default();
    if SHELLS.contains(&name) {
        return of_shell(rest);
    }
    if INTERPRETERS.contains(&name) {
        let script = rest.iter().find(|word| !SIMPLE.contains(&word.as_str()));
        return script.filter(|word| !word.starts_with('-')).map_or(Started::Nothing, |word| Started::Script(word));
    }
    if !BEFORE.contains(&name) {
        return Started::Nothing;
    }
    // An option whose word stands apart could be taken for the program.
    let valued = |word: &str| matches!((name, word), ("timeout", "-k" | "-s") | ("nice", "-n") | ("env", "-u" | "-C"));
    let mut at = 0;
    while rest.get(at).is_some_and(|word| word.starts_with('-') || name == "env" && assigns(word)) {
        at += if valued(&rest[at]) { 2 } else { 1 };
    }
    // How long it may take.
    at += usize::from(name == "timeout");
    rest.get(at..).filter(|other| !other.is_empty()).map_or(Started::Nothing, Started::Other)
}

/// What a shell is given behind its options.
fn of_shell(words: &[String]) -> Started<'_> {
    let mut words = words.iter().map(String::as_str);
    let (mut reads_line, mut next) = (false, words.next());
    while let Some(flags) = next.filter(|word| word.len() > 1 && word.starts_with(['-', '+'])) {
        next = words.next();
        match flags {
            "--" => break,
            // Others may take a word, or mean that nothing is run.
            long if long.starts_with("--") => return Started::Nothing,
            flags if flags.contains('s') => return Started::Nothing,
            flags => {
                reads_line |= flags.contains('c');
                // The name of an option follows.
                next = if flags.ends_with(['o', 'O']) { words.next() } else { next };
            }
        }
    }
    match next {
        Some(line) if reads_line => Started::Line(line),
        Some("-") | None => Started::Nothing,
        Some(script) => Started::Script(script),
    }
}

/// The most bytes of a script that are looked at for its first line.
const LONGEST_BEGINNING: usize = 256;

/// The first line of a file, its end with it.
fn first_line(path: &Path) -> Option<Vec<u8>> {
    let beginning = files::beginning(path, LONGEST_BEGINNING).ok()?;
    beginning.split_inclusive(|byte| *byte == b'\n').next().map(<[u8]>::to_vec)
}

/// Why the host would not start a script: its first line names an interpreter that is not there.
fn broken_first_line(path: &Path, program: &str) -> Option<Need> {
    let line = first_line(path)?;
    let interpreter = line.strip_prefix(b"#!")?;
    if let Some(need) = with_line_ends_of_windows(path, program) {
        return Some(need);
    }
    let named = String::from_utf8_lossy(interpreter).into_owned();
    let missing = missing_interpreter(&named)?;
    let remedy = format!("install it, or correct the first line of {program}");
    let found = format!("`{missing}`, which the first line of `{program}` names, is not found");
    Some(Need { state: State::Bad, found, remedy })
}

/// The interpreter behind `#!` that is not there. `env` looks for the word behind it in `PATH`, unless that is an option.
fn missing_interpreter(named: &str) -> Option<&str> {
    let mut words = named.split_whitespace();
    let interpreter = words.next()?;
    if !files::is_program(Path::new(interpreter)) {
        return Some(interpreter);
    }
    let of_env = words.next().filter(|word| interpreter.ends_with("/env") && !word.starts_with('-') && !assigns(word));
    of_env.filter(|word| find(word, Path::new("/")).is_none())
}

/// That a script has line ends that its interpreter takes for letters.
fn with_line_ends_of_windows(path: &Path, script: &str) -> Option<Need> {
    let line = first_line(path).filter(|line| line.starts_with(b"#!") && line.ends_with(b"\r\n"))?;
    let line = String::from_utf8_lossy(&line).trim_end().to_owned();
    let found = format!("`{script}` has line ends of Windows (CRLF), behind `{line}` too");
    Some(Need { state: State::Bad, found, remedy: format!("sed -i 's/\\r$//' {script}") })
}

fn is_missing_script(program: &str, script: &str, folder: &Path) -> bool {
    let is_shell = SHELLS.contains(&program.rsplit('/').next().unwrap_or_default());
    // A shell looks in `PATH`, too.
    let elsewhere = || is_shell && !script.contains('/') && find(script, folder).is_some();
    !folder.join(script).exists() && !elsewhere()
}

/// Commands of the shell's own that make nothing which another could need.
const HARMLESS: [&str; 17] = [
    ":", "[", "echo", "export", "false", "printf", "pwd", "readonly", "set", "shift", "test", "trap", "true", "ulimit",
    "umask", "unset", "wait",
];
/// Other words with which a command begins that are no programs: behind them nothing is certain.
const OF_THE_SHELL: [&str; 22] = [
    "alias", "bg", "break", "builtin", "command", "continue", "declare", "eval", "exit", "fg", "getopts", "hash",
    "jobs", "kill", "let", "local", "popd", "pushd", "read", "return", "shopt", "times",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::files::{Privacy, ensure_folder, write_durably};
    use crate::system::scratch;

    fn argv(words: &str) -> Vec<String> {
        words.split(' ').map(str::to_owned).collect()
    }

    fn line(line: &str) -> Vec<String> {
        vec!["sh".to_owned(), "-c".to_owned(), line.to_owned()]
    }

    #[test]
    fn what_is_certainly_missing_is_named_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        ensure_folder(&folder.path().join("there")).expect("made");
        for name in ["there.sh", "there/inner.sh"] {
            write_durably(&folder.path().join(name), b"", Privacy::Shared).expect("written");
        }
        for (name, text) in [
            ("bad.sh", "#!/no/such/interpreter -e\n"),
            ("crlf.sh", "#!/bin/sh\r\ntrue\r\n"),
            ("good.sh", "#! /bin/sh\n"),
            ("env.sh", "#!/usr/bin/env no-such-program\n"),
            ("by-env.sh", "#!/usr/bin/env sh\n"),
        ] {
            scratch::lay_program(&folder.path().join(name), text.as_bytes()).expect("laid");
        }
        for (argv, missing) in [
            (
                argv("./bad.sh"),
                &["BAD `/no/such/interpreter`, which the first line of `./bad.sh` names, is not found"][..],
            ),
            (argv("./crlf.sh"), &["BAD `./crlf.sh` has line ends of Windows (CRLF), behind `#!/bin/sh` too"]),
            (argv("sh crlf.sh"), &["BAD `crlf.sh` has line ends of Windows (CRLF), behind `#!/bin/sh` too"]),
            (line("./good.sh && ./bad.sh"), &[]),
            (argv("sh bad.sh"), &[]),
            (argv("./by-env.sh"), &[]),
            (argv("./env.sh"), &["BAD `no-such-program`, which the first line of `./env.sh` names, is not found"]),
            (argv("sh ./missing.sh"), &["BAD `./missing.sh`, which `sh` is given, is not found"]),
            (argv("/bin/sh missing.sh"), &["BAD `missing.sh`, which `/bin/sh` is given, is not found"]),
            (argv("sh there.sh"), &[]),
            (argv("sh -eu missing.sh"), &["BAD `missing.sh`, which `sh` is given, is not found"]),
            (argv("sh -euo pipefail there.sh"), &[]),
            (argv("sh -s missing.sh"), &[]),
            (argv("python3 -u missing.py"), &["BAD `missing.py`, which `python3` is given, is not found"]),
            (argv("python3 -m missing"), &[]),
            (argv("no-such-program x"), &["BAD `no-such-program` is not found"]),
            (argv("./there.sh"), &["BAD `./there.sh` is not executable"]),
            (argv("timeout 10 ./missing.sh"), &["BAD `./missing.sh` is not found"]),
            (argv("timeout -k 5 10 sh there.sh"), &[]),
            (argv("env A=1 nice -n 5 ./missing.sh"), &["BAD `./missing.sh` is not found"]),
            (line("sh ./missing.sh"), &["BAD `./missing.sh`, which `sh` is given, is not found"]),
            (line("A=1 exec ./missing.sh --flag 'x y'; true"), &["BAD `./missing.sh` is not found"]),
            (line("no-such-program | tee log"), &["BAD `no-such-program` is not found"]),
            (line("sort log | ./missing.sh"), &["BAD `./missing.sh` is not found"]),
            (line("set -e; ./missing.sh"), &["BAD `./missing.sh` is not found"]),
            (
                line("sh -e missing.sh; no-such-program x"),
                &["BAD `missing.sh`, which `sh` is given, is not found", "warn `no-such-program` is not found"],
            ),
            (line(". ./missing.sh"), &["BAD `./missing.sh`, which `.` is given, is not found"]),
            (line("source missing.sh; no-such-program"), &["BAD `missing.sh`, which `source` is given, is not found"]),
            (line(". ./there.sh && no-such-function"), &[]),
            (line(". \"$ENVIRONMENT\""), &[]),
            (line("sh there.sh && sh missing.sh"), &["warn `missing.sh`, which `sh` is given, is not found"]),
            (line("sh there.sh && . ./missing.sh"), &["warn `./missing.sh`, which `.` is given, is not found"]),
            (line("sh there.sh && timeout 9 sh missing.sh"), &["warn `missing.sh`, which `sh` is given, is not found"]),
            (line("sh there.sh > log && sh missing.sh"), &[]),
            (line("cd sub && ./missing.sh"), &["BAD `sub`, which `cd` is given, is no folder"]),
            (line("cd there && sh inner.sh"), &[]),
            (line("cd there && sh there.sh"), &["BAD `there.sh`, which `sh` is given, is not found"]),
            (line("mkdir -p new && cd new && ./missing.sh"), &[]),
            (line("echo 'exit 0' > made.sh; sh made.sh"), &[]),
            (line("true && ls && ./built"), &[]),
            (line("test -f x || ./missing.sh"), &[]),
            (line("$TOOL run; ./missing.sh"), &[]),
            (line("(no-such-program)"), &[]),
            (line("build() { true; }; build"), &[]),
            (line("build () { true; }\nbuild"), &[]),
            (line("\"no such program\""), &["BAD `no such program` is not found"]),
        ] {
            let told = |need: Need| match need.state {
                State::Good => None,
                State::Bad => Some(format!("BAD {}", need.found)),
                _ => Some(format!("warn {}", need.found)),
            };
            let found: Vec<String> = command(&argv, folder.path()).into_iter().filter_map(told).collect();
            assert_eq!(found, missing, "{argv:?}");
        }
    }
}
