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
    Stays(Side),
    /// It fell to the soft limit, or what came before is not known.
    Unknown,
}

/// Where a limit that is in force comes from. Which clause answers for a warning follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The configuration says what the contract says anyway, so that the limit itself is in no doubt.
    Usual,
    /// The configuration says another one.
    Configured,
    /// The configuration says nothing.
    Default,
}

/// A limit that is in force.
#[derive(Debug, Clone, Copy)]
struct Limit {
    tokens: u64,
    origin: Origin,
}

/// The limits that are in force.
#[derive(Debug, Clone, Copy)]
struct Limits {
    soft: Limit,
    hard: Limit,
}

impl Limits {
    /// The limit that a share refers to on this side.
    fn at(self, side: Side) -> Limit {
        if side == Side::Hard { self.hard } else { self.soft }
    }
}

/// What the runtime warned of between a usage and the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    /// The worst of the contract's levels.
    Level(Side),
    /// A word that the contract does not know.
    Other,
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
fn one(evidence: &Evidence<'_>, rule: ContextRule, usage: usize, limits: Limits) -> Option<Check> {
    let moved = moved(evidence, usage, limits);
    let warned = |fields: &Fields| warning::warned(evidence, usage, wanted(moved), fields);
    let tokens = evidence.seen.usages[usage].tokens;
    match rule {
        // A compactor that frees tokens lowers the runtime's figure, and when it does is the runtime's own matter.
        ContextRule::Tracked if evidence.case.compactor.is_some() => None,
        ContextRule::Tracked => Some(context::tracked(evidence, usage)),
        ContextRule::KnownLevel => known(evidence, usage),
        // What follows from a warning, and what it says, is asked of one that was given as it should be: whether it was given
        // is asked by the rules below.
        ContextRule::SoftCompacts | ContextRule::HardCompacts => {
            let (side, level) =
                if rule == ContextRule::SoftCompacts { (Side::Soft, "standard") } else { (Side::Hard, "emergency") };
            let applies = moved == Move::Reached(side) && warned(&Fields::new()).outcome.is_green();
            applies.then(|| warning::compacted(evidence, usage, level))
        }
        ContextRule::WarningTells | ContextRule::WarningShare | ContextRule::WarningRecommends => {
            let Move::Reached(side) = moved else { return None };
            // Of another limit than the contract's the share would say first of all whether the limit is heeded.
            if rule == ContextRule::WarningShare && limits.at(side).origin != Origin::Usual {
                return None;
            }
            warned(&Fields::new()).outcome.is_green().then(|| warned(&fields(rule, tokens, side, limits)))
        }
        _ if answerable(moved, told(evidence, usage), limits) == Some(rule) && is_in_step(evidence, usage, limits) => {
            Some(warned(&Fields::new()))
        }
        ContextRule::OnceACrossing => again(evidence, usage, moved),
        _ => None,
    }
}

/// The rule that answers for what was warned of at a usage, be it right or wrong.
fn answerable(moved: Move, told: Told, limits: Limits) -> Option<ContextRule> {
    let soft = |usual| match limits.soft.origin {
        Origin::Usual => usual,
        Origin::Configured => ContextRule::SoftConfigured,
        Origin::Default => ContextRule::SoftDefault,
    };
    let hard = match limits.hard.origin {
        Origin::Usual => ContextRule::HardWarns,
        Origin::Configured => ContextRule::HardConfigured,
        Origin::Default => ContextRule::HardDefault,
    };
    match (moved, told) {
        (Move::Unknown, _) | (_, Told::Other) => None,
        (Move::Below, _) => Some(soft(ContextRule::SilentBelow)),
        (Move::Reached(Side::Hard), _) | (Move::Reached(_) | Move::Stays(Side::Soft), Told::Level(Side::Hard)) => {
            Some(hard)
        }
        (Move::Reached(_), _) => Some(soft(ContextRule::SoftWarns)),
        (Move::Stays(_), _) => Some(ContextRule::OnceACrossing),
    }
}

/// Whether the attempt's earlier usages were warned of as they should be. After one that was not, it is not known which limits
/// the runtime goes by, and the rule that answers for that one has said so.
fn is_in_step(evidence: &Evidence<'_>, usage: usize, limits: Limits) -> bool {
    let attempt = attempt_of(evidence, usage);
    let mut earlier = (0..usage).filter(|earlier| attempt_of(evidence, *earlier) == attempt);
    earlier.all(|earlier| {
        let moved = moved(evidence, earlier, limits);
        let check = warning::warned(evidence, earlier, wanted(moved), &Fields::new());
        moved == Move::Unknown || check.outcome != Outcome::Fail || check.reason == Reason::NothingSighted
    })
}

/// The level of the warning that a move asks for.
fn wanted(moved: Move) -> &'static str {
    match moved {
        Move::Reached(side) => level(side),
        Move::Below | Move::Stays(_) | Move::Unknown => "none",
    }
}

fn told(evidence: &Evidence<'_>, usage: usize) -> Told {
    let levels = warning::levels(evidence, usage);
    if levels.keys().any(|level| side_of(level).is_none()) {
        return Told::Other;
    }
    levels.keys().filter_map(|level| side_of(level)).max().map_or(Told::Nothing, Told::Level)
}

/// Whether the levels of the warnings are words of the contract; `None` where there is no warning.
fn known(evidence: &Evidence<'_>, usage: usize) -> Option<Check> {
    let levels: Vec<String> = warning::levels(evidence, usage).into_keys().collect();
    let observed = levels.join(", ");
    let expected = "a warning of level soft or hard";
    let other = levels.iter().any(|level| side_of(level).is_none());
    (!levels.is_empty()).then(|| {
        if other { Check::fail(Reason::WrongLevel, expected, observed) } else { Check::pass(expected, observed) }
    })
}

/// Whether a limit that is reached is told once only; `None` where none is reached, or nothing is told.
fn again(evidence: &Evidence<'_>, usage: usize, moved: Move) -> Option<Check> {
    let Move::Reached(side) = moved else { return None };
    let times = *warning::levels(evidence, usage).get(level(side))?;
    let expected = format!("one warning of level {}", level(side));
    Some(match times {
        1 => Check::pass(expected, "one"),
        _ => Check::fail(Reason::UnwarrantedWarning, expected, format!("{times} of them")),
    })
}

fn level(side: Side) -> &'static str {
    match side {
        Side::Below => "none",
        Side::Soft => "soft",
        Side::Hard => "hard",
    }
}

fn side_of(word: &str) -> Option<Side> {
    [Side::Soft, Side::Hard].into_iter().find(|side| level(*side) == word)
}

/// What must stand in a warning.
fn fields(rule: ContextRule, tokens: u64, side: Side, limits: Limits) -> Fields {
    let limit = limits.at(side).tokens;
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
fn limits(evidence: &Evidence<'_>) -> Option<Limits> {
    let config = &evidence.case.config;
    let limit = |which: &str, usual: u64| match config.get(&format!("autonomous_agent.context.{which}_limit_tokens")) {
        Some(value) => {
            let tokens = value.as_u64()?;
            Some(Limit { tokens, origin: if tokens == usual { Origin::Usual } else { Origin::Configured } })
        }
        None => Some(Limit { tokens: usual, origin: Origin::Default }),
    };
    let limits = Limits { soft: limit("soft", USUAL.0)?, hard: limit("hard", USUAL.1)? };
    let mut edits = evidence.seen.steps.iter().filter_map(|step| step.edited.as_ref());
    let is_edited = edits.any(|edit| edit.path == ".loa.config.yaml");
    (0 < limits.soft.tokens && limits.soft.tokens < limits.hard.tokens && !is_edited).then_some(limits)
}

fn moved(evidence: &Evidence<'_>, usage: usize, limits: Limits) -> Move {
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
        (Some(before), now) if before == now => Move::Stays(now),
        (Some(before), now) if before < now => Move::Reached(now),
        _ => Move::Unknown,
    }
}

fn side(tokens: u64, limits: Limits) -> Side {
    match tokens {
        tokens if tokens >= limits.hard.tokens => Side::Hard,
        tokens if tokens >= limits.soft.tokens => Side::Soft,
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
    use super::Side::{Below, Hard, Soft};
    use super::*;

    fn limits(soft: Origin, hard: Origin) -> Limits {
        Limits { soft: Limit { tokens: 80, origin: soft }, hard: Limit { tokens: 150, origin: hard } }
    }

    #[test]
    fn a_usage_is_held_against_the_one_before_it() {
        for (before, now, expected) in [
            (None, Below, Move::Below),
            (Some(Hard), Below, Move::Below),
            (Some(Below), Soft, Move::Reached(Soft)),
            (Some(Below), Hard, Move::Reached(Hard)),
            (Some(Soft), Hard, Move::Reached(Hard)),
            (Some(Soft), Soft, Move::Stays(Soft)),
            (Some(Hard), Hard, Move::Stays(Hard)),
            (Some(Hard), Soft, Move::Unknown),
            (None, Soft, Move::Unknown),
            (None, Hard, Move::Unknown),
        ] {
            assert_eq!(stand(before, now), expected, "{before:?} {now:?}");
        }
        let sides = [1, 79, 80, 149, 150].map(|tokens| side(tokens, limits(Origin::Usual, Origin::Usual)));
        assert_eq!(sides, [Below, Below, Soft, Soft, Hard]);
    }

    #[test]
    fn one_rule_answers_for_each_warning_and_for_each_silence() {
        let usual = limits(Origin::Usual, Origin::Usual);
        let (soft, hard) = (Told::Level(Soft), Told::Level(Hard));
        for (moved, told, expected) in [
            (Move::Below, Told::Nothing, Some(ContextRule::SilentBelow)),
            (Move::Below, soft, Some(ContextRule::SilentBelow)),
            (Move::Below, hard, Some(ContextRule::SilentBelow)),
            (Move::Reached(Soft), soft, Some(ContextRule::SoftWarns)),
            (Move::Reached(Soft), Told::Nothing, Some(ContextRule::SoftWarns)),
            (Move::Reached(Soft), hard, Some(ContextRule::HardWarns)),
            (Move::Reached(Hard), hard, Some(ContextRule::HardWarns)),
            (Move::Reached(Hard), soft, Some(ContextRule::HardWarns)),
            (Move::Reached(Hard), Told::Nothing, Some(ContextRule::HardWarns)),
            (Move::Stays(Soft), Told::Nothing, Some(ContextRule::OnceACrossing)),
            (Move::Stays(Soft), soft, Some(ContextRule::OnceACrossing)),
            (Move::Stays(Soft), hard, Some(ContextRule::HardWarns)),
            (Move::Stays(Hard), hard, Some(ContextRule::OnceACrossing)),
            (Move::Reached(Soft), Told::Other, None),
            (Move::Unknown, soft, None),
        ] {
            assert_eq!(answerable(moved, told, usual), expected, "{moved:?} {told:?}");
        }
    }

    #[test]
    fn where_a_limit_comes_from_says_which_clause_answers_for_it() {
        for (origin, at_soft, at_hard) in [
            (Origin::Usual, ContextRule::SoftWarns, ContextRule::HardWarns),
            (Origin::Configured, ContextRule::SoftConfigured, ContextRule::HardConfigured),
            (Origin::Default, ContextRule::SoftDefault, ContextRule::HardDefault),
        ] {
            let limits = limits(origin, origin);
            assert_eq!(answerable(Move::Reached(Soft), Told::Level(Soft), limits), Some(at_soft));
            assert_eq!(answerable(Move::Reached(Hard), Told::Level(Hard), limits), Some(at_hard));
        }
    }
}
