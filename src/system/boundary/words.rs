//! What we and a keeper say to each other. Every order comes with a socket for what is answered to it, and to it alone.

use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

use super::gateway::Gateway;
use crate::system::process::ProcessExit;

/// The most descriptors that come with a message: a socket, and standard input, output and error.
const MOST: usize = 4;
/// The longest message that is taken in, in bytes: more than Linux takes as arguments and environment of a program.
const LONGEST: usize = 16 << 20;
/// What an answer says when all went well.
pub(super) const DONE: &[u8] = b"ok";

/// What whoever works behind a boundary does not see, and what it does see of that.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// Folders in whose place an empty one is shown. One that is not there is not made.
    pub hidden: Vec<PathBuf>,
    /// Folders within these that are shown all the same. They must be there.
    pub shown: Vec<PathBuf>,
    /// What network there is.
    pub network: Network,
    /// Whether known ways out are taken away: sockets of programs outside that do what they are told.
    pub strict: bool,
}

/// The network behind a boundary.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Network {
    /// That of the host.
    #[default]
    Host,
    /// One of its own, with a loopback and nothing else.
    Own,
    /// The same, with a port on loopback behind which a socket of the host is.
    Gateway(Gateway),
}

impl Network {
    fn word(&self) -> String {
        match self {
            Self::Host => "host".to_owned(),
            Self::Own => "own".to_owned(),
            Self::Gateway(gateway) => gateway.to_string(),
        }
    }

    fn of(word: &str) -> Option<Self> {
        match word {
            "host" => Some(Self::Host),
            "own" => Some(Self::Own),
            address => address.parse().ok().map(Self::Gateway),
        }
    }
}

/// A program to start, with its whole environment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::system) struct Start {
    pub(in crate::system) folder: OsString,
    pub(in crate::system) argv: Vec<OsString>,
    pub(in crate::system) env: Vec<(OsString, OsString)>,
}

/// What a keeper is ordered to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The first order. Answered by [`DONE`], with the port to the gateway where there is one, or by why not. Beside what
    /// is shown stand the ways out that are taken away.
    Furnish(View, Vec<PathBuf>),
    /// Answered by an [`Answer`] at the start, with a handle on the process, and by another at its end.
    Start(Start),
    /// End everything but the keeper. Answered by how many processes there were.
    Clear,
}

/// What is answered to a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Started,
    /// With the host's number for the reason.
    Failed(i32),
    Exited(i32),
    Signalled(i32),
}

impl Answer {
    pub(super) const LENGTH: usize = 5;

    pub(super) fn bytes(self) -> [u8; Self::LENGTH] {
        let (tag, number) = match self {
            Self::Started => (0, 0),
            Self::Failed(why) => (1, why),
            Self::Exited(code) => (2, code),
            Self::Signalled(signal) => (3, signal),
        };
        let [a, b, c, d] = number.to_le_bytes();
        [tag, a, b, c, d]
    }

    pub(super) fn of(bytes: [u8; Self::LENGTH]) -> Option<Self> {
        let [tag, number @ ..] = bytes;
        let number = i32::from_le_bytes(number);
        [Self::Started, Self::Failed(number), Self::Exited(number), Self::Signalled(number)]
            .into_iter()
            .nth(usize::from(tag))
    }

    /// How a process ended; `None` where this says something else.
    pub(super) fn exit(self) -> Option<ProcessExit> {
        match self {
            Self::Exited(code) => Some(ProcessExit::Exited(code)),
            Self::Signalled(signal) => Some(ProcessExit::Signalled(signal)),
            Self::Started | Self::Failed(_) => None,
        }
    }
}

impl Order {
    /// Words that each end with a zero byte, which none of them can hold: what it is, and what belongs to it.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut say = |word: &OsStr| {
            bytes.extend_from_slice(word.as_bytes());
            bytes.push(0);
        };
        match self {
            Self::Furnish(View { hidden, shown, network, strict: _ }, ways) => {
                say("furnish".as_ref());
                say(network.word().as_ref());
                say(hidden.len().to_string().as_ref());
                say(ways.len().to_string().as_ref());
                for path in hidden.iter().chain(ways).chain(shown) {
                    say(path.as_ref());
                }
            }
            Self::Start(Start { folder, argv, env }) => {
                say("start".as_ref());
                say(folder);
                say(argv.len().to_string().as_ref());
                for word in argv {
                    say(word);
                }
                for (name, value) in env {
                    say(name);
                    say(value);
                }
            }
            Self::Clear => say("clear".as_ref()),
        }
        bytes
    }

    fn of(bytes: &[u8]) -> Option<Self> {
        let mut words = bytes.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec()));
        let kind = words.next()?;
        let mut rest: Vec<OsString> = words.collect();
        // What stands behind the last zero byte.
        rest.pop()?;
        let mut rest = rest.into_iter();
        let number = |word: OsString| word.to_str()?.parse::<usize>().ok();
        match kind.to_str()? {
            "furnish" => {
                let network = Network::of(rest.next()?.to_str()?)?;
                let count = number(rest.next()?)?;
                let known = number(rest.next()?)?;
                let hidden = rest.by_ref().take(count).map(PathBuf::from).collect();
                let ways: Vec<PathBuf> = rest.by_ref().take(known).map(PathBuf::from).collect();
                let (shown, strict) = (rest.map(PathBuf::from).collect(), !ways.is_empty());
                Some(Self::Furnish(View { hidden, shown, network, strict }, ways))
            }
            "start" => {
                let folder = rest.next()?;
                let count = number(rest.next()?)?;
                let argv = rest.by_ref().take(count).collect();
                let mut env = Vec::new();
                while let (Some(name), Some(value)) = (rest.next(), rest.next()) {
                    env.push((name, value));
                }
                Some(Self::Start(Start { folder, argv, env }))
            }
            "clear" => Some(Self::Clear),
            _ => None,
        }
    }

    /// Gives the order: how long it is, what it says, and these descriptors.
    pub(super) fn send(&self, door: &mut UnixStream, handed: &[OwnedFd]) -> io::Result<()> {
        let bytes = self.bytes();
        let length = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::ArgumentListTooLong)?;
        let handed: Vec<BorrowedFd<'_>> = handed.iter().map(AsFd::as_fd).collect();
        send(door, &length.to_le_bytes(), &handed)?;
        door.write_all(&bytes)
    }

    /// Waits for the next order; `None` when nobody gives any more.
    pub(super) fn receive(door: &mut UnixStream) -> io::Result<Option<(Self, Vec<OwnedFd>)>> {
        let mut length = [0; 4];
        let (count, handed) = receive(door, &mut length)?;
        if count == 0 {
            return Ok(None);
        }
        door.read_exact(&mut length[count..])?;
        let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
        if length > LONGEST {
            return Err(io::ErrorKind::ArgumentListTooLong.into());
        }
        let mut bytes = vec![0; length];
        door.read_exact(&mut bytes)?;
        let order = Self::of(&bytes).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Some((order, handed)))
    }
}

/// Sends a few bytes, and descriptors with them.
pub(super) fn send(socket: &UnixStream, bytes: &[u8], handed: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut with = SendAncillaryBuffer::new(&mut space);
    assert!(handed.is_empty() || with.push(SendAncillaryMessage::ScmRights(handed)), "at most {MOST}");
    let sent = retry_on_intr(|| sendmsg(socket, &[IoSlice::new(bytes)], &mut with, SendFlags::NOSIGNAL))?;
    // So few bytes are taken whole by a socket that takes any.
    if sent == bytes.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// Waits for bytes, and takes the descriptors that come with them.
pub(super) fn receive(socket: &UnixStream, bytes: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut with = RecvAncillaryBuffer::new(&mut space);
    // A socket with a limit of time is interrupted by every signal that is caught.
    let got = retry_on_intr(|| recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut with, RecvFlags::CMSG_CLOEXEC))?;
    let handed = with.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(handed) => Some(handed),
        _ => None,
    });
    Ok((got.bytes, handed.flatten().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_arrives_as_it_was_given_whatever_bytes_are_in_it() {
        let odd = OsString::from_vec(vec![0xff, b'\n', b' ']);
        let start = Start {
            folder: "/w".into(),
            argv: vec!["sh".into(), String::new().into(), odd.clone()],
            env: vec![("A".into(), OsString::new()), ("B".into(), odd)],
        };
        let network = Network::Gateway(Gateway::Socket("/g".into()));
        let view = View { hidden: vec!["/a".into(), "/b".into()], shown: vec!["/a/c".into()], network, strict: true };
        let (mut ours, mut theirs) = UnixStream::pair().expect("a pair");
        for order in [
            Order::Furnish(view, vec!["/b".into()]),
            Order::Furnish(View::default(), Vec::new()),
            Order::Start(start),
            Order::Clear,
        ] {
            let handed = [OwnedFd::from(UnixStream::pair().expect("a pair").0)];
            order.send(&mut ours, &handed).expect("sent");
            let (received, handed) = Order::receive(&mut theirs).expect("received").expect("an order");
            assert_eq!((received, handed.len()), (order, 1));
        }
        drop(ours);
        assert!(Order::receive(&mut theirs).expect("the end").is_none());
    }

    #[test]
    fn an_answer_is_read_as_it_was_given_and_nonsense_is_none() {
        for answer in [Answer::Started, Answer::Failed(2), Answer::Exited(-1), Answer::Signalled(9)] {
            assert_eq!(Answer::of(answer.bytes()), Some(answer));
        }
        assert_eq!(Answer::of([9; Answer::LENGTH]), None);
    }
}
