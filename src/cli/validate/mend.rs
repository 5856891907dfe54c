//! Mending what is safe to mend.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use camino::Utf8Path;
use similar::TextDiff;

use super::check::Checked;
use crate::cli::console::{print, say};
use crate::cli::{ExitStatus, Failure};
use crate::diag::{Budget, Diagnostic, Edit, Fix};
use crate::schema::Checker;
use crate::system::files::{self, Privacy};

/// A file with everything mended that is safe to mend.
#[derive(Debug)]
pub(super) struct Mended {
    /// What stood there.
    before: String,
    /// What is to stand there.
    pub(super) text: String,
    /// How many findings are gone.
    pub(super) count: usize,
}

/// The mended text of a file; `None` where there is nothing to mend. A fix is kept only if afterwards there are fewer
/// findings and none that was not there before.
pub(super) fn mend(
    checker: &Checker,
    bytes: &[u8],
    path: &Utf8Path,
    budget: &Budget,
    findings: &[Diagnostic],
) -> Option<Mended> {
    /// Tried one by one when all at once do not do.
    const MOST: usize = 100;
    let before = std::str::from_utf8(bytes).ok()?;
    let fixes: Vec<&Fix> = findings.iter().filter_map(|finding| finding.fix.as_ref()).collect();
    if fixes.is_empty() {
        return None;
    }
    let better = |text: &str, than: &[Diagnostic]| {
        let left = checker.check(text.as_bytes(), path, budget);
        let known =
            |finding: &Diagnostic| than.iter().any(|old| old.code == finding.code && old.pointer == finding.pointer);
        (left.len() < than.len() && left.iter().all(known)).then_some(left)
    };
    let all = all_at_once(&fixes).apply(before);
    if let Some((text, left)) = all.and_then(|text| better(&text, findings).map(|left| (text, left))) {
        return Some(Mended { before: before.to_owned(), count: findings.len() - left.len(), text });
    }
    let (mut text, mut left) = (before.to_owned(), findings.to_vec());
    // From the end, so that what is still to come keeps its place.
    for fix in fixes.into_iter().rev().take(MOST) {
        let Some(tried) = fix.apply(&text) else { continue };
        if let Some(fewer) = better(&tried, &left) {
            (text, left) = (tried, fewer);
        }
    }
    let count = findings.len() - left.len();
    (count > 0).then(|| Mended { before: before.to_owned(), text, count })
}

fn all_at_once(fixes: &[&Fix]) -> Fix {
    let mut edits: Vec<Edit> = fixes.iter().flat_map(|fix| fix.edits.clone()).collect();
    edits.sort_by_key(|edit| edit.span);
    edits.dedup();
    Fix { title: "everything", edits }
}

impl Mended {
    /// The change as a unified diff that `patch -p1` takes.
    pub(super) fn diff(&self, name: &str) -> String {
        let diff = TextDiff::from_lines(self.before.as_str(), self.text.as_str());
        let name = name.trim_start_matches("./");
        diff.unified_diff().context_radius(2).header(&format!("a/{name}"), &format!("b/{name}")).to_string()
    }

    /// Puts the mended text into the file's place, whole, and as private as it was.
    pub(super) fn write(&self, path: &Utf8Path) -> Result<(), Failure> {
        let failed = |error: Box<dyn std::error::Error>| {
            Failure::new(ExitStatus::WriteFailed, error).hint("the file is as it was; `--diff` shows what would change")
        };
        // The file that a link leads to is mended, and the link stays one.
        let path = fs::canonicalize(path).map_err(|error| failed(error.into()))?;
        // Six bits for the group and the others.
        let mode = fs::metadata(&path).map_or(0o644, |about| about.permissions().mode());
        let privacy = if mode.trailing_zeros() >= 6 { Privacy::Private } else { Privacy::Shared };
        files::write_durably(&path, self.text.as_bytes(), privacy).map_err(|error| failed(error.into()))
    }
}

/// Shows what would be mended, and says whether there is nothing to mend and nothing that nobody can mend.
pub(super) fn preview(checked: &[Checked]) -> Result<bool, Failure> {
    let mut count = 0;
    for (one, mended) in all(checked) {
        print(&mended.diff(&one.name))?;
        count += mended.count;
    }
    let left: usize = checked.iter().map(|one| one.findings.len()).sum();
    say(format_args!("{} can be mended, {} cannot", findings(count), findings(left)));
    Ok(count + left == 0)
}

/// Shows what is mended, then writes it.
pub(super) fn write_all(checked: &[Checked]) -> Result<(), Failure> {
    let mut count = 0;
    for (one, mended) in all(checked) {
        say(mended.diff(&one.name).trim_end());
        mended.write(one.name.as_str().into())?;
        count += mended.count;
    }
    say(format_args!("{} mended", findings(count)));
    Ok(())
}

fn all(checked: &[Checked]) -> impl Iterator<Item = (&Checked, &Mended)> {
    checked.iter().filter_map(|one| Some((one, one.mended.as_ref()?)))
}

fn findings(count: usize) -> String {
    format!("{count} {}", if count == 1 { "finding" } else { "findings" })
}
