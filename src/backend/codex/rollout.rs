//! Where Codex records a session: `<home>/sessions/<year>/<month>/<day>/rollout-…-<thread>.jsonl`.

use std::path::{Path, PathBuf};

use crate::backend::recorded::below;

/// The newest day first: a session is far more often of today than of last year.
pub(super) fn find(home: &Path, thread: &str) -> Option<PathBuf> {
    let ending = format!("-{thread}.jsonl");
    let days = below(&home.join("sessions")).into_iter().flat_map(|year| below(&year)).flat_map(|month| below(&month));
    let mut files = days.flat_map(|day| below(&day));
    files.find(|file| file.file_name().is_some_and(|name| name.to_string_lossy().ends_with(&ending)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::scratch::lay;

    #[test]
    fn a_session_is_found_by_its_thread() {
        let home = tempfile::tempdir().expect("a folder");
        let file =
            |thread: &str| home.path().join(format!("sessions/2026/01/31/rollout-2026-01-31T00-00-00-{thread}.jsonl"));
        assert_eq!(find(home.path(), "t-1"), None);
        lay(&file("t-2"), b"").expect("laid");
        lay(&file("t-1"), b"").expect("laid");
        assert_eq!(find(home.path(), "t-1"), Some(file("t-1")));
    }
}
