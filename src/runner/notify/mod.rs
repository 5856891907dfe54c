//! Tells people who do not look at the terminal how a run ended, and what it asks of them.
//!
//! What is told is a message of the state's outbox ([`crate::events::Outbox`]). `outbox` says which receivers are to be
//! told of which message now, and what an answer of theirs means; it is pure. `morning` is the message as one value,
//! made of the state, of what changed in the `work_tree`, of the `difference` in files that are asked about and of the
//! end of a log, fit to be shown; `render` gives it the shape that a service wants, and `room` shares what that takes
//! between the parts. `send` gives it to one receiver, and `deliver` to all of them, under the lease, until nobody is
//! left or the time is over. Never a reason to fail: what was not taken stays in the journal, for the next command.

mod call;
mod deliver;
mod difference;
mod morning;
mod outbox;
mod render;
mod room;
mod send;
mod work_tree;

pub use self::call::Call;
pub use self::deliver::{Delivered, Deliverer};
pub use self::difference::Difference;
pub use self::morning::{Answering, Morning};
pub use self::outbox::{Outcome, Undelivered, carried, due, next_try, tried, undelivered};
