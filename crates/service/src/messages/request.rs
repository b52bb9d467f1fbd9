//! What a sender asks for.

use guildhall_domain::identity::Aid;
use guildhall_domain::messages::{DeliveryMode, MessageId, SentPayload};

/// A message to send.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageRequest {
    pub to: Aid,
    /// The one device of the recipient that the message is sealed for; none for all.
    pub device: Option<String>,
    /// Chosen by the sender, so that a repeated send is recognised.
    pub id: Option<MessageId>,
    pub payload: SentPayload,
    /// The `type` beside the payload.
    pub envelope_type: String,
    pub mode: DeliveryMode,
}
