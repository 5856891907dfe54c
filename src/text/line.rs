//! Text on a terminal, in a log and in a message: one line, in which nothing acts.

use std::borrow::Cow;

/// What a reader is to see of a text, on one line: line ends are spaces, sequences of a terminal are gone, and so is every
/// character that no reader sees. What the runner of a workflow would take for a command, wherever it stands, is none.
#[must_use]
pub fn line(text: &str) -> String {
    let words = plain(text);
    let words =
        words.split(char::is_whitespace).map(|word| word.chars().filter(|c| is_visible(*c)).collect::<String>());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ").replace("##[", "## [")
}

/// The beginning of a line that is too long.
#[must_use]
pub fn cut(line: String, most: usize) -> String {
    if line.chars().count() <= most {
        return line;
    }
    line.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// What a reader would have seen of a line that a program wrote over, as it draws a bar of progress.
#[must_use]
pub fn last_written(line: &str) -> String {
    let plain = plain(line);
    visible(plain.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default()).trim_end().to_owned()
}

/// What a reader sees of a line, its spaces kept.
#[must_use]
pub fn visible(text: &str) -> String {
    plain(text).chars().map(|c| if c == '\t' { ' ' } else { c }).filter(|c| is_visible(*c)).collect()
}

/// The text on one line, with everything written out that would act on a terminal or a log instead of standing there:
/// control characters, line ends, marks that turn the direction of writing.
#[must_use]
pub fn harmless(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_visible) {
        return Cow::Borrowed(text);
    }
    let written = |c: char| if is_visible(c) { c.to_string() } else { c.escape_default().to_string() };
    Cow::Owned(text.chars().map(written).collect())
}

/// The text without colours and other sequences of a terminal.
#[must_use]
pub fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// Whether a character stands where it is: it neither acts on a terminal, nor is it a mark that no reader sees and that
/// changes the order of what is read.
#[must_use]
pub fn is_visible(c: char) -> bool {
    let is_hidden = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}');
    !c.is_control() && !is_hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_one_line_in_which_nothing_acts() {
        for (written, shown) in [
            ("plain é 😀", "plain é 😀"),
            ("done\n  answer: loa-run resolve skip_phase\n", "done answer: loa-run resolve skip_phase"),
            ("real\rforged", "real forged"),
            ("a\u{85}b\u{2028}c\u{b}d\u{1c}e", "a b cde"),
            ("\u{1b}]52;c;ZXZpbA==\u{7}copied \u{1b}]0;title\u{1b}\\\u{1b}[2J\u{1b}[31mred", "copied red"),
            ("\u{9b}31mC1 \u{9d}0;t\u{9c}", "31mC1 0;t"),
            ("abc\u{202e}fed\u{2066}\u{200b}\u{feff}\u{e0041}", "abcfed"),
            ("far       apart", "far apart"),
            ("a ##[error]b", "a ## [error]b"),
            (" \n ", ""),
        ] {
            assert_eq!(line(written), shown, "{written:?}");
        }
        assert_eq!(cut("123456".to_owned(), 5), "1234…");
        assert_eq!(cut("12345".to_owned(), 5), "12345");
    }

    #[test]
    fn what_was_written_over_is_gone() {
        for (written, seen) in [
            ("10 %\r50 %\r100 %", "100 %"),
            ("windows\r", "windows"),
            ("a\tb\u{7}\u{8}", "a b"),
            ("\u{1b}]0;title\u{7}shown  as it is ", "shown  as it is"),
        ] {
            assert_eq!(last_written(written), seen, "{written:?}");
        }
    }

    #[test]
    fn what_acts_is_written_out_where_nothing_may_be_lost() {
        for (text, expected) in [
            ("plain é 😀", "plain é 😀"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("a\r\nb\tc", "a\\r\\nb\\tc"),
            ("a\u{202e}b\u{2028}c\u{85}d\u{200b}", "a\\u{202e}b\\u{2028}c\\u{85}d\\u{200b}"),
        ] {
            assert_eq!(harmless(text), expected);
        }
    }
}
