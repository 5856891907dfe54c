//! How a child ended. A signal is never an exit code: `128 + n` is a shell's habit, not a fact.

use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// How a child ended, or that it never began.
#[derive(Debug)]
pub enum ProcessExit {
    /// It returned this code.
    Exited(i32),
    /// It died by this signal's number.
    Signalled(i32),
    /// It could not be started.
    SpawnFailed(io::Error),
}

impl From<ExitStatus> for ProcessExit {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Exited(code),
            (None, signal) => Self::Signalled(signal.unwrap_or(0)),
        }
    }
}

impl fmt::Display for ProcessExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit {code}"),
            Self::Signalled(signal) => write!(f, "killed by {}", signal_name(*signal)),
            Self::SpawnFailed(error) => write!(f, "could not be started: {error}"),
        }
    }
}

const NAMES: &[(i32, &str)] = &[
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (13, "SIGPIPE"),
    (14, "SIGALRM"),
    (15, "SIGTERM"),
];

/// The signal's name, such as `SIGKILL`; `SIG<n>` for those whose number differs between hosts and that have no entry.
#[must_use]
pub fn signal_name(number: i32) -> String {
    use rustix::process::Signal;
    let varying = [
        (Signal::BUS, "SIGBUS"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
        (Signal::SYS, "SIGSYS"),
    ];
    let fixed = NAMES.iter().find(|(known, _)| *known == number).map(|(_, name)| (*name).to_owned());
    fixed
        .or_else(|| varying.iter().find(|(known, _)| known.as_raw() == number).map(|(_, name)| (*name).to_owned()))
        .unwrap_or_else(|| format!("SIG{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_names() {
        for (number, name) in [(9, "SIGKILL"), (15, "SIGTERM"), (11, "SIGSEGV"), (64, "SIG64")] {
            assert_eq!(signal_name(number), name);
        }
        assert_eq!(signal_name(rustix::process::Signal::XFSZ.as_raw()), "SIGXFSZ");
    }
}
