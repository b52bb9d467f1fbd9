//! The list of trusted roots, as the clients of AUN read it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The signed list of trusted roots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TrustListView {
    /// Rises when the roots change, and never falls.
    #[schema(minimum = 1)]
    pub version: u64,
    #[schema(example = "2026-11-18T20:00:00Z")]
    pub issued_at: String,
    #[schema(example = "2026-11-19T20:00:00Z")]
    pub next_update: String,
    /// ECDSA P-384 with SHA-384 in base64 (DER), over this object without this field: keys sorted, no spaces, UTF-8.
    pub authority_signature: String,
    pub root_cas: Vec<TrustedRootView>,
}

/// A root of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TrustedRootView {
    pub id: String,
    pub name: String,
    pub organization: String,
    /// The certificate in PEM.
    pub certificate: String,
    /// SHA-256 of the certificate.
    pub fingerprint_sha256: String,
    /// Clients import only `active` roots.
    pub status: String,
    pub crl_url: String,
    pub ocsp_url: String,
}
