//! The audit's loop and the triggers that end it (Escalation Triggers; quality gates).

use super::Workspace;

fn audit(findings: &str) -> String {
    format!("n=$(grep -c audit ran); printf '{{\"findings\":[%s]}}' \"{findings}\" > $LOA_RESULT_FILE; exit 1")
}

const FINDING: &str = r#"{\"id\":\"F-$n\",\"severity\":\"high\",\"category\":\"bug\",\"description\":\"d\"}"#;

#[test]
fn a_failed_audit_sends_the_work_back_until_it_passes() {
    let workspace = Workspace::only(&[
        ("implementation", "true"),
        ("audit", "test $(grep -c audit ran) -ge 3"),
        ("submit", "true"),
    ]);
    workspace.run().exits(0);
    assert_eq!(
        workspace.ran(),
        ["implementation", "audit", "implementation", "audit", "implementation", "audit", "submit"]
    );
    assert_eq!(workspace.checkpoint("audit")["exit_code"], 0);
}

#[test]
fn three_loops_are_the_most() {
    let workspace = Workspace::only(&[("implementation", "true"), ("audit", &audit(FINDING)), ("submit", "true")]);
    workspace.run().exits(2);
    assert_eq!((workspace.starts("implementation"), workspace.starts("audit"), workspace.starts("submit")), (4, 4, 0));
    let report = workspace.report();
    assert_eq!(report["trigger"], "max_loops");
    assert_eq!(report["phase"], "audit");
    assert_eq!(report["context"]["remediation_attempts"], 3);
    assert_eq!(report["state"]["remaining_findings"][0]["id"], "F-4");
}

#[test]
fn the_same_findings_a_third_time_are_enough() {
    let same = FINDING.replace("$n", "1");
    let workspace = Workspace::only(&[("implementation", "true"), ("audit", &audit(&same))]);
    workspace.run().exits(2);
    assert_eq!(workspace.starts("audit"), 3);
    assert_eq!(workspace.report()["trigger"], "same_issue");
}

#[test]
fn five_loops_that_change_nothing_are_enough_and_work_in_between_starts_the_count_anew() {
    let config = "autonomous_agent: { max_remediation_loops: 50 }\nrun_mode: { circuit_breaker: { same_issue_threshold: 50 } }\n";
    let same = FINDING.replace("$n", "1");
    let rows = [("true", 6), ("test $(grep -c implementation ran) -ne 4 || date +%N > work", 9)];
    for (implementation, audits) in rows {
        let workspace = Workspace::only(&[("implementation", implementation), ("audit", &audit(&same))]);
        workspace.config(config);
        // The phases' own note of what ran must not count as work.
        workspace.write(".gitignore", "ran\nplan.json\n.loa.config.yaml\n");
        let git = std::process::Command::new("git").args(["init", "-q"]).current_dir(workspace.path("")).status();
        assert!(git.expect("git is present").success());
        workspace.run().exits(2);
        assert_eq!(workspace.report()["trigger"], "no_progress");
        assert_eq!(workspace.starts("audit"), audits, "{implementation}");
    }
}

#[test]
fn an_audit_without_an_implementation_is_retried_like_any_phase() {
    let workspace = Workspace::only(&[("audit", "exit 1")]);
    workspace.run().exits(2);
    assert_eq!(workspace.starts("audit"), 4);
}

#[test]
fn a_skipped_audit_asks_for_no_remediation_any_more() {
    // The last three findings are one, and the loops are used up too.
    let script = "n=$(grep -c audit ran); test $n -eq 1 && echo first >&2 || echo again >&2; exit 1";
    let workspace = Workspace::only(&[("implementation", "true"), ("audit", script), ("submit", "true")]);
    workspace.run().exits(2);
    assert_eq!((workspace.report()["trigger"].as_str(), workspace.starts("audit")), (Some("same_issue"), 4));
    workspace.loa(&["resolve", "skip_phase"]).exits(0);
    workspace.resume().exits(0);
    assert_eq!(workspace.starts("submit"), 1);
}
