//! Erases rows that are no longer kept. Every statement takes the time as an argument and handles a bounded batch.

use guildhall_domain::ids::{PrincipalId, SessionId, TenantId};
use guildhall_domain::retention::{HistoryCounts, TechnicalRowCounts};
use jiff::Timestamp;
use jiff_sqlx::{Timestamp as SqlTimestamp, ToSqlx};
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

/// A batch of erased sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionBatch {
    pub sessions: u64,
    pub runs: u64,
    /// The batch after this one begins here; `None` if nothing was left.
    pub last: Option<SessionId>,
}

/// Which sessions of a tenant are erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpiredSessions {
    pub tenant: TenantId,
    pub used_before: Timestamp,
    /// Files that were evicted before this time and never reported as removed keep no session.
    pub evicted_before: Timestamp,
}

/// Kinds of rows that nobody needs any more after some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TechnicalRows {
    Jobs,
    Enrolments,
    Runners,
    Logins,
}

impl TechnicalRows {
    pub const ALL: [Self; 4] = [Self::Jobs, Self::Enrolments, Self::Runners, Self::Logins];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Jobs => "jobs",
            Self::Enrolments => "enrolments",
            Self::Runners => "runners",
            Self::Logins => "logins",
        }
    }
}

/// Returns the time of PostgreSQL. A replica with a wrong clock must not erase anything.
pub async fn now(store: &Store) -> Result<Timestamp, StoreError> {
    let row = sqlx::query_file!("queries/retention/now.sql").fetch_one(&store.pool).await?;
    Ok(row.now.to_jiff())
}

/// Erases sessions after a session id, with everything that belongs to them except the events of their runs.
pub async fn erase_sessions(
    tx: &mut Tx,
    expired: &ExpiredSessions,
    after: Option<SessionId>,
    limit: u32,
) -> Result<SessionBatch, StoreError> {
    let row = sqlx::query_file!(
        "queries/retention/erase_sessions.sql",
        expired.tenant.as_uuid(),
        expired.used_before.to_sqlx() as SqlTimestamp,
        expired.evicted_before.to_sqlx() as SqlTimestamp,
        after.map_or(Uuid::nil(), SessionId::as_uuid),
        i32::try_from(limit).unwrap_or(i32::MAX)
    )
    .fetch_one(tx.connection())
    .await?;
    let last = row.last_session.map(SessionId::from_uuid);
    Ok(SessionBatch { sessions: unsigned(row.sessions), runs: unsigned(row.runs), last })
}

/// Counts what the retention of a tenant would erase.
pub async fn plan_history(
    store: &Store,
    tenant: TenantId,
    used_before: Timestamp,
) -> Result<HistoryCounts, StoreError> {
    let before = used_before.to_sqlx();
    let row =
        sqlx::query_file!("queries/retention/plan_history.sql", tenant.as_uuid(), before as SqlTimestamp)
            .fetch_one(&store.pool)
            .await?;
    let (sessions, runs, events) = (unsigned(row.sessions), unsigned(row.runs), unsigned(row.events));
    Ok(HistoryCounts { sessions, runs, events })
}

/// Counts the technical rows that would be deleted.
pub async fn plan_technical(
    store: &Store,
    ended_before: Timestamp,
) -> Result<TechnicalRowCounts, StoreError> {
    let (before, launched) = (ended_before.to_sqlx(), PrincipalId::LAUNCHED_RUNNERS.as_uuid());
    let row = sqlx::query_file!("queries/retention/plan_technical.sql", before as SqlTimestamp, launched)
        .fetch_one(&store.pool)
        .await?;
    Ok(TechnicalRowCounts {
        jobs: unsigned(row.jobs),
        enrolments: unsigned(row.enrolments),
        runners: unsigned(row.runners),
        logins: unsigned(row.logins),
    })
}

/// Deletes technical rows after an id. Returns how many, and the last id.
pub async fn delete_technical(
    store: &Store,
    rows: TechnicalRows,
    ended_before: Timestamp,
    after: Uuid,
    limit: u32,
) -> Result<(u64, Option<Uuid>), StoreError> {
    let (before, limit) = (ended_before.to_sqlx(), i64::from(limit));
    let mut ids: Vec<Uuid> = match rows {
        TechnicalRows::Jobs => {
            sqlx::query_file_scalar!(
                "queries/retention/delete_ended_jobs.sql",
                after,
                before as SqlTimestamp,
                limit
            )
            .fetch_all(&store.pool)
            .await?
        }
        TechnicalRows::Enrolments => {
            sqlx::query_file_scalar!(
                "queries/retention/delete_launched_enrolments.sql",
                after,
                before as SqlTimestamp,
                limit,
                PrincipalId::LAUNCHED_RUNNERS.as_uuid()
            )
            .fetch_all(&store.pool)
            .await?
        }
        TechnicalRows::Runners => {
            sqlx::query_file_scalar!(
                "queries/retention/delete_unused_runners.sql",
                after,
                before as SqlTimestamp,
                limit
            )
            .fetch_all(&store.pool)
            .await?
        }
        TechnicalRows::Logins => {
            sqlx::query_file_scalar!(
                "queries/retention/delete_ended_logins.sql",
                after,
                before as SqlTimestamp,
                limit
            )
            .fetch_all(&store.pool)
            .await?
        }
    };
    ids.sort_unstable();
    Ok((ids.len() as u64, ids.last().copied()))
}

/// Deletes the oldest entries of a tenant's approval stream, up to a time. Returns how many were deleted.
pub async fn trim_approval_stream(
    store: &Store,
    tenant: TenantId,
    recorded_before: Timestamp,
    limit: u32,
) -> Result<u64, StoreError> {
    let before = recorded_before.to_sqlx();
    let (tenant, limit) = (tenant.as_uuid(), i64::from(limit));
    let done = sqlx::query_file!(
        "queries/retention/trim_approval_stream.sql",
        tenant,
        before as SqlTimestamp,
        limit
    )
    .execute(&store.pool)
    .await?;
    Ok(done.rows_affected())
}

fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}
