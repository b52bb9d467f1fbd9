//! Authentication primitives: passwords, opaque secrets, signed access tokens, signing keys, certificates, the log of
//! certificates, and sealed messages as far as their server verifies them.
//!
//! The server and the CLI share them. Nothing here reads a clock or a store: callers pass the time in, and store hashes or encrypted bytes.
//!
//! This crate does not know where keys are stored, nor what a token permits: a verified token names the caller, and the
//! permissions are loaded from the database.

pub mod access_token;
pub mod agent_key_seal;
pub mod attachment_key;
pub mod audit_key;
pub mod derived;
pub mod e2ee;
pub mod id_token;
pub mod login_challenge;
pub mod name_tag;
pub mod opaque;
pub mod password;
pub mod payload_seal;
pub mod pki;
mod random;
pub mod seal;
pub mod signing_key;
pub mod transparency;
pub mod trust;
pub mod webhook_secret;
