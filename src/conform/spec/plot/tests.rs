use super::sure::{ANSWERS, every_cause_in_every_phase};
use super::*;

#[test]
fn a_story_is_the_same_under_the_same_seed_and_goes_on_for_thirty_steps_at_most() {
    let told = stories(7, 60);
    assert_eq!(told, stories(7, 60));
    assert_ne!(told[..10], stories(8, 10)[..]);
    assert!(told.iter().all(|case| (1..=MOST_STEPS).contains(&case.steps.len())));
    assert!(told.iter().any(|case| case.steps.len() >= 10), "some are long");
}

/// Each thing that can go wrong does in each phase where it can, and each answer is given.
#[test]
fn over_the_stories_that_are_drawn_every_pair_of_phase_and_incident_comes_up() {
    let (mut pairs, mut rng) = (BTreeSet::new(), Rng::with_seed(1));
    for _ in 0..20_000 {
        for it in Plot::draw(&mut rng).happening() {
            let kind = match it.kind {
                Kind::Fails(times) => format!("fails {times}"),
                Kind::Unknown(_) => "unknown".to_owned(),
                Kind::Dies(_) => "dies".to_owned(),
                kind => format!("{kind:?}"),
            };
            let answered = it.kind.calls_a_human();
            pairs.insert((it.phase, kind, answered.then_some(it.answer)));
        }
    }
    // Eight kinds call a human who gives one of four answers, three do not. An audit that never passes is passed over or
    // given up.
    let never_passes = pairs.iter().filter(|(_, kind, _)| kind == "NeverPasses").count();
    assert_eq!((pairs.len() - never_passes, never_passes), (8 * (8 * 4 + 3) - 4, 2));
}

#[test]
fn over_the_stories_of_a_score_every_cause_comes_up_in_every_phase() {
    for seed in 0..50 {
        let happening: Vec<Incident> = (1..=60).flat_map(|number| Plot::of(seed, number).happening()).collect();
        for Sure { cause, phase, .. } in every_cause_in_every_phase(&mut Rng::with_seed(seed)) {
            let comes_up = |it: &Incident| it.phase == phase && it.kind.cause() == cause;
            assert!(happening.iter().any(comes_up), "seed {seed}: {cause:?} in {phase}");
        }
        for cause in Cause::ALL.into_iter().filter(|cause| cause.calls_a_human()) {
            for answer in ANSWERS {
                let comes_up = |it: &Incident| it.answer == answer && it.kind.cause() == cause;
                assert!(happening.iter().any(comes_up), "seed {seed}: {cause:?} answered by {answer}");
            }
        }
    }
}

#[test]
fn over_the_stories_of_a_score_phases_leave_processes_behind_and_the_state_is_asked_and_nobody_answers() {
    for seed in 0..50 {
        let told = stories(seed, 60);
        let count = |is: fn(&Case) -> bool| told.iter().filter(|case| is(case)).count();
        let spawns = |case: &Case| case.phases.values().flatten().flatten().any(|act| *act == Act::Spawn);
        let asks = |case: &Case| case.steps.contains(&Step::State);
        let early = |case: &Case| {
            let steps: Vec<&Step> = case.steps.iter().filter(|step| **step != Step::State).collect();
            // After a kill a resume is nobody's answer.
            let unanswered = |three: &[&Step]| match three {
                [Step::Run(before) | Step::Resume(before), Step::Resume(_), Step::Resolve(_)] => {
                    before.kill_during.is_none()
                }
                _ => false,
            };
            steps.windows(3).any(unanswered)
        };
        let counts = [count(spawns), count(asks), count(early)];
        assert!(counts.iter().all(|times| *times >= 8), "seed {seed}: {counts:?}");
    }
}

#[test]
fn what_is_smaller_has_one_thing_less() {
    let plot = Plot::of(3, 5);
    assert!(plot.incidents.len() > 1);
    let smaller = plot.smaller();
    assert!(smaller.len() > plot.incidents.len());
    assert!(smaller.iter().all(|it| *it != plot && it.incidents.len() <= plot.incidents.len()));
    let nothing = Plot::plain();
    assert!(nothing.smaller().is_empty());
    assert_eq!(nothing.case("x").steps, [Step::Run(Drive::default())]);
}

#[test]
fn a_context_is_used_over_phases_and_its_limits_may_stand_in_one_place_alone() {
    for seed in 0..50 {
        let told = stories(seed, 60);
        let uses = |case: &&Case| {
            let is_usage = |act: &Act| matches!(act, Act::Usage(tokens) if *tokens < HARD_LIMIT);
            case.phases.values().filter(|attempts| attempts.iter().flatten().any(is_usage)).count() >= 3
        };
        let all: Vec<&Case> = told.iter().filter(uses).collect();
        assert!(all.len() >= 2, "seed {seed}: {}", all.len());
        assert!(all.iter().all(|case| case.config.len() == 2), "nobody is asked about a context who has no limits");
        let places: BTreeSet<bool> = all.iter().map(|case| case.limits == Limits::Configuration).collect();
        assert_eq!(places.len(), 2, "seed {seed}");
    }
}
