//! Latency of the result of a long run over HTTP, compared with a short run, in turns.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use guildhall_domain::ids::{CommandId, EntryId, RunId};
use guildhall_domain::journal::{Epoch, Fence};
use guildhall_domain::runs::event::{EventBody, ParsedEvent};
use guildhall_runtime::Tasks;
use guildhall_store::journal::{AppendRequest, GroupWriter, NewEntry};
use guildhall_store::{Store, StoreOptions, runs};
use serde_json::json;
use tokio::sync::mpsc;

use crate::installation::{Installation, RunClaim, Tenant};
use crate::percentile::percentile;

const SHORT_RUN_EVENTS: u32 = 10;
const LONG_RUN_EVENTS: u32 = 100_000;
const BATCH: usize = 2_000;
const CALLS: usize = 1_000;

pub(crate) fn run() -> Result<()> {
    let installation = Installation::start()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(&installation))
}

async fn measure(installation: &Installation) -> Result<()> {
    let tenant = installation.create_tenant().await?;
    let short = installation.start_command(&tenant).await?;
    let long = installation.start_command(&tenant).await?;
    append_events(installation, &short, SHORT_RUN_EVENTS).await?;
    append_events(installation, &long, LONG_RUN_EVENTS).await?;
    let (mut short_times, mut long_times) = (Vec::new(), Vec::new());
    for _ in 0..CALLS {
        short_times.push(measure_result(installation, &tenant, &short).await?);
        long_times.push(measure_result(installation, &tenant, &long).await?);
    }
    for (events, times) in [(SHORT_RUN_EVENTS, &mut short_times), (LONG_RUN_EVENTS, &mut long_times)] {
        let (p50, p95) = (percentile(times, 50), percentile(times, 95));
        println!("result of a run with {events} events: p50 {p50:.2?}, p95 {p95:.2?}");
    }
    let (long_p95, short_p95) = (percentile(&mut long_times, 95), percentile(&mut short_times, 95));
    let ratio = long_p95.as_secs_f64() / short_p95.as_secs_f64();
    println!("results_flat_ratio={ratio:.2}");
    Ok(())
}

async fn measure_result(installation: &Installation, tenant: &Tenant, claim: &RunClaim) -> Result<Duration> {
    let url = format!("{}/api/v1/runs/{}/result", installation.base, claim.run);
    let began = Instant::now();
    let response = installation.client.get(url).bearer_auth(&tenant.access).send().await?;
    let _body = response.error_for_status()?.bytes().await?;
    Ok(began.elapsed())
}

/// Appends events to the journal directly, without HTTP.
async fn append_events(installation: &Installation, claim: &RunClaim, events: u32) -> Result<()> {
    let timeout = Duration::from_secs(60);
    let store = Store::new(&StoreOptions {
        url: installation.postgres.url(),
        max_connections: 2,
        acquire_timeout: timeout,
        statement_timeout: timeout,
    })?;
    let (tasks, (wakes, _receiver)) = (Tasks::new(), mpsc::channel(1));
    let writer = GroupWriter::start(&store, &tasks, 1, &wakes);
    let run: RunId = claim.run.parse().context("invalid run id")?;
    let command: CommandId = claim.command.parse().context("invalid command id")?;
    let fence = Fence::Holder(Epoch::new(claim.epoch));
    let numbers: Vec<u32> = (0..events).collect();
    for batch in numbers.chunks(BATCH) {
        let entries = batch.iter().map(|number| entry(command, *number)).collect();
        writer.append(AppendRequest { stream: runs::stream(run), fence, entries, quota: None }).await?;
    }
    tasks.shutdown(timeout).await;
    Ok(())
}

fn entry(command: CommandId, number: u32) -> NewEntry {
    let kind = if number.is_multiple_of(8) { "tool_call" } else { "assistant_message" };
    let payload =
        json!({ "text": format!("{number}"), "callId": format!("call-{number}"), "status": "completed" });
    let parsed_event = Some(ParsedEvent::new(kind, Some(command), &payload));
    let body = EventBody::new(Some(format!("e{number}")), Some(command), payload).to_json();
    NewEntry { id: EntryId::generate(), kind: kind.into(), body, parsed_event }
}
