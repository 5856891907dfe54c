//! The command line of `loa-run`, as it is typed.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand};

use super::agent::{AgentVerb, agent_help};
use super::backends::{BACKENDS_HELP, BackendsVerb};
use super::log::LogArgs;
use super::service::{SERVICE_HELP, ServiceVerb};
use crate::cli::exit::SHARED_CODES;
use crate::config::{Override, built_in};
use crate::contract::{Phase, ResolutionAction};
use crate::runner::{Remedy, Selection};

/// Executes the phases of Loa's method unattended: retries, checkpoints, escalation
#[derive(Debug, Parser)]
#[command(name = "loa-run", version, after_help = after_help(), disable_help_subcommand = true)]
pub(super) struct LoaRun {
    #[command(subcommand)]
    pub(super) command: Verb,
    /// The folder that the phases work in; by default the current one, or the nearest above it that is a workspace
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) workspace: Option<PathBuf>,
    /// Print JSON on standard output, for machines: one document, or one a line where a command says so
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// Set a value of the configuration, such as runtime.retry.max=1; may be given again
    #[arg(long = "set", global = true, value_name = "KEY=VALUE", value_parser = Override::set)]
    pub(super) overrides: Vec<Override>,
    #[command(flatten)]
    pub(super) log: LogArgs,
}

/// Which phases of the plan are asked for.
#[derive(Debug, Args)]
pub(super) struct PhaseArgs {
    /// Execute this phase alone; no other has to be configured
    #[arg(long, value_name = "PHASE", conflicts_with = "from")]
    pub(super) phase: Option<Phase>,
    /// Execute this phase and those behind it
    #[arg(long, value_name = "PHASE")]
    pub(super) from: Option<Phase>,
    /// Stop after this phase
    #[arg(long, value_name = "PHASE", conflicts_with = "phase")]
    pub(super) until: Option<Phase>,
    /// Pass over a phase; may be given again
    #[arg(long, value_name = "PHASE")]
    pub(super) skip: Vec<Phase>,
}

impl PhaseArgs {
    pub(super) fn selection(&self) -> Selection<'static> {
        match (self.phase, self.from) {
            (Some(phase), _) => Selection::Only(phase),
            (None, None) if self.until.is_none() => Selection::All,
            (None, from) => Selection::Between(from, self.until),
        }
    }

    /// Whether anything but all of them is asked for.
    pub(super) fn is_given(&self) -> bool {
        !self.skip.is_empty() || !matches!(self.selection(), Selection::All)
    }
}

/// How a whole run is to be shown.
#[derive(Debug, Args)]
pub(super) struct TryArgs {
    /// Answer by itself; so it is too where there is no terminal
    #[arg(long, short)]
    pub(super) yes: bool,
    /// Keep the folder
    #[arg(long)]
    pub(super) keep: bool,
    /// Do it in this folder, which must be new or empty, and keep it
    #[arg(long, value_name = "DIR")]
    pub(super) into: Option<PathBuf>,
    /// Do not open the report in a browser
    #[arg(long)]
    pub(super) no_open: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// See a whole run in a scratch folder, without a key: a scripted agent, a retry, an approval, the report
    #[command(after_help = TRY_EXAMPLES)]
    Try(TryArgs),
    /// Execute the phases, from the first on
    Run {
        /// A plan to execute instead of the configured phases
        #[arg(long, value_name = "FILE")]
        plan: Option<PathBuf>,
        #[command(flatten)]
        phases: PhaseArgs,
        /// Say what would run, and run nothing
        #[arg(long)]
        dry_run: bool,
        /// Put an unfinished execution aside first
        #[arg(long)]
        fresh: bool,
        /// When a human is called, stay until there is an answer, and go on
        #[arg(long)]
        wait: bool,
    },
    /// Go on with the execution that is there
    Resume {
        /// The plan, when it moved since
        #[arg(long, value_name = "FILE")]
        plan: Option<PathBuf>,
        #[command(flatten)]
        remedy: RemedyArgs,
        /// Which configuration and plan to go on with: those that the execution began with, whatever was made of them
        /// since, or those that lie there now
        #[arg(long, value_enum, value_name = "WHICH", default_value_t)]
        config: Which,
        /// The code with which `--config new` or `--set` shows what it asks less of: take it all the same
        #[arg(long, value_name = "CODE")]
        weaker: Option<String>,
        /// When a human is called, stay until there is an answer, and go on
        #[arg(long)]
        wait: bool,
    },
    /// Show where the execution stands, what it waits for, and what is asked of you
    #[command(after_help = STATUS_HELP)]
    Status {
        /// Go on as long as the run works: drawn over itself on a terminal, elsewhere a line a change
        #[arg(long, short)]
        watch: bool,
    },
    /// Print the execution's state as the contract defines it, as JSON
    State,
    /// Stop the execution and call a human
    Halt,
    /// Answer an escalation
    Resolve {
        /// What to do; without it and without a file, the variable `LOA_RESOLUTION` says it
        #[arg(value_name = "ACTION")]
        action: Option<ResolutionAction>,
        /// A file with the keys action and notes
        #[arg(long, value_name = "FILE", conflicts_with = "action")]
        file: Option<PathBuf>,
        /// The call that is answered, as the message or `loa-run status` names it; nothing is done where it is answered
        /// already, or another one waits
        #[arg(long, value_name = "ID")]
        call: Option<String>,
        /// Why, for the record
        #[arg(long, value_name = "TEXT")]
        notes: Option<String>,
    },
    /// Deliver what a run had to tell and nobody has taken yet; for a timer or a service, and to try the receivers out
    #[command(after_help = NOTIFY_EXAMPLES)]
    Notify {
        /// Send a test message to every receiver of the configuration that lies there now
        #[arg(long, conflicts_with = "retry")]
        test: bool,
        /// Try everything at once that nobody has taken, also what was refused
        #[arg(long)]
        retry: bool,
        /// Whom to tell, and where: those with whom an unfinished execution began, whatever was made of them since, or those
        /// of the configuration that lies there now, this once
        #[arg(long, value_enum, value_name = "WHICH", default_value_t, conflicts_with = "test")]
        config: Which,
    },
    /// Print the configuration in force
    Config {
        /// Each value with its origin: a flag, a variable, a line of a file, or the default
        #[arg(long)]
        explain: bool,
    },
    /// Write what happened as one HTML page with a timeline
    Report {
        /// Where to write it; `.loa-run/report.html` by default
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// An execution that was put aside, instead of the present one
        #[arg(long, value_name = "ID")]
        execution: Option<String>,
    },
    /// List the calls for a human, with their reports and answers
    Escalations {
        /// An execution that was put aside, instead of the present one
        #[arg(long, value_name = "ID")]
        execution: Option<String>,
    },
    /// Show what a subscription was used for in this cycle of five hours and in this week, as its program's logs say
    Usage,
    /// Print what a phase wrote: its attempt that was written to last
    Logs {
        /// The phase
        #[arg(value_name = "PHASE")]
        phase: Phase,
        /// Another attempt
        #[arg(long, value_name = "N")]
        attempt: Option<u32>,
        /// Go on as long as the run works
        #[arg(long, short)]
        follow: bool,
    },
    /// Look whether a run could work here, and what would stand in its way
    Doctor {
        /// The plan to be executed, when there is no execution yet
        #[arg(long, value_name = "FILE")]
        plan: Option<PathBuf>,
        #[command(flatten)]
        phases: PhaseArgs,
    },
    /// List the executions of this workspace
    Runs,
    /// Remove executions that are over, by their age or their number; the present one is kept
    #[command(after_help = PRUNE_EXAMPLES, group = ArgGroup::new("chosen").required(true).multiple(true))]
    Prune {
        /// Remove those that ended longer ago than this many days
        #[arg(long, value_name = "DAYS", group = "chosen")]
        older_than: Option<u32>,
        /// Keep this many of the newest, and remove the others
        #[arg(long, value_name = "N", group = "chosen")]
        keep: Option<usize>,
        /// Say what would be removed, and remove nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Print the journal of an execution, event by event (with --json one JSON document a line), and check that nobody
    /// edited it
    #[command(after_help = JOURNAL_EXAMPLES)]
    Journal {
        /// An execution that was put aside, instead of the present one
        #[arg(long, value_name = "ID")]
        execution: Option<String>,
        /// A head that a report printed: say whether the journal still holds what led to it
        #[arg(long, value_name = "HASH")]
        head: Option<String>,
    },
    /// Have systemd go on with the run after a crash or a reboot
    #[command(after_help = SERVICE_HELP, disable_help_subcommand = true)]
    Service {
        #[command(subcommand)]
        verb: ServiceVerb,
    },
    /// Ask one agent, outside of a run
    #[command(after_help = agent_help(), disable_help_subcommand = true)]
    Agent {
        #[command(subcommand)]
        verb: AgentVerb,
    },
    /// Show which agents there are and what each can do, try them, or add one
    #[command(after_help = BACKENDS_HELP, disable_help_subcommand = true)]
    Backends {
        #[command(subcommand)]
        verb: Option<BackendsVerb>,
    },
    /// Write a commented configuration, with prompts for the agent that is installed
    Init {
        /// Add what belongs to a run, and not to the work, to .gitignore
        #[arg(long)]
        ignore: bool,
        /// Give every phase a prompt for this agent: Loa's slash commands where they are there, or a plain sentence
        #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(built_in()))]
        backend: Option<String>,
    },
}

/// Which configuration an execution goes on with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Which {
    /// The one that it began with
    #[default]
    Pinned,
    /// The one that lies there now
    New,
}

/// What to do where a checkpoint on disk is not what the journal says.
#[derive(Debug, Clone, Copy, clap::Args)]
#[group(multiple = false)]
pub(super) struct RemedyArgs {
    /// Write checkpoints that are not as the journal has them again
    #[arg(long)]
    restore: bool,
    /// Run the phases again whose checkpoints are not as the journal has them
    #[arg(long)]
    rerun: bool,
    /// Take the checkpoints on disk for right, also where there is no journal
    #[arg(long)]
    adopt: bool,
}

impl RemedyArgs {
    /// What is wanted; nothing when no flag says it.
    pub(super) fn remedy(self) -> Option<Remedy> {
        match self {
            Self { restore: true, .. } => Some(Remedy::Restore),
            Self { rerun: true, .. } => Some(Remedy::Rerun),
            Self { adopt: true, .. } => Some(Remedy::Adopt),
            _ => None,
        }
    }
}

const TRY_EXAMPLES: &str = "\
Examples:
  loa-run try                   asks you once, and opens the report
  loa-run try --yes --keep      asks nobody, and leaves the folder to look at
  loa-run try --into /tmp/demo  the same in a folder of your choice
  loa-run try --json            one JSON document a step, one a line";

const STATUS_HELP: &str = "\
Examples:
  loa-run status                see where it stands
  loa-run status --watch        look on until nobody works on it any more
  loa-run status --json | jq .standing

Exit codes:
  0    it is finished, or a stage works
  1    it waits, and goes on by itself: before a retry, for a provider, or because
       a service starts it again; or it was paused, as when the patience for a
       provider was spent, and `loa-run resume` goes on, now or later
  2    a human is needed: `loa-run resolve`, or `loa-run resume`
  66   there is no execution
  and those of `loa-run --help`";

const NOTIFY_EXAMPLES: &str = "\
Examples:
  loa-run notify --test                   whether the receivers can be reached
  loa-run notify                          deliver what is left, such as every five minutes
  loa-run notify --retry                  once more, when what refused was mended
  loa-run notify --retry --config new     the same to the addresses that the configuration says now

Exit codes: 0 nothing is left, 1 something is tried again later, 2 something was refused.";

const PRUNE_EXAMPLES: &str = "\
Examples:
  loa-run prune --keep 10                 the ten newest stay
  loa-run prune --older-than 30           what ended more than 30 days ago goes
  loa-run prune --keep 3 --dry-run --json";

const JOURNAL_EXAMPLES: &str = "\
Examples:
  loa-run journal                         what happened, one line an event
  loa-run journal --json | jq .event      the same for machines
  loa-run journal --head 5f0c1a…          whether it still holds what a report was made of";

fn after_help() -> String {
    format!("{EXAMPLES}\n\nExit codes:\n{OWN_CODES}\n{SHARED_CODES}")
}

const EXAMPLES: &str = "\
Examples:
  loa-run try                         see a whole run first, without a key
  loa-run init                        find the agent, write .loa.config.yaml
  loa-run init --backend codex        the same for another agent
  loa-run run                         execute the eight phases
  loa-run run --plan plan.json        execute those of a file instead
  loa-run run --from audit --dry-run  say what would run
  loa-run run --set runtime.backend=codex
                                      have prompts done by another agent
  loa-run doctor                      look whether it could work here
  loa-run status                      see where it stands, from another shell
  loa-run resolve fix_and_resume      answer a call, when the cause is mended
  loa-run resume                      go on
  loa-run run --wait                  stay until there is an answer, and go on
  loa-run notify --test               see whether messages arrive
  loa-run logs audit --follow         see what a phase writes
  loa-run run -vv                     see what the program does, on standard error
  loa-run config --explain            see where each value comes from
  loa-run report                      see what happened: .loa-run/report.html
  loa-run runs                        list the executions of this workspace
  loa-run service install --start     go on after a crash or a reboot
  loa-run agent run \"What is this?\"  ask one agent, outside of a run
  loa-run backends                    see which agents there are

Configuration, the strongest first:
  flags (--set), the environment, .loa.config.yaml,
  $XDG_CONFIG_HOME/loa-run/config.yaml, the defaults

Variables:
  LOA_RUN_RETRY_MAX is runtime.retry.max, and so on for the section runtime
  CONTEXT_SOFT_LIMIT, CONTEXT_HARD_LIMIT, LOA_RUN_TIMEOUT_HOURS, LOA_OPERATOR
  LOA_RESOLUTION, LOA_RESOLUTION_NOTES: the answer for `resolve`
  LOA_LOG, LOA_LOG_FORMAT: as --log and --log-format; the parts are execution,
  stage, attempt, invocation and store

A plan:
  {\"phases\": [
    {\"id\": \"design\", \"prompt\": \"Design it.\", \"backend\": \"claude\"},
    {\"id\": \"implementation\", \"command\": [\"make\", \"build\"]}]}

Agents:
  A phase with a prompt is done by an agent that `loa-run backends` lists,
  or one under runtime.backends. Its word alone is recorded as UNVERIFIED; a gate
  (runtime.phases.<phase>.verify) decides instead.";

const OWN_CODES: &str = "  0    every phase is done
  1    trying again may help: another run holds the workspace, or a
       provider's limit or outage outlasts the patience
  2    a human is needed: escalated, halted, or waiting for an answer";
