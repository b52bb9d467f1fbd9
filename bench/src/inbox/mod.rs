//! Durable messages between AIDs: how many are sent in a second, compared with inserts of rows of the same size, and how long
//! one takes to a client of another replica, compared with a commit and a NATS message.
//!
//! Servers, PostgreSQL and NATS are processes of their own. This process is all clients, and runs both sides in turns. The
//! inserts have no numbering, no checks and no reader: they are the lower bound of the cost.

mod baseline;
mod latency;
mod senders;

use anyhow::Result;
use guildhall_runtime::Tasks;

use crate::aun::{AddressLimits, Gateway, Transport, connect_all, register_all};
use crate::installation::client;
use baseline::{BATCH, Inserts};
use senders::Senders;

/// The size of a text.
const TEXT_BYTES: usize = 1000;

const SENDERS: usize = 256;
const RECIPIENTS: usize = 64;
const ROUNDS: u32 = 5;

pub(crate) fn run() -> Result<()> {
    // Installs the provider of TLS, too.
    client()?;
    let gateway = Gateway::start(Transport::Plain, AddressLimits::Raised)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(&gateway))
}

async fn measure(gateway: &Gateway) -> Result<()> {
    let tasks = Tasks::new();
    let aids = register_all(&gateway.endpoint, SENDERS + RECIPIENTS).await?;
    let (sending, receiving) = aids.split_at(SENDERS);
    let (_replica, other) = gateway.start_replica()?;
    let latency = latency::measure(gateway, &other, &sending[0], &receiving[0], &tasks).await?;

    let clients = connect_all(&gateway.endpoint, sending, &tasks).await?;
    let mut senders = Senders::new(clients, receiving.iter().map(crate::aun::LoggedInAid::name).collect());
    let mut inserts = Inserts::connect(&gateway.installation.postgres.url()).await?;
    let (mut sent, mut single, mut batched) = (0.0, 0.0, 0.0);
    senders.round().await?;
    for _ in 0..ROUNDS {
        single += inserts.round(1).await?;
        sent += senders.round().await?;
        batched += inserts.round(BATCH).await?;
    }
    let rounds = f64::from(ROUNDS);
    let [sent, single, batched] = [sent, single, batched].map(|total| total / rounds);
    println!("messages: {sent:.0}/s from {SENDERS} sockets to {RECIPIENTS} inboxes");
    println!("inserts: {single:.0}/s one by one, {batched:.0}/s in batches of {BATCH}");
    println!("inbox_send_batched_ratio={:.2}", sent / batched);
    println!("inbox_latency_p99_ratio={:.2}", latency.p99);
    println!("inbox_latency_ratio={:.2}", latency.p50);
    println!("inbox_send_ratio={:.2}", sent / single);
    Ok(())
}
