//! What dishonest clients send. Each is refused with its own error.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use guildhall_identity::pki::{
    Curve, EcKey, IssuerAuthority, LeafRequest, P256PublicKey, RootAuthority, der_to_pem, pem_to_der,
    self_signed_root,
};
use guildhall_identity::seal::Kek;
use guildhall_testkit::Stopwatch;
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{Bytes, Message};

use crate::support::KEK;
use crate::support::aun_client::{AunIdentity, AunSocket, connect_params, tokens_of};
use crate::support::gateway::Gateway;

/// The code of a login that is refused: clients of AUN then stop.
const REFUSED: i64 = -32003;

fn kek() -> Kek {
    Kek::from_hex(&SecretString::from(KEK)).expect("a key")
}

#[expect(clippy::disallowed_methods, reason = "certificates of the past and of today")]
fn now() -> Timestamp {
    Timestamp::now()
}

/// Opens the authority of the server with its files, as somebody with the folder and the key could.
fn authority_of(folder: &Path) -> IssuerAuthority {
    let read = |name: &str| std::fs::read_to_string(folder.join("secrets/aun").join(name)).expect("a file");
    let sealed = hex::decode(read("issuer.key").trim()).expect("digits");
    let key = EcKey::open(Curve::P256, &kek(), "issuer.key", &sealed).expect("opened");
    let der = |name: &str| pem_to_der(&read(name)).expect("a certificate");
    let name = "guild.example".parse().expect("a name");
    IssuerAuthority::open(name, der("issuer.crt"), der("root.crt"), Arc::new(key), now()).expect("opened")
}

/// Another authority, with the same name or another one.
fn foreign_authority(name: &str) -> IssuerAuthority {
    let (root_key, key) = (EcKey::generate(Curve::P384), EcKey::generate(Curve::P256));
    let (root_key, key) = (root_key.expect("a key"), key.expect("a key"));
    let root = self_signed_root(&format!("{name} root"), &root_key, now()).expect("signed");
    let name = name.parse().expect("a name");
    let signed = RootAuthority { certificate: &root, key: &root_key }.sign_issuer(&name, &key, now());
    IssuerAuthority::open(name, signed.expect("signed"), root, Arc::new(key), now()).expect("opened")
}

fn issue(authority: &IssuerAuthority, identity: &AunIdentity, at: Timestamp) -> String {
    let key = P256PublicKey::of(&identity.key).expect("a key");
    let aid = identity.aid.parse().expect("an AID");
    let issued = authority.issue(&LeafRequest { aid: &aid, public_key: &key, now: at }).expect("issued");
    der_to_pem(&issued.der)
}

/// Changes the last byte, which is one of the signature.
fn with_broken_signature(pem: &str) -> String {
    let mut der = pem_to_der(pem).expect("a certificate");
    let last = der.len() - 1;
    der[last] ^= 1;
    der_to_pem(&der)
}

// covers: A27
#[tokio::test]
async fn invalid_certificates_are_refused_with_their_reason() {
    let gateway = Gateway::start().await;
    let (alice, bobby) = (gateway.register("alice").await, gateway.register("bobby").await);
    let authority = authority_of(gateway._folder.path());
    let past = now() - SignedDuration::from_hours(100 * 24);
    let revoked = gateway.register("carol").await;
    gateway.revoke(&revoked).await;
    let key = EcKey::generate(Curve::P256).expect("a key");
    let stranger = AunIdentity { aid: "alice.other.example".to_owned(), key, certificate: String::new() };
    for (what, identity, certificate, expected) in [
        (
            "forged",
            &alice,
            with_broken_signature(&alice.certificate),
            "the signature of the certificate is invalid",
        ),
        ("expired", &alice, issue(&authority, &alice, past), "the certificate has expired"),
        (
            "of another issuer with the same name",
            &alice,
            issue(&foreign_authority("guild.example"), &alice, now()),
            "the signature of the certificate is invalid",
        ),
        (
            "of an issuer with another name",
            &stranger,
            issue(&foreign_authority("other.example"), &stranger, now()),
            "the certificate was issued by another authority",
        ),
        (
            "not in the records",
            &alice,
            issue(&authority, &alice, now()),
            "the certificate is not one of an AID",
        ),
        ("revoked", &revoked, revoked.certificate.clone(), "the certificate was revoked"),
        ("of another AID", &alice, bobby.certificate.clone(), "the certificate belongs to another AID"),
        (
            "not a certificate",
            &alice,
            "x".to_owned(),
            "invalid certificate: expected one X.509 certificate with a P-256 key in PEM",
        ),
    ] {
        let params = json!({ "aid": identity.aid, "cert": certificate, "client_nonce": "n" });
        let refused = gateway.open_socket().await.call_error("auth.aid_login1", params).await;
        assert_eq!(refused, (REFUSED, expected.to_owned()), "{what}");
    }
}

#[tokio::test]
async fn second_step_of_a_login_fits_one_first_step_once() {
    let gateway = Gateway::start().await;
    let (alice, bobby) = (gateway.register("alice").await, gateway.register("bobby").await);
    let start = async |identity: &AunIdentity| {
        let started = gateway.open_socket().await.call("auth.aid_login1", identity.login1_params()).await;
        started.expect("started")
    };
    let finish = async |params: &Value| {
        gateway.open_socket().await.call_error("auth.aid_login2", params.clone()).await
    };
    let (first, second) = (start(&alice).await, start(&alice).await);
    let params = alice.login2_params(&first);
    let with = |name: &str, value: Value| {
        let mut changed = params.clone();
        changed[name] = value;
        changed
    };
    let mut of_bobby = bobby.login2_params(&first);
    assert_eq!(finish(&of_bobby).await, (REFUSED, "the login was started by another AID".to_owned()));
    of_bobby["aid"] = json!(alice.aid);
    let signature = (REFUSED, "the signature is not one of the key of the AID".to_owned());
    assert_eq!(finish(&of_bobby).await, signature, "signed by another key");
    assert_eq!(finish(&with("client_time", json!("1700000001"))).await, signature, "another time");
    let other_nonce = (REFUSED, "the nonce is not the one of this login".to_owned());
    assert_eq!(finish(&with("nonce", second["nonce"].clone())).await, other_nonce);
    let unknown = (REFUSED, "the request_id is not one of this server: start the login again".to_owned());
    assert_eq!(finish(&with("request_id", json!("x.y"))).await, unknown);
    gateway.open_socket().await.call("auth.aid_login2", params.clone()).await.expect("logged in");
    let used = (REFUSED, "the nonce was used before: start the login again".to_owned());
    assert_eq!(finish(&params).await, used, "replayed");
    let mut at_other_replica = AunSocket::open(gateway.cluster.second.address).await;
    assert_eq!(at_other_replica.call_error("auth.aid_login2", params).await, used, "replayed there");
}

#[tokio::test]
async fn tokens_of_another_aid_and_nonces_of_another_socket_are_refused() {
    let gateway = Gateway::start().await;
    let (alice, bobby) = (gateway.register("alice").await, gateway.register("bobby").await);
    let tokens = gateway.log_in(&alice).await;
    let refresh = async |aid: &str, token: &str| {
        let params = json!({ "aid": aid, "refresh_token": token });
        gateway.open_socket().await.call("auth.refresh_token", params).await.expect("an answer")
    };
    assert_eq!(refresh(&bobby.aid, &tokens.refresh).await["success"], false);
    let refreshed = refresh(&alice.aid, &tokens.refresh).await;
    assert_eq!(refreshed["success"], true, "the refused attempt did not use it up");
    let access = tokens_of(&refreshed).access;
    let (mut socket, other) = (gateway.open_socket().await, gateway.open_socket().await);
    let replayed = socket.call_error("auth.connect", connect_params(&other.nonce, &access)).await;
    assert_eq!(replayed, (-32001, "nonce: not the one of this connection's challenge".to_owned()));
    let mut forged = access.clone();
    forged.pop();
    assert_eq!(socket.connect(&forged).await.expect_err("forged")["code"], -32001);
    socket.connect(&access).await.expect("connected");
}

#[tokio::test]
async fn client_without_a_common_version_is_told_and_disconnected() {
    let gateway = Gateway::start().await;
    let alice = gateway.register("alice").await;
    let tokens = gateway.log_in(&alice).await;
    let mut socket = gateway.open_socket().await;
    let mut params = connect_params(&socket.nonce, &tokens.access);
    params["protocol"] = json!({ "min": "1.1", "max": "2.0" });
    let refused = socket.call("auth.connect", params).await.expect_err("no common version");
    assert_eq!(refused["code"], -32000);
    assert_eq!(
        (&refused["data"]["server_range"], &refused["data"]["client_range"]),
        (&json!("1.0-1.0"), &json!("1.1-2.0"))
    );
    assert_eq!(socket.wait_for_close().await.code, Some(4003));
}

#[tokio::test]
async fn frames_that_are_no_requests_are_answered_with_their_reason() {
    let gateway = Gateway::start().await;
    let mut socket = gateway.open_socket().await;
    for (text, code, message) in [
        ("{", -32700, "the frame is not JSON"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"meta.ping","method":"meta.status"}"#,
            -32600,
            "the frame has an object with two members of the same name",
        ),
        ("[]", -32600, "a batch has 1 to 16 requests"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"auth.aid_login1","params":{"aid":3}}"#, -32602, ""),
    ] {
        socket.send_text(text).await;
        let error = socket.next_frame().await.expect("an answer")["error"].clone();
        assert_eq!(error["code"], code, "{text}");
        assert!(message.is_empty() || error["message"] == message, "{text}: {error}");
    }
    let ping = json!({ "jsonrpc": "2.0", "id": "a", "method": "meta.ping" });
    let notification = json!({ "jsonrpc": "2.0", "method": "notification/x" });
    socket.send_text(json!([ping, notification, 7]).to_string()).await;
    let batch = socket.next_frame().await.expect("an answer");
    assert_eq!((batch.as_array().map(Vec::len), &batch[0]["id"]), (Some(2), &json!("a")), "{batch}");
    assert_eq!(batch[1]["error"]["code"], -32600);
}

#[tokio::test]
async fn large_and_binary_frames_close_the_connection() {
    let gateway = Gateway::start().await;
    let ping = |padding: usize| json!({ "jsonrpc": "2.0", "id": 1, "method": "meta.ping", "params": { "padding": "x".repeat(padding) } });
    let alice = gateway.register("alice").await;
    let mut large = alice.connected(gateway.cluster.first.address).await;
    large.send_text(ping(1_000_000).to_string()).await;
    assert_eq!(large.next_frame().await.expect("a response")["result"]["pong"], true);
    let mut unauthenticated = gateway.open_socket().await;
    for (socket, padding) in [(&mut large, 1024 * 1024), (&mut unauthenticated, 64 * 1024)] {
        socket.send_text(ping(padding).to_string()).await;
        let refused = socket.next_frame().await.expect("an answer");
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32600)), "{refused}");
    }
    for socket in [large, unauthenticated] {
        assert_eq!(socket.wait_for_close().await.code, Some(1009));
    }
    let mut binary = gateway.open_socket().await;
    binary.send_message(Message::binary(vec![1])).await.expect("sent");
    assert_eq!(binary.wait_for_close().await.code, Some(1003));
}

/// A part of a frame, or of a message of many frames, is memory of the server too.
#[tokio::test]
async fn unfinished_large_frame_is_refused_before_authentication() {
    let gateway = Gateway::start().await;
    let alice = gateway.register("alice").await;
    let mut connected = alice.connected(gateway.cluster.first.address).await;
    let mut unauthenticated = gateway.open_socket().await;
    for socket in [&mut connected, &mut unauthenticated] {
        for part in [Data::Text, Data::Continue] {
            let frame = Frame::message(vec![b' '; 14 * 1024], OpCode::Data(part), false);
            socket.send_message(Message::Frame(frame)).await.expect("sent");
            socket.send_message(Message::Ping(Bytes::new())).await.expect("sent");
        }
    }
    let refused = unauthenticated.next_frame().await.expect("an answer");
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32600)), "{refused}");
    assert_eq!(unauthenticated.wait_for_close().await.code, Some(1009));
    let rest = json!({ "jsonrpc": "2.0", "id": 1, "method": "meta.ping" }).to_string();
    let frame = Frame::message(rest, OpCode::Data(Data::Continue), true);
    connected.send_message(Message::Frame(frame)).await.expect("sent");
    assert_eq!(connected.next_frame().await.expect("a response")["result"]["pong"], true);
}

/// The login waits for the lock while the key is revoked: it must not see the certificate from before.
#[tokio::test]
async fn login_that_waits_for_a_revocation_is_refused() {
    let gateway = Gateway::start().await;
    let alice = gateway.register("alice").await;
    let started = gateway.open_socket().await.call("auth.aid_login1", alice.login1_params()).await;
    let params = alice.login2_params(&started.expect("started"));
    let (mut revoking, mut watching) = (gateway.cluster.db.sql().await, gateway.cluster.db.sql().await);
    revoking.execute("BEGIN").await;
    revoking.execute(format!("SELECT FROM aids WHERE aid = '{}' FOR UPDATE", alice.aid)).await;
    let mut socket = gateway.open_socket().await;
    let waiting = "SELECT count(*)::text FROM pg_locks WHERE NOT granted";
    let revocation = async {
        let stopwatch = Stopwatch::start();
        while watching.texts(waiting).await != ["1"] {
            assert!(stopwatch.elapsed() < Duration::from_secs(20), "the login does not wait");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let revoke = "UPDATE aid_certificates SET revoked_at = now(), revocation_reason = 'unspecified'";
        revoking.execute(revoke).await;
        revoking.execute("COMMIT").await;
    };
    let (login, ()) = tokio::join!(socket.call_error("auth.aid_login2", params), revocation);
    assert_eq!(login, (REFUSED, "the certificate was revoked".to_owned()));
}

#[tokio::test]
async fn refused_connects_are_bounded() {
    let gateway = Gateway::start().await;
    let mut socket = gateway.open_socket().await;
    for _ in 0..5 {
        assert_eq!(socket.connect("not a token").await.expect_err("refused")["code"], -32001);
    }
    assert_eq!(socket.wait_for_close().await.code, Some(1008));
}
