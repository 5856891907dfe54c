//! What the doctor finds before a night is lost: scripts, commands of prompts, the stop before deploy.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::Workspace;

/// A workspace that skips every phase but these.
fn workspace(head: &str, phases: &[(&str, &str)]) -> Workspace {
    let workspace = Workspace::only(&[]);
    let section = |phase: &str| {
        let own = phases.iter().find(|(name, _)| *name == phase).map_or("skip: true", |(_, section)| *section);
        format!("    {phase}: {{ {own} }}\n")
    };
    let sections = super::workspace::PHASES.map(section).concat();
    workspace.config(&format!("{head}\nruntime:\n  phases:\n{sections}"));
    workspace
}

#[test]
fn a_script_that_is_not_there_is_found_missing_wherever_it_is_named() {
    for section in [
        "command: sh ./missing.sh",
        "command: [sh, ./missing.sh]",
        "command: 'true', verify: sh ./missing.sh",
        "command: ./missing.sh && git add -A",
    ] {
        let workspace = workspace("", &[("design", section)]);
        let found = workspace.loa(&["doctor"]).exits(2).stdout;
        assert!(found.contains("BAD   design") && found.contains("`./missing.sh`"), "{section}\n{found}");
        workspace.write("missing.sh", "#!/bin/sh\n");
        fs::set_permissions(workspace.path("missing.sh"), fs::Permissions::from_mode(0o755)).expect("ours");
        workspace.loa(&["doctor"]).exits(0);
    }
}

#[test]
fn commands_of_loa_that_a_prompt_names_have_to_be_there() {
    let agent = "backends: { claude: { binary: sh } }";
    let workspace =
        workspace("", &[("design", "prompt: 'Run /architect, and look at /tmp.'"), ("audit", "prompt: /mine")]);
    let text = workspace.read(".loa.config.yaml").replace("runtime:\n", &format!("runtime:\n  {agent}\n"));
    workspace.config(&text);
    let found = workspace.loa(&["doctor"]).exits(2).stdout;
    assert!(found.contains("BAD   design, its prompt: its prompt names `/architect`"), "{found}");
    assert!(found.contains("warn  audit, its prompt: its prompt names `/mine`"), "{found}");
    assert!(!found.contains("names `/tmp`"), "a path is no command: {found}");
    fs::create_dir_all(workspace.path(".claude/commands")).expect("made");
    fs::create_dir_all(workspace.path(".claude/skills/mine")).expect("made");
    workspace.write(".claude/commands/architect.md", "Design it.");
    workspace.write(".claude/skills/mine/SKILL.md", "Review it.");
    let found = workspace.loa(&["doctor"]).exits(0).stdout;
    assert!(!found.contains("its prompt"), "{found}");
}

#[test]
fn the_stop_before_deploy_is_said_where_there_is_one() {
    let says = "warn  approval: the run stops before deploy";
    let deploy = [("deploy", "command: 'true'")];
    let asks = workspace("", &deploy);
    let found = asks.loa(&["doctor"]).exits(0).stdout;
    assert!(found.contains(says) && found.contains("require_human_deploy_approval"), "{found}");
    asks.loa(&["run"]).exits(2);
    asks.loa(&["resolve", "fix_and_resume"]).exits(0);
    let asked = [
        asks,
        workspace("autonomous_agent: { require_human_deploy_approval: false }", &deploy),
        workspace("", &[("design", "command: 'true'")]),
    ];
    for workspace in asked {
        let found = workspace.loa(&["doctor"]).exits(0).stdout;
        assert!(!found.contains("approval"), "{found}");
    }
}

#[test]
fn every_phase_without_anything_to_run_is_named_at_once() {
    let found = Workspace::only(&[]).loa(&["doctor"]).exits(2).stdout;
    assert!(found.contains("no command and no prompt: preflight, discovery, design, implementation, audit"), "{found}");
}

#[test]
fn phases_that_are_not_asked_for_need_nothing_and_the_others_are_looked_at_whatever_else_is_wrong() {
    let workspace = Workspace::only(&[]);
    workspace.config(
        "runtime:\n  phases:\n    design: { command: [sh, -c, 'true'] }\n    audit: { command: missing-program }\n",
    );
    let found = workspace.loa(&["doctor"]).exits(2).stdout;
    assert!(found.contains("no command and no prompt: preflight, discovery, implementation"), "{found}");
    assert!(found.contains("good  design: ") && found.contains("BAD   audit: `missing-program`"), "{found}");
    let found = workspace.loa(&["doctor", "--phase", "design"]).exits(0).stdout;
    assert!(found.contains("good  design: ") && !found.contains("audit"), "{found}");
    let found = workspace.loa(&["doctor", "--from", "audit", "--until", "audit"]).exits(2).stdout;
    assert!(found.contains("BAD   audit: ") && !found.contains("design"), "{found}");
    let range = ["doctor", "--from", "design", "--until", "audit", "--skip", "implementation", "--skip", "audit"];
    let found = workspace.loa(&range).exits(0).stdout;
    assert!(found.contains("good  design: ") && !found.contains("missing-program"), "{found}");
}
