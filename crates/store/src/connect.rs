//! The pool of connections.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, PgPool};

use crate::StoreError;

/// How to reach PostgreSQL.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    pub url: SecretString,
    pub max_connections: u32,
    /// How long a caller waits for a connection before it is told that PostgreSQL does not answer.
    pub acquire_timeout: Duration,
    /// How long PostgreSQL may work on one statement.
    pub statement_timeout: Duration,
}

/// Every fact of Guildhall. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) pool: PgPool,
}

impl Store {
    /// Prepares the pool. Nothing is connected yet: PostgreSQL may be away and come back at any time.
    pub fn new(options: &StoreOptions) -> Result<Self, StoreError> {
        let limits = [
            ("statement_timeout", options.statement_timeout),
            ("lock_timeout", options.statement_timeout),
            ("idle_in_transaction_session_timeout", options.statement_timeout),
        ];
        let connect = options
            .url
            .expose_secret()
            .parse::<PgConnectOptions>()
            .map_err(|_| StoreError::Address)?
            .application_name("guildhall")
            // Slow statements show in our own metrics; logging them all confuses the filters of other layers.
            .disable_statement_logging()
            .options(limits.map(|(name, limit)| (name, format!("{}ms", limit.as_millis()))));
        let pool = PgPoolOptions::new()
            .max_connections(options.max_connections)
            .acquire_timeout(options.acquire_timeout)
            .connect_lazy_with(connect);
        Ok(Self { pool })
    }

    /// Closes every connection, after what runs on it has ended.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}
