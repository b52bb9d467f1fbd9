//! Limits of the socket.

use std::time::Duration;

/// The limits of the socket, for one replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketLimits {
    /// Open connections.
    pub total: usize,
    /// Connections that are not authenticated yet.
    pub unauthenticated: usize,
    /// Connections of one address that are not authenticated yet.
    pub unauthenticated_per_address: usize,
    /// Connections of one address, or of one /64 network of IPv6.
    pub per_address: usize,
    /// Connections of one AID or user.
    pub per_client: usize,
    /// Concurrent calls of all connections; more fail with `overloaded`.
    pub concurrent_calls: usize,
    /// The time until `auth.connect` must succeed.
    pub auth_timeout: Duration,
    /// How long a connection may be silent before the server sends a ping.
    pub ping_after: Duration,
    /// How long a connection may be silent before it is closed.
    pub idle_timeout: Duration,
    /// How long frames may wait for a client that does not read.
    pub write_timeout: Duration,
}
