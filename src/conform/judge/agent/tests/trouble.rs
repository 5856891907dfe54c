//! What must be told rather than passed over, and what must not be done.

use serde_json::{Value, json};

use super::*;

#[test]
fn a_trouble_ends_without_success_or_is_told() {
    let wish = |about: &str| json!({"not_silent": {"step": 0, "about": about}});
    let told = r#"{"t":"refused"}"#;
    for (end, line, by_refusal, by_denial) in [
        (Exited(1), "", OK, OK),
        (died(), "", OK, OK),
        (Exited(0), told, OK, (Fail, Reason::LooksLikeSuccess)),
        (Exited(0), "", (Fail, Reason::LooksLikeSuccess), (Fail, Reason::LooksLikeSuccess)),
        (OutOfTime, told, (Fail, Reason::DidNotEnd), (Fail, Reason::DidNotEnd)),
        (SeenEnough, told, (NotObserved, Reason::SeenEnough), (NotObserved, Reason::SeenEnough)),
    ] {
        let scene = Scene::run(end.clone(), 1, &[line]);
        assert_eq!(
            (scene.says(&wish("refusal")), scene.says(&wish("denial"))),
            (by_refusal, by_denial),
            "{end:?} {line}"
        );
    }
    let unknown = Scene::run(Exited(0), 1, &[]);
    assert_eq!(unknown.says(&wish("cut_off")), (NotObserved, Reason::NoSight), "nobody has looked for an event");
    let mut wolf = Scene::run(Exited(0), 1, &[told]);
    wolf.control.steps[0].output.push(OutputLine { at: 1, stream: "stdout".into(), text: told.into() });
    assert_eq!(wolf.says(&wish("refusal")), (Fail, Reason::PatternRefused));
}

#[test]
fn the_last_event_ends_the_stream_and_says_how() {
    let wish = |like: Value| json!({"end_told": {"step": 0, "like": like}});
    let (well, badly) = (r#"{"t":"end","how":"done"}"#, r#"{"t":"end","how":"failed"}"#);
    for (lines, any, success, failure) in [
        (&[well][..], OK, OK, (Fail, Reason::ToldOtherwise)),
        (&[badly], OK, (Fail, Reason::ToldOtherwise), OK),
        (&[well, "prose"], OK, OK, (Fail, Reason::ToldOtherwise)),
        (&[well, "{}"], (Fail, Reason::NotAtLast), (Fail, Reason::NotAtLast), (Fail, Reason::NotAtLast)),
        (&["{}"], (Fail, Reason::NotTold), (Fail, Reason::NotTold), (Fail, Reason::NotTold)),
    ] {
        let mut scene = Scene::run(Exited(1), 1, lines);
        let plain = OutputLine { at: 1, stream: "stdout".to_owned(), text: well.to_owned() };
        scene.control.steps[0].output.push(plain);
        let said = ["success", "failure"].map(|like| scene.says(&wish(json!(like))));
        assert_eq!((scene.says(&wish(Value::Null)), said), (any, [success, failure]), "{lines:?}");
    }
    let alone = Scene::run(Exited(1), 1, &[badly]);
    assert_eq!(alone.says(&wish(json!("failure"))), (Fail, Reason::PatternRefused), "nothing to hold it against");
    let mut hangs = Scene::run(OutOfTime, 1, &[well]);
    assert_eq!(hangs.says(&wish(Value::Null)), (Fail, Reason::DidNotEnd));
    hangs.manifest["stream"].as_object_mut().expect("a mapping").remove("end");
    assert_eq!(hangs.says(&wish(Value::Null)), (NotObserved, Reason::NoSight));
}

#[test]
fn an_answer_may_come_in_pieces() {
    let wish = json!({"answer_told": {"step": 0, "text": "abcd"}});
    for (lines, said) in [
        (&[r#"{"t":"text","text":"it is ab"}"#, r#"{"t":"text","text":"cd."}"#][..], OK),
        (&[r#"{"t":"text","text":"abc"}"#], (Fail, Reason::ToldOtherwise)),
        (&[r#"{"t":"other","text":"abcd"}"#, "abcd"], (Fail, Reason::NotTold)),
    ] {
        assert_eq!(Scene::run(Exited(0), 1, lines).says(&wish), said, "{lines:?}");
    }
}

#[test]
fn what_was_not_allowed_was_asked_for_and_not_done() {
    let wish = json!({"no_file": {"path": "a"}});
    let called = request(1, &json!({"answer": "calls"}));
    let mut scene = Scene::new(vec![step(Exited(0), vec![called], &[])]);
    assert_eq!(scene.says(&wish), OK);
    scene.seen.files = BTreeMap::from([("a".to_owned(), Vec::new())]);
    assert_eq!(scene.says(&wish), (Fail, Reason::NotPrevented));
    assert_eq!(Scene::run(Exited(0), 1, &[]).says(&wish), (Fail, Reason::TooFewRequests), "nothing was asked for");
}
