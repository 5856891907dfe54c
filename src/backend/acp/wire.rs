//! Messages of JSON-RPC, one a line.

use serde_json::{Value, json};

/// What an agent sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Message {
    /// It asks for something, and waits.
    Request {
        /// To be repeated in the answer.
        id: Value,
        method: String,
        params: Value,
    },
    /// It says something.
    Notification { method: String, params: Value },
    /// It answers our request of this number.
    Reply { id: u64, result: Result<Value, Failure> },
}

/// An error that it answered with.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Failure {
    /// JSON-RPC's, the protocol's, or an HTTP status.
    pub(super) code: i64,
    pub(super) message: String,
    /// Of any type.
    pub(super) data: Value,
}

impl Message {
    /// The message in a line; `None` where there is none.
    pub(super) fn of(line: &str) -> Option<Self> {
        let Ok(Value::Object(mut fields)) = serde_json::from_str(line) else { return None };
        let mut take = |field: &str| fields.remove(field).filter(|value| !value.is_null());
        let (id, method, params) = (take("id"), take("method"), take("params").unwrap_or_default());
        match (id, method) {
            (Some(id), Some(Value::String(method))) => Some(Self::Request { id, method, params }),
            (None, Some(Value::String(method))) => Some(Self::Notification { method, params }),
            (Some(id), None) => {
                let result = match take("error") {
                    Some(error) => Err(Failure::of(&error)),
                    None => Ok(take("result").unwrap_or_default()),
                };
                // Some give our number back as a text.
                let id = id.as_u64().or_else(|| id.as_str()?.parse().ok())?;
                Some(Self::Reply { id, result })
            }
            _ => None,
        }
    }
}

impl Failure {
    fn of(error: &Value) -> Self {
        let message = error["message"].as_str().map_or_else(|| error.to_string(), str::to_owned);
        Self { code: error["code"].as_i64().unwrap_or(0), message, data: error["data"].clone() }
    }
}

/// A request of ours.
pub(super) fn request(id: u64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// Something that we say.
pub(super) fn notification(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

/// The answer to a request of the agent.
pub(super) fn answer(id: &Value, result: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
}

/// The answer to a request that we know nothing of.
pub(super) fn unknown(id: &Value, method: &str) -> String {
    let error = json!({ "code": -32601, "message": format!("there is no method {method} here") });
    json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_request_a_word_an_answer_or_nothing() {
        let failure = |code, message: &str, data| Failure { code, message: message.to_owned(), data };
        let reply = |id, result| Some(Message::Reply { id, result });
        for (line, message) in [
            (r#"{"id":1,"result":{"a":1}}"#, reply(1, Ok(json!({ "a": 1 })))),
            (r#"{"jsonrpc":"2.0","id":"7","result":null}"#, reply(7, Ok(Value::Null))),
            (r#"{"id":2,"error":{"code":429,"message":"slow"}}"#, reply(2, Err(failure(429, "slow", Value::Null)))),
            (r#"{"id":2,"error":{"code":"x","data":[1],"message":"m"}}"#, reply(2, Err(failure(0, "m", json!([1]))))),
            (r#"{"id":2,"error":"no"}"#, reply(2, Err(failure(0, "\"no\"", Value::Null)))),
            (
                r#"{"id":"q-1","method":"fs/read","params":[]}"#,
                Some(Message::Request { id: json!("q-1"), method: "fs/read".to_owned(), params: json!([]) }),
            ),
            (
                r#"{"method":"session/update"}"#,
                Some(Message::Notification { method: "session/update".to_owned(), params: Value::Null }),
            ),
            (r#"{"id":{},"result":1}"#, None),
            (r#"{"jsonrpc":"2.0"}"#, None),
            (r#"{"method":7}"#, None),
            ("[]", None),
            ("listening on stdio", None),
            (r#"{"id":1,"resul"#, None),
            ("", None),
        ] {
            assert_eq!(Message::of(line), message, "{line}");
        }
    }
}
