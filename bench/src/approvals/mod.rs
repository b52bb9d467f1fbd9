//! Approvals with many pending questions, compared with few: latency of a list and of an answer, and queries of an idle
//! server.
//!
//! Two installations are measured in turns, in the same seconds. Both have a thousand tenants, each with a running turn.
//! One has 100,000 pending questions, a hundred in each tenant; the other has those of the measured tenant only.

mod population;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use reqwest::Method;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::installation::{Installation, RunClaim, Tenant, text};
use crate::percentile::percentile;

const TENANTS: usize = 1_000;
const PENDING: usize = 100_000;
const FEW_PENDING: usize = 10;

/// Approvals in one list: as many as the installation with few has.
const LISTED: usize = 10;
const LISTS: usize = 1_000;
const ANSWERS: usize = 500;

/// Questions that wait for an answer in one turn; the server allows 16.
const WAITING: usize = FEW_PENDING;

/// Answers in one turn, after which the next one starts.
const ANSWERS_PER_TURN: usize = 50;

const IDLE: Duration = Duration::from_secs(60);

/// PostgreSQL counts the transactions of an idle connection up to this much later.
const COUNTER_DELAY: Duration = Duration::from_secs(11);

pub(crate) fn run() -> Result<()> {
    let (few, many) = (Installation::start()?, Installation::start()?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(&few, &many))
}

async fn measure(few: &Installation, many: &Installation) -> Result<()> {
    let mut sides = [Side::prepare(few, 0).await?, Side::prepare(many, PENDING).await?];
    let [none, all] = measure_idle(&mut sides).await?;
    for side in &mut sides {
        side.ask_waiting(WAITING).await?;
    }
    let [mut lists, mut answers] = [[Vec::new(), Vec::new()], [Vec::new(), Vec::new()]];
    for _ in 0..LISTS {
        for (side, times) in sides.iter().zip(&mut lists) {
            times.push(side.measure_list().await?);
        }
    }
    for _ in 0..ANSWERS {
        for (side, times) in sides.iter_mut().zip(&mut answers) {
            times.push(side.measure_answer().await?);
        }
    }
    let [few_pending, many_pending] = [sides[0].count_pending().await?, sides[1].count_pending().await?];
    println!("pending questions: {few_pending} and {many_pending} in {TENANTS} tenants");
    let list_ratio = print_latency("list", &mut lists);
    let answer_ratio = print_latency("answer", &mut answers);
    println!(
        "idle server, {} s: {:.2} transactions/s and {:.0} rows read/s without questions, {:.2} and {:.0} with {PENDING}",
        IDLE.as_secs(),
        none.transactions,
        none.rows,
        all.transactions,
        all.rows
    );
    println!("approvals_idle_transactions_ratio={:.2}", all.transactions / none.transactions);
    println!("approvals_answer_p95_ratio={answer_ratio:.2}");
    println!("approvals_list_p95_ratio={list_ratio:.2}");
    Ok(())
}

/// Prints the latencies of both installations, and returns the ratio of their 95th percentiles.
fn print_latency(name: &str, [few, many]: &mut [Vec<Duration>; 2]) -> f64 {
    for (pending, times) in [(FEW_PENDING, &mut *few), (PENDING, &mut *many)] {
        let (p50, p95) = (percentile(times, 50), percentile(times, 95));
        println!("{name} with {pending} pending: p50 {p50:.2?}, p95 {p95:.2?}");
    }
    percentile(many, 95).as_secs_f64() / percentile(few, 95).as_secs_f64()
}

/// What an idle server asks of PostgreSQL in a second.
#[derive(Debug, Clone, Copy)]
struct IdleLoad {
    transactions: f64,
    rows: f64,
}

/// Counts at the same time on both sides.
async fn measure_idle(sides: &mut [Side<'_>; 2]) -> Result<[IdleLoad; 2]> {
    tokio::time::sleep(COUNTER_DELAY).await;
    let began = Instant::now();
    let before = [sides[0].read_counters().await?, sides[1].read_counters().await?];
    tokio::time::sleep(IDLE).await;
    let after = [sides[0].read_counters().await?, sides[1].read_counters().await?];
    let seconds = began.elapsed().as_secs_f64();
    Ok([0, 1].map(|side| IdleLoad {
        transactions: (after[side].0 - before[side].0) / seconds,
        rows: (after[side].1 - before[side].1) / seconds,
    }))
}

/// An installation with a tenant that is measured, and a turn of it that asks.
struct Side<'a> {
    installation: &'a Installation,
    tenant: Tenant,
    claim: RunClaim,
    sql: PgConnection,
    asked: usize,
    /// Asked and not answered, oldest first, with the digest of what was shown.
    waiting: VecDeque<(String, Value)>,
}

impl<'a> Side<'a> {
    /// Creates the tenants and their turns, and so many pending questions.
    async fn prepare(installation: &'a Installation, pending: usize) -> Result<Self> {
        let tenant = installation.create_tenant().await?;
        installation.start_command(&tenant).await?;
        let mut sql = PgConnection::connect(installation.postgres.url().expose_secret()).await?;
        population::copy_tenants(&mut sql, TENANTS - 1).await?;
        population::insert_questions(&mut sql, pending).await?;
        // A turn has at most 16 pending questions, but those that were inserted.
        let claim = installation.start_command(&tenant).await?;
        Ok(Self { installation, tenant, claim, sql, asked: 0, waiting: VecDeque::new() })
    }

    async fn ask_waiting(&mut self, count: usize) -> Result<()> {
        while self.waiting.len() < count {
            self.ask().await?;
        }
        Ok(())
    }

    async fn ask(&mut self) -> Result<()> {
        self.asked += 1;
        let RunClaim { run, command, token, .. } = &self.claim;
        let body = json!({
            "commandId": command, "process": "bench", "request": self.asked.to_string(),
            "question": population::question(self.asked),
        });
        let path = format!("/api/v1/runs/{run}/approvals");
        let asked = self.installation.request(Method::POST, &path, token, body).await?;
        let id = text(&asked, "approvalId")?;
        let path = format!("/api/v1/approvals/{id}");
        let shown = self.installation.request(Method::GET, &path, &self.tenant.access, json!({})).await?;
        self.waiting.push_back((id, shown["shownDigest"].clone()));
        Ok(())
    }

    async fn measure_list(&self) -> Result<Duration> {
        let url = format!("{}/api/v1/approvals?tenantId=bench&limit={LISTED}", self.installation.base);
        let began = Instant::now();
        let response = self.installation.client.get(url).bearer_auth(&self.tenant.access).send().await?;
        let body: Value = response.error_for_status()?.json().await?;
        let elapsed = began.elapsed();
        let listed = body["approvals"].as_array().map(Vec::len);
        anyhow::ensure!(listed == Some(LISTED), "{listed:?} approvals are listed");
        Ok(elapsed)
    }

    /// Answers the oldest question, and asks the next one.
    async fn measure_answer(&mut self) -> Result<Duration> {
        let (id, shown) = self.waiting.pop_front().context("no question waits")?;
        let body = json!({ "optionId": "yes", "shownDigest": shown });
        let path = format!("/api/v1/approvals/{id}/votes");
        let began = Instant::now();
        self.installation.request(Method::POST, &path, &self.tenant.access, body).await?;
        let elapsed = began.elapsed();
        if self.asked.is_multiple_of(ANSWERS_PER_TURN) {
            // The server ends the questions of the turn with it.
            let path = format!("/api/v1/commands/{}/status", self.claim.command);
            let end = json!({ "status": "completed" });
            self.installation.request(Method::PATCH, &path, &self.claim.token, end).await?;
            self.claim = self.installation.start_command(&self.tenant).await?;
            self.waiting.clear();
        }
        self.ask_waiting(WAITING).await?;
        Ok(elapsed)
    }

    async fn count_pending(&mut self) -> Result<i64> {
        let count = sqlx::query_scalar("SELECT count(*) FROM approvals WHERE status = 'pending'");
        Ok(count.fetch_one(&mut self.sql).await?)
    }

    /// Returns the transactions and the rows that were read so far.
    async fn read_counters(&mut self) -> Result<(f64, f64)> {
        #[expect(clippy::disallowed_methods, reason = "a benchmark reads the counters of PostgreSQL")]
        let counters = sqlx::query_as(
            "SELECT (xact_commit + xact_rollback)::float8, (tup_returned + tup_fetched)::float8
             FROM pg_stat_database WHERE datname = current_database()",
        );
        Ok(counters.fetch_one(&mut self.sql).await?)
    }
}
