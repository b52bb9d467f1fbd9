//! Access tokens: short-lived and signed, verified without a database query.
//!
//! The format is a JWT as in RFC 9068, with EdDSA only. It names the caller and the login; permissions are loaded,
//! never read from a token. A token that differs in any way from what [`AccessTokenSigner`] writes is rejected, also for an
//! unknown claim: claims restrict the bearer, so ignoring one would grant more. Therefore a new claim is first accepted
//! by one release and then written by the next.

use std::collections::HashMap;

use guildhall_domain::access::principal::TokenKind;
use guildhall_domain::ids::{
    AgentId, LoginId, PrincipalId, RunId, RunnerId, ServiceKeyId, SigningKeyId, TenantId,
};
use guildhall_domain::journal::Epoch;
use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use secrecy::SecretString;
use uuid::Uuid;

use crate::signing_key::{PrivateKey, PublicKey};

#[cfg(test)]
mod tests;

/// The audience of all tokens.
pub const AUDIENCE: &str = "guildhall";

/// Maximum token size. Our tokens have about 600 bytes; the rest is reserve for a long issuer.
pub const MAX_BYTES: usize = 4096;

/// How far the signing replica's clock may be ahead. The expiry has no leeway.
pub const CLOCK_LEEWAY: SignedDuration = SignedDuration::from_secs(5);

/// The `typ` of RFC 9068, so that no other kind of JWT is accepted as an access token.
const TYPE: &str = "at+jwt";

/// The claims of a token. Times are truncated to whole seconds when it is signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessClaims {
    /// The token id, for the audit log.
    pub id: Uuid,
    pub principal: PrincipalId,
    pub kind: TokenKind,
    /// The login that the token was issued for; revoking it invalidates the token.
    pub login: Option<LoginId>,
    /// The service key that vouches for an external subject; only in their tokens. Revoking it invalidates the token.
    pub key: Option<ServiceKeyId>,
    /// The tenant to act in; always set in tokens of runs and external subjects.
    pub tenant: Option<TenantId>,
    /// The agent whose threads an external subject may use; only in their tokens.
    pub agent: Option<AgentId>,
    /// Only in run tokens.
    pub run: Option<RunScope>,
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
}

/// The run, lease epoch and runner of a run token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunScope {
    pub run: RunId,
    pub epoch: Epoch,
    pub runner: RunnerId,
}

/// The token could not be issued.
#[derive(Debug, thiserror::Error)]
pub enum AccessTokenSignError {
    #[error("the token must expire at least one second after it is issued")]
    Lifetime,
    #[error(
        "the claims do not match the token kind: only a run token has a run, only an external subject's token has a key or an agent"
    )]
    Scope,
    #[error("the token would be longer than {MAX_BYTES} bytes: shorten the issuer")]
    TooLong,
    #[error("cannot sign a token")]
    Sign(#[source] jsonwebtoken::errors::Error),
}

/// The token was rejected. For the log: callers only learn that the token is invalid or has expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("the token is longer than {MAX_BYTES} bytes")]
    TooLong,
    #[error("the token is not a JWT")]
    Malformed,
    #[error("the token's header is not that of an access token: expected EdDSA, at+jwt and a kid only")]
    Header,
    /// The key may have been published after the keys were loaded: reload them, but with a rate limit.
    #[error("the token names signing key {0}, which is not published")]
    UnknownKey(SigningKeyId),
    #[error("the token's signature is wrong")]
    Signature,
    #[error("the token's claims are not those of an access token")]
    Claims,
    #[error("the token was issued by another installation")]
    Issuer,
    #[error("the token is for another audience")]
    Audience,
    #[error("the token was issued in the future: compare the clocks of the replicas")]
    NotYetValid,
    #[error("the token has expired: refresh it")]
    Expired,
}

/// Signs tokens with one key.
#[derive(Debug)]
pub struct AccessTokenSigner {
    header: Header,
    issuer: String,
    key: EncodingKey,
}

impl AccessTokenSigner {
    #[must_use]
    pub fn new(key: &PrivateKey, issuer: impl Into<String>) -> Self {
        Self { header: header(key.id()), issuer: issuer.into(), key: EncodingKey::from_ed_der(key.pkcs8()) }
    }

    /// Issues a token.
    pub fn sign(&self, claims: &AccessClaims) -> Result<SecretString, AccessTokenSignError> {
        let wire = WireClaims::from_claims(claims, &self.issuer);
        if wire.exp <= wire.iat {
            return Err(AccessTokenSignError::Lifetime);
        }
        if !claims.match_token_kind() {
            return Err(AccessTokenSignError::Scope);
        }
        let token =
            jsonwebtoken::encode(&self.header, &wire, &self.key).map_err(AccessTokenSignError::Sign)?;
        if token.len() > MAX_BYTES {
            return Err(AccessTokenSignError::TooLong);
        }
        Ok(SecretString::from(token))
    }
}

/// The current verification keys, by id.
#[derive(Debug, Clone, Default)]
pub struct VerifyingKeys(HashMap<SigningKeyId, DecodingKey>);

impl VerifyingKeys {
    #[must_use]
    pub fn new(keys: impl IntoIterator<Item = PublicKey>) -> Self {
        Self(keys.into_iter().map(|key| (key.id, DecodingKey::from_ed_der(&key.bytes))).collect())
    }
}

/// Verifies a token and returns its claims. The signature is verified before any claim is read.
pub fn verify(
    token: &str,
    keys: &VerifyingKeys,
    issuer: &str,
    now: Timestamp,
) -> Result<AccessClaims, TokenError> {
    if token.len() > MAX_BYTES {
        return Err(TokenError::TooLong);
    }
    let key = find_key(token, keys)?;
    let decoded = jsonwebtoken::decode::<WireClaims>(token, key, &signature_only());
    let wire = decoded.map_err(|error| decode_error(&error))?.claims;
    if wire.iss != issuer {
        return Err(TokenError::Issuer);
    }
    if wire.aud != AUDIENCE {
        return Err(TokenError::Audience);
    }
    let claims = wire.into_claims().filter(AccessClaims::match_token_kind).ok_or(TokenError::Claims)?;
    if claims.issued_at.duration_since(now) > CLOCK_LEEWAY {
        return Err(TokenError::NotYetValid);
    }
    if now >= claims.expires_at {
        return Err(TokenError::Expired);
    }
    Ok(claims)
}

/// Finds the key named by the header, after checking that the header is one that we write.
fn find_key<'a>(token: &str, keys: &'a VerifyingKeys) -> Result<&'a DecodingKey, TokenError> {
    let actual = jsonwebtoken::decode_header(token).map_err(|_| TokenError::Malformed)?;
    let kid = actual.kid.as_deref().and_then(|kid| kid.parse().ok()).ok_or(TokenError::Header)?;
    if actual != header(kid) {
        return Err(TokenError::Header);
    }
    keys.0.get(&kid).ok_or(TokenError::UnknownKey(kid))
}

fn header(kid: SigningKeyId) -> Header {
    Header { typ: Some(TYPE.to_owned()), kid: Some(kid.to_string()), ..Header::new(Algorithm::EdDSA) }
}

/// Disables the library's claim checks: they use the system clock, and accept missing claims.
fn signature_only() -> Validation {
    let mut validation = Validation::new(Algorithm::EdDSA);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_aud = false;
    validation
}

fn decode_error(error: &jsonwebtoken::errors::Error) -> TokenError {
    if matches!(error.kind(), ErrorKind::InvalidSignature) {
        TokenError::Signature
    } else {
        TokenError::Claims
    }
}

/// The claims as they are serialized.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireClaims {
    iss: String,
    aud: String,
    sub: PrincipalId,
    knd: TokenKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    lgn: Option<LoginId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<ServiceKeyId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ten: Option<TenantId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agt: Option<AgentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rnr: Option<RunnerId>,
    iat: i64,
    exp: i64,
    jti: Uuid,
}

impl WireClaims {
    fn from_claims(claims: &AccessClaims, issuer: &str) -> Self {
        Self {
            iss: issuer.to_owned(),
            aud: AUDIENCE.to_owned(),
            sub: claims.principal,
            knd: claims.kind,
            lgn: claims.login,
            key: claims.key,
            ten: claims.tenant,
            agt: claims.agent,
            run: claims.run.map(|scope| scope.run),
            epoch: claims.run.map(|scope| scope.epoch.get()),
            rnr: claims.run.map(|scope| scope.runner),
            iat: claims.issued_at.as_second(),
            exp: claims.expires_at.as_second(),
            jti: claims.id,
        }
    }

    fn into_claims(self) -> Option<AccessClaims> {
        let run = match (self.run, self.epoch, self.rnr) {
            (Some(run), Some(epoch), Some(runner)) => {
                Some(RunScope { run, epoch: Epoch::new(epoch), runner })
            }
            (None, None, None) => None,
            // An incomplete scope is invalid.
            (_, _, _) => return None,
        };
        if self.exp <= self.iat {
            return None;
        }
        Some(AccessClaims {
            id: self.jti,
            principal: self.sub,
            kind: self.knd,
            login: self.lgn,
            key: self.key,
            tenant: self.ten,
            agent: self.agt,
            run,
            issued_at: Timestamp::from_second(self.iat).ok()?,
            expires_at: Timestamp::from_second(self.exp).ok()?,
        })
    }
}

impl AccessClaims {
    /// Returns whether the claims are exactly those of the token kind.
    fn match_token_kind(&self) -> bool {
        let (run, key) = match self.kind {
            TokenKind::User | TokenKind::Agent | TokenKind::Service | TokenKind::Enrolment => (false, false),
            TokenKind::External => (false, true),
            TokenKind::Run => (true, false),
        };
        let has_required_tenant = self.tenant.is_some() || !(run || key);
        let has_allowed_agent = self.agent.is_none() || self.kind == TokenKind::External;
        self.run.is_some() == run && self.key.is_some() == key && has_required_tenant && has_allowed_agent
    }
}
