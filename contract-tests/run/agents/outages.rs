//! A provider that is out of order or out of reach: waited for with probes, and no attempt used up.

use super::asked::{ended, lines};
use super::{Player, StandIn};
use crate::run::{Workspace, until};

/// A stand-in whose provider is out of order at the starts of these numbers, and then is not.
fn down(player: Player, patience: &str, starts: &[&str]) -> StandIn {
    let agent = StandIn::new(player);
    agent.configured(&format!("  outage_patience: {patience}\n"));
    for start in starts {
        agent.plays(start, "overloaded", player.code(503));
    }
    if !starts.contains(&"rest") {
        agent.plays("rest", "tool", 0);
    }
    agent
}

#[test]
fn an_outage_is_gone_on_from_without_a_further_attempt() {
    for player in Player::ALL {
        let agent = down(player, "0.2s", &["1"]);
        let ran = agent.run().exits(0);
        ran.says(&["out of reach or out of order", "waiting for it since", "probe 1 at"]);
        assert_eq!(agent.classes(), ["outage", "done"], "{player:?}");
        assert_eq!(agent.record()["invocations"][1]["attempt"], 1, "{player:?}: no attempt is used up");
        if player.resumes() {
            let session = agent.record()["invocations"][0]["session"].as_str().expect("a session").to_owned();
            agent.went_on(2, &session);
        }
    }
}

#[test]
fn an_outage_that_stands_in_the_agents_words_alone_is_one() {
    let claude = |words: &str, more: &str| {
        let began = r#"{"type":"system","subtype":"init","session_id":"0d0f3cb1-0c0f-4a5e-9c39-0c7f3d7c1f10"}"#;
        format!("{began}\n{{\"type\":\"result\",\"subtype\":\"success\"{more},\"result\":\"{words}\"}}\n")
    };
    let codex = |words: &str| {
        let began = r#"{"type":"thread.started","thread_id":"t-1"}"#;
        let failed = format!(r#"{{"type":"turn.failed","error":{{"message":"{words}"}}}}"#);
        format!("{began}\n{{\"type\":\"error\",\"message\":\"{words}\"}}\n{failed}\n")
    };
    let down = "stream error: unexpected status 503 Service Unavailable";
    for (player, stream) in [
        (
            Player::Claude,
            claude(r#"API Error: 529 {\"error\":{\"type\":\"overloaded_error\"}}"#, r#","is_error":true"#),
        ),
        (Player::Claude, claude("API Error: Connection error.", "")),
        (Player::Claude, claude("API Error: Request timed out.", r#","is_error":false"#)),
        (Player::Codex, codex(down)),
        (Player::Codex, codex("Connection failed: error sending request")),
    ] {
        let agent = down_once(player, &stream);
        agent.run().exits(0).says(&["waiting for it since", "probe 1 at"]);
        assert_eq!(agent.classes(), ["outage", "done"], "{player:?}: {stream}");
    }
}

/// A stand-in whose first start prints this, and leaves no session file.
fn down_once(player: Player, stream: &str) -> StandIn {
    let agent = StandIn::new(player);
    agent.configured("  outage_patience: 0.2s\n");
    agent.says("1", stream, 1);
    agent.plays("rest", "tool", 0);
    agent
}

#[test]
fn patience_that_is_spent_ends_the_run_which_is_resumed_with_new_patience() {
    let agent = down(Player::Claude, "0.2s", &["rest"]);
    for starts in [2, 4] {
        let ran = if starts == 2 { agent.run() } else { agent.workspace.resume() };
        ran.exits(1).says(&["since", "`loa-run resume` waits for it anew"]);
        assert_eq!(agent.starts(), starts, "the last probe comes when patience ends");
        assert!(agent.workspace.checkpoint("design").is_null(), "no outcome");
        assert_eq!(agent.workspace.record()["status"], "interrupted");
        assert!(agent.workspace.reports().is_empty(), "nobody is called");
        agent
            .workspace
            .loa(&["status"])
            .exits(1)
            .prints("paused: the provider cannot be reached or is out of order since");
    }
    agent.plays("rest", "tool", 0);
    agent.workspace.resume().exits(0);
    let report: serde_json::Value =
        serde_json::from_str(&agent.workspace.loa(&["report", "--json"]).exits(0).stdout).expect("JSON");
    let outages = report["outages"].as_array().expect("outages");
    assert_eq!(outages.len(), 2, "{outages:?}");
    assert!(outages[0]["reason"].as_str().expect("a reason").contains("529"), "{outages:?}");
}

#[test]
fn what_is_waited_for_is_told_also_after_a_kill() {
    let agent = down(Player::Claude, "1h", &["rest"]);
    let mut run = agent.start();
    let status = || agent.workspace.loa(&["status", "--json"]);
    let outage = || serde_json::from_str::<serde_json::Value>(&status().stdout).unwrap_or_default()["outage"].clone();
    until("it waits", || outage()["probe"] == 1);
    run.kill().expect("killed");
    run.wait().expect("waited for");
    assert_eq!((&outage()["phase"], &outage()["pause"]["delay_ms"].as_u64().is_some()), (&"design".into(), &true));
    let status = agent.workspace.loa(&["status"]).stdout;
    assert!(status.contains("design: the provider is out of reach or out of order"), "{status}");
    assert!(status.contains("waiting for it since") && status.contains("at most; probe 1 at"), "{status}");
    assert_eq!(agent.starts(), 1);
}

#[test]
fn an_agent_that_is_asked_waits_where_somebody_wants_that() {
    let ask = ["run", "--json", "--set", "runtime.retry.max=0"];
    let agent = down(Player::Claude, "1h", &["1"]);
    let told = lines(&agent.ask(&[&ask[..], &["x"]].concat()).exits(1));
    assert_eq!((agent.starts(), &ended(&told)["class"]), (1, &"transient".into()), "a run's patience is a run's");
    let agent = down(Player::Claude, "0", &["1"]);
    let told = lines(&agent.ask(&[&ask[..], &["--outage-patience", "0.2s", "x"]].concat()).exits(0));
    let waiting = told.iter().find(|line| line["type"] == "waiting").expect("it waits");
    assert_eq!((agent.starts(), &waiting["class"]), (2, &"outage".into()));
    let agent = down(Player::Claude, "0", &["rest"]);
    let told = lines(&agent.ask(&[&ask[..], &["--outage-patience", "0.2s", "x"]].concat()).exits(1));
    assert_eq!((agent.starts(), &ended(&told)["class"]), (2, &"outage".into()));
    agent.ask(&["run", "--outage-patience", "soon", "x"]).exits(64).says(&["90s"]);
}

/// A workspace whose phase `design` is this, and ends with 75 at its first `times` starts.
fn by_code(section: &str, times: u32) -> Workspace {
    let workspace = Workspace::only(&[]);
    workspace.write("work", &format!("echo x >> starts; test $(wc -l < starts) -gt {times} || exit 75\n"));
    workspace.config(&format!(
        "runtime:\n  outage_patience: 0.3s\n  outage_codes: [75]\n  backend: mine\n  backends: {{ mine: {{ run: [sh, work, '{{prompt}}'] }} }}\n  \
         phases: {{ design: {{ {section}, verify: 'true' }}, preflight: {{ skip: true }}, discovery: {{ skip: true }}, \
         implementation: {{ skip: true }}, audit: {{ skip: true }}, submit: {{ skip: true }}, deploy: {{ skip: true }}, \
         learning: {{ skip: true }} }}\n"
    ));
    workspace
}

#[test]
fn a_code_that_the_configuration_names_is_an_outage_of_a_command_and_of_an_own_agent() {
    for section in ["command: sh work", "prompt: Go."] {
        let workspace = by_code(section, 1);
        let ran = workspace.loa(&["run"]).exits(0);
        let ran = ran.says(&["exit 75, which runtime.outage_codes names", "probe 1 at"]);
        assert!(!ran.stderr.contains("attempt 2"), "{section}: no retry is used up: {}", ran.stderr);
        assert_eq!(workspace.read("starts").lines().count(), 2, "{section}");
        let workspace = by_code(section, 9);
        workspace.loa(&["run"]).exits(1).says(&["`loa-run resume` waits for it anew"]);
        assert!(workspace.reports().is_empty(), "{section}: nobody is called");
    }
}

#[test]
fn codes_that_mean_something_else_are_refused_with_their_place() {
    let workspace = by_code("command: 'true'", 0);
    let config = workspace.read(".loa.config.yaml");
    for code in ["0", "1", "2", "256", "x"] {
        workspace.config(&config.replace("[75]", &format!("[75, {code}]")));
        workspace.loa(&["run"]).exits(78).says(&["`runtime.outage_codes[1]`", ".loa.config.yaml:3"]);
    }
}
