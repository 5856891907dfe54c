//! What changed in the files that somebody is asked about, in a few lines.

use std::path::Path;

use similar::TextDiff;

use crate::events::{PinnedFile, PinnedRole};
use crate::policy::Redactor;
use crate::runner::recorded_files::text_now;
use crate::text::{is_visible, line};

/// How many files are shown.
const FILES: usize = 5;
/// How many lines of all of them.
const LINES: usize = 60;
/// How long a line may be.
const LINE: usize = 300;
/// The most bytes of all lines, so that every receiver has room for the rest of the message.
const BYTES: usize = 2_000;
/// How many lines that did not change stand around one that did.
const AROUND: usize = 2;

/// What changed in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The file.
    pub file: String,
    /// What changed, one line each: `-` is what it began with, `+` what lies there now.
    pub lines: Vec<String>,
    /// How many lines there are besides.
    pub more: usize,
}

/// What changed in these files since an execution recorded `pinned`. `kept` finds a text by its digest.
pub(super) fn differences(
    workspace: &Path,
    files: &[PinnedFile],
    pinned: &[PinnedFile],
    kept: impl Fn(&str) -> Option<String>,
    redactor: &Redactor,
) -> Vec<Difference> {
    let (mut lines, mut bytes) = (LINES, BYTES);
    let mut shown = Vec::new();
    let files = each_once(files);
    for file in files.iter().take(FILES) {
        let before: Vec<&PinnedFile> =
            pinned.iter().rev().filter(|known| known.role == file.role && known.path == file.path).collect();
        let all = of_file(workspace, file, &before, &kept, redactor);
        let fitting = fitting(&all, lines, bytes);
        lines -= fitting.len();
        bytes -= fitting.iter().map(|line| line.len() + 1).sum::<usize>();
        let more = all.len() - fitting.len();
        shown.push(Difference { file: line(&file.path.display().to_string()), lines: fitting, more });
    }
    let more = files.len().saturating_sub(FILES);
    let named = || vec!["`loa-run status --json` names them under changed_gates".to_owned()];
    shown.extend((more > 0).then(|| Difference { file: format!("{more} more files"), lines: named(), more: 0 }));
    shown
}

/// Each file once: a script of a gate may be protected besides. Where a link leads nowhere, the two are not the same.
fn each_once(files: &[PinnedFile]) -> Vec<&PinnedFile> {
    let mut once: Vec<&PinnedFile> = Vec::new();
    for file in files {
        let is_same = |known: &&PinnedFile| plain(&known.path) == plain(&file.path) && known.sha256 == file.sha256;
        if !once.iter().any(is_same) {
            once.push(file);
        }
    }
    once
}

/// A path without a leading `./`.
fn plain(path: &Path) -> &Path {
    path.strip_prefix(".").unwrap_or(path)
}

/// What fits of a difference. Where not all of it does, what is there now counts more than what is gone, and its end as much as
/// its beginning: nothing is hidden behind many lines.
fn fitting(all: &[String], most: usize, bytes: usize) -> Vec<String> {
    let size = |lines: &[&String]| lines.iter().map(|line| line.len() + 1).sum::<usize>();
    let fits = |lines: &[&String]| lines.len() <= most && size(lines) <= bytes;
    let everything: Vec<&String> = all.iter().collect();
    if fits(&everything) {
        return all.to_vec();
    }
    let mut kept: Vec<&String> = all.iter().filter(|line| !line.starts_with(['-', ' ', '@'])).collect();
    while !kept.is_empty() && !fits(&kept) {
        kept.remove(kept.len() / 2);
    }
    kept.into_iter().cloned().collect()
}

/// `before` is what the file was and may be, the newest first.
fn of_file(
    workspace: &Path,
    file: &PinnedFile,
    before: &[&PinnedFile],
    kept: &impl Fn(&str) -> Option<String>,
    redactor: &Redactor,
) -> Vec<String> {
    let digests = || before.iter().filter_map(|known| known.sha256.as_deref());
    if file.sha256.as_deref().is_some_and(|now| digests().any(|known| known == now)) {
        return vec![TOUCHED.to_owned()];
    }
    if file.role == PinnedRole::Program {
        let said = match (&file.sha256, digests().next()) {
            (None, _) => "it is not found any more",
            (Some(_), None) => "it was not there, or another one was found",
            (Some(_), Some(_)) => "it is another program",
        };
        return vec![said.to_owned()];
    }
    let text = |bytes: Option<Vec<u8>>| bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let now = match &file.sha256 {
        None => Some(String::new()),
        Some(_) => text(text_now(workspace, file)),
    };
    // What somebody agreed to later was not kept.
    let was_there = digests().next().is_some();
    let was = if was_there { digests().find_map(kept) } else { Some(String::new()) };
    let (Some(was), Some(now)) = (was, now) else {
        return vec!["what changed in it cannot be shown: it is no text, too long, or was not kept".to_owned()];
    };
    let [was, now] = [was, now].map(|text| redactor.text(&text));
    let how = match (was_there, &file.sha256) {
        (true, None) => Some("it is gone".to_owned()),
        (false, _) => Some("it is new".to_owned()),
        (true, Some(_)) => None,
    };
    how.into_iter().chain(changed_lines(&was, &now)).collect()
}

/// What is said of a file that is as it was.
const TOUCHED: &str = "it is as it was now: it was written, moved or replaced while the gate ran";

/// A line in which nothing is hidden: what a terminal would do something with is written out, and what is cut is told.
fn in_full(line: &str) -> String {
    let mut text = String::new();
    for letter in line.chars().take(LINE) {
        let is_hidden = !is_visible(letter) && letter != '\t';
        if is_hidden { text.extend(letter.escape_unicode()) } else { text.push(letter) }
    }
    match line.chars().count().saturating_sub(LINE) {
        0 => text,
        more => format!("{text}… and {more} more characters"),
    }
}

fn changed_lines(was: &str, now: &str) -> Vec<String> {
    if was == now {
        return vec!["what changed in it is taken out of what is shown, as a secret is".to_owned()];
    }
    // No other end of a line: a carriage return can hide what stands before it.
    let [before, after] = [was, now].map(|text| text.split_terminator('\n').collect::<Vec<&str>>());
    let shown = TextDiff::from_slices(&before, &after).unified_diff().context_radius(AROUND).to_string();
    if shown.is_empty() {
        return vec!["its last line ends otherwise".to_owned()];
    }
    shown.split_terminator('\n').map(in_full).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::scratch;

    fn file(role: PinnedRole, path: &str, text: Option<&str>) -> PinnedFile {
        PinnedFile { role, path: path.into(), sha256: text.map(PinnedFile::digest) }
    }

    #[test]
    fn nothing_is_hidden_behind_many_lines() {
        let gone = (0..100).map(|number| format!("-old {number}"));
        let new = (0..100).map(|number| format!("+new {number}"));
        let all: Vec<String> = gone.chain(new).collect();
        let shown = fitting(&all, 60, BYTES);
        assert_eq!((shown.len(), shown.first().map(String::as_str)), (60, Some("+new 0")));
        assert_eq!(shown.last().map(String::as_str), Some("+new 99"));
        assert_eq!(fitting(&all[..60], 60, BYTES), all[..60]);
        assert_eq!(fitting(&all, 60, 20).concat(), "+new 0+new 99");
        assert_eq!(fitting(&all, 0, BYTES), Vec::<String>::new());
    }

    #[test]
    fn what_changed_is_shown_without_secrets_and_nothing_in_it_is_hidden() {
        use PinnedRole::{Gate, Program, Protected};
        let place = tempfile::tempdir().expect("a folder");
        let redactor = Redactor::new([("TOKEN", "hunter2hunter2")]);
        let shown = |role, was: Option<&str>, now: Option<&str>| {
            let path = place.path().join("check");
            if let Some(now) = now {
                scratch::lay(&path, now.as_bytes()).expect("laid");
            }
            let before = file(role, "check", was);
            let kept = |digest: &str| was.filter(|was| PinnedFile::digest(was) == digest).map(str::to_owned);
            let found = differences(place.path(), &[file(role, "check", now)], &[before], kept, &redactor);
            assert_eq!((found.len(), found[0].file.as_str()), (1, "check"));
            let more = (found[0].more > 0).then(|| format!("… {} more", found[0].more));
            found[0].lines.iter().cloned().chain(more).collect::<Vec<_>>().join("\n")
        };
        let long = format!("{}exit 0", " ".repeat(LINE));
        for (role, was, now, expected) in [
            (Gate, Some("make test\n"), Some("exit 0\n"), "@@ -1 +1 @@\n-make test\n+exit 0"),
            (Gate, Some("a\nb\nc\nd\ne\n"), Some("a\nb\nc\nd\nE\n"), "@@ -3,3 +3,3 @@\n c\n d\n-e\n+E"),
            (Gate, None, Some("exit 0\n"), "it is new\n@@ -0,0 +1 @@\n+exit 0"),
            (Protected, Some("x\n"), None, "it is gone\n@@ -1 +0,0 @@\n-x"),
            (Gate, Some("x"), Some("exit 0\r#x\u{202e}"), "@@ -1 +1 @@\n-x\n+exit 0\\u{d}#x\\u{202e}"),
            (Gate, Some("x"), Some("hunter2hunter2"), "@@ -1 +1 @@\n-x\n+[REDACTED:$TOKEN]"),
            (Gate, Some("x"), Some("x"), TOUCHED),
            (Program, Some("x"), Some("y"), "it is another program"),
            (Program, Some("x"), None, "it is not found any more"),
        ] {
            assert_eq!(shown(role, was, now), expected, "{was:?} {now:?}");
        }
        assert!(shown(Gate, Some("x"), Some(&long)).ends_with(" … and 7 more characters"));
        let many = shown(Gate, Some("x"), Some(&"line\n".repeat(100)));
        assert!(many.lines().count() == LINES + 1 && many.ends_with("… 42 more"), "{many}");
        let wide = shown(Gate, Some("x"), Some(&format!("{}\n", "y".repeat(290)).repeat(30)));
        assert!(wide.len() < BYTES + 40, "{}", wide.len());
    }

    #[test]
    fn a_script_of_a_gate_that_is_protected_besides_is_shown_once() {
        let place = tempfile::tempdir().expect("a folder");
        scratch::lay(&place.path().join("check"), b"exit 0\n").expect("laid");
        let roles = [(PinnedRole::Gate, "./check"), (PinnedRole::Protected, "check")];
        let files = |text: Option<&str>| roles.map(|(role, path)| file(role, path, text)).to_vec();
        let (now, was) = (files(Some("exit 0\n")), files(Some("make test\n")));
        let found = |now: &[PinnedFile]| {
            let kept = |_: &str| Some("make test\n".to_owned());
            differences(place.path(), now, &was, kept, &Redactor::default()).len()
        };
        assert_eq!(found(&now), 1);
        let broken_link = [file(PinnedRole::Gate, "./check", None), now[1].clone()];
        assert_eq!(found(&broken_link), 2, "gone as a script, there as a protected file");
    }

    #[test]
    fn what_was_not_kept_or_is_no_text_is_named_all_the_same() {
        let place = tempfile::tempdir().expect("a folder");
        scratch::lay(&place.path().join("check0"), b"\xff\xfe").expect("laid");
        let now: Vec<PinnedFile> =
            (0..9).map(|number| file(PinnedRole::Gate, &format!("check{number}"), Some("other"))).collect();
        let found = differences(
            place.path(),
            &now,
            &[file(PinnedRole::Gate, "check0", Some("x"))],
            |_| None,
            &Redactor::default(),
        );
        assert!(found[0].lines[0].contains("cannot be shown"), "{found:?}");
        assert_eq!((found.len(), found[5].file.as_str()), (6, "4 more files"));
    }
}
