//! Frames of streams: facts, which carry an id to go on after, and what a stream says of itself, which carries none.

use guildhall_domain::journal::follow::notice;
use guildhall_domain::ops::capability::EVENT_SCHEMA_VERSION;
use serde::{Deserialize, Serialize};

use crate::rest::runs::EventView;

/// The header in which a client says who it is.
pub const CLIENT_ID_HEADER: &str = "x-guildhall-client-id";

/// What a stream says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Notice {
    /// The first frame.
    Hello {
        /// The client's own id, or the one that the server made up for it.
        client_id: String,
        /// The version of the protocol.
        protocol: String,
    },
    /// All that was there when the stream was opened has been sent; what follows is live.
    ReplayComplete {
        replayed_count: u64,
        last_seq: i64,
        /// In a session: the run that `lastSeq` belongs to.
        #[serde(skip_serializing_if = "Option::is_none")]
        run_ordinal: Option<i32>,
    },
    /// The cursor led nowhere: what follows begins anew.
    Gap {
        recovered: bool,
        /// other_incarnation or ahead_of_log.
        reason: String,
    },
    /// The client reads too slowly and will be evicted if it goes on so.
    SlowClientWarning { queued_frames: usize, max_frames: usize, queued_bytes: usize, max_bytes: usize },
    /// The client read too slowly. Nothing is lost: it goes on after the last id that it has.
    ClientEvicted { reason: String },
    /// The server ends the stream.
    Closed { failure_kind: String },
}

impl Notice {
    /// Returns the name of the frame, which is also its `type`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Hello { .. } => notice::HELLO,
            Self::ReplayComplete { .. } => notice::REPLAY_COMPLETE,
            Self::Gap { .. } => notice::GAP,
            Self::SlowClientWarning { .. } => notice::SLOW_CLIENT_WARNING,
            Self::ClientEvicted { .. } => notice::CLIENT_EVICTED,
            Self::Closed { .. } => notice::CLOSED,
        }
    }
}

/// A notice as it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticeFrame {
    /// The version of the form of facts and frames.
    pub v: u32,
    #[serde(flatten)]
    pub notice: Notice,
}

impl From<Notice> for NoticeFrame {
    fn from(notice: Notice) -> Self {
        Self { v: EVENT_SCHEMA_VERSION, notice }
    }
}

/// An event of a session: of one of its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionEventView {
    pub run_id: String,
    /// The number of the run in its session, from 1.
    pub run_ordinal: i32,
    #[serde(flatten)]
    pub event: EventView,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // covers: C9
    #[test]
    fn each_notice_names_its_type_and_its_version() {
        let notices = [
            (
                Notice::Hello { client_id: "a".into(), protocol: "v1".into() },
                json!({ "v": 1, "type": "hello", "clientId": "a", "protocol": "v1" }),
            ),
            (
                Notice::ReplayComplete { replayed_count: 2, last_seq: 3, run_ordinal: None },
                json!({ "v": 1, "type": "replay_complete", "replayedCount": 2, "lastSeq": 3 }),
            ),
            (
                Notice::Gap { recovered: false, reason: "ahead_of_log".into() },
                json!({ "v": 1, "type": "gap", "recovered": false, "reason": "ahead_of_log" }),
            ),
            (
                Notice::SlowClientWarning { queued_frames: 1, max_frames: 2, queued_bytes: 3, max_bytes: 4 },
                json!({
                    "v": 1, "type": "slow_client_warning",
                    "queuedFrames": 1, "maxFrames": 2, "queuedBytes": 3, "maxBytes": 4,
                }),
            ),
            (
                Notice::ClientEvicted { reason: "queue_overflow".into() },
                json!({ "v": 1, "type": "client_evicted", "reason": "queue_overflow" }),
            ),
            (
                Notice::Closed { failure_kind: "unauthenticated".into() },
                json!({ "v": 1, "type": "closed", "failureKind": "unauthenticated" }),
            ),
        ];
        assert_eq!(notices.each_ref().map(|(notice, _)| notice.name()), notice::ALL);
        for (notice, sent) in notices {
            assert_eq!(json!(notice.name()), sent["type"]);
            assert_eq!(json!(NoticeFrame::from(notice)), sent);
        }
    }
}
