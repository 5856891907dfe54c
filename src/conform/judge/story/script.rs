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

/// How many usages in a row are at this limit or above it, at most.
pub(super) fn full_in_a_row(acts: &[Act], limit: u64) -> usize {
    let used: Vec<u64> =
        acts.iter().filter_map(|act| if let Act::Usage(tokens) = act { Some(*tokens) } else { None }).collect();
    let rows = used.chunk_by(|one, next| (*one >= limit) == (*next >= limit));
    rows.filter(|row| row[0] >= limit).map(<[u64]>::len).max().unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_stays_full_only_while_nothing_below_the_limit_comes_between() {
        for (used, expected) in [
            (&[][..], 0),
            (&[9, 9], 0),
            (&[10, 11, 12, 10], 4),
            (&[10, 9, 10, 11, 9], 2),
            (&[10, 9, 10, 9, 10, 9, 10], 1),
        ] {
            let acts: Vec<Act> = used.iter().map(|tokens| Act::Usage(*tokens)).collect();
            assert_eq!(full_in_a_row(&acts, 10), expected, "{used:?}");
        }
    }
}
