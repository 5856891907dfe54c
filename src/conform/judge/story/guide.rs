//! Which story is told next: one that is drawn anew, or one that is like another in which something happened that had not
//! been seen before.

use std::collections::BTreeSet;

use fastrand::Rng;

use crate::conform::observe::{AttemptSeen, Observation, ProcessEnd};
use crate::conform::spec::Plot;

/// What was seen so far, and the plots in which it was.
#[derive(Debug)]
pub struct Guide {
    rng: Rng,
    known: BTreeSet<[String; 3]>,
    telling: Vec<Plot>,
}

impl Guide {
    /// A guide that knows nothing yet.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { rng: Rng::with_seed(seed), known: BTreeSet::new(), telling: Vec::new() }
    }

    /// What to tell next.
    pub fn draw(&mut self) -> Plot {
        if self.telling.is_empty() || self.rng.bool() {
            return Plot::draw(&mut self.rng);
        }
        let at = self.rng.usize(0..self.telling.len());
        self.telling[at].varied(&mut self.rng)
    }

    /// Remembers a plot in which three events followed one another that never had; gives how many such sequences there were.
    pub fn learn(&mut self, plot: &Plot, seen: &Observation) -> usize {
        let events = events(seen);
        let before = self.known.len();
        self.known.extend(events.windows(3).map(|three| [0, 1, 2].map(|at| three[at].clone())));
        let fresh = self.known.len() - before;
        if fresh > 0 {
            self.telling.push(plot.clone());
        }
        fresh
    }

    /// How many sequences of three events were seen.
    #[must_use]
    pub fn sequences(&self) -> usize {
        self.known.len()
    }
}

/// What happened, one word an event: how each step ended, behind the attempts in it.
fn events(seen: &Observation) -> Vec<String> {
    let attempt = |it: &AttemptSeen| match (it.exit, &it.signal) {
        (_, Some(_)) => format!("{} died", it.phase),
        // One unknown code is like another.
        (Some(code), None) => format!("{} {}", it.phase, code.min(3)),
        (None, None) => format!("{} did not end", it.phase),
    };
    let mut events = Vec::new();
    for (number, step) in seen.steps.iter().enumerate() {
        events.extend(seen.attempts.iter().filter(|it| it.step == number).map(attempt));
        let end = match step.end {
            ProcessEnd::Exited(code) => code.to_string(),
            ProcessEnd::KilledAsPlanned => "killed".to_owned(),
            _ => "otherwise".to_owned(),
        };
        events.push(format!("{} {end}", step.verb));
    }
    events
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::conform::observe::StepSeen;

    #[test]
    fn what_showed_something_new_is_told_again_with_a_change() {
        let mut guide = Guide::new(5);
        let plot = guide.draw();
        let step = |verb: &str, code| StepSeen {
            verb: verb.to_owned(),
            argv: Vec::new(),
            started: 0,
            ended: 1,
            end: ProcessEnd::Exited(code),
            output: Vec::new(),
            workspace: 0,
            checkpoints: BTreeMap::new(),
            reports: Vec::new(),
            laid: BTreeMap::new(),
            edited: None,
        };
        let steps = vec![step("run", 2), step("resolve", 0), step("resume", 2), step("resolve", 0)];
        let seen = Observation { steps, ..Observation::default() };
        assert_eq!((guide.learn(&plot, &seen), guide.learn(&plot, &seen)), (2, 0));
        assert_eq!((guide.sequences(), guide.telling.len()), (2, 1));
        let told: Vec<Plot> = (0..50).map(|_| guide.draw()).collect();
        assert!(told.iter().any(|it| it.case("x").phases != plot.case("x").phases));
    }
}
