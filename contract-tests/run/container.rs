//! The container recipe, as far as it can be tried without an engine: its entry script starts the real program, as the first
//! process of a namespace where the host makes one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::workspace::{Ran, collected, finished, program, until};

fn recipe(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("container").join(name)
}

/// The folders of a container.
struct Container {
    folder: tempfile::TempDir,
}

impl Container {
    fn new(design: &str, more: &serde_json::Value) -> Self {
        let container = Self { folder: tempfile::tempdir().expect("a folder") };
        for folder in ["workspace", "state", "secrets"] {
            fs::create_dir(container.path(folder)).expect("made");
        }
        let skipped = ["preflight", "discovery", "implementation", "audit", "submit", "deploy"];
        let mut phases: serde_json::Map<String, serde_json::Value> =
            skipped.iter().map(|phase| ((*phase).to_owned(), serde_json::json!({ "skip": true }))).collect();
        phases.insert("design".to_owned(), serde_json::json!({ "command": design }));
        phases.insert("learning".to_owned(), more.clone());
        let mine = serde_json::json!({ "run": ["sh", "-c", "printf %s \"$MY_KEY\" > ../seen", "it", "{prompt}"], "credentials": ["MY_KEY"] });
        let config = serde_json::json!({
            "autonomous_agent": { "require_human_deploy_approval": false },
            "runtime": { "retry": { "max": 0 }, "phases": phases, "backends": { "mine": mine } },
        });
        fs::write(container.path("workspace/.loa.config.yaml"), config.to_string()).expect("written");
        container
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn in_container(&self, mut command: Command) -> Command {
        let programs = Path::new(env!("CARGO_BIN_EXE_loa-run")).parent().expect("a folder").display().to_string();
        let path = format!("{programs}:{}", std::env::var("PATH").expect("a path"));
        command.env("PATH", path).env_remove("XDG_STATE_HOME");
        for (name, folder) in [("LOA_SECRETS", "secrets"), ("LOA_STATE", "state"), ("LOA_WORKSPACE", "workspace")] {
            command.env(name, self.path(folder));
        }
        command
    }

    fn enter(&self, arguments: &[&str]) -> Ran {
        finished(self.in_container(program(&recipe("entrypoint"), self.folder.path(), arguments)))
    }

    /// The same as the first process of a namespace of its own; `None` where the host makes none.
    fn as_first_process(&self) -> Option<Child> {
        let namespace = ["--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"];
        let probe = Command::new("unshare").args(namespace).arg("true").stderr(Stdio::null()).status();
        if !probe.is_ok_and(|status| status.success()) {
            super::host::not_tested("this host makes no namespaces of processes");
            return None;
        }
        let entry = recipe("entrypoint").display().to_string();
        let arguments = [&namespace[..], &[entry.as_str(), "service", "run"]].concat();
        let command = self.in_container(program(Path::new("unshare"), self.folder.path(), &arguments));
        Some({ command }.spawn().expect("unshare starts"))
    }
}

#[test]
fn a_mounted_key_reaches_its_agent_alone_and_the_state_lies_on_the_volume() {
    let agent = serde_json::json!({ "prompt": "Look.", "backend": "mine" });
    let container = Container::new("test -z \"$MY_KEY\" && git config --get safe.directory > ../git", &agent);
    fs::write(container.path("secrets/MY_KEY"), "dummy-key-of-mine\n").expect("written");
    let ran = container.enter(&["service", "run"]).exits(0);
    assert_eq!(fs::read_to_string(container.path("seen")).expect("asked"), "dummy-key-of-mine");
    let git = fs::read_to_string(container.path("git")).expect("there");
    assert_eq!(git.trim(), container.path("workspace").display().to_string());
    assert!(container.path("state/loa-run").is_dir() && container.path("state/home").is_dir());
    assert!(!format!("{ran:?}").contains("dummy-key"), "{ran:?}");
    // The next start finds the finished run on the volume.
    fs::remove_file(container.path("seen")).expect("there");
    container.enter(&["service", "run"]).exits(0).says(&["the last run is completed"]);
    assert!(!container.path("seen").exists());
}

#[test]
fn what_is_missing_in_a_container_is_named() {
    let container = Container::new("true", &serde_json::json!({ "command": "true" }));
    for name in ["my-key", "PATH", "LD_PRELOAD", "key"] {
        let file = container.path("secrets").join(name);
        fs::write(&file, "x").expect("written");
        container.enter(&["status"]).exits(66).says(&[name, "hint: mount"]);
        fs::remove_file(file).expect("there");
    }
    fs::rename(container.path("workspace"), container.path("elsewhere")).expect("moved");
    container.enter(&["status"]).exits(66).says(&["workspace is no folder"]);
    fs::rename(container.path("elsewhere"), container.path("workspace")).expect("moved");
    fs::remove_dir(container.path("state")).expect("there");
    fs::write(container.path("state"), "").expect("written");
    container.enter(&["status"]).exits(74).says(&["state cannot be written", "mount a volume"]);
}

/// Ten daemons that a stage leaves behind end while the stage looks on: nobody but the first process can bury them.
#[test]
fn as_the_first_process_it_buries_orphans() {
    let script = "for n in 1 2 3 4 5 6 7 8 9 10; do (setsid sh -c 'echo $$ >> ../pids' &); done\n\
                  for n in $(seq 2000); do\n\
                  left=0; for pid in $(cat ../pids); do test -d /proc/$pid && left=$((left + 1)); done\n\
                  test $left = 0 && test $(wc -l < ../pids) = 10 && exit 0\n\
                  sleep 0.01; done; exit 2";
    let container = Container::new(script, &serde_json::json!({ "command": "test $(cat /proc/1/comm) = loa-run" }));
    let Some(child) = container.as_first_process() else { return };
    collected(child).exits(0);
    assert_eq!(fs::read_to_string(container.path("pids")).expect("they began").lines().count(), 10);
}

#[test]
fn as_the_first_process_it_obeys_term_and_goes_on_at_the_next_start() {
    let container = Container::new(
        "test -f ../go || { touch ../waits; while :; do sleep 0.01; done; }",
        &serde_json::json!({ "command": "true" }),
    );
    let Some(child) = container.as_first_process() else { return };
    until("design runs", || container.path("waits").exists());
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).expect("listed");
    let first = children.split_whitespace().next().expect("the first process");
    assert!(Command::new("kill").args(["-TERM", first]).status().expect("kill is there").success());
    collected(child).exits(143).says(&["interrupted; nothing is lost"]);
    fs::write(container.path("go"), "").expect("written");
    let Some(child) = container.as_first_process() else { return };
    collected(child).exits(0).says(&["resuming"]);
}

#[test]
fn the_recipe_holds_no_key_runs_as_nobody_special_and_installs_what_was_measured() {
    let text = fs::read_to_string(recipe("Containerfile")).expect("a recipe");
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let measured = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/agents/claude-code/package.json");
    let measured: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(measured).expect("there")).expect("a package");
    let version = measured["dependencies"]["@anthropic-ai/claude-code"].as_str().expect("a version");
    assert!(lines.contains(&format!("ARG CLAUDE_CODE={version}").as_str()), "{text}");
    let user = lines.iter().rposition(|line| line.starts_with("USER ")).expect("a user");
    assert_eq!(lines[user], "USER 1000:1000");
    assert!(!lines[user..].iter().any(|line| line.starts_with("RUN ")), "{text}");
    assert!(!lines.iter().any(|line| line.contains("KEY") || line.contains("TOKEN")), "{text}");
    let needed = ["ENTRYPOINT [\"/usr/local/bin/loa-entrypoint\"]", "STOPSIGNAL SIGTERM", "VOLUME /state"];
    assert!(needed.iter().all(|line| lines.contains(line)), "{text}");
    // What the recipe copies is there.
    for line in lines.iter().filter(|line| line.starts_with("COPY ") && !line.contains("--from")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        for source in &words[1..words.len() - 1] {
            assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(source).exists(), "{line}");
        }
    }
}
