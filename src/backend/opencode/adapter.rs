//! How `OpenCode` is started.

use std::ffi::OsStr;
use std::io;

use serde_json::{Value, json};

use super::transcript::Transcript;
use crate::backend::container::workspace;
use crate::backend::overlay::lay_over;
use crate::backend::process::{Process, command, variable};
use crate::backend::refusal::Resumption;
use crate::config::{BackendSettings, Permissions};
use crate::runner::{Backend, Capabilities, Invocation, Session, Task};

/// The variable whose JSON goes before every configuration file of the user; ours is merged with what stands there.
const CONFIG: &str = "OPENCODE_CONFIG_CONTENT";
/// The agent that it works as, unless the user chose another.
const AGENT: &str = "build";
/// Tools that only look.
const LOOKS: [&str; 4] = ["glob", "grep", "list", "read"];
/// Tools that change files, or its list of what there is to do.
const CHANGES: [&str; 2] = ["edit", "todowrite"];
/// Its other tools, and what else it would ask about.
const OTHERS: [&str; 8] = ["bash", "doom_loop", "external_directory", "lsp", "skill", "task", "webfetch", "websearch"];

/// `OpenCode`, as it is configured.
///
/// It compacts near the end of the window that its own configuration gives a model. That cannot be moved without saying
/// the model's greatest answer too, which only that configuration knows, so the soft limit is not passed on. It bounds
/// turns by a request to the model alone, so neither is their number.
#[derive(Debug)]
pub struct OpenCode {
    settings: BackendSettings,
}

impl OpenCode {
    /// With these settings.
    #[must_use]
    pub fn new(settings: BackendSettings) -> Self {
        Self { settings }
    }

    fn arguments(&self, task: &Task<'_>, session: Option<&str>) -> Vec<String> {
        let section = &self.settings.section;
        let mut arguments: Vec<String> = ["run", "--format", "json"].map(str::to_owned).into();
        let mut give = |words: &[&str]| arguments.extend(words.iter().map(|word| (*word).to_owned()));
        // A session of another folder would hang.
        give(&["--dir", &workspace(task.surroundings).to_string_lossy()]);
        if let Some(model) = &section.model {
            give(&["--model", model]);
        }
        if let Some(effort) = task.effort {
            give(&["--variant", effort.as_str()]);
        }
        if let Some(session) = session {
            give(&["--session", session]);
        }
        arguments.extend(section.args.iter().cloned());
        arguments.extend(["--".to_owned(), task.whole_prompt().into_owned()]);
        arguments
    }
}

impl Backend for OpenCode {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resumes: true,
            names_sessions: false,
            usage: true,
            compacts_itself: false,
            compacts_on_request: false,
            effort: true,
            structured: true,
        }
    }

    fn credentials(&self) -> Vec<String> {
        self.settings.credentials(&[
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "GOOGLE_GENERATIVE_AI_API_KEY",
            "OPENROUTER_API_KEY",
            "OPENCODE_API_KEY",
        ])
    }

    fn invoke(&self, task: &Task<'_>, session: Session<'_>) -> io::Result<Box<dyn Invocation>> {
        let section = &self.settings.section;
        let arguments = self.arguments(task, session.earlier());
        let given = variable(CONFIG, &self.settings, task.surroundings);
        let config = config(given.as_deref(), section.permissions.unwrap_or_default())?;
        let own = section.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let own = own.chain([("OPENCODE_DISABLE_AUTOUPDATE", "1"), (CONFIG, &config)]);
        let command = command(self.settings.program(), arguments.iter().map(String::as_str), own, task.surroundings);
        let reader = Transcript::new(Resumption::of(session.earlier(), task.surroundings));
        Ok(Box::new(Process::start(&command, reader)?))
    }
}

/// Our settings over those that the variable holds, its rules instead of those that stand there.
///
/// Of its rules the last one that fits decides, and where it merges ours with those of a file, a tool that the file names keeps
/// its place there, before our `*`. So they are given twice: what an agent may stands behind what all may.
fn config(given: Option<&OsStr>, permissions: Permissions) -> io::Result<String> {
    let given = given.map_or_else(|| "{}".into(), OsStr::to_string_lossy);
    let no_json = |error| io::Error::other(format!("{CONFIG} is no JSON: {error}"));
    let mut config: Value = serde_json::from_str(&given).map_err(no_json)?;
    for rules in [Value::Null, rules(permissions)] {
        lay_over(&mut config, json!({ "permission": rules, "agent": { AGENT: { "permission": rules } } }));
    }
    Ok(config.to_string())
}

/// What each tool may do. What is denied is not offered to the model: nobody is asked. Every tool is named, for a rule of the
/// user's about one that is not would decide.
fn rules(permissions: Permissions) -> Value {
    let (changes, others) = match permissions {
        Permissions::Read => ("deny", "deny"),
        Permissions::Edit => ("allow", "deny"),
        Permissions::All => ("allow", "allow"),
    };
    let named = LOOKS.map(|tool| (tool, "allow")).into_iter();
    let named = named.chain(CHANGES.map(|tool| (tool, changes))).chain(OTHERS.map(|tool| (tool, others)));
    [("*", others)].into_iter().chain(named).chain([("question", "deny")]).collect()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::backend::container::contained;
    use crate::config::{BackendKind, BackendSection};
    use crate::contract::{ContextLimits, EffortLevel};
    use crate::runner::Surroundings;

    #[test]
    fn every_setting_has_its_option() {
        let section = BackendSection {
            model: Some("a/b".to_owned()),
            args: vec!["--pure".to_owned()],
            ..BackendSection::default()
        };
        let settings = BackendSettings { name: "opencode".to_owned(), kind: BackendKind::OpenCode, section };
        let surroundings = Surroundings { workspace: PathBuf::from("/w"), ..Surroundings::default() };
        let task = Task {
            prompt: "-go",
            system: Some("Be brief."),
            max_turns: Some(3),
            effort: Some(EffortLevel::Low),
            limits: ContextLimits::default(),
            surroundings: &surroundings,
        };
        let line = OpenCode::new(settings).arguments(&task, Some("ses_1")).join(" ");
        assert_eq!(
            line,
            "run --format json --dir /w --model a/b --variant low --session ses_1 --pure -- Be brief.\n\n-go"
        );
        let plain = BackendSection::default();
        let settings = BackendSettings { name: "opencode".to_owned(), kind: BackendKind::OpenCode, section: plain };
        let inside = contained(Path::new("/w"), "/mounted");
        let task = Task { system: None, effort: None, surroundings: &inside, ..task };
        let line = OpenCode::new(settings).arguments(&task, None).join(" ");
        assert_eq!(line, "run --format json --dir /mounted -- -go", "as it sees the workspace");
    }

    #[test]
    fn what_is_allowed_goes_over_the_configuration_of_the_user() {
        let given = OsStr::new(
            r#"{"model": "m", "permission": {"bash": "ask"}, "agent": {"build": {"steps": 3, "permission": "ask"}}}"#,
        );
        let config = |given, permissions| {
            let text = super::config(given, permissions)?;
            io::Result::Ok(serde_json::from_str::<Value>(&text).expect("JSON"))
        };
        let all = config(Some(given), Permissions::All).expect("merged");
        assert_eq!((&all["model"], &all["agent"]["build"]["steps"]), (&json!("m"), &json!(3)));
        for permissions in [Permissions::Read, Permissions::Edit, Permissions::All] {
            let config = config(Some(given), permissions).expect("merged");
            assert_eq!(config["permission"], rules(permissions));
            assert_eq!(config["agent"]["build"]["permission"], rules(permissions));
        }
        assert!(config(Some(OsStr::new("{")), Permissions::All).expect_err("no JSON").to_string().contains(CONFIG));
    }

    #[test]
    fn every_tool_has_a_rule_of_its_own_behind_that_for_all() {
        let (allow, deny) = ("allow", "deny");
        for (tool, read, edit, all) in [
            ("*", deny, deny, allow),
            ("read", allow, allow, allow),
            ("grep", allow, allow, allow),
            ("edit", deny, allow, allow),
            ("bash", deny, deny, allow),
            ("webfetch", deny, deny, allow),
            ("task", deny, deny, allow),
            ("external_directory", deny, deny, allow),
            ("question", deny, deny, deny),
        ] {
            for (permissions, action) in [(Permissions::Read, read), (Permissions::Edit, edit), (Permissions::All, all)]
            {
                assert_eq!(rules(permissions)[tool], action, "{permissions:?} {tool}");
            }
        }
        assert_eq!(rules(Permissions::All).as_object().and_then(|rules| rules.keys().next()), Some(&"*".to_owned()));
    }
}
