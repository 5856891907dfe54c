//! `loa-run service`: the unit that it writes, and what comes of it under a stand-in for systemd, which reads the unit and
//! starts, stops and starts again what it says as systemd would.

use std::collections::BTreeMap;
use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::workspace::{Ran, finished, program, until};

/// Everything in it means something else in a unit, where it is not escaped.
const ODD: &str = "a b %h $x ${y} 'z' \"q\" ; \\";

/// A workspace of an odd name, with a `systemctl` beside it that only writes down what it is asked.
struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    /// Three phases are done by these lines of sh, the others are skipped.
    fn new(design: &str) -> Self {
        let home = Self { folder: tempfile::tempdir().expect("a folder") };
        fs::create_dir(home.workspace()).expect("made");
        fs::create_dir(home.path("bin")).expect("made");
        for (name, says) in [("systemctl", "ActiveState=active"), ("loginctl", "no")] {
            let script = format!("#!/bin/sh\necho {name} \"$@\" >> '{}'\necho {says}\n", home.path("asked").display());
            fs::write(home.path("bin").join(name), script).expect("written");
            fs::set_permissions(home.path("bin").join(name), fs::Permissions::from_mode(0o755)).expect("set");
        }
        let skipped = ["preflight", "discovery", "implementation", "audit", "submit", "deploy"];
        let mut phases: serde_json::Map<String, serde_json::Value> =
            skipped.iter().map(|phase| ((*phase).to_owned(), serde_json::json!({ "skip": true }))).collect();
        phases.insert("design".to_owned(), serde_json::json!({ "command": format!("echo design >> ran\n{design}") }));
        phases.insert("learning".to_owned(), serde_json::json!({ "command": "echo learning >> ran" }));
        let config = serde_json::json!({
            "autonomous_agent": { "require_human_deploy_approval": false },
            "runtime": { "retry": { "initial_ms": 1, "max_ms": 1, "jitter": 0 }, "phases": phases },
        });
        fs::write(home.workspace().join(".loa.config.yaml"), config.to_string()).expect("written");
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn workspace(&self) -> PathBuf {
        self.path(ODD)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program(Path::new(env!("CARGO_BIN_EXE_loa-run")), &self.workspace(), arguments);
        let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").expect("a path"));
        command.env("PATH", path).env("HOME", self.path("")).env("XDG_CONFIG_HOME", self.path("config 100%"));
        command
    }

    fn loa(&self, arguments: &[&str]) -> Ran {
        finished(self.command(arguments))
    }

    /// Where the only unit lies.
    fn unit_path(&self) -> PathBuf {
        let entries = fs::read_dir(self.path("config 100%/systemd/user")).expect("a folder of units");
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("listed").path()).collect();
        paths.retain(|path| path.is_file());
        assert_eq!(paths.len(), 1, "{paths:?}");
        paths.remove(0)
    }

    fn unit(&self) -> Unit {
        Unit::read(&fs::read_to_string(self.unit_path()).expect("a unit"))
    }

    fn asked(&self) -> String {
        fs::read_to_string(self.path("asked")).unwrap_or_default()
    }

    fn ran(&self) -> Vec<String> {
        let text = fs::read_to_string(self.workspace().join("ran")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// A unit as systemd reads it.
#[derive(Debug)]
struct Unit {
    words: Vec<String>,
    environment: Vec<(String, String)>,
    values: BTreeMap<String, String>,
}

/// What systemd does when the process of a service has ended.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Rests,
    Failed,
    StartsAgain,
}

impl Unit {
    fn read(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let pairs: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once('=')).collect();
        let command = pairs.iter().find(|(key, _)| *key == "ExecStart").expect("something to start").1;
        let mut environment = Vec::new();
        for (_, value) in pairs.iter().filter(|(key, _)| *key == "Environment") {
            for word in words(value) {
                let (name, value) = word.split_once('=').expect("an assignment");
                environment.push((name.to_owned(), specified(value)));
            }
        }
        let values = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let words = words(command).iter().map(|word| specified(word)).collect::<Vec<_>>();
        let arguments = words[1..].iter().map(|word| substituted(word));
        Self { words: [words[0].clone()].into_iter().chain(arguments).collect(), environment, values }
    }

    fn codes(&self, key: &str) -> Vec<i32> {
        self.values[key].split(' ').map(|code| code.parse().expect("a code")).collect()
    }

    fn follows(&self, status: ExitStatus) -> Next {
        assert_eq!(self.values["Restart"], "on-failure");
        match status.code() {
            Some(0) => Next::Rests,
            Some(code) if self.codes("SuccessExitStatus").contains(&code) => Next::Rests,
            Some(code) if self.codes("RestartPreventExitStatus").contains(&code) => Next::Failed,
            _ => Next::StartsAgain,
        }
    }
}

/// Words, quotes and escapes, as in systemd.syntax.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            '\\' => {
                let escaped = letters.next().expect("something escaped");
                assert!("\\\"".contains(escaped), "\\{escaped}");
                word.get_or_insert_default().push(escaped);
            }
            ' ' if !quoted => words.extend(word.take()),
            letter => {
                assert!(quoted || !"';".contains(letter), "{letter} outside of quotes: {text}");
                word.get_or_insert_default().push(letter);
            }
        }
    }
    assert!(!quoted, "{text}");
    words.extend(word);
    words
}

/// `%%` is one; any other specifier is none of ours.
fn specified(word: &str) -> String {
    assert!(!word.replace("%%", "").contains('%'), "a specifier: {word}");
    word.replace("%%", "%")
}

/// `$$` is one; any variable is none of ours.
fn substituted(word: &str) -> String {
    assert!(!word.replace("$$", "").contains('$'), "a variable: {word}");
    word.replace("$$", "$")
}

/// What systemd holds of a service: its socket, and the process.
struct Supervised {
    socket: UnixDatagram,
    child: Child,
}

impl Supervised {
    /// Starts what the unit says, with nothing in its environment but what systemd would have there.
    fn start(home: &Home, unit: &Unit, watchdog: Duration) -> Self {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("loa-stand-in-{}-{number}", std::process::id());
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).expect("a name")).expect("bound");
        socket.set_read_timeout(Some(Duration::from_mins(1))).expect("set");
        let mut command = Command::new(&unit.words[0]);
        command.args(&unit.words[1..]).env_clear().current_dir(home.path("")).env("HOME", home.path(""));
        command.envs(unit.environment.iter().map(|(name, value)| (name, value)));
        command.env("NOTIFY_SOCKET", format!("@{name}")).env("WATCHDOG_USEC", watchdog.as_micros().to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self { socket, child: command.spawn().expect("it starts") }
    }

    /// The next message.
    fn hears(&self) -> String {
        let mut buffer = [0; 4096];
        let length = self.socket.recv(&mut buffer).expect("a message within a minute");
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    }

    fn ends(mut self) -> ExitStatus {
        self.child.wait().expect("it ends")
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().expect("kill is there");
        assert!(sent.success());
    }
}

const WATCHDOG: Duration = Duration::from_mins(5);

#[test]
fn a_unit_is_written_once_and_never_over_one_of_somebody_else() {
    let home = Home::new("true");
    let printed = home.loa(&["service", "install", "--print"]).exits(0).stdout;
    assert!(!home.path("config 100%/systemd").exists() && home.asked().is_empty(), "nothing is changed");
    home.loa(&["service", "status"]).exits(66);
    home.loa(&["service", "start"]).exits(66).says(&["install --start"]);
    fs::remove_file(home.path("asked")).expect("status asked");
    let told = home.loa(&["service", "install", "--json"]).exits(0).stdout;
    let told: serde_json::Value = serde_json::from_str(&told).expect("one document");
    assert_eq!((&told["changed"], &told["started"], &told["linger"]), (&true.into(), &false.into(), &false.into()));
    let written = fs::read_to_string(home.unit_path()).expect("a unit");
    assert!(printed.ends_with(&written), "{printed}");
    let name = home.unit_path().file_name().expect("a name").to_string_lossy().into_owned();
    for line in ["systemctl --user daemon-reload".to_owned(), format!("systemctl --user enable {name}")] {
        assert!(home.asked().lines().any(|asked| asked == line), "{line}: {}", home.asked());
    }
    let again = home.loa(&["service", "install", "--start", "--linger"]).exits(0).stdout;
    assert!(again.contains("as it was"), "{again}");
    let asked = home.asked();
    assert!(asked.contains(&format!("start --no-block {name}")) && asked.contains("enable-linger"), "{asked}");
    home.loa(&["service", "start"]).exits(0);
    assert_eq!(home.asked().matches(&format!("reset-failed {name}")).count(), 2, "{}", home.asked());
    let status = home.loa(&["service", "status"]).exits(0).stdout;
    assert!(status.contains("installed") && status.contains("ActiveState: active"), "{status}");
    // A unit of somebody else under this name is left alone by everything.
    fs::write(home.unit_path(), "[Service]\nExecStart=/bin/true\n").expect("written");
    for verb in [&["service", "install"][..], &["service", "install", "--print"], &["service", "remove"]] {
        home.loa(verb).exits(74).says(&["was not written by loa-run", "move it away"]);
    }
    assert!(fs::read_to_string(home.unit_path()).expect("there").starts_with("[Service]"));
    fs::write(home.unit_path(), written).expect("written");
    home.loa(&["service", "remove", "--dry-run"]).exits(0);
    assert!(home.unit_path().exists());
    home.loa(&["service", "remove"]).exits(0);
    assert!(home.asked().contains(&format!("disable --now {name}")), "{}", home.asked());
    assert_eq!(fs::read_dir(home.path("config 100%/systemd/user")).expect("there").count(), 0);
    home.loa(&["service", "remove"]).exits(0);
}

#[test]
fn a_service_whose_runs_would_be_refused_is_not_installed() {
    let home = Home::new("true");
    let config = home.workspace().join(".loa.config.yaml");
    let sound = fs::read_to_string(&config).expect("written");
    for (text, place) in [
        (sound.replace("\"retry\":{", "\"outage_patience\":120,\"retry\":{"), "outage_patience"),
        (sound.replace("\"command\":\"echo learning >> ran\"", "\"prompt\":\"Go.\",\"backend\":\"nobody\""), "nobody"),
        ("runtime: {}\n".to_owned(), "runtime.phases.preflight.command"),
    ] {
        fs::write(&config, text).expect("written");
        home.loa(&["run"]).exits(78).says(&[place]);
        home.loa(&["service", "install", "--start"]).exits(78).says(&[place]);
        assert!(!home.path("config 100%/systemd").exists() && home.asked().is_empty(), "nothing is changed: {place}");
        home.loa(&["service", "install", "--print"]).exits(0);
    }
    fs::write(&config, sound).expect("written");
    home.loa(&["service", "install"]).exits(0);
}

#[test]
fn no_secret_stands_in_a_unit_and_what_cannot_stand_there_is_refused() {
    let home = Home::new("true");
    let mut install = home.command(&["service", "install", "--print"]);
    install.env("ANTHROPIC_API_KEY", "dummy-key").env("LOA_RUN_BACKENDS_X_ENV_K", "dummy-too");
    let printed = finished(install).exits(0).stdout;
    assert!(!printed.contains("dummy") && printed.contains("Environment=\"PATH="), "{printed}");
    let keys = home.path("keys 1%");
    fs::write(&keys, "ANTHROPIC_API_KEY=dummy-key\n").expect("written");
    let with_keys = ["service", "install", "--print", "--env-file", keys.to_str().expect("UTF-8")];
    for mode in [0o644, 0o640, 0o602] {
        fs::set_permissions(&keys, fs::Permissions::from_mode(mode)).expect("set");
        home.loa(&with_keys).exits(64).says(&["keys 1%", "chmod 600"]);
    }
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o600)).expect("set");
    let printed = home.loa(&with_keys).exits(0).stdout;
    assert!(printed.contains("/keys 1%%\n") && !printed.contains("dummy"), "{printed}");
    home.loa(&[&with_keys[..2], &with_keys[3..]].concat()).exits(0);
    assert_eq!(home.loa(&["service", "install", "--print"]).exits(0).stdout, printed, "it stays");
    home.loa(&["service", "install", "--print", "--env-file", "missing"]).exits(66);
    home.loa(&["service", "install", "--set", "runtime.retry.max=1"]).exits(64).says(&["runtime.retry.max"]);
    let broken = home.path("line\nbreak");
    fs::create_dir(&broken).expect("made");
    home.loa(&["service", "install", "--print", "--workspace", broken.to_str().expect("UTF-8")])
        .exits(64)
        .says(&["the path of the workspace", "line break"]);
}

#[test]
fn a_host_without_systemd_is_told_what_to_do_instead() {
    let home = Home::new("true");
    let without = |arguments: &[&str]| {
        let mut command = home.command(arguments);
        command.env("PATH", home.path("nowhere"));
        finished(command)
    };
    without(&["service", "install"]).exits(66).says(&["`systemctl` is not here", "service run", "@reboot", "launchd"]);
    assert!(!home.path("config 100%").exists(), "nothing is half installed");
    without(&["service", "install", "--print"]).exits(0);
    // A systemd that does not answer is said to need a login.
    let answering = fs::read_to_string(home.path("bin/systemctl")).expect("there");
    let silent = "#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n";
    fs::write(home.path("bin/systemctl"), silent).expect("written");
    home.loa(&["service", "install"]).exits(1).says(&["Failed to connect to bus", "XDG_RUNTIME_DIR"]);
    assert!(!home.path("config 100%").exists(), "nothing is half installed");
    fs::write(home.path("bin/systemctl"), answering).expect("written");
    home.loa(&["service", "install"]).exits(0);
    let (unit, units) = (home.unit_path(), home.path("config 100%/systemd/user"));
    fs::create_dir(units.join("default.target.wants")).expect("made");
    let link = units.join("default.target.wants").join(unit.file_name().expect("a name"));
    std::os::unix::fs::symlink(&unit, &link).expect("linked");
    fs::write(home.path("bin/systemctl"), silent).expect("written");
    let removed = home.loa(&["service", "remove"]).exits(0).stdout;
    assert!(removed.contains("no service manager answered"), "{removed}");
    assert!(!unit.exists() && link.symlink_metadata().is_err(), "it and its link are gone");
}

#[test]
fn systemd_itself_takes_the_unit() {
    let home = Home::new("true");
    home.loa(&["service", "install"]).exits(0);
    let mut verify = Command::new("systemd-analyze");
    verify
        .args(["verify", "--user"])
        .arg(home.unit_path())
        .env("XDG_RUNTIME_DIR", home.path(""))
        .env("HOME", home.path(""));
    let Ok(output) = verify.output() else {
        super::host::not_tested("systemd-analyze is not here");
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{said}");
}

#[test]
fn the_unit_means_what_was_meant() {
    let home = Home::new("true");
    home.loa(&["service", "install"]).exits(0);
    let unit = home.unit();
    let workspace = home.workspace().canonicalize().expect("there").display().to_string();
    assert_eq!(unit.words[1..], ["--workspace", &workspace, "service", "run"]);
    assert_eq!(unit.words[0], env!("CARGO_BIN_EXE_loa-run"));
    let config = home.path("config 100%").display().to_string();
    assert!(unit.environment.contains(&("XDG_CONFIG_HOME".to_owned(), config)), "{:?}", unit.environment);
    for (key, value) in [
        ("Type", "notify"),
        ("NotifyAccess", "main"),
        ("KillMode", "mixed"),
        ("RestartSec", "2min"),
        ("StartLimitIntervalSec", "12h"),
        ("StartLimitBurst", "30"),
        ("WatchdogSec", "5min"),
        ("WantedBy", "default.target"),
    ] {
        assert_eq!(unit.values[key], value, "{key}");
    }
}

/// A machine that goes down in the middle, and comes up again twice.
#[test]
fn after_a_reboot_an_unfinished_run_goes_on_and_a_finished_one_stays_finished() {
    let home = Home::new("test -f ../go || { touch ../waits; while :; do sleep 0.01; done; }");
    home.loa(&["service", "install"]).exits(0);
    let unit = home.unit();
    let first = Supervised::start(&home, &unit, WATCHDOG);
    assert_eq!(first.hears(), "READY=1");
    until("design runs", || home.path("waits").exists());
    first.signal("-KILL");
    let died = first.ends();
    assert_eq!(unit.follows(died), Next::StartsAgain, "{died:?}");
    // Asked to stop, as before the machine goes down: that is no failure.
    fs::remove_file(home.path("waits")).expect("there");
    let second = Supervised::start(&home, &unit, WATCHDOG);
    until("design runs again", || home.path("waits").exists());
    second.signal("-TERM");
    let stopped = second.ends();
    assert_eq!((stopped.code(), unit.follows(stopped)), (Some(143), Next::Rests));
    fs::write(home.path("go"), "").expect("written");
    let third = Supervised::start(&home, &unit, WATCHDOG).ends();
    assert_eq!((third.code(), unit.follows(third)), (Some(0), Next::Rests));
    let ran = home.ran();
    assert_eq!(ran, ["design", "design", "design", "learning"]);
    let fourth = Supervised::start(&home, &unit, WATCHDOG).ends();
    assert_eq!((fourth.code(), unit.follows(fourth)), (Some(0), Next::Rests));
    assert_eq!(home.ran(), ran, "no new run begins");
}

#[test]
fn the_variables_that_a_service_does_not_hear_are_named_and_their_values_are_not() {
    let home = Home::new("true");
    let config = fs::read_to_string(home.workspace().join(".loa.config.yaml")).expect("there");
    let mut config: serde_json::Value = serde_json::from_str(&config).expect("JSON");
    config["runtime"]["notify"] =
        serde_json::json!({ "receivers": [{ "kind": "ntfy", "url": { "env": "MY_TOPIC" } }] });
    fs::write(home.workspace().join(".loa.config.yaml"), config.to_string()).expect("written");
    let keys = home.path("keys");
    fs::write(&keys, "ANTHROPIC_API_KEY=secret-key\n").expect("written");
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o600)).expect("ours");
    let install = |arguments: &[&str]| {
        let mut command = home.command(arguments);
        command.env("LOA_RUN_NOTIFY_WEBHOOK", "http://127.0.0.1:1/secret-hook").env("LOA_RUN_TIMEOUT_HOURS", "7");
        command.env("MY_TOPIC", "http://127.0.0.1:1/secret-topic").env("ANTHROPIC_API_KEY", "secret-key");
        finished(command).exits(0)
    };
    let named = "ANTHROPIC_API_KEY, LOA_RUN_NOTIFY_WEBHOOK, LOA_RUN_TIMEOUT_HOURS, MY_TOPIC; put what is no secret";
    for arguments in [&["service", "install"][..], &["service", "install", "--print"]] {
        let said = install(arguments).says(&["the service does not hear", named, "--env-file FILE"]);
        assert!(!said.stderr.contains("secret-"), "{}", said.stderr);
    }
    let said = install(&["service", "install", "--env-file", keys.to_str().expect("UTF-8")]);
    assert!(said.stderr.contains(": LOA_RUN_NOTIFY_WEBHOOK, LOA_RUN_TIMEOUT_HOURS, MY_TOPIC;"), "{}", said.stderr);
    let again = install(&["service", "install", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&again.stdout).expect("JSON");
    assert_eq!(document["left_out"].as_array().map(Vec::len), Some(3), "the file that was named before stays");
    let quiet = home.loa(&["service", "install"]).exits(0).stderr;
    assert!(!quiet.contains("does not hear"), "{quiet}");
}

#[test]
fn a_call_for_a_human_is_not_answered_by_starting_again() {
    let home = Home::new("test -f ../go || exit 2");
    home.loa(&["service", "install"]).exits(0);
    let unit = home.unit();
    for _ in 0..2 {
        let ended = Supervised::start(&home, &unit, WATCHDOG).ends();
        assert_eq!((ended.code(), unit.follows(ended)), (Some(2), Next::Failed));
        assert_eq!(home.ran(), ["design"], "nothing is tried before there is an answer");
    }
    fs::write(home.path("go"), "").expect("written");
    home.loa(&["resolve", "fix_and_resume"]).exits(0);
    let ended = Supervised::start(&home, &unit, WATCHDOG).ends();
    assert_eq!((ended.code(), unit.follows(ended)), (Some(0), Next::Rests));
    assert_eq!(home.ran(), ["design", "design", "learning"]);
}

#[test]
fn where_a_unit_is_installed_answers_start_it_and_what_stopped_waits_for_it() {
    let home = Home::new("test -f ../stop && exit 2; touch ../waits; while :; do sleep 0.01; done");
    let file = home.workspace().join(".loa.config.yaml");
    let mut config: serde_json::Value = serde_json::from_slice(&fs::read(&file).expect("read")).expect("JSON");
    config["runtime"]["notify"] =
        serde_json::json!({ "receivers": [{ "kind": "command", "command": "cat > ../message" }] });
    fs::write(&file, config.to_string()).expect("written");
    home.loa(&["service", "install"]).exits(0);
    let running = home.command(&["run"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    until("design runs", || home.path("waits").exists());
    rustix::process::kill_process(rustix::process::Pid::from_child(&running), rustix::process::Signal::TERM)
        .expect("sent");
    assert_eq!(super::workspace::collected(running).code, Some(143));
    home.loa(&["status"]).exits(1);
    home.loa(&["service", "remove"]).exits(0);
    home.loa(&["status"]).exits(2);
    fs::write(home.path("stop"), "").expect("written");
    let answer = || {
        let message = fs::read_to_string(home.path("message")).expect("told");
        let line = message.lines().find(|line| line.contains("resolve fix_and_resume")).expect("an answer");
        line.rsplit(' ').take(2).collect::<Vec<_>>().join(" ")
    };
    home.loa(&["resume"]).exits(2);
    assert!(answer().starts_with("resume "), "{}", answer());
    home.loa(&["service", "install"]).exits(0);
    home.loa(&["resolve", "fix_and_resume"]).exits(0);
    home.loa(&["resume"]).exits(2);
    assert_eq!(answer(), "start service");
}

#[test]
fn what_may_pass_is_tried_again_later_and_what_cannot_is_not() {
    let home = Home::new("touch ../waits; while ! test -f ../go; do sleep 0.01; done");
    home.loa(&["service", "install"]).exits(0);
    let unit = home.unit();
    let other = home.command(&["run"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    until("somebody else runs", || home.path("waits").exists());
    let refused = Supervised::start(&home, &unit, WATCHDOG).ends();
    assert_eq!((refused.code(), unit.follows(refused)), (Some(1), Next::StartsAgain));
    fs::write(home.path("go"), "").expect("written");
    assert!(super::workspace::collected(other).code == Some(0));
    let home = Home::new("true");
    home.loa(&["service", "install"]).exits(0);
    fs::write(home.workspace().join(".loa.config.yaml"), "runtime: { retry: 7 }\n").expect("written");
    let wrong = Supervised::start(&home, &home.unit(), WATCHDOG).ends();
    assert_eq!((wrong.code(), home.unit().follows(wrong)), (Some(78), Next::Failed));
}

#[test]
fn the_watchdog_hears_a_run_for_as_long_as_it_steps() {
    let home = Home::new("env > ../seen; touch ../waits; while ! test -f ../go; do sleep 0.01; done");
    home.loa(&["service", "install"]).exits(0);
    let unit = home.unit();
    let service = Supervised::start(&home, &unit, Duration::from_millis(400));
    until("design runs", || home.path("waits").exists());
    let mut heard = BTreeMap::<String, u32>::new();
    let begin = Instant::now();
    while heard.get("WATCHDOG=1").is_none_or(|signs| *signs < 10) {
        assert!(begin.elapsed() < Duration::from_mins(1), "{heard:?}");
        *heard.entry(service.hears()).or_default() += 1;
    }
    assert!(heard.contains_key("READY=1") && heard.contains_key("STATUS=design: attempt 1 of 4"), "{heard:?}");
    let seen = fs::read_to_string(home.path("seen")).expect("there");
    assert!(!seen.contains("NOTIFY_SOCKET") && !seen.contains("WATCHDOG_"), "it is ours alone: {seen}");
    fs::write(home.path("go"), "").expect("written");
    assert_eq!(service.ends().code(), Some(0));
}
