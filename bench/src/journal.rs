//! Appends through the group writer, beside the same rows into the same table over plain connections.
//!
//! Both sides run in this process, in turns, on one PostgreSQL with fsync on. The bare side writes neither heads nor
//! numbers that anyone could rely on: it is the floor that no journal can be below.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::{Fence, Journal, Stream};
use guildhall_engines::{Home, Postgres, Restart};
use guildhall_runtime::Tasks;
use guildhall_store::journal::{Append, GroupWriter, NewEntry};
use guildhall_store::{Store, StoreOptions};
use secrecy::{ExposeSecret, SecretString};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::bare;

const CALLERS: usize = 16;
const LANES: usize = 2;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(4);
const BODY_BYTES: usize = 1000;
const LONE_CALLS: usize = 1500;

pub(crate) fn run() -> Result<()> {
    let folder = tempfile::Builder::new().prefix("guildhall-bench-").tempdir()?;
    let home = Home::open(folder.path())?;
    let postgres = Postgres::start(&home, Restart::Always)?;
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
    let (wakes, _nobody_listens) = mpsc::channel(1);
    let writer = GroupWriter::start(&store, &tasks, LANES, &wakes);
    let mut bare = Vec::new();
    for _ in 0..CALLERS {
        bare.push(PgConnection::connect(url.expose_secret()).await?);
    }

    // In a task, as a server's callers are: the thread that waits here is no worker.
    let mut alone = JoinSet::new();
    let (its_writer, mut its_connection) =
        (writer.clone(), PgConnection::connect(url.expose_secret()).await?);
    alone.spawn(async move { lone(&its_writer, &mut its_connection).await });
    let (bare_p50, ours_p50) = alone.join_next().await.context("a task that ends")???;
    println!("a lone caller, 1 row: bare p50 {bare_p50:?}, ours p50 {ours_p50:?}");
    println!("journal_lone_latency_ratio={:.2}", ours_p50.as_secs_f64() / bare_p50.as_secs_f64());
    let single = compare(&writer, &mut bare, 1).await?;
    println!("journal_append_single_ratio={single:.2}");
    let fifty = compare(&writer, &mut bare, 50).await?;
    println!("journal_append_ratio={fifty:.2}");
    tasks.shutdown(Duration::from_secs(5)).await;
    Ok(())
}

/// Measures both sides in turns and returns ours divided by the bare one, in rows a second.
async fn compare(writer: &GroupWriter, bare: &mut Vec<PgConnection>, rows: usize) -> Result<f64> {
    let (mut bare_total, mut ours_total) = (0, 0);
    for _ in 0..ROUNDS {
        bare_total += bare_round(bare, rows).await?;
        ours_total += our_round(writer, rows).await?;
        sqlx::raw_sql(AssertSqlSafe("TRUNCATE journal_entries")).execute(&mut bare[0]).await?;
    }
    let seconds = ROUND.as_secs_f64() * f64::from(u32::try_from(ROUNDS)?);
    let per_second = |total: u32| f64::from(total) / seconds;
    println!(
        "{CALLERS} callers, {rows} rows of {BODY_BYTES} bytes a call: bare {:.0} rows/s, ours {:.0} rows/s",
        per_second(bare_total),
        per_second(ours_total)
    );
    Ok(per_second(ours_total) / per_second(bare_total))
}

async fn bare_round(connections: &mut Vec<PgConnection>, rows: usize) -> Result<u32> {
    let until = Instant::now() + ROUND;
    let mut callers = JoinSet::new();
    for mut connection in connections.drain(..) {
        callers.spawn(async move {
            let (owner, mut seq, mut written) = (Uuid::now_v7(), 0, 0);
            while Instant::now() < until {
                bare::insert(&mut connection, Journal::Audit, owner, seq, &bodies(rows)).await?;
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

async fn our_round(writer: &GroupWriter, rows: usize) -> Result<u32> {
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

/// Measures one caller that waits for each answer, in turns of a hundred.
async fn lone(writer: &GroupWriter, connection: &mut PgConnection) -> Result<(Duration, Duration)> {
    let stream = Stream { journal: Journal::Audit, owner: Uuid::now_v7() };
    let owner = Uuid::now_v7();
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for call in 0..LONE_CALLS {
        let began = Instant::now();
        if call / 100 % 2 == 0 {
            bare::insert(connection, Journal::Audit, owner, i64::try_from(call)?, &bodies(1)).await?;
            bare.push(began.elapsed());
        } else {
            writer.append(append(stream, 1)).await?;
            ours.push(began.elapsed());
        }
    }
    Ok((median(bare), median(ours)))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn append(stream: Stream, rows: usize) -> Append {
    let entry = || NewEntry { id: EntryId::generate(), kind: "bench".into(), body: body(), mark: None };
    Append { stream, fence: Fence::Open, entries: (0..rows).map(|_| entry()).collect() }
}

fn bodies(rows: usize) -> Vec<String> {
    vec![body(); rows]
}

fn body() -> String {
    format!("{{\"text\":\"{}\"}}", "x".repeat(BODY_BYTES - 11))
}
