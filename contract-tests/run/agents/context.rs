//! The context of an agent: its usage as signals, compaction, overflow (Context Signals Interface).

use serde_json::Value;

use super::standin::recordings;
use super::{Player, StandIn};

const LIMITS: &str = "autonomous_agent: { context: { soft_limit_tokens: 1000, hard_limit_tokens: 2000 } }\n";

fn with_limits(agent: &StandIn) {
    let config = agent.workspace.read(".loa.config.yaml");
    let (_, runtime) = config.split_once("runtime:").expect("a section");
    agent.workspace.config(&format!("{LIMITS}runtime:{runtime}"));
}

fn events(agent: &StandIn, kind: &str) -> Vec<Value> {
    let text = agent.workspace.read(".loa-run/stages/design-1/events.jsonl");
    let events = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("one object a line"));
    events.filter(|event| event["type"] == kind).collect()
}

/// What Claude Code says when a session begins and when the model answers with so much context.
fn answers(tokens: &[u64]) -> String {
    let init = r#"{"type":"system","subtype":"init","session_id":"s-1"}"#.to_owned();
    let answer = |(n, tokens): (usize, &u64)| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"m-{n}","model":"m","content":[],"usage":{{"input_tokens":{tokens}}}}},"parent_tool_use_id":null}}"#
        )
    };
    let lines = std::iter::once(init).chain(tokens.iter().enumerate().map(answer));
    lines.map(|line| line + "\n").collect()
}

const DONE: &str = r#"{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed"}"#;

#[test]
fn what_an_agent_uses_is_its_context_and_its_limits_are_its_own() {
    let rows = [
        (Player::Claude, None, Some("CLAUDE_CODE_AUTO_COMPACT_WINDOW=180000")),
        (Player::Codex, Some(vec![5020, 6007]), Some("model_auto_compact_token_limit=80000")),
        (Player::OpenCode, Some(vec![5000, 6000]), None),
        (Player::Gemini, Some(vec![5000, 6000]), None),
        (Player::Qwen, Some(vec![5000, 6000]), Some("QWEN_CODE_SYSTEM_SETTINGS_PATH=")),
        (Player::Aider, Some(vec![5000]), Some("--max-chat-history-tokens\n80000")),
        (Player::Pi, Some(vec![5000, 6000]), None),
    ];
    for (player, usage, told) in rows {
        let agent = StandIn::new(player);
        agent.plays("rest", "tool", 0);
        agent.run().exits(0);
        let current: Vec<u64> =
            events(&agent, "CONTEXT_CURRENT").iter().filter_map(|event| event["current_tokens"].as_u64()).collect();
        let turns = if player == Player::Aider { 1 } else { 2 };
        assert_eq!(current.len(), turns, "{player:?}: one a turn");
        assert!(usage.is_none_or(|usage| usage == current), "{player:?}: {current:?}");
        let last = current.last().expect("some");
        let state = agent.workspace.read(".loa-checkpoint/context-state.yaml");
        assert!(state.contains(&format!("current_tokens: {last}\n")), "{state}");
        let start = format!("{}{}", agent.environment(1), agent.arguments(1));
        assert!(told.is_none_or(|told| start.contains(told)), "{player:?}: {start}");
    }
}

#[test]
fn settings_for_one_invocation_are_gone_with_it() {
    let agent = StandIn::new(Player::Qwen);
    agent.plays("rest", "tool", 0);
    agent.does("rest", "cp \"$QWEN_CODE_SYSTEM_SETTINGS_PATH\" told");
    agent.run().exits(0);
    let told: Value = serde_json::from_str(&agent.workspace.read("told")).expect("JSON");
    assert_eq!(told["model"]["generationConfig"]["contextWindowSize"], 173_000, "{told}");
    let environment = agent.environment(1);
    let path = environment.lines().find_map(|line| line.strip_prefix("QWEN_CODE_SYSTEM_SETTINGS_PATH="));
    assert!(!std::path::Path::new(path.expect("set")).exists());
}

/// The agent answers with 500 tokens, runs a tool that signals 700, and says the rest.
fn signals(rest: &str) -> StandIn {
    let agent = StandIn::new(Player::Claude);
    agent.says("1", &answers(&[500]), 0);
    agent.does(
        "1",
        &format!(
            "until grep -q 500 $LOA_EVENT_FILE; do sleep 0.005; done\n\
             echo '{{\"type\":\"USAGE\",\"context_tokens\":700}}' >> $LOA_SIGNAL_FILE\n\
             until grep -q 700 $LOA_EVENT_FILE; do sleep 0.005; done\n\
             cat <<'END'\n{rest}\nEND"
        ),
    );
    agent
}

/// The answer of the next turn.
fn next_turn(tokens: u64) -> String {
    answers(&[0, tokens]).lines().last().expect("an answer").to_owned()
}

fn tracked(agent: &StandIn) -> Vec<u64> {
    let current = events(agent, "CONTEXT_CURRENT");
    current.iter().filter_map(|event| event["current_tokens"].as_u64()).collect()
}

#[test]
fn a_stage_that_signals_its_usage_speaks_for_its_context() {
    let agent = signals(&format!("{}\n{DONE}", next_turn(300)));
    agent.run().exits(0);
    assert_eq!(tracked(&agent), [500, 700], "what the agent reports of its next turn is not what the stage said");
    let state = agent.workspace.read(".loa-checkpoint/context-state.yaml");
    assert!(state.contains("current_tokens: 700\n"), "{state}");
}

#[test]
fn a_stage_that_speaks_speaks_until_its_attempt_is_over() {
    let boundary =
        r#"{"type":"system","subtype":"compact_boundary","compact_metadata":{"pre_tokens":700,"post_tokens":200}}"#;
    let recorded =
        std::fs::read_to_string(recordings().join("claude-code/prompt-too-long.jsonl")).expect("a recording");
    let overflow = recorded.lines().last().expect("a result");
    let agent = signals(&format!("{boundary}\n{}\n{overflow}", next_turn(300)));
    agent.says("rest", &format!("{}{DONE}\n", answers(&[400])), 0);
    agent.run().exits(0);
    assert_eq!(agent.classes(), ["overflow", "done", "done"], "two more in the same attempt");
    assert_eq!(tracked(&agent), [500, 700], "neither a compaction nor another invocation makes its word old");
}

#[test]
fn a_context_that_a_stage_calls_full_again_after_a_compaction_calls_a_human() {
    let agent = StandIn::new(Player::Claude);
    with_limits(&agent);
    let full = format!(
        "echo '{{\"type\":\"USAGE\",\"context_tokens\":2500}}' >> $LOA_SIGNAL_FILE\n\
         until grep -q 2500 $LOA_EVENT_FILE; do sleep 0.005; done\n\
         echo '{}'; sleep 60",
        next_turn(300)
    );
    agent.says("1", &answers(&[500]), 0);
    agent.does("1", &format!("until grep -q 500 $LOA_EVENT_FILE; do sleep 0.005; done\n{full}"));
    agent.plays("2", "compact-on-request", 0);
    agent.says("rest", &answers(&[300]), 0);
    agent.does("rest", &full);
    agent.run().exits(2);
    assert_eq!(agent.classes(), ["cancelled", "done", "cancelled"]);
    assert_eq!(agent.workspace.report()["trigger"], "context_overflow");
}

#[test]
fn at_the_hard_limit_an_agent_that_compacts_when_asked_is_asked() {
    let agent = StandIn::new(Player::Qwen);
    with_limits(&agent);
    agent.plays("1", "first", 0);
    agent.does("1", "sleep 60");
    agent.plays("2", "compact-on-request", 0);
    agent.plays("rest", "success", 0);
    agent.says("rest", &agent.workspace.read("replay/rest/stream").replace(":5000,", ":500,"), 0);
    agent.run().exits(0).says(&["emergency compaction (asked of the agent)"]);
    assert_eq!(agent.classes(), ["cancelled", "done", "done"]);
    assert!(agent.arguments(2).ends_with("--prompt=/compress\n"), "{}", agent.arguments(2));
}

#[test]
fn at_the_hard_limit_the_agent_is_stopped_compacted_and_goes_on() {
    let agent = StandIn::new(Player::Claude);
    with_limits(&agent);
    agent.says("1", &answers(&[500, 2500]), 0);
    agent.does("1", "touch up; sleep 60");
    agent.plays("2", "compact-on-request", 0);
    agent.plays("rest", "success", 0);
    agent.says("rest", &format!("{}{DONE}\n", answers(&[700])), 0);
    agent.run().exits(0).says(&[
        "context warning hard",
        "emergency compaction (asked of the agent)",
        "compacted its context",
    ]);
    assert_eq!(agent.classes(), ["cancelled", "done", "done"]);
    assert!(agent.arguments(2).ends_with("--\n/compact\n"), "{}", agent.arguments(2));
    assert!(
        agent.arguments(3).contains("--resume\n") && agent.arguments(3).contains("Go on"),
        "{}",
        agent.arguments(3)
    );
    assert_eq!(events(&agent, "COMPACTION").len(), 1);
}

#[test]
fn a_context_that_compaction_does_not_help_calls_a_human() {
    let agent = StandIn::new(Player::Claude);
    with_limits(&agent);
    agent.says("1", &answers(&[2500]), 0);
    agent.does("1", "sleep 60");
    agent.plays("2", "compact-on-request", 0);
    agent.says("rest", &answers(&[2600]), 0);
    agent.does("rest", "sleep 60");
    agent.run().exits(2);
    assert_eq!(agent.starts(), 3);
    assert_eq!(agent.workspace.report()["trigger"], "context_overflow");
}

#[test]
fn a_prompt_that_is_too_long_is_compacted_once_where_that_can_be_asked_for() {
    for (player, starts) in [(Player::Claude, 3), (Player::Codex, 1), (Player::Pi, 1)] {
        let agent = StandIn::new(player);
        agent.plays("rest", "prompt-too-long", player.code(400));
        if player == Player::Claude {
            agent.plays("2", "compact-on-request", 0);
        }
        agent.run().exits(2);
        assert_eq!(agent.starts(), starts, "{player:?}: {:?}", agent.classes());
        assert_eq!(agent.workspace.report()["trigger"], "context_overflow", "{player:?}");
        assert_eq!(agent.workspace.checkpoint("design")["errors"][0]["code"], "CONTEXT_OVERFLOW", "{player:?}");
    }
}

#[test]
fn a_prompt_that_fits_after_a_compaction_is_done() {
    let agent = StandIn::new(Player::Claude);
    agent.plays("1", "prompt-too-long", 1);
    agent.plays("2", "compact-on-request", 0);
    agent.plays("rest", "success", 0);
    agent.run().exits(0);
    assert_eq!(agent.classes(), ["overflow", "done", "done"]);
}

#[test]
fn a_compaction_that_the_agent_made_by_itself_is_told() {
    for player in Player::TELL_COMPACTIONS {
        let agent = StandIn::new(player);
        agent.plays("rest", "compaction", 0);
        agent.run().exits(0).says(&["the agent compacted its context from"]);
        assert_eq!(agent.starts(), 1, "{player:?}");
    }
}
