//! A choice between forms that are told apart by their one key or by being a bare word, as
//! `expect: [{starts: {…}}, no_orphans]` is: which form was meant, and what is wrong when none was.

use serde_json::Value;

use super::expect::{alternatives, words};
use super::explain::{escape, title};
use crate::diag::{Diagnostic, Entry, Node, Value as Found, closest};

/// The forms of a choice.
#[derive(Debug)]
pub(super) struct Forms<'a> {
    root: &'a Value,
    /// The place in the choice, the key, and what is asked of its value.
    keyed: Vec<(usize, &'a str, &'a Value)>,
    bare: Vec<&'a str>,
}

impl<'a> Forms<'a> {
    /// The forms of a schema; `None` when it is another kind of choice, or none.
    pub(super) fn of(root: &'a Value, schema: &'a Value) -> Option<Self> {
        let mut forms = Self { root, keyed: Vec::new(), bare: Vec::new() };
        for (at, branch) in schema.get("oneOf")?.as_array()?.iter().enumerate() {
            if let Some(word) = branch.get("const").and_then(Value::as_str) {
                forms.bare.push(word);
            } else {
                let (key, asked) = only_key(branch)?;
                forms.keyed.push((at, key, asked));
            }
        }
        Some(forms)
    }

    /// What the choice asks for, in plain words.
    pub(super) fn expected(&self) -> String {
        match (self.keyed.is_empty(), self.bare.is_empty()) {
            (true, _) => ticked(&self.bare),
            (_, true) => format!("a mapping with one key: {}", self.keys()),
            _ => format!("a mapping with one key, {}; or the bare word {}", self.keys(), ticked(&self.bare)),
        }
    }

    /// The form whose key the mapping has, as its place in the choice and its key; the first such key counts.
    pub(super) fn meant(&self, node: &Node) -> Option<(usize, &'a str)> {
        node.entries().iter().find_map(|entry| self.keyed(&entry.key)).map(|(at, key, _)| (at, key))
    }

    /// What is said of the keys beside the one that tells the form.
    pub(super) fn beside(&self, node: &Node, pointer: &str, meant: &str) -> Vec<Diagnostic> {
        let others = node.entries().iter().filter(|entry| entry.key != meant);
        let finding = |entry: &Entry| {
            let key = &entry.key;
            let help = match self.keyed(key) {
                Some(_) => format!("write one of the two; in a list, give `{key}` an entry of its own"),
                None => format!("remove the key, or move it below `{meant}` if it belongs there"),
            };
            Diagnostic::error("unknown-key", format!("{} has `{key}` beside `{meant}`", title(pointer)))
                .at(entry.key_span)
                .of(format!("{pointer}/{}", escape(key)))
                .expected(format!("`{meant}` and no other key"))
                .found(format!("the key `{key}`"))
                .help(help)
        };
        others.take(super::Checker::MOST_FINDINGS + 1).map(finding).collect()
    }

    /// What is wrong with a value that has no form's key.
    pub(super) fn none_meant(&self, node: &Node, pointer: &str) -> Diagnostic {
        match &node.value {
            Found::Str(word) => self.no_such_word(node, pointer, word),
            Found::Map(entries) => self.no_such_key(node, pointer, entries),
            value => {
                let fault = if *value == Found::Null { "is null" } else { "has the wrong type" };
                let finding = Diagnostic::error("type", format!("{} {fault}", title(pointer))).of(pointer);
                finding.at(node.head()).expected(self.expected()).found(node.describe())
            }
        }
    }

    fn no_such_word(&self, node: &Node, pointer: &str, word: &str) -> Diagnostic {
        let what = title(pointer);
        let (code, message, expected, help) = if let Some((_, key, asked)) = self.keyed(word) {
            let value = words(self.root, asked).unwrap_or_else(|| "its value".to_owned());
            let message = format!("{what} is `{key}` without a value");
            ("type", message, format!("`{key}:` and {value}"), Some(format!("write `{key}:` and its value")))
        } else {
            let known = self.bare.iter().copied().chain(self.keyed.iter().map(|(_, key, _)| *key));
            let help = match closest(word, known) {
                Some(near) if self.keyed(near).is_some() => Some(format!("did you mean `{near}:` and a value?")),
                Some(near) => Some(format!("did you mean `{near}`?")),
                None if self.keyed.is_empty() => None,
                None => Some("a text of your own stands below the key that says what is meant by it".to_owned()),
            };
            ("enum", format!("{what} is none of the values that it can have"), self.expected(), help)
        };
        let mut finding = Diagnostic::error(code, message).of(pointer).at(node.span);
        finding.expected = Some(expected);
        finding.found = Some(node.describe());
        finding.help = help;
        finding
    }

    /// One finding, at the key that comes nearest to a form's, or else at the first.
    fn no_such_key(&self, node: &Node, pointer: &str, entries: &[Entry]) -> Diagnostic {
        let what = title(pointer);
        if let Some(entry) = entries.iter().find(|entry| self.bare.contains(&entry.key.as_str())) {
            let key = &entry.key;
            return Diagnostic::error("type", format!("{what} has `{key}` as a key, and it is a bare word"))
                .at(entry.key_span)
                .of(pointer)
                .expected(format!("`{key}`, without a colon or a value"))
                .found(format!("the key `{key}`"))
                .help(format!("write `{key}` alone"));
        }
        let near = |entry: &Entry| closest(&entry.key, self.keyed.iter().map(|(_, key, _)| *key));
        // Who has more strangers than this did not misspell one key.
        let slip = entries.iter().take(64).find_map(|entry| near(entry).map(|name| (entry, Some(name))));
        let Some((entry, near)) = slip.or_else(|| entries.first().map(|entry| (entry, None))) else {
            return Diagnostic::error("required", format!("{what} has no key"))
                .at(node.span)
                .of(pointer)
                .expected(self.expected())
                .found(node.describe());
        };
        let key = &entry.key;
        let help = near.map_or_else(
            || "the key says what is meant; what belongs to it stands below it".to_owned(),
            |name| format!("did you mean `{name}`?"),
        );
        Diagnostic::error("unknown-key", format!("{what} has no key `{key}`"))
            .at(entry.key_span)
            .of(format!("{pointer}/{}", escape(key)))
            .expected(self.expected())
            .found(format!("the key `{key}`"))
            .help(help)
    }

    fn keyed(&self, name: &str) -> Option<(usize, &'a str, &'a Value)> {
        self.keyed.iter().find(|(_, key, _)| *key == name).copied()
    }

    fn keys(&self) -> String {
        ticked(&self.keyed.iter().map(|(_, key, _)| *key).collect::<Vec<_>>())
    }
}

/// The key of a mapping that has exactly one, and what is asked of its value.
fn only_key(branch: &Value) -> Option<(&str, &Value)> {
    let properties = branch.get("properties")?.as_object()?;
    let mut properties = properties.iter();
    let (key, asked) = properties.next()?;
    let closed = branch.get("additionalProperties").is_some_and(|others| *others == Value::Bool(false));
    (closed && properties.next().is_none()).then_some((key.as_str(), asked))
}

fn ticked(names: &[&str]) -> String {
    alternatives(&names.iter().copied().map(Value::from).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;
    use serde_json::json;

    use crate::diag::Budget;
    use crate::schema::{Checker, Kind};

    /// Things to do.
    #[derive(schemars::JsonSchema)]
    #[schemars(title = "Errands")]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Errands {
        /// In this order.
        errands: Vec<Errand>,
    }

    /// One of them.
    #[derive(schemars::JsonSchema)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is used")]
    enum Errand {
        /// By name.
        Fetch(String),
        /// From a place.
        Carry {
            /// The place.
            place: String,
            /// How often.
            times: u8,
        },
        /// One after the other.
        Both(Vec<Errand>),
        /// At once.
        Hurry,
    }

    const ERRANDS: Kind = Kind::of::<Errands>("errands", || vec![json!({"errands": ["hurry"]})]);

    #[test]
    fn the_form_that_was_meant_is_explained() {
        const ALL: &str = "a mapping with one key, `fetch`, `carry` or `both`; or the bare word `hurry`";
        for (errand, finding, expected, help) in [
            ("hurry", "", "", ""),
            ("both: [hurry, fetch: tea]", "", "", ""),
            ("fetch: 5", "type 1:20 /errands/0/fetch", "a text", "put it in quotes"),
            ("fetsh: tea", "unknown-key 1:13 /errands/0/fetsh", ALL, "did you mean `fetch`?"),
            ("bring: tea", "unknown-key 1:13 /errands/0/bring", ALL, "stands below it"),
            ("place: a, cary: b", "unknown-key 1:23 /errands/0/cary", ALL, "did you mean `carry`?"),
            ("fetch: tea, both: []", "unknown-key 1:25 /errands/0/both", "`fetch` and no other key", "of its own"),
            ("fetch: tea, times: 2", "unknown-key 1:25 /errands/0/times", "`fetch` and no other key", "below `fetch`"),
            ("carry: {place: a}", "required 1:13 /errands/0/carry/times", "`times`: a whole number", "`times`"),
            ("carry: {place: a, tims: 2}", "unknown-key 1:31 /errands/0/carry/tims", "`place` or `times`", "`times`?"),
            ("both: [fetsh: tea]", "unknown-key 1:20 /errands/0/both/0/fetsh", ALL, "did you mean `fetch`?"),
            ("hurry:", "type 1:13 /errands/0", "`hurry`, without a colon", "write `hurry` alone"),
            ("fetch", "type 1:12 /errands/0", "`fetch:` and a text", "write `fetch:`"),
            ("hury", "enum 1:12 /errands/0", ALL, "did you mean `hurry`?"),
            ("cary", "enum 1:12 /errands/0", ALL, "did you mean `carry:`"),
            ("tea", "enum 1:12 /errands/0", ALL, "stands below the key"),
            ("7", "type 1:12 /errands/0", ALL, ""),
            ("null", "type 1:12 /errands/0", ALL, ""),
            ("{}", "required 1:12 /errands/0", ALL, ""),
        ] {
            // A mapping of one key stands in braces, so that all of them begin at one column.
            let errand = if errand.contains(':') { format!("{{{errand}}}") } else { errand.to_owned() };
            let text = format!("errands: [ {errand} ]\n");
            let findings = Checker::new(&ERRANDS).check(text.as_bytes(), Utf8Path::new("a.yaml"), &Budget::default());
            let Some(found) = findings.first() else {
                assert_eq!(finding, "", "{text}");
                continue;
            };
            let place = found.span.expect("a place").start;
            let brief = format!("{} {place} {}", found.code, found.pointer.as_deref().expect("a pointer"));
            assert_eq!((brief.as_str(), findings.len()), (finding, 1), "{text}{findings:#?}");
            assert!(found.expected.as_deref().is_some_and(|text| text.starts_with(expected)), "{text}{found:#?}");
            assert!(found.help.as_deref().unwrap_or_default().contains(help), "{text}{found:#?}");
        }
    }
}
