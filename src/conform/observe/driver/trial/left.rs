//! What a step, or the whole case, left: output, checkpoints, reports, and processes that stayed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use regex::Regex;
use tokio::time::sleep;

use super::Trial;
use crate::conform::observe::census::Resident;
use crate::conform::observe::driver::stage::Stage;
use crate::conform::observe::driver::verb::SETTLED_POLLS;
use crate::conform::observe::journal::{self, Footprint};
use crate::conform::observe::sighting;
use crate::conform::observe::{FileSeen, ProcessEnd, ProcessSeen, ReportSeen, StepSeen};
use crate::system::env;

/// How often it is looked whether everything is gone.
const LOOK: Duration = Duration::from_millis(10);

impl Trial<'_> {
    pub(super) fn begin(&self) -> u64 {
        let mut record = self.stage.record();
        record.changed = record.now();
        record.changed
    }

    pub(super) fn finish(
        &mut self,
        verb: &str,
        argv: Vec<String>,
        end: ProcessEnd,
        started: u64,
        before: &Footprint,
    ) -> StepSeen {
        let places = self.report_places();
        let starts_nothing = end == ProcessEnd::Nothing;
        let reports = if starts_nothing { Vec::new() } else { places.reports(&self.stage, before) };
        let mut record = self.stage.record();
        record.read_events();
        StepSeen {
            verb: verb.to_owned(),
            argv,
            started,
            ended: record.now(),
            end,
            output: record.transcript.take(),
            workspace: self.lab.number(),
            checkpoints: journal::checkpoints(&self.lab.workspace()),
            reports,
            laid: self.laid(),
            edited: None,
        }
    }

    pub(super) fn report_places(&self) -> ReportPlaces {
        ReportPlaces { folders: self.folders(), workspace: self.lab.workspace(), glob: self.report.clone() }
    }

    fn laid(&self) -> BTreeMap<String, FileSeen> {
        let workspace = self.lab.workspace();
        let laid = self.lab.laid().iter();
        laid.filter_map(|path| Some((path.clone(), journal::file(&workspace.join(path))?))).collect()
    }

    fn folders(&self) -> Vec<PathBuf> {
        vec![self.lab.workspace(), self.lab.home(), self.lab.temporary()]
    }

    pub(super) fn footprint(&self) -> Footprint {
        Footprint::of(&self.folders())
    }

    /// What is still alive some polls after the last step.
    pub(super) async fn orphans(&self) -> Vec<ProcessSeen> {
        let now = || self.stage.record().now();
        let until = now() + u64::from(SETTLED_POLLS) * self.manifest.poll_ms;
        loop {
            let left = self.stage.chamber.residents();
            if left.is_empty() || now() >= until {
                let here = env::current_dir().unwrap_or_default();
                return left.iter().map(Resident::seen).map(|it| it.seen_from(&here)).collect();
            }
            sleep(LOOK).await;
        }
    }
}

/// Where a step's reports are looked for.
pub(super) struct ReportPlaces {
    folders: Vec<PathBuf>,
    workspace: PathBuf,
    glob: Option<Regex>,
}

impl ReportPlaces {
    pub(super) fn reports(&self, stage: &Stage, before: &Footprint) -> Vec<ReportSeen> {
        let (epoch, now, output) = {
            let record = stage.record();
            (record.epoch(), record.now(), record.transcript.lines())
        };
        let glob = self.glob.as_ref();
        let places = sighting::Places { workspace: &self.workspace, folders: &self.folders, glob, epoch };
        let mut found = places.reports(before, now);
        if glob.is_none() {
            found.extend(sighting::in_output(&output));
        }
        found.sort_by_key(|report| report.at);
        found
    }
}
