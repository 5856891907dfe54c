//! Loa's runtime contract, executed, validated and measured.
//!
//! Three programs share this library: `loa-run` executes the phases, `loa-validate` checks what is left behind, and
//! `loa-conform` judges any runtime from outside.
//!
//! # The house
//!
//! A module names only modules of a lower level. `conform` names even less: the contract's words, `text`, `diag`, `schema`
//! and `system`, for a judge that shared its rules with the runner would find them right.
//!
//! ```text
//! 8  cli        the only place that prints, parses arguments and chooses an exit code
//! 7  report     one report value, one renderer a format
//! 6  conform    model, spec, suite, observe, judge, score: six rooms, each naming only those before it
//! 6  backend    adapters behind the Backend port: one agent program each
//! 5  runner     the engine: attempts, gates, remediation, resume, escalation; the Backend port
//! 4  store      RunStore, the port: the journal under a lease; its projections: checkpoints, reports
//! 3  config     .loa.config.yaml, environment and flags, resolved, each value with its origin
//! 3  events     the one vocabulary of what happens, and the state as a fold over it
//! 2  policy     every rule that decides, pure: exits, backoff, context, triggers
//! 2  schema     kinds of documents, and the check against their schema
//! 1  contract   the words of the contract
//! 1  diag       documents with places, diagnostics, renderers
//! 1  draw       pictures as SVG, from plain values
//! 1  system     the only door to the host: clock, processes, files, locks, environment
//! 0  text       what others wrote, and the escapers that alone show it
//! ```
//!
//! # How data flows
//!
//! *Running*: `config` resolves values, `runner` starts a stage through `system` and learns how it ended; `policy` says
//! what that means. What happened becomes an event; `store` appends it to the journal, which lies where no phase cleans
//! up, and what is known of the execution is the fold of its `events`. Checkpoints and reports in the workspace are
//! written from that, compared with it, and never believed against it. `cli` and `report` read events, and tell the people.
//!
//! *Validating*: `diag` reads a document into values that know their places, `schema` checks them and explains each
//! error, `cli` prints it.
//!
//! *Judging*: `conform` lays a workspace, hands the runtime phases that it controls, and writes down what it sees as an
//! observation. Verdicts are a pure function of a case and an observation; cells are one of verdicts; `report` only
//! formats.
//!
//! # An example
//!
//! The rule for an exit is a pure function, and so is every other rule:
//!
//! ```
//! use loa::contract::{Action, PhaseExit};
//! use loa::policy::StageOutcome;
//!
//! let outcome = StageOutcome::exited(1);
//! assert_eq!(outcome.exit, PhaseExit::Retry);
//! assert_eq!(outcome.action(0, 3), Action::Retry);
//! assert_eq!(outcome.action(3, 3), Action::Escalate, "three retries are used up");
//! ```

pub mod backend;
pub mod cli;
pub mod config;
pub mod conform;
pub mod contract;
pub mod diag;
pub mod draw;
pub mod events;
pub mod policy;
pub mod report;
pub mod runner;
pub mod schema;
pub mod store;
pub mod system;
pub mod text;
