//! The configuration that `loa-run init` writes.

use crate::contract::Phase;

/// A configuration with every value of this runtime at its default, and comments that explain them. An example is
/// commented out by a `#` in the first column; without it, it is valid as it stands.
pub const TEMPLATE: &str = include_str!("template.yaml");

/// What an agent is told in a phase.
struct Told {
    phase: Phase,
    /// With Loa's own slash commands, where it has any for the phase.
    commands: Option<&'static str>,
    /// Without them.
    sentence: &'static str,
    /// The gate: the file that Loa asks for at the end of the phase.
    verify: Option<&'static str>,
}

const TOLD: [Told; 8] = [
    Told {
        phase: Phase::Preflight,
        commands: None,
        sentence: "Look whether the work can begin and change nothing. Is the work tree clean, are the project's tools there, do its tests run?",
        verify: None,
    },
    Told {
        phase: Phase::Discovery,
        commands: Some("/plan-and-analyze"),
        sentence: "Find out what is to be built and for whom, and write it to grimoires/loa/prd.md.",
        verify: Some("test -s grimoires/loa/prd.md"),
    },
    Told {
        phase: Phase::Design,
        commands: Some("Run /architect, and when that is done /sprint-plan."),
        sentence: "Read grimoires/loa/prd.md. Write the design to grimoires/loa/sdd.md and the sprints to grimoires/loa/sprint.md.",
        verify: Some("test -s grimoires/loa/sdd.md && test -s grimoires/loa/sprint.md"),
    },
    Told {
        phase: Phase::Implementation,
        commands: Some("/run sprint-plan"),
        sentence: "Do every sprint of grimoires/loa/sprint.md with its tests, and commit the work.",
        verify: None,
    },
    Told {
        phase: Phase::Audit,
        commands: Some("Run /review-sprint, and when that is done /audit-sprint."),
        sentence: "Review the work of this branch against grimoires/loa/sprint.md and look for faults of security. Write down every finding.",
        verify: None,
    },
    Told {
        phase: Phase::Submit,
        commands: None,
        sentence: "Push the branch and open a draft pull request that says what was done and how it was tested.",
        verify: None,
    },
    Told {
        phase: Phase::Deploy,
        commands: Some("/deploy-production"),
        sentence: "Bring the work to its users the way this project does it, and say how to take it back.",
        verify: None,
    },
    Told {
        phase: Phase::Learning,
        commands: Some("/retrospective"),
        sentence: "Look back at this work and write down what the next one should do otherwise.",
        verify: None,
    },
];

/// The same configuration with a prompt for every phase, to be done by this agent: Loa's slash commands where the agent
/// knows all that the phase needs, a plain sentence where it does not.
#[must_use]
pub fn template_for(backend: &str, knows: impl Fn(&str) -> bool) -> String {
    let line = |line: &str| {
        let told = TOLD.iter().find(|told| line == format!("    {}:", told.phase));
        match told {
            Some(told) => {
                let commands = told.commands.filter(|prompt| slash_commands(prompt).all(&knows));
                let prompt = commands.unwrap_or(told.sentence);
                let verify = told.verify.map(|gate| format!("      verify: {gate}\n")).unwrap_or_default();
                format!("{line}\n      prompt: {prompt}\n{verify}")
            }
            None if line.starts_with("  backend: ") => format!("  backend: {backend}\n"),
            // An example of what stands there now.
            None if line.starts_with("#      prompt: ") => String::new(),
            None => format!("{line}\n"),
        }
    };
    TEMPLATE.lines().map(line).collect()
}

/// The slash commands that a prompt names, without their slash. A path is none.
pub fn slash_commands(prompt: &str) -> impl Iterator<Item = &str> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let words = prompt.split_whitespace().map(|word| word.trim_end_matches([',', '.', ';', ':', '!', '?', ')']));
    words.filter_map(|word| word.strip_prefix('/')).filter(move |name| !name.is_empty() && name.chars().all(plain))
}

/// Whether a slash command is one of Loa's that a template names.
#[must_use]
pub fn is_loas_command(name: &str) -> bool {
    TOLD.iter().filter_map(|told| told.commands).flat_map(slash_commands).any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::super::{Command, Origin, Source, resolve};
    use super::*;

    #[test]
    fn every_phase_has_a_prompt_for_the_agent_that_was_asked_for() {
        for (backend, commands) in [("claude", true), ("codex", false)] {
            let settings = settings(&template_for(backend, |_| commands));
            assert_eq!(settings.default_backend(), backend);
            for told in TOLD {
                let phase = settings.phase(told.phase);
                let prompt = phase.prompt.expect("a prompt");
                assert_eq!(prompt, if commands { told.commands.unwrap_or(told.sentence) } else { told.sentence });
                assert_eq!(prompt.contains('/') && !prompt.contains("grimoires"), commands && told.commands.is_some());
                assert_eq!(phase.verify, told.verify.map(|gate| Command::Shell(gate.to_owned())), "{}", told.phase);
            }
        }
        assert_eq!(TOLD.map(|told| told.phase).to_vec(), Phase::ALL);
    }

    #[test]
    fn a_phase_is_told_commands_only_where_all_of_them_are_known() {
        let settings = settings(&template_for("claude", |name| name != "sprint-plan"));
        let prompt = |phase| settings.phase(phase).prompt.expect("a prompt");
        assert_eq!(prompt(Phase::Discovery), "/plan-and-analyze");
        assert!(prompt(Phase::Design).starts_with("Read grimoires/"), "it needs /architect and /sprint-plan");
        let named: Vec<&str> = slash_commands("Run /architect, then /x:y, /tmp/a or /sprint-plan.").collect();
        assert_eq!(named, ["architect", "sprint-plan"]);
        assert!(is_loas_command("run") && !is_loas_command("compact"));
    }

    fn settings(text: &str) -> super::super::Settings {
        let source = Source { path: ".loa.config.yaml".into(), bytes: text.into() };
        resolve(Some(source), Vec::new()).expect("the template is valid")
    }

    #[test]
    fn the_template_says_every_default_and_nothing_else() {
        let (written, default) = (settings(TEMPLATE), resolve(None, Vec::new()).expect("the defaults are valid"));
        assert_eq!(written.config, default.config);
        for value in written.explain() {
            assert!(matches!(value.origin, Origin::File { .. }), "{} is missing", value.key);
        }
    }

    #[test]
    fn every_example_in_the_template_may_be_uncommented() {
        let uncommented = |line: &str| match line.strip_prefix('#') {
            Some(rest) if rest.starts_with("  ") || rest.starts_with("effort") => format!("{rest}\n"),
            _ => format!("{line}\n"),
        };
        let text: String = TEMPLATE.lines().map(uncommented).collect();
        let settings = settings(&text);
        assert!(settings.effort().is_some());
        assert!(settings.compaction().is_some());
        let implementation = settings.phase(crate::contract::Phase::Implementation);
        assert!(implementation.verify.is_some() && implementation.timeout.is_some());
        assert_eq!(implementation.retry.max, 1);
    }
}
