//! What an execution was begun with, and goes on with whatever phases write.

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use base16ct::lower::encode_string;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A file that the settings or the plan of an execution come from, as it was when it was taken for this execution. What
/// stood in it may hold secrets, and is kept with the state, not here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedFile {
    /// What it is to the run.
    pub role: PinnedRole,
    /// Where it was: relative to the workspace, when it lay there.
    pub path: PathBuf,
    /// The digest of what stood in it, as [`PinnedFile::digest`] makes it; absent where there was no such file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// What a file is to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PinnedRole {
    /// The workspace's configuration.
    Configuration,
    /// The user's own configuration.
    UserConfiguration,
    /// The file of an older program's home.
    OldHome,
    /// The file of an older program in the workspace.
    OldProject,
    /// The plan.
    Plan,
    /// What the environment said over the configuration, as one JSON object.
    Environment,
    /// A file that a command names, and none of the following.
    Command,
    /// A script that a gate starts.
    Gate,
    /// A file that a gate names and does not start.
    GateInput,
    /// A file that the deployment names: its approval is asked for it as it is.
    Deploy,
    /// A script of a program by which people are told.
    Notify,
    /// A program that a gate, or the deployment, looks for by `PATH`.
    Program,
    /// A file that is named by `runtime.protects`.
    Protected,
    /// A file whose text stands around what an agent is told.
    Prompt,
    /// Something that a newer program pins.
    #[serde(other)]
    Other,
}

/// Whether an execution may go on with a configuration that asks for less.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeakerQuestion {
    /// What names exactly that configuration.
    pub code: String,
    /// Somebody agreed to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub agreed: bool,
    /// What stood behind `loa-run resume` where it was asked for, to be said again.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub again: String,
}

/// Files that are not as an execution began with them, as people are told: some of them by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFiles {
    /// The first of them.
    pub names: Vec<String>,
    /// How many there are besides.
    #[serde(default)]
    pub more: usize,
}

impl ChangedFiles {
    /// How many are named.
    const NAMED: usize = 10;

    /// These files, in this order; one that is gone says so.
    pub fn of<'a>(files: impl IntoIterator<Item = &'a PinnedFile>) -> Self {
        // One may be two things to the run: where a link leads nowhere, it is gone as a script, and there as a protected file.
        let mut found: Vec<(&Path, bool)> = Vec::new();
        for file in files {
            match found.iter_mut().find(|(path, _)| *path == file.path) {
                Some((_, is_gone)) => *is_gone &= file.sha256.is_none(),
                None => found.push((&file.path, file.sha256.is_none())),
            }
        }
        let name =
            |(path, is_gone): (&Path, bool)| format!("{}{}", path.display(), if is_gone { " (gone)" } else { "" });
        let mut names: Vec<String> = found.into_iter().map(name).collect();
        let more = names.len().saturating_sub(Self::NAMED);
        names.truncate(Self::NAMED);
        Self { names, more }
    }

    /// And this, before all others.
    #[must_use]
    pub fn with(mut self, name: Option<String>) -> Self {
        self.names.splice(0..0, name);
        self
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

impl fmt::Display for ChangedFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names.join(", "))?;
        if self.more > 0 { write!(f, " and {} more", self.more) } else { Ok(()) }
    }
}

impl PinnedFile {
    /// SHA-256 of a text, in hexadecimal digits.
    #[must_use]
    pub fn digest(text: impl AsRef<[u8]>) -> String {
        encode_string(&Sha256::digest(text))
    }

    /// The digest of what a reader yields, to its end.
    ///
    /// # Errors
    /// What the reader says.
    pub fn digest_of(mut reader: impl Read) -> io::Result<String> {
        let (mut hasher, mut buffer) = (Sha256::new(), vec![0; 64 * 1024]);
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok(encode_string(&hasher.finalize())),
                Ok(read) => hasher.update(&buffer[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Why a gate was not asked, or a deployment not started, in words: the scripts, programs and protected files that are not
    /// those of the start.
    #[must_use]
    pub fn why_not_asked(files: &[Self]) -> String {
        let of = |role: PinnedRole| files.iter().filter(move |file| file.role == role);
        let is_script =
            |file: &&Self| of(PinnedRole::Gate).chain(of(PinnedRole::Deploy)).any(|script| script.path == file.path);
        let said = |what: &str, files: ChangedFiles| {
            (!files.is_empty()).then(|| format!("{what} changed since the start: {files}"))
        };
        let scripts = said("gate script", ChangedFiles::of(of(PinnedRole::Gate)));
        let deployed = said("file of the deployment", ChangedFiles::of(of(PinnedRole::Deploy)));
        let programs = said("program", ChangedFiles::of(of(PinnedRole::Program)));
        let protected =
            said("protected files", ChangedFiles::of(of(PinnedRole::Protected).filter(|file| !is_script(file))));
        scripts.into_iter().chain(deployed).chain(programs).chain(protected).collect::<Vec<_>>().join("; ")
    }

    /// Whether settings or a plan are read from it, so that an execution goes on with what stood in it. Of other files it is
    /// only said when they change.
    #[must_use]
    pub fn is_read(&self) -> bool {
        use PinnedRole::{Command, Deploy, Gate, GateInput, Notify, Program, Prompt, Protected};
        !matches!(self.role, Command | Deploy | Gate | GateInput | Notify | Program | Prompt | Protected)
    }

    /// Where it is now, for a workspace that may have moved.
    #[must_use]
    pub fn place(&self, workspace: &Path) -> PathBuf {
        workspace.join(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(role: PinnedRole, path: &str, sha256: Option<&str>) -> PinnedFile {
        PinnedFile { role, path: path.into(), sha256: sha256.map(str::to_owned) }
    }

    #[test]
    fn scripts_and_protected_files_are_told_apart_and_at_most_ten_are_named() {
        use PinnedRole::{Gate, Protected};
        let (script, gone) = (file(Gate, "check.sh", Some("1")), file(Protected, "tests/one", None));
        for (files, words) in [
            (vec![script.clone()], "gate script changed since the start: check.sh"),
            (vec![file(PinnedRole::Program, "./bin/check", Some("1"))], "program changed since the start: ./bin/check"),
            (
                vec![file(Gate, "check.sh", None), file(Protected, "check.sh", Some("1"))],
                "gate script changed since the start: check.sh (gone)",
            ),
            (vec![gone.clone()], "protected files changed since the start: tests/one (gone)"),
            (
                vec![gone, script],
                "gate script changed since the start: check.sh; protected files changed since the start: tests/one (gone)",
            ),
        ] {
            assert_eq!(PinnedFile::why_not_asked(&files), words);
        }
        let many: Vec<_> = (10..22).map(|number| file(Protected, &number.to_string(), Some("1"))).collect();
        let twice = many.iter().chain(&many);
        let link = [file(Protected, "link", Some("1")), file(Gate, "link", None)];
        assert_eq!(ChangedFiles::of(&link).to_string(), "link");
        assert_eq!(ChangedFiles::of(twice).to_string(), "10, 11, 12, 13, 14, 15, 16, 17, 18, 19 and 2 more");
    }

    #[test]
    fn a_digest_is_the_same_of_a_text_and_of_its_reader() {
        let text = vec![7; 200_000];
        assert_eq!(PinnedFile::digest_of(&text[..]).expect("read"), PinnedFile::digest(&text));
    }
}
