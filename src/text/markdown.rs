//! Text in Markdown: a part of a line, that of a table too, or a block that is shown as it is.

use super::line::line;

/// What a line of Markdown must not begin with, or a heading, a list, a quotation or a fence begins there.
const BEGINS_A_BLOCK: &str = "#->+=";

/// The text on one line of Markdown, where it shows itself: no tag, link, emphasis, cell or block of its own. What stands
/// between backticks stays code.
#[must_use]
pub fn markdown(text: &str) -> String {
    let line = line(text);
    let mut escaped = String::with_capacity(line.len() + 8);
    let mut rest = line.as_str();
    while let Some(at) = rest.find('`') {
        escape(&rest[..at], &mut escaped);
        rest = &rest[at..];
        let ticks = rest.bytes().take_while(|byte| *byte == b'`').count();
        match closing(&rest[ticks..], ticks) {
            // A cell ends at a bar in code, too; a fence may begin with three.
            Some(end) if ticks < 3 => {
                let span = &rest[..ticks + end + ticks];
                escaped.push_str(&span.replace('|', "\\|"));
                rest = &rest[span.len()..];
            }
            _ => {
                escaped.push_str(&"\\`".repeat(ticks));
                rest = &rest[ticks..];
            }
        }
    }
    escape(rest, &mut escaped);
    let numbered = escaped.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = escaped.len() - numbered.len();
    if escaped.starts_with(|c| BEGINS_A_BLOCK.contains(c))
        || (digits > 0 && [". ", ") "].iter().any(|end| numbered.starts_with(end)))
    {
        escaped.insert(digits, '\\');
    }
    escaped
}

/// Where so many backticks end what as many have begun.
fn closing(text: &str, ticks: usize) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = text[from..].find('`').map(|at| from + at) {
        let run = text[at..].bytes().take_while(|byte| *byte == b'`').count();
        if run == ticks && at > 0 {
            return Some(at);
        }
        from = at + run;
    }
    None
}

fn escape(text: &str, escaped: &mut String) {
    let is_of_a_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut before = escaped.chars().next_back();
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '<' => escaped.push_str("&lt;"),
            // Only what would be read as a character's name.
            '&' if letters.peek().is_some_and(|next| next.is_ascii_alphanumeric() || *next == '#') => {
                escaped.push_str("&amp;");
            }
            // Within a word it emphasizes nothing.
            '_' if is_of_a_word(before) && is_of_a_word(letters.peek().copied()) => escaped.push('_'),
            '\\' | '*' | '_' | '[' | ']' | '|' | '~' => escaped.extend(['\\', c]),
            other => escaped.push(other),
        }
        before = Some(c);
    }
}

/// Lines that are shown as they are: none in them ends the block.
#[must_use]
pub fn fenced(text: &str) -> String {
    format!("```text\n{}\n```", without_fences(text.trim_end_matches('\n')))
}

/// Text in which no fence begins.
#[must_use]
pub fn without_fences(text: &str) -> String {
    text.replace("```", "'''").replace("~~~", "∼∼∼")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_shows_itself_and_begins_nothing() {
        for (text, shown) in [
            ("2.1.329 (Claude Code)", "2.1.329 (Claude Code)"),
            ("@scope/codex-acp 2.6.0", "@scope/codex-acp 2.6.0"),
            ("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"),
            ("a & b, AT&T, &lt;", "a & b, AT&amp;T, &amp;lt;"),
            ("a | b", "a \\| b"),
            ("one\n\n## Answer\n- x", "one ## Answer - x"),
            ("# heading", "\\# heading"),
            ("- item", "\\- item"),
            ("12. item", "12\\. item"),
            ("12.5 s", "12.5 s"),
            ("> quoted -> on", "\\> quoted -> on"),
            ("[click](http://evil)", "\\[click\\](http://evil)"),
            ("![](http://evil/x.png)", "!\\[\\](http://evil/x.png)"),
            ("snake_case_word and _emphasis_ *too*", "snake_case_word and \\_emphasis\\_ \\*too\\*"),
            ("`exit_code` of `<x|y>`", "`exit_code` of `<x\\|y>`"),
            ("a lone ` tick", "a lone \\` tick"),
            ("```\nfence", "\\`\\`\\` fence"),
            ("\\`a\\`", "\\\\`a\\`"),
            ("back\\slash", "back\\\\slash"),
            ("\u{1b}[31mred\u{202e}", "red"),
        ] {
            assert_eq!(markdown(text), shown, "{text:?}");
        }
    }

    #[test]
    fn no_line_ends_a_block_that_is_shown_as_it_is() {
        assert_eq!(fenced("a\n```\n~~~\nb\n"), "```text\na\n'''\n∼∼∼\nb\n```");
    }
}
