//! `loa-conform report`: renders a report that is there, in any format.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::stored;
use crate::cli::console::{print, say};
use crate::cli::{ExitStatus, Failure};
use crate::conform::score::ConformanceReport;
use crate::conform::spec::{AgentProfile, ProfileName, RuntimeProfile};
use crate::report::{self, Freshness};
use crate::system::files::{self, Appender, Privacy};
use crate::system::{clock, env};
use crate::text::plain;

/// What GitHub names the file by that the summary of a job is appended to.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Report {
    /// A report.json that `score` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The format
    #[arg(long, value_enum, default_value = "terminal")]
    format: Format,
    /// Write to this file, or with `badge` into this folder, instead of standard output
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Append it to the summary of the running GitHub job, where there is one
    #[arg(long, conflicts_with = "out")]
    step_summary: bool,
    /// Badges: grey once the measurement is so many days old
    #[arg(long, value_name = "DAYS", default_value = "90")]
    stale_after: u32,
}

const EXAMPLES: &str = "\
Examples:
  loa-conform report reports/local/report.json --format html --out report.html
  loa-conform report reports/local/report.json --format badge --out badges
  loa-conform report reports/local/report.json --format summary --step-summary";

/// The formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people at a terminal
    Terminal,
    /// One self-contained page, with timelines and a filter
    Html,
    /// Everything, in Markdown
    Markdown,
    /// What a CI job shows, in Markdown
    Summary,
    /// The document itself
    Json,
    /// One JSON object a line; the last one counts them
    JsonLines,
    /// For CI servers
    Junit,
    /// Workflow commands, which GitHub shows as annotations
    Github,
    /// An SVG for each column of each candidate
    Badge,
}

impl Format {
    /// The file that it is written to beside a report.json.
    fn file(self) -> &'static str {
        match self {
            Self::Terminal => "report.txt",
            Self::Html => "report.html",
            Self::Markdown => "report.md",
            Self::Summary => "summary.md",
            Self::Json => "report.json",
            Self::JsonLines => "report.jsonl",
            Self::Junit => "report.junit.xml",
            Self::Github => "annotations.txt",
            Self::Badge => "badges",
        }
    }
}

pub(super) fn report(wish: &Report) -> Result<ExitStatus, Failure> {
    let report = stored::report(&wish.file)?;
    if wish.format == Format::Badge {
        let folder = wish.out.as_deref().ok_or_else(|| {
            Failure::new(ExitStatus::Usage, "--format badge: badges are several files").hint("name a folder with --out")
        })?;
        write_badges(&report, folder, wish.stale_after)?;
        return Ok(ExitStatus::Success);
    }
    let text = rendered(&report, wish.format);
    match (&wish.out, wish.step_summary) {
        (Some(path), _) => write(path, &text)?,
        (None, true) => append(&text)?,
        (None, false) => print(&text)?,
    }
    Ok(ExitStatus::Success)
}

fn rendered(report: &ConformanceReport, format: Format) -> String {
    match format {
        // Colours are for a terminal; what is piped or written has none.
        Format::Terminal => report::terminal(report, true),
        Format::Html => report::html(report),
        Format::Markdown => report::markdown(report),
        Format::Summary => report::summary(report),
        Format::JsonLines => report::json_lines(report),
        Format::Junit => report::junit(report),
        Format::Github => report::github(report),
        Format::Json | Format::Badge => report::json(report),
    }
}

/// Writes a report in these formats beside each other.
pub(super) fn write_beside(report: &ConformanceReport, folder: &Path, formats: &[Format]) -> Result<(), Failure> {
    for format in formats {
        let path = folder.join(format.file());
        match format {
            Format::Badge => write_badges(report, &path, 90)?,
            format => write(&path, &rendered(report, *format))?,
        }
    }
    Ok(())
}

fn write_badges(report: &ConformanceReport, folder: &Path, days: u32) -> Result<(), Failure> {
    files::ensure_folder(folder).map_err(failed)?;
    let suite = match report.profile {
        ProfileName::Runtime => super::suite::open::<RuntimeProfile>(None)?.hash,
        ProfileName::Agent => super::suite::open::<AgentProfile>(None)?.hash,
    };
    let fresh = Freshness { now: clock::now().wall(), days, suite: Some(&suite) };
    for badge in report::badges(report, fresh) {
        write(&folder.join(badge.name), &badge.svg)?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let text = plain(text);
    files::write_durably(path, text.as_bytes(), Privacy::Shared).map_err(failed)
}

/// Where nobody collects summaries there is nothing to write, which is no failure.
fn append(text: &str) -> Result<(), Failure> {
    let Some(path) = env::var(STEP_SUMMARY).filter(|path| !path.is_empty()) else {
        say(format_args!("{STEP_SUMMARY} names no file: no summary was written"));
        return Ok(());
    };
    let mut file = Appender::open(Path::new(&path), Privacy::Shared).map_err(failed)?;
    file.append(text.as_bytes()).map_err(failed)
}

fn failed(error: files::FileError) -> Failure {
    Failure::new(ExitStatus::WriteFailed, error)
}
