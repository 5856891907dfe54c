//! Where a manifest's program is, how it is called, and which one it is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::conform::observe::workspace::Lab;
use crate::conform::spec::{AgentManifest, Argv, Case, CompactorWay, Limits, Manifest};
use crate::conform::suite::{hash_of, sha256};
use crate::system::process::{Captured, Command, ProcessExit, capture};
use crate::system::{env, scratch};
use crate::text::Untrusted;

/// How long a program may take to say its version.
pub(super) const VERSION_TIME: Duration = Duration::from_secs(20);
/// How long making a program may take: a compiler from nothing.
const BUILD_TIME: Duration = Duration::from_mins(20);
/// Bytes that are kept of what these two say.
pub(super) const KEPT: usize = 64 << 10;
/// Where the hosts of this world keep their programs, when nobody says it.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// The limits, as the contract names them, and Loa's keys for them.
const LIMITS: [(&str, &str); 2] = [
    ("CONTEXT_SOFT_LIMIT", "autonomous_agent.context.soft_limit_tokens"),
    ("CONTEXT_HARD_LIMIT", "autonomous_agent.context.hard_limit_tokens"),
];

/// Which program a manifest stands for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// The file that `run` starts, or the adapter's.
    pub program: Option<PathBuf>,
    /// The other files that the commands name, such as the script that an interpreter runs.
    pub parts: Vec<PathBuf>,
    /// The first line that its `version` printed.
    pub version: Option<Untrusted>,
    /// Whether the manifest's `build` had to make it.
    pub built: bool,
    /// Why it cannot be started; a runtime with a problem is not judged.
    pub problem: Option<Untrusted>,
}

/// What stands for the placeholders of a manifest.
#[derive(Debug, Clone)]
pub(super) struct Places {
    pairs: Vec<(&'static str, String)>,
    /// Folders in which a program is looked for before PATH.
    near: Vec<PathBuf>,
}

impl Places {
    /// The folders of a manifest and of the judge's program, which need no case.
    pub(super) fn new(dir: &Path, judge: &Path) -> Self {
        let judge_dir = judge.parent().unwrap_or(Path::new("/")).to_path_buf();
        let pairs = vec![("{dir}", text(dir)), ("{judge_dir}", text(&judge_dir))];
        Self { pairs, near: vec![judge_dir] }
    }

    /// The same, with one more folder that is looked into first.
    pub(super) fn preferring(mut self, folder: &Path) -> Self {
        self.near.insert(0, std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf()));
        self
    }

    /// The same with what another placeholder stands for.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.pairs.push((name, value.into()));
        self
    }

    /// The same with the plan and the workspace of a case.
    pub(super) fn within(mut self, lab: &Lab) -> Self {
        self.pairs.push(("{plan}", text(&lab.plan())));
        self.pairs.push(("{workspace}", text(&lab.workspace())));
        self
    }

    /// The same with the word of a resolution.
    pub(super) fn resolving(mut self, action: &str) -> Self {
        self.pairs.push(("{action}", action.to_owned()));
        self
    }

    pub(super) fn fill(&self, template: &str) -> String {
        self.pairs.iter().fold(template.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    /// A manifest's argv with everything filled in, a program in one of the folders preferred to one on PATH.
    pub(super) fn argv(&self, argv: &Argv) -> Vec<String> {
        let mut filled: Vec<String> = argv.iter().map(|word| self.fill(word)).collect();
        if let Some(program) = filled.first_mut()
            && !program.contains('/')
            && let Some(near) = self.near.iter().map(|folder| folder.join(&*program)).find(|file| file.is_file())
        {
            *program = text(&near);
        }
        filled
    }

    /// The file that an argv starts, when there is one.
    pub(super) fn locate(&self, argv: &Argv) -> Option<PathBuf> {
        let program = PathBuf::from(self.argv(argv).first()?);
        if program.components().count() > 1 {
            return program.is_file().then_some(program);
        }
        path().split(':').map(|folder| Path::new(folder).join(&program)).find(|file| file.is_file())
    }

    /// The files that these commands name besides one program, each once: other programs, and what stands behind them.
    fn parts<'a>(&self, program: Option<&Path>, commands: impl Iterator<Item = &'a Argv>) -> Vec<PathBuf> {
        let named = |argv: &'a Argv| {
            let words = self.argv(argv).into_iter().skip(1).filter(|word| word.contains('/')).map(PathBuf::from);
            self.locate(argv).into_iter().chain(words).filter(|path| path.is_file())
        };
        let files: BTreeSet<PathBuf> = commands.flat_map(named).filter(|path| program != Some(path)).collect();
        files.into_iter().collect()
    }
}

impl Identity {
    /// SHA-256 in hex of the program and of everything else that the command names: of one file its own, of several that of
    /// all, so that another version of a script is another runtime. `None` when one cannot be read.
    pub(in crate::conform) fn hash(&self) -> Option<String> {
        let program = hash_of(self.program.as_deref()?)?;
        let parts: Vec<String> = self.parts.iter().map(|part| hash_of(part)).collect::<Option<_>>()?;
        if parts.is_empty() {
            return Some(program);
        }
        Some(sha256([vec![program], parts].concat().join("\n").as_bytes()))
    }
}

/// Finds a manifest's program, makes it when it is not there, and asks for its version.
pub(in crate::conform) async fn identify(manifest: &Manifest, dir: &Path, judge: &Path) -> Identity {
    let places = Places::new(dir, judge);
    let Some(start) = manifest.program() else {
        let problem = "the manifest has neither `run` nor `adapter`".to_owned();
        return Identity { problem: Some(problem.into()), ..Identity::default() };
    };
    let mut identity = Identity { program: places.locate(start), ..Identity::default() };
    if identity.program.is_none()
        && let Some(build) = &manifest.build
    {
        identity.built = true;
        identity.problem =
            ask(places.argv(build), &spoken(&places, manifest), dir, BUILD_TIME).await.err().map(Untrusted::from);
        identity.program = places.locate(start);
    }
    if identity.program.is_none() {
        let name = start.first().map_or("nothing", String::as_str);
        identity.problem.get_or_insert(format!("`{name}` is neither beside the judge nor on PATH").into());
        return identity;
    }
    identity.parts = places.parts(identity.program.as_deref(), manifest.commands().map(|(_, argv)| argv));
    identity.versioned(ask(places.argv(&manifest.version), &spoken(&places, manifest), dir, VERSION_TIME).await)
}

/// What a manifest adds to our own environment.
fn spoken(places: &Places, manifest: &Manifest) -> BTreeMap<String, String> {
    manifest.env.iter().map(|(name, value)| (name.clone(), places.fill(value))).collect()
}

/// Finds an agent's program and asks for its version, in a home of its own. `programs` is looked into first.
pub(in crate::conform) async fn identify_agent(
    manifest: &AgentManifest,
    dir: &Path,
    judge: &Path,
    programs: &Path,
) -> Identity {
    if let Some(why) = &manifest.out_of_reach {
        return Identity { problem: Some(why.as_str().into()), ..Identity::default() };
    }
    let places = Places::new(dir, judge).preferring(programs);
    let program = places.locate(&manifest.run);
    let parts = places.parts(program.as_deref(), std::iter::once(&manifest.run).chain(&manifest.resume));
    let identity = Identity { program, parts, ..Identity::default() };
    if identity.program.is_none() {
        let name = manifest.run.first().map_or("nothing", String::as_str);
        let problem = format!("`{name}` is neither in {} nor beside the judge nor on PATH", programs.display());
        return Identity { problem: Some(problem.into()), ..identity };
    }
    let home = match scratch::folder("loa-home-") {
        Ok(home) => home,
        Err(error) => return Identity { problem: Some(error.to_string().into()), ..identity },
    };
    let env = BTreeMap::from([("HOME".to_owned(), text(home.path()))]);
    let argv = places.argv(&manifest.version);
    identity.versioned(ask(argv, &env, dir, VERSION_TIME).await)
}

impl Identity {
    /// The same with what its `version` said, or why it said nothing.
    fn versioned(mut self, said: Result<String, String>) -> Self {
        match said {
            Ok(said) => self.version = said.lines().map(str::trim).find(|line| !line.is_empty()).map(Untrusted::from),
            Err(problem) => self.problem = Some(problem.into()),
        }
        self
    }
}

/// Runs a verb that concerns no case, in the manifest's folder and our own environment. What it said, or why not.
async fn ask(argv: Vec<String>, env: &BTreeMap<String, String>, dir: &Path, time: Duration) -> Result<String, String> {
    let Some((program, arguments)) = argv.split_first() else { return Err("an empty command".to_owned()) };
    let mut command = Command::new(program).args(arguments).folder(dir);
    for (name, value) in env {
        command = command.env(name, value);
    }
    let Captured { exit, stdout, stderr, timed_out, .. } = capture(&command, KEPT, time).await;
    let said = String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned();
    let last = said.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("nothing").to_owned();
    match exit {
        _ if timed_out => Err(format!("`{}` took longer than {} s", argv.join(" "), time.as_secs())),
        ProcessExit::Exited(0) => Ok(said),
        exit => Err(format!("`{}`: {exit}; it said: {last}", argv.join(" "))),
    }
}

/// The whole environment of a verb: an allow-list, what the contract hands over, then the manifest's own words.
pub(super) fn environment(case: &Setting<'_>, places: &Places, lab: &Lab) -> BTreeMap<String, String> {
    let var = |name: &str, default: &str| (name.to_owned(), env::var(name).unwrap_or_else(|| default.to_owned()));
    let mut all = BTreeMap::from([var("PATH", DEFAULT_PATH), var("LANG", "C.UTF-8")]);
    all.insert("HOME".to_owned(), text(&lab.home()));
    all.insert("TMPDIR".to_owned(), text(&lab.temporary()));
    all.insert("LOA_OPERATOR".to_owned(), "ai".to_owned());
    let own = given(case.case, case.manifest, case.config);
    all.extend(own.into_iter().map(|(name, value)| (name, places.fill(&value))));
    if let (Some(_), Some(CompactorWay::Env(name))) = (&case.case.compactor, &case.manifest.compactor) {
        all.insert(name.clone(), text(&lab.compactor()));
    }
    all
}

/// What the environment of a verb holds by the case and the manifest, placeholders as they are.
pub(in crate::conform) fn given(
    case: &Case,
    manifest: &Manifest,
    config: &BTreeMap<String, Value>,
) -> BTreeMap<String, String> {
    let told = case.limits == Limits::Both;
    let limit = |key: &str| config.get(key).filter(|limit| told && !limit.is_null());
    let limits = LIMITS.iter().filter_map(|(name, key)| Some(((*name).to_owned(), limit(key)?.to_string())));
    let knobs = turned(case, manifest).filter_map(|(way, value)| Some((way.env.clone()?, value.to_string())));
    limits.chain(manifest.env.clone()).chain(knobs).collect()
}

/// What the environment of a case depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) case: &'a Case,
    pub(super) manifest: &'a Manifest,
    /// The case's keys of the configuration, with every drawn value filled in.
    pub(super) config: &'a BTreeMap<String, Value>,
}

/// The configuration keys that the case's knobs turn, and that of the judge's own compactor where the case has one.
pub(super) fn judge_keys(case: &Case, manifest: &Manifest, lab: &Lab) -> BTreeMap<String, Value> {
    let compactor = match (&case.compactor, &manifest.compactor) {
        (Some(_), Some(CompactorWay::Config(key))) => Some((key.clone(), vec![text(&lab.compactor())].into())),
        _ => None,
    };
    knob_keys(case, manifest).into_iter().chain(compactor).collect()
}

/// The configuration keys that the case's knobs turn.
pub(in crate::conform) fn knob_keys(case: &Case, manifest: &Manifest) -> BTreeMap<String, Value> {
    turned(case, manifest).filter_map(|(way, value)| Some((way.config.clone()?, value))).collect()
}

/// The knobs that the case turns and the manifest has, with their value in the runtime's own unit.
fn turned<'a>(
    case: &'a Case,
    manifest: &'a Manifest,
) -> impl Iterator<Item = (&'a crate::conform::spec::KnobWay, Value)> {
    case.knobs.iter().filter_map(|(knob, millis)| {
        let way = manifest.knobs.get(knob)?;
        let per = way.per.max(1);
        let whole = millis % per == 0;
        #[expect(clippy::cast_precision_loss, reason = "waits of a case are far below 2^52 milliseconds")]
        let value: Value = if whole { (millis / per).into() } else { (*millis as f64 / per as f64).into() };
        Some((way, value))
    })
}

pub(super) fn path() -> String {
    env::var("PATH").unwrap_or_else(|| DEFAULT_PATH.to_owned())
}

pub(super) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
