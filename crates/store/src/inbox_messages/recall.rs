//! Recalls: the content goes, the seq stays, and the inbox gets a notice.

use guildhall_domain::messages::{DeliveryMode, InboxId, InboxSeq, MessageId, MessageKind, SentMessageState};
use jiff::Timestamp;
use jiff_sqlx::{Timestamp as SqlTimestamp, ToSqlx};

use super::insert::{NewMessage, SendError, insert};
use super::{InboxUpdate, StoredMessage};
use crate::inboxes::seq;
use crate::{Store, StoreError};

/// Where a message is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessagePlace {
    pub inbox: InboxId,
    pub seq: InboxSeq,
}

/// What was found of a message that somebody wants to recall: one place for each inbox that it was sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentMessage {
    pub id: MessageId,
    pub places: Vec<(MessagePlace, SentMessageState)>,
}

/// Finds messages by their ids: those of the caller, else one of somebody else. Returns the time of PostgreSQL too; none without ids.
pub async fn find_sent(
    store: &Store,
    caller: InboxId,
    ids: &[MessageId],
) -> Result<(Vec<SentMessage>, Option<Timestamp>), StoreError> {
    let asked: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let rows = sqlx::query_file!("queries/inbox_messages/find_by_ids.sql", &asked, caller.get())
        .fetch_all(&store.pool)
        .await?;
    let now = rows.first().map(|row| row.now.to_jiff());
    let mut found: Vec<SentMessage> =
        ids.iter().map(|id| SentMessage { id: id.clone(), places: Vec::new() }).collect();
    for row in rows {
        let (Some(inbox), Some(place), Some(sender), Some(sent_at)) =
            (row.inbox, row.seq, row.sender, row.sent_at)
        else {
            continue;
        };
        // A notice of a recall cannot be recalled.
        if row.kind.as_deref() == Some(MessageKind::Recall.as_str()) {
            continue;
        }
        let state = SentMessageState {
            is_from_caller: sender == caller.get(),
            mode: DeliveryMode::Fanout,
            sent_at: sent_at.to_jiff(),
            is_recalled: row.is_recalled,
        };
        let place = MessagePlace { inbox: InboxId::new(inbox), seq: seq(place) };
        if let Some(found) = found.iter_mut().find(|found| found.id.as_str() == row.asked) {
            found.places.push((place, state));
        }
    }
    Ok((found, now))
}

/// Recalls messages and stores a notice in each inbox, in one transaction. Returns the messages that were still there, and
/// the inboxes that have grown.
pub async fn recall(
    store: &Store,
    messages: &[(MessageId, Vec<MessagePlace>)],
    notice: impl Fn(InboxId, &[&MessageId]) -> NewMessage + Sync,
    now: Timestamp,
) -> Result<(Vec<MessageId>, Vec<InboxUpdate>), StoreError> {
    let mut inboxes: Vec<InboxId> =
        messages.iter().flat_map(|(_, places)| places).map(|place| place.inbox).collect();
    inboxes.sort_unstable();
    inboxes.dedup();
    let ids: Vec<i64> = inboxes.iter().map(|inbox| inbox.get()).collect();
    let mut tx = store.begin().await?;
    crate::inboxes::lock(tx.connection(), &ids).await?;
    let mut recalled: Vec<(&MessageId, InboxId)> = Vec::new();
    for (id, places) in messages {
        for place in places {
            let at = now.to_sqlx();
            let done = sqlx::query_file!(
                "queries/inbox_messages/recall.sql",
                place.inbox.get(),
                place.seq.get(),
                at as SqlTimestamp
            )
            .execute(tx.connection())
            .await?;
            if done.rows_affected() == 1 {
                recalled.push((id, place.inbox));
            }
        }
    }
    let notices: Vec<NewMessage> = inboxes
        .iter()
        .filter_map(|inbox| {
            let ids: Vec<&MessageId> =
                recalled.iter().filter(|(_, of)| of == inbox).map(|(id, _)| *id).collect();
            (!ids.is_empty()).then(|| notice(*inbox, &ids))
        })
        .collect();
    let notices: Vec<&NewMessage> = notices.iter().collect();
    let stored = insert(tx.connection(), &notices).await?;
    tx.commit().await?;
    let update = |(notice, stored): (&&NewMessage, Result<StoredMessage, SendError>)| match stored {
        Ok(StoredMessage::New { seq, .. } | StoredMessage::Repeated { seq, .. }) => {
            Some(InboxUpdate { inbox: notice.inbox, last_seq: seq })
        }
        Err(_) => None,
    };
    let updates = notices.iter().zip(stored).filter_map(update).collect();
    let mut ids: Vec<MessageId> = recalled.into_iter().map(|(id, _)| id.clone()).collect();
    ids.dedup();
    Ok((ids, updates))
}
