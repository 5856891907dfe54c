//! What a keeper does before anybody else is behind the boundary: hides the state, and gives the means to undo that away.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::CapabilitySet;

use super::gateway;
use super::words::{Network, View};
use crate::system::isolation::{give_up, has_way_out, hide, own_copies, raise_loopback, show};

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

/// Lays the view out. The port to the gateway, where there is one, is for whoever is outside.
pub(super) fn furnish(view: &View, ways: &[PathBuf]) -> io::Result<Option<TcpListener>> {
    let port = part_from_the_network(&view.network)?;
    for place in &view.hidden {
        hide(place, &view.shown).map_err(|error| said(&error, &format!("cannot hide {}", place.display())))?;
    }
    for way in ways {
        mask(way).map_err(|error| said(&error, &format!("cannot take {} away", way.display())))?;
    }
    if is_root_a_stranger() {
        own_copies(Path::new(SSH_SETTINGS)).map_err(|error| said(&error, &format!("cannot show {SSH_SETTINGS}")))?;
        give_up(CapabilitySet::all())?;
    } else {
        // The files of other users are still root's to work on.
        give_up(if view.network == Network::Host { REACHING } else { REACHING.union(CapabilitySet::NET_ADMIN) })?;
    }
    // Of the same user, and yet closed to whatever it starts: its memory, its descriptors, its environment.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(port)
}

/// Lays an empty folder over a folder, and nothing over anything else. What is not there needs nothing.
fn mask(way: &Path) -> io::Result<()> {
    let Ok(way) = way.canonicalize() else { return Ok(()) };
    if way.is_dir() { hide(&way, &[]) } else { show(Path::new("/dev/null"), &way) }
}

/// Makes a network of our own one that can be worked in, and makes sure that it is one.
fn part_from_the_network(network: &Network) -> io::Result<Option<TcpListener>> {
    if *network == Network::Host {
        return Ok(None);
    }
    raise_loopback().map_err(|error| said(&error, "cannot switch the loopback device on"))?;
    if has_way_out() {
        return Err(io::Error::other("the network is still that of the host"));
    }
    let is_wanted = matches!(network, Network::Gateway(_));
    let port = is_wanted.then(gateway::open).transpose();
    port.map_err(|error| said(&error, "cannot open the port to the gateway"))
}

/// Whether the files of root are shown as nobody's, as in a namespace that knows one user alone.
fn is_root_a_stranger() -> bool {
    let users = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    !users.lines().any(|line| line.split_whitespace().next() == Some("0"))
}

fn said(error: &io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}
