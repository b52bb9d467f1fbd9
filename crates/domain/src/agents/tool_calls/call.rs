//! What an agent asks a device to do.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::identity::Aid;

/// Longest id of a call, in bytes.
pub const MAX_CALL_ID: usize = 128;

/// The id that an agent gives to a call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(String);

/// A text that is no id of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("call_id: expected 1 to {MAX_CALL_ID} printable ASCII characters without spaces")]
pub struct InvalidCallId;

impl CallId {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id of the message with the answer. It is always the same one, so that a call has one answer, however often a
    /// device restarts.
    #[must_use]
    pub fn answer_message_id(&self, agent: &Aid) -> String {
        let digest = Sha256::digest(format!("{agent} {self}"));
        format!("tool-response-{}", hex::encode(&digest[..16]))
    }
}

impl FromStr for CallId {
    type Err = InvalidCallId;

    fn from_str(text: &str) -> Result<Self, InvalidCallId> {
        let is_valid =
            (1..=MAX_CALL_ID).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_valid { Ok(Self(text.to_owned())) } else { Err(InvalidCallId) }
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    pub id: CallId,
    pub tool: String,
    pub arguments: Value,
    /// The scope that the agent claims to use. The one of the manifest counts.
    pub scope: String,
    /// Shorter than what the manifest declares, if the agent cannot wait so long.
    pub timeout_ms: Option<u64>,
}

impl ToolCall {
    /// Returns the SHA-256 of the canonical arguments: what a log may keep of them.
    #[must_use]
    pub fn arguments_digest(&self) -> String {
        // Every JSON value has a canonical form; the other one only keeps this total.
        let canonical = serde_json_canonicalizer::to_vec(&self.arguments)
            .unwrap_or_else(|_| self.arguments.to_string().into_bytes());
        hex::encode(Sha256::digest(canonical))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_of_calls_are_short_and_printable() {
        let longest = "x".repeat(MAX_CALL_ID);
        for id in ["call_abc123", "!", &longest] {
            assert_eq!(id.parse::<CallId>().map(|id| id.to_string()), Ok(id.to_owned()));
        }
        for text in ["", "a b", "a\n", "é", &format!("{longest}x")] {
            assert_eq!(text.parse::<CallId>(), Err(InvalidCallId), "{text:?}");
        }
    }

    #[test]
    fn answer_has_one_message_id_for_each_agent_and_call() {
        let id = |agent: &str, call: &str| {
            let call: CallId = call.parse().expect("an id");
            call.answer_message_id(&agent.parse().expect("an AID"))
        };
        let expected = "tool-response-";
        let first = id("helper.guild.example", "call-1");
        assert!(first.starts_with(expected) && first.len() == expected.len() + 32, "{first}");
        assert_eq!(first, id("helper.guild.example", "call-1"));
        assert_ne!(first, id("helper.guild.example", "call-2"));
        assert_ne!(first, id("other.guild.example", "call-1"));
    }

    #[test]
    fn digest_does_not_depend_on_the_order_of_members() {
        let call = |arguments: &str| ToolCall {
            id: "call-1".parse().expect("an id"),
            tool: "read_file".to_owned(),
            arguments: serde_json::from_str(arguments).expect("JSON"),
            scope: "filesystem:read".to_owned(),
            timeout_ms: None,
        };
        let digest = call(r#"{"a": 1, "b": [2.0]}"#).arguments_digest();
        assert_eq!(digest, call(r#"{"b":[2],"a":1.0}"#).arguments_digest());
        assert_ne!(digest, call(r#"{"a": 1, "b": [3]}"#).arguments_digest());
        let empty = ToolCall { arguments: json!({}), ..call("null") };
        assert_eq!(
            empty.arguments_digest(),
            "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
        );
    }
}
