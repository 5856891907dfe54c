//! Which files of the workspace an argument vector starts: its program, or the script that an interpreter is given. Pure, and
//! by their names alone. What such a script reads beyond itself is not known here.

use std::path::{Path, PathBuf};

use super::{Plan, Work};
use crate::contract::Phase;
use crate::events::PinnedRole;
use crate::system::beneath::downward;

const SHELLS: &[&str] = &["sh", "bash", "dash", "ksh", "zsh", "ash"];
const INTERPRETERS: &[&str] = &["python", "python3", "node", "ruby", "perl", "php", "lua", "Rscript", "tclsh", "fish"];
/// Words before a program: those that start another one, and those of the shell's language.
const BEFORE: &[&str] = &[
    "env", "exec", "command", "nice", "nohup", "time", "xargs", "!", "{", "if", "then", "else", "elif", "while",
    "until", "do",
];

/// The scripts of a plan and what each is to it, relative to the workspace. An audit is a gate by itself.
pub(super) fn of_plan(plan: &Plan, workspace: &Path) -> Vec<(PinnedRole, PathBuf)> {
    let mut all = Vec::new();
    for stage in plan.stages().iter().filter(|stage| !stage.skip) {
        if let Some(Work::Command(argv)) = &stage.work {
            let role = if stage.phase == Phase::Audit { PinnedRole::Gate } else { PinnedRole::Command };
            all.extend(scripts(argv, workspace).into_iter().map(|script| (role, script)));
        }
        let gate = stage.verify.iter().flat_map(|argv| scripts(argv, workspace));
        all.extend(gate.map(|script| (PinnedRole::Gate, script)));
    }
    all.sort();
    all.dedup();
    all
}

/// The files that an argument vector starts, relative to the workspace.
pub(super) fn scripts(argv: &[String], workspace: &Path) -> Vec<PathBuf> {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let commands = match &words[..] {
        [shell, flag, line, ..] if is_one_of(shell, SHELLS) && is_a_line(flag) => commands(line),
        words => vec![words.iter().map(|word| (*word).to_owned()).collect()],
    };
    commands.iter().filter_map(|words| script(words, workspace)).collect()
}

/// Whether a flag of a shell announces a line: `-c`, or `-ec`.
fn is_a_line(flag: &str) -> bool {
    flag.starts_with('-') && !flag.starts_with("--") && flag.ends_with('c')
}

fn is_one_of(program: &str, names: &[&str]) -> bool {
    Path::new(program).file_name().and_then(|name| name.to_str()).is_some_and(|name| names.contains(&name))
}

/// What one command starts.
fn script(words: &[String], workspace: &Path) -> Option<PathBuf> {
    let is_before = |word: &&String| {
        let assigns = word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && !name.contains('/'));
        assigns || is_one_of(word, BEFORE)
    };
    let mut words = words.iter().skip_while(is_before).map(String::as_str);
    let program = words.next()?;
    let named = if is_one_of(program, SHELLS) || is_one_of(program, INTERPRETERS) || program == "." {
        let word = words.next()?;
        // Other flags may take a word or a program of their own.
        if word.starts_with('-') && word.len() > 1 && SIMPLE.contains(&word) { words.next()? } else { word }
    } else if program.contains('/') {
        program
    } else {
        return None;
    };
    let path = Path::new(named);
    let path = path.strip_prefix(workspace).unwrap_or(path);
    (!named.starts_with('-') && !named.contains(['$', '`', '*', '?'])).then(|| downward(path)).flatten()
}

/// Flags of shells and interpreters that take no word.
const SIMPLE: &[&str] = &["-e", "-x", "-u", "-ex", "-eu", "-eux", "-euo", "--", "-B", "-I", "-s", "-E"];

/// The commands of a line of the shell, as words without their quotes. What redirections name is none of them.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let (mut word, mut quote, mut is_word, mut is_target) = (String::new(), None, false, false);
    let mut letters = line.chars().peekable();
    let end = |word: &mut String, is_word: &mut bool, is_target: &mut bool, all: &mut Vec<Vec<String>>| {
        if std::mem::take(is_word) {
            let word = std::mem::take(word);
            if !std::mem::take(is_target) {
                all.last_mut().expect("never empty").push(word);
            }
        }
    };
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some('\''), _) => word.push(letter),
            (_, '\\') => {
                word.extend(letters.next());
                is_word = true;
            }
            (Some(_), _) => word.push(letter),
            (None, '\'' | '"') => (quote, is_word) = (Some(letter), true),
            (None, ';' | '&' | '|' | '\n' | '(' | ')') => {
                end(&mut word, &mut is_word, &mut is_target, &mut all);
                all.push(Vec::new());
            }
            (None, '<' | '>') => {
                end(&mut word, &mut is_word, &mut is_target, &mut all);
                is_target = true;
            }
            (None, '#') if !is_word => break,
            (None, letter) if letter.is_whitespace() => end(&mut word, &mut is_word, &mut is_target, &mut all),
            (None, letter) => {
                word.push(letter);
                is_word = true;
            }
        }
    }
    end(&mut word, &mut is_word, &mut is_target, &mut all);
    all.retain(|words| !words.is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_in_the_workspace_and_the_script_of_an_interpreter_are_named() {
        for (argv, expected) in [
            (&["./implement.sh", "plan.md"][..], &["implement.sh"][..]),
            (&["sh", "check.sh"], &["check.sh"]),
            (&["sh", "-eux", "./ci/check.sh", "--all"], &["ci/check.sh"]),
            (&["python3", "tools/check.py"], &["tools/check.py"]),
            (&["/w/bin/check"], &["bin/check"]),
            (&["/usr/bin/make", "test"], &[]),
            (&["make", "check.sh"], &[]),
            (&["python3", "-m", "pytest"], &[]),
            (&["python3", "-c", "print(1)"], &[]),
            (&["sh", "../outside.sh"], &[]),
            (&["sh"], &[]),
            (&[], &[]),
            (&["sh", "-c", "./a.sh && CI=1 sh 'b b.sh' || exec ./c.sh"], &["a.sh", "b b.sh", "c.sh"]),
            (&["sh", "-c", "if ./a.sh; then echo ./no.sh > ./out; fi # ./b.sh"], &["a.sh"]),
            (&["sh", "-c", "grep -q done notes.md 2>/dev/null"], &[]),
            (&["sh", "-c", "(./a.sh | \"./b.sh\") & ./$x.sh; . ./env.sh"], &["a.sh", "b.sh", "env.sh"]),
            (&["bash", "-ec", "cd sub; /w/x.sh"], &["x.sh"]),
        ] {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            let found = scripts(&argv, Path::new("/w"));
            assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{argv:?}");
        }
    }
}
