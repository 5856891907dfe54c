//! `model`: serves a scripted model alone, so that anyone can try an agent without a key.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use camino::Utf8Path;
use serde_json::{Value, json};

use super::args::Serve;
use crate::cli::console::{CYAN, print, say};
use crate::cli::{ExitStatus, Failure};
use crate::conform::model::{Answered, By, MODEL_SCRIPT, Model, ModelError, Options, Prompt, RequestSeen, Script};
use crate::conform::observe::Interruption;
use crate::diag::{Budget, render};
use crate::schema::Checker;
use crate::system::clock::Millis;
use crate::system::files::{self, Appender, Privacy};
use crate::system::process::Interrupt;
use crate::system::{clock, ids};

/// Longest script, in bytes.
const LONGEST: u64 = 4 << 20;
/// How soon a signal is noticed.
const LOOK: Duration = Duration::from_millis(100);

/// Serves until it is interrupted, and shows each request.
pub(super) fn model(wish: &Serve) -> Result<ExitStatus, Failure> {
    let script = read(&wish.script)?;
    let log = wish.log.as_deref().map(|path| Appender::open(path, Privacy::Private));
    let log = log.transpose().map_err(|error| Failure::new(ExitStatus::WriteFailed, error))?;
    let interruption = Interruption::listen();
    let seed = wish.seed.unwrap_or_else(ids::seed);
    let model = Model::start(&script, &Options { port: wish.port, seed, epoch: clock::now() }).map_err(refused)?;
    let mut screen = Screen { json: wish.json, log };
    screen.listening(model.address(), seed)?;
    let mut follower = Follower::default();
    loop {
        if let Some(by) = interruption.by() {
            return Ok(match by {
                Interrupt::Interrupt => ExitStatus::Interrupted,
                Interrupt::Terminate => ExitStatus::Terminated,
            });
        }
        let mut news = Vec::new();
        model.wait_for(LOOK, |requests| {
            news.extend(follower.news(requests));
            !news.is_empty()
        });
        news.iter().try_for_each(|news| screen.show(news))?;
    }
}

fn read(path: &Path) -> Result<Script, Failure> {
    let bytes = files::read(path, LONGEST).map_err(|error| {
        Failure::new(ExitStatus::NoInput, error)
            .hint("a script is a YAML file; `loa-validate schema model-script` says what it holds")
    })?;
    let name = path.to_string_lossy();
    let checker = Checker::new(&MODEL_SCRIPT);
    checker.read(&bytes, Utf8Path::new(&name), &Budget::default()).map_err(|findings| {
        say(render::all(&name, &bytes, &findings));
        Failure::new(ExitStatus::Config, format!("the script is not valid: {} findings", findings.len()))
    })
}

fn refused(error: ModelError) -> Failure {
    match error {
        ModelError::Script(_) => Failure::new(ExitStatus::Config, error),
        ModelError::Listen { .. } => {
            Failure::new(ExitStatus::HarnessFailed, error).hint("without --port, any free one is taken")
        }
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
enum News {
    /// A request came, and its answer is on the way.
    Asked(Box<RequestSeen>),
    /// An answer was sent, or its client left.
    Ended { number: u64, at: Millis, left: bool },
}

/// Finds what is new in a record that grows.
#[derive(Debug, Default)]
struct Follower {
    shown: usize,
    open: BTreeSet<u64>,
}

impl Follower {
    fn news(&mut self, requests: &[RequestSeen]) -> Vec<News> {
        let fresh = &requests[self.shown..];
        self.shown = requests.len();
        self.open.extend(fresh.iter().map(|request| request.number));
        let mut news: Vec<News> = fresh.iter().map(|request| News::Asked(Box::new(request.clone()))).collect();
        self.open.retain(|number| {
            let request = usize::try_from(*number).ok().and_then(|index| requests.get(index));
            let Some((request, at)) = request.and_then(|request| Some((request, request.ended?))) else { return true };
            news.push(News::Ended { number: *number, at, left: request.left });
            false
        });
        news
    }
}

/// Where requests are shown.
#[derive(Debug)]
struct Screen {
    json: bool,
    log: Option<Appender>,
}

impl Screen {
    fn listening(&mut self, address: SocketAddr, seed: u64) -> Result<(), Failure> {
        let (anthropic, openai) = (format!("http://{address}"), format!("http://{address}/v1"));
        let machine = json!({
            "listening": {"address": address.to_string(), "anthropic": anthropic, "openai": openai, "seed": seed}
        });
        self.write(&machine, || instructions(&anthropic, &openai))
    }

    fn show(&mut self, news: &News) -> Result<(), Failure> {
        match news {
            News::Asked(request) => self.write(&json!({ "request": request }), || line(request)),
            News::Ended { number, at, left } => {
                let machine = json!({"ended": {"number": number, "at": at, "left": left}});
                let text =
                    || if *left { format!("{} #{number} the client left\n", seconds(*at)) } else { String::new() };
                self.write(&machine, text)
            }
        }
    }

    fn write(&mut self, machine: &Value, text: impl FnOnce() -> String) -> Result<(), Failure> {
        let entry = format!("{machine}\n");
        if let Some(log) = &mut self.log {
            log.append(entry.as_bytes()).map_err(|error| Failure::new(ExitStatus::WriteFailed, error))?;
        }
        print(&if self.json { entry } else { text() })
    }
}

/// What to type so that an agent asks here. The keys are words that no vendor would take.
fn instructions(anthropic: &str, openai: &str) -> String {
    format!(
        "\
{CYAN}listening{CYAN:#} on {anthropic}, until Ctrl-C

{CYAN}Claude Code{CYAN:#}
  export ANTHROPIC_BASE_URL={anthropic} ANTHROPIC_API_KEY=sk-none
  export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1
  claude -p --output-format stream-json --verbose --allowedTools Bash \"do the task\" </dev/null

{CYAN}Codex{CYAN:#}
  export SCRIPTED_KEY=sk-none
  codex exec --json --skip-git-repo-check -s workspace-write -c model=scripted -c model_provider=scripted \\
    -c 'model_providers.scripted={{name=\"scripted\",base_url=\"{openai}\",wire_api=\"responses\",env_key=\"SCRIPTED_KEY\"}}' \\
    \"do the task\" </dev/null

"
    )
}

/// A request in one line: when, who, what decided, what was answered.
fn line(request: &RequestSeen) -> String {
    let RequestSeen { number, at, dialect, answer, .. } = request;
    let by = match &request.by {
        By::Step(step) => format!("step {step}"),
        By::Route(name) => format!("route {name}"),
        By::After => "after the steps".to_owned(),
        By::Server => format!("{} {}", request.method, request.path),
    };
    let status = request.status.map_or("-".to_owned(), |status| status.to_string());
    let prompt = request.prompt.as_ref().map(asked).unwrap_or_default();
    let fault = request.fault.as_ref().map(|fault| format!(" ({fault})")).unwrap_or_default();
    let answer = if *answer == Answered::Text { String::new() } else { format!(" {answer}") };
    format!("{} #{number} {dialect} {by} -> {status}{answer}{prompt}{fault}\n", seconds(*at))
}

fn asked(prompt: &Prompt) -> String {
    let stream = if prompt.stream { "" } else { ", no stream" };
    let results = match prompt.last_results.len() {
        0 => String::new(),
        1 => ", brings 1 tool result".to_owned(),
        more => format!(", brings {more} tool results"),
    };
    format!("; {}{stream}, {} tools{results}", prompt.model, prompt.tools.len())
}

fn seconds(at: Millis) -> String {
    format!("{:>4}.{:03}", at / 1000, at % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conform::model::Dialect;

    fn request(number: u64, ended: Option<Millis>) -> RequestSeen {
        RequestSeen {
            number,
            at: 1_204,
            ended,
            left: true,
            method: "POST".to_owned(),
            path: "/v1/messages".to_owned(),
            headers: std::collections::BTreeMap::new(),
            dialect: Dialect::Anthropic,
            by: By::Step(1),
            answer: Answered::Stall,
            status: None,
            usage: None,
            away_ms: None,
            fault: None,
            prompt: None,
        }
    }

    #[test]
    fn each_request_is_news_twice() {
        let mut follower = Follower::default();
        let first = follower.news(&[request(0, None)]);
        assert_eq!(first, [News::Asked(Box::new(request(0, None)))]);
        assert_eq!(follower.news(&[request(0, None)]), []);
        let both = follower.news(&[request(0, Some(9)), request(1, Some(8))]);
        let ended = |number, at| News::Ended { number, at, left: true };
        assert_eq!(both, [News::Asked(Box::new(request(1, Some(8)))), ended(0, 9), ended(1, 8)]);
        assert_eq!(follower.news(&[request(0, Some(9)), request(1, Some(8))]), []);
    }

    #[test]
    fn a_request_is_one_line() {
        assert_eq!(line(&request(3, None)), "   1.204 #3 anthropic step 1 -> - stall\n");
        let prompt = Prompt { model: "m".to_owned(), tools: vec!["Bash".to_owned()], ..Prompt::default() };
        let fault = Some("it offers nothing".to_owned());
        let by = By::Route("ordered".to_owned());
        let other = RequestSeen {
            by,
            status: Some(200),
            answer: Answered::Text,
            prompt: Some(prompt),
            fault,
            ..request(0, None)
        };
        assert_eq!(
            line(&other),
            "   1.204 #0 anthropic route ordered -> 200; m, no stream, 1 tools (it offers nothing)\n"
        );
    }
}
