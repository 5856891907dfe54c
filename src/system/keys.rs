//! Keys that stand in our environment: taken out of it, and kept where no other process finds them.
//!
//! What a program is started with can be read under `/proc` for as long as it lives, by it and by every process of the same
//! user, and the program cannot change that. So it becomes itself anew without the keys, and hands them to itself in a file
//! without a name, which is emptied when it is read. From then on no process without power over others reads our memory,
//! or traces us. Whatever we start is given a key only where that is said ([`super::process::Command::entrusted`]).
#![expect(clippy::disallowed_methods, reason = "this is where keys are taken out of the environment")]

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::sync::OnceLock;

use super::process::own_id;

/// The variable that tells the program that we become where the keys are: our number, and that of the descriptor.
pub(in crate::system) const HANDED: &str = "LOA_HELD_KEYS";

static HELD: OnceLock<BTreeMap<OsString, OsString>> = OnceLock::new();

/// The keys that are kept, by the names of their variables.
pub(in crate::system) fn held() -> impl Iterator<Item = (&'static OsString, &'static OsString)> {
    HELD.get().into_iter().flatten()
}

/// The key that is kept for a variable.
pub(in crate::system) fn held_for(name: &str) -> Option<&'static OsString> {
    HELD.get()?.get(OsStr::new(name))
}

/// Takes up what we handed to ourselves. To be called before anything is started or asked of the environment.
///
/// # Errors
/// When it cannot be read: the keys are lost then.
pub fn take_up() -> io::Result<()> {
    let Some(handed) = std::env::var(HANDED).ok().and_then(|said| descriptor(&said, own_id())) else { return Ok(()) };
    close_to_others()?;
    let mut file = OpenOptions::new().read(true).write(true).open(format!("/proc/self/fd/{handed}"))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    // The descriptor that we were started with stays open, with nothing behind it.
    file.set_len(0)?;
    keep_from_children(handed);
    let _ = HELD.set(read(&bytes));
    Ok(())
}

/// Takes these variables out of our environment, where one of them is in it: becomes our own program anew, and does not return.
/// To be called before anything is started, for all of it begins anew. Returns where there is nothing to take out.
///
/// # Errors
/// When the host refuses. The keys are still in our environment then.
pub fn take_out(names: &[String]) -> io::Result<()> {
    let found: BTreeMap<OsString, OsString> =
        names.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect();
    if found.is_empty() {
        return Ok(());
    }
    let file = handed_down(&found)?;
    let mut arguments = std::env::args_os();
    let mut command = std::process::Command::new(std::env::current_exe()?);
    command.arg0(arguments.next().unwrap_or_default()).args(arguments);
    for name in found.keys() {
        command.env_remove(name);
    }
    command.env(HANDED, format!("{} {}", own_id(), file.as_raw_fd()));
    let refused = command.exec();
    // Nobody traces us all the same.
    close_to_others()?;
    Err(refused)
}

/// Nobody without power over others reads our memory or our environment, or traces us, from here on.
fn close_to_others() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    Ok(())
}

/// Does something for which the host asks that we are not closed to others, and closes us again.
#[cfg(target_os = "linux")]
pub(in crate::system) fn while_open<T>(what: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    use rustix::process::{DumpableBehavior, dumpable_behavior, set_dumpable_behavior};
    let before = dumpable_behavior()?;
    set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    let done = what();
    set_dumpable_behavior(before)?;
    done
}

#[cfg(not(target_os = "linux"))]
pub(in crate::system) fn while_open<T>(what: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    what()
}

/// A file without a name that outlives the change of our program, with these keys, and with those that we keep already.
#[cfg(target_os = "linux")]
fn handed_down(found: &BTreeMap<OsString, OsString>) -> io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create("keys", rustix::fs::MemfdFlags::empty())?);
    let mut keys = HELD.get().cloned().unwrap_or_default();
    keys.extend(found.clone());
    let pairs = keys.iter().flat_map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat());
    file.write_all(&pairs.collect::<Vec<u8>>())?;
    Ok(file)
}

#[cfg(not(target_os = "linux"))]
fn handed_down(_: &BTreeMap<OsString, OsString>) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The descriptor that is named, where the word is meant for the process of this number: one below us may have inherited it.
fn descriptor(said: &str, own: u32) -> Option<RawFd> {
    let (process, descriptor) = said.split_once(' ')?;
    (process.parse() == Ok(own)).then(|| descriptor.parse().ok()).flatten()
}

fn read(bytes: &[u8]) -> BTreeMap<OsString, OsString> {
    let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    let pairs = bytes.split(|byte| *byte == 0).filter_map(|pair| {
        let at = pair.iter().position(|byte| *byte == b'=')?;
        Some((text(&pair[..at]), text(&pair[at + 1..])))
    });
    pairs.collect()
}

/// Keeps one descriptor from whatever we start, and leaves the others as they are.
fn keep_from_children(descriptor: RawFd) {
    let open = fs::read_dir("/proc/self/fd").into_iter().flatten();
    let numbers = open.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut others: Vec<RawFd> = numbers.filter(|number| *number > descriptor).collect();
    others.sort_unstable();
    close_fds::set_fds_cloexec(descriptor, &others);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_handed_to_another_process_is_not_taken_up() {
        for (said, found) in [("7 3", Some(3)), ("8 3", None), ("7", None), ("", None), ("7 x", None)] {
            assert_eq!(descriptor(said, 7), found, "{said}");
        }
    }

    #[test]
    fn keys_are_read_as_they_were_written_whatever_is_in_them() {
        let keys = BTreeMap::from([("A".into(), "x=y\n".into()), ("B".into(), OsString::from_vec(vec![0xff]))]);
        let mut file = handed_down(&keys).expect("Linux");
        let mut bytes = Vec::new();
        std::io::Seek::rewind(&mut file).expect("rewound");
        file.read_to_end(&mut bytes).expect("read");
        assert_eq!(read(&bytes), keys);
    }
}
