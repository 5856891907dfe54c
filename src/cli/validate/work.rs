//! Checking what was named, from the first word to the exit status.

use camino::Utf8Path;

use super::args::{Flags, Mode};
use super::batch::batches;
use super::check::Look;
use super::checkers::Checkers;
use super::expand::expand;
use super::input::Unreadable;
use super::output::Output;
use super::pool;
use super::tell::Teller;
use crate::cli::console::say;
use crate::cli::{ExitStatus, Failure};
use crate::diag::Budget;
use crate::schema::{Kind, Reading};

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
    let status = check_all(kinds, kind, words, flags)?;
    Ok(if flags.mode == Mode::Warn && status == ExitStatus::Findings { ExitStatus::Success } else { status })
}

fn check_all(kinds: &[Kind], kind: Option<&str>, words: &[String], flags: &Flags) -> Result<ExitStatus, Failure> {
    let expanded = expand(words, kind.is_none())?;
    let checkers = Checkers::new(kinds, Reading { strict: flags.strict, lenient: flags.lenient });
    let look = Look {
        checkers: &checkers,
        kind,
        budget: budget(flags),
        stdin_name: flags.stdin_name.as_deref(),
        mends: flags.fix || flags.diff,
        follows: flags.follow,
    };
    let mut teller = Teller::new(flags);
    for error in expanded.unreadable {
        teller.unreadable(error);
    }
    let inputs = &expanded.inputs;
    pool::in_order(inputs, batches(inputs), flags.jobs, |input| look.at(input), |batch| teller.batch(batch))?;
    // A folder without documents is more likely a slip than a success.
    let folder = words.iter().map(Utf8Path::new).find(|path| path.is_dir());
    if let Some(folder) = folder.filter(|_| teller.knows_nothing()) {
        teller.unreadable(Unreadable::NoDocuments { path: folder.to_owned() });
    }
    teller.end()
}

fn budget(flags: &Flags) -> Budget {
    let mut budget = Budget::default();
    for (limit, value) in &flags.limits {
        budget.set(*limit, *value);
    }
    budget
}
