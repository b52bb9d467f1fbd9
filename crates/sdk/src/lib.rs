//! The Rust client: REST, streams, the socket, messages that are sealed from end to end, the [`guard`] of a device whose
//! tools agents call, and the [`tool_calls`] themselves.
//!
//! A [`Client`] has one method per API operation, in one module per resource. Calls with authentication get the token
//! from a [`TokenSource`] each time, so a long-lived client outlives its first token. The clients of a runner are in
//! [`runner`]: they use other tokens and other operations.
//!
//! The process must install a TLS provider for rustls before it creates a client.
//!
//! This crate depends on no server crate. It stores nothing on disk, except for the keys of a device in [`messages`] and the
//! audit log of its [`guard`].

mod account;
mod agents;
mod aids;
mod approvals;
mod audit;
mod auth;
mod automations;
mod backends;
mod backoff;
mod bounds;
mod client;
mod commands;
mod enrolments;
mod error;
mod git_credentials;
pub mod guard;
mod health;
mod invitations;
mod keys;
mod members;
pub mod messages;
mod oidc;
mod pki;
mod profiles;
mod projects;
mod relations;
mod retention;
pub mod runner;
mod runner_jobs;
mod runners;
mod runs;
mod sessions;
pub mod socket;
mod tenants;
mod token;
pub mod tool_calls;
mod transparency;
mod users;
mod webhook_listener;
mod webhooks;

pub use approvals::ApprovalFilter;
pub use audit::{AuditEntry, AuditFollower, AuditPage, AuditStreamItem};
pub use auth::Tokens;
pub use client::{Client, ClientSetupError};
pub use enrolments::NewEnrolment;
pub use error::{ClientError, next_step_for};
pub use invitations::NewInvitation;
pub use keys::NewKey;
pub use oidc::BrowserSignIn;
pub use pki::{ImportError, ImportedRoot};
pub use profiles::{CredentialRequest, ProfileScope};
pub use runners::RunnerScope;
pub use runs::{RunEvent, RunEventPage, RunFollower, RunScope, RunStreamItem};
pub use sessions::{SessionEventsRequest, SessionListRequest, SessionScope};
pub use token::{TokenFuture, TokenSource};
pub use users::UserScope;
pub use webhook_listener::{ForwardedEvent, WebhookForwarder};
pub use webhooks::{NewWebhook, RotatedWebhook};
