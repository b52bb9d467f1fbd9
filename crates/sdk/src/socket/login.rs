//! Logins of an AID: it proves its key, and gets tokens for the socket.
//!
//! Each step has a connection of its own, as with the official clients, so that a login depends on no other connection.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guildhall_domain::identity::Aid;
use guildhall_identity::pki::Signer;
use guildhall_identity::trust::{ServerProof, TrustedRoot};
use guildhall_protocol::rpc::auth::{
    CreateAidParams, IssuedCertResult, Login1Params, Login1Result, Login2Params, RefreshTokenParams,
    RefreshTokenResult, RenewCertParams,
};
use guildhall_protocol::rpc::{RpcMethod, typed};
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::SocketError;
use super::endpoint::SocketEndpoint;
use super::websocket::WebSocket;

/// Random bytes of the text that the server signs.
const NONCE_BYTES: usize = 32;

/// A token that expires sooner than this is refreshed first.
pub(super) const REFRESH_MARGIN: SignedDuration = SignedDuration::from_secs(300);

/// An AID with its key.
#[derive(Clone)]
pub struct AidCredentials {
    pub aid: Aid,
    /// A certificate of the AID in PEM.
    pub certificate: String,
    pub key: Arc<dyn Signer>,
    pub server: ServerTrust,
}

/// How a client knows that it logs in at a server of the issuer. A signature for another server would let that one log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerTrust {
    /// The connection proves it: TLS, or the same machine.
    Connection,
    /// The server proves that it belongs to the issuer, below one of these roots.
    Roots(Vec<TrustedRoot>),
}

/// The tokens of a login.
#[derive(Debug, Clone)]
pub struct AidTokens {
    /// Authenticates connections.
    pub access: SecretString,
    pub access_expires_at: Timestamp,
    /// Can be exchanged once. A second exchange ends the login.
    pub refresh: SecretString,
}

/// Tokens, and the newest certificate where the login was with an older one.
#[derive(Debug, Clone)]
pub struct CompletedLogin {
    pub tokens: AidTokens,
    pub newer_certificate: Option<String>,
}

impl fmt::Debug for AidCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AidCredentials")
            .field("aid", &self.aid)
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl AidTokens {
    /// Returns whether the access token should be refreshed before it is used.
    #[must_use]
    pub fn expires_soon(&self, now: Timestamp) -> bool {
        self.access_expires_at.duration_since(now) <= REFRESH_MARGIN
    }
}

impl SocketEndpoint {
    /// Registers an AID for a P-256 key (SubjectPublicKeyInfo in base64), where the server lets this client. Returns its
    /// certificate in PEM.
    pub async fn register(&self, aid: &Aid, public_key: &str) -> Result<String, SocketError> {
        let params = CreateAidParams { aid: aid.to_string(), public_key: public_key.to_owned(), curve: None };
        Ok(self.call_once::<typed::CreateAid>(&params).await?.cert)
    }

    /// Logs an AID in.
    pub async fn log_in(
        &self,
        credentials: &AidCredentials,
        now: Timestamp,
    ) -> Result<CompletedLogin, SocketError> {
        let started = self.start_login(credentials, now).await?;
        // The text is signed, so it is sent as it is written here.
        let client_time = format!("{}.{:03}", now.as_second(), now.subsec_millisecond());
        let signature = sign(credentials, &format!("{}:{client_time}", started.nonce))?;
        let params = Login2Params {
            aid: credentials.aid.to_string(),
            request_id: started.request_id,
            nonce: started.nonce,
            client_time: client_time.into(),
            signature,
        };
        let result = self.call_once::<typed::AidLogin2>(&params).await?;
        let tokens = AidTokens {
            access: result.access_token.into(),
            access_expires_at: after(now, result.expires_in),
            refresh: result.refresh_token.into(),
        };
        Ok(CompletedLogin { tokens, newer_certificate: result.new_cert })
    }

    /// Exchanges a refresh token. Returns none where it is refused: then the AID has to log in again.
    pub async fn refresh(
        &self,
        aid: &Aid,
        refresh: &SecretString,
        now: Timestamp,
    ) -> Result<Option<AidTokens>, SocketError> {
        let params = RefreshTokenParams {
            refresh_token: refresh.expose_secret().to_owned(),
            aid: Some(aid.to_string()),
        };
        match self.call_once::<typed::RefreshToken>(&params).await? {
            RefreshTokenResult::Refreshed(tokens) => Ok(Some(AidTokens {
                access: tokens.access_token.into(),
                access_expires_at: after(now, tokens.expires_in),
                refresh: tokens.refresh_token.into(),
            })),
            RefreshTokenResult::Refused(_) => Ok(None),
        }
    }

    /// Gets a new certificate for the same key, in PEM. One that is younger than an hour is returned as it is.
    pub async fn renew_certificate(
        &self,
        credentials: &AidCredentials,
        now: Timestamp,
    ) -> Result<String, SocketError> {
        let started = self.start_login(credentials, now).await?;
        let signature = sign(credentials, &started.nonce)?;
        let params = RenewCertParams {
            aid: credentials.aid.to_string(),
            request_id: started.request_id,
            nonce: started.nonce,
            signature,
        };
        let IssuedCertResult { cert } = self.call_once::<typed::RenewCert>(&params).await?;
        Ok(cert)
    }

    /// Makes one call on a connection of its own, without authentication.
    pub async fn call_once<M: RpcMethod>(&self, params: &M::Params) -> Result<M::Result, SocketError> {
        let mut socket = WebSocket::open(self).await?;
        let result = socket.call::<M>(params).await;
        socket.close().await;
        result
    }

    /// Makes one call by the name of its method, as [`SocketEndpoint::call_once`] does. The parameters are an object.
    pub async fn call_once_raw(&self, method: &str, params: Value) -> Result<Value, SocketError> {
        let mut socket = WebSocket::open(self).await?;
        let result = socket.call_raw(method, params).await;
        socket.close().await;
        result
    }

    /// Starts a login, and verifies the server before anything is signed for it.
    async fn start_login(
        &self,
        credentials: &AidCredentials,
        now: Timestamp,
    ) -> Result<Login1Result, SocketError> {
        let client_nonce = random_text()?;
        let params = Login1Params {
            aid: credentials.aid.to_string(),
            cert: credentials.certificate.clone(),
            client_nonce: client_nonce.clone(),
        };
        let started = self.call_once::<typed::AidLogin1>(&params).await?;
        if let ServerTrust::Roots(roots) = &credentials.server {
            let chain = self.gateway().1.client.certificate_chain().await?;
            let proof = ServerProof {
                certificate: &started.auth_cert,
                chain: &chain,
                nonce: &client_nonce,
                signature: &started.client_nonce_signature,
            };
            proof.verify(credentials.aid.issuer(), roots, now).map_err(SocketError::UntrustedServer)?;
        }
        Ok(started)
    }
}

fn sign(credentials: &AidCredentials, message: &str) -> Result<String, SocketError> {
    let signed = credentials.key.sign(message.as_bytes());
    signed.map(|bytes| STANDARD.encode(bytes)).map_err(|error| SocketError::NoToken(Arc::new(error)))
}

fn random_text() -> Result<String, SocketError> {
    let mut bytes = [0; NONCE_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| SocketError::NoToken(Arc::new(error)))?;
    Ok(STANDARD.encode(bytes))
}

fn after(now: Timestamp, seconds: i64) -> Timestamp {
    now.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX)
}
