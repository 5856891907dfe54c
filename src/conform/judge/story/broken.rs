//! A rule that a candidate broke in a story, and the case that shows it again.

use serde_json::{Value, json};

use super::findings;
use crate::conform::observe::Observation;
use crate::conform::spec::{Case, Expectation, Plot, Rule, RuntimeProfile};
use crate::conform::suite::Suite;

/// The rule that was broken, and what was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The rule.
    pub rule: Rule,
    /// The step in which it was, counted from 0.
    pub step: usize,
    /// What would have been right.
    pub expected: String,
    /// What was seen.
    pub observed: String,
}

impl Broken {
    /// The rule that was broken in what was seen of a plot, if one was. A story that the machine disturbed says nothing.
    #[must_use]
    pub fn in_story(plot: &Plot, seen: &Observation) -> Option<Self> {
        Self::in_case(&plot.case("story"), seen)
    }

    /// The same of the case that a plot makes.
    #[must_use]
    pub fn in_case(case: &Case, seen: &Observation) -> Option<Self> {
        let broken = findings(case, seen).into_iter().find(|it| !it.kept && seen.rig_error.is_none())?;
        Some(Self { rule: broken.rule, step: broken.step, expected: broken.expected, observed: broken.observed })
    }

    /// The case that shows it, to be laid into a suite: its name, and its text.
    ///
    /// # Panics
    /// Never: a case is plain data.
    #[must_use]
    pub fn case(&self, plot: &Plot, suite: &Suite<RuntimeProfile>) -> (String, String) {
        let about = |case: &&Case| case.expect.contains(&Expectation::Lawful(self.rule));
        let clause = suite.cases.iter().find(about).map_or("EXIT-001", |case| case.clause.as_str());
        let id = format!("{}-{}-in-a-story", clause.to_lowercase(), self.rule);
        let case = Case {
            clause: clause.to_owned(),
            needs: if clause == "EXIT-001" { Vec::new() } else { vec!["EXIT-001".to_owned()] },
            expect: vec![Expectation::Lawful(self.rule)],
            ..plot.case(&id)
        };
        let Value::Object(mut fields) = json!(case) else { unreachable!("a case is a mapping") };
        fields.retain(|_, value| !matches!(value, Value::Object(it) if it.is_empty()) && *value != json!([]));
        (id, serde_yaml::to_string(&fields).expect("a case is plain data"))
    }
}
