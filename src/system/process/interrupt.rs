//! Signals that others send to us.

use std::io;

use serde::{Deserialize, Serialize};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A wish that we end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interrupt {
    /// SIGINT: somebody pressed Ctrl-C.
    Interrupt,
    /// SIGTERM: the host or a supervisor.
    Terminate,
}

/// Listens to SIGINT and SIGTERM from its creation on. Also takes SIGXFSZ, so that a write beyond a file size limit is
/// an error to report and not our death.
#[derive(Debug)]
pub struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    _hangup: Option<Signal>,
    _file_size: Signal,
}

impl Interrupts {
    /// Begins to listen; needs the runtime.
    ///
    /// # Errors
    /// When the host refuses a handler.
    pub fn listen() -> io::Result<Self> {
        let file_size = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            _hangup: None,
            _file_size: signal(file_size)?,
        })
    }

    /// Also takes SIGHUP from now on: the terminal may be closed, and the work goes on.
    ///
    /// # Errors
    /// As [`Interrupts::listen`].
    pub fn outliving_the_terminal(self) -> io::Result<Self> {
        Ok(Self { _hangup: Some(signal(SignalKind::hangup())?), ..self })
    }

    /// The next wish. May be dropped and called again without losing one.
    pub async fn next(&mut self) -> Interrupt {
        tokio::select! {
            _ = self.interrupt.recv() => Interrupt::Interrupt,
            _ = self.terminate.recv() => Interrupt::Terminate,
        }
    }
}
