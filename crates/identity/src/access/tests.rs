//! What is accepted, and every attack we know of.

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

fn user() -> Claims {
    Claims {
        id: Uuid::from_u128(1),
        principal: PrincipalId::from_uuid(Uuid::from_u128(2)),
        kind: TokenKind::User,
        login: Some(LoginId::from_uuid(Uuid::from_u128(3))),
        key: None,
        tenant: Some(TenantId::from_uuid(Uuid::from_u128(4))),
        run: None,
        issued_at: at(0),
        expires_at: at(600),
    }
}

fn of_a_run() -> Claims {
    let runner = RunnerId::from_uuid(Uuid::from_u128(6));
    let run = RunScope { run: RunId::from_uuid(Uuid::from_u128(5)), epoch: Epoch::new(7), runner };
    Claims { kind: TokenKind::Run, login: None, run: Some(run), ..user() }
}

fn of_a_subject() -> Claims {
    let key = ServiceKeyId::from_uuid(Uuid::from_u128(8));
    Claims { kind: TokenKind::External, login: None, key: Some(key), ..user() }
}

/// An installation with one key, and whoever got hold of what.
struct House {
    key: PrivateKey,
    keys: VerifyingKeys,
}

impl House {
    fn new() -> Self {
        let key = PrivateKey::generate(key_id(1)).expect("made");
        Self { keys: VerifyingKeys::new([key.public()]), key }
    }

    fn token(&self, claims: &Claims) -> String {
        Signer::new(&self.key, ISSUER).sign(claims).expect("signed").expose_secret().to_owned()
    }

    fn verify(&self, token: &str) -> Result<Claims, TokenError> {
        verify(token, &self.keys, ISSUER, at(1))
    }

    /// Signs any header and any claims with the true key: the second line of defence must hold too.
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

fn good_header() -> Value {
    json!({ "typ": "at+jwt", "alg": "EdDSA", "kid": key_id(1) })
}

fn good_claims() -> Value {
    serde_json::to_value(Wire::from_claims(&user(), ISSUER)).expect("claims are JSON")
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
fn a_token_says_what_was_signed() {
    let house = House::new();
    for claims in [user(), of_a_run(), of_a_subject(), Claims { login: None, tenant: None, ..user() }] {
        assert_eq!(house.verify(&house.token(&claims)), Ok(claims));
    }
    assert_eq!(house.verify(&house.signed(&good_header(), &good_claims())), Ok(user()));
}

#[test]
fn a_token_has_the_documented_header_and_claims() {
    let token = House::new().token(&of_a_run());
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
    assert_eq!(parts, [good_header(), claims]);
}

#[test]
fn fractions_of_a_second_are_cut_off_so_that_a_token_never_lives_longer_than_asked() {
    let house = House::new();
    let half = SignedDuration::from_millis(500);
    let late = Claims { issued_at: at(0) + half, expires_at: at(600) + half, ..user() };
    assert_eq!(house.verify(&house.token(&late)), Ok(user()));
}

#[test]
fn a_token_ends_at_the_second_it_names_and_not_later() {
    let house = House::new();
    let token = house.token(&user());
    let verify_at = |now: Timestamp| verify(&token, &house.keys, ISSUER, now);
    assert_eq!(verify_at(at(599)), Ok(user()));
    assert_eq!(verify_at(at(600) - SignedDuration::from_nanos(1)), Ok(user()));
    assert_eq!(verify_at(at(600)), Err(TokenError::Expired));
}

#[test]
fn a_replica_whose_clock_is_ahead_is_believed_for_five_seconds() {
    let house = House::new();
    let token = house.token(&user());
    let verify_at = |now: Timestamp| verify(&token, &house.keys, ISSUER, now);
    assert_eq!(verify_at(at(-5)), Ok(user()));
    assert_eq!(verify_at(at(-5) - SignedDuration::from_nanos(1)), Err(TokenError::NotYetValid));
}

#[test]
fn a_token_that_could_not_be_verified_is_not_signed() {
    let house = House::new();
    let signer = Signer::new(&house.key, ISSUER);
    let backwards = Claims { expires_at: at(0), ..user() };
    assert!(matches!(signer.sign(&backwards), Err(SignError::Lifetime)));
    for (what, claims) in [
        ("a run token without a run", Claims { run: None, ..of_a_run() }),
        ("a run token of no tenant", Claims { tenant: None, ..of_a_run() }),
        ("a run token with a key", Claims { key: of_a_subject().key, ..of_a_run() }),
        ("a user's with a run", Claims { run: of_a_run().run, ..user() }),
        ("a user's with a key", Claims { key: of_a_subject().key, ..user() }),
        ("a subject's without a key", Claims { key: None, ..of_a_subject() }),
        ("a subject's of no tenant", Claims { tenant: None, ..of_a_subject() }),
    ] {
        assert!(matches!(signer.sign(&claims), Err(SignError::Scope)), "{what}");
    }
    let wordy = Signer::new(&house.key, "a".repeat(MAX_BYTES));
    assert!(matches!(wordy.sign(&user()), Err(SignError::TooLong)));
    assert!(!format!("{signer:?}").contains(&hex::encode(house.key.pkcs8())));
}

#[test]
fn after_rotation_both_keys_verify_until_the_old_one_is_gone() {
    let (house, next) = (House::new(), PrivateKey::generate(key_id(2)).expect("made"));
    let old = house.token(&user());
    let new = Signer::new(&next, ISSUER).sign(&user()).expect("signed");
    let both = VerifyingKeys::new([house.key.public(), next.public()]);
    for token in [old.as_str(), new.expose_secret()] {
        assert_eq!(verify(token, &both, ISSUER, at(1)), Ok(user()));
    }
    let gone = VerifyingKeys::new([next.public()]);
    assert_eq!(verify(&old, &gone, ISSUER, at(1)), Err(TokenError::UnknownKey(key_id(1))));
}

#[test]
fn attack_no_algorithm() {
    let house = House::new();
    let token = house.token(&user());
    let signature = token.rsplit('.').next().expect("a signature");
    for algorithm in ["none", "None", "NONE", ""] {
        let header = encode(&changed(good_header(), "alg", json!(algorithm)).to_string());
        for signature in ["", signature] {
            let forged = format!("{header}.{}.{signature}", encode(&good_claims().to_string()));
            assert_eq!(house.verify(&forged), Err(TokenError::Malformed), "{algorithm}");
        }
    }
}

/// The classic confusion: the public key is no secret, so it must not serve as one.
#[test]
fn attack_the_public_key_as_a_shared_secret() {
    let house = House::new();
    let public = house.key.public().bytes;
    let text = URL_SAFE_NO_PAD.encode(public);
    let secrets: [&[u8]; 3] = [&public, text.as_bytes(), b""];
    for algorithm in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
        for secret in secrets {
            let header = Header { alg: algorithm, ..header(key_id(1)) };
            let forged = jsonwebtoken::encode(&header, &good_claims(), &EncodingKey::from_secret(secret));
            assert_eq!(house.verify(&forged.expect("signed")), Err(TokenError::Header));
        }
    }
}

#[test]
fn attack_another_key_under_the_name_of_ours() {
    let house = House::new();
    let stranger = PrivateKey::generate(key_id(1)).expect("made");
    let forged = Signer::new(&stranger, ISSUER).sign(&user()).expect("signed");
    assert_eq!(house.verify(forged.expose_secret()), Err(TokenError::Signature));
    let stranger = PrivateKey::generate(key_id(9)).expect("made");
    let forged = Signer::new(&stranger, ISSUER).sign(&user()).expect("signed");
    assert_eq!(house.verify(forged.expose_secret()), Err(TokenError::UnknownKey(key_id(9))));
}

#[test]
fn attack_a_header_that_brings_its_own_key_or_rules() {
    let house = House::new();
    let jwk = crate::signing_key::jwks(&[house.key.public()])["keys"][0].clone();
    for (member, value) in [
        ("jwk", jwk),
        ("jku", json!("https://evil.example/keys")),
        ("x5u", json!("https://evil.example/chain")),
        ("crit", json!(["exp"])),
        ("b64", json!(false)),
        ("zip", json!("DEF")),
        ("anything", json!(1)),
    ] {
        let token = house.signed(&changed(good_header(), member, value), &good_claims());
        assert_eq!(house.verify(&token), Err(TokenError::Header), "{member}");
    }
}

#[test]
fn attack_a_header_without_a_usable_kid() {
    let house = House::new();
    let token = house.signed(&without(good_header(), "kid"), &good_claims());
    assert_eq!(house.verify(&token), Err(TokenError::Header));
    for kid in ["", "../../dev/null", "SGK_00000000000000000000000000000001", "1' or '1'='1"] {
        let token = house.signed(&changed(good_header(), "kid", json!(kid)), &good_claims());
        assert_eq!(house.verify(&token), Err(TokenError::Header), "{kid}");
    }
}

#[test]
fn attack_a_jwt_of_another_type() {
    let house = House::new();
    for typ in [json!("JWT"), json!("AT+JWT"), json!("application/at+jwt"), json!("logout+jwt"), json!(null)]
    {
        let token = house.signed(&changed(good_header(), "typ", typ.clone()), &good_claims());
        assert_eq!(house.verify(&token), Err(TokenError::Header), "{typ}");
    }
    let token = house.signed(&without(good_header(), "typ"), &good_claims());
    assert_eq!(house.verify(&token), Err(TokenError::Header));
}

#[test]
fn attack_tampered_claims_under_a_true_signature() {
    let house = House::new();
    let token = house.token(&user());
    let parts: Vec<&str> = token.split('.').collect();
    for (claim, value) in [
        ("exp", json!(NOW + 999_999)),
        ("sub", json!(PrincipalId::from_uuid(Uuid::from_u128(99)))),
        ("ten", json!(TenantId::from_uuid(Uuid::from_u128(99)))),
        ("knd", json!("service")),
    ] {
        let claims = encode(&changed(good_claims(), claim, value).to_string());
        let forged = format!("{}.{claims}.{}", parts[0], parts[2]);
        assert_eq!(house.verify(&forged), Err(TokenError::Signature), "{claim}");
    }
}

#[test]
fn attack_too_few_or_too_many_parts() {
    let house = House::new();
    let token = house.token(&user());
    let parts: Vec<&str> = token.split('.').collect();
    let two = format!("{}.{}", parts[0], parts[1]);
    let bare = format!("{two}.");
    assert_eq!(house.verify(&two), Err(TokenError::Malformed));
    assert_eq!(house.verify(&bare), Err(TokenError::Signature));
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
        assert!(house.verify(odd).is_err(), "{odd}");
    }
    for padded in [format!(" {token}"), format!("{token}\n"), format!("{token}="), format!("Bearer {token}")]
    {
        assert!(house.verify(&padded).is_err(), "{padded}");
    }
}

#[test]
fn attack_a_token_of_another_installation_or_for_another_audience() {
    let house = House::new();
    for issuer in ["https://evil.example", "https://guildhall.example/", "HTTPS://GUILDHALL.EXAMPLE", ""] {
        let token = house.signed(&good_header(), &changed(good_claims(), "iss", json!(issuer)));
        assert_eq!(house.verify(&token), Err(TokenError::Issuer), "{issuer}");
    }
    for audience in ["other", "Guildhall", ""] {
        let token = house.signed(&good_header(), &changed(good_claims(), "aud", json!(audience)));
        assert_eq!(house.verify(&token), Err(TokenError::Audience), "{audience}");
    }
}

#[test]
fn attack_claims_that_are_missing_or_of_another_form() {
    let house = House::new();
    for claim in ["iss", "aud", "sub", "knd", "iat", "exp", "jti"] {
        let token = house.signed(&good_header(), &without(good_claims(), claim));
        assert_eq!(house.verify(&token), Err(TokenError::Claims), "{claim} missing");
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
        let token = house.signed(&good_header(), &changed(good_claims(), claim, value.clone()));
        assert_eq!(house.verify(&token), Err(TokenError::Claims), "{claim}: {value}");
    }
}

#[test]
fn attack_the_same_claim_twice() {
    let house = House::new();
    let twice = good_claims().to_string().replacen('{', r#"{"knd":"service","#, 1);
    assert_eq!(house.verify(&house.signed_text(&good_header().to_string(), &twice)), Err(TokenError::Claims));
    let header = good_header().to_string().replacen('{', r#"{"alg":"HS256","#, 1);
    let token = house.signed_text(&header, &good_claims().to_string());
    assert_eq!(house.verify(&token), Err(TokenError::Malformed));
}

#[test]
fn attack_a_token_too_long_to_look_at() {
    let house = House::new();
    let padded = house.signed(&good_header(), &changed(good_claims(), "pad", json!("a".repeat(MAX_BYTES))));
    assert_eq!(house.verify(&padded), Err(TokenError::TooLong));
    let deep = house.signed_text(&format!("{{\"alg\":{}", "[".repeat(2000)), "{}");
    assert_eq!(house.verify(&deep), Err(TokenError::Malformed));
}

proptest! {
    #[test]
    fn one_changed_character_is_noticed(at in any::<prop::sample::Index>(), to in "[A-Za-z0-9_.=+/ -]") {
        let house = House::new();
        let mut token = house.token(&user());
        let at = at.index(token.len());
        prop_assume!(token[at..=at] != to);
        token.replace_range(at..=at, &to);
        prop_assert!(house.verify(&token).is_err());
    }

    #[test]
    fn any_text_is_refused_without_a_panic(text in any::<String>(), parts in "[A-Za-z0-9_-]{0,40}(\\.[A-Za-z0-9_-]{0,40}){0,4}") {
        let house = House::new();
        prop_assert!(house.verify(&text).is_err());
        prop_assert!(house.verify(&parts).is_err());
    }

    #[test]
    fn whatever_is_signed_is_accepted_exactly_while_it_lives(
        kind in proptest::sample::select(TokenKind::ALL),
        lifetime in 1i64..100_000,
        seen in -20i64..200_000,
    ) {
        let house = House::new();
        let run = of_a_run().run.filter(|_| kind == TokenKind::Run);
        let key = of_a_subject().key.filter(|_| kind == TokenKind::External);
        let claims = Claims { kind, run, key, expires_at: at(lifetime), ..user() };
        let verified = verify(&house.token(&claims), &house.keys, ISSUER, at(seen));
        let expected = match seen {
            ..-5 => Err(TokenError::NotYetValid),
            _ if seen < lifetime => Ok(claims),
            _ => Err(TokenError::Expired),
        };
        prop_assert_eq!(verified, expected);
    }
}
