//! Context state, warnings, compactions, events.

use serde_json::json;

use super::scene::{Scene, scene};
use crate::conform::judge::Outcome;
use crate::conform::spec::{Reason, Sight, UsageWay};

fn hearing() -> Scene {
    let mut scene = scene().well();
    scene.manifest.usage = Some(UsageWay::SignalFile);
    scene
}

#[test]
fn the_context_state_after_a_usage() {
    let state = "context_state: {usage: 0, fields: {/current_tokens: {is: 5}}}";
    hearing().usage(5, 220, Some(json!({"current_tokens": 5}))).passes(state);
    hearing().usage(5, 220, Some(json!({"current_tokens": 6}))).fails(state, Reason::WrongValue);
    hearing().usage(5, 220, None).fails(state, Reason::NoContextState);
    hearing().fails(state, Reason::NoUsage);
}

/// Usages at 220 and 260, and a warning of this level after the second.
fn warned(level: &str) -> Scene {
    hearing().usage(5, 220, None).usage(9, 260, None).event(270, json!({"type": "CONTEXT_WARNING", "level": level}))
}

#[test]
fn warnings_stand_between_their_usage_and_the_next() {
    warned("soft").passes("warned: {usage: 1, level: soft}");
    warned("soft").passes("warned: {usage: 0, level: none}");
    warned("soft").fails("warned: {usage: 0, level: soft}", Reason::NoWarning);
    warned("soft").fails("warned: {usage: 1, level: hard}", Reason::WrongLevel);
    warned("soft").fails("warned: {usage: 1, level: none}", Reason::UnwarrantedWarning);
    warned("soft").fails("warned: {usage: 2, level: none}", Reason::NoUsage);
}

#[test]
fn silence_counts_only_beside_a_warning() {
    let silent = || hearing().usage(5, 220, Some(json!({"warning_level": "none"})));
    silent().fails("warned: {usage: 0, level: none}", Reason::NothingSighted);
    silent().fails("warned: {usage: 0, level: soft}", Reason::NoWarning);
    warned("none").says("warned: {usage: 0, level: none}", Outcome::NotObserved, Reason::NoSight);
}

#[test]
fn a_warning_is_seen_in_the_state_and_on_the_output_too() {
    let in_state = hearing().usage(5, 220, Some(json!({"warningLevel": "hard"})));
    in_state.passes("warned: {usage: 0, level: hard}");
    let mut printed = hearing().usage(5, 220, None).output(230, "context: Soft!");
    printed.manifest.warn = Some(Sight::Output("context: (?<level>[A-Za-z]+)".to_owned()));
    printed.passes("warned: {usage: 0, level: soft}");
}

#[test]
fn what_the_manifest_cannot_show_is_not_observed() {
    let blind = || hearing().usage(5, 220, None);
    blind().says("warned: {usage: 0, level: soft}", Outcome::NotObserved, Reason::NoSight);
    blind().says("compacted: {usage: 0, level: none}", Outcome::NotObserved, Reason::NoSight);
    blind().says("events: {type: X, at_least: 1}", Outcome::NotObserved, Reason::NoSight);
    let promised = || {
        let mut scene = blind();
        scene.manifest.warn = Some(Sight::EventFile);
        scene.manifest.compact = Some(Sight::EventFile);
        scene
    };
    promised().fails("warned: {usage: 0, level: soft}", Reason::NoWarning);
    promised().fails("compacted: {usage: 0, level: standard}", Reason::NoCompaction);
    promised().fails("events: {type: X, at_least: 1}", Reason::NoEvent);
}

#[test]
fn compactions() {
    let compacted = || warned("soft").event(280, json!({"type": "COMPACTION", "level": "standard"}));
    compacted().passes("compacted: {usage: 1, level: standard}");
    compacted().passes("compacted: {usage: 0, level: none}");
    compacted().fails("compacted: {usage: 1, level: emergency}", Reason::WrongLevel);
    compacted().fails("compacted: {usage: 1, level: none}", Reason::UnwarrantedCompaction);
    compacted().fails("compacted: {usage: 0, level: standard}", Reason::NoCompaction);
}

#[test]
fn events_are_counted_and_each_is_read() {
    let two = || warned("soft").event(280, json!({"type": "CONTEXT_WARNING", "level": 3}));
    two().passes("events: {type: CONTEXT_WARNING, at_least: 2}");
    two().fails("events: {type: CONTEXT_WARNING, at_least: 3}", Reason::NoEvent);
    two().fails("events: {type: OTHER, at_least: 0}", Reason::NoEvent);
    two().fails("events: {type: CONTEXT_WARNING, at_least: 1, fields: {/level: {type: string}}}", Reason::WrongType);
}

#[test]
fn a_change_of_level_in_the_state_is_a_warning_and_staying_is_none() {
    let state = |level: &str| Some(json!({"warning_level": level}));
    let rising = || hearing().usage(1, 210, state("none")).usage(5, 220, state("soft")).usage(6, 230, state("soft"));
    rising().passes("warned: {usage: 1, level: soft}");
    rising().passes("warned: {usage: 2, level: none}");
    rising().passes("warned: {usage: 0, level: none}");
    rising().fails("warned: {usage: 2, level: soft}", Reason::NoWarning);
}

#[test]
fn the_warning_says_what_it_must() {
    let fields = "warned: {usage: 0, level: soft, fields: {/current_tokens: {is: 5}, /level: {is: soft}}}";
    let state = |tokens: u64| Some(json!({"warningLevel": "soft", "currentTokens": tokens}));
    hearing().usage(5, 220, state(5)).passes(fields);
    hearing().usage(5, 220, state(6)).fails(fields, Reason::WrongValue);
    let mut printed = hearing().usage(5, 220, None).output(230, "context: soft");
    printed.manifest.warn = Some(Sight::Output("context: (?<level>[a-z]+)".to_owned()));
    printed.says(fields, Outcome::NotObserved, Reason::NoSight);
}

#[test]
fn the_runtimes_own_figure() {
    let tracked = "tracked: {usage: 0}";
    hearing().usage(5, 220, None).event(230, json!({"type": "CONTEXT_CURRENT", "current_tokens": 5})).passes(tracked);
    hearing().usage(5, 220, Some(json!({"currentTokens": 5}))).passes(tracked);
    hearing().usage(5, 220, Some(json!({"current_tokens": 4}))).fails(tracked, Reason::NotTracked);
    hearing().usage(5, 220, None).fails(tracked, Reason::NotTracked);
    let late = hearing().usage(5, 220, None).usage(6, 230, None);
    late.event(240, json!({"type": "CONTEXT_CURRENT", "value": 5})).fails(tracked, Reason::NotTracked);
    hearing().fails(tracked, Reason::NoUsage);
}

#[test]
fn a_later_phases_own_figure_is_another() {
    let tracked = "tracked: {usage: 0}";
    let told =
        |at, tokens: u64| move |scene: Scene| scene.event(at, json!({"type": "CONTEXT_CURRENT", "value": tokens}));
    let ended = scene().well().seen.attempts[0].ended.expect("an end");
    let began = scene().well().seen.attempts[0].started;
    let used = || hearing().usage(5, began, None);
    told(ended + 1, 6)(told(began, 5)(used())).passes(tracked);
    told(ended, 6)(told(began, 5)(used())).fails(tracked, Reason::NotTracked);
    told(ended + 1, 5)(used()).passes(tracked);
    told(ended + 1, 6)(used()).fails(tracked, Reason::NotTracked);
}

#[test]
fn a_pattern_that_sees_levels_when_nothing_goes_wrong_sees_none() {
    let printed = |control: &[&str]| {
        let mut scene = hearing().usage(5, 220, None).output(230, "level soft").control(control, &[]);
        scene.manifest.warn = Some(Sight::Output("level (?<level>[a-z]+)".to_owned()));
        scene.manifest.compact = scene.manifest.warn.clone();
        scene
    };
    for asked in ["warned: {usage: 0, level: soft}", "compacted: {usage: 0, level: soft}"] {
        printed(&["level none"]).passes(asked);
        printed(&["level soft"]).says(asked, Outcome::NotObserved, Reason::PatternRefused);
        let alone = Scene { control: None, ..printed(&[]) };
        alone.says(asked, Outcome::NotObserved, Reason::PatternRefused);
    }
    let told = printed(&["level soft"]).event(230, json!({"type": "CONTEXT_WARNING", "level": "soft"}));
    told.passes("warned: {usage: 0, level: soft}");
}
