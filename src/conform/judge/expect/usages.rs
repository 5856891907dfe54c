//! What must follow every usage that a phase reported, whatever the case is about: the limits in force say which warning and
//! which compaction. What came before a phase's first usage is known only where it was below both limits.

use serde_json::json;

use super::matcher::Fields;
use super::{Evidence, context, warning};
use crate::conform::judge::{Check, Outcome};
use crate::conform::spec::{ContextRule, Reason};

/// The limits of the contract, where none are set.
const USUAL: (u64, u64) = (80_000, 150_000);

/// Which side of the limits a usage is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Below,
    Soft,
    Hard,
}

/// How a usage stands to the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Move {
    /// It is below the limits.
    Below,
    /// It came from below this side's limit.
    Reached(Side),
    /// It is on the same side as before, and not below.
    Stays,
    /// It fell to the soft limit, or what came before is not known.
    Unknown,
}

/// The first usage that breaks the rule, or that it was kept each time.
pub(super) fn every(evidence: &Evidence<'_>, rule: ContextRule) -> Check {
    let expected = format!("the rule {rule} to be kept after every usage");
    let Some(limits) = limits(evidence) else {
        return Check::not_observed(Reason::NoOccasion, expected, "the limits in force are not known");
    };
    let all = (0..evidence.seen.usages.len()).filter_map(|usage| one(evidence, rule, usage, limits));
    // Where the runtime warns of nothing at all, the clause about warnings says so.
    let all: Vec<Check> = all.filter(|check| check.reason != Reason::NothingSighted).collect();
    let Some(worst) = Outcome::worst(all.iter().map(|check| check.outcome)) else {
        return Check::not_observed(Reason::NoOccasion, expected, "it never applied");
    };
    if worst.is_green() {
        return Check { outcome: worst, ..Check::pass(expected, format!("so each of the {} times", all.len())) };
    }
    all.into_iter().find(|check| check.outcome == worst).expect("it is one of them")
}

/// What a rule says of one usage; `None` where it says nothing.
fn one(evidence: &Evidence<'_>, rule: ContextRule, usage: usize, limits: (u64, u64)) -> Option<Check> {
    let warned = |level: &str, fields: &Fields| Some(warning::warned(evidence, usage, level, fields));
    let compacted = |level: &str| Some(warning::compacted(evidence, usage, level));
    let step = step_of(moved(evidence, usage, limits), rule);
    match (rule, step?) {
        (ContextRule::Tracked, _) => Some(context::tracked(evidence, usage)),
        (ContextRule::SoftCompacts, Move::Reached(_)) => compacted("standard"),
        (ContextRule::HardCompacts, Move::Reached(_)) => compacted("emergency"),
        (ContextRule::SoftCompacts | ContextRule::HardCompacts, _) => None,
        (_, Move::Reached(side)) => {
            warned(level(side), &fields(rule, evidence.seen.usages[usage].tokens, side, limits))
        }
        _ => warned("none", &Fields::new()),
    }
}

/// How the usage moved, where the rule is about such a move.
fn step_of(moved: Move, rule: ContextRule) -> Option<Move> {
    let applies = match rule {
        ContextRule::Tracked => true,
        ContextRule::SilentBelow => moved == Move::Below,
        ContextRule::SoftWarns | ContextRule::SoftCompacts => moved == Move::Reached(Side::Soft),
        ContextRule::HardWarns | ContextRule::HardCompacts => moved == Move::Reached(Side::Hard),
        ContextRule::OnceACrossing => moved == Move::Stays,
        ContextRule::WarningTells | ContextRule::WarningShare | ContextRule::WarningRecommends => {
            matches!(moved, Move::Reached(_))
        }
    };
    applies.then_some(moved)
}

fn level(side: Side) -> &'static str {
    match side {
        Side::Below => "none",
        Side::Soft => "soft",
        Side::Hard => "hard",
    }
}

/// What must stand in a warning.
fn fields(rule: ContextRule, tokens: u64, side: Side, (soft, hard): (u64, u64)) -> Fields {
    let limit = if side == Side::Hard { hard } else { soft };
    #[expect(clippy::cast_precision_loss, reason = "a usage is far below 2^52 tokens")]
    let share = tokens as f64 * 100.0 / limit as f64;
    let fields = match rule {
        ContextRule::WarningTells => json!({
            "/level": { "is": level(side) }, "/current_tokens": { "is": tokens }, "/percent_used": { "type": "number" },
        }),
        ContextRule::WarningShare => json!({ "/percent_used": { "between": [share - 0.6, share + 0.6] } }),
        ContextRule::WarningRecommends => json!({ "/recommendation": { "type": "non-empty-string" } }),
        _ => return Fields::new(),
    };
    serde_json::from_value(fields).expect("matchers are plain data")
}

/// The limits in force: those of the case, or the contract's own. `None` where they make no sense, or where the judge changed
/// the configuration meanwhile.
fn limits(evidence: &Evidence<'_>) -> Option<(u64, u64)> {
    let config = &evidence.case.config;
    let limit = |which: &str, usual: u64| match config.get(&format!("autonomous_agent.context.{which}_limit_tokens")) {
        Some(value) => value.as_u64(),
        None => Some(usual),
    };
    let limits = (limit("soft", USUAL.0)?, limit("hard", USUAL.1)?);
    let mut edits = evidence.seen.steps.iter().filter_map(|step| step.edited.as_ref());
    let is_edited = edits.any(|edit| edit.path == ".loa.config.yaml");
    (0 < limits.0 && limits.0 < limits.1 && !is_edited).then_some(limits)
}

fn moved(evidence: &Evidence<'_>, usage: usize, limits: (u64, u64)) -> Move {
    let seen = &evidence.seen.usages;
    let side = |usage: usize| side(seen[usage].tokens, limits);
    let attempt = attempt_of(evidence, usage);
    let before = match usage.checked_sub(1) {
        None => Some(Side::Below),
        Some(before) if attempt.is_some() && attempt_of(evidence, before) == attempt => Some(side(before)),
        // Whether a runtime goes on with what an earlier phase used is its own matter.
        Some(_) => (0..usage).all(|earlier| side(earlier) == Side::Below).then_some(Side::Below),
    };
    stand(before, side(usage))
}

fn stand(before: Option<Side>, now: Side) -> Move {
    match (before, now) {
        (_, Side::Below) => Move::Below,
        (Some(before), now) if before == now => Move::Stays,
        (Some(before), now) if before < now => Move::Reached(now),
        _ => Move::Unknown,
    }
}

fn side(tokens: u64, (soft, hard): (u64, u64)) -> Side {
    match tokens {
        tokens if tokens >= hard => Side::Hard,
        tokens if tokens >= soft => Side::Soft,
        _ => Side::Below,
    }
}

/// The attempt that was under way when a usage was reported.
fn attempt_of(evidence: &Evidence<'_>, usage: usize) -> Option<usize> {
    let at = evidence.seen.usages[usage].at;
    evidence.seen.attempts.iter().rposition(|attempt| attempt.started <= at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usage_is_held_against_the_one_before_it() {
        use Side::{Below, Hard, Soft};
        for (before, now, expected) in [
            (None, Below, Move::Below),
            (Some(Hard), Below, Move::Below),
            (Some(Below), Soft, Move::Reached(Soft)),
            (Some(Below), Hard, Move::Reached(Hard)),
            (Some(Soft), Hard, Move::Reached(Hard)),
            (Some(Soft), Soft, Move::Stays),
            (Some(Hard), Hard, Move::Stays),
            (Some(Hard), Soft, Move::Unknown),
            (None, Soft, Move::Unknown),
            (None, Hard, Move::Unknown),
        ] {
            assert_eq!(stand(before, now), expected, "{before:?} {now:?}");
        }
        let sides = [1, 79, 80, 149, 150].map(|tokens| side(tokens, (80, 150)));
        assert_eq!(sides, [Below, Below, Soft, Soft, Hard]);
    }
}
