//! Accepted tokens, and all attacks that we know of.

use aws_lc_rs::signature::Ed25519KeyPair;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::*;

const ISSUER: &str = "https://guildhall.example";
const NOW: i64 = 1_800_000_000;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(NOW + seconds).expect("in range")
}

fn key_id(number: u128) -> SigningKeyId {
    SigningKeyId::from_uuid(Uuid::from_u128(number))
}

fn user_claims() -> AccessClaims {
    AccessClaims {
        id: Uuid::from_u128(1),
        principal: PrincipalId::from_uuid(Uuid::from_u128(2)),
        kind: TokenKind::User,
        login: Some(LoginId::from_uuid(Uuid::from_u128(3))),
        key: None,
        tenant: Some(TenantId::from_uuid(Uuid::from_u128(4))),
        agent: None,
        run: None,
        issued_at: at(0),
        expires_at: at(600),
    }
}

fn run_claims() -> AccessClaims {
    let runner = RunnerId::from_uuid(Uuid::from_u128(6));
    let run = RunScope { run: RunId::from_uuid(Uuid::from_u128(5)), epoch: Epoch::new(7), runner };
    AccessClaims { kind: TokenKind::Run, login: None, run: Some(run), ..user_claims() }
}

fn subject_claims() -> AccessClaims {
    let key = ServiceKeyId::from_uuid(Uuid::from_u128(8));
    let agent = AgentId::from_uuid(Uuid::from_u128(9));
    AccessClaims {
        kind: TokenKind::External,
        login: None,
        key: Some(key),
        agent: Some(agent),
        ..user_claims()
    }
}

/// An installation with one signing key.
struct TestInstallation {
    key: PrivateKey,
    keys: VerifyingKeys,
}

impl TestInstallation {
    fn new() -> Self {
        let key = PrivateKey::generate(key_id(1)).expect("created");
        Self { keys: VerifyingKeys::new([key.public()]), key }
    }

    fn token(&self, claims: &AccessClaims) -> String {
        AccessTokenSigner::new(&self.key, ISSUER).sign(claims).expect("signed").expose_secret().to_owned()
    }

    fn verify(&self, token: &str) -> Result<AccessClaims, TokenError> {
        verify(token, &self.keys, ISSUER, at(1))
    }

    /// Signs arbitrary headers and claims with the real key, to test the checks after the signature.
    fn signed(&self, header: &Value, claims: &Value) -> String {
        self.signed_text(&header.to_string(), &claims.to_string())
    }

    fn signed_text(&self, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", encode(header), encode(claims));
        let pair = Ed25519KeyPair::from_pkcs8(self.key.pkcs8()).expect("a key");
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(pair.sign(message.as_bytes())))
    }
}

fn encode(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(text)
}

fn valid_header() -> Value {
    json!({ "typ": "at+jwt", "alg": "EdDSA", "kid": key_id(1) })
}

fn valid_claims() -> Value {
    serde_json::to_value(WireClaims::from_claims(&user_claims(), ISSUER)).expect("claims are JSON")
}

fn changed(base: Value, key: &str, value: Value) -> Value {
    let mut changed = base;
    changed[key] = value;
    changed
}

fn without(base: Value, key: &str) -> Value {
    let mut less = base;
    less.as_object_mut().expect("an object").remove(key);
    less
}

#[test]
fn verified_claims_equal_signed_claims() {
    let installation = TestInstallation::new();
    for claims in [
        user_claims(),
        run_claims(),
        subject_claims(),
        AccessClaims { login: None, tenant: None, ..user_claims() },
    ] {
        assert_eq!(installation.verify(&installation.token(&claims)), Ok(claims));
    }
    assert_eq!(
        installation.verify(&installation.signed(&valid_header(), &valid_claims())),
        Ok(user_claims())
    );
}

#[test]
fn token_has_the_documented_header_and_claims() {
    let token = TestInstallation::new().token(&run_claims());
    let parts: Vec<Value> = token
        .split('.')
        .take(2)
        .map(|part| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).expect("base64")).expect("JSON"))
        .collect();
    let claims = json!({
        "iss": ISSUER,
        "aud": "guildhall",
        "sub": "prn_00000000000000000000000000000002",
        "knd": "run",
        "ten": "ten_00000000000000000000000000000004",
        "run": "run_00000000000000000000000000000005",
        "epoch": 7,
        "rnr": "rnr_00000000000000000000000000000006",
        "iat": NOW,
        "exp": NOW + 600,
        "jti": "00000000-0000-0000-0000-000000000001",
    });
    assert_eq!(parts, [valid_header(), claims]);
}

#[test]
fn times_are_truncated_to_whole_seconds() {
    let installation = TestInstallation::new();
    let half = SignedDuration::from_millis(500);
    let late = AccessClaims { issued_at: at(0) + half, expires_at: at(600) + half, ..user_claims() };
    assert_eq!(installation.verify(&installation.token(&late)), Ok(user_claims()));
}

#[test]
fn token_expires_at_its_exact_second() {
    let installation = TestInstallation::new();
    let token = installation.token(&user_claims());
    let verify_at = |now: Timestamp| verify(&token, &installation.keys, ISSUER, now);
    assert_eq!(verify_at(at(599)), Ok(user_claims()));
    assert_eq!(verify_at(at(600) - SignedDuration::from_nanos(1)), Ok(user_claims()));
    assert_eq!(verify_at(at(600)), Err(TokenError::Expired));
}

#[test]
fn clock_ahead_is_tolerated_for_five_seconds() {
    let installation = TestInstallation::new();
    let token = installation.token(&user_claims());
    let verify_at = |now: Timestamp| verify(&token, &installation.keys, ISSUER, now);
    assert_eq!(verify_at(at(-5)), Ok(user_claims()));
    assert_eq!(verify_at(at(-5) - SignedDuration::from_nanos(1)), Err(TokenError::NotYetValid));
}

#[test]
fn invalid_claims_are_not_signed() {
    let installation = TestInstallation::new();
    let signer = AccessTokenSigner::new(&installation.key, ISSUER);
    let expired = AccessClaims { expires_at: at(0), ..user_claims() };
    assert!(matches!(signer.sign(&expired), Err(AccessTokenSignError::Lifetime)));
    for (what, claims) in [
        ("a run token without a run", AccessClaims { run: None, ..run_claims() }),
        ("a run token without a tenant", AccessClaims { tenant: None, ..run_claims() }),
        ("a run token with a key", AccessClaims { key: subject_claims().key, ..run_claims() }),
        ("a user token with a run", AccessClaims { run: run_claims().run, ..user_claims() }),
        ("a user token with a key", AccessClaims { key: subject_claims().key, ..user_claims() }),
        ("a user token with an agent", AccessClaims { agent: subject_claims().agent, ..user_claims() }),
        ("a run token with an agent", AccessClaims { agent: subject_claims().agent, ..run_claims() }),
        ("a subject token without a key", AccessClaims { key: None, ..subject_claims() }),
        ("a subject token without a tenant", AccessClaims { tenant: None, ..subject_claims() }),
    ] {
        assert!(matches!(signer.sign(&claims), Err(AccessTokenSignError::Scope)), "{what}");
    }
    let long_issuer = AccessTokenSigner::new(&installation.key, "a".repeat(MAX_BYTES));
    assert!(matches!(long_issuer.sign(&user_claims()), Err(AccessTokenSignError::TooLong)));
    assert!(!format!("{signer:?}").contains(&hex::encode(installation.key.pkcs8())));
}

#[test]
fn old_key_verifies_until_it_is_removed() {
    let (installation, next) = (TestInstallation::new(), PrivateKey::generate(key_id(2)).expect("created"));
    let old = installation.token(&user_claims());
    let new = AccessTokenSigner::new(&next, ISSUER).sign(&user_claims()).expect("signed");
    let both = VerifyingKeys::new([installation.key.public(), next.public()]);
    for token in [old.as_str(), new.expose_secret()] {
        assert_eq!(verify(token, &both, ISSUER, at(1)), Ok(user_claims()));
    }
    let only_new = VerifyingKeys::new([next.public()]);
    assert_eq!(verify(&old, &only_new, ISSUER, at(1)), Err(TokenError::UnknownKey(key_id(1))));
}

#[test]
fn algorithm_none_is_rejected() {
    let installation = TestInstallation::new();
    let token = installation.token(&user_claims());
    let signature = token.rsplit('.').next().expect("a signature");
    for algorithm in ["none", "None", "NONE", ""] {
        let header = encode(&changed(valid_header(), "alg", json!(algorithm)).to_string());
        for signature in ["", signature] {
            let forged = format!("{header}.{}.{signature}", encode(&valid_claims().to_string()));
            assert_eq!(installation.verify(&forged), Err(TokenError::Malformed), "{algorithm}");
        }
    }
}

/// Algorithm confusion: the public key must not be accepted as an HMAC secret.
#[test]
fn public_key_as_hmac_secret_is_rejected() {
    let installation = TestInstallation::new();
    let public = installation.key.public().bytes;
    let text = URL_SAFE_NO_PAD.encode(public);
    let secrets: [&[u8]; 3] = [&public, text.as_bytes(), b""];
    for algorithm in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
        for secret in secrets {
            let header = Header { alg: algorithm, ..header(key_id(1)) };
            let forged = jsonwebtoken::encode(&header, &valid_claims(), &EncodingKey::from_secret(secret));
            assert_eq!(installation.verify(&forged.expect("signed")), Err(TokenError::Header));
        }
    }
}

#[test]
fn foreign_key_with_our_kid_is_rejected() {
    let installation = TestInstallation::new();
    let stranger = PrivateKey::generate(key_id(1)).expect("created");
    let forged = AccessTokenSigner::new(&stranger, ISSUER).sign(&user_claims()).expect("signed");
    assert_eq!(installation.verify(forged.expose_secret()), Err(TokenError::Signature));
    let stranger = PrivateKey::generate(key_id(9)).expect("created");
    let forged = AccessTokenSigner::new(&stranger, ISSUER).sign(&user_claims()).expect("signed");
    assert_eq!(installation.verify(forged.expose_secret()), Err(TokenError::UnknownKey(key_id(9))));
}

#[test]
fn header_with_extra_members_is_rejected() {
    let installation = TestInstallation::new();
    let jwk = crate::signing_key::jwks(&[installation.key.public()])["keys"][0].clone();
    for (member, value) in [
        ("jwk", jwk),
        ("jku", json!("https://evil.example/keys")),
        ("x5u", json!("https://evil.example/chain")),
        ("crit", json!(["exp"])),
        ("b64", json!(false)),
        ("zip", json!("DEF")),
        ("anything", json!(1)),
    ] {
        let token = installation.signed(&changed(valid_header(), member, value), &valid_claims());
        assert_eq!(installation.verify(&token), Err(TokenError::Header), "{member}");
    }
}

#[test]
fn missing_or_invalid_kid_is_rejected() {
    let installation = TestInstallation::new();
    let token = installation.signed(&without(valid_header(), "kid"), &valid_claims());
    assert_eq!(installation.verify(&token), Err(TokenError::Header));
    for kid in ["", "../../dev/null", "SGK_00000000000000000000000000000001", "1' or '1'='1"] {
        let token = installation.signed(&changed(valid_header(), "kid", json!(kid)), &valid_claims());
        assert_eq!(installation.verify(&token), Err(TokenError::Header), "{kid}");
    }
}

#[test]
fn other_jwt_type_is_rejected() {
    let installation = TestInstallation::new();
    for typ in [json!("JWT"), json!("AT+JWT"), json!("application/at+jwt"), json!("logout+jwt"), json!(null)]
    {
        let token = installation.signed(&changed(valid_header(), "typ", typ.clone()), &valid_claims());
        assert_eq!(installation.verify(&token), Err(TokenError::Header), "{typ}");
    }
    let token = installation.signed(&without(valid_header(), "typ"), &valid_claims());
    assert_eq!(installation.verify(&token), Err(TokenError::Header));
}

#[test]
fn tampered_claims_are_rejected() {
    let installation = TestInstallation::new();
    let token = installation.token(&user_claims());
    let parts: Vec<&str> = token.split('.').collect();
    for (claim, value) in [
        ("exp", json!(NOW + 999_999)),
        ("sub", json!(PrincipalId::from_uuid(Uuid::from_u128(99)))),
        ("ten", json!(TenantId::from_uuid(Uuid::from_u128(99)))),
        ("knd", json!("service")),
    ] {
        let claims = encode(&changed(valid_claims(), claim, value).to_string());
        let forged = format!("{}.{claims}.{}", parts[0], parts[2]);
        assert_eq!(installation.verify(&forged), Err(TokenError::Signature), "{claim}");
    }
}

#[test]
fn wrong_number_of_parts_is_rejected() {
    let installation = TestInstallation::new();
    let token = installation.token(&user_claims());
    let parts: Vec<&str> = token.split('.').collect();
    let two = format!("{}.{}", parts[0], parts[1]);
    let bare = format!("{two}.");
    assert_eq!(installation.verify(&two), Err(TokenError::Malformed));
    assert_eq!(installation.verify(&bare), Err(TokenError::Signature));
    for odd in [
        "",
        ".",
        "..",
        "...",
        parts[0],
        &format!("{token}."),
        &format!(".{token}"),
        &format!("{token}.{}", parts[2]),
    ] {
        assert!(installation.verify(odd).is_err(), "{odd}");
    }
    for padded in [format!(" {token}"), format!("{token}\n"), format!("{token}="), format!("Bearer {token}")]
    {
        assert!(installation.verify(&padded).is_err(), "{padded}");
    }
}

#[test]
fn other_issuer_or_audience_is_rejected() {
    let installation = TestInstallation::new();
    for issuer in ["https://evil.example", "https://guildhall.example/", "HTTPS://GUILDHALL.EXAMPLE", ""] {
        let token = installation.signed(&valid_header(), &changed(valid_claims(), "iss", json!(issuer)));
        assert_eq!(installation.verify(&token), Err(TokenError::Issuer), "{issuer}");
    }
    for audience in ["other", "Guildhall", ""] {
        let token = installation.signed(&valid_header(), &changed(valid_claims(), "aud", json!(audience)));
        assert_eq!(installation.verify(&token), Err(TokenError::Audience), "{audience}");
    }
}

#[test]
fn missing_or_malformed_claims_are_rejected() {
    let installation = TestInstallation::new();
    for claim in ["iss", "aud", "sub", "knd", "iat", "exp", "jti"] {
        let token = installation.signed(&valid_header(), &without(valid_claims(), claim));
        assert_eq!(installation.verify(&token), Err(TokenError::Claims), "{claim} missing");
    }
    for (claim, value) in [
        ("aud", json!(["guildhall", "other"])),
        ("iss", json!([ISSUER])),
        ("exp", json!(1.9e9)),
        ("exp", json!("2000000000")),
        ("exp", json!(u64::MAX)),
        ("exp", json!(i64::MAX)),
        ("exp", json!(NOW)),
        ("iat", json!(i64::MIN)),
        ("sub", json!("ten_00000000000000000000000000000002")),
        ("knd", json!("root")),
        ("knd", json!("run")),
        ("run", json!(RunId::from_uuid(Uuid::from_u128(5)))),
        ("epoch", json!(7)),
        ("rnr", json!(RunnerId::from_uuid(Uuid::from_u128(6)))),
        ("key", json!(ServiceKeyId::from_uuid(Uuid::from_u128(8)))),
        ("knd", json!("external")),
        ("rol", json!("owner")),
        ("nbf", json!(NOW)),
    ] {
        let token = installation.signed(&valid_header(), &changed(valid_claims(), claim, value.clone()));
        assert_eq!(installation.verify(&token), Err(TokenError::Claims), "{claim}: {value}");
    }
}

#[test]
fn duplicate_member_is_rejected() {
    let installation = TestInstallation::new();
    let twice = valid_claims().to_string().replacen('{', r#"{"knd":"service","#, 1);
    assert_eq!(
        installation.verify(&installation.signed_text(&valid_header().to_string(), &twice)),
        Err(TokenError::Claims)
    );
    let header = valid_header().to_string().replacen('{', r#"{"alg":"HS256","#, 1);
    let token = installation.signed_text(&header, &valid_claims().to_string());
    assert_eq!(installation.verify(&token), Err(TokenError::Malformed));
}

#[test]
fn oversized_token_is_rejected() {
    let installation = TestInstallation::new();
    let padded =
        installation.signed(&valid_header(), &changed(valid_claims(), "pad", json!("a".repeat(MAX_BYTES))));
    assert_eq!(installation.verify(&padded), Err(TokenError::TooLong));
    let deep = installation.signed_text(&format!("{{\"alg\":{}", "[".repeat(2000)), "{}");
    assert_eq!(installation.verify(&deep), Err(TokenError::Malformed));
}

proptest! {
    #[test]
    fn changed_character_is_detected(at in any::<prop::sample::Index>(), to in "[A-Za-z0-9_.=+/ -]") {
        let installation = TestInstallation::new();
        let mut token = installation.token(&user_claims());
        let at = at.index(token.len());
        prop_assume!(token[at..=at] != to);
        token.replace_range(at..=at, &to);
        prop_assert!(installation.verify(&token).is_err());
    }

    #[test]
    fn arbitrary_text_is_rejected_without_panic(text in any::<String>(), parts in "[A-Za-z0-9_-]{0,40}(\\.[A-Za-z0-9_-]{0,40}){0,4}") {
        let installation = TestInstallation::new();
        prop_assert!(installation.verify(&text).is_err());
        prop_assert!(installation.verify(&parts).is_err());
    }

    #[test]
    fn token_is_accepted_exactly_during_its_lifetime(
        kind in proptest::sample::select(TokenKind::ALL),
        lifetime in 1i64..100_000,
        seen in -20i64..200_000,
    ) {
        let installation = TestInstallation::new();
        let run = run_claims().run.filter(|_| kind == TokenKind::Run);
        let key = subject_claims().key.filter(|_| kind == TokenKind::External);
        let agent = subject_claims().agent.filter(|_| kind == TokenKind::External);
        let claims = AccessClaims { kind, run, key, agent, expires_at: at(lifetime), ..user_claims() };
        let verified = verify(&installation.token(&claims), &installation.keys, ISSUER, at(seen));
        let expected = match seen {
            ..-5 => Err(TokenError::NotYetValid),
            _ if seen < lifetime => Ok(claims),
            _ => Err(TokenError::Expired),
        };
        prop_assert_eq!(verified, expected);
    }
}
