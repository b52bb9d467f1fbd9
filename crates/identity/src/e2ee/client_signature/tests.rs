//! Signatures of calls.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

use super::super::vectors::{ALICE, BOBBY, certificate};
use super::*;
use crate::pki::{Curve, EcKey, P256PublicKey, Signer};

/// What `json.dumps(params, sort_keys=True, separators=(",", ":"), ensure_ascii=False)` of Python makes of the parameters below.
const PYTHON: &str =
    r#"{"a":{"x":1.0,"y":[1e-07,1e+16,-0.0,2]},"text":"é\n\u001f/","to":"bobby.guild.test"}"#;

/// The same parameters as they are sent.
const SENT: &str = r#"{"to": "bobby.guild.test", "a": {"y": [1e-07, 1e+16, -0.0, 2], "x": 1.0}, "_trace": "t", "text": "\u00e9\n\u001f\/""#;

fn signed(key: &EcKey, aid: &str, method: &str) -> String {
    let params_hash = hex::encode(digest(&SHA256, PYTHON.as_bytes()));
    let text = format!("{method}|{aid}|1700000000|{params_hash}");
    let signature = STANDARD.encode(key.sign(text.as_bytes()).expect("signed"));
    let fingerprint = certificate_fingerprint(&certificate(ALICE).fingerprint);
    format!(
        r#"{SENT}, "client_signature": {{"aid": "{aid}", "cert_fingerprint": "{fingerprint}", "timestamp": "1700000000",
        "params_hash": "{params_hash}", "signature": "{signature}"}}}}"#
    )
}

fn alice(key: &EcKey) -> ParsedCertificate {
    ParsedCertificate { public_key: P256PublicKey::of(key).expect("a public key"), ..certificate(ALICE) }
}

#[test]
fn signature_covers_numbers_as_they_were_sent() {
    let key = EcKey::generate(Curve::P256).expect("generated");
    let params = signed(&key, ALICE, "message.send");
    let signature = ClientSignature::parse(&params).expect("valid").expect("signed");
    assert_eq!(signature.signed_at(), 1_700_000_000);
    assert_eq!(signature.certificate_digits(), certificate(ALICE).fingerprint.to_string());
    assert_eq!(signature.verify("message.send", &alice(&key)), Ok(()));
    assert_eq!(signature.verify("message.recall", &alice(&key)), Err(ClientSignatureError::Signature));
    for (from, to) in [("1.0", "1"), ("1e-07", "1e-7"), ("bobby", "carol"), ("1e+16", "10000000000000000.0")]
    {
        let changed = params.replacen(from, to, 1);
        assert_eq!(ClientSignature::parse(&changed), Err(ClientSignatureError::OtherParameters), "{from}");
    }
    let traced = params.replacen(r#""_trace": "t""#, r#""_trace": "other""#, 1);
    assert_eq!(ClientSignature::parse(&traced), Ok(Some(signature)));
}

#[test]
fn signature_of_another_aid_or_certificate_is_refused() {
    let key = EcKey::generate(Curve::P256).expect("generated");
    let params = signed(&key, ALICE, "message.send");
    let signature = ClientSignature::parse(&params).expect("valid").expect("signed");
    let verify = |certificate: ParsedCertificate| signature.verify("message.send", &certificate);
    assert_eq!(verify(certificate(BOBBY)), Err(ClientSignatureError::OtherAid));
    let renewed = ParsedCertificate { fingerprint: certificate(BOBBY).fingerprint, ..alice(&key) };
    assert_eq!(verify(renewed), Err(ClientSignatureError::OtherCertificate));
    assert_eq!(verify(certificate(ALICE)), Err(ClientSignatureError::Signature));
}

#[test]
fn call_without_a_signature_is_not_signed() {
    assert_eq!(ClientSignature::parse(&format!("{SENT}}}")), Ok(None));
    for (params, expected) in [
        ("[]", ClientSignatureError::Json(ExactJsonError::NotAnObject)),
        (r#"{"client_signature":1}"#, ClientSignatureError::Member("client_signature")),
        (r#"{"client_signature":{"timestamp":"-1"}}"#, ClientSignatureError::Member("aid")),
        (
            r#"{"client_signature":{"aid":"","cert_fingerprint":"","timestamp":"+1"}}"#,
            ClientSignatureError::Member("timestamp"),
        ),
    ] {
        assert_eq!(ClientSignature::parse(params), Err(expected), "{params}");
    }
}

proptest! {
    #[test]
    fn any_text_is_parsed_without_panic(text in any::<String>()) {
        let params = serde_json::json!({ "client_signature": text }).to_string();
        prop_assert!(ClientSignature::parse(&params).is_err());
        let _result = ClientSignature::parse(&text);
    }
}
