//! Other names that Loa's own texts give to the contract's phases, and that other runtimes copied from there.

use super::Phase;

/// Each name and the phase that it means.
const ALIASES: [(&str, Phase); 5] = [
    ("quality", Phase::Audit),
    ("review", Phase::Audit),
    ("deployment", Phase::Deploy),
    ("architecture", Phase::Design),
    ("planning", Phase::Design),
];

impl Phase {
    /// The phase that another name of Loa's means. The contract's own words are no aliases.
    #[must_use]
    pub fn by_alias(word: &str) -> Option<Self> {
        ALIASES.iter().find(|(alias, _)| *alias == word).map(|(_, phase)| *phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_is_no_word_of_the_contract() {
        assert_eq!(Phase::by_alias("quality"), Some(Phase::Audit));
        assert_eq!(Phase::by_alias("audit"), None);
        for (alias, _) in ALIASES {
            assert!(alias.parse::<Phase>().is_err(), "{alias}");
        }
    }
}
