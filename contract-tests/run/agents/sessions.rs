//! The agent's session: on record at once, gone on with after any death, replaced when it is gone.

use std::fs;
use std::process::{Child, Command};

use super::{Player, StandIn};
use crate::run::until;
use crate::run::workspace::collected;

const WAITS: &str = "touch up; sleep 60 & echo $! > child; wait";

fn kill(mut run: Child) {
    run.kill().expect("killed");
    run.wait().expect("awaited");
}

fn alive(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn after_kill_9_the_agent_is_gone_and_resume_goes_on_in_its_session() {
    for player in Player::with_sessions() {
        let agent = StandIn::new(player);
        agent.workspace.without_boundary();
        agent.plays("1", "sigterm-tool", 0);
        agent.does("1", WAITS);
        agent.plays("rest", "tool", 0);
        let run = agent.start();
        until("the session is on record", || !agent.session().is_empty());
        until("the agent works", || !agent.workspace.read("child").is_empty());
        let session = agent.session();
        kill(run);
        let child = agent.workspace.read("child");
        until("the agent's group is gone", || !alive(child.trim()));
        agent.workspace.resume().exits(0).says(&[&format!("goes on in session {session}")]);
        assert_eq!(agent.starts(), 2, "{player:?}");
        agent.went_on(2, &session);
        assert!(agent.arguments(2).contains("Go on where you stopped"), "{}", agent.arguments(2));
    }
}

#[test]
fn an_interrupt_ends_the_agent_and_leaves_its_session() {
    let agent = StandIn::new(Player::Claude);
    agent.workspace.without_boundary();
    agent.plays("1", "sigterm-tool", 0);
    agent.does("1", WAITS);
    agent.plays("rest", "success", 0);
    let run = agent.start();
    until("the agent works", || !agent.workspace.read("child").is_empty() && !agent.session().is_empty());
    let session = agent.session();
    assert!(Command::new("kill").args(["-INT", &run.id().to_string()]).status().expect("kill runs").success());
    collected(run).exits(130);
    assert!(!alive(agent.workspace.read("child").trim()));
    assert_eq!(agent.classes(), ["cancelled"]);
    agent.workspace.resume().exits(0);
    agent.went_on(2, &session);
}

#[test]
fn a_session_that_is_gone_is_replaced_in_the_same_attempt() {
    for player in Player::with_sessions() {
        let agent = StandIn::new(player);
        agent.plays("1", "overloaded", player.code(503));
        match player {
            Player::Claude => agent.plays("2", "resume-unknown", 1),
            // They say it on standard error; pi, of a session of another folder, by a question that nobody answers.
            Player::Gemini => agent.says("2", "", 42),
            Player::Pi => agent.says("2", "", 0),
            _ => agent.says("2", "", 1),
        }
        agent.plays("rest", "tool", 0);
        agent.run().exits(0).says(&["a new one begins"]);
        assert_eq!(agent.starts(), 3, "{player:?}");
        let first = agent.record()["invocations"][0]["session"].as_str().expect("a session").to_owned();
        assert!(agent.arguments(3).contains("Design it.") && !agent.arguments(3).contains(&first), "{player:?}");
        let attempts: Vec<_> = (0..3).map(|n| agent.record()["invocations"][n]["attempt"].as_u64()).collect();
        assert_eq!(attempts, [Some(1), Some(2), Some(2)], "{player:?}");
    }
}

#[test]
fn an_end_that_says_nothing_of_the_session_keeps_it() {
    // As root, which it refuses; an argument that it does not know; nobody is logged in; killed by a container's own.
    for (player, code) in [(Player::Claude, 1), (Player::Codex, 2), (Player::Gemini, 41), (Player::Qwen, 137)] {
        let agent = StandIn::new(player);
        agent.plays("1", "overloaded", player.code(503));
        agent.says("2", "", code);
        agent.plays("rest", "tool", 0);
        agent.run().exits(0);
        assert_eq!(agent.classes(), ["transient", "lost", "done"], "{player:?}");
        let session = agent.record()["invocations"][0]["session"].as_str().expect("a session").to_owned();
        agent.went_on(3, &session);
    }
}

#[test]
fn a_phase_that_begins_anew_begins_in_a_new_session() {
    let agent = StandIn::new(Player::Claude);
    agent.plays("1", "authentication", 1);
    agent.plays("rest", "success", 0);
    agent.run().exits(2);
    assert!(!agent.session().is_empty());
    agent.workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    agent.workspace.resume().exits(0);
    assert!(agent.arguments(2).contains("Design it."), "{}", agent.arguments(2));
    assert!(!agent.arguments(2).contains("--resume"), "{}", agent.arguments(2));
}

#[test]
fn the_record_of_another_execution_is_put_aside_with_it() {
    let agent = StandIn::new(Player::Claude);
    agent.plays("rest", "success", 0);
    agent.run().exits(0);
    let first = agent.record()["execution_id"].as_str().expect("an id").to_owned();
    agent.run().exits(0);
    assert_ne!(agent.record()["execution_id"], first.as_str());
    assert_eq!(agent.classes(), ["done"], "of this execution alone");
}
