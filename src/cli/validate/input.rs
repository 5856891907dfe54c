//! Reading what the command line names.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use super::expand::{Input, Met};
use crate::diag::Budget;
use crate::system::pipe;
use crate::text::harmless;

/// A file that could not be read at all, which is no finding about a document.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("`{}` is a folder", harmless(path.as_str()))]
    Folder { path: Utf8PathBuf },
    #[error("`{}` is neither a file nor a pipe", harmless(path.as_str()))]
    Device { path: Utf8PathBuf },
    #[error("`{}` is a pipe", harmless(path.as_str()))]
    Pipe { path: Utf8PathBuf },
    #[error("no document of a known kind lies in `{}`", harmless(path.as_str()))]
    NoDocuments { path: Utf8PathBuf },
    #[error("nothing matches `{}`", harmless(path.as_str()))]
    NoMatch { path: Utf8PathBuf },
    #[error("`{}` is no pattern: {why}", harmless(path.as_str()))]
    Pattern { path: Utf8PathBuf, why: String },
    #[error("`{}` is a link that leads out of `{}`, to `{}`", harmless(path.as_str()), harmless(root.as_str()), harmless(to))]
    LeadsOut { path: Utf8PathBuf, root: Utf8PathBuf, to: String },
    #[error("the name of `{}` is no UTF-8", harmless(path.as_str()))]
    NoText { path: Utf8PathBuf },
    #[error("failed to read `{}`", harmless(path.as_str()))]
    Failed { path: Utf8PathBuf, source: io::Error },
}

impl Unreadable {
    pub(super) fn path(&self) -> &Utf8Path {
        match self {
            Self::Folder { path }
            | Self::Device { path }
            | Self::Pipe { path }
            | Self::NoDocuments { path }
            | Self::NoMatch { path }
            | Self::Pattern { path, .. }
            | Self::NoText { path }
            | Self::LeadsOut { path, .. }
            | Self::Failed { path, .. } => path,
        }
    }

    pub(super) fn hint(&self) -> Option<String> {
        match self {
            Self::Folder { path } => Some(format!(
                "`loa-validate auto {path}` walks through it; or name the files, such as '{}'",
                path.join("*.yaml")
            )),
            Self::NoDocuments { .. } => Some("`loa-validate list` shows the kinds and where they lie".to_owned()),
            Self::NoMatch { .. } => {
                Some("`*` stands for anything in a name but a dot at its begin, `**` for folders".to_owned())
            }
            Self::Failed { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Some("paths are relative to the folder in which the program runs".to_owned())
            }
            Self::LeadsOut { .. } => Some("`--follow` reads what it leads to all the same".to_owned()),
            Self::NoText { .. } => Some("rename it; its bytes that are no UTF-8 are shown as U+FFFD".to_owned()),
            Self::Pipe { .. } => Some("a pipe is read where it is named, and passed over in a folder".to_owned()),
            Self::Device { .. } | Self::Pattern { .. } | Self::Failed { .. } => None,
        }
    }
}

/// How long a pipe that was named may be silent.
const PATIENCE: Duration = Duration::from_secs(30);

/// Reads a file, or standard input, up to one byte more than a document may have. A link that leads out of the input's root is
/// read only where links are followed.
pub(super) fn read(input: &Input, budget: &Budget, follows: bool) -> Result<Vec<u8>, Unreadable> {
    let path = &input.path;
    let failed = |source| Unreadable::Failed { path: path.clone(), source };
    let most = budget.bytes.saturating_add(1);
    if path == "-" {
        let mut bytes = Vec::new();
        io::stdin().lock().take(most).read_to_end(&mut bytes).map_err(failed)?;
        return Ok(bytes);
    }
    let about = path.metadata().map_err(failed)?;
    match about.file_type() {
        kind if kind.is_file() => stays_inside(input, follows)?,
        kind if kind.is_dir() => return Err(Unreadable::Folder { path: path.clone() }),
        // A shell's `<(…)` is a pipe. One that was met on a walk may have nobody who ever writes to it.
        kind if kind.is_fifo() && input.met == Met::Named => {
            return pipe::read(path.as_std_path(), most, PATIENCE).map_err(failed);
        }
        kind if kind.is_fifo() => return Err(Unreadable::Pipe { path: path.clone() }),
        // A device or a socket has no end or no beginning.
        _ => return Err(Unreadable::Device { path: path.clone() }),
    }
    // With room for all of it, it is read at once.
    let size = usize::try_from(about.len().min(most)).unwrap_or_default();
    let mut bytes = Vec::with_capacity(size + 1);
    File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)).map_err(failed)?;
    Ok(bytes)
}

/// Refuses a link that leads out of where the input belongs.
fn stays_inside(input: &Input, follows: bool) -> Result<(), Unreadable> {
    let path = &input.path;
    let Some(root) = input.root.as_ref().filter(|_| !follows) else { return Ok(()) };
    let real =
        |path: &Utf8Path| path.canonicalize().map_err(|source| Unreadable::Failed { path: path.to_owned(), source });
    let to = real(path)?;
    if to.starts_with(real(root)?) {
        return Ok(());
    }
    Err(Unreadable::LeadsOut { path: path.clone(), root: root.clone(), to: to.to_string_lossy().into_owned() })
}
