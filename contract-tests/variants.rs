//! The judge on trial: every faulty variant dies of its named case for its named reason, every lawful one lives, and
//! runtimes that do nothing pass nothing. `loa-conform variants` does the same.

use std::path::PathBuf;

use loa::conform::observe::RigOptions;
use loa::conform::score::{ProofOptions, prove};
use loa::conform::spec::{ProfileName, RuntimeProfile};
use loa::conform::suite::{Files, Suite};

fn suite() -> Suite {
    Suite::<RuntimeProfile>::load(Files::bundled(ProfileName::Runtime))
        .unwrap_or_else(|findings| panic!("{} findings", findings.len()))
}

#[test]
fn what_variants_name_exists_and_their_edits_fit() {
    let wrong: Vec<String> = suite()
        .advice()
        .iter()
        .filter(|it| it.diagnostic.code.starts_with("variant"))
        .map(|it| format!("{}: {}", it.file, it.diagnostic.message))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A clause that nothing dies of is a clause that the judge may be blind for.
#[test]
fn every_must_with_a_case_has_a_variant_that_dies_of_it() {
    let advice = suite().advice();
    let spared = advice.iter().filter(|it| it.diagnostic.code == "must-without-variant");
    let spared: Vec<&str> = spared.map(|it| it.diagnostic.message.as_str()).collect();
    assert!(spared.is_empty(), "{}", spared.join("\n"));
}

/// The most important test of the judge: with one thing broken, the case that is about this thing notices, for the right
/// reason, and nothing else of its column changes but what is declared.
#[test]
fn each_faulty_variant_dies_as_declared_and_each_lawful_one_lives() {
    let suite = suite();
    let variants = suite.variants().unwrap_or_else(|error| panic!("{error}"));
    let place = tempfile::tempdir().expect("a folder");
    let rig = RigOptions::new(7, PathBuf::from(env!("CARGO_BIN_EXE_loa-conform")));
    let options = ProofOptions { full: false, nulls: true, jobs: 8, timing_jobs: 12 };
    let proof =
        prove(&suite, &variants, place.path(), &rig, options, &mut |_, _| {}).unwrap_or_else(|error| panic!("{error}"));
    let canary = proof.tried.iter().find(|it| it.variant == "canary").expect("the whole proof is void without it");
    assert!(canary.found.is_empty(), "the whole proof is void: {:?}", canary.found);
    let wrong = proof.tried.iter().filter(|it| !it.found.is_empty());
    let wrong: Vec<String> =
        wrong.map(|it| format!("{}: {}\n  {}", it.variant, it.found.join("; "), it.reds.join("\n  "))).collect();
    assert!(wrong.is_empty() && proof.void.is_empty(), "{}\n{}", proof.void.join("\n"), wrong.join("\n"));
    assert_eq!(proof.nulls.len(), 5);
    assert!(proof.holds(), "{:?}", proof.nulls);
    let hidden = proof.tried.iter().filter(|it| it.hidden).map(|it| it.variant.as_str());
    assert!(hidden.into_iter().all(|name| name == "twelve-hours"), "only the eight hours need a faster clock");
    let lawful = proof.tried.iter().filter(|it| it.clause.is_none()).count();
    let faulty = proof.tried.len() - lawful;
    let score = format!(
        "Killed as declared: {faulty} of {faulty}, where a clock runs faster. Lawful and not red: {lawful} of {lawful}."
    );
    insta::assert_snapshot!("table", format!("{score}\n\n{}", proof.table.trim_end()));
}
