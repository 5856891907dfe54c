//! What the contract's maintainers may want to know: each contradiction, what it costs, how it is read here and how else it can
//! be read, and a sentence that would mend it.

use super::table::put;
use crate::conform::spec::{Clause, Defect, Reading};

/// The page, in Markdown.
#[must_use]
pub fn defects(defects: &[Defect], ledger: &[Clause], edition: &str) -> String {
    let mut text = format!(
        "# Where the runtime contract contradicts itself\n\n{edition}.\n\nFor its maintainers: {} contradictions and gaps that \
         somebody who builds a runtime has to decide, found while building one and a judge for others. The words are ours. \
         Written by `loa-conform pages` from `contract-tests/defects.yaml` and the ledger; never by hand.\n\n\
         | | what | concerns |\n|---|---|---|\n",
        defects.len()
    );
    for it in defects {
        let clauses = clauses(it, ledger);
        let clauses = if clauses.is_empty() { "–".to_owned() } else { clauses.join(", ") };
        put(&mut text, format_args!("| [{0}](#{1}) | {2} | {clauses} |\n", it.id, it.id.to_lowercase(), it.title));
    }
    text.extend(defects.iter().map(|it| one(it, ledger)));
    text
}

/// The clauses whose readings it causes, in the ledger's order.
fn clauses<'a>(defect: &'a Defect, ledger: &'a [Clause]) -> Vec<&'a str> {
    let mut clauses: Vec<&str> = defect.readings(ledger).map(|(clause, _)| clause.id.as_str()).collect();
    clauses.dedup();
    clauses
}

fn one(it: &Defect, ledger: &[Clause]) -> String {
    let mut text = format!("\n<a id=\"{}\"></a>\n\n## {}: {}\n\n", it.id.to_lowercase(), it.id, it.title);
    put(&mut text, format_args!("*{}.* {}\n\n", it.sections.join("; "), it.problem));
    put(&mut text, format_args!("**What it costs.** {}\n\n", it.cost));
    let (ours, others): (Vec<_>, Vec<_>) = it.readings(ledger).partition(|(_, reading)| reading.ours);
    let told = |list: Vec<_>| list.into_iter().map(reading).collect::<Vec<_>>();
    text.push_str(&readings("How it is read here", &told(ours), it.ours.as_deref()));
    text.push_str(&readings("How else", &told(others), it.other.as_deref()));
    put(&mut text, format_args!("**A sentence that would mend it.** {}\n", it.proposal));
    text
}

fn reading((clause, reading): (&Clause, &Reading)) -> String {
    let warned = if reading.warns { " Accepted with a warning." } else { "" };
    format!("{}: {}{warned}", clause.id, reading.text.trim())
}

/// One reading in its paragraph, several as a list; nothing where there is none.
fn readings(title: &str, told: &[String], own: Option<&str>) -> String {
    match (told, own) {
        ([], None) => String::new(),
        ([], Some(own)) => format!("**{title}.** {own}\n\n"),
        ([one], _) => format!("**{title}.** {one}\n\n"),
        (several, _) => format!("**{title}.**\n\n- {}\n\n", several.join("\n- ")),
    }
}
