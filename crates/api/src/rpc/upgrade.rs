//! Opens a connection.

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::response::Response;
use guildhall_protocol::rpc::MAX_FRAME_BYTES;

use super::browser::{BrowserUser, SUBPROTOCOL};
use super::connection::Connection;
use super::session::ClientSession;
use super::transport::Transport;
use crate::App;
use crate::edge::client_address::ClientAddress;
use crate::edge::error::ApiError;
use crate::edge::read_limit::ReadLimit;

/// The buffer that each connection keeps, and the most that is read at a time. It grows to the frame that is received: 2 KiB for
/// `auth.connect`. The library's default of 128 KiB would take 6 GB for 50,000 idle connections.
const READ_BUFFER_BYTES: usize = 1024;

/// Above our own limit, so that a frame that is too large is read and answered. A larger one breaks the connection.
const MAX_MESSAGE_BYTES: usize = 2 * MAX_FRAME_BYTES;

/// The library keeps what the connection does not take. It takes frames one by one, so this is one frame and its header.
const MAX_WRITE_BUFFER_BYTES: usize = 2 * MAX_FRAME_BYTES;

/// Refuses at once where there are too many: a queue would only hide the overload.
pub(super) async fn open(
    State(app): State<App>,
    ClientAddress(address): ClientAddress,
    BrowserUser(user): BrowserUser,
    Extension(read_limit): Extension<ReadLimit>,
    upgrade: WebSocketUpgrade,
) -> Result<Response, ApiError> {
    app.identity.logins()?;
    let permit = app.sockets.permits.acquire(address)?;
    let upgrade = upgrade
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(0)
        .max_write_buffer_size(MAX_WRITE_BUFFER_BYTES)
        .max_message_size(MAX_MESSAGE_BYTES)
        .max_frame_size(MAX_MESSAGE_BYTES)
        .protocols([SUBPROTOCOL]);
    Ok(upgrade.on_upgrade(move |socket| async move {
        let tasks = app.sockets.tasks.clone();
        let session = ClientSession::new(app, address, permit);
        let transport = Transport::new(socket, read_limit, session.app.sockets.limits.write_timeout);
        tasks.spawn_isolated("socket", Connection::new(session, transport).run(user.map(Box::new)));
    }))
}
