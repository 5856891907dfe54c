//! `loa-conform explore`: stories without end, guided by what was not seen before, until the time is over.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::candidates::Candidates;
use super::score::jobs;
use super::suite;
use crate::cli::console::{print, say};
use crate::cli::{ExitStatus, Failure};
use crate::conform::judge::{Broken, Check, Guide, Jury, shrunk};
use crate::conform::observe::{Interruption, Observation, RigOptions};
use crate::conform::score::Rig;
use crate::conform::spec::{Plot, Rule, RuntimeProfile};
use crate::conform::suite::{Candidate, Suite};
use crate::system::files::{self, Privacy};
use crate::system::process::Interrupt;
use crate::system::{clock, env, ids};

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Explore {
    /// Name of a bundled runtime, or a manifest of yours
    #[arg(value_name = "NAME|MANIFEST")]
    runtime: String,
    /// For how long
    #[arg(long, value_name = "N", default_value = "5", conflicts_with = "story")]
    minutes: NonZero<u64>,
    /// Tell this story of the seed alone, as `score` does
    #[arg(long, value_name = "NUMBER", requires = "seed")]
    story: Option<NonZero<usize>>,
    /// Draw the stories under this seed
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// How many stories at once; when not given, twice the cores
    #[arg(long, value_name = "N")]
    jobs: Option<NonZero<usize>>,
    /// Where the cases are written that show what was found
    #[arg(long, value_name = "DIR", default_value = "reports/local/stories")]
    out: PathBuf,
    /// Print one JSON document, for machines
    #[arg(long)]
    json: bool,
    /// Read ledger, claims, cases and candidates from this folder instead of the program itself
    #[arg(long, value_name = "DIR")]
    suite: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  loa-conform explore my-runtime.yaml --minutes 30
  loa-conform explore my-runtime.yaml --seed 7 --story 12    the one that a score named

Tells drawn stories, in which several things go wrong one after the other, and
holds what was seen against a model of the contract. A rule that is broken is
tried again, and shrunk to the shortest story that still shows it; the case is
written into a folder, from where it can be moved into a suite.

0: no rule was broken. 1: one was. 3: the runtime could not be run.";

/// How often a story is told again to make it shorter.
const TRIES: usize = 60;

/// A rule that was broken twice, and where the case lies that shows it.
struct Found {
    broken: Broken,
    title: String,
    file: PathBuf,
}

pub(super) fn explore(wish: &Explore) -> Result<ExitStatus, Failure> {
    let suite = suite::open::<RuntimeProfile>(wish.suite.as_deref())?;
    let candidates = Candidates::gather(&suite, std::slice::from_ref(&wish.runtime))?;
    let candidate = candidates.all.first().expect("one was asked for, and there was no failure");
    let seed = wish.seed.unwrap_or_else(ids::seed);
    let interruption = Interruption::listen();
    let judge = env::current_exe().map_err(|error| Failure::new(ExitStatus::Internal, error))?;
    let rig = RigOptions { stop: interruption.stop(), ..RigOptions::new(seed, judge) };
    say(format_args!("seed {seed}"));
    if let Some(problem) = rig.identify(candidate).problem {
        return Err(Failure::new(ExitStatus::Incomplete, format!("{}: {problem}", wish.runtime)));
    }
    let mut told = Told { guide: Guide::new(seed), stories: 0, found: BTreeMap::new(), red: Vec::new() };
    let jobs = NonZero::new(jobs(wish.jobs).0).unwrap_or(NonZero::<usize>::MIN);
    let search = Search { suite: &suite, candidate, rig: &rig, jobs, out: &wish.out };
    match wish.story {
        Some(number) => search.tell_again(&mut told, seed, number.get())?,
        None => search.go_on(&mut told, wish.minutes.get())?,
    }
    shown(wish, seed, &told)?;
    Ok(match interruption.by() {
        Some(Interrupt::Interrupt) => ExitStatus::Interrupted,
        Some(Interrupt::Terminate) => ExitStatus::Terminated,
        None if told.found.is_empty() && told.red.is_empty() => ExitStatus::Success,
        None => ExitStatus::NotConforming,
    })
}

/// What came of it so far.
struct Told {
    guide: Guide,
    stories: usize,
    found: BTreeMap<Rule, Found>,
    /// The cases about every other that were red in the one story that was asked for, by their names.
    red: Vec<(String, Check)>,
}

struct Search<'a> {
    suite: &'a Suite<RuntimeProfile>,
    candidate: &'a Candidate,
    rig: &'a RigOptions,
    /// How many stories are told at the same time.
    jobs: NonZero<usize>,
    out: &'a Path,
}

impl Search<'_> {
    /// Until the time is over or somebody stops it.
    fn go_on(&self, told: &mut Told, minutes: u64) -> Result<(), Failure> {
        let limit = Duration::from_secs(minutes.saturating_mul(60));
        let (mut minute, begun) = (0, clock::now());
        while clock::now().since(begun) < limit && !self.rig.stopped() {
            let plots = (0..self.jobs.get()).map(|_| told.guide.draw()).collect();
            self.tell(told, plots)?;
            let passed = clock::now().since(begun).as_secs() / 60;
            if passed > minute {
                minute = passed;
                let (stories, sequences) = (told.stories, told.guide.sequences());
                say(format_args!("  {minute} min: {stories} stories, {sequences} sequences of three events"));
            }
        }
        Ok(())
    }

    /// Tells one story as `score` does, which is judged by everything that `score` judges it by.
    fn tell_again(&self, told: &mut Told, seed: u64, number: usize) -> Result<(), Failure> {
        let plot = Plot::of(seed, number);
        let story = Plot::told(seed, number).unwrap_or_else(|| plot.case("story"));
        let control = self.rig.observe(&Plot::plain().case("story"), self.candidate);
        let observed = self.rig.observe(&story, self.candidate);
        let jury = Jury::of(self.suite, &self.candidate.manifest);
        let red = jury.red_cases(&story, &observed, &control);
        told.red = red.into_iter().map(|(case, check)| (case.id.clone(), check)).collect();
        self.judge(told, &plot, &observed)
    }

    /// Tells stories at the same time, and follows up what was broken in them.
    fn tell(&self, told: &mut Told, plots: Vec<Plot>) -> Result<(), Failure> {
        let all = self.observe(&plots);
        for (plot, seen) in plots.into_iter().zip(all) {
            if self.rig.stopped() {
                return Ok(());
            }
            self.judge(told, &plot, &seen)?;
        }
        Ok(())
    }

    fn judge(&self, told: &mut Told, plot: &Plot, seen: &Observation) -> Result<(), Failure> {
        told.stories += 1;
        told.guide.learn(plot, seen);
        let broken = Broken::in_story(plot, seen).filter(|it| !told.found.contains_key(&it.rule));
        broken.map_or(Ok(()), |broken| self.follow(told, plot, broken.rule))
    }

    /// What is seen when these stories are told at the same time, in their order.
    fn observe(&self, plots: &[Plot]) -> Vec<Observation> {
        std::thread::scope(|scope| {
            let tell = |plot: &Plot| self.rig.observe(&plot.case("story"), self.candidate);
            let telling: Vec<_> = plots.iter().map(|plot| scope.spawn(move || tell(plot))).collect();
            telling.into_iter().map(|it| it.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    }

    /// Tells a story again in which a rule was broken; when it is broken again, makes the story shorter and writes it down.
    fn follow(&self, told: &mut Told, plot: &Plot, rule: Rule) -> Result<(), Failure> {
        let breaks = |plots: &[Plot]| {
            let all = plots.iter().zip(self.observe(plots));
            let mut found = all.map(|(plot, seen)| Broken::in_story(plot, &seen).filter(|it| it.rule == rule));
            found.by_ref().enumerate().find_map(|(number, it)| Some((number, it?)))
        };
        let Some((_, mut broken)) = breaks(std::slice::from_ref(plot)) else {
            say(format_args!("  {rule} was broken once and kept the second time; it is not counted"));
            return Ok(());
        };
        say(format_args!(
            "  {rule} is broken: {} was expected, {}; it is made shorter",
            broken.expected, broken.observed
        ));
        let shortest = shrunk(plot, TRIES, self.jobs, |smaller| {
            let (number, again) = breaks(smaller).filter(|_| !self.rig.stopped())?;
            broken = again;
            Some(number)
        });
        let (name, text) = broken.case(&shortest, self.suite);
        let file = self.out.join(format!("{name}.yaml"));
        let written =
            files::ensure_folder(self.out).and_then(|()| files::replace(&file, text.as_bytes(), Privacy::Shared));
        written.map_err(|error| Failure::new(ExitStatus::WriteFailed, error))?;
        told.found.insert(rule, Found { broken, title: shortest.case("story").title, file });
        Ok(())
    }
}

fn shown(wish: &Explore, seed: u64, told: &Told) -> Result<(), Failure> {
    let (stories, sequences) = (told.stories, told.guide.sequences());
    if wish.json {
        let found: Vec<_> = told.found.values().map(|it| {
            let Broken { rule, step, expected, observed } = &it.broken;
            json!({ "rule": rule, "step": step, "expected": expected, "observed": observed, "story": it.title, "case": it.file })
        }).collect();
        let red: Vec<_> = told.red.iter().map(|(case, check)| json!({ "case": case, "check": check })).collect();
        let document = json!({ "runtime": wish.runtime, "seed": seed, "stories": stories, "sequences": sequences, "broken": found, "red": red });
        return print(&format!("{document:#}\n"));
    }
    let mut text = format!("{}: {stories} stories, {sequences} sequences of three events\n", wish.runtime);
    text.extend(told.found.values().map(|Found { broken, title, file }| {
        let Broken { rule, step, expected, observed } = broken;
        let file = file.display();
        format!(
            "\n{rule} is broken\n  {title}\n  expected in step {step}: {expected}\n  observed: {observed}\n  case: {file}\n  by hand: loa-conform repro {file} {}\n",
            wish.runtime
        )
    }));
    text.extend(told.red.iter().map(|(case, Check { expected, observed, place, .. })| {
        format!("\n{case} is red\n  expected: {expected}\n  observed: {observed}\n  where: {place}\n")
    }));
    let is_kept = told.found.is_empty() && told.red.is_empty();
    text += if is_kept { "verdict: no rule was broken\n" } else { "verdict: does not conform\n" };
    print(&text)
}
