//! A second, small telling of what a run does (Exit Code Handling; Escalation Triggers; Resolution), beside which the
//! program is held: outcomes, kills and answers are drawn, and both must start the same phases, call for the same reason
//! and end the same way. It shares no code with the engine, and knows neither files nor processes.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::Workspace;

const PLAN: [&str; 4] = ["design", "implementation", "audit", "submit"];
const IMPLEMENTATION: usize = 1;
const AUDIT: usize = 2;

/// What one start of a phase does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Succeed,
    /// Exit 1, with this last word on standard error.
    Fail(&'static str),
    Block,
    Unknown,
    /// The runtime is killed meanwhile.
    Kill,
}

impl Act {
    fn line(self) -> String {
        match self {
            Self::Succeed => "0".to_owned(),
            Self::Fail(word) => format!("1{word}"),
            Self::Block => "2".to_owned(),
            Self::Unknown => "7".to_owned(),
            Self::Kill => "kill".to_owned(),
        }
    }
}

const ANSWERS: [&str; 4] = ["fix_and_resume", "skip_phase", "reset", "abort"];

#[derive(Debug, Clone, Copy)]
struct Limits {
    retries: usize,
    loops: usize,
    same: usize,
    idle: usize,
}

/// How a session of the model ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Completed,
    Called(&'static str, usize),
    Killed,
}

#[derive(Debug, Clone, Default)]
struct Model {
    done: BTreeSet<usize>,
    /// The phase at work, and how its attempts failed so far.
    failed: Option<(usize, Vec<&'static str>)>,
    loops: usize,
    awaits_loop: bool,
    issue: (&'static str, usize),
    idle: usize,
    audited: bool,
}

impl Model {
    /// One session; `acts` says what each start does, and `starts` notes it.
    fn session(&mut self, limits: Limits, acts: &mut impl Iterator<Item = Act>, starts: &mut Vec<usize>) -> Ended {
        while let Some(phase) = (0..PLAN.len()).find(|phase| !self.done.contains(phase)) {
            if let Some(trigger) = self.fired(limits) {
                return Ended::Called(trigger, phase);
            }
            let mut failures = self.failed.take().filter(|(of, _)| *of == phase).map_or(Vec::new(), |(_, words)| words);
            loop {
                starts.push(phase);
                match acts.next().unwrap_or(Act::Succeed) {
                    Act::Kill => {
                        self.failed = Some((phase, failures));
                        return Ended::Killed;
                    }
                    Act::Succeed => break self.succeeded(phase),
                    Act::Block | Act::Unknown => return Ended::Called("manual", phase),
                    Act::Fail(word) => failures.push(word),
                }
                if phase == AUDIT {
                    match self.audit_failed(limits, failures[failures.len() - 1]) {
                        Some(trigger) => return Ended::Called(trigger, phase),
                        None => break,
                    }
                }
                if failures.len() > limits.retries {
                    let alike = !failures[0].is_empty() && failures.iter().all(|word| *word == failures[0]);
                    return Ended::Called(if alike { "same_issue" } else { "no_progress" }, phase);
                }
            }
        }
        Ended::Completed
    }

    fn succeeded(&mut self, phase: usize) {
        self.done.insert(phase);
        if phase == AUDIT {
            (self.issue, self.awaits_loop, self.audited) = (("", 0), false, false);
        }
    }

    /// Back to implementation, unless a counter says that a human is needed.
    fn audit_failed(&mut self, limits: Limits, word: &'static str) -> Option<&'static str> {
        // Nothing ever changes in these workspaces, so each loop after the first failure is an idle one.
        self.idle += usize::from(std::mem::replace(&mut self.audited, true));
        let again = !word.is_empty() && self.issue.0 == word;
        self.issue = (
            word,
            if word.is_empty() {
                0
            } else if again {
                self.issue.1 + 1
            } else {
                1
            },
        );
        self.awaits_loop = true;
        let fired = self.fired(limits);
        if fired.is_none() {
            (self.awaits_loop, self.loops) = (false, self.loops + 1);
            self.done.remove(&IMPLEMENTATION);
        }
        fired
    }

    fn fired(&self, limits: Limits) -> Option<&'static str> {
        let held = [
            ("same_issue", self.issue.1 >= limits.same),
            ("no_progress", self.idle >= limits.idle),
            ("max_loops", self.awaits_loop && self.loops >= limits.loops),
        ];
        held.into_iter().find_map(|(trigger, holds)| holds.then_some(trigger))
    }

    /// A human's answer to a call; `false` when nothing goes on.
    fn answered(&mut self, answer: &str, trigger: &str, phase: usize) -> bool {
        match trigger {
            "same_issue" => self.issue = ("", 0),
            "no_progress" => self.idle = 0,
            "max_loops" => (self.loops, self.awaits_loop) = (0, false),
            _ => {}
        }
        match answer {
            "skip_phase" => {
                self.done.insert(phase);
                if phase == AUDIT {
                    (self.issue, self.awaits_loop) = (("", 0), false);
                }
            }
            "reset" => *self = Self::default(),
            _ => {}
        }
        answer != "abort"
    }
}

/// Each phase does what the line of `acts` says whose number is that of the start.
const SCRIPT: &str = "act=$(sed -n $(wc -l < ran)p acts)
case $act in
kill) kill -9 $PPID; sleep 60 ;;
1?*) echo \"${act#1}\" >&2; exit 1 ;;
*) exit ${act:-0} ;;
esac";

fn workspace(limits: Limits, acts: &[Act]) -> Workspace {
    let workspace = Workspace::only(&PLAN.map(|phase| (phase, SCRIPT)));
    // A phase kills the run.
    workspace.without_boundary();
    let Limits { retries, loops, same, idle } = limits;
    workspace.config(&format!(
        "autonomous_agent: {{ require_human_deploy_approval: false, max_remediation_loops: {loops} }}
run_mode: {{ circuit_breaker: {{ same_issue_threshold: {same}, no_progress_threshold: {idle} }} }}
runtime: {{ in_doubt: repeat, retry: {{ max: {retries}, initial_ms: 0, max_ms: 0, jitter: 0 }} }}\n"
    ));
    workspace.write("acts", &acts.iter().map(|act| act.line() + "\n").collect::<String>());
    workspace
}

/// Runs both side by side until all is done, or an answer ends it.
fn agree(limits: Limits, acts: &[Act], answers: &[usize]) -> Result<(), TestCaseError> {
    let (workspace, mut model) = (workspace(limits, acts), Model::default());
    let (mut drawn, mut answers, mut starts) = (acts.iter().copied(), answers.iter(), Vec::new());
    let mut command = vec!["run", "--plan", "plan.json"];
    loop {
        let ran = workspace.loa(&command);
        command = vec!["resume"];
        let ended = model.session(limits, &mut drawn, &mut starts);
        let started: Vec<_> = starts.iter().map(|phase| PLAN[*phase]).collect();
        prop_assert_eq!(workspace.ran(), started, "the model ended by {:?}\n{}", ended, ran.stderr);
        let code = match ended {
            Ended::Completed => Some(0),
            Ended::Called(..) => Some(2),
            Ended::Killed => None,
        };
        prop_assert_eq!(ran.code, code, "{:?}\n{}", ended, ran.stderr);
        let (trigger, phase) = match ended {
            Ended::Completed => return Ok(()),
            Ended::Killed => continue,
            Ended::Called(trigger, phase) => (trigger, phase),
        };
        let pending = workspace.record()["pending"].clone();
        prop_assert_eq!(pending["trigger"].as_str(), Some(trigger), "in {}\n{}", PLAN[phase], ran.stderr);
        prop_assert_eq!(pending["phase"].as_str(), Some(PLAN[phase]));
        let answer = ANSWERS[answers.next().copied().unwrap_or(1)];
        workspace.loa(&["resolve", answer]).exits(0);
        if !model.answered(answer, trigger, phase) {
            workspace.resume().exits(2).says(&["aborted"]);
            return Ok(());
        }
    }
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        5 => Just(Act::Succeed),
        4 => Just(Act::Fail("alike")),
        2 => Just(Act::Fail("other")),
        1 => Just(Act::Fail("")),
        1 => Just(Act::Block),
        1 => Just(Act::Unknown),
        2 => Just(Act::Kill),
    ]
}

fn limits() -> impl Strategy<Value = Limits> {
    let drawn = (0_usize..3, 1_usize..4, 2_usize..4, 2_usize..5);
    drawn.prop_map(|(retries, loops, same, idle)| Limits { retries, loops, same, idle })
}

proptest! {
    // Each case starts some dozens of processes. PROPTEST_CASES asks for more of them.
    #![proptest_config(ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(12),
        max_shrink_iters: 60,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_engine_and_the_model_agree(
        limits in limits(),
        acts in prop::collection::vec(act(), 0..24),
        answers in prop::collection::vec(prop_oneof![4 => Just(0_usize), 3 => Just(1), 1 => Just(2), 1 => Just(3)], 8),
    ) {
        agree(limits, &acts, &answers)?;
    }
}
