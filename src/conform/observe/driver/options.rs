//! How cases are run.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::system::load::Gauge;

/// How cases are run.
#[derive(Debug, Clone)]
pub struct RigOptions {
    /// The printed seed. What a case draws depends on it and on the case alone.
    pub seed: u64,
    /// The judge's own program, by its absolute path: every phase becomes it.
    pub judge: PathBuf,
    /// Whether a case's folder stays; `Observation::kept` names it.
    pub keep: bool,
    /// How long a verb may take.
    pub budget: Duration,
    /// Whether sockets and pipes of the host that a path leads to are closed in a chamber, as the network is to a judge that
    /// has withdrawn.
    pub hermetic: bool,
    /// How busy the machine is: every time that the judge gives a runtime grows by it.
    pub load: Arc<Gauge>,
    /// Set from outside: end everything and come back.
    pub stop: Arc<AtomicBool>,
}

impl RigOptions {
    /// How long a verb may take, unless somebody says otherwise.
    pub const BUDGET: Duration = Duration::from_secs(20);

    /// The usual options for a seed and the judge's own program.
    #[must_use]
    pub fn new(seed: u64, judge: PathBuf) -> Self {
        Self {
            seed,
            judge,
            keep: false,
            budget: Self::BUDGET,
            hermetic: false,
            load: Arc::new(Gauge::start()),
            stop: Arc::default(),
        }
    }
}
