//! Tokens with which runners register and claim.

use std::time::Duration;

use guildhall_domain::access::principal::Slug;
use guildhall_domain::ids::{EnrolmentId, PrincipalId, RunId, TenantId};
use guildhall_domain::runners::enrolment::Enrolment;
use jiff_sqlx::Timestamp;

use crate::{Store, StoreError, Tx};

/// Enrolments of one tenant that an answer lists, the newest first.
const ENROLMENTS_AT_MOST: i64 = 1000;

/// An enrolment to write; the secret itself is known to its holder alone.
#[derive(Debug, Clone)]
pub struct NewEnrolment<'a> {
    pub id: EnrolmentId,
    /// None for one of the installation's own pool.
    pub tenant: Option<TenantId>,
    pub principal: PrincipalId,
    pub name: &'a str,
    pub profile: Option<&'a Slug>,
    pub pool: Option<&'a Slug>,
    pub run: Option<RunId>,
    pub hash: &'a [u8],
    /// On the clock of PostgreSQL.
    pub lives_for: Duration,
}

/// An enrolment as it is checked.
#[derive(Debug, Clone)]
pub struct EnrolmentCheck {
    pub enrolment: Enrolment,
    pub hash: Vec<u8>,
    pub last_used_at: Option<jiff::Timestamp>,
}

/// An enrolment as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnrolmentRow {
    pub id: EnrolmentId,
    pub name: String,
    pub profile: Option<String>,
    pub pool: Option<String>,
    pub created_at: jiff::Timestamp,
    pub expires_at: jiff::Timestamp,
    pub last_used_at: Option<jiff::Timestamp>,
    pub revoked_at: Option<jiff::Timestamp>,
}

/// Writes an enrolment. Returns when it expires.
pub async fn insert(tx: &mut Tx, new: &NewEnrolment<'_>) -> Result<jiff::Timestamp, StoreError> {
    let row = sqlx::query_file!(
        "queries/enrolments/insert.sql",
        new.id.as_uuid(),
        new.tenant.map(TenantId::as_uuid),
        new.principal.as_uuid(),
        new.name,
        new.profile.map(Slug::as_str),
        new.pool.map(Slug::as_str),
        new.run.map(RunId::as_uuid),
        new.hash,
        new.lives_for.as_secs_f64()
    )
    .fetch_one(tx.connection())
    .await?;
    Ok(row.expires_at.to_jiff())
}

/// Finds an enrolment that still holds.
pub async fn find(store: &Store, id: EnrolmentId) -> Result<Option<EnrolmentCheck>, StoreError> {
    let row =
        sqlx::query_file!("queries/enrolments/find.sql", id.as_uuid()).fetch_optional(&store.pool).await?;
    Ok(row.and_then(|row| {
        // A bound that this binary cannot read is not "unbound": such an enrolment does not hold.
        let slug = |text: Option<String>| text.map(|text| text.parse::<Slug>()).transpose().ok();
        let enrolment = Enrolment {
            id,
            principal: PrincipalId::from_uuid(row.principal),
            tenant: row.tenant.map(TenantId::from_uuid),
            profile: slug(row.profile)?,
            pool: slug(row.pool)?,
            run: row.run.map(RunId::from_uuid),
            expires_at: row.expires_at.to_jiff(),
        };
        let last_used_at = row.last_used_at.map(Timestamp::to_jiff);
        Some(EnrolmentCheck { enrolment, hash: row.hash, last_used_at })
    }))
}

/// Returns whether a run that was claimed under a principal's enrolment may go on: that was not revoked. It may have
/// expired.
pub async fn is_unrevoked(
    store: &Store,
    principal: PrincipalId,
    tenant: TenantId,
    run: RunId,
) -> Result<bool, StoreError> {
    let (principal, tenant, run) = (principal.as_uuid(), tenant.as_uuid(), run.as_uuid());
    let row = sqlx::query_file!("queries/enrolments/is_unrevoked.sql", principal, tenant, run)
        .fetch_one(&store.pool)
        .await?;
    Ok(row.exists)
}

/// Notes that an enrolment was used.
pub async fn touch(store: &Store, id: EnrolmentId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/enrolments/touch.sql", id.as_uuid()).execute(&store.pool).await?;
    Ok(())
}

pub async fn list(store: &Store, tenant: TenantId) -> Result<Vec<EnrolmentRow>, StoreError> {
    let rows = sqlx::query_file!("queries/enrolments/list.sql", tenant.as_uuid(), ENROLMENTS_AT_MOST)
        .fetch_all(&store.pool)
        .await?;
    let enrolments = rows.into_iter().map(|row| EnrolmentRow {
        id: EnrolmentId::from_uuid(row.id),
        name: row.name,
        profile: row.profile,
        pool: row.pool,
        created_at: row.created_at.to_jiff(),
        expires_at: row.expires_at.to_jiff(),
        last_used_at: row.last_used_at.map(Timestamp::to_jiff),
        revoked_at: row.revoked_at.map(Timestamp::to_jiff),
    });
    Ok(enrolments.collect())
}

/// Ends an enrolment. Returns whether it was not ended before.
pub async fn revoke(tx: &mut Tx, tenant: TenantId, id: EnrolmentId) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/enrolments/revoke.sql", tenant.as_uuid(), id.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Returns whether a tenant has or had an enrolment.
pub async fn exists(tx: &mut Tx, tenant: TenantId, id: EnrolmentId) -> Result<bool, StoreError> {
    let row = sqlx::query_file!("queries/enrolments/exists.sql", tenant.as_uuid(), id.as_uuid())
        .fetch_one(tx.connection())
        .await?;
    Ok(row.exists)
}

/// Binds an enrolment to a run. Returns whether it is bound to that one now.
pub async fn bind(tx: &mut Tx, id: EnrolmentId, run: RunId) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/enrolments/bind.sql", id.as_uuid(), run.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Ends what a launched process came with, whoever it belongs to.
pub async fn end(tx: &mut Tx, id: EnrolmentId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/enrolments/end.sql", id.as_uuid()).execute(tx.connection()).await?;
    Ok(())
}

/// Says whether a runner that serves a profile could come to a tenant.
pub async fn could_serve(store: &Store, tenant: TenantId, profile: &str) -> Result<bool, StoreError> {
    let row = sqlx::query_file!("queries/enrolments/could_serve.sql", tenant.as_uuid(), profile)
        .fetch_one(&store.pool)
        .await?;
    Ok(row.could)
}
