//! The kind of the documents that hold a script.

use serde_json::{Value, json};

use super::fault::CAN_BE_PLAYED;
use super::script::Script;
use crate::schema::{Kind, Marks};

/// What a scripted model answers.
pub const MODEL_SCRIPT: Kind = Kind::of::<Script>("model-script", examples)
    .place("fixtures/models/*.yaml, or a file of yours")
    .known_by(Marks { paths: &["models/*.yaml"], keys: &[] })
    .rules(&[CAN_BE_PLAYED]);

fn examples() -> Vec<Value> {
    vec![
        json!({
            "steps": [
                {"error": {"status": 529}},
                {"shell": "printf hello > greeting.txt"},
                {"text": "All done.", "usage": {"input": 6000, "cached": 5000, "output": 7}}
            ]
        }),
        json!({
            "routes": [{
                "name": "ordered",
                "match": "Run exactly this command: `(?<command>[^`]+)`",
                "reply": {"shell": "{{command}}"}
            }],
            "then": "text"
        }),
    ]
}
