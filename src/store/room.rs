//! Makes room in the workspace for what is written there. What a phase left in the place of one of our files or folders (a
//! folder, a link, a pipe) is put aside, and nothing is deleted.

use std::path::{Path, PathBuf};

use super::{Layout, StoreError};
use crate::system::disk::Kind;

/// Puts aside what lies in the place of our folders and is no folder, makes them, and says what was put aside.
///
/// # Errors
/// [`StoreError`].
pub fn make_room_for_folders(layout: &Layout) -> Result<Vec<PathBuf>, StoreError> {
    let mut moved = make_folder(layout, &layout.run())?;
    moved.extend(make_folder(layout, &layout.checkpoints())?);
    // It is made with the first report.
    if layout.disk().kind(&layout.escalations()).is_some() {
        moved.extend(make_folder(layout, &layout.escalations())?);
    }
    Ok(moved)
}

/// Makes a folder of the workspace with all above it. What lies in the place of one of them is put aside; says which.
///
/// # Errors
/// [`StoreError`].
pub fn make_folder(layout: &Layout, folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let inside = folder.strip_prefix(layout.workspace()).unwrap_or(folder);
    let mut moved = Vec::new();
    for part in inside.ancestors().collect::<Vec<_>>().into_iter().rev().skip(1) {
        let part = layout.workspace().join(part);
        if is_in_the_way_of_a_folder(layout, &part) {
            put_aside(layout, &part)?;
            moved.push(part);
        }
    }
    layout.disk().ensure_folder(folder)?;
    Ok(moved)
}

/// Makes room for a file of the workspace, and its folder. What lies in the place of one of them is put aside; says which.
///
/// # Errors
/// [`StoreError`].
pub fn make_room(layout: &Layout, path: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut moved = make_folder(layout, path.parent().unwrap_or(path))?;
    if layout.disk().kind(path).is_some_and(|kind| kind != Kind::File) {
        put_aside(layout, path)?;
        moved.push(path.to_path_buf());
    }
    Ok(moved)
}

/// What is said of something that was put aside.
#[must_use]
pub fn was_put_aside(path: &Path) -> String {
    format!("what lay in the place of {} is put aside, into .loa-run/archive/ignored", path.display())
}

/// Puts something aside that does not count, into `.loa-run/archive/ignored/`. Nothing is deleted.
///
/// # Errors
/// [`StoreError`].
pub fn put_aside(layout: &Layout, path: &Path) -> Result<(), StoreError> {
    let folder = layout.archived("ignored");
    // Each of the folders that it is put into may itself be in the way: it waits beside its place.
    let mut waiting = Vec::new();
    for own in [layout.run(), layout.archive(), folder.clone()] {
        if is_in_the_way_of_a_folder(layout, &own) {
            let beside = free(layout, &own.with_extension("aside"));
            layout.disk().rename(&own, &beside)?;
            waiting.push((own, beside));
        }
    }
    layout.disk().ensure_folder(&folder)?;
    if !waiting.iter().any(|(own, _)| own == path) {
        waiting.push((path.to_path_buf(), path.to_path_buf()));
    }
    for (was, is) in waiting {
        let name = was.file_name().unwrap_or_default();
        layout.disk().rename(&is, &free(layout, &folder.join(name)))?;
    }
    Ok(())
}

fn is_in_the_way_of_a_folder(layout: &Layout, path: &Path) -> bool {
    layout.disk().kind(path).is_some_and(|kind| kind != Kind::Folder)
}

/// The first name of this form that is free: `design.1.yaml`, `.loa-run.1`.
fn free(layout: &Layout, path: &Path) -> PathBuf {
    let (stem, extension) = (path.file_stem().unwrap_or_default().to_string_lossy(), path.extension());
    let name = |n: u32| match extension {
        Some(extension) => format!("{stem}.{n}.{}", extension.to_string_lossy()),
        None => format!("{stem}.{n}"),
    };
    let mut names = (1..u32::MAX).map(|n| path.with_file_name(name(n)));
    names.find(|path| layout.disk().kind(path).is_none()).unwrap_or_else(|| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::system::files::{Privacy, ensure_folder, write_durably};

    /// A workspace with something in the place of a path, made by `make`.
    fn with(path: &str, make: fn(&Path)) -> (tempfile::TempDir, Layout, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let layout = Layout::new(folder.path());
        let path = layout.workspace().join(path);
        ensure_folder(path.parent().expect("a folder")).expect("made");
        make(&path);
        (folder, layout, path)
    }

    #[test]
    fn whatever_lies_in_the_place_of_a_folder_is_put_aside_and_kept() {
        let file = |path: &Path| write_durably(path, b"kept", Privacy::Shared).expect("written");
        let link = |path: &Path| symlink("/nowhere", path).expect("linked");
        for path in [".loa-run", ".loa-run/archive", ".loa-run/archive/ignored", ".loa-checkpoint"] {
            for make in [file, link] {
                let (_folder, layout, path) = with(path, make);
                let needed = layout.escalations();
                put_aside(&layout, &path).expect("room");
                make_folder(&layout, &needed).expect("made");
                assert_eq!(layout.disk().kind(&needed), Some(Kind::Folder));
                let aside = layout.disk().list(&layout.archived("ignored")).expect("listed");
                assert_eq!(aside.len(), 1, "{aside:?}");
                assert_ne!(layout.disk().kind(&aside[0]), Some(Kind::Folder));
            }
        }
    }

    #[test]
    fn a_folder_in_the_place_of_a_file_is_put_aside_whole() {
        let (_folder, layout, path) =
            with(".loa-checkpoint/design.yaml", |path| ensure_folder(&path.join("x")).expect("made"));
        assert_eq!(make_room(&layout, &path).expect("room"), std::slice::from_ref(&path));
        assert_eq!(layout.disk().kind(&path), None);
        assert_eq!(layout.disk().kind(&layout.archived("ignored").join("design.1.yaml/x")), Some(Kind::Folder));
        assert_eq!(make_room(&layout, &path).expect("room"), Vec::<PathBuf>::new(), "nothing lies there any more");
    }
}
