//! Schema migrations. Every server runs them at start; a lock lets one process at a time migrate.

use std::time::Duration;

use guildhall_domain::ops::schema::SchemaCompatibility;
use sqlx::migrate::Migrator;
use sqlx::{Connection, PgConnection};
use tracing::info;

use crate::{Store, StoreError, deferred_indexes, schema_state};

/// Returns the migrations compiled into this binary. The database may have more, applied by a newer replica.
fn migrations() -> Migrator {
    let mut migrations = sqlx::migrate!();
    migrations.set_ignore_missing(true);
    migrations
}

/// A failed migration.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "the database requires migration {floor}, but this binary only knows {known}: \
         install a newer guildhall, or restore a database from before the upgrade"
    )]
    TooNew { floor: i64, known: i64 },
    #[error(
        "the migrations did not finish within {0:?}: another process may hold the lock, check pg_stat_activity"
    )]
    TimedOut(Duration),
    #[error(
        "the database is at migration {applied} after migrating to {required}: another process may be restoring it"
    )]
    StillBehind { applied: i64, required: i64 },
    #[error("cannot migrate the database")]
    Failed(#[from] sqlx::migrate::MigrateError),
}

impl Store {
    /// Returns the highest migration version in this binary.
    #[must_use]
    pub fn known_migration() -> i64 {
        migrations().iter().map(|migration| migration.version).max().unwrap_or(0)
    }

    /// Applies missing migrations, under a lock that admits one process at a time.
    pub async fn migrate(&self, timeout: Duration) -> Result<(), MigrateError> {
        let known = Self::known_migration();
        if let SchemaCompatibility::TooNew { floor, known } =
            schema_state::read(self).await?.compatibility(known)
        {
            return Err(MigrateError::TooNew { floor, known });
        }
        tokio::time::timeout(timeout, self.apply()).await.map_err(|_| MigrateError::TimedOut(timeout))??;
        match schema_state::read(self).await?.compatibility(known) {
            SchemaCompatibility::Compatible => {
                info!(migration = known, "the database schema is ready");
                Ok(())
            }
            SchemaCompatibility::TooNew { floor, known } => Err(MigrateError::TooNew { floor, known }),
            SchemaCompatibility::Behind { applied, required } => {
                Err(MigrateError::StillBehind { applied, required })
            }
        }
    }

    /// Migrates over a dedicated connection, whose end releases the lock.
    async fn apply(&self) -> Result<(), MigrateError> {
        let is_new = schema_state::read(self).await?.applied == 0;
        let mut connection = self.connect_without_timeouts().await?;
        migrations().run(&mut connection).await?;
        if is_new {
            deferred_indexes::build_at_once(&mut connection).await?;
        }
        connection.close().await.map_err(StoreError::from)?;
        Ok(())
    }

    /// Opens a connection of its own for statements that take long.
    pub(crate) async fn connect_without_timeouts(&self) -> Result<PgConnection, StoreError> {
        let options = self.pool.connect_options();
        let unlimited =
            [("statement_timeout", "0"), ("lock_timeout", "0"), ("idle_in_transaction_session_timeout", "0")];
        Ok(PgConnection::connect_with(&options.as_ref().clone().options(unlimited)).await?)
    }
}
