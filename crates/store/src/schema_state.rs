//! Schema version, incarnation and durability settings of the database.

use guildhall_domain::journal::Incarnation;
use guildhall_domain::ops::schema::SchemaState;
use sqlx::PgExecutor;

use crate::error::is_undefined_table;
use crate::{Store, StoreError};

/// The PostgreSQL settings that decide whether commits are durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Durability {
    pub fsync: String,
    pub synchronous_commit: String,
}

impl Durability {
    /// Returns whether a confirmed commit survives a power cut.
    #[must_use]
    pub fn is_durable(&self) -> bool {
        self.fsync == "on" && self.synchronous_commit != "off"
    }
}

/// Reads the schema version. A database without our tables is at version 0.
pub async fn read(store: &Store) -> Result<SchemaState, StoreError> {
    read_with(&store.pool).await
}

pub(crate) async fn read_with(executor: impl PgExecutor<'_>) -> Result<SchemaState, StoreError> {
    let row = sqlx::query_file!("queries/schema_state/read.sql").fetch_one(executor).await;
    match row {
        Ok(row) => Ok(SchemaState { applied: row.applied, floor: row.floor }),
        Err(error) if is_undefined_table(&error) => Ok(SchemaState { applied: 0, floor: 0 }),
        Err(error) => Err(error.into()),
    }
}

/// Reads the incarnation of the database. A restore or a failover starts a new one.
pub async fn incarnation(store: &Store) -> Result<Incarnation, StoreError> {
    let row = sqlx::query_file!("queries/schema_state/incarnation.sql").fetch_one(&store.pool).await?;
    Ok(Incarnation::new(row.system_identifier, row.timeline))
}

/// Reads the durability settings.
pub async fn durability(store: &Store) -> Result<Durability, StoreError> {
    durability_with(&store.pool).await
}

pub(crate) async fn durability_with(executor: impl PgExecutor<'_>) -> Result<Durability, StoreError> {
    let row = sqlx::query_file!("queries/schema_state/durability.sql").fetch_one(executor).await?;
    Ok(Durability { fsync: row.fsync, synchronous_commit: row.synchronous_commit })
}
