//! Registered runners.

use std::collections::HashMap;
use std::time::Duration;

use guildhall_domain::access::principal::Slug;
use guildhall_domain::ids::{EnrolmentId, PrincipalId, RunId, RunnerId, TenantId};
use guildhall_domain::runners::enrolment::Enrolment;
use guildhall_domain::runners::runner::{Runner, RunnerSummary};
use jiff_sqlx::Timestamp;
use uuid::Uuid;

use crate::enrolments::ActiveEnrolment;
use crate::{Store, StoreError, Tx};

/// Values of a new runner.
#[derive(Debug, Clone)]
pub struct NewRunner<'a> {
    pub id: RunnerId,
    pub tenant: Option<TenantId>,
    pub enrolment: EnrolmentId,
    pub name: &'a str,
    /// JSON: the placement that the runner reports.
    pub placement: &'a str,
    pub backend_profiles: &'a [String],
}

pub async fn insert(store: &Store, new: &NewRunner<'_>) -> Result<Runner, StoreError> {
    let row = sqlx::query_file_as!(
        Row,
        "queries/runners/insert.sql",
        new.id.as_uuid(),
        new.tenant.map(TenantId::as_uuid),
        new.enrolment.as_uuid(),
        new.name,
        new.placement,
        new.backend_profiles
    )
    .fetch_one(&store.pool)
    .await?;
    Ok(row.into_runner())
}

pub async fn find(store: &Store, id: RunnerId) -> Result<Option<Runner>, StoreError> {
    let row = sqlx::query_file_as!(Row, "queries/runners/find.sql", id.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(Row::into_runner))
}

struct Row {
    id: Uuid,
    tenant: Option<Uuid>,
    enrolment: Uuid,
    name: String,
    backend_profiles: Vec<String>,
    is_draining: bool,
}

impl Row {
    fn into_runner(self) -> Runner {
        Runner {
            id: RunnerId::from_uuid(self.id),
            tenant: self.tenant.map(TenantId::from_uuid),
            enrolment: EnrolmentId::from_uuid(self.enrolment),
            name: self.name,
            backend_profiles: self.backend_profiles,
            is_draining: self.is_draining,
        }
    }
}

/// Records that these runners asked for a run. Returns those whose enrolment is valid, with it.
pub async fn touch_all(
    store: &Store,
    ids: &[RunnerId],
) -> Result<HashMap<RunnerId, (ActiveEnrolment, Runner)>, StoreError> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.as_uuid()).collect();
    let rows = sqlx::query_file!("queries/runners/touch_all.sql", &ids).fetch_all(&store.pool).await?;
    let mut found = HashMap::with_capacity(rows.len());
    for row in rows {
        // An unreadable restriction must not become "unrestricted": such an enrolment is treated as missing.
        let Ok(profile) = row.profile.map(|text| text.parse::<Slug>()).transpose() else { continue };
        let enrolment = Enrolment {
            id: EnrolmentId::from_uuid(row.enrolment),
            principal: PrincipalId::from_uuid(row.principal),
            tenant: row.enrolment_tenant.map(TenantId::from_uuid),
            profile,
            run: row.run.map(RunId::from_uuid),
            expires_at: row.expires_at.to_jiff(),
        };
        let last_used_at = row.last_used_at.map(Timestamp::to_jiff);
        let runner = Runner {
            id: RunnerId::from_uuid(row.id),
            tenant: row.tenant.map(TenantId::from_uuid),
            enrolment: enrolment.id,
            name: row.name,
            backend_profiles: row.backend_profiles,
            is_draining: row.is_draining,
        };
        found.insert(runner.id, (ActiveEnrolment { enrolment, hash: row.hash, last_used_at }, runner));
    }
    Ok(found)
}

/// Marks a runner of a tenant as draining. Returns `false` if it was already, or does not exist.
pub async fn drain(tx: &mut Tx, tenant: TenantId, id: RunnerId) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/runners/drain.sql", id.as_uuid(), tenant.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Number of runners by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunnerCounts {
    /// Hold a run.
    pub busy: u64,
    /// Asked for a run lately.
    pub idle: u64,
    /// Get no other run. They hold one, or asked for one lately.
    pub draining: u64,
}

/// Runners that [`count_by_state`] reads: those with a run, and as many that registered last.
const MAX_COUNTED_RUNNERS: i64 = 2_000;

/// Counts the runners of all tenants that hold a run, and those of the 2,000 newest that asked for one lately.
pub async fn count_by_state(store: &Store, seen_within: Duration) -> Result<RunnerCounts, StoreError> {
    let row = sqlx::query_file!(
        "queries/runners/count_by_state.sql",
        seen_within.as_secs_f64(),
        MAX_COUNTED_RUNNERS
    )
    .fetch_one(&store.pool)
    .await?;
    let count = |number: i64| u64::try_from(number).unwrap_or(0);
    Ok(RunnerCounts { busy: count(row.busy), idle: count(row.idle), draining: count(row.draining) })
}

/// Finds a runner of a tenant.
pub async fn find_summary(
    store: &Store,
    tenant: TenantId,
    id: RunnerId,
) -> Result<Option<RunnerSummary>, StoreError> {
    Ok(list_with(store, tenant, Some(id), None, 1).await?.pop())
}

/// Lists the runners of a tenant, newest first: all of them, or those that hold a run or were seen lately.
pub async fn list(
    store: &Store,
    tenant: TenantId,
    seen_within: Option<Duration>,
    limit: u32,
) -> Result<Vec<RunnerSummary>, StoreError> {
    list_with(store, tenant, None, seen_within, limit).await
}

async fn list_with(
    store: &Store,
    tenant: TenantId,
    only: Option<RunnerId>,
    seen_within: Option<Duration>,
    limit: u32,
) -> Result<Vec<RunnerSummary>, StoreError> {
    let rows = sqlx::query_file!(
        "queries/runners/list.sql",
        tenant.as_uuid(),
        only.map(RunnerId::as_uuid),
        seen_within.map(|time| time.as_secs_f64()),
        i64::from(limit)
    )
    .fetch_all(&store.pool)
    .await?;
    let runners = rows.into_iter().map(|row| RunnerSummary {
        id: RunnerId::from_uuid(row.id),
        name: row.name,
        backend_profiles: row.backend_profiles,
        registered_at: row.registered_at.to_jiff(),
        seen_at: row.seen_at.to_jiff(),
        is_draining: row.is_draining,
        run: row.run.map(RunId::from_uuid),
    });
    Ok(runners.collect())
}

/// Lists the profiles that runners of a tenant's own enrolments have registered for, by name.
pub async fn list_profiles(store: &Store, tenant: TenantId, limit: u32) -> Result<Vec<String>, StoreError> {
    let rows = sqlx::query_file!("queries/runners/list_profiles.sql", tenant.as_uuid(), i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    Ok(rows.into_iter().map(|row| row.name).collect())
}
