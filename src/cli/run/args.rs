//! The command line of `loa-run`, as it is typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::cli::exit::SHARED_CODES;
use crate::config::Override;
use crate::contract::{Phase, ResolutionAction};

/// Executes the phases of Loa's method unattended: retries, checkpoints, escalation
#[derive(Debug, Parser)]
#[command(name = "loa-run", version, after_help = after_help(), disable_help_subcommand = true)]
pub(super) struct LoaRun {
    #[command(subcommand)]
    pub(super) command: Verb,
    /// The folder that the phases work in; the current one by default
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) workspace: Option<PathBuf>,
    /// Print one JSON document on standard output, for machines
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// Set a value of the configuration, such as runtime.retry.max=1; may be given again
    #[arg(long = "set", global = true, value_name = "KEY=VALUE", value_parser = Override::set)]
    pub(super) overrides: Vec<Override>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Execute the phases, from the first on
    Run {
        /// A plan to execute instead of the configured phases
        #[arg(long, value_name = "FILE")]
        plan: Option<PathBuf>,
        /// Execute this phase alone
        #[arg(long, value_name = "PHASE", conflicts_with = "from")]
        phase: Option<Phase>,
        /// Execute this phase and those behind it
        #[arg(long, value_name = "PHASE")]
        from: Option<Phase>,
        /// Say what would run, and run nothing
        #[arg(long)]
        dry_run: bool,
        /// Put an unfinished execution aside first
        #[arg(long)]
        fresh: bool,
    },
    /// Go on with the execution that is there
    Resume {
        /// The plan, when it moved since
        #[arg(long, value_name = "FILE")]
        plan: Option<PathBuf>,
    },
    /// Show where the execution stands
    Status,
    /// Print the execution's state as the contract defines it, as JSON
    State,
    /// Stop the execution and call a human
    Halt,
    /// Answer an escalation
    Resolve {
        /// What to do
        #[arg(value_name = "ACTION")]
        action: ResolutionAction,
        /// Why, for the record
        #[arg(long, value_name = "TEXT")]
        notes: Option<String>,
    },
    /// Write a commented configuration
    Init,
}

fn after_help() -> String {
    format!("{EXAMPLES}\n\nExit codes:\n{OWN_CODES}\n{SHARED_CODES}")
}

const EXAMPLES: &str = "\
Examples:
  loa-run init                        write a commented .loa.config.yaml
  loa-run run                         execute the eight phases
  loa-run run --plan plan.json        execute those of a file instead
  loa-run run --from audit --dry-run  say what would run
  loa-run status                      see where it stands, from another shell
  loa-run resolve fix_and_resume      answer a call, when the cause is mended
  loa-run resume                      go on

A plan:
  {\"phases\": [{\"id\": \"design\", \"command\": [\"./design.sh\"]}]}";

const OWN_CODES: &str = "  0    every phase is done
  1    trying again may help: another run holds the workspace
  2    a human is needed: escalated, halted, or waiting for an answer";
