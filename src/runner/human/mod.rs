//! What people do to a run: they answer, they stop it, they ask how it stands.
//!
//! All of it is done by other processes than the one that works, and through the journal alone.

mod awaiting;
mod death;
mod halt;
mod next;
mod resolution_file;
mod resolve;
mod status;
mod weaker_question;
mod work;

pub use awaiting::{Awaited, await_resolution_telling, stay_until_told};
pub use death::notice_death;
pub use halt::{Halted, halt};
pub use resolution_file::{RESOLUTION, ResolutionDocument};
pub use resolve::{Resolved, resolve};
pub use status::{AnswerLine, Pending, PhaseLine, Status, Vantage, state, status};
pub use weaker_question::ask_about_weaker;
pub use work::{Doing, LastFailure, LastOutput, Standing, WorkAtHand};
