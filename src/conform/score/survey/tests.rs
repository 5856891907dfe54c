//! Surveys over a scripted rig: what is run, what is not, and what comes of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use camino::Utf8PathBuf;

use super::*;
use crate::conform::judge::Outcome;
use crate::conform::observe::{AttemptSeen, OutputLine, ProcessEnd, ReportSeen, StepSeen};
use crate::conform::spec::{CaseDocument, CellWord, Column, Expectation, Reason};
use crate::conform::suite::Files;

const LEDGER: &str = "
- {id: X-001, column: exit-codes, level: MUST, source: [table], sections: [S], text: t, how: h}
- {id: X-002, column: exit-codes, level: MUST, source: [table], sections: [S], text: t, how: h}
- {id: X-003, column: exit-codes, level: MUST, source: [table], sections: [S], text: t, how: h}
- {id: X-004, column: exit-codes, level: MUST, source: [table], sections: [S], text: t, untested: why}
- {id: X-005, column: features, level: MUST, when: claimed, source: [table], sections: [S], text: t, how: h}
";

fn suite() -> Suite {
    suite_with(&[])
}

/// The suite with further cases.
fn suite_with(more: &[(&str, &str)]) -> Suite {
    let case = |id: &str, needs: &str, more: &str| {
        let clause = id[..5].to_uppercase();
        let text = format!(
            "{{id: {id}, clause: {clause}, title: t, needs: [{needs}], steps: [{{run: {{}}}}], expect: [{{ends: {{}}}}]{more}}}"
        );
        (Utf8PathBuf::from(format!("cases/{id}.yaml")), text.into_bytes())
    };
    let mut files = vec![
        (Utf8PathBuf::from("ledger/x.yaml"), LEDGER.as_bytes().to_vec()),
        (Utf8PathBuf::from("claims.yaml"), b"{edition: e, claims: [], checklist: []}".to_vec()),
        case("x-001-a", "", ""),
        case("x-001-b", "", ""),
        case("x-002-a", "X-001", ", files: {two: two}"),
        case("x-003-a", "X-002", ", files: {three: three}"),
        case("x-005-a", "", ", files: {five: five}"),
    ];
    files.extend(
        more.iter().map(|(id, text)| (Utf8PathBuf::from(format!("cases/{id}.yaml")), text.as_bytes().to_vec())),
    );
    let manifest = b"{runtime: it, version: [it], run: [it]}".to_vec();
    files.push((Utf8PathBuf::from("runtimes/it/manifest.yaml"), manifest));
    Suite::load(files.into_iter().collect::<Files>()).expect("a valid suite")
}

/// Answers with exit codes by case: the n-th observation of a case ends as the n-th entry says, the last serves for ever.
struct Scripted {
    script: BTreeMap<&'static str, Vec<ProcessEnd>>,
    asked: Mutex<Vec<String>>,
    stop: AtomicBool,
    problem: Option<String>,
    panics: bool,
}

impl Scripted {
    fn new(script: &[(&'static str, &[ProcessEnd])]) -> Self {
        Self {
            script: script.iter().map(|(case, ends)| (*case, ends.to_vec())).collect(),
            asked: Mutex::default(),
            stop: AtomicBool::new(false),
            problem: None,
            panics: false,
        }
    }

    fn asked(&self) -> Vec<String> {
        let mut asked = self.asked.lock().expect("nobody panics with it").clone();
        asked.sort();
        asked
    }
}

impl Rig for Scripted {
    fn identify(&self, _: &Candidate) -> Identity {
        Identity { problem: self.problem.clone().map(Into::into), ..Identity::default() }
    }

    fn observe(&self, case: &Case, _: &Candidate) -> Observation {
        assert!(!self.panics, "a scripted panic");
        let earlier = {
            let mut asked = self.asked.lock().expect("nobody panics with it");
            asked.push(case.id.clone());
            asked.iter().filter(|id| **id == case.id).count() - 1
        };
        let ends = self.script.get(case.id.as_str()).cloned().unwrap_or_else(|| vec![ProcessEnd::Exited(0)]);
        seen(ends.get(earlier).or(ends.last()).expect("a script has an end").clone())
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

fn seen(end: ProcessEnd) -> Observation {
    let attempt = AttemptSeen {
        memories: None,
        phase: "design".to_owned(),
        attempt: 1,
        step: 0,
        workspace: 0,
        started: 1,
        ended: Some(2),
        told: None,
        exit: Some(0),
        signal: None,
        cwd: String::new(),
        env: BTreeMap::new(),
        checkpoints: BTreeMap::new(),
    };
    let step = StepSeen {
        verb: "run".to_owned(),
        argv: Vec::new(),
        started: 0,
        ended: 3,
        end,
        output: Vec::new(),
        workspace: 0,
        checkpoints: BTreeMap::new(),
        reports: Vec::new(),
        laid: BTreeMap::new(),
        edited: None,
    };
    Observation { steps: vec![step], attempts: vec![attempt], ..Observation::default() }
}

fn surveyed(rig: &Scripted, only: Option<&str>) -> RuntimeReport {
    let suite = suite();
    let candidate = suite.candidate("it", &PathBuf::from("/nowhere")).expect("it is bundled");
    let selection = Selection { only: only.map(str::to_owned), ..Selection::default() };
    let options = SurveyOptions { selection, jobs: 2, timing_jobs: 1, ..SurveyOptions::default() };
    survey(&suite, &[candidate], rig, &options, &|_| ()).remove(0)
}

fn outcomes(report: &RuntimeReport) -> Vec<Outcome> {
    report.clauses.iter().map(|clause| clause.outcome).collect()
}

use Outcome::{CouldNotRun, Fail, Flaky, HarnessError, NotApplicable, Pass, Untested};

#[test]
fn one_scenario_is_observed_once_and_a_clause_without_a_case_is_untested() {
    let rig = Scripted::new(&[]);
    let report = surveyed(&rig, None);
    assert_eq!(outcomes(&report), [Pass, Pass, Pass, Untested, NotApplicable]);
    assert_eq!(rig.asked(), ["x-001-a", "x-002-a", "x-003-a"]);
    assert_eq!(report.cells[&Column::ExitCodes].to_string(), "Partial 3/4, 1 untested");
}

#[test]
fn what_presupposes_a_red_could_not_run_and_says_which() {
    let rig = Scripted::new(&[("x-002-a", &[ProcessEnd::OutOfBudget])]);
    let report = surveyed(&rig, None);
    assert_eq!(outcomes(&report), [Pass, Fail, CouldNotRun, Untested, NotApplicable]);
    let check = &report.clauses[2].cases[0].checks[0];
    assert_eq!((check.reason, check.observed.as_str()), (Reason::NeedsRed, "X-002 (fail)"));
    assert_eq!(rig.asked(), ["x-001-a", "x-002-a", "x-002-a"], "a red is done twice, what needs it never");
}

#[test]
fn what_the_manifest_keeps_from_being_seen_is_not_run() {
    let mut suite = suite();
    let last = suite.cases.iter_mut().find(|case| case.id == "x-003-a").expect("it is there");
    last.steps.push(serde_json::from_value(serde_json::json!({ "resume": {} })).expect("a step"));
    let rig = Scripted::new(&[]);
    let candidate = suite.candidate("it", &PathBuf::from("/nowhere")).expect("it is bundled");
    let options = SurveyOptions { jobs: 1, timing_jobs: 1, ..SurveyOptions::default() };
    let report = survey(&suite, &[candidate], &rig, &options, &|_| ()).remove(0);
    assert_eq!(outcomes(&report)[2], Outcome::NotObserved);
    assert_eq!(report.clauses[2].cases[0].checks[0].reason, Reason::NoVerb);
    assert_eq!(rig.asked(), ["x-001-a", "x-002-a"]);
}

#[test]
fn red_and_then_green_is_flaky_and_never_green() {
    let rig = Scripted::new(&[("x-002-a", &[ProcessEnd::OutOfBudget, ProcessEnd::Exited(0)])]);
    let report = surveyed(&rig, None);
    assert_eq!(outcomes(&report)[1..3], [Flaky, CouldNotRun]);
}

#[test]
fn a_runtime_that_starts_nothing_passes_nothing() {
    struct Idle;
    impl Rig for Idle {
        fn identify(&self, _: &Candidate) -> Identity {
            Identity::default()
        }
        fn observe(&self, _: &Case, _: &Candidate) -> Observation {
            Observation { attempts: Vec::new(), ..seen(ProcessEnd::Exited(0)) }
        }
        fn stopped(&self) -> bool {
            false
        }
    }
    let suite = suite();
    let candidate = suite.candidate("it", &PathBuf::from("/nowhere")).expect("it is bundled");
    let options = SurveyOptions { jobs: 1, timing_jobs: 1, ..SurveyOptions::default() };
    let report = survey(&suite, &[candidate], &Idle, &options, &|_| ()).remove(0);
    assert!(report.clauses.iter().all(|clause| !clause.outcome.is_green()));
    assert_eq!(report.cells[&Column::ExitCodes].word, CellWord::None);
}

#[test]
fn a_selection_brings_what_it_presupposes() {
    let rig = Scripted::new(&[]);
    let report = surveyed(&rig, Some("x-002"));
    assert_eq!(outcomes(&report), [Pass, Pass, Untested, Untested, Untested]);
    assert_eq!(rig.asked(), ["x-001-a", "x-002-a"]);
}

#[test]
fn a_panic_of_the_rig_loses_one_case_and_is_ours() {
    let rig = Scripted { panics: true, ..Scripted::new(&[]) };
    assert_eq!(outcomes(&surveyed(&rig, None))[..2], [HarnessError, CouldNotRun]);
}

#[test]
fn a_program_that_cannot_be_started_has_no_cells() {
    let rig = Scripted { problem: Some("no such program".to_owned()), ..Scripted::new(&[]) };
    let report = surveyed(&rig, None);
    assert!(report.cells.is_empty() && rig.asked().is_empty());
    assert_eq!(report.problem, Some("no such program".into()));
}

#[test]
fn a_stopped_judge_says_what_it_did_not_come_to() {
    let rig = Scripted::new(&[]);
    rig.stop.store(true, Ordering::Relaxed);
    let report = surveyed(&rig, None);
    assert!(rig.asked().is_empty());
    assert_eq!(report.clauses[0].cases[0].checks[0].reason, Reason::Stopped);
}

#[test]
fn what_was_cut_off_says_that_the_judge_was_stopped_and_blames_nobody() {
    /// It is stopped in the middle of its first case.
    struct CutOff(AtomicBool);
    impl Rig for CutOff {
        fn identify(&self, _: &Candidate) -> Identity {
            Identity::default()
        }
        fn observe(&self, _: &Case, _: &Candidate) -> Observation {
            self.0.store(true, Ordering::Relaxed);
            Observation { rig_error: Some("interrupted".to_owned()), ..Observation::default() }
        }
        fn stopped(&self) -> bool {
            self.0.load(Ordering::Relaxed)
        }
    }
    let suite = suite();
    let candidate = suite.candidate("it", &PathBuf::from("/nowhere")).expect("it is bundled");
    let options = SurveyOptions { jobs: 1, timing_jobs: 1, ..SurveyOptions::default() };
    let report = survey(&suite, &[candidate], &CutOff(AtomicBool::new(false)), &options, &|_| ()).remove(0);
    let checks = &report.clauses[0].cases[0].checks;
    assert_eq!((checks.len(), checks[0].outcome, checks[0].reason), (1, CouldNotRun, Reason::Stopped));
}

#[test]
fn every_verdict_is_announced_once() {
    let suite = suite();
    let candidate = suite.candidate("it", &PathBuf::from("/nowhere")).expect("it is bundled");
    let (judged, planned) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let options = SurveyOptions { jobs: 2, timing_jobs: 1, ..SurveyOptions::default() };
    let _ = survey(&suite, &[candidate], &Scripted::new(&[]), &options, &|progress| match progress {
        Progress::Planned(cases) => _ = planned.fetch_add(cases, Ordering::Relaxed),
        Progress::Judged(..) => _ = judged.fetch_add(1, Ordering::Relaxed),
        _ => {}
    });
    assert_eq!((planned.into_inner(), judged.into_inner()), (5, 5));
}

/// A case about every run, of a clause that others presuppose.
const EVERYWHERE: (&str, &str) = (
    "x-001-everywhere",
    "{id: x-001-everywhere, clause: X-001, title: t, needs: [], wherever: run, expect: [{ends: {code: 0}}]}",
);

#[test]
fn a_case_about_every_other_is_judged_last_and_asks_for_nothing_that_was_seen() {
    let suite = suite_with(&[EVERYWHERE]);
    for (script, outcome, asked) in [
        (&[][..], Pass, &["x-001-a", "x-002-a", "x-003-a"][..]),
        // It breaks the rule in a case that is green by itself, and again when it is done once more.
        (&[("x-003-a", &[ProcessEnd::Exited(7)][..])], Fail, &["x-001-a", "x-002-a", "x-003-a", "x-003-a"]),
        (
            &[("x-003-a", &[ProcessEnd::Exited(7), ProcessEnd::Exited(0)])],
            Flaky,
            &["x-001-a", "x-002-a", "x-003-a", "x-003-a"],
        ),
        // What was done twice anyway, because it is red by itself, is not done a third time; it did not end, so it tells nothing.
        (&[("x-003-a", &[ProcessEnd::OutOfBudget])], Pass, &["x-001-a", "x-002-a", "x-003-a", "x-003-a"]),
    ] {
        let rig = Scripted::new(script);
        let candidate = suite.candidate("it", &PathBuf::from("/nowhere")).expect("it is bundled");
        let options = SurveyOptions { jobs: 2, timing_jobs: 1, ..SurveyOptions::default() };
        let report = survey(&suite, &[candidate], &rig, &options, &|_| ()).remove(0);
        let case = report.clauses[0].cases.iter().find(|case| case.id == EVERYWHERE.0).expect("it was judged");
        assert_eq!(
            (case.outcome, rig.asked()),
            (outcome, asked.iter().map(|id| (*id).to_owned()).collect()),
            "{script:?}"
        );
        assert_eq!(report.clauses[2].cases.len(), 1, "what presupposes X-001 does not wait for it");
    }
}

#[test]
fn a_case_about_every_other_does_nothing_by_itself() {
    let text = EVERYWHERE.1.replace("wherever", "steps: [{run: {}}], wherever");
    let case: Case = serde_yaml::from_str(&text).expect("a case");
    assert!(case.faults().iter().any(|fault| fault.code == "case-everywhere"));
    let case: Case = serde_yaml::from_str(EVERYWHERE.1).expect("a case");
    assert!(case.faults().is_empty());
}

/// A runtime that calls for a human and says the same words, whatever happens.
struct Crier;

impl Rig for Crier {
    fn identify(&self, _: &Candidate) -> Identity {
        Identity::default()
    }

    fn observe(&self, case: &Case, _: &Candidate) -> Observation {
        let mut seen = seen(ProcessEnd::Exited(0));
        let line = |text: &str| OutputLine { at: 2, stream: "stdout".to_owned(), text: text.to_owned() };
        seen.steps[0].output.push(line("design: manual"));
        let document = serde_json::json!({ "trigger": "manual", "phase": "design" });
        if !case.files.is_empty() {
            seen.steps[0].reports.push(ReportSeen { path: "r.yaml".to_owned(), document, at: 2 });
        }
        seen
    }

    fn stopped(&self) -> bool {
        false
    }
}

#[test]
fn what_is_seen_is_held_against_the_run_in_which_nothing_goes_wrong() {
    let mut suite = suite();
    let second = suite.cases.iter_mut().find(|case| case.id == "x-002-a").expect("it is there");
    second.needs.clear();
    second.expect = vec![Expectation::Surfaced { phase: "design".to_owned(), from_start: false }];
    let candidate = suite.candidate("it", &PathBuf::from("/nowhere")).expect("it is bundled");
    let options = SurveyOptions { jobs: 2, timing_jobs: 1, ..SurveyOptions::default() };
    let report = survey(&suite, &[candidate], &Crier, &options, &|_| ()).remove(0);
    let check = &report.clauses[1].cases[0].checks[0];
    assert_eq!((check.outcome, check.reason), (Fail, Reason::NotSurfaced), "{check:?}");
}
