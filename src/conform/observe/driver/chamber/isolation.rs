//! What this machine can shut off.

use std::ffi::OsStr;
use std::io;
use std::time::Duration;

use tokio::sync::OnceCell;

use crate::system::process::{Command, ProcessExit, capture};
use crate::system::{env, isolation};

/// The program that makes namespaces, of util-linux.
pub(super) const UNSHARE: &str = "unshare";
/// What gives a process mounts, processes, shared memory with its queues, and a host name of its own, which die with it and
/// with us: with powers that count in them alone, and, for root where that is forbidden, without.
const OWN_PROCESSES: [&[&str]; 2] = [
    &["-r", "-m", "-p", "-i", "-u", "-f", "--kill-child", "--mount-proc"],
    &["-m", "-p", "-i", "-u", "-f", "--kill-child", "--mount-proc"],
];
/// What gives us a network of our own: as root, and as anybody else.
const OWN_NETWORK: [&[&str]; 2] = [&["-n"], &["-r", "-n"]];
/// Set in a judge that has withdrawn.
const WITHDRAWN: &str = "LOA_CONFORM_WITHDRAWN";
/// How long a trial of the host's abilities may take.
const TRIAL: Duration = Duration::from_secs(10);

/// What is shut off here. What is not is said in the row: nothing about it was observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Isolation {
    /// No other host can be reached.
    pub network: bool,
    /// Each case has processes, mounts and `/tmp` of its own.
    pub processes: bool,
    /// How `unshare` gives it these.
    pub(super) flags: &'static [&'static str],
}

impl Isolation {
    /// Finds it out; once a process is enough.
    pub async fn here() -> Self {
        static HERE: OnceCell<Isolation> = OnceCell::const_new();
        let look = async || {
            let flags = first_that_works(&OWN_PROCESSES).await;
            Self { network: !isolation::has_way_out(), processes: flags.is_some(), flags: flags.unwrap_or_default() }
        };
        *HERE.get_or_init(look).await
    }

    /// Nothing is shut off.
    pub(in crate::conform) const NONE: Self = Self { network: false, processes: false, flags: &[] };

    /// What could not be shut off from a runtime, a sentence each. Its network is its own affair.
    pub(in crate::conform) fn missing_for_runtimes(self) -> Option<&'static str> {
        let processes = "processes, mounts and /tmp: shared with the host; what the runtime changed outside of its case was not \
                         observed, and of what it left only what still descends from the case's keeper";
        (!self.processes).then_some(processes)
    }

    /// What could not be shut off from an agent, a sentence each.
    #[must_use]
    pub fn missing(self) -> Vec<&'static str> {
        let network = "network: shared with the host; whether the agent called others was not observed";
        let processes = "processes and /tmp: shared with the host; leftovers are those that still descend from the case's \
                         keeper";
        [(self.network, network), (self.processes, processes)]
            .into_iter()
            .filter_map(|(has, text)| (!has).then_some(text))
            .collect()
    }
}

/// Takes the judge into a network of its own, where it and its agents find each other on loopback and nothing else: becomes
/// the same program with the same arguments inside. Returns when that has happened, when there is nothing to withdraw from,
/// or when the machine does not allow it; [`Isolation::here`] knows which.
///
/// # Errors
/// When the network is ours, but its loopback device cannot be switched on.
pub(in crate::conform) async fn withdraw() -> io::Result<()> {
    if env::var(WITHDRAWN).is_some() {
        return isolation::raise_loopback();
    }
    if isolation::has_way_out()
        && let Some(flags) = first_that_works(&OWN_NETWORK).await
    {
        let us = [env::current_exe()?.into_os_string()];
        let words = us.into_iter().chain(std::env::args_os().skip(1));
        let command = Command::new(UNSHARE).args(flags).args([OsStr::new("--")]).args(words);
        return Err(command.env(WITHDRAWN, "1").replace_us());
    }
    Ok(())
}

/// The first flags with which `unshare` can start anything.
async fn first_that_works(tries: &[&'static [&'static str]]) -> Option<&'static [&'static str]> {
    for flags in tries {
        let command = Command::new(UNSHARE).args(*flags).args(["--", "true"]);
        if matches!(capture(&command, 0, TRIAL).await.exit, ProcessExit::Exited(0)) {
            return Some(flags);
        }
    }
    None
}
