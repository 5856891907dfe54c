//! What the contract says of every usage that a phase reports, rule by rule: each is one clause's, by the case that says
//! `every_usage`.

use crate::contract::vocabulary;

vocabulary! {
    /// Something that a lawful runtime does whenever a usage is reported (Context Signals Interface).
    pub enum ContextRule ("context rule") {
        /// It tells the same figure.
        Tracked = "tracked",
        /// Below the soft limit it warns of nothing.
        SilentBelow = "silent-below",
        /// It warns at the soft limit and above, when the usage was below.
        SoftWarns = "soft-warns",
        /// It warns at the hard limit and above, when the usage was below.
        HardWarns = "hard-warns",
        /// While the usage stays on its side of the limits, it does not warn again.
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
