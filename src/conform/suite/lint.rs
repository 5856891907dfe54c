//! What no schema can say: identifiers exist, are unique and form no circle; every name that is used was drawn.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8PathBuf;
use serde_json::Value;

use super::load::Parts;
use crate::conform::spec::{CaseDocument, Column, ManifestDocument, Profile, names};
use crate::diag::{Diagnostic, closest};

#[cfg(test)]
mod tests;

type Findings = Vec<(Utf8PathBuf, Diagnostic)>;

/// Every finding about a suite whose documents are valid one by one.
pub(super) fn lint<P: Profile>(parts: &Parts<P>) -> Findings {
    let index = Index::of(parts);
    let mut findings = Findings::new();
    ledger(parts, &index, &mut findings);
    for (file, case) in &parts.cases {
        let mut wrong = case_alone(file.file_stem(), case);
        wrong.extend(case_among(case, &index));
        findings.extend(wrong.into_iter().map(|it| (file.clone(), it)));
    }
    duplicates(parts.cases.iter().map(|(file, case)| (file, case.head().id)), &mut findings);
    if let Some(circle) = circle(&index.needs) {
        let wrong =
            Diagnostic::error("needs-circle", format!("clauses presuppose one another: {}", circle.join(" → ")));
        findings.push(("cases".into(), wrong));
    }
    for (file, manifest) in &parts.manifests {
        let folder = file.parent().and_then(|folder| folder.file_name());
        findings.extend(candidate::<P>(folder, manifest, &index).into_iter().map(|it| (file.clone(), it)));
    }
    for item in &parts.claims.checklist {
        findings.extend(unknown(&item.clauses, &index, "/checklist").map(|it| ("claims.yaml".into(), it)));
    }
    findings
}

/// What exists in the suite.
struct Index<'a> {
    clauses: BTreeSet<&'a str>,
    /// Clause to its readings.
    readings: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// Clause to what its cases need; only clauses with a case.
    needs: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> Index<'a> {
    fn of<P: Profile>(parts: &'a Parts<P>) -> Self {
        let clauses = || parts.ledgers.iter().flat_map(|(_, clauses)| clauses);
        let mut needs: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (_, case) in &parts.cases {
            let head = case.head();
            needs.entry(head.clause).or_default().extend(head.needs.iter().map(String::as_str));
        }
        let readings = clauses()
            .map(|clause| (clause.id.as_str(), clause.readings.iter().map(|reading| reading.id.as_str()).collect()));
        Self { clauses: clauses().map(|clause| clause.id.as_str()).collect(), readings: readings.collect(), needs }
    }
}

fn ledger<P: Profile>(parts: &Parts<P>, index: &Index<'_>, findings: &mut Findings) {
    let all = || parts.ledgers.iter().flat_map(|(file, clauses)| clauses.iter().map(move |clause| (file, clause)));
    duplicates(all().map(|(file, clause)| (file, clause.id.as_str())), findings);
    for (file, clause) in all() {
        let mut wrong: Vec<Diagnostic> = unknown(&clause.presupposes, index, &clause.id).collect();
        wrong.extend(strange::<P>([&clause.column], &clause.id));
        let has_case = index.needs.contains_key(clause.id.as_str());
        let message = match (&clause.how, &clause.untested, has_case) {
            (Some(_), None, true) | (None, Some(_), false) => None,
            (Some(_), None, false) => Some("says how it is tested, but no case tests it"),
            (None, Some(_), true) => Some("says that nothing tests it, but a case does"),
            _ => Some("must say either how it is tested or why it is not"),
        };
        wrong.extend(message.map(|message| Diagnostic::error("clause-tested", format!("{} {message}", clause.id))));
        findings.extend(wrong.into_iter().map(|it| (file.clone(), it)));
    }
}

fn case_alone(stem: Option<&str>, case: &impl CaseDocument) -> Vec<Diagnostic> {
    let mut wrong = Vec::new();
    let head = case.head();
    if stem != Some(head.id) {
        let message = format!("the file is named {}, the case {}", stem.unwrap_or_default(), head.id);
        wrong.push(Diagnostic::error("case-stem", message).of("/id"));
    }
    if !head.id.starts_with(&head.clause.to_lowercase()) {
        let message = format!("the id {} does not begin with its clause {}", head.id, head.clause);
        wrong.push(Diagnostic::error("case-id", message).of("/id"));
    }
    wrong.extend(case.faults());
    let drawn: BTreeSet<&str> = head.drawn.keys().map(String::as_str).collect();
    let mut text = serde_json::to_value(case).expect("a case is plain data");
    if let Some(entries) = text.as_object_mut() {
        entries.remove("title");
        entries.remove("draw");
    }
    let mut used = BTreeSet::new();
    mentions(&text, &mut used);
    for name in used.iter().filter(|name| !drawn.contains(name.as_str()) && !case.bound().contains(&name.as_str())) {
        wrong.push(Diagnostic::error("case-name", format!("`${name}` was never drawn")).of("/draw"));
    }
    for name in drawn.iter().filter(|name| !used.contains(**name)) {
        wrong.push(Diagnostic::error("case-name", format!("`${name}` is drawn and never used")).of("/draw"));
    }
    wrong
}

fn case_among(case: &impl CaseDocument, index: &Index<'_>) -> Vec<Diagnostic> {
    let head = case.head();
    let mut wrong: Vec<Diagnostic> = unknown([head.clause], index, "/clause").collect();
    wrong.extend(unknown(head.needs, index, "/needs"));
    let caseless = head.needs.iter().filter(|need| !index.needs.contains_key(need.as_str()));
    wrong.extend(caseless.map(|need| {
        Diagnostic::error("case-needs", format!("{need} has no case, so nobody can tell whether it holds")).of("/needs")
    }));
    let none = BTreeSet::new();
    let known = index.readings.get(head.clause).unwrap_or(&none);
    let mut readings = BTreeSet::new();
    readings_of(&case.expectations(), &mut readings);
    wrong.extend(readings.iter().filter(|reading| !known.contains(reading.as_str())).map(|reading| {
        let known: Vec<&str> = known.iter().copied().collect();
        let message = format!("{} has no reading {reading}", head.clause);
        Diagnostic::error("case-reading", message).of("/expect").expected(format!("one of {known:?}"))
    }));
    wrong
}

fn candidate<P: Profile>(folder: Option<&str>, manifest: &P::Manifest, index: &Index<'_>) -> Vec<Diagnostic> {
    let attested = manifest.attest().iter().map(|it| it.clause.as_str());
    let mut wrong: Vec<Diagnostic> = unknown(attested, index, "/attest").collect();
    wrong.extend(unknown(manifest.reds().keys(), index, "/reds"));
    wrong.extend(strange::<P>(manifest.expect().keys(), "/expect"));
    wrong.extend(manifest.faults());
    let (name, key) = (manifest.name(), P::NAME);
    if folder != Some(name) {
        let message = format!("the folder is named {}, the {key} {name}", folder.unwrap_or_default());
        wrong.push(Diagnostic::error("manifest-folder", message).of(format!("/{key}")));
    }
    wrong
}

/// Columns of another profile.
fn strange<'a, P: Profile>(
    columns: impl IntoIterator<Item = &'a Column>,
    pointer: &str,
) -> impl Iterator<Item = Diagnostic> {
    let strangers = columns.into_iter().filter(|column| column.profile() != P::NAME);
    strangers.map(move |column| {
        let message = format!("{column} is a column of the {} profile, not of this one", column.profile());
        Diagnostic::error("strange-column", message).of(pointer)
    })
}

/// Identifiers that are in no ledger.
fn unknown<'a>(
    ids: impl IntoIterator<Item = &'a (impl AsRef<str> + ?Sized + 'a)>,
    index: &Index<'_>,
    pointer: &str,
) -> impl Iterator<Item = Diagnostic> {
    let strangers = ids.into_iter().map(AsRef::as_ref).filter(|id| !index.clauses.contains(id));
    strangers.map(move |id| {
        let finding = Diagnostic::error("unknown-clause", format!("the ledger has no clause {id}")).of(pointer);
        match closest(id, index.clauses.iter().copied()) {
            Some(similar) => finding.help(format!("did you mean {similar}?")),
            None => finding,
        }
    })
}

fn duplicates<'a>(ids: impl Iterator<Item = (&'a Utf8PathBuf, &'a str)>, findings: &mut Findings) {
    let mut seen: BTreeMap<&str, &Utf8PathBuf> = BTreeMap::new();
    for (file, id) in ids {
        if let Some(first) = seen.insert(id, file) {
            let wrong = Diagnostic::error("duplicate-id", format!("{id} stands in {first} too"));
            findings.push((file.clone(), wrong));
        }
    }
}

/// A circle in what clauses presuppose, if there is one.
fn circle(needs: &BTreeMap<&str, BTreeSet<&str>>) -> Option<Vec<String>> {
    let mut open: BTreeSet<&str> = needs.keys().copied().collect();
    loop {
        let settled = |clause: &&&str| needs[**clause].iter().all(|need| !open.contains(need));
        let Some(clause) = open.iter().find(settled).copied() else { break };
        open.remove(clause);
    }
    let mut at = *open.first()?;
    let mut path: Vec<&str> = Vec::new();
    while !path.contains(&at) {
        path.push(at);
        at = needs[at].iter().find(|need| open.contains(*need)).expect("an open clause needs an open one");
    }
    let start = path.iter().position(|step| *step == at).unwrap_or_default();
    Some(path[start..].iter().chain([&at]).map(|clause| (*clause).to_owned()).collect())
}

fn mentions(value: &Value, used: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => used.extend(names::mentioned(text).into_iter().map(str::to_owned)),
        Value::Array(items) => items.iter().for_each(|item| mentions(item, used)),
        Value::Object(entries) => {
            for (key, entry) in entries {
                used.extend(names::mentioned(key).into_iter().map(str::to_owned));
                mentions(entry, used);
            }
        }
        _ => {}
    }
}

/// Every reading that an expectation names.
fn readings_of(value: &Value, readings: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| readings_of(item, readings)),
        Value::Object(entries) => {
            for (key, entry) in entries {
                match entry.as_str().filter(|_| matches!(key.as_str(), "reading" | "or_absent")) {
                    Some(reading) => _ = readings.insert(reading.to_owned()),
                    None => readings_of(entry, readings),
                }
            }
        }
        _ => {}
    }
}
