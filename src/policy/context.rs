//! How full the context is, and what to do about it (Context Signals Interface; Context Editing Signals).

use crate::contract::{CompactionLevel, ContextEditingConfig, ContextLimits, ContextWarning, WarningLevel};

/// Checks the usage against the limits, by the contract's formula.
///
/// `percent_used` refers to the soft limit below the hard one and to the hard limit from there on, so it falls from
/// 187 % to 100 % on the way up: a defect of the contract, kept. [`percent_of_hard`] rises steadily.
#[must_use]
pub fn check_limits(limits: ContextLimits, current_tokens: u64) -> ContextWarning {
    let (level, limit, recommendation) = if current_tokens >= limits.hard {
        (WarningLevel::Hard, limits.hard, "Compact at once: the hard limit is reached")
    } else if current_tokens >= limits.soft {
        (WarningLevel::Soft, limits.soft, "Compact soon: the soft limit is reached")
    } else {
        (WarningLevel::None, limits.soft, "Nothing to do: the context is below its limits")
    };
    let percent_used = percent(current_tokens, limit);
    ContextWarning { level, current_tokens, percent_used, recommendation: recommendation.to_owned() }
}

/// The usage as a share of the hard limit, in percent.
#[must_use]
pub fn percent_of_hard(limits: ContextLimits, current_tokens: u64) -> f64 {
    percent(current_tokens, limits.hard)
}

#[expect(clippy::cast_precision_loss, reason = "token counts lie far below 2^52")]
fn percent(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64 * 100.0
}

/// Usage reached the share of the hard limit that `context_editing` names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NearLimit {
    /// Tokens in the context.
    pub current_tokens: u64,
    /// The hard limit, which the share refers to: the contract leaves open which limit it means.
    pub limit_tokens: u64,
    /// `current_tokens / limit_tokens`, in percent.
    pub percent_used: f64,
}

/// What one report of usage gives rise to.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// The result of the check, at every report.
    pub warning: ContextWarning,
    /// Whether a limit was crossed upwards, so that the warning is to be emitted.
    pub crossed: bool,
    /// The compaction to ask for, at a crossing.
    pub compaction: Option<CompactionLevel>,
    /// The near-limit signal to emit, at the crossing of the configured share.
    pub near_limit: Option<NearLimit>,
    /// The context is still at its hard limit after an emergency compaction: call a human.
    pub overflow: bool,
}

/// Follows the usage of one context and reacts to each crossing once, until the usage has fallen below it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextTracker {
    limits: ContextLimits,
    near_percent: Option<u8>,
    level: WarningLevel,
    near: bool,
    emergency_ended: bool,
}

impl ContextTracker {
    /// Starts below every limit. Context editing that is missing or not enabled gives no near-limit signals.
    #[must_use]
    pub fn new(limits: ContextLimits, editing: Option<&ContextEditingConfig>) -> Self {
        let near_percent = editing.filter(|config| config.enabled).map(|config| config.compact_threshold_percent);
        Self { limits, near_percent, level: WarningLevel::None, near: false, emergency_ended: false }
    }

    /// Takes in one report of usage.
    pub fn observe(&mut self, current_tokens: u64) -> Observation {
        let warning = check_limits(self.limits, current_tokens);
        let crossed = warning.level > self.level;
        self.level = warning.level;
        let hard = warning.level == WarningLevel::Hard;
        self.emergency_ended &= hard;
        Observation {
            crossed,
            compaction: crossed.then_some(if hard { CompactionLevel::Emergency } else { CompactionLevel::Standard }),
            near_limit: self.near_limit(current_tokens),
            overflow: self.emergency_ended,
            warning,
        }
    }

    /// Takes note that a compaction ended. Reports read before this call do not count as proof that it failed.
    pub fn compaction_ended(&mut self, level: CompactionLevel) {
        if level == CompactionLevel::Emergency && self.level == WarningLevel::Hard {
            self.emergency_ended = true;
        }
    }

    fn near_limit(&mut self, current_tokens: u64) -> Option<NearLimit> {
        let threshold = self.near_percent?;
        let limit_tokens = self.limits.hard;
        let was_near = self.near;
        self.near = u128::from(current_tokens) * 100 >= u128::from(limit_tokens) * u128::from(threshold);
        let percent_used = percent(current_tokens, limit_tokens);
        (self.near && !was_near).then_some(NearLimit { current_tokens, limit_tokens, percent_used })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn editing(enabled: bool) -> ContextEditingConfig {
        ContextEditingConfig {
            enabled,
            compact_threshold_percent: 80,
            preserve_recent_turns: 5,
            clear_targets: Vec::new(),
            preserve_artifacts: Vec::new(),
        }
    }

    #[test]
    fn the_formula_is_the_contracts_with_its_defect() {
        for (tokens, level, used, of_hard) in [
            (0, WarningLevel::None, 0.0, 0.0),
            (40_000, WarningLevel::None, 50.0, 26.666_666),
            (79_999, WarningLevel::None, 99.998_75, 53.332_666),
            (80_000, WarningLevel::Soft, 100.0, 53.333_333),
            (120_000, WarningLevel::Soft, 150.0, 80.0),
            (149_999, WarningLevel::Soft, 187.498_75, 99.999_333),
            (150_000, WarningLevel::Hard, 100.0, 100.0),
            (200_000, WarningLevel::Hard, 133.333_333, 133.333_333),
        ] {
            let warning = check_limits(ContextLimits::default(), tokens);
            assert_eq!(warning.level, level, "{tokens}");
            assert!((warning.percent_used - used).abs() < 1e-5, "{tokens}: {}", warning.percent_used);
            let share = percent_of_hard(ContextLimits::default(), tokens);
            assert!((share - of_hard).abs() < 1e-5, "{tokens}: {share}");
        }
    }

    #[test]
    fn each_level_has_its_own_advice() {
        let advice = |tokens| check_limits(ContextLimits::default(), tokens).recommendation;
        assert_ne!(advice(0), advice(80_000));
        assert_ne!(advice(80_000), advice(150_000));
        assert_ne!(advice(0), advice(150_000));
    }

    #[test]
    fn a_crossing_counts_once_and_again_after_a_fall_below() {
        let (standard, emergency) = (Some(CompactionLevel::Standard), Some(CompactionLevel::Emergency));
        let mut tracker = ContextTracker::new(ContextLimits::default(), None);
        for (tokens, compaction) in [
            (79_999, None),
            (80_000, standard),
            (90_000, None),
            (150_000, emergency),
            (160_000, None),
            (100_000, None),
            (150_000, emergency),
            (10, None),
            (80_000, standard),
            (0, None),
            (150_000, emergency),
        ] {
            let seen = tracker.observe(tokens);
            assert_eq!(seen.compaction, compaction, "{tokens}");
            assert_eq!(seen.crossed, compaction.is_some(), "{tokens}");
            assert!(!seen.overflow, "{tokens}: nothing was compacted");
            assert_eq!(seen.near_limit, None, "{tokens}: context editing is off");
        }
    }

    #[test]
    fn overflow_is_the_hard_limit_after_an_emergency_compaction() {
        let mut tracker = ContextTracker::new(ContextLimits::default(), None);
        tracker.observe(150_000);
        assert!(!tracker.observe(151_000).overflow, "read before the compaction ended");
        tracker.compaction_ended(CompactionLevel::Emergency);
        assert!(tracker.observe(150_000).overflow);
        assert!(!tracker.observe(149_999).overflow, "it helped in the end");
        assert!(!tracker.observe(150_000).overflow, "the next crossing has its own compaction");
        tracker.compaction_ended(CompactionLevel::Standard);
        assert!(!tracker.observe(150_000).overflow, "a standard compaction proves nothing");
    }

    #[test]
    fn near_the_limit_is_said_once_and_only_where_enabled() {
        let mut tracker = ContextTracker::new(ContextLimits::default(), Some(&editing(true)));
        let signals: Vec<bool> = [119_999, 120_000, 130_000, 119_999, 120_000]
            .map(|tokens| tracker.observe(tokens).near_limit.is_some())
            .into();
        assert_eq!(signals, [false, true, false, false, true]);
        let mut fresh = ContextTracker::new(ContextLimits::default(), Some(&editing(true)));
        let signal = fresh.observe(135_000).near_limit.expect("above the share");
        assert_eq!((signal.current_tokens, signal.limit_tokens), (135_000, 150_000));
        assert!((signal.percent_used - 90.0).abs() < 1e-9);
        let mut disabled = ContextTracker::new(ContextLimits::default(), Some(&editing(false)));
        assert_eq!(disabled.observe(149_999).near_limit, None);
    }
}
