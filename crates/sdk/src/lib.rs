//! The Rust client. REST and streams today; the socket, the guard that checks tool calls and end-to-end encryption are
//! planned.
//!
//! A [`Client`] has one method for each thing that a server does; they stand in one module a resource. Calls that need
//! a token ask a [`TokenSource`] for it each time, so that a long-lived client outlives its first token.
//!
//! The process must have installed a TLS provider for rustls before it makes a client.
//!
//! This crate deliberately knows no server crate: a client builds without one. It keeps nothing on disk.

mod audit;
mod auth;
mod client;
mod error;
mod invitations;
mod keys;
mod members;
mod oidc;
mod tenants;
mod token;
mod users;

pub use audit::{AuditEntry, AuditFollow, AuditPage, Followed};
pub use auth::Tokens;
pub use client::{Client, SetupError};
pub use error::ClientError;
pub use invitations::NewInvitation;
pub use keys::NewKey;
pub use oidc::Waiting;
pub use token::{TokenFuture, TokenSource};
