//! Brings the schema up to what this binary needs, once, whoever comes first.

use std::time::Duration;

use guildhall_domain::ops::schema::SchemaVerdict;
use sqlx::migrate::Migrator;
use sqlx::{Connection, PgConnection};
use tracing::info;

use crate::{Store, StoreError, schema_state};

/// Returns the migrations compiled into this binary. A database may have more: a newer replica was there first.
fn migrations() -> Migrator {
    let mut migrations = sqlx::migrate!();
    migrations.set_ignore_missing(true);
    migrations
}

/// Why the schema could not be brought up to date.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "the database needs a binary that knows migration {floor}, this one knows {known}: \
         install a newer guildhall, or restore a database from before the upgrade"
    )]
    TooNew { floor: i64, known: i64 },
    #[error(
        "the migrations did not finish within {0:?}: another process may hold the lock, look at pg_stat_activity"
    )]
    TimedOut(Duration),
    #[error(
        "the database is at migration {applied} after migrating to {wanted}: is another process restoring it?"
    )]
    StillBehind { applied: i64, wanted: i64 },
    #[error("cannot migrate the database")]
    Failed(#[from] sqlx::migrate::MigrateError),
}

impl Store {
    /// Returns the highest migration that this binary knows.
    #[must_use]
    pub fn known_migration() -> i64 {
        migrations().iter().map(|migration| migration.version).max().unwrap_or(0)
    }

    /// Applies what is missing, under a lock that lets one process at a time in.
    pub async fn migrate(&self, within: Duration) -> Result<(), MigrateError> {
        let known = Self::known_migration();
        if let SchemaVerdict::TooNew { floor, known } = schema_state::read(self).await?.verdict(known) {
            return Err(MigrateError::TooNew { floor, known });
        }
        tokio::time::timeout(within, self.apply()).await.map_err(|_| MigrateError::TimedOut(within))??;
        match schema_state::read(self).await?.verdict(known) {
            SchemaVerdict::Fits => {
                info!(migration = known, "the database schema is ready");
                Ok(())
            }
            SchemaVerdict::TooNew { floor, known } => Err(MigrateError::TooNew { floor, known }),
            SchemaVerdict::Behind { applied, wanted } => Err(MigrateError::StillBehind { applied, wanted }),
        }
    }

    /// Migrates over a connection of its own: statements may take long here, and closing it lets the lock go.
    async fn apply(&self) -> Result<(), MigrateError> {
        let options = self.pool.connect_options();
        let unlimited =
            [("statement_timeout", "0"), ("lock_timeout", "0"), ("idle_in_transaction_session_timeout", "0")];
        let options = options.as_ref().clone().options(unlimited);
        let mut connection = PgConnection::connect_with(&options).await.map_err(StoreError::from)?;
        migrations().run(&mut connection).await?;
        connection.close().await.map_err(StoreError::from)?;
        Ok(())
    }
}
