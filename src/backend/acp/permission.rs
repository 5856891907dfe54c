//! The answer to an agent that asks whether it may use a tool (`session/request_permission`).
//!
//! What it may is the configuration's word, by the kind of the tool. The options that it offers are told apart by their kind
//! too; their ids and names are each agent's own.

use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

use crate::config::Permissions;

/// Kinds of tools that only look.
const LOOKS: [&str; 3] = ["read", "search", "think"];
/// Kinds of tools that change files.
const CHANGES: [&str; 3] = ["edit", "delete", "move"];

/// What was decided.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Decision {
    pub(super) allowed: bool,
    /// The answer.
    pub(super) result: Value,
}

/// The answer to this request. `kind` is that of the tool, where the request does not say it itself.
pub(super) fn decide(permissions: Permissions, params: &Value, kind: Option<&str>, workspace: &Path) -> Decision {
    let tool = &params["toolCall"];
    let kind = tool["kind"].as_str().or(kind).unwrap_or("other");
    let may = match permissions {
        Permissions::All => true,
        Permissions::Edit => LOOKS.contains(&kind) || (CHANGES.contains(&kind) && stays_inside(tool, workspace)),
        Permissions::Read => LOOKS.contains(&kind),
    };
    // What holds for ever is left to the configuration: it is chosen only where that allows everything anyway.
    let wanted: &[&str] = match (may, permissions) {
        (true, Permissions::All) => &["allow_once", "allow_always"],
        (true, _) => &["allow_once"],
        (false, _) => &["reject_once", "reject_always"],
    };
    let options = params["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    let offered = |wanted: &&str| options.iter().find(|option| option["kind"] == **wanted);
    match wanted.iter().find_map(offered) {
        Some(option) => Decision {
            allowed: may,
            result: json!({ "outcome": { "outcome": "selected", "optionId": option["optionId"] } }),
        },
        None => Decision { allowed: false, result: cancelled() },
    }
}

/// The answer when the turn is over anyway.
pub(super) fn cancelled() -> Value {
    json!({ "outcome": { "outcome": "cancelled" } })
}

/// Whether the tool names the files that it changes, and every one of them lies in the workspace.
fn stays_inside(tool: &Value, workspace: &Path) -> bool {
    let of = |list: &str| tool[list].as_array().into_iter().flatten().filter_map(|named| named["path"].as_str());
    // The second are the files of a difference.
    let mut paths = of("locations").chain(of("content")).peekable();
    let Some(root) = real(workspace) else { return false };
    paths.peek().is_some() && paths.all(|path| real(&workspace.join(path)).is_some_and(|path| path.starts_with(&root)))
}

/// Where a path leads as far as it is there, with the rest as it is written; `None` where a link leads nowhere, or nowhere yet.
fn real(path: &Path) -> Option<PathBuf> {
    let there = path.ancestors().find(|ancestor| ancestor.symlink_metadata().is_ok())?;
    let rest = path.strip_prefix(there).ok()?;
    Some(plain(&there.canonicalize().ok()?.join(rest)))
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::system::files::ensure_folder;

    fn asked(kind: &str, path: &str, options: &[&str]) -> Value {
        let options: Vec<Value> = options
            .iter()
            .map(|kind| json!({ "optionId": format!("the-{kind}"), "name": "x", "kind": kind }))
            .collect();
        json!({ "toolCall": { "kind": kind, "locations": [{ "path": path }] }, "options": options })
    }

    #[test]
    fn what_is_allowed_is_the_configurations_word_by_the_kind_of_the_tool() {
        let (read, edit, all) = (Permissions::Read, Permissions::Edit, Permissions::All);
        let every = ["reject_always", "allow_always", "reject_once", "allow_once"];
        for (kind, path, allowed) in [
            ("read", "/etc/hosts", vec![read, edit, all]),
            ("search", "src", vec![read, edit, all]),
            ("edit", "/w/src/lib.rs", vec![edit, all]),
            ("edit", "src/lib.rs", vec![edit, all]),
            ("edit", "/w/../etc/hosts", vec![all]),
            ("edit", "/elsewhere/x", vec![all]),
            ("delete", "/w/x", vec![edit, all]),
            ("execute", "/w", vec![all]),
            ("fetch", "/w", vec![all]),
            ("switch_mode", "/w", vec![all]),
            ("of tomorrow", "/w", vec![all]),
        ] {
            for permissions in [read, edit, all] {
                let decision = decide(permissions, &asked(kind, path, &every), None, Path::new("/w"));
                let may = allowed.contains(&permissions);
                let option = if may { "the-allow_once" } else { "the-reject_once" };
                assert_eq!(decision.allowed, may, "{permissions:?} {kind} {path}");
                assert_eq!(decision.result["outcome"]["optionId"], option, "{permissions:?} {kind} {path}");
            }
        }
    }

    #[test]
    fn a_change_names_its_files_and_no_link_leads_out_of_the_workspace() {
        let place = tempfile::tempdir().expect("a folder");
        let workspace = place.path().join("w");
        for folder in ["w/src", "elsewhere"] {
            ensure_folder(&place.path().join(folder)).expect("made");
        }
        for (link, target) in [("out", "../elsewhere"), ("in", "src"), ("nowhere", "../not/yet")] {
            symlink(target, workspace.join(link)).expect("linked");
        }
        for (paths, allowed) in [
            (&["src/lib.rs"][..], true),
            (&["new/deep/er.rs"], true),
            (&["in/lib.rs"], true),
            (&["in/../lib.rs"], true),
            (&[], false),
            (&["out/x"], false),
            (&["out"], false),
            (&["nowhere"], false),
            (&["nowhere/x"], false),
            (&["new/../../elsewhere/x"], false),
            (&["in/../../elsewhere/x"], false),
            (&["src/lib.rs", "out/x"], false),
        ] {
            for list in ["locations", "content"] {
                let named: Vec<Value> = paths.iter().map(|path| json!({ "path": path })).collect();
                let options = [json!({ "optionId": "y", "kind": "allow_once" })];
                let request = json!({ "toolCall": { "kind": "edit", list: named }, "options": options });
                let decision = decide(Permissions::Edit, &request, None, &workspace);
                assert_eq!(decision.allowed, allowed, "{list}: {paths:?}");
            }
        }
    }

    #[test]
    fn an_option_is_chosen_by_its_kind_and_none_is_made_up() {
        for (permissions, kind, offered, chosen) in [
            (Permissions::All, "execute", vec!["allow_always"], Some("the-allow_always")),
            (Permissions::Edit, "edit", vec!["allow_always", "reject_once"], None),
            (Permissions::Edit, "execute", vec!["allow_once", "reject_always"], Some("the-reject_always")),
            (Permissions::Read, "execute", vec!["allow_once"], None),
            (Permissions::All, "execute", vec![], None),
        ] {
            let decision = decide(permissions, &asked(kind, "x", &offered), None, Path::new("/w"));
            let outcome = &decision.result["outcome"];
            assert_eq!(outcome["optionId"].as_str(), chosen, "{permissions:?} {kind} {offered:?}");
            assert_eq!(outcome["outcome"] == "cancelled", chosen.is_none(), "{permissions:?} {kind} {offered:?}");
            assert_eq!(decision.allowed, permissions == Permissions::All && chosen.is_some());
        }
    }

    #[test]
    fn a_request_that_leaves_out_the_kind_has_that_of_its_tool() {
        let request =
            json!({ "toolCall": { "toolCallId": "t" }, "options": [{ "optionId": "y", "kind": "allow_once" }] });
        assert!(decide(Permissions::Read, &request, Some("read"), Path::new("/w")).allowed);
        assert!(!decide(Permissions::Edit, &request, Some("execute"), Path::new("/w")).allowed);
        assert!(!decide(Permissions::Edit, &request, None, Path::new("/w")).allowed);
        assert!(!decide(Permissions::Edit, &Value::Null, None, Path::new("/w")).allowed);
    }
}
