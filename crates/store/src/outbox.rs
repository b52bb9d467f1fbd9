//! Effects on the world outside that committed facts ask for.

use std::time::Duration;

use guildhall_domain::ids::EffectId;
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

/// What a worker takes.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    pub kind: &'a str,
    /// Names this taking; an outcome counts only under it.
    pub claim: Uuid,
    /// Effects that were begun this often are not taken any more.
    pub attempts_at_most: u32,
    pub limit: u32,
    /// Nobody else sees them for so long, on the clock of PostgreSQL.
    pub visible_after: Duration,
}

/// An effect that a worker has taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    pub id: EffectId,
    pub body: String,
    /// Begun so far, with this one.
    pub attempts: u32,
}

/// Writes an effect in the transaction of the fact that asks for it: there is none without the other.
pub async fn enqueue(tx: &mut Tx, id: EffectId, kind: &str, body: &str) -> Result<(), StoreError> {
    sqlx::query_file!("queries/outbox/enqueue.sql", id.as_uuid(), kind, body)
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Takes some effects that are due. Two who take at once get different ones.
pub async fn claim(store: &Store, claim: &Claim<'_>) -> Result<Vec<Claimed>, StoreError> {
    let rows = sqlx::query_file!(
        "queries/outbox/claim.sql",
        claim.kind,
        signed(claim.attempts_at_most),
        i64::from(claim.limit),
        claim.claim,
        claim.visible_after.as_secs_f64()
    )
    .fetch_all(&store.pool)
    .await?;
    let claimed = rows.into_iter().map(|row| Claimed {
        id: EffectId::from_uuid(row.id),
        body: row.body,
        attempts: u32::try_from(row.attempts).unwrap_or(u32::MAX),
    });
    Ok(claimed.collect())
}

/// Takes an effect off the list: it is done. Returns whether it was still this worker's.
pub async fn done(store: &Store, id: EffectId, claim: Uuid) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/outbox/done.sql", id.as_uuid(), claim).execute(&store.pool).await?;
    Ok(done.rows_affected() == 1)
}

/// Puts an effect back, to be taken again after some time. Returns whether it was still this worker's.
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

/// Gives an effect up. Returns whether it was still this worker's.
pub async fn give_up(store: &Store, id: EffectId, claim: Uuid, error: &str) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/outbox/give_up.sql", id.as_uuid(), claim, error)
        .execute(&store.pool)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Gives up those of a kind whose attempts are used up and whose last worker was never heard of again.
/// Returns how many there were.
pub async fn bury(store: &Store, kind: &str, attempts_at_most: u32) -> Result<u64, StoreError> {
    let done = sqlx::query_file!("queries/outbox/bury.sql", kind, signed(attempts_at_most))
        .execute(&store.pool)
        .await?;
    Ok(done.rows_affected())
}

/// Counts what was given up, to `limit` at most.
pub async fn count_dead(store: &Store, limit: u32) -> Result<i64, StoreError> {
    let row =
        sqlx::query_file!("queries/outbox/count_dead.sql", i64::from(limit)).fetch_one(&store.pool).await?;
    Ok(row.count)
}

fn signed(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
