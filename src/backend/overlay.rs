//! Settings of a program for one invocation: a file of our own, over what the same file says without us.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use super::container::workspace;
use crate::runner::Surroundings;
use crate::store::Layout;
use crate::system::scratch;

/// A private folder that is gone when the invocation is.
#[derive(Debug)]
pub(super) struct Place {
    folder: TempDir,
    /// The folder as the agent sees it.
    seen: PathBuf,
}

impl Place {
    /// For an agent in a container it lies in the workspace, which is all that is mounted there.
    pub(super) fn new(surroundings: &Surroundings) -> io::Result<Self> {
        let folder = match surroundings.container {
            None => scratch::folder("loa-run-"),
            Some(_) => scratch::folder_below(&Layout::new(&surroundings.workspace).run(), "agent-"),
        };
        let folder = folder.map_err(io::Error::other)?;
        let seen = match folder.path().strip_prefix(&surroundings.workspace) {
            Ok(within) if surroundings.container.is_some() => workspace(surroundings).join(within),
            _ => folder.path().to_path_buf(),
        };
        Ok(Self { folder, seen })
    }

    /// A file of this name in it.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The same, as the agent sees it.
    pub(super) fn seen(&self, name: &str) -> PathBuf {
        self.seen.join(name)
    }

    /// Writes `ours` over the settings that the program would have read from `base`, and says where it finds them.
    pub(super) fn settings(&self, base: &Path, ours: Value) -> io::Result<PathBuf> {
        let mut settings = read(base)?;
        lay_over(&mut settings, ours);
        let file = self.file("settings.json");
        scratch::lay(&file, settings.to_string().as_bytes()).map_err(io::Error::other)?;
        Ok(self.seen("settings.json"))
    }
}

/// What the file says; nothing when it is not there.
fn read(file: &Path) -> io::Result<Value> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Value::Object(serde_json::Map::new())),
        Err(error) => return Err(error),
    };
    serde_json::from_str(&text).map_err(|error| io::Error::other(format!("{} is no JSON: {error}", file.display())))
}

/// Sections are merged; everything else is replaced.
pub(super) fn lay_over(base: &mut Value, ours: Value) {
    match (base, ours) {
        (Value::Object(base), Value::Object(ours)) => {
            for (key, value) in ours {
                lay_over(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, ours) => *base = ours,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::backend::container::contained;

    #[test]
    fn ours_goes_over_what_is_there_and_leaves_nothing_behind() {
        let place = Place::new(&Surroundings::default()).expect("a folder");
        let base = place.file("base.json");
        let ours = || json!({"model": {"window": 7}, "new": [1]});
        let file = place.settings(&base, ours()).expect("written");
        assert_eq!(read(&file).expect("read"), ours(), "there is no base");
        scratch::lay(&base, br#"{"model": {"window": 3, "name": "m"}, "old": true}"#).expect("laid");
        place.settings(&base, ours()).expect("written");
        assert_eq!(read(&file).expect("read"), json!({"model": {"window": 7, "name": "m"}, "new": [1], "old": true}));
        scratch::lay(&base, b"{").expect("laid");
        assert!(place.settings(&base, ours()).expect_err("no JSON").to_string().contains("base.json"));
        drop(place);
        assert!(!file.exists());
    }

    #[test]
    fn in_a_container_it_lies_in_the_workspace_where_that_is_mounted() {
        let folder = tempfile::tempdir().expect("a folder");
        let own = Layout::new(folder.path()).run();
        for (surroundings, lies, seen) in [
            (contained(folder.path(), "/mounted"), own.as_path(), Path::new("/mounted/.loa-run")),
            (contained(folder.path(), &folder.path().to_string_lossy()), &own, &own),
        ] {
            let place = Place::new(&surroundings).expect("a folder");
            let (file, as_seen) = (place.file("log"), place.seen("log"));
            assert!(file.starts_with(lies) && as_seen.starts_with(seen), "{} {}", file.display(), as_seen.display());
            assert_eq!(file.strip_prefix(lies), as_seen.strip_prefix(seen));
            assert_eq!(place.settings(Path::new("/nowhere"), json!({})).expect("written"), place.seen("settings.json"));
            assert!(place.file("settings.json").exists());
        }
        assert_eq!(std::fs::read_dir(&own).expect("listed").count(), 0, "nothing is left");
        let here = Place::new(&Surroundings { workspace: folder.path().to_path_buf(), ..Surroundings::default() });
        let here = here.expect("a folder");
        assert!(!here.file("x").starts_with(folder.path()) && here.file("x") == here.seen("x"));
    }
}
