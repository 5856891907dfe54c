//! Identifiers: opaque, never empty (Checkpoint Schema: `execution_id`; Escalation Report Schema: `session_id`).

use std::fmt;

use serde::{Deserialize, Serialize};

/// An identifier of no characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an identifier must not be empty")]
pub struct EmptyId;

macro_rules! id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Wraps a non-empty text.
            ///
            /// # Errors
            /// [`EmptyId`] when the text has no characters.
            pub fn new(text: impl Into<String>) -> Result<Self, EmptyId> {
                let text = text.into();
                if text.is_empty() { Err(EmptyId) } else { Ok(Self(text)) }
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "minLength": 1 })
            }
        }

        impl TryFrom<String> for $name {
            type Error = EmptyId;

            fn try_from(text: String) -> Result<Self, EmptyId> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

id! {
    /// One execution of the phases; the same in every document of a run, and kept by a resume.
    ExecutionId
}
id! {
    /// One process lifetime of a runtime working on an execution.
    SessionId
}

impl ExecutionId {
    /// The id as the name of a file or folder: others may choose ids with any characters.
    #[must_use]
    pub fn file_name(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        let name: String = self.as_str().chars().take(100).map(plain).collect();
        if name.starts_with('.') { format!("_{name}") } else { name }
    }

    /// What names a call of this execution, so that an answer is taken for no other: the name of its report's files.
    #[must_use]
    pub fn call(&self, number: u32) -> String {
        format!("{}-{number}", self.file_name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_cannot_lead_out_of_a_folder_and_a_shell_takes_a_call_as_one_word() {
        let id = |text: &str| ExecutionId::new(text).expect("not empty");
        for (text, name) in [("exec-20260131-abc123", "exec-20260131-abc123"), ("../x", "_.._x"), ("a/b c", "a_b_c")] {
            assert_eq!(id(text).file_name(), name);
            assert_eq!(id(text).call(3), format!("{name}-3"));
        }
    }
}
