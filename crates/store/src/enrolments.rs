//! Enrolments: tokens with which runners register and claim runs.

use guildhall_domain::runners::enrolment::EnrolmentSummary;
use std::time::Duration;

use guildhall_domain::access::principal::Slug;
use guildhall_domain::ids::{EnrolmentId, PrincipalId, RunId, RunnerId, RunnerJobId, TenantId};
use guildhall_domain::runners::enrolment::Enrolment;
use jiff_sqlx::Timestamp;

use crate::{Store, StoreError, Tx};

/// Maximum number of enrolments in a list, newest first.
const MAX_ENROLMENTS: i64 = 1000;

/// Values of a new enrolment. Only the hash of the secret is stored.
#[derive(Debug, Clone)]
pub struct NewEnrolment<'a> {
    pub id: EnrolmentId,
    /// `None` for an enrolment of the shared pool.
    pub tenant: Option<TenantId>,
    pub principal: PrincipalId,
    pub name: &'a str,
    pub profile: Option<&'a Slug>,
    pub run: Option<RunId>,
    pub hash: &'a [u8],
    /// Lifetime, on the clock of PostgreSQL.
    pub ttl: Duration,
    /// The runner job that starts the process of this enrolment.
    pub job: Option<RunnerJobId>,
}

/// An enrolment that is neither revoked nor expired.
#[derive(Debug, Clone)]
pub struct ActiveEnrolment {
    pub enrolment: Enrolment,
    pub hash: Vec<u8>,
    pub last_used_at: Option<jiff::Timestamp>,
}

/// Inserts an enrolment. Returns when it expires.
pub async fn insert(tx: &mut Tx, new: &NewEnrolment<'_>) -> Result<jiff::Timestamp, StoreError> {
    let row = sqlx::query_file!(
        "queries/enrolments/insert.sql",
        new.id.as_uuid(),
        new.tenant.map(TenantId::as_uuid),
        new.principal.as_uuid(),
        new.name,
        new.profile.map(Slug::as_str),
        new.run.map(RunId::as_uuid),
        new.hash,
        new.ttl.as_secs_f64(),
        new.job.map(RunnerJobId::as_uuid)
    )
    .fetch_one(tx.connection())
    .await?;
    Ok(row.expires_at.to_jiff())
}

/// Finds an enrolment that is neither revoked nor expired.
pub async fn find(store: &Store, id: EnrolmentId) -> Result<Option<ActiveEnrolment>, StoreError> {
    let row =
        sqlx::query_file!("queries/enrolments/find.sql", id.as_uuid()).fetch_optional(&store.pool).await?;
    Ok(row.and_then(|row| {
        // An unreadable restriction must not become "unrestricted": such an enrolment is treated as missing.
        let slug = |text: Option<String>| text.map(|text| text.parse::<Slug>()).transpose().ok();
        let enrolment = Enrolment {
            id,
            principal: PrincipalId::from_uuid(row.principal),
            tenant: row.tenant.map(TenantId::from_uuid),
            profile: slug(row.profile)?,
            run: row.run.map(RunId::from_uuid),
            expires_at: row.expires_at.to_jiff(),
        };
        let last_used_at = row.last_used_at.map(Timestamp::to_jiff);
        Some(ActiveEnrolment { enrolment, hash: row.hash, last_used_at })
    }))
}

/// Returns whether a claimed run may continue: the enrolment of its runner is not revoked. It may have expired.
pub async fn is_unrevoked(
    store: &Store,
    runner: RunnerId,
    tenant: TenantId,
    run: RunId,
) -> Result<bool, StoreError> {
    let (runner, tenant, run) = (runner.as_uuid(), tenant.as_uuid(), run.as_uuid());
    let row = sqlx::query_file!("queries/enrolments/is_unrevoked.sql", runner, tenant, run)
        .fetch_one(&store.pool)
        .await?;
    Ok(row.exists)
}

/// Updates the last-used time of an enrolment.
pub async fn touch(store: &Store, id: EnrolmentId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/enrolments/touch.sql", id.as_uuid()).execute(&store.pool).await?;
    Ok(())
}

pub async fn list(store: &Store, tenant: TenantId) -> Result<Vec<EnrolmentSummary>, StoreError> {
    let rows = sqlx::query_file!("queries/enrolments/list.sql", tenant.as_uuid(), MAX_ENROLMENTS)
        .fetch_all(&store.pool)
        .await?;
    let enrolments = rows.into_iter().map(|row| EnrolmentSummary {
        id: EnrolmentId::from_uuid(row.id),
        name: row.name,
        profile: row.profile,
        created_at: row.created_at.to_jiff(),
        expires_at: row.expires_at.to_jiff(),
        last_used_at: row.last_used_at.map(Timestamp::to_jiff),
        revoked_at: row.revoked_at.map(Timestamp::to_jiff),
    });
    Ok(enrolments.collect())
}

/// Revokes an enrolment. Returns `false` if it was already revoked.
pub async fn revoke(tx: &mut Tx, tenant: TenantId, id: EnrolmentId) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/enrolments/revoke.sql", tenant.as_uuid(), id.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Returns whether a tenant has an enrolment with this id, revoked or not.
pub async fn exists(tx: &mut Tx, tenant: TenantId, id: EnrolmentId) -> Result<bool, StoreError> {
    let row = sqlx::query_file!("queries/enrolments/exists.sql", tenant.as_uuid(), id.as_uuid())
        .fetch_one(tx.connection())
        .await?;
    Ok(row.exists)
}

/// Binds an enrolment, and the job of its warm runner, to a run. Returns `false` if it is revoked or bound to another run.
pub async fn bind(tx: &mut Tx, id: EnrolmentId, run: RunId) -> Result<bool, StoreError> {
    let bound = sqlx::query_file!("queries/enrolments/bind.sql", id.as_uuid(), run.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    Ok(bound.is_some())
}

/// Revokes the enrolment of a launched process, whichever tenant it belongs to.
pub async fn revoke_by_id(tx: &mut Tx, id: EnrolmentId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/enrolments/revoke_by_id.sql", id.as_uuid()).execute(tx.connection()).await?;
    Ok(())
}

/// Whether the runners of a tenant's own enrolments serve a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileAvailability {
    /// A runner has registered for it, or may still do so.
    Served,
    /// Runners have registered, for other profiles.
    NotServed,
    /// The tenant has no valid enrolment.
    NoEnrolment,
}

pub async fn profile_availability(
    store: &Store,
    tenant: TenantId,
    profile: &str,
) -> Result<ProfileAvailability, StoreError> {
    let row = sqlx::query_file!("queries/enrolments/profile_availability.sql", tenant.as_uuid(), profile)
        .fetch_one(&store.pool)
        .await?;
    Ok(match (row.has_enrolment, row.is_served) {
        (false, _) => ProfileAvailability::NoEnrolment,
        (true, false) => ProfileAvailability::NotServed,
        (true, true) => ProfileAvailability::Served,
    })
}
