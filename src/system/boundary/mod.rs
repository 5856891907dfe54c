//! A boundary: a world that looks like the host's to whoever works in it, but for the state of runs, which is not there, and
//! for processes, of which only those behind the boundary are.
//!
//! Its first process is our own program with a hidden argument, in namespaces that the `unshare` program makes: a keeper, which
//! starts what we order, hands us the means to reach it, says how it ended, and ends everything behind it when it is told to.
//! When it dies, or we do, the kernel ends all of it, whatever it did to hide. Linux only.
//!
//! - `world`: a boundary, seen from us. `keeper`: its first process. `furnish`: what that one does before anybody else is there.
//! - `words`: what is said between the two. `gateway`: the way out of a network of its own. `ways`: other
//!   ways out that are known.

mod furnish;
mod gateway;
mod keeper;
mod ways;
mod words;
mod world;

pub use gateway::{Gateway, NoGateway};
pub use keeper::{BOUNDARY, keep};
pub(in crate::system) use words::Start;
pub use words::{Network, View};
pub use world::Boundary;
