//! AIDs, their certificates and the log of them.

mod transparency;
mod trust;

use std::net::IpAddr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

pub use transparency::{
    ConsistencyProofView, InclusionProofView, LogEntriesQuery, LogEntriesView, LogEntryView, TreeHeadView,
};
pub use trust::{TrustListView, TrustedRootView};

/// An AID to create.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateAid {
    /// The name before the issuer. Some names are reserved.
    #[schema(min_length = 4, max_length = 64, pattern = "^[a-z0-9_][a-z0-9_-]{3,63}$", example = "alice")]
    pub name: String,
    /// The P-256 key of the AID: SubjectPublicKeyInfo in DER, in base64.
    #[schema(min_length = 1, max_length = 200)]
    pub public_key: String,
    /// The user that the AID belongs to (principal id); without it, you.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "prn_01920000000070008000000000000000")]
    pub owner: Option<String>,
}

/// A name that one address may register.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReserveAid {
    /// The name before the issuer. Some names are reserved.
    #[schema(min_length = 4, max_length = 64, pattern = "^[a-z0-9_][a-z0-9_-]{3,63}$", example = "alice")]
    pub name: String,
    /// The address of the client that will register it.
    #[schema(value_type = String, example = "192.0.2.7")]
    pub address: String,
    /// The user that the AID will belong to (principal id): whoever registers it acts for this user. Without it, the AID belongs to a
    /// principal of its own, which has no rights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "prn_01920000000070008000000000000000")]
    pub owner: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReservationView {
    #[schema(example = "alice.guild.example")]
    pub aid: String,
    #[schema(value_type = String, example = "192.0.2.7")]
    pub address: IpAddr,
    /// The user that the AID will belong to; null: a principal of its own.
    pub owner: Option<String>,
    pub expires_at: Timestamp,
}

/// Why the key of an AID is revoked.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RevokeAid {
    /// `unspecified`, `key_compromise`, `superseded` or `cessation_of_operation`.
    #[schema(pattern = "^(unspecified|key_compromise|superseded|cessation_of_operation)$")]
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AidCertificateView {
    /// In hexadecimal digits.
    pub serial: String,
    /// SHA-256 of the certificate.
    pub fingerprint: String,
    /// SHA-256 of the public key.
    pub key_fingerprint: String,
    pub not_before: Timestamp,
    pub not_after: Timestamp,
    /// `active`, `verify_only`, `expired` or `revoked`.
    pub status: String,
    pub revoked_at: Option<Timestamp>,
    pub revocation_reason: Option<String>,
    /// The certificate in PEM.
    pub certificate: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AidView {
    #[schema(example = "alice.guild.example")]
    pub aid: String,
    /// The principal that the AID belongs to.
    #[schema(example = "prn_01920000000070008000000000000000")]
    pub owner: String,
    pub created_at: Timestamp,
    /// The newest certificate.
    pub certificate: AidCertificateView,
}

/// AIDs by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AidsView {
    pub aids: Vec<AidView>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// Query parameters of the list of AIDs.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AidsQuery {
    /// The last AID of the page before.
    #[param(max_length = 253, pattern = "^[a-z0-9_.-]*$")]
    pub cursor: Option<String>,
    #[serde(default = "default_aid_limit")]
    #[param(minimum = 1, maximum = 100)]
    pub limit: u32,
}

fn default_aid_limit() -> u32 {
    50
}

/// Query parameters of a certificate.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CertificateQuery {
    /// SHA-256 of the certificate or of its key: 64 hexadecimal digits or the first 16, optionally after `sha256:`.
    #[param(max_length = 71, pattern = "^(sha256:)?([0-9a-fA-F]{16}|[0-9a-fA-F]{64})$")]
    pub cert_fingerprint: Option<String>,
}

/// A revocation list, as the clients of AUN read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RevocationListView {
    /// An X.509 revocation list in PEM, signed by the issuer.
    pub crl_pem: String,
}

/// The state of a certificate, as the clients of AUN read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OcspView {
    /// `good`, `revoked` or `unknown`.
    pub status: String,
    /// An OCSP response in base64, signed by the issuer. It says the same.
    pub ocsp_response: String,
}

/// The gateways of an issuer, at which clients open the socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GatewaysView {
    pub gateways: Vec<GatewayView>,
}

/// A gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GatewayView {
    #[schema(example = "wss://gateway.guild.example/aun")]
    pub url: String,
    /// Clients try the smallest number first.
    pub priority: u32,
}
