//! Agents in a container. The client and the daemon are stand-ins (`fixtures/docker/docker`) that keep what matters: who ends
//! the client does not end what runs inside.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use super::standin::recordings;
use crate::run::workspace::{Ran, collected, finished};
use crate::run::{Workspace, until};

/// A workspace whose only phase is `design`, and a daemon beside it.
struct Dock {
    workspace: Workspace,
    daemon: Child,
}

impl Dock {
    fn new() -> Self {
        let workspace = Workspace::only(&[]);
        let plan = json!({ "phases": [{ "id": "design", "prompt": "Design it." }] });
        workspace.write("plan.json", &plan.to_string());
        let mut daemon = Command::new(docker());
        daemon.arg("serve").arg(workspace.path("socket")).stdin(Stdio::null());
        let daemon = daemon.spawn().expect("python3 starts");
        let dock = Self { workspace, daemon };
        until("the daemon listens", || dock.workspace.path("socket").exists());
        dock
    }

    /// What the agent is, and how the phase is bounded.
    fn configured(&self, section: &str, phase: &str) {
        let folder = self.workspace.path("");
        self.workspace.config(&format!(
            "runtime:\n  backend: mine\n  retry: {{ initial_ms: 1, max_ms: 1 }}\n  phases: {{ design: {{ {phase} }} }}\n  backends:\n    mine:\n      docker: {{ container: box, user: me, workdir: '{}', program: '{}' }}\n{section}",
            folder.display(),
            docker().display(),
        ));
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.workspace.command(arguments);
        command.env("DOCKER_HOST", self.workspace.path("socket"));
        command.env("MY_KEY", "sk-dummy-of-the-agent").env("SOMETHING_ELSE", "of the host");
        command
    }

    fn start(&self) -> Child {
        self.command(&["run", "--plan", "plan.json"]).spawn().expect("loa-run starts")
    }

    fn run(&self) -> Ran {
        collected(self.start())
    }

    fn classes(&self) -> Vec<String> {
        self.workspace.classes("design")
    }

    /// Whether the process whose id stands in this file runs.
    fn lives(&self, file: &str) -> bool {
        let pid = self.workspace.read(file);
        fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z "))
    }
}

impl Drop for Dock {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.daemon.id().to_string()).status();
        let _ = self.daemon.wait();
    }
}

fn docker() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/docker/docker")
}

/// Deaf to TERM, with a child that has left its group; both leave their ids.
const DEAF: &str = "trap '' TERM; setsid sh -c 'echo $$ > child; exec sleep 60' & echo $$ > pid; sleep 60; sleep 60";

#[test]
fn a_program_in_a_container_is_looked_for_there() {
    let dock = Dock::new();
    let name = "program-of-the-box";
    fs::create_dir(dock.workspace.path("inside")).expect("made");
    dock.workspace.write(&format!("inside/{name}"), "#!/bin/sh\n");
    fs::set_permissions(dock.workspace.path(&format!("inside/{name}")), fs::Permissions::from_mode(0o755))
        .expect("made");
    let inside = dock.workspace.path("inside").display().to_string();
    let (with, without) = (format!("'{inside}:/usr/bin:/bin'"), "'/usr/bin:/bin'".to_owned());
    for (container, path, code, says) in [
        ("box", &with, 0, format!("{inside}/{name} in the container `box`")),
        ("box", &without, 2, format!("`{name}` is not found in the container `box`")),
        ("crate", &with, 2, "the container `crate` cannot be used: exit 1: Error response".to_owned()),
    ] {
        dock.configured(&format!("      run: [{name}, '{{prompt}}']\n      env: {{ PATH: {path} }}\n"), "");
        let config =
            dock.workspace.read(".loa.config.yaml").replace("container: box", &format!("container: {container}"));
        dock.workspace.config(&config);
        let said = |arguments: &[&str], code| finished(dock.command(arguments)).exits(code).stdout;
        let examined = said(&["backends", "doctor", "mine"], code);
        assert!(examined.contains(&format!("  mine: {says}")), "{examined}");
        let plan = dock.workspace.path("plan.json").display().to_string();
        let whole = said(&["doctor", "--plan", &plan], code);
        assert!(whole.contains(&format!("  design: {says}")), "{whole}");
        let found = if code == 0 { says } else { "not found".to_owned() };
        let listed = said(&["backends"], 0);
        assert!(listed.contains(&format!("{name}: {found}\n")), "{listed}");
    }
}

#[test]
fn an_agent_in_a_container_is_given_what_is_its_own_and_no_secret_stands_on_a_command_line() {
    let dock = Dock::new();
    dock.configured(
        "      run: [sh, -c, 'env > seen; pwd > where; echo said apart >&2; echo \"All is $1.\"', it, '{prompt}']\n      env: { GREETING: hello to you, PATH: '/usr/bin:/bin' }\n      credentials: [MY_KEY, NOT_THERE]\n",
        "",
    );
    dock.run().exits(0);
    let seen = dock.workspace.read("seen");
    for variable in
        ["GREETING=hello to you\n", "MY_KEY=sk-dummy-of-the-agent\n", "PATH=/usr/bin:/bin\n", "LOA_PHASE=design\n"]
    {
        assert!(seen.contains(variable), "{variable}{seen}");
    }
    assert!(!seen.contains("SOMETHING_ELSE") && !seen.contains("NOT_THERE"), "{seen}");
    let place = |path: PathBuf| fs::canonicalize(path).expect("it is there");
    assert_eq!(place(dock.workspace.read("where").trim().into()), place(dock.workspace.path("")));
    assert_eq!(dock.workspace.checkpoint("design")["summary"], "UNVERIFIED: All is Design it..");
    assert!(dock.workspace.read(".loa-run/logs/design-1.log").contains("said apart"));
    let calls = dock.workspace.read("socket.calls");
    assert!(!calls.contains("sk-dummy") && !calls.contains("hello to you"), "{calls}");
    for call in calls.lines() {
        let words: Vec<String> = serde_json::from_str(call).expect("a list");
        assert_eq!(words[..3], ["-i", "-u", "me"], "{call}");
        assert!(!words.contains(&"-t".to_owned()) && words.contains(&"box".to_owned()), "{call}");
    }
}

#[test]
fn an_agent_that_takes_too_long_is_ended_inside() {
    let dock = Dock::new();
    let script = format!("test -f pid && {{ echo Done.; exit 0; }}; {DEAF}");
    dock.workspace.write("agent", &script);
    dock.configured("      run: [sh, agent, '{prompt}']\n", "timeout_ms: 5000");
    let run = dock.start();
    until("the agent works", || !dock.workspace.read("pid").is_empty() && !dock.workspace.read("child").is_empty());
    assert!(dock.lives("pid") && dock.lives("child"));
    collected(run).exits(0).says(&["stopped after 5 s"]);
    assert_eq!(dock.classes(), ["timed_out", "done"]);
    until("nothing is left inside", || !dock.lives("pid") && !dock.lives("child"));
}

#[test]
fn an_agent_that_is_asked_to_end_says_its_last_words() {
    let dock = Dock::new();
    dock.workspace.write("agent", "trap 'echo farewell; exit 7' TERM; echo $$ > pid; sleep 60 & wait");
    dock.configured("      run: [sh, agent, '{prompt}']\n", "");
    let run = dock.start();
    until("the agent works", || !dock.workspace.read("pid").is_empty());
    assert!(Command::new("kill").args(["-INT", &run.id().to_string()]).status().expect("kill runs").success());
    collected(run).exits(130);
    assert!(dock.workspace.read(".loa-run/logs/design-1.log").contains("farewell"));
    assert_eq!(dock.workspace.agent("design")["invocations"][0]["code"], 7);
    assert!(!dock.lives("pid"));
}

#[test]
fn after_kill_9_nothing_is_left_inside() {
    let dock = Dock::new();
    dock.workspace.write("agent", DEAF);
    dock.configured("      run: [sh, agent, '{prompt}']\n", "");
    let mut run = dock.start();
    until("the agent works", || !dock.workspace.read("pid").is_empty() && !dock.workspace.read("child").is_empty());
    run.kill().expect("killed");
    run.wait().expect("awaited");
    until("nothing is left inside", || !dock.lives("pid") && !dock.lives("child"));
}

#[test]
fn what_an_agent_leaves_behind_inside_ends_with_it() {
    let dock = Dock::new();
    dock.workspace.write("agent", "setsid sh -c 'echo $$ > child; exec sleep 60' >/dev/null 2>&1 & until test -s child; do sleep 0.01; done; echo Done.");
    // A dead process that nobody has awaited yet is gone too.
    dock.workspace.write(
        "gone",
        r#"read -r line <"/proc/$(cat child)/stat" || exit 0; case "$line" in *") Z "*) ;; *) exit 1 ;; esac"#,
    );
    dock.configured("      run: [sh, agent, '{prompt}']\n", "verify: [sh, gone]");
    dock.run().exits(0);
    assert!(!dock.lives("child"));
}

#[test]
fn every_backend_runs_in_a_container() {
    let dock = Dock::new();
    let replay = dock.workspace.path("replay");
    fs::create_dir_all(replay.join("rest")).expect("made");
    fs::copy(recordings().join("claude-code/success.jsonl"), replay.join("rest/stream")).expect("copied");
    let section = format!(
        "      kind: claude\n      binary: '{}'\n      env: {{ REPLAY: '{}' }}\n",
        recordings().join("replay").display(),
        replay.display()
    );
    dock.configured(&section, "");
    dock.run().exits(0);
    assert_eq!(dock.classes(), ["done"]);

    let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/acp/agent.py");
    let acp = dock.workspace.path("acp");
    fs::create_dir_all(&acp).expect("made");
    let abilities = json!({ "initialize": { "protocolVersion": 1, "agentCapabilities": { "loadSession": true } } });
    let waits = json!([{ "say": "I work." }, { "run": "trap '' TERM; echo $$ > child; sleep 60; sleep 60" }, { "await": "never" }]);
    let done = json!([{ "say": "All done." }, { "end": { "stopReason": "end_turn" } }]);
    for (start, turn) in [("1", waits), ("rest", done)] {
        fs::write(acp.join(format!("{start}.json")), json!({ "replies": abilities, "turn": turn }).to_string())
            .expect("written");
    }
    let section = format!(
        "      kind: acp\n      run: [python3, '{}']\n      env: {{ ACP: '{}' }}\n",
        agent.display(),
        acp.display()
    );
    dock.configured(&section, "idle_timeout_ms: 2500");
    dock.run().exits(0);
    assert_eq!(dock.classes(), ["timed_out", "done"]);
    let heard = fs::read_to_string(acp.join("heard-1.jsonl")).expect("it heard");
    assert!(heard.contains("session/cancel"), "{heard}");
    until("nothing is left inside", || !dock.lives("child"));
}

#[test]
fn the_files_of_an_agent_in_a_container_lie_where_the_workspace_is_mounted() {
    let text = |name: &str| fs::read_to_string(recordings().join(name)).expect(name);
    let log = [("session", text("aider/success.session.jsonl")), ("where", "$log".to_owned())];
    let settings = [("do", "cp \"$QWEN_CODE_SYSTEM_SETTINGS_PATH\" settings".to_owned())];
    for (kind, stream, files, told) in [
        ("aider", "aider/success.txt", &log[..], "arguments"),
        ("qwen", "qwen/success.jsonl", &settings[..], "environment"),
    ] {
        let dock = Dock::new();
        let replay = dock.workspace.path("replay");
        fs::create_dir_all(replay.join("rest")).expect("made");
        fs::write(replay.join("rest/stream"), text(stream)).expect("written");
        for (name, content) in files {
            fs::write(replay.join("rest").join(name), content).expect("written");
        }
        let (program, home) = (recordings().join("replay"), replay.display());
        dock.configured(
            &format!(
                "      kind: {kind}\n      binary: '{}'\n      env: {{ REPLAY: '{home}', QWEN_HOME: '{home}' }}\n",
                program.display()
            ),
            "",
        );
        let (folder, mounted) = (dock.workspace.path(""), dock.workspace.path("mounted"));
        std::os::unix::fs::symlink(".", &mounted).expect("linked");
        let workdir = |folder: &Path| format!("workdir: '{}'", folder.display());
        let config = dock.workspace.read(".loa.config.yaml").replace(&workdir(&folder), &workdir(&mounted));
        dock.workspace.config(&config);
        dock.run().exits(0);
        assert_eq!(dock.classes(), ["done"], "{kind}");
        let told = dock.workspace.read(&format!("replay/started-1/{told}"));
        assert!(told.contains(&format!("{}/.loa-run/agent-", mounted.display())), "{kind}: {told}");
        assert_eq!(dock.workspace.read("settings").contains("autoCompactThreshold"), kind == "qwen");
        let own = fs::read_dir(dock.workspace.path(".loa-run")).expect("listed");
        let left = own.filter(|entry| {
            entry.as_ref().is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with("agent-"))
        });
        assert_eq!(left.count(), 0, "{kind}: gone with the agent");
    }
}

#[test]
fn a_container_that_is_not_there_is_no_success() {
    let dock = Dock::new();
    dock.configured("      run: [sh, -c, 'true', it, '{prompt}']\n", "");
    let config = dock.workspace.read(".loa.config.yaml").replace("container: box", "container: gone");
    dock.workspace.config(&config);
    dock.run().exits(2);
    assert!(dock.workspace.read(".loa-run/logs/design-1.log").contains("No such container: gone"));
    let config = config.replace(&docker().display().to_string(), "/nonexistent/docker");
    dock.workspace.config(&config);
    dock.workspace.loa(&["run", "--plan", "plan.json", "--fresh"]).exits(2);
    assert_eq!(dock.workspace.checkpoint("design")["errors"][0]["code"], "SPAWN_FAILED");
}
