//! `loa-run init`: a commented configuration, and what belongs to a run into `.gitignore`.

use serde_json::json;

use super::show::print_json;
use crate::cli::console::{print, say};
use crate::cli::{ExitStatus, Failure};
use crate::config::{BackendKind, BackendSection, FILE_NAME, TEMPLATE, template_for};
use crate::store::Layout;
use crate::system::files::{self, FileError, Privacy};
use crate::system::git;

/// Writes the configuration, unless one is there.
pub(super) fn init(layout: &Layout, ignore: bool, backend: Option<&str>, json: bool) -> Result<ExitStatus, Failure> {
    let path = layout.workspace().join(FILE_NAME);
    // Of those that need no section, one takes Loa's slash commands as prompts.
    let knows_commands = |name: &str| BackendSection::default().kind(name) == BackendKind::Claude;
    let text = backend.map_or_else(|| TEMPLATE.to_owned(), |name| template_for(name, knows_commands(name)));
    let written = files::create_durably(&path, text.as_bytes(), Privacy::Shared);
    let exists = |error: &FileError| error.source.kind() == std::io::ErrorKind::AlreadyExists;
    let new = match written {
        // Asked for the other file, nobody minds that this one is there.
        Err(error) if ignore && exists(&error) => false,
        Err(error) => {
            let hints = if exists(&error) { &EXISTS[..] } else { &[] };
            return Err(hints.iter().copied().fold(Failure::new(ExitStatus::WriteFailed, error), Failure::hint));
        }
        Ok(()) => true,
    };
    let missing: Vec<&str> = Layout::OWN
        .iter()
        .filter(|folder| git::is_ignored(layout.workspace(), folder) == Some(false))
        .copied()
        .collect();
    if ignore {
        add_to_gitignore(layout, &missing)?;
    }
    if json {
        print_json(
            &json!({ "written": new.then_some(path), "ignored": ignore, "not_ignored": if ignore { vec![] } else { missing } }),
        )?;
    } else {
        let kept = if new { "wrote" } else { "left as it is:" };
        print(&format!("{kept} {}\n", path.display()))?;
        if ignore && !missing.is_empty() {
            print(&format!("added to .gitignore: {}\n", missing.join(", ")))?;
        }
        if !ignore && !missing.is_empty() {
            let names: Vec<String> = missing.iter().map(|folder| format!("{folder}/")).collect();
            say(format_args!(
                "git would commit {}: `loa-run init --ignore` adds them to .gitignore",
                names.join(" and ")
            ));
        }
    }
    Ok(ExitStatus::Success)
}

const EXISTS: [&str; 2] = [
    "a configuration is there already, and is never overwritten",
    "`--workspace .` makes the current folder a workspace of its own, where another one is meant",
];

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
