//! `loa-conform repro`: a red as one shell script, without this program.

use std::path::{Path, PathBuf};

use camino::Utf8Path;
use clap::Args;

use super::args::STORIES;
use super::candidates::{Candidates, is_path};
use super::stored;
use super::suite::{self, wrong};
use crate::cli::console::{print, say};
use crate::cli::{ExitStatus, Failure};
use crate::conform::score::{CaseReport, ConformanceReport, Dir, Reproducer};
use crate::conform::spec::{Case, CaseDocument, ProfileName, RuntimeProfile, Verb};
use crate::conform::suite::Suite;
use crate::diag::closest;
use crate::system::{env, files, ids, scratch};

/// Longest file of a case, in bytes.
const LONGEST: u64 = 1 << 20;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Repro {
    /// The case, as the report names it; or a file with one, as `explore` writes it
    #[arg(value_name = "CASE|FILE")]
    case: String,
    /// A bundled runtime, or a manifest of yours
    #[arg(value_name = "NAME|MANIFEST")]
    runtime: String,
    /// The report with the red: its seed is used, and what was observed is shown
    #[arg(long, value_name = "REPORT", conflicts_with = "seed")]
    report: Option<PathBuf>,
    /// Draw every value under this seed
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Where the script goes; printed when not given
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print one JSON document: case, runtime, seed and script
    #[arg(long)]
    json: bool,
    /// Read ledger, claims, cases and candidates from this folder instead of the program itself
    #[arg(long, value_name = "DIR")]
    suite: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  loa-conform score careless --seed 7 --out now
  loa-conform repro exit-009-blocked-is-not-retried careless \\
      --report now/report.json --out red.sh
  sh red.sh
  loa-conform repro reports/local/stories/exit-009-blocked-once-in-a-story.yaml careless

The script lays the workspace and the plan, has each phase do what the case
says, starts the runtime, and prints what happened beside what is demanded. It
judges nothing. A red of an agent: `score --keep` leaves by-hand.sh. A red behind an
adapter has no script.";

pub(super) fn repro(wish: &Repro) -> Result<ExitStatus, Failure> {
    let report = wish.report.as_deref().map(stored::report).transpose()?;
    let seed = report.as_ref().map(|report| report.seed).or(wish.seed).unwrap_or_else(ids::seed);
    let stories = report.as_ref().map_or(STORIES, |report| report.stories);
    let suite = suite::open::<RuntimeProfile>(wish.suite.as_deref())?.with_stories(seed, stories);
    let beside = is_path(&wish.case).then(|| in_file(&suite, &wish.case)).transpose()?;
    let (leader, case) = match &beside {
        Some(case) => (case, case),
        None => suite.scenario(&wish.case).ok_or_else(|| unknown(&suite, &wish.case))?,
    };
    let candidates = Candidates::gather(&suite, std::slice::from_ref(&wish.runtime))?;
    let candidate = candidates.all.first().expect("one was asked for, and there was no failure");
    if let Some(report) = &report {
        alike(report, &suite.hash, &candidate.hash, &candidate.manifest.runtime, wish)?;
    }
    let row = report.as_ref().and_then(|report| report.runtime(&candidate.manifest.runtime));
    let found = row.and_then(|row| row.cases().map(|(_, case)| case).find(|found| found.id == case.id));
    let (leader, case) = shown_in(&suite, wish, (leader, case), found)?;
    let judge = env::current_exe().map_err(|error| Failure::new(ExitStatus::Internal, error))?;
    let judge_dir = judge.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
    let brought = suite.files().beside(&wish.runtime, ProfileName::Runtime);
    let place = candidate.dir.to_string_lossy().into_owned();
    let reproducer = Reproducer {
        case,
        leader,
        clause: suite.clause(case.head().clause).expect("the lint knows the clause of every case"),
        manifest: &candidate.manifest,
        dir: if is_path(&wish.runtime) { Dir::There(&place) } else { Dir::Brought(&brought) },
        judge_dir: &judge_dir,
        seed,
        found,
    };
    if let Some(verb) = reproducer.asked() {
        return Err(conversed(&candidate.manifest.runtime, verb, wish, seed));
    }
    let script = reproducer.script().map_err(|error| Failure::new(ExitStatus::Config, error))?;
    written(wish, seed, &script)
}

/// The case in a file of its own.
fn in_file(suite: &Suite, file: &str) -> Result<Case, Failure> {
    let bytes = files::read(Path::new(file), LONGEST).map_err(|error| Failure::new(ExitStatus::NoInput, error))?;
    let text = String::from_utf8_lossy(&bytes);
    suite.case_beside(Utf8Path::new(file), &text).map_err(|findings| wrong(&findings, "the case is not valid"))
}

/// The scenario that showed the red: of a case that looks at what others did, the one in which it found something.
fn shown_in<'a>(
    suite: &'a Suite,
    wish: &Repro,
    asked: (&'a Case, &'a Case),
    found: Option<&CaseReport>,
) -> Result<(&'a Case, &'a Case), Failure> {
    let (_, case) = asked;
    if case.wherever.is_none() {
        return Ok(asked);
    }
    let red = found.and_then(|found| found.checks.iter().find(|check| !check.outcome.is_green()));
    let place = red.and_then(|check| check.place.case.as_deref());
    match place.and_then(|other| suite.scenario(other)) {
        Some(other) => {
            say(format_args!("{} looks at what all cases showed, and was red in {}", case.id, other.1.id));
            Ok(other)
        }
        None => Err(Failure::new(
            ExitStatus::NoInput,
            format!("{} looks at what other cases showed: by itself it starts nothing", case.id),
        )
        .hint(match &wish.report {
            None => "name the report with `--report`: the case in which it was red is shown then",
            Some(_) => "the report has no red of it that names another case",
        })),
    }
}

/// Why there is no script, and what does the same instead.
fn conversed(runtime: &str, verb: Verb, wish: &Repro, seed: u64) -> Failure {
    let why =
        format!("`{verb}` of {runtime} is asked of its adapter, and a shell script cannot hold that conversation");
    let Repro { case, runtime, .. } = wish;
    let instead = format!("`loa-conform score {runtime} --only {case} --seed {seed} --keep` does the same again");
    Failure::new(ExitStatus::Config, why).hint(instead)
}

fn written(wish: &Repro, seed: u64, script: &str) -> Result<ExitStatus, Failure> {
    if let Some(file) = &wish.out {
        scratch::lay_program(file, script.as_bytes()).map_err(|error| Failure::new(ExitStatus::WriteFailed, error))?;
        say(format_args!("sh {}", file.display()));
    }
    if wish.json {
        let document =
            serde_json::json!({ "case": wish.case, "runtime": wish.runtime, "seed": seed, "script": script });
        print(&format!("{document:#}\n"))?;
    } else if wish.out.is_none() {
        print(script)?;
    }
    Ok(ExitStatus::Success)
}

fn unknown(suite: &Suite, case: &str) -> Failure {
    let failure = Failure::new(ExitStatus::NoInput, format!("the suite has no case {case}"));
    match closest(case, suite.cases.iter().map(|known| known.id.as_str())) {
        Some(similar) => failure.hint(format!("did you mean {similar}?")),
        None => failure.hint("`loa-conform list` shows every case"),
    }
}

/// A report of another suite or manifest would show another red.
fn alike(report: &ConformanceReport, suite: &str, manifest: &str, runtime: &str, wish: &Repro) -> Result<(), Failure> {
    let file = wish.report.as_deref().unwrap_or(Path::new("")).display();
    let refused = |why: String| Failure::new(ExitStatus::Config, format!("{file}: {why}"));
    let Some(row) = report.runtime(runtime) else {
        let names: Vec<&str> = report.runtimes.iter().map(|row| row.runtime.as_str()).collect();
        return Err(refused(format!("it has no {runtime}")).hint(format!("it has {}", names.join(", "))));
    };
    if report.suite != suite {
        return Err(refused("it was measured by another suite".to_owned()).hint("measure again, or name it by --suite"));
    }
    if row.manifest != manifest {
        return Err(refused(format!("it was measured with another manifest of {runtime}")).hint("measure again"));
    }
    Ok(())
}
