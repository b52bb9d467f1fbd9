//! The connection pool.

use std::io;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, PgConnection, PgPool};

use crate::StoreError;

/// Connection options for PostgreSQL.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    pub url: SecretString,
    pub max_connections: u32,
    /// How long a caller waits for a free connection before it gets [`StoreError::Unavailable`].
    pub acquire_timeout: Duration,
    /// Timeout of a single statement.
    pub statement_timeout: Duration,
}

/// A handle to the database. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) pool: PgPool,
}

impl StoreOptions {
    /// Checks the URL. Does not connect.
    pub fn check(&self) -> Result<(), StoreError> {
        self.connect_options().map(drop)
    }

    fn connect_options(&self) -> Result<PgConnectOptions, StoreError> {
        self.url.expose_secret().parse().map_err(|_| StoreError::InvalidUrl)
    }
}

impl Store {
    /// Creates the pool without connecting: PostgreSQL may be down now and come back at any time.
    pub fn new(options: &StoreOptions) -> Result<Self, StoreError> {
        let limits = [
            ("statement_timeout", options.statement_timeout),
            ("lock_timeout", options.statement_timeout),
            ("idle_in_transaction_session_timeout", options.statement_timeout),
        ];
        let connect = options
            .connect_options()?
            .application_name("guildhall")
            // Slow statements show in our own metrics; sqlx's statement log bypasses the log filters.
            .disable_statement_logging()
            .options(limits.map(|(name, limit)| (name, format!("{}ms", limit.as_millis()))));
        let pool = PgPoolOptions::new()
            .max_connections(options.max_connections)
            .acquire_timeout(options.acquire_timeout)
            .after_connect(|connection, _| Box::pin(refuse_standby(connection)))
            .connect_lazy_with(connect);
        Ok(Self { pool })
    }

    /// Closes all connections after their running statements have finished.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

/// Refuses a connection to a standby. During a failover the address may lead to one; a write on it would fail, and a read would
/// miss what was committed, such as a revoked token.
async fn refuse_standby(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let is_standby: bool = sqlx::query_scalar("SELECT pg_is_in_recovery()").fetch_one(connection).await?;
    if is_standby {
        return Err(sqlx::Error::Io(io::Error::other("PostgreSQL is a standby")));
    }
    Ok(())
}
