//! Runners that have registered.

use guildhall_domain::ids::{RunnerId, TenantId};
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runner {
    pub id: RunnerId,
    pub tenant: TenantId,
    pub name: String,
    pub backend_profiles: Vec<String>,
}

/// A runner to write.
#[derive(Debug, Clone)]
pub struct NewRunner<'a> {
    pub id: RunnerId,
    pub tenant: TenantId,
    /// The enrolment that it came with.
    pub enrolment: Uuid,
    pub name: &'a str,
    /// JSON: where it says that it runs.
    pub placement: &'a str,
    pub backend_profiles: &'a [String],
}

pub async fn insert(tx: &mut Tx, new: &NewRunner<'_>) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/runners/insert.sql",
        new.id.as_uuid(),
        new.tenant.as_uuid(),
        new.enrolment,
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
        tenant: TenantId::from_uuid(row.tenant),
        name: row.name,
        backend_profiles: row.backend_profiles,
    }))
}
