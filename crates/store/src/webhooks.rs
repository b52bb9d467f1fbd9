//! Webhooks: endpoints of tenants that are told about events.

use guildhall_domain::ids::{PrincipalId, TenantId, WebhookEventId, WebhookId};
use guildhall_domain::webhooks::event::WebhookEventType;
use guildhall_domain::webhooks::url::WebhookUrl;
use guildhall_domain::webhooks::{DisableReason, DisabledWebhook, FailedDelivery, Webhook};
use jiff_sqlx::{Timestamp, ToSqlx};
use sqlx::PgExecutor;
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

/// Values of a new webhook.
#[derive(Debug, Clone)]
pub struct NewWebhook<'a> {
    pub id: WebhookId,
    pub tenant: TenantId,
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
        })
    }
}

/// Locks a tenant until the end of the transaction, and counts its webhooks.
pub async fn lock_and_count(tx: &mut Tx, tenant: TenantId) -> Result<usize, StoreError> {
    sqlx::query_file!("queries/webhooks/lock_tenant.sql", tenant.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    let row =
        sqlx::query_file!("queries/webhooks/count.sql", tenant.as_uuid()).fetch_one(tx.connection()).await?;
    Ok(usize::try_from(row.count).unwrap_or(usize::MAX))
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
    Ok(row.created_at.to_jiff())
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

/// Lists the webhooks of a tenant, oldest first.
pub async fn list(store: &Store, tenant: TenantId, limit: usize) -> Result<Vec<Webhook>, StoreError> {
    list_with(&store.pool, tenant, limit).await
}

/// Lists the webhooks of a tenant in a transaction.
pub async fn load_all(tx: &mut Tx, tenant: TenantId, limit: usize) -> Result<Vec<Webhook>, StoreError> {
    list_with(tx.connection(), tenant, limit).await
}

async fn list_with(
    executor: impl PgExecutor<'_>,
    tenant: TenantId,
    limit: usize,
) -> Result<Vec<Webhook>, StoreError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = sqlx::query_file_as!(Row, "queries/webhooks/list.sql", tenant.as_uuid(), limit);
    rows.fetch_all(executor).await?.into_iter().map(Row::into_webhook).collect()
}

/// Deletes a webhook. Returns false if there is none.
pub async fn delete(tx: &mut Tx, tenant: TenantId, id: WebhookId) -> Result<bool, StoreError> {
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

/// Disables a webhook. Returns false if it is disabled already, or deleted.
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
    Ok(done.rows_affected() == 1)
}

/// Stores that an event was accepted.
pub async fn set_success(store: &Store, tenant: TenantId, id: WebhookId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/webhooks/set_success.sql", tenant.as_uuid(), id.as_uuid())
        .execute(&store.pool)
        .await?;
    Ok(())
}

/// Stores a failed attempt.
pub async fn set_failure(
    store: &Store,
    tenant: TenantId,
    id: WebhookId,
    failure: &NewFailure<'_>,
) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/webhooks/set_failure.sql",
        tenant.as_uuid(),
        id.as_uuid(),
        failure.event.as_uuid(),
        i32::try_from(failure.attempt).unwrap_or(i32::MAX),
        failure.message,
        failure.is_final
    )
    .execute(&store.pool)
    .await?;
    Ok(())
}
