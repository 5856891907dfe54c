//! The judge on trial: every faulty variant dies of its named case for its named reason, every lawful one lives, and
//! runtimes that do nothing pass nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use loa::conform::{
    Candidate, Check, Files, Manifest, Outcome, ProfileName, RigOptions, Row, RuntimeProfile, RuntimeReport, Suite,
    SurveyOptions, Variant, differences, shortcomings, survey, table,
};

fn fixtures(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn variants(folder: &str) -> Vec<Variant> {
    Variant::read_all(&fixtures(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"))
}

fn lay_out(variant: &Variant, into: &Path) -> Manifest {
    variant.lay_out::<RuntimeProfile>(&fixtures("runtimes"), into).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_variant_fits_its_base() {
    for folder in ["faulty", "lawful"] {
        for variant in variants(folder) {
            assert_eq!(variant.is_faulty(), folder == "faulty", "{} lies in the wrong folder", variant.variant);
            let into = tempfile::tempdir().expect("a folder");
            let manifest = lay_out(&variant, into.path());
            assert_eq!(manifest.runtime, format!("{}+{}", variant.base, variant.variant));
        }
    }
}

#[test]
fn what_they_name_is_in_the_suite() {
    let suite = Suite::<RuntimeProfile>::load(Files::bundled(ProfileName::Runtime))
        .unwrap_or_else(|findings| panic!("{} findings", findings.len()));
    let readings: BTreeSet<&str> =
        suite.clauses.iter().flat_map(|clause| &clause.readings).map(|reading| reading.id.as_str()).collect();
    for variant in ["faulty", "lawful"].into_iter().flat_map(variants) {
        let reading = variant.reading.as_deref();
        assert!(reading.is_none_or(|reading| readings.contains(reading)), "{}: {reading:?}", variant.variant);
        let case = variant.kills.as_ref().map(|kill| kill.case.as_str());
        let known = |case: &str| suite.cases.iter().any(|known| known.id == case);
        assert!(case.is_none_or(known), "{}: {case:?}", variant.variant);
        let stranger = variant.also.iter().find(|also| suite.clauses.iter().all(|clause| clause.id != **also));
        assert_eq!(stranger, None, "{}", variant.variant);
    }
}

#[test]
fn there_are_enough_of_them_and_no_two_die_of_the_same() {
    let faulty = variants("faulty");
    let of = |base: &str| faulty.iter().filter(|variant| variant.base == base).count();
    assert!(of("sh") >= 12 && of("loa-run") >= 4, "sh {}, loa-run {}", of("sh"), of("loa-run"));
    assert!(variants("lawful").len() >= 4);
    let deaths: BTreeSet<_> =
        faulty.iter().filter_map(|variant| variant.kills.as_ref()).map(|kill| (&kill.case, kill.reason)).collect();
    assert_eq!(deaths.len(), faulty.len(), "two variants die of the same case for the same reason");
}

/// Everything that the suite says about these runtimes, under one seed.
fn reports(candidates: &[Candidate]) -> BTreeMap<String, RuntimeReport> {
    let suite = Suite::<RuntimeProfile>::load(Files::bundled(ProfileName::Runtime))
        .unwrap_or_else(|findings| panic!("{} findings", findings.len()));
    let rig = RigOptions::new(7, PathBuf::from(env!("CARGO_BIN_EXE_loa-conform")));
    let options = SurveyOptions { jobs: 8, timing_jobs: 12, ..SurveyOptions::default() };
    let reports = survey(&suite, candidates, &rig, &options, &|_| {});
    let problems: Vec<_> = reports.iter().filter_map(|report| report.problem.as_ref()).collect();
    assert!(problems.is_empty(), "{problems:?}");
    reports.into_iter().map(|report| (report.runtime.clone(), report)).collect()
}

fn open(folder: &Path) -> Candidate {
    let path = folder.join("manifest.yaml");
    Candidate::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The most important test of the judge: with one thing broken, the case that is about this thing notices, for the right
/// reason, and nothing else changes but what is declared.
#[test]
fn each_faulty_variant_dies_as_declared_and_each_lawful_one_lives() {
    let place = tempfile::tempdir().expect("a folder");
    let variants: Vec<Variant> = ["faulty", "lawful"].into_iter().flat_map(variants).collect();
    let mut candidates: Vec<_> = ["sh", "loa-run"].iter().map(|name| open(&fixtures("runtimes").join(name))).collect();
    for variant in &variants {
        let into = place.path().join(&variant.variant);
        std::fs::create_dir(&into).expect("made");
        lay_out(variant, &into);
        candidates.push(open(&into));
    }
    let reports = reports(&candidates);
    let rows: BTreeMap<&str, Row> = reports.iter().map(|(name, report)| (name.as_str(), Row::of(report))).collect();
    let void: Vec<String> = reports.values().filter(|it| !it.runtime.contains('+')).flat_map(shortcomings).collect();
    assert!(void.is_empty(), "{}\n{}", void.join("\n"), reds(&reports));
    let of = |variant: &Variant| {
        let name = format!("{}+{}", variant.base, variant.variant);
        differences(variant, &rows[variant.base.as_str()], &rows[name.as_str()])
    };
    let canary =
        variants.iter().find(|variant| variant.variant == "canary").expect("the whole proof is void without it");
    assert!(of(canary).is_empty(), "the whole proof is void: {:?}", of(canary));
    let found: Vec<String> =
        variants.iter().flat_map(|it| of(it).into_iter().map(|what| format!("{}: {what}", it.variant))).collect();
    assert!(found.is_empty(), "{}\n\n{}", found.join("\n"), reds(&reports));
    let order = candidates.iter().map(|candidate| candidate.manifest.runtime.as_str());
    let table = table(&order.map(|name| (name, &rows[name])).collect::<Vec<_>>());
    let dead = variants.iter().filter(|variant| variant.is_faulty()).count();
    let score = format!("Killed as declared: {dead} of {dead}. Lawful and not red: {0} of {0}.", variants.len() - dead);
    insta::assert_snapshot!("table", format!("{score}\n\n{table}"));
}

/// Every red and every doubtful check, to read when the proof fails.
fn reds(reports: &BTreeMap<String, RuntimeReport>) -> String {
    let mut text = String::new();
    for (name, report) in reports {
        for case in report.clauses.iter().flat_map(|clause| &clause.cases) {
            let telling =
                |check: &&Check| matches!(check.outcome, Outcome::Fail | Outcome::Flaky | Outcome::HarnessError);
            for Check { outcome, reason, expected, observed, .. } in case.checks.iter().filter(telling) {
                let line = format!("{name} {} {outcome} {reason}: {expected}; {observed}\n", case.id);
                text.push_str(&line);
            }
        }
    }
    text
}

#[test]
fn runtimes_that_do_nothing_pass_nothing() {
    let names = ["null-true", "null-false", "null-cat", "null-sleep", "null-replay"];
    let candidates: Vec<_> = names.iter().map(|name| open(&fixtures("runtimes").join(name))).collect();
    for (name, report) in reports(&candidates) {
        let row = Row::of(&report);
        let green: Vec<_> = row.clauses.iter().filter(|(_, outcome)| outcome.is_green()).collect();
        assert!(green.is_empty(), "{name}: {green:?}");
        assert!(!row.red.is_empty(), "{name}: nothing was judged at all");
    }
}
