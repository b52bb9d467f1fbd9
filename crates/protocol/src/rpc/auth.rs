//! The methods `auth.*`. Types with a credential have no `Debug`, so that they are never logged.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// An AID to register.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct CreateAidParams {
    #[schema(example = "alice.guild.example")]
    pub aid: String,
    /// The P-256 key of the AID: SubjectPublicKeyInfo in DER, in base64.
    pub public_key: String,
    /// `P-256`, which is the only curve.
    #[serde(default)]
    pub curve: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreateAidResult {
    pub aid: String,
    /// The certificate in PEM.
    pub cert: String,
}

/// The first step of a login, of a renewal and of a new key.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Login1Params {
    pub aid: String,
    /// A certificate of the AID in PEM.
    pub cert: String,
    /// The server signs this text, which proves that it belongs to the issuer.
    pub client_nonce: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Login1Result {
    pub request_id: String,
    /// To be signed with the key of the AID.
    pub nonce: String,
    /// The certificate of the server in PEM.
    pub auth_cert: String,
    /// ECDSA signature in DER, in base64, by `auth_cert` over `client_nonce`.
    pub client_nonce_signature: String,
}

/// The second step of a login.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct Login2Params {
    pub aid: String,
    pub request_id: String,
    pub nonce: String,
    /// Time of the client in seconds since 1970. The signature covers the text as it is sent.
    #[schema(value_type = String)]
    pub client_time: Value,
    /// ECDSA signature in DER, in base64, over `nonce:client_time`.
    pub signature: String,
}

/// The tokens of a login.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct Login2Result {
    pub aid: String,
    pub access_token: String,
    pub refresh_token: String,
    /// In seconds.
    pub expires_in: i64,
    /// The newest certificate of the AID in PEM, where the login was with an older one of the same key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_cert: Option<String>,
}

#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct RefreshTokenParams {
    pub refresh_token: String,
    /// The AID that the token belongs to. Tokens of another AID are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aid: Option<String>,
}

/// New tokens, or the reason why the client has to log in again.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum RefreshTokenResult {
    Refreshed(RefreshedTokens),
    Refused(RefusedRefresh),
}

#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct RefreshedTokens {
    /// Always true.
    pub success: bool,
    pub access_token: String,
    /// Exchange it once. Using it twice revokes the login.
    pub refresh_token: String,
    /// In seconds.
    pub expires_in: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RefusedRefresh {
    /// Always false.
    pub success: bool,
    /// Always `invalid_or_expired_refresh_token`.
    pub error: String,
    pub relogin_required: bool,
}

/// Asks for a new certificate for the same key, after `auth.aid_login1`.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct RenewCertParams {
    pub aid: String,
    pub request_id: String,
    pub nonce: String,
    /// ECDSA signature in DER, in base64, over the nonce.
    pub signature: String,
}

/// Asks for a certificate for another key, after `auth.aid_login1`.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct RekeyParams {
    pub aid: String,
    pub request_id: String,
    pub nonce: String,
    /// SubjectPublicKeyInfo in DER, in base64.
    pub new_public_key: String,
    /// ECDSA signature in DER, in base64, by the old key over the nonce followed by `new_public_key`.
    pub signature: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IssuedCertResult {
    /// The new certificate in PEM.
    pub cert: String,
}

/// Authenticates the connection.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct ConnectParams {
    /// The nonce of the `challenge` of this connection.
    pub nonce: String,
    pub auth: ConnectAuth,
    #[serde(default)]
    pub protocol: Option<ProtocolRange>,
    #[serde(default)]
    pub device: Option<ConnectDevice>,
    #[serde(default)]
    pub client: Option<ConnectClient>,
    #[serde(default)]
    pub delivery_mode: Option<DeliveryMode>,
    #[serde(default)]
    pub capabilities: Option<ClientCapabilities>,
    #[serde(default)]
    pub options: Option<ConnectOptions>,
}

#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct ConnectAuth {
    /// `kite_token` (or `aun_token`): an access token of `auth.aid_login2`.
    pub method: String,
    pub token: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProtocolRange {
    #[schema(example = "1.0")]
    pub min: String,
    #[schema(example = "1.0")]
    pub max: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ConnectDevice {
    #[serde(default)]
    pub id: String,
    #[serde(default, rename = "type")]
    pub kind: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ConnectClient {
    /// Separates several clients on one device. What follows `/`, `:` or a space is a label.
    #[serde(default)]
    pub slot_id: String,
}

/// What a client can do, as far as the server has to know. Others are ignored.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct ClientCapabilities {
    /// Versions of end-to-end encryption, such as `e2ee_v2`.
    #[serde(default)]
    pub supported_p2p_e2ee: Vec<String>,
    /// Takes sealed messages of the second version whole in their event.
    #[serde(default)]
    pub inline_realtime_payload_v1: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct DeliveryMode {
    /// `fanout` or `queue`.
    pub mode: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ConnectOptions {
    /// `long` (default) or `short`.
    #[serde(default)]
    pub kind: Option<String>,
    /// How long a short connection may stay open.
    #[serde(default)]
    pub short_ttl_ms: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectResult {
    /// Always `ok`.
    pub status: String,
    pub protocol: String,
    /// Time of the server in milliseconds since 1970.
    pub server_time: i64,
    pub authenticated: bool,
    pub identity: ConnectedIdentity,
    pub connection: ConnectionInfo,
    pub capabilities: ServerCapabilities,
    /// Send a ping when nothing else was sent for this long, in seconds.
    pub heartbeat_interval: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectedIdentity {
    #[schema(example = "alice.guild.example")]
    pub aid: String,
    pub role: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectionInfo {
    pub id: String,
    pub device_id: String,
    pub slot_id: String,
    /// `long` or `short`.
    pub kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ServerCapabilities {
    /// The prefixes of the methods of this server.
    pub namespaces: Vec<String>,
    /// Clients from fastaun 0.5.25 on connect to servers alone that say so. It does not depend on `namespaces`.
    pub p2p_peer_pull_v1: bool,
    /// The largest frame that the server accepts, in bytes.
    pub max_message_size: usize,
}

/// The parameters of the notification `challenge`, the first frame of every connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Challenge {
    /// To be repeated in `auth.connect`.
    pub nonce: String,
    pub protocol: ProtocolRange,
    pub auth_methods: Vec<String>,
    /// Time of the server in milliseconds since 1970.
    pub server_time: i64,
}

/// The parameters of `event/gateway.disconnect`, the last frame of a connection that the client must not open again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Disconnect {
    /// The code of the close frame.
    pub code: u16,
    /// A failure kind.
    pub reason: String,
    pub detail: String,
}
