//! The first process of a chamber: our own program with a hidden argument. Plain blocking code.
//!
//! The agent is its child and not itself the first process, whom the kernel spares signals that it has not asked for.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::thread::{sleep, spawn};
use std::time::Duration;

use rustix::process::{Signal, setsid};

use super::words::{Charge, Mounts, Order, Word};
use crate::conform::census::{Resident, below_us};
use crate::system::isolation::{cover, show};
use crate::system::process::{Command, Foster, ProcessExit, bury};

/// The hidden first argument that makes our program a keeper.
pub const CHAMBER: &str = "__chamber";
/// How long what the agent started may take to end after it.
const SETTLED: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(10);
/// The exit code of a keeper that could not do its work.
const BROKEN: u8 = 70;

/// The keeper's whole life; `arguments` follow [`CHAMBER`]. Returns the exit code to end with when the judge hangs up, and
/// the end of a namespace's first process is the end of all.
#[must_use]
pub fn keep(arguments: &[String]) -> u8 {
    let [socket] = arguments else { return BROKEN };
    let done = serve(Path::new(socket));
    end_all();
    if done.is_ok() { 0 } else { BROKEN }
}

fn serve(socket: &Path) -> io::Result<()> {
    let stream = UnixStream::connect(socket)?;
    let mut judge = BufReader::new(stream.try_clone()?).lines();
    let Some(first) = judge.next() else { return Ok(()) };
    let charge: Charge = serde_json::from_str(&first?)?;
    let agent = match start(&charge) {
        Ok(agent) => Arc::new(agent),
        Err(error) => return say(&stream, &Word::NotStarted(error.to_string())),
    };
    let watched = Arc::clone(&agent);
    spawn(move || watch(&watched, &stream));
    for line in judge {
        let Order { signal } = serde_json::from_str(&line?)?;
        if let Some(signal) = Signal::from_named_raw(signal) {
            agent.signal(signal);
        }
    }
    Ok(())
}

fn start(charge: &Charge) -> io::Result<Foster> {
    // Without a terminal. Fails for the leader of a group, which has none of its own to lose.
    let _ = setsid();
    if let Some(Mounts { temporary, resolver, kept }) = &charge.mounts {
        cover(Path::new("/tmp"), temporary, kept)?;
        let place = Path::new("/etc/resolv.conf");
        if place.exists() {
            show(resolver, place)?;
        }
    }
    let (program, arguments) = charge.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let command = Command::new(program).args(arguments).env_clear().folder(&charge.folder);
    charge.env.iter().fold(command, |command, (name, value)| command.env(name, value)).foster()
}

/// Waits for the agent's end, then for the end of what it started, and tells both. A judge that hung up hears nothing.
fn watch(agent: &Foster, stream: &UnixStream) {
    let word = match agent.ended() {
        ProcessExit::Exited(code) => Word::Exited(code),
        ProcessExit::Signalled(signal) => Word::Signalled(signal),
        ProcessExit::SpawnFailed(error) => Word::NotStarted(error.to_string()),
    };
    let _ = say(stream, &word);
    let left = settled().iter().map(Resident::seen).collect();
    let _ = say(stream, &Word::Left(left));
}

/// What still lives when nothing more seems to end.
fn settled() -> Vec<Resident> {
    let mut waited = Duration::ZERO;
    loop {
        bury();
        let left = below_us();
        if left.is_empty() || waited >= SETTLED {
            return left;
        }
        sleep(LOOK);
        waited += LOOK;
    }
}

/// Ends everything below us. In a namespace of its own this is the kernel's work too; without one it is ours alone.
fn end_all() {
    let mut waited = Duration::ZERO;
    while waited < SETTLED {
        let left = below_us();
        if left.is_empty() {
            return;
        }
        for resident in &left {
            resident.signal(Signal::KILL);
        }
        sleep(LOOK);
        waited += LOOK;
        bury();
    }
}

fn say(mut judge: &UnixStream, word: &Word) -> io::Result<()> {
    let mut line = serde_json::to_vec(word)?;
    line.push(b'\n');
    judge.write_all(&line)
}
