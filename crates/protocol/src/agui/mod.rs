//! AG-UI: the protocol of chat front ends such as CopilotKit.
//!
//! [`input`] reads what a client sends, and [`fold`] computes what it gets from the journal of a session. Both are pure:
//! every server computes the same frames for the same journal.
//!
//! ```
//! use guildhall_domain::ids::{CommandId, RunId};
//! use guildhall_protocol::agui::event::AguiVersion;
//! use guildhall_protocol::agui::fold::{AguiFold, JournalEvent, StreamMode};
//! use serde_json::json;
//!
//! let (run, command) = (RunId::generate(), CommandId::generate());
//! let event = |seq, kind: &str, payload| JournalEvent {
//!     run,
//!     ordinal: 1,
//!     seq,
//!     kind: kind.to_owned(),
//!     command: Some(command),
//!     payload: Some(payload),
//!     recorded_at: jiff::Timestamp::UNIX_EPOCH,
//!     late: false,
//! };
//! let mut fold = AguiFold::new("main", AguiVersion::V1, StreamMode::Thread);
//! assert!(fold.push(event(1, "command_status", json!({ "status": "pending", "type": "turn" }))).is_empty());
//! let frames = fold.push(event(2, "assistant_message", json!({ "itemId": "m1", "text": "Hello" })));
//! let positions: Vec<(i64, u32)> = frames.iter().map(|frame| (frame.position.seq, frame.position.index)).collect();
//! assert_eq!(positions, [(2, 0), (2, 1), (2, 2), (2, 3)]);
//! assert!(frames[0].to_json().starts_with(r#"{"type":"RUN_STARTED","threadId":"main""#));
//! // The server stops: a client must not take the end of the stream for the end of the run.
//! assert!(fold.close().is_some());
//! ```

pub mod event;
pub mod fold;
pub mod input;
mod interrupt;
#[cfg(test)]
mod tests;
pub mod user_content;
