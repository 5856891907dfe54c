//! Layers, provenance and findings.

use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::config::{Command, OperatorChoice, RetrySettings, from_environment};
use crate::contract::{ContextLimits, EffortLevel, Phase};
use crate::policy::{Backoff, TriggerLimits};

fn source(text: &str) -> Source {
    Source { path: FILE_NAME.into(), bytes: text.into() }
}

fn from_file(text: &str) -> Settings {
    resolve(Some(source(text)), Vec::new()).unwrap_or_else(|error| panic!("{text}\n{error:?}"))
}

fn set(assignments: &[&str]) -> Vec<Override> {
    assignments.iter().map(|text| Override::set(text).expect("KEY=VALUE")).collect()
}

fn env(name: &str, value: &str) -> Vec<Override> {
    from_environment(&BTreeMap::from([(name.to_owned(), value.to_owned())]))
}

/// Everything that is wrong, wherever it is.
fn findings(resolved: Result<Settings, ConfigError>) -> Vec<Diagnostic> {
    let Err(ConfigError::Invalid { problems, .. }) = resolved else { panic!("accepted, or unreadable") };
    problems.into_iter().flat_map(|problems| problems.findings).collect()
}

/// The findings of a wrong configuration, each as `line:column message`, or `- message` without a place.
fn wrong(text: &str, overrides: Vec<Override>) -> Vec<String> {
    let brief = |finding: &Diagnostic| {
        let place = finding.span.map_or("-".to_owned(), |span| format!("{}:{}", span.start.line, span.start.column));
        format!("{place} {}", finding.message)
    };
    findings(resolve(Some(source(text)), overrides)).iter().map(brief).collect()
}

#[test]
fn without_a_file_everything_is_the_contracts_default() {
    let settings = resolve(None, Vec::new()).expect("the defaults are valid");
    assert_eq!(settings.limits(), ContextLimits::default());
    assert_eq!(settings.triggers(), TriggerLimits::default());
    let phase = settings.phase(Phase::Audit);
    assert_eq!(phase.retry, RetrySettings { max: 3, backoff: Backoff::default() });
    assert_eq!((phase.command, phase.verify, phase.timeout, phase.skip), (None, None, None, false));
    assert!(phase.env.is_empty());
    assert_eq!(settings.operator(), OperatorChoice::Auto);
    assert!(settings.deploy_needs_approval());
    assert_eq!(settings.effort(), None, "off while the section is missing");
    assert_eq!(settings.context_editing(), None, "off unless enabled");
    assert_eq!(settings.memory_dir(), None, "off unless enabled");
    assert_eq!(settings.compaction(), None);
    assert!(settings.explain().iter().all(|value| value.origin == Origin::Default));
}

#[test]
fn the_file_says_what_runs_and_how() {
    let settings = from_file(
        "
runtime:
  retry: { max: 2, initial_ms: 10 }
  phases:
    preflight: { command: [git, status], skip: true }
    audit:
      command: make audit | tee log
      verify: [make, test]
      env: { LANG: C }
      timeout_ms: 1500
      retry: { max: 0, multiplier: 3 }
  compaction: { command: [./compact] }
",
    );
    assert!(settings.phase(Phase::Preflight).skip);
    let audit = settings.phase(Phase::Audit);
    assert_eq!(audit.command, Some(Command::Shell("make audit | tee log".to_owned())));
    assert_eq!(audit.verify.expect("a gate").argv(), ["make", "test"]);
    assert_eq!(audit.env["LANG"], "C");
    assert_eq!(audit.timeout, Some(Duration::from_millis(1500)));
    assert_eq!((audit.retry.max, audit.retry.backoff.initial), (0, Duration::from_millis(10)));
    assert!((audit.retry.backoff.multiplier - 3.0).abs() < f64::EPSILON);
    assert_eq!(settings.phase(Phase::Design).retry.max, 2);
    assert!(settings.compaction().is_some());
}

#[test]
fn loas_own_keys_are_read_and_its_others_left_alone() {
    let settings = from_file(
        "
ride: { anything: [1, 2] }
autonomous_agent:
  operator: { type: ai, ai_config: { strict_quality_gates: true } }
  audit_threshold: 4
  max_remediation_loops: 2
  require_human_deploy_approval: false
  context: { soft_limit_tokens: 1000, hard_limit_tokens: 2000, checkpoint_after_each_phase: true }
run_mode:
  enabled: true
  defaults: { max_cycles: 20, timeout_hours: 0.5 }
  circuit_breaker: { same_issue_threshold: 4, no_progress_threshold: 6 }
  git: { auto_push: prompt }
effort:
  default_level: low
  per_skill: { auditing-security: high }
context_editing: { enabled: true, compact_threshold_percent: 70 }
memory_schema: { enabled: true }
",
    );
    assert_eq!(settings.limits(), ContextLimits { soft: 1000, hard: 2000 });
    let expected = TriggerLimits { max_loops: 2, same_issue: 4, no_progress: 6, timeout: Duration::from_mins(30) };
    assert_eq!(settings.triggers(), expected);
    assert_eq!(settings.operator(), OperatorChoice::Ai);
    assert!(!settings.deploy_needs_approval());
    let effort = settings.effort().expect("the section is there");
    assert_eq!((effort.default_level, effort.budget_ranges.high.max), (EffortLevel::Low, 32_000));
    assert_eq!(effort.per_skill["auditing-security"], EffortLevel::High);
    let editing = settings.context_editing().expect("enabled");
    assert_eq!((editing.compact_threshold_percent, editing.preserve_recent_turns), (70, 5));
    assert_eq!(settings.memory_dir(), Some("grimoires/loa/memory"));
    assert!(settings.warnings().is_empty(), "{:?}", settings.warnings());
}

#[test]
fn the_strongest_layer_wins_and_is_named() {
    let key = "autonomous_agent.context.soft_limit_tokens";
    let file = "autonomous_agent:\n  context:\n    soft_limit_tokens: 100\n";
    let (variable, flag) = (env("CONTEXT_SOFT_LIMIT", "200"), set(&["autonomous_agent.context.soft_limit_tokens=300"]));
    for (text, overrides, soft, origin) in [
        ("{}", Vec::new(), 80_000, "default"),
        (file, Vec::new(), 100, ".loa.config.yaml:3"),
        (file, variable.clone(), 200, "environment variable CONTEXT_SOFT_LIMIT"),
        (file, [variable, flag].concat(), 300, "--set autonomous_agent.context.soft_limit_tokens=300"),
    ] {
        let settings = resolve(Some(source(text)), overrides).expect("valid");
        assert_eq!(settings.limits().soft, soft);
        assert_eq!(settings.origin(key).to_string(), origin);
        let explained = settings.explain().into_iter().find(|value| value.key == key).expect("explained");
        assert_eq!((explained.value, explained.origin.to_string().as_str()), (soft.into(), origin));
    }
}

#[test]
fn the_users_own_file_goes_behind_the_workspaces_and_before_the_defaults() {
    let user = |text: &str| Some(Source { path: "/home/u/.config/loa-run/config.yaml".into(), bytes: text.into() });
    let ours = "runtime:\n  retry: { max: 1, initial_ms: 7 }\n  phases: { audit: { command: [make, audit] } }\n";
    let theirs = "runtime:\n  retry: { max: 2 }\n  phases: { audit: { command: [\"true\"] } }\n";
    let settings = resolve_over(user(ours), Some(source(theirs)), Vec::new(), &[]).expect("valid");
    let audit = settings.phase(Phase::Audit);
    assert_eq!((audit.retry.max, audit.retry.backoff.initial), (2, Duration::from_millis(7)));
    assert_eq!(audit.command.expect("a command").argv(), ["true"], "a list is taken whole");
    let origin = |key: &str| settings.origin(key).to_string();
    assert_eq!(origin("runtime.retry.max"), ".loa.config.yaml:2");
    assert_eq!(origin("runtime.retry.initial_ms"), "/home/u/.config/loa-run/config.yaml:2");
    assert_eq!(origin("runtime.retry.jitter"), "default");
}

#[test]
fn what_is_wrong_with_the_users_own_file_is_said_of_that_file() {
    let user = |text: &str| Some(Source { path: "/u.yaml".into(), bytes: text.into() });
    let wrong = resolve_over(user("runtime: { retries: {} }"), Some(source("{}")), Vec::new(), &[]);
    let Err(ConfigError::Invalid { problems, .. }) = wrong else { panic!("accepted") };
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].source.as_ref().expect("a file").path, PathBuf::from("/u.yaml"));
    let crossed = "autonomous_agent: { context: { hard_limit_tokens: 1000 } }";
    let Err(ConfigError::Invalid { problems, .. }) = resolve_over(user(crossed), None, Vec::new(), &[]) else {
        panic!("accepted");
    };
    assert_eq!(problems[0].source, None, "the place is in a file that is not shown");
    let message = &problems[0].findings[0].message;
    assert!(message.starts_with("/u.yaml:1: "), "{message}");
}

#[test]
fn what_is_wrong_in_several_places_is_said_at_once() {
    let user = Some(Source { path: "/u.yaml".into(), bytes: "runtime: { retries: {} }".into() });
    let file = Some(source("runtime: { retry: { max: many, jitter: 2 } }"));
    let overrides = [env("LOA_RUN_PHASES_AUDIT_SKIP", "perhaps"), set(&["runtime.retry.maximum=1"])].concat();
    let error = resolve_over(user, file, overrides, &[]).expect_err("nothing of it is right");
    assert_eq!(error.to_string(), "5 problems in the configuration");
    let old = ConfigError::Invalid { problems: vec![Problems { source: None, findings: Vec::new() }], rest: None };
    let ConfigError::Invalid { problems, .. } = error.and(old) else { panic!("nothing was unreadable") };
    let places: Vec<_> = problems.iter().map(|it| it.source.as_ref().map(|source| source.path.clone())).collect();
    assert_eq!(places, [Some("/u.yaml".into()), Some(FILE_NAME.into()), None, None]);
}

#[test]
fn what_the_rest_says_is_looked_at_too_and_only_what_is_known_of_it() {
    let crossed = "autonomous_agent: { context: { soft_limit_tokens: 200000 } }\n";
    for (wrong, expected, phases) in [
        ("runtime: { retry: { max: 9 }, phases: { audit: { command: a } } }", 2, Some((true, false))),
        ("runtime: { phases: { audit: { command: [] } } }", 2, Some((false, true))),
        ("runtime: { phases: { audit: { comand: a } } }", 2, Some((false, true))),
        ("runtime: { phases: { desing: { command: a } } }", 2, Some((false, false))),
        ("runtime: { phases: 7 }", 1, None),
        ("runtime: { backends: { ours: 7 } }", 1, None),
        ("runtime: [", 1, None),
    ] {
        let resolved = resolve(Some(source(&format!("{crossed}{wrong}"))), Vec::new());
        let Err(ConfigError::Invalid { problems, rest }) = resolved else { panic!("accepted: {wrong}") };
        let found: Vec<_> = problems.iter().flat_map(|it| &it.findings).map(|it| &it.message).collect();
        assert_eq!(found.len(), expected, "{wrong}: {found:?}");
        let audit = rest.map(|rest| rest.phase(Phase::Audit)).map(|audit| (audit.command.is_some(), audit.skip));
        assert_eq!(audit, phases, "{wrong}");
    }
    let one_of_two = "autonomous_agent: { context: { hard_limit_tokens: lots, soft_limit_tokens: 200000 } }";
    assert_eq!(wrong(one_of_two, Vec::new()).len(), 1, "a default that nobody meant is compared with nothing");
    let Err(ConfigError::Invalid { rest, .. }) = resolve(None, env("LOA_RUN_NOTHING", "1")) else { panic!("accepted") };
    assert!(rest.is_some(), "a variable that is none takes nothing away");
}

#[test]
fn a_name_of_an_agent_is_not_looked_up_before_somebody_needs_it() {
    let settings = from_file("runtime:\n  phases:\n    audit: { prompt: Review., backend: nobody }\n");
    assert_eq!(settings.backend("nobody"), None);
    assert_eq!(settings.origin_of_backend(Phase::Audit).to_string(), ".loa.config.yaml:3");
    assert_eq!(settings.origin_of_backend(Phase::Design), Origin::Default);
}

#[test]
fn a_flag_reaches_sections_that_the_file_does_not_have() {
    let overrides = set(&["runtime.phases.design.timeout_ms=5", "runtime.phases.design.command=make design"]);
    let design = resolve(None, overrides).expect("valid").phase(Phase::Design);
    assert_eq!(design.timeout, Some(Duration::from_millis(5)));
    assert_eq!(design.command, Some(Command::Shell("make design".to_owned())));
}

#[test]
fn a_wrong_value_is_a_finding_at_its_place() {
    for (text, expected) in [
        ("runtime: { phases: { desing: {} } }", "1:22"),
        ("runtime:\n  retries: { max: 1 }", "2:3"),
        ("runtime:\n  retry: { max: three }", "2:17"),
        ("runtime:\n  retry: { max: -1 }", "2:17"),
        ("runtime:\n  retry: { max: 4 }", "2:17"),
        ("runtime: { phases: { audit: { retry: { max: 4 } } } }", "1:45"),
        ("runtime:\n  retry: { jitter: 0.3 }", "2:20"),
        ("runtime:\n  retry: { multiplier: 0.5 }", "2:24"),
        ("runtime: { phases: { audit: { command: [] } } }", "1:40"),
        ("runtime: { phases: { audit: { command: \"\" } } }", "1:40"),
        ("runtime: { phases: { audit: { command: 5 } } }", "1:40"),
        ("runtime: { phases: { audit: { env: { A: 1 } } } }", "1:41"),
        ("runtime: { phases: { audit: { timeout_ms: 0 } } }", "1:43"),
        ("autonomous_agent: { context: { soft_limit_tokens: 0 } }", "1:51"),
        ("autonomous_agent: { context: { soft_limit_tokens: lots } }", "1:51"),
        ("autonomous_agent: { context: { hard_limit_tokens: -5 } }", "1:51"),
        ("autonomous_agent: { max_remediation_loops: 0 }", "1:44"),
        ("autonomous_agent: { operator: { type: robot } }", "1:39"),
        ("run_mode: { defaults: { timeout_hours: 0 } }", "1:40"),
        ("run_mode: { defaults: { timeout_hours: -0.5 } }", "1:40"),
        ("run_mode: { defaults: { timeout_hours: 8h } }", "1:40"),
        ("effort: { default_level: extreme }", "1:26"),
        ("effort: { budget_ranges: { low: { min: 1 } } }", "1:28"),
        ("context_editing: { enabled: true, compact_threshold_percent: 101 }", "1:62"),
        ("- a list", "1:1"),
        ("runtime: {}\nruntime: {}", "2:1"),
        ("runtime: [", "2:1"),
    ] {
        let found = wrong(text, Vec::new());
        assert!(found.len() == 1 && found[0].starts_with(expected), "{text}\n{found:?}");
    }
}

#[test]
fn a_misspelt_key_of_ours_comes_with_the_right_one() {
    for (text, right) in [
        ("runtime: { phases: { desing: {} } }", "did you mean `design`?"),
        ("runtime: { retry: { intial_ms: 5 } }", "did you mean `initial_ms`?"),
        ("runtime: { phases: { audit: { verfy: make } } }", "did you mean `verify`?"),
    ] {
        assert_eq!(findings(resolve(Some(source(text)), Vec::new()))[0].help.as_deref(), Some(right));
    }
}

#[test]
fn a_wrong_variable_or_flag_is_named_in_the_finding() {
    let variable = wrong("{}", env("LOA_RUN_RETRY_MAX", "many"));
    assert!(
        variable.len() == 1 && variable[0].starts_with("- environment variable LOA_RUN_RETRY_MAX: "),
        "{variable:?}"
    );
    let flag = wrong("{}", set(&["run_mode.defaults.timeout_hours=0"]));
    assert!(flag[0].starts_with("- --set run_mode.defaults.timeout_hours=0: "), "{flag:?}");
}

#[test]
fn an_outer_layer_may_mend_a_conflict_of_the_file() {
    let file = "autonomous_agent: { context: { soft_limit_tokens: 200000 } }";
    assert_eq!(wrong(file, Vec::new()).len(), 1);
    let settings = resolve(Some(source(file)), env("CONTEXT_HARD_LIMIT", "300000")).expect("200000 is below 300000");
    assert_eq!(settings.limits(), ContextLimits { soft: 200_000, hard: 300_000 });
}

#[test]
fn a_section_that_is_nearly_one_of_ours_is_warned_about() {
    let warned = |text: &str| from_file(text).warnings().iter().map(|w| w.help.clone().unwrap_or_default()).collect();
    let one: Vec<String> = warned("runtimes: {}");
    assert_eq!(one, ["did you mean `runtime`?"]);
    let loas = "autonomous_mode: {}\nride: {}\npaths: {}\nsimstim: {}\nmemory: {}\nrun_bridge: {}\nplan: {}\n";
    assert_eq!(warned(loas), Vec::<String>::new());
}

#[test]
fn the_kind_finds_what_the_loader_finds() {
    let file = "autonomous_agent: { context: { soft_limit_tokens: 200000 } }";
    let checker = crate::schema::Checker::new(&crate::config::CONFIG);
    let found = checker.check(file.as_bytes(), FILE_NAME.into(), &Budget::default());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].code, "config-conflict");
}

#[test]
fn two_values_that_do_not_fit_are_a_finding_at_the_one_in_the_file() {
    let limits = "autonomous_agent:\n  context:\n    hard_limit_tokens: 1000\n";
    assert_eq!(wrong(limits, Vec::new()), ["3:24 the soft limit is not below the hard limit"]);
    let equal = "autonomous_agent: { context: { soft_limit_tokens: 7, hard_limit_tokens: 7 } }\n";
    assert_eq!(wrong(equal, Vec::new()), ["1:51 the soft limit is not below the hard limit"]);
    for (file, name, value, expected) in [
        (
            "{}",
            "CONTEXT_SOFT_LIMIT",
            "150000",
            "- environment variable CONTEXT_SOFT_LIMIT: the soft limit is not below the hard limit",
        ),
        (limits, "CONTEXT_SOFT_LIMIT", "1000", "3:24 the soft limit is not below the hard limit"),
        (
            "{}",
            "CONTEXT_HARD_LIMIT",
            "1",
            "- environment variable CONTEXT_HARD_LIMIT: the soft limit is not below the hard limit",
        ),
    ] {
        assert_eq!(wrong(file, env(name, value)), [expected]);
    }
    let range = "effort:\n  budget_ranges:\n    low: { min: 9, max: 8 }\n";
    assert_eq!(wrong(range, Vec::new()), ["3:17 the least budget of `low` is more than its most"]);
}

#[test]
fn an_override_that_names_no_value_is_refused() {
    let found = wrong("{}", set(&["runtime.retry.maximum=2"]));
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("- --set runtime.retry.maximum=2: "), "{found:?}");
    assert_eq!(wrong("{}", set(&["run_mode=5"])).len(), 1, "a section is not a value");
    assert_eq!(wrong("{}", set(&["ride.anything=5"])).len(), 1, "nobody would read it");
}

#[test]
fn dead_keys_and_retries_that_no_phase_takes_are_warned_about() {
    let settings = from_file(
        "
autonomous_agent: { danger_level: high, context: { checkpoint_after_each_phase: false } }
effort: { unit: story_points }
runtime: { backends: { codex: { retry: { max: 4 } } } }
",
    );
    let most = |phase| settings.phase_retry(phase, "codex").max;
    assert_eq!((most(Phase::Design), settings.agent_retry("codex").max), (3, 4), "the contract binds phases alone");
    let pointers: Vec<_> = settings.warnings().iter().filter_map(|warning| warning.pointer.as_deref()).collect();
    assert_eq!(
        pointers,
        [
            "/autonomous_agent/danger_level",
            "/autonomous_agent/context/checkpoint_after_each_phase",
            "/effort/unit",
            "/runtime/backends/codex/retry/max"
        ]
    );
    let settings = resolve(None, set(&["runtime.backends.codex.retry.max=9"])).expect("allowed");
    let warning = &settings.warnings()[0].message;
    assert!(
        warning.starts_with("--set runtime.backends.codex.retry.max=9: a phase is tried again 3 times"),
        "{warning}"
    );
}

#[test]
fn whole_numbers_may_be_written_with_a_point() {
    assert_eq!(from_file("runtime: { retry: { max: 2.0 } }").phase(Phase::Design).retry.max, 2);
}

#[test]
fn what_loa_alone_reads_keeps_no_run_from_starting() {
    let loas = "autonomous_agent:\n  audit_threshold: 9\nautonomous_mode:\n  on_error: explode\n";
    assert_eq!(from_file(loas).warnings(), []);
    let ours = "autonomous_agent:\n  audit_threshold: 9\n  max_remediation_loops: many\n";
    assert_eq!(wrong(ours, Vec::new()).len(), 1);
}
