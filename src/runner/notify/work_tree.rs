//! What changed in the work tree since an execution began, as git tells it, in a few lines.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::events::WorkTree;
use crate::store::Layout;
use crate::system::process::{Command, ProcessExit, capture};
use crate::system::{beneath, git};
use crate::text::{cut, last_written};

/// How long git may take to say what changed.
const LOOK: Duration = Duration::from_secs(2);
/// The most bytes of what git says.
const SAID: usize = 256 * 1024;
/// How long a line may be.
const LINE: usize = 120;
/// How many files that git does not know are named.
const NAMED: usize = 20;
/// The most bytes of one whose lines are counted.
const COUNTED: u64 = 1 << 20;

/// What changed since then; where nobody can tell, a line says why.
pub(super) async fn changed(layout: &Layout, began: &WorkTree) -> Vec<String> {
    let folder = layout.workspace();
    let mut lines = match (&began.base, &began.untracked) {
        (Some(base), _) => {
            compared(folder, base).await.unwrap_or_else(|| vec!["not known: git did not say it".to_owned()])
        }
        (None, Some(_)) => {
            vec!["what git knows is not compared: the repository had no commit when it began".to_owned()]
        }
        (None, None) => return vec!["not known: there was no git repository when it began".to_owned()],
    };
    let names = ask(git::unknown_files(folder, Layout::OWN)).await.unwrap_or_default();
    let names: Vec<&str> = names.split('\0').filter(|name| !name.is_empty()).collect();
    match &began.untracked {
        Some(before) => {
            let now = names.into_iter().map(|name| (name.to_owned(), git::stamp(folder, name))).collect();
            lines.extend(unknown_to_git(before, &now, |name| size(folder, name)));
        }
        None if names.is_empty() => {}
        None => {
            lines.push(format!("{} files that git does not know; nobody recorded which of them are new", names.len()));
        }
    }
    lines.iter().map(|line| cut(last_written(line), LINE)).collect()
}

/// What git says of what it knows.
async fn compared(folder: &Path, base: &str) -> Option<Vec<String>> {
    let filters = ask(git::filters(folder)).await?;
    let stat = ask(git::diffstat(folder, base, &filters, Layout::OWN)).await?;
    Some(stat.lines().map(|line| line.trim().to_owned()).collect())
}

async fn ask(command: Command) -> Option<String> {
    let captured = capture(&command, SAID, LOOK).await;
    // A filter that is not configured is no failure: git says 1 then.
    matches!(captured.exit, ProcessExit::Exited(0 | 1)).then(|| String::from_utf8_lossy(&captured.stdout).into_owned())
}

/// The files that git does not know and that are new or changed, a line each, the first by their names.
fn unknown_to_git(
    before: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
    size: impl Fn(&str) -> String,
) -> Vec<String> {
    let differs = now.iter().filter_map(|(name, stamp)| match before.get(name) {
        None => Some((name, "new")),
        Some(known) if known != stamp => Some((name, "changed")),
        Some(_) => None,
    });
    let differs: Vec<(&String, &str)> = differs.collect();
    let more = differs.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| format!("and {more} more that git does not know"));
    let line = |(name, how): &(&String, &str)| format!("{name} | {how}{}", size(name));
    let head = (!differs.is_empty()).then(|| "files that git does not know:".to_owned());
    head.into_iter().chain(differs.iter().take(NAMED).map(line)).chain(more).collect()
}

/// How long a file is, in words behind what is said of it: in lines, or in bytes where it is no text or too much of it.
fn size(folder: &Path, name: &str) -> String {
    let text = beneath::read(folder, Path::new(name), COUNTED).ok().filter(|text| !text.contains(&0));
    match text.map(|text| text.split_inclusive(|byte| *byte == b'\n').count()) {
        Some(1) => ", 1 line".to_owned(),
        Some(lines) => format!(", {lines} lines"),
        None => {
            let stamp = git::stamp(folder, name);
            stamp.split_once(':').map(|(bytes, _)| format!(", {bytes} bytes")).unwrap_or_default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_before_is_not_named_and_twenty_of_the_others_are() {
        let files =
            |files: &[(&str, &str)]| files.iter().map(|(name, stamp)| ((*name).into(), (*stamp).into())).collect();
        let before: BTreeMap<String, String> = files(&[("same", "1"), ("edited", "1"), ("gone", "1")]);
        for (now, lines) in [
            (vec![], ""),
            (vec![("same", "1")], ""),
            (
                vec![("same", "1"), ("new", "1"), ("edited", "2")],
                "files that git does not know:\nedited | changed, long\nnew | new, long",
            ),
        ] {
            assert_eq!(unknown_to_git(&before, &files(&now), |_| ", long".to_owned()).join("\n"), lines, "{now:?}");
        }
        let many = (10..35).map(|number| (number.to_string(), "1".to_owned())).collect();
        let lines = unknown_to_git(&before, &many, |_| String::new());
        assert_eq!((lines.len(), lines[20].as_str()), (22, "29 | new"));
        assert_eq!(lines[21], "and 5 more that git does not know");
    }
}
