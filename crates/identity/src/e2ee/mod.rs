//! End-to-end encryption of AUN, as far as the server and clients share it: envelopes, what they sign, and their verification.
//!
//! Nothing here decrypts: keys of devices are in the SDK. Two formats exist: [`v1`] of older clients and [`v2`].

mod bounds;
mod canonical;
mod client_signature;
mod error;
mod exact_json;
mod fingerprint;
mod members;
mod prekey;
pub mod v1;
pub mod v2;
#[cfg(test)]
mod vectors;

pub use bounds::{MAX_ENVELOPE_BYTES, MAX_RECIPIENTS, MAX_TEXT_BYTES};
pub use canonical::{CanonicalError, canonical_json};
pub use client_signature::{ClientSignature, ClientSignatureError};
pub use error::EnvelopeError;
pub use exact_json::{ExactJson, ExactJsonError, JsonNumber, JsonObject};
pub use fingerprint::{FINGERPRINT_PREFIX, certificate_fingerprint, key_fingerprint};
pub use prekey::{PrekeyError, SignedPrekey, SignedSpk};

/// The only suite of both formats.
pub const SUITE: &str = "P256_HKDF_SHA256_AES_256_GCM";

/// The length of the nonce of AES-GCM.
pub const NONCE_BYTES: usize = 12;

/// The length of the tag of AES-GCM.
pub const TAG_BYTES: usize = 16;
