//! Whether a rule of the judge's model of the contract was kept, each time that it applied.

use super::Evidence;
use crate::conform::judge::{Check, story};
use crate::conform::spec::{Reason, Rule};

pub(super) fn lawful(evidence: &Evidence<'_>, rule: Rule) -> Check {
    let findings = story::findings(evidence.case, evidence.seen);
    let about: Vec<&story::Finding> = findings.iter().filter(|finding| finding.rule == rule).collect();
    if let Some(broken) = about.iter().find(|finding| !finding.kept) {
        let check = Check::fail(Reason::Unlawful, &broken.expected, &broken.observed).in_step(broken.step);
        return broken.at.map_or(check.clone(), |at| check.at_time(at));
    }
    let expected = format!("the rule {rule} to be kept");
    match about.len() {
        0 => Check::not_observed(Reason::NoOccasion, expected, "it never applied"),
        times => Check::pass(expected, format!("it was, each of the {times} times that it applied")),
    }
}
