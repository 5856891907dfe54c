//! Checking what was named, from the first word to the exit status.

use std::collections::BTreeMap;

use camino::Utf8Path;

use super::args::{Flags, Mode};
use super::check::{Checked, Look, Looked};
use super::checkers::Checkers;
use super::expand::expand;
use super::input::Unreadable;
use super::output::Output;
use super::{mend, pool};
use crate::cli::console::say;
use crate::cli::{ExitStatus, Failure};
use crate::diag::Budget;
use crate::schema::{Kind, Reading, Trace, together};

/// Checks files as a kind, or as what each is.
pub(super) fn check(
    kinds: &[Kind],
    kind: Option<&str>,
    words: &[String],
    flags: &Flags,
) -> Result<ExitStatus, Failure> {
    if flags.mode == Mode::Disabled {
        say("nothing was checked: the mode is `disabled`");
        return Output::new(&flags.output).end();
    }
    if flags.fix && words.iter().any(|word| word == "-") {
        return Err(Failure::new(ExitStatus::Usage, "standard input cannot be mended in its place")
            .hint("`--diff` shows what would change"));
    }
    let all = look_at_all(kinds, kind, words, flags)?;
    let status = tell(all, flags)?;
    Ok(if flags.mode == Mode::Warn && status == ExitStatus::Findings { ExitStatus::Success } else { status })
}

/// What became of everything that was named, in that order.
#[derive(Default)]
struct All {
    checked: Vec<Checked>,
    unreadable: Vec<Unreadable>,
    /// How many files were met on a walk that are no documents of ours.
    passed: usize,
}

fn look_at_all(kinds: &[Kind], kind: Option<&str>, words: &[String], flags: &Flags) -> Result<All, Failure> {
    let expanded = expand(words, kind.is_none())?;
    let checkers = Checkers::new(kinds, Reading { strict: flags.strict, lenient: flags.lenient });
    let look = Look {
        checkers: &checkers,
        kind,
        budget: budget(flags),
        stdin_name: flags.stdin_name.as_deref(),
        mends: flags.fix || flags.diff,
    };
    let mut all = All { unreadable: expanded.unreadable, ..All::default() };
    for looked in pool::in_order(&expanded.inputs, flags.jobs, |input| look.at(input)) {
        match looked {
            Looked::Checked(one) => all.checked.push(*one),
            Looked::Unreadable(error) => all.unreadable.push(error),
            Looked::Passed => all.passed += 1,
        }
    }
    // A folder without documents is more likely a slip than a success.
    let folder = words.iter().map(Utf8Path::new).find(|path| path.is_dir());
    if let Some(folder) = folder.filter(|_| all.checked.is_empty() && all.unreadable.is_empty()) {
        all.unreadable.push(Unreadable::NoDocuments { path: folder.to_owned() });
    }
    hold_together(&mut all.checked);
    if kind.is_none() {
        tell_kinds(&all);
    }
    Ok(all)
}

fn tell(all: All, flags: &Flags) -> Result<ExitStatus, Failure> {
    let mut output = Output::new(&flags.output);
    for error in all.unreadable {
        output.unreadable(error);
    }
    if flags.diff {
        let clean = mend::preview(&all.checked)?;
        let status = output.end()?;
        return Ok(if clean || status != ExitStatus::Success { status } else { ExitStatus::Findings });
    }
    if flags.fix {
        mend::write_all(&all.checked)?;
    }
    for one in &all.checked {
        output.file(one)?;
    }
    output.end()
}

fn budget(flags: &Flags) -> Budget {
    let mut budget = Budget::default();
    for (limit, value) in &flags.limits {
        budget.set(*limit, *value);
    }
    budget
}

/// Adds what the files say against each other to what each says by itself.
fn hold_together(checked: &mut [Checked]) {
    let (places, traces): (Vec<usize>, Vec<Trace>) =
        checked.iter().enumerate().filter_map(|(at, one)| Some((at, one.trace.clone()?))).unzip();
    for (at, finding) in together(&traces) {
        checked[places[at]].findings.push(finding);
    }
    for one in checked.iter_mut().filter(|one| one.trace.is_some()) {
        one.findings.sort_by(|a, b| (a.span, &a.pointer).cmp(&(b.span, &b.pointer)));
    }
}

/// Says which kinds were found, and why while anybody reads that.
fn tell_kinds(all: &All) {
    const FEW: usize = 20;
    let found = || all.checked.iter().filter_map(|one| Some((one, one.why.as_ref()?)));
    if all.checked.len() <= FEW {
        for (one, why) in found() {
            say(format_args!("{}: {}, because {why}", one.name, one.kind));
        }
    } else {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (one, _) in found() {
            *counts.entry(one.kind).or_default() += 1;
        }
        let counts: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        say(counts.join(", "));
    }
    if all.passed > 0 {
        let noun = if all.passed == 1 { "file is" } else { "files are" };
        say(format_args!("{} other {noun} of no kind that is checked here", all.passed));
    }
}
