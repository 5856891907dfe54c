//! The service manager that started us, where there is one: it hears that we are ready, that we are alive, and what we do
//! (the protocol of `sd_notify`).
//!
//! Nothing of it may hold us up or fail us: a manager that does not listen misses a message.

use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use super::clock::{self, Moment};
use super::env;
use super::process::own_id;

/// What a service manager tells those that it starts. It is meant for us alone, so whatever we start is told none of it.
pub(in crate::system) const VARIABLES: [&str; 3] = [SOCKET, "WATCHDOG_USEC", "WATCHDOG_PID"];
const SOCKET: &str = "NOTIFY_SOCKET";

/// A service manager that listens, or nobody.
#[derive(Debug, Default)]
pub struct ServiceManager {
    to: Option<(UnixDatagram, SocketAddr)>,
    /// How often it wants a sign of life from us; `None` where it wants none.
    interval: Option<Duration>,
    last: Option<Moment>,
}

impl ServiceManager {
    /// The one that the environment names.
    #[must_use]
    pub fn of_environment() -> Self {
        let address = env::var(SOCKET).and_then(|name| address(&name));
        let to = address.and_then(|address| Some((socket()?, address)));
        let is_ours = env::var("WATCHDOG_PID").is_none_or(|pid| pid.parse() == Ok(own_id()));
        let watchdog = env::var("WATCHDOG_USEC").filter(|_| is_ours).and_then(|usec| usec.parse().ok());
        // Several signs within the time after which we count as dead: one may come late.
        let interval = watchdog.map(|usec: u64| Duration::from_micros(usec) / 4);
        Self { to, interval, last: None }
    }

    /// Says that we have begun.
    pub fn ready(&self) {
        self.send("READY=1");
    }

    /// Says in one line what we do.
    pub fn status(&self, line: &str) {
        if self.to.is_some() {
            self.send(&format!("STATUS={}", crate::text::line(line)));
        }
    }

    /// Says that we are alive, where that is wanted and was not said a moment ago. To be called by whoever does the work, and
    /// only then: a thread of its own would still call when the work is stuck.
    pub fn alive(&mut self) {
        let Some(interval) = self.interval else { return };
        let now = clock::now();
        if self.last.is_none_or(|last| now.since(last) >= interval) {
            self.send("WATCHDOG=1");
            self.last = Some(now);
        }
    }

    fn send(&self, message: &str) {
        if let Some((socket, address)) = &self.to {
            let _ = socket.send_to_addr(message.as_bytes(), address);
        }
    }
}

fn socket() -> Option<UnixDatagram> {
    let socket = UnixDatagram::unbound().ok()?;
    socket.set_nonblocking(true).ok()?;
    Some(socket)
}

/// A path, or behind an `@` the name of a socket that has none.
fn address(name: &str) -> Option<SocketAddr> {
    match name.strip_prefix('@') {
        Some(name) => abstract_address(name),
        None => SocketAddr::from_pathname(name).ok(),
    }
}

#[cfg(target_os = "linux")]
fn abstract_address(name: &str) -> Option<SocketAddr> {
    use std::os::linux::net::SocketAddrExt;
    SocketAddr::from_abstract_name(name).ok()
}

#[cfg(not(target_os = "linux"))]
fn abstract_address(_: &str) -> Option<SocketAddr> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A manager that wants a sign of life every 40 ms or so, and what it has heard.
    fn manager(name: &str, listener: &UnixDatagram) -> (ServiceManager, impl Fn() -> Vec<String>) {
        listener.set_nonblocking(true).expect("set");
        let to = Some((socket().expect("a socket"), address(name).expect("an address")));
        let listener = listener.try_clone().expect("cloned");
        let heard = move || {
            let mut buffer = [0; 200];
            let next =
                |()| listener.recv(&mut buffer).ok().map(|length| String::from_utf8_lossy(&buffer[..length]).into());
            std::iter::repeat(()).map_while(next).collect()
        };
        (ServiceManager { to, interval: Some(Duration::from_hours(1)), last: None }, heard)
    }

    #[test]
    fn messages_arrive_at_a_path_and_at_a_name_without_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notify").display().to_string();
        let name = format!("loa-test-{}", own_id());
        let hidden = UnixDatagram::bind_addr(&abstract_address(&name).expect("an address")).expect("bound");
        for (name, listener) in
            [(path.clone(), UnixDatagram::bind(&path).expect("bound")), (format!("@{name}"), hidden)]
        {
            let (mut manager, heard) = manager(&name, &listener);
            manager.ready();
            manager.status("design\nREADY=1");
            manager.alive();
            manager.alive();
            assert_eq!(heard(), ["READY=1", "STATUS=design READY=1", "WATCHDOG=1"], "{name}: once an interval");
            manager.interval = Some(Duration::ZERO);
            manager.alive();
            manager.interval = None;
            manager.alive();
            assert_eq!(heard(), ["WATCHDOG=1"]);
        }
    }

    #[test]
    fn a_manager_that_does_not_listen_holds_nobody_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notify").display().to_string();
        let listener = UnixDatagram::bind(&path).expect("bound");
        let (mut manager, _) = manager(&path, &listener);
        manager.interval = Some(Duration::ZERO);
        (0..10_000).for_each(|_| manager.alive());
        drop(listener);
        manager.ready();
        ServiceManager::default().ready();
    }
}
