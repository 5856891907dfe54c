//! Command lines that name no command: `FILE KIND`, as the contract writes it, and `FILE…`, which means `auto`.

use std::ffi::OsString;

use camino::Utf8Path;
use clap::Command as CommandLine;

use super::args::kind_name;
use crate::schema::Kind;

/// The arguments with the command that they mean; unchanged where they name one, or where nobody can tell.
pub(super) fn with_command(arguments: Vec<OsString>, command: &CommandLine, kinds: &[Kind]) -> Vec<OsString> {
    let places = positions(&arguments, command);
    let word = |at: usize| arguments[at].to_str().unwrap_or_default();
    let Some(&first) = places.first() else { return arguments };
    let is_command = |word: &str| command.find_subcommand(word).is_some();
    if is_command(word(first)) {
        return arguments;
    }
    let last = places.last().copied().filter(|last| *last != first).unwrap_or(first);
    let named = if last == first { None } else { kind_name(kinds, word(last)).map(str::to_owned) };
    let looks_like_path = word(first).contains(['/', '.', '*', '?', '@', '-']) || word(first).is_empty();
    let mut changed = arguments.clone();
    match named {
        Some(kind) => {
            changed.remove(last);
            changed.insert(first, kind.into());
        }
        None if Utf8Path::new(word(first)).exists() || looks_like_path && !is_nearly_command(word(first), command) => {
            changed.insert(first, "auto".into());
        }
        None => {}
    }
    changed
}

/// A word with a hyphen may be a misspelt kind as well as a file.
fn is_nearly_command(word: &str, command: &CommandLine) -> bool {
    !word.contains(['/', '.', '*', '?', '@'])
        && crate::diag::closest(word, command.get_subcommands().map(CommandLine::get_name)).is_some()
}

/// Where the arguments stand that are neither flags nor their values.
fn positions(arguments: &[OsString], command: &CommandLine) -> Vec<usize> {
    let takes_value = |flag: &str| {
        let own = command.get_arguments().any(|argument| {
            argument.get_long().is_some_and(|long| flag == format!("--{long}")) && argument.get_action().takes_values()
        });
        own || flag == "--schema"
    };
    let mut found = Vec::new();
    let mut skip = false;
    for (at, argument) in arguments.iter().enumerate().skip(1) {
        let word = argument.to_str().unwrap_or_default();
        if std::mem::take(&mut skip) {
            continue;
        }
        if word.len() > 1 && word.starts_with('-') {
            skip = takes_value(word);
        } else {
            found.push(at);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::args::command;
    use super::*;
    use crate::cli::kinds;

    #[test]
    fn a_missing_command_is_put_where_it_belongs() {
        let kinds = kinds();
        let command = command(&kinds);
        for (given, meant) in [
            ("checkpoint a.yaml", "checkpoint a.yaml"),
            ("list", "list"),
            ("validate a.yaml --schema checkpoint", "validate a.yaml --schema checkpoint"),
            ("a.yaml checkpoint", "checkpoint a.yaml"),
            ("a.yaml b.yaml checkpoint", "checkpoint a.yaml b.yaml"),
            ("--mode warn a.yaml checkpoint --json", "--mode warn checkpoint a.yaml --json"),
            ("a.yaml trajectory-entry", "trajectory a.yaml"),
            (".loa-checkpoint/", "auto .loa-checkpoint/"),
            ("--jobs 2 a.yaml b.yaml", "--jobs 2 auto a.yaml b.yaml"),
            ("--jobs=2 a.yaml", "--jobs=2 auto a.yaml"),
            ("-", "auto -"),
            ("@list", "auto @list"),
            // A slip is left to clap, which says what was meant.
            ("chekpoint a.yaml", "chekpoint a.yaml"),
            ("context-sate a.yaml", "context-sate a.yaml"),
            ("", ""),
        ] {
            let split = |line: &str| {
                let words = line.split_whitespace().map(OsString::from);
                std::iter::once(OsString::from("loa-validate")).chain(words).collect::<Vec<_>>()
            };
            assert_eq!(with_command(split(given), &command, &kinds), split(meant), "{given}");
        }
    }
}
