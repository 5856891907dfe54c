//! From the process's arguments to its exit code.

use std::process::ExitCode;

use super::args::{Arguments, Verb};
use super::{
    baseline, bundle, compare, data, doctor, explain, explore, model, mutants, new, pages, readme, report, repro,
    score, skeleton, stability, variants,
};
use crate::cli::defect::guarded;
use crate::cli::{finish, parse};
use crate::conform::observe::{CHAMBER, PHASE, keep, probe};
use crate::system::process::hand_nothing_down;

/// Runs `loa-conform` on the process's own arguments.
///
/// The phases that it has a runtime start are itself, and so are the keepers of chambers: both are answered before anything
/// else is looked at.
#[must_use]
pub fn judge() -> ExitCode {
    guarded(|| {
        hand_nothing_down();
        let arguments: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        match arguments.as_slice() {
            [_, word, rest @ ..] if word == PHASE => return ExitCode::from(probe(rest)),
            [_, word, rest @ ..] if word == CHAMBER => return ExitCode::from(keep(rest)),
            _ => {}
        }
        let status = match parse::<Arguments>() {
            Err(status) => status,
            Ok(Arguments { verb }) => finish(match verb {
                Verb::Score(wish) => score::score(&wish),
                Verb::Verify(wish) => bundle::verification(&wish),
                Verb::Baseline(wish) => baseline::baseline(&wish),
                Verb::Stability(wish) => stability::stability(&wish),
                Verb::Explore(wish) => explore::explore(&wish),
                Verb::Repro(wish) => repro::repro(&wish),
                Verb::Doctor(wish) => doctor::doctor(&wish),
                Verb::NewRuntime(wish) => skeleton::new_runtime(&wish),
                Verb::Diff(wish) => compare::diff(&wish),
                Verb::Merge(wish) => compare::merge(&wish),
                Verb::Ledger(wish) => data::ledger(&wish),
                Verb::Explain(wish) => explain::explain(&wish),
                Verb::List(wish) => data::list(&wish),
                Verb::Lint(wish) => data::lint(&wish),
                Verb::New(wish) => new::new(&wish),
                Verb::Mutants(wish) => mutants::mutants(&wish),
                Verb::Variants(wish) => variants::variants(&wish),
                Verb::Report(wish) => report::report(&wish),
                Verb::Readme(wish) => readme::readme(&wish),
                Verb::Pages(wish) => pages::pages(&wish),
                Verb::Model(wish) => model::model(&wish),
            }),
        };
        status.into()
    })
}
