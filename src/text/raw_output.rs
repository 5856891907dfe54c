//! Output of others that is passed on as it comes.

use std::fmt::Write as _;

use anstream::adapter::WinconBytes;

use super::is_visible;

/// Text of others for people: its lines and its colours stay, and nothing else in it acts on a terminal or turns the order of
/// reading.
#[must_use]
pub fn sanitized(text: impl AsRef<[u8]>) -> String {
    text.as_ref().split_inclusive(|byte| *byte == b'\n').map(sanitized_line).collect()
}

/// By itself: an escape that does not end in its line hides no other, and a colour is over with it.
fn sanitized_line(line: &[u8]) -> String {
    let (line, end) = line.strip_suffix(b"\n").map_or((line, ""), |line| (line, "\n"));
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut text = String::with_capacity(line.len() + 1);
    for (style, part) in WinconBytes::new().extract_next(line) {
        // What is written over on a terminal stands behind each other here.
        let seen = part.chars().map(|c| if c == '\r' { ' ' } else { c }).filter(|c| *c == '\t' || is_visible(*c));
        // Writing to a String cannot fail.
        let _ = write!(text, "{style}{}{style:#}", seen.collect::<String>());
    }
    text + end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_and_its_colours_reach_a_terminal() {
        for (written, shown) in [
            ("plain, tab\there\n", "plain, tab\there\n"),
            ("\u{1b}[31mred\u{1b}[0m\n", "\u{1b}[31mred\u{1b}[0m\n"),
            ("a\u{1b}]52;c;ZXZpbA==\u{7}b\u{1b}[2Jc\n", "abc\n"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}]0;never ends\nnext\n", "\nnext\n"),
            ("10 %\r20 %\r\n", "10 % 20 %\n"),
            ("\u{9b}31mC1 \u{202e}dcba\u{2028}\u{8}\u{0}e", "31mC1 dcbae"),
            ("\u{1b}[", ""),
        ] {
            assert_eq!(sanitized(written), shown, "{written:?}");
        }
    }
}
