//! One case, step by step: a fresh lab, the stage, every step with what it left, and at last a look for what stayed.

use std::error::Error;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use regex::Regex;
use tokio::net::UnixListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;

use super::adapter::Adapter;
use super::chamber::{Chamber, Isolation, Spec};
use super::fast_clock::FastClock;
use super::options::RigOptions;
use super::program::{Places, judge_keys};
use super::record::Record;
use super::stage::{Reached, Stage};
use super::verb::Watch;
use super::work::Way;
use crate::conform::observe::journal::{Footprint, Grounds};
use crate::conform::observe::sighting;
use crate::conform::observe::transcript::Transcript;
use crate::conform::observe::workspace::Lab;
use crate::conform::observe::{Observation, ProcessEnd, StepSeen};
use crate::conform::spec::draw::{Script, draw};
use crate::conform::spec::{Case, Drive, Knob, Manifest, Sight, Step, TimeMethod, Verb};
use crate::diag::in_one_line;
use crate::system::clock::Millis;
use crate::system::isolation::path_sockets;
use crate::system::process::{Captured, ProcessExit};
use crate::system::{clock, env, ids};

mod calls;
mod left;

/// How long git may take.
const GIT_TIME: Duration = Duration::from_secs(30);

/// Does what a case says and writes down what was seen. A fault of the rig is part of what was seen.
pub(in crate::conform) async fn trial(
    case: &Case,
    manifest: &Manifest,
    dir: &Path,
    options: &RigOptions,
) -> Observation {
    let mut seen = Observation::default();
    let drawn = match draw(case, options.seed) {
        Ok(drawn) => drawn,
        Err(error) => return Observation { rig_error: Some(error.to_string()), ..seen },
    };
    let script = Script::new(case, &drawn);
    seen.drawn = drawn;
    seen.initial_backoff =
        manifest.knobs.get(&Knob::InitialBackoff).and(case.knobs.get(&Knob::InitialBackoff)).copied();
    let (isolation, shared) = shut_off(manifest, options, Isolation::here().await);
    seen.shared = shared;
    let mut trial = match Trial::new(case, manifest, script, dir, options, isolation).await {
        Ok(trial) => trial,
        Err(problem) => return Observation { rig_error: Some(problem), ..seen },
    };
    seen.speed = trial.fast_clock.map(FastClock::speed);
    let began = clock::now();
    let ran = trial.run(&mut seen).await;
    let late = options.load.late_within(clock::now().since(began));
    seen.late_ms = u64::try_from(late.as_millis()).unwrap_or(Millis::MAX);
    trial.stage.chamber.close().await;
    let mut record = trial.stage.record();
    record.notice_ends();
    seen.rig_error = ran.err().or(record.problem.take());
    seen.attempts = std::mem::take(&mut record.attempts);
    seen.usages = std::mem::take(&mut record.usages);
    seen.compactions = std::mem::take(&mut record.compactions);
    seen.events = std::mem::take(&mut record.events);
    seen.strangers = std::mem::take(&mut record.strangers);
    seen.kept = options.keep.then(|| trial.lab.root().to_string_lossy().into_owned());
    drop(record);
    seen
}

/// A case that runs.
struct Trial<'a> {
    case: &'a Case,
    manifest: &'a Manifest,
    dir: &'a Path,
    options: &'a RigOptions,
    script: Script,
    lab: Lab,
    report: Option<Regex>,
    stage: Arc<Stage>,
    reached: UnboundedReceiver<Reached>,
    /// The clock of the runtime, where the case says that it is not the wall's.
    fast_clock: Option<FastClock>,
    /// Running since it was first asked.
    adapter: Option<Adapter>,
}

impl<'a> Trial<'a> {
    async fn new(
        case: &'a Case,
        manifest: &'a Manifest,
        script: Script,
        dir: &'a Path,
        options: &'a RigOptions,
        isolation: Isolation,
    ) -> Result<Self, String> {
        // The phases of a case that is kept are to be started by hand as well, where nothing is shown in another's place.
        let is_shown = isolation.processes && !options.keep;
        let lab = Lab::new(&options.judge, is_shown, options.keep).map_err(said)?;
        let spec = Spec {
            judge: options.judge.clone(),
            root: lab.root().to_path_buf(),
            temporary: lab.temporary(),
            writable: writable(manifest, dir, &options.judge),
            kept: named(manifest, dir, &options.judge),
            shown: is_shown.then(|| (options.judge.clone(), lab.program())).into_iter().collect(),
            is_hermetic: options.hermetic,
        };
        let chamber = Chamber::open(&spec, isolation).await.map_err(said)?;
        let report = manifest.report.as_deref().map(sighting::glob).transpose().map_err(said)?;
        let transcript = Transcript::new(ids::session(), sights(manifest)?);
        let (sender, reached) = unbounded_channel();
        let is_fast = case.time == TimeMethod::Accelerated;
        let fast_clock = is_fast.then(|| FastClock::bearable(&options.load));
        let code = if is_fast { chamber.code().and(FastClock::code(&options.judge).await) } else { chamber.code() };
        let stage = Arc::new(Stage {
            script: script.phases.clone(),
            usage: manifest.usage.clone(),
            compactor: script.compactor.clone(),
            poll: Duration::from_millis(manifest.poll_ms),
            load: Arc::clone(&options.load),
            slower: fast_clock.map_or(1, FastClock::slower),
            chamber,
            lives_outside: manifest.lives_outside.is_some(),
            judge: options.judge.clone(),
            code,
            record: Mutex::new(Record::new(transcript)),
            reached: sender,
            halted: watch::Sender::new(false),
        });
        let listener = UnixListener::bind(lab.socket()).map_err(said)?;
        tokio::spawn(Arc::clone(&stage).serve(listener));
        Ok(Self { case, manifest, dir, options, script, lab, report, stage, reached, fast_clock, adapter: None })
    }

    async fn run(&mut self, seen: &mut Observation) -> Result<(), String> {
        seen.unseen.extend(self.fast_clock.and_then(|clock| clock.command(Vec::new()).err()));
        if !seen.unseen.is_empty() {
            return Ok(());
        }
        self.fresh().await?;
        for (number, step) in self.script.steps.clone().iter().enumerate() {
            self.stage.record().step = number;
            let step = self.step(step).await?;
            seen.steps.push(step);
            if self.options.stop.load(Ordering::Relaxed) {
                return Err("interrupted".to_owned());
            }
        }
        self.let_go(&mut seen.steps).await;
        seen.orphans = self.orphans().await;
        Ok(())
    }

    /// The next workspace: a repository with one commit.
    async fn fresh(&mut self) -> Result<(), String> {
        let keys = judge_keys(self.case, self.manifest, &self.lab);
        self.lab.next_workspace(&self.script, &keys).map_err(|error| in_one_line(&error))?;
        {
            let mut record = self.stage.record();
            record.workspace = self.lab.number();
            record.folder = self.lab.workspace();
            let others = writable(self.manifest, self.dir, &self.options.judge);
            record.grounds = Grounds::new(self.lab.root().to_path_buf(), others);
        }
        let steps: [&[&str]; 3] =
            [&["init", "-q", "--template="], &["add", "-A"], &["commit", "-q", "-m", "The workspace"]];
        for arguments in steps {
            self.git(arguments).await?;
        }
        Ok(())
    }

    async fn git(&self, arguments: &[&str]) -> Result<(), String> {
        // In the chamber, for an earlier step may have told git what else to start.
        let call = self.call(&[&["git"], arguments].concat().into_iter().map(str::to_owned).collect(), None);
        let started = self.stage.chamber.start(&call).await;
        let running = started.map_err(|error| format!("git cannot be started: {error}"))?;
        let Captured { exit, stderr, .. } = running.captured(4096, self.options.load.stretched(GIT_TIME)).await;
        match exit {
            ProcessExit::Exited(0) => Ok(()),
            exit => Err(format!("git {}: {exit}: {}", arguments.join(" "), String::from_utf8_lossy(&stderr).trim())),
        }
    }

    async fn step(&mut self, step: &Step) -> Result<StepSeen, String> {
        let before = self.footprint();
        let started = self.begin();
        let mut edited = None;
        let (verb, argv, end) = match step {
            Step::Run(plan) => match self.prepare().await {
                Some(problem) => ("run", Vec::new(), ProcessEnd::NotStarted(problem)),
                None => self.drive(Verb::Run, plan, None, &before).await,
            },
            Step::Resume(plan) => self.drive(Verb::Resume, plan, None, &before).await,
            Step::Resolve(action) => self.drive(Verb::Resolve, &Drive::default(), Some(action), &before).await,
            Step::State => self.drive(Verb::State, &Drive::default(), None, &before).await,
            Step::Write { path, content } => ("write", Vec::new(), by_hand(self.lab.write(path, content))),
            Step::Delete(path) => ("delete", Vec::new(), by_hand(self.lab.delete(path))),
            Step::Edit { path, set, remove } => {
                let end = by_hand(self.lab.edit(path, set, remove).map(|seen| edited = seen));
                ("edit", Vec::new(), end)
            }
            Step::Fresh => {
                let laid = self.fresh().await;
                ("fresh", Vec::new(), laid.map_or_else(ProcessEnd::NotStarted, |()| ProcessEnd::Nothing))
            }
        };
        let end = self.clear_up(end).await;
        Ok(StepSeen { edited, ..self.finish(verb, argv, end, started, &before) })
    }

    /// A runtime that was killed cannot clean up, nor can an adapter that is given up, and what they leave must not disturb the
    /// next step. An adapter that did nothing wrong stays; one that did ends the step by that, whatever it answered.
    async fn clear_up(&mut self, end: ProcessEnd) -> ProcessEnd {
        let done = self.adapter.take_if(|adapter| adapter.is_done());
        let was_cut = matches!(
            end,
            ProcessEnd::KilledAsPlanned | ProcessEnd::OutOfBudget | ProcessEnd::TooSlow | ProcessEnd::Runaway(_)
        );
        if done.is_none() && !was_cut {
            return end;
        }
        let fault = done.as_ref().and_then(Adapter::fault);
        self.stage.chamber.clear(self.adapter.as_ref().map(Adapter::pid)).await;
        if let Some(adapter) = done {
            adapter.end().await;
        }
        self.stage.record().notice_ends();
        fault.map_or(end, ProcessEnd::AdapterFailed)
    }

    /// Ends the adapter, so that what is there afterwards was left behind. What it does wrong until then is told of the last
    /// step in which it was asked.
    async fn let_go(&mut self, steps: &mut [StepSeen]) {
        let Some(adapter) = self.adapter.take() else { return };
        let Some(fault) = adapter.end().await else { return };
        let asked = |step: &&mut StepSeen| step.verb.parse().is_ok_and(|verb| self.manifest.asks(verb));
        if let Some(step) = steps.iter_mut().rev().find(asked) {
            step.end = ProcessEnd::AdapterFailed(fault);
        }
    }

    /// Drives one verb, when the manifest has it.
    async fn drive(
        &mut self,
        verb: Verb,
        plan: &Drive,
        action: Option<&str>,
        before: &Footprint,
    ) -> (&'static str, Vec<String>, ProcessEnd) {
        let halt = self.way(Verb::Halt, None);
        let Some(mut way) = self.way(verb, action).filter(|_| plan.halt_during.is_none() || halt.is_some()) else {
            return (verb.as_str(), Vec::new(), ProcessEnd::NoVerb);
        };
        if let (Way::Command(call), Some(clock)) = (&mut way, self.fast_clock) {
            match clock.command(call.argv.clone()) {
                Ok(argv) => call.argv = argv,
                Err(why) => return (verb.as_str(), Vec::new(), ProcessEnd::NotStarted(why)),
            }
        }
        let halt = halt.filter(|_| plan.halt_during.is_some());
        let argv = match &way {
            Way::Command(call) => call.argv.clone(),
            Way::Ask(_) => self.adapter_words(),
        };
        if let Err(why) = self.ready([Some(&way), halt.as_ref()]).await {
            return (verb.as_str(), argv, ProcessEnd::AdapterFailed(why));
        }
        let stage = Arc::clone(&self.stage);
        let places = self.report_places();
        let last_report = || places.reports(&stage, before).last().map(|report| report.at);
        let last_report: Option<&dyn Fn() -> Option<Millis>> = self.manifest.waits.then_some(&last_report);
        if let Err(why) = self.take_away(plan, true) {
            return (verb.as_str(), argv, ProcessEnd::NotStarted(why));
        }
        let end = self.watch(halt).drive(&way, plan, last_report).await;
        let back = self.take_away(plan, false);
        (verb.as_str(), argv, back.map_or_else(ProcessEnd::NotStarted, |()| end))
    }

    /// Takes the program of the phase away that is not to start in the step, or puts it back.
    fn take_away(&self, plan: &Drive, away: bool) -> Result<(), String> {
        let mut phase = plan.unstartable.iter();
        phase.try_for_each(|phase| self.lab.take_away(phase, away).map_err(said))
    }

    fn watch(&mut self, halt: Option<Way>) -> Watch<'_> {
        Watch {
            budget: self.budget(),
            workspace: self.lab.workspace(),
            met_in: self.script.steps.iter().filter_map(met_in).collect(),
            stage: &self.stage,
            reached: &mut self.reached,
            stop: &self.options.stop,
            adapter: self.adapter.as_ref(),
            halt,
        }
    }
}

/// How a step ends in which the judge does by hand what a person would. Where it cannot, what the runtime left there is in
/// its way, a link that leads out of the case for one.
fn by_hand(done: Result<(), impl Error>) -> ProcessEnd {
    done.map_or_else(|error| ProcessEnd::NotStarted(in_one_line(&error)), |()| ProcessEnd::Nothing)
}

/// What is shut off from a runtime, and what is not, a sentence each.
fn shut_off(manifest: &Manifest, options: &RigOptions, here: Isolation) -> (Isolation, Vec<String>) {
    if let Some(why) = &manifest.lives_outside {
        return (Isolation::NONE, vec![format!("what lives outside of the case was not observed: {why}")]);
    }
    let writes = |folder| format!("what the runtime changed in {folder}, where its manifest lets it write");
    let missing = here.missing_for_runtimes().map(str::to_owned);
    let is_open = options.hermetic && (!here.processes || path_sockets().is_none());
    let sockets =
        is_open.then(|| "sockets and pipes of the host that a path leads to, which could not be closed".to_owned());
    (here, missing.into_iter().chain(sockets).chain(manifest.writes.iter().map(writes)).collect())
}

/// The folders that the manifest lets the runtime write, besides those of its case.
fn writable(manifest: &Manifest, dir: &Path, judge: &Path) -> Vec<PathBuf> {
    let places = Places::new(dir, judge);
    manifest.writes.iter().map(|folder| PathBuf::from(places.fill(folder))).collect()
}

/// The files and folders that the manifest's commands name, and those where the commands are looked for.
fn named(manifest: &Manifest, dir: &Path, judge: &Path) -> Vec<PathBuf> {
    let places = Places::new(dir, judge);
    let verbs = [
        &manifest.run,
        &manifest.adapter,
        &manifest.resume,
        &manifest.prepare,
        &manifest.state,
        &manifest.halt,
        &manifest.resolve,
    ];
    let words = verbs.into_iter().flatten().flat_map(|argv| places.argv(argv)).map(PathBuf::from);
    let path = env::var("PATH").unwrap_or_default();
    let folders = path.split(':').map(PathBuf::from);
    let beside = judge.parent().map(Path::to_path_buf);
    words.chain(folders).chain(beside).chain([dir.to_path_buf()]).collect()
}

/// The phase during which a step kills the runtime, or has it halted.
fn met_in(step: &Step) -> Option<String> {
    match step {
        Step::Run(drive) | Step::Resume(drive) => drive.kill_during.clone().or(drive.halt_during.clone()),
        _ => None,
    }
}

/// The manifest's patterns on the output.
fn sights(manifest: &Manifest) -> Result<Vec<Regex>, String> {
    let pattern = |sight: &Option<Sight>| match sight {
        Some(Sight::Output(pattern)) => Some(Regex::new(pattern)),
        Some(Sight::EventFile) | None => None,
    };
    [&manifest.warn, &manifest.compact].into_iter().filter_map(pattern).collect::<Result<_, _>>().map_err(said)
}

fn said(error: impl Display) -> String {
    error.to_string()
}
