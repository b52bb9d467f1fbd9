//! From a send at one replica to its notification at another, in turns with a commit and a NATS message.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use guildhall_runtime::Tasks;
use guildhall_sdk::socket::{SocketClient, SocketEndpoint, SocketEvent, SocketEvents};

use super::TEXT_BYTES;
use super::senders::send;
use crate::aun::{Gateway, LoggedInAid};
use crate::commit_and_message::CommitAndMessage;
use crate::percentile::percentile;

const CALLS: usize = 2000;
const CALLS_PER_TURN: usize = 100;

/// How much longer a message takes.
pub(super) struct LatencyRatios {
    pub(super) p50: f64,
    pub(super) p99: f64,
}

pub(super) async fn measure(
    gateway: &Gateway,
    other: &SocketEndpoint,
    sender: &LoggedInAid,
    recipient: &LoggedInAid,
    tasks: &Tasks,
) -> Result<LatencyRatios> {
    let postgres = gateway.installation.postgres.url();
    let mut baseline =
        CommitAndMessage::prepare(&postgres, &gateway.installation.nats.url(), TEXT_BYTES).await?;
    let sending = sender.connect(&gateway.endpoint, tasks).await?;
    let receiving = recipient.connect(other, tasks).await?;
    let (mut events, name, text) = (receiving.events(), recipient.name(), "x".repeat(TEXT_BYTES));
    let (mut baseline_times, mut times) = (Vec::new(), Vec::new());
    for call in 0..CALLS {
        if (call / CALLS_PER_TURN).is_multiple_of(2) {
            baseline_times.push(baseline.call().await?);
        } else {
            times.push(deliver(&sending, &name, &text, &mut events).await?);
        }
    }
    let mut ratio = |percent| {
        let (bare, message) = (percentile(&mut baseline_times, percent), percentile(&mut times, percent));
        println!("p{percent}: commit and message {bare:.1?}, message at the other replica {message:.1?}");
        message.as_secs_f64() / bare.as_secs_f64()
    };
    Ok(LatencyRatios { p50: ratio(50), p99: ratio(99) })
}

/// Sends a message and waits until it has arrived.
async fn deliver(
    sending: &SocketClient,
    recipient: &str,
    text: &str,
    events: &mut SocketEvents,
) -> Result<Duration> {
    let began = Instant::now();
    // The message may arrive before the sender gets its response.
    let (sent, received) = tokio::join!(send(sending, recipient, text), async {
        let id = next_message(events).await?;
        anyhow::Ok((id, began.elapsed()))
    });
    let (received, elapsed) = received?;
    if sent? != received {
        bail!("another message has arrived");
    }
    Ok(elapsed)
}

/// Returns the id of the next message.
async fn next_message(events: &mut SocketEvents) -> Result<String> {
    loop {
        match events.next().await.context("the connection has ended")? {
            SocketEvent::Notification(notification) if notification.method == "event/message.received" => {
                let id = notification.params["message_id"].as_str().context("no id")?;
                return Ok(id.to_owned());
            }
            SocketEvent::Notification(_) | SocketEvent::Connected(_) => {}
            SocketEvent::Missed => bail!("notifications were missed"),
            SocketEvent::Disconnected(error) | SocketEvent::Ended(error) => return Err(error.into()),
        }
    }
}
