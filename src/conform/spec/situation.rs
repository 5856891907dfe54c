//! Situations that may come up in any observation, so that what the contract says of every report, every retry or every
//! blocked phase is checked wherever there is one, and not in one scene alone.

use crate::contract::vocabulary;

vocabulary! {
    /// A situation that may come up in any observation.
    pub enum Situation ("situation") {
        /// A run or a resume started phases, and ended by itself or waits for its human.
        Run = "run",
        /// A phase that had ended with 1 was started again, after waits that can be told from noise. Binds `$phase`.
        Retry = "retry",
        /// A phase ended with 2. Binds `$phase`.
        Blocked = "blocked",
        /// A phase ended with a code other than 0, 1 and 2. Binds `$phase` and `$code`.
        UnknownCode = "unknown-code",
        /// A report that names a phase appeared, whatever word its trigger is. Binds `$phase`.
        Report = "report",
        /// A checkpoint of a phase is there that nobody but the runtime wrote. Binds `$phase`.
        Checkpoint = "checkpoint",
        /// A usage was reported. It comes up once in each case, and is about all that were.
        Usage = "usage",
        /// A drawn story was told. It comes up once in each, and nowhere else.
        Story = "story",
    }
}

/// The names that a situation may bind.
pub(super) const BOUND: [&str; 2] = ["phase", "code"];
