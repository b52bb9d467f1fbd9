//! Sends messages.

use guildhall_domain::messages::{
    DeliveryMode, InboxId, InboxSeq, MessageId, MessageKind, SealedReaders, SentPayload, preferred_instance,
};
use guildhall_store::inbox_messages::{MessageWriter, NewMessage, SendError, StoredMessage, Target};
use jiff::{SignedDuration, Timestamp};

use super::InboxClient;
use super::addresses::Addresses;
use super::error::MessageError;
use super::keys::Keys;
use super::presence::Presence;
use super::recall::new_message_id;
use super::request::MessageRequest;
use super::tool_calls::ToolCallGate;
use crate::ServiceError;

/// A message that was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentMessage {
    pub id: MessageId,
    pub seq: InboxSeq,
    pub sent_at: Timestamp,
    /// The sender had sent it before.
    pub is_repeated: bool,
    pub mode: DeliveryMode,
}

/// Sends messages. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sends {
    writer: MessageWriter,
    addresses: Addresses,
    presence: Presence,
    keys: Keys,
    tool_calls: ToolCallGate,
    lifetime: SignedDuration,
}

/// What sends are built from.
pub(super) struct SendParts {
    pub(super) writer: MessageWriter,
    pub(super) addresses: Addresses,
    pub(super) presence: Presence,
    pub(super) keys: Keys,
    pub(super) tool_calls: ToolCallGate,
    pub(super) lifetime: SignedDuration,
}

impl Sends {
    pub(super) fn new(parts: SendParts) -> Self {
        let SendParts { writer, addresses, presence, keys, tool_calls, lifetime } = parts;
        Self { writer, addresses, presence, keys, tool_calls, lifetime }
    }

    /// Stores a message in the inbox of its recipient, and copies for the sender's other devices in its own. Returns after the
    /// commit. The same id with the same content is the same message.
    pub async fn send(
        &self,
        client: &InboxClient,
        request: MessageRequest,
    ) -> Result<SentMessage, ServiceError> {
        let inbox = self.addresses.inbox_of(&request.to).await?;
        let caller = self.tool_calls.caller(client, inbox, &request).await?;
        let sealed_id = self.keys.check_sealed(client, inbox, &request).await?;
        if let Some(caller) = &caller {
            self.tool_calls.count(caller.agent).await?;
        }
        let id = request.id.clone().or(sealed_id).unwrap_or_else(new_message_id);
        let target = self.target(client, inbox, request.mode).await;
        let relation = caller.map(|caller| caller.relation);
        let message = NewMessage { relation, ..self.message(client, inbox, &id, &request, target) };
        let stored = self.writer.send(message).await.map_err(send_error)?;
        if let Some(copies) = self.self_copies(client, inbox, &id, &request) {
            self.writer.send(copies).await.map_err(send_error)?;
        }
        let (seq, sent_at, is_repeated) = match stored {
            StoredMessage::New { seq, sent_at } => (seq, sent_at, false),
            StoredMessage::Repeated { seq, sent_at } => (seq, sent_at, true),
        };
        Ok(SentMessage { id, seq, sent_at, is_repeated, mode: request.mode })
    }

    /// A message of the mode `queue` is for one instance: if one of the recipient's is in that mode, for one of those.
    async fn target(&self, client: &InboxClient, inbox: InboxId, mode: DeliveryMode) -> Target {
        match mode {
            DeliveryMode::Fanout => Target::Durable,
            DeliveryMode::Queue => {
                let live = self.presence.instances(inbox).await;
                let queued = live.iter().filter(|live| live.mode == DeliveryMode::Queue);
                let preferred = preferred_instance(&client.aid, queued.map(|live| &live.instance))
                    .or_else(|| preferred_instance(&client.aid, live.iter().map(|live| &live.instance)));
                let instance =
                    preferred.map(|instance| (instance.device().to_owned(), instance.slot_key().to_owned()));
                Target::Ring { instance }
            }
        }
    }

    fn message(
        &self,
        client: &InboxClient,
        inbox: InboxId,
        id: &MessageId,
        request: &MessageRequest,
        target: Target,
    ) -> NewMessage {
        NewMessage {
            inbox,
            sender: client.inbox,
            recipient: None,
            id: id.clone(),
            kind: request.payload.kind(),
            relation: None,
            envelope_type: request.envelope_type.clone(),
            payload: request.payload.stored(),
            target,
            lifetime: self.lifetime,
        }
    }

    fn self_copies(
        &self,
        client: &InboxClient,
        recipient: InboxId,
        id: &MessageId,
        request: &MessageRequest,
    ) -> Option<NewMessage> {
        let (kind, payload) = match &request.payload {
            SentPayload::Plain(_) | SentPayload::SealedV1(_) => return None,
            SentPayload::SealedV1Copies { own, .. } => {
                (MessageKind::SealedV1SelfCopies, (!own.is_empty()).then(|| own.to_json())?)
            }
            SentPayload::SealedV2(_) if recipient == client.inbox => return None,
            SentPayload::SealedV2(_) => {
                let envelope = request.payload.stored();
                SealedReaders::parse(&envelope)
                    .filter(|readers| readers.includes_other_devices_of(&client.aid))?;
                (MessageKind::SealedV2SelfCopy, envelope)
            }
        };
        let recipient = Some(recipient);
        let copy = self.message(client, client.inbox, id, request, Target::Durable);
        Some(NewMessage { recipient, kind, payload, ..copy })
    }
}

fn send_error(error: SendError) -> ServiceError {
    match error {
        SendError::IdReused => MessageError::IdReused.into(),
        SendError::Overloaded => MessageError::Overloaded.into(),
        SendError::RelationEnded => MessageError::RelationRequired.into(),
        SendError::Store(error) => error.into(),
    }
}
