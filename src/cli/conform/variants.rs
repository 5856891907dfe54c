//! `loa-conform variants`: has the judge judged.

use std::fmt::Write as _;

use serde_json::json;

use super::args::Variants;
use super::suite;
use crate::cli::console::{print, say};
use crate::cli::{ExitStatus, Failure};
use crate::conform::judge::Judged;
use crate::conform::observe::{AgentRig, RigOptions, withdraw};
use crate::conform::score::{Proof, ProofOptions, Rig, Tried, prove};
use crate::conform::spec::{AgentProfile, Column, ProfileName, RuntimeProfile};
use crate::conform::suite::{Suite, Variant};
use crate::diag::closest;
use crate::system::{env, ids, scratch};

pub(super) fn variants(wish: &Variants) -> Result<ExitStatus, Failure> {
    let judge = env::current_exe().map_err(|error| Failure::new(ExitStatus::Internal, error))?;
    let seed = wish.seed.unwrap_or_else(ids::seed);
    let rig = RigOptions::new(seed, judge);
    match wish.place.profile {
        ProfileName::Runtime => proved::<RuntimeProfile>(wish, seed, &rig),
        ProfileName::Agent => {
            withdraw().map_err(|error| Failure::new(ExitStatus::HarnessFailed, error))?;
            proved::<AgentProfile>(wish, seed, &AgentRig::new(rig, wish.installed.programs.clone()))
        }
    }
}

fn proved<P: Judged>(wish: &Variants, seed: u64, rig: &dyn Rig<P>) -> Result<ExitStatus, Failure> {
    let suite = suite::open::<P>(wish.place.suite.as_deref())?;
    let chosen = chosen(&suite, &wish.names)?;
    let place = scratch::folder("loa-variants-").map_err(|error| Failure::new(ExitStatus::WriteFailed, error))?;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let jobs = wish.jobs.map_or(cores * 4, std::num::NonZero::get);
    let options = ProofOptions { full: wish.full, nulls: wish.names.is_empty(), jobs, timing_jobs: jobs };
    say(format_args!("seed {seed}, {} variants", chosen.len()));
    let mut listener = |column: Option<Column>, tried: &[Tried]| {
        let column = column.map_or("every column".to_owned(), |column| column.to_string());
        let sound = tried.iter().filter(|it| it.found.is_empty()).count();
        say(format_args!("{column}: {sound} of {} as declared", tried.len()));
    };
    let proof = prove(&suite, &chosen, place.path(), rig, options, &mut listener)
        .map_err(|error| Failure::new(ExitStatus::Config, error).hint("`loa-conform lint` checks every variant"))?;
    if wish.json {
        print(&format!(
            "{:#}\n",
            json!({ "seed": seed, "score": proof.score(), "holds": proof.holds(), "proof": proof })
        ))?;
    } else {
        print(&told(&proof, wish.full))?;
    }
    Ok(match (proof.tried.is_empty(), proof.holds()) {
        (true, _) => ExitStatus::Incomplete,
        (false, true) => ExitStatus::Success,
        (false, false) => ExitStatus::NotConforming,
    })
}

/// The variants that were named, or all.
fn chosen<P: Judged>(suite: &Suite<P>, names: &[String]) -> Result<Vec<Variant>, Failure> {
    let all = suite.variants().map_err(|error| Failure::new(ExitStatus::Config, error))?;
    if let Some(name) = names.iter().find(|name| all.iter().all(|it| it.variant != **name)) {
        let failure = Failure::new(ExitStatus::NoInput, format!("there is no variant `{name}`"));
        return Err(match closest(name, all.iter().map(|it| it.variant.as_str())) {
            Some(similar) => failure.hint(format!("did you mean {similar}?")),
            None => failure.hint("they lie in fixtures/faulty and fixtures/lawful"),
        });
    }
    let wanted = |it: &Variant| names.is_empty() || names.contains(&it.variant);
    Ok(all.into_iter().filter(wanted).collect())
}

fn told(proof: &Proof, full: bool) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for void in &proof.void {
        let _ = writeln!(text, "{void}");
    }
    for Tried { variant, found, reds, .. } in proof.tried.iter().filter(|it| !it.found.is_empty()) {
        for what in found {
            let _ = writeln!(text, "{variant}: {what}");
        }
        for red in reds {
            let _ = writeln!(text, "  {red}");
        }
    }
    for it in proof.tried.iter().filter(|it| it.hidden) {
        let _ = writeln!(text, "{}: this machine cannot show it, so it was not tried", it.variant);
    }
    for (name, passed) in proof.nulls.iter().filter(|(_, passed)| !passed.is_empty()) {
        let _ = writeln!(text, "{name}: it does nothing, and passed {}", passed.join(", "));
    }
    if full {
        text.extend([proof.table.as_str(), "\n"]);
    }
    text + &proof.score() + "\n"
}
