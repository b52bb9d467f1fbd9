//! Verification of OpenID Connect ID tokens.
//!
//! The library verifies only the signature; all claims are checked here against the caller's expectations. Accepted are
//! RS256, ES256 and EdDSA with a key of the provider. `none` proves nothing, and HMAC algorithms would let an attacker
//! use a public key as the shared secret.

use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;
use subtle::ConstantTimeEq;

#[cfg(test)]
mod tests;

/// Maximum token size.
pub const MAX_BYTES: usize = 16 * 1024;

/// Maximum number of keys of a provider; further ones are ignored.
const MAX_KEYS: usize = 50;

/// How far the provider's clock may be ahead.
pub const CLOCK_LEEWAY: SignedDuration = SignedDuration::from_secs(30);

/// Maximum age of a token: it is fetched immediately after the sign-in.
pub const MAX_AGE: SignedDuration = SignedDuration::from_mins(10);

/// Maximum length of a subject in the standard.
const MAX_SUBJECT_LENGTH: usize = 255;

/// The expected claims.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedClaims<'a> {
    pub issuer: &'a str,
    pub client_id: &'a str,
    pub nonce: &'a str,
    pub now: Timestamp,
}

/// The signed-in account, identified by `(issuer, subject)`; the name is for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdTokenSubject {
    pub issuer: String,
    pub subject: String,
    pub name: Option<String>,
}

/// The token was rejected. No message contains its contents, which are untrusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdTokenError {
    #[error("the ID token is longer than {MAX_BYTES} bytes")]
    TooLong,
    #[error("the ID token is not a JWT")]
    Malformed,
    #[error("the ID token's algorithm is not accepted: expected RS256, ES256 or EdDSA")]
    Algorithm,
    /// The key may have been published after the keys were loaded: reload them, but with a rate limit.
    #[error("the ID token is signed by a key that the provider does not publish")]
    UnknownKey,
    #[error("the ID token's signature is wrong")]
    Signature,
    #[error("the ID token's claims do not follow the standard")]
    Claims,
    #[error("the ID token was issued by another provider")]
    Issuer,
    #[error("the ID token is for another client")]
    Audience,
    #[error("the ID token belongs to another sign-in (nonce)")]
    Nonce,
    #[error("the ID token was issued in the future or too long ago: compare the clocks")]
    IssuedAt,
    #[error("the ID token has expired")]
    Expired,
}

/// The verification keys of a provider.
#[derive(Debug, Clone, Default)]
pub struct ProviderKeys(Vec<(Option<String>, Algorithm, DecodingKey)>);

impl ProviderKeys {
    /// Parses a JWK set. Keys of other types or for other uses are skipped.
    #[must_use]
    pub fn from_set(set: &serde_json::Value) -> Self {
        let keys = set["keys"].as_array().map(Vec::as_slice).unwrap_or_default();
        let keys = keys.iter().take(MAX_KEYS).filter_map(|key| serde_json::from_value(key.clone()).ok());
        Self(keys.filter_map(|jwk: Jwk| verifying_key(&jwk)).collect())
    }

    /// Finds the key named by the header. Without a `kid`, exactly one key must match.
    fn find(&self, kid: Option<&str>, algorithm: Algorithm) -> Result<&DecodingKey, IdTokenError> {
        let mut candidates =
            self.0.iter().filter(|(id, of, _)| *of == algorithm && (kid.is_none() || id.as_deref() == kid));
        match (candidates.next(), candidates.next()) {
            (Some((_, _, key)), None) => Ok(key),
            (Some(_), Some(_)) | (None, _) => Err(IdTokenError::UnknownKey),
        }
    }
}

/// Returns a key with its only permitted algorithm, which is determined by the key type, never by the token's header.
fn verifying_key(jwk: &Jwk) -> Option<(Option<String>, Algorithm, DecodingKey)> {
    let algorithm = algorithm_of(&jwk.algorithm)?;
    let signs = !matches!(&jwk.common.public_key_use, Some(usage) if *usage != PublicKeyUse::Signature);
    let algorithm_matches =
        jwk.common.key_algorithm.is_none_or(|declared| Algorithm::try_from(declared).ok() == Some(algorithm));
    let key = DecodingKey::from_jwk(jwk).ok()?;
    (signs && algorithm_matches).then(|| (jwk.common.key_id.clone(), algorithm, key))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "key types that the library adds later are not trusted")]
fn algorithm_of(key: &AlgorithmParameters) -> Option<Algorithm> {
    match key {
        AlgorithmParameters::RSA(_) => Some(Algorithm::RS256),
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => Some(Algorithm::ES256),
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
            Some(Algorithm::EdDSA)
        }
        _ => None,
    }
}

/// Verifies an ID token and returns the account. The signature is verified before any claim is read.
pub fn verify(
    token: &str,
    keys: &ProviderKeys,
    expected: &ExpectedClaims<'_>,
) -> Result<IdTokenSubject, IdTokenError> {
    if token.len() > MAX_BYTES {
        return Err(IdTokenError::TooLong);
    }
    let header = jsonwebtoken::decode_header(token).map_err(|_| IdTokenError::Malformed)?;
    let is_accepted = [Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA].contains(&header.alg);
    // Critical extensions must be understood, and we support none.
    if !is_accepted || header.crit.is_some() {
        return Err(IdTokenError::Algorithm);
    }
    let key = keys.find(header.kid.as_deref(), header.alg)?;
    let decoded = jsonwebtoken::decode::<IdTokenClaims>(token, key, &signature_only(header.alg));
    let claims = decoded.map_err(|error| decode_error(&error))?.claims;
    claims.check(expected)?;
    let name = claims.name.or(claims.preferred_username);
    Ok(IdTokenSubject { issuer: claims.iss, subject: claims.sub, name })
}

/// Disables the library's claim checks: they use the system clock, and accept missing claims.
fn signature_only(algorithm: Algorithm) -> Validation {
    let mut validation = Validation::new(algorithm);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_aud = false;
    validation
}

fn decode_error(error: &jsonwebtoken::errors::Error) -> IdTokenError {
    if matches!(error.kind(), jsonwebtoken::errors::ErrorKind::Json(_)) {
        IdTokenError::Claims
    } else {
        IdTokenError::Signature
    }
}

/// The claims that we read. Providers add others.
#[derive(Deserialize)]
struct IdTokenClaims {
    iss: String,
    sub: String,
    aud: Audiences,
    azp: Option<String>,
    exp: i64,
    iat: i64,
    nonce: Option<String>,
    name: Option<String>,
    preferred_username: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audiences {
    One(String),
    Many(Vec<String>),
}

impl IdTokenClaims {
    fn check(&self, expected: &ExpectedClaims<'_>) -> Result<(), IdTokenError> {
        if self.iss != expected.issuer {
            return Err(IdTokenError::Issuer);
        }
        if !self.is_for(expected.client_id) {
            return Err(IdTokenError::Audience);
        }
        let nonce = self.nonce.as_deref().unwrap_or_default();
        if !bool::from(nonce.as_bytes().ct_eq(expected.nonce.as_bytes())) {
            return Err(IdTokenError::Nonce);
        }
        let time = |second| Timestamp::from_second(second).map_err(|_| IdTokenError::Claims);
        let (issued_at, expires_at) = (time(self.iat)?, time(self.exp)?);
        if issued_at.duration_since(expected.now) > CLOCK_LEEWAY
            || expected.now.duration_since(issued_at) > MAX_AGE
        {
            return Err(IdTokenError::IssuedAt);
        }
        if expected.now >= expires_at {
            return Err(IdTokenError::Expired);
        }
        let is_valid_subject = (1..=MAX_SUBJECT_LENGTH).contains(&self.sub.len()) && self.sub.is_ascii();
        if is_valid_subject { Ok(()) } else { Err(IdTokenError::Claims) }
    }

    /// Returns whether the token was issued for a client. A token with several audiences must name the client in `azp`.
    fn is_for(&self, client_id: &str) -> bool {
        let (named, several) = match &self.aud {
            Audiences::One(one) => (one == client_id, false),
            Audiences::Many(many) => (many.iter().any(|one| one == client_id), many.len() > 1),
        };
        let is_authorized_party = match self.azp.as_deref() {
            Some(party) => party == client_id,
            None => !several,
        };
        named && is_authorized_party
    }
}
