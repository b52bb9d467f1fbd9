//! Events of a run: what a runner reports, and what of it counts for the result.
//!
//! A payload is the backend's own and passes on as it is. What the fold needs of it is read once, at the edge, into a
//! [`Mark`]; an event that cannot be understood is still an event.

use serde_json::Value;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::ids::{CommandId, EntryId, RunId};
use crate::journal::follow::notice;

/// The types of event that mean something here. Others pass on untouched.
pub const ASSISTANT_MESSAGE: &str = "assistant_message";
/// A piece of a message that is still being written; the whole message follows. It is never the reply.
pub const ASSISTANT_DELTA: &str = "assistant_delta";
pub const TOOL_CALL: &str = "tool_call";
pub const COMMAND_OUTPUT: &str = "command_output";
pub const ARTIFACT: &str = "artifact";
pub const BACKEND_STATUS: &str = "backend_status";
pub const ERROR: &str = "error";
pub const USAGE: &str = "usage";

/// The types that the server alone writes, in the transaction of the change that they describe.
pub const TERMINAL_STATUS: &str = "terminal_status";
pub const RUN_STATUS: &str = "run_status";
pub const COMMAND_STATUS: &str = "command_status";

const SERVERS_OWN: [&str; 3] = [TERMINAL_STATUS, RUN_STATUS, COMMAND_STATUS];

/// A type's name: what a reader may filter by.
const TYPE_BYTES: std::ops::RangeInclusive<usize> = 1..=64;

/// A runner's own id of an event.
const ID_BYTES: std::ops::RangeInclusive<usize> = 1..=128;

/// Words kept of a tool call: longer ones are cut.
const WORD_CHARS: usize = 64;

/// Why an event is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEvent {
    #[error("id: use 1 to 128 visible ASCII characters, the same when the event is sent again")]
    Id,
    #[error("type: use 1 to 64 lower-case letters, digits and `_`")]
    Type,
    #[error("type: `{0}` is written by the server: use the status routes")]
    Reserved(&'static str),
    #[error("type: `{0}` is what a stream says of itself: use another name")]
    Notice(&'static str),
}

/// Returns the entry id of a runner's event: the same for the same event of the same run, whoever sends it again.
///
/// An id that says its place, a UUIDv7 or one that ends in a number, keeps it in front: events that are written together
/// then stand together in the index, and a busy run costs PostgreSQL a page of it and not one an event.
pub fn entry_id(run: RunId, own: &str) -> Result<EntryId, InvalidEvent> {
    if !ID_BYTES.contains(&own.len()) || !own.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(InvalidEvent::Id);
    }
    let digest = Sha256::new().chain_update(run.as_uuid()).chain_update(own).finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    if let Some(place) = place(own) {
        bytes[..PLACE_BYTES].copy_from_slice(&place);
    }
    Ok(EntryId::from_uuid(uuid::Builder::from_custom_bytes(bytes).into_uuid()))
}

/// As many as the time of a UUIDv7 has.
const PLACE_BYTES: usize = 6;

/// Digits of a number that fits into its place.
const PLACE_DIGITS: usize = 14;

fn place(own: &str) -> Option<[u8; PLACE_BYTES]> {
    let mut place = [0; PLACE_BYTES];
    if let Some(timed) = Uuid::try_parse(own).ok().filter(|id| id.get_version_num() == 7) {
        place.copy_from_slice(&timed.as_bytes()[..PLACE_BYTES]);
        return Some(place);
    }
    let digits = own.bytes().rev().take(PLACE_DIGITS).take_while(u8::is_ascii_digit).count();
    let number: u64 = own[own.len() - digits..].parse().ok()?;
    place.copy_from_slice(&number.to_be_bytes()[8 - PLACE_BYTES..]);
    Some(place)
}

/// Checks the type of an event that a runner sends.
pub fn check_type(name: &str) -> Result<(), InvalidEvent> {
    if let Some(own) = SERVERS_OWN.into_iter().find(|own| *own == name) {
        return Err(InvalidEvent::Reserved(own));
    }
    // A reader must not take a runner's word for the server's: `closed` would end its stream.
    if let Some(own) = notice::ALL.into_iter().find(|own| *own == name) {
        return Err(InvalidEvent::Notice(own));
    }
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    if TYPE_BYTES.contains(&name.len()) && name.bytes().all(is_plain) {
        Ok(())
    } else {
        Err(InvalidEvent::Type)
    }
}

/// An event's words as they are kept.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Body {
    /// The runner's own id; none where the server wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_id: Option<CommandId>,
    pub payload: Value,
}

impl Body {
    #[must_use]
    pub fn write(&self) -> String {
        // Values that came from JSON go back into it.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Reads what counts of an event as it is kept. One that was erased counts as one that says nothing.
#[must_use]
pub fn mark_of(kind: &str, body: Option<&str>) -> Mark {
    match body.and_then(|body| serde_json::from_str::<Body>(body).ok()) {
        Some(body) => Mark::of(kind, body.command_id, &body.payload),
        None => Mark { command: None, what: What::Other },
    }
}

/// What of an event counts for the result of its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The command that it belongs to, where it belongs to one.
    pub command: Option<CommandId>,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    Assistant {
        /// Whether the backend itself says that this is the reply.
        authority: bool,
        is_final: bool,
        text_truncated: bool,
        output_truncated: bool,
        is_empty: bool,
    },
    /// A piece of a message.
    Piece,
    ToolBegan {
        call: String,
    },
    ToolEnded {
        call: String,
        status: String,
        exit_code: Option<i64>,
    },
    Output {
        bytes: u64,
        truncated: bool,
    },
    Artifact {
        bytes: u64,
        truncated: bool,
    },
    Transport {
        connected: bool,
    },
    Usage(Usage),
    Terminal,
    Other,
}

/// What something cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    pub output_tokens: u64,
    pub active_ms: u64,
    pub tool_calls: u64,
}

impl Usage {
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            cached_input_tokens: self.cached_input_tokens.saturating_add(other.cached_input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            active_ms: self.active_ms.saturating_add(other.active_ms),
            tool_calls: self.tool_calls.saturating_add(other.tool_calls),
        }
    }
}

impl Mark {
    /// Reads what counts of an event.
    #[must_use]
    pub fn of(kind: &str, command: Option<CommandId>, payload: &Value) -> Self {
        let what = match kind {
            ASSISTANT_MESSAGE => assistant(payload),
            ASSISTANT_DELTA => What::Piece,
            TOOL_CALL => tool(payload),
            COMMAND_OUTPUT => {
                What::Output { bytes: size(payload), truncated: is(payload, "outputTruncated") }
            }
            ARTIFACT => What::Artifact { bytes: size(payload), truncated: is(payload, "truncated") },
            BACKEND_STATUS => status(payload),
            USAGE => What::Usage(usage(payload)),
            TERMINAL_STATUS => What::Terminal,
            _ => What::Other,
        };
        Self { command, what }
    }
}

fn assistant(payload: &Value) -> What {
    let text = payload.get("text").and_then(Value::as_str).unwrap_or_default();
    What::Assistant {
        authority: is(payload, "replyAuthority"),
        is_final: is(payload, "final"),
        text_truncated: is(payload, "textTruncated"),
        output_truncated: is(payload, "outputTruncated"),
        is_empty: text.trim().is_empty(),
    }
}

fn tool(payload: &Value) -> What {
    let word = |name: &str| {
        let text = payload.get(name).and_then(Value::as_str)?;
        Some(text.chars().take(WORD_CHARS).collect::<String>())
    };
    let call = word("callId").or_else(|| word("itemId")).unwrap_or_default();
    match word("status") {
        Some(status) if !["started", "running", "in_progress", "inProgress"].contains(&status.as_str()) => {
            What::ToolEnded { call, status, exit_code: payload.get("exitCode").and_then(Value::as_i64) }
        }
        Some(_) | None => What::ToolBegan { call },
    }
}

fn status(payload: &Value) -> What {
    match payload.get("phase").and_then(Value::as_str) {
        Some("transport-disconnected") => What::Transport { connected: false },
        Some("transport-connected") => What::Transport { connected: true },
        Some(_) | None => What::Other,
    }
}

fn usage(payload: &Value) -> Usage {
    let number = |name: &str| payload.get(name).and_then(Value::as_u64).unwrap_or(0);
    Usage {
        input_tokens: number("inputTokens"),
        cached_input_tokens: number("cachedInputTokens"),
        output_tokens: number("outputTokens"),
        active_ms: number("activeMs"),
        // Counted from the tool calls themselves.
        tool_calls: 0,
    }
}

fn is(payload: &Value, name: &str) -> bool {
    payload.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// Returns how large something is: what its `bytes` say, else the length of its text.
fn size(payload: &Value) -> u64 {
    let text = || payload.get("text").and_then(Value::as_str).map_or(0, str::len);
    payload.get("bytes").and_then(Value::as_u64).unwrap_or_else(|| u64::try_from(text()).unwrap_or(0))
}

/// Returns the id of an entry that the server writes once for a cause, so that a repeat finds it there.
#[must_use]
pub fn servers_entry(run: RunId, cause: &str, of: Uuid, number: i64) -> EntryId {
    let digest = Sha256::new()
        .chain_update(run.as_uuid())
        .chain_update([0])
        .chain_update(cause)
        .chain_update(of)
        .chain_update(number.to_be_bytes())
        .finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    EntryId::from_uuid(uuid::Builder::from_custom_bytes(bytes).into_uuid())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_same_event_of_a_run_has_the_same_entry_id_and_another_run_another() {
        let (one, other) = (RunId::generate(), RunId::generate());
        assert_eq!(entry_id(one, "evt-1"), entry_id(one, "evt-1"));
        assert_ne!(entry_id(one, "evt-1"), entry_id(one, "evt-2"));
        assert_ne!(entry_id(one, "evt-1"), entry_id(other, "evt-1"));
        assert_eq!(entry_id(one, "with space"), Err(InvalidEvent::Id));
    }

    #[test]
    fn events_that_follow_each_other_stand_next_to_each_other_and_are_never_the_same() {
        let run = RunId::generate();
        let counted: Vec<_> = (8..12).filter_map(|n| entry_id(run, &format!("3-{n}")).ok()).collect();
        assert!(counted.is_sorted(), "{counted:?}");
        let timed = |at| uuid::Builder::from_unix_timestamp_millis(at, &[7; 10]).into_uuid().to_string();
        let timed: Vec<_> = (1_000..1_004).filter_map(|at| entry_id(run, &timed(at)).ok()).collect();
        assert!(timed.is_sorted(), "{timed:?}");
        assert_ne!(entry_id(run, "1-7"), entry_id(run, "2-7"), "of two lives of a runner");
        assert_ne!(entry_id(run, "no-place"), entry_id(run, "no-place-either"));
    }

    #[test]
    fn a_runner_cannot_write_what_only_the_server_may_say() {
        assert_eq!(check_type("terminal_status"), Err(InvalidEvent::Reserved("terminal_status")));
        for own in notice::ALL {
            assert_eq!(
                check_type(own),
                Err(InvalidEvent::Notice(own)),
                "a runner would speak for the server"
            );
        }
        assert_eq!(check_type("a_new_kind_of_event"), Ok(()));
        assert_eq!(check_type("With-Dash"), Err(InvalidEvent::Type));
    }

    #[test]
    fn a_tool_call_without_an_end_has_begun() {
        let began = Mark::of(TOOL_CALL, None, &json!({ "callId": "c1", "status": "inProgress" }));
        assert_eq!(began.what, What::ToolBegan { call: "c1".into() });
        let ended =
            Mark::of(TOOL_CALL, None, &json!({ "callId": "c1", "status": "completed", "exitCode": 3 }));
        let expected = What::ToolEnded { call: "c1".into(), status: "completed".into(), exit_code: Some(3) };
        assert_eq!(ended.what, expected);
    }

    proptest! {
        #[test]
        fn any_payload_of_any_type_is_an_event(kind in "[a-z_]{1,20}", payload in "[ -~]{0,200}") {
            let payload = serde_json::from_str(&payload).unwrap_or(Value::String(payload));
            let _read = Mark::of(&kind, None, &payload);
        }
    }
}
