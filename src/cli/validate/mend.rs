//! Mending what is safe to mend.

use std::fs;

use camino::Utf8Path;
use similar::TextDiff;

use super::check::Checked;
use super::output::count;
use super::write;
use crate::cli::console::{print, say};
use crate::cli::{ExitStatus, Failure};
use crate::diag::{Budget, Diagnostic, Edit, Fix};
use crate::schema::Checker;
use crate::text::harmless;

/// A file with everything mended that is safe to mend.
#[derive(Debug)]
pub(super) struct Mended {
    /// What stood there.
    before: String,
    /// What is to stand there.
    pub(super) text: String,
    /// How many findings are gone.
    count: usize,
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
    fn diff(&self, name: &str) -> String {
        let diff = TextDiff::from_lines(self.before.as_str(), self.text.as_str());
        let name = harmless(name.trim_start_matches("./"));
        diff.unified_diff().context_radius(2).header(&format!("a/{name}"), &format!("b/{name}")).to_string()
    }

    /// Puts the mended text into the file's place.
    fn write(&self, path: &Utf8Path) -> Result<(), Failure> {
        // The file that a link leads to is mended, and the link stays one.
        let path = fs::canonicalize(path).map_err(|error| Failure::new(ExitStatus::WriteFailed, error))?;
        write::in_place(&path, self.text.as_bytes())
    }
}

/// Mends batch by batch, or shows what mending would do.
#[derive(Debug)]
pub(super) struct Mending {
    for_good: bool,
    /// Findings that are gone, or would be.
    mended: usize,
    /// Findings that stay.
    left: usize,
}

impl Mending {
    pub(super) fn preview() -> Self {
        Self { for_good: false, mended: 0, left: 0 }
    }

    pub(super) fn for_good() -> Self {
        Self { for_good: true, ..Self::preview() }
    }

    pub(super) fn is_preview(&self) -> bool {
        !self.for_good
    }

    /// Whether there is nothing to mend, and nothing that nobody can mend.
    pub(super) fn is_clean(&self) -> bool {
        self.mended + self.left == 0
    }

    /// Shows what is mended, and mends it unless this is a preview.
    pub(super) fn batch(&mut self, checked: &[Checked]) -> Result<(), Failure> {
        for one in checked {
            self.left += one.findings.len();
            let Some(mended) = &one.mended else { continue };
            let diff = mended.diff(&one.name);
            if self.for_good {
                say(diff.trim_end());
                mended.write(one.name.as_str().into())?;
            } else {
                print(&diff)?;
            }
            self.mended += mended.count;
        }
        Ok(())
    }

    /// Sums up.
    pub(super) fn tell(&self) {
        let (mended, left) = (count(self.mended, "finding"), count(self.left, "finding"));
        if self.for_good {
            say(format_args!("{mended} mended"));
        } else {
            say(format_args!("{mended} can be mended, {left} cannot"));
        }
    }
}
