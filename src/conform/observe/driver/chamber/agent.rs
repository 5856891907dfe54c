//! One agent in a chamber of its own, from its start until nothing of it is left.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;

use rustix::process::Signal;
use tokio::select;
use tokio::time::{Sleep, sleep};

use super::isolation::Isolation;
use super::room::{Call, Chamber, ChamberError, Spec};
use crate::conform::observe::ProcessSeen;
use crate::conform::observe::census::Resident;
use crate::system::clock::{self, Moment};
use crate::system::env;
use crate::system::process::{Event, Piece, ProcessExit, Running, Stream};
use crate::system::scratch;

/// How long what the agent started may take to end after it.
const SETTLED: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(10);
/// Longest line that is kept whole, in bytes.
const LONGEST: usize = 4 << 20;
/// A resolver that answers at once that it knows nobody, so that no agent waits for a name.
const RESOLVER: &[u8] = b"nameserver 127.0.0.1\noptions timeout:1 attempts:1\n";
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

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

/// What happens to an agent.
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
    /// The agent's own process ended, or could not be started.
    Ended(ProcessExit),
    /// What still lived up to a second after that; the last happening. It is dead when the next one was asked for.
    Left(Vec<ProcessSeen>),
}

/// A running agent. Dropped, it dies with everything that it started.
#[derive(Debug)]
pub struct AgentRun {
    chamber: Option<Chamber>,
    running: Option<Running>,
    limit: Pin<Box<Sleep>>,
    in_time: bool,
    begun: [Vec<u8>; 2],
    waiting: VecDeque<Happening>,
    /// When the agent's own process ended.
    ended: Option<Moment>,
    /// Whether it was told what is left.
    is_told: bool,
}

impl AgentRun {
    /// Starts an agent in a chamber of its own; it may run for `limit`.
    ///
    /// # Errors
    /// [`ChamberError`]. An agent that could not be started is [`Happening::Ended`].
    pub async fn start(place: &Spec, call: &Call, limit: Duration) -> Result<Self, ChamberError> {
        let resolver = place.root.join("resolv.conf");
        scratch::lay(&resolver, RESOLVER)?;
        let shown = vec![(resolver, PathBuf::from("/etc/resolv.conf"))];
        let spec = Spec { kept: kept(place, call), shown, ..place.clone() };
        let chamber = Chamber::open(&spec, Isolation::here().await).await?;
        let limit = Box::pin(sleep(limit));
        let mut run = Self {
            chamber: None,
            running: None,
            limit,
            in_time: true,
            begun: Default::default(),
            waiting: VecDeque::new(),
            ended: None,
            is_told: false,
        };
        match chamber.start(call).await {
            Ok(running) => run.running = Some(running),
            Err(error) => run.end(ProcessExit::SpawnFailed(io::Error::other(error))),
        }
        run.chamber = Some(chamber);
        Ok(run)
    }

    /// The next thing that happens; `None` when nothing more can. May be dropped and called again without losing anything.
    pub async fn next(&mut self) -> Option<Happening> {
        loop {
            if let Some(happening) = self.waiting.pop_front() {
                return Some(happening);
            }
            let Some(running) = &mut self.running else { break };
            select! {
                biased;
                event = running.next() => match event {
                    Event::Output(piece) => self.hear(&piece),
                    Event::Ended(exit) => self.end(exit),
                },
                () = &mut self.limit, if self.in_time => {
                    self.in_time = false;
                    self.signal(Signal::KILL);
                    return Some(Happening::OutOfTime);
                }
            }
        }
        if !self.is_told {
            let left = self.settled().await;
            self.is_told = true;
            return Some(Happening::Left(left));
        }
        if let Some(chamber) = self.chamber.take() {
            chamber.close().await;
        }
        None
    }

    /// Sends a signal to the agent's own process, unless it has ended.
    pub fn signal(&mut self, signal: Signal) {
        if let Some(running) = &mut self.running {
            running.signal(signal);
        }
    }

    /// What still lives when nothing more seems to end.
    async fn settled(&self) -> Vec<ProcessSeen> {
        loop {
            let left = self.chamber.as_ref().map(Chamber::residents).unwrap_or_default();
            if left.is_empty() || self.ended.is_none_or(|ended| clock::now().since(ended) >= SETTLED) {
                return left.iter().map(Resident::seen).collect();
            }
            sleep(LOOK).await;
        }
    }

    fn hear(&mut self, piece: &Piece) {
        let begun = &mut self.begun[usize::from(piece.stream == Stream::Stderr)];
        begun.extend_from_slice(&piece.bytes);
        if piece.ends_line() || begun.len() >= LONGEST {
            let whole = Piece { stream: piece.stream, bytes: std::mem::take(begun) };
            self.waiting.push_back(Happening::Said { stream: piece.stream, line: whole.text() });
        }
    }

    /// It ended: what it had begun to say is said.
    fn end(&mut self, exit: ProcessExit) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let bytes = std::mem::take(&mut self.begun[usize::from(stream == Stream::Stderr)]);
            if !bytes.is_empty() {
                let line = Piece { stream, bytes }.text();
                self.waiting.push_back(Happening::Said { stream, line });
            }
        }
        self.waiting.push_back(Happening::Ended(exit));
        self.running = None;
        self.ended = Some(clock::now());
    }
}

/// Everything that an agent needs to see although it may lie below `/tmp`: its program and what that may start.
fn kept(place: &Spec, call: &Call) -> Vec<PathBuf> {
    let path = call.env.get("PATH").into_iter().flat_map(|path| path.split(':'));
    let words = call.argv.iter().map(String::as_str).chain(path).map(PathBuf::from);
    words.chain([call.folder.clone()]).chain(place.kept.iter().cloned()).collect()
}
