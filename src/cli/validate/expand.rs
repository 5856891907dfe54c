//! From what the command line names to single files: lists, patterns, folders.

use std::fs;
use std::io::{self, Read};

use camino::{Utf8DirEntry, Utf8Path, Utf8PathBuf};

use super::input::Unreadable;
use crate::cli::{ExitStatus, Failure};

/// One thing to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Input {
    /// Where it is read from; `-` is standard input.
    pub(super) path: Utf8PathBuf,
    /// Whether somebody named it; otherwise it was met on a walk, and may be anything.
    pub(super) named: bool,
}

/// What there is to look at, in the order of the command line, and what cannot be.
#[derive(Debug, Default)]
pub(super) struct Expanded {
    pub(super) inputs: Vec<Input>,
    pub(super) unreadable: Vec<Unreadable>,
}

/// Expands `@LIST`, patterns and, where `walk` is set, folders.
pub(super) fn expand(words: &[String], walk: bool) -> Result<Expanded, Failure> {
    let mut expanded = Expanded::default();
    for word in words {
        match word.strip_prefix('@') {
            Some(list) if !Utf8Path::new(word).exists() => {
                for line in listed(list)? {
                    expanded.word(&line, walk);
                }
            }
            _ => expanded.word(word, walk),
        }
    }
    Ok(expanded)
}

impl Expanded {
    fn word(&mut self, word: &str, walk: bool) {
        let path = Utf8Path::new(word);
        if word != "-" && word.contains(['*', '?', '[']) && !path.exists() {
            return self.pattern(word, walk);
        }
        if walk && word != "-" && path.is_dir() {
            return self.folder(path);
        }
        self.inputs.push(Input { path: path.to_owned(), named: true });
    }

    fn pattern(&mut self, pattern: &str, walk: bool) {
        let options = glob::MatchOptions { require_literal_leading_dot: true, ..glob::MatchOptions::default() };
        let paths = match glob::glob_with(pattern, options) {
            Ok(paths) => paths,
            Err(error) => {
                return self.unreadable.push(Unreadable::Pattern { path: pattern.into(), why: error.to_string() });
            }
        };
        // The library sorts what it finds.
        let mut found: Vec<Utf8PathBuf> =
            paths.filter_map(Result::ok).filter_map(|path| Utf8PathBuf::from_path_buf(path).ok()).collect();
        if !walk {
            found.retain(|path| !path.is_dir());
        }
        if found.is_empty() {
            self.unreadable.push(Unreadable::NoMatch { path: pattern.into() });
        }
        for path in found {
            if path.is_dir() {
                self.folder(&path);
            } else {
                self.inputs.push(Input { path, named: true });
            }
        }
    }

    /// Every document below a folder, sorted. Links to folders are not followed, so that no walk is endless.
    fn folder(&mut self, folder: &Utf8Path) {
        let entries = match folder.read_dir_utf8() {
            Ok(entries) => entries,
            Err(source) => return self.unreadable.push(Unreadable::Failed { path: folder.to_owned(), source }),
        };
        let mut paths: Vec<Utf8PathBuf> = entries.filter_map(Result::ok).map(Utf8DirEntry::into_path).collect();
        paths.sort();
        for path in paths {
            let is_link = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_symlink());
            if path.is_dir() {
                if !is_link && !path.file_name().is_some_and(|name| PASSED_OVER.contains(&name)) {
                    self.folder(&path);
                }
            } else if path.extension().is_some_and(|ending| DOCUMENTS.contains(&ending)) {
                self.inputs.push(Input { path, named: false });
            }
        }
    }
}

/// Folders that hold no documents of anybody's.
const PASSED_OVER: [&str; 3] = [".git", "target", "node_modules"];

/// How documents end.
const DOCUMENTS: [&str; 4] = ["yaml", "yml", "json", "jsonl"];

/// The lines of a list; blank ones and those that begin with `#` count for nothing.
fn listed(list: &str) -> Result<Vec<String>, Failure> {
    /// Far more than anybody lists.
    const LARGEST: u64 = 64 << 20;
    let mut text = String::new();
    let read = match list {
        "-" => io::stdin().lock().take(LARGEST).read_to_string(&mut text),
        list => fs::File::open(list).and_then(|file| file.take(LARGEST).read_to_string(&mut text)),
    };
    read.map_err(|source| {
        let error = Unreadable::Failed { path: list.into(), source };
        Failure::new(ExitStatus::NoInput, error).hint("@FILE reads names of files, one a line; @- reads standard input")
    })?;
    let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.map(str::to_owned).collect())
}
