//! Texts of a pipeline, each with a rule of its own.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::access::principal::Slug;

/// A text that breaks its rule. It is not repeated, because it may be long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPipelineText {
    #[error("workers: a name has 2 to 40 lower-case letters, digits and inner hyphens")]
    WorkerName,
    #[error(
        "workers: a keyword has 1 to {} characters, none of them a control character",
        Keyword::MAX_CHARS
    )]
    Keyword,
    #[error(
        "enabledTools: a name has 1 to {} characters, none of them a control character",
        ToolName::MAX_CHARS
    )]
    Tool,
}

/// A short name, unique in a pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WorkerName(String);

/// A word or a phrase. Upper and lower case are the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Keyword(String);

/// The name of a tool, as the questions of agents have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolName(String);

/// Something that an agent is told with a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContextEntry {
    pub description: String,
    pub value: String,
}

impl ContextEntry {
    pub const MAX_DESCRIPTION_CHARS: usize = 200;
    pub const MAX_VALUE_BYTES: usize = 8 * 1024;

    pub(super) fn is_valid(&self) -> bool {
        let is_allowed = |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r');
        is_name(&self.description, Self::MAX_DESCRIPTION_CHARS)
            && self.value.len() <= Self::MAX_VALUE_BYTES
            && self.value.chars().all(is_allowed)
    }
}

impl Keyword {
    pub const MAX_CHARS: usize = 64;

    /// Returns whether a text in lower case contains the keyword, not as a part of a longer word of ASCII letters.
    pub(super) fn occurs_in(&self, text: &str) -> bool {
        let keyword = self.0.to_lowercase();
        let joins = |left: Option<char>, right: Option<char>| {
            let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
            is_letter(left) && is_letter(right)
        };
        text.match_indices(&keyword).any(|(start, found)| {
            let (before, after) = (&text[..start], &text[start + found.len()..]);
            !joins(before.chars().next_back(), found.chars().next())
                && !joins(found.chars().next_back(), after.chars().next())
        })
    }
}

impl ToolName {
    pub const MAX_CHARS: usize = 128;
}

fn is_name(text: &str, max_chars: usize) -> bool {
    !text.trim().is_empty() && text.chars().count() <= max_chars && !text.chars().any(char::is_control)
}

/// A text with a rule of its own.
macro_rules! checked_text {
    ($name:ident, $error:expr, $is_valid:expr) => {
        impl $name {
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidPipelineText;

            fn try_from(text: String) -> Result<Self, InvalidPipelineText> {
                let is_valid: fn(&str) -> bool = $is_valid;
                if is_valid(&text) { Ok(Self(text)) } else { Err($error) }
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

checked_text!(WorkerName, InvalidPipelineText::WorkerName, |text| text.parse::<Slug>().is_ok());
checked_text!(Keyword, InvalidPipelineText::Keyword, |text| is_name(text, Self::MAX_CHARS));
checked_text!(ToolName, InvalidPipelineText::Tool, |text| is_name(text, Self::MAX_CHARS));
