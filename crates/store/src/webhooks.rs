//! Webhooks: endpoints of tenants that are told about events.

use guildhall_domain::ids::{AgentId, PrincipalId, TenantId, WebhookEventId, WebhookId};
use guildhall_domain::webhooks::event::WebhookEventType;
use guildhall_domain::webhooks::url::WebhookUrl;
use guildhall_domain::webhooks::{
    DisableReason, DisabledWebhook, FailedDelivery, MAX_AGENT_WEBHOOKS, MAX_WEBHOOKS, Webhook, WebhookSender,
};
use jiff_sqlx::{Timestamp, ToSqlx};
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

/// Values of a new webhook.
#[derive(Debug, Clone)]
pub struct NewWebhook<'a> {
    pub id: WebhookId,
    pub tenant: TenantId,
    /// The agent whose messages it is told about, and who sends its events.
    pub agent: Option<(AgentId, WebhookSender)>,
    pub url: &'a WebhookUrl,
    pub events: &'a [WebhookEventType],
    pub description: &'a str,
    pub sealed_secret: &'a [u8],
    pub created_by: PrincipalId,
}

/// The sealed secrets of a webhook.
#[derive(Debug, Clone)]
pub struct SealedSecrets {
    pub current: Vec<u8>,
    /// The previous secret, and when it stops to sign.
    pub previous: Option<(Vec<u8>, jiff::Timestamp)>,
}

/// A failed attempt to send an event.
#[derive(Debug, Clone, Copy)]
pub struct NewFailure<'a> {
    pub event: WebhookEventId,
    pub attempt: u32,
    pub message: &'a str,
    pub is_final: bool,
}

/// How many webhooks a tenant has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebhookCounts {
    pub all: usize,
    /// Those that are told about the same agent, or about the tenant.
    pub same: usize,
}

/// Since when every attempt of a webhook has failed, and the time of PostgreSQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailingSince {
    pub since: jiff::Timestamp,
    pub now: jiff::Timestamp,
}

/// The columns that every query of a webhook selects.
struct Row {
    id: Uuid,
    tenant: Uuid,
    url: String,
    events: Vec<String>,
    description: String,
    created_by: Uuid,
    created_at: Timestamp,
    disabled_at: Option<Timestamp>,
    disabled_reason: Option<String>,
    previous_secret_ends_at: Option<Timestamp>,
    last_success_at: Option<Timestamp>,
    last_failure_at: Option<Timestamp>,
    last_failure_event: Option<Uuid>,
    last_failure_attempt: Option<i32>,
    last_failure_message: Option<String>,
    last_failure_is_final: Option<bool>,
    failing_since: Option<Timestamp>,
    agent: Option<Uuid>,
    polled_at: Option<Timestamp>,
}

impl Row {
    fn into_webhook(self) -> Result<Webhook, StoreError> {
        let unreadable =
            |source: &'static str| StoreError::Unreadable { column: "webhooks", source: source.into() };
        let url = WebhookUrl::parse(&self.url).map_err(|_| unreadable("the URL is invalid"))?;
        let disabled = match (self.disabled_at, self.disabled_reason.as_deref()) {
            (Some(at), Some(reason)) => {
                let reason = DisableReason::from_name(reason).map_err(|_| unreadable("an unknown reason"))?;
                Some(DisabledWebhook { at: at.to_jiff(), reason })
            }
            (None, _) | (_, None) => None,
        };
        let last_failure = self.last_failure_at.map(|at| FailedDelivery {
            at: at.to_jiff(),
            event: WebhookEventId::from_uuid(self.last_failure_event.unwrap_or_default()),
            attempt: u32::try_from(self.last_failure_attempt.unwrap_or_default()).unwrap_or_default(),
            message: self.last_failure_message.unwrap_or_default(),
            is_final: self.last_failure_is_final.unwrap_or_default(),
        });
        Ok(Webhook {
            id: WebhookId::from_uuid(self.id),
            tenant: TenantId::from_uuid(self.tenant),
            agent: self.agent.map(AgentId::from_uuid),
            sender: if self.polled_at.is_some() { WebhookSender::Listener } else { WebhookSender::Server },
            url,
            // A newer replica may know more types.
            events: self.events.iter().filter_map(|name| WebhookEventType::from_name(name).ok()).collect(),
            description: self.description,
            created_by: PrincipalId::from_uuid(self.created_by),
            created_at: self.created_at.to_jiff(),
            disabled,
            previous_secret_ends_at: self.previous_secret_ends_at.map(Timestamp::to_jiff),
            last_success_at: self.last_success_at.map(Timestamp::to_jiff),
            last_failure,
            failing_since: self.failing_since.map(Timestamp::to_jiff),
        })
    }
}

/// Locks a tenant until the end of the transaction, and counts its webhooks.
pub async fn lock_and_count(
    tx: &mut Tx,
    tenant: TenantId,
    agent: Option<AgentId>,
) -> Result<WebhookCounts, StoreError> {
    sqlx::query_file!("queries/webhooks/lock_tenant.sql", tenant.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    let agent = agent.map(AgentId::as_uuid);
    let row = sqlx::query_file!("queries/webhooks/count.sql", tenant.as_uuid(), agent)
        .fetch_one(tx.connection())
        .await?;
    let count = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
    Ok(WebhookCounts { all: count(row.all), same: count(row.same) })
}

/// Inserts a webhook. Returns when it was created.
pub async fn insert(tx: &mut Tx, new: &NewWebhook<'_>) -> Result<jiff::Timestamp, StoreError> {
    let events: Vec<String> = new.events.iter().map(ToString::to_string).collect();
    let row = sqlx::query_file!(
        "queries/webhooks/insert.sql",
        new.id.as_uuid(),
        new.tenant.as_uuid(),
        new.url.as_str(),
        &events,
        new.description,
        new.sealed_secret,
        new.created_by.as_uuid()
    )
    .fetch_one(tx.connection())
    .await?;
    if let Some((agent, sender)) = new.agent {
        let (agent, is_listener) = (agent.as_uuid(), sender == WebhookSender::Listener);
        sqlx::query_file!("queries/agent_webhooks/insert.sql", new.id.as_uuid(), agent, is_listener)
            .execute(tx.connection())
            .await?;
    }
    Ok(row.created_at.to_jiff())
}

/// Returns the tenant of a webhook.
pub async fn find_tenant(store: &Store, id: WebhookId) -> Result<Option<TenantId>, StoreError> {
    let row = sqlx::query_file!("queries/webhooks/find_tenant.sql", id.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(|row| TenantId::from_uuid(row.tenant)))
}

pub async fn find(store: &Store, tenant: TenantId, id: WebhookId) -> Result<Option<Webhook>, StoreError> {
    let row = sqlx::query_file_as!(Row, "queries/webhooks/find.sql", tenant.as_uuid(), id.as_uuid());
    row.fetch_optional(&store.pool).await?.map(Row::into_webhook).transpose()
}

/// Loads and locks a webhook.
pub async fn lock(tx: &mut Tx, tenant: TenantId, id: WebhookId) -> Result<Option<Webhook>, StoreError> {
    let row = sqlx::query_file_as!(Row, "queries/webhooks/lock.sql", tenant.as_uuid(), id.as_uuid());
    row.fetch_optional(tx.connection()).await?.map(Row::into_webhook).transpose()
}

/// Lists the webhooks of a tenant and its agents, oldest first.
pub async fn list(store: &Store, tenant: TenantId, limit: usize) -> Result<Vec<Webhook>, StoreError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = sqlx::query_file_as!(Row, "queries/webhooks/list.sql", tenant.as_uuid(), limit);
    rows.fetch_all(&store.pool).await?.into_iter().map(Row::into_webhook).collect()
}

/// Lists the webhooks that are told about a tenant, without those of its agents.
pub async fn load_of_tenant(tx: &mut Tx, tenant: TenantId) -> Result<Vec<Webhook>, StoreError> {
    let limit = i64::try_from(MAX_WEBHOOKS).unwrap_or(i64::MAX);
    let rows = sqlx::query_file_as!(Row, "queries/webhooks/list_of_tenant.sql", tenant.as_uuid(), limit);
    rows.fetch_all(tx.connection()).await?.into_iter().map(Row::into_webhook).collect()
}

/// Returns the webhooks of an agent, in a transaction.
pub async fn load_of_agent(tx: &mut Tx, agent: AgentId) -> Result<Vec<Webhook>, StoreError> {
    let limit = i64::try_from(MAX_AGENT_WEBHOOKS).unwrap_or(i64::MAX);
    let rows = sqlx::query_file_as!(Row, "queries/webhooks/list_of_agent.sql", agent.as_uuid(), limit);
    rows.fetch_all(tx.connection()).await?.into_iter().map(Row::into_webhook).collect()
}

/// Deletes a webhook. Returns false if there is none.
pub async fn delete(tx: &mut Tx, tenant: TenantId, id: WebhookId) -> Result<bool, StoreError> {
    // As whoever enqueues events locks them: the cursor, the webhook, its lanes. The foreign keys have no order.
    sqlx::query_file!("queries/agent_webhooks/lock.sql", id.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    sqlx::query_file!("queries/webhooks/lock_id.sql", tenant.as_uuid(), id.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    sqlx::query_file!("queries/webhook_lanes/delete_of_webhook.sql", id.as_uuid())
        .execute(tx.connection())
        .await?;
    let done = sqlx::query_file!("queries/webhooks/delete.sql", tenant.as_uuid(), id.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Replaces the secret. The replaced one is the previous one, until its end.
pub async fn rotate(
    tx: &mut Tx,
    tenant: TenantId,
    id: WebhookId,
    sealed_secret: &[u8],
    previous_ends_at: jiff::Timestamp,
) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/webhooks/rotate.sql",
        tenant.as_uuid(),
        id.as_uuid(),
        sealed_secret,
        previous_ends_at.to_sqlx() as Timestamp
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

pub async fn find_secrets(
    store: &Store,
    tenant: TenantId,
    id: WebhookId,
) -> Result<Option<SealedSecrets>, StoreError> {
    let row = sqlx::query_file!("queries/webhooks/find_secrets.sql", tenant.as_uuid(), id.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(|row| SealedSecrets {
        current: row.sealed_secret,
        previous: row.sealed_previous_secret.zip(row.previous_secret_ends_at.map(Timestamp::to_jiff)),
    }))
}

/// Disables a webhook: the events that wait are missed. Returns false if it is disabled already, or deleted.
pub async fn disable(
    tx: &mut Tx,
    tenant: TenantId,
    id: WebhookId,
    reason: DisableReason,
) -> Result<bool, StoreError> {
    let done =
        sqlx::query_file!("queries/webhooks/disable.sql", tenant.as_uuid(), id.as_uuid(), reason.as_str())
            .execute(tx.connection())
            .await?;
    if done.rows_affected() == 0 {
        return Ok(false);
    }
    // Whoever finishes an attempt locks the lane before the event.
    sqlx::query_file!("queries/webhook_lanes/delete_of_webhook.sql", id.as_uuid())
        .execute(tx.connection())
        .await?;
    sqlx::query_file!("queries/webhook_events/miss_waiting.sql", id.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(true)
}

/// Enables a webhook. Returns false if it is enabled already, or deleted.
pub async fn enable(tx: &mut Tx, tenant: TenantId, id: WebhookId) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/webhooks/enable.sql", tenant.as_uuid(), id.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Stores that an event was accepted.
pub async fn set_success(store: &Store, tenant: TenantId, id: WebhookId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/webhooks/set_success.sql", tenant.as_uuid(), id.as_uuid())
        .execute(&store.pool)
        .await?;
    Ok(())
}

/// Stores a failed attempt. Returns since when every attempt has failed; none if the webhook was deleted.
pub async fn set_failure(
    store: &Store,
    tenant: TenantId,
    id: WebhookId,
    failure: &NewFailure<'_>,
) -> Result<Option<FailingSince>, StoreError> {
    let row = sqlx::query_file!(
        "queries/webhooks/set_failure.sql",
        tenant.as_uuid(),
        id.as_uuid(),
        failure.event.as_uuid(),
        i32::try_from(failure.attempt).unwrap_or(i32::MAX),
        failure.message,
        failure.is_final
    )
    .fetch_optional(&store.pool)
    .await?;
    Ok(row.map(|row| FailingSince { since: row.failing_since.to_jiff(), now: row.now.to_jiff() }))
}
