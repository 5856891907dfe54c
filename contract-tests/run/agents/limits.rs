//! A provider's limit: waited for, with patience, and no attempt used up.

use super::{Player, StandIn};
use crate::run::workspace::finished;

/// The start of this number plays a used up limit that is given anew at this second.
fn limited(agent: &StandIn, player: Player, start: &str, second: i64) {
    agent.plays(start, "usage-limit", 1);
    for file in ["stream", "session"] {
        let name = format!("replay/{start}/{file}");
        if agent.workspace.path(&name).exists() {
            agent.workspace.write(&name, &agent.workspace.read(&name).replace("1795220000", &second.to_string()));
        }
    }
    agent.plays("rest", "tool", 0);
    assert!(
        agent.workspace.read(&format!("replay/{start}/stream")).contains(&second.to_string())
            || player == Player::Codex
    );
}

const LONG_AGO: i64 = 1_700_000_000;
const LATER: i64 = 32_000_000_000;

#[test]
fn a_limit_that_is_lifted_is_gone_on_from_without_a_further_attempt() {
    for player in Player::TELL_LIMITS {
        let agent = StandIn::new(player);
        agent.configured("  limit_patience_hours: 0\n");
        limited(&agent, player, "1", LONG_AGO);
        agent.run().exits(0).says(&["a limit of the provider is reached"]);
        assert_eq!(agent.classes(), ["limit", "done"], "{player:?}");
        assert_eq!(agent.record()["invocations"][1]["attempt"], 1, "{player:?}");
        let session = agent.record()["invocations"][0]["session"].as_str().expect("a session").to_owned();
        agent.went_on(2, &session);
    }
}

#[test]
fn a_limit_beyond_the_patience_ends_the_run_which_can_be_resumed() {
    for player in Player::TELL_LIMITS {
        let agent = StandIn::new(player);
        agent.configured("  limit_patience_hours: 0.5\n");
        limited(&agent, player, "1", LATER);
        agent.run().exits(1).says(&["is lifted at 2984", "loa-run resume"]);
        assert!(agent.workspace.checkpoint("design").is_null(), "{player:?}: no outcome");
        assert_eq!(agent.workspace.record()["status"], "interrupted", "{player:?}");
        assert!(agent.workspace.reports().is_empty(), "{player:?}");
        let session = agent.session();
        agent.workspace.resume().exits(0);
        agent.went_on(2, &session);
    }
}

/// With a clock that is not the provider's, its limit may be lifted long ago and still be there.
#[test]
fn a_limit_that_is_not_lifted_when_it_was_to_be_is_not_asked_for_again_at_once() {
    for player in Player::TELL_LIMITS {
        let agent = StandIn::new(player);
        agent.configured("  limit_patience_hours: 0.004\n");
        for start in ["1", "2"] {
            limited(&agent, player, start, LONG_AGO);
        }
        let ran = agent.run().exits(1).says(&["loa-run resume"]);
        assert!(!ran.stderr.contains("is lifted at"), "{player:?}: nobody knows when: {}", ran.stderr);
        assert_eq!((agent.starts(), agent.classes()), (2, vec!["limit".to_owned(); 2]), "{player:?}");
        let asked = StandIn::new(player);
        asked.configured("  limit_patience_hours: 0.004\n");
        for start in ["1", "2"] {
            limited(&asked, player, start, LONG_AGO);
        }
        asked.workspace.loa(&["agent", "run", "Design it."]).exits(1);
        assert_eq!(asked.starts(), 2, "{player:?}");
    }
}

/// The log of a session in which two people's prompts were answered just now, and the result of a tool, which is no prompt.
fn log(agent: &StandIn) {
    let line = |id: &str, content: &str| {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"{id}\",\"sessionId\":\"s\",\"timestamp\":\"{}\",\"userType\":\"external\",\"message\":{{\"role\":\"user\",\"content\":{content}}}}}\n",
            jiff::Timestamp::now()
        )
    };
    let result = line("3", "[{\"type\":\"tool_result\",\"content\":\"one\"}]");
    let text = [line("1", "\"Go\""), line("2", "\"on\""), line("2", "\"on\""), result, "no line\n".to_owned()].concat();
    std::fs::create_dir_all(agent.workspace.path("claude/projects/here")).expect("made");
    agent.workspace.write("claude/projects/here/s.jsonl", &text);
}

#[test]
fn a_quota_that_the_logs_show_to_be_used_up_is_waited_for_before_anything_is_started() {
    let boundary = jiff::Timestamp::now();
    for (most, code, starts) in [(2, 1, 0), (3, 0, 1)] {
        let agent = StandIn::new(Player::Claude);
        agent.plays("rest", "tool", 0);
        agent.configured("  limit_patience_hours: 0.5\n");
        log(&agent);
        let config = agent.workspace.read(".loa.config.yaml");
        let quota = format!("quota: {{ prompts: {most}, boundary: '{boundary}' }}, binary:");
        agent.workspace.write(".loa.config.yaml", &config.replacen("binary:", &quota, 1));
        let home = agent.workspace.path("claude");
        let ran = agent.run_with(&[("CLAUDE_CONFIG_DIR", home.to_str().expect("UTF-8"))]);
        let ran = ran.exits(code);
        assert_eq!(agent.starts(), starts, "{most}");
        if code == 1 {
            ran.says(&["is lifted at", "loa-run resume"]);
        }
        let mut asked = agent.workspace.command(&["agent", "run", "Design it."]);
        asked.env("CLAUDE_CONFIG_DIR", &home);
        finished(asked).exits(code);
        assert_eq!(agent.starts(), 2 * starts, "{most}");
        let mut usage = agent.workspace.command(&["usage", "--json"]);
        usage.env("CLAUDE_CONFIG_DIR", &home);
        let told: serde_json::Value = serde_json::from_str(&finished(usage).exits(0).stdout).expect("JSON");
        assert_eq!((&told["claude"]["cycle"]["prompts"], &told["claude"]["quota"]), (&2.into(), &most.into()));
        assert_eq!((&told["claude"]["cycle"]["sessions"], &told["claude"]["unread"]), (&1.into(), &1.into()));
    }
    let agent = StandIn::new(Player::Codex);
    agent.configured("");
    let config = agent.workspace.read(".loa.config.yaml");
    agent.workspace.write(".loa.config.yaml", &config.replacen("binary:", "quota: { prompts: 1 }, binary:", 1));
    agent.run().exits(78).says(&["`quota` is counted in the logs that Claude Code keeps on this host"]);
}
