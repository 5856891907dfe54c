//! The configuration: `.loa.config.yaml`, the environment and the flags, resolved into values that know their origin.
//!
//! Level 3 of the house. The file belongs to Loa: its own sections keep Loa's key names, what this runtime does not read is
//! left alone, and only `runtime:` is ours, closed against misspelt keys. A flag goes before the environment, the environment
//! before the workspace's file, that before the user's own, and that before the defaults. The file is checked against its
//! schema first and read into types second, so that a wrong value is a finding with a line and a column.

mod agents;
mod backend;
mod boundary;
mod check;
mod command;
mod docker;
mod document;
mod error;
mod files;
mod keys;
mod kind;
mod limits;
mod load;
mod loas_own;
mod notify;
mod old_names;
mod origin;
mod prompts;
mod runtime;
mod section;
mod settings;
mod skeleton;
mod span;
mod template;

pub use backend::{BackendKind, BackendSection, Permissions, Quota, built_in};
pub use boundary::{BoundaryMode, BoundarySection, Lifetime, Network};
pub use command::Command;
pub use docker::DockerSection;
pub use document::ConfigDocument;
pub use error::{ConfigError, Problems, Source};
pub use files::{ConfigFiles, FileRole, OnDisk};
pub use keys::{PREFIX, runtime_variables};
pub use kind::CONFIG;
pub use limits::{LimitsSection, Size};
pub use load::{FILE_NAME, NamedState, USER_FILE, load, named_state, resolve, resolve_over};
pub use notify::{NO_ADDRESS, Notify, NotifyOn, Receiver, ReceiverKind, Secret, is_address};
pub use old_names::{OldName, read_old_names};
pub use origin::{
    NotAnAssignment, Origin, Override, SEARCH_PATH, VARIABLES, from_environment, is_secret, lasting, with_lasting,
};
pub use prompts::Prompts;
pub use runtime::{Compaction, InDoubt, PhaseSection, Phases, Retry, RetryOverride, Runtime};
pub use section::{
    AutonomousAgent, BudgetSection, CircuitBreaker, ContextEditing, ContextSection, Effort, MemorySchema, Operator,
    OperatorChoice, RunDefaults, RunMode,
};
pub use settings::{BackendSettings, Explained, PhaseSettings, RetrySettings, Settings};
pub use skeleton::{NotAdded, backend_section, with_backend};
pub use span::Span;
pub use template::{TEMPLATE, is_loas_command, slash_commands, template_for};
