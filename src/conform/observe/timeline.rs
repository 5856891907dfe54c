//! What happened in a case, as marks on one line of time: enough to draw it, far less than the observation.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AttemptSeen, FileSeen, Observation, ProcessEnd, StepSeen};
use crate::contract::vocabulary;
use crate::system::clock::Millis;

#[cfg(test)]
mod tests;

/// How many marks a case has at most; one that has more says how many are left out.
const MOST: usize = 64;

/// How many characters a label has at most.
const LONGEST: usize = 120;

vocabulary! {
    /// What a mark of a timeline stands for.
    pub enum MarkKind ("kind of mark") {
        /// Something that the judge did: a program that it started, a file that it laid.
        Step = "step",
        /// An attempt of a phase.
        Attempt = "attempt",
        /// Checkpoints that were first seen then.
        Checkpoint = "checkpoint",
        /// A usage of the context that was reported to the runtime.
        Usage = "usage",
        /// Something that the runtime told a phase, or that was sent to an agent.
        Signal = "signal",
        /// An escalation report that was first seen then.
        Report = "report",
        /// A request that the model had.
        Request = "request",
        /// A process that was left behind.
        Left = "left",
        /// Marks that are left out here, because there are too many.
        More = "more",
    }
}

/// One mark. Times are in milliseconds since the case began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimelineMark {
    /// What it stands for.
    pub kind: MarkKind,
    /// When, or since when.
    pub at: Millis,
    /// Until when; absent for a moment, and for what did not end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Millis>,
    /// The phase, where it belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The exit code with which it ended, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// What it is, in words.
    pub label: String,
}

impl TimelineMark {
    /// A moment.
    pub(super) fn new(kind: MarkKind, at: Millis, label: impl AsRef<str>) -> Self {
        let label = label.as_ref().chars().take(LONGEST).collect();
        Self { kind, at, until: None, phase: None, exit: None, label }
    }

    pub(super) fn lasting(mut self, until: Option<Millis>) -> Self {
        self.until = until;
        self
    }

    pub(super) fn exiting(mut self, exit: Option<i32>) -> Self {
        self.exit = exit;
        self
    }

    fn of(mut self, phase: &str) -> Self {
        self.phase = Some(phase.to_owned());
        self
    }
}

/// Whether marks tell more than that everything was started once and went well.
pub(in crate::conform) fn is_eventful(marks: &[TimelineMark]) -> bool {
    let usual = |mark: &TimelineMark| match mark.kind {
        MarkKind::Step | MarkKind::Attempt => mark.exit == Some(0),
        kind => kind == MarkKind::Checkpoint,
    };
    let steps = marks.iter().filter(|mark| mark.kind == MarkKind::Step).count();
    steps > 1 || !marks.iter().all(usual)
}

/// In order of time, and no more than a picture can show.
pub(super) fn bounded(mut marks: Vec<TimelineMark>) -> Vec<TimelineMark> {
    marks.sort_by_key(|mark| mark.at);
    if let Some(first) = marks.get(MOST - 1).filter(|_| marks.len() > MOST) {
        let (at, left_out) = (first.at, marks.len() - (MOST - 1));
        marks.truncate(MOST - 1);
        marks.push(TimelineMark::new(MarkKind::More, at, format!("{left_out} more marks are left out")));
    }
    marks
}

/// The marks of a case of the runtime profile.
pub(super) fn timeline(seen: &Observation) -> Vec<TimelineMark> {
    let mut marks: Vec<TimelineMark> = seen.steps.iter().map(step).collect();
    marks.extend(seen.attempts.iter().map(attempt));
    marks.extend(checkpoints(seen));
    marks.extend(
        seen.usages
            .iter()
            .map(|usage| TimelineMark::new(MarkKind::Usage, usage.at, format!("{} tokens reported", usage.tokens))),
    );
    marks.extend(seen.events.iter().map(|event| TimelineMark::new(MarkKind::Signal, event.at, said(&event.line))));
    let reports = seen.steps.iter().flat_map(|step| &step.reports);
    marks.extend(reports.map(|it| TimelineMark::new(MarkKind::Report, it.at, format!("report in {}", it.path))));
    let end = seen.steps.last().map_or(0, |step| step.ended);
    let left = seen.orphans.iter();
    marks.extend(left.map(|it| TimelineMark::new(MarkKind::Left, end, format!("left behind: {}", it.command))));
    bounded(marks)
}

fn step(step: &StepSeen) -> TimelineMark {
    let (end, exit) = match &step.end {
        ProcessEnd::Exited(code) => (format!(" ended with {code}"), Some(*code)),
        ProcessEnd::Signalled(signal) => (format!(" died by {signal}"), None),
        ProcessEnd::KilledAsPlanned => (" was killed as planned".to_owned(), None),
        ProcessEnd::Waiting => (" waits for its human".to_owned(), None),
        ProcessEnd::TooSlow | ProcessEnd::Runaway(_) | ProcessEnd::OutOfBudget => {
            (" did not end and was ended by the judge".to_owned(), None)
        }
        ProcessEnd::NotStarted(why) => (format!(" could not be started: {why}"), None),
        ProcessEnd::AdapterFailed(why) => (format!(" was not done: {why}"), None),
        ProcessEnd::NoVerb => (": the manifest has no such verb".to_owned(), None),
        // What starts no process ends well or not at all.
        ProcessEnd::Nothing => (String::new(), Some(0)),
    };
    let lasts = !matches!(step.end, ProcessEnd::Nothing | ProcessEnd::NoVerb | ProcessEnd::NotStarted(_));
    let until = lasts.then_some(step.ended);
    TimelineMark::new(MarkKind::Step, step.started, format!("{}{end}", step.verb)).lasting(until).exiting(exit)
}

fn attempt(it: &AttemptSeen) -> TimelineMark {
    let end = match (it.ended, &it.signal, it.exit) {
        (None, ..) => "its end was not seen".to_owned(),
        (_, Some(signal), _) => format!("died by {signal}"),
        (_, None, Some(code)) => format!("exit {code}"),
        (_, None, None) => "ended otherwise than it was told to".to_owned(),
    };
    let exit = it.exit.filter(|_| it.ended.is_some() && it.signal.is_none());
    let label = format!("attempt {}: {end}", it.attempt);
    TimelineMark::new(MarkKind::Attempt, it.started, label).lasting(it.ended).exiting(exit).of(&it.phase)
}

/// One mark for each moment at which checkpoints were seen that were not there before, or not so.
fn checkpoints(seen: &Observation) -> Vec<TimelineMark> {
    let at_start = seen.attempts.iter().map(|it| (it.started, it.workspace, &it.checkpoints));
    let at_end = seen.steps.iter().map(|it| (it.ended, it.workspace, &it.checkpoints));
    let mut looks: Vec<(Millis, usize, &BTreeMap<String, FileSeen>)> = at_start.chain(at_end).collect();
    looks.sort_by_key(|(at, ..)| *at);
    let mut known: BTreeMap<(usize, &str), &str> = BTreeMap::new();
    let mut marks = Vec::new();
    for (at, workspace, files) in looks {
        let mut fresh = Vec::new();
        for (name, file) in files {
            match known.insert((workspace, name), &file.text) {
                Some(before) if before == file.text => {}
                Some(_) => fresh.push(format!("{name} anew")),
                None => fresh.push(name.clone()),
            }
        }
        if !fresh.is_empty() {
            marks.push(TimelineMark::new(MarkKind::Checkpoint, at, format!("seen: {}", fresh.join(", "))));
        }
    }
    marks
}

/// What a line of the event file says: its type and level, or the line itself.
fn said(line: &serde_json::Value) -> String {
    match (line["type"].as_str(), line["level"].as_str()) {
        (Some(kind), Some(level)) => format!("{kind}, {level}"),
        (Some(kind), None) => kind.to_owned(),
        (None, _) => line.to_string(),
    }
}
