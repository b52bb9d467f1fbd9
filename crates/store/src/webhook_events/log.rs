//! The log: events with their attempts, which of them are sent again, and when they are deleted.

use std::collections::BTreeMap;

use guildhall_domain::ids::{WebhookEventId, WebhookId};
use guildhall_domain::webhooks::event::WebhookEventType;
use guildhall_domain::webhooks::log::{
    DeliveryAttempt, DeliveryState, MAX_SHOWN_ATTEMPTS, ResendSelection, WebhookDelivery,
};
use jiff_sqlx::{Timestamp, ToSqlx};

use crate::{Store, StoreError, Tx};

/// A page of deliveries.
#[derive(Debug, Clone, Copy)]
pub struct DeliveryPage<'a> {
    /// Events with a smaller number; all without it.
    pub before: Option<i64>,
    pub states: &'a [DeliveryState],
    pub limit: u32,
}

/// Lists the events of a webhook, newest first, with their attempts.
pub async fn list(
    store: &Store,
    webhook: WebhookId,
    page: &DeliveryPage<'_>,
) -> Result<Vec<WebhookDelivery>, StoreError> {
    let rows = sqlx::query_file!(
        "queries/webhook_events/list.sql",
        webhook.as_uuid(),
        page.before.unwrap_or(i64::MAX),
        &names(page.states),
        i64::from(page.limit)
    )
    .fetch_all(&store.pool)
    .await?;
    let numbers: Vec<i64> = rows.iter().map(|row| row.number).collect();
    let mut attempts = list_attempts(store, &numbers).await?;
    rows.into_iter()
        .map(|row| {
            let state = DeliveryState::from_name(&row.state).map_err(|source| StoreError::Unreadable {
                column: "webhook_events.state",
                source: source.into(),
            })?;
            Ok(WebhookDelivery {
                number: row.number,
                event: WebhookEventId::from_uuid(row.event),
                event_type: WebhookEventType::from_name(&row.event_type).ok(),
                state,
                created_at: row.created_at.to_jiff(),
                finished_at: row.finished_at.map(Timestamp::to_jiff),
                next_attempt_at: row.next_attempt_at.map(Timestamp::to_jiff),
                attempts: attempts.remove(&row.number).unwrap_or_default(),
            })
        })
        .collect()
}

async fn list_attempts(
    store: &Store,
    events: &[i64],
) -> Result<BTreeMap<i64, Vec<DeliveryAttempt>>, StoreError> {
    let limit = i64::from(MAX_SHOWN_ATTEMPTS);
    let rows =
        sqlx::query_file!("queries/webhook_attempts/list.sql", events, limit).fetch_all(&store.pool).await?;
    let mut attempts: BTreeMap<i64, Vec<DeliveryAttempt>> = BTreeMap::new();
    for row in rows {
        attempts.entry(row.event).or_default().push(DeliveryAttempt {
            attempt: u32::try_from(row.attempt).unwrap_or_default(),
            at: row.attempted_at.to_jiff(),
            status: row.status.and_then(|status| u16::try_from(status).ok()),
            duration_ms: u64::try_from(row.duration_ms).unwrap_or_default(),
            error: row.error,
        });
    }
    Ok(attempts)
}

/// Enqueues events again, the oldest ones up to a limit, after a number. Returns how many there are, and the last number.
pub async fn resend(
    tx: &mut Tx,
    webhook: WebhookId,
    selection: &ResendSelection,
    after: i64,
    limit: u32,
) -> Result<(u32, Option<i64>), StoreError> {
    let (event, since, until) = match selection {
        ResendSelection::Event(event) => {
            (Some(event.as_uuid()), jiff::Timestamp::UNIX_EPOCH, jiff::Timestamp::MAX)
        }
        ResendSelection::Window { since, until, only: _ } => (None, *since, *until),
    };
    let rows = sqlx::query_file!(
        "queries/webhook_events/list_to_resend.sql",
        webhook.as_uuid(),
        after,
        event,
        since.to_sqlx() as Timestamp,
        until.to_sqlx() as Timestamp,
        &names(selection.states()),
        i64::from(limit)
    )
    .fetch_all(tx.connection())
    .await?;
    let mut lanes: Vec<String> = rows.iter().map(|row| row.lane.clone()).collect();
    lanes.sort();
    lanes.dedup();
    let numbers: Vec<i64> = rows.iter().map(|row| row.number).collect();
    // Lanes first, as everybody locks them.
    sqlx::query_file!("queries/webhook_lanes/open.sql", webhook.as_uuid(), &lanes)
        .execute(tx.connection())
        .await?;
    sqlx::query_file!("queries/webhook_events/resend.sql", webhook.as_uuid(), &numbers)
        .execute(tx.connection())
        .await?;
    Ok((u32::try_from(numbers.len()).unwrap_or(u32::MAX), numbers.last().copied()))
}

fn names(states: &[DeliveryState]) -> Vec<String> {
    states.iter().map(ToString::to_string).collect()
}

/// Deletes events that were created before a time, with their attempts.
pub async fn delete_old(store: &Store, before: jiff::Timestamp, limit: u32) -> Result<u64, StoreError> {
    let before = before.to_sqlx();
    let done =
        sqlx::query_file!("queries/webhook_events/delete_old.sql", before as Timestamp, i64::from(limit));
    Ok(done.execute(&store.pool).await?.rows_affected())
}

/// Lists webhooks that were deleted, and whose events are not.
pub async fn list_deleted_webhooks(store: &Store, limit: u32) -> Result<Vec<WebhookId>, StoreError> {
    let ids = sqlx::query_file_scalar!("queries/deleted_webhooks/list.sql", i64::from(limit));
    Ok(ids.fetch_all(&store.pool).await?.into_iter().map(WebhookId::from_uuid).collect())
}

/// Deletes events of a webhook that was deleted, with their attempts.
pub async fn delete_of_webhook(store: &Store, webhook: WebhookId, limit: u32) -> Result<u64, StoreError> {
    let (webhook, limit) = (webhook.as_uuid(), i64::from(limit));
    let done = sqlx::query_file!("queries/webhook_events/delete_of_webhook.sql", webhook, limit);
    Ok(done.execute(&store.pool).await?.rows_affected())
}

/// Notes that a deleted webhook has no events any more.
pub async fn forget_deleted_webhook(store: &Store, webhook: WebhookId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/deleted_webhooks/delete.sql", webhook.as_uuid()).execute(&store.pool).await?;
    Ok(())
}

/// Deletes the oldest events of webhooks that have more than a number of them.
pub async fn delete_excess(store: &Store, kept: u32, limit: u32) -> Result<u64, StoreError> {
    let (kept, limit) = (i64::from(kept), i64::from(limit));
    let done = sqlx::query_file!("queries/webhook_events/delete_excess.sql", kept, limit);
    Ok(done.execute(&store.pool).await?.rows_affected())
}
