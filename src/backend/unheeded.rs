//! Settings that an adapter has no use for.

use crate::config::{BackendKind, BackendSettings};

/// Whether an agent of this kind can be told a bound of turns.
#[must_use]
pub fn bounds_turns(kind: BackendKind) -> bool {
    matches!(kind, BackendKind::Claude | BackendKind::Qwen | BackendKind::Acp)
}

/// The keys of a backend's section that change nothing, each with what would.
#[must_use]
pub fn unheeded(settings: &BackendSettings) -> Vec<(&'static str, &'static str)> {
    let section = &settings.section;
    let is_held = |what: &str| section.run.iter().flatten().any(|word| word.contains(what));
    let command = settings.kind == BackendKind::Command;
    let unbound = !command && !bounds_turns(settings.kind);
    let found = [
        (command && !section.args.is_empty(), "args", "write them into `run`"),
        (command && section.permissions.is_some(), "permissions", "write into `run` what the program wants for them"),
        (command && section.max_turns.is_some(), "max_turns", "write into `run` what the program wants for it"),
        (command && section.model.is_some() && !is_held("{model}"), "model", "put {model} into `run`"),
        (
            unbound && section.max_turns.is_some(),
            "max_turns",
            "remove it: the program is not told of any bound of turns",
        ),
    ];
    found.into_iter().filter(|(is_unheeded, ..)| *is_unheeded).map(|(_, key, remedy)| (key, remedy)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{BackendSection, Permissions};

    #[test]
    fn a_setting_that_changes_nothing_is_named() {
        let run = |word: &str| Some(vec!["mine".to_owned(), word.to_owned()]);
        let all = BackendSection {
            model: Some("m".to_owned()),
            permissions: Some(Permissions::All),
            max_turns: Some(3),
            args: vec!["-x".to_owned()],
            ..BackendSection::default()
        };
        for (kind, section, keys) in [
            (BackendKind::Claude, all.clone(), &[][..]),
            (BackendKind::Codex, all.clone(), &["max_turns"]),
            (BackendKind::Gemini, all.clone(), &["max_turns"]),
            (BackendKind::OpenCode, all.clone(), &["max_turns"]),
            (BackendKind::Aider, all.clone(), &["max_turns"]),
            (BackendKind::Pi, all.clone(), &["max_turns"]),
            (BackendKind::Qwen, all.clone(), &[]),
            (BackendKind::Acp, all.clone(), &[]),
            (BackendKind::Command, all.clone(), &["args", "permissions", "max_turns", "model"]),
            (
                BackendKind::Command,
                BackendSection { run: run("{model}"), ..all },
                &["args", "permissions", "max_turns"],
            ),
            (BackendKind::Command, BackendSection { run: run("{prompt}"), ..BackendSection::default() }, &[]),
        ] {
            let settings = BackendSettings { name: "mine".to_owned(), kind, section };
            let found: Vec<&str> = unheeded(&settings).into_iter().map(|(key, _)| key).collect();
            assert_eq!(found, keys, "{kind:?}");
        }
    }
}
