//! What is done with results as they come: held together, mended, written out, counted.

use std::collections::BTreeMap;

use super::args::Flags;
use super::check::{Checked, Looked};
use super::input::Unreadable;
use super::mend::Mending;
use super::output::Output;
use crate::cli::console::say;
use crate::cli::{ExitStatus, Failure};
use crate::diag::Severity;
use crate::schema::{Trace, together};
use crate::text::harmless;

/// Takes the results batch by batch.
pub(super) struct Teller {
    output: Output,
    /// Where mending was asked for.
    mending: Option<Mending>,
    found: Found,
    /// Whether anything was checked, or could not be.
    knows_nothing: bool,
    denies_warnings: bool,
}

impl Teller {
    pub(super) fn new(flags: &Flags) -> Self {
        let mending = match (flags.diff, flags.fix) {
            (true, _) => Some(Mending::preview()),
            (false, true) => Some(Mending::for_good()),
            (false, false) => None,
        };
        Self {
            output: Output::new(&flags.output),
            mending,
            found: Found::default(),
            knows_nothing: true,
            denies_warnings: flags.deny_warnings,
        }
    }

    /// Files that belong together, in the order in which they are told.
    pub(super) fn batch(&mut self, batch: Vec<Looked>) -> Result<(), Failure> {
        let mut all = Vec::with_capacity(batch.len());
        for looked in batch {
            match looked {
                Looked::Checked(one) => all.push(*one),
                Looked::Unreadable(error) => self.unreadable(error),
                Looked::Passed => self.found.passed += 1,
            }
        }
        hold_together(&mut all);
        if self.denies_warnings {
            for finding in all.iter_mut().flat_map(|one| &mut one.findings) {
                finding.severity = Severity::Error;
            }
        }
        self.knows_nothing &= all.is_empty();
        for one in &all {
            self.found.add(one);
        }
        if let Some(mending) = &mut self.mending {
            mending.batch(&all)?;
        }
        match &self.mending {
            // The change is shown instead.
            Some(mending) if mending.is_preview() => Ok(()),
            _ => all.iter().try_for_each(|one| self.output.file(one)),
        }
    }

    /// A file, or what was to be files, that could not be read.
    pub(super) fn unreadable(&mut self, error: Unreadable) {
        self.knows_nothing = false;
        self.output.unreadable(error);
    }

    /// Whether nothing was checked, and nothing failed to be.
    pub(super) fn knows_nothing(&self) -> bool {
        self.knows_nothing
    }

    /// Sums up.
    pub(super) fn end(self) -> Result<ExitStatus, Failure> {
        self.found.tell();
        match self.mending {
            None => self.output.end(),
            Some(mending) => {
                mending.tell();
                if !mending.is_preview() {
                    return self.output.end();
                }
                let unread = self.output.unread();
                let status = if mending.is_clean() { ExitStatus::Success } else { ExitStatus::Findings };
                Ok(unread.unwrap_or(status))
            }
        }
    }
}

/// Adds what the files say against each other to what each says by itself.
fn hold_together(checked: &mut [Checked]) {
    let (places, traces): (Vec<usize>, Vec<Trace>) =
        checked.iter_mut().enumerate().filter_map(|(at, one)| Some((at, one.trace.take()?))).unzip();
    for (at, finding) in together(&traces) {
        checked[places[at]].findings.push(finding);
    }
    for at in places {
        checked[at].findings.sort_by(|a, b| (a.span, &a.pointer).cmp(&(b.span, &b.pointer)));
    }
}

/// The kinds that were found, and why while anybody reads that.
#[derive(Default)]
struct Found {
    reasons: Vec<String>,
    counts: BTreeMap<&'static str, usize>,
    /// How many files were met on a walk that are no documents of ours.
    passed: usize,
}

impl Found {
    const FEW: usize = 20;

    fn add(&mut self, one: &Checked) {
        let Some(why) = &one.why else { return };
        *self.counts.entry(one.kind).or_default() += 1;
        if self.reasons.len() <= Self::FEW {
            self.reasons.push(format!("{}: {}, because {why}", harmless(&one.name), one.kind));
        }
    }

    fn tell(&self) {
        if self.reasons.len() <= Self::FEW {
            for reason in &self.reasons {
                say(reason);
            }
        } else {
            let counts: Vec<String> = self.counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            say(counts.join(", "));
        }
        if self.passed > 0 {
            let noun = if self.passed == 1 { "file is" } else { "files are" };
            say(format_args!("{} other {noun} of no kind that is checked here", self.passed));
        }
    }
}
