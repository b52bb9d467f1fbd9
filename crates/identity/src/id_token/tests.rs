//! Accepted tokens, and all attacks that we know of.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::*;

const ISSUER: &str = "https://provider.example";
const CLIENT: &str = "guildhall";
const NONCE: &str = "of-this-sign-in";
const NOW: i64 = 1_800_000_000;

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A key of the provider or of an attacker.
enum TestKey {
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
    Rsa(Box<RsaKeyPair>),
}

impl TestKey {
    fn ec() -> Self {
        Self::Ec(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("created"))
    }

    fn all() -> [Self; 3] {
        let ed = Ed25519KeyPair::generate().expect("created");
        [
            Self::ec(),
            Self::Ed(ed),
            Self::Rsa(Box::new(RsaKeyPair::generate(KeySize::Rsa2048).expect("created"))),
        ]
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::Ec(_) => "ES256",
            Self::Ed(_) => "EdDSA",
            Self::Rsa(_) => "RS256",
        }
    }

    fn jwk(&self) -> Value {
        match self {
            Self::Ec(key) => {
                let point = key.public_key().as_ref();
                json!({ "kty": "EC", "crv": "P-256", "x": encode(&point[1..33]), "y": encode(&point[33..]), "kid": "k" })
            }
            Self::Ed(key) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "x": encode(key.public_key()), "kid": "k" })
            }
            // PKCS #1: the modulus starts after a header of nine bytes.
            Self::Rsa(key) => {
                let der = key.public_key().as_ref();
                json!({ "kty": "RSA", "n": encode(&der[9..265]), "e": "AQAB", "kid": "k" })
            }
        }
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let text = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let random = SystemRandom::new();
        let signature = match self {
            Self::Ec(key) => key.sign(&random, text.as_bytes()).expect("signed").as_ref().to_vec(),
            Self::Ed(key) => key.sign(text.as_bytes()).as_ref().to_vec(),
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, text.as_bytes(), &mut signature).expect("signed");
                signature
            }
        };
        format!("{text}.{}", encode(signature))
    }

    fn token(&self, claims: &Value) -> String {
        self.sign(&json!({ "alg": self.algorithm(), "kid": "k" }), claims)
    }

    fn keys(&self) -> ProviderKeys {
        ProviderKeys::from_set(&json!({ "keys": [self.jwk()] }))
    }
}

fn claims() -> Value {
    json!({
        "iss": ISSUER, "sub": "1234", "aud": CLIENT, "iat": NOW, "exp": NOW + 60, "nonce": NONCE,
        "name": "Ada", "email": "ada@example.org", "email_verified": true,
    })
}

/// Returns valid claims with changes; null removes a claim.
fn with(changes: &Value) -> Value {
    let mut claims = claims();
    for (name, value) in changes.as_object().expect("changes") {
        claims[name] = value.clone();
    }
    claims.as_object_mut().expect("claims").retain(|_, value| !value.is_null());
    claims
}

fn check(token: &str, keys: &ProviderKeys) -> Result<IdTokenSubject, IdTokenError> {
    let now = Timestamp::from_second(NOW + 1).expect("in range");
    verify(token, keys, &ExpectedClaims { issuer: ISSUER, client_id: CLIENT, nonce: NONCE, now })
}

#[test]
fn valid_token_is_accepted_for_all_key_types() {
    let ada = IdTokenSubject {
        issuer: ISSUER.to_owned(),
        subject: "1234".to_owned(),
        name: Some("Ada".to_owned()),
    };
    for key in TestKey::all() {
        assert_eq!(check(&key.token(&claims()), &key.keys()), Ok(ada.clone()), "{}", key.algorithm());
        let without_kid = key.sign(&json!({ "alg": key.algorithm() }), &claims());
        assert_eq!(check(&without_kid, &key.keys()), Ok(ada.clone()), "a single key needs no kid");
    }
    let key = TestKey::ec();
    for fine in [
        json!({ "aud": [CLIENT] }),
        json!({ "aud": [CLIENT, "another"], "azp": CLIENT }),
        json!({ "azp": CLIENT }),
        json!({ "iat": NOW + 25 }),
    ] {
        assert_eq!(check(&key.token(&with(&fine)), &key.keys()), Ok(ada.clone()), "{fine}");
    }
}

#[test]
fn each_invalid_claim_has_its_own_error() {
    let key = TestKey::ec();
    for (changes, reason) in [
        (json!({ "iss": "https://provider.example/" }), IdTokenError::Issuer),
        (json!({ "iss": "https://evil.example" }), IdTokenError::Issuer),
        (json!({ "aud": "another" }), IdTokenError::Audience),
        (json!({ "aud": [] }), IdTokenError::Audience),
        (json!({ "aud": [CLIENT, "another"] }), IdTokenError::Audience),
        (json!({ "aud": [CLIENT, "another"], "azp": "another" }), IdTokenError::Audience),
        (json!({ "azp": "another" }), IdTokenError::Audience),
        (json!({ "nonce": "of-another" }), IdTokenError::Nonce),
        (json!({ "nonce": "" }), IdTokenError::Nonce),
        (json!({ "nonce": null }), IdTokenError::Nonce),
        (json!({ "exp": NOW + 1 }), IdTokenError::Expired),
        (json!({ "iat": NOW + 60, "exp": NOW + 120 }), IdTokenError::IssuedAt),
        (json!({ "iat": NOW - 700 }), IdTokenError::IssuedAt),
        (json!({ "sub": "" }), IdTokenError::Claims),
        (json!({ "sub": "a".repeat(256) }), IdTokenError::Claims),
        (json!({ "sub": "ö" }), IdTokenError::Claims),
        (json!({ "sub": null }), IdTokenError::Claims),
        (json!({ "iss": null }), IdTokenError::Claims),
        (json!({ "aud": null }), IdTokenError::Claims),
        (json!({ "exp": null }), IdTokenError::Claims),
        (json!({ "iat": null }), IdTokenError::Claims),
        (json!({ "exp": i64::MAX }), IdTokenError::Claims),
    ] {
        assert_eq!(check(&key.token(&with(&changes)), &key.keys()), Err(reason), "{changes}");
    }
}

#[test]
fn unsigned_and_hmac_tokens_are_rejected() {
    let key = TestKey::ec();
    let payload = encode(claims().to_string());
    let unsigned = format!("{}.{payload}.", encode(json!({ "alg": "none" }).to_string()));
    assert_eq!(check(&unsigned, &key.keys()), Err(IdTokenError::Malformed));
    let secret = jsonwebtoken::EncodingKey::from_secret(key.jwk()["x"].as_str().expect("x").as_bytes());
    let header =
        jsonwebtoken::Header { kid: Some("k".to_owned()), ..jsonwebtoken::Header::new(Algorithm::HS256) };
    let confused = jsonwebtoken::encode(&header, &claims(), &secret).expect("signed");
    assert_eq!(check(&confused, &key.keys()), Err(IdTokenError::Algorithm));
    let set = json!({ "keys": [{ "kty": "oct", "k": "c2VjcmV0", "kid": "k", "alg": "HS256" }] });
    assert_eq!(check(&confused, &ProviderKeys::from_set(&set)), Err(IdTokenError::Algorithm));
}

#[test]
fn foreign_key_or_tampered_claims_are_rejected() {
    let (key, other) = (TestKey::ec(), TestKey::ec());
    assert_eq!(check(&other.token(&claims()), &key.keys()), Err(IdTokenError::Signature));
    let token = key.token(&claims());
    let parts: Vec<&str> = token.split('.').collect();
    let forged = encode(with(&json!({ "sub": "root" })).to_string());
    let changed = format!("{}.{forged}.{}", parts[0], parts[2]);
    assert_eq!(check(&changed, &key.keys()), Err(IdTokenError::Signature));
    let unknown = key.sign(&json!({ "alg": "ES256", "kid": "new" }), &claims());
    assert_eq!(check(&unknown, &key.keys()), Err(IdTokenError::UnknownKey));
    let critical = key.sign(&json!({ "alg": "ES256", "kid": "k", "crit": ["x"] }), &claims());
    assert_eq!(check(&critical, &key.keys()), Err(IdTokenError::Algorithm));
    assert_eq!(check("nonsense", &key.keys()), Err(IdTokenError::Malformed));
    assert_eq!(check(&"a".repeat(MAX_BYTES + 1), &key.keys()), Err(IdTokenError::TooLong));
}

/// The header contains the attacker's key.
#[test]
fn key_in_the_token_header_is_ignored() {
    let (key, evil) = (TestKey::ec(), TestKey::ec());
    let header = json!({ "alg": "ES256", "kid": "k", "jwk": evil.jwk() });
    assert_eq!(check(&evil.sign(&header, &claims()), &key.keys()), Err(IdTokenError::Signature));
}

#[test]
fn key_use_is_enforced_and_duplicate_kids_are_rejected() {
    let key = TestKey::ec();
    for (changes, fits) in [
        (json!({ "use": "enc" }), false),
        (json!({ "use": "sig" }), true),
        (json!({ "alg": "ES384" }), false),
        (json!({ "alg": "ES256" }), true),
    ] {
        let mut jwk = key.jwk();
        jwk.as_object_mut().expect("a key").extend(changes.as_object().expect("changes").clone());
        let keys = ProviderKeys::from_set(&json!({ "keys": [{ "kty": "unheard of" }, jwk] }));
        assert_eq!(check(&key.token(&claims()), &keys).is_ok(), fits, "{changes}");
    }
    let twice = ProviderKeys::from_set(&json!({ "keys": [key.jwk(), TestKey::ec().jwk()] }));
    assert_eq!(check(&key.token(&claims()), &twice), Err(IdTokenError::UnknownKey));
    assert_eq!(
        check(&key.token(&claims()), &ProviderKeys::from_set(&json!([]))),
        Err(IdTokenError::UnknownKey)
    );
}
