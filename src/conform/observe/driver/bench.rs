//! The place of one case of an agent: workspace, home and temporary folder of its own, the scripted model, and what is
//! started there. Nothing is waited for here.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::options::RigOptions;
use super::program::Places;
use crate::conform::model::{Model, Options, Route, Script, Step as Answer};
use crate::conform::spec::agent::{Turned, knob_environment, merge, turned};
use crate::conform::spec::{AgentCase, AgentExpectation, AgentManifest, Errand, Spoilt, WhichFolder, names};
use crate::system::clock::Millis;
use crate::system::clock::{self, Moment};
use crate::system::{files, scratch};
use crate::text::quoted;

/// Longest file that is looked at, in bytes.
const LONGEST: u64 = 1 << 20;
/// An option that no agent has.
const UNKNOWN_FLAG: &str = "--no-agent-has-such-an-option";
/// The script of a kept case, and the commands beside it.
const KEPT_SCRIPT: &str = "model.yaml";
const KEPT_COMMANDS: &str = "by-hand.sh";

/// The place of a case, and its model.
pub(super) struct Bench<'a> {
    pub(super) case: &'a AgentCase,
    pub(super) manifest: &'a AgentManifest,
    pub(super) options: &'a RigOptions,
    drawn: &'a BTreeMap<String, Value>,
    pub(super) places: Places,
    pub(super) root: PathBuf,
    owner: Option<TempDir>,
    pub(super) model: Model,
    epoch: Moment,
}

impl<'a> Bench<'a> {
    pub(super) fn lay(
        case: &'a AgentCase,
        manifest: &'a AgentManifest,
        drawn: &'a BTreeMap<String, Value>,
        places: Places,
        options: &'a RigOptions,
    ) -> Result<Self, String> {
        let epoch = clock::now();
        let script = script(case, manifest, drawn);
        let how = Options { port: None, seed: options.seed, epoch };
        let model = Model::start(&script, &how).map_err(said)?;
        let owner = scratch::folder("loa-conform-").map_err(said)?;
        let root = owner.path().canonicalize().unwrap_or_else(|_| owner.path().to_path_buf());
        let owner = if options.keep {
            let _kept = owner.keep();
            None
        } else {
            Some(owner)
        };
        let address = format!("http://{}", model.address());
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let places = places
            .with("{workspace}", text(root.join("workspace")))
            .with("{home}", text(root.join("home")))
            .with("{folder}", text(root.join("missing")))
            .with("{address}", address);
        let bench = Self { case, manifest, options, drawn, places, root, owner, model, epoch };
        bench.lay_files().map_err(said)?;
        if options.keep {
            let script = serde_yaml::to_string(&script).map_err(said)?;
            scratch::lay(&bench.root.join(KEPT_SCRIPT), script.as_bytes()).map_err(said)?;
        }
        Ok(bench)
    }

    fn lay_files(&self) -> Result<(), scratch::ScratchError> {
        for folder in [self.workspace(), self.elsewhere(), self.home(), self.temporary()] {
            scratch::lay(&folder.join(".keep"), b"")?;
        }
        for (path, content) in self.homely() {
            scratch::lay(&self.home().join(path), content.as_bytes())?;
        }
        if let (Some(path), Some(content)) = (&self.manifest.memory, &self.case.memory) {
            scratch::lay(&self.workspace().join(path), self.text(content).as_bytes())?;
        }
        for (path, content) in &self.case.files {
            scratch::lay(&self.workspace().join(self.text(path)), self.text(content).as_bytes())?;
        }
        Ok(())
    }

    /// The files below its home: those of the manifest, with what the turned knobs change in them.
    fn homely(&self) -> BTreeMap<String, String> {
        let files = self.manifest.files.iter().map(|(path, content)| (path.clone(), self.places.fill(content)));
        let mut files: BTreeMap<String, String> = files.collect();
        for (path, change) in self.turned().into_iter().flat_map(|turned| turned.json) {
            let content = files.entry(path).or_default();
            // A manifest whose file is no JSON is refused before; one that is not there begins empty.
            let mut settings = serde_json::from_str(content).unwrap_or(Value::Null);
            merge(&mut settings, &change);
            *content = settings.to_string();
        }
        files
    }

    /// What the case turns of the agent.
    fn turned(&self) -> Vec<Turned> {
        turned(self.case, self.manifest)
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.root.join("workspace")
    }

    /// Another folder than the workspace.
    fn elsewhere(&self) -> PathBuf {
        self.root.join("elsewhere")
    }

    /// Where a step is started.
    pub(super) fn folder(&self, errand: &Errand) -> PathBuf {
        match errand.folder {
            WhichFolder::Workspace => self.workspace(),
            WhichFolder::Elsewhere => self.elsewhere(),
        }
    }

    pub(super) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(super) fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    pub(super) fn text(&self, template: &str) -> String {
        names::text(self.drawn, template)
    }

    pub(super) fn now(&self) -> Millis {
        u64::try_from(clock::now().since(self.epoch).as_millis()).unwrap_or(Millis::MAX)
    }

    /// Program and arguments, and what the environment holds besides the usual.
    pub(super) fn call(
        &self,
        template: &[String],
        places: &Places,
        spoilt: Option<Spoilt>,
    ) -> (Vec<String>, BTreeMap<String, String>) {
        let turned = self.turned();
        let spoiling = match spoilt {
            Some(Spoilt::UnknownFlag) => vec![UNKNOWN_FLAG.to_owned()],
            Some(Spoilt::MissingFolder) => self.manifest.folder.clone(),
            Some(Spoilt::NoPrompt) | None => Vec::new(),
        };
        let left_out = |word: &String| {
            let prompt = *word == "{prompt}" || self.manifest.prompt_option.contains(word);
            (spoilt == Some(Spoilt::NoPrompt) && prompt) || turned.iter().any(|it| it.drop.contains(word))
        };
        let expanded = template.iter().filter(|word| !left_out(word)).flat_map(|word| match word.as_str() {
            "{knobs}" => turned.iter().flat_map(|it| it.argv.clone()).chain(spoiling.clone()).collect(),
            _ => vec![word.clone()],
        });
        let argv: Vec<String> = expanded.collect();
        let settings = self.manifest.settings.iter().map(|setting| &setting.env);
        let fixed = std::iter::once(&self.manifest.env).chain(settings).flatten();
        let fixed = fixed.map(|(name, value)| (name.clone(), value.clone()));
        let env =
            knob_environment(fixed, &turned).into_iter().map(|(name, value)| (name, places.fill(&value))).collect();
        (places.argv(&argv), env)
    }

    /// A word of a command with words for what differs from case to case, so that it can be read and repeated.
    pub(super) fn named(&self, word: &str, place: usize, template: &[String]) -> String {
        if place == 0 && template.first().is_some_and(|program| !program.contains(['/', '{'])) {
            return template[0].clone();
        }
        let folder = |path: PathBuf| path.to_string_lossy().into_owned();
        let pairs = [
            (folder(self.workspace()), "$WORKSPACE"),
            (folder(self.root.join("missing")), "$MISSING"),
            (folder(self.home()), "$HOME"),
            (folder(self.temporary()), "$TMPDIR"),
            (format!("http://{}", self.model.address()), "$MODEL"),
            (self.places.fill("{dir}"), "$DIR"),
        ];
        pairs.iter().fold(word.to_owned(), |text, (from, to)| text.replace(from, to))
    }

    /// Where the case's folder is kept, if it is.
    pub(super) fn kept(&self) -> Option<String> {
        self.owner.is_none().then(|| self.root.to_string_lossy().into_owned())
    }

    /// Writes down, for whoever looks at a kept case, how to do the step by hand.
    pub(super) fn keep(&self, folder: &Path, argv: &[String], env: &BTreeMap<String, String>) -> Result<(), String> {
        if self.owner.is_some() {
            return Ok(());
        }
        let path = self.root.join(KEPT_COMMANDS);
        let before = files::read(&path, LONGEST).unwrap_or_default();
        let mut text = String::from_utf8_lossy(&before).into_owned();
        if text.is_empty() {
            let (root, port) = (self.root.display(), self.model.address().port());
            text = format!(
                "# In another shell first: loa-conform model --script {root}/{KEPT_SCRIPT} --port {port}\n\
                 # The files below home and workspace are as the judged run left them.\n"
            );
        }
        let base = [("HOME", self.home()), ("TMPDIR", self.temporary())];
        let base = base.map(|(name, path)| format!("{name}={}", path.to_string_lossy()));
        let set = base.into_iter().chain(env.iter().map(|(name, value)| format!("{name}={value}")));
        let words: Vec<String> = set.chain(argv.iter().cloned()).map(|word| quoted(&word)).collect();
        writeln!(text, "cd {}", folder.display()).map_err(said)?;
        writeln!(text, "env -i PATH=\"$PATH\" TERM=dumb {} < /dev/null", words.join(" ")).map_err(said)?;
        scratch::lay(&path, text.as_bytes()).map_err(said)
    }

    /// How many requests there were so far.
    pub(super) fn asked(&self) -> usize {
        let mut count = 0;
        self.model.wait_for(Duration::ZERO, |requests| {
            count = requests.len();
            true
        });
        count
    }

    /// How many turns the model was asked for since so many requests.
    pub(super) fn turns_since(&self, before: usize) -> usize {
        let mut count = 0;
        self.model.wait_for(Duration::ZERO, |requests| {
            count = requests[before..].iter().filter(|it| it.is_turn() && it.is_main()).count();
            true
        });
        count
    }

    /// The files that expectations speak of.
    pub(super) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let paths = self.case.expect.iter().filter_map(|expectation| match expectation {
            AgentExpectation::File { path, .. } | AgentExpectation::NoFile { path } => Some(self.text(path)),
            _ => None,
        });
        paths
            .filter_map(|path| Some((path.clone(), files::read(&self.workspace().join(&path), LONGEST).ok()?)))
            .collect()
    }
}

/// The case's script with every drawn value filled in, and the agent's side requests before its own routes.
fn script(case: &AgentCase, manifest: &AgentManifest, drawn: &BTreeMap<String, Value>) -> Script {
    let plain = serde_json::to_value(&case.model).expect("a script is plain data");
    let mut script: Script = serde_json::from_value(names::value(drawn, &plain)).unwrap_or_else(|_| case.model.clone());
    let side = manifest.side.iter().map(|side| Route {
        name: side.name.clone(),
        r#match: side.r#match.clone(),
        reply: match case.side.get(&side.name) {
            Some(reply) => reply.clone(),
            None => Answer { text: Some(side.reply.clone()), times: 1, ..Answer::default() },
        },
    });
    script.routes = side.chain(script.routes).collect();
    script
}

/// What an error says.
pub(super) fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}
