//! A provider's limit: waited for, with patience, and no attempt used up.

use super::{Player, StandIn};

/// A recording of a used up limit that is given anew at this second.
fn limited(agent: &StandIn, player: Player, second: i64) {
    agent.plays("1", "usage-limit", 1);
    for file in ["stream", "session"] {
        let name = format!("replay/1/{file}");
        if agent.workspace.path(&name).exists() {
            agent.workspace.write(&name, &agent.workspace.read(&name).replace("1795220000", &second.to_string()));
        }
    }
    agent.plays("rest", "tool", 0);
    assert!(agent.workspace.read("replay/1/stream").contains(&second.to_string()) || player == Player::Codex);
}

const LONG_AGO: i64 = 1_700_000_000;
const LATER: i64 = 32_000_000_000;

#[test]
fn a_limit_that_is_lifted_is_gone_on_from_without_a_further_attempt() {
    for player in Player::TELL_LIMITS {
        let agent = StandIn::new(player);
        agent.configured("  limit_patience_hours: 0\n");
        limited(&agent, player, LONG_AGO);
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
        limited(&agent, player, LATER);
        agent.run().exits(1).says(&["is lifted at 2984", "loa-run resume"]);
        assert!(agent.workspace.checkpoint("design").is_null(), "{player:?}: no outcome");
        assert_eq!(agent.workspace.record()["status"], "interrupted", "{player:?}");
        assert!(agent.workspace.reports().is_empty(), "{player:?}");
        let session = agent.session();
        agent.workspace.resume().exits(0);
        agent.went_on(2, &session);
    }
}
