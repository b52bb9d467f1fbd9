//! The socket: one WebSocket at `/aun`, on which clients call the methods of `protocol::rpc`.
//!
//! A task per connection reads, calls and writes, one request after the other. What a client does not read stays in its
//! own bounded queue.

mod auth;
mod browser;
mod call_error;
mod close;
mod connection;
mod dispatch;
mod events;
mod h2a;
mod keys;
mod limits;
mod message;
mod message_v2;
mod meta;
mod permits;
mod session;
mod sockets;
mod transport;
mod upgrade;

use axum::Router;
use axum::routing::get;

pub use limits::SocketLimits;
pub use sockets::Sockets;

use crate::App;

/// The path of the socket, as the discovery document names it.
pub(crate) const SOCKET_PATH: &str = "/aun";

pub(crate) fn routes() -> Router<App> {
    Router::new().route(SOCKET_PATH, get(upgrade::open))
}
