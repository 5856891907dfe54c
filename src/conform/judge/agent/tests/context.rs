//! The size of the context, and compactions.

use serde_json::json;

use super::*;

#[test]
fn the_size_of_the_context_is_the_last_requests_and_no_sum() {
    let wish = json!({"context_told": {"step": 0}});
    for (line, said) in [
        (r#"{"t":"size","in":60,"cached":40}"#, OK),
        (r#"{"t":"size","in":107}"#, OK),
        (r#"{"t":"size","in":200}"#, (Fail, Reason::NotTracked)),
        (r#"{"t":"size"}"#, (Fail, Reason::NotTold)),
    ] {
        assert_eq!(Scene::run(Exited(0), 2, &[line]).says(&wish), said, "{line}");
    }
    let beside = json!({"by": {"route": "title"}, "usage": {"input": 9000, "cached": 0, "output": 10}});
    let requests = vec![request(1, &json!({})), request(2, &beside)];
    let with_a_title = Scene::new(vec![step(Exited(0), requests, &[r#"{"t":"size","in":107}"#])]);
    assert_eq!(with_a_title.says(&wish), OK, "a title is asked for in a context of its own");
}

#[test]
fn a_compaction_is_one_and_the_work_goes_on_with_its_summary() {
    let said = |text: &str| {
        let conversation = json!([{"text": {"role": "user", "text": text}}]);
        json!({"prompt": {"model": "m", "stream": true, "tools": [], "last_text": "", "last_results": [],
            "conversation": conversation}})
    };
    let summary = request(2, &json!({"by": {"route": "compaction"}}));
    let goes_on = json!({"goes_on": {"step": 0}});
    let compacted = |yes: bool| json!({"compacted": {"step": 0, "yes": yes}});
    for (requests, by_goes_on, by_yes, by_no) in [
        (vec![summary.clone(), request(3, &said("So far."))], OK, OK, (Fail, Reason::UnwarrantedCompaction)),
        (
            vec![summary.clone(), request(3, &said("nothing"))],
            (Fail, Reason::HistoryLost),
            OK,
            (Fail, Reason::UnwarrantedCompaction),
        ),
        (
            vec![request(1, &said("So far.")), summary],
            (Fail, Reason::TooFewRequests),
            OK,
            (Fail, Reason::UnwarrantedCompaction),
        ),
        (vec![request(1, &said("So far."))], (Fail, Reason::NoCompaction), (Fail, Reason::NoCompaction), OK),
    ] {
        let scene = Scene::new(vec![step(Exited(0), requests, &[])]);
        assert_eq!(
            (scene.says(&goes_on), scene.says(&compacted(true)), scene.says(&compacted(false))),
            (by_goes_on, by_yes, by_no)
        );
    }
    let mut blind = Scene::run(Exited(0), 1, &[]);
    blind.manifest["side"] = json!([]);
    assert_eq!(blind.says(&compacted(false)), (NotObserved, Reason::NoSight));
}
