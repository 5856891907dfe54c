//! The eight phases and their order (Checkpoint Schema: `PhaseIdentifier`).

use super::word::vocabulary;

vocabulary! {
    /// One of the eight phases, in the order in which a plain run executes them.
    pub enum Phase ("phase") {
        /// Checks before any work begins.
        Preflight = "preflight",
        /// What is to be built.
        Discovery = "discovery",
        /// How it is to be built.
        Design = "design",
        /// The work itself.
        Implementation = "implementation",
        /// The quality gate; its exit 1 asks for remediation.
        Audit = "audit",
        /// Handing the work in for review.
        Submit = "submit",
        /// Bringing the work to its users.
        Deploy = "deploy",
        /// What the run taught.
        Learning = "learning",
    }
}

impl Phase {
    /// The phase that follows in the contract's order; `None` after `learning`.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        Self::ALL.get(self as usize + 1).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_contract() {
        let words = ["preflight", "discovery", "design", "implementation", "audit", "submit", "deploy", "learning"];
        assert_eq!(Phase::WORDS, words);
        assert_eq!(Phase::Design.next(), Some(Phase::Implementation));
        assert_eq!(Phase::Learning.next(), None);
    }

    #[test]
    fn words_outside_the_eight_are_refused_with_the_eight() {
        let refused = "quality".parse::<Phase>().expect_err("quality is not a phase");
        assert_eq!(refused.found, "quality");
        assert!(refused.to_string().contains("audit"), "{refused}");
        assert!("Design".parse::<Phase>().is_err(), "case matters");
    }
}
