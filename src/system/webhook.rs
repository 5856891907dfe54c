//! A message posted to an address on the network, within bounds.

use std::io::Read;
use std::time::Duration;

use tokio::sync::oneshot;
use ureq::Agent;

/// Posts `body` as JSON, and says later whether it was delivered: an answer of 2xx, and otherwise the reason, without the
/// address, which whoever knows it can often use. Redirects are not followed, for the message is meant for nobody else.
#[must_use]
pub fn post(url: String, body: String, time: Duration) -> oneshot::Receiver<Result<(), String>> {
    let (sender, answer) = oneshot::channel();
    // A thread of its own and none of the runtime's: a name that does not resolve must not keep us at the end.
    std::thread::spawn(move || {
        // Nobody may be waiting any more.
        let _ = sender.send(send(&url, &body, time));
    });
    answer
}

fn send(url: &str, body: &str, time: Duration) -> Result<(), String> {
    let config =
        Agent::config_builder().timeout_global(Some(time)).http_status_as_error(false).max_redirects(0).build();
    let request = Agent::new_with_config(config).post(url).header("content-type", "application/json");
    let mut answer = request.send(body).map_err(|error| without_address(&error.to_string(), url))?;
    let status = answer.status();
    if status.is_success() {
        return Ok(());
    }
    let mut said = Vec::new();
    // The answer is only for people; one that cannot be read says nothing.
    let _ = answer.body_mut().as_reader().take(300).read_to_end(&mut said);
    Err(without_address(
        format!("status {status}: {}", String::from_utf8_lossy(&said)).trim_end_matches([':', ' ']),
        url,
    ))
}

fn without_address(text: &str, url: &str) -> String {
    text.replace(url, "the address").split_whitespace().collect::<Vec<_>>().join(" ")
}
