//! The state of a client.

use std::sync::Arc;

use guildhall_protocol::rpc::auth::ConnectResult;

use super::SocketError;

/// The state of the connection.
#[derive(Debug, Clone)]
pub enum SocketState {
    /// There is no connection. The error is that of the last attempt, or why the last connection was lost.
    Connecting {
        last_error: Option<SocketError>,
    },
    Connected(Arc<ConnectResult>),
    /// The client does not connect again.
    Ended(SocketError),
}
