//! The Rust client. REST and streams today; the socket, the guard that checks tool calls and end-to-end encryption are
//! planned.
//!
//! A [`Client`] has one method for each thing that a server does; they stand in one module a resource. Calls that need
//! a token ask a [`TokenSource`] for it each time, so that a long-lived client outlives its first token. What a runner
//! does stands in [`runner`], with clients of its own: it holds other tokens and may do other things.
//!
//! The process must have installed a TLS provider for rustls before it makes a client.
//!
//! This crate deliberately knows no server crate: a client builds without one. It keeps nothing on disk.

mod audit;
mod auth;
mod backends;
mod backoff;
mod client;
mod commands;
mod enrolments;
mod error;
mod health;
mod invitations;
mod keys;
mod members;
mod oidc;
mod profiles;
mod projects;
pub mod runner;
mod runner_jobs;
mod runs;
mod sessions;
mod tenants;
mod token;
mod users;

pub use audit::{AuditEntry, AuditFollow, AuditPage, Followed};
pub use auth::Tokens;
pub use client::{Client, SetupError};
pub use enrolments::NewEnrolment;
pub use error::{ClientError, next_step_after};
pub use invitations::NewInvitation;
pub use keys::NewKey;
pub use oidc::Waiting;
pub use profiles::{CredentialAsk, ProfileScope};
pub use runs::{RunEvent, RunEventPage, RunFollowed, RunFollower, RunScope};
pub use sessions::{SessionEventsAsk, SessionScope, SessionsAsk};
pub use token::{TokenFuture, TokenSource};
