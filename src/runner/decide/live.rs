//! What is known while a session works and is not journaled.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use crate::contract::Phase;
use crate::events::PinnedFile;
use crate::policy::Exceeded;
use crate::system::clock::Moment;
use crate::system::process::Interrupt;

/// How late a wake-up may come before the time until then is taken for one in which we, or the whole machine, stood still: by
/// the kernel's own clock, for by one that runs faster a busy machine's tenth of a second is many minutes.
const LATE: Duration = Duration::from_secs(1);
/// And how many times later than wake-ups usually come: a slow machine is late each time, and its time is charged.
const UNUSUAL: u32 = 10;
/// So many of the last wake-ups say what is usual: their median, which a few in which a machine slept do not move.
const MEMORY: usize = 7;

/// Why a stage is ended before it ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// A signal came.
    Interrupted(Interrupt),
    /// Somebody asked for it from another process.
    Halted,
    /// The run took as long as it may.
    RunTimeout,
    /// The attempt took as long as it may, which is this long.
    Late(Duration),
    /// The attempt said nothing for as long as it may, which is this long.
    Silent(Duration),
    /// The context stayed at its hard limit.
    Overflow,
    /// Its processes took more of the host than they may.
    Exceeded(Exceeded),
    /// A provider's limit is reached, and waiting for its reset would take longer than the run may wait.
    OutOfPatience(Option<Timestamp>),
    /// The provider cannot be reached or is out of order, since then, and the run may wait no longer for it.
    Outage {
        /// Since when.
        since: Timestamp,
    },
    /// What the deployment runs is not what somebody agreed to.
    NotApproved,
    /// A script of its gate is not the one that the execution began with.
    GateChanged {
        /// The gate has run: that was seen afterwards.
        has_run: bool,
    },
    /// Somebody stopped the agent.
    Cancelled,
}

/// A stage that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    /// Its phase.
    pub phase: Phase,
    /// The number of this start.
    pub attempt: u32,
    /// When it began; later by the time that is not its own.
    pub began: Moment,
    /// When it wrote something last; later by the time that is not its own.
    pub heard: Moment,
    /// Since when it waits for a provider's limit to be lifted or its outage to be over, which is neither its time nor the run's.
    pub waits_since: Option<Moment>,
    /// Its context stayed at the hard limit.
    pub overflow: bool,
    /// Why it was told to end.
    pub stopping: Option<Stop>,
}

/// What is known and not journaled: the newest observations, and how far the clock is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Live {
    /// The stage that runs.
    pub running: Option<Running>,
    /// When the phase that is being worked on began in this session.
    pub phase_began: Option<(Phase, Moment)>,
    /// Why the last stage ended without an outcome.
    pub stopped: Option<(Phase, Stop)>,
    /// A signal asked us to end.
    pub interrupt: Option<Interrupt>,
    /// Somebody asks for a halt.
    pub halt: bool,
    /// Time that counts towards the limit of the run and is not journaled yet.
    pub uncharged: Duration,
    /// Until when the pause before the next attempt lasts.
    pub pause_ends: Option<Moment>,
    /// When the pauses of phases end, of which one may be waited for.
    pub pauses: BTreeMap<Phase, Moment>,
    /// When the next probe of an outage begins, or the last one began.
    pub probe_at: Option<Moment>,
    /// How long the run may still wait for providers' limits to be lifted.
    pub patience: Duration,
    /// What the deployment would run and nobody has agreed to yet, where its approval is to be asked for.
    pub deploy_files: Vec<PinnedFile>,
    /// The newest time that is known.
    now: Moment,
    /// When we wanted to be woken at the latest.
    expected: Moment,
    /// How late the last wake-ups came, the oldest first.
    lateness: [Duration; MEMORY],
}

impl Live {
    /// At the beginning of a session.
    #[must_use]
    pub fn new(now: Moment, patience: Duration) -> Self {
        Self {
            running: None,
            phase_began: None,
            stopped: None,
            interrupt: None,
            halt: false,
            uncharged: Duration::ZERO,
            pause_ends: None,
            pauses: BTreeMap::new(),
            probe_at: None,
            patience,
            deploy_files: Vec::new(),
            now,
            expected: now,
            lateness: [Duration::ZERO; MEMORY],
        }
    }

    /// It is later now. What is later than anybody expected is granted: neither the run nor its stage is charged for it.
    pub fn pass(&mut self, now: Moment) {
        let passed = now.since(self.now);
        let late = now.since(self.expected);
        let stood_still = now.really(self.now, late) > LATE && late > self.usual() * UNUSUAL;
        let granted = if stood_still { late.min(passed) } else { Duration::ZERO };
        // Whoever woke us before told us something.
        if self.expected.since(now).is_zero() {
            self.lateness.rotate_left(1);
            self.lateness[MEMORY - 1] = late;
        }
        let waits = self.running.is_some_and(|running| running.waits_since.is_some());
        if self.is_charged() && !waits {
            self.uncharged += passed.saturating_sub(granted);
        }
        // A stage that waits for a limit gets all of that time back when the limit is lifted.
        if let Some(running) = self.running.as_mut().filter(|_| !waits) {
            running.began = running.began.later(granted);
            running.heard = running.heard.later(granted);
        }
        self.now = now;
        self.expected = now;
    }

    /// How late wake-ups usually come.
    fn usual(&self) -> Duration {
        let mut sorted = self.lateness;
        sorted.sort_unstable();
        sorted[MEMORY / 2]
    }

    /// This phase is worked on next: its pause, if it has one, is waited for.
    pub fn turn_to(&mut self, phase: Option<Phase>) {
        self.pause_ends = phase.and_then(|phase| self.pauses.get(&phase).copied());
    }

    /// We want to be woken at this moment at the latest.
    pub fn expect(&mut self, moment: Moment) {
        self.expected = moment;
    }

    /// The newest time that is known.
    #[must_use]
    pub fn now(&self) -> Moment {
        self.now
    }

    /// Whether time that passes now counts towards the limit of the run: a stage runs, or a pause lasts.
    fn is_charged(&self) -> bool {
        self.running.is_some() || self.pause_ends.is_some()
    }

    /// The stage waits from now on for a provider's limit to be lifted, or for the end of an outage, unless it does already.
    pub fn limit_reached(&mut self) {
        let now = self.now;
        if let Some(running) = &mut self.running {
            running.waits_since.get_or_insert(now);
        }
    }

    /// Since then the agent of the stage only tries to reach its provider, unless the stage waits already.
    pub fn unreached(&mut self, since: Moment) {
        let now = self.now;
        if let Some(running) = self.running.as_mut().filter(|running| running.waits_since.is_none()) {
            // No earlier than it began.
            let began = running.began;
            let since = if now.since(since) > now.since(began) { began } else { since };
            running.waits_since = Some(since);
            // What is journaled already stays charged.
            self.uncharged = self.uncharged.saturating_sub(now.since(since));
        }
    }

    /// The limit is lifted. The time until now is given back to the stage.
    pub fn limit_lifted(&mut self) {
        let now = self.now;
        if let Some(running) = &mut self.running
            && let Some(since) = running.waits_since.take()
        {
            running.began = running.began.later(now.since(since));
            running.heard = now;
        }
    }

    /// The stage wrote something.
    pub fn heard(&mut self) {
        let now = self.now;
        if let Some(running) = &mut self.running {
            running.heard = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Moment {
        Moment::of(Timestamp::UNIX_EPOCH, Duration::from_millis(millis))
    }

    fn working(now: u64) -> Live {
        let mut live = Live::new(at(now), Duration::ZERO);
        live.running = Some(Running {
            phase: Phase::Design,
            attempt: 1,
            began: at(now),
            heard: at(now),
            waits_since: None,
            overflow: false,
            stopping: None,
        });
        live
    }

    #[test]
    fn a_machine_that_stood_still_charges_nobody() {
        // Wanted at, came at: charged, and by how much the stage's time began later.
        for (wanted, came, charged, granted) in [
            (20, 20, 20, 0),
            (20, 900, 900, 0),
            (20, 1_020, 1_020, 0),
            (20, 4_020, 20, 4_000),
            (60_000, 60_500, 60_500, 0),
        ] {
            let mut live = working(0);
            live.expect(at(wanted));
            live.pass(at(came));
            assert_eq!(live.uncharged, Duration::from_millis(charged), "wanted at {wanted}, came at {came}");
            let began = live.running.expect("it runs").began;
            assert_eq!(began.since(at(0)), Duration::from_millis(granted), "wanted at {wanted}, came at {came}");
        }
    }

    #[test]
    fn by_a_clock_that_runs_faster_a_busy_machine_did_not_stand_still_and_one_that_did_is_told() {
        const FASTER: u64 = 7_200;
        for (really, charged) in [(100, 100 * FASTER), (900, 900 * FASTER), (5_000, 20)] {
            let mut live = working(0);
            live.expect(at(20));
            live.pass(at(really * FASTER).by_kernel(Duration::from_millis(really)));
            assert_eq!(live.uncharged, Duration::from_millis(charged), "late by {really} ms of the kernel's clock");
        }
    }

    #[test]
    fn a_machine_that_is_late_each_time_is_slow_and_its_time_is_charged() {
        let mut live = working(0);
        for tick in 1..=100 {
            live.expect(at((tick - 1) * 7_000 + 20));
            live.pass(at(tick * 7_000));
        }
        assert_eq!(
            live.uncharged,
            Duration::from_millis(96 * 7_000 + 4 * 20),
            "four were unusual, and then it is slow"
        );
        live.expect(at(700_020));
        live.pass(at(1_700_020));
        let charged = Duration::from_millis(96 * 7_000 + 5 * 20);
        assert_eq!(live.uncharged, charged, "and one that is far later than the others is unusual again");
    }

    #[test]
    fn a_machine_that_sleeps_again_soon_after_it_slept_charges_nobody_either() {
        let mut live = working(0);
        let mut now = 0;
        for _ in 0..50 {
            for (wanted, came) in [(20, 14_400_000), (20, 21), (20, 21), (20, 600_000), (20, 21), (20, 21), (20, 21)] {
                live.expect(at(now + wanted));
                now += came;
                live.pass(at(now));
            }
        }
        assert_eq!(live.uncharged, Duration::from_millis(50 * (2 * 20 + 5 * 21)));
    }

    #[test]
    fn a_wait_for_a_limit_is_nobodys_time() {
        let mut live = working(0);
        live.expect(at(100));
        live.pass(at(100));
        live.limit_reached();
        // The machine sleeps meanwhile, which is given back once.
        live.expect(at(20_100));
        live.pass(at(3_000_000));
        live.expect(at(3_600_000));
        live.pass(at(3_600_000));
        live.limit_lifted();
        live.expect(at(3_600_050));
        live.pass(at(3_600_050));
        let running = live.running.expect("it runs");
        assert_eq!(live.uncharged, Duration::from_millis(150));
        assert_eq!(at(3_600_050).since(running.began), Duration::from_millis(150));
        assert_eq!(at(3_600_050).since(running.heard), Duration::from_millis(50));
    }

    #[test]
    fn a_pause_is_waited_for_when_its_phase_is_next() {
        let mut live = Live::new(at(0), Duration::ZERO);
        live.pauses.insert(Phase::Learning, at(5_000));
        for (next, ends) in [(Some(Phase::Deploy), None), (Some(Phase::Learning), Some(at(5_000))), (None, None)] {
            live.turn_to(next);
            assert_eq!(live.pause_ends, ends, "{next:?}");
        }
    }

    #[test]
    fn between_stages_nothing_is_charged_and_a_pause_is() {
        let mut live = Live::new(at(0), Duration::ZERO);
        live.expect(at(500));
        live.pass(at(500));
        assert_eq!(live.uncharged, Duration::ZERO);
        live.pause_ends = Some(at(5_500));
        live.expect(at(900));
        live.pass(at(900));
        assert_eq!(live.uncharged, Duration::from_millis(400));
    }
}
