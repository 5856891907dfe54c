//! What is seen while a case runs, stamped by one clock. No waiting and no orders here.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::net::{RecvFlags, recv};
use serde_json::Value;

use crate::conform::observe::journal::{self, Grounds, Print, Tail};
use crate::conform::observe::probe::Hello;
use crate::conform::observe::speaker::{Peer, Speaker};
use crate::conform::observe::transcript::Transcript;
use crate::conform::observe::{AttemptSeen, CompactorSeen, EventSeen, ProcessSeen, UsageSeen, sighting};
use crate::system::clock::Millis;
use crate::system::clock::{self, Moment};

/// Where the runtime appends its events, by the design.
const EVENT_FILE: &str = "LOA_EVENT_FILE";

/// Everything seen so far.
#[derive(Debug)]
pub(super) struct Record {
    began: Moment,
    /// The step that runs now.
    pub(super) step: usize,
    pub(super) workspace: usize,
    pub(super) folder: PathBuf,
    /// Where what the runtime leaves is read.
    pub(super) grounds: Grounds,
    pub(super) attempts: Vec<AttemptSeen>,
    pub(super) usages: Vec<UsageSeen>,
    /// Those of which it is not known yet what comes of them.
    awaited: BTreeSet<usize>,
    pub(super) compactions: Vec<CompactorSeen>,
    pub(super) events: Vec<EventSeen>,
    pub(super) transcript: Transcript,
    /// Why the rig failed, the first reason first.
    pub(super) problem: Option<String>,
    /// When a phase last started or ended, or the step began.
    pub(super) changed: Millis,
    /// Who spoke as if it were a phase, and is none.
    pub(super) strangers: Vec<ProcessSeen>,
    live: BTreeMap<usize, OwnedFd>,
    /// The processes that have reported their start.
    started: BTreeSet<(i32, u64)>,
    tails: Vec<Tail>,
}

/// By what a reaction of the runtime is recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Signs {
    events: usize,
    context_state: Option<Print>,
    sightings: usize,
}

impl Record {
    pub(super) fn new(transcript: Transcript) -> Self {
        Self {
            began: clock::now(),
            step: 0,
            workspace: 0,
            folder: PathBuf::new(),
            grounds: Grounds::default(),
            attempts: Vec::new(),
            usages: Vec::new(),
            awaited: BTreeSet::new(),
            compactions: Vec::new(),
            events: Vec::new(),
            transcript,
            problem: None,
            changed: 0,
            strangers: Vec::new(),
            live: BTreeMap::new(),
            started: BTreeSet::new(),
            tails: Vec::new(),
        }
    }

    /// Milliseconds since the case began.
    pub(super) fn now(&self) -> Millis {
        u64::try_from(clock::now().since(self.began).as_millis()).unwrap_or(Millis::MAX)
    }

    /// When the case began, in milliseconds since the epoch.
    pub(super) fn epoch(&self) -> u64 {
        u64::try_from(self.began.wall().as_millisecond()).unwrap_or(0)
    }

    /// Whether whoever connected may be a phase, by what is found against it. One that is gone already is nobody, and one that
    /// is none is remembered. Where the host does not show its processes, everybody is believed.
    pub(super) fn hears(&mut self, peer: &Peer, against: impl Fn(&Speaker) -> Option<String>) -> bool {
        match peer {
            Peer::Unseen => true,
            Peer::Gone => false,
            Peer::Lives(speaker) => match against(speaker) {
                None => true,
                // What dies just now shows nothing of what it was.
                Some(_) if !speaker.lives() => false,
                Some(why) => {
                    self.strangers.push(speaker.seen(&why));
                    false
                }
            },
        }
    }

    /// The same of whoever says that it is a phase: that counts once for each process.
    pub(super) fn admits(&mut self, peer: &Peer, against: impl Fn(&Speaker) -> Option<String>) -> bool {
        let started = self.started.clone();
        let again = |speaker: &Speaker| started.contains(&speaker.identity()).then(|| "it had its turn".to_owned());
        let admitted = self.hears(peer, |speaker| against(speaker).or_else(|| again(speaker)));
        if let Peer::Lives(speaker) = peer
            && admitted
        {
            self.started.insert(speaker.identity());
        }
        admitted
    }

    /// A probe reports its start; says which attempt it is. `socket` is watched for its end.
    pub(super) fn begin(&mut self, hello: Hello, socket: OwnedFd) -> usize {
        // What ended before this start has closed its socket before, yet its task may not have run.
        self.notice_ends();
        // What comes from here on comes of another phase.
        for usage in self.awaited.clone() {
            self.reacted(usage);
        }
        let started = self.now();
        let earlier = self.attempts.iter().filter(|attempt| attempt.phase == hello.phase).count();
        if let Some(path) = hello.env.get(EVENT_FILE) {
            let path = Path::new(&hello.cwd).join(path);
            if self.tails.iter().all(|tail| tail.path() != path) {
                self.tails.push(Tail::new(path));
            }
        }
        self.attempts.push(AttemptSeen {
            phase: hello.phase,
            attempt: u32::try_from(earlier + 1).unwrap_or(u32::MAX),
            step: self.step,
            workspace: self.workspace,
            started,
            ended: None,
            told: None,
            exit: None,
            signal: None,
            cwd: hello.cwd,
            env: hello.env,
            memories: hello.memories,
            checkpoints: self.grounds.checkpoints(&self.folder),
        });
        self.changed = started;
        let attempt = self.attempts.len() - 1;
        self.live.insert(attempt, socket);
        attempt
    }

    /// The runtime started the judge's own compactor.
    pub(super) fn compacting(&mut self, hello: Hello) {
        self.compactions.push(CompactorSeen { at: self.now(), env: hello.env });
    }

    /// The judge is about to tell an attempt how to end.
    pub(super) fn tell(&mut self, attempt: usize, how: impl FnOnce(&mut AttemptSeen)) {
        let now = self.now();
        let attempt = &mut self.attempts[attempt];
        attempt.told = Some(now);
        how(attempt);
    }

    /// The attempt's process is gone.
    pub(super) fn end(&mut self, attempt: usize) {
        if self.live.remove(&attempt).is_some() {
            let now = self.now();
            self.attempts[attempt].ended = Some(now);
            self.changed = now;
            self.read_events();
        }
    }

    /// Stamps the end of every attempt whose socket is closed, without waiting for its task.
    pub(super) fn notice_ends(&mut self) {
        let is_over = |socket: &OwnedFd| {
            let mut byte = [0];
            let peeked = recv(socket, &mut byte, RecvFlags::PEEK | RecvFlags::DONTWAIT);
            matches!(peeked, Ok((_, 0)) | Err(rustix::io::Errno::CONNRESET))
        };
        let over: Vec<usize> =
            self.live.iter().filter(|(_, socket)| is_over(socket)).map(|(attempt, _)| *attempt).collect();
        for attempt in over {
            self.end(attempt);
        }
    }

    /// Whether any attempt began in this step.
    pub(super) fn has_begun(&self) -> bool {
        self.attempts.last().is_some_and(|attempt| attempt.step == self.step)
    }

    /// How often the phase that was started most often in this step was.
    pub(super) fn most_starts(&self) -> usize {
        let here = || self.attempts.iter().filter(|attempt| attempt.step == self.step);
        let of = |phase: &str| here().filter(|attempt| attempt.phase == phase).count();
        here().map(|attempt| of(&attempt.phase)).max().unwrap_or_default()
    }

    /// Whether no attempt runs.
    pub(super) fn is_quiet(&self) -> bool {
        self.live.is_empty()
    }

    /// Reads what the runtime appended to its event files.
    pub(super) fn read_events(&mut self) {
        let at = self.now();
        for line in self.tails.iter_mut().flat_map(|tail| tail.lines(&self.grounds)) {
            let line = serde_json::from_str(&line).unwrap_or(Value::String(line));
            self.events.push(EventSeen { at, line });
        }
    }

    /// What a reaction would change, as it stands now.
    pub(super) fn signs(&mut self) -> Signs {
        self.notice_ends();
        self.read_events();
        Signs {
            events: self.events.len(),
            context_state: Print::at(&journal::context_state(&self.folder)),
            sightings: self.transcript.sightings(),
        }
    }

    /// The wait for the reaction to a usage is over.
    /// A usage was reported; what comes of it is waited for.
    pub(super) fn usage(&mut self, tokens: u64, at: Millis) -> usize {
        self.usages.push(UsageSeen { tokens, at, context_state: None, until: at });
        let usage = self.usages.len() - 1;
        self.awaited.insert(usage);
        usage
    }

    /// What came of a usage is there, or nothing more is waited for.
    pub(super) fn reacted(&mut self, usage: usize) {
        if !self.awaited.remove(&usage) {
            return;
        }
        let state = self.grounds.file(&journal::context_state(&self.folder));
        let now = self.now();
        let seen = &mut self.usages[usage];
        (seen.context_state, seen.until) = (state.and_then(|file| sighting::yaml(&file.text)), now);
    }

    pub(super) fn fail(&mut self, problem: impl Into<String>) {
        self.problem.get_or_insert(problem.into());
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::system::files::{self, Privacy};

    fn hello(phase: &str) -> Hello {
        Hello { phase: phase.to_owned(), cwd: "/".to_owned(), env: BTreeMap::new(), memories: None }
    }

    #[test]
    fn only_a_living_process_of_the_case_and_the_judges_program_speaks_and_once() {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let own = crate::system::env::current_exe().expect("a program");
        let mut record = Record::new(Transcript::new("tag".to_owned(), Vec::new()));
        for (peer, judge, is_inside, admitted, strangers) in [
            (Peer::of(Some(pid)), Path::new("/bin/sh"), true, false, 1),
            (Peer::of(Some(pid)), &own, false, false, 2),
            (Peer::of(Some(pid)), &own, true, true, 2),
            (Peer::of(Some(pid)), &own, true, false, 3),
            (Peer::of(Some(i32::MAX)), &own, true, false, 3),
            (Peer::of(None), &own, true, true, 3),
        ] {
            let against = |speaker: &Speaker| {
                if is_inside { speaker.runs_another(judge) } else { Some("it lives elsewhere".to_owned()) }
            };
            let found = (record.admits(&peer, against), record.strangers.len());
            assert_eq!(found, (admitted, strangers), "{peer:?}");
        }
    }

    #[test]
    fn what_comes_of_a_usage_comes_before_the_next_phase() {
        let mut record = Record::new(Transcript::new("tag".to_owned(), Vec::new()));
        let place = tempfile::tempdir().expect("a folder");
        record.folder = place.path().to_path_buf();
        record.grounds = Grounds::new(place.path().to_path_buf(), Vec::new());
        let tell = |tokens: u64| {
            let state = journal::context_state(place.path());
            files::ensure_folder(state.parent().expect("a folder")).expect("made");
            files::replace(&state, format!("current_tokens: {tokens}\n").as_bytes(), Privacy::Shared).expect("written");
        };
        record.begin(hello("design"), UnixStream::pair().expect("a pair").0.into());
        let at = record.now();
        let first = record.usage(5, at);
        tell(5);
        record.begin(hello("audit"), UnixStream::pair().expect("a pair").0.into());
        let second = record.usage(7, at);
        tell(7);
        record.reacted(second);
        record.reacted(first);
        let told = record
            .usages
            .iter()
            .map(|it| (it.tokens, it.context_state.as_ref().expect("told")["current_tokens"].clone()));
        assert_eq!(told.collect::<Vec<_>>(), [(5, 5.into()), (7, 7.into())]);
    }

    #[test]
    fn a_start_sees_every_end_before_it_though_nobody_told() {
        let mut record = Record::new(Transcript::new("tag".to_owned(), Vec::new()));
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let (stays, _peer) = UnixStream::pair().expect("a pair");
        let first = record.begin(hello("design"), ours.into());
        let second = record.begin(hello("audit"), stays.into());
        assert_eq!(record.attempts[first].ended, None);
        drop(theirs);
        record.begin(hello("design"), UnixStream::pair().expect("a pair").0.into());
        let ended = record.attempts[first].ended.expect("its socket is closed");
        assert!(ended <= record.attempts[2].started);
        assert_eq!((record.attempts[second].ended, record.attempts[2].attempt), (None, 2));
        assert!(!record.is_quiet());
    }
}
