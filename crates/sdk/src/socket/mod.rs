//! The socket of AUN: one WebSocket on which an AID calls methods and gets notifications.
//!
//! [`SocketClient`] is a handle that is cheap to clone. Behind it, one task logs in, connects, refreshes the token, and connects
//! again after a connection is lost. [`SocketClient::call`] takes a method of `guildhall_protocol::rpc::typed`.
//!
//! ```no_run
//! # async fn example(credentials: guildhall_sdk::socket::AidCredentials) -> Result<(), Box<dyn std::error::Error>> {
//! use guildhall_protocol::rpc::{meta::NoParams, typed};
//! use guildhall_runtime::{Clock, Tasks};
//! use guildhall_sdk::socket::{SocketClient, SocketEndpoint, SocketEvent, SocketOptions};
//!
//! let endpoint = SocketEndpoint::new("https://guild.example", &[])?;
//! let options = SocketOptions::for_aid(endpoint, credentials, "laptop-1", Clock::system());
//! let socket = SocketClient::connect(options, &Tasks::new()).await?;
//! let mut events = socket.events();
//! println!("{:?}", socket.call::<typed::Status>(&NoParams {}).await?);
//! while let Some(event) = events.next().await {
//!     match event {
//!         SocketEvent::Connected(_) | SocketEvent::Missed => { /* pull what is new */ }
//!         SocketEvent::Notification(notification) => println!("{}", notification.method),
//!         SocketEvent::Disconnected(error) | SocketEvent::Ended(error) => eprintln!("{error}"),
//!     }
//! }
//! # Ok(()) }
//! ```

mod calls;
mod client;
mod connection;
mod driver;
mod endpoint;
mod error;
mod event_stream;
mod events;
mod login;
mod options;
mod shared;
mod state;
mod token_source;
mod websocket;

pub use client::SocketClient;
pub use endpoint::SocketEndpoint;
pub use error::SocketError;
pub use event_stream::SocketEvents;
pub use events::{ServerNotification, SocketEvent};
pub use login::{AidCredentials, AidTokens, CompletedLogin, ServerTrust};
pub use options::SocketOptions;
pub use state::SocketState;
pub use token_source::{AccessToken, AccessTokenFuture, AidLogin, SocketTokenSource, next_tokens};
