//! What follows the end of an agent, class by class (Exit Code Handling).

use super::{Player, StandIn};
use crate::run::workspace::PHASES;

#[test]
fn an_agent_does_all_eight_phases_and_the_gates_decide() {
    for player in Player::ALL {
        let agent = StandIn::new(player);
        agent.phases(&PHASES);
        agent.configured("  phases: { audit: { verify: 'test -s work' } }\n");
        agent.plays("rest", "tool", 0);
        agent.does("rest", "echo $LOA_PHASE >> work");
        agent.run().exits(0).says(&["audit: verifying"]);
        assert_eq!(agent.workspace.read("work").lines().collect::<Vec<_>>(), PHASES, "{player:?}");
        for phase in PHASES {
            let checkpoint = agent.workspace.checkpoint(phase);
            assert_eq!(checkpoint["exit_code"], 0, "{player:?} {phase}");
            let summary = checkpoint["summary"].as_str().expect("a summary");
            assert_eq!(summary.starts_with("UNVERIFIED: "), phase != "audit", "{player:?} {phase}: {summary}");
        }
        let status = agent.workspace.loa(&["status"]).exits(0).stdout;
        assert_eq!(status.matches("UNVERIFIED").count(), 7, "{status}");
        let status = agent.workspace.loa(&["status", "--json"]).exits(0).stdout;
        assert_eq!(status.matches("\"unverified\": true").count(), 7, "{status}");
    }
}

#[test]
fn what_the_agents_used_is_told_and_a_session_is_counted_once() {
    let agent = StandIn::new(Player::Claude);
    agent.phases(&["design"]);
    let notify = "notify: { patience_ms: 0, receivers: [{ kind: command, command: 'cat > message' }] }";
    let verify = "phases: { design: { verify: 'test -f again || { touch again; false; }' } }";
    agent.configured(&format!("  {notify}\n  {verify}\n"));
    // The second goes on in the session of the first, and its account has the first in it.
    agent.plays("1", "first", 0);
    agent.plays("rest", "resume", 0);
    agent.run().exits(0);
    assert_eq!(agent.starts(), 2);
    let message = agent.workspace.read("message");
    assert!(message.contains(", 10016 tokens, $0.03\n"), "{message}");
    assert_eq!(agent.workspace.checkpoint("design")["metrics"]["tokens_used"], 10_016);
    agent.workspace.loa(&["status"]).exits(0).prints("agents used 10016 tokens, $0.03");
    let report: serde_json::Value =
        serde_json::from_str(&agent.workspace.loa(&["report", "--json"]).exits(0).stdout).expect("JSON");
    assert_eq!(report["spent"]["micro_usd"], 30_240);
}

#[test]
fn a_report_names_the_phases_that_no_gate_checked() {
    let agent = StandIn::new(Player::Claude);
    agent.phases(&["discovery", "design"]);
    agent.plays("1", "success", 0);
    agent.plays("rest", "authentication", 1);
    agent.run().exits(2);
    let report = agent.workspace.read_report();
    assert!(report.contains("look at what no gate has checked: discovery"), "{report}");
}

#[test]
fn a_failure_for_the_moment_is_tried_again_in_the_same_session() {
    for player in Player::ALL {
        let agent = StandIn::new(player);
        agent.plays("1", "overloaded", player.code(503));
        agent.plays("rest", "tool", 0);
        let why = match player {
            Player::Gemini => "status 503",
            Player::Aider => "litellm.APIError",
            _ => "529",
        };
        agent.run().exits(0).says(&[why, "trying again"]);
        assert_eq!(agent.starts(), 2, "{player:?}");
        assert_eq!(agent.classes(), ["transient", "done"], "{player:?}");
        if !player.resumes() {
            assert!(agent.arguments(2).contains("Design it."), "without sessions it is told its task each time");
            continue;
        }
        let first = agent.record()["invocations"][0]["session"].as_str().expect("a session").to_owned();
        agent.went_on(2, &first);
    }
}

#[test]
fn failures_for_the_moment_that_do_not_pass_call_a_human_after_three_retries() {
    for player in Player::ALL {
        let agent = StandIn::new(player);
        agent.plays("rest", "overloaded", player.code(503));
        agent.run().exits(2);
        assert_eq!(agent.starts(), 4, "{player:?}");
        let checkpoint = agent.workspace.checkpoint("design");
        assert_eq!(checkpoint["exit_code"], 1, "{player:?}");
        assert_eq!(checkpoint["errors"][0]["code"], "AGENT_TRANSIENT", "{player:?}");
    }
}

#[test]
fn a_wrong_key_calls_a_human_at_once() {
    for player in Player::ALL {
        let agent = StandIn::new(player);
        agent.plays("rest", "authentication", player.code(401));
        let why = if player == Player::Aider { "AuthenticationError" } else { "401" };
        agent.run().exits(2).says(&["A human is needed", why]);
        assert_eq!((agent.starts(), agent.classes()), (1, vec!["permanent".to_owned()]), "{player:?}");
        let checkpoint = agent.workspace.checkpoint("design");
        assert_eq!(checkpoint["exit_code"], 2, "{player:?}");
        assert_eq!(checkpoint["errors"][0]["code"], "AGENT_PERMANENT", "{player:?}");
        assert_eq!(agent.workspace.report()["trigger"], "manual", "{player:?}");
    }
}

#[test]
fn an_exit_of_0_without_an_end_in_the_stream_is_no_success() {
    let agent = StandIn::new(Player::Claude);
    agent.plays("1", "sigint-waiting", 0);
    agent.plays("rest", "success", 0);
    agent.run().exits(0);
    assert_eq!(agent.classes(), ["lost", "done"]);
    assert_eq!(agent.record()["invocations"][0]["code"], 0, "what the process returned is kept");
}

#[test]
fn an_exit_code_is_believed_neither_way() {
    let rows = [
        (Player::OpenCode, "overflow-in-work", 1, "done"),
        (Player::Gemini, "truncated", 0, "transient"),
        (Player::Gemini, "loop", 0, "lost"),
        (Player::Pi, "truncated", 0, "transient"),
        (Player::Aider, "refused", 0, "permanent"),
    ];
    for (player, case, code, class) in rows {
        let agent = StandIn::new(player);
        agent.plays("1", case, code);
        agent.plays("rest", "tool", 0);
        agent.run();
        assert_eq!(agent.classes()[0], class, "{player:?} {case}");
    }
}

#[test]
fn an_agent_that_somebody_stopped_leaves_no_outcome_and_goes_on_later() {
    for (player, code) in [(Player::Claude, 0), (Player::Codex, 1)] {
        let agent = StandIn::new(player);
        agent.plays("1", "sigint-tool", code);
        agent.plays("rest", "tool", 0);
        agent.run().exits(1).says(&["somebody stopped the agent", "loa-run resume"]);
        assert!(agent.workspace.checkpoint("design").is_null(), "{player:?}");
        assert_eq!(agent.workspace.record()["status"], "interrupted", "{player:?}");
        let session = agent.session();
        agent.workspace.resume().exits(0);
        agent.went_on(2, &session);
    }
}

#[test]
fn a_model_that_hangs_meets_the_phases_limit() {
    let agent = StandIn::new(Player::Claude);
    agent.configured("  phases: { design: { timeout_ms: 700 } }\n");
    agent.plays("1", "sigterm-waiting", 0);
    agent.does("1", "sleep 60");
    agent.plays("rest", "success", 0);
    agent.run().exits(0).says(&["stopped after 0.7 s"]);
    assert_eq!(agent.classes(), ["timed_out", "done"]);
    let session = agent.record()["invocations"][0]["session"].as_str().expect("a session").to_owned();
    agent.went_on(2, &session);
}

#[test]
fn a_long_line_that_comes_byte_by_byte_is_life_and_half_a_line_and_silence_are_not() {
    for player in [Player::Claude, Player::Codex, Player::OpenCode] {
        let agent = StandIn::new(player);
        agent.configured("  phases: { design: { idle_timeout_ms: 600 } }\n");
        agent.plays("rest", "tool", 0);
        agent.plays("1", "tool", 0);
        let whole = agent.workspace.read("replay/1/stream");
        agent.workspace.write("replay/1/whole", &whole);
        agent.says("1", "", 0);
        let by_bytes = "for i in 0 1 2 3 4 5 6 7 8 9; do dd bs=1 count=1 skip=$i 2>&- < whole; sleep 0.1; done";
        agent.does("1", &format!("cd $REPLAY/1; {by_bytes}; tail -c +11 whole"));
        agent.run().exits(0);
        assert_eq!(agent.classes(), ["done"], "{player:?}");
        let silent = StandIn::new(player);
        silent.configured("  phases: { design: { idle_timeout_ms: 600 } }\n");
        silent.plays("rest", "tool", 0);
        silent.says("1", &whole[..10], 0);
        silent.does("1", "sleep 60");
        silent.run().exits(0).says(&["it said nothing for 0.6 s"]);
        assert_eq!(silent.classes(), ["timed_out", "done"], "{player:?}");
    }
}

#[test]
fn turns_that_are_used_up_are_no_success_and_more_are_given() {
    for (player, code) in [(Player::Claude, 1), (Player::Gemini, 53), (Player::Qwen, 53)] {
        let agent = StandIn::new(player);
        agent.plays("1", "max-turns", code);
        agent.plays("rest", "success", 0);
        agent.run().exits(0);
        assert_eq!(agent.classes(), ["timed_out", "done"], "{player:?}");
    }
}

#[test]
fn what_a_gate_says_is_told_to_the_agent() {
    let agent = StandIn::new(Player::Claude);
    agent.configured("  phases: { design: { verify: 'test -f mended || { echo two tests fail >&2; exit 1; }' } }\n");
    agent.plays("rest", "success", 0);
    agent.does("rest", "test -f once && touch mended; touch once");
    agent.run().exits(0);
    assert_eq!(agent.starts(), 2);
    assert!(agent.arguments(2).contains("two tests fail"), "{}", agent.arguments(2));
    let summary = agent.workspace.checkpoint("design")["summary"].as_str().expect("a summary").to_owned();
    assert!(!summary.contains("UNVERIFIED"), "{summary}");
}

#[test]
fn a_program_that_is_not_there_is_no_agents_failure() {
    let agent = StandIn::new(Player::Codex);
    agent.workspace.config("runtime: { backend: codex, backends: { codex: { binary: /nonexistent/codex } } }\n");
    agent.run().exits(2);
    assert_eq!(agent.workspace.checkpoint("design")["errors"][0]["code"], "SPAWN_FAILED");
}
