//! A million nights: the decisions, the dispatcher and the file store of `loa-run` in a simulated world.
//!
//! A story is drawn under a seed: stages end in every way, clocks jump and stop, disks lose what was not synced and fill
//! up, processes die between any two writes, files are forged, people answer and halt at any time. What really happened is
//! kept beside it, and whatever the journal says is compared with that.
//!
//! `contract-tests/simulation/story-of --seed 7` tells one story;
//! `SIMULATION_STORIES=1000000 cargo test --release --test simulation -- --nocapture many` runs many and tells how often
//! what happened.

#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a test reads its environment and tells a story")]

mod alike;
mod checks;
mod disk;
mod faults;
mod job;
mod post;
mod session;
mod store;
mod story;
mod truth;
mod world;

use std::collections::BTreeMap;
use std::env;

use story::{Story, shrink, tell};

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

/// Runs stories from a seed on, and gives back how often what happened.
fn run(first: u64, stories: u64) -> BTreeMap<&'static str, u64> {
    let mut tally = BTreeMap::new();
    for seed in first..first + stories {
        let Story { broken, happened, .. } = tell(seed, None, false);
        if let Some(why) = broken {
            let shrunk = shrink(seed, None);
            panic!(
                "seed {seed}: {why}\nwith no more than {} disturbances:\n{}",
                shrunk.disturbances,
                shrunk.lines.join("\n")
            );
        }
        for (what, times) in happened {
            *tally.entry(what).or_default() += times;
        }
    }
    tally
}

#[test]
fn many_stories_keep_what_they_promise() {
    let stories = number("SIMULATION_STORIES").unwrap_or(20_000);
    let first = number("SIMULATION_FIRST").unwrap_or(0);
    let tally = run(first, stories);
    for (what, times) in &tally {
        println!("| {what} | {times} |");
    }
    // A simulation in which something never happens shows nothing about it.
    for what in story::EVERYTHING {
        assert!(tally.contains_key(what), "{what} never happened in {stories} stories");
    }
}

#[test]
fn one_story() {
    let seed = number("SIMULATION_SEED").unwrap_or(1);
    let story = tell(seed, None, true);
    println!("{}", story.lines.join("\n"));
    assert_eq!(story.broken, None);
    assert_eq!(tell(seed, None, true).lines, story.lines, "a seed tells one story");
}

#[test]
fn a_story_that_breaks_a_promise_shrinks() {
    let (mut before, mut after) = (0, 0);
    for (name, fault, seed) in faults::all() {
        let (whole, shrunk) = (tell(seed, Some(fault), false), shrink(seed, Some(fault)));
        assert!(shrunk.broken.is_some(), "{name}: what is left breaks a promise still");
        assert!(shrunk.disturbances <= whole.disturbances, "{name}");
        println!("{name}: {} disturbances of {}", shrunk.disturbances, whole.disturbances);
        before += whole.disturbances;
        after += shrunk.disturbances;
    }
    assert!(after * 2 < before, "{after} disturbances are left of {before}");
}

/// Every planted fault is found under its recorded seed, by what it breaks.
#[test]
fn every_planted_fault_is_found() {
    let search = number("SIMULATION_SEARCH");
    for (name, fault, seed) in faults::all() {
        let seeds = match search {
            Some(most) => 0..most,
            None => seed..seed + 1,
        };
        let found = seeds.clone().find_map(|seed| Some((seed, tell(seed, Some(fault), false).broken?)));
        match found {
            Some((seed, why)) => println!("{name}: seed {seed}: {why}"),
            None => panic!("{name}: not found under the seeds {seeds:?}"),
        }
    }
}
