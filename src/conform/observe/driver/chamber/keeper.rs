//! The first process of a chamber: our own program with a hidden argument. It starts what the judge orders, passes signals on,
//! buries orphans, and takes everything with it when the judge is gone.
//!
//! What runs in a chamber is its child and not itself the first process, whom the kernel spares signals that it has not asked
//! for.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Signal, setsid};
use tokio::net::UnixStream;
use tokio::select;
use tokio::signal::unix::{SignalKind, signal};

use super::words::{End, Mounts, Order, Word, line, next};
use crate::conform::observe::census::below_us;
use crate::system::isolation::{cover, give_up_powers, only_harmless_devices, part_from_the_machine, protect, show};
use crate::system::process::{Command, Foster, ProcessExit, bury, hand_over, take_over, take_up_orphans};

/// The hidden first argument that makes our program a keeper.
pub const CHAMBER: &str = "__chamber";
/// How long the dying may take.
const DYING: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(10);
/// The exit code of a keeper that could not do its work.
const BROKEN: u8 = 70;

/// The keeper's whole life; `arguments` follow [`CHAMBER`]. Returns the exit code to end with when the judge hangs up, and
/// the end of a namespace's first process is the end of all.
#[must_use]
pub fn keep(arguments: &[String]) -> u8 {
    let [socket] = arguments else { return BROKEN };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime.and_then(|runtime| runtime.block_on(serve(Path::new(socket))));
    end_all();
    if done.is_ok() { 0 } else { BROKEN }
}

async fn serve(socket: &Path) -> io::Result<()> {
    // Without a terminal. Fails for the leader of a group, which has none of its own to lose.
    let _ = setsid();
    take_up_orphans()?;
    let mut ended = signal(SignalKind::child())?;
    let stream = UnixStream::connect(socket).await?;
    let mut keeper = Keeper { stream, children: BTreeMap::new() };
    let (mut bytes, mut handed) = (Vec::new(), Vec::new());
    loop {
        select! {
            _ = ended.recv() => keeper.bury().await?,
            came = take_over(&keeper.stream, &mut bytes, &mut handed) => {
                if !came? {
                    return Ok(());
                }
                while let Some(order) = next(&mut bytes) {
                    keeper.follow(order?, &mut handed).await?;
                }
            }
        }
    }
}

struct Keeper {
    stream: UnixStream,
    /// By the number of their order.
    children: BTreeMap<u64, Foster>,
}

impl Keeper {
    async fn follow(&mut self, order: Order, handed: &mut Vec<OwnedFd>) -> io::Result<()> {
        match order {
            Order::Furnish(mounts) => {
                let problem = mounts.and_then(|mounts| furnish(&mounts).err());
                self.say(&Word::Furnished(problem.map(|error| error.to_string()))).await
            }
            Order::Start { number, argv, env, folder } => {
                let started = outlets(handed).and_then(|outlets| {
                    let (program, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
                    let command = Command::new(program).args(arguments).env_clear().folder(&folder);
                    env.iter().fold(command, |command, (name, value)| command.env(name, value)).foster(outlets)
                });
                match started {
                    Ok(child) => {
                        let id = child.id();
                        self.children.insert(number, child);
                        self.say(&Word::Started { number, id }).await
                    }
                    Err(error) => self.say(&Word::NotStarted { number, why: error.to_string() }).await,
                }
            }
            Order::Signal { number, signal, whole } => {
                if let (Some(child), Some(signal)) = (self.children.get(&number), Signal::from_named_raw(signal)) {
                    child.signal(signal, whole);
                }
                Ok(())
            }
        }
    }

    /// Tells the ends of those that were ordered. They are still known, for their groups may live on.
    async fn bury(&mut self) -> io::Result<()> {
        for (id, exit) in bury() {
            let number = self.children.iter().rev().find(|(_, child)| child.id() == id).map(|(number, _)| *number);
            let end = match exit {
                ProcessExit::Signalled(signal) => End::Signalled(signal),
                ProcessExit::Exited(code) => End::Exited(code),
                ProcessExit::SpawnFailed(_) => continue,
            };
            if let Some(number) = number {
                self.say(&Word::Ended { number, end }).await?;
            }
        }
        Ok(())
    }

    async fn say(&self, word: &Word) -> io::Result<()> {
        hand_over(&self.stream, &line(word), &[]).await
    }
}

/// The three descriptors that came with an order.
fn outlets(handed: &mut Vec<OwnedFd>) -> io::Result<[OwnedFd; 3]> {
    let three: Vec<OwnedFd> = handed.drain(..handed.len().min(3)).collect();
    three.try_into().map_err(|_| io::Error::other("the judge handed over too few descriptors"))
}

/// Shows what is to be shown, and takes the means to change that from whatever is started from now on.
fn furnish(mounts: &Mounts) -> io::Result<()> {
    let Mounts { writable, temporary, kept, shown } = mounts;
    let [tmp, memory, terminals] = ["/tmp", "/dev/shm", "/dev/pts"].map(Path::new);
    cover(tmp, temporary, kept)?;
    // Places of their own, which can be left open when all others are closed.
    let writable: Vec<&Path> = writable.iter().map(PathBuf::as_path).filter(|place| place.is_dir()).collect();
    for place in &writable {
        show(place, place)?;
    }
    only_harmless_devices(Path::new("/dev"))?;
    part_from_the_machine(Path::new("/proc"))?;
    protect(&[&writable[..], &[tmp, memory, terminals]].concat())?;
    for (what, at) in shown.iter().filter(|(_, at)| at.exists()) {
        match show(what, at) {
            // Whoever made it has taken it away meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !at.exists() => {}
            done => done?,
        }
    }
    give_up_powers()
}

/// Ends everything below us. In a namespace of its own this is the kernel's work too; without one it is ours alone.
fn end_all() {
    let mut waited = Duration::ZERO;
    while waited < DYING {
        let left = below_us();
        if left.is_empty() {
            return;
        }
        for resident in &left {
            resident.signal(Signal::KILL);
        }
        sleep(LOOK);
        waited += LOOK;
        let _ = bury();
    }
}
