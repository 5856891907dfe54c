//! A defect of the contract: where it contradicts itself or leaves something open, what that costs, and what would mend it. The
//! readings stand in the ledger, under the same id.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Clause, Reading};

/// One contradiction or gap, in our words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Defect {
    /// Identifier, such as `C-01`; the ledger's readings begin with it.
    #[schemars(regex(pattern = "^C-[0-9]{2,}$"))]
    pub id: String,
    /// What it is, in a few words.
    #[schemars(length(min = 1))]
    pub title: String,
    /// Headings of the contract that it concerns.
    #[schemars(length(min = 1))]
    pub sections: Vec<String>,
    /// What contradicts what, or what is missing.
    #[schemars(length(min = 1))]
    pub problem: String,
    /// What it costs whoever builds or uses a runtime.
    #[schemars(length(min = 1))]
    pub cost: String,
    /// How this project reads it, where no row of the ledger says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ours: Option<String>,
    /// How else it can be read, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
    /// A sentence that would mend it.
    #[schemars(length(min = 1))]
    pub proposal: String,
}

impl Defect {
    /// The readings of the ledger, each with the clause that it stands at, in the ledger's order.
    pub fn readings<'a>(&'a self, ledger: &'a [Clause]) -> impl Iterator<Item = (&'a Clause, &'a Reading)> {
        let all = ledger.iter().flat_map(|clause| clause.readings.iter().map(move |reading| (clause, reading)));
        all.filter(|(_, reading)| question(&reading.id) == self.id)
    }
}

/// The id of the question that a reading answers: `C-01b` answers `C-01`.
fn question(reading: &str) -> &str {
    reading.trim_end_matches(|c: char| c.is_ascii_lowercase())
}

/// What keeps a list of defects from saying the whole truth about a ledger, a sentence each.
#[must_use]
pub fn unmatched(defects: &[Defect], ledger: &[Clause]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (index, defect) in defects.iter().enumerate() {
        let id = &defect.id;
        if defects[..index].iter().any(|earlier| earlier.id == *id) {
            wrong.push(format!("{id} stands there twice"));
        }
        match (defect.readings(ledger).next(), &defect.ours) {
            (None, None) => wrong.push(format!("{id} has no reading, neither in the ledger nor here")),
            (Some(_), Some(_)) => {
                wrong.push(format!("{id} has readings in the ledger and `ours` here: one place is enough"));
            }
            _ => {}
        }
    }
    let readings = ledger.iter().flat_map(|clause| &clause.readings).map(|reading| question(&reading.id));
    let mut missing: Vec<&str> = readings.filter(|id| !defects.iter().any(|defect| defect.id == *id)).collect();
    missing.sort_unstable();
    missing.dedup();
    wrong.extend(missing.iter().map(|id| format!("the ledger reads {id}, and no defect tells what that is")));
    wrong
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn defect(id: &str, ours: Option<&str>) -> Defect {
        let text = || "t".to_owned();
        let (ours, other) = (ours.map(str::to_owned), None);
        let sections = vec![text()];
        Defect {
            id: id.to_owned(),
            title: text(),
            sections,
            problem: text(),
            cost: text(),
            ours,
            other,
            proposal: text(),
        }
    }

    fn ledger(readings: &[&str]) -> Vec<Clause> {
        let readings: Vec<_> = readings.iter().map(|id| json!({"id": id, "text": "t"})).collect();
        let clause = json!([{"id": "X-001", "column": "exit-codes", "level": "MUST", "source": ["table"],
            "sections": [], "text": "t", "readings": readings}]);
        serde_json::from_value(clause).expect("a ledger")
    }

    #[test]
    fn defects_and_ledger_tell_of_the_same_questions() {
        let ledger = ledger(&["C-01", "C-01b", "C-12"]);
        let complete = [defect("C-01", None), defect("C-12", None), defect("C-36", Some("so"))];
        assert_eq!(unmatched(&complete, &ledger), Vec::<String>::new());
        assert_eq!(complete[0].readings(&ledger).count(), 2, "C-12 is another question");
        for (defects, said) in [
            (vec![defect("C-01", None)], "reads C-12"),
            (vec![defect("C-01", None), defect("C-12", None), defect("C-36", None)], "C-36 has no reading"),
            (vec![defect("C-01", Some("so")), defect("C-12", None)], "one place is enough"),
            (vec![defect("C-01", None), defect("C-01", None), defect("C-12", None)], "twice"),
        ] {
            let wrong = unmatched(&defects, &ledger);
            assert!(wrong.len() == 1 && wrong[0].contains(said), "{wrong:?}");
        }
    }
}
