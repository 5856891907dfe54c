//! What shuts a process off from its host: a network without a way out, and places that are shown in another's stead.
//!
//! The namespaces themselves are made by the `unshare` program; here is what is done inside them. Linux only.
#![expect(clippy::disallowed_methods, reason = "mount points are made here")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Error};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, StatVfsMountFlags, open, statvfs};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_bind, mount_remount};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities,
};

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

/// The largest file that is copied, in bytes.
const LARGEST_COPY: u64 = 1 << 20;

/// The devices that do no harm.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// The links that programs expect beside them.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

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
    cover_by(place, kept, || show(with, place))
}

/// Covers a folder by whatever `lay` lays there, and lets those entries of it through that one of `kept` lies in.
fn cover_by(place: &Path, kept: &[PathBuf], lay: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
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
    lay()?;
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

/// Lays empty memory of its own over a folder that exists.
fn blank(place: &Path) -> io::Result<()> {
    Ok(mount("none", place, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=1777")?)
}

/// Shows an empty folder, in memory, in the place of `place`, but lets the folders `shown` through that lie in it. A place that
/// is not there needs no hiding.
///
/// # Errors
/// As for [`show`]; `shown` must be there.
pub(in crate::system) fn hide(place: &Path, shown: &[PathBuf]) -> io::Result<()> {
    let Ok(place) = place.canonicalize() else { return Ok(()) };
    // By the names that the links in them lead to, and held open: they cannot be named any more once the place is covered.
    let mut kept = Vec::new();
    for folder in shown {
        let folder = folder.canonicalize()?;
        if folder.starts_with(&place) {
            let held = open(&folder, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
            kept.push((folder, held));
        }
    }
    mount("none", &place, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=0700")?;
    for (folder, held) in kept {
        fs::create_dir_all(&folder)?;
        show(Path::new(&format!("/proc/self/fd/{}", held.as_raw_fd())), &folder)?;
    }
    Ok(())
}

/// Shows copies of the files in a folder in their place, which are ours: for programs that trust files of root or of the user
/// alone, where root is nobody. A folder that is not there, or may not be read, is left as it is.
///
/// # Errors
/// As for [`show`].
pub(in crate::system) fn own_copies(folder: &Path) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    let copies: Vec<(PathBuf, Vec<u8>)> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= LARGEST_COPY))
        .filter_map(|path| fs::read(&path).ok().map(|bytes| (path, bytes)))
        .collect();
    if copies.is_empty() {
        return Ok(());
    }
    mount("none", folder, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=0755")?;
    copies.into_iter().try_for_each(|(path, bytes)| fs::write(path, bytes))
}

/// Leaves of a `/dev` the nodes that do no harm, as far as the host has them, with terminals and shared memory of its own.
///
/// # Errors
/// As for [`show`].
pub fn only_harmless_devices(dev: &Path) -> io::Result<()> {
    cover_by(dev, &DEVICES.map(|name| dev.join(name)), || blank(dev))?;
    for (name, to) in DEVICE_LINKS {
        std::os::unix::fs::symlink(to, dev.join(name))?;
    }
    for name in ["shm", "pts"] {
        fs::create_dir(dev.join(name))?;
    }
    blank(&dev.join("shm"))?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    Ok(mount("devpts", dev.join("pts"), "devpts", flags, c"newinstance,ptmxmode=0666,mode=0620")?)
}

/// Gives what a `/proc` says of the machine, instead of a process, a mount of its own, which can then be made read-only.
///
/// # Errors
/// As for [`show`].
pub fn part_from_the_machine(proc: &Path) -> io::Result<()> {
    for entry in fs::read_dir(proc)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        let is_process = entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok());
        let can_be_written = metadata.is_dir() || (metadata.is_file() && metadata.mode() & 0o222 != 0);
        if can_be_written && !is_process {
            show(&entry.path(), &entry.path())?;
        }
    }
    Ok(())
}

/// Makes everything read-only that we see mounted, but `/proc` itself and what is mounted at one of these places.
///
/// # Errors
/// As for [`show`]; names the place that stayed writable.
pub fn protect(but: &[&Path]) -> io::Result<()> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    for Mounted { place, flags } in mounts.lines().filter_map(Mounted::parse) {
        if place == Path::new("/proc") || but.contains(&place.as_path()) {
            continue;
        }
        // What something else is shown in the place of can neither be named nor changed any more.
        let Ok(found) = statvfs(&place) else { continue };
        if found.f_flag.contains(StatVfsMountFlags::RDONLY) {
            continue;
        }
        match mount_remount(&place, flags | MountFlags::BIND | MountFlags::RDONLY, c"") {
            Ok(()) | Err(Errno::INVAL) => {}
            Err(error) => return Err(Error::other(format!("{} stays writable: {error}", place.display()))),
        }
    }
    Ok(())
}

/// One line of `/proc/self/mountinfo`.
#[derive(Debug, PartialEq)]
struct Mounted {
    place: PathBuf,
    /// What must stay as it is when it is mounted anew.
    flags: MountFlags,
}

impl Mounted {
    /// `id parent device root place options …`
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split(' ').skip(4);
        let place = PathBuf::from(unescaped(fields.next()?));
        let options = fields.next()?;
        let known = [("nosuid", MountFlags::NOSUID), ("nodev", MountFlags::NODEV), ("noexec", MountFlags::NOEXEC)];
        let set = known.into_iter().filter(|(name, _)| options.split(',').any(|option| option == *name));
        Some(Self { place, flags: set.fold(MountFlags::empty(), |flags, (_, flag)| flags | flag) })
    }
}

/// A text in which the kernel wrote a backslash and three octal digits for a blank and the like.
fn unescaped(text: &str) -> OsString {
    let mut parts = text.split('\\');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(3).unwrap_or((part, ""));
        bytes.extend(u8::from_str_radix(digits, 8).ok());
        bytes.extend_from_slice(rest.as_bytes());
    }
    OsString::from_vec(bytes)
}

/// Takes every special power from whatever we start from now on, root or not: it can mount nothing, so that what is shown to
/// it stays shown.
///
/// # Errors
/// When the powers are not ours to take.
pub fn give_up_powers() -> io::Result<()> {
    give_up(CapabilitySet::all())
}

/// Takes these powers from whatever we start from now on; nothing of ours is handed down to it beside what root has anyway.
///
/// # Errors
/// As for [`give_up_powers`].
pub(in crate::system) fn give_up(powers: CapabilitySet) -> io::Result<()> {
    clear_ambient_capability_set()?;
    let ours = capabilities(None)?;
    set_capabilities(None, CapabilitySets { inheritable: CapabilitySet::empty(), ..ours })?;
    for power in powers.iter() {
        match remove_capability_from_bounding_set(power) {
            // An older kernel does not know it, and gives it to nobody.
            Ok(()) | Err(Errno::INVAL) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The sockets with a path in the network of this host's first process, which is not ours once we have withdrawn; `None` where
/// the host does not show them.
#[must_use]
pub fn path_sockets() -> Option<Vec<PathBuf>> {
    let table = fs::read_to_string("/proc/1/net/unix").ok()?;
    Some(table.lines().filter_map(|line| Some(PathBuf::from(&line[line.find(" /")? + 1..]))).collect())
}

/// The named pipes that a process of this host holds open, as far as we may look. Nobody hears what is written to another one.
#[must_use]
pub fn named_pipes() -> BTreeSet<PathBuf> {
    let entries = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let is_process = |name: OsString| name.to_str().is_some_and(|name| name.parse::<u32>().is_ok());
    let processes = entries("/proc".into()).filter(|entry| is_process(entry.file_name()));
    let open = processes.flat_map(|process| entries(process.path().join("fd")));
    // What has no name leads to no path.
    let named = open.filter_map(|open| fs::read_link(open.path()).ok()).filter(|path| path.is_absolute());
    let named: BTreeSet<PathBuf> = named.collect();
    named.into_iter().filter(|path| fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_kernels_table_names_a_place_and_what_must_stay() {
        let line = r"36 35 98:0 /mnt1 /mnt/a\040b rw,nosuid,noexec,noatime master:1 - ext3 /dev/root rw";
        let expected = Mounted { place: "/mnt/a b".into(), flags: MountFlags::NOSUID | MountFlags::NOEXEC };
        assert_eq!(Mounted::parse(line), Some(expected));
        assert_eq!(Mounted::parse("36 35 98:0"), None);
    }
}
