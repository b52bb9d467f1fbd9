//! Run events: what runners report, and the parts that the result is computed from.
//!
//! Payloads are defined by the backend and stored unchanged. The parts that the fold needs are parsed once, when the
//! event arrives, into a [`ParsedEvent`]. An event with an unknown payload is still accepted.

use serde_json::Value;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::ids::{CommandId, EntryId, RunId};
use crate::journal::follow::notice;

/// Event types that the server interprets. Other types are stored unchanged.
pub const ASSISTANT_MESSAGE: &str = "assistant_message";
/// A part of a message in progress; the complete message follows. It is never the reply.
pub const ASSISTANT_DELTA: &str = "assistant_delta";
/// A part of the agent's reasoning in progress; the complete text follows.
pub const REASONING_DELTA: &str = "reasoning_delta";
/// A complete text of the agent's reasoning. It is never the reply.
pub const REASONING: &str = "reasoning";
pub const TOOL_CALL: &str = "tool_call";
pub const COMMAND_OUTPUT: &str = "command_output";
pub const ARTIFACT: &str = "artifact";
pub const BACKEND_STATUS: &str = "backend_status";
pub const ERROR: &str = "error";
pub const USAGE: &str = "usage";

/// Event types that our runners report, and the server does not interpret.
pub const APPROVAL_DECLINED: &str = "approval_declined";
pub const BACKEND_EVENT: &str = "backend_event";

/// Event types that only the server writes, in the transaction of the change that they describe.
pub const TERMINAL_STATUS: &str = "terminal_status";
pub const RUN_STATUS: &str = "run_status";
pub const COMMAND_STATUS: &str = "command_status";
/// The text of a turn or steer, redacted.
pub const USER_MESSAGE: &str = "user_message";
/// An agent asks before it acts.
pub const APPROVAL_REQUESTED: &str = "approval_requested";
/// A new state of such a question.
pub const APPROVAL_STATUS: &str = "approval_status";
/// An answer to it that does not decide yet.
pub const APPROVAL_VOTE: &str = "approval_vote";
/// A client's own run id for a turn, or for the part of it that follows an answer.
pub const CLIENT_RUN: &str = "client_run";

const SERVER_TYPES: [&str; 8] = [
    TERMINAL_STATUS,
    RUN_STATUS,
    COMMAND_STATUS,
    USER_MESSAGE,
    APPROVAL_REQUESTED,
    APPROVAL_STATUS,
    APPROVAL_VOTE,
    CLIENT_RUN,
];

/// Phases of a `backend_status` event that only the server writes: who holds the run, and who waits for it.
pub const RUN_CLAIMED: &str = "run-claimed";
pub const LEASE_RECOVERED: &str = "lease-recovered";
pub const LEASE_WAITING: &str = "lease-waiting";

const SERVER_PHASES: [&str; 3] = [RUN_CLAIMED, LEASE_RECOVERED, LEASE_WAITING];

/// Length of an event type.
const TYPE_LENGTH: std::ops::RangeInclusive<usize> = 1..=64;

/// Length of a runner's event id.
const ID_LENGTH: std::ops::RangeInclusive<usize> = 1..=128;

/// Maximum length of a tool call id or status. Longer ones are truncated.
const MAX_TOOL_TEXT: usize = 64;

/// Why an event is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEvent {
    #[error("id: use 1 to 128 visible ASCII characters, and the same id for a retry")]
    Id,
    #[error("type: use 1 to 64 lower-case letters, digits and `_`")]
    Type,
    #[error("type: `{0}` is reserved for the server: use the status endpoints")]
    Reserved(&'static str),
    #[error("type: `{0}` is reserved for stream notices: use another name")]
    Notice(&'static str),
    #[error("payload.phase: `{0}` is reserved for the server")]
    ReservedPhase(&'static str),
    #[error("payload: an event has at most {0} bytes (runs.max_event_bytes)")]
    Size(u64),
}

/// Returns the entry id of a runner's event. It is the same for every retry of the event.
///
/// If the event id is a UUIDv7 or ends in a number, the entry id starts with that time or number. Consecutive events
/// are then adjacent in the index, and a busy run touches few index pages instead of one per event.
pub fn entry_id(run: RunId, event_id: &str) -> Result<EntryId, InvalidEvent> {
    if !ID_LENGTH.contains(&event_id.len()) || !event_id.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(InvalidEvent::Id);
    }
    let digest = Sha256::new().chain_update(run.as_uuid()).chain_update(event_id).finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    if let Some(prefix) = sort_prefix(event_id) {
        bytes[..PREFIX_BYTES].copy_from_slice(&prefix);
    }
    Ok(EntryId::from_uuid(uuid::Builder::from_custom_bytes(bytes).into_uuid()))
}

/// Length of the timestamp in a UUIDv7.
const PREFIX_BYTES: usize = 6;

/// Decimal digits that fit into the prefix.
const PREFIX_DIGITS: usize = 14;

fn sort_prefix(event_id: &str) -> Option<[u8; PREFIX_BYTES]> {
    let mut prefix = [0; PREFIX_BYTES];
    if let Some(timed) = Uuid::try_parse(event_id).ok().filter(|id| id.get_version_num() == 7) {
        prefix.copy_from_slice(&timed.as_bytes()[..PREFIX_BYTES]);
        return Some(prefix);
    }
    let digits = event_id.bytes().rev().take(PREFIX_DIGITS).take_while(u8::is_ascii_digit).count();
    let number: u64 = event_id[event_id.len() - digits..].parse().ok()?;
    prefix.copy_from_slice(&number.to_be_bytes()[8 - PREFIX_BYTES..]);
    Some(prefix)
}

/// Validates the type and the phase of an event from a runner.
pub fn validate(kind: &str, payload: &Value) -> Result<(), InvalidEvent> {
    validate_type(kind)?;
    let phase = if kind == BACKEND_STATUS { payload.get("phase").and_then(Value::as_str) } else { None };
    match SERVER_PHASES.into_iter().find(|reserved| Some(*reserved) == phase) {
        Some(reserved) => Err(InvalidEvent::ReservedPhase(reserved)),
        None => Ok(()),
    }
}

fn validate_type(name: &str) -> Result<(), InvalidEvent> {
    if let Some(reserved) = SERVER_TYPES.into_iter().find(|reserved| *reserved == name) {
        return Err(InvalidEvent::Reserved(reserved));
    }
    // Readers would mistake such an event for a notice of the server: `closed` would end their stream.
    if let Some(notice) = notice::ALL.into_iter().find(|notice| *notice == name) {
        return Err(InvalidEvent::Notice(notice));
    }
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    if TYPE_LENGTH.contains(&name.len()) && name.bytes().all(is_plain) {
        Ok(())
    } else {
        Err(InvalidEvent::Type)
    }
}

/// The stored body of an event.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventBody {
    /// Whether the event arrived after its command had ended. Results ignore it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// The runner's event id. `None` for events of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_id: Option<CommandId>,
    pub payload: Value,
}

impl EventBody {
    #[must_use]
    pub fn new(id: Option<String>, command_id: Option<CommandId>, payload: Value) -> Self {
        Self { late: false, id, command_id, payload }
    }

    #[must_use]
    pub fn to_json(&self) -> String {
        // Serialising parsed JSON cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Returns the text of an [`EventBody`] with the mark of a late event.
#[must_use]
pub fn mark_late(body: &str) -> String {
    match body.strip_prefix('{') {
        Some(fields) => format!("{{\"late\":true,{fields}"),
        None => body.to_owned(),
    }
}

/// A stored event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    pub parsed: ParsedEvent,
    pub late: bool,
    /// Size of the stored body.
    pub bytes: u64,
}

/// Parses a stored event. An erased body is treated as unknown content.
#[must_use]
pub fn parse_stored(kind: &str, body: Option<&str>) -> StoredEvent {
    let bytes = body.map_or(0, str::len) as u64;
    match body.and_then(|body| serde_json::from_str::<EventBody>(body).ok()) {
        Some(body) => {
            let parsed = ParsedEvent::new(kind, body.command_id, &body.payload);
            StoredEvent { parsed, late: body.late, bytes }
        }
        None => {
            let parsed = ParsedEvent { command: None, content: EventContent::Other };
            StoredEvent { parsed, late: false, bytes }
        }
    }
}

/// The parts of an event that the result of a run is computed from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedEvent {
    /// The command that the event belongs to, if any.
    pub command: Option<CommandId>,
    pub content: EventContent,
}

/// The interpreted content of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventContent {
    Assistant {
        /// Whether the backend marks this message as the reply.
        authority: bool,
        is_final: bool,
        text_truncated: bool,
        output_truncated: bool,
        is_empty: bool,
    },
    /// A part of a message.
    Delta,
    ToolStarted {
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

/// Resource usage.
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

impl ParsedEvent {
    /// Parses an event.
    #[must_use]
    pub fn new(kind: &str, command: Option<CommandId>, payload: &Value) -> Self {
        let content = match kind {
            ASSISTANT_MESSAGE => assistant(payload),
            ASSISTANT_DELTA => EventContent::Delta,
            TOOL_CALL => tool(payload),
            COMMAND_OUTPUT => {
                EventContent::Output { bytes: size(payload), truncated: flag(payload, "outputTruncated") }
            }
            ARTIFACT => {
                EventContent::Artifact { bytes: size(payload), truncated: flag(payload, "truncated") }
            }
            BACKEND_STATUS => status(payload),
            USAGE => EventContent::Usage(usage(payload)),
            TERMINAL_STATUS => EventContent::Terminal,
            _ => EventContent::Other,
        };
        Self { command, content }
    }
}

fn assistant(payload: &Value) -> EventContent {
    let text = payload.get("text").and_then(Value::as_str).unwrap_or_default();
    EventContent::Assistant {
        authority: flag(payload, "replyAuthority"),
        is_final: flag(payload, "final"),
        text_truncated: flag(payload, "textTruncated"),
        output_truncated: flag(payload, "outputTruncated"),
        is_empty: text.trim().is_empty(),
    }
}

fn tool(payload: &Value) -> EventContent {
    let text_of = |name: &str| {
        let text = payload.get(name).and_then(Value::as_str)?;
        Some(text.chars().take(MAX_TOOL_TEXT).collect::<String>())
    };
    let call = text_of("callId").or_else(|| text_of("itemId")).unwrap_or_default();
    match text_of("status") {
        Some(status) if !["started", "running", "in_progress", "inProgress"].contains(&status.as_str()) => {
            EventContent::ToolEnded {
                call,
                status,
                exit_code: payload.get("exitCode").and_then(Value::as_i64),
            }
        }
        Some(_) | None => EventContent::ToolStarted { call },
    }
}

fn status(payload: &Value) -> EventContent {
    match payload.get("phase").and_then(Value::as_str) {
        Some("transport-disconnected") => EventContent::Transport { connected: false },
        Some("transport-connected") => EventContent::Transport { connected: true },
        Some(_) | None => EventContent::Other,
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

fn flag(payload: &Value, name: &str) -> bool {
    payload.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// Returns the size in bytes: the `bytes` field, or else the length of the text.
fn size(payload: &Value) -> u64 {
    let text = || payload.get("text").and_then(Value::as_str).map_or(0, str::len);
    payload.get("bytes").and_then(Value::as_u64).unwrap_or_else(|| u64::try_from(text()).unwrap_or(0))
}

/// Returns a deterministic id for an entry that the server writes once per cause, so that a repeat is detected.
#[must_use]
pub fn server_entry_id(run: RunId, cause: &str, object: Uuid, number: i64) -> EntryId {
    let digest = Sha256::new()
        .chain_update(run.as_uuid())
        .chain_update([0])
        .chain_update(cause)
        .chain_update(object)
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
    fn entry_id_depends_on_run_and_event_id() {
        let (one, other) = (RunId::generate(), RunId::generate());
        assert_eq!(entry_id(one, "evt-1"), entry_id(one, "evt-1"));
        assert_ne!(entry_id(one, "evt-1"), entry_id(one, "evt-2"));
        assert_ne!(entry_id(one, "evt-1"), entry_id(other, "evt-1"));
        assert_eq!(entry_id(one, "with space"), Err(InvalidEvent::Id));
    }

    #[test]
    fn consecutive_event_ids_have_adjacent_and_distinct_entry_ids() {
        let run = RunId::generate();
        let counted: Vec<_> = (8..12).filter_map(|n| entry_id(run, &format!("3-{n}")).ok()).collect();
        assert!(counted.is_sorted(), "{counted:?}");
        let timed = |at| uuid::Builder::from_unix_timestamp_millis(at, &[7; 10]).into_uuid().to_string();
        let timed: Vec<_> = (1_000..1_004).filter_map(|at| entry_id(run, &timed(at)).ok()).collect();
        assert!(timed.is_sorted(), "{timed:?}");
        assert_ne!(entry_id(run, "1-7"), entry_id(run, "2-7"), "two incarnations of a runner");
        assert_ne!(entry_id(run, "no-number"), entry_id(run, "no-number-either"));
    }

    #[test]
    fn reserved_event_types_are_rejected() {
        for reserved in SERVER_TYPES {
            assert_eq!(validate_type(reserved), Err(InvalidEvent::Reserved(reserved)));
        }
        for notice in notice::ALL {
            assert_eq!(validate_type(notice), Err(InvalidEvent::Notice(notice)));
        }
        assert_eq!(validate_type("a_new_kind_of_event"), Ok(()));
        assert_eq!(validate_type("With-Dash"), Err(InvalidEvent::Type));
    }

    #[test]
    fn phases_of_the_server_are_rejected_in_backend_status_only() {
        for phase in SERVER_PHASES {
            let payload = json!({ "phase": phase });
            assert_eq!(validate(BACKEND_STATUS, &payload), Err(InvalidEvent::ReservedPhase(phase)));
            assert_eq!(validate("status_of_a_backend", &payload), Ok(()));
        }
        assert_eq!(validate(BACKEND_STATUS, &json!({ "phase": "transport-connected" })), Ok(()));
        assert_eq!(validate(BACKEND_STATUS, &json!("run-claimed")), Ok(()));
    }

    #[test]
    fn late_event_body_differs_only_in_the_late_flag() {
        let command = CommandId::generate();
        let body = EventBody::new(Some("e-1".into()), Some(command), json!({ "text": "late" }));
        let marked: EventBody = serde_json::from_str(&mark_late(&body.to_json())).expect("valid JSON");
        assert_eq!(marked, EventBody { late: true, ..body });
        assert_eq!(mark_late(&EventBody { late: false, ..marked.clone() }.to_json()), marked.to_json());
    }

    #[test]
    fn tool_call_is_started_until_it_has_a_final_status() {
        let started = ParsedEvent::new(TOOL_CALL, None, &json!({ "callId": "c1", "status": "inProgress" }));
        assert_eq!(started.content, EventContent::ToolStarted { call: "c1".into() });
        let ended = ParsedEvent::new(
            TOOL_CALL,
            None,
            &json!({ "callId": "c1", "status": "completed", "exitCode": 3 }),
        );
        let expected =
            EventContent::ToolEnded { call: "c1".into(), status: "completed".into(), exit_code: Some(3) };
        assert_eq!(ended.content, expected);
    }

    proptest! {
        #[test]
        fn any_payload_of_any_type_is_parsed(kind in "[a-z_]{1,20}", payload in "[ -~]{0,200}") {
            let payload = serde_json::from_str(&payload).unwrap_or(Value::String(payload));
            let _parsed = ParsedEvent::new(&kind, None, &payload);
        }
    }
}
