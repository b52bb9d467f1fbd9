//! The result of a long run beside that of a short one, over HTTP, in turns.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use guildhall_domain::ids::{CommandId, EntryId, RunId};
use guildhall_domain::journal::{Epoch, Fence};
use guildhall_domain::runs::event::{Body, Mark};
use guildhall_runtime::Tasks;
use guildhall_store::journal::{Append, GroupWriter, NewEntry};
use guildhall_store::{Store, StoreOptions, runs};
use serde_json::json;
use tokio::sync::mpsc;

use crate::installation::{Held, Installation, Tenant};
use crate::times::percentile;

const SHORT: u32 = 10;
const LONG: u32 = 100_000;
const BATCH: usize = 2_000;
const CALLS: usize = 1_000;

pub(crate) fn run() -> Result<()> {
    let installation = Installation::start()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(&installation))
}

async fn measure(installation: &Installation) -> Result<()> {
    let tenant = installation.tenant().await?;
    let (short, long) = (installation.held(&tenant).await?, installation.held(&tenant).await?);
    fill(installation, &short, SHORT).await?;
    fill(installation, &long, LONG).await?;
    let (mut of_short, mut of_long) = (Vec::new(), Vec::new());
    for _ in 0..CALLS {
        of_short.push(result(installation, &tenant, &short).await?);
        of_long.push(result(installation, &tenant, &long).await?);
    }
    for (events, times) in [(SHORT, &mut of_short), (LONG, &mut of_long)] {
        let (p50, p95) = (percentile(times, 50), percentile(times, 95));
        println!("result of a run with {events} events: p50 {p50:.2?}, p95 {p95:.2?}");
    }
    let ratio = percentile(&mut of_long, 95).as_secs_f64() / percentile(&mut of_short, 95).as_secs_f64();
    println!("results_flat_ratio={ratio:.2}");
    Ok(())
}

async fn result(installation: &Installation, tenant: &Tenant, held: &Held) -> Result<Duration> {
    let url = format!("{}/api/v1/runs/{}/result", installation.base, held.run);
    let began = Instant::now();
    let answer = installation.client.get(url).bearer_auth(&tenant.access).send().await?.error_for_status()?;
    let _read = answer.bytes().await?;
    Ok(began.elapsed())
}

/// Appends events as a runner does, below HTTP.
async fn fill(installation: &Installation, held: &Held, events: u32) -> Result<()> {
    let within = Duration::from_secs(60);
    let store = Store::new(&StoreOptions {
        url: installation.postgres.url(),
        max_connections: 2,
        acquire_timeout: within,
        statement_timeout: within,
    })?;
    let (tasks, (wakes, _nobody)) = (Tasks::new(), mpsc::channel(1));
    let writer = GroupWriter::start(&store, &tasks, 1, &wakes);
    let run: RunId = held.run.parse().context("a run")?;
    let command: CommandId = held.command.parse().context("a command")?;
    let fence = Fence::Holder(Epoch::new(held.epoch));
    let numbers: Vec<u32> = (0..events).collect();
    for batch in numbers.chunks(BATCH) {
        let entries = batch.iter().map(|number| entry(command, *number)).collect();
        writer.append(Append { stream: runs::stream(run), fence, entries }).await?;
    }
    tasks.shutdown(within).await;
    Ok(())
}

fn entry(command: CommandId, number: u32) -> NewEntry {
    let kind = if number.is_multiple_of(8) { "tool_call" } else { "assistant_message" };
    let payload =
        json!({ "text": format!("{number}"), "callId": format!("call-{number}"), "status": "completed" });
    let mark = Some(Mark::of(kind, Some(command), &payload));
    let body = Body { id: Some(format!("e{number}")), command_id: Some(command), payload }.write();
    NewEntry { id: EntryId::generate(), kind: kind.into(), body, mark }
}
