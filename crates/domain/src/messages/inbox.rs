//! An inbox and its messages.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;

use super::delivery::DeliveryMode;
use crate::identity::Aid;
use crate::named_enum::named_enum;

/// The number of an inbox in the database. It never leaves the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InboxId(i64);

impl InboxId {
    #[must_use]
    pub const fn new(id: i64) -> Self {
        Self(id)
    }

    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }
}

/// The position of a message in its inbox: 1 for the first one, without gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct InboxSeq(i64);

impl InboxSeq {
    /// Before the first message.
    pub const ZERO: Self = Self(0);

    /// Returns none for a negative number.
    #[must_use]
    pub const fn new(seq: i64) -> Option<Self> {
        if seq < 0 { None } else { Some(Self(seq)) }
    }

    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }

    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// Returns the seq before this one; zero for zero.
    #[must_use]
    pub const fn previous(self) -> Self {
        if self.0 == 0 { self } else { Self(self.0 - 1) }
    }
}

impl fmt::Display for InboxSeq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The inbox of an AID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inbox {
    pub id: InboxId,
    pub aid: Aid,
}

/// The longest id of a message. Official clients send up to 36 characters.
const MAX_MESSAGE_ID: usize = 128;

/// The text is not the id of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected 1 to {MAX_MESSAGE_ID} printable ASCII characters")]
pub struct InvalidMessageId;

/// The id of a message: chosen by its sender, or by the server. A sender uses it once.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(String);

impl MessageId {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for MessageId {
    type Err = InvalidMessageId;

    fn from_str(text: &str) -> Result<Self, InvalidMessageId> {
        let is_valid =
            (1..=MAX_MESSAGE_ID).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_valid { Ok(Self(text.to_owned())) } else { Err(InvalidMessageId) }
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

named_enum! {
    /// What a message holds, as far as the server has to know.
    MessageKind, "message kind";
    Plain = "plain",
    /// A sealed message of the first version of end-to-end encryption.
    SealedV1 = "sealed-v1",
    /// The same, with a copy for each device.
    SealedV1Copies = "sealed-v1-copies",
    /// Copies of a message for the sender's own other devices.
    SealedV1SelfCopies = "sealed-v1-self-copies",
    /// A sealed message of the second version.
    SealedV2 = "sealed-v2",
    /// A sealed message of the second version in the inbox of its sender, for the sender's own other devices.
    SealedV2SelfCopy = "sealed-v2-self-copy",
    /// A message of the sender was recalled.
    Recall = "recall",
}

impl MessageKind {
    /// Returns whether the server cannot read the content.
    #[must_use]
    pub const fn is_sealed(self) -> bool {
        match self {
            Self::SealedV1
            | Self::SealedV1Copies
            | Self::SealedV1SelfCopies
            | Self::SealedV2
            | Self::SealedV2SelfCopy => true,
            Self::Plain | Self::Recall => false,
        }
    }
}

/// What is left of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageContent {
    /// The payload: a JSON object as it was sent.
    Payload(String),
    /// The sender recalled it. Its seq stays.
    Recalled,
}

impl MessageContent {
    /// Returns the bytes of the payload.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Payload(payload) => payload.len(),
            Self::Recalled => 0,
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A message in an inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxMessage {
    pub inbox: InboxId,
    pub seq: InboxSeq,
    /// The last durable message of the same sender before this one; zero if there was none.
    pub previous_of_sender: InboxSeq,
    pub id: MessageId,
    pub from: Aid,
    /// The recipient that the sender named: the owner of the inbox, but not for copies of own messages.
    pub to: Aid,
    pub kind: MessageKind,
    /// The `type` beside the payload; empty if there was none.
    pub envelope_type: String,
    pub mode: DeliveryMode,
    pub sent_at: Timestamp,
    pub content: MessageContent,
}

/// A sender, as one instance of the recipient sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SenderState {
    pub sender: InboxId,
    pub aid: Aid,
    pub head: InboxSeq,
    pub ack: InboxSeq,
    /// The oldest message that has not expired.
    pub oldest: Option<InboxSeq>,
    /// The oldest message that the instance has not confirmed.
    pub pending: Option<InboxSeq>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_ids_are_short_and_printable() {
        for text in ["x", "m-0123456789abcdef", "550e8400-e29b-41d4-a716-446655440000", &"a".repeat(128)] {
            assert_eq!(text.parse::<MessageId>().map(|id| id.to_string()), Ok(text.to_owned()));
        }
        for text in ["", " ", "a b", "a\n", "ä", "\0", &"a".repeat(129)] {
            assert_eq!(text.parse::<MessageId>(), Err(InvalidMessageId), "{text:?}");
        }
    }

    #[test]
    fn seqs_count_from_zero() {
        assert_eq!(InboxSeq::new(-1), None);
        assert_eq!((InboxSeq::ZERO.previous(), InboxSeq::ZERO.next().get()), (InboxSeq::ZERO, 1));
        assert_eq!(InboxSeq::new(7).map(|seq| (seq.previous().get(), seq.next().get())), Some((6, 8)));
    }
}
