//! What stands around an agent's prompts: a decorator of any backend.

use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::config::Prompts;
use crate::policy::Usage;
use crate::runner::{Backend, Capabilities, Invocation, Session, Surroundings, Task};
use crate::system::files::{self, FileError};

/// The most bytes of such a file.
const LONGEST: u64 = 1 << 20;

/// Texts around prompts that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// The file cannot be read.
    #[error("{key} names a file that cannot be read")]
    Unreadable {
        /// The key.
        key: String,
        /// The file, and why.
        source: FileError,
    },
    /// The file lies outside of the workspace.
    #[error("{key} names {}, which lies outside of the workspace", path.display())]
    Outside {
        /// The key.
        key: String,
        /// The file.
        path: PathBuf,
    },
    /// The file is no text.
    #[error("{key} names {}, which is not UTF-8", path.display())]
    NoText {
        /// The key.
        key: String,
        /// The file.
        path: PathBuf,
    },
}

/// A backend whose prompts have texts around them. A compaction is told nothing.
#[derive(Debug)]
pub(super) struct Wrapped {
    inner: Box<dyn Backend>,
    texts: Prompts,
    keeps: Keeps,
}

/// Where the text of a system prompt is after the invocation that was told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeps {
    /// In the session: it stands before the prompt.
    InSession,
    /// Nowhere: it is a flag of the process, and an earlier session is to be told it again.
    Nowhere,
}

impl Wrapped {
    /// The backend with these texts, read from their files where they name any.
    pub(super) fn around(
        inner: Box<dyn Backend>,
        keeps: Keeps,
        prompts: &Prompts,
        workspace: &Path,
    ) -> Result<Box<dyn Backend>, PromptError> {
        let text = |(key, value): (&str, Option<&str>)| {
            let key = format!("runtime.backends.{}.prompts.{key}", inner.name());
            value.map(|value| read(key, value, workspace)).transpose()
        };
        let [pre_system, post_system, pre_user, post_user] = prompts.entries().map(text);
        let texts =
            Prompts { pre_system: pre_system?, post_system: post_system?, pre_user: pre_user?, post_user: post_user? };
        Ok(Box::new(Self { inner, texts, keeps }))
    }
}

fn read(key: String, value: &str, workspace: &Path) -> Result<String, PromptError> {
    let Some(name) = value.strip_prefix('@') else { return Ok(value.to_owned()) };
    let path = workspace.join(name);
    let missing =
        |key, source| PromptError::Unreadable { key, source: FileError { action: "read", path: path.clone(), source } };
    let (real, root) = match (path.canonicalize(), workspace.canonicalize()) {
        (Ok(real), Ok(root)) => (real, root),
        (Err(error), _) | (_, Err(error)) => return Err(missing(key, error)),
    };
    if !real.starts_with(root) {
        return Err(PromptError::Outside { key, path });
    }
    match files::read(&real, LONGEST) {
        Err(source) => Err(PromptError::Unreadable { key, source }),
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(text.trim_end_matches('\n').to_owned()),
            Err(_) => Err(PromptError::NoText { key, path }),
        },
    }
}

/// The parts that are there, each on lines of its own.
fn joined(before: Option<&str>, text: Option<&str>, behind: Option<&str>) -> Option<String> {
    let parts: Vec<&str> = [before, text, behind].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("\n"))
}

impl Backend for Wrapped {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn is_contained(&self) -> bool {
        self.inner.is_contained()
    }

    fn credentials(&self) -> Vec<String> {
        self.inner.credentials()
    }

    fn quota(&self) -> Option<u64> {
        self.inner.quota()
    }

    fn usage(&self, surroundings: &Surroundings, now: Timestamp) -> Option<Usage> {
        self.inner.usage(surroundings, now)
    }

    fn invoke(&self, task: &Task<'_>, session: Session<'_>) -> io::Result<Box<dyn Invocation>> {
        let texts = &self.texts;
        let prompt = joined(texts.pre_user.as_deref(), Some(task.prompt), texts.post_user.as_deref());
        let system = match (session, self.keeps) {
            (Session::Earlier(_), Keeps::InSession) => None,
            _ => joined(texts.pre_system.as_deref(), task.system, texts.post_system.as_deref()),
        };
        let prompt = prompt.as_deref().unwrap_or(task.prompt);
        self.inner.invoke(&Task { prompt, system: system.as_deref(), ..task.clone() }, session)
    }

    fn compact(&self, task: &Task<'_>, session: &str) -> io::Result<Option<Box<dyn Invocation>>> {
        self.inner.compact(task, session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_joined_by_one_newline_and_what_is_not_there_leaves_no_trace() {
        for (before, text, behind, whole) in [
            (Some("A"), Some("P"), Some("B"), Some("A\nP\nB")),
            (Some("A"), Some("P"), None, Some("A\nP")),
            (None, Some("P"), None, Some("P")),
            (Some("A"), None, Some("B"), Some("A\nB")),
            (Some("A"), Some(""), Some("B"), Some("A\n\nB")),
            (None, None, None, None),
        ] {
            assert_eq!(joined(before, text, behind).as_deref(), whole);
        }
    }

    #[test]
    fn a_value_is_a_text_or_a_file_of_the_workspace() {
        let folder = tempfile::tempdir().expect("a folder");
        let workspace = folder.path().join("work");
        files::ensure_folder(&workspace).expect("made");
        let write = |name: &str, text: &[u8]| {
            files::write_durably(&workspace.join(name), text, files::Privacy::Shared).expect("written");
        };
        write("pre.md", b"Be brief.\n");
        write("noise", &[0xff, 0xfe]);
        write("../secret.md", b"of somebody else");
        let read = |value: &str| read("the key".to_owned(), value, &workspace);
        assert_eq!(read("Be brief.").expect("a text"), "Be brief.");
        assert_eq!(read("@pre.md").expect("a file"), "Be brief.");
        let inside = format!("@{}", workspace.join("pre.md").display());
        assert_eq!(read(&inside).expect("absolute, and within"), "Be brief.");
        for (value, why) in [
            ("@none.md", "the key names a file that cannot be read"),
            ("@", "the key names a file that cannot be read"),
            ("@../secret.md", "outside of the workspace"),
            ("@/etc/passwd", "outside of the workspace"),
            ("@noise", "not UTF-8"),
        ] {
            let error = read(value).expect_err(value).to_string();
            assert!(error.contains(why), "{value}: {error}");
        }
    }
}
