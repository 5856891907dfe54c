//! Text in HTML and XML.

use maud::{Escaper, Render};
use std::fmt::Write as _;

use super::{Untrusted, line};

/// In a page a text is one line, and no tag.
impl Render for Untrusted {
    fn render_to(&self, buffer: &mut String) {
        // Writing to a String cannot fail.
        let _ = Escaper::new(buffer).write_str(&line(self.raw()));
    }
}

/// Text as it stands in an element or in a quoted attribute, in XML too.
#[must_use]
pub fn xml(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            // Not allowed in XML, not even as a reference.
            other if other.is_control() && !matches!(other, '\t' | '\n' | '\r') => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tag_of_others_is_one() {
        let text = Untrusted::from("a\n<script src=\"x\">\u{1b}[31m&\u{202e}");
        assert_eq!(text.render().into_string(), "a &lt;script src=&quot;x&quot;&gt;&amp;");
        assert_eq!(xml("<a href=\"&\">\u{1b}"), "&lt;a href=&quot;&amp;&quot;&gt;\u{fffd}");
    }
}
