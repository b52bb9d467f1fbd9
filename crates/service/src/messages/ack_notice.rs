//! What a sender is told when its messages were confirmed.

use guildhall_domain::identity::{Aid, ClientSlot};
use guildhall_domain::messages::InboxSeq;
use jiff::Timestamp;

/// A reader has confirmed messages of the one who is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AckNotice {
    pub by: Aid,
    pub instance: ClientSlot,
    /// In the inbox of the reader.
    pub ack_seq: InboxSeq,
    pub at: Timestamp,
}
