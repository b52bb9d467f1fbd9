//! Recalls messages.

use guildhall_domain::messages::{InboxId, MAX_RECALLED, MessageId, MessageKind, RecallError, check_recall};
use guildhall_store::Store;
use guildhall_store::inbox_messages::{
    self, InboxUpdate, MessagePlace, NewMessage, SentMessage, Target, find_sent,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::InboxClient;
use super::error::MessageError;
use crate::ServiceError;

/// What became of a recall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecallOutcome {
    pub recalled: Vec<MessageId>,
    pub errors: Vec<(MessageId, RecallError)>,
}

/// Recalls messages. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Recalls {
    store: Store,
    updates: mpsc::Sender<Vec<InboxUpdate>>,
    lifetime: SignedDuration,
}

impl Recalls {
    pub(super) fn new(
        store: Store,
        updates: mpsc::Sender<Vec<InboxUpdate>>,
        lifetime: SignedDuration,
    ) -> Self {
        Self { store, updates, lifetime }
    }

    /// Removes the content of messages that the caller has sent a short time ago, and tells the recipients.
    pub async fn recall(
        &self,
        client: &InboxClient,
        ids: &[MessageId],
    ) -> Result<RecallOutcome, ServiceError> {
        if ids.is_empty() || ids.len() > MAX_RECALLED {
            return Err(MessageError::RecallSize.into());
        }
        let (found, now) = find_sent(&self.store, client.inbox, ids).await?;
        let now = now.ok_or(MessageError::RecallSize)?;
        let (mut wanted, mut errors) = (Vec::new(), Vec::new());
        for found in found {
            match places_to_recall(&found, now) {
                Ok(places) => wanted.push((found.id, places)),
                Err(error) => errors.push((found.id, error)),
            }
        }
        if wanted.is_empty() {
            return Ok(RecallOutcome { recalled: Vec::new(), errors });
        }
        let notice = |inbox: InboxId, ids: &[&MessageId]| self.notice(client, inbox, ids);
        let (recalled, grown) = inbox_messages::recall(&self.store, &wanted, notice, now).await?;
        let _poll_finds_it = self.updates.try_send(grown);
        // Somebody was faster.
        let lost = wanted.into_iter().map(|(id, _)| id).filter(|id| !recalled.contains(id));
        errors.extend(lost.map(|id| (id, RecallError::AlreadyRecalled)));
        Ok(RecallOutcome { recalled, errors })
    }

    /// The entry that tells every device of an inbox, also those that have read the messages before.
    fn notice(&self, client: &InboxClient, inbox: InboxId, ids: &[&MessageId]) -> NewMessage {
        let ids: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
        NewMessage {
            inbox,
            sender: client.inbox,
            recipient: None,
            id: new_message_id(),
            kind: MessageKind::Recall,
            relation: None,
            envelope_type: "message.recalled".to_owned(),
            payload: json!({ "type": "message.recalled", "message_ids": ids }).to_string(),
            target: Target::Durable,
            lifetime: self.lifetime,
        }
    }
}

/// Returns where a message can be recalled: in all its inboxes, or in none.
fn places_to_recall(found: &SentMessage, now: Timestamp) -> Result<Vec<MessagePlace>, RecallError> {
    check_recall(found.places.first().map(|(_, state)| state), now)?;
    let places = found.places.iter().filter(|(_, state)| check_recall(Some(state), now).is_ok());
    Ok(places.map(|(place, _)| *place).collect())
}

/// Returns an id for a message whose sender has chosen none.
#[must_use]
pub(super) fn new_message_id() -> MessageId {
    let text = Uuid::now_v7().to_string();
    text.parse().unwrap_or_else(|_| unreachable!("a UUID is a message id"))
}
