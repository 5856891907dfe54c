//! Did you mean …?

/// The candidate nearest to `word`, when one is near enough to be a slip of the finger: at most a third of the word's
/// characters differ, and case does not count.
#[must_use]
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// No word of ours is longer, and the distance of a long text costs its square.
    const LONGEST: usize = 64;
    let word: Vec<char> = word.chars().take(LONGEST + 1).flat_map(char::to_lowercase).collect();
    if word.len() > LONGEST {
        return None;
    }
    let most = (word.len() / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= 2 * LONGEST)
        .map(|candidate| (distance(&word, &candidate.to_lowercase().chars().collect::<Vec<_>>()), candidate))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein's distance.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, right) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(left != right);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_mended_and_other_words_are_not() {
        let words = ["preflight", "discovery", "design", "audit"];
        for (word, expected) in [
            ("discovry", Some("discovery")),
            ("Design", Some("design")),
            ("audti", None),
            ("aduit", None),
            ("audits", Some("audit")),
            ("desgin", Some("design")),
            ("quality", None),
            ("", None),
        ] {
            assert_eq!(closest(word, words), expected, "{word}");
        }
        let long = "a".repeat(100_000);
        assert_eq!((closest(&long, words), closest("audit", [long.as_str()])), (None, None));
    }
}
