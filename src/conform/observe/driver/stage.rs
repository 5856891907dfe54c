//! The judge's side of the probes' socket: decides what each attempt of a phase does, and stamps its start and its end.
//!
//! An attempt ends when the connection that its probe opened closes, that is when its process is gone, whatever the probe was
//! told. The other side is `conform/probe.rs`.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::select;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio::time::sleep;

use super::chamber::Chamber;
use super::record::{Record, Signs};
use super::verb::SETTLED_POLLS;
use crate::conform::observe::probe::{COMPACTOR, Done, Hello, Order, is_deadly};
use crate::conform::observe::speaker::{Code, Peer, Speaker};
use crate::conform::spec::{Act, UsageWay};
use crate::system::load::Gauge;
use crate::system::process::Piece;
use crate::system::{clock, files, process, scratch};

/// How often a reaction is looked for.
const LOOK: Duration = Duration::from_millis(5);
/// So many polls after the end of an attempt the runtime has noticed it.
const NOTICED_POLLS: u32 = 2;
/// The shortest silence after a reaction that counts as its end.
const SHORTEST_SILENCE: Duration = Duration::from_millis(20);

/// One case's stage.
#[derive(Debug)]
pub(super) struct Stage {
    /// What each attempt of a phase does.
    pub(super) script: BTreeMap<String, Vec<Vec<Act>>>,
    pub(super) usage: Option<UsageWay>,
    /// What the judge's own compactor prints.
    pub(super) compactor: Option<Value>,
    /// How often the runtime looks at its signals, on an idle machine.
    pub(super) poll: Duration,
    pub(super) load: Arc<Gauge>,
    /// By how much a `sleep` of the script is longer, because the clock of the runtime is so much slower than the fastest.
    pub(super) slower: u32,
    /// Where the runtime lives, and its phases with it.
    pub(super) chamber: Chamber,
    /// Whether its phases may run elsewhere, for the runtime is a service that does.
    pub(super) lives_outside: bool,
    /// The program that every phase of the plan is.
    pub(super) judge: PathBuf,
    /// The code that such a process runs.
    pub(super) code: Code,
    pub(super) record: Mutex<Record>,
    /// Whether the runtime's `halt` has answered in this step.
    pub(super) halted: watch::Sender<bool>,
    /// Told of how far every attempt has come.
    pub(super) reached: UnboundedSender<Reached>,
}

/// How far an attempt of a phase has come.
#[derive(Debug)]
pub(super) enum Reached {
    /// It has done all but its last act, or begins to wait; `hangs` when it does nothing any more until somebody ends it.
    LastAct { phase: String, hangs: bool },
    /// It is over, and the runtime has had time to notice.
    Over { phase: String },
}

impl Stage {
    /// Serves probes until the case is over.
    pub(super) async fn serve(self: Arc<Self>, listener: UnixListener) {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let stage = Arc::clone(&self);
                    tokio::spawn(async move { stage.attend(stream).await });
                }
                Err(error) => {
                    self.record().fail(format!("no probe can connect any more: {error}"));
                    return;
                }
            }
        }
    }

    pub(super) fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().expect("no holder of the record panics")
    }

    /// How often the runtime looks at its signals, on this machine as it is now.
    pub(super) fn poll(&self) -> Duration {
        self.load.stretched(self.poll)
    }

    /// The runtime said something.
    pub(super) fn hear(&self, piece: &Piece) {
        let stream = match piece.stream {
            process::Stream::Stdout => "stdout",
            process::Stream::Stderr => "stderr",
        };
        self.say(stream, piece.text());
    }

    /// The runtime said this line on this stream.
    pub(super) fn say(&self, stream: &str, text: String) {
        let mut record = self.record();
        let line = crate::conform::observe::transcript::line(record.now(), stream, text);
        record.transcript.hear(line);
    }

    /// One attempt, from its first word to the end of its process.
    async fn attend(&self, stream: UnixStream) {
        let peer = stream.peer_cred().ok().and_then(|peer| peer.pid());
        if !self.record().hears(&Peer::of(peer), |speaker| self.is_elsewhere(speaker)) {
            return;
        }
        let Ok((line, number)) = self.own_line(&stream).await else { return };
        let Ok(socket) = stream.as_fd().try_clone_to_owned() else {
            return self.record().fail("no descriptor is left for a probe");
        };
        let (lines, orders) = line.into_split();
        let mut probe = Probe { connection: stream, lines: BufReader::new(lines).lines(), orders, peer };
        let Some(hello) = probe.hello().await else { return };
        let against = |speaker: &Speaker| {
            let elsewhere = self.is_elsewhere(speaker);
            elsewhere.or_else(|| speaker.is_possessed(&self.code)).or_else(|| speaker.borrows(number))
        };
        if !self.record().admits(&Peer::of(peer), against) {
            return;
        }
        if hello.phase == COMPACTOR {
            self.compact(hello, &mut probe).await;
            return;
        }
        let phase = hello.phase.clone();
        let attempt = self.record().begin(hello, socket);
        // An error means that the probe is gone in the middle of an act, which its end below says as well.
        let _ = self.play(attempt, &phase, &mut probe).await;
        probe.gone().await;
        let step = {
            let mut record = self.record();
            record.end(attempt);
            record.step
        };
        sleep(self.poll() * NOTICED_POLLS).await;
        if self.record().step == step {
            // Nobody listens when the step is over already.
            let _ = self.reached.send(Reached::Over { phase });
        }
    }

    /// A line for this one probe, which it is handed over the socket that everybody can connect to: whoever holds it in a way
    /// in which lines are not inherited took it after it had become what it is. Also says its number.
    async fn own_line(&self, stream: &UnixStream) -> io::Result<(UnixStream, u64)> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let number = rustix::fs::fstat(&theirs)?.st_ino;
        process::hand_over(stream, b"\n", &[theirs.into()]).await?;
        Ok((UnixStream::from_std(ours)?, number))
    }

    /// Why whoever connected is no phase at all.
    fn is_elsewhere(&self, speaker: &Speaker) -> Option<String> {
        let is_inside = self.lives_outside || self.chamber.holds(speaker.identity().0);
        let outside = (!is_inside).then(|| "it lives outside of the case".to_owned());
        outside.or_else(|| speaker.runs_another(&self.judge))
    }

    /// Whether a phase is still what it was when it said so. One that is not did not do what it was ordered.
    fn still_speaks(&self, probe: &Probe) -> bool {
        self.record().hears(&Peer::of(probe.peer), |speaker| {
            speaker.runs_another(&self.judge).or_else(|| speaker.is_possessed(&self.code))
        })
    }

    /// The compactor: it says what the case says, and ends well.
    async fn compact(&self, hello: Hello, probe: &mut Probe) {
        self.record().compacting(hello);
        let printed = self.compactor.clone().unwrap_or_default().to_string();
        // An error means that it is gone, which is the runtime's right.
        if probe.order(&Order::Stdout(printed)).await.is_ok() {
            let _ = probe.send(&Order::Exit(0)).await;
        }
    }

    async fn play(&self, attempt: usize, phase: &str, probe: &mut Probe) -> io::Result<()> {
        let mut announced = false;
        let mut acts = self.acts(attempt, phase);
        if !acts.iter().any(|act| matches!(act, Act::Exit(_) | Act::Die(_) | Act::Hang)) {
            acts.push(Act::Exit(0.into()));
        }
        for act in &acts {
            let waits_or_ends =
                matches!(act, Act::Sleep(_) | Act::UntilHalted | Act::Exit(_) | Act::Die(_) | Act::Hang);
            if waits_or_ends && !announced {
                announced = true;
                // Nobody listens when the step is over already.
                let _ = self.reached.send(Reached::LastAct {
                    phase: phase.to_owned(),
                    hangs: matches!(act, Act::Hang | Act::UntilHalted),
                });
            }
            if matches!(act, Act::Exit(_) | Act::Die(_) | Act::Hang) {
                self.still_speaks(probe);
            }
            match act {
                Act::Exit(code) => return self.exit(attempt, code, probe).await,
                Act::Die(signal) => return self.die(attempt, signal, probe).await,
                Act::Hang => return Ok(()),
                act => self.act(act, probe).await?,
            }
        }
        Ok(())
    }

    /// What this attempt does: the last entry of the script serves every later one.
    fn acts(&self, attempt: usize, phase: &str) -> Vec<Act> {
        let number = usize::try_from(self.record().attempts[attempt].attempt).unwrap_or(usize::MAX);
        let Some(script) = self.script.get(phase) else { return Vec::new() };
        script.get(number - 1).or(script.last()).cloned().unwrap_or_default()
    }

    async fn act(&self, act: &Act, probe: &mut Probe) -> io::Result<()> {
        match act {
            Act::Stdout(line) => probe.order(&Order::Stdout(self.tagged(line))).await.map(drop),
            Act::Stderr(line) => probe.order(&Order::Stderr(self.tagged(line))).await.map(drop),
            Act::Result(result) => probe.order(&Order::Result(result.clone())).await.map(drop),
            Act::Usage(tokens) => self.report_usage(*tokens, probe).await,
            Act::Signal(signal) => {
                let before = self.record().signs();
                probe.order(&Order::Signal(signal.clone())).await?;
                self.await_reaction(before).await;
                Ok(())
            }
            Act::Write { path, content } => {
                let path = self.path(path);
                self.check(scratch::lay(&path, content.as_bytes()));
                Ok(())
            }
            Act::Delete(path) => {
                let path = self.path(path);
                self.check(files::remove(&path));
                Ok(())
            }
            Act::Sleep(millis) => {
                select! {
                    () = sleep(Duration::from_millis(*millis) * self.slower) => Ok(()),
                    () = probe.gone() => Err(io::ErrorKind::UnexpectedEof.into()),
                }
            }
            Act::UntilHalted => {
                select! {
                    () = self.halted() => Ok(()),
                    () = probe.gone() => Err(io::ErrorKind::UnexpectedEof.into()),
                }
            }
            Act::Spawn => {
                let done = probe.order(&Order::Spawn).await?;
                self.check(done.problem.map_or(Ok(()), Err));
                Ok(())
            }
            Act::Exit(_) | Act::Die(_) | Act::Hang => unreachable!("the last act is played by `play`"),
        }
    }

    /// Waits until `halt` has answered, and so many polls more, in which the runtime must heed it.
    async fn halted(&self) {
        let mut halted = self.halted.subscribe();
        // The sender lives as long as this does.
        let _ = halted.wait_for(|halted| *halted).await;
        sleep(self.poll() * SETTLED_POLLS).await;
    }

    async fn exit(&self, attempt: usize, code: &Value, probe: &mut Probe) -> io::Result<()> {
        let Some(code) = code.as_u64().and_then(|code| u8::try_from(code).ok()) else {
            self.record().fail(format!("a phase cannot exit with {code}"));
            return probe.send(&Order::Exit(0)).await;
        };
        self.record().tell(attempt, |it| it.exit = Some(code.into()));
        probe.send(&Order::Exit(code)).await
    }

    async fn die(&self, attempt: usize, signal: &str, probe: &mut Probe) -> io::Result<()> {
        if !is_deadly(signal) {
            self.record().fail(format!("a phase cannot die by `{signal}`"));
        }
        self.record().tell(attempt, |it| it.signal = Some(signal.to_owned()));
        probe.send(&Order::Die(signal.to_owned())).await
    }

    /// Reports a usage in the manifest's way and waits for what comes of it. Where there is no way, there is no usage.
    async fn report_usage(&self, tokens: u64, probe: &mut Probe) -> io::Result<()> {
        let order = match &self.usage {
            None => return Ok(()),
            Some(UsageWay::SignalFile) => {
                Order::Signal(serde_json::json!({ "type": "USAGE", "context_tokens": tokens }))
            }
            Some(UsageWay::Stdout(template)) => {
                let line = template.replace("{tokens}", &tokens.to_string());
                self.record().transcript.expect_print(&line);
                Order::Stdout(line)
            }
        };
        let before = self.record().signs();
        // So that what was read just now and what comes next never bear the same millisecond.
        sleep(Duration::from_millis(2)).await;
        let at = self.record().now();
        probe.order(&order).await?;
        let usage = self.record().usage(tokens, at);
        self.await_reaction(before).await;
        self.record().reacted(usage);
        Ok(())
    }

    /// Waits until the runtime has reacted and is silent again, or for twice its poll.
    async fn await_reaction(&self, mut signs: Signs) {
        let begun = clock::now();
        // Half a poll; on a busy machine longer, but never longer than a whole one of an idle machine.
        let silence = (self.poll() / 2).min(self.poll).max(SHORTEST_SILENCE);
        let mut reacted = None;
        loop {
            sleep(LOOK).await;
            let seen = self.record().signs();
            let waited = clock::now().since(begun);
            if seen != signs {
                signs = seen;
                reacted = Some(waited);
            }
            if waited >= self.poll() * 2 || reacted.is_some_and(|reacted| waited >= reacted + silence) {
                return;
            }
        }
    }

    fn tagged(&self, line: &str) -> String {
        self.record().transcript.tagged(line)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.record().folder.join(path)
    }

    /// A fault of the rig's own.
    fn check<E: ToString>(&self, result: Result<(), E>) {
        if let Err(error) = result {
            self.record().fail(error.to_string());
        }
    }
}

/// One connected probe.
struct Probe {
    /// What it opened itself, and nobody else holds: its end is that of the probe. That of its line is not, for what the judge
    /// starts meanwhile may hold the other end until it is a program of its own.
    connection: UnixStream,
    lines: Lines<BufReader<OwnedReadHalf>>,
    orders: OwnedWriteHalf,
    /// Its process, as the kernel tells it.
    peer: Option<i32>,
}

impl Probe {
    /// Its first line; `None` when something else connected.
    async fn hello(&mut self) -> Option<Hello> {
        let line = self.lines.next_line().await.ok()??;
        serde_json::from_str(&line).ok()
    }

    async fn send(&mut self, order: &Order) -> io::Result<()> {
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        self.orders.write_all(&line).await
    }

    /// Sends an order and waits until it is done.
    async fn order(&mut self, order: &Order) -> io::Result<Done> {
        self.send(order).await?;
        let line = self.lines.next_line().await?.ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(serde_json::from_str(&line)?)
    }

    /// Waits until its process is gone. May be dropped and called again.
    async fn gone(&mut self) {
        loop {
            let read = match self.connection.readable().await {
                Ok(()) => self.connection.try_read(&mut [0; 64]),
                Err(_) => return,
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
    }
}
