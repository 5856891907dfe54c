//! Signals that ask the process to end, held back while it writes what must not be left behind unfinished.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::process::Interrupt;

/// What the handlers know.
struct Handlers {
    /// Whether a signal ends the process at once, as it does where nothing holds it back.
    ends: Arc<AtomicBool>,
    /// Which signals came.
    came: [(Interrupt, Arc<AtomicBool>); 2],
}

static HANDLERS: LazyLock<Handlers> = LazyLock::new(|| {
    let ends = Arc::new(AtomicBool::new(true));
    let came = [(SIGINT, Interrupt::Interrupt), (SIGTERM, Interrupt::Terminate)].map(|(signal, wish)| {
        let came = Arc::new(AtomicBool::new(false));
        // Where the host refuses a handler the signal ends us, as before.
        if flag::register(signal, Arc::clone(&came)).is_ok() {
            let _ = flag::register_conditional_default(signal, Arc::clone(&ends));
        }
        (wish, came)
    });
    Handlers { ends, came }
});

/// Does something to its end although SIGINT or SIGTERM may come, and says which of them came. Before and afterwards they
/// end the process as they always do. For one thread at a time.
pub fn held<T>(work: impl FnOnce() -> T) -> (T, Option<Interrupt>) {
    let handlers = &*HANDLERS;
    handlers.ends.store(false, Ordering::SeqCst);
    let done = work();
    handlers.ends.store(true, Ordering::SeqCst);
    let mut came = handlers.came.iter().filter(|(_, came)| came.swap(false, Ordering::SeqCst));
    let wish = came.next().map(|(wish, _)| *wish);
    (done, wish)
}

#[cfg(test)]
mod tests {
    use signal_hook::low_level::raise;

    use super::*;

    #[test]
    fn a_signal_waits_for_the_end_of_what_is_done_and_is_told_then() {
        for (signal, expected) in [(SIGINT, Interrupt::Interrupt), (SIGTERM, Interrupt::Terminate)] {
            // Handled by this thread before it goes on.
            assert_eq!(held(|| raise(signal).is_ok()), (true, Some(expected)));
        }
        assert_eq!(held(|| 7), (7, None), "told once");
    }
}
