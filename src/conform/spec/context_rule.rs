//! What the contract says of every usage that a phase reports, rule by rule: each is one clause's, by the case that says
//! `every_usage`.

use crate::contract::vocabulary;

vocabulary! {
    /// Something that a lawful runtime does whenever a usage is reported (Context Signals Interface).
    pub enum ContextRule ("context rule") {
        /// It tells the same figure.
        Tracked = "tracked",
        /// It warns at and above a soft limit that is configured, and not below.
        SoftConfigured = "soft-configured",
        /// It warns at and above a hard limit that is configured, and not below.
        HardConfigured = "hard-configured",
        /// Without a soft limit in the configuration, it warns at and above the contract's, and not below.
        SoftDefault = "soft-default",
        /// Without a hard limit in the configuration, it warns at and above the contract's, and not below.
        HardDefault = "hard-default",
        /// Below the soft limit it warns of nothing.
        SilentBelow = "silent-below",
        /// It warns at the soft limit and above, when the usage was below.
        SoftWarns = "soft-warns",
        /// It warns at the hard limit and above, when the usage was below.
        HardWarns = "hard-warns",
        /// A warning's level is one of the contract's words.
        KnownLevel = "known-level",
        /// It warns once when a limit is reached, and not again while the usage stays on that side.
        OnceACrossing = "once-a-crossing",
        /// A warning tells its level, the tokens in use and a share.
        WarningTells = "warning-tells",
        /// The share refers to the hard limit from there on, and to the soft limit below it.
        WarningShare = "warning-share",
        /// A warning recommends something.
        WarningRecommends = "warning-recommends",
        /// The soft limit leads to a standard compaction.
        SoftCompacts = "soft-compacts",
        /// The hard limit leads to an emergency compaction.
        HardCompacts = "hard-compacts",
    }
}
