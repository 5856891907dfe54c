//! What bounds an agent that is asked: its prompt's length, its turns, its time, a provider's limit.

use super::asked::{alive, ended, lines, says};
use super::{Player, StandIn};
use crate::run::until;

#[test]
fn a_prompt_that_no_program_can_be_given_is_refused_with_what_helps() {
    for player in Player::ALL {
        let agent = StandIn::new(player);
        agent.plays("rest", "tool", 0);
        agent.workspace.write("task.md", &"Do it. ".repeat(20_000));
        let ran = agent.ask(&["run", "@task.md"]).exits(2);
        ran.says(&["replay`: ", " 140", "131071", "put a long prompt into a file"]);
        assert_eq!(agent.starts(), 0, "{player:?}");
        let plan = serde_json::json!({ "phases": [{ "id": "design", "prompt": "Do it. ".repeat(20_000) }] });
        agent.workspace.write("plan.json", &plan.to_string());
        agent.run().exits(2).says(&["replay`: ", "131071", "put a long prompt into a file"]);
        assert_eq!(agent.starts(), 0, "{player:?}");
    }
}

#[test]
fn a_bound_of_turns_that_an_agent_cannot_be_told_is_refused_and_a_setting_that_changes_nothing_is_named() {
    for player in Player::ALL {
        let agent = StandIn::new(player);
        agent.plays("rest", "tool", 0);
        let can = matches!(player, Player::Claude | Player::Qwen);
        let ran = agent.ask(&["run", "--max-turns", "5", "x"]).exits(if can { 0 } else { 64 });
        assert_eq!((agent.starts(), ran.stderr.contains("bound of turns")), (usize::from(can), !can), "{player:?}");
        let config = agent.workspace.read(".loa.config.yaml").replacen("binary:", "max_turns: 5, binary:", 1);
        agent.workspace.config(&config);
        let told = format!("loa-run: runtime.backends.{}.max_turns changes nothing: ", player.name());
        for ran in [agent.ask(&["run", "x"]).exits(0), agent.run().exits(0)] {
            assert_eq!(ran.stderr.matches(&told).count(), usize::from(!can), "{player:?}: {}", ran.stderr);
        }
    }
}

#[test]
fn an_agent_that_takes_too_long_is_ended_and_what_would_take_too_long_is_not_begun() {
    let agent = StandIn::new(Player::Claude);
    agent.says("rest", &says(&["I begin."]).split_inclusive('\n').take(2).collect::<String>(), 0);
    agent.does("rest", "sleep 60 & echo $! > child; wait");
    let late = lines(&agent.ask(&["run", "--json", "--timeout", "0.3", "x"]).exits(1));
    assert_eq!((agent.starts(), &ended(&late)["class"]), (1, &"timed_out".into()));
    let child = agent.workspace.read("child");
    until("it is gone", || !alive(child.trim()));
    let agent = StandIn::new(Player::Claude);
    agent.configured("  limit_patience_hours: 24\n");
    agent.plays("rest", "overloaded", 1);
    let slow = ["--set", "runtime.retry.initial_ms=3600000", "--set", "runtime.retry.max_ms=3600000"];
    let lines = lines(&agent.ask(&[&["run", "--json", "--timeout", "600", "x"][..], &slow].concat()).exits(1));
    assert_eq!((agent.starts(), &ended(&lines)["class"]), (1, &"transient".into()));
    for wrong in ["0", "-1", "soon", "inf"] {
        agent.ask(&["run", &format!("--timeout={wrong}"), "x"]).exits(64).says(&["seconds"]);
    }
}

#[test]
fn a_limit_is_waited_for_as_long_as_patience_lasts() {
    for (second, patience, starts, exit) in [("1700000000", "0", 2, 0), ("32000000000", "0.5", 1, 1)] {
        let agent = StandIn::new(Player::Claude);
        agent.configured(&format!("  limit_patience_hours: {patience}\n"));
        agent.plays("1", "usage-limit", 1);
        let stream = agent.workspace.read("replay/1/stream").replace("1795220000", second);
        agent.workspace.write("replay/1/stream", &stream);
        agent.plays("rest", "success", 0);
        let ran = agent.ask(&["run", "--json", "--set", "runtime.retry.max=0", "x"]).exits(exit);
        assert_eq!(agent.starts(), starts, "{second}: no repetition is used up");
        assert_eq!(ended(&lines(&ran))["class"], if exit == 0 { "done" } else { "limit" }, "{second}");
    }
}
