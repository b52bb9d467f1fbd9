//! Access tokens: short-lived, signed, checked without asking a store.
//!
//! A JWT of the form of RFC 9068, with EdDSA and nothing else. It says who asks and through which login; what they may do
//! is loaded, never read from a token. A token that differs in anything from what [`Signer`] writes is refused, a claim
//! that is not known too: a claim can only narrow what its bearer may do, and ignoring one would widen it. Hence a new
//! claim is read by one release and written by the next.

use std::collections::HashMap;

use guildhall_domain::access::principal::TokenKind;
use guildhall_domain::ids::{LoginId, PrincipalId, RunId, RunnerId, ServiceKeyId, SigningKeyId, TenantId};
use guildhall_domain::journal::Epoch;
use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use secrecy::SecretString;
use uuid::Uuid;

use crate::signing_key::{PrivateKey, PublicKey};

#[cfg(test)]
mod tests;

/// For whom tokens are made.
pub const AUDIENCE: &str = "guildhall";

/// The longest token that is looked at. Ours have some 600 bytes; the rest is room for a long issuer.
pub const MAX_BYTES: usize = 4096;

/// How far the clock of the replica that signed may be ahead of ours. The end of a token has no leeway.
pub const CLOCK_LEEWAY: SignedDuration = SignedDuration::from_secs(5);

/// The `typ` of RFC 9068, so that no other kind of JWT passes for an access token.
const TYPE: &str = "at+jwt";

/// What a token says. Its times are whole seconds: a fraction is cut off when it is signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// Names this token, for the audit log.
    pub id: Uuid,
    pub principal: PrincipalId,
    pub kind: TokenKind,
    /// The login that the token came from, and ends with.
    pub login: Option<LoginId>,
    /// The service key that vouches for an external subject: in their token, and in no other. It ends with the key.
    pub key: Option<ServiceKeyId>,
    /// The tenant to act in. Tokens of runs and of external subjects always name theirs.
    pub tenant: Option<TenantId>,
    /// In a run token, and in no other.
    pub run: Option<RunScope>,
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
}

/// The one run, under one lease, that a run token is for, and the runner that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunScope {
    pub run: RunId,
    pub epoch: Epoch,
    pub runner: RunnerId,
}

/// Why a token is not issued.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    #[error("a token must end at least a second after it is issued")]
    Lifetime,
    #[error(
        "a token names what its kind is for and nothing more: a run token its run, an external subject's its key"
    )]
    Scope,
    #[error("the token would be longer than {MAX_BYTES} bytes: shorten the issuer")]
    TooLong,
    #[error("cannot sign a token")]
    Sign(#[source] jsonwebtoken::errors::Error),
}

/// Why a token is refused. For the log: a caller is told only that the token is not valid, or that it has expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("the token is longer than {MAX_BYTES} bytes")]
    TooLong,
    #[error("the token is not a JWT")]
    Malformed,
    #[error("the token's header is not that of an access token: EdDSA, at+jwt and a kid, nothing else")]
    Header,
    /// A key that was published since the keys were loaded would look the same: load them again, but not on every one.
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
pub struct Signer {
    header: Header,
    issuer: String,
    key: EncodingKey,
}

impl Signer {
    #[must_use]
    pub fn new(key: &PrivateKey, issuer: impl Into<String>) -> Self {
        Self { header: header(key.id()), issuer: issuer.into(), key: EncodingKey::from_ed_der(key.pkcs8()) }
    }

    /// Issues a token.
    pub fn sign(&self, claims: &Claims) -> Result<SecretString, SignError> {
        let wire = Wire::from_claims(claims, &self.issuer);
        if wire.exp <= wire.iat {
            return Err(SignError::Lifetime);
        }
        if !claims.name_what_they_are_for() {
            return Err(SignError::Scope);
        }
        let token = jsonwebtoken::encode(&self.header, &wire, &self.key).map_err(SignError::Sign)?;
        if token.len() > MAX_BYTES {
            return Err(SignError::TooLong);
        }
        Ok(SecretString::from(token))
    }
}

/// The keys that verify now, by id.
#[derive(Debug, Clone, Default)]
pub struct VerifyingKeys(HashMap<SigningKeyId, DecodingKey>);

impl VerifyingKeys {
    #[must_use]
    pub fn new(keys: impl IntoIterator<Item = PublicKey>) -> Self {
        Self(keys.into_iter().map(|key| (key.id, DecodingKey::from_ed_der(&key.bytes))).collect())
    }
}

/// Checks a token and returns what it says. The signature is checked before anything that it covers is believed.
pub fn verify(token: &str, keys: &VerifyingKeys, issuer: &str, now: Timestamp) -> Result<Claims, TokenError> {
    if token.len() > MAX_BYTES {
        return Err(TokenError::TooLong);
    }
    let key = key_of(token, keys)?;
    let decoded = jsonwebtoken::decode::<Wire>(token, key, &signature_only());
    let wire = decoded.map_err(|error| refusal(&error))?.claims;
    if wire.iss != issuer {
        return Err(TokenError::Issuer);
    }
    if wire.aud != AUDIENCE {
        return Err(TokenError::Audience);
    }
    let claims = wire.into_claims().filter(Claims::name_what_they_are_for).ok_or(TokenError::Claims)?;
    if claims.issued_at.duration_since(now) > CLOCK_LEEWAY {
        return Err(TokenError::NotYetValid);
    }
    if now >= claims.expires_at {
        return Err(TokenError::Expired);
    }
    Ok(claims)
}

/// Finds the key that the header names, if the header is one that we write.
fn key_of<'a>(token: &str, keys: &'a VerifyingKeys) -> Result<&'a DecodingKey, TokenError> {
    let given = jsonwebtoken::decode_header(token).map_err(|_| TokenError::Malformed)?;
    let kid = given.kid.as_deref().and_then(|kid| kid.parse().ok()).ok_or(TokenError::Header)?;
    if given != header(kid) {
        return Err(TokenError::Header);
    }
    keys.0.get(&kid).ok_or(TokenError::UnknownKey(kid))
}

fn header(kid: SigningKeyId) -> Header {
    Header { typ: Some(TYPE.to_owned()), kid: Some(kid.to_string()), ..Header::new(Algorithm::EdDSA) }
}

/// Leaves the claims to us: the library would ask the system for the time, and takes a missing claim for a fitting one.
fn signature_only() -> Validation {
    let mut validation = Validation::new(Algorithm::EdDSA);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_aud = false;
    validation
}

fn refusal(error: &jsonwebtoken::errors::Error) -> TokenError {
    if matches!(error.kind(), ErrorKind::InvalidSignature) {
        TokenError::Signature
    } else {
        TokenError::Claims
    }
}

/// The claims as they are written.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
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
    run: Option<RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rnr: Option<RunnerId>,
    iat: i64,
    exp: i64,
    jti: Uuid,
}

impl Wire {
    fn from_claims(claims: &Claims, issuer: &str) -> Self {
        Self {
            iss: issuer.to_owned(),
            aud: AUDIENCE.to_owned(),
            sub: claims.principal,
            knd: claims.kind,
            lgn: claims.login,
            key: claims.key,
            ten: claims.tenant,
            run: claims.run.map(|scope| scope.run),
            epoch: claims.run.map(|scope| scope.epoch.get()),
            rnr: claims.run.map(|scope| scope.runner),
            iat: claims.issued_at.as_second(),
            exp: claims.expires_at.as_second(),
            jti: claims.id,
        }
    }

    fn into_claims(self) -> Option<Claims> {
        let run = match (self.run, self.epoch, self.rnr) {
            (Some(run), Some(epoch), Some(runner)) => {
                Some(RunScope { run, epoch: Epoch::new(epoch), runner })
            }
            (None, None, None) => None,
            // A part of a scope is no scope.
            (_, _, _) => return None,
        };
        if self.exp <= self.iat {
            return None;
        }
        Some(Claims {
            id: self.jti,
            principal: self.sub,
            kind: self.knd,
            login: self.lgn,
            key: self.key,
            tenant: self.ten,
            run,
            issued_at: Timestamp::from_second(self.iat).ok()?,
            expires_at: Timestamp::from_second(self.exp).ok()?,
        })
    }
}

impl Claims {
    /// Returns whether the token names all that a token of its kind must, and nothing that only others may.
    fn name_what_they_are_for(&self) -> bool {
        let (run, key) = match self.kind {
            TokenKind::User | TokenKind::Agent | TokenKind::Service | TokenKind::Enrolment => (false, false),
            TokenKind::External => (false, true),
            TokenKind::Run => (true, false),
        };
        let names_its_tenant = self.tenant.is_some() || !(run || key);
        self.run.is_some() == run && self.key.is_some() == key && names_its_tenant
    }
}
