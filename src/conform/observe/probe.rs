//! The probe: what every phase of a judged plan is. It connects to the judge, says where and as what it was started, and
//! does one act after another as the judge orders, so that neither runtime nor script knows what a phase will do.
//!
//! Plain blocking code that needs no environment, no folder and no configuration. When the judge is gone, so is the probe.
//! The other side is `driver/stage.rs`.

use std::collections::BTreeMap;
use std::fs::read_link;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::system::files::{self, Appender, Privacy};
use crate::system::process::{Command, take_one};
use crate::system::{env, scratch};

/// The hidden first argument that makes our program a phase of a judged plan. Its name says nothing of a judge, for nobody is
/// to behave well only there.
pub const PHASE: &str = "__phase";
/// Where a phase may leave its result, by the design.
const RESULT_FILE: &str = "LOA_RESULT_FILE";
/// Where a phase appends its signals, by the design.
const SIGNAL_FILE: &str = "LOA_SIGNAL_FILE";
/// Where a phase finds memories, by the design.
const MEMORY_FILE: &str = "LOA_MEMORY_FILE";
/// Longest file of memories that is looked into, in bytes.
const LONGEST_MEMORIES: u64 = 1 << 20;
/// What the judge's own compactor calls itself; no phase has this name.
pub(super) const COMPACTOR: &str = "compactor";
/// The argument that makes the probe say which code it runs.
pub(super) const CODE: &str = "--code";
/// The argument that makes the probe a process that only stays.
const SLEEP: &str = "--sleep";
/// How long a left-behind process stays when nobody ends it: beyond every budget, yet not for ever.
const STAY: Duration = Duration::from_mins(10);
/// The exit code of a probe that could not do its work; no case draws it.
const BROKEN: u8 = 70;

/// The first line that a probe sends.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) phase: String,
    pub(super) cwd: String,
    /// The variables that the design promises to a stage, as far as they are set.
    pub(super) env: BTreeMap<String, String>,
    /// What stands in the file of memories that it was handed, if it was.
    #[serde(default)]
    pub(super) memories: Option<String>,
}

/// One thing that the judge orders; a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    Stdout(String),
    Stderr(String),
    Result(Value),
    Signal(Value),
    /// Leave a process behind.
    Spawn,
    Exit(u8),
    Die(String),
}

/// The answer to an order that the probe survives.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Done {
    /// Why it could not be done.
    #[serde(default)]
    pub(super) problem: Option<String>,
}

/// The whole life of a phase: `arguments` follow [`PHASE`]. Says the exit code to end with; when the
/// judge orders a signal, it does not return.
#[must_use]
pub fn probe(arguments: &[String]) -> u8 {
    match arguments {
        [word] if word == SLEEP => {
            std::thread::sleep(STAY);
            0
        }
        [word] if word == CODE => std::fs::read_to_string("/proc/self/maps")
            .and_then(|maps| print(io::stdout().lock(), &maps))
            .map_or(BROKEN, |()| 0),
        [socket, phase] => obey(Path::new(socket), phase).unwrap_or(BROKEN),
        _ => BROKEN,
    }
}

/// Obeys until an order ends it; a judge that is gone is an error too.
fn obey(socket: &Path, phase: &str) -> io::Result<u8> {
    // The judge hands over a line for us alone; see `speaker.rs`.
    let stream = UnixStream::from(take_one(&UnixStream::connect(socket)?)?);
    let mut judge = BufReader::new(&stream);
    say(&stream, &hello(phase))?;
    loop {
        let mut line = String::new();
        if judge.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let problem = match serde_json::from_str(&line)? {
            Order::Exit(code) => return Ok(code),
            order => follow(&order).err().map(|error| error.to_string()),
        };
        say(&stream, &Done { problem })?;
    }
}

fn say(mut judge: &UnixStream, words: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(words)?;
    line.push(b'\n');
    judge.write_all(&line)
}

fn hello(phase: &str) -> Hello {
    let promised = |name: &str| name.starts_with("LOA_") || name.starts_with("CONTEXT_");
    let env = env::vars().into_iter().filter(|(name, _)| promised(name)).collect();
    let cwd = env::current_dir().map(|folder| folder.to_string_lossy().into_owned()).unwrap_or_default();
    let memories = env::var(MEMORY_FILE).and_then(|path| files::read(Path::new(&path), LONGEST_MEMORIES).ok());
    let memories = memories.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Hello { phase: phase.to_owned(), cwd, env, memories }
}

fn follow(order: &Order) -> io::Result<()> {
    match order {
        Order::Stdout(line) => print(io::stdout().lock(), line),
        Order::Stderr(line) => print(io::stderr().lock(), line),
        Order::Result(result) => match env::var(RESULT_FILE) {
            Some(path) => scratch::lay(Path::new(&path), result.to_string().as_bytes()).map_err(|error| error.source),
            None => Ok(()),
        },
        Order::Signal(signal) => match env::var(SIGNAL_FILE) {
            Some(path) => Appender::open(Path::new(&path), Privacy::Shared)
                .and_then(|mut file| file.append(format!("{signal}\n").as_bytes()))
                .map_err(|error| error.source),
            None => Ok(()),
        },
        Order::Spawn => Command::new(own_program()?).args([PHASE, SLEEP]).leave_beside().map(drop),
        Order::Die(signal) => die(signal),
        Order::Exit(_) => Ok(()),
    }
}

fn print(mut to: impl Write, line: &str) -> io::Result<()> {
    to.write_all(format!("{line}\n").as_bytes())?;
    to.flush()
}

fn own_program() -> io::Result<PathBuf> {
    env::current_exe().or_else(|_| read_link("/proc/self/exe"))
}

/// Raises a signal by its name, with or without `SIG`; returns only when it could not.
fn die(name: &str) -> io::Result<()> {
    let signal = signal(name).ok_or(io::ErrorKind::InvalidInput)?;
    kill_process(getpid(), signal)?;
    std::thread::sleep(Duration::from_secs(1));
    Err(io::Error::other("the signal did not end the probe"))
}

fn signal(name: &str) -> Option<Signal> {
    Some(match name.strip_prefix("SIG").unwrap_or(name) {
        "KILL" => Signal::KILL,
        "TERM" => Signal::TERM,
        "INT" => Signal::INT,
        "HUP" => Signal::HUP,
        "QUIT" => Signal::QUIT,
        "ABRT" => Signal::ABORT,
        "SEGV" => Signal::SEGV,
        "USR1" => Signal::USR1,
        "USR2" => Signal::USR2,
        "ALRM" => Signal::ALARM,
        _ => return None,
    })
}

/// Whether a case may order a phase to die by this signal.
pub(super) fn is_deadly(name: &str) -> bool {
    signal(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_without_a_judge_is_broken_and_says_nothing_else() {
        assert_eq!(probe(&["/no/such/socket".to_owned(), "design".to_owned()]), BROKEN);
        assert_eq!(probe(&[]), BROKEN);
    }

    #[test]
    fn signals_are_known_with_and_without_their_prefix() {
        assert!(is_deadly("KILL") && is_deadly("SIGKILL") && !is_deadly("STOP") && !is_deadly("KILLL"));
    }
}
