//! Phases that an agent does. A stand-in plays recordings of the real agents, so nothing here needs them; `real` runs
//! the agents themselves where they are installed.

mod acp;
mod asked;
mod backends;
mod bounded;
mod context;
mod docker;
mod ends;
mod limits;
mod outages;
mod prompts;
mod real;
mod real_acp;
mod sessions;
mod settings;
mod standin;

use standin::{Player, StandIn};
