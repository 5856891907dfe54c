//! What follows when the provider of an agent cannot be reached or is out of order: another probe, as long as patience lasts.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{Live, Rules, Step, Stop};
use crate::contract::Phase;
use crate::events::{Event, Outage, State, Waiting};
use crate::policy::next_probe;

/// A provider that answers for so long is back; one that comes and goes faster is not.
const STEADY: SignedDuration = SignedDuration::from_mins(10);

/// Decides how an outage is waited for that the agent of `phase` has met, again or for the first time. Nothing of it is
/// charged, and no retry is used up. `chance`, from 0 to 1, is the jitter of the pause.
#[must_use]
pub fn outage(state: &State, live: &Live, rules: &Rules, phase: Phase, reason: &str, chance: f64) -> Step {
    let now = live.now();
    let lasts = |outage: &&Outage| outage.phase == phase && !is_past(outage, now.wall());
    let before = state.outage.as_ref().filter(lasts);
    // A probe takes its time too, and so does an agent that tries for long before it says so, or is ended.
    let waits_since = live.running.and_then(|running| running.waits_since);
    let began = if state.outage_of(phase).is_some() { live.probe_at } else { waits_since };
    let probing = began.map_or(Duration::ZERO, |began| now.since(began));
    let first = now.wall().checked_sub(probing).unwrap_or(now.wall());
    let since = before.map_or(first, |outage| outage.since);
    let waited = before.map_or(Duration::ZERO, Outage::waited) + probing;
    let left = rules.bounds.outage_patience.saturating_sub(waited);
    let probes = before.map_or(0, |outage| outage.probe);
    let Some(pause) = next_probe(probes, left, chance) else { return Step::Stop(Stop::Outage { since }) };
    let delay_ms = millis(pause);
    let pause = Waiting { not_before: now.later(Duration::from_millis(delay_ms)).wall(), delay_ms };
    let (waited_ms, until) = (millis(waited) + delay_ms, now.later(left).wall());
    let reason = reason.into();
    let outage = Outage { phase, reason, since, probe: probes + 1, pause, waited_ms, until, answered: None };
    Step::Record(vec![Event::OutageMet(outage)])
}

/// Whether the provider has answered for so long that what comes now is another outage.
fn is_past(outage: &Outage, now: Timestamp) -> bool {
    outage.answered.is_some_and(|since| now.duration_since(since) > STEADY)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX / 2)
}
