//! `loa-conform mutants`: has the judge judged by runtimes that do one thing wrong, drawn from its own model.

use std::fmt::Write as _;
use std::num::NonZero;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::suite;
use crate::cli::console::{print, say};
use crate::cli::{ExitStatus, Failure};
use crate::conform::judge::Caught;
use crate::conform::observe::RigOptions;
use crate::conform::score::{Carrier, MutatedClause, Mutation, MutationOptions, Ran, Rig, mutate};
use crate::conform::spec::RuntimeProfile;
use crate::system::{env, ids, scratch};

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Mutants {
    /// How many run as processes too, each in a story in which it does something
    #[arg(long, value_name = "N", default_value = "0")]
    processes: usize,
    /// How many are told stories in memory; all when not given
    #[arg(long, value_name = "N")]
    sample: Option<NonZero<usize>>,
    /// How many stories each may be told
    #[arg(long, value_name = "N", default_value = "240")]
    stories: NonZero<usize>,
    /// Draw the stories, and the mutants that run, under this seed
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// How many at once; when not given, twice the cores
    #[arg(long, value_name = "N")]
    jobs: Option<NonZero<usize>>,
    /// Print one JSON document, for machines
    #[arg(long)]
    json: bool,
    /// Read ledger, claims, cases and candidates from this folder instead of the program itself
    #[arg(long, value_name = "DIR")]
    suite: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  loa-conform mutants                                every mutant, in memory
  loa-conform mutants --processes 20 --seed 7        and twenty of them as processes

A mutant is a lawful runtime that does one thing wrong: after a cause, in a phase,
every time or at some. Each is told drawn stories in memory, and what it did is
held against the model; some run as processes, and must get the same verdict.

0: nothing survived. 1: something did, or the verdicts differ.";

pub(super) fn mutants(wish: &Mutants) -> Result<ExitStatus, Failure> {
    let suite = suite::open::<RuntimeProfile>(wish.suite.as_deref())?;
    let judge = env::current_exe().map_err(|error| Failure::new(ExitStatus::Internal, error))?;
    let seed = wish.seed.unwrap_or_else(ids::seed);
    let rig = RigOptions::new(seed, judge);
    let place = scratch::folder("loa-mutants-").map_err(|error| Failure::new(ExitStatus::WriteFailed, error))?;
    let options = MutationOptions {
        seed,
        stories: wish.stories.get(),
        mutants: wish.sample.map(NonZero::get),
        processes: wish.processes,
        jobs: super::score::jobs(wish.jobs).0,
    };
    say(format_args!("seed {seed}"));
    let listener = |ran: &Ran| {
        let verdict = if ran.agrees() { "the same verdict" } else { "another verdict" };
        say(format_args!("  {}, story {}: {verdict}, {}", ran.mutant, ran.story, by(ran.as_processes.as_ref())));
    };
    let rig: &dyn Rig<RuntimeProfile> = &rig;
    let mutation = mutate(&suite, place.path(), rig, options, &listener)
        .map_err(|error| Failure::new(ExitStatus::Config, error))?;
    if wish.json {
        print(&format!("{:#}\n", json!({ "seed": seed, "holds": mutation.holds(), "mutation": mutation })))?;
    } else {
        print(&told(&mutation))?;
    }
    Ok(if mutation.holds() { ExitStatus::Success } else { ExitStatus::NotConforming })
}

fn by(caught: Option<&Caught>) -> &str {
    caught.map_or("nothing was broken", |caught| &caught.by)
}

/// A table that is Markdown as well, and what is wrong.
fn told(mutation: &Mutation) -> String {
    let Mutation { mutants, stories, clauses, without, unsound, arguments, ran } = mutation;
    let mut text = format!("{mutants} mutants, {stories} stories\n\n");
    text += "| clause | came up | own clause | another | argued away | survived | never came up | cannot | control | compound |\n";
    text += "|---|---:|---:|---:|---:|---:|---:|---:|---|---|\n";
    // Writing to a String cannot fail.
    for it in clauses {
        let MutatedClause { clause, generated, own, other, argued, not_reached, impossible, .. } = it;
        let (survived, control) = (it.survivors.len(), if it.control { "kept" } else { "broken" });
        let compound = if it.compound { "killed" } else { "survived" };
        let _ = writeln!(
            text,
            "| {clause} | {generated} | {own} | {other} | {argued} | {survived} | {not_reached} | {impossible} | {control} | {compound} |"
        );
    }
    for carrier in Carrier::ALL {
        let of: Vec<&str> =
            without.iter().filter(|(_, by)| *by == carrier).map(|(clause, _)| clause.as_str()).collect();
        if !of.is_empty() {
            let _ = writeln!(text, "\nno mutants, {carrier}: {}", of.join(", "));
        }
    }
    for (why, count) in arguments {
        let _ = writeln!(text, "\n{count} of them: {why}");
    }
    for survivor in clauses.iter().flat_map(|it| it.survivors.iter().map(move |mutant| (&it.clause, mutant))) {
        let _ = writeln!(text, "\n{}: survived: {}", survivor.0, survivor.1);
    }
    for clause in unsound {
        let _ = writeln!(text, "\n{clause}: a runtime without a fault breaks it");
    }
    let differing: Vec<&Ran> = ran.iter().filter(|it| !it.agrees()).collect();
    if !ran.is_empty() {
        let _ = writeln!(text, "\nas processes: {} of {} got the same verdict", ran.len() - differing.len(), ran.len());
    }
    for it in differing {
        let unseen = it
            .unseen
            .as_deref()
            .map_or_else(|| by(it.as_processes.as_ref()).to_owned(), |why| format!("not seen: {why}"));
        let _ = writeln!(
            text,
            "{}, story {}: in memory {}; as processes {unseen}",
            it.mutant,
            it.story,
            by(it.in_memory.as_ref())
        );
    }
    text += if mutation.holds() { "\nverdict: nothing survived\n" } else { "\nverdict: the judge can be fooled\n" };
    text
}
