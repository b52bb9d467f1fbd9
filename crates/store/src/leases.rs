//! Leases: which runner holds which run, on the clock of the database. A run without a holder has no row.

use std::time::Duration;

use guildhall_domain::ids::{AttemptId, EnrolmentId, RunId, RunnerId};
use guildhall_domain::journal::{Epoch, Head, Journal, Seq};
use guildhall_domain::runners::enrolment::RunGrant;
use jiff_sqlx::Timestamp;
use uuid::Uuid;

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
    /// Whether the head of the run moves to this epoch. The caller has locked it.
    pub is_new_epoch: bool,
}

/// A lease that was just granted.
#[derive(Debug, Clone)]
pub struct GrantedLease {
    /// When it expires unless it is renewed.
    pub expires_at: jiff::Timestamp,
    pub attempt: AttemptId,
    /// How to prepare the workspace, if the run's project says so: see [`projects::parse_setup`](crate::projects::parse_setup).
    pub setup: Option<String>,
    /// What the agent of the run is told, if the run is of one.
    pub instructions: Option<String>,
}

/// Assigns a run to a runner. Returns `None` if the runner is draining or its enrolment is no longer valid.
pub async fn upsert(tx: &mut Tx, new: &NewLease) -> Result<Option<GrantedLease>, StoreError> {
    let row = sqlx::query_file!(
        "queries/leases/upsert.sql",
        new.run.as_uuid(),
        new.runner.as_uuid(),
        new.epoch.get(),
        i32::try_from(new.hold.as_millis()).unwrap_or(i32::MAX),
        new.enrolment.as_uuid(),
        new.attempt.as_uuid(),
        new.is_new_epoch,
        Journal::Run.number()
    )
    .fetch_optional(tx.connection())
    .await?;
    Ok(row.map(|row| GrantedLease {
        expires_at: row.expires_at.to_jiff(),
        attempt: AttemptId::from_uuid(row.attempt),
        setup: row.setup,
        instructions: row.instructions,
    }))
}

/// Renews a lease in a transaction that changes its run. Returns the new expiry, or `None` if the epoch is no longer current.
pub async fn extend(tx: &mut Tx, run: RunId, epoch: Epoch) -> Result<Option<jiff::Timestamp>, StoreError> {
    let row = sqlx::query_file!("queries/leases/extend.sql", run.as_uuid(), epoch.get())
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.map(|row| row.expires_at.to_jiff()))
}

/// Renews the lease of a grant. Returns `None` if its epoch is no longer current, or if the enrolment of its runner was revoked.
pub async fn renew(store: &Store, grant: &RunGrant) -> Result<Option<jiff::Timestamp>, StoreError> {
    let row = sqlx::query_file!(
        "queries/leases/renew.sql",
        grant.run.as_uuid(),
        grant.epoch.get(),
        grant.runner.as_uuid(),
        grant.tenant.as_uuid()
    )
    .fetch_optional(&store.pool)
    .await?;
    Ok(row.map(|row| row.expires_at.to_jiff()))
}

pub async fn delete(tx: &mut Tx, run: RunId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/leases/delete.sql", run.as_uuid()).execute(tx.connection()).await?;
    Ok(())
}

/// Locks the head of one run whose lease expired more than `grace` ago, and that nobody else has locked.
pub async fn lock_expired(
    tx: &mut Tx,
    grace: Duration,
    except: &[RunId],
) -> Result<Option<(RunId, Head)>, StoreError> {
    let except: Vec<Uuid> = except.iter().map(|run| run.as_uuid()).collect();
    let row = sqlx::query_file!(
        "queries/leases/lock_expired.sql",
        grace.as_secs_f64(),
        Journal::Run.number(),
        &except
    )
    .fetch_optional(tx.connection())
    .await?;
    Ok(row.map(|row| {
        let last_seq = Seq::new(row.last_seq).unwrap_or_default();
        (RunId::from_uuid(row.run), Head { last_seq, epoch: Epoch::new(row.epoch) })
    }))
}

/// Lists runs whose lease expired more than `grace` ago.
pub async fn list_expired(store: &Store, grace: Duration, limit: u32) -> Result<Vec<RunId>, StoreError> {
    let rows = sqlx::query_file!("queries/leases/list_expired.sql", grace.as_secs_f64(), i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    Ok(rows.into_iter().map(|row| RunId::from_uuid(row.run)).collect())
}
