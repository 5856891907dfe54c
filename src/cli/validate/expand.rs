//! From what the command line names to single files: lists, patterns, folders.

use std::fs;
use std::io;
use std::path::PathBuf;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

use super::input::{self, Unreadable};
use crate::cli::{ExitStatus, Failure};
use crate::diag::Budget;

/// One thing to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Input {
    /// Where it is read from; `-` is standard input.
    pub(super) path: Utf8PathBuf,
    /// How it came here.
    pub(super) met: Met,
    /// The folder that no link may lead out of; none for what is no file of anybody's.
    pub(super) root: Option<Utf8PathBuf>,
}

/// How something to look at was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Met {
    /// Somebody named it.
    Named,
    /// A pattern names it among others.
    Matched,
    /// It lies in a folder, and may be anything.
    Walked,
}

/// The folder that no link below may lead out of: the working folder, or what was named where that lies elsewhere.
fn root_of(named: &Utf8Path, is_folder: bool) -> Option<Utf8PathBuf> {
    let is_inside = |part| matches!(part, Utf8Component::Normal(_) | Utf8Component::CurDir);
    if named.components().all(is_inside) {
        return Some(".".into());
    }
    // What the shell opened for us.
    if named == "-" || named == "/dev/stdin" || named.starts_with("/dev/fd") {
        return None;
    }
    let folder = if is_folder { Some(named) } else { named.parent() };
    folder.map(|folder| if folder == "" { ".".into() } else { folder.to_owned() })
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
            return self.folder(path, root_of(path, true).as_deref());
        }
        let root = root_of(path, false).filter(|_| word != "-");
        self.inputs.push(Input { path: path.to_owned(), met: Met::Named, root });
    }

    fn pattern(&mut self, pattern: &str, walk: bool) {
        let paths = match glob::glob(pattern) {
            Ok(paths) => paths,
            Err(error) => {
                return self.unreadable.push(Unreadable::Pattern { path: pattern.into(), why: error.to_string() });
            }
        };
        // The folders before the first sign of a pattern are named.
        let is_plain = |part: &Utf8Component<'_>| !part.as_str().contains(['*', '?', '[']);
        let base: Utf8PathBuf = Utf8Path::new(pattern).components().take_while(is_plain).collect();
        let root = root_of(&base, true);
        let before = (self.inputs.len(), self.unreadable.len());
        // The library sorts what it finds.
        for path in paths {
            let path = match path {
                Ok(path) => path,
                Err(error) => {
                    let path = error.path().to_string_lossy().into_owned().into();
                    self.unreadable.push(Unreadable::Failed { path, source: error.into() });
                    continue;
                }
            };
            match self.text(path).filter(|path| shows(pattern, path)) {
                Some(path) if !path.is_dir() => {
                    self.inputs.push(Input { path, met: Met::Matched, root: root.clone() });
                }
                Some(path) if walk => self.folder(&path, root.as_deref()),
                _ => {}
            }
        }
        if before == (self.inputs.len(), self.unreadable.len()) {
            self.unreadable.push(Unreadable::NoMatch { path: pattern.into() });
        }
    }

    /// Every document below a folder, sorted. Links to folders are not followed, so that no walk is endless.
    fn folder(&mut self, folder: &Utf8Path, root: Option<&Utf8Path>) {
        let failed = |source| Unreadable::Failed { path: folder.to_owned(), source };
        let mut paths = match fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<fs::DirEntry>>>) {
            Ok(entries) => entries.iter().map(fs::DirEntry::path).collect::<Vec<_>>(),
            Err(error) => return self.unreadable.push(failed(error)),
        };
        paths.sort();
        for path in paths {
            let is_link = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_symlink());
            if path.is_dir() {
                let passed_over = path.file_name().is_some_and(|name| PASSED_OVER.iter().any(|one| name == *one));
                if !is_link
                    && !passed_over
                    && let Some(path) = self.text(path)
                {
                    self.folder(&path, root);
                }
            } else if path.extension().is_some_and(|ending| DOCUMENTS.iter().any(|one| ending == *one)) {
                let path = self.text(path);
                self.inputs.extend(path.map(|path| Input {
                    path,
                    met: Met::Walked,
                    root: root.map(Utf8Path::to_owned),
                }));
            }
        }
    }

    /// The path as text. Findings name files as text, so one whose name is none is told and not passed over.
    fn text(&mut self, path: PathBuf) -> Option<Utf8PathBuf> {
        let no_text = |path: PathBuf| Unreadable::NoText { path: path.to_string_lossy().into_owned().into() };
        Utf8PathBuf::from_path_buf(path).map_err(|path| self.unreadable.push(no_text(path))).ok()
    }
}

/// Whether a pattern means a path with hidden parts: each must be met by a part that begins with a dot itself. The library's
/// own option for that panics at a name that is no UTF-8.
fn shows(pattern: &str, path: &Utf8Path) -> bool {
    let dotted =
        || pattern.split('/').filter(|part| part.starts_with('.')).filter_map(|part| glob::Pattern::new(part).ok());
    let mut hidden = path.components().map(|part| part.as_str()).filter(|part| part.starts_with('.'));
    hidden.all(|part| dotted().any(|pattern| pattern.matches(part)))
}

/// Folders that hold no documents of anybody's.
const PASSED_OVER: [&str; 3] = [".git", "target", "node_modules"];

/// How documents end.
const DOCUMENTS: [&str; 4] = ["yaml", "yml", "json", "jsonl"];

/// The lines of a list; blank ones and those that begin with `#` count for nothing.
fn listed(list: &str) -> Result<Vec<String>, Failure> {
    /// Far more than anybody lists.
    const LARGEST: u64 = 64 << 20;
    let budget = Budget { bytes: LARGEST, ..Budget::default() };
    let failed = |error: Unreadable| {
        Failure::new(ExitStatus::NoInput, error).hint("@FILE reads names of files, one a line; @- reads standard input")
    };
    let input = Input { path: list.into(), met: Met::Named, root: None };
    let bytes = input::read(&input, &budget, true).map_err(failed)?;
    let refused = |why: String| {
        let source = io::Error::new(io::ErrorKind::InvalidData, why);
        failed(Unreadable::Failed { path: list.into(), source })
    };
    if bytes.len() as u64 > LARGEST {
        return Err(refused(format!("it is longer than {LARGEST} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|error| refused(error.to_string()))?;
    let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_shown_to_who_asks_for_it() {
        for (pattern, path, shown) in [
            ("*.yaml", "a.yaml", true),
            ("*.yaml", ".a.yaml", false),
            (".*.yaml", ".a.yaml", true),
            ("**/a.yaml", ".git/a.yaml", false),
            ("**/.loa-checkpoint/*.yaml", "x/.loa-checkpoint/a.yaml", true),
            ("**/.loa-checkpoint/*.yaml", ".git/.loa-checkpoint/a.yaml", false),
            (".loa-checkpoint/*", ".loa-checkpoint/.hidden", false),
            ("./x/*.yaml", "x/a.yaml", true),
            ("../x/*.yaml", "../x/a.yaml", true),
        ] {
            assert_eq!(shows(pattern, Utf8Path::new(path)), shown, "{pattern} {path}");
        }
    }
}
