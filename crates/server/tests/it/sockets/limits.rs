//! Bounds on connections, and clients that do nothing.

use std::time::Duration;

use serde_json::json;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::Gateway;
use crate::support::Setup;
use crate::support::aun_client::{AunIdentity, AunSocket};

/// Returns the status with which a connection was refused.
fn refused(opened: Result<AunSocket, Error>) -> Option<u16> {
    match opened.err()? {
        Error::Http(response) => Some(response.status().as_u16()),
        other => panic!("{other}"),
    }
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
    let read = tokio::time::timeout(Duration::from_secs(6), reading.next_frame()).await;
    assert!(read.is_err(), "no frame and no end for twice the idle timeout: {read:?}");
    reading.call("meta.status", json!({})).await.expect("still connected");
    let end = silent.wait_for_close().await;
    assert_eq!(end.code, Some(1000), "{end:?}");
}

#[tokio::test]
async fn client_that_does_not_read_is_disconnected() {
    let gateway = Gateway::with(|setup| setup.with("sockets.write_timeout", "2s")).await;
    let alice = gateway.register("alice").await;
    let mut socket = alice.connected(gateway.cluster.first.address).await;
    let ping = json!({ "jsonrpc": "2.0", "id": "x".repeat(1000), "method": "meta.ping" });
    let request = json!(vec![ping; 16]).to_string();
    let sending = async {
        // Far more than the queue and the buffers of the kernel take.
        for _ in 0..5000 {
            socket.send_message(Message::text(request.clone())).await?;
        }
        Ok::<_, Error>(())
    };
    let sent = tokio::time::timeout(Duration::from_secs(60), sending).await;
    assert!(matches!(sent, Ok(Err(_))), "the server closed the connection: {sent:?}");
    let mut warned = false;
    while let Some(frame) = socket.next_frame().await {
        warned |= frame["method"] == "event/connection.slow_client_warning";
    }
    assert!(warned, "the warning is before the responses that the client did not read");
    alice.connected(gateway.cluster.first.address).await;
}
