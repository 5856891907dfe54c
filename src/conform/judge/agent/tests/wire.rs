//! What stands in requests, and whose requests they are.

use serde_json::{Value, json};

use super::*;

#[test]
fn effort_is_a_word_or_a_count_on_its_side_of_the_usual_one_in_every_request() {
    let wish = |level: &str| json!({"effort_sent": {"step": 0, "level": level}});
    let asked = |effort: &Value| {
        let prompt =
            json!({"model": "m", "stream": true, "tools": [], "last_text": "", "last_results": [], "effort": effort});
        request(1, &json!({"prompt": prompt, "headers": {"anthropic-beta": "tools-2025-01-01, effort-2025-11-24"}}))
    };
    let lost = (Fail, Reason::EffortLost);
    let unknown = (NotObserved, Reason::NoBaseline);
    for (usual, sent, low, high) in [
        (json!({}), vec![json!({"level": "low"})], OK, lost),
        (json!({}), vec![json!({"level": "high"})], lost, OK),
        (json!({}), vec![json!({"level": "low"}), json!({})], lost, lost),
        (json!({"budget": 4096}), vec![json!({"budget": 1024})], OK, lost),
        (json!({"budget": 4096}), vec![json!({"budget": 8192})], lost, OK),
        (json!({"budget": 1024}), vec![json!({"budget": 1024})], lost, lost),
        (json!({}), vec![json!({"budget": 1024})], unknown, unknown),
        (json!({"budget": -1}), vec![json!({"budget": 1024})], unknown, unknown),
        (json!({"budget": 4096}), vec![json!({"budget": -1})], unknown, unknown),
        (json!({}), vec![json!({"budget": 1024}), json!({})], lost, lost),
        (json!({}), vec![json!({})], lost, lost),
    ] {
        let mut scene = Scene::new(vec![step(Exited(0), sent.iter().map(asked).collect(), &[])]);
        scene.control.steps[0].requests = vec![asked(&usual)];
        assert_eq!((scene.says(&wish("low")), scene.says(&wish("high"))), (low, high), "{usual} {sent:?}");
        scene.control.steps.clear();
        assert_eq!(scene.says(&wish("low")), (Fail, Reason::PatternRefused), "nothing to hold it against");
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
    assert_eq!((scene(Exited(0), &["abc"]), scene(Exited(1), &[]), scene(Exited(1), &["abc"])), (OK, OK, OK));
    assert_eq!(scene(Exited(0), &["anew"]), (Fail, Reason::HistoryLost));
    assert_eq!(scene(Exited(1), &["anew"]), (Fail, Reason::HistoryLost), "it asked before it refused");
    assert_eq!(scene(died(), &[]), (Fail, Reason::WrongExitCode), "a crash is no refusal");
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

#[test]
fn what_is_tried_again_is_the_same_request_and_no_other() {
    let wish = json!({"tried_again": {"step": 0, "text": "abcd"}});
    let unknown = (NotObserved, Reason::NoSight);
    for (last, said) in [
        (&["say abcd", "say abcd"][..], OK),
        (&["say abcd"], (Fail, Reason::TooFewRequests)),
        (&["a title for abcd", "say abcd"], unknown),
        (&["say abcd", "a title"], unknown),
        (&["a title", "a title"], unknown),
    ] {
        let prompt =
            |text: &&str| json!({"model": "m", "stream": true, "tools": [], "last_text": text, "last_results": []});
        let requests = last.iter().map(|text| request(1, &json!({"prompt": prompt(text)}))).collect();
        assert_eq!(Scene::new(vec![step(Exited(0), requests, &[])]).says(&wish), said, "{last:?}");
    }
}

#[test]
fn an_agent_that_offers_no_shell_anywhere_has_none() {
    let asked = |tools: &[&str], more: &Value| {
        let prompt = json!({"model": "m", "stream": true, "tools": tools, "last_text": "", "last_results": []});
        let mut all = json!({"prompt": prompt});
        all.as_object_mut().expect("a mapping").extend(more.as_object().expect("a mapping").clone());
        request(1, &all)
    };
    let odd = json!({"fault": "no shell tool"});
    let side = json!({"by": {"route": "title"}});
    let broken = (HarnessError, Reason::RigFailed);
    for (requests, said) in [
        (vec![asked(&[], &odd)], (NotObserved, Reason::NoSuchMoment)),
        (vec![asked(&["read"], &odd), asked(&["read"], &json!({}))], (NotObserved, Reason::NoSuchMoment)),
        (vec![asked(&[], &odd), asked(&["Bash"], &side)], (NotObserved, Reason::NoSuchMoment)),
        (vec![asked(&[], &odd), asked(&["Bash"], &json!({}))], broken),
        (vec![asked(&["Bash"], &odd)], broken),
    ] {
        let tools: Vec<_> = requests.iter().map(|it| it.prompt.as_ref().map(|prompt| prompt.tools.clone())).collect();
        assert_eq!(Scene::new(vec![step(Exited(0), requests, &[])]).says(&json!("no_orphans")), said, "{tools:?}");
    }
}

#[test]
fn a_question_that_is_not_understood_is_no_silence() {
    let lost = |answer: &str, method: &str| {
        let more = json!({"prompt": null, "by": "server", "answer": answer, "method": method, "path": "/v2/ask"});
        request(5, &more)
    };
    let silent = (Fail, Reason::NoRequest);
    let broken = (HarnessError, Reason::RigFailed);
    for (answer, method, said) in [
        ("refused", "POST", broken),
        ("no_such_path", "POST", broken),
        ("no_such_path", "GET", silent),
        ("count", "POST", silent),
    ] {
        let scene = Scene::new(vec![step(Exited(0), vec![lost(answer, method)], &[])]);
        assert_eq!(scene.says(&json!("no_orphans")), said, "{answer} {method}");
    }
    let none = json!({"requests": {"step": 1, "at_least": 0, "at_most": 0}});
    let one = json!({"requests": {"step": 1, "at_least": 1}});
    for (answer, by_none) in [("refused", (Fail, Reason::TooManyRequests)), ("no_such_path", OK)] {
        let sound = step(Exited(0), vec![request(1, &json!({}))], &[]);
        let scene = Scene::new(vec![sound, step(Exited(1), vec![lost(answer, "POST")], &[])]);
        assert_eq!((scene.says(&none), scene.says(&one)), (by_none, (Fail, Reason::TooFewRequests)), "{answer}");
    }
}
