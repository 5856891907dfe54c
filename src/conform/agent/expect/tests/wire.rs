//! What stands in requests, and whose requests they are.

use serde_json::{Value, json};

use super::*;

#[test]
fn effort_is_a_word_or_other_tokens_than_usual_in_every_request() {
    let wish = json!({"effort_sent": {"step": 0, "level": "low"}});
    let asked = |effort: &Value| {
        let prompt =
            json!({"model": "m", "stream": true, "tools": [], "last_text": "", "last_results": [], "effort": effort});
        request(1, &json!({"prompt": prompt, "headers": {"anthropic-beta": "tools-2025-01-01, effort-2025-11-24"}}))
    };
    let lost = (Fail, Reason::EffortLost);
    for (usual, sent, said) in [
        (json!({}), vec![json!({"level": "low"})], OK),
        (json!({}), vec![json!({"level": "high"})], lost),
        (json!({}), vec![json!({"level": "low"}), json!({})], lost),
        (json!({"budget": -1}), vec![json!({"budget": 1024})], OK),
        (json!({"budget": 1024}), vec![json!({"budget": 1024})], lost),
        (json!({}), vec![json!({})], lost),
    ] {
        let mut scene = Scene::new(vec![step(Exited(0), sent.iter().map(asked).collect(), &[])]);
        scene.control.steps[0].requests = vec![asked(&usual)];
        assert_eq!(scene.says(&wish), said, "{usual} {sent:?}");
        scene.control.steps.clear();
        assert_eq!(scene.says(&wish), (Fail, Reason::PatternRefused), "nothing to hold it against");
    }
}

#[test]
fn a_memory_file_reaches_the_model_anywhere_in_the_first_request() {
    let wish = json!({"memory_read": {"step": 0, "text": "abcd"}});
    let scene = |system: &str, text: &str| {
        let conversation = json!([{"text": {"role": "user", "text": text}}]);
        let prompt = json!({"model": "m", "stream": true, "tools": [], "last_text": "", "last_results": [], "system": system,
            "conversation": conversation});
        let scene = Scene::new(vec![step(Exited(0), vec![request(1, &json!({"prompt": prompt}))], &[])]);
        scene.says(&wish)
    };
    assert_eq!((scene("it is abcd", ""), scene("", "it is abcd")), (OK, OK));
    assert_eq!(scene("", ""), (Fail, Reason::MemoryUnread));
}

#[test]
fn a_server_that_was_away_is_reached_by_one_that_is_known_to_have_asked() {
    let wish = json!({"reached_again": {"step": 0}});
    let scene = |starts: &[u64], gone: usize| {
        let more = |at: usize| if at == gone { json!({"away_ms": 4000}) } else { json!({}) };
        let requests = starts.iter().enumerate().map(|(number, at)| request(*at, &more(number))).collect();
        Scene::new(vec![step(Exited(0), requests, &[])]).says(&wish)
    };
    assert_eq!(scene(&[0, 200, 5000], 1), OK);
    assert_eq!(scene(&[0, 2100, 7000], 1), (NotObserved, Reason::NoSuchMoment), "its turns take too long");
    assert_eq!(scene(&[0, 5000], 0), (NotObserved, Reason::NoSuchMoment), "nothing says how long its turns take");
    assert_eq!(scene(&[0, 200], 1), (Fail, Reason::TooFewRequests));
    assert_eq!(scene(&[0], 1), (Fail, Reason::TooFewRequests));
}

#[test]
fn a_session_elsewhere_goes_on_or_is_refused() {
    let wish = json!({"resumed_or_refused": {"step": 1, "texts": ["abc"]}});
    let scene = |end: AgentEnd, said: &[&str]| {
        let prompt = |text: &&str| {
            let conversation = json!([{"text": {"role": "user", "text": text}}]);
            request(
                1,
                &json!({"prompt": {"model": "m", "stream": true, "tools": [], "last_text": "", "last_results": [],
                "conversation": conversation}}),
            )
        };
        let first = step(Exited(0), vec![request(1, &json!({}))], &[]);
        Scene::new(vec![first, step(end, said.iter().map(prompt).collect(), &[])]).says(&wish)
    };
    assert_eq!((scene(Exited(0), &["abc"]), scene(Exited(1), &[]), scene(died(), &[])), (OK, OK, OK));
    assert_eq!(scene(Exited(0), &["anew"]), (Fail, Reason::HistoryLost));
    assert_eq!(scene(Exited(0), &[]), (Fail, Reason::LooksLikeSuccess));
    assert_eq!(scene(OutOfTime, &["abc"]), (Fail, Reason::DidNotEnd));
}

#[test]
fn two_at_once_are_two() {
    let wish = json!({"apart": {"step": 0, "texts": ["abc", "xyz"]}});
    let scene = |ends: [AgentEnd; 2], names: [&str; 2], said: &[&str]| {
        let prompt = |text: &&str| {
            let conversation = json!([{"text": {"role": "user", "text": text}}]);
            request(
                1,
                &json!({"prompt": {"model": "m", "stream": true, "tools": [], "last_text": "", "last_results": [],
                "conversation": conversation}}),
            )
        };
        let lines = names.map(|name| format!(r#"{{"t":"start","id":"{name}"}}"#));
        let [one, other] = ends;
        let mut seen = step(one, said.iter().map(prompt).collect(), &[&lines[0]]);
        seen.beside = Some(Box::new(step(other, Vec::new(), &[&lines[1]])));
        Scene::new(vec![seen]).says(&wish)
    };
    let well = || [Exited(0), Exited(0)];
    assert_eq!(scene(well(), ["a", "b"], &["abc", "xyz"]), OK);
    assert_eq!(scene(well(), ["a", "b"], &["abc", "abc xyz"]), (Fail, Reason::SessionsMixed));
    assert_eq!(scene(well(), ["a", "a"], &["abc", "xyz"]), (Fail, Reason::SessionsMixed));
    assert_eq!(scene(well(), ["a", "b"], &["abc"]), (Fail, Reason::TooFewRequests));
    assert_eq!(scene([Exited(0), Exited(1)], ["a", "b"], &["abc", "xyz"]), (Fail, Reason::WrongExitCode));
    assert_eq!(scene([Exited(0), Exited(1)], ["a", "a"], &["abc", "xyz"]), (Fail, Reason::SessionsMixed));
}
