//! Reading what the command line names.

use std::fs::File;
use std::io::{self, Read};

use camino::{Utf8Path, Utf8PathBuf};

use crate::diag::Budget;

/// A file that could not be read at all, which is no finding about a document.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("`{path}` is a folder")]
    Folder { path: Utf8PathBuf },
    #[error("`{path}` is neither a file nor a pipe")]
    Device { path: Utf8PathBuf },
    #[error("no document of a known kind lies in `{path}`")]
    NoDocuments { path: Utf8PathBuf },
    #[error("nothing matches `{path}`")]
    NoMatch { path: Utf8PathBuf },
    #[error("`{path}` is no pattern: {why}")]
    Pattern { path: Utf8PathBuf, why: String },
    #[error("failed to read `{path}`")]
    Failed { path: Utf8PathBuf, source: io::Error },
}

impl Unreadable {
    pub(super) fn path(&self) -> &Utf8Path {
        match self {
            Self::Folder { path }
            | Self::Device { path }
            | Self::NoDocuments { path }
            | Self::NoMatch { path }
            | Self::Pattern { path, .. }
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
            Self::Device { .. } | Self::Pattern { .. } | Self::Failed { .. } => None,
        }
    }
}

/// Reads a file, or standard input, up to one byte more than a document may have.
pub(super) fn read(path: &Utf8Path, budget: &Budget) -> Result<Vec<u8>, Unreadable> {
    let failed = |source| Unreadable::Failed { path: path.to_owned(), source };
    let most = budget.bytes.saturating_add(1);
    if path == "-" {
        let mut bytes = Vec::new();
        io::stdin().lock().take(most).read_to_end(&mut bytes).map_err(failed)?;
        return Ok(bytes);
    }
    let about = path.metadata().map_err(failed)?;
    if about.is_dir() {
        return Err(Unreadable::Folder { path: path.to_owned() });
    }
    if is_device(&about) {
        return Err(Unreadable::Device { path: path.to_owned() });
    }
    // With room for all of it, it is read at once.
    let size = usize::try_from(about.len().min(most)).unwrap_or_default();
    let mut bytes = Vec::with_capacity(size + 1);
    File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)).map_err(failed)?;
    Ok(bytes)
}

/// A pipe is read, as a shell's `<(…)` is one; a device or a socket has no end or no beginning.
fn is_device(about: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let kind = about.file_type();
    !kind.is_file() && !kind.is_fifo()
}
