//! Files that belong to somebody else stay as they are.

use super::Evidence;
use super::document::clip;
use crate::conform::judge::Check;
use crate::conform::spec::{Reason, Step};

/// A file is as the judge laid it last.
pub(super) fn unchanged(evidence: &Evidence<'_>, path: &str) -> Check {
    let path = evidence.text(path);
    let Some(content) = laid(evidence, &path) else {
        return Check::fail(Reason::FileGone, format!("{path} as the judge laid it"), "the case never laid it");
    };
    let last = evidence.seen.steps.len().checked_sub(1);
    let seen = last.and_then(|last| evidence.seen.steps[last].laid.get(&path));
    let check = match seen {
        None => Check::fail(Reason::FileGone, clip(&content), "it is gone"),
        Some(file) if file.text == content => Check::pass("as it was laid", "the same"),
        Some(file) => Check::fail(Reason::FileChanged, clip(&content), clip(&file.text)),
    };
    check.in_file(path)
}

fn laid(evidence: &Evidence<'_>, path: &str) -> Option<String> {
    let steps = evidence.case.steps.iter().rev().filter_map(|step| match step {
        Step::Write { path, content } => Some((path, content)),
        _ => None,
    });
    let mut all = steps.chain(&evidence.case.files);
    let (_, content) = all.find(|(laid, _)| evidence.text(laid) == path)?;
    Some(evidence.text(content))
}
