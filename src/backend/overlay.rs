//! Settings of a program for one invocation: a file of our own, over what the same file says without us.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::system::scratch;

/// A private folder that is gone when the invocation is.
#[derive(Debug)]
pub(super) struct Place(TempDir);

impl Place {
    pub(super) fn new() -> io::Result<Self> {
        scratch::folder("loa-run-").map(Self).map_err(io::Error::other)
    }

    /// A file of this name in it.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes `ours` over the settings that the program would have read from `base`, and says where.
    pub(super) fn settings(&self, base: &Path, ours: Value) -> io::Result<PathBuf> {
        let mut settings = read(base)?;
        lay_over(&mut settings, ours);
        let file = self.file("settings.json");
        scratch::lay(&file, settings.to_string().as_bytes()).map_err(io::Error::other)?;
        Ok(file)
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

    #[test]
    fn ours_goes_over_what_is_there_and_leaves_nothing_behind() {
        let place = Place::new().expect("a folder");
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
}
