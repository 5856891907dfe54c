//! A small language for observations.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::conform::judge::{Check, Evidence, Outcome, judge};
use crate::conform::observe::{
    AttemptSeen, EventSeen, FileSeen, Observation, OutputLine, ProcessEnd, ReportSeen, StepSeen, UsageSeen,
};
use crate::conform::spec::{Case, Clause, Expectation, Manifest, Reason};

/// Evidence in the making: one `run` step that ended with 0.
pub(super) struct Scene {
    pub(super) case: Case,
    pub(super) clause: Clause,
    pub(super) manifest: Manifest,
    pub(super) seen: Observation,
    pub(super) control: Option<Observation>,
}

pub(super) fn scene() -> Scene {
    let case = json!({ "id": "x-001-case", "clause": "X-001", "title": "t", "steps": [{ "run": {} }], "expect": [] });
    let clause = json!({
        "id": "X-001", "column": "exit-codes", "level": "MUST", "source": ["table"], "sections": [], "text": "t",
        "readings": [
            { "id": "C-01b", "text": "legal" },
            { "id": "C-01c", "text": "legal, with a remark", "warns": true },
        ],
    });
    let manifest = json!({ "runtime": "it", "version": ["it", "-V"], "run": ["it", "{plan}"] });
    let mut scene = Scene {
        case: serde_json::from_value(case).expect("a case"),
        clause: serde_json::from_value(clause).expect("a clause"),
        manifest: serde_json::from_value(manifest).expect("a manifest"),
        seen: Observation::default(),
        control: Some(Observation::default()),
    };
    scene.seen.drawn = BTreeMap::from([("p".to_owned(), json!("design")), ("code".to_owned(), json!(137))]);
    scene.step("run", ProcessEnd::Exited(0))
}

impl Scene {
    pub(super) fn step(mut self, verb: &str, end: ProcessEnd) -> Self {
        let workspace = self.seen.steps.last().map_or(0, |step| step.workspace + usize::from(verb == "fresh"));
        self.seen.steps.push(StepSeen {
            verb: verb.to_owned(),
            argv: Vec::new(),
            started: 0,
            ended: 10_000,
            end,
            output: Vec::new(),
            workspace,
            checkpoints: BTreeMap::new(),
            reports: Vec::new(),
            laid: BTreeMap::new(),
            edited: None,
        });
        self
    }

    pub(super) fn ending(mut self, end: ProcessEnd) -> Self {
        self.last().end = end;
        self
    }

    pub(super) fn last(&mut self) -> &mut StepSeen {
        self.seen.steps.last_mut().expect("a scene has a step")
    }

    /// Attempts of the last step: phase, exit, start, end.
    pub(super) fn attempts(mut self, attempts: &[(&str, i32, u64, u64)]) -> Self {
        for &(phase, exit, started, ended) in attempts {
            let earlier = self.seen.attempts.iter().filter(|attempt| attempt.phase == phase).count();
            let checkpoints = self.last().checkpoints.clone();
            let (step, workspace) = (self.seen.steps.len() - 1, self.last().workspace);
            self.seen.attempts.push(AttemptSeen {
                phase: phase.to_owned(),
                attempt: u32::try_from(earlier + 1).expect("few attempts"),
                step,
                workspace,
                started,
                ended: Some(ended),
                told: None,
                exit: Some(exit),
                signal: None,
                cwd: "/w".to_owned(),
                env: BTreeMap::new(),
                memories: None,
                checkpoints,
            });
        }
        self
    }

    /// Two phases that went well.
    pub(super) fn well(self) -> Self {
        self.attempts(&[("preflight", 0, 100, 200), ("design", 0, 210, 300)])
    }

    pub(super) fn checkpoint(mut self, name: &str, text: &str) -> Self {
        let modified = self.last().checkpoints.len() as u64;
        self.last().checkpoints.insert(name.to_owned(), FileSeen { text: text.to_owned(), modified });
        self
    }

    pub(super) fn output(mut self, at: u64, text: &str) -> Self {
        self.last().output.push(OutputLine { at, stream: "stdout".to_owned(), text: text.to_owned() });
        self
    }

    pub(super) fn report(mut self, document: Value) -> Self {
        self.last().reports.push(ReportSeen { path: "escalation.yaml".to_owned(), document, at: 400 });
        self
    }

    /// The same runtime when nothing goes wrong: this is what it says and leaves then.
    pub(super) fn control(mut self, output: &[&str], reports: &[Value]) -> Self {
        let quiet = scene().well();
        let quiet = output.iter().fold(quiet, |scene, line| scene.output(310, line));
        self.control = Some(reports.iter().fold(quiet, |scene, report| scene.report(report.clone())).seen);
        self
    }

    pub(super) fn usage(mut self, tokens: u64, at: u64, context_state: Option<Value>) -> Self {
        self.seen.usages.push(UsageSeen { tokens, at, context_state, until: at + 50 });
        self
    }

    pub(super) fn event(mut self, at: u64, line: Value) -> Self {
        self.seen.events.push(EventSeen { at, line });
        self
    }

    /// Judges one expectation, written as a case writes it.
    pub(super) fn judge(&mut self, expectation: &str) -> Check {
        let expectation: Expectation = serde_yaml::from_str(expectation).expect(expectation);
        self.case.expect = vec![expectation];
        let (case, clause, manifest) = (&self.case, &self.clause, &self.manifest);
        let evidence = Evidence { case, clause, manifest, seen: &self.seen, control: self.control.as_ref() };
        let mut checks = judge(&evidence);
        assert_eq!(checks.len(), 1);
        checks.remove(0)
    }

    /// Judges one expectation and compares outcome and reason.
    #[track_caller]
    pub(super) fn says(mut self, expectation: &str, outcome: Outcome, reason: Reason) {
        let check = self.judge(expectation);
        assert_eq!((check.outcome, check.reason), (outcome, reason), "{expectation}: {check:#?}");
    }

    #[track_caller]
    pub(super) fn passes(self, expectation: &str) {
        self.says(expectation, Outcome::Pass, Reason::AsExpected);
    }

    #[track_caller]
    pub(super) fn fails(self, expectation: &str, reason: Reason) {
        self.says(expectation, Outcome::Fail, reason);
    }
}
