//! A report as a picture: a lane for each phase, a bar for each attempt.

use jiff::Timestamp;

use super::value::{AttemptOutcome, AttemptReport, Call, ContextEvent, Gap, Remediation, RunReport};
use crate::contract::{Phase, WarningLevel};
use crate::draw::{Bar, Break, Lane, Link, Mark, Timeline, Tone, span};

/// The picture.
pub(super) fn timeline(report: &RunReport) -> Timeline {
    let picture = Picture { report };
    Timeline {
        title: format!("Timeline of {}", report.execution_id),
        description: picture.description(),
        end: picture.at(report.last_at),
        lanes: report.phases.iter().map(|phase| picture.lane(phase.phase)).collect(),
        marks: picture.marks(),
        links: picture.links(),
        breaks: picture.breaks(),
    }
}

/// The anchor of an attempt, by its place in the report.
pub(super) fn attempt_anchor(index: usize) -> String {
    format!("attempt-{}", index + 1)
}

/// The anchor of a call.
pub(super) fn call_anchor(call: &Call) -> String {
    format!("call-{}", call.number)
}

/// From one moment to another, in milliseconds.
pub(super) fn between(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.duration_since(from).as_millis()).unwrap_or(0)
}

/// An attempt in words.
pub(super) fn attempt_words(attempt: &AttemptReport) -> String {
    let number = attempt.attempt.map(|number| format!(", attempt {number}")).unwrap_or_default();
    let took = span(between(attempt.started_at, attempt.ended_at));
    let reason = attempt.reason.as_ref().map(|reason| format!(": {}", reason.line())).unwrap_or_default();
    format!("{}{number}: {} after {took}{reason}", attempt.phase, attempt.outcome.words())
}

struct Picture<'a> {
    report: &'a RunReport,
}

impl Picture<'_> {
    fn at(&self, moment: Timestamp) -> u64 {
        between(self.report.started_at, moment)
    }

    fn lane_of(&self, phase: Phase) -> Option<usize> {
        self.report.phases.iter().position(|line| line.phase == phase)
    }

    fn description(&self) -> String {
        let report = self.report;
        let done =
            report.phases.iter().filter(|phase| phase.status == crate::contract::PhaseProgress::Completed).count();
        format!(
            "{} phases, {done} of them done; {} attempts, {} remediation loops, {} calls for a human. \
             The tables below say the same in words.",
            report.phases.len(),
            report.attempts.len(),
            report.remediations.len(),
            report.calls.len()
        )
    }

    fn lane(&self, phase: Phase) -> Lane {
        let attempts = self.report.attempts.iter().enumerate().filter(|(_, attempt)| attempt.phase == phase);
        let mut bars: Vec<Bar> = attempts.map(|(index, attempt)| self.attempt(index, attempt)).collect();
        let worked: u64 = bars.iter().map(|bar| bar.to - bar.from).sum();
        let waits = self.report.waits.iter().filter(|wait| wait.phase == phase);
        bars.extend(waits.map(|wait| {
            let (from, to) = (self.at(wait.from), self.at(wait.to));
            let tip = format!("{phase}: waited {} before the next attempt", span(to.saturating_sub(from)));
            Bar { from, to, tone: Tone::Wait, thin: true, text: String::new(), tip, href: None }
        }));
        bars.sort_by_key(|bar| bar.from);
        let note = if worked == 0 { String::new() } else { span(worked) };
        Lane { name: phase.to_string(), note, bars }
    }

    fn attempt(&self, index: usize, attempt: &AttemptReport) -> Bar {
        let (tone, text) = match attempt.outcome {
            AttemptOutcome::Success => (Tone::Good, "0"),
            AttemptOutcome::Retry => (Tone::Retry, "1"),
            AttemptOutcome::Blocked => (Tone::Bad, "2"),
            AttemptOutcome::Stopped => (Tone::Wait, "stopped"),
            AttemptOutcome::Lost => (Tone::Wait, "lost"),
            AttemptOutcome::Running => (Tone::Busy, "running"),
        };
        let (from, to) = (self.at(attempt.started_at), self.at(attempt.ended_at));
        let href = Some(format!("#{}", attempt_anchor(index)));
        Bar { from, to: to.max(from), tone, thin: false, text: text.to_owned(), tip: attempt_words(attempt), href }
    }

    fn marks(&self) -> Vec<Mark> {
        let mark = |phase, moment, glyph, tone, tip, href| {
            Some(Mark { at: self.at(moment), lane: self.lane_of(phase)?, glyph, tone, tip, href })
        };
        let context = self.report.context.iter().filter_map(|event| match *event {
            ContextEvent::Crossed { at, phase, level, tokens } => {
                let tone = if level == WarningLevel::Hard { Tone::Bad } else { Tone::Retry };
                mark(phase, at, '▲', tone, format!("{phase}: context at its {level} limit, {tokens} tokens"), None)
            }
            ContextEvent::AgentCompacted { at, phase, before, after } => {
                let tokens = |tokens: Option<u64>| tokens.map_or("?".to_owned(), |tokens| tokens.to_string());
                let tip = format!("{phase}: compaction by the agent, {} to {} tokens", tokens(before), tokens(after));
                mark(phase, at, '▼', Tone::Note, tip, None)
            }
            ContextEvent::Compacted { at, phase, level } => {
                mark(phase, at, '▼', Tone::Note, format!("{phase}: {level} compaction"), None)
            }
        });
        let calls = self.report.calls.iter().flat_map(|call| {
            let href = Some(format!("#{}", call_anchor(call)));
            let called = format!("a human was called: {} in {}: {}", call.trigger, call.phase, call.reason.line());
            let answered = call.answer.as_ref().and_then(|answer| {
                mark(call.phase, answer.at, '✓', Tone::Good, format!("answered: {}", answer.action), href.clone())
            });
            [mark(call.phase, call.at, '!', Tone::Bad, called, href), answered]
        });
        let limits = self.report.limits.iter().filter_map(|limit| {
            let tip = format!("{}: a limit of the provider, waited until {} at the latest", limit.phase, limit.until);
            mark(limit.phase, limit.at, '‖', Tone::Wait, tip, None)
        });
        let outages = self.report.outages.iter().filter_map(|outage| {
            let over =
                outage.over.map_or_else(|| format!("until {} at most", outage.until), |over| format!("until {over}"));
            let tip = format!("{}: waited for the provider {over}: {}", outage.phase, outage.reason.line());
            mark(outage.phase, outage.since, '‖', Tone::Wait, tip, None)
        });
        context.chain(limits).chain(outages).chain(calls.flatten()).collect()
    }

    fn links(&self) -> Vec<Link> {
        let link = |remediation: &Remediation| {
            let again = |attempt: &&AttemptReport| {
                attempt.phase == Phase::Implementation && attempt.started_at >= remediation.at
            };
            let to = self.report.attempts.iter().find(again)?;
            Some(Link {
                from: (self.lane_of(Phase::Audit)?, self.at(remediation.at)),
                to: (self.lane_of(Phase::Implementation)?, self.at(to.started_at)),
                tip: format!("remediation loop {}", remediation.number),
            })
        };
        self.report.remediations.iter().filter_map(link).collect()
    }

    /// A gap is cut out where it would leave little room for the work.
    fn breaks(&self) -> Vec<Break> {
        let long = |gap: &&Gap| between(gap.from, gap.to).saturating_mul(8) > self.report.elapsed_ms;
        self.report.gaps.iter().filter(long).map(|gap| self.cut(gap)).collect()
    }

    fn cut(&self, gap: &Gap) -> Break {
        let (from, to) = (self.at(gap.from), self.at(gap.to));
        Break { from, to, tip: format!("{}: {}", gap.cause.words(), span(to.saturating_sub(from))) }
    }
}
