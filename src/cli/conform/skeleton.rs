//! `loa-conform new-runtime`: a runtime to begin with, which scores at once.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::cli::console::print;
use crate::cli::{ExitStatus, Failure};
use crate::system::{files, scratch};

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct NewRuntime {
    /// The language
    #[arg(long, value_enum)]
    lang: Language,
    /// The folder, which is made; its name is the runtime's
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Print one JSON document, for machines
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Language {
    /// POSIX sh
    Sh,
    /// Python 3, nothing but its standard library
    Python,
}

const EXAMPLES: &str = "\
Examples:
  loa-conform new-runtime --lang python mine
  loa-conform doctor mine/manifest.yaml
  loa-conform score mine/manifest.yaml

It starts phases, retries, writes checkpoints and calls a human. What it does
not do yet, `score` says clause by clause.";

/// What stands for the runtime's name in the files.
const NAME: &str = "RUNTIME_NAME";

impl Language {
    /// Manifest, name of the program, program.
    fn files(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Sh => (
                include_str!("../../../fixtures/skeletons/sh/manifest.yaml"),
                "runtime.sh",
                include_str!("../../../fixtures/skeletons/sh/runtime.sh"),
            ),
            Self::Python => (
                include_str!("../../../fixtures/skeletons/python/manifest.yaml"),
                "runtime.py",
                include_str!("../../../fixtures/skeletons/python/runtime.py"),
            ),
        }
    }
}

pub(super) fn new_runtime(wish: &NewRuntime) -> Result<ExitStatus, Failure> {
    let name = name(&wish.folder)?;
    let taken = !files::list(&wish.folder).map_err(|error| Failure::new(ExitStatus::WriteFailed, error))?.is_empty();
    if taken {
        let failure = Failure::new(ExitStatus::Usage, format!("{} is not empty", wish.folder.display()));
        return Err(failure.hint("name a folder that is not there yet"));
    }
    let (manifest, program, text) = wish.lang.files();
    let manifest_file = wish.folder.join("manifest.yaml");
    let program_file = wish.folder.join(program);
    let lay = |path: &Path, text: &str| scratch::lay(path, text.replace(NAME, &name).as_bytes());
    let program = scratch::lay_program(&program_file, text.replace(NAME, &name).as_bytes());
    program
        .and_then(|()| lay(&manifest_file, manifest))
        .map_err(|error| Failure::new(ExitStatus::WriteFailed, error))?;
    let (shown, made) = (manifest_file.display(), program_file.display());
    if wish.json {
        let document = json!({ "runtime": name, "manifest": manifest_file, "program": program_file });
        print(&format!("{document:#}\n"))?;
    } else {
        print(&format!("{made}\n{shown}\nnext: loa-conform doctor {shown} && loa-conform score {shown}\n"))?;
    }
    Ok(ExitStatus::Success)
}

/// The runtime's name: the folder's, if that can be one.
fn name(folder: &Path) -> Result<String, Failure> {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(plain) {
        return Ok(name.to_owned());
    }
    let failure = Failure::new(ExitStatus::Usage, format!("`{name}` cannot be a runtime's name"));
    Err(failure.hint("begin with a small letter; small letters, digits and - may follow"))
}
