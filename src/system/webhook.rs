//! A message posted to an address on the network, within bounds.

use std::io::Read;
use std::time::Duration;

use tokio::sync::oneshot;
use ureq::Agent;

/// What is posted, and where to.
#[derive(Clone)]
pub struct Post {
    /// The address. It stands in no error, for whoever knows it can often use it.
    pub url: String,
    /// Headers, beside those of every request.
    pub headers: Vec<(&'static str, String)>,
    /// The message.
    pub body: String,
    /// The longest time, until the answer is there.
    pub time: Duration,
}

/// What a server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// How long it wants to be left alone, as it wrote it.
    pub retry_after: Option<String>,
    /// The beginning of what it said.
    pub said: String,
}

/// Posts a message, and says later what was answered, or why nothing was. Redirects are not followed, for the message is
/// meant for nobody else.
#[must_use]
pub fn post(post: Post) -> oneshot::Receiver<Result<Answer, String>> {
    let (sender, answer) = oneshot::channel();
    // A thread of its own and none of the runtime's: a name that does not resolve must not keep us at the end.
    std::thread::spawn(move || {
        // Nobody may be waiting any more.
        let _ = sender.send(send(&post));
    });
    answer
}

fn send(post: &Post) -> Result<Answer, String> {
    let config = Agent::config_builder()
        .timeout_global(Some(post.time))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .build();
    let request = Agent::new_with_config(config).post(&post.url);
    let request = post.headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
    let mut answer = request.send(&post.body).map_err(|error| without_address(&error.to_string(), &post.url))?;
    let retry_after = answer.headers().get("retry-after").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let status = answer.status().as_u16();
    let mut said = Vec::new();
    // The answer is only for people; one that cannot be read says nothing.
    let _ = answer.body_mut().as_reader().take(300).read_to_end(&mut said);
    Ok(Answer { status, retry_after, said: without_address(&String::from_utf8_lossy(&said), &post.url) })
}

fn without_address(text: &str, url: &str) -> String {
    text.replace(url, "the address").split_whitespace().collect::<Vec<_>>().join(" ")
}
