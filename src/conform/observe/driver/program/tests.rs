use serde_json::json;

use super::*;

#[test]
fn another_version_of_a_script_is_another_runtime() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("runtime.py");
    let places = Places::new(folder.path(), Path::new("/judge/bin"));
    let argv = ["sh", "{dir}/runtime.py", "run", "{plan}"].map(str::to_owned).to_vec();
    let hash = |text: &str| {
        scratch::lay(&script, text.as_bytes()).expect("written");
        let identity = Identity {
            program: places.locate(&argv),
            parts: places.parts(places.locate(&argv).as_deref(), std::iter::once(&argv)),
            ..Identity::default()
        };
        assert_eq!(identity.parts, std::slice::from_ref(&script));
        identity.hash().expect("both can be read")
    };
    let (first, second) = (hash("one"), hash("two"));
    assert!(first != second && hash("one") == first);
    let bare = Identity { program: places.locate(&argv), ..Identity::default() };
    assert_eq!(bare.hash(), hash_of(&places.locate(&argv).expect("a shell")), "alone it is the file's own");
    let other = folder.path().join("again.py");
    scratch::lay(&other, b"three").expect("written");
    let resume = ["sh", "{dir}/again.py"].map(str::to_owned).to_vec();
    let all = places.parts(bare.program.as_deref(), [&argv, &resume].into_iter());
    assert_eq!(all, [other, script], "every command counts, and the program itself once");
}

fn manifest(more: &Value) -> Manifest {
    let mut manifest = json!({ "runtime": "x", "version": ["sh", "-c", "echo; echo x 1.2"], "run": ["sh", "{plan}"] });
    manifest.as_object_mut().expect("a mapping").extend(more.as_object().expect("a mapping").clone());
    serde_json::from_value(manifest).expect("a manifest")
}

fn ask_who(manifest: &Manifest, dir: &Path) -> Identity {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(identify(manifest, dir, Path::new("/nowhere/loa-conform")))
}

#[test]
fn knobs_are_turned_in_the_runtimes_own_unit() {
    let manifest = manifest(&json!({ "knobs": {
        "initial_backoff": { "config": "retry.initial_s", "per": 1000 }, "max_backoff": { "env": "MAX" },
    } }));
    let case: Case = serde_json::from_value(json!({
        "id": "x", "clause": "X", "title": "t", "knobs": { "initial_backoff": 300, "max_backoff": 2000 },
        "steps": [], "expect": [],
    }))
    .expect("a case");
    let lab = Lab::new(Path::new("/judge"), false, false).expect("laid");
    assert_eq!(judge_keys(&case, &manifest, &lab), BTreeMap::from([("retry.initial_s".to_owned(), json!(0.3))]));
    let config = BTreeMap::from([("autonomous_agent.context.soft_limit_tokens".to_owned(), json!(1000))]);
    let setting = Setting { case: &case, manifest: &manifest, config: &config };
    let all = environment(&setting, &Places::new(Path::new("/m"), Path::new("/j/loa-conform")), &lab);
    assert_eq!((all["MAX"].as_str(), all["CONTEXT_SOFT_LIMIT"].as_str()), ("2000", "1000"));
    assert!(!all.contains_key("CONTEXT_HARD_LIMIT") && !all.contains_key("USER"));
}

#[test]
fn a_program_is_found_beside_the_judge_first() {
    let place = tempfile::tempdir().expect("a folder");
    crate::system::scratch::lay_program(&place.path().join("sh"), b"").expect("laid");
    let beside = Places::new(Path::new("/m"), &place.path().join("loa-conform"));
    let argv = vec!["sh".to_owned(), "{dir}/x".to_owned(), "{plan}".to_owned()];
    assert_eq!(beside.argv(&argv), [text(&place.path().join("sh")).as_str(), "/m/x", "{plan}"]);
    let elsewhere = Places::new(Path::new("/m"), Path::new("/nowhere/loa-conform"));
    assert_eq!(elsewhere.argv(&argv)[0], "sh");
    assert!(elsewhere.locate(&argv).expect("on PATH").ends_with("sh"));
}

#[test]
fn a_program_says_who_it_is_or_why_not() {
    let place = tempfile::tempdir().expect("a folder");
    assert_eq!(ask_who(&manifest(&json!({})), place.path()).version, Some("x 1.2".into()));
    let missing = ask_who(&manifest(&json!({ "run": ["no-such-program"] })), place.path());
    assert!(missing.problem.expect("one").raw().contains("no-such-program"));
    let silent = ask_who(&manifest(&json!({ "version": ["sh", "-c", "echo why >&2; exit 3"] })), place.path());
    assert!(silent.problem.expect("one").raw().contains("exit 3; it said: why"));
    let made = json!({ "run": ["{dir}/made"], "build": ["sh", "-c", "echo > made"] });
    let made = ask_who(&manifest(&made), place.path());
    assert!(made.built && made.problem.is_none() && made.program.is_some());
}

#[test]
fn what_is_out_of_reach_is_never_started() {
    let place = tempfile::tempdir().expect("a folder");
    let asked = |out_of_reach: Option<&str>| {
        let manifest: AgentManifest = serde_json::from_value(json!({
            "agent": "x", "run": ["sh"], "version": ["sh", "-c", "echo > started"], "out_of_reach": out_of_reach,
        }))
        .expect("a manifest");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(identify_agent(&manifest, place.path(), Path::new("/j"), Path::new("/p")))
    };
    let identity = asked(Some("nobody answers"));
    assert_eq!((identity.problem, identity.program), (Some("nobody answers".into()), None));
    assert!(!place.path().join("started").exists());
    assert!(asked(None).problem.is_none() && place.path().join("started").exists());
}
