//! SIGINT and SIGTERM to the judge: everything that runs is told to end, and what is finished is kept.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use tokio::runtime::Builder;

use crate::system::process::{Interrupt, Interrupts};

/// The wish that the judge ends, once somebody has it.
#[derive(Debug, Clone, Default)]
pub struct Interruption {
    stop: Arc<AtomicBool>,
    by: Arc<OnceLock<Interrupt>>,
}

impl Interruption {
    /// Listens from now on, on a thread of its own. Where the host refuses that, a signal ends the judge as it ends any
    /// program.
    #[must_use]
    pub fn listen() -> Self {
        let interruption = Self::default();
        let heard = interruption.clone();
        thread::spawn(move || {
            let Ok(runtime) = Builder::new_current_thread().enable_all().build() else { return };
            runtime.block_on(async {
                let Ok(mut interrupts) = Interrupts::listen() else { return };
                let by = interrupts.next().await;
                heard.by.get_or_init(|| by);
                heard.stop.store(true, Ordering::Relaxed);
            });
        });
        interruption
    }

    /// Becomes true when everything must end.
    #[must_use]
    pub fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Which signal it was.
    #[must_use]
    pub fn by(&self) -> Option<Interrupt> {
        self.by.get().copied()
    }
}
