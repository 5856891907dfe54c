//! What a value must be, as a case writes it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a value must be. Literals are taken from the contract, never computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Matcher {
    /// Equal to a literal, or to a drawn `$name`.
    Is(serde_json::Value),
    /// Of a type.
    Type(ValueType),
    /// One of these literals.
    OneOf(Vec<serde_json::Value>),
    /// One of these literals by the clause, or another by a named reading.
    Accept {
        /// What the clause demands.
        is: serde_json::Value,
        /// What a reading allows besides.
        or: Vec<AcceptedValue>,
    },
    /// A text that contains another.
    Contains(String),
    /// Not there.
    Absent,
    /// A number in a closed range; numbers only.
    Between([f64; 2]),
    /// A list with at least this many items, each an object in which these hold (JSON pointer to matcher).
    Each {
        /// How many items at least.
        at_least: usize,
        /// What must hold in each.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        fields: BTreeMap<String, Matcher>,
    },
    /// Not there, or as the inner one says.
    Optional(Box<Matcher>),
    /// A list with at least one item, an object, in which these hold (JSON pointer to matcher).
    Has(BTreeMap<String, Matcher>),
    /// A text that matches a regular expression.
    Matches(String),
    /// Equal to the value at this JSON pointer of the same document's checkpoint on disk, named `<phase>#<pointer>`.
    SameAs(String),
    /// Equal, as a whole, to the newest checkpoint on disk.
    LatestCheckpoint,
}

/// A value that another legal reading allows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceptedValue {
    /// The value.
    pub value: serde_json::Value,
    /// The reading in the ledger that allows it; it also says whether it warns.
    pub reading: String,
}

/// Types of values, as the contract uses them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ValueType {
    /// Anything but null; an empty text is there, too.
    Present,
    /// A text.
    String,
    /// A text of at least one character.
    NonEmptyString,
    /// A finite number that is not negative.
    Number,
    /// A finite number without a fraction that is not negative.
    Integer,
    /// true or false.
    Boolean,
    /// A list.
    List,
    /// A list of texts, at least one.
    Strings,
    /// A mapping.
    Mapping,
    /// An ISO 8601 date and time; without a zone it warns.
    Timestamp,
}
