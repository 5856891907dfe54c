//! Turning a knob: what a case's figure becomes in one agent's variables, arguments and files.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::conform::model::{ErrorKind, Script};
use crate::conform::spec::{AgentCase, AgentKnobWay, AgentManifest, KnobValue, QuotaLogin};

/// A knob, turned.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::conform) struct Turned {
    pub(in crate::conform) env: BTreeMap<String, String>,
    /// Variables of the manifest that are left out.
    pub(in crate::conform) unset: Vec<String>,
    pub(in crate::conform) argv: Vec<String>,
    /// Arguments of the verbs that are left out.
    pub(in crate::conform) drop: Vec<String>,
    /// What is merged into JSON files below HOME.
    pub(in crate::conform) json: BTreeMap<String, Value>,
}

impl Turned {
    /// For the report, in one line.
    pub(in crate::conform) fn in_words(&self) -> String {
        let env = self.env.iter().map(|(name, value)| format!("{name}={value}"));
        let json = self.json.iter().map(|(path, value)| format!("{path}: {value}"));
        let dropped = self.unset.iter().chain(&self.drop).map(|word| format!("without {word}"));
        env.chain(self.argv.iter().cloned()).chain(dropped).chain(json).collect::<Vec<_>>().join(" ")
    }
}

impl AgentKnobWay {
    /// What turns it to this value of the case's unit.
    pub(in crate::conform) fn set(&self, value: &KnobValue) -> Turned {
        let value = match value {
            KnobValue::Figure(figure) => Value::from(figure / self.per.max(1) + self.plus),
            KnobValue::Word(word) => Value::from(word.as_str()),
        };
        let text = words(&value);
        let fill = |template: &String| template.replace("{value}", &text);
        Turned {
            env: self.env.iter().map(|(name, template)| (name.clone(), fill(template))).collect(),
            unset: Vec::new(),
            argv: self.argv.iter().map(fill).collect(),
            drop: self.drop.clone(),
            json: self.json.iter().map(|(path, template)| (path.clone(), filled(template, &value))).collect(),
        }
    }
}

impl QuotaLogin {
    /// The login of a case whose model says that a quota is used up: only an account that has one is told so by the vendor.
    pub(in crate::conform) fn of<'m>(case: &AgentCase, manifest: &'m AgentManifest) -> Option<&'m Self> {
        manifest.quota_login.as_ref().filter(|_| tells_a_quota(&case.model))
    }

    pub(in crate::conform) fn set(&self) -> Turned {
        Turned { env: self.env.clone(), unset: self.unset.clone(), ..Turned::default() }
    }
}

/// Whether a script says that a quota is used up.
fn tells_a_quota(script: &Script) -> bool {
    let replies = script.steps.iter().chain(script.routes.iter().map(|route| &route.reply));
    let mut errors = replies.filter_map(|reply| Some(reply.error.as_ref()?.kind == Some(ErrorKind::Quota)));
    errors.any(|is_quota| is_quota)
}

/// Everything that a case turns of an agent: its login where a quota is used up, and the knobs that the agent has.
pub(in crate::conform) fn turned(case: &AgentCase, manifest: &AgentManifest) -> Vec<Turned> {
    let login = QuotaLogin::of(case, manifest).map(QuotaLogin::set);
    let knobs = case.knobs.iter().filter_map(|(knob, value)| Some(manifest.knobs.get(knob)?.set(value)));
    login.into_iter().chain(knobs).collect()
}

/// A figure or a word as a text.
fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn filled(template: &Value, value: &Value) -> Value {
    match template {
        Value::String(text) if text == "{value}" => value.clone(),
        Value::String(text) => text.replace("{value}", &words(value)).into(),
        Value::Array(items) => items.iter().map(|item| filled(item, value)).collect(),
        Value::Object(map) => map.iter().map(|(key, item)| (key.clone(), filled(item, value))).collect(),
        other => other.clone(),
    }
}

/// The variables of a manifest with what the turned knobs add, change and leave out.
pub(in crate::conform) fn environment(
    fixed: impl IntoIterator<Item = (String, String)>,
    turned: &[Turned],
) -> BTreeMap<String, String> {
    let kept = fixed.into_iter().filter(|(name, _)| !turned.iter().any(|it| it.unset.contains(name)));
    let mut all: BTreeMap<String, String> = kept.collect();
    all.extend(turned.iter().flat_map(|it| it.env.clone()));
    all
}

/// Merges one JSON value into another: objects key by key, everything else takes the other's place.
pub(in crate::conform) fn merge(into: &mut Value, from: &Value) {
    let Value::Object(from) = from else {
        *into = from.clone();
        return;
    };
    if !into.is_object() {
        *into = Map::new().into();
    }
    for (key, value) in from {
        merge(&mut into[key], value);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_figure_reaches_variables_arguments_and_files() {
        let way: AgentKnobWay = serde_json::from_value(json!({
            "env": {"LIMIT": "{value}s"}, "argv": ["--limit={value}"], "per": 1000, "default": "none",
            "json": {"settings.json": {"retry": {"wait": "{value}", "unit": "{value} s", "on": true}, "all": ["{value}"]}}
        }))
        .expect("a way");
        let turned = way.set(&KnobValue::Figure(3000));
        assert_eq!(turned.env, BTreeMap::from([("LIMIT".to_owned(), "3s".to_owned())]));
        assert_eq!(turned.argv, ["--limit=3"]);
        let expected = json!({"retry": {"wait": 3, "unit": "3 s", "on": true}, "all": [3]});
        assert_eq!(turned.json["settings.json"], expected);
        let words = turned.in_words();
        assert!(words.starts_with("LIMIT=3s --limit=3 settings.json: {") && words.contains("\"wait\":3"), "{words}");
    }

    #[test]
    fn one_retry_is_two_attempts() {
        let way: AgentKnobWay =
            serde_json::from_value(json!({"argv": ["{value}"], "plus": 1, "default": "none"})).expect("a way");
        assert_eq!(way.set(&KnobValue::Figure(1)).argv, ["2"]);
    }

    #[test]
    fn a_word_is_handed_on_as_it_is_and_arguments_can_be_left_out() {
        let way: AgentKnobWay = serde_json::from_value(json!({
            "argv": ["--effort", "{value}"], "drop": ["--yolo"], "default": "none", "json": {"a.json": {"effort": "{value}"}}
        }))
        .expect("a way");
        let turned = way.set(&KnobValue::Word("low".to_owned()));
        assert_eq!(
            (turned.argv, turned.drop),
            (vec!["--effort".to_owned(), "low".to_owned()], vec!["--yolo".to_owned()])
        );
        assert_eq!(turned.json["a.json"], json!({"effort": "low"}));
    }

    #[test]
    fn a_login_takes_the_place_of_another() {
        let manifest: AgentManifest = serde_json::from_value(json!({
            "agent": "a", "version": ["a"], "run": ["a"], "env": {"KEY": "k"},
            "quota_login": {"env": {"TOKEN": "t"}, "unset": ["KEY"], "why": "a key has none"}
        }))
        .expect("a manifest");
        for (error, env, words) in [
            ("quota", [("ADDRESS", "a"), ("TOKEN", "t")], vec!["TOKEN=t without KEY"]),
            ("rate_limit", [("ADDRESS", "a"), ("KEY", "k")], vec![]),
        ] {
            let case: AgentCase = serde_json::from_value(json!({
                "id": "x", "clause": "X", "title": "t", "model": {"steps": [{"error": {"kind": error}}]},
                "steps": [], "expect": []
            }))
            .expect("a case");
            let turned = turned(&case, &manifest);
            let left = environment([("KEY", "k"), ("ADDRESS", "a")].map(own), &turned);
            assert_eq!(left.into_iter().collect::<Vec<_>>(), env.map(own), "{error}");
            assert_eq!(turned.iter().map(Turned::in_words).collect::<Vec<_>>(), words, "{error}");
        }
    }

    fn own((name, value): (&str, &str)) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn objects_are_merged_and_everything_else_is_replaced() {
        for (into, from, expected) in [
            (json!({"a": 1, "b": {"c": 2}}), json!({"b": {"d": 3}}), json!({"a": 1, "b": {"c": 2, "d": 3}})),
            (json!({"a": [1, 2]}), json!({"a": [3]}), json!({"a": [3]})),
            (json!({"a": 1}), json!({"a": {"b": 2}}), json!({"a": {"b": 2}})),
            (Value::Null, json!({"a": {"b": 2}}), json!({"a": {"b": 2}})),
            (json!({"a": 1}), json!({}), json!({"a": 1})),
        ] {
            let mut merged = into.clone();
            merge(&mut merged, &from);
            assert_eq!(merged, expected, "{into} and {from}");
        }
    }
}
