//! Stages that end in every way, as processes of this host and in the simulated world: the journals tell the same.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use loa::config::{BoundaryMode, Network};
use loa::contract::Phase;
use loa::events::{Envelope, Event, RunOrigin, State};
use loa::policy::{Backoff, Limits, StageOutcome, TriggerLimits};
use loa::runner::{Backends, Bounds, Engine, Fact, Listener, Mode, Plan, Request, Stage, Waits, Work};
use loa::store::{Layout, Place};
use loa::system::process::Interrupts;
use proptest::prelude::*;

use crate::story::{Teller, bounds, rules, settings, teller};

/// How an attempt ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Exits(u8),
    IsKilled,
    Hangs,
}

/// How the attempts of a phase end, one after the other, and the last of them whenever there are more.
#[derive(Debug, Clone)]
struct Drawn {
    phase: Phase,
    /// There is no such program.
    is_missing: bool,
    ends: Vec<End>,
    retries: u32,
}

impl Drawn {
    fn end(&self, attempt: u32) -> End {
        let last = self.ends.len() - 1;
        self.ends[last.min(usize::try_from(attempt - 1).expect("small"))]
    }

    fn hangs(&self) -> bool {
        self.ends.contains(&End::Hangs)
    }

    fn stage(&self) -> Stage {
        let arms = (1_u32..).zip(&self.ends).map(|(attempt, end)| match end {
            End::Exits(code) => format!("{attempt}) exit {code};;"),
            End::IsKilled => format!("{attempt}) kill -9 $$;;"),
            End::Hangs => format!("{attempt}) exec sleep 600;;"),
        });
        let arms: Vec<String> = arms.collect();
        let attempt = format!("n=$LOA_ATTEMPT; [ $n -lt {0} ] || n={0}", self.ends.len());
        let script = format!("{attempt}; case $n in {} esac", arms.join(" "));
        let program = if self.is_missing { "no-such-program" } else { "sh" };
        let command = [program, "-c", &script].map(str::to_owned).to_vec();
        Stage {
            phase: self.phase,
            work: Some(Work::Command(command)),
            verify: None,
            env: BTreeMap::new(),
            // Long enough for whatever does not hang.
            timeout: Some(if self.hangs() { Duration::from_millis(50) } else { Duration::from_mins(10) }),
            idle_timeout: None,
            retries: self.retries,
            backoff: Backoff { initial: Duration::from_millis(1), jitter: 0.0, ..Backoff::default() },
            boundary: BoundaryMode::Auto,
            network: Network::Host,
            limits: Limits::default(),
            skip: false,
        }
    }

    fn outcome(&self, attempt: u32) -> Option<StageOutcome> {
        match self.end(attempt) {
            _ if self.is_missing => Some(StageOutcome::spawn_failed("no such program")),
            End::Exits(code) => Some(StageOutcome::exited(code.into())),
            End::IsKilled => Some(StageOutcome::signalled("KILL")),
            End::Hangs => None,
        }
    }
}

fn drawn(phase: Phase) -> impl Strategy<Value = Drawn> {
    let end = prop_oneof![
        4 => Just(End::Exits(0)),
        4 => Just(End::Exits(1)),
        1 => Just(End::Exits(2)),
        1 => (3..=255_u8).prop_map(End::Exits),
        1 => Just(End::IsKilled),
    ];
    let ends = prop_oneof![
        8 => proptest::collection::vec(end, 1..5),
        // A stage with a limit that is short in real time only hangs.
        1 => Just(vec![End::Hangs]),
    ];
    (ends, 0..3_u32, prop::bool::weighted(0.1)).prop_map(move |(ends, retries, is_missing)| Drawn {
        phase,
        is_missing,
        ends,
        retries,
    })
}

fn phases() -> impl Strategy<Value = Vec<Drawn>> {
    let all = [Phase::Design, Phase::Implementation, Phase::Audit].map(drawn);
    (all, 0..3_usize).prop_map(|(phases, left_out)| phases.into_iter().skip(left_out).collect())
}

fn limits() -> Bounds {
    bounds(TriggerLimits { max_loops: 2, timeout: Duration::from_hours(1), ..TriggerLimits::default() }, false)
}

/// What the journal tells, but for times and for what is particular to a host.
#[derive(Debug, Default)]
struct Told(Vec<String>);

impl Listener for Told {
    fn event(&mut self, envelope: &Envelope, _: &State) {
        self.0.extend(told(&envelope.event));
    }

    fn observation(&mut self, _: &loa::events::Observation) {}
}

fn told(event: &Event) -> Option<String> {
    Some(match event {
        Event::AttemptStarted { phase, attempt, of, .. } => format!("{phase} starts, {attempt} of {of}"),
        Event::AttemptEnded { phase, attempt, exit, .. } => format!("{phase} ends, {attempt}: {exit:?}"),
        Event::BackedOff { phase, attempt, delay_ms, .. } => format!("{phase} pauses before {attempt}: {delay_ms} ms"),
        Event::StageConcluded { checkpoint, attempts, trigger, remediable, .. } => {
            let codes: Vec<&str> = checkpoint.errors.iter().map(|error| error.code.raw()).collect();
            let (phase, exit) = (checkpoint.phase, checkpoint.exit_code);
            format!("{phase} is concluded after {attempts}: {exit:?} {codes:?} {trigger:?} {remediable}")
        }
        Event::NextDecided { phase, next, .. } => format!("after {phase}: {next:?}"),
        Event::Remediation { number, of } => format!("remediation {number} of {of}"),
        Event::Escalated { report, .. } => format!("called for {} in {}", report.trigger, report.phase),
        Event::SessionEnded { end } => format!("the session ends: {end:?}"),
        Event::ExecutionCompleted => "completed".to_owned(),
        _ => return None,
    })
}

fn on_this_host(phases: &[Drawn]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let workspace = folder.path().join("work");
    std::fs::create_dir(&workspace).expect("a folder");
    let layout = Layout::new(&workspace);
    let disk = layout.disk().clone();
    let place = Place::find_on(disk, &workspace, Some(&folder.path().join("state"))).expect("a place");
    let request = Request {
        pinned: Vec::new(),
        notices: Vec::new(),
        layout,
        place,
        plan: Plan::new(phases.iter().map(Drawn::stage).collect()).expect("a plan"),
        backends: Backends::default(),
        origin: RunOrigin::config(),
        overrides: Vec::new(),
        bounds: limits(),
        mode: Mode::New,
        program: Path::new(env!("CARGO_BIN_EXE_loa-run")).to_path_buf(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut told = Told::default();
    let interrupts = {
        let _entered = runtime.enter();
        Interrupts::listen().expect("signals")
    };
    let engine = Engine::begin(request, interrupts, &mut told).expect("begun");
    runtime.block_on(engine.run()).expect("it goes on");
    told.0
}

fn in_the_simulated_world(phases: &[Drawn]) -> Vec<String> {
    let stages: Vec<Stage> = phases.iter().map(Drawn::stage).collect();
    let script: BTreeMap<(Phase, u32), Option<StageOutcome>> = phases
        .iter()
        .flat_map(|drawn| (1..40).map(move |attempt| ((drawn.phase, attempt), drawn.outcome(attempt))))
        .collect();
    let rules = rules(Plan::new(stages).expect("a plan"), limits());
    let teller = teller(fastrand::Rng::with_seed(0), settings(&rules, Some(script)), rules);
    let envelopes = walk(&teller);
    envelopes.iter().filter_map(|envelope| told(&envelope.event)).collect()
}

/// One session that nothing disturbs.
fn walk(teller: &Teller) -> Vec<Envelope> {
    let mut dispatcher = teller.open(1).expect("begun");
    let mut fact = Fact::Tick;
    loop {
        let now = teller.truth.borrow().moment();
        match dispatcher.step(now, fact).expect("it goes on") {
            Waits::Until(until) => fact = teller.truth.borrow_mut().next(until),
            Waits::Over(_) => break,
        }
    }
    let truth = teller.truth.borrow();
    assert_eq!(truth.broken, None);
    truth.seen.values().cloned().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn stages_end_the_same_on_this_host_and_in_the_simulated_world(phases in phases()) {
        prop_assert_eq!(on_this_host(&phases), in_the_simulated_world(&phases));
    }
}
