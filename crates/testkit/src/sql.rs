//! A direct SQL connection, for tests that inspect or change the database.

use secrecy::{ExposeSecret, SecretString};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

/// A connection to PostgreSQL.
#[derive(Debug)]
pub struct SqlConnection(PgConnection);

impl SqlConnection {
    pub async fn connect(url: &SecretString) -> Self {
        Self::try_connect(url).await.expect("PostgreSQL answers")
    }

    /// Connects, or returns `None` if PostgreSQL is down.
    pub async fn try_connect(url: &SecretString) -> Option<Self> {
        PgConnection::connect(url.expose_secret()).await.ok().map(Self)
    }

    /// Runs statements. Panics if one fails.
    pub async fn execute(&mut self, sql: impl Into<String>) {
        assert!(self.try_execute(sql).await, "the statement failed");
    }

    /// Runs statements and returns whether they succeeded.
    pub async fn try_execute(&mut self, sql: impl Into<String>) -> bool {
        sqlx::raw_sql(AssertSqlSafe(sql.into())).execute(&mut self.0).await.is_ok()
    }

    /// Returns the single number of a query.
    pub async fn number(&mut self, sql: impl Into<String>) -> i64 {
        sqlx::query_scalar(AssertSqlSafe(sql.into())).fetch_one(&mut self.0).await.expect("one number")
    }

    /// Returns the text column of a query.
    pub async fn texts(&mut self, sql: impl Into<String>) -> Vec<String> {
        sqlx::query_scalar(AssertSqlSafe(sql.into())).fetch_all(&mut self.0).await.expect("texts")
    }

    /// Closes the connection and waits for PostgreSQL to end the session.
    pub async fn close(self) {
        self.0.close().await.expect("closed");
    }

    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        &mut self.0
    }
}
