//! Which folder is meant: the one that the command line names, or the nearest that somebody made a workspace.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::cli::console::say;
use crate::cli::{ExitStatus, Failure};
use crate::config::FILE_NAME;
use crate::store::Layout;
use crate::system::env;
use crate::system::files::FileError;

/// The workspace. One that is not the current folder, and that nobody named, is said.
pub(super) fn workspace(asked: Option<&Path>) -> Result<PathBuf, Failure> {
    let missing = |path: &Path, source| {
        let path = path.to_path_buf();
        Failure::new(ExitStatus::NoInput, FileError { action: "use the workspace", path, source })
    };
    let path = match asked {
        Some(path) => path.to_path_buf(),
        None => env::current_dir().map_err(|error| missing(Path::new("."), error))?,
    };
    let absolute = path.canonicalize().map_err(|error| missing(&path, error))?;
    if absolute.to_str().is_none() {
        // What is written down names the workspace, and that is text.
        let text = "its path is not UTF-8; rename the folder, or those above it";
        return Err(missing(&absolute, std::io::Error::new(std::io::ErrorKind::InvalidInput, text)));
    }
    if !absolute.is_dir() {
        return Err(missing(&path, std::io::ErrorKind::NotADirectory.into()));
    }
    let home = env::home().and_then(|home| home.canonicalize().ok());
    let found = if asked.is_none() { nearest(&absolute, home.as_deref()) } else { None };
    if let Some(found) = found.filter(|found| *found != absolute) {
        say(format_args!("loa-run: the workspace is {} (--workspace names another)", found.display()));
        return Ok(found.to_path_buf());
    }
    Ok(absolute)
}

/// The nearest workspace, from a folder on upwards to the top of its repository, and never as far as a home folder.
fn nearest<'a>(folder: &'a Path, home: Option<&Path>) -> Option<&'a Path> {
    let mut above = folder.ancestors();
    let own = above.next().filter(|folder| is_workspace(folder));
    if own.is_some() || is_top(folder) {
        return own;
    }
    let within = above.take_while(|above| Some(*above) != home && is_trusted(above, folder));
    for above in within {
        if is_workspace(above) {
            return Some(above);
        }
        if is_top(above) {
            return None;
        }
    }
    None
}

fn is_workspace(folder: &Path) -> bool {
    folder.join(FILE_NAME).is_file() || Layout::OWN.iter().any(|own| folder.join(own).is_dir())
}

fn is_top(folder: &Path) -> bool {
    folder.join(".git").exists()
}

/// A configuration says what is run. One that a stranger could have left above, as in `/tmp`, is not looked for.
fn is_trusted(above: &Path, folder: &Path) -> bool {
    let (Ok(above), Ok(folder)) = (above.metadata(), folder.metadata()) else { return false };
    let anybody_writes = above.mode() & 0o002 != 0;
    !anybody_writes && (above.uid() == folder.uid() || above.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::files::{Privacy, ensure_folder, write_durably};

    #[test]
    fn the_nearest_workspace_is_found_within_the_repository_and_below_home() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let deep = at("home/repo/top/deep");
        ensure_folder(&deep).expect("made");
        let found = |home: &str| nearest(&deep, Some(&at(home))).map(Path::to_path_buf);
        assert_eq!(found("home"), None, "there is none");
        write_durably(&at("home").join(FILE_NAME), b"{}", Privacy::Shared).expect("written");
        assert_eq!(found("home"), None, "a home folder is none");
        assert_eq!(found("elsewhere"), Some(at("home")));
        ensure_folder(&at("home/repo/.git")).expect("made");
        assert_eq!(found("elsewhere"), None, "it is beyond the repository");
        ensure_folder(&at("home/repo/.loa-run")).expect("made");
        assert_eq!(found("home"), Some(at("home/repo")), "the top itself is within");
        ensure_folder(&at("home/repo/top/.loa-checkpoint")).expect("made");
        assert_eq!(found("home"), Some(at("home/repo/top")), "the nearest");
        write_durably(&deep.join(FILE_NAME), b"{}", Privacy::Shared).expect("written");
        assert_eq!(found("home"), Some(deep.clone()));
    }
}
