//! The judge on trial by mutants that are drawn from its own model: which of them it finds, clause by clause, when they are
//! played in memory, and whether it finds the same of those that run as processes.

use std::collections::BTreeMap;
use std::path::Path;

use fastrand::Rng;
use serde::Serialize;
use serde_json::Value;

use super::{ProvingError, Rig, lane, proving};
use crate::conform::judge::{Broken, Cause, Fate, Mutant, Story, compound, kept};
use crate::conform::spec::{Column, Expectation, Knob, Plot, Rule, RuntimeProfile};
use crate::conform::suite::{Suite, Variant};

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
    /// Whether a runtime without a fault kept the clause's rules in every story, and they were asked at least once.
    pub control: bool,
    /// Whether a runtime that does everything wrong that is about the clause was found.
    pub compound: bool,
}

/// One mutant that ran as processes.
#[derive(Debug, Clone, Serialize)]
pub struct Ran {
    /// What it did wrong.
    pub mutant: Mutant,
    /// The number of the story.
    pub story: usize,
    /// The rule that it broke in memory.
    pub in_memory: Option<Rule>,
    /// The rule that it broke as processes.
    pub as_processes: Option<Rule>,
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
        !self.clauses.is_empty() && self.clauses.iter().all(sound) && columns && self.ran.iter().all(Ran::agrees)
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
    let stories: Vec<Story> = (1..=options.stories).map(|number| Story::of(&Plot::of(options.seed, number))).collect();
    let mut rng = Rng::with_seed(options.seed);
    let mut mutants: Vec<Mutant> = Mutant::all().collect();
    if let Some(count) = options.mutants {
        rng.shuffle(&mut mutants);
        mutants.truncate(count);
    }
    let fates = fates(&mutants, &stories, options.jobs);
    let clauses = clauses(suite, &fates, &stories);
    let chosen = chosen(&fates, &stories, &mut rng, options.processes);
    let ran = run(suite, place, rig, options.jobs, &stories, chosen, listener)?;
    Ok(Mutation { mutants: mutants.len(), stories: stories.len(), clauses, ran })
}

/// What becomes of each, on several threads.
fn fates(mutants: &[Mutant], stories: &[Story], jobs: usize) -> Vec<(Mutant, Fate)> {
    let told = lane::run(mutants, jobs, |mutant| mutant.fate(stories));
    told.into_iter().map(|(mutant, fate)| (*mutant, fate)).collect::<BTreeMap<_, _>>().into_iter().collect()
}

/// The clause and the column of each rule of the model.
fn rules(suite: &Suite<RuntimeProfile>) -> BTreeMap<Rule, (String, Column)> {
    let about = |rule: Rule| suite.cases.iter().find(|case| case.expect.contains(&Expectation::Lawful(rule)));
    let found = Rule::ALL.iter().filter_map(|rule| {
        let clause = suite.clause(&about(*rule)?.clause)?;
        Some((*rule, (clause.id.clone(), clause.column)))
    });
    found.collect()
}

fn clauses(suite: &Suite<RuntimeProfile>, fates: &[(Mutant, Fate)], stories: &[Story]) -> Vec<MutatedClause> {
    let (rules, control) = (rules(suite), kept(stories));
    let mut found: BTreeMap<&str, MutatedClause> = BTreeMap::new();
    for (rule, (clause, column)) in &rules {
        let entry = found.entry(clause).or_insert_with(|| MutatedClause {
            clause: clause.clone(),
            column: *column,
            generated: 0,
            own: 0,
            other: 0,
            argued: 0,
            survivors: Vec::new(),
            not_reached: 0,
            control: true,
            compound: true,
        });
        entry.control &= control.contains(rule);
        entry.compound &= compound(*rule, stories);
    }
    for (mutant, fate) in fates {
        // A mutant is the first clause's that it is about.
        let clause = |rule: &Rule| rules.get(rule).map(|(clause, _)| clause.as_str());
        let Some(own) = mutant.rules().first().and_then(clause) else { continue };
        let Some(entry) = found.get_mut(own) else { continue };
        entry.generated += usize::from(*fate != Fate::NotReached);
        match fate {
            Fate::KilledByItsOwn(_) => entry.own += 1,
            Fate::KilledByAnother(rule) if clause(rule) == Some(own) => entry.own += 1,
            Fate::KilledByAnother(_) => entry.other += 1,
            Fate::Argued(_) => entry.argued += 1,
            Fate::Survived => entry.survivors.push(mutant.to_string()),
            Fate::NotReached => entry.not_reached += 1,
        }
    }
    found.into_values().collect()
}

/// So many mutants that did something, each with a story in which it did.
fn chosen(fates: &[(Mutant, Fate)], stories: &[Story], rng: &mut Rng, count: usize) -> Vec<(Mutant, usize)> {
    let mut reached: Vec<Mutant> = fates.iter().filter(|(_, fate)| *fate != Fate::NotReached).map(|it| it.0).collect();
    rng.shuffle(&mut reached);
    let told = |mutant: &Mutant, number: &usize| {
        let story = &stories[*number];
        // Where time may run out, how long this machine takes decides what is asked; that is for those that are about it.
        let is_timed = story.case.knobs.contains_key(&Knob::RunTimeout);
        is_timed == (mutant.cause == Cause::Timeout) && mutant.fits(story) && mutant.told(&story.case).0
    };
    let with_story = reached.into_iter().filter_map(|mutant| {
        let fitting: Vec<usize> = (0..stories.len()).filter(|number| told(&mutant, number)).take(8).collect();
        rng.choice(fitting).map(|number| (mutant, number))
    });
    with_story.take(count).collect()
}

fn run(
    suite: &Suite<RuntimeProfile>,
    place: &Path,
    rig: &dyn Rig<RuntimeProfile>,
    jobs: usize,
    stories: &[Story],
    chosen: Vec<(Mutant, usize)>,
    listener: &(dyn Fn(&Ran) + Sync),
) -> Result<Vec<Ran>, ProvingError> {
    suite.files().lay_candidates(place)?;
    let mut laid = Vec::new();
    for (number, (mutant, story)) in chosen.into_iter().enumerate() {
        laid.push((proving::laid(&variant(mutant, number), place)?, mutant, story));
    }
    let ran = lane::run(&laid, jobs, |(candidate, mutant, number)| {
        let story = &stories[*number];
        let seen = rig.observe(&story.case, candidate);
        let ran = Ran {
            mutant: *mutant,
            story: number + 1,
            in_memory: mutant.told(&story.case).1,
            as_processes: Broken::in_case(&story.case, &seen).map(|it| it.rule),
            unseen: seen.rig_error.clone().or_else(|| seen.unseen.first().cloned()),
        };
        listener(&ran);
        ran
    });
    Ok(ran.into_iter().map(|(_, ran)| ran).collect())
}

/// The mutant as a variant of the runtime that it is made of.
fn variant(mutant: Mutant, number: usize) -> Variant {
    let verbs = [("run", "{plan}"), ("resume", "{plan}"), ("resolve", "{action}"), ("state", ""), ("halt", "")];
    let words = |verb: &str, word: &str| {
        let all = ["python3", "-B", "{dir}/mutant.py", verb, word];
        all.into_iter().filter(|word| !word.is_empty()).collect::<Value>()
    };
    let spec = serde_json::to_string(&mutant).expect("a mutant is plain data");
    Variant {
        variant: format!("mutant-{number}"),
        base: BASE.to_owned(),
        about: mutant.to_string(),
        change: Vec::new(),
        files: BTreeMap::from([("mutant.py".to_owned(), MUTANT.to_owned()), ("mutant.json".to_owned(), spec)]),
        manifest: verbs.into_iter().map(|(verb, word)| (verb.to_owned(), words(verb, word))).collect(),
        kills: None,
        also: Vec::new(),
        reading: None,
    }
}
