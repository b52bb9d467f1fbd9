//! End-to-end encryption of AUN: envelopes, their verification, which the server and clients share, and how clients seal and open
//! them. Keys of devices are stored by the SDK. Two formats exist: [`v1`] of older clients and [`v2`].

mod agreement;
mod bounds;
mod canonical;
mod cipher;
mod client_signature;
mod error;
mod exact_json;
mod fingerprint;
mod members;
mod open_error;
mod payload;
mod prekey;
mod random_id;
mod raw_signature;
mod storage_key;
pub mod v1;
pub mod v2;
#[cfg(test)]
mod vectors;

pub use agreement::{AgreementError, AgreementKey, IdentityKey, SCALAR_BYTES, SharedSecret};
pub use bounds::{MAX_ENVELOPE_BYTES, MAX_RECIPIENTS, MAX_TEXT_BYTES};
pub use canonical::{CanonicalError, canonical_json};
pub use client_signature::{ClientSignature, ClientSignatureError};
pub use error::EnvelopeError;
pub use exact_json::{ExactJson, ExactJsonError, JsonNumber, JsonObject};
pub use fingerprint::{FINGERPRINT_PREFIX, certificate_fingerprint, key_fingerprint};
pub use open_error::{OpenError, SealingError};
pub use prekey::{PrekeyError, SignedPrekey, SignedSpk};
pub use random_id::random_id;
pub use storage_key::storage_key;

/// The only suite of both formats.
pub const SUITE: &str = "P256_HKDF_SHA256_AES_256_GCM";

/// The length of the nonce of AES-GCM.
pub const NONCE_BYTES: usize = 12;

/// The length of the tag of AES-GCM.
pub const TAG_BYTES: usize = 16;
