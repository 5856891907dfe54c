//! The report of one execution: what happened, step by step, as a value, as JSON and as one page with a timeline.
//!
//! `value` says what a report is, `fold` makes one of what lies on disk, `timeline` draws it, and `html` is the page. The
//! page needs no network and no script, and says in tables all that the picture shows.

mod fold;
mod html;
#[cfg(test)]
mod tests;
mod timeline;
mod value;

pub use fold::{Seen, fold};
pub use html::html;
pub use value::{
    Answer, AttemptOutcome, AttemptReport, Call, ContextEvent, Gap, GapCause, Limit, OutageReport, PhaseReport,
    Remediation, RunReport, Wait,
};
