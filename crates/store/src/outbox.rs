//! The outbox: side effects that are enqueued in the transaction of their cause.

use std::collections::BTreeMap;
use std::time::Duration;

use guildhall_domain::ids::{EffectId, TenantId};
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

/// Parameters of [`claim`].
#[derive(Debug, Clone, Copy)]
pub struct ClaimRequest<'a> {
    pub kind: &'a str,
    /// Id of this claim; only its holder may report an outcome.
    pub claim: Uuid,
    /// Effects with this many attempts are not claimed again.
    pub max_attempts: u32,
    pub limit: u32,
    /// At most this many effects of one tenant are performed at once, including [`Self::performed`].
    pub tenant_limit: u32,
    /// How many effects of which tenants this worker performs already.
    pub performed: &'a BTreeMap<TenantId, u32>,
    /// Other workers do not see the claimed effects for this long, on the clock of PostgreSQL.
    pub visibility_timeout: Duration,
}

/// An effect that a worker has claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedEffect {
    pub id: EffectId,
    /// Whose limit it counts for.
    pub tenant: Option<TenantId>,
    pub body: String,
    /// Number of attempts, including this one.
    pub attempts: u32,
}

/// Effects that were claimed together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedBatch {
    pub effects: Vec<ClaimedEffect>,
    /// How many were due, up to the limit. Those over the limit of their tenant were not claimed.
    pub due: u32,
}

/// Inserts an effect in the transaction of its cause, so that both are committed or neither. With a tenant it counts for
/// the limit of the effects that are performed at once.
pub async fn enqueue(
    tx: &mut Tx,
    id: EffectId,
    kind: &str,
    tenant: Option<TenantId>,
    body: &str,
) -> Result<(), StoreError> {
    let tenant = tenant.map(TenantId::as_uuid);
    sqlx::query_file!("queries/outbox/insert.sql", id.as_uuid(), kind, tenant, body)
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Claims effects that are due. Concurrent workers get different ones.
pub async fn claim(store: &Store, claim: &ClaimRequest<'_>) -> Result<ClaimedBatch, StoreError> {
    let tenants: Vec<Uuid> = claim.performed.keys().map(|tenant| tenant.as_uuid()).collect();
    let counts: Vec<i64> = claim.performed.values().copied().map(i64::from).collect();
    let rows = sqlx::query_file!(
        "queries/outbox/claim.sql",
        claim.kind,
        signed(claim.max_attempts),
        i64::from(claim.limit),
        claim.claim,
        claim.visibility_timeout.as_secs_f64(),
        i64::from(claim.tenant_limit),
        &tenants,
        &counts
    )
    .fetch_all(&store.pool)
    .await?;
    let due = rows.first().map_or(0, |row| u32::try_from(row.due).unwrap_or(u32::MAX));
    let effects = rows.into_iter().map(|row| ClaimedEffect {
        id: EffectId::from_uuid(row.id),
        tenant: row.tenant.map(TenantId::from_uuid),
        body: row.body,
        attempts: u32::try_from(row.attempts).unwrap_or(u32::MAX),
    });
    Ok(ClaimedBatch { effects: effects.collect(), due })
}

/// Deletes a completed effect. Returns `false` if the claim had expired.
pub async fn complete(store: &Store, id: EffectId, claim: Uuid) -> Result<bool, StoreError> {
    let done =
        sqlx::query_file!("queries/outbox/delete.sql", id.as_uuid(), claim).execute(&store.pool).await?;
    Ok(done.rows_affected() == 1)
}

/// Schedules another attempt after a delay. Returns `false` if the claim had expired.
pub async fn retry(
    store: &Store,
    id: EffectId,
    claim: Uuid,
    error: &str,
    after: Duration,
) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/outbox/retry.sql", id.as_uuid(), claim, error, after.as_secs_f64())
        .execute(&store.pool)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Marks an effect as a dead letter. Returns `false` if the claim had expired.
pub async fn mark_dead(store: &Store, id: EffectId, claim: Uuid, error: &str) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/outbox/mark_dead.sql", id.as_uuid(), claim, error)
        .execute(&store.pool)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Marks the effects of a kind as dead letters that have used all attempts and whose last worker never reported back.
/// Returns how many there were.
pub async fn mark_exhausted(store: &Store, kind: &str, max_attempts: u32) -> Result<u64, StoreError> {
    let done = sqlx::query_file!("queries/outbox/mark_exhausted.sql", kind, signed(max_attempts))
        .execute(&store.pool)
        .await?;
    Ok(done.rows_affected())
}

/// Counts dead letters, up to `limit`.
pub async fn count_dead(store: &Store, limit: u32) -> Result<i64, StoreError> {
    let row =
        sqlx::query_file!("queries/outbox/count_dead.sql", i64::from(limit)).fetch_one(&store.pool).await?;
    Ok(row.count)
}

fn signed(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
