//! Pieces of the work that are told as soon as they are done, so that a hundred thousand files need no more memory than a
//! thousand.

use std::collections::HashMap;
use std::ops::Range;

use camino::Utf8Path;

use super::expand::Input;

/// Batches of at least so many files, but for the last. What is held together is never cut apart.
const LEAST: usize = 1_000;

/// The batches, by their places in the inputs. The files of a `.loa-checkpoint/` are held against each other, and so are
/// those of a memory folder: they are of one batch wherever they were named.
pub(super) fn batches(inputs: &[Input]) -> Vec<Range<usize>> {
    of_at_least(LEAST, inputs)
}

fn of_at_least(least: usize, inputs: &[Input]) -> Vec<Range<usize>> {
    let mut ends: HashMap<&Utf8Path, usize> = HashMap::new();
    ends.extend(inputs.iter().enumerate().filter_map(|(at, input)| Some((shared(&input.path)?, at))));
    let (mut batches, mut start, mut reach) = (Vec::new(), 0, 0);
    for (at, input) in inputs.iter().enumerate() {
        reach = reach.max(shared(&input.path).map_or(at, |folder| ends[folder]));
        if at == reach && at + 1 - start >= least {
            batches.push(start..at + 1);
            start = at + 1;
        }
    }
    if start < inputs.len() {
        batches.push(start..inputs.len());
    }
    batches
}

/// The folder of a file that may be held against others there.
fn shared(path: &Utf8Path) -> Option<&Utf8Path> {
    path.parent().filter(|folder| matches!(folder.file_name(), Some(".loa-checkpoint" | "memory")))
}

#[cfg(test)]
mod tests {
    use super::super::expand::Met;
    use super::*;

    #[test]
    fn what_is_held_together_is_never_cut() {
        const IN: &str = "a/.loa-checkpoint/x.yaml";
        const OTHER: &str = "b/.loa-checkpoint/x.yaml";
        for (paths, lengths) in [
            (&[][..], &[][..]),
            (&["1", "2", "3", "4", "5"], &[2, 2, 1]),
            (&["1", "2"], &[2]),
            (&["1", IN, IN, IN, "2", "3"], &[4, 2]),
            (&[IN, "1", "2", IN, "3", "4"], &[4, 2]),
            // Each reaches into the other.
            (&[IN, "1", OTHER, IN, "2", OTHER, "3"], &[6, 1]),
        ] {
            let inputs: Vec<Input> =
                paths.iter().map(|path| Input { path: (*path).into(), met: Met::Named, root: None }).collect();
            let batches = of_at_least(2, &inputs);
            assert_eq!(batches.iter().map(Range::len).collect::<Vec<_>>(), lengths, "{paths:?}");
            assert_eq!(batches.into_iter().flatten().collect::<Vec<_>>(), (0..paths.len()).collect::<Vec<_>>());
        }
    }
}
