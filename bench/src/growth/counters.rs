//! What PostgreSQL has counted for the role of the server: statements, the rows that they returned or changed, and the blocks that they
//! touched.

use std::time::{Duration, Instant};

use anyhow::Result;
use secrecy::ExposeSecret;
use sqlx::{Connection, PgConnection};

use crate::installation::Installation;

/// Counters, or the difference of two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Counts {
    pub(crate) statements: f64,
    pub(crate) rows: f64,
    pub(crate) blocks: f64,
}

impl Counts {
    /// Combines each count with the same count of another one.
    fn combine(&self, other: &Self, combine: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            statements: combine(self.statements, other.statements),
            rows: combine(self.rows, other.rows),
            blocks: combine(self.blocks, other.blocks),
        }
    }
}

pub(crate) struct Counters {
    sql: PgConnection,
    /// What the idle server does in a second.
    idle: Counts,
}

impl Counters {
    /// Makes PostgreSQL count statements. It restarts, so call this before the server starts.
    pub(crate) async fn enable(postgres: &guildhall_engines::Postgres) -> Result<()> {
        let mut admin = PgConnection::connect(postgres.admin_url("guildhall").expose_secret()).await?;
        sqlx::raw_sql("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
            .execute(&mut admin)
            .await?;
        admin.close().await?;
        postgres.kill();
        postgres.restart()?;
        let mut admin = PgConnection::connect(postgres.admin_url("guildhall").expose_secret()).await?;
        sqlx::raw_sql("CREATE EXTENSION IF NOT EXISTS pg_stat_statements").execute(&mut admin).await?;
        Ok(())
    }

    pub(crate) async fn open(installation: &Installation) -> Result<Self> {
        let url = installation.postgres.admin_url("guildhall");
        let sql = PgConnection::connect(url.expose_secret()).await?;
        Ok(Self { sql, idle: Counts { statements: 0.0, rows: 0.0, blocks: 0.0 } })
    }

    /// Counts for some time what the server does without work. Operations are counted without it from then on: on a busy machine they
    /// take longer.
    pub(crate) async fn measure_idle(&mut self, time: Duration) -> Result<Counts> {
        self.idle = self.per_second(time).await?;
        Ok(self.idle)
    }

    /// Counts what the server does for a future.
    pub(crate) async fn during<T>(&mut self, work: impl Future<Output = Result<T>>) -> Result<(T, Counts)> {
        let began = Instant::now();
        let (done, counts) = self.while_running(work).await?;
        let seconds = began.elapsed().as_secs_f64();
        Ok((done, counts.combine(&self.idle, |count, idle| (count - idle * seconds).max(0.0))))
    }

    /// Counts everything that the server does while a future runs.
    async fn while_running<T>(&mut self, work: impl Future<Output = Result<T>>) -> Result<(T, Counts)> {
        let before = self.read().await?;
        let done = work.await?;
        let after = self.read().await?;
        Ok((done, after.combine(&before, |after, before| after - before)))
    }

    /// Counts for some time, and returns the counts of a second.
    pub(crate) async fn per_second(&mut self, time: Duration) -> Result<Counts> {
        let began = Instant::now();
        let ((), counts) = self
            .while_running(async {
                tokio::time::sleep(time).await;
                Ok(())
            })
            .await?;
        let seconds = began.elapsed().as_secs_f64();
        Ok(counts.combine(&counts, |count, _| count / seconds))
    }

    pub(crate) async fn execute(&mut self, sql: String) -> Result<()> {
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut self.sql).await?;
        Ok(())
    }

    async fn read(&mut self) -> Result<Counts> {
        #[expect(clippy::disallowed_methods, reason = "a benchmark reads the counters of PostgreSQL")]
        let (statements, rows, blocks): (f64, f64, f64) = sqlx::query_as(
            "SELECT coalesce(sum(calls), 0)::float8, coalesce(sum(rows), 0)::float8,
                 coalesce(sum(shared_blks_hit + shared_blks_read), 0)::float8
             FROM pg_stat_statements INNER JOIN pg_roles ON pg_roles.oid = userid WHERE rolname = 'guildhall'",
        )
        .fetch_one(&mut self.sql)
        .await?;
        Ok(Counts { statements, rows, blocks })
    }
}
