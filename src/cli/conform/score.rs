//! `loa-conform score`: runs the suite and writes the report.

use std::fmt::Write as _;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args::Score;
use super::baseline::Known;
use super::bundle;
use super::candidates::{Candidates, is_path};
use super::compare::Ratchet;
use super::decision::{Question, decide, sentence};
use super::progress::Display;
use super::report::{Format, write_beside};
use super::stored::LONGEST;
use super::suite;
use super::trace::trace;
use crate::cli::console::{print, say};
use crate::cli::{ExitStatus, Failure};
use crate::conform::judge::Judged;
use crate::conform::observe::{AgentRig, Interruption, RigOptions, withdraw};
use crate::conform::score::{
    ConformanceReport, Host, HostLoad, Recorder, Rig, RuntimeReport, SurveyOptions, Watched, survey,
};
use crate::conform::spec::{AgentProfile, CaseDocument, Column, ManifestDocument, ProfileName, RuntimeProfile};
use crate::conform::suite::{Candidate, Suite};
use crate::report;
use crate::system::{clock, env, files, ids, isolation};

/// The folder beside a whole report in which those of its parts lie.
const PART: &str = "part";

pub(super) fn score(wish: &Score) -> Result<ExitStatus, Failure> {
    if wish.hermetic || wish.place.profile == ProfileName::Agent {
        withdraw().map_err(|error| Failure::new(ExitStatus::HarnessFailed, error))?;
    }
    if wish.hermetic && isolation::has_way_out() {
        let failure =
            Failure::new(ExitStatus::Incomplete, "--hermetic: this machine lets nobody have a network of his own");
        return Err(failure.hint("be root, allow user namespaces (user.max_user_namespaces), or leave the flag out"));
    }
    match wish.place.profile {
        ProfileName::Runtime => scored::<RuntimeProfile, _>(wish, |options| options),
        ProfileName::Agent => {
            scored::<AgentProfile, _>(wish, |options| AgentRig::new(options, wish.installed.programs.clone()))
        }
    }
}

fn scored<P: Judged, R: Rig<P>>(wish: &Score, rig: impl FnOnce(RigOptions) -> R) -> Result<ExitStatus, Failure> {
    let seed = wish.seed.unwrap_or_else(ids::seed);
    let suite = suite::open::<P>(wish.place.suite.as_deref())?.with_stories(seed, wish.stories);
    let known = wish.baseline.as_deref().map(Known::open).transpose()?;
    let ratchet = wish.against.as_deref().map(Ratchet::open).transpose()?;
    if suite.select(&wish.selection()).is_empty() {
        let failure = Failure::new(ExitStatus::Incomplete, "no case was selected, so nothing can be said");
        return Err(failure.hint("`loa-conform list` shows every case"));
    }
    if wish.selection().skips_nothing(suite.cases.iter().map(CaseDocument::head)) {
        let failure = Failure::new(ExitStatus::Incomplete, "--skip: no case matches it, so nothing was left out");
        return Err(failure.hint("`loa-conform list` shows every case"));
    }
    let candidates = Candidates::gather(&suite, &wish.runtimes)?;
    for name in &wish.require {
        if !candidates.all.iter().any(|candidate| candidate.manifest.name() == name) {
            let message = format!("--require {name}: it is not among the {}s", P::NAME);
            return Err(Failure::new(ExitStatus::Usage, message));
        }
    }
    let redactor = bundle::redactor();
    let redact = |text: &str| redactor.text(text);
    let begin = |folder: &PathBuf| Recorder::begin(folder, &suite, &candidates.all, seed, &redact);
    let recorder = wish.bundle.as_ref().map(begin).transpose().map_err(bundle::unwritten)?;
    let interruption = Interruption::listen();
    let judge = env::current_exe().map_err(|error| Failure::new(ExitStatus::Internal, error))?;
    let hermetic = wish.hermetic || wish.place.profile == ProfileName::Agent;
    let options = RigOptions { keep: wish.keep, hermetic, stop: interruption.stop(), ..RigOptions::new(seed, judge) };
    let load = Arc::clone(&options.load);
    let rig = rig(options);
    say(format_args!("seed {seed}"));
    let runtimes = measured(&suite, &candidates.all, &rig, wish, recorder.as_ref());
    let mut report = assemble(&suite, wish, seed, interruption.by().is_none(), runtimes);
    report.load = load.load().map(HostLoad::from);
    if let Some(recorder) = recorder {
        // What is known excuses nothing in a bundle: it holds what was measured.
        recorder.seal(&report::json(&report)).map_err(bundle::unwritten)?;
    }
    let question = Question {
        named: !wish.runtimes.is_empty(),
        require: &wish.require,
        strict_claims: wish.strict_claims,
        interrupted: interruption.by(),
        stale: known.is_some_and(|known| known.apply(&mut report)),
        went_down: ratchet.map_or(Some(false), |ratchet| ratchet.went_down(&report)),
    };
    let place = write(&report, &folder_for(&report, &wish.out), &wish.format)?;
    let status = decide(&report, &question);
    show(&report, wish, &place, &sentence(status, &question, &report))?;
    Ok(status)
}

/// Runs the suite, and shows, traces and stores what was asked for meanwhile.
fn measured<P: Judged>(
    suite: &Suite<P>,
    candidates: &[Candidate<P>],
    rig: &dyn Rig<P>,
    wish: &Score,
    recorder: Option<&Recorder<'_>>,
) -> Vec<RuntimeReport> {
    let display = Display::new();
    let watch = |candidate: &Candidate<P>, case: &P::Case, fresh: P::Seen| {
        let observed = match recorder {
            Some(recorder) => recorder.take(candidate, case, &fresh),
            None => fresh,
        };
        if wish.trace {
            display.aside(|| trace(candidate.manifest.name(), case.head().id, &observed));
        }
        observed
    };
    let (jobs, timing_jobs) = jobs(wish.jobs);
    let options = SurveyOptions { selection: wish.selection(), jobs, timing_jobs, ..SurveyOptions::default() };
    let rig = Watched { rig, watch: &watch };
    let mut runtimes = survey(suite, candidates, &rig, &options, &|progress| display.show(progress));
    display.end();
    for (runtime, name) in runtimes.iter_mut().zip(&wish.runtimes) {
        runtime.path = is_path(name).then(|| name.clone());
    }
    runtimes
}

/// How many scenarios at once, and of these that measure time. Runtimes and agents alike mostly wait.
pub(super) fn jobs(asked: Option<NonZero<usize>>) -> (usize, usize) {
    (asked.map_or(cores() * 2, NonZero::get), cores())
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

fn assemble<P: Judged>(
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
        stories: suite.stories(),
        host: Host { os, arch, cores: cores(), hermetic: wish.hermetic },
        load: None,
        date: clock::now().wall(),
        only: wish.only.clone(),
        skip: wish.skip.clone(),
        column: wish.column,
        level: wish.level,
        quick: wish.quick,
        complete,
        ledger: suite.clauses.clone(),
        claims: suite.claims.claims.clone(),
        checklist: suite.claims.checklist.clone(),
        runtimes,
    }
}

/// Where a report belongs: one of a part of the suite, or of a run that was cut short, never takes the place of a whole one.
fn folder_for(report: &ConformanceReport, out: &Path) -> PathBuf {
    let is_whole = |report: &ConformanceReport| !report.is_partial() && report.complete;
    let before = files::read(&out.join("report.json"), LONGEST).ok();
    let before = before.and_then(|bytes| serde_json::from_slice::<ConformanceReport>(&bytes).ok());
    if !is_whole(report) && before.is_some_and(|before| is_whole(&before)) { out.join(PART) } else { out.to_path_buf() }
}

/// Writes the report for machines, for people, and as they were asked for; yields the page for people.
pub(super) fn write(report: &ConformanceReport, folder: &Path, asked: &[Format]) -> Result<PathBuf, Failure> {
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
    let rated = |column: &Column| report.rates(*column);
    let surprises = runtime.surprises().into_iter().filter(|(column, _, _)| rated(column));
    let surprises = surprises
        .map(|(column, expected, earned)| format!("{name}: {column} is known to be {expected} and was {earned}\n"));
    let unknowns = runtime.unknowns().into_iter().filter(rated);
    let unknowns = unknowns.map(|column| format!("{name}: its manifest does not `expect` a word for {column}\n"));
    surprises.chain(unknowns).chain([reds]).collect()
}
