//! What a run has to do with people: they are told, they answer, they stop it, they ask how it stands.
//!
//! All of it but `notify` is done by other processes than the one that works, and through the journal alone.

mod awaiting;
mod call;
mod halt;
mod notify;
pub(super) mod operator;
mod resolution_file;
mod resolve;
mod status;

pub use awaiting::{Awaited, await_resolution};
pub use call::Call;
pub use halt::{Halted, halt};
pub use notify::{Notification, Notifier};
pub use resolution_file::{RESOLUTION, ResolutionDocument};
pub use resolve::{Resolved, resolve};
pub(super) use status::flag;
pub use status::{Pending, PhaseLine, Status, state, status};
