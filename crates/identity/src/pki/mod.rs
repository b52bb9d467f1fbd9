//! Certificates of AIDs: keys that sign, the issuer's authority, revocation lists, OCSP responses and verification.
//!
//! The chain is root, issuer, AID. The clients of AUN accept P-256 keys for AIDs and issuers, and P-384 for roots.

mod authority;
mod certificate;
mod crl;
mod ec_key;
mod error;
mod fingerprint;
mod issuer;
mod local;
mod ocsp;
mod signature;
mod signer;
#[cfg(test)]
mod tests;

pub(crate) use authority::CLOCK_SKEW;
pub use authority::{RootAuthority, self_signed_authority, self_signed_root};
pub use certificate::{CertificateError, ParsedCertificate, der_to_pem, pem_to_der};
pub use ec_key::{EcKey, EcKeyError};
pub use error::IssuerError;
pub(crate) use fingerprint::sha256;
pub(crate) use issuer::verify_path;
pub use issuer::{IssuerAuthority, LeafRequest};
pub use local::{LocalCertificate, ServerNames, verify_server};
pub use ocsp::OcspStatus;
pub use signature::{InvalidPublicKey, InvalidSignature, P256PublicKey};
pub use signer::{Curve, SignError, Signer};
