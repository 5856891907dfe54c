//! The agent profile on trial: the stand-in is green, every faulty one dies of its named case for its named reason, and
//! programs that do nothing, or only say the right things, pass nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use loa::conform::judge::{Check, Outcome};
use loa::conform::observe::{AgentRig, RigOptions};
use loa::conform::score::{Row, RuntimeReport, SurveyOptions, differences, shortcomings, survey, table};
use loa::conform::spec::{AgentProfile, ProfileName};
use loa::conform::suite::{Candidate, Files, Selection, Suite, Variant};

fn fixtures(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn suite() -> Suite<AgentProfile> {
    Suite::load(Files::bundled(ProfileName::Agent)).unwrap_or_else(|findings| panic!("{} findings", findings.len()))
}

fn variants() -> Vec<Variant> {
    Variant::read_all(&fixtures("faulty/agents")).unwrap_or_else(|error| panic!("{error}"))
}

fn case_of(variant: &Variant) -> &str {
    &variant.kills.as_ref().expect("there are no lawful ones").case
}

fn open(folder: &Path) -> Candidate<AgentProfile> {
    Candidate::open(&folder.join("manifest.yaml")).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
}

/// What the cases that match say about these agents, by name.
fn reports(candidates: &[Candidate<AgentProfile>], only: Option<&str>) -> BTreeMap<String, RuntimeReport> {
    let options = RigOptions::new(7, PathBuf::from(env!("CARGO_BIN_EXE_loa-conform")));
    let rig = AgentRig::new(options, PathBuf::from("/nowhere"));
    let selection = Selection { only: only.map(str::to_owned), ..Selection::default() };
    // Most of it is waiting.
    let options = SurveyOptions { selection, jobs: 16, timing_jobs: 16, ..SurveyOptions::default() };
    let reports = survey(&suite(), candidates, &rig, &options, &|_| {});
    let problems: Vec<_> = reports.iter().filter_map(|report| report.problem.as_ref()).collect();
    assert!(problems.is_empty(), "{problems:?}");
    reports.into_iter().map(|report| (report.runtime.clone(), report)).collect()
}

#[test]
fn every_variant_fits_the_stand_in_and_names_what_exists() {
    let suite = suite();
    let mut deaths = BTreeSet::new();
    for variant in variants() {
        let kill = variant.kills.as_ref().expect("there are no lawful ones");
        assert!(suite.cases.iter().any(|case| case.id == kill.case), "{}: {}", variant.variant, kill.case);
        let stranger = variant.also.iter().find(|also| suite.clause(also).is_none());
        assert_eq!(stranger, None, "{}", variant.variant);
        assert!(deaths.insert((kill.case.clone(), kill.reason)), "{} dies as another does", variant.variant);
        let into = tempfile::tempdir().expect("a folder");
        let manifest = variant.lay_out::<AgentProfile>(&fixtures("agents"), into.path());
        let manifest = manifest.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(manifest.agent, format!("standin+{}", variant.variant));
    }
}

#[test]
fn every_clause_has_a_variant_that_dies_of_it() {
    let suite = suite();
    let killed: BTreeSet<String> = variants()
        .iter()
        .filter_map(|variant| Some(suite.cases.iter().find(|case| case.id == case_of(variant))?.clause.clone()))
        .collect();
    let spared: Vec<&str> =
        suite.clauses.iter().map(|clause| clause.id.as_str()).filter(|id| !killed.contains(*id)).collect();
    assert!(spared.is_empty(), "nothing shows that the suite would notice if these were broken: {spared:?}");
}

/// Each variant is run against the cases of its own column; the stand-in beside it, and once against all.
#[test]
fn the_stand_in_is_green_and_each_faulty_one_dies_as_declared() {
    let base = open(&fixtures("agents/standin"));
    let whole = reports(std::slice::from_ref(&base), None);
    let void: Vec<String> = whole.values().flat_map(shortcomings).collect();
    assert!(void.is_empty(), "{}\n{}", void.join("\n"), reds(&whole));
    let place = tempfile::tempdir().expect("a folder");
    let variants = variants();
    let mut by_column: BTreeMap<&str, Vec<&Variant>> = BTreeMap::new();
    for variant in &variants {
        let column = case_of(variant).split('-').next().expect("an id has parts");
        by_column.entry(column).or_default().push(variant);
    }
    let mut text = format!("Killed as declared: {0} of {0}.\n", variants.len());
    let mut found = Vec::new();
    for (column, variants) in by_column {
        let laid = variants.iter().map(|variant| {
            let into = place.path().join(&variant.variant);
            std::fs::create_dir(&into).expect("made");
            variant.lay_out::<AgentProfile>(&fixtures("agents"), &into).unwrap_or_else(|error| panic!("{error}"));
            open(&into)
        });
        let candidates: Vec<_> = std::iter::once(base.clone()).chain(laid).collect();
        let reports = reports(&candidates, Some(&format!("{column}-")));
        let mine = |(clause, _): &(&String, &Outcome)| clause.starts_with(&column.to_uppercase());
        let row = |name: &str| {
            let Row { clauses, red } = Row::of(&reports[name]);
            let clauses = clauses.iter().filter(mine).map(|(clause, outcome)| (clause.clone(), *outcome)).collect();
            Row { clauses, red }
        };
        let rows: Vec<(&str, Row)> =
            candidates.iter().map(|it| (it.manifest.agent.as_str(), row(&it.manifest.agent))).collect();
        for (variant, (_, row)) in variants.iter().zip(&rows[1..]) {
            let about = differences(variant, &rows[0].1, row);
            found.extend(about.into_iter().map(|what| format!("{}: {what}", variant.variant)));
        }
        if !found.is_empty() {
            found.push(reds(&reports));
        }
        let rows: Vec<(&str, &Row)> = rows.iter().map(|(name, row)| (*name, row)).collect();
        text.extend(["\n", &table(&rows)]);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    insta::assert_snapshot!("table", text);
}

/// Every red and every doubtful check, to read when the proof fails.
fn reds(reports: &BTreeMap<String, RuntimeReport>) -> String {
    let mut text = String::new();
    for (name, report) in reports {
        for case in report.clauses.iter().flat_map(|clause| &clause.cases) {
            for Check { outcome, reason, expected, observed, .. } in
                case.checks.iter().filter(|it| !it.outcome.is_green())
            {
                let line = format!("{name} {} {outcome} {reason}: {expected}; {observed}\n", case.id);
                text.push_str(&line);
            }
        }
    }
    text
}

/// What a green run of the stand-in prints, printed by something that asked no model.
const REPLAY: &str = r#"echo '{"event":"session","id":"0123456789abcdef"}'; echo '{"event":"usage","input":2610,"output":48}';
echo '{"event":"context","tokens":1420}'; echo '{"event":"text","text":"done"}'; echo '{"event":"denied"}'; echo '{"event":"compaction"}'; echo '{"event":"end","status":"done"}'"#;

#[test]
fn agents_that_do_nothing_pass_nothing() {
    let place = tempfile::tempdir().expect("a folder");
    let standin = std::fs::read_to_string(fixtures("agents/standin/manifest.yaml")).expect("a manifest");
    let standin: serde_json::Value = serde_yaml::from_str(&standin).expect("YAML");
    let nulls = [("true", "true"), ("false", "false"), ("echo", "echo {prompt}"), ("replay", REPLAY)];
    let candidates = nulls.map(|(name, script)| {
        let mut manifest = standin.clone();
        for (key, value) in [
            ("agent", serde_json::json!(name)),
            ("version", serde_json::json!(["true"])),
            ("run", serde_json::json!(["sh", "-c", script])),
            ("resume", serde_json::json!(["sh", "-c", script])),
        ] {
            manifest[key] = value;
        }
        let folder = place.path().join(name);
        std::fs::create_dir(&folder).expect("made");
        std::fs::write(folder.join("manifest.yaml"), manifest.to_string()).expect("written");
        open(&folder)
    });
    for (name, report) in reports(&candidates, None) {
        let row = Row::of(&report);
        let green: Vec<_> = row.clauses.iter().filter(|(_, outcome)| outcome.is_green()).collect();
        assert!(green.is_empty(), "{name}: {green:?}");
        assert!(!row.red.is_empty(), "{name}: nothing was judged at all");
    }
}
