//! The values of a case that are drawn, so that nothing can be built to the test: the same seed and the same case draw the
//! same values, on every host. What is filled in where is [`super::names`]'s.

use std::collections::BTreeMap;

use fastrand::Rng;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Act, Case, CaseDocument, Draw, Drive, Step, names};

/// A case that asks for a value that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DrawError {
    /// The lists of phases leave no way to draw each one differently.
    #[error("the phases of the draws cannot all differ")]
    Phases,
    /// A list without entries, or a range that ends before it begins.
    #[error("`{0}` has nothing to draw from")]
    Empty(String),
}

/// Draws every value of a case.
///
/// # Errors
/// [`DrawError`] when one cannot be drawn.
pub fn draw(case: &impl CaseDocument, seed: u64) -> Result<BTreeMap<String, Value>, DrawError> {
    let head = case.head();
    let mut rng = Rng::with_seed(seed_of(seed, head.id));
    let mut drawn = phases(head.drawn, &mut rng)?;
    for (name, draw) in head.drawn {
        let empty = || DrawError::Empty(name.clone());
        let value: Value = match draw {
            Draw::Phase(_) => continue,
            Draw::Integer([first, last]) if first > last => return Err(empty()),
            Draw::Integer([first, last]) => rng.i64(first..=last).into(),
            Draw::Code(codes) => (*rng.choice(codes).ok_or_else(empty)?).into(),
            Draw::Nonce(length) => nonce(&mut rng, *length).into(),
        };
        drawn.insert(name.clone(), value);
    }
    Ok(drawn)
}

/// A word of letters, unlike any other.
fn nonce(rng: &mut Rng, length: u8) -> String {
    (0..length).map(|_| rng.lowercase()).collect()
}

/// The seed of one case: unrelated to its neighbour's.
pub(super) fn seed_of(seed: u64, case: &str) -> u64 {
    let digest = Sha256::digest(format!("{seed} {case}"));
    digest.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

fn phases(draws: &BTreeMap<String, Draw>, rng: &mut Rng) -> Result<BTreeMap<String, Value>, DrawError> {
    let mut wishes = Vec::new();
    for (name, draw) in draws {
        let Draw::Phase(phases) = draw else { continue };
        let mut phases: Vec<&str> = phases.iter().map(String::as_str).collect();
        rng.shuffle(&mut phases);
        wishes.push((name.as_str(), phases));
    }
    let chosen = all_different(&wishes, &[]).ok_or(DrawError::Phases)?;
    Ok(wishes.iter().zip(chosen).map(|((name, _), phase)| ((*name).to_owned(), phase.into())).collect())
}

/// One phase for each wish, in order, none of them taken: the first way there is.
fn all_different<'a>(wishes: &[(&str, Vec<&'a str>)], taken: &[&'a str]) -> Option<Vec<&'a str>> {
    let Some(((_, phases), rest)) = wishes.split_first() else { return Some(Vec::new()) };
    phases.iter().filter(|phase| !taken.contains(phase)).find_map(|phase| {
        let mut chosen = all_different(rest, &[taken, &[phase]].concat())?;
        chosen.insert(0, phase);
        Some(chosen)
    })
}

/// What the judge does in a case, with every drawn value filled in.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::conform) struct Script {
    pub(in crate::conform) phases: BTreeMap<String, Vec<Vec<Act>>>,
    pub(in crate::conform) files: BTreeMap<String, String>,
    pub(in crate::conform) config: BTreeMap<String, Value>,
    pub(in crate::conform) steps: Vec<Step>,
    /// What the judge's own compactor prints.
    pub(in crate::conform) compactor: Option<Value>,
}

impl Script {
    pub(in crate::conform) fn new(case: &Case, drawn: &BTreeMap<String, Value>) -> Self {
        let text = |template: &String| names::text(drawn, template);
        let attempts = |attempts: &Vec<Vec<Act>>| {
            attempts.iter().map(|acts| acts.iter().map(|act| filled_act(act, drawn)).collect()).collect()
        };
        Self {
            phases: case.phases.iter().map(|(phase, script)| (text(phase), attempts(script))).collect(),
            files: case.files.iter().map(|(path, content)| (text(path), text(content))).collect(),
            config: case.config.iter().map(|(key, value)| (text(key), names::value(drawn, value))).collect(),
            steps: case.steps.iter().map(|step| filled_step(step, drawn)).collect(),
            compactor: case.compactor.as_ref().map(|printed| names::value(drawn, printed)),
        }
    }
}

fn filled_act(act: &Act, drawn: &BTreeMap<String, Value>) -> Act {
    let text = |template: &str| names::text(drawn, template);
    match act {
        Act::Stdout(line) => Act::Stdout(text(line)),
        Act::Stderr(line) => Act::Stderr(text(line)),
        Act::Result(result) => Act::Result(names::value(drawn, result)),
        Act::Signal(signal) => Act::Signal(names::value(drawn, signal)),
        Act::Write { path, content } => Act::Write { path: text(path), content: text(content) },
        Act::Delete(path) => Act::Delete(text(path)),
        Act::Exit(code) => Act::Exit(names::value(drawn, code)),
        Act::Die(signal) => Act::Die(text(signal)),
        Act::Usage(_) | Act::Sleep(_) | Act::UntilHalted | Act::Spawn | Act::Hang => act.clone(),
    }
}

fn filled_step(step: &Step, drawn: &BTreeMap<String, Value>) -> Step {
    let text = |template: &str| names::text(drawn, template);
    let drive = |drive: &Drive| Drive {
        kill_during: drive.kill_during.as_deref().map(text),
        kill_after: drive.kill_after.as_deref().map(text),
        kill_at_checkpoint: drive.kill_at_checkpoint.as_deref().map(text),
        halt_during: drive.halt_during.as_deref().map(text),
        unstartable: drive.unstartable.as_deref().map(text),
    };
    match step {
        Step::Run(how) => Step::Run(drive(how)),
        Step::Resume(how) => Step::Resume(drive(how)),
        Step::Resolve(action) => Step::Resolve(text(action)),
        Step::Write { path, content } => Step::Write { path: text(path), content: text(content) },
        Step::Delete(path) => Step::Delete(text(path)),
        Step::Edit { path, set, remove } => Step::Edit {
            path: text(path),
            set: set.iter().map(|(key, value)| (text(key), names::value(drawn, value))).collect(),
            remove: remove.iter().map(|key| text(key)).collect(),
        },
        Step::State | Step::Fresh => step.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn case(draw: &Value) -> Case {
        let case = json!({
            "id": "exit-001-x", "clause": "EXIT-001", "title": "t", "draw": draw,
            "phases": { "$p": [[{ "stdout": "$p says $n" }, { "exit": "$code" }]] },
            "files": { "$n.txt": "$code" }, "config": { "a.b": "$code" },
            "steps": [{ "run": { "kill_during": "$p" } }], "expect": [],
        });
        serde_json::from_value(case).expect("a case")
    }

    fn full() -> Case {
        case(&json!({
            "p": { "phase": ["design", "audit", "submit"] }, "q": { "phase": ["design", "audit", "submit"] },
            "code": { "code": [3, 17, 255] }, "size": { "integer": [5, 9] }, "n": { "nonce": 12 },
        }))
    }

    #[test]
    fn the_same_seed_draws_the_same_and_another_differs() {
        let case = full();
        assert_eq!(draw(&case, 7), draw(&case, 7));
        let words: std::collections::BTreeSet<_> =
            (0..20).map(|seed| draw(&case, seed).expect("drawn")["n"].to_string()).collect();
        assert_eq!(words.len(), 20);
        let mut neighbour = case.clone();
        neighbour.id = "exit-001-y".to_owned();
        assert_ne!(draw(&neighbour, 7), draw(&case, 7));
    }

    #[test]
    fn every_value_is_in_its_range_and_two_phases_differ() {
        for seed in 0..200 {
            let drawn = draw(&full(), seed).expect("drawn");
            assert_ne!(drawn["p"], drawn["q"]);
            assert!([3, 17, 255].contains(&drawn["code"].as_i64().expect("a number")));
            assert!((5..=9).contains(&drawn["size"].as_i64().expect("a number")));
            assert_eq!(drawn["n"].as_str().map(str::len), Some(12));
        }
    }

    #[test]
    fn a_narrow_list_of_phases_still_finds_its_place() {
        let narrow = case(&json!({ "a": { "phase": ["design", "audit"] }, "b": { "phase": ["design"] } }));
        for seed in 0..50 {
            let drawn = draw(&narrow, seed).expect("drawn");
            assert_eq!((&drawn["a"], &drawn["b"]), (&json!("audit"), &json!("design")));
        }
        let impossible = case(&json!({ "a": { "phase": ["design"] }, "b": { "phase": ["design"] } }));
        assert_eq!(draw(&impossible, 1), Err(DrawError::Phases));
    }

    #[test]
    fn nothing_to_draw_from_is_said() {
        for empty in [json!({ "integer": [2, 1] }), json!({ "code": [] })] {
            assert_eq!(draw(&case(&json!({ "x": empty })), 1), Err(DrawError::Empty("x".to_owned())));
        }
    }

    #[test]
    fn a_script_has_every_name_filled_in_and_texts_stay_texts() {
        let drawn = BTreeMap::from([
            ("p".to_owned(), json!("design")),
            ("code".to_owned(), json!(17)),
            ("n".to_owned(), json!("word")),
        ]);
        let script = Script::new(&full(), &drawn);
        let acts = vec![Act::Stdout("design says word".to_owned()), Act::Exit(json!(17))];
        assert_eq!(script.phases, BTreeMap::from([("design".to_owned(), vec![acts])]));
        assert_eq!(script.files, BTreeMap::from([("word.txt".to_owned(), "17".to_owned())]));
        assert_eq!(script.config["a.b"], json!(17));
        let killed = Drive { kill_during: Some("design".to_owned()), ..Drive::default() };
        assert_eq!(script.steps, [Step::Run(killed)]);
    }
}
