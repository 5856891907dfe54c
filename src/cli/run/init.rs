//! `loa-run init`: a commented configuration, and what belongs to a run into `.gitignore`.

use std::path::Path;

use serde_json::json;

use super::args::LoaRun;
use super::given::{Here, settings};
use super::needs::{find, knows_command};
use super::show::print_json;
use crate::cli::console::{print, say};
use crate::cli::{ExitStatus, Failure};
use crate::config::{BackendKind, BackendSection, FILE_NAME, Origin, TEMPLATE, built_in, template_for};
use crate::store::Layout;
use crate::system::files::{self, FileError, Privacy};
use crate::system::git;

/// Writes the configuration, unless one is there.
pub(super) fn init(here: &Here, ignore: bool, backend: Option<&str>, args: &LoaRun) -> Result<ExitStatus, Failure> {
    let workspace = here.layout.workspace();
    let path = workspace.join(FILE_NAME);
    let agent = backend.map(str::to_owned).or_else(|| found_agent(here, args));
    let prompts = agent.as_ref().map(|name| prompts(name, workspace));
    let exists = |error: &FileError| error.source.kind() == std::io::ErrorKind::AlreadyExists;
    let new = match create(&path, prompts.as_ref().map_or(TEMPLATE, |prompts| &prompts.text)) {
        // Asked for the other file, nobody minds that this one is there.
        Err(error) if ignore && exists(&error) => false,
        Err(error) => {
            let hints = if exists(&error) { &EXISTS[..] } else { &[] };
            return Err(hints.iter().copied().fold(Failure::new(ExitStatus::WriteFailed, error), Failure::hint));
        }
        Ok(()) => true,
    };
    let missing = Layout::OWN.iter().copied().filter(|folder| git::is_ignored(workspace, folder) == Some(false));
    let missing: Vec<&str> = missing.collect();
    if ignore {
        add_to_gitignore(&here.layout, &missing)?;
    }
    if args.json {
        let left = if ignore { vec![] } else { missing };
        let agent = agent.filter(|_| new);
        print_json(
            &json!({ "written": new.then_some(path), "backend": agent, "ignored": ignore, "not_ignored": left }),
        )?;
    } else {
        let said = new.then(|| prompts.as_ref().map_or(NO_AGENT, |prompts| &prompts.said));
        tell(&path, said, ignore, &missing)?;
        if ignore && git::is_ignored(workspace, Layout::OWN[0]).is_none() {
            say(format_args!("this is no git repository, so .gitignore was left alone"));
        }
    }
    Ok(ExitStatus::Success)
}

/// What was done, for people. `said` is about a configuration that is new.
fn tell(path: &Path, said: Option<&str>, ignore: bool, missing: &[&str]) -> Result<(), Failure> {
    let kept = if said.is_some() { "wrote" } else { "left as it is:" };
    print(&format!("{kept} {}\n{}", path.display(), said.unwrap_or_default()))?;
    if ignore && !missing.is_empty() {
        print(&format!("added to .gitignore: {}\n", missing.join(", ")))?;
    }
    if !ignore && !missing.is_empty() {
        let names: Vec<String> = missing.iter().map(|folder| format!("{folder}/")).collect();
        say(format_args!("git would commit {}: `loa-run init --ignore` adds them to .gitignore", names.join(" and ")));
    }
    Ok(())
}

const EXISTS: [&str; 2] = [
    "a configuration is there already, and is never overwritten",
    "`--workspace .` makes the current folder a workspace of its own, where another one is meant",
];

const NO_AGENT: &str = "no agent was found here: say under runtime.phases what each phase runs; or install an agent that \
                        `loa-run backends` lists, and `loa-run init --backend NAME` writes prompts for it\n";

/// A configuration with prompts, and what is said about them.
struct Prompts {
    text: String,
    said: String,
}

fn prompts(agent: &str, workspace: &Path) -> Prompts {
    // Of those that need no section, one takes Loa's slash commands as prompts.
    let takes_commands = BackendSection::default().kind(agent) == BackendKind::Claude;
    let text = template_for(agent, |name| takes_commands && knows_command(workspace, name));
    let how =
        if text == template_for(agent, |_| false) { "in words" } else { "with the commands of Loa that are there" };
    Prompts { text, said: format!("each phase is a prompt for `{agent}`, {how}\n") }
}

/// The agent that somebody chose elsewhere, or else the first that is installed.
fn found_agent(here: &Here, args: &LoaRun) -> Option<String> {
    // What stands in the place of the file that is written is not elsewhere.
    let ours = here.layout.workspace().join(FILE_NAME);
    let elsewhere = |origin| match origin {
        Origin::File { path, .. } => path != ours,
        origin => origin != Origin::Default,
    };
    let chosen = settings(here, args).ok().filter(|settings| elsewhere(settings.origin("runtime.backend")));
    let installed = |name: &&str| {
        let program = BackendSection::default().kind(name).program();
        program.is_some_and(|program| find(program, here.layout.workspace()).is_some())
    };
    let chosen = chosen.map(|settings| settings.default_backend().to_owned());
    chosen.or_else(|| built_in().find(installed).map(str::to_owned))
}

/// Makes the file. One that stands there as we wrote it, without an agent, says nothing that could be lost.
fn create(path: &Path, text: &str) -> Result<(), FileError> {
    match files::read(path, 16 << 20) {
        Ok(old) if old == TEMPLATE.as_bytes() && text != TEMPLATE => {
            files::write_durably(path, text.as_bytes(), Privacy::Shared)
        }
        _ => files::create_durably(path, text.as_bytes(), Privacy::Shared),
    }
}

/// Adds folders to the workspace's `.gitignore`, and leaves what stands there as it is.
fn add_to_gitignore(layout: &Layout, folders: &[&str]) -> Result<(), Failure> {
    let path = layout.workspace().join(".gitignore");
    let failed = |error: FileError| Failure::new(ExitStatus::WriteFailed, error);
    let mut text = match files::read(&path, 16 << 20) {
        Err(error) if error.is_not_found() => Vec::new(),
        text => text.map_err(failed)?,
    };
    if folders.is_empty() {
        return Ok(());
    }
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    for folder in folders {
        text.extend(format!("{folder}/\n").bytes());
    }
    files::write_durably(&path, &text, Privacy::Shared).map_err(failed)
}
