//! One connection of a client, from its first request to its end, orderly or not.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::Dialect;
use super::body::Scripted;
use super::dialect::{Ids, Operation, Rejected, Stamp};
use super::exchange::{End, Exchange, Sent};
use super::playbook::Playbook;
use super::record::{Entry, Record, Ticket};
use super::seen::RequestSeen;

/// The longest body that is read: what the vendors take.
const LONGEST_BODY: usize = 32 << 20;
/// How long a client may take to send a request's head, from the end of the one before, or its body.
const SLOWEST: Duration = Duration::from_mins(1);
/// How long what was sent has to reach the client before a reset, which throws away what did not.
const GRACE: Duration = Duration::from_millis(50);

/// The headers that are recorded. None of them carries a key.
const RECORDED: [&str; 14] = [
    "accept",
    "anthropic-beta",
    "anthropic-version",
    "content-encoding",
    "content-length",
    "content-type",
    "openai-beta",
    "originator",
    "session-id",
    "session_id",
    "user-agent",
    "x-app",
    "x-stainless-retry-count",
    "x-stainless-timeout",
];

/// What all connections share.
#[derive(Debug)]
pub(super) struct Play {
    pub(super) playbook: Playbook,
    pub(super) record: Arc<Record>,
    pub(super) seed: u64,
}

/// How a connection is cut, once a script says so.
#[derive(Debug, Default)]
struct Cut {
    now: Arc<Notify>,
    /// By a reset, and not by its orderly end.
    reset: AtomicBool,
    /// Whether something was sent before.
    sent: AtomicBool,
    /// For how many milliseconds nobody is to listen once the connection is over; 0 is not at all.
    away_ms: AtomicU32,
}

/// Serves a connection until either side ends it. For how long nobody is to listen then, if the script says so.
pub(super) async fn serve(stream: TcpStream, play: Arc<Play>) -> Option<Duration> {
    let cut = Arc::new(Cut::default());
    follow(stream, play, &cut).await;
    match cut.away_ms.load(Ordering::Relaxed) {
        0 => None,
        away => Some(Duration::from_millis(away.into())),
    }
}

async fn follow(stream: TcpStream, play: Arc<Play>, cut: &Arc<Cut>) {
    let service = service_fn(|request| answer(request, Arc::clone(&play), Arc::clone(cut)));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(SLOWEST);
    let mut connection = http.serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        // A client that breaks the rules of HTTP has been answered as far as it can be.
        _ = &mut connection => return,
        () = cut.now.notified() => {}
    }
    if cut.sent.load(Ordering::Relaxed) && timeout(GRACE, &mut connection).await.is_ok() {
        return;
    }
    let stream = connection.into_parts().io.into_inner();
    if cut.reset.load(Ordering::Relaxed) {
        // Where the host refuses it, the connection closes in good order, and the record says what was meant.
        let _ = stream.set_zero_linger();
    }
}

async fn answer(request: Request<Incoming>, play: Arc<Play>, cut: Arc<Cut>) -> Result<Response<Scripted>, Infallible> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let (dialect, asked) = match (Dialect::of_path(&path), &head.method) {
        (Some((dialect, operation)), &Method::POST) => (dialect, Some(operation)),
        _ => (Dialect::of_stranger(&path, |name| head.headers.contains_key(name)), None),
    };
    let body = match asked {
        None => Body::Unread,
        Some(_) => read(&head, body).await,
    };
    let is_hello = matches!((&head.method, path.as_str()), (&Method::HEAD, "/") | (&Method::GET, "/api/hello"));
    // Understood before the record is locked: this is the work.
    let question = match (asked, body) {
        (Some(operation), Body::Read(bytes)) => match dialect.read(&path, &bytes, operation) {
            Ok(asked) => Question::Asked(operation, Box::new(asked)),
            Err(rejected) => Question::Rejected(rejected),
        },
        (Some(_), Body::TooLarge) => Question::TooLarge,
        (Some(_), Body::Rejected(message)) => Question::Rejected(Rejected { message, param: None }),
        _ if is_hello => Question::Hello,
        _ => Question::NoSuchPath,
    };
    let (ticket, mut sent) = play.record.add(|entry| {
        let exchange = question.answer(dialect, &play, entry);
        let sent = exchange.sent.clone();
        (seen(&head, dialect, entry, exchange), sent)
    });
    if head.method == Method::HEAD {
        sent.pieces.clear();
    }
    Ok(respond(sent, ticket, &cut).await)
}

/// What a request comes to before the script has a say.
enum Question {
    Asked(Operation, Box<super::dialect::Asked>),
    Rejected(Rejected),
    TooLarge,
    Hello,
    NoSuchPath,
}

impl Question {
    fn answer(self, dialect: Dialect, play: &Play, entry: Entry) -> Exchange {
        let ids = Ids { seed: play.seed, number: entry.number };
        let stamp = Stamp { ids, created: play.record.epoch().wall().as_second() };
        match self {
            Self::Asked(operation, asked) => {
                Exchange::of(dialect, operation, *asked, &play.playbook, entry.before, stamp)
            }
            Self::Rejected(rejected) => Exchange::rejected(dialect, rejected, stamp),
            Self::TooLarge => Exchange::too_large(dialect, stamp),
            Self::Hello => Exchange::hello(dialect, stamp),
            Self::NoSuchPath => Exchange::no_such_path(dialect, stamp),
        }
    }
}

enum Body {
    Read(Vec<u8>),
    TooLarge,
    Rejected(String),
    Unread,
}

async fn read(head: &Parts, body: Incoming) -> Body {
    if let Some(encoding) = head.headers.get("content-encoding").filter(|encoding| *encoding != "identity") {
        let encoding = encoding.to_str().unwrap_or("unknown");
        return Body::Rejected(format!("The request body has an unsupported content encoding: {encoding}"));
    }
    if body.size_hint().lower() > LONGEST_BODY as u64 {
        return Body::TooLarge;
    }
    match timeout(SLOWEST, Limited::new(body, LONGEST_BODY).collect()).await {
        Ok(Ok(body)) => Body::Read(body.to_bytes().into()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Body::TooLarge,
        Ok(Err(_)) => Body::Rejected("The request body ended too early".to_owned()),
        Err(_) => Body::Rejected("The request body took too long to arrive".to_owned()),
    }
}

fn seen(head: &Parts, dialect: Dialect, entry: Entry, exchange: Exchange) -> RequestSeen {
    RequestSeen {
        number: entry.number,
        at: entry.at,
        ended: None,
        left: false,
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        headers: recorded(&head.headers),
        dialect,
        by: exchange.by,
        answer: exchange.answered,
        status: exchange.sent.status(),
        usage: exchange.usage,
        away_ms: exchange.away_ms,
        fault: exchange.fault,
        prompt: exchange.prompt,
    }
}

fn recorded(headers: &HeaderMap) -> BTreeMap<String, String> {
    let value = |name: &str| Some((name.to_owned(), headers.get(name)?.to_str().ok()?.to_owned()));
    RECORDED.into_iter().filter_map(value).collect()
}

async fn respond(sent: Sent, mut ticket: Ticket, cut: &Cut) -> Response<Scripted> {
    cut.reset.store(sent.end == End::Reset, Ordering::Relaxed);
    cut.sent.store(sent.head.is_some(), Ordering::Relaxed);
    cut.away_ms.store(sent.away_ms.unwrap_or_default(), Ordering::Relaxed);
    let Some(head) = &sent.head else {
        if sent.end != End::Stall {
            ticket.keep();
            cut.now.notify_one();
        }
        // The ticket is let go when the connection is.
        return pending().await;
    };
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::from_u16(head.status).expect("the schema allows statuses from 400 to 599");
    for (name, value) in &head.headers {
        let name = HeaderName::try_from(name).expect("the script was checked");
        response.headers_mut().insert(name, HeaderValue::try_from(value).expect("the script was checked"));
    }
    response.map(|()| Scripted::new(sent, Arc::clone(&cut.now), ticket))
}
