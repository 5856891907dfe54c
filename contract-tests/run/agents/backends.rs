//! `loa-run backends`: the agents that there are, whether they would work, and a section for another.

use std::process::Command;

use serde_json::Value;

use super::{Player, StandIn};
use crate::run::Workspace;
use crate::run::workspace::{Ran, finished};

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stdout))
}

/// A program that prints a version when it is asked for one.
fn program(workspace: &Workspace, name: &str, script: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    workspace.write(name, &format!("#!/bin/sh\n{script}\n"));
    let path = workspace.path(name);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("made a program");
    path.display().to_string()
}

#[test]
fn every_agent_is_listed_with_what_it_can_do_and_the_default_with_its_origin() {
    let workspace = Workspace::only(&[]);
    let mine = program(&workspace, "mine", "true");
    workspace.config(&format!(
        "runtime:\n  backend: mine\n  backends: {{ mine: {{ run: ['{mine}', '{{session}}', '{{prompt}}'], resume: [x, '{{session}}'] }} }}\n"
    ));
    let listed = json(&workspace.loa(&["backends", "--json"]).exits(0));
    assert_eq!(listed["default"]["backend"], "mine");
    assert!(listed["default"]["origin"].as_str().is_some_and(|origin| origin.ends_with(".loa.config.yaml:2")));
    let of = |name: &str| {
        let all = listed["backends"].as_array().expect("a list");
        all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{name}: {listed:#}")).clone()
    };
    let own = of("mine");
    assert_eq!(
        (&own["kind"], &own["built_in"], &own["found"]),
        (&"command".into(), &false.into(), &mine.as_str().into())
    );
    assert_eq!((&own["capabilities"]["resumes"], &own["capabilities"]["usage"]), (&true.into(), &false.into()));
    let claude = of("claude");
    assert_eq!((&claude["built_in"], &claude["capabilities"]["compacts_on_request"]), (&true.into(), &true.into()));
    assert!(claude["credentials"].to_string().contains("ANTHROPIC_API_KEY"));
    let text = workspace.loa(&["backends", "list"]).exits(0).stdout;
    for line in ["default: mine", "claude", "compacts on request"] {
        assert!(text.contains(line), "{text}");
    }
    let matrix: Vec<&str> = text.lines().filter(|line| line.starts_with("resumes ")).collect();
    assert!(matrix.len() == 1 && matrix[0].split_whitespace().filter(|word| *word == "yes").count() >= 3, "{text}");
    assert_eq!(workspace.loa(&["backends"]).exits(0).stdout, text, "the list is the default");
}

#[test]
fn the_doctor_tries_each_and_names_keys_without_their_values() {
    let workspace = Workspace::only(&[]);
    let good =
        program(&workspace, "good", "test -z \"$ANTHROPIC_API_KEY\" && test \"$1\" = --version && echo 'good 1.2'");
    let broken = program(&workspace, "broken", "echo 'no such option' >&2; exit 3");
    workspace.config(&format!(
        "runtime:\n  backends:\n    claude: {{ binary: '{good}' }}\n    codex: {{ binary: /nonexistent/codex }}\n    \
         mine: {{ run: ['{broken}', '{{prompt}}'], permissions: all, prompts: {{ pre_user: '@none.md' }} }}\n"
    ));
    let mut command = workspace.command(&["backends", "doctor"]);
    command.env("ANTHROPIC_API_KEY", "sk-dummy-anthropic").env_remove("OPENAI_API_KEY").env_remove("CODEX_API_KEY");
    let ran = finished(command).exits(2);
    for line in [
        &format!("good  claude: {good}: good 1.2\n"),
        "good  claude, key: set: ANTHROPIC_API_KEY\n",
        "BAD   codex: `/nonexistent/codex` is not found\n      do: install it, or say where it is: runtime.backends.codex.binary",
        &format!("warn  mine: {broken} tells no version: exit 3: no such option\n"),
        "warn  mine, settings: `runtime.backends.mine.permissions` changes nothing\n",
        "BAD   mine, prompts: runtime.backends.mine.prompts.pre_user names a file that cannot be read\n",
    ] {
        assert!(ran.stdout.contains(line), "`{line}` is missing in:\n{}", ran.stdout);
    }
    assert!(!ran.stdout.contains("sk-dummy"), "{}", ran.stdout);
    let one = json(&workspace.loa(&["backends", "doctor", "claude", "--json"]).exits(0));
    assert_eq!((&one["good"], one["checks"].as_array().map(Vec::len)), (&true.into(), Some(2)), "{one:#}");
    workspace.loa(&["backends", "doctor", "cluade"]).exits(64).says(&["did you mean `claude`?"]);
    workspace.config("runtime: { backend: cluade }\n");
    let wrong = workspace.loa(&["backends", "doctor"]).exits(2).stdout;
    assert!(wrong.contains("BAD   configuration: ") && wrong.contains("did you mean `claude`?"), "{wrong}");
}

#[test]
fn a_built_in_agent_that_nobody_counts_on_may_be_missing() {
    let workspace = Workspace::only(&[]);
    let good = program(&workspace, "good", "echo 1");
    workspace.config(&format!("runtime: {{ backends: {{ claude: {{ binary: '{good}' }} }} }}\n"));
    let mut command = workspace.command(&["backends", "doctor"]);
    command.env("PATH", workspace.path(""));
    let ran = finished(command).exits(0);
    assert!(ran.stdout.contains("warn  codex: `codex` is not found"), "{}", ran.stdout);
    let mut command = workspace.command(&["backends", "doctor", "codex"]);
    command.env("PATH", workspace.path(""));
    finished(command).exits(2);
}

#[test]
fn a_new_section_is_added_and_works_at_once() {
    let workspace = Workspace::only(&[]);
    program(&workspace, "mine", "echo \"told: $1\"");
    let path = || format!("{}:{}", workspace.path("").display(), std::env::var("PATH").unwrap_or_default());
    let before = "# words of mine\nruntime:\n  # about retries\n  retry: { max: 1 }\n";
    workspace.config(before);
    workspace.loa(&["backends", "new", "mine"]).exits(0);
    let after = workspace.read(".loa.config.yaml");
    assert!(before.lines().all(|line| after.lines().any(|kept| kept == line)), "{after}");
    let mut ask = workspace.command(&["agent", "run", "--backend", "mine", "Hello."]);
    ask.env("PATH", path());
    assert_eq!(finished(ask).exits(0).stdout, "told: Hello.\n");
    workspace.loa(&["backends", "new", "mine"]).exits(74).says(&["nothing is ever overwritten"]);
    assert_eq!(workspace.read(".loa.config.yaml"), after);
    workspace.config("runtime: { retry: { max: 1 } }\n");
    workspace
        .loa(&["backends", "new", "mine"])
        .exits(74)
        .says(&["cannot be added to safely", "run: [mine, \"{prompt}\"]"]);
    assert_eq!(workspace.read(".loa.config.yaml"), "runtime: { retry: { max: 1 } }\n");
    std::fs::remove_file(workspace.path(".loa.config.yaml")).expect("removed");
    workspace.loa(&["backends", "new", "mine"]).exits(0);
    let checked = Command::new(env!("CARGO_BIN_EXE_loa-validate"))
        .args(["config".as_ref(), workspace.path(".loa.config.yaml").as_os_str()])
        .output();
    assert!(checked.as_ref().is_ok_and(|output| output.status.success()), "{checked:?}");
    for wrong in ["../x", "", "a b", "claude"] {
        workspace.loa(&["backends", "new", wrong]).exits(64);
    }
}

#[test]
fn an_agents_settings_have_variables_and_its_retries_are_its_own() {
    let agent = StandIn::new(Player::Claude);
    agent.plays("rest", "overloaded", 1);
    let run = |variables: &[(&str, &str)], code: i32| {
        let before = agent.starts();
        agent.run_with(variables).exits(code);
        agent.starts() - before
    };
    assert_eq!(run(&[("LOA_RUN_BACKENDS_CLAUDE_RETRY_MAX", "1")], 2), 2, "one retry");
    agent.workspace.loa(&["resolve", "abort"]).exits(0);
    let own = [("LOA_RUN_BACKENDS_CLAUDE_RETRY_MAX", "1"), ("LOA_RUN_PHASES_DESIGN_RETRY_MAX", "0")];
    assert_eq!(run_fresh(&agent, &own), 1, "the phase goes before its agent");
    assert_eq!(run_fresh(&agent, &[("LOA_RUN_RETRY_MAX", "2"), own[0]]), 2, "the agent goes before all");
    let mut command = agent.workspace.command(&["config"]);
    command.env("LOA_RUN_BACKENDS_CLUADE_MODEL", "opus");
    finished(command).exits(78).says(&["environment variable LOA_RUN_BACKENDS_CLUADE_MODEL", "`cluade`"]);
}

/// How often the agent is started by a fresh run.
fn run_fresh(agent: &StandIn, variables: &[(&str, &str)]) -> usize {
    let before = agent.starts();
    let mut command = agent.workspace.command(&["run", "--fresh", "--plan", "plan.json"]);
    command.envs(variables.iter().copied());
    finished(command).exits(2);
    agent.starts() - before
}
