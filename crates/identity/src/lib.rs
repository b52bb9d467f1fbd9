//! Who is who: passwords, opaque secrets, signed access tokens and the keys that sign them.
//!
//! The server and the SDK share it. Certificates and Merkle proofs are planned. Nothing here reads a clock or a store:
//! the time is passed in, and what is kept is handed in and out as hashes or sealed bytes.
//!
//! This crate deliberately does not know where keys are kept, nor what a token allows: a verified token says who asks,
//! and the rights are loaded.

pub mod access;
pub mod derived;
pub mod id_token;
pub mod name_tag;
pub mod opaque;
pub mod password;
mod random;
pub mod seal;
pub mod signing_key;
