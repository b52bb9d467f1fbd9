//! Configuration, wiring, start and shutdown of a server.
//!
//! This crate holds no business rules: it only connects the other crates.

mod attachments;
mod audit;
mod background;
pub mod config;
pub mod engine_checks;
mod gateway;
mod http_parts;
mod init;
mod issuer;
mod issuer_error;
mod launcher;
mod messages;
mod metrics;
mod outbound;
mod public_url;
mod settings;
mod start;
mod start_error;
mod stores;
mod tls;

pub use attachments::AttachmentsConfigError;
pub use audit::AuditConfigError;
pub use config::Config;
pub use gateway::InvalidGatewayUrl;
pub use guildhall_api::openapi;
pub use init::{Created, InitError, init};
pub use issuer::{create_issuer, renew_issuer};
pub use issuer_error::IssuerConfigError;
pub use launcher::{check_containment, default_runner_path};
pub use messages::InvalidMessageLifetime;
pub use outbound::OutboundError;
pub use public_url::InvalidPublicUrl;
pub use start::Server;
pub use start_error::StartError;
pub use tls::TlsConfigError;

/// The commit that this build comes from.
pub const COMMIT: &str = env!("GUILDHALL_COMMIT");
