//! A new section under `runtime.backends`, put into a configuration without touching anything that stands there.

use serde_json::{Value, json};

use crate::diag::{Budget, Document, Entry, Format, Value as Content};

/// Why a section was not added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAdded {
    /// There is one already.
    #[error("there is a section of this name already, and nothing is ever overwritten")]
    Taken,
    /// The file is written in a way that nothing can be added to blindly.
    #[error("the file is written in a way that a section cannot be added to safely")]
    Unsafe,
}

/// The section of a program that templates start, with every key that it may have; `indent` columns from the left.
#[must_use]
pub fn backend_section(name: &str, indent: usize) -> String {
    let variable = name.to_uppercase().replace('-', "_");
    let lines = [
        format!("{name}:"),
        "  # How it is started, and told what to do: a program and its arguments. {prompt} must be among them;"
            .to_owned(),
        "  # {session}, {model}, {effort} and {workspace} are filled in too. Exit 0: done; 1: try again; else refused."
            .to_owned(),
        format!("  run: [{name}, \"{{prompt}}\"]"),
        "  # How it goes on with a session, if it can; then `run` has to give it {session} as well.".to_owned(),
        format!("  # resume: [{name}, --resume, \"{{session}}\", \"{{prompt}}\"]"),
        "  # Variables of your environment that hold its keys: it alone gets them, and no other agent's.".to_owned(),
        format!("  # credentials: [{variable}_API_KEY]"),
        format!("  # binary: /opt/{name}/bin/{name}"),
        "  # model: a-model".to_owned(),
        "  # env: { LANG: C.UTF-8 }".to_owned(),
        "  # retry: { max: 3, initial_ms: 5000, multiplier: 2, max_ms: 60000 }".to_owned(),
        format!("  # prompts: {{ pre_user: \"@prompts/{name}.md\" }}"),
    ];
    lines.map(|line| format!("{:indent$}{line}\n", "")).concat()
}

/// The configuration with a section for the backend `name` in it.
///
/// # Errors
/// [`NotAdded`]; the result was read again and would have differed by more than the section.
pub fn with_backend(text: &str, name: &str) -> Result<String, NotAdded> {
    let read = |text: &str| Document::read(text.as_bytes(), Format::Yaml, &Budget::default());
    let bare = text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
    let document = if bare { None } else { Some(read(text).map_err(|_| NotAdded::Unsafe)?) };
    let before = document.as_ref().map_or(json!({}), Document::to_json);
    if before["runtime"]["backends"].get(name).is_some() {
        return Err(NotAdded::Taken);
    }
    let runtime = document.as_ref().and_then(|document| document.root().entry("runtime"));
    let backends = runtime.and_then(|runtime| runtime.value.entry("backends"));
    let added = match (backends, runtime) {
        (Some(backends), _) => below(text, backends, |indent| backend_section(name, indent)),
        (None, Some(runtime)) => {
            below(text, runtime, |indent| format!("{:indent$}backends:\n{}", "", backend_section(name, indent + 2)))
        }
        (None, None) => {
            let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            format!("{text}{end}runtime:\n  backends:\n{}", backend_section(name, 4))
        }
    };
    let mut expected = before;
    for key in ["runtime", "backends"] {
        let holder = expected.pointer_mut(if key == "runtime" { "" } else { "/runtime" });
        let holder = holder.and_then(Value::as_object_mut).ok_or(NotAdded::Unsafe)?;
        let section = holder.entry(key).or_insert(Value::Null);
        // An empty section reads as null.
        if section.is_null() {
            *section = json!({});
        }
    }
    let sections = expected["runtime"]["backends"].as_object_mut().ok_or(NotAdded::Unsafe)?;
    sections.insert(name.to_owned(), json!({ "run": [name, "{prompt}"] }));
    let after: Option<Value> = read(&added).ok().map(|document| document.to_json());
    if after == Some(expected) { Ok(added) } else { Err(NotAdded::Unsafe) }
}

/// The text with lines behind the line of a key, as far from the left as what stands below it.
fn below(text: &str, entry: &Entry, lines: impl FnOnce(usize) -> String) -> String {
    let column = |column: u32| usize::try_from(column).unwrap_or(usize::MAX).saturating_sub(1);
    let indent = match &entry.value.value {
        Content::Map(inner) if !inner.is_empty() => column(inner[0].key_span.start.column),
        _ => column(entry.key_span.start.column) + 2,
    };
    let line = usize::try_from(entry.key_span.start.line).unwrap_or(usize::MAX);
    let behind = text.split_inclusive('\n').take(line).map(str::len).sum();
    let (head, tail) = text.split_at(behind);
    let end = if head.ends_with('\n') { "" } else { "\n" };
    format!("{head}{end}{}{tail}", lines(indent))
}

#[cfg(test)]
mod tests {
    use super::super::{Source, TEMPLATE, resolve};
    use super::*;

    #[test]
    fn a_section_is_added_and_nothing_else_is_changed() {
        for text in [
            "",
            "# only words\n",
            "autonomous_agent: {}",
            "runtime:\n  backend: claude\n",
            "runtime:\n",
            "runtime:\n    # deep\n    backend: claude\n    backends:\n        codex:\n            model: x\nplan: 1\n",
            "runtime:\n  backends:\n",
            "# a word\nruntime: # another\n  retry: { max: 1 }\n\n  backends:\n\n    # of codex\n    codex: { model: x }\n",
            TEMPLATE,
        ] {
            let added = with_backend(text, "mine").unwrap_or_else(|error| panic!("{error}: {text}"));
            let source = Source { path: ".loa.config.yaml".into(), bytes: added.clone().into() };
            let settings = resolve(Some(source), Vec::new()).expect("valid");
            assert_eq!(settings.backend("mine").expect("there").program(), "mine", "{added}");
            let kept: Vec<&str> = added.lines().filter(|line| text.lines().any(|old| old == *line)).collect();
            let old: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
            assert!(old.iter().all(|line| kept.contains(line)), "{added}");
        }
    }

    #[test]
    fn what_is_there_is_not_overwritten_and_what_cannot_be_added_to_is_left() {
        for (text, why) in [
            ("runtime:\n  backends:\n    mine: { run: [x, \"{prompt}\"] }\n", NotAdded::Taken),
            ("runtime: { backend: claude }\n", NotAdded::Unsafe),
            ("runtime: { backends: {} }\n", NotAdded::Unsafe),
            ("{ autonomous_agent: {} }\n", NotAdded::Unsafe),
            ("- a list\n", NotAdded::Unsafe),
            ("runtime: [\n", NotAdded::Unsafe),
            ("a: 1\n---\nb: 2\n", NotAdded::Unsafe),
        ] {
            assert_eq!(with_backend(text, "mine"), Err(why), "{text}");
        }
    }

    #[test]
    fn every_key_of_the_section_may_be_uncommented() {
        let section = backend_section("mine", 4).replace("  # resume:", "  resume:");
        let keys = ["credentials:", "binary:", "model:", "env:", "retry:"];
        let section = keys.iter().fold(section, |section, key| section.replace(&format!("# {key}"), key));
        let text = format!("runtime:\n  backends:\n{section}");
        let source = Source { path: ".loa.config.yaml".into(), bytes: text.into() };
        let settings = resolve(Some(source), Vec::new()).expect("valid");
        assert_eq!(settings.backend("mine").expect("there").section.credentials, ["MINE_API_KEY"]);
    }
}
