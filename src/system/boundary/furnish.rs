//! What a keeper does before anybody else is behind the boundary: hides the state, and gives the means to undo that away.

use std::fs;
use std::io;
use std::path::Path;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::CapabilitySet;

use super::words::View;
use crate::system::isolation::{give_up, hide, own_copies};

/// Where the client of SSH keeps settings that it reads only from files of root or of the user.
const SSH_SETTINGS: &str = "/etc/ssh/ssh_config.d";
/// Powers that reach around what is shown: into other namespaces, the memory of processes, the kernel, and devices.
const REACHING: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::SYS_PTRACE)
    .union(CapabilitySet::SYS_MODULE)
    .union(CapabilitySet::SYS_RAWIO)
    .union(CapabilitySet::SYS_BOOT)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::MKNOD)
    .union(CapabilitySet::BPF)
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::CHECKPOINT_RESTORE)
    .union(CapabilitySet::MAC_ADMIN)
    .union(CapabilitySet::MAC_OVERRIDE)
    .union(CapabilitySet::SYSLOG);

/// Lays the view out.
pub(super) fn furnish(view: &View) -> io::Result<()> {
    for place in &view.hidden {
        hide(place, &view.shown).map_err(|error| said(&error, &format!("cannot hide {}", place.display())))?;
    }
    if is_root_a_stranger() {
        own_copies(Path::new(SSH_SETTINGS)).map_err(|error| said(&error, &format!("cannot show {SSH_SETTINGS}")))?;
        give_up(CapabilitySet::all())?;
    } else {
        // The files of other users are still root's to work on.
        give_up(REACHING)?;
    }
    // Of the same user, and yet closed to whatever it starts: its memory, its descriptors, its environment.
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Whether the files of root are shown as nobody's, as in a namespace that knows one user alone.
fn is_root_a_stranger() -> bool {
    let users = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    !users.lines().any(|line| line.split_whitespace().next() == Some("0"))
}

fn said(error: &io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}
