//! Reading what the command line names.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;

use camino::{Utf8Path, Utf8PathBuf};

use super::expand::Input;
use crate::diag::Budget;
use crate::diag::render::harmless;

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
            Self::NoText { .. } => Some("rename it; its bytes that are no UTF-8 are shown as U+FFFD".to_owned()),
            Self::Pipe { .. } => Some("a pipe is read where it is named, and passed over in a folder".to_owned()),
            Self::Device { .. } | Self::Pattern { .. } | Self::Failed { .. } => None,
        }
    }
}

/// Reads a file, or standard input, up to one byte more than a document may have.
pub(super) fn read(input: &Input, budget: &Budget) -> Result<Vec<u8>, Unreadable> {
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
        kind if kind.is_file() => {}
        kind if kind.is_dir() => return Err(Unreadable::Folder { path: path.clone() }),
        // A shell's `<(…)` is a pipe. One that was met on a walk may have nobody who ever writes to it.
        kind if kind.is_fifo() && input.named => {}
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
