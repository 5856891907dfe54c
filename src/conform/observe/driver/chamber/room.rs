//! A chamber, seen from the judge.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use tokio::net::{UnixListener, UnixStream};
use tokio::select;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::isolation::{Isolation, UNSHARE};
use super::keeper::CHAMBER;
use super::words::{Mounts, Order, Word, line, next};
use crate::conform::observe::census::{self, Resident};
use crate::conform::observe::speaker::Code;
use crate::system::clock;
use crate::system::isolation::{named_pipes, path_sockets};
use crate::system::process::{
    Command, Event, Fostered, Outlets, Pipes, ProcessExit, Reach, Running, Talk, hand_over, take_over,
};
use crate::system::scratch::{self, ScratchError};
use crate::system::{env, ids};

/// How long the keeper may take to report, and to end.
const REPORTS: Duration = Duration::from_secs(20);
/// How long the asked may take to end before they are made to.
const GRACE: Duration = Duration::from_secs(1);
/// How often the dying are looked at.
const DYING: Duration = Duration::from_millis(5);
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A chamber to be made.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The judge's own program, by its absolute path.
    pub judge: PathBuf,
    /// The case's folder. It stays visible where it is and can be written; home and workspace are below it.
    pub root: PathBuf,
    /// Other folders that can be written.
    pub writable: Vec<PathBuf>,
    /// A folder below `root` that is `/tmp` inside, where the machine allows it.
    pub temporary: PathBuf,
    /// What must be visible although it may lie below `/tmp`: the program and what it may start.
    pub kept: Vec<PathBuf>,
    /// Files that are shown in the place of others, where the machine allows it: first the file, then where.
    pub shown: Vec<(PathBuf, PathBuf)>,
    /// Whether the host's sockets and pipes that a path leads to are closed, where the machine allows it.
    pub is_hermetic: bool,
}

/// What to start in a chamber.
#[derive(Debug, Clone)]
pub struct Call {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// The whole environment.
    pub env: BTreeMap<String, String>,
    /// The folder to start in.
    pub folder: PathBuf,
}

/// A chamber that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ChamberError {
    /// A file or folder of it.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// The socket or the keeper.
    #[error("cannot make a chamber in {}: {source}", root.display())]
    Host {
        /// The case's folder.
        root: PathBuf,
        /// What the host said.
        source: io::Error,
    },
    /// The keeper ended, or stayed silent.
    #[error("the chamber in {} has no keeper: {said}", root.display())]
    NoKeeper {
        /// The case's folder.
        root: PathBuf,
        /// What was heard instead.
        said: String,
    },
}

/// A place where processes run, shut off from the host as far as the machine allows. Dropped, everything inside dies.
#[derive(Debug)]
pub struct Chamber {
    orders: UnboundedSender<Message>,
    numbers: AtomicU64,
    /// The keeper, as we see it.
    keeper: i32,
    attending: JoinHandle<()>,
}

/// An order on its way, with the descriptors that go with it and whom its answer is for.
#[derive(Debug)]
struct Message {
    order: Order,
    handed: Vec<OwnedFd>,
    asked: Option<Asked>,
}

/// Who waits for the answers to a start.
#[derive(Debug)]
struct Asked {
    started: oneshot::Sender<Result<u32, String>>,
    ended: oneshot::Sender<ProcessExit>,
}

impl Chamber {
    /// Makes one, with what this machine can shut off.
    ///
    /// # Errors
    /// [`ChamberError`].
    pub async fn open(spec: &Spec, isolation: Isolation) -> Result<Self, ChamberError> {
        let host = |source| ChamberError::Host { root: spec.root.clone(), source };
        let silent = |said: String| ChamberError::NoKeeper { root: spec.root.clone(), said };
        scratch::lay(&spec.temporary.join(".keep"), b"")?;
        let socket = spec.root.join(format!("door-{:x}", ids::seed()));
        let listener = UnixListener::bind(&socket).map_err(host)?;
        let mut running = keeper(spec, &socket, isolation).spawn().map_err(host)?;
        let stream = select! {
            accepted = timeout(REPORTS, listener.accept()) => match accepted {
                Ok(accepted) => accepted.map_err(host)?.0,
                Err(_) => return Err(silent("it did not report".to_owned())),
            },
            said = last_words(&mut running) => return Err(silent(said)),
        };
        let Some(keeper) = stream.peer_cred().map_err(host)?.pid() else {
            return Err(silent("the host does not say who it is".to_owned()));
        };
        let (orders, wishes) = unbounded_channel();
        let mut line = Line { stream, bytes: Vec::new(), starting: BTreeMap::new(), running: BTreeMap::new() };
        line.furnish(isolation.processes.then(|| mounts(spec))).await.map_err(host)?;
        let attending = tokio::spawn(async move { line.attend(wishes, running).await });
        Ok(Self { orders, numbers: AtomicU64::new(0), keeper, attending })
    }

    /// Starts something inside, in a group of its own.
    ///
    /// # Errors
    /// When it cannot be started, or the keeper is gone.
    pub async fn start(&self, call: &Call) -> io::Result<Running> {
        let (child, pipes) = self.order(call, false).await?;
        Ok(Running::fostered(child, pipes).0)
    }

    /// The same, to be talked with.
    ///
    /// # Errors
    /// As [`Chamber::start`].
    pub async fn converse(&self, call: &Call) -> io::Result<(Running, Talk)> {
        let (child, pipes) = self.order(call, true).await?;
        let (running, talk) = Running::fostered(child, pipes);
        Ok((running, talk.ok_or(io::ErrorKind::BrokenPipe)?))
    }

    async fn order(&self, call: &Call, talks: bool) -> io::Result<(Fostered, Pipes)> {
        let gone = || io::Error::other("the chamber's keeper is gone");
        let (pipes, outlets): (Pipes, Outlets) = Pipes::new(talks)?;
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let Call { argv, env, folder } = call.clone();
        let ((started, has_started), (ended, ending)) = (oneshot::channel(), oneshot::channel());
        let order = Order::Start { number, argv, env, folder };
        let message = Message { order, handed: outlets.into(), asked: Some(Asked { started, ended }) };
        self.orders.send(message).map_err(|_| gone())?;
        let id = has_started.await.map_err(|_| gone())?.map_err(io::Error::other)?;
        let reach = Arc::new(Far { orders: self.orders.clone(), number });
        Ok((Fostered { id, ending, reach }, pipes))
    }

    /// Every living process inside but the keeper.
    #[must_use]
    pub(in crate::conform::observe) fn residents(&self) -> Vec<Resident> {
        census::below(self.keeper)
    }

    /// The code of a process of our own that nobody told what to load.
    #[must_use]
    pub(in crate::conform::observe) fn code(&self) -> Code {
        Code::of(self.keeper)
    }

    /// Whether a process lives inside.
    #[must_use]
    pub(in crate::conform) fn holds(&self, pid: i32) -> bool {
        census::descends(pid, self.keeper)
    }

    /// Ends everything inside but the process of this id of the keeper's world: TERM, a grace, KILL.
    pub(in crate::conform) async fn clear(&self, spared: Option<u32>) {
        let begun = clock::now();
        let mut asked = Vec::new();
        loop {
            let mut left = self.residents();
            left.retain(|resident| spared.is_none() || resident.inner_id() != spared);
            let waited = clock::now().since(begun);
            if left.is_empty() || waited >= GRACE * 3 {
                return;
            }
            for resident in &left {
                if waited >= GRACE {
                    resident.signal(Signal::KILL);
                } else if !asked.contains(&resident.pid) {
                    asked.push(resident.pid);
                    resident.signal(Signal::TERM);
                }
            }
            sleep(DYING).await;
        }
    }

    /// Ends everything inside at once, and comes back when nothing of it is left.
    pub async fn close(&self) {
        self.attending.abort();
        let gone = async {
            while census::lives(self.keeper) {
                sleep(DYING).await;
            }
        };
        // A keeper that cannot die is nothing that we could end either.
        let _ = timeout(REPORTS, gone).await;
    }
}

impl Drop for Chamber {
    fn drop(&mut self) {
        // The line falls with it, and that is the keeper's end.
        self.attending.abort();
    }
}

/// How a process inside is reached.
#[derive(Debug)]
struct Far {
    orders: UnboundedSender<Message>,
    number: u64,
}

impl Reach for Far {
    fn signal(&self, signal: Signal, whole: bool) {
        let order = Order::Signal { number: self.number, signal: signal.as_raw(), whole };
        // A keeper that is gone has taken it along.
        let _ = self.orders.send(Message { order, handed: Vec::new(), asked: None });
    }
}

/// The line to the keeper, and who waits for its words.
struct Line {
    stream: UnixStream,
    bytes: Vec<u8>,
    starting: BTreeMap<u64, Asked>,
    running: BTreeMap<u64, oneshot::Sender<ProcessExit>>,
}

impl Line {
    async fn furnish(&mut self, mounts: Option<Mounts>) -> io::Result<()> {
        hand_over(&self.stream, &line(&Order::Furnish(mounts)), &[]).await?;
        let answered = timeout(REPORTS, async {
            loop {
                if let Some(word) = next(&mut self.bytes) {
                    return Ok::<Word, io::Error>(word?);
                }
                if !take_over(&self.stream, &mut self.bytes, &mut Vec::new()).await? {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        });
        match answered.await {
            Ok(Ok(Word::Furnished(None))) => Ok(()),
            Ok(Ok(Word::Furnished(Some(why)))) => Err(io::Error::other(why)),
            Ok(Ok(_)) => Err(io::Error::other("its keeper spoke before it was furnished")),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// Passes orders and words on until one side is gone. Whoever waits then is told by the silence.
    async fn attend(mut self, mut wishes: UnboundedReceiver<Message>, mut keeper: Running) {
        // The keeper hands nothing over.
        let mut nothing = Vec::new();
        loop {
            select! {
                wish = wishes.recv() => match wish {
                    Some(wish) => if self.order(wish).await.is_err() { return },
                    None => return,
                },
                came = take_over(&self.stream, &mut self.bytes, &mut nothing) => match came {
                    Ok(true) => self.hear(),
                    Ok(false) | Err(_) => return,
                },
                event = keeper.next() => if let Event::Ended(_) = event { return },
            }
        }
    }

    async fn order(&mut self, Message { order, handed, asked }: Message) -> io::Result<()> {
        if let (Order::Start { number, .. }, Some(asked)) = (&order, asked) {
            self.starting.insert(*number, asked);
        }
        hand_over(&self.stream, &line(&order), &handed).await
    }

    fn hear(&mut self) {
        // What says nothing that is known is nothing.
        while let Some(word) = next::<Word>(&mut self.bytes) {
            match word {
                Ok(Word::Started { number, id }) => {
                    if let Some(Asked { started, ended }) = self.starting.remove(&number) {
                        let _ = started.send(Ok(id));
                        self.running.insert(number, ended);
                    }
                }
                Ok(Word::NotStarted { number, why }) => {
                    if let Some(asked) = self.starting.remove(&number) {
                        let _ = asked.started.send(Err(why));
                    }
                }
                Ok(Word::Ended { number, end }) => {
                    if let Some(ended) = self.running.remove(&number) {
                        let _ = ended.send(end.into());
                    }
                }
                Ok(Word::Furnished(_)) | Err(_) => {}
            }
        }
    }
}

fn mounts(spec: &Spec) -> Mounts {
    let writable: Vec<PathBuf> = [&spec.root].into_iter().chain(&spec.writable).cloned().collect();
    let kept = spec.kept.iter().chain(&writable).filter(|path| path.is_absolute()).cloned().collect();
    let doors = || path_sockets().unwrap_or_default().into_iter().chain(named_pipes());
    let closed = spec.is_hermetic.then(doors).into_iter().flatten().filter(|path| !path.starts_with(&spec.root));
    let shown = spec.shown.iter().cloned().chain(closed.map(|path| (PathBuf::from("/dev/null"), path))).collect();
    Mounts { writable, temporary: spec.temporary.clone(), kept, shown }
}

fn keeper(spec: &Spec, socket: &Path, isolation: Isolation) -> Command {
    let words = [spec.judge.as_os_str(), CHAMBER.as_ref(), socket.as_os_str()];
    let command = if isolation.processes {
        Command::new(UNSHARE).args(isolation.flags).args(["--"]).args(words)
    } else {
        Command::new(&spec.judge).args(&words[1..])
    };
    // Without our environment, which could be read from it. It ends when its socket does.
    let path = env::var("PATH").unwrap_or_else(|| DEFAULT_PATH.to_owned());
    command.env_clear().env("PATH", path).folder("/").lasting()
}

/// The last line of a keeper that ends instead of reporting.
async fn last_words(running: &mut Running) -> String {
    let mut last = String::new();
    loop {
        match running.next().await {
            Event::Output(piece) => last = piece.text(),
            Event::Ended(exit) => return format!("{exit}; it said: {last}"),
        }
    }
}
