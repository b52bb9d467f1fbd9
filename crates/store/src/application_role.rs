//! The role of the server in the database, where another role owns the tables.

use sqlx::PgExecutor;

use crate::{Store, StoreError};

impl Store {
    /// Gives the role of another connection what a server needs. This connection must be the owner of the tables.
    pub async fn limit_application_role(&self, application: &Self) -> Result<(), StoreError> {
        let role = sqlx::query_file_scalar!("queries/application_role/current.sql");
        let role = role.fetch_one(&application.pool).await?;
        let limited = sqlx::query_file!("queries/application_role/limit.sql", role);
        limited.fetch_one(&self.pool).await?;
        Ok(())
    }

    /// Lists the tables of the audit log that this role could change.
    pub async fn changeable_audit_tables(&self) -> Result<Vec<String>, StoreError> {
        changeable_audit_tables(&self.pool).await
    }
}

pub(crate) async fn changeable_audit_tables(
    executor: impl PgExecutor<'_>,
) -> Result<Vec<String>, StoreError> {
    Ok(sqlx::query_file_scalar!("queries/application_role/list_audit_writes.sql").fetch_all(executor).await?)
}
