//! The methods `meta.*`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// No parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NoParams {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pong {
    pub pong: bool,
    /// Time of the server in seconds since 1970.
    pub timestamp: i64,
}

/// The state of this connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectionStatus {
    /// Always `gateway`.
    #[schema(example = "gateway")]
    pub mode: String,
    /// The connected AID. Null for a browser session.
    #[schema(example = "alice.guild.example")]
    pub aid: Option<String>,
    /// `agent` or `user`.
    pub role: String,
    /// When the connection was authenticated, in milliseconds since 1970.
    pub connected_at: i64,
    #[schema(example = "1.0")]
    pub protocol_version: String,
}

/// The signed list of trusted root certificates, as at `/pki/trust-roots.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = Object)]
pub struct TrustRoots(pub Value);
