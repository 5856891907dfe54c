//! Text as one word of a shell.

/// A word that a shell takes as it is.
#[must_use]
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    quoted(word)
}

/// The same, in quotes whatever it is.
#[must_use]
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_taken_as_it_is() {
        for (word, quoted) in [
            ("plain-1.0", "plain-1.0"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$(touch x)", "'$(touch x)'"),
            ("a\nb", "'a\nb'"),
            ("~", "'~'"),
        ] {
            assert_eq!(shell_word(word), quoted, "{word:?}");
        }
    }
}
