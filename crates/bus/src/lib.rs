//! NATS: wake-ups, live fan-out and questions between replicas.
//!
//! NATS may lose everything at any moment: what travels here is never a fact, only a hint that PostgreSQL has one.
//! This is the only crate that names async-nats.
//!
//! This crate deliberately does not know what a message means, and keeps nothing.

pub mod look;

use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, ConnectOptions, Event, ServerAddr};
use futures::StreamExt;
use secrecy::{ExposeSecret, SecretString};
use tracing::{debug, info, warn};
use url::Url;

/// How long a start waits for NATS before it goes on without.
const FIRST_CONNECT_WITHIN: Duration = Duration::from_secs(1);

/// How to reach NATS.
#[derive(Debug, Clone)]
pub struct BusOptions {
    pub url: SecretString,
    /// The first part of every subject: servers with different prefixes do not hear each other.
    pub subject_prefix: String,
}

/// Why the bus could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// The address cannot be read. It is not repeated here: it may hold a password.
    #[error("the NATS address is not valid: expected nats://user:password@host:port")]
    Address,
    #[error("the subject prefix `{0}` is not valid: use letters, digits, `-` and `_`")]
    Prefix(String),
    #[error("cannot prepare the NATS connection")]
    Connect(#[source] async_nats::ConnectError),
    #[error("NATS does not answer")]
    Unavailable,
}

/// A connection to NATS that comes back by itself. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Bus {
    client: Client,
    prefix: String,
}

impl Bus {
    /// Prepares the connection. NATS may be away now; it is tried again until it answers.
    pub async fn connect(options: &BusOptions) -> Result<Self, BusError> {
        let prefix = check_prefix(&options.subject_prefix)?;
        let url = Url::parse(options.url.expose_secret()).map_err(|_| BusError::Address)?;
        let client = prepare(&url).connect(without_credentials(&url)?).await.map_err(BusError::Connect)?;
        let bus = Self { client, prefix };
        bus.wait_connected(FIRST_CONNECT_WITHIN).await;
        Ok(bus)
    }

    /// Gives a NATS that is there the moment it needs, so that a start does not begin degraded.
    async fn wait_connected(&self, within: Duration) {
        let connected = async {
            while self.client.connection_state() != State::Connected {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(within, connected).await.is_err() {
            warn!("NATS does not answer yet; the server starts without it");
        }
    }

    /// Sends a hint to whoever listens. It is lost while NATS is away; nobody may depend on it.
    pub async fn publish(&self, subject: &str, hint: Vec<u8>) {
        // While the connection is down the client would queue hints that are old when they leave.
        if self.client.connection_state() != State::Connected {
            return;
        }
        let _lost_with_the_connection =
            self.client.publish(format!("{}.{subject}", self.prefix), hint.into()).await;
    }

    /// Listens for hints. The subscription lives through reconnects; what was sent meanwhile is lost.
    pub async fn subscribe(&self, subject: &str) -> Result<Hints, BusError> {
        let subject = format!("{}.{subject}", self.prefix);
        Ok(Hints(self.client.subscribe(subject).await.map_err(|_| BusError::Unavailable)?))
    }

    /// Sends a message to ourselves through NATS and waits for it: the proof that the bus works.
    pub async fn round_trip(&self, within: Duration) -> Result<(), BusError> {
        // While the connection is down the client would queue the question; ask nothing then.
        if self.client.connection_state() != State::Connected {
            return Err(BusError::Unavailable);
        }
        let echo = async {
            let subject = format!("{}.probe.{}", self.prefix, self.client.new_inbox());
            let mut back = self.client.subscribe(subject.clone()).await.ok()?;
            self.client.publish(subject, "".into()).await.ok()?;
            back.next().await
        };
        match tokio::time::timeout(within, echo).await {
            Ok(Some(_)) => Ok(()),
            Ok(None) | Err(_) => Err(BusError::Unavailable),
        }
    }

    /// Closes the connection after what was sent has left, at most `within`.
    pub async fn close(&self, within: Duration) {
        if self.client.connection_state() != State::Connected {
            return;
        }
        if !matches!(tokio::time::timeout(within, self.client.drain()).await, Ok(Ok(()))) {
            warn!("cannot close the NATS connection in good order");
        }
    }
}

/// The hints of a subscription.
#[derive(Debug)]
pub struct Hints(async_nats::Subscriber);

impl Hints {
    /// Waits for the next hint; none when the connection was closed for good.
    pub async fn next(&mut self) -> Option<Vec<u8>> {
        Some(self.0.next().await?.payload.to_vec())
    }
}

fn check_prefix(prefix: &str) -> Result<String, BusError> {
    let good = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if prefix.is_empty() || !prefix.bytes().all(good) {
        return Err(BusError::Prefix(prefix.to_owned()));
    }
    Ok(prefix.to_owned())
}

fn prepare(url: &Url) -> ConnectOptions {
    let options = ConnectOptions::new()
        .name("guildhall")
        .retry_on_initial_connect()
        .connection_timeout(Duration::from_secs(2))
        .ping_interval(Duration::from_secs(10))
        // The first try is at once; later NATS comes back within a second, or it does not matter how often we ask.
        .reconnect_delay_callback(|attempt| {
            let steps = u64::try_from(attempt.saturating_sub(1).min(10)).unwrap_or(10);
            Duration::from_millis(100 * steps)
        })
        .event_callback(|event| async move {
            match event {
                Event::Connected => info!("NATS answers"),
                Event::Disconnected => warn!("NATS is away"),
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

fn with_credentials(options: ConnectOptions, url: &Url) -> ConnectOptions {
    match url.password() {
        Some(password) => options.user_and_password(url.username().to_owned(), password.to_owned()),
        None if !url.username().is_empty() => options.token(url.username().to_owned()),
        None => options,
    }
}

/// Returns the bare address, so that no log line of the client can hold a password.
fn without_credentials(url: &Url) -> Result<ServerAddr, BusError> {
    let mut bare = url.clone();
    bare.set_username("").and_then(|()| bare.set_password(None)).map_err(|()| BusError::Address)?;
    ServerAddr::from_url(bare).map_err(|_| BusError::Address)
}
