//! A real browser, headless, by its driver's plain HTTP.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The keys that have no character.
pub(super) const ENTER: &str = "\u{e007}";
pub(super) const ESCAPE: &str = "\u{e00c}";
pub(super) const TAB: &str = "\u{e004}";

/// How long the driver may take for anything.
const PATIENCE: Duration = Duration::from_mins(1);

pub(super) struct Browser {
    driver: Child,
    session: String,
    agent: ureq::Agent,
    profile: TempDir,
    /// Kept open: the driver writes to it as long as it runs.
    _output: BufReader<ChildStdout>,
}

impl Browser {
    /// A browser; `None` where this machine has none.
    pub(super) fn start() -> Option<Self> {
        let chromium = ["chromium", "chromium-browser", "google-chrome"].iter().find_map(|name| which(name))?;
        let mut driver = Command::new(which("chromedriver")?)
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the driver starts");
        let mut output = BufReader::new(driver.stdout.take().expect("a pipe"));
        let port = output.by_ref().lines().map_while(Result::ok).find_map(|line| port(&line));
        let profile = tempfile::tempdir().expect("a folder");
        let config = ureq::Agent::config_builder().timeout_global(Some(PATIENCE)).http_status_as_error(false);
        let agent = config.build().new_agent();
        let base = format!("http://127.0.0.1:{}", port.expect("the driver names its port"));
        let mut browser = Self { driver, session: base, agent, profile, _output: output };
        let made = browser.post("/session", &capabilities(&chromium, browser.profile.path()));
        let id = made["sessionId"].as_str().expect("a session").to_owned();
        browser.session = format!("{}/session/{id}", browser.session);
        Some(browser)
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let request = self.agent.post(format!("{}{path}", self.session)).content_type("application/json");
        let mut response = request.send(body.to_string()).unwrap_or_else(|error| panic!("{path}: {error}"));
        let text = response.body_mut().with_config().limit(64 << 20).read_to_string().expect("an answer");
        let answer: Value = serde_json::from_str(&text).expect("JSON");
        assert!(response.status().is_success(), "{path}: {answer}");
        answer["value"].clone()
    }

    pub(super) fn open(&self, url: &str) {
        self.post("/url", &json!({ "url": url }));
    }

    /// What a script returns.
    pub(super) fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Waits until this holds on the page, which hears of some things a moment later.
    pub(super) fn waits_for(&self, condition: &str) -> bool {
        let begun = Instant::now();
        while self.run(&format!("return {condition}")) != true {
            if begun.elapsed() > PATIENCE {
                return false;
            }
        }
        true
    }

    /// Presses keys, one after the other.
    pub(super) fn press(&self, keys: &str) {
        let of = |key: char| [json!({"type": "keyDown", "value": key}), json!({"type": "keyUp", "value": key})];
        let actions: Vec<Value> = keys.chars().flat_map(of).collect();
        self.post("/actions", &json!({"actions": [{"type": "key", "id": "keys", "actions": actions}]}));
    }

    /// Clicks what a selector finds first, where a person would have to find it too.
    pub(super) fn click(&self, selector: &str) {
        let found = self.post("/element", &json!({"using": "css selector", "value": selector}));
        let id = found.as_object().and_then(|it| it.values().next()?.as_str()).expect("an element").to_owned();
        self.post(&format!("/element/{id}/click"), &json!({}));
    }

    pub(super) fn command(&self, command: &str, parameters: &Value) {
        self.post("/goog/cdp/execute", &json!({"cmd": command, "params": parameters}));
    }

    /// What stands in one of the browser's logs since it was last asked.
    pub(super) fn log(&self, kind: &str) -> Vec<Value> {
        self.post("/se/log", &json!({ "type": kind })).as_array().cloned().unwrap_or_default()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The session ends the browser; without one there is none.
        let _ = self.agent.delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

fn capabilities(chromium: &Path, profile: &Path) -> Value {
    let fixed = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
    ];
    let mut arguments: Vec<String> = fixed.map(str::to_owned).to_vec();
    arguments.push(format!("--user-data-dir={}", profile.display()));
    json!({"capabilities": {"alwaysMatch": {
        "browserName": "chrome",
        "goog:chromeOptions": {"args": arguments, "binary": chromium},
        "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
    }}})
}

/// The port that the driver says it listens on; before that it says which one it was asked for.
fn port(line: &str) -> Option<u16> {
    line.split_once("started successfully on port ")?.1.trim_end_matches('.').trim().parse().ok()
}

fn which(name: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}
