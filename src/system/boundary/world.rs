//! A boundary, seen from whoever has things done behind it.

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::gateway::{self, Gateway};
use super::keeper::BOUNDARY;
use super::ways;
use super::words::{Answer, DONE, Network, Order, Start, View, receive};
use crate::system::env;
use crate::system::keys;
use crate::system::process::own::Own;
use crate::system::process::{Command, Fostered, Outlets, Reach, hear_end};
use crate::system::usage::{self, Usage};
use rustix::process::{Pid, Signal, kill_process_group, pidfd_send_signal};

/// The program that makes namespaces, of util-linux.
const UNSHARE: &str = "unshare";
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Mounts and processes of its own, which die with the first of them, and that one with `unshare`. What the host mounts later
/// is seen there too.
const OWN: [&str; 7] = ["-m", "-p", "-f", "--kill-child", "--mount-proc", "--propagation", "slave"];
/// A network of its own.
const OWN_NETWORK: [&str; 1] = ["-n"];
/// The same user, with powers that count in these namespaces alone.
const SAME_USER: [&str; 3] = ["-U", "-c", "--keep-caps"];
/// How long a keeper may take to answer.
const ANSWERS: Duration = Duration::from_secs(20);

/// A boundary. Its last copy dropped, everything behind it ends.
#[derive(Debug, Clone)]
pub struct Boundary(Arc<World>);

#[derive(Debug)]
struct World {
    /// `None` when it is being closed.
    door: Mutex<Option<UnixStream>>,
    child: Mutex<Child>,
    /// There where there is a gateway: while it is, connections are brought there.
    way: OnceLock<UnixStream>,
    _own: Own,
}

impl Drop for World {
    fn drop(&mut self) {
        unpoisoned(&self.door).take();
        let _ = unpoisoned(&self.child).wait();
    }
}

fn unpoisoned<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Boundary {
    /// Makes one; `program` is our own file. For root without namespaces of users, and where that is refused, and for others,
    /// with one.
    ///
    /// # Errors
    /// Why this host cannot, in one line.
    pub fn open(program: &Path, view: &View) -> Result<Self, String> {
        let network = if view.network == Network::Host { &[][..] } else { &OWN_NETWORK };
        let as_root = (env::user_id() == 0).then(|| Self::made(program, view, &[&OWN[..], network].concat()));
        match as_root {
            Some(Ok(made)) => Ok(made),
            _ => Self::made(program, view, &[&SAME_USER[..], &OWN, network].concat()),
        }
    }

    fn made(program: &Path, view: &View, flags: &[&str]) -> Result<Self, String> {
        let (ours, theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
        let path = env::var("PATH").unwrap_or_else(|| DEFAULT_PATH.to_owned());
        let command = Command::new(UNSHARE).args(flags).args(["--"]).args([program]).args([BOUNDARY]);
        // Without our environment, which could be read from it.
        let mut prepared = command.env_clear().env("PATH", path).folder("/").prepared();
        prepared.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = prepared.spawn().map_err(|error| format!("`{UNSHARE}` of util-linux: {error}"))?;
        // Ours was only lent to it: where both ends are ours, nobody hears of its end.
        drop(prepared);
        let said = child.stderr.take();
        let own = Own::mark(child.id());
        let (door, child) = (Mutex::new(Some(ours)), Mutex::new(child));
        let made = Self(Arc::new(World { door, child, way: OnceLock::new(), _own: own }));
        match made.furnish(view) {
            Ok(()) => Ok(made),
            Err(error) => {
                drop(made);
                let mut words = String::new();
                let _ = said.map(|said| said.take(4096).read_to_string(&mut words));
                let words = words.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
                Err(if words.is_empty() { error.to_string() } else { words.trim().to_owned() })
            }
        }
    }

    fn furnish(&self, view: &View) -> io::Result<()> {
        let ways = if view.strict { ways::known(env::user_id(), env::var) } else { Vec::new() };
        let mut answer = self.order(&Order::Furnish(view.clone(), ways), Vec::new())?;
        let mut said = vec![0; DONE.len()];
        let (count, handed) = receive(&answer, &mut said)?;
        said.truncate(count);
        answer.read_to_end(&mut said)?;
        match &said[..] {
            DONE => self.lead_out(&view.network, handed.into_iter().next()),
            [] => Err(io::Error::other("its first process ended")),
            why => Err(io::Error::other(String::from_utf8_lossy(why).into_owned())),
        }
    }

    /// Brings whoever connects to the port behind the boundary to the gateway, where there is one.
    fn lead_out(&self, network: &Network, port: Option<OwnedFd>) -> io::Result<()> {
        let Network::Gateway(gateway) = network else { return Ok(()) };
        let port = port.ok_or_else(|| io::Error::other("its first process opened no port to the gateway"))?;
        let (ours, theirs) = UnixStream::pair()?;
        gateway::serve(TcpListener::from(port), gateway.clone(), theirs)?;
        let _ = self.0.way.set(ours);
        Ok(())
    }

    /// Gives an order, and says where the answer comes.
    fn order(&self, order: &Order, with: Vec<OwnedFd>) -> io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(ANSWERS))?;
        let handed: Vec<OwnedFd> = [OwnedFd::from(theirs)].into_iter().chain(with).collect();
        let mut door = unpoisoned(&self.0.door);
        let door = door.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        door.set_write_timeout(Some(ANSWERS))?;
        order.send(door, &handed)?;
        Ok(ours)
    }

    /// Whether it is still there.
    #[must_use]
    pub fn lives(&self) -> bool {
        unpoisoned(&self.0.child).try_wait().is_ok_and(|status| status.is_none())
    }

    /// What everything behind it takes, but its first process.
    #[must_use]
    pub fn usage(&self) -> Usage {
        usage::below_children_of(unpoisoned(&self.0.child).id())
    }

    /// Starts a program behind it, in a group of its own. Needs the runtime.
    pub(in crate::system) fn start(&self, mut start: Start, outlets: Outlets) -> io::Result<Fostered> {
        if self.0.way.get().is_some() {
            start.env.retain(|(name, _)| !Gateway::variables().any(|(own, _)| name == own));
            start.env.extend(Gateway::variables().map(|(name, value)| (name.into(), value.into())));
        }
        let mut answer = self.order(&Order::Start(start), outlets.into())?;
        let mut bytes = [0; Answer::LENGTH];
        let (count, mut handed) = receive(&answer, &mut bytes)?;
        let said = (count == bytes.len()).then(|| Answer::of(bytes)).flatten();
        let pinned = match (said, handed.pop()) {
            (Some(Answer::Started), Some(pinned)) => pinned,
            (Some(Answer::Failed(why)), _) => return Err(io::Error::from_raw_os_error(why)),
            _ => return Err(io::Error::other("the first process behind the boundary is gone")),
        };
        let id = number_of(&pinned)?;
        answer.write_all(&[1])?;
        let ending = hear_end(answer, |bytes| Answer::of(bytes)?.exit())?;
        Ok(Fostered { id, ending, reach: Arc::new(Near { pinned, id }) })
    }

    /// Ends everything behind it, and says how many processes there were; none where it is not there any more.
    #[must_use]
    pub fn clear(&self) -> usize {
        let mut count = [0; 8];
        let cleared = self.order(&Order::Clear, Vec::new()).and_then(|mut answer| answer.read_exact(&mut count));
        if cleared.is_ok() { usize::try_from(u64::from_le_bytes(count)).unwrap_or(usize::MAX) } else { 0 }
    }
}

/// The number of a process as we see it.
fn number_of(pinned: &OwnedFd) -> io::Result<u32> {
    let path = format!("/proc/self/fdinfo/{}", pinned.as_raw_fd());
    let told = match fs::read_to_string(&path) {
        // Kernels before 5.14 keep it from whoever is closed to others, as we are where we keep keys.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => keys::while_open(|| fs::read_to_string(&path)),
        told => told,
    }?;
    let number = told.lines().find_map(|line| line.strip_prefix("Pid:")).and_then(|number| number.trim().parse().ok());
    number.filter(|number| *number > 0).ok_or_else(|| io::Error::other("the host does not say which process it is"))
}

/// How a process behind the boundary is reached: as any other, for its number is ours too.
#[derive(Debug)]
struct Near {
    pinned: OwnedFd,
    id: u32,
}

impl Reach for Near {
    fn signal(&self, signal: Signal, whole: bool) {
        if !whole {
            // It may be gone, and its number with it: the descriptor knows.
            let _ = pidfd_send_signal(&self.pinned, signal);
        } else if let Some(group) = i32::try_from(self.id).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, signal);
        }
    }
}
