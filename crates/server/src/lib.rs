//! Puts the parts together: configuration, wiring, start and shutdown.
//!
//! This crate deliberately holds no rule of the product: it only knows who needs whom.

pub mod checkup;
pub mod config;
mod engine_ports;
mod init;
mod launching;
mod outside;
mod public_url;
mod start;

pub use config::Config;
pub use guildhall_api::openapi;
pub use guildhall_launcher::local::can_contain as contains_runners;
pub use init::{InitError, init};
pub use launching::usual_runner;
pub use outside::OutsideError;
pub use public_url::InvalidPublicUrl;
pub use start::{Server, StartError};

/// The commit that this build comes from.
pub const COMMIT: &str = env!("GUILDHALL_COMMIT");
