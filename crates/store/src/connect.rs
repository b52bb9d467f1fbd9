//! The connection pool.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use secrecy::{ExposeSecret, SecretString};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, Connection, PgConnection, PgPool};
use tokio::time::timeout;

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

/// PostgreSQL ends a statement after its timeout, and then has this long to say so.
const ANSWER_MARGIN: Duration = Duration::from_secs(1);

/// An idle connection that has not answered within this time is replaced.
const IDLE_ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// A handle to the database. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) pool: PgPool,
    /// How long a statement can take: PostgreSQL ends it sooner, if the connection is alive.
    pub(crate) answer_timeout: Duration,
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
            // Statements are short: compiling one takes longer than running it.
            .options([("jit", "off")])
            .options(limits.map(|(name, limit)| (name, format!("{}ms", limit.as_millis()))));
        let answer_timeout = options.statement_timeout + ANSWER_MARGIN;
        let silences = Arc::new(Silences::default());
        let pool = PgPoolOptions::new()
            .max_connections(options.max_connections)
            .acquire_timeout(options.acquire_timeout)
            .after_connect(|connection, _| Box::pin(refuse_standby(connection)))
            // sqlx checks connections too, without a time limit.
            .test_before_acquire(false)
            .before_acquire(move |connection, metadata| {
                let silences = Arc::clone(&silences);
                Box::pin(async move { silences.check(connection, metadata.idle_for).await })
            })
            .after_release(move |connection, _| Box::pin(answers_within(connection, answer_timeout)))
            .connect_lazy_with(connect);
        Ok(Self { pool, answer_timeout })
    }

    /// Waits for statements of a task that nobody else ends. A connection can stay open and silent, as after a failover of a host that
    /// lost its power: no timeout of PostgreSQL ends such a wait.
    pub async fn answer<T>(
        &self,
        statements: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let answered = timeout(self.answer_timeout, statements).await;
        answered.unwrap_or_else(|_| Err(StoreError::silent()))
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

/// When an idle connection was last asked and stayed silent.
///
/// After a failover all idle connections may be silent. Each one would cost a caller the whole time limit, and a request
/// that needs several of them waits for each. So connections that were idle when the first one was asked are replaced
/// without a wait.
#[derive(Debug, Default)]
struct Silences(Mutex<Option<Instant>>);

impl Silences {
    /// Returns whether a connection that was idle for some time can be used.
    async fn check(&self, connection: &mut PgConnection, idle_for: Duration) -> Result<bool, sqlx::Error> {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| last.elapsed() < idle_for) {
            return Ok(false);
        }
        let asked_at = Instant::now();
        match timeout(IDLE_ANSWER_TIMEOUT, connection.ping()).await {
            Ok(answer) => Ok(answer.is_ok()),
            Err(_) => {
                *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(asked_at);
                Ok(false)
            }
        }
    }
}

/// Returns whether a connection answers. If not, the pool closes it.
async fn answers_within(connection: &mut PgConnection, limit: Duration) -> Result<bool, sqlx::Error> {
    Ok(matches!(timeout(limit, connection.ping()).await, Ok(Ok(()))))
}
