//! `loa-conform explain`: everything that the suite knows of one clause.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::args::Explain;
use super::data::printed;
use super::suite;
use crate::cli::console::print;
use crate::cli::{ExitStatus, Failure};
use crate::conform::judge::Judged;
use crate::conform::spec::{AgentProfile, CaseDocument, Clause, Condition, ProfileName, RuntimeProfile, TimeMethod};
use crate::conform::suite::{Suite, Variant};
use crate::diag::closest;

/// The pages that explain the expectations, with what each does not establish.
const RUNTIME_PAGE: &str = include_str!("../../../contract-tests/README.md");
const AGENT_PAGE: &str = include_str!("../../../contract-tests/agent/README.md");

pub(super) fn explain(wish: &Explain) -> Result<ExitStatus, Failure> {
    match wish.shown.place.profile {
        ProfileName::Runtime => explain_of::<RuntimeProfile>(wish),
        ProfileName::Agent => explain_of::<AgentProfile>(wish),
    }
}

fn explain_of<P: Judged>(wish: &Explain) -> Result<ExitStatus, Failure> {
    let suite = suite::open::<P>(wish.shown.place.suite.as_deref())?;
    let clause = asked(&suite, &wish.clause)?;
    let variants = suite.variants().map_err(|error| Failure::new(ExitStatus::Config, error))?;
    let about = About::of(&suite, clause, &variants);
    if wish.shown.json {
        let cases: Vec<_> = suite.cases_of(&clause.id).collect();
        let names = |all: &[&Variant]| all.iter().map(|it| it.variant.clone()).collect::<Vec<_>>();
        return printed(&json!({
            "clause": clause, "cases": cases, "limits": about.limits,
            "dies_of_it": names(&about.dying), "turns_red_too": names(&about.touched), "lawful": names(&about.lawful),
        }));
    }
    print(&about.in_words())?;
    Ok(ExitStatus::Success)
}

/// The clause that was asked for, by its own name or that of one of its cases.
pub(super) fn asked<'a, P: Judged>(suite: &'a Suite<P>, name: &str) -> Result<&'a Clause, Failure> {
    let wanted = name.to_uppercase();
    let of_case = || suite.cases.iter().map(CaseDocument::head).find(|head| head.id == name).map(|head| head.clause);
    if let Some(clause) = suite.clause(&wanted).or_else(|| suite.clause(of_case()?)) {
        return Ok(clause);
    }
    let failure = Failure::new(ExitStatus::NoInput, format!("the ledger has no clause {name}"));
    Err(match closest(&wanted, suite.clauses.iter().map(|clause| clause.id.as_str())) {
        Some(similar) => failure.hint(format!("did you mean {similar}?")),
        None => failure.hint("`loa-conform ledger` prints every clause"),
    })
}

/// A clause and everything around it.
struct About<'a, P: Judged> {
    suite: &'a Suite<P>,
    clause: &'a Clause,
    /// Faulty variants that must die of one of its cases.
    dying: Vec<&'a Variant>,
    /// Faulty variants that must die of another clause and turn this one red, too.
    touched: Vec<&'a Variant>,
    /// Lawful variants that take one of its readings.
    lawful: Vec<&'a Variant>,
    /// What a green of its cases must not be taken for.
    limits: BTreeSet<String>,
}

impl<'a, P: Judged> About<'a, P> {
    fn of(suite: &'a Suite<P>, clause: &'a Clause, variants: &'a [Variant]) -> Self {
        let cases: Vec<&P::Case> = suite.cases_of(&clause.id).collect();
        let mine = |id: &str| cases.iter().any(|case| case.head().id == id);
        let chosen = |wanted: &dyn Fn(&Variant) -> bool| variants.iter().filter(|it| wanted(it)).collect::<Vec<_>>();
        let reads = |it: &Variant| clause.readings.iter().any(|known| it.reading.as_ref() == Some(&known.id));
        let mut limits: BTreeSet<String> = cases.iter().filter_map(|case| of_time(case.head().time)).collect();
        for expectation in cases.iter().flat_map(|case| names(&case.expectations())) {
            limits.extend(
                not_established(P::NAME, &expectation).map(|it| format!("`{expectation}` does not establish {it}")),
            );
        }
        Self {
            suite,
            clause,
            dying: chosen(&|it| it.kills.as_ref().is_some_and(|kill| mine(&kill.case))),
            touched: chosen(&|it| it.also.contains(&clause.id)),
            lawful: chosen(&reads),
            limits,
        }
    }

    fn in_words(&self) -> String {
        let clause = self.clause;
        let binds = match clause.when {
            Condition::Always => "binds always".to_owned(),
            when => format!("binds when {when}"),
        };
        let sources: Vec<&str> = clause.source.iter().map(|source| source.as_str()).collect();
        let mut lines = vec![
            format!("{} ({}, {}, {binds})", clause.id, clause.level, clause.column),
            format!("  {}", clause.text),
            format!("  source: {} in {}", sources.join(", "), clause.sections.join("; ")),
        ];
        lines.extend(clause.readings.iter().map(|reading| {
            let ours = if reading.ours { ", as loa-run reads it" } else { "" };
            let warns = if reading.warns { ", with a warning" } else { "" };
            format!("  reading {}{ours}{warns}: {}", reading.id, reading.text)
        }));
        if !clause.presupposes.is_empty() {
            lines.push(format!("  presupposes: {}", clause.presupposes.join(", ")));
        }
        lines.extend(clause.how.iter().map(|how| format!("  tested: {how}")));
        lines.extend(clause.untested.iter().map(|why| format!("  not tested: {why}")));
        let heads = self.suite.cases_of(&clause.id).map(CaseDocument::head);
        lines.extend(heads.map(|it| format!("  case {}: {}", it.id, it.title)));
        let reason = |it: &Variant| it.kills.as_ref().map(|kill| format!(" ({})", kill.reason)).unwrap_or_default();
        for (all, what) in [(&self.dying, "dies of it"), (&self.touched, "turns it red, too"), (&self.lawful, "lawful")]
        {
            let told = all.iter().map(|it| format!("  {what}: {}+{}{}: {}", it.base, it.variant, reason(it), it.about));
            lines.extend(told);
        }
        lines.extend(self.limits.iter().map(|limit| format!("  limit: {limit}")));
        lines.join("\n") + "\n"
    }
}

/// What a way of passing time leaves open.
fn of_time(time: TimeMethod) -> Option<String> {
    let said = match time {
        TimeMethod::Real => return None,
        TimeMethod::Scaled => "time is scaled: a limit is set shorter, so its default is not seen",
        TimeMethod::Accelerated => {
            "time is accelerated by faketime: a runtime that looks at no clock of its host is not seen"
        }
    };
    Some(said.to_owned())
}

/// The names of the expectations of a case.
fn names(expectations: &Value) -> Vec<String> {
    let entries = expectations.as_array().into_iter().flatten();
    let name = |entry: &Value| match entry {
        Value::String(word) => Some(word.clone()),
        entry => entry.as_object()?.keys().next().cloned(),
    };
    entries.filter_map(name).collect()
}

/// What a green expectation must not be taken for, as the page for authors of cases says it.
fn not_established(profile: ProfileName, name: &str) -> Option<&'static str> {
    let page = if profile == ProfileName::Agent { AGENT_PAGE } else { RUNTIME_PAGE };
    let (_, table) = page.split_once("| does not establish |")?;
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let said = rows.filter_map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let named = |word: &str| word.split([':', '`']).next() == Some(name);
        cells.first()?.split('`').any(named).then(|| cells.last().copied()).flatten()
    });
    said.into_iter().find(|said| !matches!(*said, "–" | "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_come_from_the_pages_for_authors() {
        assert_eq!(not_established(ProfileName::Runtime, "ends"), Some("that it ended well, unless `code` is given"));
        assert_eq!(not_established(ProfileName::Runtime, "no_orphans"), Some("processes that hide from the judge"));
        assert_eq!(not_established(ProfileName::Runtime, "unchanged"), Some("that nobody read it"));
        assert_eq!(not_established(ProfileName::Runtime, "within"), None);
        assert_eq!(not_established(ProfileName::Agent, "told"), Some("that the class is right for other failures"));
        assert_eq!(not_established(ProfileName::Runtime, "told"), None);
    }
}
