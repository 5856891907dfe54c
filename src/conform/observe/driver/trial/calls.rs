//! How a case's verbs are called: the manifest's words with everything filled in, its adapter, and what is prepared before a run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::Trial;
use crate::conform::observe::ProcessEnd;
use crate::conform::observe::driver::adapter::Adapter;
use crate::conform::observe::driver::chamber::Call;
use crate::conform::observe::driver::program::{Places, Setting, environment};
use crate::conform::observe::driver::work::Way;
use crate::conform::spec::{AdapterAsk, Argv, Drive, Verb};

impl Trial<'_> {
    /// How long a verb may take, on an idle machine.
    pub(super) fn budget(&self) -> Duration {
        self.manifest.budget_seconds.map_or(self.options.budget, Duration::from_secs) * self.stage.slower
    }

    /// How a verb is done, when the manifest has it.
    pub(super) fn way(&self, verb: Verb, action: Option<&str>) -> Option<Way> {
        if let Some(argv) = self.manifest.command(verb) {
            return Some(Way::Command(self.call(argv, action)));
        }
        self.manifest.adapter.as_ref()?;
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        Some(Way::Ask(AdapterAsk {
            ask: 0,
            verb,
            action: action.map(str::to_owned),
            plan: text(self.lab.plan()),
            workspace: text(self.lab.workspace()),
            env: self.environment(&self.places()),
        }))
    }

    /// The manifest's adapter with everything filled in that is the same for every ask.
    pub(super) fn adapter_words(&self) -> Vec<String> {
        let places = Places::new(self.dir, &self.options.judge).with("{plan}", self.lab.plan().to_string_lossy());
        self.manifest.adapter.as_ref().map(|argv| places.argv(argv)).unwrap_or_default()
    }

    /// Starts the adapter, if one of these is to be asked of it and it is not there yet.
    ///
    /// # Errors
    /// Why it cannot be started.
    pub(super) async fn ready(&mut self, ways: [Option<&Way>; 2]) -> Result<(), String> {
        if self.adapter.is_some() || !ways.iter().flatten().any(|way| matches!(way, Way::Ask(_))) {
            return Ok(());
        }
        let call = Call { argv: self.adapter_words(), env: self.environment(&self.places()), folder: self.lab.home() };
        let failed = |error| {
            let name = call.argv.first().map_or("nothing", String::as_str);
            format!("the adapter `{name}` could not be started: {error}; expected a program")
        };
        self.adapter = Some(Adapter::start(&call, &self.stage).await.map_err(failed)?);
        Ok(())
    }

    /// Runs the manifest's `prepare`; why it failed, if it did.
    pub(super) async fn prepare(&mut self) -> Option<String> {
        let way = Way::Command(self.call(self.manifest.prepare.as_ref()?, None));
        let end = self.watch(None).drive(&way, &Drive::default(), None).await;
        let said = self.stage.record().transcript.take();
        let last = said.last().map(|line| line.text.clone()).unwrap_or_default();
        (end != ProcessEnd::Exited(0)).then(|| format!("prepare: {end:?}: {last}"))
    }

    pub(super) fn call(&self, argv: &Argv, action: Option<&str>) -> Call {
        let mut places = self.places();
        if let Some(action) = action {
            places = places.resolving(action);
        }
        Call { argv: places.argv(argv), env: self.environment(&places), folder: self.lab.workspace() }
    }

    fn places(&self) -> Places {
        Places::new(self.dir, &self.options.judge).within(&self.lab)
    }

    fn environment(&self, places: &Places) -> BTreeMap<String, String> {
        let setting = Setting { case: self.case, manifest: self.manifest, config: &self.script.config };
        environment(&setting, places, &self.lab)
    }
}
