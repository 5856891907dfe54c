//! Replacing what a file of somebody else holds, and nothing else of it.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::Path;

use super::files::{FileError, Privacy, folder_of, sync_folder, unfinished};

/// Replaces a regular file's content, durably and whole: its mode, its owner and its group stay.
///
/// # Errors
/// [`FileError`] when any step fails, also where the owner cannot be kept or the file has other names, which would go on naming
/// the old content; the file is then untouched.
pub fn rewrite(path: &Path, content: &[u8]) -> Result<(), FileError> {
    let failed = || FileError::at("write", path);
    let kept = fs::symlink_metadata(path).map_err(failed())?;
    if let Some(why) = refusal(&kept) {
        return Err(failed()(io::Error::new(io::ErrorKind::InvalidInput, why)));
    }
    let unfinished = unfinished(path, content, Privacy::Private)?;
    let file = unfinished.as_file();
    let made = file.metadata().map_err(failed())?;
    if (made.uid(), made.gid()) != (kept.uid(), kept.gid()) {
        fchown(file, Some(kept.uid()), Some(kept.gid())).map_err(FileError::at("keep the owner of", path))?;
    }
    // Behind the change of the owner, which may take bits away.
    file.set_permissions(kept.permissions()).map_err(failed())?;
    file.sync_all().map_err(failed())?;
    unfinished.persist(path).map_err(|error| failed()(error.error))?;
    sync_folder(folder_of(path))
}

fn refusal(kept: &fs::Metadata) -> Option<&'static str> {
    match () {
        () if !kept.is_file() => Some("it is no regular file"),
        () if kept.nlink() > 1 => Some("it has more than one name, and only this one would name the new content"),
        () => None,
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "files are written here")]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_mode_stays_whatever_it_was() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.yaml");
        for mode in [0o644, 0o600, 0o755, 0o444, 0o640] {
            fs::write(&path, "before").expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
            rewrite(&path, b"after").expect("rewritten");
            let found = fs::metadata(&path).expect("there").permissions().mode() & 0o7777;
            assert_eq!((fs::read_to_string(&path).expect("there").as_str(), found), ("after", mode));
            fs::remove_file(&path).expect("removed");
        }
    }

    #[test]
    fn a_file_with_two_names_and_a_link_are_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let [file, other, link] = ["a.yaml", "b.yaml", "c.yaml"].map(|name| folder.path().join(name));
        fs::write(&file, "before").expect("written");
        fs::hard_link(&file, &other).expect("linked");
        std::os::unix::fs::symlink(&file, &link).expect("linked");
        for path in [&file, &link] {
            assert!(rewrite(path, b"after").is_err());
        }
        assert_eq!(fs::read_to_string(&other).expect("there"), "before");
    }
}
