//! Recognises an agent that does nothing any more but try to reach its provider.

use std::time::Duration;

use super::port::AgentEvent;
use crate::system::clock::Moment;

/// How long an agent may say nothing but that it does not reach its provider before its invocation is ended. A short
/// interruption, such as a router that starts again, it gets over by itself and keeps its turn; some agents try for ever,
/// and all that time would be charged as work.
const PATIENCE: Duration = Duration::from_mins(2);

/// The longest pause between two such words that are about the same interruption: a model may think for long between two
/// interruptions, without a word in its stream.
const TOGETHER: Duration = Duration::from_mins(5);

/// Since when an agent has said nothing else, and when it said so last.
#[derive(Debug, Default)]
pub(in crate::runner) struct Unreached {
    said: Option<(Moment, Moment)>,
}

impl Unreached {
    /// Takes note of what an agent did; whether it has tried in vain for too long.
    pub(in crate::runner) fn heard(&mut self, event: &AgentEvent, now: Moment) -> bool {
        match event {
            AgentEvent::Unreached => {
                let together = self.said.filter(|(_, last)| now.since(*last) <= TOGETHER);
                let first = together.map_or(now, |(first, _)| first);
                self.said = Some((first, now));
                now.since(first) >= PATIENCE
            }
            AgentEvent::Output(_) | AgentEvent::Session(_) | AgentEvent::Retrying { status: None, .. } => false,
            _ => {
                self.said = None;
                false
            }
        }
    }
}

/// What its end is read from when it was ended for that.
pub(in crate::runner) const EVIDENCE: &str =
    "it said again and again that it does not reach its provider, and was ended";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::clock;

    #[test]
    fn only_words_in_vain_without_anything_between_them_are_too_many() {
        let unreached = || AgentEvent::Unreached;
        let retrying = |status| AgentEvent::Retrying { status, wait: None };
        for (what, events, expected) in [
            ("two minutes of it", vec![(0, unreached()), (30, unreached()), (120, unreached())], true),
            ("not so long", vec![(0, unreached()), (119, unreached())], false),
            ("retries beside it", vec![(0, unreached()), (9, retrying(None)), (120, unreached())], true),
            ("an answer, if an error", vec![(0, unreached()), (9, retrying(Some(503))), (120, unreached())], false),
            ("it works", vec![(0, unreached()), (9, AgentEvent::Working), (120, unreached())], false),
            ("another interruption", vec![(0, unreached()), (400, unreached())], false),
            ("which lasts", vec![(0, unreached()), (400, unreached()), (520, unreached())], true),
        ] {
            let (mut state, began) = (Unreached::default(), clock::now());
            let heard: Vec<bool> = events
                .iter()
                .map(|(second, event)| state.heard(event, began.later(Duration::from_secs(*second))))
                .collect();
            assert_eq!(heard.last(), Some(&expected), "{what}: {heard:?}");
        }
    }
}
