//! `loa-conform score`: runs the suite and writes the report.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::args::Score;
use super::bundle;
use super::decision::{Question, decide, sentence};
use super::progress::Display;
use super::report::{Format, write_beside};
use super::suite::{self, wrong};
use super::trace::trace;
use crate::cli::console::{print, say};
use crate::cli::{ExitStatus, Failure};
use crate::conform::{
    AgentProfile, AgentRig, Candidate, CandidateError, CaseDocument, ConformanceReport, Host, Interruption,
    ManifestDocument, Profile, ProfileName, Recorder, Rig, RigOptions, RuntimeProfile, RuntimeReport, Suite,
    SurveyOptions, Watched, survey, withdraw,
};
use crate::report;
use crate::system::{clock, env, files, ids, scratch};

pub(super) fn score(wish: &Score) -> Result<ExitStatus, Failure> {
    if wish.quick && wish.place.profile == ProfileName::Runtime {
        return Err(Failure::new(ExitStatus::Usage, "--quick: the runtime profile has no quick subset"));
    }
    match wish.place.profile {
        ProfileName::Runtime => scored::<RuntimeProfile, _>(wish, |options| options),
        ProfileName::Agent => {
            withdraw().map_err(|error| Failure::new(ExitStatus::HarnessFailed, error))?;
            scored::<AgentProfile, _>(wish, |options| AgentRig::new(options, wish.programs.clone()))
        }
    }
}

fn scored<P: Profile, R: Rig<P>>(wish: &Score, rig: impl FnOnce(RigOptions) -> R) -> Result<ExitStatus, Failure> {
    let suite = suite::open::<P>(wish.place.suite.as_deref())?;
    if suite.select(&wish.selection()).is_empty() {
        let failure = Failure::new(ExitStatus::Incomplete, "no case was selected, so nothing can be said");
        return Err(failure.hint("`loa-conform list` shows every case"));
    }
    let laid = scratch::folder("loa-candidates-").map_err(|error| Failure::new(ExitStatus::WriteFailed, error))?;
    suite.files().lay_candidates(laid.path()).map_err(|error| Failure::new(ExitStatus::WriteFailed, error))?;
    let candidates = candidates(&suite, &wish.runtimes, laid.path())?;
    for name in &wish.require {
        if !candidates.iter().any(|candidate| candidate.manifest.name() == name) {
            let message = format!("--require {name}: it is not among the {}s", P::NAME);
            return Err(Failure::new(ExitStatus::Usage, message));
        }
    }
    let seed = wish.seed.unwrap_or_else(ids::seed);
    let interruption = Interruption::listen();
    let judge = env::current_exe().map_err(|error| Failure::new(ExitStatus::Internal, error))?;
    let rig = rig(RigOptions { keep: wish.keep, stop: interruption.stop(), ..RigOptions::new(seed, judge) });
    say(format_args!("seed {seed}"));
    let display = Display::new();
    let options = survey_options(wish);
    let redactor = bundle::redactor();
    let redact = |text: &str| redactor.text(text);
    let begin = |folder: &PathBuf| Recorder::begin(folder, &suite, &candidates, seed, &redact);
    let recorder = wish.bundle.as_ref().map(begin).transpose().map_err(bundle::unwritten)?;
    let watch = |candidate: &Candidate<P>, case: &P::Case, seen: P::Seen| {
        let seen = recorder.as_ref().map_or_else(|| seen.clone(), |recorder| recorder.take(candidate, case, &seen));
        if wish.trace {
            display.aside(|| trace(candidate.manifest.name(), case.head().id, &seen));
        }
        seen
    };
    let rig = Watched { rig: &rig, watch: &watch };
    let mut runtimes = survey(&suite, &candidates, &rig, &options, &|progress| display.show(progress));
    display.end();
    for (runtime, name) in runtimes.iter_mut().zip(&wish.runtimes) {
        runtime.path = is_path(name).then(|| name.clone());
    }
    let report = assemble(&suite, wish, seed, interruption.by().is_none(), runtimes);
    let place = write(&report, &wish.out, &wish.format)?;
    if let Some(recorder) = recorder {
        recorder.seal(&report::json(&report)).map_err(bundle::unwritten)?;
    }
    let question = Question {
        named: !wish.runtimes.is_empty(),
        require: &wish.require,
        strict_claims: wish.strict_claims,
        interrupted: interruption.by(),
    };
    let status = decide(&report, &question);
    show(&report, wish, &place, &sentence(status, &question))?;
    Ok(status)
}

/// The candidates that were named, or every bundled one.
fn candidates<P: Profile>(suite: &Suite<P>, names: &[String], laid: &Path) -> Result<Vec<Candidate<P>>, Failure> {
    if names.is_empty() {
        return Ok(suite.bundled().filter_map(|name| suite.candidate(name, laid)).collect());
    }
    names.iter().map(|name| named(suite, name, laid)).collect()
}

fn named<P: Profile>(suite: &Suite<P>, name: &str, laid: &Path) -> Result<Candidate<P>, Failure> {
    if !is_path(name) {
        let bundled: Vec<&str> = suite.bundled().collect();
        return suite.candidate(name, laid).ok_or_else(|| {
            let message = format!("there is no bundled {} `{name}`", P::NAME);
            let failure = Failure::new(ExitStatus::NoInput, message);
            failure.hint(format!("bundled are {}; a manifest of yours is named by its path", bundled.join(", ")))
        });
    }
    Candidate::open(Path::new(name)).map_err(|error| match error {
        CandidateError::Content(findings) => wrong(&findings, "the manifest is not valid"),
        error => Failure::new(ExitStatus::NoInput, error),
    })
}

/// Whether a candidate is named by its manifest's path.
fn is_path(name: &str) -> bool {
    name.contains('/') || Path::new(name).extension().is_some()
}

fn survey_options(wish: &Score) -> SurveyOptions {
    let cores = cores();
    // A phase of a runtime mostly waits; an agent is a large program that starts.
    let usual = if wish.place.profile == ProfileName::Agent { cores } else { cores * 2 };
    SurveyOptions {
        selection: wish.selection(),
        jobs: wish.jobs.map_or(usual, std::num::NonZero::get),
        timing_jobs: (cores / 2).max(1),
        ..SurveyOptions::default()
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn assemble<P: Profile>(
    suite: &Suite<P>,
    wish: &Score,
    seed: u64,
    complete: bool,
    runtimes: Vec<RuntimeReport>,
) -> ConformanceReport {
    let (os, arch) = (std::env::consts::OS.to_owned(), std::env::consts::ARCH.to_owned());
    ConformanceReport {
        version: 1,
        profile: P::NAME,
        edition: suite.claims.edition.clone(),
        judge: env!("CARGO_PKG_VERSION").to_owned(),
        suite: suite.hash.clone(),
        seed,
        host: Host { os, arch, cores: cores() },
        date: clock::now().wall(),
        only: wish.only.clone(),
        skip: wish.skip.clone(),
        level: wish.level,
        quick: wish.quick,
        complete,
        ledger: suite.clauses.clone(),
        claims: suite.claims.claims.clone(),
        checklist: suite.claims.checklist.clone(),
        runtimes,
    }
}

/// Writes the report for machines, for people, and as they were asked for; yields the page for people.
fn write(report: &ConformanceReport, folder: &Path, asked: &[Format]) -> Result<PathBuf, Failure> {
    files::ensure_folder(folder).map_err(|error| Failure::new(ExitStatus::WriteFailed, error))?;
    write_beside(report, folder, &[&[Format::Json, Format::Markdown, Format::Html], asked].concat())?;
    Ok(folder.join("report.html"))
}

fn show(report: &ConformanceReport, wish: &Score, place: &Path, verdict: &str) -> Result<(), Failure> {
    if wish.json {
        return print(&report::json(report));
    }
    let named = !wish.runtimes.is_empty();
    let mut text = report::terminal(report, named);
    if !named {
        let known = report.runtimes.iter().filter(|runtime| runtime.problem.is_none());
        text.extend(known.map(|runtime| against_what_is_known(report, runtime)));
    }
    // Writing to a String cannot fail.
    let _ = writeln!(text, "report: {} (report.json and report.md beside it)", place.display());
    if let Some(bundle) = &wish.bundle {
        let _ = writeln!(text, "evidence: {0} (`loa-conform verify {0}` judges it again)", bundle.display());
    }
    let _ = writeln!(text, "{verdict}");
    print(&text)
}

/// Where a bundled candidate earned something else than its manifest says.
fn against_what_is_known(report: &ConformanceReport, runtime: &RuntimeReport) -> String {
    let agents = report.profile == ProfileName::Agent;
    let name = &runtime.runtime;
    let differing = if agents { runtime.differing_reds(!report.is_partial()) } else { Vec::new() };
    let reds = differing.iter().fold(String::new(), |text, it| text + name + ": " + it + "\n");
    if report.is_partial() {
        return reds;
    }
    let surprises = runtime.surprises().into_iter();
    let surprises = surprises
        .map(|(column, expected, earned)| format!("{name}: {column} is known to be {expected} and was {earned}\n"));
    let unknowns = runtime.unknowns().into_iter();
    let unknowns = unknowns.map(|column| format!("{name}: its manifest does not `expect` a word for {column}\n"));
    surprises.chain(unknowns).chain([reds]).collect()
}
