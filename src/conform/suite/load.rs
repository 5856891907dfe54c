//! From files to a suite: schema first, types second, then the rules between documents.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use serde::de::DeserializeOwned;

use super::Selection;
use super::bundle::Files;
use super::kinds::{CONTRACT_CLAIMS, CONTRACT_LEDGER, Ledger};
use super::lint;
use crate::conform::spec::{CaseDocument, Claims, Clause, ManifestDocument, Profile, RuntimeProfile};
use crate::diag::{Budget, Diagnostic, Severity};
use crate::schema::Checker;

/// Everything that the candidates of a profile are judged by, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite<P: Profile = RuntimeProfile> {
    /// The clauses, in the order of the ledger.
    pub clauses: Vec<Clause>,
    /// The contract's own word.
    pub claims: Claims,
    /// The cases, by identifier.
    pub cases: Vec<P::Case>,
    /// Drawn stories, which are told beside the cases; none unless they were asked for.
    pub(super) stories: Vec<P::Case>,
    /// For every case, the first that does the same to a candidate.
    leaders: Vec<usize>,
    /// The bundled candidates by name, with the path of the manifest.
    pub(super) manifests: BTreeMap<String, (Utf8PathBuf, P::Manifest)>,
    /// The files themselves.
    pub(super) files: Files,
    /// SHA-256 in hex over ledger, claims and cases.
    pub hash: String,
}

/// Something wrong with a file of a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The file, below the root of the suite.
    pub file: Utf8PathBuf,
    /// Its text.
    pub text: String,
    /// What is wrong.
    pub diagnostic: Diagnostic,
}

/// Documents with the file that each came from.
pub(super) struct Parts<P: Profile> {
    pub(super) ledgers: Vec<(Utf8PathBuf, Vec<Clause>)>,
    pub(super) cases: Vec<(Utf8PathBuf, P::Case)>,
    pub(super) claims: Claims,
    pub(super) manifests: Vec<(Utf8PathBuf, P::Manifest)>,
}

impl<P: Profile> Suite<P> {
    /// Reads and checks a suite.
    ///
    /// # Errors
    /// Every finding, in the order of the files.
    pub fn load(files: Files) -> Result<Self, Vec<Finding>> {
        let mut findings = Vec::new();
        let parts = read::<P>(&files, &mut findings);
        let Some(parts) = parts.filter(|_| findings.is_empty()) else { return Err(findings) };
        findings.extend(lint::lint(&parts).into_iter().map(|(file, diagnostic)| finding(&files, file, diagnostic)));
        if findings.iter().any(|finding| finding.diagnostic.severity == Severity::Error) {
            return Err(findings);
        }
        let mut cases: Vec<P::Case> = parts.cases.into_iter().map(|(_, case)| case).collect();
        cases.sort_by(|a, b| a.head().id.cmp(b.head().id));
        let manifests = parts.manifests.into_iter().map(|(path, it)| (it.name().to_owned(), (path, it)));
        Ok(Self {
            clauses: parts.ledgers.into_iter().flat_map(|(_, clauses)| clauses).collect(),
            claims: parts.claims,
            leaders: leaders(&cases),
            cases,
            stories: Vec::new(),
            manifests: manifests.collect(),
            hash: files.hash(),
            files,
        })
    }

    /// The same, with so many stories drawn under the seed. Without any, no case that is about stories is selected.
    #[must_use]
    pub fn with_stories(self, seed: u64, count: usize) -> Self {
        Self { stories: P::stories(seed, count), ..self }
    }

    /// How many stories are told beside the cases.
    #[must_use]
    pub fn stories(&self) -> usize {
        self.stories.len()
    }

    /// What is done to a candidate under this number: a case, or, after the last of them, a story.
    pub(in crate::conform) fn scene(&self, index: usize) -> &P::Case {
        self.cases.get(index).unwrap_or_else(|| &self.stories[index - self.cases.len()])
    }

    /// The numbers of the stories.
    pub(in crate::conform) fn story_numbers(&self) -> std::ops::Range<usize> {
        self.cases.len()..self.cases.len() + self.stories.len()
    }

    /// A case or a story by its identifier.
    pub(in crate::conform) fn named(&self, id: &str) -> Option<&P::Case> {
        self.cases.iter().chain(&self.stories).find(|case| case.head().id == id)
    }

    /// A clause by its identifier.
    #[must_use]
    pub fn clause(&self, id: &str) -> Option<&Clause> {
        self.clauses.iter().find(|clause| clause.id == id)
    }

    /// The first case that does the same to a candidate as this one. What a scenario draws depends on its first case alone, so
    /// that it draws the same whichever of its cases are selected.
    pub(in crate::conform) fn leader(&self, index: usize) -> usize {
        self.leaders[index]
    }

    /// A case that is no part of the suite, read as if it were: `text` is what stands in the file.
    ///
    /// # Errors
    /// Every finding: it is no case, or is about a clause that the suite does not have.
    pub fn case_beside(&self, file: &Utf8Path, text: &str) -> Result<P::Case, Vec<Finding>> {
        let finding = |diagnostic| Finding { file: file.to_path_buf(), text: text.to_owned(), diagnostic };
        let read = Checker::new(P::CASE).read::<P::Case>(text.as_bytes(), file, &Budget::default());
        let case = read.map_err(|wrong| wrong.into_iter().map(finding).collect::<Vec<_>>())?;
        let clause = case.head().clause;
        if self.clause(clause).is_some() {
            return Ok(case);
        }
        let unknown = Diagnostic::error("clause-unknown", format!("there is no clause {clause}"));
        Err(vec![finding(unknown.help("name a clause of the ledger; `loa-conform list` shows every one"))])
    }

    /// The first case that does the same to a candidate as the one of this identifier, and that one itself.
    #[must_use]
    pub fn scenario(&self, id: &str) -> Option<(&P::Case, &P::Case)> {
        if let Some(story) = self.stories.iter().find(|story| story.head().id == id) {
            return Some((story, story));
        }
        let index = self.cases.iter().position(|case| case.head().id == id)?;
        Some((&self.cases[self.leader(index)], &self.cases[index]))
    }

    /// The first case of the scenario in which nothing goes wrong and nothing is asked: one plain run.
    pub(in crate::conform) fn control(&self) -> Option<usize> {
        self.cases.iter().position(P::Case::is_plain).map(|index| self.leader(index))
    }

    /// The cases of a clause.
    pub fn cases_of(&self, clause: &str) -> impl Iterator<Item = &P::Case> {
        self.cases.iter().filter(move |case| case.head().clause == clause)
    }

    /// The names of the bundled candidates.
    pub fn bundled(&self) -> impl Iterator<Item = &str> {
        self.manifests.keys().map(String::as_str)
    }

    /// Cases that are asked for, and what these presuppose: of that, too, only the quick cases where there are any.
    #[must_use]
    pub fn select(&self, asked: &Selection) -> BTreeSet<usize> {
        let mut chosen: BTreeSet<usize> = self
            .positions(|case| {
                let head = case.head();
                let told = !case.is_about_stories() || !self.stories.is_empty();
                told && asked.asks_for(&head, self.clause(head.clause)) && (!asked.quick || case.is_quick())
            })
            .collect();
        loop {
            let needs: BTreeSet<&str> =
                chosen.iter().flat_map(|index| self.cases[*index].head().needs).map(String::as_str).collect();
            let presupposed = |clause: &str| {
                let of = |quick: bool| {
                    self.positions(move |case| case.head().clause == clause && (!quick || case.is_quick()))
                };
                let some: Vec<usize> = of(asked.quick).collect();
                if some.is_empty() { of(false).collect() } else { some }
            };
            let more: Vec<usize> = needs.iter().flat_map(|clause| presupposed(clause)).collect();
            let before = chosen.len();
            let told = |case: &P::Case| !case.is_about_stories() || !self.stories.is_empty();
            let wanted = |index: &usize| told(&self.cases[*index]) && !asked.skips(&self.cases[*index].head());
            chosen.extend(more.into_iter().filter(wanted));
            if chosen.len() == before {
                return chosen;
            }
        }
    }

    fn positions(&self, wanted: impl Fn(&P::Case) -> bool) -> impl Iterator<Item = usize> {
        self.cases.iter().enumerate().filter(move |(_, case)| wanted(case)).map(|(index, _)| index)
    }
}

/// Whether a text begins with a pattern, case aside; `*` stands for any characters, and commas part several patterns.
#[must_use]
pub(in crate::conform) fn matches(pattern: &str, text: &str) -> bool {
    let text = text.to_lowercase();
    pattern.to_lowercase().split(',').any(|pattern| begins(pattern, &text))
}

fn begins(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    for part in parts {
        let Some(found) = rest.find(part) else { return false };
        rest = &rest[found + part.len()..];
    }
    !pattern.is_empty()
}

/// For every case, the first that does the same: everything but what only the verdict looks at is equal.
fn leaders<C: CaseDocument>(cases: &[C]) -> Vec<usize> {
    let scenario = |case: &C| serde_json::to_string(&case.scenario()).expect("a case is plain data");
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    cases.iter().enumerate().map(|(index, case)| *first.entry(scenario(case)).or_insert(index)).collect()
}

fn finding(files: &Files, file: Utf8PathBuf, diagnostic: Diagnostic) -> Finding {
    let text = files.0.get(&file).map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default();
    Finding { file, text, diagnostic }
}

fn read<P: Profile>(files: &Files, findings: &mut Vec<Finding>) -> Option<Parts<P>> {
    let mut reader = Reader { files, findings };
    let ledgers: Vec<(Utf8PathBuf, Ledger)> =
        reader.all(&Checker::new(&CONTRACT_LEDGER), |path| path.starts_with("ledger"));
    let cases = reader.all(&Checker::new(P::CASE), |path| path.starts_with("cases"));
    let manifests = reader.all(&Checker::new(P::MANIFEST), |path| path.file_name() == Some("manifest.yaml"));
    let claims: Vec<(Utf8PathBuf, Claims)> = reader.all(&Checker::new(&CONTRACT_CLAIMS), |path| path == "claims.yaml");
    let (_, claims) = claims.into_iter().next()?;
    let ledgers = ledgers.into_iter().map(|(path, Ledger(clauses))| (path, clauses)).collect();
    Some(Parts { ledgers, cases, claims, manifests })
}

struct Reader<'a> {
    files: &'a Files,
    findings: &'a mut Vec<Finding>,
}

impl Reader<'_> {
    fn all<T: DeserializeOwned>(
        &mut self,
        checker: &Checker,
        ours: impl Fn(&Utf8Path) -> bool,
    ) -> Vec<(Utf8PathBuf, T)> {
        let yaml = |path: &Utf8Path| path.extension() == Some("yaml");
        let mut all = Vec::new();
        for (path, bytes) in self.files.0.iter().filter(|(path, _)| yaml(path) && ours(path)) {
            match checker.read(bytes, path, &Budget::default()) {
                Ok(value) => all.push((path.clone(), value)),
                Err(wrong) => {
                    self.findings.extend(wrong.into_iter().map(|it| finding(self.files, path.clone(), it)));
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("EXIT-003", "exit-003-retried", true),
            ("exit", "EXIT-003", true),
            ("*retried", "exit-003-retried", true),
            ("ex*3*tri", "exit-003-retried", true),
            ("retried", "exit-003-retried", false),
            ("ex*4", "exit-003-retried", false),
            ("", "exit-003-retried", false),
            ("ctx,exit", "exit-003-retried", true),
            ("ctx,", "exit-003-retried", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
