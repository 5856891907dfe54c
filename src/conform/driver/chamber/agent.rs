//! One agent process in its chamber, seen from the judge.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixListener;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::select;
use tokio::time::{Sleep, sleep, timeout};

use super::isolation::{Isolation, UNSHARE};
use super::keeper::CHAMBER;
use super::words::{Charge, Mounts, Order, Word};
use crate::conform::ProcessSeen;
use crate::system::process::{Command, Event, Piece, ProcessExit, Running, Stream};
use crate::system::scratch::{self, ScratchError};
use crate::system::{env, ids};

/// How long the keeper may take to report.
const REPORTS: Duration = Duration::from_secs(20);
/// Longest line that is kept whole, in bytes.
const LONGEST: usize = 4 << 20;
/// A resolver that answers at once that it knows nobody, so that no agent waits for a name.
const RESOLVER: &[u8] = b"nameserver 127.0.0.1\noptions timeout:1 attempts:1\n";
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What to start, and where.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The judge's own program, by its absolute path.
    pub judge: PathBuf,
    /// The case's folder. It stays visible where it is; home and workspace are below it.
    pub root: PathBuf,
    /// A folder below `root` that is `/tmp` inside, where the machine allows it.
    pub temporary: PathBuf,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// The whole environment; [`environment`] begins one.
    pub env: BTreeMap<String, String>,
    /// The folder that the agent starts in.
    pub folder: PathBuf,
    /// How long the agent may run.
    pub limit: Duration,
}

/// What every agent finds in its environment: programs, a language, a dumb terminal, its own home and temporary folder.
#[must_use]
pub fn environment(home: &Path, temporary: &Path) -> BTreeMap<String, String> {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let or = |name: &str, default: &str| env::var(name).unwrap_or_else(|| default.to_owned());
    let pairs = [
        ("PATH", or("PATH", DEFAULT_PATH)),
        ("LANG", or("LANG", "C.UTF-8")),
        ("TERM", "dumb".to_owned()),
        ("HOME", path(home)),
        ("TMPDIR", path(temporary)),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A chamber that could not be made. An agent that could not be started is [`Happening::Ended`].
#[derive(Debug, thiserror::Error)]
pub enum ChamberError {
    /// A file or folder of it.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// The socket or the keeper.
    #[error("cannot make a chamber in {}", root.display())]
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

/// What happens in a chamber.
#[derive(Debug)]
pub enum Happening {
    /// The agent, or something that it started, wrote a line.
    Said {
        /// To which of the outputs.
        stream: Stream,
        /// Without its line ending; what is not UTF-8 is replaced, what is beyond 4 MiB is another line.
        line: String,
    },
    /// The limit is reached; the agent is now killed.
    OutOfTime,
    /// The agent's own process ended.
    Ended(ProcessExit),
    /// What still lived up to a second after that. It is dead when the next happening is asked for.
    Left(Vec<ProcessSeen>),
}

/// A running chamber. Dropped, everything inside dies.
#[derive(Debug)]
pub struct Chamber {
    running: Running,
    words: Lines<BufReader<OwnedReadHalf>>,
    orders: Option<OwnedWriteHalf>,
    limit: Pin<Box<Sleep>>,
    begun: [Vec<u8>; 2],
    waiting: VecDeque<Happening>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Runs,
    OutOfTime,
    /// The agent is dead, the keeper counts.
    Counts,
    /// Everything was told but what still stands in the pipes.
    Drains,
    Over,
}

impl Chamber {
    /// Starts an agent in a chamber of its own.
    ///
    /// # Errors
    /// [`ChamberError`].
    pub async fn start(spec: &Spec) -> Result<Self, ChamberError> {
        let host = |source| ChamberError::Host { root: spec.root.clone(), source };
        let isolation = Isolation::here().await;
        let resolver = spec.root.join("resolv.conf");
        scratch::lay(&resolver, RESOLVER)?;
        scratch::lay(&spec.temporary.join(".keep"), b"")?;
        let socket = spec.root.join(format!("chamber-{:x}", ids::seed()));
        let listener = UnixListener::bind(&socket).map_err(host)?;
        let mut running = keeper(spec, &socket, isolation).spawn().map_err(host)?;
        let stream = select! {
            accepted = timeout(REPORTS, listener.accept()) => match accepted {
                Ok(accepted) => accepted.map_err(host)?.0,
                Err(_) => return Err(no_keeper(spec, "it did not report")),
            },
            said = last_words(&mut running) => return Err(no_keeper(spec, &said)),
        };
        let (words, mut orders) = stream.into_split();
        let mounts =
            isolation.processes.then(|| Mounts { temporary: spec.temporary.clone(), resolver, kept: kept(spec) });
        let charge = Charge { argv: spec.argv.clone(), env: spec.env.clone(), folder: spec.folder.clone(), mounts };
        orders.write_all(&line(&charge)).await.map_err(host)?;
        Ok(Self {
            running,
            words: BufReader::new(words).lines(),
            orders: Some(orders),
            limit: Box::pin(sleep(spec.limit)),
            begun: Default::default(),
            waiting: VecDeque::new(),
            state: State::Runs,
        })
    }

    /// The next thing that happens; `None` when nothing more can. May be dropped and called again without losing anything.
    pub async fn next(&mut self) -> Option<Happening> {
        loop {
            if let Some(happening) = self.waiting.pop_front() {
                return Some(happening);
            }
            if self.state == State::Over {
                return None;
            }
            if self.state == State::Drains {
                // Hanging up is what ends the keeper, and all that it keeps.
                self.orders = None;
            }
            let listens = matches!(self.state, State::Runs | State::OutOfTime | State::Counts);
            select! {
                biased;
                event = self.running.next() => match event {
                    Event::Output(piece) => self.hear(&piece),
                    Event::Ended(exit) => self.over(exit),
                },
                word = self.words.next_line(), if listens => self.told(word),
                () = &mut self.limit, if self.state == State::Runs => {
                    self.state = State::OutOfTime;
                    self.signal(Signal::KILL).await;
                    return Some(Happening::OutOfTime);
                }
            }
        }
    }

    /// Sends a signal to the agent's own process, unless it has ended.
    pub async fn signal(&mut self, signal: Signal) {
        if let Some(orders) = &mut self.orders {
            // A keeper that is gone has taken the agent with it.
            let _ = orders.write_all(&line(&Order { signal: signal.as_raw() })).await;
        }
    }

    fn told(&mut self, word: io::Result<Option<String>>) {
        let word = word.ok().flatten().and_then(|line| serde_json::from_str(&line).ok());
        match word {
            Some(Word::Exited(code)) => self.ended(ProcessExit::Exited(code)),
            Some(Word::Signalled(signal)) => self.ended(ProcessExit::Signalled(signal)),
            Some(Word::NotStarted(problem)) => {
                self.ended(ProcessExit::SpawnFailed(io::Error::other(problem)));
                self.left(Vec::new());
            }
            Some(Word::Left(left)) => self.left(left),
            // The keeper is gone; `over` says what that means.
            None => self.state = State::Drains,
        }
    }

    fn ended(&mut self, exit: ProcessExit) {
        self.waiting.push_back(Happening::Ended(exit));
        self.state = State::Counts;
    }

    fn left(&mut self, left: Vec<ProcessSeen>) {
        self.waiting.push_back(Happening::Left(left));
        self.state = State::Drains;
    }

    fn hear(&mut self, piece: &Piece) {
        let begun = &mut self.begun[usize::from(piece.stream == Stream::Stderr)];
        begun.extend_from_slice(&piece.bytes);
        if piece.ends_line() || begun.len() >= LONGEST {
            let whole = Piece { stream: piece.stream, bytes: std::mem::take(begun) };
            self.waiting.push_back(Happening::Said { stream: piece.stream, line: whole.text() });
        }
    }

    /// The keeper ended: what it had begun to pass on is passed on.
    fn over(&mut self, _keeper: ProcessExit) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let bytes = std::mem::take(&mut self.begun[usize::from(stream == Stream::Stderr)]);
            if !bytes.is_empty() {
                let line = Piece { stream, bytes }.text();
                self.waiting.push_back(Happening::Said { stream, line });
            }
        }
        self.state = State::Over;
    }
}

fn keeper(spec: &Spec, socket: &Path, isolation: Isolation) -> Command {
    let words = [spec.judge.as_os_str(), CHAMBER.as_ref(), socket.as_os_str()];
    let command = if isolation.processes {
        Command::new(UNSHARE).args(isolation.flags).args(["--"]).args(words)
    } else {
        Command::new(&spec.judge).args(&words[1..])
    };
    // Without our environment, which the agent could read from its keeper. It ends when its socket does.
    let path = env::var("PATH").unwrap_or_else(|| DEFAULT_PATH.to_owned());
    command.env_clear().env("PATH", path).folder("/").lasting()
}

/// Everything that an agent needs to see although it may lie below `/tmp`: its case, its program and what that may start.
fn kept(spec: &Spec) -> Vec<PathBuf> {
    let path = spec.env.get("PATH").into_iter().flat_map(|path| path.split(':'));
    let words = spec.argv.iter().map(String::as_str).chain(path).map(PathBuf::from);
    words.chain([spec.root.clone(), spec.folder.clone()]).filter(|path| path.is_absolute()).collect()
}

fn no_keeper(spec: &Spec, said: &str) -> ChamberError {
    ChamberError::NoKeeper { root: spec.root.clone(), said: said.to_owned() }
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

fn line(words: &impl serde::Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(words).expect("plain data is JSON");
    line.push(b'\n');
    line
}
