//! The judge on trial by mutants that are drawn from its own model: which of them it finds, clause by clause, when they are
//! played in memory, and whether it finds the same of those that run as processes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fastrand::Rng;
use serde::Serialize;
use serde_json::Value;

use super::{ProvingError, Rig, lane, proving};
use crate::conform::judge::{Caught, Cause, Fate, Jury, Mutant, Story};
use crate::conform::observe::Observation;
use crate::conform::spec::{Clause, Column, Knob, Plot, ProfileName, RuntimeProfile};
use crate::conform::suite::{Suite, Variant, VariantError};
use crate::contract::vocabulary;

/// The runtime that mutants are made of when they run as processes, and what is laid beside it.
const BASE: &str = "python";
const MUTANT: &str = include_str!("../../../fixtures/mutants/mutant.py");

/// What became of the mutants of one clause.
#[derive(Debug, Clone, Serialize)]
pub struct MutatedClause {
    /// The clause.
    pub clause: String,
    /// Its column.
    pub column: Column,
    /// How many mutants are about it and came up in a story.
    pub generated: usize,
    /// How many were found by a rule of this clause.
    pub own: usize,
    /// How many were found by another clause's rule.
    pub other: usize,
    /// How many are lawful after all.
    pub argued: usize,
    /// Those that were not found, in words.
    pub survivors: Vec<String>,
    /// How many never came up in a story.
    pub not_reached: usize,
    /// How many can come up in none.
    pub impossible: usize,
    /// Whether a runtime without a fault kept the clause's rules in every story, and they were asked at least once.
    pub control: bool,
    /// Whether a runtime that does everything wrong that is about the clause was found.
    pub compound: bool,
}

vocabulary! {
    /// What carries a clause that no mutant is about: the model has no rule for it, and no case looks at it wherever it comes up.
    pub enum Carrier ("carrier") {
        /// Fixed scenes, and a variant that was written by hand dies of one of them.
        Variant = "variant",
        /// Fixed scenes alone.
        Scene = "scene",
        /// Nothing: it is not tested.
        Untested = "untested",
    }
}

/// One mutant that ran as processes.
#[derive(Debug, Clone, Serialize)]
pub struct Ran {
    /// What it did wrong.
    pub mutant: Mutant,
    /// The number of the story.
    pub story: usize,
    /// What found it in memory.
    pub in_memory: Option<Caught>,
    /// What found it as processes.
    pub as_processes: Option<Caught>,
    /// Why nothing was seen of it, if so.
    pub unseen: Option<String>,
}

impl Ran {
    /// Whether both verdicts are the same.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.unseen.is_none() && self.in_memory == self.as_processes
    }
}

/// Everything that the trial showed.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Mutation {
    /// How many mutants were told stories in memory.
    pub mutants: usize,
    /// How many stories there were.
    pub stories: usize,
    /// Clause by clause.
    pub clauses: Vec<MutatedClause>,
    /// The clauses of the matrix that no mutant is about, and what carries each instead.
    pub without: BTreeMap<String, Carrier>,
    /// The clauses that a runtime without a fault broke in some story: whatever they found of mutants says nothing.
    pub unsound: Vec<String>,
    /// Why some were argued away, and others can come up in no story: each argument, and how many it is about.
    pub arguments: BTreeMap<&'static str, usize>,
    /// What ran as processes.
    pub ran: Vec<Ran>,
}

impl Mutation {
    /// Whether the judge found what it must: nothing survived, every control was kept, every compound was found, at most a
    /// twentieth of a column is argued away, and processes got the verdicts that they had in memory.
    #[must_use]
    pub fn holds(&self) -> bool {
        let sound = |it: &MutatedClause| it.survivors.is_empty() && it.control && it.compound;
        let argued = |column: Column| {
            let of: Vec<_> = self.clauses.iter().filter(|it| it.column == column).collect();
            let sum = |count: fn(&MutatedClause) -> usize| of.iter().map(|it| count(it)).sum::<usize>();
            sum(|it| it.argued) * 20 <= sum(|it| it.generated)
        };
        let columns = self.clauses.iter().all(|it| argued(it.column));
        let any = !self.clauses.is_empty() && self.unsound.is_empty();
        any && self.clauses.iter().all(sound) && columns && self.ran.iter().all(Ran::agrees)
    }
}

/// How mutants are tried.
#[derive(Debug, Clone, Copy)]
pub struct MutationOptions {
    /// Draws the stories, and which mutants run.
    pub seed: u64,
    /// How many stories they are told in memory.
    pub stories: usize,
    /// How many mutants are tried in memory; all when absent.
    pub mutants: Option<usize>,
    /// How many run as processes.
    pub processes: usize,
    /// How many at once.
    pub jobs: usize,
}

/// Tries the mutants. `place` is an empty folder, for those that run; `listener` hears of each that has.
///
/// # Errors
/// [`ProvingError`]: a mutant could not be laid out.
pub fn mutate(
    suite: &Suite<RuntimeProfile>,
    place: &Path,
    rig: &dyn Rig<RuntimeProfile>,
    options: MutationOptions,
    listener: &(dyn Fn(&Ran) + Sync),
) -> Result<Mutation, ProvingError> {
    let candidate = suite.candidate(BASE, place).ok_or_else(no_base)?;
    let mut rng = Rng::with_seed(options.seed);
    let trial =
        Trial { jury: Jury::of(suite, &candidate.manifest), stories: stories(options, &mut rng), jobs: options.jobs };
    let mut mutants: Vec<Mutant> = Mutant::all().collect();
    if let Some(count) = options.mutants {
        rng.shuffle(&mut mutants);
        mutants.truncate(count);
    }
    let fates = trial.fates(&mutants);
    let without = without(suite, &trial.jury)?;
    let (kept, broken) = trial.jury.control(&trial.stories);
    let clauses = trial.clauses(&fates, &kept);
    suite.files().lay_candidates(place)?;
    let mut laid = Vec::new();
    for (number, (mutant, story)) in trial.chosen(&fates, &mut rng, options.processes).into_iter().enumerate() {
        let times = mutant.times(&trial.stories[story]);
        laid.push((proving::laid(&variant(mutant, number, times), place)?, mutant, story));
    }
    // What is seen of the runtime that they are made of, when nothing goes wrong.
    let control =
        if laid.is_empty() { Observation::default() } else { rig.observe(&Story::of(&Plot::plain()).case, &candidate) };
    let ran = lane::run(&laid, options.jobs, |(candidate, mutant, story)| {
        let ran = trial.ran(*mutant, *story, &control, |story| rig.observe(&story.case, candidate));
        listener(&ran);
        ran
    });
    let ran = ran.into_iter().map(|(_, ran)| ran).collect();
    let unsound = broken.into_iter().map(str::to_owned).collect();
    let (mutants, stories, arguments) = (mutants.len(), trial.stories.len(), arguments(&fates));
    Ok(Mutation { mutants, stories, clauses, without, unsound, arguments, ran })
}

/// The clauses of the matrix that no mutant is about, and what carries each.
fn without(suite: &Suite<RuntimeProfile>, jury: &Jury<'_>) -> Result<BTreeMap<String, Carrier>, VariantError> {
    let variants = suite.variants()?;
    let deaths: BTreeSet<&str> = variants.iter().filter_map(|it| Some(it.kills.as_ref()?.case.as_str())).collect();
    let carrier = |clause: &Clause| {
        let cases: Vec<&str> = suite.cases_of(&clause.id).map(|case| case.id.as_str()).collect();
        match cases.as_slice() {
            [] => Carrier::Untested,
            cases if cases.iter().any(|case| deaths.contains(case)) => Carrier::Variant,
            _ => Carrier::Scene,
        }
    };
    let columns: Vec<Column> = Column::of(ProfileName::Runtime).collect();
    let left = suite.clauses.iter().filter(|it| columns.contains(&it.column) && !jury.is_about(&it.id));
    Ok(left.map(|clause| (clause.id.clone(), carrier(clause))).collect())
}

fn no_base() -> VariantError {
    let problem = "the suite has no runtime of this name to make mutants of".to_owned();
    VariantError::Malformed { path: Path::new("runtimes").join(BASE), problem }
}

/// The stories: those of the seed, some in which one thing goes wrong twice, and some in which the context fills; the shortest
/// first.
fn stories(options: MutationOptions, rng: &mut Rng) -> Vec<Story> {
    let drawn = (1..=options.stories).map(|number| Plot::of(options.seed, number));
    let about = Plot::twice(rng).into_iter().chain(Plot::filling(rng));
    let mut stories: Vec<Story> = drawn.chain(about).map(|plot| Story::of(&plot)).collect();
    stories.sort_by_key(Story::length);
    stories
}

fn arguments(fates: &[(Mutant, Fate)]) -> BTreeMap<&'static str, usize> {
    let mut arguments = BTreeMap::new();
    for (_, fate) in fates {
        if let Fate::Argued(why) | Fate::Impossible(why) = fate {
            *arguments.entry(*why).or_default() += 1;
        }
    }
    arguments
}

/// Who judges, of which stories.
struct Trial<'a> {
    jury: Jury<'a>,
    /// The shortest first.
    stories: Vec<Story>,
    /// How many mutants at once.
    jobs: usize,
}

impl Trial<'_> {
    /// What becomes of each, on several threads.
    fn fates(&self, mutants: &[Mutant]) -> Vec<(Mutant, Fate)> {
        let told = lane::run(mutants, self.jobs, |mutant| self.jury.fate(mutant, &self.stories));
        let mut fates: Vec<_> = told.into_iter().map(|(mutant, fate)| (*mutant, fate)).collect();
        fates.sort_by_key(|(mutant, _)| *mutant);
        fates
    }

    fn clauses(&self, fates: &[(Mutant, Fate)], kept: &BTreeSet<&str>) -> Vec<MutatedClause> {
        let Self { jury, stories, .. } = self;
        let asked: Vec<_> = jury.clauses().into_values().filter(|clause| jury.is_about(&clause.id)).collect();
        let judged = lane::run(&asked, self.jobs, |clause| {
            (kept.contains(clause.id.as_str()), jury.finds_compound(&clause.id, stories))
        });
        let mut found: BTreeMap<&str, MutatedClause> = BTreeMap::new();
        for (clause, (control, compound)) in judged {
            let (generated, own, other, argued, not_reached, impossible) = <_>::default();
            let (clause, column, survivors) = (clause.id.clone(), clause.column, Vec::new());
            let it = MutatedClause {
                clause,
                column,
                generated,
                own,
                other,
                argued,
                survivors,
                not_reached,
                impossible,
                control,
                compound,
            };
            found.extend(asked.iter().find(|known| known.id == it.clause).map(|known| (known.id.as_str(), it)));
        }
        for (mutant, fate) in fates {
            // A mutant is the first clause's that it is about.
            let Some(own) = jury.own(mutant).first().copied() else { continue };
            let Some(entry) = found.get_mut(own) else { continue };
            entry.generated += usize::from(!matches!(fate, Fate::NotReached | Fate::Impossible(_)));
            match fate {
                Fate::KilledByItsOwn(_) => entry.own += 1,
                Fate::KilledByAnother(_) => entry.other += 1,
                Fate::Argued(_) => entry.argued += 1,
                Fate::Survived => entry.survivors.push(mutant.to_string()),
                Fate::NotReached => entry.not_reached += 1,
                Fate::Impossible(_) => entry.impossible += 1,
            }
        }
        found.into_values().collect()
    }

    /// So many mutants that did something, each with a story in which it did.
    fn chosen(&self, fates: &[(Mutant, Fate)], rng: &mut Rng, count: usize) -> Vec<(Mutant, usize)> {
        let stories = &self.stories;
        let is_reached = |fate: &Fate| !matches!(fate, Fate::NotReached | Fate::Impossible(_));
        let mut reached: Vec<Mutant> = fates.iter().filter(|(_, fate)| is_reached(fate)).map(|it| it.0).collect();
        rng.shuffle(&mut reached);
        let told = |mutant: &Mutant, number: &usize| {
            let story = &stories[*number];
            // Where time may run out, how long this machine takes decides what is asked; that is for those that are about it.
            let is_timed = story.case.knobs.contains_key(&Knob::RunTimeout);
            is_timed == (mutant.cause == Cause::Timeout) && mutant.fits(story) && mutant.played(story).0
        };
        let with_story = reached.into_iter().filter_map(|mutant| {
            let fitting: Vec<usize> = (0..stories.len()).filter(|number| told(&mutant, number)).take(8).collect();
            rng.choice(fitting).map(|number| (mutant, number))
        });
        with_story.take(count).collect()
    }

    /// What one showed that ran as processes, in the story of this number.
    fn ran(&self, mutant: Mutant, number: usize, control: &Observation, run: impl Fn(&Story) -> Observation) -> Ran {
        let story = &self.stories[number];
        let seen = run(story);
        Ran {
            mutant,
            story: number + 1,
            in_memory: self.jury.told(&mutant, story).1,
            as_processes: self.jury.caught(&story.case, &seen, control),
            unseen: seen.rig_error.clone().or_else(|| seen.unseen.first().cloned()),
        }
    }
}

/// The mutant as a variant of the runtime that it is made of; what it is about comes up so often in its story.
fn variant(mutant: Mutant, number: usize, times: usize) -> Variant {
    let verbs = [("run", "{plan}"), ("resume", "{plan}"), ("resolve", "{action}"), ("state", ""), ("halt", "")];
    let words = |verb: &str, word: &str| {
        let all = ["python3", "-B", "{dir}/mutant.py", verb, word];
        all.into_iter().filter(|word| !word.is_empty()).collect::<Value>()
    };
    let mut spec = serde_json::to_value(mutant).expect("a mutant is plain data");
    spec["times"] = times.into();
    Variant {
        variant: format!("mutant-{number}"),
        base: BASE.to_owned(),
        about: mutant.to_string(),
        change: Vec::new(),
        files: BTreeMap::from([
            ("mutant.py".to_owned(), MUTANT.to_owned()),
            ("mutant.json".to_owned(), spec.to_string()),
        ]),
        manifest: verbs.into_iter().map(|(verb, word)| (verb.to_owned(), words(verb, word))).collect(),
        kills: None,
        also: Vec::new(),
        reading: None,
    }
}
