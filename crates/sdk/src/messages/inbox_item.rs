//! What an inbox yields.

use std::collections::BTreeMap;

use guildhall_domain::identity::Aid;
use guildhall_domain::messages::DeliveryMode;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::error::UnreadableReason;
use crate::socket::SocketError;

/// How a message was protected on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealKind {
    /// Sealed in the second version: by its sender, for the devices of its recipient alone.
    V2,
    /// The same, in the first version.
    V1,
    /// Not sealed: servers can read it, and the server says who sent it.
    NotSealed,
}

/// A message that was opened.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedMessage {
    /// The position in the inbox.
    pub seq: i64,
    pub message_id: String,
    pub from: Aid,
    /// The own AID, or the recipient of a message that another own device has sent.
    pub to: Aid,
    /// When the server stored it.
    pub stored_at: Timestamp,
    /// When the sender sealed it, by the sender's clock; none for a message that was not sealed.
    pub sealed_at: Option<Timestamp>,
    pub seal: SealKind,
    pub delivery: DeliveryMode,
    /// What stands beside the payload in clear, protected by the seal. Empty where there is nothing, or nothing protects it.
    pub headers: BTreeMap<String, String>,
    pub payload: Map<String, Value>,
}

/// A sender recalled messages. It comes at the place of a recalled message, and as a notice of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecallNotice {
    pub seq: i64,
    pub from: Aid,
    pub message_ids: Vec<String>,
}

/// A message that cannot be opened, or is not believed.
#[derive(Debug, Clone, PartialEq)]
pub struct UnreadableMessage {
    pub seq: i64,
    pub message_id: String,
    /// As the server says. Nothing proves it.
    pub from: String,
    pub stored_at: Option<Timestamp>,
    pub reason: UnreadableReason,
}

/// An item of an inbox.
#[derive(Debug)]
pub enum InboxItem {
    Message(Box<ReceivedMessage>),
    Recall(RecallNotice),
    Unreadable(Box<UnreadableMessage>),
    /// Everything that was stored until now was yielded. It comes again after later items.
    CaughtUp,
    /// The connection is lost. The next call waits for another one.
    Disconnected(SocketError),
}

impl InboxItem {
    /// Returns the position in the inbox, for [`ack`](super::InboxFollower::ack).
    #[must_use]
    pub fn seq(&self) -> Option<i64> {
        match self {
            Self::Message(message) => Some(message.seq),
            Self::Recall(recall) => Some(recall.seq),
            Self::Unreadable(message) => Some(message.seq),
            Self::CaughtUp | Self::Disconnected(_) => None,
        }
    }
}
