//! Calls that clients have signed.

use guildhall_identity::pki::{ParsedCertificate, pem_to_der};
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Pair, text};
use crate::support::aun_client::AunIdentity;

/// Returns parameters with a signature, as official clients make it.
fn signed(signer: &AunIdentity, method: &str, params: &Value, signed_at: i64) -> Value {
    let der = pem_to_der(&signer.certificate).expect("a certificate");
    let certificate = ParsedCertificate::from_der(&der).expect("a certificate");
    // Sorted keys and no spaces.
    let params_hash = hex::encode(Sha256::digest(params.to_string()));
    let mut signed = params.clone();
    signed["client_signature"] = json!({
        "aid": signer.aid,
        "cert_fingerprint": format!("sha256:{}", certificate.fingerprint),
        "timestamp": signed_at.to_string(),
        "params_hash": params_hash,
        "signature": signer.sign(&format!("{method}|{}|{signed_at}|{params_hash}", signer.aid)),
    });
    signed
}

#[expect(clippy::disallowed_methods, reason = "the server compares it with its clock")]
fn now() -> i64 {
    Timestamp::now().as_second()
}

#[tokio::test]
async fn signature_of_a_call_is_verified() {
    let mut pair = Pair::start().await;
    let message = |words: &str| json!({ "to": pair.bobby.aid, "payload": text(words) });
    let alice = &pair.alice;
    let other_parameters = {
        let mut params = message("changed");
        params["client_signature"] =
            signed(alice, "message.send", &message("signed"), now())["client_signature"].clone();
        params
    };
    for (params, expected) in [
        (other_parameters, "client_signature: the signature covers other parameters"),
        (
            signed(alice, "message.recall", &message("a"), now()),
            "client_signature: the signature of the call is invalid",
        ),
        (
            signed(&pair.bobby, "message.send", &message("b"), now()),
            "client_signature: the signature was made with another certificate",
        ),
        (
            signed(alice, "message.send", &message("c"), now() - 130),
            "client_signature.timestamp: more than 120",
        ),
        (
            signed(alice, "message.send", &message("d"), now() + 130),
            "client_signature.timestamp: more than 120",
        ),
        (
            json!({ "to": pair.bobby.aid, "payload": {}, "client_signature": "none" }),
            "client_signature: the member `client_signature",
        ),
    ] {
        let refused = pair.sender.call("message.send", params).await.expect_err("refused");
        assert_eq!(
            (&refused["code"], &refused["data"]["failureKind"]),
            (&json!(-32082), &json!("invalid-signature")),
            "{refused}"
        );
        let found = refused["message"].as_str().expect("a message");
        assert!(found.starts_with(expected), "{found}");
    }
    for (seq, signed_at) in [(1, now() - 110), (2, now()), (3, now() + 110)] {
        let params = signed(alice, "message.send", &message("accepted"), signed_at);
        assert_eq!(pair.sender.call("message.send", params).await.expect("sent")["seq"], seq);
    }
}

#[tokio::test]
async fn signature_covers_numbers_as_they_were_written() {
    let mut pair = Pair::start().await;
    let params = json!({ "to": pair.bobby.aid, "payload": { "number": 1.0 } });
    let params = signed(&pair.alice, "message.send", &params, now());
    for (number, code) in [("1.0", json!(null)), ("1.00", json!(-32082))] {
        let request = json!({ "jsonrpc": "2.0", "id": number, "method": "message.send", "params": params });
        let request = request.to_string().replacen("\"number\":1.0", &format!("\"number\":{number}"), 1);
        pair.sender.send_text(request).await;
        let answer = pair.sender.next_frame().await.expect("an answer");
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(number), &code), "{answer}");
    }
}
