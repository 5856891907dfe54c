//! A stage that runs: what it says, how it ends, and what it leaves behind.

use std::collections::VecDeque;
use std::time::Duration;

use loa::contract::{Finding, Phase, PhaseResult, Severity};
use loa::policy::StageOutcome;
use loa::runner::decide::{Attempt, Stop, Words};

use super::truth::Truth;

/// Something that a stage tells its owner before it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Saying {
    /// It writes something.
    Writes,
    /// Its gate begins.
    Gate,
    /// It invokes its agent.
    Invokes,
    /// Its agent names its session.
    Session(String),
    /// Its context stays at the hard limit.
    Overflows,
    /// The provider of its agent has a limit, which is lifted after so long.
    Limit(Duration),
    /// The provider of its agent is out of order from now on, for so long.
    Outage(Duration),
    /// Something that it needs cannot be read or written.
    Fails,
}

impl Saying {
    fn is_trouble(&self) -> bool {
        matches!(self, Self::Overflows | Self::Limit(_) | Self::Outage(_) | Self::Fails)
    }
}

/// A stage that runs. Its own time begins with it, and stands while it waits for a provider.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) phase: Phase,
    began: Duration,
    /// How long it works.
    pub(super) lasts: Duration,
    /// What it says, and at which of its own times.
    pub(super) sayings: VecDeque<(Duration, Saying)>,
    /// What it leaves when it ends by itself.
    pub(super) leaves: Attempt,
    /// Its own time when it wrote something last.
    heard: Duration,
    /// How long everything stood still while it worked, and since it wrote something last.
    still: Duration,
    still_since_heard: Duration,
    /// How long it waited for its provider.
    waited: Duration,
    /// Since when it waits for its provider, and until when.
    pub(super) waits: Option<(Duration, Duration)>,
    /// What it does within an outage, in which its own time stands.
    pub(super) outage: Option<InOutage>,
    /// The owner told it to end.
    pub(super) stop: Option<Stop>,
}

/// What an agent does within an outage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InOutage {
    /// It has told its owner, who has not said yet when it asks again.
    Tells,
    /// It waits before it asks again.
    Waits,
    /// It asks.
    Asks,
}

impl Job {
    fn new(
        phase: Phase,
        began: Duration,
        lasts: Duration,
        sayings: VecDeque<(Duration, Saying)>,
        leaves: Attempt,
    ) -> Self {
        Self {
            phase,
            began,
            lasts,
            sayings,
            leaves,
            heard: Duration::ZERO,
            still: Duration::ZERO,
            still_since_heard: Duration::ZERO,
            waited: Duration::ZERO,
            waits: None,
            outage: None,
            stop: None,
        }
    }

    /// Its own time.
    pub(super) fn age(&self, now: Duration) -> Duration {
        let until = self.waits.map_or(now, |(since, _)| since);
        until.saturating_sub(self.began).saturating_sub(self.waited)
    }

    /// How long it has worked.
    pub(super) fn worked(&self, now: Duration) -> Duration {
        self.age(now).saturating_sub(self.still)
    }

    /// How long it has been silent.
    pub(super) fn silent(&self, now: Duration) -> Duration {
        self.age(now).saturating_sub(self.heard).saturating_sub(self.still_since_heard)
    }

    /// How long from now on until it has something to tell.
    pub(super) fn rests(&self, now: Duration) -> Duration {
        if let Some((_, until)) = self.waits {
            return until.saturating_sub(now);
        }
        let next = self.sayings.front().map_or(self.lasts, |(at, _)| *at);
        next.saturating_sub(self.age(now))
    }

    /// It ends at this moment, or would have before.
    pub(super) fn is_over(&self, now: Duration) -> bool {
        self.waits.is_none() && self.age(now) >= self.lasts
    }

    /// It writes something.
    pub(super) fn writes(&mut self, now: Duration) {
        self.heard = self.age(now);
        self.still_since_heard = Duration::ZERO;
    }

    /// Everything stood still; it may have gone on meanwhile.
    pub(super) fn stood_still(&mut self, time: Duration) {
        if self.waits.is_none() {
            self.still += time;
            self.still_since_heard += time;
        }
    }

    /// The limit of its provider is lifted.
    pub(super) fn goes_on(&mut self, now: Duration) {
        if let Some((since, _)) = self.waits.take() {
            self.waited += now.saturating_sub(since);
            self.writes(now);
        }
    }
}

impl Truth {
    /// What the stage does that starts now: as the script says, or drawn.
    pub(super) fn work(&mut self, phase: Phase, attempt: u32) -> Job {
        if let Some(script) = &self.settings.script {
            let outcome = script[&(phase, attempt)].clone();
            let lasts = if outcome.is_some() { Duration::from_millis(1) } else { Duration::from_hours(1) };
            let leaves = left_by(Ok(outcome.unwrap_or_else(|| StageOutcome::exited(0))));
            return Job::new(phase, self.steady, lasts, VecDeque::new(), leaves);
        }
        let limit = u64::try_from(self.settings.timeout.as_millis()).expect("minutes");
        let lasts = match self.rng.u8(0..30) {
            0..=21 => self.rng.u64(1..limit / 10),
            22..=28 => self.rng.u64(1..limit),
            _ => self.rng.u64(limit..4 * limit),
        };
        let lasts = Duration::from_millis(lasts);
        let (sayings, leaves) = (self.draw_sayings(phase, lasts), self.draw_end(phase));
        Job::new(phase, self.steady, lasts, sayings, leaves)
    }

    fn draw_sayings(&mut self, phase: Phase, lasts: Duration) -> VecDeque<(Duration, Saying)> {
        let is_agent = self.settings.agents.contains(&phase);
        let mut sayings = Vec::new();
        if is_agent && self.rng.u8(0..4) > 0 {
            sayings.push(Saying::Invokes);
            sayings.push(Saying::Session(format!("agent-{:x}", self.rng.u32(..))));
        }
        match self.rng.u8(0..120) {
            0 | 1 => sayings.push(Saying::Overflows),
            2 => sayings.push(Saying::Fails),
            3..=9 if is_agent => sayings.push(Saying::Limit(Duration::from_secs(self.rng.u64(1..900)))),
            41..=52 if is_agent => sayings.push(Saying::Outage(Duration::from_secs(self.rng.u64(1..2_400)))),
            10..=40 => sayings.extend([Saying::Writes, Saying::Writes]),
            _ => {}
        }
        if self.rng.u8(0..4) == 0 {
            sayings.push(Saying::Gate);
        }
        sayings.retain(|saying| !saying.is_trouble() || self.disturbs());
        let most = u64::try_from(lasts.as_millis()).expect("minutes");
        let times = sayings.iter().map(|_| Duration::from_millis(self.rng.u64(0..=most)));
        let mut times: Vec<Duration> = times.collect();
        times.sort_unstable();
        times.into_iter().zip(sayings).collect()
    }

    fn draw_end(&mut self, phase: Phase) -> Attempt {
        let outcome = match self.rng.u8(0..30) {
            end if end <= 21 || !self.disturbs() => StageOutcome::exited(0),
            22..=25 => StageOutcome::exited(1),
            26 => StageOutcome::exited(2),
            27 => StageOutcome::exited(i32::from(self.rng.u8(3..))),
            28 => StageOutcome::signalled("KILL"),
            _ => StageOutcome::spawn_failed("no such file"),
        };
        let is_agent = self.settings.agents.contains(&phase);
        let found = if phase == Phase::Audit { self.rng.u8(0..3) } else { 0 };
        let (is_refused, is_busy) = (self.rng.u8(0..20) == 0, self.rng.u8(0..10) == 0);
        let result = PhaseResult { findings: (0..found).map(finding).collect(), ..PhaseResult::default() };
        Attempt {
            words: Words { stderr: ["", "one\n", "another\n"][self.rng.usize(0..3)].to_owned(), ..Words::default() },
            result: (!is_refused && found > 0).then_some(result),
            result_refused: is_refused.then(|| "it is not JSON".to_owned()),
            wait: (is_agent && is_busy).then(|| Duration::from_secs(self.rng.u64(1..400))),
            unverified: is_agent && self.rng.bool(),
            ..left_by(Ok(outcome))
        }
    }
}

fn finding(number: u8) -> Finding {
    Finding {
        id: format!("F-{number}").into(),
        severity: Severity::High,
        category: "simulated".into(),
        description: format!("fault {number}").into(),
    }
}

/// What an attempt leaves that ends so.
pub(super) fn left_by(end: Result<StageOutcome, Stop>) -> Attempt {
    Attempt {
        end,
        result: None,
        result_refused: None,
        words: Words::default(),
        in_gate: false,
        wait: None,
        said: None,
        unverified: false,
        context_tokens: None,
        overflow: false,
    }
}
