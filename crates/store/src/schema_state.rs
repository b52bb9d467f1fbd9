//! What the database says of itself.

use guildhall_domain::journal::Incarnation;
use guildhall_domain::ops::schema::SchemaState;
use sqlx::PgExecutor;

use crate::error::is_undefined_table;
use crate::{Store, StoreError};

/// Whether PostgreSQL is set up to keep what it has confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Durability {
    pub fsync: String,
    pub synchronous_commit: String,
}

impl Durability {
    /// Returns whether a confirmed commit survives a power cut.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.fsync == "on" && self.synchronous_commit != "off"
    }
}

/// Reads how far the schema is. A database without our tables is at zero.
pub async fn read(store: &Store) -> Result<SchemaState, StoreError> {
    read_by(&store.pool).await
}

pub(crate) async fn read_by(executor: impl PgExecutor<'_>) -> Result<SchemaState, StoreError> {
    let row = sqlx::query_file!("queries/schema_state/read.sql").fetch_one(executor).await;
    match row {
        Ok(row) => Ok(SchemaState { applied: row.applied, floor: row.floor }),
        Err(error) if is_undefined_table(&error) => Ok(SchemaState { applied: 0, floor: 0 }),
        Err(error) => Err(error.into()),
    }
}

/// Reads which life of the database this is. A restore or a failover begins another.
pub async fn incarnation(store: &Store) -> Result<Incarnation, StoreError> {
    let row = sqlx::query_file!("queries/schema_state/incarnation.sql").fetch_one(&store.pool).await?;
    Ok(Incarnation::of(row.system_identifier, row.timeline))
}

/// Reads the settings on which durability rests.
pub async fn durability(store: &Store) -> Result<Durability, StoreError> {
    durability_by(&store.pool).await
}

pub(crate) async fn durability_by(executor: impl PgExecutor<'_>) -> Result<Durability, StoreError> {
    let row = sqlx::query_file!("queries/schema_state/durability.sql").fetch_one(executor).await?;
    Ok(Durability { fsync: row.fsync, synchronous_commit: row.synchronous_commit })
}
