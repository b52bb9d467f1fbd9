//! A connection for what a test wants to see or to do beside the server.

use secrecy::{ExposeSecret, SecretString};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

/// One connection to PostgreSQL.
#[derive(Debug)]
pub struct Sql(PgConnection);

impl Sql {
    pub async fn connect(url: &SecretString) -> Self {
        Self::try_connect(url).await.expect("PostgreSQL answers")
    }

    /// Connects, or returns none: for tests in which PostgreSQL may be away.
    pub async fn try_connect(url: &SecretString) -> Option<Self> {
        PgConnection::connect(url.expose_secret()).await.ok().map(Self)
    }

    /// Runs statements; without an error they are committed.
    pub async fn execute(&mut self, sql: impl Into<String>) {
        assert!(self.try_execute(sql).await, "the statement runs");
    }

    /// Runs statements and returns whether PostgreSQL confirmed them.
    pub async fn try_execute(&mut self, sql: impl Into<String>) -> bool {
        sqlx::raw_sql(AssertSqlSafe(sql.into())).execute(&mut self.0).await.is_ok()
    }

    /// Returns the one number that a query finds.
    pub async fn number(&mut self, sql: impl Into<String>) -> i64 {
        sqlx::query_scalar(AssertSqlSafe(sql.into())).fetch_one(&mut self.0).await.expect("one number")
    }

    /// Returns the texts that a query finds.
    pub async fn texts(&mut self, sql: impl Into<String>) -> Vec<String> {
        sqlx::query_scalar(AssertSqlSafe(sql.into())).fetch_all(&mut self.0).await.expect("texts")
    }

    /// Closes the connection and waits until PostgreSQL has noticed.
    pub async fn close(self) {
        self.0.close().await.expect("closed");
    }

    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        &mut self.0
    }
}
