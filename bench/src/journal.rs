//! Throughput of appends through the group writer, compared with inserts of the same rows into the same table over
//! plain connections.
//!
//! Both sides run in this process, in turns, on one PostgreSQL with fsync on. The baseline writes no heads and no
//! reliable sequence numbers: it is the lower bound of the cost of a journal.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::{Fence, Journal, Stream};
use guildhall_engines::{Postgres, RestartPolicy, StateDir};
use guildhall_runtime::Tasks;
use guildhall_store::journal::{AppendRequest, GroupWriter, NewEntry};
use guildhall_store::{Store, StoreOptions};
use secrecy::{ExposeSecret, SecretString};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::baseline;

const CALLERS: usize = 16;
const LANES: usize = 2;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(4);
const BODY_BYTES: usize = 1000;
const SINGLE_CALLER_CALLS: usize = 1500;

pub(crate) fn run() -> Result<()> {
    let folder = tempfile::Builder::new().prefix("guildhall-bench-").tempdir()?;
    let home = StateDir::open(folder.path())?;
    let postgres = Postgres::start(&home, RestartPolicy::Always)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(postgres.url()))
}

async fn measure(url: SecretString) -> Result<()> {
    let second = Duration::from_secs(1);
    let store = Store::new(&StoreOptions {
        url: url.clone(),
        max_connections: 4,
        acquire_timeout: second * 5,
        statement_timeout: second * 30,
    })?;
    store.migrate(Duration::from_secs(60)).await?;
    let tasks = Tasks::new();
    let (wakes, _receiver) = mpsc::channel(1);
    let writer = GroupWriter::start(&store, &tasks, LANES, &wakes);
    let mut baseline = Vec::new();
    for _ in 0..CALLERS {
        baseline.push(PgConnection::connect(url.expose_secret()).await?);
    }

    // In a task, as the callers in a server: the thread of `block_on` is not a worker of the runtime.
    let mut single_caller = JoinSet::new();
    let (caller_writer, mut caller_connection) =
        (writer.clone(), PgConnection::connect(url.expose_secret()).await?);
    single_caller.spawn(async move { measure_single_caller(&caller_writer, &mut caller_connection).await });
    let (baseline_p50, guildhall_p50) = single_caller.join_next().await.context("no task")???;
    println!("a single caller, 1 row: baseline p50 {baseline_p50:?}, guildhall p50 {guildhall_p50:?}");
    println!("journal_lone_latency_ratio={:.2}", guildhall_p50.as_secs_f64() / baseline_p50.as_secs_f64());
    let single = compare(&writer, &mut baseline, 1).await?;
    println!("journal_append_single_ratio={single:.2}");
    let fifty = compare(&writer, &mut baseline, 50).await?;
    println!("journal_append_ratio={fifty:.2}");
    tasks.shutdown(Duration::from_secs(5)).await;
    Ok(())
}

/// Measures both sides in turns. Returns the throughput of Guildhall divided by that of the baseline.
async fn compare(writer: &GroupWriter, baseline: &mut Vec<PgConnection>, rows: usize) -> Result<f64> {
    let (mut baseline_total, mut guildhall_total) = (0, 0);
    for _ in 0..ROUNDS {
        baseline_total += baseline_round(baseline, rows).await?;
        guildhall_total += guildhall_round(writer, rows).await?;
        sqlx::raw_sql(AssertSqlSafe("TRUNCATE journal_entries")).execute(&mut baseline[0]).await?;
    }
    let seconds = ROUND.as_secs_f64() * f64::from(u32::try_from(ROUNDS)?);
    let per_second = |total: u32| f64::from(total) / seconds;
    println!(
        "{CALLERS} callers, {rows} rows of {BODY_BYTES} bytes per call: baseline {:.0} rows/s, guildhall {:.0} rows/s",
        per_second(baseline_total),
        per_second(guildhall_total)
    );
    Ok(per_second(guildhall_total) / per_second(baseline_total))
}

async fn baseline_round(connections: &mut Vec<PgConnection>, rows: usize) -> Result<u32> {
    let until = Instant::now() + ROUND;
    let mut callers = JoinSet::new();
    for mut connection in connections.drain(..) {
        callers.spawn(async move {
            let (owner, mut seq, mut written) = (Uuid::now_v7(), 0, 0);
            while Instant::now() < until {
                baseline::insert(&mut connection, Journal::Audit, owner, seq, &bodies(rows)).await?;
                seq += i64::try_from(rows)?;
                written += u32::try_from(rows)?;
            }
            anyhow::Ok((connection, written))
        });
    }
    let mut total = 0;
    while let Some(outcome) = callers.join_next().await {
        let (connection, written) = outcome??;
        connections.push(connection);
        total += written;
    }
    Ok(total)
}

async fn guildhall_round(writer: &GroupWriter, rows: usize) -> Result<u32> {
    let until = Instant::now() + ROUND;
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let writer = writer.clone();
        callers.spawn(async move {
            let (stream, mut written) = (Stream { journal: Journal::Audit, owner: Uuid::now_v7() }, 0);
            while Instant::now() < until {
                writer.append(append(stream, rows)).await?;
                written += u32::try_from(rows)?;
            }
            anyhow::Ok(written)
        });
    }
    let mut total = 0;
    while let Some(outcome) = callers.join_next().await {
        total += outcome??;
    }
    Ok(total)
}

/// Measures one caller that waits for each result, in turns of a hundred. Returns both medians.
async fn measure_single_caller(
    writer: &GroupWriter,
    connection: &mut PgConnection,
) -> Result<(Duration, Duration)> {
    let stream = Stream { journal: Journal::Audit, owner: Uuid::now_v7() };
    let owner = Uuid::now_v7();
    let (mut baseline, mut guildhall) = (Vec::new(), Vec::new());
    for call in 0..SINGLE_CALLER_CALLS {
        let began = Instant::now();
        if call / 100 % 2 == 0 {
            baseline::insert(connection, Journal::Audit, owner, i64::try_from(call)?, &bodies(1)).await?;
            baseline.push(began.elapsed());
        } else {
            writer.append(append(stream, 1)).await?;
            guildhall.push(began.elapsed());
        }
    }
    Ok((median(baseline), median(guildhall)))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn append(stream: Stream, rows: usize) -> AppendRequest {
    let entry =
        || NewEntry { id: EntryId::generate(), kind: "bench".into(), body: body(), parsed_event: None };
    AppendRequest { stream, fence: Fence::Open, entries: (0..rows).map(|_| entry()).collect(), quota: None }
}

fn bodies(rows: usize) -> Vec<String> {
    vec![body(); rows]
}

fn body() -> String {
    format!("{{\"text\":\"{}\"}}", "x".repeat(BODY_BYTES - 11))
}
