//! Leases: which runner holds which run, on the clock of the database. A run without a holder has no row.

use std::time::Duration;

use guildhall_domain::ids::{AttemptId, EnrolmentId, RunId, RunnerId};
use guildhall_domain::journal::Epoch;
use jiff_sqlx::Timestamp;
use sqlx::PgExecutor;

use crate::{Store, StoreError, Tx};

/// Values of a lease.
#[derive(Debug, Clone, Copy)]
pub struct NewLease {
    pub run: RunId,
    pub runner: RunnerId,
    pub epoch: Epoch,
    pub hold: Duration,
    /// The enrolment of the runner. The runner job that it belongs to, if any, determines the attempt (ADR 034).
    pub enrolment: EnrolmentId,
    /// The attempt of a runner that no job started.
    pub attempt: AttemptId,
}

/// Assigns a run to a runner. Returns when the lease expires unless it is renewed, and its attempt; `None` if the runner is
/// draining or its enrolment is no longer valid.
pub async fn upsert(tx: &mut Tx, new: &NewLease) -> Result<Option<(jiff::Timestamp, AttemptId)>, StoreError> {
    let row = sqlx::query_file!(
        "queries/leases/upsert.sql",
        new.run.as_uuid(),
        new.runner.as_uuid(),
        new.epoch.get(),
        i32::try_from(new.hold.as_millis()).unwrap_or(i32::MAX),
        new.enrolment.as_uuid(),
        new.attempt.as_uuid()
    )
    .fetch_optional(tx.connection())
    .await?;
    Ok(row.map(|row| (row.expires_at.to_jiff(), AttemptId::from_uuid(row.attempt))))
}

/// Renews a lease. Returns the new expiry, or `None` if the epoch is no longer current.
pub async fn extend(tx: &mut Tx, run: RunId, epoch: Epoch) -> Result<Option<jiff::Timestamp>, StoreError> {
    extend_with(tx.connection(), run, epoch).await
}

/// Renews a lease in a transaction of its own.
pub async fn renew(store: &Store, run: RunId, epoch: Epoch) -> Result<Option<jiff::Timestamp>, StoreError> {
    extend_with(&store.pool, run, epoch).await
}

async fn extend_with(
    executor: impl PgExecutor<'_>,
    run: RunId,
    epoch: Epoch,
) -> Result<Option<jiff::Timestamp>, StoreError> {
    let row = sqlx::query_file!("queries/leases/extend.sql", run.as_uuid(), epoch.get())
        .fetch_optional(executor)
        .await?;
    Ok(row.map(|row| row.expires_at.to_jiff()))
}

pub async fn delete(tx: &mut Tx, run: RunId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/leases/delete.sql", run.as_uuid()).execute(tx.connection()).await?;
    Ok(())
}

/// Lists runs whose lease expired more than `grace` ago.
pub async fn list_expired(store: &Store, grace: Duration, limit: u32) -> Result<Vec<RunId>, StoreError> {
    let rows = sqlx::query_file!("queries/leases/list_expired.sql", grace.as_secs_f64(), i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    Ok(rows.into_iter().map(|row| RunId::from_uuid(row.run)).collect())
}
