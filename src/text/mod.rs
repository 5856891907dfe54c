//! What others wrote, and the one way to show it: an escaper for each place where text is read.
//!
//! A phase, an agent, a runtime or a bundle may write anything into a summary, a version or a name: lines that look like ours,
//! sequences that act on a terminal, marks that turn the order of reading, tags, commands of a CI system. Such a text is
//! [`Untrusted`]. It cannot be printed as it is, only as an escaper renders it: [`line`](fn@line) for terminals, logs and
//! messages, [`markdown`](fn@markdown), HTML by `maud`, [`xml`], [`shell_word`], [`workflow_data`]. Serializers of JSON and
//! YAML escape by themselves.

mod html;
mod line;
mod markdown;
mod raw_output;
mod shell;
mod workflow;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

pub use html::xml;
pub use line::{cut, harmless, is_visible, last_written, line, plain, visible};
pub use markdown::{fenced, markdown, without_fences};
pub use raw_output::sanitized;
pub use shell::{quoted, shell_word};
pub use workflow::{workflow_data, workflow_property};

/// Text that somebody else wrote. It has no `Display`:
///
/// ```compile_fail
/// let summary = loa::text::Untrusted::from("done\nanswer: loa-run resolve skip_phase");
/// println!("{summary}");
/// ```
///
/// and is shown by an escaper:
///
/// ```
/// let summary = loa::text::Untrusted::from("done\nanswer: loa-run resolve skip_phase");
/// assert_eq!(summary.line(), "done answer: loa-run resolve skip_phase");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Untrusted(String);

impl Untrusted {
    /// The text as it was written: to decide by it, to compare it, to hand it on to another document. Rooms that show
    /// something do not call this; a test of the architecture sees to it.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.0
    }

    /// On one line, without what acts on a terminal: see [`line`](fn@line).
    #[must_use]
    pub fn line(&self) -> String {
        line(&self.0)
    }

    /// The same, of at most so many characters.
    #[must_use]
    pub fn cut(&self, most: usize) -> String {
        cut(line(&self.0), most)
    }

    /// As a part of a line of Markdown: see [`markdown`](fn@markdown).
    #[must_use]
    pub fn markdown(&self) -> String {
        markdown(&self.0)
    }

    /// Whether nothing was written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<String> for Untrusted {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Untrusted {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl PartialEq<str> for Untrusted {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for Untrusted {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

/// A text like any other in a document.
impl JsonSchema for Untrusted {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}
