//! What no candidate is kept from being judged by, and the makers of a suite want to know all the same: whether a faulty
//! variant dies of every MUST, and what of a suite is there twice, for nothing, or not filled in yet.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use camino::Utf8PathBuf;

use super::load::{Finding, Suite};
use super::{Variant, VariantError};
use crate::conform::spec::{CaseDocument, Level, Profile, TimeMethod};
use crate::diag::{Diagnostic, closest};

/// What stands where a scaffold leaves something to its author.
pub const FILL_IN: &str = "FILL IN";

impl<P: Profile> Suite<P> {
    /// The variants of the suite, faulty ones first, each by name.
    ///
    /// # Errors
    /// [`VariantError`]: a file that is no variant, or lies in the folder of the others.
    pub fn variants(&self) -> Result<Vec<Variant>, VariantError> {
        self.variant_files().map(|(path, bytes)| variant(path, bytes)).collect()
    }

    fn variant_files(&self) -> impl Iterator<Item = (&Utf8PathBuf, &Vec<u8>)> {
        let is_variant = |path: &Utf8PathBuf| {
            (path.starts_with("faulty") || path.starts_with("lawful")) && path.extension() == Some("yaml")
        };
        self.files.0.iter().filter(move |(path, _)| is_variant(path))
    }

    /// Everything that its makers should mend. A suite with errors here still judges; what it proves is less than it says.
    #[must_use]
    pub fn advice(&self) -> Vec<Finding> {
        let mut found = self.unfilled();
        let mut variants = Vec::new();
        for (path, bytes) in self.variant_files() {
            match variant(path, bytes) {
                Ok(variant) => variants.push((path, variant)),
                Err(error) => found.push((path.clone(), Diagnostic::error("variant", error.to_string()))),
            }
        }
        found.extend(self.strangers(&variants));
        if !variants.is_empty() {
            found.extend(self.spared(&variants));
        }
        found.extend(self.in_vain());
        let text = |file: &Utf8PathBuf| self.files.0.get(file).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let findings = found.into_iter().map(|(file, diagnostic)| {
            let text = text(&file).unwrap_or_default();
            Finding { file, text, diagnostic }
        });
        findings.collect()
    }

    /// What a scaffold left open.
    fn unfilled(&self) -> Vec<(Utf8PathBuf, Diagnostic)> {
        let all = self.files.0.iter().filter(|(path, _)| path.extension() == Some("yaml"));
        let open = all.filter(|(_, bytes)| String::from_utf8_lossy(bytes).contains(FILL_IN));
        open.map(|(path, _)| {
            let wrong = Diagnostic::error("fill-in", format!("`{FILL_IN}` still stands here"));
            (path.clone(), wrong.help("replace each such text, with what stands behind it as a hint"))
        })
        .collect()
    }

    /// What variants name and nobody knows, and two that die of the same.
    fn strangers(&self, variants: &[(&Utf8PathBuf, Variant)]) -> Vec<(Utf8PathBuf, Diagnostic)> {
        let cases: BTreeSet<&str> = self.cases.iter().map(|case| case.head().id).collect();
        let readings: BTreeSet<&str> =
            self.clauses.iter().flat_map(|it| &it.readings).map(|reading| reading.id.as_str()).collect();
        let bases: BTreeSet<&str> = self.bundled().collect();
        let clauses: BTreeSet<&str> = self.clauses.iter().map(|it| it.id.as_str()).collect();
        let mut found = Vec::new();
        let mut deaths = BTreeMap::new();
        for (path, variant) in variants {
            let kill = variant.kills.as_ref();
            let named = [
                ("case", &cases, kill.map(|kill| kill.case.as_str()).into_iter().collect::<Vec<_>>()),
                ("reading", &readings, variant.reading.as_deref().into_iter().collect()),
                ("base", &bases, vec![variant.base.as_str()]),
                ("clause", &clauses, variant.also.iter().map(String::as_str).collect()),
            ];
            for (what, known, names) in named {
                let unknown = names.into_iter().filter(|name| !known.contains(name));
                found.extend(unknown.map(|name| ((*path).clone(), stranger(what, name, known))));
            }
            found.extend(self.misfits(variant).map(|wrong| ((*path).clone(), wrong)));
            let first = kill.and_then(|kill| deaths.insert((kill.case.clone(), kill.reason), *path));
            found.extend(first.map(|first| {
                let message = format!("{first} dies of the same case for the same reason");
                ((*path).clone(), Diagnostic::error("variant-twin", message))
            }));
        }
        found
    }

    /// Edits that are not possible in exactly one place of the base.
    fn misfits<'a>(&'a self, variant: &'a Variant) -> impl Iterator<Item = Diagnostic> + 'a {
        let folder = Utf8PathBuf::from(format!("{}s", P::NAME)).join(&variant.base);
        let count = move |file: &str, find: &str| {
            let bytes = self.files.0.get(&folder.join(file));
            bytes.map_or(0, |bytes| String::from_utf8_lossy(bytes).matches(find).count())
        };
        let all = variant.change.iter().map(move |it| (it, count(&it.file, &it.find)));
        all.filter(|(_, count)| *count != 1).map(|(it, count)| {
            let message = format!("`{}` occurs {count} times in {}, not once", it.find, it.file);
            Diagnostic::error("variant-misfit", message)
        })
    }

    /// MUSTs that are tested, and of which no variant dies: nothing shows that the judge would notice.
    fn spared(&self, variants: &[(&Utf8PathBuf, Variant)]) -> Vec<(Utf8PathBuf, Diagnostic)> {
        let of = |case: &str| self.cases.iter().map(CaseDocument::head).find(|head| head.id == case);
        let kills = variants.iter().filter_map(|(_, variant)| variant.kills.as_ref());
        let dead: BTreeSet<&str> = kills.filter_map(|kill| of(&kill.case)).map(|head| head.clause).collect();
        let musts = self.clauses.iter().filter(|it| it.level == Level::Must && it.how.is_some());
        let spared = musts.filter(|clause| !dead.contains(clause.id.as_str()));
        spared
            .map(|clause| {
                let message = format!("{} is a MUST with a case, and no faulty variant dies of it", clause.id);
                let help = format!("`loa-conform new {}` scaffolds one", clause.id);
                ("faulty".into(), Diagnostic::warning("must-without-variant", message).help(help))
            })
            .collect()
    }

    /// What is there twice or for nothing.
    fn in_vain(&self) -> Vec<(Utf8PathBuf, Diagnostic)> {
        let mut found = Vec::new();
        let mut known: BTreeMap<String, &str> = BTreeMap::new();
        for case in &self.cases {
            let head = case.head();
            let place = Utf8PathBuf::from(format!("cases/{}.yaml", head.id));
            let mut tell = |diagnostic| found.push((place.clone(), diagnostic));
            let twice = head.needs.iter().enumerate().find(|(index, need)| head.needs[..*index].contains(need));
            if let Some((_, need)) = twice {
                tell(Diagnostic::error("needs-twice", format!("{} needs {need} twice", head.id)));
            }
            let all = serde_json::json!([head.clause, case.scenario(), case.expectations()]).to_string();
            if let Some(first) = known.insert(all, head.id) {
                tell(Diagnostic::error("case-twin", format!("{} asks what {first} asks", head.id)));
            }
            let text = serde_json::to_value(case).expect("a case is plain data");
            let knobs = text.get("knobs").and_then(|knobs| knobs.as_object()).is_some_and(|knobs| !knobs.is_empty());
            if head.time == TimeMethod::Scaled && !knobs {
                tell(Diagnostic::error("time-unscaled", format!("{} is scaled by no knob", head.id)));
            }
        }
        found.extend(self.unneeded());
        found
    }

    /// What a clause presupposes and none of its cases needs, directly or by what these need.
    fn unneeded(&self) -> Vec<(Utf8PathBuf, Diagnostic)> {
        let mut found = Vec::new();
        for clause in self.clauses.iter().filter(|clause| clause.how.is_some()) {
            let mut reached: BTreeSet<&str> = BTreeSet::from([clause.id.as_str()]);
            loop {
                let cases = self.cases.iter().map(CaseDocument::head).filter(|head| reached.contains(head.clause));
                let more: Vec<&str> = cases.flat_map(|head| head.needs).map(String::as_str).collect();
                let before = reached.len();
                reached.extend(more);
                if reached.len() == before {
                    break;
                }
            }
            let dead = clause.presupposes.iter().filter(|need| !reached.contains(need.as_str()));
            found.extend(dead.map(|need| {
                let message = format!("{} presupposes {need}, and no case of it needs that", clause.id);
                let column = Utf8PathBuf::from(format!("ledger/{}.yaml", clause.column));
                (column, Diagnostic::warning("presupposed-in-vain", message))
            }));
        }
        found
    }
}

fn variant(path: &Utf8PathBuf, bytes: &[u8]) -> Result<Variant, VariantError> {
    let variant = Variant::parse(path.as_std_path(), &String::from_utf8_lossy(bytes))?;
    if variant.is_faulty() == path.starts_with("faulty") {
        return Ok(variant);
    }
    let problem = "faulty variants say what `kills` them, lawful ones their `reading`".to_owned();
    Err(VariantError::Malformed { path: Path::new(path.as_str()).to_path_buf(), problem })
}

fn stranger(what: &str, name: &str, known: &BTreeSet<&str>) -> Diagnostic {
    let finding = Diagnostic::error("variant-stranger", format!("there is no {what} {name}"));
    match closest(name, known.iter().copied()) {
        Some(similar) => finding.help(format!("did you mean {similar}?")),
        None => finding,
    }
}
