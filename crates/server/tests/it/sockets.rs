//! The socket on two replicas: login, connect, tokens and their end, and what is refused.

mod attacks;
mod limits;

use std::time::Duration;

use guildhall_identity::pki::{Curve, EcKey};
use guildhall_testkit::{PrivateEngines, TestDb};
use reqwest::Method as HttpMethod;
use serde_json::{Value, json};

use crate::support::Setup;
use crate::support::aun_client::{AunIdentity, AunSocket, connect_params, end_within, public_key, tokens_of};
use crate::support::browser::{Browser, origin_of};
use crate::support::gateway::Gateway;

/// The methods of the socket, as committed.
const METHODS: &str = include_str!("../../../../schemas/openrpc.json");

/// Revocation holds within this time on every replica.
const REVOCATION: Duration = Duration::from_secs(1);

// covers: A1, A11
#[tokio::test]
async fn login_of_one_replica_connects_at_the_other() {
    let gateway = Gateway::start().await;
    let alice = gateway.register("alice").await;
    let tokens = gateway.log_in(&alice).await;
    let mut socket = AunSocket::open(gateway.cluster.second.address).await;
    let connected = socket.connect(&tokens.access).await.expect("connected");
    assert_eq!(connected["status"], "ok");
    assert_eq!(connected["identity"], json!({ "aid": alice.aid, "role": "agent" }));
    assert_eq!(connected["connection"]["slot_id"], "default");
    assert_eq!(connected["capabilities"]["p2p_peer_pull_v1"], true);
    let status = socket.call("meta.status", json!({})).await.expect("a status");
    let expected = json!({
        "mode": "gateway", "aid": alice.aid, "role": "agent",
        "connected_at": status["connected_at"], "protocol_version": "1.0",
    });
    assert_eq!(status, expected);
    assert!(status["connected_at"].as_i64().is_some_and(|at| at > 1_700_000_000_000), "milliseconds");
}

// covers: A11
#[tokio::test]
async fn ping_answers_before_and_after_connect_with_any_id() {
    let gateway = Gateway::start().await;
    let mut socket = gateway.open_socket().await;
    for id in [json!("rpc-0123456789abcdef"), json!(30), json!(-1.5)] {
        socket.send_text(json!({ "jsonrpc": "2.0", "id": id, "method": "meta.ping" }).to_string()).await;
        let response = socket.next_frame().await.expect("a response");
        assert_eq!((&response["id"], &response["result"]["pong"]), (&id, &json!(true)), "{response}");
        let seconds = response["result"]["timestamp"].as_i64().expect("a time");
        assert!((1_700_000_000..10_000_000_000).contains(&seconds), "seconds: {seconds}");
    }
}

#[tokio::test]
async fn methods_for_connected_clients_are_refused_before_connect() {
    let gateway = Gateway::start().await;
    let mut socket = gateway.open_socket().await;
    let refused = (-32001, "the connection is not authenticated: call auth.connect first".to_owned());
    let document: Value = serde_json::from_str(METHODS).expect("JSON");
    let methods = document["methods"].as_array().expect("methods");
    assert!(methods.len() >= 10, "{}", methods.len());
    for method in methods {
        let name = method["name"].as_str().expect("a name");
        let answered = socket.call(name, json!({})).await;
        let is_refused = answered.is_err_and(|error| {
            (error["code"].as_i64(), error["message"].as_str()) == (Some(refused.0), Some(&refused.1))
        });
        assert_eq!(is_refused, method["x-access"] == "connected", "{name}");
    }
    let unknown = socket.call("message.nothing", json!({})).await.expect_err("no such method");
    assert_eq!(
        (&unknown["code"], &unknown["data"]["failureKind"]),
        (&json!(-32601), &json!("method-not-allowed"))
    );
}

// covers: A11
#[tokio::test]
async fn refresh_token_is_used_once_and_reuse_closes_the_socket() {
    let gateway = Gateway::start().await;
    let alice = gateway.register("alice").await;
    let tokens = gateway.log_in(&alice).await;
    let mut connection = AunSocket::open(gateway.cluster.second.address).await;
    connection.connect(&tokens.access).await.expect("connected");
    let refresh = async |token: &str| {
        let params = json!({ "refresh_token": token, "aid": alice.aid });
        gateway.open_socket().await.call("auth.refresh_token", params).await.expect("an answer")
    };
    let mut newest = tokens.refresh.clone();
    for _ in 0..2 {
        let refreshed = refresh(&newest).await;
        assert_eq!((&refreshed["success"], &refreshed["expires_in"]), (&json!(true), &json!(3600)));
        newest = tokens_of(&refreshed).refresh;
    }
    let refused = json!({
        "success": false, "error": "invalid_or_expired_refresh_token", "relogin_required": true,
    });
    assert_eq!(refresh(&tokens.refresh).await, refused, "the first token, two exchanges later");
    let end = end_within(connection, REVOCATION).await;
    assert_eq!((end.code, end.frames.len()), (Some(4001), 1), "{end:?}");
    assert_eq!(end.frames[0]["method"], "event/gateway.disconnect");
    assert_eq!(refresh(&newest).await, refused, "the login is revoked");
}

#[tokio::test]
async fn tokens_of_sockets_and_of_the_api_do_not_replace_each_other() {
    let gateway = Gateway::start().await;
    let alice = gateway.register("alice").await;
    let (tokens, operator) = (gateway.log_in(&alice).await, &gateway.cluster.operator);
    let read = gateway.cluster.first.get_as("/api/v1/whoami", &tokens.access).await;
    read.assert_failure(401, "unauthenticated");
    let body = json!({ "refreshToken": tokens.refresh });
    gateway.cluster.first.post("/api/v1/auth/refresh", body).await.assert_failure(401, "unauthenticated");
    let mut socket = gateway.open_socket().await;
    let refused = socket.connect(&operator.token).await.expect_err("a user token");
    assert_eq!(refused["code"], -32001);
    let params = json!({ "refresh_token": operator.refresh_token });
    let refreshed = socket.call("auth.refresh_token", params).await.expect("an answer");
    assert_eq!(refreshed["success"], false);
    socket.connect(&tokens.access).await.expect("a refused connect leaves the connection open");
}

// covers: A27
#[tokio::test]
async fn renewed_and_rekeyed_certificates_log_in() {
    let gateway = Gateway::start().await;
    let mut alice = gateway.register("alice").await;
    gateway.age_certificates().await;
    let address = gateway.cluster.first.address;
    let start_login = async |identity: &AunIdentity| {
        let started = AunSocket::open(address).await.call("auth.aid_login1", identity.login1_params()).await;
        started.expect("started")
    };
    let started = start_login(&alice).await;
    let nonce = started["nonce"].as_str().expect("a nonce");
    let params = json!({
        "aid": alice.aid, "request_id": started["request_id"], "nonce": nonce, "signature": alice.sign(nonce),
    });
    let renewed = gateway.open_socket().await.call("auth.renew_cert", params).await.expect("renewed");
    assert_ne!(renewed["cert"], alice.certificate);
    let started = start_login(&alice).await;
    let params = alice.login2_params(&started);
    let completed = gateway.open_socket().await.call("auth.aid_login2", params).await.expect("logged in");
    assert_eq!(completed["new_cert"], renewed["cert"], "a client that lost the response gets the newest one");

    let connection = alice.connected(gateway.cluster.second.address).await;
    gateway.age_certificates().await;
    let (started, next) = (start_login(&alice).await, EcKey::generate(Curve::P256).expect("a key"));
    let (nonce, public) = (started["nonce"].as_str().expect("a nonce"), public_key(&next));
    let params = json!({
        "aid": alice.aid, "request_id": started["request_id"], "nonce": nonce, "new_public_key": public,
        "signature": alice.sign(&format!("{nonce}{public}")),
    });
    let rekeyed = gateway.open_socket().await.call("auth.rekey", params).await.expect("rekeyed");
    assert_eq!(end_within(connection, REVOCATION).await.code, Some(4001), "sessions of the old key end");
    let (_, refused) = gateway.open_socket().await.call_error("auth.aid_login1", alice.login1_params()).await;
    assert_eq!(refused, "the AID has another key now: log in with its newest certificate");
    alice.certificate = rekeyed["cert"].as_str().expect("a certificate").to_owned();
    alice.key = next;
    alice.connected(gateway.cluster.second.address).await;
}

// covers: A1, A27
#[tokio::test]
async fn revoked_aid_loses_its_sockets_within_1s_without_nats() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.urls()).await;
    let gateway = Gateway::open(Setup::with_private_engines(&db, &engines.urls()), db).await;
    let alice = gateway.register("alice").await;
    let bobby = gateway.register("bobby").await;
    let connection = alice.connected(gateway.cluster.second.address).await;
    let mut other = bobby.connected(gateway.cluster.second.address).await;
    engines.nats.kill();
    gateway.revoke(&alice).await;
    assert_eq!(end_within(connection, REVOCATION).await.code, Some(4001));
    let (_, refused) = gateway.open_socket().await.call_error("auth.aid_login1", alice.login1_params()).await;
    assert_eq!(refused, "the certificate was revoked");
    other.call("meta.status", json!({})).await.expect("another AID stays connected");
}

#[tokio::test]
async fn draining_server_tells_its_clients_to_reconnect() {
    let gateway = Gateway::start().await;
    let alice = gateway.register("alice").await;
    let connection = alice.connected(gateway.cluster.first.address).await;
    let unauthenticated = gateway.open_socket().await;
    let Gateway { cluster, _folder } = gateway;
    let clients = async {
        for socket in [connection, unauthenticated] {
            let end = socket.wait_for_close().await;
            // Official clients reconnect after a second with 1000, and after 16 seconds with most other codes.
            assert_eq!((end.code, end.frames), (Some(1000), Vec::new()));
        }
    };
    let (all_ended, ()) = tokio::join!(cluster.first.server.shutdown(), clients);
    assert!(all_ended, "every task ended");
}

#[tokio::test]
async fn page_of_this_server_opens_the_socket_with_its_session() {
    let gateway = Gateway::start().await;
    let (mut browser, csrf) = Browser::sign_in(&gateway.cluster.first, "operator").await;
    let address = gateway.cluster.first.address;
    let (cookie, origin) = (browser.cookie_header(), origin_of(&gateway.cluster.first));
    let protocols = format!("guildhall.v1, guildhall.csrf.{csrf}");
    let headers = [("cookie", &*cookie), ("origin", &*origin), ("sec-websocket-protocol", &*protocols)];
    let mut socket = AunSocket::try_open(address, &headers).await.expect("opened");
    let status = socket.call("meta.status", json!({})).await.expect("authenticated by the cookie");
    assert_eq!((&status["aid"], &status["role"]), (&Value::Null, &json!("user")));
    let nonce = socket.nonce.clone();
    let (code, _) = socket.call_error("auth.connect", connect_params(&nonce, "x")).await;
    assert_eq!(code, -32058, "it is authenticated already");

    let other = "http://evil.example".to_owned();
    let wrong = format!("guildhall.v1, guildhall.csrf.{}", "x".repeat(43));
    for (what, origin, protocols) in [
        ("page of another site", &other, &protocols),
        ("no CSRF token", &origin, &"guildhall.v1".to_owned()),
        ("wrong CSRF token", &origin, &wrong),
    ] {
        let headers = [("cookie", &*cookie), ("origin", &**origin), ("sec-websocket-protocol", &**protocols)];
        let refused = AunSocket::try_open(address, &headers).await.err().expect("refused").to_string();
        assert!(refused.contains("403"), "{what}: {refused}");
    }
    let headers = [("cookie", &*cookie), ("sec-websocket-protocol", &*protocols)];
    assert!(AunSocket::try_open(address, &headers).await.is_err(), "no origin");
    let origin = origin_of(&gateway.cluster.second);
    let headers = [("origin", &*origin), ("x-guildhall-csrf", &*csrf)];
    let signed_out =
        browser.send(&gateway.cluster.second, HttpMethod::POST, "/api/v1/auth/logout", &headers, None).await;
    assert!(signed_out.status.is_success(), "{}", signed_out.text);
    assert_eq!(end_within(socket, REVOCATION).await.code, Some(4001));
}
