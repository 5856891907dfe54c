//! The one way out of a boundary whose network is its own: a port on its loopback. Whoever connects to it is brought to an address
//! of the host by us, who are outside; what is said there is for whoever listens at that address to judge.

use std::fs::File;
use std::io::{self, copy};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{Shutdown, shutdown};

/// The port behind the boundary: the one that proxies of the web have by custom.
const PORT: u16 = 3128;
/// The most connections at a time: each takes two threads and four descriptors of ours, and whoever makes them means us no good.
const MOST: usize = 64;
/// How often is looked whether one of them is over, where there are that many.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// Where the one way out leads: to a socket of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gateway {
    /// One with a path.
    Socket(PathBuf),
    /// One on loopback.
    Port(SocketAddr),
}

/// An address that names no socket of this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("neither `unix:` and an absolute path nor an address of loopback with a port, such as 127.0.0.1:8080")]
pub struct NoGateway;

impl FromStr for Gateway {
    type Err = NoGateway;

    fn from_str(address: &str) -> Result<Self, NoGateway> {
        if let Some(path) = address.strip_prefix("unix:") {
            return Some(path)
                .filter(|path| Path::new(path).is_absolute())
                .map(|path| Self::Socket(path.into()))
                .ok_or(NoGateway);
        }
        let socket =
            address.parse().ok().filter(|address: &SocketAddr| address.ip().is_loopback() && address.port() != 0);
        socket.map(Self::Port).ok_or(NoGateway)
    }
}

impl std::fmt::Display for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Socket(path) => write!(f, "unix:{}", path.display()),
            Self::Port(address) => address.fmt(f),
        }
    }
}

impl Gateway {
    /// Connects to whoever listens there.
    ///
    /// # Errors
    /// When nobody does, or the host refuses.
    pub fn connect(&self) -> io::Result<OwnedFd> {
        Ok(match self {
            Self::Socket(path) => UnixStream::connect(path)?.into(),
            Self::Port(address) => TcpStream::connect(address)?.into(),
        })
    }

    /// What programs behind the boundary are told: where their proxy is, and that their own loopback needs none.
    pub(super) fn variables() -> impl Iterator<Item = (&'static str, String)> {
        let proxy = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
        let direct = ["NO_PROXY", "no_proxy"].map(|name| (name, "localhost,127.0.0.1,::1".to_owned()));
        proxy.into_iter().map(|name| (name, format!("http://127.0.0.1:{PORT}"))).chain(direct)
    }
}

/// Opens the port, in the network that we are in.
pub(super) fn open() -> io::Result<TcpListener> {
    TcpListener::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, PORT))
}

/// Brings whoever connects to the listener to the gateway, until the other end of `while_open` is dropped.
pub(super) fn serve(listener: TcpListener, gateway: Gateway, while_open: UnixStream) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let brought = Arc::new(());
    thread::Builder::new().name("gateway".to_owned()).spawn(move || {
        while is_open(&listener, &while_open, Arc::strong_count(&brought) > MOST) {
            let Ok((client, _)) = listener.accept() else { continue };
            let (gateway, one) = (gateway.clone(), Arc::clone(&brought));
            // Nobody there, or no thread to be had: the connection ends, which is what its program sees.
            let _ = thread::Builder::new().name("gateway".to_owned()).spawn(move || {
                let _ = client.set_nonblocking(false).and_then(|()| bring(client.into(), &gateway));
                drop(one);
            });
        }
    })?;
    Ok(())
}

/// Waits until somebody connects, or, where nobody else can be brought now, for a moment. Whether the boundary is still there.
fn is_open(listener: &TcpListener, while_open: &UnixStream, is_full: bool) -> bool {
    let mut watched = vec![PollFd::new(while_open, PollFlags::IN)];
    if !is_full {
        watched.push(PollFd::new(listener, PollFlags::IN));
    }
    let _ = poll(&mut watched, is_full.then_some(&LOOK));
    watched[0].revents().is_empty()
}

/// Brings all that is said from one to the other, both ways, until both have said all.
fn bring(client: OwnedFd, gateway: &Gateway) -> io::Result<()> {
    let (client, host) = (File::from(client), File::from(gateway.connect()?));
    let (from, to) = (client.try_clone()?, host.try_clone()?);
    let there = thread::Builder::new().name("gateway".to_owned()).spawn(move || said(&from, &to))?;
    said(&host, &client);
    let _ = there.join();
    Ok(())
}

/// Brings what one says to the other, and its end.
fn said(mut from: &File, mut to: &File) {
    // Whichever of them is gone: there is nothing more to bring.
    let _ = copy(&mut from, &mut to);
    let _ = shutdown(to, Shutdown::Write);
    let _ = shutdown(from, Shutdown::Read);
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn an_address_names_a_socket_of_this_host_alone() {
        for (address, found) in [
            ("unix:/run/gateway", Some(Gateway::Socket("/run/gateway".into()))),
            ("127.0.0.1:8080", Some(Gateway::Port(([127, 0, 0, 1], 8080).into()))),
            ("[::1]:8080", Some(Gateway::Port((std::net::Ipv6Addr::LOCALHOST, 8080).into()))),
            ("unix:run/gateway", None),
            ("/run/gateway", None),
            ("127.0.0.1", None),
            ("127.0.0.1:0", None),
            ("192.0.2.1:8080", None),
            ("localhost:8080", None),
        ] {
            assert_eq!(address.parse().ok(), found, "{address}");
            assert!(found.is_none_or(|found| found.to_string() == address));
        }
    }

    #[test]
    fn what_is_said_arrives_and_so_does_its_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gateway");
        let host = std::os::unix::net::UnixListener::bind(&path).expect("bound");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bound");
        let address = listener.local_addr().expect("an address");
        let (open, while_open) = UnixStream::pair().expect("a pair");
        serve(listener, Gateway::Socket(path), while_open).expect("served");
        let mut client = TcpStream::connect(address).expect("connected");
        let (mut asked, _) = host.accept().expect("asked");
        client.write_all(b"asks").and_then(|()| client.shutdown(std::net::Shutdown::Write)).expect("said");
        let (mut question, mut answer) = (String::new(), String::new());
        asked.read_to_string(&mut question).expect("read to its end");
        asked.write_all(b"answers").expect("said");
        drop(asked);
        client.read_to_string(&mut answer).expect("read to its end");
        assert_eq!((question.as_str(), answer.as_str()), ("asks", "answers"));
        drop(open);
        // It may still take one that was on its way; then nobody listens.
        while TcpStream::connect(address).is_ok() {}
    }
}
