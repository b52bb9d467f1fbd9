//! Registered runners.

use guildhall_domain::ids::{EnrolmentId, RunnerId, TenantId};
use guildhall_domain::runners::runner::Runner;

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

pub async fn insert(tx: &mut Tx, new: &NewRunner<'_>) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/runners/insert.sql",
        new.id.as_uuid(),
        new.tenant.map(TenantId::as_uuid),
        new.enrolment.as_uuid(),
        new.name,
        new.placement,
        new.backend_profiles
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

pub async fn find(store: &Store, id: RunnerId) -> Result<Option<Runner>, StoreError> {
    let row = sqlx::query_file!("queries/runners/find.sql", id.as_uuid()).fetch_optional(&store.pool).await?;
    Ok(row.map(|row| Runner {
        id: RunnerId::from_uuid(row.id),
        tenant: row.tenant.map(TenantId::from_uuid),
        enrolment: EnrolmentId::from_uuid(row.enrolment),
        name: row.name,
        backend_profiles: row.backend_profiles,
    }))
}

/// Lists the profiles that runners of a tenant's own enrolments have registered for, by name.
pub async fn list_profiles(store: &Store, tenant: TenantId, limit: u32) -> Result<Vec<String>, StoreError> {
    let rows = sqlx::query_file!("queries/runners/list_profiles.sql", tenant.as_uuid(), i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    Ok(rows.into_iter().map(|row| row.name).collect())
}
