//! `score --bundle` and `loa-conform verify`: evidence, and whether the verdicts follow from it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::stored;
use crate::cli::console::print;
use crate::cli::{ExitStatus, Failure};
use crate::conform::judge::Judged;
use crate::conform::score::{Bundle, BundleError, Verification, verify};
use crate::conform::spec::{AgentProfile, ProfileName, RuntimeProfile};
use crate::conform::suite::Files;
use crate::policy::Redactor;
use crate::system::env;
use crate::text::line;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Verify {
    /// The folder that `score --bundle` wrote
    #[arg(value_name = "BUNDLE")]
    bundle: PathBuf,
    /// The suite that you trust; when not given, that of this program
    #[arg(long, value_name = "DIR")]
    suite: Option<PathBuf>,
    /// Print one JSON document, for machines
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  loa-conform score my-runtime.yaml --bundle evidence
  loa-conform verify evidence
  loa-conform verify evidence --json | jq .discrepancies

0: every verdict and cell follows from what was stored. 1: something does not
agree. 3: the report says itself that the judge was interrupted. Nothing is
started, and no network is needed.";

/// How many discrepancies are told to people: of another suite, every file differs.
const SHOWN: usize = 20;

/// What no bundle can show, however well it agrees with itself.
const UNKNOWABLE: &str = "\
What this cannot show:
  that the observations were really made: whoever writes a bundle can invent
    a consistent one;
  that the program named here is the one that ran, on that host, on that day;
  that the runtime behaves so when nobody looks.
Measuring again can: `loa-conform score` with the same manifest and seed.";

pub(super) fn verification(wish: &Verify) -> Result<ExitStatus, Failure> {
    let bundle = Bundle::read(&wish.bundle).map_err(|error| unreadable(error, &wish.bundle))?;
    let Some(bytes) = bundle.report() else {
        let message = format!("{} has no report.json", wish.bundle.display());
        return Err(Failure::new(ExitStatus::NotConforming, message));
    };
    let report = stored::parsed(bytes, "report.json")?;
    let again = match report.profile {
        ProfileName::Runtime => verify::<RuntimeProfile>(&bundle, &report, &trusted::<RuntimeProfile>(wish)?),
        ProfileName::Agent => verify::<AgentProfile>(&bundle, &report, &trusted::<AgentProfile>(wish)?),
    };
    let status = status(&again);
    if wish.json {
        let document = json!({ "verification": again, "judge": report.judge, "this_program": env!("CARGO_PKG_VERSION"),
            "cannot_show": UNKNOWABLE, "exit_code": status.code() });
        print(&format!("{document:#}\n"))?;
    } else {
        print(&told(&again, &report.judge, status))?;
    }
    Ok(status)
}

fn unreadable(error: BundleError, folder: &Path) -> Failure {
    let missing = format!("`loa-conform score … --bundle {}` writes one", folder.display());
    Failure::new(ExitStatus::NoInput, error).hint(missing)
}

fn trusted<P: Judged>(wish: &Verify) -> Result<Files, Failure> {
    Ok(super::suite::open::<P>(wish.suite.as_deref())?.files().clone())
}

fn status(again: &Verification) -> ExitStatus {
    match (again.discrepancies.is_empty(), again.interrupted || again.verdicts == 0) {
        (false, _) => ExitStatus::NotConforming,
        (true, true) => ExitStatus::Incomplete,
        (true, false) => ExitStatus::Success,
    }
}

fn told(again: &Verification, judge: &str, status: ExitStatus) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for discrepancy in again.discrepancies.iter().take(SHOWN) {
        let _ = writeln!(text, "refused: {discrepancy}\n");
    }
    if again.discrepancies.len() > SHOWN {
        let _ = writeln!(text, "… and {} more; --json has all of them\n", again.discrepancies.len() - SHOWN);
    }
    let Verification { verdicts, cells, observations, .. } = again;
    let _ = writeln!(text, "{verdicts} verdicts and {cells} cells computed again from {observations} observations.");
    let own = env!("CARGO_PKG_VERSION");
    let judge = line(judge);
    if judge != own {
        let _ = writeln!(text, "The report was written by judge {judge}, and this is {own}: rules may have changed.");
    }
    let verdict = match (status, again.interrupted) {
        (ExitStatus::Success, _) => "everything follows from what was stored".to_owned(),
        (ExitStatus::Incomplete, true) => "the judge was interrupted, so nothing was computed again".to_owned(),
        (ExitStatus::Incomplete, false) => "there is no verdict in it".to_owned(),
        _ => format!("refused: {} things do not agree", again.discrepancies.len()),
    };
    let _ = writeln!(text, "{UNKNOWABLE}\nverdict: {verdict} (exit code {})", status.code());
    text
}

/// Why a bundle could not be begun or ended.
pub(super) fn unwritten(error: BundleError) -> Failure {
    match &error {
        BundleError::NotEmpty(_) => {
            Failure::new(ExitStatus::Usage, error).hint("name a folder that is empty or not there yet")
        }
        BundleError::Name(..) => Failure::new(ExitStatus::Usage, error).hint("give it a plain name in its manifest"),
        BundleError::Secret(_) => {
            Failure::new(ExitStatus::Config, error).hint("hand it over by the environment, outside of the manifest")
        }
        _ => Failure::new(ExitStatus::WriteFailed, error),
    }
}

/// What must not stand in a bundle: secrets of known shapes, and our own variables whose names say that they are some.
pub(super) fn redactor() -> Redactor {
    let secret =
        |name: &str| ["TOKEN", "SECRET", "PASSWORD", "API_KEY", "CREDENTIAL"].iter().any(|it| name.contains(it));
    let vars = env::vars();
    Redactor::new(vars.iter().filter(|(name, _)| secret(name)).map(|(name, value)| (name.as_str(), value.as_str())))
}
