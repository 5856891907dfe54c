//! The server as the judge holds it: started, asked, stopped.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::net::TcpSocket;
use tokio::runtime::Builder;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::connection::{self, Play};
use super::fault::Fault;
use super::playbook::Playbook;
use super::record::Record;
use super::{RequestSeen, Script};
use crate::system::clock::{self, Moment};

/// Connections that are served at once; more wait until one of them ends.
const MOST_CONNECTIONS: usize = 256;
/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;
/// How long nobody is accepted after the host refused it, for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// How a model is started.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The port on 127.0.0.1; any free one when absent.
    pub port: Option<u16>,
    /// Makes the ids of answers unlike those of other runs; the same seed and the same requests give the same answers.
    pub seed: u64,
    /// When time begins for the record.
    pub epoch: Moment,
}

impl Default for Options {
    /// Any port, seed 0, time from now on.
    fn default() -> Self {
        Self { port: None, seed: 0, epoch: clock::now() }
    }
}

/// Why a model cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The script is wrong.
    #[error("the script cannot be played: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Script(Vec<Fault>),
    /// The port cannot be had, or the host has no thread to spare.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the host said.
        source: io::Error,
    },
}

/// A scripted model that is listening, on a thread of its own. Dropped, it stops and closes every connection.
#[derive(Debug)]
pub struct Model {
    address: SocketAddr,
    record: Arc<Record>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Model {
    /// Checks the script, then listens on 127.0.0.1.
    ///
    /// # Errors
    /// [`ModelError`].
    pub fn start(script: &Script, options: &Options) -> Result<Self, ModelError> {
        let playbook = Playbook::new(script).map_err(ModelError::Script)?;
        let wish = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port.unwrap_or(0)));
        let failed = |source| ModelError::Listen { address: wish, source };
        let listener = TcpListener::bind(wish).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let record = Arc::new(Record::new(options.epoch));
        let play = Arc::new(Play { playbook, record: Arc::clone(&record), seed: options.seed });
        let (stop, stopped) = oneshot::channel();
        let serve = move || runtime.block_on(accept(listener, play, stopped));
        let thread = thread::Builder::new().name("model".to_owned()).spawn(serve).map_err(failed)?;
        Ok(Self { address, record, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Everything that was asked so far.
    #[must_use]
    pub fn requests(&self) -> Vec<RequestSeen> {
        self.record.requests()
    }

    /// Waits until what was asked is as wished; looks at once, and again at every request that comes or ends. `false` when
    /// patience ends before.
    pub fn wait_for(&self, patience: Duration, holds: impl FnMut(&[RequestSeen]) -> bool) -> bool {
        self.record.wait_for(patience, holds)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.record.close();
        drop(self.stop.take());
        // A thread that panicked has said so.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Accepts connections until told to stop; what is then still open closes with the runtime.
async fn accept(listener: TcpListener, play: Arc<Play>, mut stopped: oneshot::Receiver<()>) {
    let Ok(mut listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let slots = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut open = JoinSet::new();
    loop {
        let next = async {
            let slot = Arc::clone(&slots).acquire_owned().await;
            (slot, listener.accept().await)
        };
        let (slot, accepted) = tokio::select! {
            _ = &mut stopped => return,
            Some(over) = open.join_next() => {
                let Ok(Some(away)) = over else { continue };
                let Ok(back) = leave(listener, &mut open, away, &mut stopped).await else { return };
                listener = back;
                continue;
            }
            next = next => next,
        };
        let Ok((stream, _)) = accepted else {
            sleep(PAUSE).await;
            continue;
        };
        // Small pieces are to leave when they are written.
        let _ = stream.set_nodelay(true);
        let play = Arc::clone(&play);
        open.spawn(async move {
            let away = connection::serve(stream, play).await;
            drop(slot);
            away
        });
    }
}

/// Stops listening for so long, then ends what is open: whoever notices that and connects again is refused already. The
/// address stays ours: it is held by a socket that accepts nobody, so connections to it are refused. Should somebody have
/// taken it all the same, we wait until it is free.
async fn leave(
    listener: tokio::net::TcpListener,
    open: &mut JoinSet<Option<Duration>>,
    away: Duration,
    stopped: &mut oneshot::Receiver<()>,
) -> io::Result<tokio::net::TcpListener> {
    let address = listener.local_addr()?;
    drop(listener);
    let mut held = hold(address);
    open.shutdown().await;
    let mut pause = away;
    loop {
        tokio::select! {
            _ = &mut *stopped => return Err(io::ErrorKind::Interrupted.into()),
            () = sleep(pause) => {}
        }
        if let Ok(listener) = held.and_then(|socket| socket.listen(BACKLOG)) {
            return Ok(listener);
        }
        (held, pause) = (hold(address), PAUSE);
    }
}

/// A socket that has an address and accepts nobody there.
fn hold(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}
