//! Where a case happens: fresh workspaces, a home and a folder for temporary files of their own, the plan and its phases.
//!
//! Nothing of the judge lies inside a workspace but what the case puts there. The plan, the phases' scripts and the socket
//! are beside it, so that a runtime that cleans up its workspace cannot lose them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::EditSeen;
use super::edit::edited;
use super::{journal::Grounds, sighting};
use super::{probe::COMPACTOR, probe::PHASE};
use crate::conform::spec::draw::Script;
use crate::contract::Phase;
use crate::system::scratch::{self, ScratchError, Shared};
use crate::text::quoted;

/// The configuration that every case begins with: no person stands beside a judged run.
const APPROVAL: &str = "autonomous_agent.require_human_deploy_approval";
/// Loa's name of its configuration.
const CONFIG: &str = ".loa.config.yaml";
/// Who makes the commits of a workspace, the runtime's own included; and nothing that only costs time in a place that
/// nobody keeps.
pub(in crate::conform) const GIT_CONFIG: &str = "\
[user]\n\tname = Developer\n\temail = developer@localhost\n\
[init]\n\tdefaultBranch = main\n\ttemplateDir =\n[commit]\n\tgpgSign = false\n[maintenance]\n\tauto = false\n\
[core]\n\tfsync = none\n";

/// A lab that could not be laid.
#[derive(Debug, thiserror::Error)]
pub(super) enum LabError {
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    #[error("cannot write the configuration")]
    Config(#[from] serde_yaml::ser::Error),
    #[error("{0}: {1}")]
    Edit(String, String),
    #[error("the folder {} has a name that the plan cannot spell", .0.display())]
    Name(PathBuf),
}

/// The folder of one case, with everything in it.
#[derive(Debug)]
pub(super) struct Lab {
    root: PathBuf,
    /// The same, for whatever is done there once the runtime has been: a link of its own must not lead the judge out.
    shared: Shared,
    _owner: Option<TempDir>,
    workspaces: usize,
    laid: BTreeSet<String>,
}

impl Lab {
    /// Lays the parts that all workspaces of the case share; `judge` is the judge's own program, which `is_shown` in the lab
    /// under another name.
    pub(super) fn new(judge: &Path, is_shown: bool, keep: bool) -> Result<Self, LabError> {
        let owner = scratch::folder("case-")?;
        let root = owner.path().canonicalize().unwrap_or_else(|_| owner.path().to_path_buf());
        let owner = if keep {
            let _kept = owner.keep();
            None
        } else {
            Some(owner)
        };
        let shared = Shared::open(&root)?;
        let lab = Self { root, shared, _owner: owner, workspaces: 0, laid: BTreeSet::new() };
        scratch::lay(&lab.home().join(".gitconfig"), GIT_CONFIG.as_bytes())?;
        scratch::lay(&lab.temporary().join(".keep"), b"")?;
        if is_shown {
            scratch::lay(&lab.program(), b"")?;
        }
        lab.lay_plan(&if is_shown { lab.program() } else { judge.to_path_buf() })?;
        Ok(lab)
    }

    /// Lays the next workspace, with the case's files and configuration; the later ones replace nothing of the earlier.
    pub(super) fn next_workspace(&mut self, script: &Script, knobs: &BTreeMap<String, Value>) -> Result<(), LabError> {
        self.workspaces += 1;
        self.laid.clear();
        let config = configuration(&script.config, knobs);
        self.write(CONFIG, &serde_yaml::to_string(&config)?)?;
        for (path, content) in &script.files {
            self.write(path, content)?;
        }
        Ok(())
    }

    /// Writes a file of the workspace and remembers it.
    pub(super) fn write(&mut self, path: &str, content: &str) -> Result<(), ScratchError> {
        self.laid.insert(path.to_owned());
        self.shared.lay(&self.name().join(path), content.as_bytes())
    }

    /// Removes a file of the workspace, if it is there.
    pub(super) fn delete(&self, path: &str) -> Result<(), ScratchError> {
        self.shared.remove(&self.name().join(path))
    }

    /// Changes top-level keys of a YAML or JSON mapping of the workspace in place. Where there is no mapping, it does nothing:
    /// what the runtime failed to leave, nobody can edit. What the file held, and holds now.
    pub(super) fn edit(
        &mut self,
        path: &str,
        set: &BTreeMap<String, Value>,
        remove: &[String],
    ) -> Result<Option<EditSeen>, LabError> {
        let grounds = Grounds::new(self.root.clone(), Vec::new());
        let Some(before) = grounds.file(&self.workspace().join(path)).map(|file| file.text) else { return Ok(None) };
        if !sighting::yaml(&before).is_some_and(|document| document.is_object()) {
            return Ok(None);
        }
        let after = edited(&before, set, remove).map_err(|why| LabError::Edit(path.to_owned(), why))?;
        self.write(path, &after)?;
        Ok(Some(EditSeen { path: path.to_owned(), before, after }))
    }

    /// The files of the workspace that the judge laid.
    pub(super) fn laid(&self) -> &BTreeSet<String> {
        &self.laid
    }

    /// The number of the workspace, counted from 0.
    pub(super) fn number(&self) -> usize {
        self.workspaces.saturating_sub(1)
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.root.join(self.name())
    }

    fn name(&self) -> PathBuf {
        PathBuf::from(format!("workspace-{}", self.number()))
    }

    pub(super) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(super) fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    pub(super) fn plan(&self) -> PathBuf {
        self.root.join("plan.json")
    }

    /// Takes the program of a phase away, or puts it back.
    ///
    /// # Errors
    /// What the host says.
    pub(super) fn take_away(&self, phase: &str, away: bool) -> Result<(), ScratchError> {
        let program = Path::new("phases").join(phase);
        let aside = Path::new("phases").join(format!("{phase}.away"));
        let (from, to) = if away { (program, aside) } else { (aside, program) };
        self.shared.rename(&from, &to)
    }

    /// The judge's own compactor, a program without arguments.
    pub(super) fn compactor(&self) -> PathBuf {
        self.root.join("phases").join(COMPACTOR)
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.root.join("socket")
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Where the judge's program is shown under a name that says nothing of a judge.
    pub(super) fn program(&self) -> PathBuf {
        self.root.join("bin").join("step")
    }

    fn lay_plan(&self, judge: &Path) -> Result<(), LabError> {
        let mut phases = Vec::new();
        for phase in Phase::WORDS {
            let script = self.root.join("phases").join(phase);
            scratch::lay_program(&script, phase_script(judge, &self.socket(), phase)?.as_bytes())?;
            phases.push(json!({ "id": phase, "command": [spelt(&script)?] }));
        }
        scratch::lay_program(&self.compactor(), phase_script(judge, &self.socket(), COMPACTOR)?.as_bytes())?;
        // With a newline at its end, so that a shell's `read` sees the last line as well.
        let plan = format!("{}\n", json!({ "phases": phases }));
        Ok(scratch::lay(&self.plan(), plan.as_bytes())?)
    }
}

fn spelt(path: &Path) -> Result<&str, LabError> {
    path.to_str().ok_or_else(|| LabError::Name(path.to_path_buf()))
}

/// Two lines that work with an empty environment and in any folder: the shell becomes the probe, so that the probe's end
/// is the phase's.
fn phase_script(judge: &Path, socket: &Path, phase: &str) -> Result<String, LabError> {
    Ok(format!("#!/bin/sh\nexec {} {PHASE} {} {phase}\n", quoted(spelt(judge)?), quoted(spelt(socket)?)))
}

/// The judge's defaults, then the case's keys, then the knobs: each dotted key in its place, null removing it.
pub(in crate::conform) fn configuration(case: &BTreeMap<String, Value>, knobs: &BTreeMap<String, Value>) -> Value {
    let mut config = Map::new();
    set(&mut config, APPROVAL, &Value::Bool(false));
    for (key, value) in case.iter().chain(knobs) {
        set(&mut config, key, value);
    }
    Value::Object(config)
}

fn set(config: &mut Map<String, Value>, key: &str, value: &Value) {
    match key.split_once('.') {
        None if value.is_null() => drop(config.shift_remove(key)),
        None => drop(config.insert(key.to_owned(), value.clone())),
        Some((outer, rest)) => {
            let inner = config.entry(outer).or_insert_with(|| json!({}));
            if !inner.is_object() {
                *inner = json!({});
            }
            let inner = inner.as_object_mut().expect("made one just above");
            set(inner, rest, value);
            if inner.is_empty() {
                config.shift_remove(outer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(pairs: &[(&str, Value)]) -> String {
        let case = pairs.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        let knobs = BTreeMap::from([("runtime.retry.initial_ms".to_owned(), json!(50))]);
        serde_yaml::to_string(&configuration(&case, &knobs)).expect("plain data")
    }

    #[test]
    fn dotted_keys_become_nested_blocks_and_null_takes_a_default_away() {
        let text = config(&[
            (APPROVAL, Value::Null),
            ("autonomous_agent.context.soft_limit_tokens", json!(1000)),
            ("run_mode.defaults.timeout_hours", json!(0.001)),
        ]);
        let expected = "\
autonomous_agent:
  context:
    soft_limit_tokens: 1000
run_mode:
  defaults:
    timeout_hours: 0.001
runtime:
  retry:
    initial_ms: 50
";
        assert_eq!(text, expected);
        assert!(config(&[]).starts_with("autonomous_agent:\n  require_human_deploy_approval: false\n"));
        assert!(!config(&[(APPROVAL, Value::Null)]).contains("autonomous_agent"));
    }

    #[test]
    fn a_script_survives_quotes_and_spaces_in_its_paths() {
        let script = phase_script(Path::new("/a b/it's"), Path::new("/s"), "design").expect("spelt");
        assert_eq!(script, "#!/bin/sh\nexec '/a b/it'\\''s' __phase '/s' design\n");
    }

    #[test]
    fn a_lab_has_a_plan_of_eight_phases_outside_its_workspaces() {
        let mut lab = Lab::new(Path::new("/judge"), false, false).expect("laid");
        let script = Script {
            phases: BTreeMap::new(),
            files: BTreeMap::from([("a/b.txt".to_owned(), "x".to_owned())]),
            config: BTreeMap::new(),
            steps: Vec::new(),
            compactor: None,
        };
        lab.next_workspace(&script, &BTreeMap::new()).expect("laid");
        lab.next_workspace(&script, &BTreeMap::new()).expect("laid");
        assert!(lab.workspace().ends_with("workspace-1") && lab.workspace().join("a/b.txt").exists());
        let plan: Value = serde_json::from_slice(&std::fs::read(lab.plan()).expect("a plan")).expect("JSON");
        let phases = plan["phases"].as_array().expect("a list");
        let ids: Vec<_> = phases.iter().filter_map(|phase| phase["id"].as_str()).collect();
        assert_eq!(ids, Phase::WORDS);
        assert!(phases.iter().all(|phase| Path::new(phase["command"][0].as_str().expect("a path")).is_absolute()));
        assert!(!lab.plan().starts_with(lab.workspace()));
        let root = lab.root().to_path_buf();
        drop(lab);
        assert!(!root.exists());
    }
}
