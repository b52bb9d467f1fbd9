//! The NATS client.

use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, ConnectOptions, Event};
use futures::StreamExt;
use tracing::{debug, info, warn};
use url::Url;

use crate::options::{BusError, BusOptions, check_prefix, with_credentials, without_credentials};

/// How long a server start waits for NATS before it continues without.
const INITIAL_CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// A NATS connection that reconnects automatically. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Bus {
    pub(crate) client: Client,
    pub(crate) prefix: String,
}

impl Bus {
    /// Sets up the connection. NATS may be down; the client retries until it is reachable.
    pub async fn connect(options: &BusOptions) -> Result<Self, BusError> {
        let prefix = check_prefix(&options.subject_prefix)?;
        let url = options.parse_url()?;
        let client =
            connect_options(&url).connect(without_credentials(&url)?).await.map_err(BusError::Connect)?;
        let bus = Self { client, prefix };
        bus.wait_connected(INITIAL_CONNECT_TIMEOUT).await;
        Ok(bus)
    }

    /// Waits for the first connection, so that a server does not start degraded.
    async fn wait_connected(&self, timeout: Duration) {
        let connected = async {
            while self.client.connection_state() != State::Connected {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(timeout, connected).await.is_err() {
            warn!("cannot reach NATS yet; the server starts without it");
        }
    }

    /// Publishes a hint. It is lost while NATS is down; correctness must not depend on it.
    pub async fn publish(&self, subject: &str, hint: Vec<u8>) {
        // While disconnected, the client would queue hints that are stale when they are sent.
        if self.client.connection_state() != State::Connected {
            return;
        }
        let _lost_with_the_connection =
            self.client.publish(format!("{}.{subject}", self.prefix), hint.into()).await;
    }

    /// Subscribes to hints. The subscription survives reconnects; hints sent in between are lost.
    pub async fn subscribe(&self, subject: &str) -> Result<Subscription, BusError> {
        let subject = format!("{}.{subject}", self.prefix);
        Ok(Subscription(self.client.subscribe(subject).await.map_err(|_| BusError::Unavailable)?))
    }

    /// Sends a message through NATS to this process and waits for it, to check that the bus works.
    pub async fn round_trip(&self, timeout: Duration) -> Result<(), BusError> {
        // While disconnected, the client would queue the message.
        if self.client.connection_state() != State::Connected {
            return Err(BusError::Unavailable);
        }
        let echo = async {
            let subject = format!("{}.probe.{}", self.prefix, self.client.new_inbox());
            let mut subscriber = self.client.subscribe(subject.clone()).await.ok()?;
            self.client.publish(subject, "".into()).await.ok()?;
            subscriber.next().await
        };
        match tokio::time::timeout(timeout, echo).await {
            Ok(Some(_)) => Ok(()),
            Ok(None) | Err(_) => Err(BusError::Unavailable),
        }
    }

    /// Flushes and closes the connection, within `timeout`.
    pub async fn close(&self, timeout: Duration) {
        if self.client.connection_state() != State::Connected {
            return;
        }
        if !matches!(tokio::time::timeout(timeout, self.client.drain()).await, Ok(Ok(()))) {
            warn!("cannot close the NATS connection cleanly");
        }
    }
}

/// A subscription to hints.
#[derive(Debug)]
pub struct Subscription(async_nats::Subscriber);

impl Subscription {
    /// Waits for the next hint. Returns `None` after the connection was closed.
    pub async fn next(&mut self) -> Option<Vec<u8>> {
        Some(self.0.next().await?.payload.to_vec())
    }
}

fn connect_options(url: &Url) -> ConnectOptions {
    let options = ConnectOptions::new()
        .name("guildhall")
        .retry_on_initial_connect()
        .connection_timeout(Duration::from_secs(2))
        .ping_interval(Duration::from_secs(10))
        // The first retry is immediate, later ones are up to a second apart.
        .reconnect_delay_callback(|attempt| {
            let steps = u64::try_from(attempt.saturating_sub(1).min(10)).unwrap_or(10);
            Duration::from_millis(100 * steps)
        })
        .event_callback(|event| async move {
            match event {
                Event::Connected => info!("connected to NATS"),
                Event::Disconnected => warn!("lost the connection to NATS"),
                other @ (Event::LameDuckMode
                | Event::Draining
                | Event::Closed
                | Event::SlowConsumer(_)
                | Event::ServerError(_)
                | Event::ClientError(_)) => debug!(%other, "NATS event"),
            }
        });
    with_credentials(options, url)
}
