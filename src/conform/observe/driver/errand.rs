//! One case of an agent, step by step: a fresh place, a scripted model, every step in a chamber of its own.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::process::Signal;
use tokio::select;
use tokio::time::{MissedTickBehavior, interval};

use super::bench::{Bench, said};
use super::chamber::{AgentRun, Call, Happening, Isolation, Spec, environment};
use super::options::RigOptions;
use super::program::Places;
use crate::conform::observe::agent::session;
use crate::conform::observe::{AgentEnd, AgentObservation, AgentStepSeen, OutputLine, SignalSent};
use crate::conform::spec::draw::draw;
use crate::conform::spec::{AgentCase, AgentManifest, AgentStep, Disturbance, Errand, Occasion, WhichSession};
use crate::system::clock::Millis;
use crate::system::env;
use crate::system::process::{ProcessExit, Stream, signal_name};

/// How often a running step is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// How long after its occasion a signal is sent: what made the file may still be about to start what comes after it, and
/// whatever dies before it has a child leaves none behind.
const UNDER_WAY: Millis = 300;
/// Bytes that are kept of the beginning of each stream of a step, and of its end.
const KEPT: usize = 8 << 20;

/// Does what a case says to the agent of a manifest and writes down what was seen. A fault of the rig is part of it.
/// `programs` is looked into for the agent's program first.
pub(in crate::conform) async fn errands(
    case: &AgentCase,
    manifest: &AgentManifest,
    dir: &Path,
    options: &RigOptions,
    programs: &Path,
) -> AgentObservation {
    let mut seen = AgentObservation::default();
    let missing = Isolation::here().await.missing();
    seen.unseen = missing.into_iter().map(str::to_owned).collect();
    let drawn = match draw(case, options.seed) {
        Ok(drawn) => drawn,
        Err(error) => return AgentObservation { rig_error: Some(error.to_string()), ..seen },
    };
    seen.drawn.clone_from(&drawn);
    let places = Places::new(dir, &options.judge).preferring(programs);
    let bench = match Bench::lay(case, manifest, &drawn, places, options) {
        Ok(bench) => bench,
        Err(problem) => return AgentObservation { rig_error: Some(problem), ..seen },
    };
    seen.rig_error = bench.work(&mut seen).await.err();
    seen.files = bench.files();
    seen.kept = bench.kept();
    seen
}

impl Bench<'_> {
    async fn work(&self, seen: &mut AgentObservation) -> Result<(), String> {
        for step in &self.case.steps {
            let first = seen.steps.first().and_then(|step| session(&self.manifest.stream, step));
            let step = match self.session(step, first) {
                Ok(session) => self.step(step, session.as_deref()).await?,
                Err(why) => self.unasked(step, why),
            };
            seen.steps.push(step);
            if self.options.stop.load(Ordering::Relaxed) {
                return Err("interrupted".to_owned());
            }
        }
        Ok(())
    }

    /// The session of a step, if it resumes one; why that is not possible.
    fn session(&self, step: &AgentStep, first: Option<String>) -> Result<Option<String>, String> {
        let AgentStep::Resume(errand) = step else { return Ok(None) };
        if self.manifest.resume.is_none() {
            return Err("the manifest has no `resume`".to_owned());
        }
        let first = first.ok_or("the first run's stream names no session")?;
        Ok(Some(match errand.session {
            WhichSession::First => first,
            WhichSession::Unknown => like(&first),
        }))
    }

    fn unasked(&self, step: &AgentStep, why: String) -> AgentStepSeen {
        let now = self.now();
        AgentStepSeen {
            verb: step.verb().to_owned(),
            argv: Vec::new(),
            env: BTreeMap::new(),
            started: now,
            ended: now,
            end: AgentEnd::NotAsked(why),
            signal: None,
            requests: Vec::new(),
            output: Vec::new(),
            beside: None,
            left: Vec::new(),
        }
    }

    /// One step, and what is started beside it.
    async fn step(&self, step: &AgentStep, session: Option<&str>) -> Result<AgentStepSeen, String> {
        let errand = step.errand();
        let template = match (step, &self.manifest.resume) {
            (AgentStep::Resume(_), Some(resume)) => resume,
            _ => &self.manifest.run,
        };
        let places = self.places.clone().with("{session}", session.unwrap_or_default());
        let Some(prompt) = &errand.beside else { return self.one(step.verb(), errand, template, &places).await };
        let other = Errand { prompt: prompt.clone(), beside: None, ..errand.clone() };
        let (seen, beside) = tokio::try_join!(
            self.one(step.verb(), errand, template, &places),
            self.one("run", &other, &self.manifest.run, &places)
        )?;
        let requests =
            if seen.requests.len() > beside.requests.len() { &seen.requests } else { &beside.requests }.clone();
        Ok(AgentStepSeen { requests, beside: Some(Box::new(AgentStepSeen { requests: Vec::new(), ..beside })), ..seen })
    }

    /// One agent, from its start until nothing of it is left.
    async fn one(
        &self,
        verb: &str,
        errand: &Errand,
        template: &[String],
        places: &Places,
    ) -> Result<AgentStepSeen, String> {
        let places = places.clone().with("{prompt}", self.text(&errand.prompt));
        let (argv, env) = self.call(template, &places, errand.spoilt);
        let folder = self.folder(errand);
        let started = self.now();
        let asked_before = self.asked();
        let mut all = environment(&self.home(), &self.temporary());
        all.extend(env.clone());
        self.keep(&folder, &argv, &env)?;
        let place = Spec {
            judge: self.options.judge.clone(),
            root: self.root.clone(),
            temporary: self.temporary(),
            writable: Vec::new(),
            kept: Vec::new(),
            shown: Vec::new(),
            is_hermetic: self.options.hermetic,
        };
        let call = Call { argv: argv.clone(), env: all, folder };
        let limit = self.options.load.stretched(Duration::from_secs(errand.limit_s));
        let mut watch = Watch { bench: self, errand, asked_before, seen: Sighting::default() };
        watch.attend(AgentRun::start(&place, &call, limit).await.map_err(said)?).await?;
        let Sighting { end, ended, signal, said: [out, err], left, .. } = watch.seen;
        let mut output: Vec<OutputLine> = [out, err].into_iter().flat_map(Said::lines).collect();
        output.sort_by_key(|line| line.at);
        Ok(AgentStepSeen {
            verb: verb.to_owned(),
            argv: argv.iter().enumerate().map(|(place, word)| self.named(word, place, template)).collect(),
            env: env.iter().map(|(name, value)| (name.clone(), self.named(value, usize::MAX, template))).collect(),
            started,
            ended: ended.unwrap_or_else(|| self.now()),
            end: end.ok_or("the chamber did not say how the agent ended")?,
            signal,
            requests: self.model.requests().split_off(asked_before),
            output,
            beside: None,
            left,
        })
    }
}

/// A step that runs.
struct Watch<'a> {
    bench: &'a Bench<'a>,
    errand: &'a Errand,
    asked_before: usize,
    seen: Sighting,
}

/// What was seen of it so far.
#[derive(Debug, Default)]
struct Sighting {
    end: Option<AgentEnd>,
    ended: Option<Millis>,
    /// When the occasion of the signal was there.
    occasion: Option<Millis>,
    signal: Option<SignalSent>,
    /// Standard output, and standard error.
    said: [Said; 2],
    left: Vec<crate::conform::observe::ProcessSeen>,
    /// Why the judge ended it, if it did.
    cut: Option<AgentEnd>,
}

/// What is kept of a stream: its beginning and its end, for what tells how a run went stands last.
#[derive(Debug, Default)]
struct Said {
    first: Vec<OutputLine>,
    last: VecDeque<OutputLine>,
    /// Bytes of either.
    bytes: [usize; 2],
}

impl Said {
    fn add(&mut self, line: OutputLine, room: usize) {
        let length = line.text.len();
        if self.last.is_empty() && self.bytes[0] + length <= room {
            self.bytes[0] += length;
            self.first.push(line);
            return;
        }
        self.bytes[1] += length;
        self.last.push_back(line);
        while self.bytes[1] > room {
            self.bytes[1] -= self.last.pop_front().map_or(self.bytes[1], |line| line.text.len());
        }
    }

    fn lines(self) -> impl Iterator<Item = OutputLine> {
        self.first.into_iter().chain(self.last)
    }
}

impl Watch<'_> {
    /// Follows the agent until nothing of it is left.
    async fn attend(&mut self, mut agent: AgentRun) -> Result<(), String> {
        let mut ticks = interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            select! {
                happening = agent.next() => match happening {
                    Some(happening) => self.note(happening),
                    None => return Ok(()),
                },
                _ = ticks.tick(), if self.seen.end.is_none() => {
                    if self.bench.options.stop.load(Ordering::Relaxed) {
                        return Err("interrupted".to_owned());
                    }
                    if let Some(signal) = self.due() {
                        agent.signal(signal);
                    }
                }
            }
        }
    }

    fn note(&mut self, happening: Happening) {
        let at = self.bench.now();
        match happening {
            Happening::Said { stream, line } => {
                let (place, name) = if stream == Stream::Stdout { (0, "stdout") } else { (1, "stderr") };
                self.seen.said[place].add(OutputLine { at, stream: name.to_owned(), text: line }, KEPT);
            }
            Happening::OutOfTime => self.seen.cut = Some(AgentEnd::OutOfTime),
            Happening::Ended(exit) => {
                self.seen.ended = Some(at);
                self.seen.end = Some(self.seen.cut.take().unwrap_or_else(|| ended(&exit)));
            }
            Happening::Left(left) => {
                let here = env::current_dir().unwrap_or_default();
                self.seen.left = left.into_iter().map(|it| it.seen_from(&here)).collect();
            }
        }
    }

    /// The signal that is to be sent now, if one is.
    fn due(&mut self) -> Option<Signal> {
        if self.seen.cut.is_some() {
            return None;
        }
        let turns = self.bench.turns_since(self.asked_before);
        if self.errand.stop_after_requests.is_some_and(|enough| turns >= enough) {
            self.seen.cut = Some(AgentEnd::SeenEnough);
            return Some(Signal::KILL);
        }
        let Disturbance { signal, when } = self.errand.disturb.as_ref().filter(|_| self.seen.signal.is_none())?;
        let now = match when {
            Occasion::Requests(count) => turns >= *count,
            Occasion::File(path) => self.bench.workspace().join(self.bench.text(path)).exists(),
        };
        let at = self.bench.now();
        let since = *self.seen.occasion.get_or_insert(now.then_some(at)?);
        let signal = number(signal).filter(|_| at >= since + UNDER_WAY)?;
        self.seen.signal = Some(SignalSent { name: signal_name(signal.as_raw()), at });
        Some(signal)
    }
}

fn number(signal: &str) -> Option<Signal> {
    match signal {
        "INT" => Some(Signal::INT),
        "TERM" => Some(Signal::TERM),
        "HUP" => Some(Signal::HUP),
        "KILL" => Some(Signal::KILL),
        _ => None,
    }
}

fn ended(exit: &ProcessExit) -> AgentEnd {
    match exit {
        ProcessExit::Exited(code) => AgentEnd::Exited(*code),
        ProcessExit::Signalled(number) => AgentEnd::Signalled(signal_name(*number)),
        ProcessExit::SpawnFailed(error) => AgentEnd::NotStarted(error.to_string()),
    }
}

/// A name of the same form that nobody ever had: the last eight letters and digits are others.
fn like(name: &str) -> String {
    let other = |c: char| match c {
        '9' => '0',
        'f' => 'a',
        'F' => 'A',
        'z' | 'Z' => c,
        _ => char::from_u32(c as u32 + 1).unwrap_or(c),
    };
    let mut left = 8;
    let mut turned: Vec<char> = name.chars().collect();
    for c in turned.iter_mut().rev().filter(|c| c.is_ascii_alphanumeric()) {
        if left == 0 {
            break;
        }
        *c = other(*c);
        left -= 1;
    }
    turned.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_flood_the_beginning_and_the_end_are_kept() {
        let mut said = Said::default();
        for at in 0..10 {
            said.add(OutputLine { at, stream: "stdout".to_owned(), text: "1234".to_owned() }, 12);
        }
        assert_eq!(said.lines().map(|line| line.at).collect::<Vec<_>>(), [0, 1, 2, 7, 8, 9]);
        let mut said = Said::default();
        for (at, text) in ["1234", "12345678", "1", "12345678"].into_iter().enumerate() {
            said.add(OutputLine { at: at as u64, stream: "stdout".to_owned(), text: text.to_owned() }, 8);
        }
        assert_eq!(
            said.lines().map(|line| line.at).collect::<Vec<_>>(),
            [0, 3],
            "what is short does not go before its turn"
        );
        let mut said = Said::default();
        said.add(OutputLine { at: 0, stream: "stdout".to_owned(), text: "12345".to_owned() }, 4);
        assert_eq!(said.lines().count(), 0, "no line is longer than what is kept");
    }

    #[test]
    fn an_unknown_session_has_the_form_of_a_known_one() {
        for (name, other) in [
            ("6f1d2c3b-0000-4000-8000-0123456789af", "6f1d2c3b-0000-4000-8000-0123567890ba"),
            ("ses_fz", "tft_az"),
            ("", ""),
        ] {
            assert_eq!(like(name), other);
        }
    }
}
