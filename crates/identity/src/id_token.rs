//! ID tokens of OpenID Connect: what a provider says about who signed in.
//!
//! The library checks the signature and nothing else; every claim is checked here, against values that are handed in.
//! RS256, ES256 and EdDSA are taken, by a key of the provider's own set. `none` and the algorithms with a shared secret
//! are not: the first proves nothing, the others would let a public key be used as the secret.

use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;
use subtle::ConstantTimeEq;

#[cfg(test)]
mod tests;

/// The longest token that is looked at.
pub const MAX_BYTES: usize = 16 * 1024;

/// Keys of one provider that are kept; more are not looked at.
const KEYS_AT_MOST: usize = 50;

/// How far the provider's clock may be ahead of ours.
pub const CLOCK_LEEWAY: SignedDuration = SignedDuration::from_secs(30);

/// How old a token may be: it is fetched at once after the sign-in.
pub const MAX_AGE: SignedDuration = SignedDuration::from_mins(10);

/// The longest subject that the standard allows.
const SUBJECT_AT_MOST: usize = 255;

/// What a token must say.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    pub issuer: &'a str,
    pub client_id: &'a str,
    pub nonce: &'a str,
    pub now: Timestamp,
}

/// Who signed in, as the provider says. `(issuer, subject)` is the account; the name is for people to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    pub issuer: String,
    pub subject: String,
    pub name: Option<String>,
}

/// Why a token is refused. No message repeats what it says: it is a stranger's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdTokenError {
    #[error("the ID token is longer than {MAX_BYTES} bytes")]
    TooLong,
    #[error("the ID token is not a JWT")]
    Malformed,
    #[error("the ID token is signed by an algorithm that is not taken: RS256, ES256 and EdDSA are")]
    Algorithm,
    /// A key that was published since the keys were loaded looks the same: load them again, but not on every one.
    #[error("the ID token is signed by a key that the provider does not publish")]
    UnknownKey,
    #[error("the ID token's signature is wrong")]
    Signature,
    #[error("the ID token's claims are not those that the standard asks for")]
    Claims,
    #[error("the ID token was issued by another provider")]
    Issuer,
    #[error("the ID token is for another client")]
    Audience,
    #[error("the ID token is of another sign-in (nonce)")]
    Nonce,
    #[error("the ID token was issued in the future, or long ago: compare the clocks")]
    IssuedAt,
    #[error("the ID token has expired")]
    Expired,
}

/// The public keys of a provider that can verify.
#[derive(Debug, Clone, Default)]
pub struct ProviderKeys(Vec<(Option<String>, Algorithm, DecodingKey)>);

impl ProviderKeys {
    /// Reads a JWK set. Keys of other kinds, or for other uses, are left out: a set may hold them.
    #[must_use]
    pub fn from_set(set: &serde_json::Value) -> Self {
        let keys = set["keys"].as_array().map(Vec::as_slice).unwrap_or_default();
        let keys = keys.iter().take(KEYS_AT_MOST).filter_map(|key| serde_json::from_value(key.clone()).ok());
        Self(keys.filter_map(|jwk: Jwk| verifying_key(&jwk)).collect())
    }

    /// Finds the key that a header names. Without a name the choice must be the only one.
    fn find(&self, kid: Option<&str>, algorithm: Algorithm) -> Result<&DecodingKey, IdTokenError> {
        let mut fitting =
            self.0.iter().filter(|(id, of, _)| *of == algorithm && (kid.is_none() || id.as_deref() == kid));
        match (fitting.next(), fitting.next()) {
            (Some((_, _, key)), None) => Ok(key),
            (Some(_), Some(_)) | (None, _) => Err(IdTokenError::UnknownKey),
        }
    }
}

/// Returns a key with the one algorithm that it may be used for. Its type decides, never the token's header.
fn verifying_key(jwk: &Jwk) -> Option<(Option<String>, Algorithm, DecodingKey)> {
    let algorithm = algorithm_of(&jwk.algorithm)?;
    let signs = !matches!(&jwk.common.public_key_use, Some(usage) if *usage != PublicKeyUse::Signature);
    let says_so =
        jwk.common.key_algorithm.is_none_or(|said| Algorithm::try_from(said).ok() == Some(algorithm));
    let key = DecodingKey::from_jwk(jwk).ok()?;
    (signs && says_so).then(|| (jwk.common.key_id.clone(), algorithm, key))
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the library may come to know more kinds; none is ours to trust yet"
)]
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

/// Checks an ID token and returns who signed in. The signature is checked before anything that it covers is believed.
pub fn verify(token: &str, keys: &ProviderKeys, expected: &Expected<'_>) -> Result<Subject, IdTokenError> {
    if token.len() > MAX_BYTES {
        return Err(IdTokenError::TooLong);
    }
    let header = jsonwebtoken::decode_header(token).map_err(|_| IdTokenError::Malformed)?;
    let taken = [Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA].contains(&header.alg);
    // A critical extension is one that must be understood, and none is.
    if !taken || header.crit.is_some() {
        return Err(IdTokenError::Algorithm);
    }
    let key = keys.find(header.kid.as_deref(), header.alg)?;
    let decoded = jsonwebtoken::decode::<Claims>(token, key, &signature_only(header.alg));
    let claims = decoded.map_err(|error| refusal(&error))?.claims;
    claims.check(expected)?;
    let name = claims.name.or(claims.preferred_username);
    Ok(Subject { issuer: claims.iss, subject: claims.sub, name })
}

/// Leaves the claims to us: the library would ask the system for the time, and takes a missing claim for a fitting one.
fn signature_only(algorithm: Algorithm) -> Validation {
    let mut validation = Validation::new(algorithm);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_aud = false;
    validation
}

fn refusal(error: &jsonwebtoken::errors::Error) -> IdTokenError {
    if matches!(error.kind(), jsonwebtoken::errors::ErrorKind::Json(_)) {
        IdTokenError::Claims
    } else {
        IdTokenError::Signature
    }
}

/// The claims that are looked at. A provider adds others.
#[derive(Deserialize)]
struct Claims {
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

impl Claims {
    fn check(&self, expected: &Expected<'_>) -> Result<(), IdTokenError> {
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
        let subject_fits = (1..=SUBJECT_AT_MOST).contains(&self.sub.len()) && self.sub.is_ascii();
        if subject_fits { Ok(()) } else { Err(IdTokenError::Claims) }
    }

    /// Returns whether the token was made for a client. One for several must say which of them asked.
    fn is_for(&self, client_id: &str) -> bool {
        let (named, several) = match &self.aud {
            Audiences::One(one) => (one == client_id, false),
            Audiences::Many(many) => (many.iter().any(|one| one == client_id), many.len() > 1),
        };
        let asked = match self.azp.as_deref() {
            Some(party) => party == client_id,
            None => !several,
        };
        named && asked
    }
}
