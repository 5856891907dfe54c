//! What stands around an agent's prompts.

use super::{Player, StandIn};

const AROUND: &str =
    "prompts: { pre_system: '@system.md', post_system: Be brief., pre_user: Before., post_user: '@user.md' }";

/// A stand-in whose prompts have texts around them.
fn wrapped(prompts: &str) -> StandIn {
    let agent = StandIn::new(Player::Claude);
    agent.workspace.write("system.md", "You are careful.\n");
    agent.workspace.write("user.md", "Behind.\n");
    let config = agent.workspace.read(".loa.config.yaml");
    agent.workspace.config(&config.replace("{ binary:", &format!("{{ {prompts}, binary:")));
    agent.plays("rest", "success", 0);
    agent
}

#[test]
fn a_new_session_is_told_all_of_it_and_an_old_one_what_belongs_to_the_prompt() {
    let agent = wrapped(AROUND);
    agent.workspace.loa(&["agent", "run", "--system", "Know this.", "Do it."]).exits(0);
    let told = agent.arguments(1);
    assert!(told.contains("--append-system-prompt\nYou are careful.\nKnow this.\nBe brief.\n"), "{told}");
    assert!(told.ends_with("--\nBefore.\nDo it.\nBehind.\n"), "{told}");
    agent.workspace.loa(&["agent", "run", "Do it."]).exits(0);
    let told = agent.arguments(2);
    assert!(told.contains("--append-system-prompt\nYou are careful.\nBe brief.\n"), "without one of its own: {told}");
    agent.workspace.loa(&["agent", "resume", "s-1", "Go on."]).exits(0);
    let told = agent.arguments(3);
    assert!(told.ends_with("--\nBefore.\nGo on.\nBehind.\n") && !told.contains("--append-system-prompt"), "{told}");
}

#[test]
fn what_is_tried_again_is_told_its_system_prompt_where_that_is_a_flag_of_one_process() {
    for player in Player::with_sessions() {
        let is_flag = matches!(player, Player::Claude | Player::Qwen | Player::Pi);
        let agent = StandIn::new(player);
        let config = agent.workspace.read(".loa.config.yaml");
        agent.workspace.config(&config.replace("{ binary:", "{ prompts: { pre_system: You are careful. }, binary:"));
        for start in ["1", "3"] {
            agent.plays(start, "overloaded", player.code(529));
        }
        agent.plays("rest", "tool", 0);
        agent.workspace.loa(&["agent", "run", "--system", "Be brief.", "Do it."]).exits(0);
        agent.run().exits(0);
        for (start, told, is_told) in [
            (1, "You are careful.\nBe brief.", true),
            (2, "You are careful.\nBe brief.", is_flag),
            (3, "You are careful.", true),
            (4, "You are careful.", is_flag),
        ] {
            assert_eq!(
                agent.arguments(start).contains(told),
                is_told,
                "{player:?} {start}: {}",
                agent.arguments(start)
            );
        }
    }
}

#[test]
fn a_phase_is_told_it_too() {
    let agent = wrapped(AROUND);
    agent.run().exits(0);
    let told = agent.arguments(1);
    assert!(
        told.contains("You are careful.\nBe brief.\n") && told.ends_with("--\nBefore.\nDesign it.\nBehind.\n"),
        "{told}"
    );
}

#[test]
fn a_file_that_is_not_there_or_lies_outside_keeps_everything_from_starting() {
    for (prompts, says) in [
        (
            "prompts: { pre_user: '@none.md' }",
            ["runtime.backends.claude.prompts.pre_user", "none.md", "relative to the workspace"],
        ),
        (
            "prompts: { post_system: '@/etc/passwd' }",
            ["runtime.backends.claude.prompts.post_system", "/etc/passwd", "outside"],
        ),
    ] {
        let agent = wrapped(prompts);
        agent.run().exits(78).says(&says);
        agent.workspace.loa(&["agent", "run", "Do it."]).exits(78).says(&says);
        assert_eq!(agent.starts(), 0);
        assert!(!agent.workspace.path(".loa-run").exists(), "no execution was begun");
    }
}
