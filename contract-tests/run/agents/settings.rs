//! How an agent is started: settings and where they come from, credentials, effort, templates.

use super::{Player, StandIn};
use crate::run::Workspace;
use crate::run::workspace::finished;

#[test]
fn a_key_reaches_its_agent_and_nobody_else() {
    for player in Player::ALL {
        let key = player.key();
        let agent = StandIn::new(player);
        let plan = serde_json::json!({ "phases": [
            { "id": "design", "prompt": "Design it." },
            { "id": "submit", "command": "env > submitted" },
        ] });
        agent.workspace.write("plan.json", &plan.to_string());
        agent.configured("  phases: { design: { verify: 'env > gated' } }\n");
        agent.plays("rest", "tool", 0);
        let own = [(key, "sk-of-the-agent"), ("SOMETHING_ELSE", "for all")];
        agent.run_with(&own).exits(0);
        assert!(agent.environment(1).contains("sk-of-the-agent"), "{player:?}");
        assert!(agent.environment(1).contains("REPLAY="), "{player:?}");
        for others in ["gated", "submitted"] {
            let environment = agent.workspace.read(others);
            assert!(environment.contains("SOMETHING_ELSE=for all"), "{player:?} {others}");
            assert!(!environment.contains("sk-of-the-agent"), "{player:?} {others}");
            assert!(!environment.contains("REPLAY="), "{player:?} {others}: the backend's own variables");
        }
        for file in [".loa-run/run.yaml", ".loa-run/sessions/design.yaml", ".loa-run/logs/design-1.log"] {
            assert!(!agent.workspace.read(file).contains("sk-of-the-agent"), "{player:?} {file}");
        }
    }
}

#[test]
fn a_key_of_an_agent_that_has_no_work_now_reaches_nobody() {
    let design = serde_json::json!({ "id": "design", "prompt": "Design it." });
    let audit = serde_json::json!({ "id": "audit", "prompt": "Review it.", "backend": "codex" });
    let [alone, both] = [vec![design.clone()], vec![design, audit]].map(|it| serde_json::json!({ "phases": it }));
    let others = "backends: { mine: { run: [mine, '{prompt}'], credentials: [OPENAI_API_KEY] }, claude:";
    for (plan, phases, section, arguments, is_seen) in [
        (&alone, "", "backends: { claude:", &[][..], true),
        (&alone, ", audit: { backend: codex }", "backends: { claude:", &[], false),
        (&alone, ", audit: { backend: codex, prompt: Review it., skip: true }", "backends: { claude:", &[], false),
        (&alone, "", others, &[], false),
        (&both, "", "backends: { claude:", &["--phase", "design"], false),
    ] {
        let agent = StandIn::new(Player::Claude);
        agent.workspace.write("plan.json", &plan.to_string());
        agent.configured(&format!("  phases: {{ design: {{ verify: 'env > gated' }}{phases} }}\n"));
        agent.workspace.config(&agent.workspace.read(".loa.config.yaml").replace("backends: { claude:", section));
        agent.plays("rest", "tool", 0);
        let mut run = agent.workspace.command(&[&["run", "--plan", "plan.json"], arguments].concat());
        run.env("OPENAI_API_KEY", "sk-dummy-of-codex");
        finished(run).exits(0);
        for seen in [agent.environment(1), agent.workspace.read("gated")] {
            assert_eq!(seen.contains("sk-dummy-of-codex"), is_seen, "{phases} {section} {arguments:?}");
        }
    }
}

#[test]
fn an_agent_is_given_what_every_stage_is_given() {
    let agent = StandIn::new(Player::Claude);
    agent.plays("rest", "success", 0);
    agent.does("rest", r#"echo '{"summary":"Designed."}' > "$LOA_RESULT_FILE""#);
    agent.run().exits(0);
    for name in
        ["LOA_EXECUTION_ID=exec-", "LOA_PHASE=design", "LOA_ATTEMPT=1", "LOA_SIGNAL_FILE=", "CONTEXT_HARD_LIMIT=150000"]
    {
        assert!(agent.environment(1).contains(name), "{name}");
    }
    assert_eq!(agent.workspace.checkpoint("design")["summary"], "UNVERIFIED: Designed.");
}

#[test]
fn effort_is_passed_on_as_the_agent_takes_it() {
    let rows = [
        (Player::Claude, "--effort\nhigh\n"),
        (Player::Codex, "model_reasoning_effort=\"high\""),
        (Player::OpenCode, "--variant\nhigh\n"),
        (Player::Aider, "--reasoning-effort\nhigh\n"),
        (Player::Pi, "--thinking\nhigh\n"),
    ];
    for (player, word) in rows {
        let agent = StandIn::new(player);
        agent.plays("rest", "tool", 0);
        agent.run().exits(0);
        assert!(!agent.arguments(1).contains(word), "{player:?}: the model's own without a section");
        let config = agent.workspace.read(".loa.config.yaml");
        agent.workspace.config(&format!("effort: {{ default_level: low, per_skill: {{ design: high }} }}\n{config}"));
        agent.run().exits(0);
        assert!(agent.arguments(2).contains(word), "{player:?}: {}", agent.arguments(2));
    }
}

#[test]
fn the_agent_is_chosen_by_flag_environment_phase_and_file() {
    let workspace = Workspace::only(&[]);
    let plan = serde_json::json!({ "phases": [
        { "id": "design", "prompt": "Design it." },
        { "id": "audit", "prompt": "Review it.", "backend": "codex" },
    ] });
    workspace.write("plan.json", &plan.to_string());
    let shown = |arguments: &[&str], variable: Option<&str>| {
        let mut command = workspace.command(&[&["run", "--plan", "plan.json", "--dry-run"], arguments].concat());
        command.envs(variable.map(|value| ("LOA_RUN_BACKEND", value)));
        finished(command).exits(0).stdout
    };
    let told = |text: &str| {
        text.lines().map(|line| line.split_whitespace().nth(1).unwrap_or("").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(told(&shown(&[], None)), ["claude", "codex"]);
    assert_eq!(told(&shown(&[], Some("codex"))), ["codex", "codex"]);
    assert_eq!(told(&shown(&["--set", "runtime.backend=claude"], Some("codex"))), ["claude", "codex"]);
    let mut wrong = workspace.command(&["run", "--plan", "plan.json"]);
    wrong.env("LOA_RUN_BACKEND", "cladue");
    finished(wrong).exits(78).says(&["LOA_RUN_BACKEND", "did you mean `claude`?"]);
    workspace.write("plan.json", &plan.to_string().replace("codex", "nobody"));
    workspace.run().exits(78).says(&["`nobody`", "runtime.backends.nobody"]);
}

#[test]
fn a_template_starts_any_program_and_goes_on_where_it_can() {
    let workspace = Workspace::only(&[]);
    workspace.write(
        "plan.json",
        &serde_json::json!({ "phases": [{ "id": "design", "prompt": "Design {session}." }] }).to_string(),
    );
    workspace.write(
        "agent",
        "echo \"$@\" >> told; echo working; test \"$1\" = again && echo 'All is designed.' || exit 1\n",
    );
    let config = |resume: &str| {
        workspace.config(&format!(
            "runtime:\n  retry: {{ initial_ms: 1 }}\n  backend: mine\n  backends: {{ mine: {{ run: [sh, agent, first, '{{session}}', '{{prompt}}']{resume} }} }}\n"
        ));
    };
    config(", resume: [sh, agent, again, '{session}', '{prompt}']");
    workspace.run().exits(0);
    let told = workspace.read("told");
    let lines: Vec<&str> = told.lines().filter(|line| !line.is_empty()).collect();
    let session = lines[0].split(' ').nth(1).expect("an id");
    assert_eq!(lines[0], format!("first {session} Design {{session}}."), "what is filled in is left alone");
    assert!(lines[1].starts_with(&format!("again {session} ")), "{told}");
    assert_eq!(workspace.checkpoint("design")["summary"], "UNVERIFIED: All is designed.");

    workspace.write("told", "");
    workspace
        .write("agent", "echo \"$@\" >> told; test -f tried || { touch tried; exit 1; }; echo 'All is designed.'\n");
    workspace.run().exits(0);
    let told = workspace.read("told");
    assert_eq!(told.matches("Design {session}.").count(), 2, "nothing shows that a session had begun: {told}");

    workspace.write("told", "");
    workspace.write("agent", "echo \"$@\" >> told; echo working; exit 1\n");
    config("");
    workspace.run().exits(2);
    let told = workspace.read("told");
    assert_eq!(told.matches("Design {session}.").count(), 4, "without sessions it is told its task each time: {told}");
}

#[test]
fn the_exit_code_of_a_template_is_its_class() {
    for (code, exit, starts, class) in
        [(0, 0, 1, "done"), (1, 2, 4, "transient"), (2, 2, 1, "permanent"), (7, 2, 1, "permanent")]
    {
        let workspace = Workspace::only(&[]);
        workspace.write("plan.json", &serde_json::json!({ "phases": [{ "id": "design", "prompt": "x" }] }).to_string());
        workspace.config(&format!(
            "runtime:\n  retry: {{ initial_ms: 1, max_ms: 1 }}\n  backend: mine\n  backends: {{ mine: {{ run: [sh, -c, 'echo told >> told; exit {code}', '{{prompt}}'] }} }}\n"
        ));
        workspace.run().exits(exit);
        assert_eq!(workspace.read("told").lines().count(), starts, "exit {code}");
        assert_eq!(workspace.classes("design"), vec![class; starts], "exit {code}");
    }
}
