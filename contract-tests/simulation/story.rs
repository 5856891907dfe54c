//! One story: sessions, deaths and answers, until the execution is over.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use loa::config::{BoundaryMode, InDoubt, Lifetime, Network};
use loa::contract::{ContextLimits, Phase, Resolution, SessionId};
use loa::events::RunStatus;
use loa::policy::{Backoff, Limits, Redactor, TriggerLimits};
use loa::runner::decide::Rules;
use loa::runner::{AgentWork, Bounds, Plan, Stage, Work, resolve};
use loa::store::{FileStore, Layout, Mismatch, Place, Recorded, RunStore, compare, to_yaml};
use loa::system::disk::Disk;

use super::disk::SimDisk;
use super::faults::Fault;
use super::session::Session;
use super::truth::{Script, Settings, Truth};
use super::world::{answer, workspace};

/// What somebody who is not the owner writes into checkpoints.
const MEDDLED: [&str; 2] = ["forged", "edited"];
/// What is no checkpoint.
const JUNK: &[u8] = b"phase: nothing\n";
/// More sessions than any lawful story has.
const SESSIONS: usize = 80;
const PAUSE: Duration = Duration::from_secs(5);

/// What has to happen in some story.
pub(super) const EVERYTHING: &[&str] = &[
    "agents' sessions",
    "attempt starts",
    "answers beside a session refused",
    "calls of a human",
    "checkpoints adopted",
    "checkpoints restored",
    "clock jumps",
    "deaths",
    "deaths noticed",
    "disks full",
    "executions aborted",
    "executions completed",
    "forged checkpoints ignored",
    "halts",
    "interrupts",
    "limits too long to wait for",
    "machine stood still",
    "messages expired",
    "messages not taken",
    "messages taken",
    "messages taken twice",
    "outages",
    "outages over",
    "outages that outlived a session",
    "outages too long to wait for",
    "owners superseded",
    "phases concluded",
    "phases reopened",
    "phases skipped",
    "phases unverified",
    "power cuts",
    "providers' limits",
    "remediations",
    "results refused",
    "retries",
    "runs out of time",
    "second claimants refused",
    "sessions refused by the host",
    "sessions refused for what is no checkpoint",
    "silent stages stopped",
    "stages that cannot go on",
    "starts refused by the host",
    "workspaces wiped",
];

/// How a story ended.
pub(super) struct Story {
    /// What must not be, and was.
    pub(super) broken: Option<String>,
    /// How often what happened.
    pub(super) happened: BTreeMap<&'static str, u64>,
    /// The story, when it was to be told.
    pub(super) lines: Vec<String>,
    /// How often something went wrong.
    pub(super) disturbances: u32,
}

/// Whoever tells a story.
pub(super) struct Teller {
    pub(super) disk: SimDisk,
    pub(super) truth: Rc<RefCell<Truth>>,
    pub(super) layout: Layout,
    pub(super) rules: Rules,
    pub(super) fault: Option<Fault>,
    pub(super) sessions: u32,
    /// The journal as it was read last, and when that was.
    pub(super) known: RefCell<(u64, Option<Rc<Recorded>>)>,
}

/// Tells the story of a seed.
pub(super) fn tell(seed: u64, fault: Option<Fault>, tells: bool) -> Story {
    tell_without(seed, fault, &BTreeSet::new(), tells)
}

/// The story of a seed that breaks a promise, without the disturbances that it breaks one without.
pub(super) fn shrink(seed: u64, fault: Option<Fault>) -> Story {
    let mut left_out = BTreeSet::new();
    let all = tell(seed, fault, false).disturbances;
    let (mut fewest, mut size) = (all, all);
    while size > 0 {
        for first in (0..all).step_by(size as usize) {
            let more: BTreeSet<u32> = left_out.iter().copied().chain(first..first + size).collect();
            let story = tell_without(seed, fault, &more, false);
            // What is left out changes what is drawn behind it: that may be worse.
            if story.broken.is_some() && story.disturbances < fewest {
                (fewest, left_out) = (story.disturbances, more);
            }
        }
        size /= 2;
    }
    tell_without(seed, fault, &left_out, true)
}

fn tell_without(seed: u64, fault: Option<Fault>, left_out: &BTreeSet<u32>, tells: bool) -> Story {
    let mut rng = fastrand::Rng::with_seed(seed);
    let (settings, rules) = draw(&mut rng);
    let mut teller = teller(rng, settings, rules);
    teller.fault = fault;
    {
        let mut truth = teller.truth.borrow_mut();
        truth.tells = tells;
        truth.left_out.clone_from(left_out);
    }
    if let Some(fault) = fault {
        fault.plant(&teller.disk, &mut teller.truth.borrow_mut());
    }
    teller.tell();
    let mut truth = teller.truth.borrow_mut();
    Story {
        broken: truth.broken.take(),
        happened: std::mem::take(&mut truth.tally),
        lines: std::mem::take(&mut truth.story),
        disturbances: truth.disturbed,
    }
}

/// Whoever tells of this, in a world in which nothing has happened yet.
pub(super) fn teller(rng: fastrand::Rng, settings: Settings, rules: Rules) -> Teller {
    let disk = SimDisk::default();
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    shared.ensure_folder(workspace()).expect("a folder");
    let layout = Layout::on(shared, workspace());
    let wall: Timestamp = "2126-01-01T00:00:00Z".parse().expect("a time");
    let truth = Rc::new(RefCell::new(Truth::new(rng, wall, settings)));
    Teller { disk, truth, layout, rules, fault: None, sessions: 0, known: RefCell::default() }
}

fn draw(rng: &mut fastrand::Rng) -> (Settings, Rules) {
    let count = if rng.u8(0..4) == 0 { rng.usize(4..=8) } else { rng.usize(1..=3) };
    let first = rng.usize(0..=Phase::ALL.len() - count);
    let phases = Phase::ALL[first..first + count].to_vec();
    let skipped: BTreeSet<Phase> = phases.iter().copied().filter(|_| rng.u8(0..12) == 0).collect();
    let agents: BTreeSet<Phase> = phases.iter().copied().filter(|_| rng.u8(0..3) == 0).collect();
    let (retries, timeout) = (rng.u32(0..=3), Duration::from_secs(rng.u64(10..60)));
    let idle = (rng.u8(0..4) == 0).then(|| Duration::from_secs(rng.u64(2..30)));
    let agent =
        || AgentWork { backend: "agent".to_owned(), prompt: "work".to_owned(), effort: None, starts: Vec::new() };
    let stage = |phase: &Phase| Stage {
        phase: *phase,
        work: Some(if agents.contains(phase) { Work::Agent(agent()) } else { Work::Command(vec!["work".to_owned()]) }),
        verify: None,
        env: BTreeMap::new(),
        timeout: Some(timeout),
        idle_timeout: idle,
        retries,
        backoff: Backoff { initial: PAUSE, ..Backoff::default() },
        boundary: BoundaryMode::Auto,
        network: Network::Host,
        limits: Limits::default(),
        skip: skipped.contains(phase),
    };
    let plan = Plan::new(phases.iter().map(stage).collect()).expect("a plan");
    let timeout_of_run = Duration::from_secs(rng.u64(60..6_000));
    let triggers = TriggerLimits { max_loops: rng.u32(1..=3), timeout: timeout_of_run, ..TriggerLimits::default() };
    let rules = rules(plan, bounds(triggers, rng.bool()));
    let lives = if rng.u8(0..10) == 0 { 25 } else { 120 };
    (Settings { lives, ..settings(&rules, None) }, rules)
}

/// What a session decides by that works on this plan.
pub(super) fn rules(plan: Plan, bounds: Bounds) -> Rules {
    Rules { session: SessionId::new("session-0").expect("not empty"), plan, bounds }
}

/// Bounds with these limits, that ask before a deployment or do not.
pub(super) fn bounds(triggers: TriggerLimits, deploy_approval: bool) -> Bounds {
    Bounds {
        triggers,
        context: ContextLimits { soft: 1, hard: 2 },
        editing: None,
        compaction: None,
        deploy_approval,
        in_doubt: if deploy_approval { InDoubt::Ask } else { InDoubt::Repeat },
        grace: Duration::ZERO,
        limit_patience: Duration::from_mins(10),
        outage_patience: Duration::from_mins(10),
        outage_codes: Vec::new(),
        lifetime: Lifetime::Stage,
        gateway: None,
        notification: super::post::notification(),
        operator: None,
        effort: None,
        memories: None,
        protects: Vec::new(),
        redactor: Redactor::default(),
        log_limit: 0,
        find_artifacts: false,
    }
}

/// What a story is about that has these rules.
pub(super) fn settings(rules: &Rules, script: Option<Script>) -> Settings {
    let stages = rules.plan.stages();
    Settings {
        phases: stages.iter().map(|stage| stage.phase).collect(),
        skipped: phases_with(stages, |stage| stage.skip),
        agents: phases_with(stages, |stage| stage.agent().is_some()),
        retries: stages.iter().map(|stage| stage.retries).max().unwrap_or(0),
        timeout: stages.iter().filter_map(|stage| stage.timeout).max().unwrap_or(Duration::MAX),
        idle: stages.iter().filter_map(|stage| stage.idle_timeout).max(),
        patience: rules.bounds.limit_patience,
        outage_patience: rules.bounds.outage_patience,
        max_loops: rules.bounds.triggers.max_loops,
        run_limit: rules.bounds.triggers.timeout,
        approval: rules.bounds.deploy_approval,
        lives: u64::MAX,
        script,
    }
}

fn phases_with(stages: &[Stage], is: impl Fn(&Stage) -> bool) -> BTreeSet<Phase> {
    stages.iter().filter(|stage| is(stage)).map(|stage| stage.phase).collect()
}

impl Teller {
    fn tell(&mut self) {
        while self.truth.borrow().broken.is_none() {
            if self.sessions as usize > SESSIONS {
                return self.truth.borrow_mut().breaks("the story does not end");
            }
            let went = self.session();
            let power = matches!(went, Session::Died { power: true });
            self.learn(power);
            self.documents();
            self.disk.fill(false);
            if !matches!(went, Session::Died { .. }) {
                self.deliver(false);
            }
            let Some(recorded) = self.recorded() else { continue };
            match (&went, recorded.state.status) {
                (_, RunStatus::Completed) => return self.tell_all(),
                (_, RunStatus::Aborted) => {
                    self.truth.borrow_mut().count("executions aborted");
                    return self.tell_all();
                }
                (_, RunStatus::Escalated) => self.answer(recorded.state.escalations),
                _ => {}
            }
            self.meddle(&recorded);
        }
    }

    pub(super) fn place(&self) -> Place {
        let base = workspace().parent().expect("a parent").join("state");
        Place::find_on(self.layout.disk().clone(), workspace(), Some(&base)).expect("readable")
    }

    /// What the journal says; it is read when something changed on the disk.
    pub(super) fn recorded(&self) -> Option<Rc<Recorded>> {
        let changes = self.disk.changes();
        let (when, known) = self.known.borrow().clone();
        if known.is_some() && when == changes {
            return known;
        }
        match FileStore::new(self.place(), self.layout.clone()).current() {
            Ok(recorded) => {
                let recorded = recorded.map(Rc::new);
                *self.known.borrow_mut() = (changes, recorded.clone());
                recorded
            }
            Err(error) => {
                self.truth.borrow_mut().breaks(format!("the journal cannot be read: {error}"));
                None
            }
        }
    }

    pub(super) fn learn(&self, power: bool) {
        let recorded = self.recorded();
        let envelopes = recorded.as_ref().map_or(&[][..], |recorded| &recorded.envelopes);
        let elapsed = recorded.as_ref().map_or(Duration::ZERO, |recorded| recorded.state.counters.elapsed());
        self.truth.borrow_mut().compare(envelopes, elapsed, power);
    }

    /// Every checkpoint that is there is one of the journal's, unless somebody forged it.
    fn documents(&self) {
        let Some(recorded) = self.recorded() else { return };
        let state = &recorded.state;
        let is_strange = |mismatch: &Mismatch| {
            let Some(there) = &mismatch.checkpoint else { return false };
            // A power cut may leave a part of what was forged.
            !MEDDLED.iter().any(|word| word.starts_with(there.summary.raw())) && !state.replaced.contains(there)
        };
        if let Some(strange) = compare(&self.layout, state).into_iter().find(is_strange) {
            let what = format!("the checkpoint of {} is there, and nothing in the journal", strange.phase);
            self.truth.borrow_mut().breaks(what);
        }
    }

    /// Whether something lies in the place of a checkpoint of a phase that is done, and is none.
    pub(super) fn is_junk_there(&self) -> bool {
        let truth = self.truth.borrow();
        truth
            .done
            .iter()
            .any(|phase| self.disk.read(&self.layout.checkpoint(*phase), u64::MAX).is_ok_and(|it| it == JUNK))
    }

    fn answer(&self, calls: u32) {
        self.calls_before_an_answer();
        let action = answer(&mut self.truth.borrow_mut().rng, calls);
        self.truth.borrow_mut().tell(|| format!("a human answers {action}"));
        let resolution = Resolution { action, notes: None };
        if let Err(error) = resolve(&self.layout, &self.place(), &resolution, None, &Redactor::default()) {
            self.truth.borrow_mut().breaks(format!("an answer is refused: {error}"));
        }
        self.learn(false);
        let mut truth = self.truth.borrow_mut();
        truth.durable = truth.seen.keys().next_back().copied().unwrap_or(0);
    }

    /// Between two sessions: somebody forges, edits or removes, and clocks go wrong.
    fn meddle(&self, recorded: &Recorded) {
        let mut truth = self.truth.borrow_mut();
        let phase = truth.settings.phases[0];
        let last = *truth.settings.phases.last().expect("at least one");
        let what = truth.rng.u8(0..16);
        if what > 5 || !truth.disturbs() {
            return;
        }
        match what {
            0 => {
                let forged = format!(
                    "execution_id: {}\nphase: {last}\ncreated_at: '2126-01-01T00:00:00Z'\nexit_code: 0\nsummary: forged\n",
                    recorded.state.execution_id
                );
                truth.tell(|| format!("somebody forges a checkpoint of {last}"));
                self.disk.forge(&self.layout.checkpoint(last), forged.as_bytes());
            }
            1 => {
                truth.tell(|| "somebody removes the checkpoints".to_owned());
                truth.count("workspaces wiped");
                self.disk.wipe(&self.layout.checkpoints());
            }
            2 => {
                truth.tell(|| format!("somebody empties the checkpoint of {phase}"));
                self.disk.forge(&self.layout.checkpoint(phase), b"");
            }
            3 => {
                let hours = truth.rng.i64(-10_000..10_000);
                truth.count("clock jumps");
                truth.jump(hours);
            }
            4 | 5 => {
                let concluded: Vec<_> = recorded.state.checkpoints.values().cloned().collect();
                let Some(mut checkpoint) = truth.rng.choice(concluded) else { return };
                let path = self.layout.checkpoint(checkpoint.phase);
                truth.tell(|| format!("somebody edits the checkpoint of {}", checkpoint.phase));
                if what == 4 {
                    return self.disk.forge(&path, JUNK);
                }
                checkpoint.summary = "edited".into();
                let text = to_yaml(&checkpoint).expect("writable");
                self.disk.forge(&path, text.as_bytes());
            }
            _ => {}
        }
    }
}
