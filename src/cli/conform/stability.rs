//! `loa-conform stability`: the suite again and again, under other seeds and in another order, to see what wavers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::num::NonZero;

use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::args::{InSuite, Installed};
use super::candidates::Candidates;
use super::score::jobs;
use super::suite;
use crate::cli::console::{print, say};
use crate::cli::{ExitStatus, Failure};
use crate::conform::judge::{Judged, Outcome};
use crate::conform::observe::{AgentRig, Interruption, RigOptions, withdraw};
use crate::conform::score::{Rig, RuntimeReport, SurveyOptions, survey};
use crate::conform::spec::{AgentProfile, ProfileName, RuntimeProfile};
use crate::conform::suite::Selection;
use crate::system::process::Interrupt;
use crate::system::{env, ids};

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Stability {
    /// How often
    #[arg(value_name = "TIMES")]
    times: NonZero<u64>,
    /// Names of bundled runtimes or agents, or manifests of yours
    #[arg(value_name = "NAME|MANIFEST", required = true)]
    runtimes: Vec<String>,
    /// Run only cases whose id, or whose clause, begins so; * stands for anything
    #[arg(long, value_name = "PATTERN")]
    only: Option<String>,
    /// Never run cases whose id, or whose clause, begins so
    #[arg(long, value_name = "PATTERN")]
    skip: Option<String>,
    /// The first seed; each further time takes the next one
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// How many scenarios at once
    #[arg(long, value_name = "N")]
    jobs: Option<NonZero<usize>>,
    #[command(flatten)]
    installed: Installed,
    /// Print one JSON document, for machines
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: InSuite,
}

const EXAMPLES: &str = "\
Examples:
  loa-conform stability 20 my-runtime.yaml
  loa-conform stability 5 sh --only EXIT --seed 100

0: every case came out alike each time, whatever that was. 1: some did not, or
were flaky. 3: nothing was judged. Each time has its own seed and order.";

/// How a case came out: under which seeds each outcome was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Wavering {
    runtime: String,
    case: String,
    outcomes: BTreeMap<Outcome, Vec<u64>>,
}

/// By runtime and case.
type Seen = BTreeMap<(String, String), BTreeMap<Outcome, Vec<u64>>>;

pub(super) fn stability(wish: &Stability) -> Result<ExitStatus, Failure> {
    match wish.place.profile {
        ProfileName::Runtime => repeated::<RuntimeProfile, _>(wish, |options| options),
        ProfileName::Agent => {
            withdraw().map_err(|error| Failure::new(ExitStatus::HarnessFailed, error))?;
            repeated::<AgentProfile, _>(wish, |options| AgentRig::new(options, wish.installed.programs.clone()))
        }
    }
}

fn repeated<P: Judged, R: Rig<P>>(wish: &Stability, rig: impl Fn(RigOptions) -> R) -> Result<ExitStatus, Failure> {
    let suite = suite::open::<P>(wish.place.suite.as_deref())?;
    let candidates = Candidates::gather(&suite, &wish.runtimes)?;
    let interruption = Interruption::listen();
    let judge = env::current_exe().map_err(|error| Failure::new(ExitStatus::Internal, error))?;
    let first = wish.seed.unwrap_or_else(ids::seed);
    let selection = Selection { only: wish.only.clone(), skip: wish.skip.clone(), ..Selection::default() };
    let (jobs, timing_jobs) = jobs(wish.jobs);
    let mut noted = Seen::new();
    let mut problems: BTreeSet<String> = BTreeSet::new();
    for time in 0..wish.times.get() {
        let seed = first.wrapping_add(time);
        say(format_args!("{} of {}: seed {seed}", time + 1, wish.times));
        let rig = rig(RigOptions { stop: interruption.stop(), ..RigOptions::new(seed, judge.clone()) });
        let selection = selection.clone();
        let options = SurveyOptions { selection, jobs, timing_jobs, shuffle: Some(seed), ..SurveyOptions::default() };
        let reports = survey(&suite, &candidates.all, &rig, &options, &|_| ());
        match interruption.by() {
            Some(Interrupt::Interrupt) => return Ok(ExitStatus::Interrupted),
            Some(Interrupt::Terminate) => return Ok(ExitStatus::Terminated),
            None => note(&mut noted, &mut problems, seed, &reports),
        }
    }
    told(wish, first, &noted, &problems)
}

/// Adds what was found under a seed.
fn note(noted: &mut Seen, problems: &mut BTreeSet<String>, seed: u64, reports: &[RuntimeReport]) {
    for report in reports {
        problems.extend(
            report.problem.iter().map(|problem| format!("{}: could not run: {}", report.runtime, problem.line())),
        );
        for (_, case) in report.cases() {
            let outcomes = noted.entry((report.runtime.clone(), case.id.clone())).or_default();
            outcomes.entry(case.outcome).or_default().push(seed);
        }
    }
}

/// The cases that did not come out alike, or wavered within one run.
fn wavering(seen: &Seen) -> Vec<Wavering> {
    let wavers = |outcomes: &&BTreeMap<Outcome, Vec<u64>>| outcomes.len() > 1 || outcomes.contains_key(&Outcome::Flaky);
    let found = seen.iter().filter(|(_, outcomes)| wavers(outcomes));
    let named = found.map(|((runtime, case), outcomes)| Wavering {
        runtime: runtime.clone(),
        case: case.clone(),
        outcomes: outcomes.clone(),
    });
    named.collect()
}

/// How often each outcome was seen.
fn tally(seen: &Seen) -> BTreeMap<Outcome, usize> {
    let mut tally = BTreeMap::new();
    for (outcome, seeds) in seen.values().flatten() {
        *tally.entry(*outcome).or_default() += seeds.len();
    }
    tally
}

/// The exit code: the judge's own failure first, then what wavers, then what was never judged.
fn status(seen: &Seen, wavering: &[Wavering], problems: bool) -> ExitStatus {
    let failed = seen.values().any(|outcomes| outcomes.contains_key(&Outcome::HarnessError));
    let idle = |outcomes: &BTreeMap<Outcome, Vec<u64>>| {
        outcomes.keys().all(|it| matches!(it, Outcome::CouldNotRun | Outcome::NotApplicable | Outcome::NotObserved))
    };
    match () {
        () if failed => ExitStatus::HarnessFailed,
        () if !wavering.is_empty() => ExitStatus::NotConforming,
        () if problems || seen.values().all(idle) => ExitStatus::Incomplete,
        () => ExitStatus::Success,
    }
}

fn told(wish: &Stability, first: u64, seen: &Seen, problems: &BTreeSet<String>) -> Result<ExitStatus, Failure> {
    let found = wavering(seen);
    let status = status(seen, &found, !problems.is_empty());
    let (times, cases, code) = (wish.times.get(), seen.len(), status.code());
    if wish.json {
        let document = json!({ "times": times, "first_seed": first, "cases": cases, "problems": problems,
            "outcomes": tally(seen), "wavering": found, "exit_code": code });
        print(&format!("{document:#}\n"))?;
        return Ok(status);
    }
    let mut text = String::new();
    // Writing to a String cannot fail.
    for problem in problems {
        let _ = writeln!(text, "{problem}");
    }
    for Wavering { runtime, case, outcomes } in &found {
        let _ = writeln!(text, "{runtime} {case}");
        for (outcome, seeds) in outcomes {
            let shown: Vec<String> = seeds.iter().take(8).map(u64::to_string).collect();
            let more = if seeds.len() > shown.len() { ", …" } else { "" };
            let _ = writeln!(text, "  {outcome}: {} times, seeds {}{more}", seeds.len(), shown.join(", "));
        }
    }
    let tally: Vec<String> = tally(seen).iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
    let _ = writeln!(text, "{cases} cases, {times} times: {}", tally.join(", "));
    let _ = writeln!(text, "{} wavered (exit code {code})", found.len());
    print(&text)?;
    Ok(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(cases: &[(&str, &[(Outcome, u64)])]) -> Seen {
        let mut all = Seen::new();
        for (case, outcomes) in cases {
            let entry = all.entry(("it".to_owned(), (*case).to_owned())).or_default();
            for (outcome, seed) in *outcomes {
                entry.entry(*outcome).or_default().push(*seed);
            }
        }
        all
    }

    #[test]
    fn what_wavers_and_the_exit_code_that_it_deserves() {
        use Outcome::{CouldNotRun, Fail, Flaky, HarnessError, Pass};
        for (cases, names, code) in [
            (&[("a", &[(Pass, 1), (Pass, 2)][..])][..], &[][..], 0),
            (&[("a", &[(Fail, 1), (Fail, 2)])], &[], 0),
            (&[("a", &[(Pass, 1), (Fail, 2)]), ("b", &[(Pass, 1)])], &["a"], 1),
            (&[("a", &[(Flaky, 1), (Flaky, 2)])], &["a"], 1),
            (&[("a", &[(Pass, 1), (HarnessError, 2)])], &["a"], 4),
            (&[("a", &[(CouldNotRun, 1)])], &[], 3),
            (&[], &[], 3),
        ] {
            let seen = seen(cases);
            let found = wavering(&seen);
            assert_eq!(found.iter().map(|it| it.case.as_str()).collect::<Vec<_>>(), names, "{cases:?}");
            assert_eq!(status(&seen, &found, false).code(), code, "{cases:?}");
        }
        assert_eq!(status(&seen(&[("a", &[(Pass, 1)])]), &[], true).code(), 3, "one of them could not run");
    }
}
