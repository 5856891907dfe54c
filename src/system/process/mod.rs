//! Child processes: each in a group of its own, streamed with bounded memory, ended as a whole.
//!
//! - `command`: what to start, and starting it through `posix_spawn` (no `pre_exec`, which costs fifteen times as much).
//! - `running`: a child that was started: its output, its end, and the ladder that ends it.
//! - `talk`: the pipes of a child that is talked with.
//! - `output`: a pipe cut into lines, or into pieces where a line is long.
//! - `foster`: a child that another process of ours starts for us and looks after, with everything below it; `handover`: the
//!   descriptors that it is given for that.
//! - `own`: which children are our own. `group`: whether anything of a group still runs. `exit`: how a child ended.
//! - `capture`: run to the end and keep the output. `attend`: run while a person looks on. `interrupt`: signals sent to ourselves.

mod attend;
mod capture;
mod command;
mod exit;
mod foster;
pub(super) mod group;
mod handover;
mod interrupt;
mod output;
pub(super) mod own;
mod running;
mod talk;

pub use attend::{Attended, attend, next_line};
pub use capture::{Captured, capture, capture_told};
pub use command::Command;
pub use exit::{ProcessExit, signal_name};
pub(in crate::system) use foster::hear_end;
pub use foster::{Foster, Fostered, Outlets, Pipes, Reach, bury, take_up_orphans};
pub use handover::{hand_nothing_down, hand_over, take_one, take_over};
pub use interrupt::{Interrupt, Interrupts};
pub use output::{LONGEST_PIECE, Piece, Stream};
pub use own::own_id;
pub use running::{Event, Running, kill_group};
pub use talk::Talk;
