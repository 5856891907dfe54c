//! What the script of a story has an attempt do.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::conform::observe::AttemptSeen;
use crate::conform::spec::Act;

/// What an attempt was to do: the last entry of the script serves every later one.
pub(super) fn acts<'a>(script: &'a BTreeMap<String, Vec<Vec<Act>>>, attempt: &AttemptSeen) -> &'a [Act] {
    let attempts = script.get(&attempt.phase).map_or(&[][..], Vec::as_slice);
    let number = usize::try_from(attempt.attempt).unwrap_or(usize::MAX);
    attempts.get(number - 1).or(attempts.last()).map_or(&[], Vec::as_slice)
}

/// What a phase supplied, where the runtime takes anything.
#[derive(Debug, Default)]
pub(super) struct Supplied {
    /// The decisions of its last attempt.
    pub(super) decisions: Vec<Value>,
    /// Those of the attempts before, which the last one did not make.
    pub(super) earlier: Vec<Value>,
    /// What its last attempt found, where it failed by itself.
    pub(super) findings: Vec<Value>,
}

impl Supplied {
    /// The same after one more attempt.
    pub(super) fn by(self, acts: &[Act], attempt: &AttemptSeen) -> Self {
        let takes = attempt.env.contains_key("LOA_RESULT_FILE");
        let results = || acts.iter().filter_map(|act| if let Act::Result(result) = act { Some(result) } else { None });
        let all = |key: &str| results().filter_map(|it| it.get(key)?.as_array()).flatten().cloned().collect::<Vec<_>>();
        let failed = matches!(attempt.exit, Some(1 | 2));
        let given = |key: &str| if takes { all(key) } else { Vec::new() };
        let findings = if failed { given("findings") } else { Vec::new() };
        Self { decisions: given("decisions"), earlier: [self.earlier, self.decisions].concat(), findings }
    }
}
