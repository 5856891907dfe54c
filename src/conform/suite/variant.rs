//! Variants: a bundled runtime or agent with something changed, as data, so that the judge itself can be judged.
//!
//! A faulty one breaks the contract and must be killed by the case that it names, for the reason that it names. A lawful one
//! takes another legal reading and must not be red. This file reads them and lays them out as runtimes of their own; it
//! neither runs a case nor decides about one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::conform::spec::{Profile, Reason};
use crate::system::files::{self, FileError, Privacy};

/// Longest file of a bundled runtime, in bytes.
const LONGEST: u64 = 1 << 20;

/// One file under `fixtures/faulty/`, `fixtures/lawful/` or their folder `agents`, whose stem equals `variant`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Runtime variant")]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Short name.
    pub variant: String,
    /// The bundled runtime or agent that it changes.
    pub base: String,
    /// What is different, in one sentence.
    pub about: String,
    /// Edits of the base's files; each must be possible in exactly one place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub change: Vec<Change>,
    /// Files laid beside the base's: name to content.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Keys of the base's manifest that are replaced; null removes one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub manifest: BTreeMap<String, Value>,
    /// For a faulty one: what must kill it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kills: Option<Kill>,
    /// For a faulty one: the other clauses that turn red with it, all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// For a lawful one: the reading of the ledger that it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<String>,
}

/// An edit of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The file, in the base's folder.
    pub file: String,
    /// What stands there, exactly once.
    pub find: String,
    /// What stands there afterwards.
    pub replace: String,
}

/// What must kill a faulty variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kill {
    /// The case.
    pub case: String,
    /// The reason code of one of its failed checks.
    pub reason: Reason,
}

/// Why a variant is void: it says nothing about the judge.
#[derive(Debug, thiserror::Error)]
pub enum VariantError {
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is no variant, or a manifest is none.
    #[error("{} is not what it should be: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// An edit fits nowhere, or in several places.
    #[error("variant {variant}: `{find}` occurs {count} times in {file}, not once")]
    Misfit {
        /// The variant.
        variant: String,
        /// The file of the base.
        file: String,
        /// What was looked for.
        find: String,
        /// How often it is there.
        count: usize,
    },
}

impl VariantError {
    fn malformed(path: &Path, problem: &impl ToString) -> Self {
        Self::Malformed { path: path.to_path_buf(), problem: problem.to_string() }
    }
}

impl Variant {
    /// Reads every variant of a folder, sorted by name.
    ///
    /// # Errors
    /// [`VariantError`]: a file that cannot be read, or is none by [`Variant::parse`].
    pub fn read_all(folder: &Path) -> Result<Vec<Self>, VariantError> {
        let yaml = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "yaml");
        files::list(folder)?.iter().filter(|path| yaml(path)).map(|path| Self::parse(path, &text(path)?)).collect()
    }

    /// Reads a variant.
    ///
    /// # Errors
    /// [`VariantError::Malformed`]: it is no variant, has another name than it says, changes nothing, or is neither faulty
    /// nor lawful.
    pub fn parse(path: &Path, text: &str) -> Result<Self, VariantError> {
        let variant: Self = parse(path, text)?;
        if path.file_stem().is_none_or(|stem| *stem != *variant.variant) {
            return Err(VariantError::malformed(path, &format!("it calls itself {}", variant.variant)));
        }
        if variant.kills.is_some() == variant.reading.is_some() {
            return Err(VariantError::malformed(path, &"either `kills` or `reading` must be there"));
        }
        if variant.change.is_empty() && variant.files.is_empty() && variant.manifest.is_empty() {
            return Err(VariantError::malformed(path, &"it changes nothing"));
        }
        Ok(variant)
    }

    /// Whether it breaks the contract, rather than reading it another way.
    #[must_use]
    pub fn is_faulty(&self) -> bool {
        self.kills.is_some()
    }

    /// Lays the variant out in the empty folder `into`, from the bundled candidates in `bundled`: the base's files with the
    /// edits done, the added files, and the manifest, which is also returned.
    ///
    /// # Errors
    /// [`VariantError`], above all for an edit that does not fit: a variant that is not what it says kills nothing.
    pub fn lay_out<P: Profile>(&self, bundled: &Path, into: &Path) -> Result<P::Manifest, VariantError> {
        let base = bundled.join(&self.base);
        let mut laid = BTreeMap::new();
        for path in files::list(&base)?.iter().filter(|path| path.is_file()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            laid.insert(name, text(path)?);
        }
        for change in &self.change {
            let content = laid.get_mut(&change.file);
            let edited = self.edit(change, content.as_deref().map_or("", String::as_str))?;
            laid.insert(change.file.clone(), edited);
        }
        laid.extend(self.files.clone());
        let manifest =
            self.derive::<P>(&base.join("manifest.yaml"), laid.get("manifest.yaml").map_or("", String::as_str))?;
        let written = serde_yaml::to_string(&manifest).map_err(|error| VariantError::malformed(into, &error))?;
        laid.insert("manifest.yaml".to_owned(), written);
        for (name, content) in &laid {
            files::write_durably(&into.join(name), content.as_bytes(), Privacy::Shared)?;
        }
        Ok(manifest)
    }

    fn edit(&self, change: &Change, content: &str) -> Result<String, VariantError> {
        match content.matches(&change.find).count() {
            1 => Ok(content.replacen(&change.find, &change.replace, 1)),
            count => Err(VariantError::Misfit {
                variant: self.variant.clone(),
                file: change.file.clone(),
                find: change.find.clone(),
                count,
            }),
        }
    }

    /// The base's manifest under a name of its own, with the replaced keys, and without what its makers and we say about
    /// the base.
    fn derive<P: Profile>(&self, path: &Path, base: &str) -> Result<P::Manifest, VariantError> {
        let mut keys: serde_json::Map<String, Value> = parse(path, base)?;
        for key in ["build", "claims", "attest", "expect", "reds"] {
            keys.remove(key);
        }
        keys.insert(P::NAME.to_string(), format!("{}+{}", self.base, self.variant).into());
        keys.insert("about".to_owned(), self.about.clone().into());
        for (key, value) in &self.manifest {
            if value.is_null() {
                keys.remove(key);
            } else {
                keys.insert(key.clone(), value.clone());
            }
        }
        serde_json::from_value(Value::Object(keys)).map_err(|error| VariantError::malformed(path, &error))
    }
}

fn text(path: &Path) -> Result<String, VariantError> {
    String::from_utf8(files::read(path, LONGEST)?).map_err(|error| VariantError::malformed(path, &error))
}

fn parse<T: serde::de::DeserializeOwned>(path: &Path, text: &str) -> Result<T, VariantError> {
    serde_yaml::from_str(text).map_err(|error| VariantError::malformed(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conform::spec::{Manifest, RuntimeProfile};

    fn variant(yaml: &str) -> Variant {
        serde_yaml::from_str(yaml).expect("a variant")
    }

    fn laid(variant: &Variant) -> Result<(Manifest, String), VariantError> {
        let runtimes = tempfile::tempdir().expect("a folder");
        let into = tempfile::tempdir().expect("a folder");
        let base = runtimes.path().join("sh");
        files::ensure_folder(&base).expect("made");
        let manifest = "runtime: sh\nversion: [sh]\nrun: [sh, '{dir}/a.sh']\nwaits: true\nexpect: {escalation: Full}\n";
        for (name, content) in [("a.sh", "max=3\nmin=1\n"), ("manifest.yaml", manifest)] {
            files::write_durably(&base.join(name), content.as_bytes(), Privacy::Shared).expect("written");
        }
        let manifest = variant.lay_out::<RuntimeProfile>(runtimes.path(), into.path())?;
        Ok((manifest, text(&into.path().join("a.sh"))?))
    }

    #[test]
    fn the_edit_is_done_and_the_manifest_derived() {
        let changed = variant(
            "{variant: four, base: sh, about: Four., reading: C-01b, manifest: {waits: null, poll_ms: 50},\n\
             change: [{file: a.sh, find: max=3, replace: max=4}]}",
        );
        let (manifest, content) = laid(&changed).expect("laid out");
        assert_eq!(content, "max=4\nmin=1\n");
        assert_eq!((manifest.runtime.as_str(), manifest.waits, manifest.poll_ms), ("sh+four", false, 50));
        assert!(manifest.expect.is_empty(), "what is known of the base is not known of the variant");
    }

    #[test]
    fn an_edit_that_does_not_fit_exactly_once_is_void() {
        for (find, count) in [("max=9", 0), ("=", 2)] {
            let mut misfit = variant("{variant: v, base: sh, about: V., reading: C-01b}");
            misfit.change = vec![Change { file: "a.sh".into(), find: find.into(), replace: "x".into() }];
            let error = laid(&misfit).expect_err("void");
            assert!(matches!(error, VariantError::Misfit { count: found, .. } if found == count), "{error}");
        }
    }

    #[test]
    fn a_variant_is_named_after_its_file_and_is_either_faulty_or_lawful() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("v.yaml");
        for (content, problem) in [
            ("{variant: w, base: sh, about: V., reading: C-01b, files: {a: b}}", "calls itself w"),
            ("{variant: v, base: sh, about: V., files: {a: b}}", "either"),
            ("{variant: v, base: sh, about: V., reading: C-01b}", "changes nothing"),
            ("{variant: v, base: sh, about: V., reading: C-01b, colour: red}", "colour"),
        ] {
            files::write_durably(&path, content.as_bytes(), Privacy::Shared).expect("written");
            let error = Variant::read_all(folder.path()).expect_err(problem).to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
