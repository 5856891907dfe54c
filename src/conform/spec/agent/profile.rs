//! The agent profile's documents, as the shared parts of the judge ask for them.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use crate::conform::spec::{AGENT_CASE, AGENT_MANIFEST};
use crate::conform::spec::{AgentCase, AgentExpectation, AgentManifest, AgentStep, Errand, Setting, WhichFolder};
use crate::conform::spec::{
    Attestation, CaseDocument, CellWord, Column, Draw, Head, ManifestDocument, Profile, ProfileName, Reason,
    SettingReport, TimeMethod,
};
use crate::diag::Diagnostic;
use crate::schema::Kind;

/// Coding agents, judged at their command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentProfile;

impl Profile for AgentProfile {
    type Case = AgentCase;
    type Manifest = AgentManifest;

    const NAME: ProfileName = ProfileName::Agent;
    const CASE: &'static Kind = &AGENT_CASE;
    const MANIFEST: &'static Kind = &AGENT_MANIFEST;
}

impl CaseDocument for AgentCase {
    fn head(&self) -> Head<'_> {
        let Self { id, clause, title, needs, time, draw, .. } = self;
        Head { id, clause, title, needs, time: *time, drawn: draw }
    }

    fn scenario(&self) -> Self {
        let (id, clause, title) = Default::default();
        Self { id, clause, title, needs: Vec::new(), quick: false, expect: Vec::new(), ..self.clone() }
    }

    fn is_plain(&self) -> bool {
        let untouched = |errand: &Errand| {
            let as_usual =
                errand.folder == WhichFolder::Workspace && errand.spoilt.is_none() && errand.beside.is_none();
            as_usual && errand.disturb.is_none() && errand.stop_after_requests.is_none()
        };
        // Nothing but words: what every other case presupposes, so that it is there whichever of them are chosen.
        let speaks = self.model.steps.iter().all(|step| {
            let fates = [step.stall, step.reset, step.truncate];
            let arrives = step.stop.is_none() && step.away_ms.is_none() && fates.iter().all(Option::is_none);
            let quiet = step.error.is_none() && step.error_event.is_none() && arrives;
            quiet && step.shell.is_none() && step.shells.is_empty()
        });
        let once = matches!(self.steps.as_slice(), [AgentStep::Run(errand)] if untouched(errand));
        once && speaks && self.knobs.is_empty() && self.files.is_empty() && self.memory.is_none()
    }

    fn measures_time(&self) -> bool {
        let gaps = self.expect.iter().any(|it| matches!(it, AgentExpectation::Gaps { .. }));
        gaps || self.time == TimeMethod::Scaled
    }

    fn faults(&self) -> Vec<Diagnostic> {
        let mut wrong = Vec::new();
        if self.expect.is_empty() || self.steps.is_empty() {
            wrong.push(Diagnostic::error("case-empty", "a case without steps or expectations judges nothing"));
        }
        if self.time == TimeMethod::Accelerated {
            let why = "nobody has given agents a faster clock";
            wrong.push(Diagnostic::error("case-time", why).of("/time"));
        }
        let mut fault = |code: &'static str, pointer: &str, message: String| {
            wrong.push(Diagnostic::error(code, message).of(pointer));
        };
        if matches!(self.steps.first(), Some(AgentStep::Resume(_))) {
            fault("case-steps", "/steps", "the first step must be a run: there is no session yet".to_owned());
        }
        for expectation in &self.expect {
            if let Some(step) = expectation.step().filter(|step| *step >= self.steps.len()) {
                fault("case-step", "/expect", format!("there is no step {step}"));
            }
            if expectation.is_vacuous() {
                fault("case-vacuous", "/expect", "it is kept by whoever does nothing".to_owned());
            }
        }
        if matches!(self.steps.first(), Some(AgentStep::Run(errand)) if errand.spoilt.is_some()) {
            let why = "the first call must be sound: an agent that never works refuses everything".to_owned();
            fault("case-steps", "/steps/0", why);
        }
        for signal in self.steps.iter().filter_map(|step| step.errand().disturb.as_ref()).map(|it| &it.signal) {
            if !["INT", "TERM", "HUP", "KILL"].contains(&signal.as_str()) {
                fault("case-signal", "/steps", format!("{signal} is none of INT, TERM, HUP and KILL"));
            }
        }
        if self.draw.values().any(|draw| matches!(draw, Draw::Phase(_))) {
            fault("case-draw", "/draw", "agents know no phases".to_owned());
        }
        for found in self.model.faults() {
            fault("case-model", &format!("/model{}", found.pointer), found.message.clone());
        }
        wrong
    }

    fn expectations(&self) -> Value {
        serde_json::to_value(&self.expect).expect("an expectation is plain data")
    }

    fn is_quick(&self) -> bool {
        self.quick
    }
}

impl AgentExpectation {
    /// The step that it speaks of.
    fn step(&self) -> Option<usize> {
        match self {
            Self::Ends { step, .. }
            | Self::NoSuccess { step }
            | Self::Requests { step, .. }
            | Self::TriedAgain { step, .. }
            | Self::Gaps { step, .. }
            | Self::Told { step, .. }
            | Self::NotTold { step, .. }
            | Self::SessionAtFirst { step }
            | Self::SameSession { step }
            | Self::Carried { step, .. }
            | Self::ToolExit { step, .. }
            | Self::Usage { step }
            | Self::CompactionTold { step }
            | Self::TurnLimitTold { step }
            | Self::NotSilent { step, .. }
            | Self::EndTold { step, .. }
            | Self::AnswerTold { step, .. }
            | Self::ContextTold { step }
            | Self::Compacted { step, .. }
            | Self::GoesOn { step }
            | Self::EffortSent { step, .. }
            | Self::MemoryRead { step, .. }
            | Self::ReachedAgain { step }
            | Self::ResumedOrRefused { step, .. }
            | Self::Apart { step, .. } => Some(*step),
            Self::File { .. } | Self::NoFile { .. } | Self::NoOrphans => None,
        }
    }

    fn is_vacuous(&self) -> bool {
        match self {
            Self::Requests { at_least, at_most, .. } => *at_least == 0 && at_most.is_none(),
            Self::Gaps { at_least, each_ms, growth, .. } => *at_least == 0 || (each_ms.is_none() && growth.is_none()),
            Self::Carried { texts, .. } | Self::ResumedOrRefused { texts, .. } => texts.is_empty(),
            Self::Apart { texts, .. } => texts.iter().any(String::is_empty) || texts[0] == texts[1],
            Self::AnswerTold { text, .. } | Self::MemoryRead { text, .. } | Self::TriedAgain { text, .. } => {
                text.is_empty()
            }
            Self::EffortSent { level, .. } => level.is_empty(),
            Self::ToolExit { marker, .. } => marker.is_empty(),
            _ => false,
        }
    }
}

impl ManifestDocument for AgentManifest {
    fn name(&self) -> &str {
        &self.agent
    }

    fn attest(&self) -> &[Attestation] {
        &self.attest
    }

    fn expect(&self) -> &BTreeMap<Column, CellWord> {
        &self.expect
    }

    fn reds(&self) -> BTreeMap<String, Reason> {
        self.reds.clone()
    }

    fn settings(&self) -> Vec<SettingReport> {
        let report = |setting: &Setting| SettingReport {
            what: setting.what(),
            default: setting.default.clone(),
            why: setting.why.clone(),
        };
        self.settings.iter().map(report).collect()
    }

    fn install(&self) -> Option<&str> {
        self.install.as_deref()
    }

    fn faults(&self) -> Vec<Diagnostic> {
        let mut wrong = Vec::new();
        let mut fault = |pointer: &str, message: String| {
            wrong.push(Diagnostic::error("manifest-agent", message).of(pointer));
        };
        let verbs: Vec<&Vec<String>> = std::iter::once(&self.run).chain(&self.resume).collect();
        let argv_knobs = !self.folder.is_empty() || self.knobs.values().any(|way| !way.argv.is_empty());
        if argv_knobs && verbs.iter().any(|argv| !argv.iter().any(|word| word == "{knobs}")) {
            fault("/run", "a knob has arguments, but a verb has no place for them: an argument {knobs}".to_owned());
        }
        if !self.folder.is_empty() && !self.folder.iter().any(|word| word.contains("{folder}")) {
            fault("/folder", "no argument holds {folder}".to_owned());
        }
        for (knob, word) in self.knobs.iter().flat_map(|(knob, way)| way.drop.iter().map(move |word| (knob, word))) {
            if verbs.iter().any(|argv| !argv.contains(word)) {
                fault(
                    &format!("/knobs/{knob}"),
                    format!("{word} does not stand in every verb, so it cannot be left out"),
                );
            }
        }
        for name in self.quota_login.iter().flat_map(|login| &login.unset).filter(|name| !self.env.contains_key(*name))
        {
            fault("/quota_login/unset", format!("{name} does not stand in env, so it cannot be left out"));
        }
        for (knob, path) in self.knobs.iter().flat_map(|(knob, way)| way.json.keys().map(move |path| (knob, path))) {
            if self.files.get(path).is_some_and(|text| serde_json::from_str::<Value>(text).is_err()) {
                fault(&format!("/knobs/{knob}"), format!("{path} is no JSON, so nothing can be merged into it"));
            }
        }
        for (number, setting) in self.settings.iter().enumerate() {
            let here = format!("/settings/{number}");
            let ways = [!setting.env.is_empty(), setting.flag.is_some(), setting.file.is_some()];
            if ways.into_iter().filter(|way| *way).count() != 1 {
                fault(&here, "exactly one of env, flag and file says what is set".to_owned());
            }
            if setting.flag.as_ref().is_some_and(|flag| verbs.iter().any(|argv| !stands_in(argv, flag))) {
                fault(&here, "the flag does not stand in every verb".to_owned());
            }
            if setting.file.as_ref().is_some_and(|line| !self.files.values().any(|text| text.contains(line))) {
                fault(&here, "it stands in none of the files".to_owned());
            }
        }
        for side in &self.side {
            if let Err(error) = Regex::new(&side.r#match) {
                fault("/side", format!("{}: {error}", side.name));
            }
        }
        if matches!(self.stream.turn_limit_exit, Some(0 | 1)) {
            fault("/stream/turn_limit_exit", "0 and 1 have another meaning already".to_owned());
        }
        wrong
    }
}

/// Whether the words of a flag stand side by side among the arguments.
fn stands_in(argv: &[String], flag: &str) -> bool {
    format!(" {} ", argv.join(" ")).contains(&format!(" {flag} "))
}

impl Setting {
    /// What is set, in one line.
    fn what(&self) -> String {
        let env = self.env.iter().map(|(name, value)| format!("{name}={value}"));
        env.chain(self.flag.clone()).chain(self.file.clone()).collect::<Vec<_>>().join(" ")
    }
}
