//! How hard a model should think in a phase (Effort Parameter).

use crate::contract::{BudgetRange, EffortConfig, EffortLevel, Phase};

/// The level and the most thinking tokens of a phase. What `per_skill` says of the phase itself goes before what it says
/// of the skill by which Loa does that phase.
#[must_use]
pub fn effort(config: &EffortConfig, phase: Phase) -> (EffortLevel, BudgetRange) {
    let said = |name: &str| config.per_skill.get(name).copied();
    let level = said(phase.as_str()).or_else(|| skill(phase).and_then(said)).unwrap_or(config.default_level);
    let ranges = config.budget_ranges;
    let range = match level {
        EffortLevel::Low => ranges.low,
        EffortLevel::Medium => ranges.medium,
        EffortLevel::High => ranges.high,
    };
    (level, range)
}

/// The skill by which Loa does a phase.
fn skill(phase: Phase) -> Option<&'static str> {
    match phase {
        Phase::Discovery => Some("discovering-requirements"),
        Phase::Design => Some("designing-architecture"),
        Phase::Implementation => Some("implementing-tasks"),
        Phase::Audit => Some("auditing-security"),
        Phase::Deploy => Some("deploying-infrastructure"),
        Phase::Preflight | Phase::Submit | Phase::Learning => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::BudgetRanges;

    #[test]
    fn a_skills_own_level_outdoes_the_default_and_a_phases_own_outdoes_both() {
        let range = |min, max| BudgetRange { min, max };
        let per_skill = [("auditing-security", EffortLevel::High), ("designing-architecture", EffortLevel::High)];
        let mut per_skill: std::collections::BTreeMap<_, _> =
            per_skill.map(|(name, level)| (name.to_owned(), level)).into();
        per_skill.insert("design".to_owned(), EffortLevel::Medium);
        let config = EffortConfig {
            default_level: EffortLevel::Low,
            budget_ranges: BudgetRanges { low: range(1, 2), medium: range(3, 4), high: range(5, 6) },
            per_skill,
        };
        for (phase, level, budget) in [
            (Phase::Audit, EffortLevel::High, range(5, 6)),
            (Phase::Design, EffortLevel::Medium, range(3, 4)),
            (Phase::Preflight, EffortLevel::Low, range(1, 2)),
            (Phase::Implementation, EffortLevel::Low, range(1, 2)),
        ] {
            assert_eq!(effort(&config, phase), (level, budget), "{phase}");
        }
    }
}
