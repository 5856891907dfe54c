//! Who speaks as a phase: a living process that runs the judge's own program and no other code, and that took its line itself.
//!
//! That the program of a process is the judge's says little by itself. A library that the loader was told to load beforehand
//! runs inside of it; a tracer changes what it does; and whoever connects first and becomes the judge's program afterwards
//! leaves the line to somebody else. So the judge looks at what the kernel says of the process: what its code is mapped from,
//! whether that was changed, who traces it, and whether it holds its line in a way in which no line is inherited.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rustix::fs::OFlags;

use super::ProcessSeen;
use super::census::{self, Resident};

/// Who stands at the other end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Peer {
    /// The host does not show its processes.
    Unseen,
    /// It has ended already.
    Gone,
    /// A living process.
    Lives(Speaker),
}

impl Peer {
    /// The process of a number, where the kernel told one.
    pub(super) fn of(pid: Option<i32>) -> Self {
        let Some(pid) = pid.filter(|_| census::shows_processes()) else { return Self::Unseen };
        let Some(process) = Resident::of(pid) else { return Self::Gone };
        Self::Lives(Speaker { process, program: file_of(Path::new(&format!("/proc/{pid}/exe"))) })
    }
}

/// A living process that speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Speaker {
    process: Resident,
    /// The file that it runs, when the kernel tells it.
    program: Option<(u64, u64)>,
}

impl Speaker {
    /// Why it is none of the judge's phases, as far as its program tells.
    pub(super) fn runs_another(&self, program: &Path) -> Option<String> {
        let is_ours = self.program.is_some() && self.program == file_of(program);
        (!is_ours).then(|| "it runs another program".to_owned())
    }

    /// Why it may run more than its program, or another one: it is traced, or its code is not what the judge's is.
    pub(super) fn is_possessed(&self, code: &Code) -> Option<String> {
        let status = self.about("status");
        if tracer(&status).is_some_and(|tracer| tracer != 0) {
            return Some("another process traces it".to_owned());
        }
        foreign(&mappings(&memory(self.process.pid)), code)
    }

    /// Why the line with this number is not its own: it holds none, or one that outlives a change of its program, as those do
    /// that somebody else opened.
    pub(super) fn borrows(&self, line: u64) -> Option<String> {
        let wanted = format!("socket:[{line}]");
        let folder = format!("/proc/{}/fd", self.process.pid);
        let open = fs::read_dir(folder).into_iter().flatten().flatten();
        let ours: Vec<_> = open
            .filter(|entry| fs::read_link(entry.path()).is_ok_and(|target| target.as_os_str() == wanted.as_str()))
            .map(|entry| self.about(&format!("fdinfo/{}", entry.file_name().display())))
            .collect();
        let is_its_own = !ours.is_empty() && ours.iter().all(|info| is_closed_on_exec(info));
        (!is_its_own).then(|| "it speaks on a line that another program opened".to_owned())
    }

    /// Whether it lives still, as the same process.
    pub(super) fn lives(&self) -> bool {
        Resident::of(self.process.pid).is_some_and(|now| now.identity() == self.identity())
    }

    /// What tells it from every other process, also from one that gets its number later.
    pub(super) fn identity(&self) -> (i32, u64) {
        self.process.identity()
    }

    /// How it is told of, and why it is none.
    pub(super) fn seen(&self, why: &str) -> ProcessSeen {
        let mut seen = self.process.seen();
        seen.command = format!("{} ({why})", seen.command);
        seen
    }

    fn about(&self, what: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{what}", self.process.pid)).unwrap_or_default()
    }
}

/// The files that code may come from, by device and number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Code(BTreeSet<(String, String)>);

impl Code {
    /// The code of a process that the judge itself started, with nothing in its environment.
    pub(super) fn of(pid: i32) -> Self {
        Self::told(&memory(pid))
    }

    /// The code that such a process tells of itself.
    pub(super) fn told(maps: &str) -> Self {
        Self(mappings(maps).into_iter().filter(|it| it.inode != "0").map(|it| (it.device, it.inode)).collect())
    }

    /// The code of either.
    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0.into_iter().chain(other.0).collect())
    }
}

/// A part of a process's memory that can be executed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mapping {
    device: String,
    inode: String,
    path: String,
    /// Whether some of it is no longer what the file holds.
    changed: bool,
}

/// What can be executed, as `/proc/PID/smaps` says it, or `maps` where there is no other.
fn mappings(smaps: &str) -> Vec<Mapping> {
    let mut found: Vec<Mapping> = Vec::new();
    let mut is_code = false;
    for line in smaps.lines() {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        if first == "Anonymous:" {
            let size = words.next().unwrap_or_default();
            if let Some(last) = found.last_mut().filter(|_| is_code) {
                last.changed = size != "0";
            }
            continue;
        }
        let [Some(rights), Some(_), Some(device), Some(inode)] = [0; 4].map(|_| words.next()) else { continue };
        if !first.contains('-') {
            continue;
        }
        is_code = rights.contains('x');
        if is_code {
            let path = words.collect::<Vec<_>>().join(" ");
            found.push(Mapping { device: device.to_owned(), inode: inode.to_owned(), path, changed: false });
        }
    }
    found
}

/// Why a process with this memory runs other code than this, if it can.
fn foreign(memory: &[Mapping], code: &Code) -> Option<String> {
    if memory.is_empty() {
        return Some("the host does not show its code".to_owned());
    }
    // What the kernel itself lays into every process.
    let is_kernels = |it: &&Mapping| it.inode == "0" && matches!(it.path.as_str(), "[vdso]" | "[vsyscall]");
    memory.iter().filter(|it| !is_kernels(it)).find_map(|it| {
        let is_known = code.0.contains(&(it.device.clone(), it.inode.clone()));
        match () {
            () if it.inode == "0" => Some("it runs code that lies in no file".to_owned()),
            () if !is_known => Some(format!("it runs code of {}", it.path)),
            () if it.changed => Some(format!("its code was changed, that of {}", it.path)),
            () => None,
        }
    })
}

/// The memory of a process; that of one that is gone is empty.
fn memory(pid: i32) -> String {
    let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).ok();
    read("smaps").or_else(|| read("maps")).unwrap_or_default()
}

fn tracer(status: &str) -> Option<u32> {
    status.lines().find_map(|line| line.strip_prefix("TracerPid:"))?.trim().parse().ok()
}

fn is_closed_on_exec(fdinfo: &str) -> bool {
    let flags = fdinfo.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & OFlags::CLOEXEC.bits() != 0)
}

/// Which file a path leads to.
fn file_of(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    const PLAIN: &str = "\
55d0-55d1 r--p 00000000 08:01 11                         /judge/step
Anonymous:             8 kB
55d1-55d2 r-xp 00001000 08:01 11                         /judge/step
Size:               1000 kB
Anonymous:             0 kB
7f00-7f01 rw-p 00000000 00:00 0                          [heap]
Anonymous:            12 kB
7f10-7f11 r-xp 00000000 08:01 22                         /usr/lib/lib c.so.6
Anonymous:             0 kB
7ffe-7fff r-xp 00000000 00:00 0                          [vdso]
Anonymous:             4 kB
";

    #[test]
    fn no_other_code_than_the_judges_is_a_phases() {
        let code = Code::told(PLAIN);
        let says = |memory: &str| foreign(&mappings(memory), &code).unwrap_or_default();
        assert_eq!(says(PLAIN), "");
        for (more, why) in [
            (
                "7f20-7f21 r-xp 00000000 08:01 33   /home/x/forge.so\nAnonymous: 0 kB\n",
                "it runs code of /home/x/forge.so",
            ),
            ("7f20-7f21 r-xp 00000000 09:01 22   /usr/lib/libc.so.6\n", "it runs code of /usr/lib/libc.so.6"),
            ("7f20-7f21 rwxp 00000000 00:00 0 \n", "it runs code that lies in no file"),
            ("7f20-7f21 r-xp 00000000 00:00 0   [heap]\n", "it runs code that lies in no file"),
            ("7f20-7f21 r-xp 00000000 00:01 5   /memfd:x (deleted)\n", "it runs code of /memfd:x (deleted)"),
            (
                "7f20-7f21 r-xp 00001000 08:01 11   /judge/step\nAnonymous: 4 kB\n",
                "its code was changed, that of /judge/step",
            ),
        ] {
            assert_eq!(says(&format!("{PLAIN}{more}")), why);
        }
        assert_eq!(says(""), "the host does not show its code");
        assert_eq!(tracer("Name:\tx\nTracerPid:\t7\n"), Some(7));
    }

    #[test]
    fn a_line_is_its_own_who_opened_it_and_nobody_elses() {
        let Peer::Lives(us) = Peer::of(Some(rustix::process::getpid().as_raw_nonzero().get())) else {
            panic!("we live")
        };
        let (ours, _theirs) = UnixStream::pair().expect("a pair");
        let number = rustix::fs::fstat(&ours).expect("open").st_ino;
        assert_eq!(us.borrows(number), None);
        rustix::io::fcntl_setfd(ours.as_fd(), rustix::io::FdFlags::empty()).expect("set");
        assert!(us.borrows(number).is_some(), "it would outlive a change of the program");
        drop(ours);
        assert!(us.borrows(number).is_some(), "it is not there");
    }

    #[test]
    fn what_we_run_is_our_code_and_we_are_not_possessed() {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let Peer::Lives(us) = Peer::of(Some(pid)) else { panic!("we live") };
        assert_eq!(us.is_possessed(&Code::of(pid)), None);
        assert!(us.is_possessed(&Code::default()).is_some_and(|why| why.starts_with("it runs code of /")));
    }
}
