//! Closed vocabularies of the spec: an enum whose variants are spelt exactly one way on the wire.

/// A word that stands in no vocabulary of the spec.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a {what}; expected one of: {}", expected.join(", "))]
pub struct UnknownWord {
    /// What was read, such as `phase`.
    pub what: &'static str,
    /// The word as found.
    pub found: String,
    /// Every word that would have been right, in the order of the spec.
    pub expected: &'static [&'static str],
}

/// Declares a vocabulary: the enum, its wire words, `ALL`, `WORDS`, `as_str`, `meaning`, `Display`, `FromStr` and serde.
macro_rules! vocabulary {
    (
        $(#[$meta:meta])*
        pub enum $name:ident ($what:literal) {
            $($(#[$($variant_meta:tt)+])+ $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord,
            serde::Serialize, serde::Deserialize,
        )]
        pub enum $name {
            $($(#[$($variant_meta)+])+ #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// Every variant, in the order of the spec.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];
            /// Every wire word, in the order of the spec.
            pub const WORDS: &'static [&'static str] = &[$($word,)+];

            /// What a word means, in a sentence or two: its documentation.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $crate::contract::meaning!($(#[$($variant_meta)+])+).trim_ascii(),)+ }
            }

            /// The wire word.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        // By hand: with the derived one, words that carry docs would become a choice of constants, and no list of keys.
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "enum": Self::WORDS, "description": $what })
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::contract::UnknownWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($word => Ok(Self::$variant),)+
                    _ => Err($crate::contract::UnknownWord {
                        what: $what,
                        found: text.to_owned(),
                        expected: Self::WORDS,
                    }),
                }
            }
        }
    };
}

/// The documentation of a word.
macro_rules! meaning {
    ($(#[doc = $text:literal])+ $(#[default])?) => {
        concat!($($text),+)
    };
}

pub(crate) use {meaning, vocabulary};
