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
use crate::conform::observe::journal::{Footprint, Grounds};
use crate::conform::observe::sighting;
use crate::conform::observe::{FileSeen, ProcessEnd, ProcessSeen, ReportSeen, StepSeen};
use crate::system::{clock, env};

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
        let laid = self.laid();
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
            checkpoints: record.grounds.checkpoints(&self.lab.workspace()),
            reports,
            laid,
            edited: None,
        }
    }

    pub(super) fn report_places(&self) -> ReportPlaces {
        let grounds = self.stage.record().grounds.clone();
        ReportPlaces { folders: self.folders(), workspace: self.lab.workspace(), glob: self.report.clone(), grounds }
    }

    fn laid(&self) -> BTreeMap<String, FileSeen> {
        let workspace = self.lab.workspace();
        let grounds = self.stage.record().grounds.clone();
        let laid = self.lab.laid().iter();
        laid.filter_map(|path| Some((path.clone(), grounds.file(&workspace.join(path))?))).collect()
    }

    fn folders(&self) -> Vec<PathBuf> {
        vec![self.lab.workspace(), self.lab.home(), self.lab.temporary()]
    }

    pub(super) fn footprint(&self) -> Footprint {
        Footprint::of(&self.folders())
    }

    /// What is still alive some polls after the last step.
    pub(super) async fn orphans(&self) -> Vec<ProcessSeen> {
        let begun = clock::now();
        loop {
            let left = self.stage.chamber.residents();
            if left.is_empty() || clock::now().since(begun) >= self.stage.poll() * SETTLED_POLLS {
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
    grounds: Grounds,
}

impl ReportPlaces {
    pub(super) fn reports(&self, stage: &Stage, before: &Footprint) -> Vec<ReportSeen> {
        let (epoch, now, output) = {
            let record = stage.record();
            (record.epoch(), record.now(), record.transcript.lines())
        };
        let glob = self.glob.as_ref();
        let Self { workspace, folders, grounds, .. } = self;
        let places = sighting::Places { workspace, folders, grounds, glob, epoch };
        let mut found = places.reports(before, now);
        if glob.is_none() {
            found.extend(sighting::in_output(&output));
        }
        found.sort_by_key(|report| report.at);
        found
    }
}
