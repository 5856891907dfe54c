//! What shuts a process off from its host: a network without a way out, and places that are shown in another's stead.
//!
//! The namespaces themselves are made by the `unshare` program; here is what is done inside them. Linux only.
#![expect(clippy::disallowed_methods, reason = "mount points are made here")]

use std::fs;
use std::io::{self, Error};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use rustix::mount::mount_bind;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};

/// The loopback device of every fresh network, by its number.
const LOOPBACK: i32 = 1;
/// `RTM_NEWLINK`: the message that changes a device.
const CHANGE_DEVICE: u16 = 16;
/// `NLM_F_REQUEST | NLM_F_ACK`.
const WITH_ANSWER: u16 = 5;
/// `IFF_UP`.
const UP: u32 = 1;
/// Where the error number stands in the kernel's answer.
const ERROR: std::ops::Range<usize> = 16..20;

/// Whether this process could reach another host: whether any route leads elsewhere than to itself.
#[must_use]
pub fn has_way_out() -> bool {
    let lines = |path: &str| fs::read_to_string(path).unwrap_or_default();
    // The first table names the device first and has a heading, the second names it last and has none.
    let is_way = |device: Option<&str>| device.is_some_and(|device| device != "lo");
    lines("/proc/self/net/route").lines().skip(1).any(|line| is_way(line.split_whitespace().next()))
        || lines("/proc/self/net/ipv6_route").lines().any(|line| is_way(line.split_whitespace().last()))
}

/// Switches the loopback device on, which a fresh network begins without.
///
/// # Errors
/// When the kernel refuses, above all because the network is not ours.
pub fn raise_loopback() -> io::Result<()> {
    // No protocol is the first of them, which is about devices and routes.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let mut message = Vec::with_capacity(32);
    message.extend(32_u32.to_ne_bytes());
    message.extend(CHANGE_DEVICE.to_ne_bytes());
    message.extend(WITH_ANSWER.to_ne_bytes());
    message.extend([0; 8]);
    message.extend([0; 4]);
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    sendto(&socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0; 128];
    let (_, length) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    let error = answer[..length].get(ERROR).and_then(|bytes| bytes.try_into().ok()).map_or(0, i32::from_ne_bytes);
    if error == 0 { Ok(()) } else { Err(Error::from_raw_os_error(-error)) }
}

/// Shows `from` in the place of `at`, which must exist, to us and to everything that we start from now on.
///
/// # Errors
/// When one of them is missing, or when the mounts that we see are not ours to change.
pub fn show(from: &Path, at: &Path) -> io::Result<()> {
    Ok(mount_bind(from, at)?)
}

/// Shows `with` in the place of the folder `place`, but lets those entries of it through that one of `kept` lies in.
///
/// # Errors
/// As for [`show`].
pub fn cover(place: &Path, with: &Path, kept: &[PathBuf]) -> io::Result<()> {
    let entry = |path: &PathBuf| Some(place.join(path.strip_prefix(place).ok()?.components().next()?));
    let mut entries: Vec<PathBuf> = kept.iter().filter_map(entry).filter(|entry| entry.exists()).collect();
    entries.sort();
    entries.dedup();
    // Held open, because they cannot be named any more once the place is covered.
    let held: Vec<OwnedFd> = entries
        .iter()
        .map(|entry| open(entry, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()))
        .collect::<Result<_, _>>()?;
    let folders: Vec<bool> = entries.iter().map(|entry| entry.is_dir()).collect();
    show(with, place)?;
    for ((entry, held), is_folder) in entries.iter().zip(&held).zip(folders) {
        if is_folder {
            fs::create_dir_all(entry)?;
        } else {
            fs::write(entry, b"")?;
        }
        show(Path::new(&format!("/proc/self/fd/{}", held.as_raw_fd())), entry)?;
    }
    Ok(())
}
