//! Files that survive: durable replacement, private modes, capped reads, and errors that always carry the path.
//!
//! A write is a temporary file in the same folder, sync, rename, sync of the folder. A reader therefore sees the old
//! content or the new one and never a part, and what was acknowledged is still there after a power cut.
#![expect(clippy::disallowed_methods, reason = "this is where files are written")]

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// How the name of an unfinished write ends; one that is left behind by a killed process may be removed.
const UNFINISHED: &str = ".unfinished";

/// A file operation that failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}", path.display())]
pub struct FileError {
    /// What was tried, such as `read`.
    pub action: &'static str,
    /// The file or folder.
    pub path: PathBuf,
    /// What the host said.
    pub source: io::Error,
}

impl FileError {
    pub(super) fn at(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self { action, path: path.to_path_buf(), source }
    }

    /// Whether the file or folder simply is not there, or what should be its folder is a file.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        is_absent(&self.source)
    }
}

/// Whether nothing is there: under a file there is nothing either.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Who may read a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privacy {
    /// Its owner alone: mode 0600.
    Private,
    /// Whoever the process's umask lets: mode 0666 less the umask.
    Shared,
}

impl Privacy {
    fn mode(self) -> u32 {
        match self {
            Self::Private => 0o600,
            Self::Shared => 0o666,
        }
    }
}

/// Replaces a file's content, durably; the folder must exist.
///
/// # Errors
/// [`FileError`] when any step fails; the old content is then untouched.
pub fn write_durably(path: &Path, content: &[u8], privacy: Privacy) -> Result<(), FileError> {
    let unfinished = unfinished(path, content, privacy)?;
    unfinished.as_file().sync_all().map_err(FileError::at("write", path))?;
    unfinished.persist(path).map_err(|error| FileError::at("write", path)(error.error))?;
    sync_folder(folder_of(path))
}

/// Tries whether [`write_durably`] could write it. Nothing is changed.
///
/// # Errors
/// [`FileError`] when it could not: no such folder, no right to write in it, or a folder has the name.
pub fn try_writing(path: &Path) -> Result<(), FileError> {
    if path.is_dir() {
        return Err(FileError::at("write", path)(io::ErrorKind::IsADirectory.into()));
    }
    unfinished(path, &[], Privacy::Private).map(drop)
}

/// Replaces a file's content without a sync: whoever reads it finds the old content or the new one, whole, also when we
/// died; after a power cut anything may stand there, or nothing.
///
/// # Errors
/// [`FileError`] when any step fails; the old content is then untouched.
pub fn replace(path: &Path, content: &[u8], privacy: Privacy) -> Result<(), FileError> {
    let unfinished = unfinished(path, content, privacy)?;
    unfinished.persist(path).map_err(|error| FileError::at("write", path)(error.error))?;
    Ok(())
}

/// Makes a new file, durably; one that is there already stays as it is.
///
/// # Errors
/// [`FileError`]; with [`io::ErrorKind::AlreadyExists`] inside when something has the name.
pub fn create_durably(path: &Path, content: &[u8], privacy: Privacy) -> Result<(), FileError> {
    let unfinished = unfinished(path, content, privacy)?;
    unfinished.as_file().sync_all().map_err(FileError::at("create", path))?;
    unfinished.persist_noclobber(path).map_err(|error| FileError::at("create", path)(error.error))?;
    sync_folder(folder_of(path))
}

/// The content under a temporary name beside the file, not synced yet.
pub(super) fn unfinished(path: &Path, content: &[u8], privacy: Privacy) -> Result<NamedTempFile, FileError> {
    let failed = || FileError::at("write", path);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut file = Builder::new()
        .prefix(&format!(".{name}."))
        .suffix(UNFINISHED)
        .permissions(Permissions::from_mode(privacy.mode()))
        .tempfile_in(folder_of(path))
        .map_err(failed())?;
    file.write_all(content).map_err(failed())?;
    Ok(file)
}

/// Lays a whole copy of a file under another name, without a sync; folders that are missing are made.
///
/// # Errors
/// [`FileError`] when any step fails; what had the name is then untouched.
pub fn copy(from: &Path, to: &Path, privacy: Privacy) -> Result<(), FileError> {
    fs::create_dir_all(folder_of(to)).map_err(FileError::at("create the folder", folder_of(to)))?;
    let mut source = open(from).map_err(FileError::at("read", from))?;
    let mut unfinished = unfinished(to, &[], privacy)?;
    io::copy(&mut source, unfinished.as_file_mut()).map_err(FileError::at("write", to))?;
    unfinished.persist(to).map_err(|error| FileError::at("write", to)(error.error))?;
    Ok(())
}

/// Creates a folder and those above it, and makes their names durable. An existing folder is fine.
///
/// # Errors
/// [`FileError`], also when something that is no folder has the name.
pub fn ensure_folder(path: &Path) -> Result<(), FileError> {
    ensure_folders(path, 0o777)
}

/// Creates a folder and those above it. Not durable: for what can be made again. An existing folder is fine.
///
/// # Errors
/// [`FileError`], also when something that is no folder has the name.
pub fn lay_folder(path: &Path, privacy: Privacy) -> Result<(), FileError> {
    // Who may read a folder may enter it.
    let mode = privacy.mode() | (privacy.mode() & 0o444) >> 2;
    let folder = fs::DirBuilder::new().recursive(true).mode(mode).create(path);
    folder.map_err(FileError::at("create the folder", path))
}

/// Makes a folder, and those above it, that is empty afterwards. Not durable: for what one process needs while it lives.
///
/// # Errors
/// [`FileError`].
pub fn empty_folder(path: &Path, privacy: Privacy) -> Result<(), FileError> {
    remove_tree(path)?;
    lay_folder(path, privacy)
}

/// Moves a file or folder within one file system, durably.
///
/// # Errors
/// [`FileError`] with the path of `from`.
pub fn rename(from: &Path, to: &Path) -> Result<(), FileError> {
    rename_all(&[(from.to_owned(), to.to_owned())])
}

/// Moves files and folders within one file system, each from the first path to the second, one after the other, and makes
/// all of it durable at the end. What a power cut leaves of it is unspecified, but each has one of its two names.
///
/// # Errors
/// [`FileError`] with the path of the first that could not be moved.
pub fn rename_all(moves: &[(PathBuf, PathBuf)]) -> Result<(), FileError> {
    for (from, to) in moves {
        fs::rename(from, to).map_err(FileError::at("move", from))?;
    }
    // The new names first: without them, a power cut could leave a file that has no name at all.
    let new: BTreeSet<&Path> = moves.iter().map(|(_, to)| folder_of(to)).collect();
    let old: BTreeSet<&Path> = moves.iter().map(|(from, _)| folder_of(from)).collect();
    new.iter().chain(old.difference(&new)).try_for_each(|folder| sync_folder(folder))
}

/// Removes a file, durably. One that is not there is fine.
///
/// # Errors
/// [`FileError`].
pub fn remove(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Ok(()) => sync_folder(folder_of(path)),
        Err(error) if is_absent(&error) => Ok(()),
        Err(error) => Err(FileError::at("remove", path)(error)),
    }
}

/// Removes a folder with everything in it. One that is not there is fine.
///
/// # Errors
/// [`FileError`].
pub fn remove_tree(path: &Path) -> Result<(), FileError> {
    match fs::remove_dir_all(path) {
        Err(error) if !is_absent(&error) => Err(FileError::at("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Removes what writes that never finished left in a folder. Only for the owner of the folder, when nobody writes.
///
/// # Errors
/// [`FileError`]; a folder that is not there is fine.
pub fn remove_unfinished(folder: &Path) -> Result<(), FileError> {
    for path in list(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') && name.ends_with(UNFINISHED) {
            remove(&path)?;
        }
    }
    Ok(())
}

/// What stands in a folder, sorted; nothing when the folder is not there.
///
/// # Errors
/// [`FileError`], also when the path is no folder.
pub fn list(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let failed = || FileError::at("list", folder);
    let entries = match fs::read_dir(folder) {
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        entries => entries.map_err(failed())?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(failed())?.path());
    }
    paths.sort();
    Ok(paths)
}

/// Opens a regular file to be read. Whatever else has the name is refused, and never waited for: a named pipe has no other
/// end, and a device may never end.
///
/// # Errors
/// What the host says; `InvalidInput` where it is no regular file.
pub fn open(path: &Path) -> io::Result<File> {
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    let kind = file.metadata()?;
    if kind.is_file() {
        return Ok(file);
    }
    let reason = if kind.is_dir() { "it is a folder" } else { "it is no regular file" };
    Err(io::Error::new(io::ErrorKind::InvalidInput, reason))
}

/// Reads a regular file of at most `limit` bytes.
///
/// # Errors
/// [`FileError`]: not there, no regular file, unreadable, or longer than `limit`.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let failed = || FileError::at("read", path);
    let refused = |reason: String| failed()(io::Error::new(io::ErrorKind::InvalidInput, reason));
    let file = open(path).map_err(failed())?;
    let mut content = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut content).map_err(failed())?;
    if content.len() as u64 > limit {
        return Err(refused(format!("it is longer than the {limit} bytes allowed here")));
    }
    Ok(content)
}

/// The first bytes of a regular file, at most so many.
///
/// # Errors
/// [`FileError`].
pub fn beginning(path: &Path, most: usize) -> Result<Vec<u8>, FileError> {
    let failed = FileError::at("read", path);
    let read = || {
        let mut content = Vec::new();
        open(path)?.take(most as u64).read_to_end(&mut content)?;
        Ok(content)
    };
    read().map_err(failed)
}

/// The bytes of all regular files below a folder; what cannot be read counts as none.
#[must_use]
pub fn size_of_tree(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let sizes = entries.filter_map(Result::ok).map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => size_of_tree(&entry.path()),
        Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |found| found.len()),
        _ => 0,
    });
    sizes.sum()
}

/// When a file was written last; `None` when it is not there.
#[must_use]
pub fn modified(path: &Path) -> Option<jiff::Timestamp> {
    jiff::Timestamp::try_from(fs::symlink_metadata(path).ok()?.modified().ok()?).ok()
}

/// How long ago a file was written; `None` when it is not there, or was written later than `now`.
#[must_use]
pub fn age(path: &Path, now: jiff::Timestamp) -> Option<std::time::Duration> {
    let written = jiff::Timestamp::try_from(fs::metadata(path).ok()?.modified().ok()?).ok()?;
    std::time::Duration::try_from(now.duration_since(written)).ok()
}

/// What can still be written where a folder lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bytes that are free for us.
    pub bytes: u64,
    /// Files that can be made; `None` where their number has no bound.
    pub files: Option<u64>,
}

/// The room where a folder lies.
///
/// # Errors
/// [`FileError`].
pub fn room(folder: &Path) -> Result<Room, FileError> {
    let found =
        rustix::fs::statvfs(folder).map_err(|error| FileError::at("look at the disk of", folder)(error.into()))?;
    let bytes = found.f_bavail.saturating_mul(found.f_frsize);
    Ok(Room { bytes, files: (found.f_files > 0).then_some(found.f_favail) })
}

/// Whether a file is there that we may run.
#[must_use]
pub fn is_program(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Where a program lies that a process in `folder` looks for in the folders of a `PATH`.
#[must_use]
pub fn find_program(name: &str, path: &str, folder: &Path) -> Option<PathBuf> {
    path.split(':').map(|entry| folder.join(entry).join(name)).find(|place| is_program(place))
}

/// A file that grows at its end: a log, a stream of events.
#[derive(Debug)]
pub struct Appender {
    path: PathBuf,
    file: File,
}

impl Appender {
    /// Opens the file, creating it when it is not there.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn open(path: &Path, privacy: Privacy) -> Result<Self, FileError> {
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).mode(privacy.mode()).open(path);
        Ok(Self { path: path.to_path_buf(), file: file.map_err(FileError::at("open", path))? })
    }

    /// Makes a file that is ours alone, in the place of whatever has the name: a pipe would have us wait for a reader, and a link
    /// lead elsewhere.
    ///
    /// # Errors
    /// [`FileError`], above all when a folder has the name.
    pub fn anew(path: &Path, privacy: Privacy) -> Result<Self, FileError> {
        remove(path)?;
        let mut options = OpenOptions::new();
        let file = options.append(true).create_new(true).mode(privacy.mode()).open(path);
        Ok(Self { path: path.to_path_buf(), file: file.map_err(FileError::at("make", path))? })
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends all of `bytes`; another process sees them at once, a power cut may still take them.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.file.write_all(bytes).map_err(FileError::at("append to", &self.path))
    }

    /// Waits until everything that was appended is on the disk.
    ///
    /// # Errors
    /// [`FileError`]; what is on the disk is then not known.
    pub fn sync(&self) -> Result<(), FileError> {
        self.file.sync_data().map_err(FileError::at("sync", &self.path))
    }

    /// Shortens the file to this many bytes.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn cut_to(&self, length: u64) -> Result<(), FileError> {
        self.file.set_len(length).map_err(FileError::at("shorten", &self.path))
    }

    /// The length of the file that has the name now, if it is the one that we append to; `None` when another one or none
    /// has it.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn length_of_name(&self) -> Result<Option<u64>, FileError> {
        let failed = || FileError::at("look at", &self.path);
        let named = match fs::symlink_metadata(&self.path) {
            Err(error) if is_absent(&error) => return Ok(None),
            named => named.map_err(failed())?,
        };
        let ours = self.file.metadata().map_err(failed())?;
        Ok(((named.dev(), named.ino()) == (ours.dev(), ours.ino())).then_some(named.len()))
    }
}

/// Whether other users may read or enter a folder; not so of one that is not there.
#[must_use]
pub fn is_open_to_others(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|found| found.mode() & 0o077 != 0)
}

/// What tells a folder from every other, also when one was moved or another has its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FolderIdentity {
    /// The device that it lies on.
    pub device: u64,
    /// Its number there, which may pass to another folder when it is gone.
    pub inode: u64,
    /// When it was made, in nanoseconds since 1970, where the file system says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub born: Option<i64>,
}

impl FolderIdentity {
    /// The identity of a folder.
    ///
    /// # Errors
    /// [`FileError`], also when it is no folder.
    pub fn of(folder: &Path) -> Result<Self, FileError> {
        let failed = || FileError::at("look at", folder);
        let found = fs::metadata(folder).map_err(failed())?;
        if !found.is_dir() {
            return Err(failed()(io::ErrorKind::NotADirectory.into()));
        }
        let born = found.created().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let born = born.and_then(|since| i64::try_from(since.as_nanos()).ok());
        Ok(Self { device: found.dev(), inode: found.ino(), born })
    }
}

/// What tells cheaply whether a file was touched: device, inode, size, and the time of its last change.
pub type Stamp = (u64, u64, u64, i64, i64);

/// What has this name; `None` when nothing has.
#[must_use]
pub fn kind(path: &Path) -> Option<super::disk::Kind> {
    use super::disk::Kind;
    let found = fs::symlink_metadata(path).ok()?;
    Some(match (found.is_file(), found.is_dir()) {
        (true, _) => Kind::File,
        (_, true) => Kind::Folder,
        _ => Kind::Other,
    })
}

/// Where a link leads, as it says; `None` where there is no link.
#[must_use]
pub fn link_target(path: &Path) -> Option<PathBuf> {
    fs::read_link(path).ok()
}

/// The stamp of a file; `None` when it is not there.
#[must_use]
pub fn stamp(path: &Path) -> Option<Stamp> {
    let found = fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino(), found.len(), found.ctime(), found.ctime_nsec()))
}

/// Whether what is written under a path is gone after a restart: its file system lies in memory, or is the upper layer of
/// a container. `None` where the host does not say.
#[must_use]
pub fn is_volatile(path: &Path) -> Option<bool> {
    const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];
    const OVERLAY: u64 = 0x794c_7630;
    let there = path.ancestors().find(|ancestor| ancestor.exists())?;
    let kind = u64::try_from(rustix::fs::statfs(there).ok()?.f_type).ok()?;
    Some(IN_MEMORY.contains(&kind) || kind == OVERLAY)
}

/// Creates a folder and those above it that are missing, for their owner alone, and makes their names durable.
///
/// # Errors
/// [`FileError`], also when something that is no folder has the name.
pub fn ensure_private_folder(path: &Path) -> Result<(), FileError> {
    ensure_folders(path, 0o700)
}

fn ensure_folders(path: &Path, mode: u32) -> Result<(), FileError> {
    let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.is_dir();
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    if missing.is_empty() {
        return Ok(());
    }
    // Somebody else may be faster.
    let result = fs::DirBuilder::new().recursive(true).mode(mode).create(path);
    result.map_err(FileError::at("create the folder", path))?;
    // All are made before the first is waited for: the disk writes them together.
    missing.into_iter().rev().try_for_each(|folder| sync_folder(folder_of(folder)))
}

/// Waits until these files and the names in their folders are on the disk. One that is not there, or no file, is fine.
///
/// # Errors
/// [`FileError`].
pub fn sync_all(paths: &[PathBuf]) -> Result<(), FileError> {
    // Asked before opening: opening a named pipe waits for its other end.
    let is_file = |path: &&PathBuf| fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    let files: Vec<&PathBuf> = paths.iter().filter(is_file).collect();
    // Several at the same time: most of it is waiting for the disk, which does them together.
    for some in files.chunks(16) {
        std::thread::scope(|scope| {
            let syncs: Vec<_> = some.iter().map(|path| scope.spawn(|| sync_file(path))).collect();
            syncs.into_iter().try_for_each(|sync| sync.join().unwrap_or_else(|panic| resume_unwind(panic)))
        })?;
    }
    let folders: BTreeSet<&Path> = files.iter().map(|path| folder_of(path)).collect();
    folders.into_iter().try_for_each(sync_folder)
}

fn sync_file(path: &Path) -> Result<(), FileError> {
    match open(path) {
        Err(error) if is_absent(&error) || error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        file => file.and_then(|file| file.sync_all()).map_err(FileError::at("sync", path)),
    }
}

pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

pub(super) fn sync_folder(folder: &Path) -> Result<(), FileError> {
    File::open(folder).and_then(|open| open.sync_all()).map_err(FileError::at("sync", folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_replaces_the_whole_file_and_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("design.yaml");
        write_durably(&path, b"a long first content", Privacy::Private).expect("written");
        write_durably(&path, b"second", Privacy::Private).expect("written");
        assert_eq!(read(&path, 6).expect("read"), b"second");
        assert_eq!(list(folder.path()).expect("listed"), std::slice::from_ref(&path));
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_folder_in_the_files_place_is_refused_with_the_path_and_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("design.yaml");
        ensure_folder(&path.join("inside")).expect("made");
        let error = write_durably(&path, b"x", Privacy::Shared).expect_err("a folder has the name");
        assert!(error.to_string().contains("design.yaml"), "{error}");
        assert!(read(&path, 9).expect_err("no file").source.to_string().contains("folder"));
        assert_eq!(list(folder.path()).expect("listed").len(), 1, "the unfinished write is gone");
    }

    #[test]
    fn a_read_stops_at_its_limit() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("big");
        write_durably(&path, b"1234567", Privacy::Shared).expect("written");
        assert_eq!(read(&path, 7).expect("fits").len(), 7);
        assert!(read(&path, 6).expect_err("too long").source.to_string().contains("6 bytes"));
        assert!(read(&folder.path().join("none"), 6).expect_err("missing").is_not_found());
    }

    #[test]
    fn only_unfinished_writes_are_cleared_away() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in [".design.yaml.x1.unfinished", "notes.unfinished", ".keep"] {
            write_durably(&folder.path().join(name), b"", Privacy::Shared).expect("written");
        }
        remove_unfinished(folder.path()).expect("cleared");
        let left: Vec<_> = list(folder.path()).expect("listed");
        assert_eq!(left, [folder.path().join(".keep"), folder.path().join("notes.unfinished")]);
    }
}
