//! Every form of the command line, in a workspace like one that a run leaves.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use camino::{Utf8Path, Utf8PathBuf};
use predicates::prelude::*;
use predicates::str::{contains, is_empty};

const DISCOVERY: &str = "\
# what the discovery found
execution_id: \"exec-1\"
phase: discovery
created_at: \"2026-11-20T09:30:00Z\"
exit_code: 0
summary: \"Five goals\"
";

const STATE: &str = "\
version: 1
soft_limit: 80000
hard_limit: 150000
current_tokens: 60000
warning_level: none
percent_used: 75.0
percent_of_hard: 40.0
recommendation: Context healthy
updated_at: \"2026-11-20T09:30:00Z\"
";

/// A folder of its own, in which the program runs.
struct Workspace {
    folder: tempfile::TempDir,
}

impl Workspace {
    fn new() -> Self {
        let workspace = Self { folder: tempfile::tempdir().expect("a folder") };
        workspace.write(".loa-checkpoint/discovery.yaml", DISCOVERY);
        workspace
    }

    fn path(&self, name: &str) -> Utf8PathBuf {
        Utf8Path::from_path(self.folder.path()).expect("UTF-8").join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("there")
    }

    /// A checkpoint of a phase at a minute past nine.
    fn checkpoint(&self, phase: &str, minute: u8, more: &str) {
        let text = DISCOVERY.replace("phase: discovery", &format!("phase: {phase}"));
        let text = text.replace("09:30", &format!("09:{minute}"));
        self.write(&format!(".loa-checkpoint/{phase}.yaml"), text + more);
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::cargo_bin("loa-validate").expect("the program is built");
        command.current_dir(self.folder.path()).timeout(Duration::from_mins(1)).args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Assert {
        self.command(arguments).assert()
    }
}

const FILE: &str = ".loa-checkpoint/discovery.yaml";

#[test]
fn the_commands_of_loas_documents_work() {
    let workspace = Workspace::new();
    workspace.run(&[FILE, "checkpoint"]).code(0).stderr(contains("1 file, no findings"));
    workspace.run(&["validate", FILE, "--schema", "checkpoint"]).code(0);
    workspace.run(&["validate", FILE, "--schema", "checkpoint", "--mode", "strict", "--json"]).code(0);
    workspace.run(&["assert", FILE, "--schema", "checkpoint"]).code(0);
    workspace.run(&["validate", FILE]).code(0).stderr(contains("checkpoint, because its path ends in"));
    workspace.write(FILE, DISCOVERY.replace("exit_code: 0", "exit_code: 7"));
    for form in [
        &[FILE, "checkpoint"][..],
        &["validate", FILE, "--schema", "checkpoint"],
        &["validate", FILE],
        &["assert", FILE, "--schema", "checkpoint"],
        &["--json", FILE, "checkpoint"],
    ] {
        workspace.run(form).code(1).stdout(contains("exit_code"));
    }
}

#[test]
fn a_mode_says_what_an_error_means() {
    let workspace = Workspace::new();
    workspace.write(FILE, "{}\n");
    workspace.run(&[FILE, "checkpoint", "--mode", "strict"]).code(1);
    workspace.run(&[FILE, "checkpoint", "--mode", "warn"]).code(0).stdout(contains("error[required]"));
    workspace
        .run(&[FILE, "checkpoint", "--mode", "disabled"])
        .code(0)
        .stdout(is_empty())
        .stderr(contains("nothing was checked"));
    workspace.run(&["nowhere.yaml", "checkpoint", "--mode", "warn"]).code(66);
    workspace.run(&[FILE, "checkpoint", "--mode", "gentle"]).code(64).stderr(contains("disabled"));
}

#[test]
fn a_schema_that_does_not_exist_never_passes() {
    let workspace = Workspace::new();
    workspace.run(&["assert", FILE, "--schema", "chekpoint"]).code(64).stderr(contains("'checkpoint'"));
    workspace.run(&[FILE, "prd"]).code(66);
}

#[test]
fn a_folder_is_walked_and_each_file_is_what_it_is() {
    let workspace = Workspace::new();
    workspace.write(".loa-checkpoint/context-state.yaml", STATE);
    workspace.write(".loa-checkpoint/operator-type.yaml", "operator_type: AI\n");
    workspace.write(".loa-checkpoint/escalations/exec-1-1.yaml", "trigger: manual\n");
    workspace.write(".loa-checkpoint/escalations/exec-1-1.md", "# for people\n");
    workspace.write(".git/config.yaml", "phase: 1\n");
    workspace.write("package.json", "{\"name\": \"x\"}");
    workspace
        .run(&["."])
        .code(1)
        .stdout(contains("operator-type.yaml:1:16").and(contains("exec-1-1.yaml:1:1")).and(contains(".git").not()))
        .stderr(
            contains("context-state.yaml: context-state, because its path")
                .and(contains("discovery.yaml: checkpoint"))
                .and(contains("1 other file is of no kind"))
                .and(contains("4 files, ")),
        );
}

#[test]
fn a_name_with_phase_before_it_is_an_error_with_a_hint() {
    let workspace = Workspace::new();
    workspace.write(".loa-checkpoint/phase-audit.yaml", DISCOVERY.replace("discovery", "audit"));
    workspace
        .run(&[".loa-checkpoint"])
        .code(1)
        .stdout(contains("error[phase-prefix]").and(contains("the name `audit.yaml`")).and(contains("help: rename")))
        .stderr(contains("2 files, 1 finding"));
    workspace.write(".loa-checkpoint/notes.yaml", "remember: this\n");
    workspace.run(&[".loa-checkpoint"]).code(1).stdout(contains("error[unknown-kind]").and(contains("notes.yaml:1:1")));
}

#[test]
fn a_folder_without_documents_is_no_success() {
    let workspace = Workspace::new();
    fs::create_dir(workspace.path("empty")).expect("made");
    workspace.run(&["empty"]).code(66).stderr(contains("no document of a known kind").and(contains("hint:")));
    workspace.write("empty/package.json", "{}");
    workspace.run(&["empty"]).code(66);
    // A list that happens to be empty asks for nothing.
    workspace.command(&["auto", "@-"]).write_stdin("").assert().code(0);
}

#[test]
fn a_file_that_nobody_can_assign_is_an_error_and_a_kind_is_found_by_keys() {
    let workspace = Workspace::new();
    workspace.write("a.yaml", "hello: world\n");
    workspace.run(&["auto", "a.yaml"]).code(1).stdout(contains("unknown-kind").and(contains("loa-validate list")));
    workspace.write("a.yaml", DISCOVERY);
    workspace.run(&["a.yaml"]).code(0).stderr(contains("it has the keys `execution_id`, `phase`, `exit_code`"));
    workspace.command(&["-"]).write_stdin(DISCOVERY).assert().code(0).stderr(contains("<stdin>: checkpoint"));
    let because = "it has the keys `execution_id`, `phase`, `exit_code`";
    let output = workspace.run(&["a.yaml", "--json"]).code(0).get_output().stdout.clone();
    let document: serde_json::Value = serde_json::from_slice(&output).expect("JSON");
    let reason = serde_json::json!({"file": "a.yaml", "kind": "checkpoint", "because": because});
    assert_eq!(document["recognised"], serde_json::json!([reason]));
    let lines = ["a.yaml", "--format", "json-lines"];
    workspace.run(&lines).code(0).stdout(contains(because).and(contains("\"type\":\"recognised\"")));
    let named = workspace.run(&["checkpoint", "a.yaml", "--json"]).code(0).get_output().stdout.clone();
    assert!(!String::from_utf8_lossy(&named).contains("recognised"), "somebody named it");
}

#[test]
fn checkpoints_are_held_against_each_other() {
    let workspace = Workspace::new();
    workspace.checkpoint("preflight", 10, "");
    workspace.checkpoint("design", 40, "");
    workspace.run(&[".loa-checkpoint"]).code(0).stderr(contains("3 files, no findings"));
    workspace.checkpoint("design", 20, "");
    workspace
        .run(&["checkpoint", ".loa-checkpoint/*.yaml"])
        .code(0)
        .stdout(contains("warning[time-order]").and(contains("design.yaml:4:13")));
    workspace.checkpoint("design", 40, "");
    workspace.write(
        ".loa-checkpoint/audit.yaml",
        workspace.read(".loa-checkpoint/design.yaml").replace("design", "audit").replace("exec-1", "exec-2"),
    );
    workspace
        .run(&[".loa-checkpoint"])
        .code(1)
        .stdout(contains("error[one-execution]").and(contains("audit.yaml:2:15")))
        .stderr(contains("4 files, 1 finding"));
}

#[test]
fn a_failed_audit_may_be_older_than_the_implementation_that_mends_it() {
    let workspace = Workspace::new();
    workspace.checkpoint("implementation", 50, "");
    workspace.checkpoint("audit", 40, "");
    workspace.run(&[".loa-checkpoint"]).code(0).stdout(contains("time-order"));
    let audit = workspace.read(".loa-checkpoint/audit.yaml").replace("exit_code: 0", "exit_code: 1");
    workspace.write(".loa-checkpoint/audit.yaml", audit);
    workspace.run(&[".loa-checkpoint"]).code(0).stdout(is_empty());
}

#[test]
fn artifacts_that_lie_are_found_where_all_checkpoints_are_known() {
    let workspace = Workspace::new();
    let lists = |text: &str| format!("artifacts:\n{text}");
    let hash = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    workspace.write("docs/a.md", "hello");
    workspace.checkpoint("discovery", 30, &lists("  - {path: docs/a.md, action: created, size_bytes: 3}\n"));
    workspace.run(&[".loa-checkpoint"]).code(0).stdout(contains("artifact-lies").and(contains("size")));
    // What a later phase says counts, and one who shows only the earlier one knows nothing.
    let later = format!("  - {{path: docs/a.md, action: modified, size_bytes: 5, sha256: {hash}}}\n");
    workspace.checkpoint("design", 40, &lists(&later));
    workspace.run(&[".loa-checkpoint"]).code(0).stdout(is_empty());
    workspace.run(&["checkpoint", FILE]).code(0).stdout(is_empty());
    for (claim, said) in [
        ("{path: docs/a.md, action: deleted}".to_owned(), "is said to be deleted and is there"),
        ("{path: docs/b.md, action: created}".to_owned(), "is said to be created and is not there"),
        (format!("{{path: docs/a.md, action: created, sha256: {}}}", hash.replace('2', "3")), "another content"),
    ] {
        workspace.checkpoint("design", 40, &lists(&format!("  - {claim}\n")));
        workspace.run(&[".loa-checkpoint"]).code(0).stdout(contains("warning[artifact-lies]").and(contains(said)));
    }
    // Nobody learns here what lies outside of the workspace.
    workspace.checkpoint(
        "design",
        40,
        &lists("  - {path: ../../etc/passwd, action: deleted}\n  - {path: /etc/passwd, action: deleted}\n"),
    );
    workspace.run(&[".loa-checkpoint"]).code(0).stdout(contains("passwd").not());
}

#[test]
fn every_line_of_a_log_is_checked() {
    let workspace = Workspace::new();
    let good = "{\"ts\":\"2026-11-20T09:30:00Z\",\"agent\":\"a\",\"action\":\"b\"}\n";
    workspace.write("t.jsonl", format!("{}{{\"ts\":5,\"agent\":\"a\",\"action\":\"b\"}}\n", good.repeat(40)));
    workspace.run(&["t.jsonl", "trajectory"]).code(1).stdout(contains("t.jsonl:41:7"));
    workspace.run(&["validate", "t.jsonl", "--schema", "trajectory-entry"]).code(1);
}

#[test]
fn the_five_files_of_memory_are_checked_as_lists() {
    let workspace = Workspace::new();
    let entry = |number: usize, category: &str| {
        format!(
            "- id: MEM-20261120-00{number}\n  category: {category}\n  content: a\n  confidence: 0.9\n  \
                 source: {{session_id: s, timestamp: \"2026-11-20T09:30:00Z\"}}\n"
        )
    };
    let files = [
        ("facts", "fact"),
        ("decisions", "decision"),
        ("learnings", "learning"),
        ("errors", "error"),
        ("preferences", "preference"),
    ];
    for (number, (file, category)) in files.iter().enumerate() {
        workspace.write(&format!("grimoires/loa/memory/{file}.yaml"), entry(number, category));
    }
    workspace.run(&["grimoires"]).code(0).stderr(contains("5 files, no findings"));
    workspace.write("grimoires/loa/memory/learnings.yaml", entry(0, "learning"));
    workspace
        .run(&["grimoires"])
        .code(0)
        .stdout(contains("warning[ids-unique]").and(contains("learnings.yaml:1:7")).and(contains("in facts.yaml")))
        .stderr(contains("5 files, 1 finding"));
    workspace.run(&["grimoires", "--deny-warnings"]).code(1).stdout(contains("error[ids-unique]"));
    workspace.run(&["grimoires", "--deny-warnings", "--mode", "warn"]).code(0);
    workspace.write("grimoires/loa/memory/facts.yaml", entry(1, "decision"));
    workspace.run(&["grimoires"]).code(1).stdout(contains("error[memory-file]"));
}

#[test]
fn patterns_lists_and_standard_input_name_files() {
    let workspace = Workspace::new();
    workspace.checkpoint("design", 40, "");
    workspace.run(&["checkpoint", ".loa-checkpoint/d*.yaml"]).code(0).stderr(contains("2 files"));
    workspace
        .run(&["checkpoint", "**/design.yaml"])
        .code(66)
        .stderr(contains("nothing matches").and(contains("hint:")));
    workspace.write("sub/design.yaml", DISCOVERY);
    workspace.run(&["checkpoint", "**/design.yaml"]).code(0).stderr(contains("1 file"));
    workspace.run(&["checkpoint", "[.yaml"]).code(66).stderr(contains("is no pattern"));
    workspace.write("list", format!("# two\n{FILE}\n\nsub/*.yaml\n"));
    workspace.run(&["checkpoint", "@list"]).code(0).stderr(contains("2 files"));
    workspace.command(&["auto", "@-"]).write_stdin(FILE).assert().code(0).stderr(contains("1 file"));
    workspace.run(&["checkpoint", "@nowhere"]).code(66).stderr(contains("one a line"));
    let named = &["checkpoint", "-", "--stdin-name", ".loa-checkpoint/audit.yaml"];
    workspace.command(named).write_stdin(DISCOVERY).assert().code(1).stdout(contains(".loa-checkpoint/audit.yaml:3:8"));
}

#[test]
fn what_is_no_file_is_refused_and_what_is_a_pipe_is_read() {
    let workspace = Workspace::new();
    workspace.run(&["checkpoint", "/dev/zero"]).code(66).stderr(contains("neither a file nor a pipe"));
    workspace.run(&["checkpoint", ".loa-checkpoint"]).code(66).stderr(contains("loa-validate auto .loa-checkpoint"));
    workspace.write("locked.yaml", DISCOVERY);
    fs::set_permissions(workspace.path("locked.yaml"), fs::Permissions::from_mode(0o000)).expect("set");
    // Who may read everything may read this too.
    if fs::read(workspace.path("locked.yaml")).is_err() {
        workspace.run(&["checkpoint", "locked.yaml"]).code(66).stderr(contains("ermission denied"));
    }
}

#[test]
fn many_files_on_many_threads_come_in_one_order() {
    let workspace = Workspace::new();
    for number in 0..300 {
        let text =
            if number % 7 == 0 { DISCOVERY.replace("exit_code: 0", "exit_code: 7") } else { DISCOVERY.to_owned() };
        workspace.write(&format!("many/{number:03}.yaml"), text);
    }
    let run = |jobs: &str| {
        let output =
            workspace.run(&["checkpoint", "many/*.yaml", "--json", "--jobs", jobs]).code(1).get_output().clone();
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let one = run("1");
    assert!(one.contains("many/294.yaml"));
    assert!((2..8).all(|jobs| run(&jobs.to_string()) == one));
    workspace.run(&["checkpoint", FILE, "--jobs", "0"]).code(64);
}

#[test]
fn a_fix_changes_its_span_and_nothing_else() {
    let workspace = Workspace::new();
    let wrong = "# kept: \"0\"\r\nexecution_id:   20260131   # a number\r\nphase: Audit # capitals\r\n\
                 created_at: '2026-11-20 09:30:00Z' \r\nexit_code:  \"0\"  # it's \"0\"\r\nsummary: |\r\n  \"0\" stays\r\n\
                 errors: [{code: Ä, message: b, recoverable: \"yes\"  , more: 'it''s'}] # kept\r\n";
    let right = wrong
        .replace("20260131 ", "\"20260131\" ")
        .replace("Audit", "audit")
        .replace("20 09:30", "20T09:30")
        .replace("exit_code:  \"0\"", "exit_code:  0")
        .replace("\"yes\"", "true");
    workspace.write("a.yaml", wrong);
    workspace
        .run(&["checkpoint", "a.yaml", "--diff"])
        .code(1)
        .stdout(contains("--- a/a.yaml").and(contains("+exit_code:  0  # it's")).and(contains("-exit_code:  \"0\"")))
        .stderr(contains("5 findings can be mended, 0 findings cannot"));
    assert_eq!(workspace.read("a.yaml"), wrong, "a preview writes nothing");
    fs::set_permissions(workspace.path("a.yaml"), fs::Permissions::from_mode(0o600)).expect("set");
    workspace.run(&["checkpoint", "a.yaml", "--fix"]).code(0).stderr(contains("5 findings mended"));
    assert_eq!(workspace.read("a.yaml"), right);
    let mode = fs::metadata(workspace.path("a.yaml")).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "what was private stays so");
    workspace.run(&["checkpoint", "a.yaml", "--fix"]).code(0).stderr(contains("0 findings mended"));
    workspace.run(&["checkpoint", "a.yaml", "--diff"]).code(0).stdout(is_empty());
}

#[test]
fn what_is_not_safe_to_mend_stays() {
    let workspace = Workspace::new();
    for (from, to) in [
        ("exit_code: 0", "exit_code: \"7\""),
        ("exit_code: 0", "exit_code: true"),
        ("phase: discovery", "phase: discovry"),
        ("phase: discovery", "phase: quality"),
        ("09:30:00Z", "09:30:00"),
        ("execution_id: \"exec-1\"", "id: &x 7\nexecution_id: *x"),
        ("execution_id: \"exec-1\"", "execution_id: !!int 7"),
    ] {
        let text = DISCOVERY.replace(from, to);
        workspace.write("a.yaml", &text);
        workspace.run(&["checkpoint", "a.yaml", "--fix"]).code(1).stderr(contains("0 findings mended"));
        assert_eq!(workspace.read("a.yaml"), text);
    }
    for (from, written, mended) in [
        ("phase: discovery", "phase: \"d\\x69scovery\" # right", "phase: \"d\\x69scovery\" # right"),
        ("phase: discovery", "phase: \"D\\x69scovery\" # kept", "phase: \"discovery\" # kept"),
        ("20T09", "20\\x2009", "20T09"),
    ] {
        workspace.write("a.yaml", DISCOVERY.replace(from, written));
        workspace.run(&["checkpoint", "a.yaml", "--fix"]).code(0);
        assert_eq!(workspace.read("a.yaml"), DISCOVERY.replace(from, mended));
    }
    workspace.write("a.yaml", DISCOVERY.replace("phase: discovery", "phase: 'quality'"));
    workspace.run(&["checkpoint", "a.yaml", "--fix", "--lenient"]).code(0);
    assert!(workspace.read("a.yaml").contains("phase: 'audit'"));
    workspace
        .command(&["checkpoint", "-", "--fix"])
        .write_stdin(DISCOVERY)
        .assert()
        .code(64)
        .stderr(contains("--diff"));
}

#[test]
fn a_line_of_a_log_is_mended_in_its_place_and_a_link_stays_a_link() {
    let workspace = Workspace::new();
    let line = |text: &str| format!("{{\"ts\":\"2026-11-20T09:30:00Z\",\"agent\":{text},\"action\":\"b\"}}\n");
    workspace.write("real.jsonl", line("\"a\"") + &line("7"));
    std::os::unix::fs::symlink("real.jsonl", workspace.path("link.jsonl")).expect("a link");
    workspace.run(&["trajectory", "link.jsonl", "--fix"]).code(0);
    assert_eq!(workspace.read("real.jsonl"), line("\"a\"") + &line("\"7\""));
    assert!(fs::symlink_metadata(workspace.path("link.jsonl")).expect("there").is_symlink());
}

#[test]
fn a_file_that_cannot_be_written_ends_with_74_and_stays() {
    let workspace = Workspace::new();
    let wrong = DISCOVERY.replace("exit_code: 0", "exit_code: \"0\"");
    workspace.write("closed/a.yaml", &wrong);
    let mode = |mode| fs::set_permissions(workspace.path("closed"), fs::Permissions::from_mode(mode)).expect("set");
    mode(0o555);
    // Who may write everywhere meets no closed folder.
    if fs::write(workspace.path("closed/b"), "").is_err() {
        workspace.run(&["checkpoint", "closed/a.yaml", "--fix"]).code(74).stderr(contains("the file is as it was"));
        assert_eq!(workspace.read("closed/a.yaml"), wrong);
    }
    mode(0o755);
    workspace.run(&["schema", "--write", "/dev/null/x"]).code(74);
}

#[test]
fn schemas_and_completions_are_printed_and_written() {
    let workspace = Workspace::new();
    let all = workspace.run(&["schema"]).code(0).get_output().stdout.clone();
    let all: serde_json::Value = serde_json::from_slice(&all).expect("JSON");
    workspace.run(&["schema", "--write", "schemas"]).code(0);
    for kind in loa::cli::kinds() {
        assert_eq!(all[kind.name()], kind.schema());
        assert_eq!(workspace.read(&format!("schemas/{}.schema.json", kind.name())), kind.schema_file());
    }
    workspace.run(&["schema", "checkpoint", "--write", "one"]).code(0);
    assert!(
        workspace.path("one/checkpoint.schema.json").exists() && !workspace.path("one/config.schema.json").exists()
    );
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        workspace.run(&["completions", shell]).code(0).stdout(contains("loa-validate"));
    }
    workspace.run(&["explain", "stem-equal-phase"]).code(64).stderr(contains("stem-equals-phase"));
    workspace.run(&["list", "--json"]).code(0).stdout(contains("\"name\": \"memory\""));
}
