use serde_json::json;

use super::*;

/// What these updates tell, in order.
fn heard(updates: &[Value]) -> (Listener, Vec<AgentEvent>) {
    let mut listener = Listener::default();
    let events = updates.iter().flat_map(|update| listener.update(update)).collect();
    (listener, events)
}

fn chunk(text: &str) -> Value {
    json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } })
}

fn tool(call: &str, status: &str) -> Value {
    json!({ "sessionUpdate": "tool_call", "toolCallId": call, "kind": "execute", "title": "ls", "status": status })
}

fn tool_update(call: &str, status: &str) -> Value {
    json!({ "sessionUpdate": "tool_call_update", "toolCallId": call, "status": status })
}

fn said(text: &str) -> AgentEvent {
    AgentEvent::Said(text.to_owned())
}

#[test]
fn parts_are_joined_and_a_tool_ends_a_message() {
    let (mut listener, events) = heard(&[
        chunk("I "),
        chunk("look."),
        tool("t", "pending"),
        tool_update("t", "completed"),
        chunk("All "),
        chunk("done.\n"),
    ]);
    assert_eq!(events, [AgentEvent::Turn, said("I look."), AgentEvent::Turn]);
    assert_eq!(listener.said(), Some(said("All done.")));
    assert_eq!(listener.said(), None);
    assert_eq!((listener.turns, listener.spoke), (2, true));
}

#[test]
fn another_message_is_another_answer() {
    let part = |id: &str, text: &str| json!({ "sessionUpdate": "agent_message_chunk", "messageId": id, "content": { "type": "text", "text": text } });
    let (mut listener, events) = heard(&[part("a", "One"), part("a", "."), part("b", "Two.")]);
    assert_eq!(events, [AgentEvent::Turn, said("One.")]);
    assert_eq!(listener.said(), Some(said("Two.")));
}

#[test]
fn what_comes_behind_the_last_tool_counts_as_the_answer() {
    for (updates, spoke) in [
        (vec![chunk("Done.")], true),
        (vec![chunk(" \n")], false),
        (vec![chunk("pi v0.87.1\n---\n\n---\nNew version available")], false),
        (vec![chunk("pi v0.87.1 is installed.")], true),
        (vec![chunk("I look."), tool("t", "in_progress")], false),
        // The first word about a tool is missing.
        (vec![chunk("I look."), tool_update("t", "completed")], false),
        (vec![tool("t", "completed"), chunk("Done."), tool_update("t", "completed")], true),
        (vec![tool("t", "completed"), chunk("Done."), json!({ "sessionUpdate": "of_tomorrow" }), json!(7)], true),
    ] {
        assert_eq!(heard(&updates).0.spoke, spoke, "{updates:?}");
    }
}

#[test]
fn usage_is_told_when_it_changes() {
    let usage = |used: u64| json!({ "sessionUpdate": "usage_update", "used": used, "size": 200_000 });
    let (_, events) = heard(&[usage(0), usage(5), usage(5), usage(9), json!({ "sessionUpdate": "usage_update" })]);
    assert_eq!(events, [AgentEvent::Usage(5), AgentEvent::Usage(9)]);
}

#[test]
fn a_compaction_is_told_once_whichever_way_it_comes() {
    let usage = json!({ "sessionUpdate": "usage_update", "used": 900 });
    let compaction =
        |status: &str| json!({ "sessionUpdate": "compaction_update", "compactionId": "c", "status": status });
    let smaller = json!({ "sessionUpdate": "usage_update", "used": 100 });
    let (_, events) =
        heard(&[usage.clone(), compaction("in_progress"), smaller, compaction("completed"), compaction("completed")]);
    let told = AgentEvent::Compacted { before: Some(900), after: None };
    assert_eq!(events, [AgentEvent::Usage(900), AgentEvent::Usage(100), told]);

    let (_, events) = heard(&[compaction("in_progress"), compaction("failed")]);
    assert_eq!(events, []);

    let call = json!({
        "sessionUpdate": "tool_call", "toolCallId": "t", "kind": "think", "title": "Compact conversation", "status": "pending"
    });
    let done = json!({
        "sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed",
        "rawOutput": { "trigger": "auto", "preTokens": 800, "postTokens": 90 }
    });
    let (listener, events) = heard(&[usage, chunk("Done."), call, done]);
    let told = AgentEvent::Compacted { before: Some(800), after: Some(90) };
    assert_eq!(events, [AgentEvent::Usage(900), AgentEvent::Turn, told]);
    assert!(listener.spoke, "it is no tool");
}

#[test]
fn retries_are_told_and_what_came_of_the_answer_is_void() {
    let (mut listener, events) =
        heard(&[chunk("partial"), chunk("Retrying (attempt 2/3, waiting 4s)..."), chunk("Retry finished, resuming.")]);
    let retrying = AgentEvent::Retrying { status: None, wait: Some(Duration::from_secs(4)) };
    assert_eq!(events, [AgentEvent::Turn, retrying]);
    assert_eq!((listener.said(), listener.spoke), (None, false));

    let again = "Info: Response was interrupted due to a server error. Retrying...";
    let (mut listener, events) = heard(&[chunk("partial"), chunk(again), chunk("Info: this is an answer.")]);
    assert_eq!(events, [AgentEvent::Turn, AgentEvent::Retrying { status: None, wait: None }]);
    assert_eq!(listener.said(), Some(said("Info: this is an answer.")));

    let told = |severity: &str| {
        let failure = json!({ "severity": severity, "title": "unexpected status 529: Overloaded" });
        json!({ "sessionUpdate": "session_info_update", "_meta": { "jetbrains": { "air": { "sessionFailure": failure } } } })
    };
    let (_, events) = heard(&[told("warning"), told("error")]);
    assert_eq!(events, [AgentEvent::Retrying { status: Some(529), wait: None }]);
}

#[test]
fn a_retry_for_want_of_a_connection_is_told_as_such() {
    // As codex-acp 2.6.0 tells it.
    let failure = json!({ "category": "connection", "severity": "warning", "title": "Reconnecting... 1/1" });
    let told = json!({ "sessionUpdate": "session_info_update", "_meta": { "jetbrains": { "air": { "sessionFailure": failure } } } });
    let retrying = || AgentEvent::Retrying { status: None, wait: None };
    assert_eq!(heard(&[told]).1, [retrying(), AgentEvent::Unreached]);
    let info = "Info: Request failed: connect ECONNREFUSED 127.0.0.1:9. Retrying...";
    assert_eq!(heard(&[chunk(info)]).1, [retrying(), AgentEvent::Unreached]);
}

#[test]
fn the_kind_of_a_tool_is_known_while_it_works() {
    let (mut listener, _) = heard(&[tool("t", "pending")]);
    assert_eq!(listener.kind("t"), Some("execute"));
    listener.update(&tool_update("t", "failed"));
    assert_eq!(listener.kind("t"), None);
}
