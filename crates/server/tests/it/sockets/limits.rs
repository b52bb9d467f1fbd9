//! Bounds on connections, and clients that do nothing.

use std::time::Duration;

use guildhall_testkit::Stopwatch;
use serde_json::json;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::support::Setup;
use crate::support::aun_client::{AunIdentity, AunSocket, AunTokens, tokens_of};
use crate::support::gateway::Gateway;

/// Sockets that are checked together.
const SOCKETS: usize = 30;

/// Returns the status with which a connection was refused.
fn refused(opened: Result<AunSocket, Error>) -> Option<u16> {
    let Error::Http(response) = opened.err()? else { panic!("no response") };
    Some(response.status().as_u16())
}

#[tokio::test]
async fn unauthenticated_connections_are_bounded_and_end_by_themselves() {
    let setup =
        |setup: Setup| setup.with("sockets.max_unauthenticated", "6").with("sockets.auth_timeout", "5s");
    let gateway = Gateway::with(setup).await;
    let (first, second) = (gateway.cluster.first.address, gateway.cluster.second.address);
    let alice = gateway.register("alice").await;
    let mut connected = alice.connected(second).await;
    let mut open = Vec::new();
    let status = loop {
        assert!(open.len() < 7, "no bound");
        match AunSocket::try_open(first, &[]).await {
            Ok(socket) => open.push(socket),
            refused => break self::refused(refused),
        }
    };
    assert_eq!(status, Some(503));
    for socket in open {
        assert_eq!(socket.wait_for_close().await.code, Some(1008));
    }
    connected.call("meta.status", json!({})).await.expect("an authenticated connection stays");
}

#[tokio::test]
async fn connections_of_one_address_and_of_one_client_are_bounded() {
    let setup = |setup: Setup| setup.with("sockets.max_per_address", "6").with("sockets.max_per_client", "1");
    let gateway = Gateway::with(setup).await;
    let (first, second) = (gateway.cluster.first.address, gateway.cluster.second.address);
    let alice = AunIdentity::register(second, "alice.guild.example").await;
    let tokens = alice.log_in(second, second).await;
    let (mut one, mut other) = (AunSocket::open(first).await, AunSocket::open(first).await);
    one.connect(&tokens.access).await.expect("connected");
    let over = other.connect(&tokens.access).await.expect_err("one for each client");
    assert_eq!((&over["code"], &over["data"]["retryable"]), (&json!(-32052), &json!(true)));
    let mut open = vec![one, other];
    while open.len() < 6 {
        open.push(AunSocket::open(first).await);
    }
    assert_eq!(refused(AunSocket::try_open(first, &[]).await), Some(429));
}

#[tokio::test]
async fn silent_connection_is_pinged_and_then_closed() {
    let setup = |setup: Setup| setup.with("sockets.ping_after", "1s").with("sockets.idle_timeout", "3s");
    let gateway = Gateway::with(setup).await;
    let alice = gateway.register("alice").await;
    // A client that reads answers pings by itself; one that does not looks dead.
    let mut reading = alice.connected(gateway.cluster.first.address).await;
    let silent = alice.connected(gateway.cluster.first.address).await;
    let read = timeout(Duration::from_secs(6), reading.next_frame()).await;
    assert!(read.is_err(), "no frame and no end for twice the idle timeout: {read:?}");
    reading.call("meta.status", json!({})).await.expect("still connected");
    let end = silent.wait_for_close().await;
    assert_eq!(end.code, Some(1000), "{end:?}");
}

/// A batch of pings with long ids. The responses fill the queue soon.
fn large_batch() -> Message {
    let ping = json!({ "jsonrpc": "2.0", "id": "x".repeat(1000), "method": "meta.ping" });
    Message::text(json!(vec![ping; 16]).to_string())
}

/// Sends without reading until the server takes no more. More than the queue and the buffers of the kernel hold.
async fn send_until_blocked(socket: &mut AunSocket) -> Result<(), Error> {
    for _ in 0..5000 {
        let Ok(sent) = timeout(Duration::from_millis(500), socket.send_message(large_batch())).await else {
            return Ok(());
        };
        sent?;
    }
    panic!("the server takes everything");
}

#[tokio::test]
async fn client_that_reads_late_is_warned_and_stays() {
    let gateway = Gateway::start().await;
    let alice = gateway.register("alice").await;
    let mut socket = alice.connected(gateway.cluster.first.address).await;
    send_until_blocked(&mut socket).await.expect("connected");
    let mut frames = 0;
    while socket.next_frame().await.expect("connected")["method"] != "event/connection.slow_client_warning" {
        frames += 1;
        assert!(frames < 5000, "no warning");
    }
}

#[tokio::test]
async fn client_that_does_not_read_is_disconnected() {
    let gateway = Gateway::with(|setup| setup.with("sockets.write_timeout", "2s")).await;
    let alice = gateway.register("alice").await;
    let mut socket = alice.connected(gateway.cluster.first.address).await;
    let stopwatch = Stopwatch::start();
    let mut sent = send_until_blocked(&mut socket).await;
    while sent.is_ok() && stopwatch.elapsed() < Duration::from_secs(30) {
        sent =
            timeout(Duration::from_millis(500), socket.send_message(large_batch())).await.unwrap_or(Ok(()));
    }
    assert!(sent.is_err(), "the connection is still open");
    assert!(stopwatch.elapsed() >= Duration::from_secs(2), "not before the time is over");
}

#[tokio::test]
async fn refreshed_tokens_count_for_the_sign_in_limit_of_the_address() {
    // The sign-in of the operator, the registration and the two steps of the login come before.
    let gateway = Gateway::with(|setup| setup.with("limits.sign_in", "7/24h")).await;
    let (first, second) = (gateway.cluster.first.address, gateway.cluster.second.address);
    let alice = gateway.register("alice").await;
    let mut tokens = gateway.log_in(&alice).await;
    let params = |tokens: &AunTokens| json!({ "aid": alice.aid, "refresh_token": tokens.refresh });
    for address in [first, second, first] {
        let mut socket = AunSocket::open(address).await;
        let refreshed = socket.call("auth.refresh_token", params(&tokens)).await.expect("an answer");
        assert_eq!(refreshed["success"], true);
        tokens = tokens_of(&refreshed);
    }
    for address in [second, first] {
        let mut socket = AunSocket::open(address).await;
        let refused = socket.call("auth.refresh_token", params(&tokens)).await.expect_err("limited");
        let found = (&refused["code"], &refused["data"]["failureKind"], &refused["data"]["retryable"]);
        assert_eq!(found, (&json!(-32062), &json!("rate-limited"), &json!(true)), "{refused}");
    }
    let mut socket = AunSocket::open(second).await;
    socket.connect(&tokens.access).await.expect("the refused attempts have not used the token up");
}

/// Sockets with logins of their own are checked together.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sockets_of_different_logins_share_authority_checks() {
    let gateway = Gateway::start().await;
    let server = &gateway.cluster.second;
    let mut sockets = Vec::new();
    for number in 0..SOCKETS {
        let identity = gateway.register(&format!("client-{number}")).await;
        sockets.push(identity.connected(server.address).await);
    }
    let (began, before) = (Stopwatch::start(), server.metric("guildhall_authority_looks_total").await);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let checks = server.metric("guildhall_authority_looks_total").await - before;
    let periods = u64::try_from(began.elapsed().as_millis() / 400).expect("a small number") + 2;
    assert!((1..=periods).contains(&checks), "{checks} checks for {SOCKETS} sockets in {periods} periods");
    for socket in &mut sockets {
        socket.call("meta.status", json!({})).await.expect("still connected");
    }
}
