//! The program's own log: what it shows, where, and what it never shows.

use serde_json::Value;

use super::Workspace;
use super::workspace::{Ran, finished};

/// Two phases: the first fails once and leaves a line open, the second is done by an agent.
fn workspace() -> Workspace {
    let workspace = Workspace::only(&[]);
    let plan = serde_json::json!({ "phases": [
        { "id": "design", "command": "printf half; test -f again || { touch again; exit 1; }" },
        { "id": "audit", "prompt": "Look at the secret garden.", "backend": "mine" },
    ]});
    workspace.write("plan.json", &plan.to_string());
    workspace.config(
        "autonomous_agent: { require_human_deploy_approval: false }\nruntime:\n  retry: { initial_ms: 1, max_ms: 1, jitter: 0 }\n  \
         backends:\n    mine: { run: [sh, -c, 'echo \"$DOOR $MY_KEY\"', '--plain-argument', '{prompt}'], env: { DOOR: open-sesame }, \
         credentials: [MY_KEY] }\n",
    );
    workspace
}

fn run(workspace: &Workspace, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = workspace.command(&[&["run", "--plan", "plan.json"], arguments].concat());
    command.env("MY_KEY", "dummy-of-mine").env_remove("NO_COLOR").envs(variables.iter().copied());
    finished(command)
}

/// Each line of the log as a document; whatever stands in the way of one makes this fail.
fn documents(ran: &Ran) -> Vec<Value> {
    let lines = ran.stderr.lines().filter(|line| line.contains("\"timestamp\""));
    lines.map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// The names of the spans that were closed, with their parts.
fn closed(documents: &[Value]) -> Vec<(String, String)> {
    let is_end = |it: &&Value| it["fields"]["message"] == "close";
    let text = |value: &Value| value.as_str().expect("a name").to_owned();
    documents.iter().filter(is_end).map(|it| (text(&it["target"]), text(&it["span"]["name"]))).collect()
}

#[test]
fn every_step_is_a_span_and_each_line_of_the_log_is_whole() {
    let workspace = workspace();
    let ran = run(&workspace, &["--log-format", "json"], &[("LOA_LOG", "trace")]).exits(0);
    assert!(!ran.stdout.contains("timestamp"), "the log is on standard error alone: {}", ran.stdout);
    let documents = documents(&ran);
    let closed = closed(&documents);
    let count =
        |target: &str, name: &str| closed.iter().filter(|it| (it.0.as_str(), it.1.as_str()) == (target, name)).count();
    for (target, name, times) in [
        ("execution", "execution", 1),
        ("stage", "stage", 2),
        ("attempt", "attempt", 3),
        ("invocation", "invocation", 1),
    ] {
        assert_eq!(count(target, name), times, "{name}: {closed:?}");
    }
    assert!(count("store", "append") > 5 && count("store", "sync") > 4, "{closed:?}");
    assert!(count("store", "projection") >= 2, "{closed:?}");
    let invocation = documents.iter().find(|it| it["target"] == "invocation").expect("one");
    let around: Vec<&str> =
        invocation["spans"].as_array().expect("spans").iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(around[..3], ["execution", "stage", "attempt"], "{invocation}");
    let ends: Vec<&Value> =
        documents.iter().filter(|it| it["fields"]["message"] == "ended" && it["target"] == "attempt").collect();
    let exits: Vec<&Value> = ends.iter().map(|it| &it["fields"]["exit"]).collect();
    assert_eq!(exits, [1, 0, 0]);
}

#[test]
fn beside_a_log_for_machines_nothing_is_said_in_prose() {
    for (arguments, log) in [(&["--log-format", "json"][..], "off"), (&["--log-format", "json", "--json"], "info")] {
        let workspace = workspace();
        let config =
            workspace.read(".loa.config.yaml").replace("[sh, -c, 'echo", "[sh, -c, 'echo aside >&2; exit 2; echo");
        workspace.config(&config);
        let ran = run(&workspace, arguments, &[("LOA_LOG", log)]).exits(2);
        let lines: Vec<Value> = ran
            .stderr
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
            .collect();
        let says = |target: &str, text: &str| {
            lines.iter().any(|it| {
                it["target"] == target && it["fields"]["message"].as_str().is_some_and(|it| it.contains(text))
            })
        };
        assert!(says("said", "starting exec-") && says("said", "A human is needed"), "{}", ran.stderr);
        assert!(says("output", "aside"), "{}", ran.stderr);
        assert_eq!(lines.iter().any(|it| it["target"] == "execution"), log == "info", "{}", ran.stderr);
    }
}

#[test]
fn the_log_is_off_unless_it_is_asked_for_and_each_v_says_more() {
    let lines = |arguments: &[&str], variables: &[(&str, &str)]| {
        let ran = run(&workspace(), arguments, variables).exits(0);
        ran.stderr.lines().filter(|line| line.contains("execution{id=")).count()
    };
    let silent = [lines(&[], &[]), lines(&[], &[("LOA_LOG", "")]), lines(&[], &[("LOA_LOG", "off")])];
    assert_eq!(silent, [0; 3]);
    let [one, two, three] = [lines(&["-v"], &[]), lines(&["-vv"], &[]), lines(&["-vvv"], &[])];
    assert!(0 < one && one < two && two < three, "{one} {two} {three}");
    assert_eq!(lines(&[], &[("LOA_LOG", "info")]), one);
    assert!(lines(&[], &[("LOA_LOG", "stage=info")]) < one);
}

#[test]
fn no_prompt_no_argument_and_no_value_of_the_environment_is_logged() {
    for format in ["text", "json"] {
        let workspace = workspace();
        let ran =
            run(&workspace, &["-vvv", "--log-format", format], &[("LOA_TEST_SECRET", "of-the-environment")]).exits(0);
        let is_log = |line: &&str| line.contains("\"timestamp\"") || line.contains("execution{id=");
        let log: Vec<&str> = ran.stderr.lines().filter(is_log).collect();
        assert!(log.len() > 20, "{log:?}");
        for secret in ["garden", "plain-argument", "open-sesame", "dummy-of-mine", "of-the-environment", "printf"] {
            assert!(!log.iter().any(|line| line.contains(secret)), "{secret}: {log:?}");
        }
    }
}

/// No field has one in it. One that came there all the same would not be shown: here by the name of a backend.
#[test]
fn what_the_redactor_knows_is_taken_out_of_the_log() {
    let token = format!("gh{}_{}", 'p', "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9jK2m");
    let workspace = Workspace::only(&[]);
    for (name, redact, shown) in
        [(token.as_str(), "", "[REDACTED:github-token]"), ("sesame", "redact: [DOOR],", "[REDACTED:$DOOR]")]
    {
        let plan = serde_json::json!({ "phases": [{ "id": "design", "prompt": "Look.", "backend": name }] });
        workspace.write("plan.json", &plan.to_string());
        workspace
            .config(&format!("runtime: {{ {redact} backends: {{ {name}: {{ run: ['true', '{{prompt}}'] }} }} }}\n"));
        let ran = run(&workspace, &["-v"], &[("DOOR", "sesame")]).exits(0);
        let log: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("invocation{backend")).collect();
        assert!(log.iter().any(|line| line.contains(shown)), "{}", ran.stderr);
        assert!(!log.iter().any(|line| line.contains(name)), "{log:?}");
    }
}

#[test]
fn a_wrong_directive_is_refused_with_its_place_and_what_would_be_right() {
    let workspace = workspace();
    for (arguments, variables, words) in [
        (
            &[][..],
            &[("LOA_LOG", "info,stor=trace")][..],
            &["`stor` at character 6", "LOA_LOG", "attempt, invocation, store"][..],
        ),
        (&["--log", "loud"], &[], &["`loud` at character 1", "off, error, warn, info, debug, trace"]),
        (&[], &[("LOA_LOG_FORMAT", "xml")], &["'xml'", "text, json"]),
    ] {
        run(&workspace, arguments, variables).exits(64).says(words);
    }
    assert!(workspace.ran().is_empty() && workspace.recorded().is_none(), "nothing began");
    let told = run(&workspace, &["--json"], &[("LOA_LOG", "loud")]).exits(64).stdout;
    let told: Value = serde_json::from_str(&told).expect("one document");
    assert_eq!(told["error"]["code"], 64);
}

#[test]
fn colours_are_for_those_who_want_them() {
    let coloured = |variables: &[(&str, &str)]| {
        let ran = run(&workspace(), &["-v"], variables).exits(0);
        ran.stderr.lines().any(|line| line.contains("INFO") && line.contains('\u{1b}'))
    };
    assert!(coloured(&[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(!coloured(&[]));
}
