//! A single connection for `guildhall doctor`: finds out what is wrong with NATS. It does not retry.

use std::time::Duration;

use async_nats::{ConnectErrorKind, ConnectOptions};

use crate::client::Bus;
use crate::options::{BusError, BusOptions, check_prefix, with_credentials, without_credentials};

/// A failed connection attempt, classified by its fix. No message contains a password.
#[derive(Debug, thiserror::Error)]
pub enum NatsCheckError {
    #[error(transparent)]
    Options(#[from] BusError),
    #[error("cannot reach NATS at {address}")]
    Unreachable { address: String },
    #[error("NATS at {address} rejected the user name or password")]
    Authentication { address: String },
}

/// A diagnostic connection.
#[derive(Debug)]
pub struct NatsCheck {
    bus: Bus,
    /// Host and port of the server.
    pub address: String,
    pub version: String,
}

impl NatsCheck {
    /// Connects once, within `timeout`.
    pub async fn connect(options: &BusOptions, timeout: Duration) -> Result<Self, NatsCheckError> {
        let prefix = check_prefix(&options.subject_prefix)?;
        let url = options.parse_url()?;
        let bare = without_credentials(&url)?;
        let address = format!("{}:{}", bare.host(), bare.port());
        let connect_options =
            ConnectOptions::new().name("guildhall doctor").connection_timeout(timeout).max_reconnects(1);
        let client = match with_credentials(connect_options, &url).connect(bare).await {
            Ok(client) => client,
            Err(error) => {
                use ConnectErrorKind::{Authentication, AuthorizationViolation};
                let is_rejected = matches!(error.kind(), Authentication | AuthorizationViolation);
                return Err(if is_rejected {
                    NatsCheckError::Authentication { address }
                } else {
                    NatsCheckError::Unreachable { address }
                });
            }
        };
        let version = client.server_info().version;
        Ok(Self { bus: Bus { client, prefix }, address, version })
    }

    /// Sends a message through NATS to this process and waits for it.
    pub async fn round_trip(&self, timeout: Duration) -> Result<(), BusError> {
        self.bus.round_trip(timeout).await
    }
}
