//! One connection, to find out what is wrong with NATS. Unlike a server's it does not try again.

use std::time::Duration;

use async_nats::{ConnectErrorKind, ConnectOptions};
use secrecy::ExposeSecret;
use url::Url;

use crate::{Bus, BusError, BusOptions, check_prefix, with_credentials, without_credentials};

/// Why there is no connection, told apart by what repairs it. No message repeats a password.
#[derive(Debug, thiserror::Error)]
pub enum NoConnection {
    #[error(transparent)]
    Options(#[from] BusError),
    #[error("no NATS answers at {place}")]
    Unreachable { place: String },
    #[error("NATS at {place} refuses the name or the password")]
    Authentication { place: String },
}

/// A NATS that answered.
#[derive(Debug)]
pub struct Look {
    bus: Bus,
    /// Where it is, without a password.
    pub place: String,
    pub version: String,
}

impl Look {
    /// Connects once, within a time.
    pub async fn connect(options: &BusOptions, within: Duration) -> Result<Self, NoConnection> {
        let prefix = check_prefix(&options.subject_prefix)?;
        let url = Url::parse(options.url.expose_secret()).map_err(|_| BusError::Address)?;
        let bare = without_credentials(&url)?;
        let place = format!("{}:{}", bare.host(), bare.port());
        let once =
            ConnectOptions::new().name("guildhall doctor").connection_timeout(within).max_reconnects(1);
        let client = match with_credentials(once, &url).connect(bare).await {
            Ok(client) => client,
            Err(error) => {
                use ConnectErrorKind::{Authentication, AuthorizationViolation};
                let refused = matches!(error.kind(), Authentication | AuthorizationViolation);
                return Err(if refused {
                    NoConnection::Authentication { place }
                } else {
                    NoConnection::Unreachable { place }
                });
            }
        };
        let version = client.server_info().version;
        Ok(Self { bus: Bus { client, prefix }, place, version })
    }

    /// Sends a message to ourselves through NATS and waits for it.
    pub async fn round_trip(&self, within: Duration) -> Result<(), BusError> {
        self.bus.round_trip(within).await
    }
}
