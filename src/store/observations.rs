//! The stream of observations of one execution: its log of record, in the run's own state.
//!
//! Output is not in it: that is in the log of its attempt. Nothing is decided by it, so nothing stops when it cannot be
//! written; what did not fit is missing in it and nowhere else.

use jiff::Timestamp;
use serde::Serialize;

use super::{Place, StoreError};
use crate::contract::ExecutionId;
use crate::events::{EVENT_VERSION, Observation};
use crate::system::files::{self, Appender, Privacy};

/// How long the file may grow, in bytes, before the next is begun; the one before that is dropped.
const LONGEST: u64 = 16 << 20;

/// The stream of observations.
#[derive(Debug)]
pub struct Observations {
    path: std::path::PathBuf,
    file: Option<Appender>,
    length: u64,
}

#[derive(Serialize)]
struct Line<'a> {
    version: u32,
    at: Timestamp,
    #[serde(flatten)]
    observation: &'a Observation,
}

impl Observations {
    /// The stream of an execution; nothing is in it yet, but its folder is there, and that of the logs beside it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn new(place: &Place, execution: &ExecutionId) -> Result<Self, StoreError> {
        files::lay_folder(&place.logs(execution), Privacy::Private)?;
        Ok(Self { path: place.observations(execution), file: None, length: 0 })
    }

    /// Takes an observation in.
    pub fn take(&mut self, at: Timestamp, observation: &Observation) {
        if matches!(observation, Observation::Output { .. }) {
            return;
        }
        let line = Line { version: EVENT_VERSION, at, observation };
        let Ok(mut line) = serde_json::to_vec(&line) else { return };
        line.push(b'\n');
        if self.length > LONGEST {
            self.file = None;
            let _ = files::rename(&self.path, &self.path.with_extension("1.jsonl"));
        }
        if self.file.is_none() {
            self.length = self.path.metadata().map_or(0, |found| found.len());
            self.file = Appender::open(&self.path, Privacy::Private).ok();
        }
        self.length += line.len() as u64;
        let _ = self.file.as_mut().map(|file| file.append(&line));
    }
}
