//! What a lawful runtime may do next.

use crate::conform::spec::{Drive, Rule};
use crate::contract::Phase;

/// What may come next.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Turn {
    /// The phases of which one may start.
    pub(super) may_start: Vec<Phase>,
    /// Whether the runtime may end instead.
    pub(super) may_end: bool,
    pub(super) rule: Rule,
    /// The rule that is broken by starting this phase, where it is another one.
    pub(super) not: Option<(Phase, Rule)>,
}

impl Turn {
    pub(super) fn must_start(phase: Phase, rule: Rule) -> Self {
        Self { may_start: vec![phase], may_end: false, rule, not: None }
    }

    pub(super) fn must_end(rule: Rule) -> Self {
        Self { may_start: Vec::new(), may_end: true, rule, not: None }
    }

    pub(super) fn in_words(&self) -> String {
        let phases: Vec<&str> = self.may_start.iter().map(|phase| phase.as_str()).collect();
        match (phases.is_empty(), self.may_end) {
            (true, _) => "no phase to start".to_owned(),
            (false, true) => format!("{} to start, or the runtime to end", phases.join(" or ")),
            (false, false) => format!("{} to start", phases.join(" or ")),
        }
    }
}

/// The same turn where a phase that might start now cannot.
pub(super) fn unstartable(plan: &Drive, turn: Turn) -> Turn {
    let meant: Option<Phase> = plan.unstartable.as_ref().and_then(|phase| phase.parse().ok());
    let Some(phase) = meant.filter(|phase| turn.may_start.contains(phase)) else { return turn };
    let may_start: Vec<Phase> = turn.may_start.into_iter().filter(|other| *other != phase).collect();
    if may_start.is_empty() {
        return Turn::must_end(Rule::UnstartableHalts);
    }
    Turn { may_start, may_end: true, ..turn }
}

/// What the report says when a human is called by this rule.
pub(super) fn trigger(rule: Rule) -> Option<&'static str> {
    match rule {
        Rule::HaltCalls => Some("manual"),
        Rule::OverflowCalls => Some("context_overflow"),
        Rule::TimeCalls => Some("timeout"),
        _ => None,
    }
}
