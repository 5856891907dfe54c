//! An answer's file: the document kind `resolution`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::contract::ResolutionAction;
use crate::schema::Kind;

/// An answer to an escalation, as a file. Closed: a remark under a misspelt key would be lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Resolution")]
#[serde(deny_unknown_fields)]
pub struct ResolutionDocument {
    /// The decision.
    pub action: ResolutionAction,
    /// Remarks, for the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// The document kind of an answer's file.
pub const RESOLUTION: Kind = Kind::of::<ResolutionDocument>("resolution", || {
    vec![json!({ "action": "fix_and_resume", "notes": "the token is renewed" }), json!({ "action": "abort" })]
})
.place("what `loa-run resolve --file` is given");
