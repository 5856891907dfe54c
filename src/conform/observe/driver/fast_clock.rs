//! A clock that runs faster than the wall's, for a runtime and everything that it starts: hours of its time are seconds of ours.
//!
//! What such a clock cannot hide is how late this machine lets anybody run: a tenth of a second is twelve minutes of two hours a
//! second. A busy machine therefore gets a slower one, and what the judge itself waits for becomes as much longer.

use std::path::Path;
use std::time::Duration;

use super::program::{KEPT, VERSION_TIME, path, text};
use crate::conform::observe::probe::{CODE, PHASE};
use crate::conform::observe::speaker::Code;
use crate::system::load::Gauge;
use crate::system::process::{Command, capture};

/// The program that gives others a clock of their own.
const PROGRAM: &str = "faketime";
/// How many times as fast as the wall's it is on an idle machine: two hours a second.
const FULL_SPEED: u32 = 7200;
/// So many times slower it is at most.
const SLOWEST: u32 = 4;
/// How late anybody may run under the fastest clock: twelve minutes of it.
const BEARABLE: Duration = Duration::from_millis(100);
/// For how long the machine is remembered to have been late.
const REMEMBERED: Duration = Duration::from_mins(1);

/// How fast the clock of a case is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FastClock {
    slower: u32,
}

impl FastClock {
    const FASTEST: Self = Self { slower: 1 };

    /// The fastest clock that this machine, as busy as it is, keeps up with.
    pub(super) fn bearable(load: &Gauge) -> Self {
        Self::borne(load.stretch(), load.late_within(REMEMBERED))
    }

    fn borne(stretch: f64, late: Duration) -> Self {
        let is_borne = |slower: &u32| stretch < f64::from(*slower) + 0.5 && late <= BEARABLE * *slower;
        Self { slower: (1..SLOWEST).find(is_borne).unwrap_or(SLOWEST) }
    }

    /// How many times as fast as the wall's it is.
    pub(super) fn speed(self) -> u32 {
        FULL_SPEED / self.slower
    }

    /// By how much the judge's own times grow, so that they remain what they are by the fastest clock.
    pub(super) fn slower(self) -> u32 {
        self.slower
    }

    /// The same command with this clock for it and everything that it starts.
    ///
    /// # Errors
    /// Why there is no such clock here, in words.
    pub(super) fn command(self, argv: Vec<String>) -> Result<Vec<String>, String> {
        let found = path().split(':').map(|folder| Path::new(folder).join(PROGRAM)).find(|file| file.is_file());
        let found = found.ok_or_else(|| format!("no clock that runs faster: `{PROGRAM}` is not on PATH"))?;
        Ok([text(&found), "-f".to_owned(), format!("+0 x{}", self.speed())].into_iter().chain(argv).collect())
    }

    /// The code of our own program under such a clock, which lies in a library that is loaded beforehand.
    pub(super) async fn code(judge: &Path) -> Code {
        let words = [text(judge), PHASE.to_owned(), CODE.to_owned()].to_vec();
        let Ok(argv) = Self::FASTEST.command(words) else { return Code::default() };
        let Some((program, words)) = argv.split_first() else { return Code::default() };
        let command = Command::new(program).args(words).env_clear().env("PATH", path());
        let told = capture(&command, KEPT, VERSION_TIME).await;
        Code::told(&String::from_utf8_lossy(&told.stdout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_gets_a_slower_clock() {
        for (stretch, late, speed) in [
            (1.0, 0, 7200),
            (1.4, 100, 7200),
            (1.6, 0, 3600),
            (1.0, 101, 3600),
            (3.0, 0, 2400),
            (2.0, 310, 1800),
            (5.0, 0, 1800),
            (1.0, 9_000, 1800),
        ] {
            let clock = FastClock::borne(stretch, Duration::from_millis(late));
            assert_eq!(clock.speed(), speed, "{stretch} times as slow, {late} ms late");
            assert_eq!(clock.speed() * clock.slower(), FULL_SPEED);
        }
    }
}
