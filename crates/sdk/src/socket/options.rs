//! What a socket client is started with.

use std::sync::Arc;
use std::time::Duration;

use guildhall_runtime::Clock;

use super::endpoint::SocketEndpoint;
use super::login::AidCredentials;
use super::token_source::{AidLogin, SocketTokenSource};

/// How long a call may take, with the time until there is a connection.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// The slot of a client that is the only one on its device.
const DEFAULT_SLOT: &str = "default";

/// How a client connects.
#[derive(Debug, Clone)]
pub struct SocketOptions {
    pub(super) endpoint: SocketEndpoint,
    pub(super) tokens: Arc<dyn SocketTokenSource>,
    pub(super) device: String,
    pub(super) slot: String,
    pub(super) call_timeout: Duration,
    pub(super) clock: Clock,
}

impl SocketOptions {
    /// Connects a device of an AID. The id of a device is chosen by the client and stays the same, also after a restart: the
    /// server keeps a read position for each device and slot.
    #[must_use]
    pub fn new(
        endpoint: SocketEndpoint,
        tokens: Arc<dyn SocketTokenSource>,
        device: impl Into<String>,
        clock: Clock,
    ) -> Self {
        Self {
            endpoint,
            tokens,
            device: device.into(),
            slot: DEFAULT_SLOT.to_owned(),
            call_timeout: CALL_TIMEOUT,
            clock,
        }
    }

    /// Connects a device of an AID, which logs in with its key. The tokens are kept in memory.
    #[must_use]
    pub fn for_aid(
        endpoint: SocketEndpoint,
        credentials: AidCredentials,
        device: impl Into<String>,
        clock: Clock,
    ) -> Self {
        let login = AidLogin::new(endpoint.clone(), credentials, clock.clone());
        Self::new(endpoint, Arc::new(login), device, clock)
    }

    /// Separates several clients on one device.
    #[must_use]
    pub fn with_slot(mut self, slot: impl Into<String>) -> Self {
        self.slot = slot.into();
        self
    }

    /// Sets how long a call may take; 30 s without it.
    #[must_use]
    pub fn with_call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = timeout;
        self
    }
}
