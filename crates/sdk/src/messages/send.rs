//! How messages are sent.

use std::collections::BTreeMap;

use guildhall_domain::messages::{DeliveryMode, MessageId};
use jiff::Timestamp;

use super::inbox_item::SealKind;

/// How a message is sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SealChoice {
    /// In the second version, or in the first for a recipient whose devices have keys of the first version alone.
    #[default]
    Sealed,
    /// In the first version.
    SealedV1,
    /// Not at all: servers can read it.
    NotSealed,
}

/// How one message is sent. By default it is sealed and stored until the recipient has it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SendOptions {
    pub(super) seal: SealChoice,
    pub(super) message_id: Option<MessageId>,
    pub(super) delivery: Option<DeliveryMode>,
    pub(super) headers: BTreeMap<String, String>,
}

/// A message that the server has stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentMessage {
    pub message_id: String,
    /// The position in the inbox of the recipient. A [`DeliveryMark`](super::DeliveryMark) with the same or a higher one means
    /// that the message has arrived.
    pub seq: i64,
    pub stored_at: Timestamp,
    pub seal: SealKind,
    /// It had been stored before: this was a repetition.
    pub is_repeated: bool,
}

impl SendOptions {
    #[must_use]
    pub fn with_seal(mut self, seal: SealChoice) -> Self {
        self.seal = seal;
        self
    }

    /// Adds headers, which everybody can read and nobody can change. They need the second version: a recipient whose devices have
    /// keys of the first version alone is refused with `conflict`.
    #[must_use]
    pub fn with_headers(mut self, headers: BTreeMap<String, String>) -> Self {
        self.headers = headers;
        self
    }

    /// Uses this id instead of a random one. A message that is not sealed is stored once, however often it is sent with the same
    /// id. A sealed message differs each time, so a repetition fails with `idempotency-conflict`: then it was stored before.
    #[must_use]
    pub fn with_message_id(mut self, id: MessageId) -> Self {
        self.message_id = Some(id);
        self
    }

    /// Sends the message to one connected device, which has minutes to get it. Nothing is stored for longer.
    #[must_use]
    pub fn ephemeral(mut self) -> Self {
        self.delivery = Some(DeliveryMode::Queue);
        self
    }
}
