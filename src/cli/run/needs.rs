//! What the phases of a plan need here: programs, the scripts that these are given, and the slash commands of prompts.
//!
//! Only what is certain is called missing. Of a line for the shell that is its first command: what stands behind it may be
//! made by what stands before.

use std::path::{Path, PathBuf};

use super::check::{Check, State};
use super::locate::{Missing, locate};
use crate::config::{BackendKind, Command, Settings, is_loas_command, slash_commands};
use crate::runner::{AgentWork, Plan, Stage, Work};
use crate::system::{env, files};

/// Every need of the phases that run, and of what runs beside them.
pub(super) fn needs(plan: &Plan, workspace: &Path, settings: &Settings) -> Vec<Check> {
    let mut checks: Vec<Check> = plan
        .stages()
        .iter()
        .filter(|stage| !stage.skip)
        .flat_map(|stage| of_stage(stage, workspace, settings))
        .collect();
    let beside = [("compaction", settings.compaction()), ("notify", settings.notify().command.as_ref())];
    for (name, argv) in beside.into_iter().filter_map(|(name, command)| Some((name, command.map(Command::argv)?))) {
        checks.push(found(name, command(&argv, workspace)));
    }
    checks
}

fn of_stage(stage: &Stage, workspace: &Path, settings: &Settings) -> Vec<Check> {
    let name = stage.phase.to_string();
    let mut checks = Vec::new();
    match &stage.work {
        Some(Work::Command(argv)) => checks.push(found(&name, command(argv, workspace))),
        Some(Work::Agent(agent)) => checks.extend(of_agent(&name, agent, workspace, settings)),
        None => {}
    }
    checks.extend(stage.verify.as_ref().map(|argv| found(&format!("{name}, its gate"), command(argv, workspace))));
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

/// Where the program of a command lies, when it and the script that it is given are there.
fn command(argv: &[String], workspace: &Path) -> Result<String, Missing> {
    let program = argv.first().map(String::as_str).unwrap_or_default();
    let remedy = || "install it, or correct its path".to_owned();
    let path = find(program, workspace).ok_or_else(|| not_found(program, workspace))?;
    match argv {
        [_, flag, line] if flag == "-c" && is_shell(program) => {
            let first = first_command(line);
            if first.is_empty() { Ok(path) } else { command(&first, workspace) }
        }
        [_, script, ..] if is_missing_script(program, script, workspace) => {
            Err(Missing { found: format!("`{script}`, which `{program}` is given, is not found"), remedy: remedy() })
        }
        _ => Ok(path),
    }
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
    let folders = env::var("PATH")?;
    let mut paths = folders.split(':').map(|folder| Path::new(folder).join(program));
    paths.find(|path| files::is_program(path)).map(|path| path.display().to_string())
}

const SHELLS: [&str; 5] = ["sh", "bash", "dash", "ksh", "zsh"];
/// Programs whose first argument, where it is no option, is a file to run.
const INTERPRETERS: [&str; 5] = ["python", "python3", "node", "perl", "ruby"];

fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program.rsplit('/').next().unwrap_or_default())
}

fn is_missing_script(program: &str, script: &str, workspace: &Path) -> bool {
    let interpreter = INTERPRETERS.contains(&program.rsplit('/').next().unwrap_or_default());
    // A shell looks in `PATH`, too.
    let elsewhere = || is_shell(program) && !script.contains('/') && find(script, workspace).is_some();
    (interpreter || is_shell(program))
        && !script.starts_with(['-', '+'])
        && !workspace.join(script).exists()
        && !elsewhere()
}

/// Words with which a line begins that are no programs.
const OF_THE_SHELL: [&str; 41] = [
    ".", ":", "alias", "bg", "break", "case", "cd", "command", "continue", "echo", "eval", "exec", "exit", "export",
    "false", "fg", "for", "function", "getopts", "hash", "if", "jobs", "kill", "local", "printf", "pwd", "read",
    "readonly", "return", "set", "shift", "source", "test", "times", "trap", "true", "ulimit", "umask", "unset",
    "until", "while",
];

/// The first command of a line for the shell, as far as its words stand for themselves; nothing where it is one of the
/// shell's own.
fn first_command(line: &str) -> Vec<String> {
    let plain = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./+,:@%".contains(c));
    let assigns = |word: &&str| word.split_once('=').is_some_and(|(name, value)| plain(&name) && plain(&value));
    let first = line.trim_start().split([';', '|', '&', '\n', '<', '>']).next().unwrap_or_default();
    let words = first.split_whitespace().skip_while(|word| *word == "exec" || assigns(word));
    let words: Vec<String> = words.take_while(plain).map(str::to_owned).collect();
    let own = words.first().is_some_and(|word| OF_THE_SHELL.contains(&word.as_str()));
    // A function may have the name.
    let is_function = line.contains("()");
    if own || is_function { Vec::new() } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::files::{Privacy, write_durably};

    #[test]
    fn what_is_certainly_missing_is_named_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        write_durably(&folder.path().join("there.sh"), b"", Privacy::Shared).expect("written");
        let line = |line: &str| vec!["sh".to_owned(), "-c".to_owned(), line.to_owned()];
        let argv = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (argv, missing) in [
            (argv("sh ./missing.sh"), Some("`./missing.sh`, which `sh` is given")),
            (argv("/bin/sh missing.sh"), Some("`missing.sh`, which `/bin/sh` is given")),
            (argv("sh there.sh"), None),
            (argv("sh -e missing.sh"), None),
            (argv("no-such-program x"), Some("`no-such-program`")),
            (argv("./there.sh"), Some("`./there.sh` is not executable")),
            (line("sh ./missing.sh"), Some("`./missing.sh`, which `sh` is given")),
            (line("A=1 exec ./missing.sh --flag 'x y'; true"), Some("`./missing.sh`")),
            (line("no-such-program | tee log"), Some("`no-such-program`")),
            (line("cd sub && ./missing.sh"), None),
            (line("test -f x || ./missing.sh"), None),
            (line("$TOOL run"), None),
            (line("(no-such-program)"), None),
            (line("build() { true; }; build"), None),
            (line("build () { true; }\nbuild"), None),
            (line("\"no such program\""), None),
        ] {
            let found = command(&argv, folder.path());
            match (missing, found) {
                (None, found) => assert!(found.is_ok(), "{argv:?}"),
                (Some(missing), Err(found)) => assert!(found.found.starts_with(missing), "{argv:?}: {}", found.found),
                (Some(_), Ok(path)) => panic!("{argv:?} is found: {path}"),
            }
        }
    }
}
