//! The client of the socket against a scripted server: what a real one does seldom, or cannot be made to do.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::ready;
use futures::{SinkExt, StreamExt};
use guildhall_domain::{Failure, FailureKind};
use guildhall_protocol::rpc::meta::{NoParams, Pong};
use guildhall_protocol::rpc::{RpcError, typed};
use guildhall_runtime::{Clock, Tasks};
use guildhall_sdk::socket::{
    AccessToken, AccessTokenFuture, SocketClient, SocketEndpoint, SocketError, SocketEvent, SocketEvents,
    SocketOptions, SocketState, SocketTokenSource,
};
use jiff::SignedDuration;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{WebSocketStream, accept_async};

/// Ends a test that hangs.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The lifetime of a token that needs no refresh.
const LONG: SignedDuration = SignedDuration::from_hours(1);

/// A server that does what a test says.
struct ScriptedGateway(TcpListener);

/// One connection of a client.
struct ServerSide(WebSocketStream<TcpStream>);

/// Counts its tokens, and remembers which ones were refused.
#[derive(Debug)]
struct CountingTokens {
    refused: Mutex<Vec<Option<String>>>,
    lifetime: SignedDuration,
}

impl CountingTokens {
    fn new(lifetime: SignedDuration) -> Arc<Self> {
        Arc::new(Self { refused: Mutex::default(), lifetime })
    }

    fn requests(&self) -> Vec<Option<String>> {
        self.refused.lock().expect("the lock is not poisoned").clone()
    }
}

impl SocketTokenSource for CountingTokens {
    fn token<'a>(&'a self, refused: Option<&'a SecretString>) -> AccessTokenFuture<'a> {
        let mut requests = self.refused.lock().expect("the lock is not poisoned");
        requests.push(refused.map(|token| token.expose_secret().to_owned()));
        let value = SecretString::from(format!("token-{}", requests.len()));
        let expires_at = Clock::system().now() + self.lifetime;
        Box::pin(ready(Ok(AccessToken { value, expires_at })))
    }
}

impl ScriptedGateway {
    async fn start() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.expect("a port"))
    }

    fn options(&self, tokens: &Arc<CountingTokens>) -> SocketOptions {
        let _already_installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let url = format!("ws://{}/aun", self.0.local_addr().expect("an address"));
        let endpoint = SocketEndpoint::new(&url, &[]).expect("a URL");
        SocketOptions::new(endpoint, Arc::<CountingTokens>::clone(tokens), "device-1", Clock::system())
    }

    fn client(&self, tasks: &Tasks) -> SocketClient {
        SocketClient::start(self.options(&CountingTokens::new(LONG)), tasks)
    }

    /// Waits for a connection and sends the challenge.
    async fn accept(&self) -> ServerSide {
        let (stream, _) = timeout(TIMEOUT, self.0.accept()).await.expect("a connection").expect("accepted");
        let mut socket = ServerSide(accept_async(stream).await.expect("a WebSocket"));
        let challenge = json!({
            "nonce": "nonce-1", "protocol": { "min": "1.0", "max": "1.0" }, "auth_methods": [], "server_time": 0,
        });
        socket.notify("challenge", challenge).await;
        socket
    }

    /// Waits for a connection and authenticates it. Returns it with the token.
    async fn accept_login(&self) -> (ServerSide, String) {
        let mut socket = self.accept().await;
        let (id, method, params) = socket.request().await;
        assert_eq!((&*method, &params["nonce"]), ("auth.connect", &json!("nonce-1")));
        assert_eq!(params["device"], json!({ "id": "device-1", "type": "sdk" }));
        socket.respond(&id, connect_result()).await;
        (socket, params["auth"]["token"].as_str().expect("a token").to_owned())
    }
}

fn connect_result() -> Value {
    json!({
        "status": "ok", "protocol": "1.0", "server_time": 0, "authenticated": true,
        "identity": { "aid": "alice.guild.example", "role": "agent" },
        "connection": { "id": "con_1", "device_id": "device-1", "slot_id": "default", "kind": "long" },
        "capabilities": { "namespaces": ["meta"], "p2p_peer_pull_v1": true, "max_message_size": 4096 },
        "heartbeat_interval": 1,
    })
}

impl ServerSide {
    async fn send(&mut self, value: Value) {
        self.0.send(Message::text(value.to_string())).await.expect("sent");
    }

    async fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    async fn respond(&mut self, id: &Value, result: Value) {
        self.send(json!({ "jsonrpc": "2.0", "id": id, "result": result })).await;
    }

    async fn fail(&mut self, id: &Value, kind: FailureKind) {
        let error = RpcError::new(&Failure::new(kind, "no"));
        self.send(json!({ "jsonrpc": "2.0", "id": id, "error": error })).await;
    }

    /// Waits for a request. Returns its id, method and parameters.
    async fn request(&mut self) -> (Value, String, Value) {
        loop {
            let message =
                timeout(TIMEOUT, self.0.next()).await.expect("a frame").expect("open").expect("open");
            if let Message::Text(text) = message {
                let request: Value = serde_json::from_str(&text).expect("JSON");
                let method = request["method"].as_str().expect("a method").to_owned();
                return (request["id"].clone(), method, request["params"].clone());
            }
        }
    }

    async fn close(mut self, code: u16) {
        let frame = CloseFrame { code: code.into(), reason: "on purpose".into() };
        let _client_gone = self.0.send(Message::Close(Some(frame))).await;
        while let Some(Ok(_)) = self.0.next().await {}
    }

    /// Returns whether the client closes, or is gone.
    async fn closes(mut self) -> bool {
        let ended = timeout(TIMEOUT, async {
            while let Some(Ok(message)) = self.0.next().await {
                if matches!(message, Message::Close(_)) {
                    return;
                }
            }
        });
        ended.await.is_ok()
    }
}

/// Waits for the next event and returns it as a short text.
async fn next(events: &mut SocketEvents) -> String {
    match timeout(TIMEOUT, events.next()).await.expect("an event") {
        None => "none".to_owned(),
        Some(SocketEvent::Connected(info)) => format!("connected {}", info.connection.id),
        Some(SocketEvent::Disconnected(_)) => "disconnected".to_owned(),
        Some(SocketEvent::Notification(notification)) => {
            format!("{} {}", notification.method, notification.params)
        }
        Some(SocketEvent::Missed) => "missed".to_owned(),
        Some(SocketEvent::Ended(error)) => format!("ended: {error}"),
    }
}

#[tokio::test]
async fn responses_in_any_order_reach_their_callers() {
    let (gateway, tasks) = (ScriptedGateway::start().await, Tasks::new());
    let client = gateway.client(&tasks);
    let serve = async {
        let (mut socket, token) = gateway.accept_login().await;
        assert_eq!(token, "token-1");
        let (first, second) = (socket.request().await, socket.request().await);
        assert_ne!(first.0, second.0);
        socket.notify("event/between", json!({})).await;
        for (id, method, _) in [second, first] {
            socket.respond(&id, json!({ "pong": true, "timestamp": method.len() })).await;
        }
        socket
    };
    let raw = client.call_raw("long.method.name", json!({}));
    let (typed, raw, _socket) = tokio::join!(client.call::<typed::Ping>(&NoParams {}), raw, serve);
    assert_eq!(typed.expect("a pong"), Pong { pong: true, timestamp: 9 });
    assert_eq!(raw.expect("a result")["timestamp"], 16);
}

#[tokio::test]
async fn client_returns_at_once_after_a_drain() {
    let (gateway, tasks) = (ScriptedGateway::start().await, Tasks::new());
    let client = gateway.client(&tasks);
    let mut events = client.events();
    for _ in 0..3 {
        let (mut socket, _) = gateway.accept_login().await;
        assert_eq!(next(&mut events).await, "connected con_1");
        socket.notify("event/x", json!({ "seq": 1 })).await;
        assert_eq!(next(&mut events).await, r#"event/x {"seq":1}"#);
        socket.close(1000).await;
        assert_eq!(next(&mut events).await, "disconnected");
    }
    let (_socket, token) = gateway.accept_login().await;
    assert_eq!((next(&mut events).await, &*token), ("connected con_1".to_owned(), "token-4"));
}

#[tokio::test]
async fn client_does_not_return_after_its_login_ended() {
    let disconnect = json!({ "code": 4001, "reason": "unauthenticated", "detail": "on purpose" });
    for (code, notification) in [(4001, None), (4003, None), (1000, Some(disconnect))] {
        let (gateway, tasks) = (ScriptedGateway::start().await, Tasks::new());
        let client = gateway.client(&tasks);
        let mut events = client.events();
        let (mut socket, _) = gateway.accept_login().await;
        assert_eq!(next(&mut events).await, "connected con_1");
        let serve = async {
            socket.request().await;
            if let Some(notification) = notification {
                socket.notify("event/gateway.disconnect", notification).await;
            }
            socket.close(code).await;
        };
        let (lost, ()) = tokio::join!(client.call::<typed::Ping>(&NoParams {}), serve);
        assert!(lost.expect_err("no response").may_have_been_handled(), "{code}");
        let ended = "ended: the server ended the connection for good: on purpose";
        assert_eq!((&*next(&mut events).await, &*next(&mut events).await), (ended, "none"), "{code}");
        let refused = client.call::<typed::Ping>(&NoParams {}).await.expect_err("ended");
        assert!(matches!(refused, SocketError::Ended { .. }), "{refused:?}");
        assert!(matches!(client.connected().await, Err(SocketError::Ended { .. })));
        let left = tasks.shutdown(TIMEOUT).await;
        assert!(left.is_empty(), "no task that could connect again: {left:?}");
    }
}

#[tokio::test]
async fn client_reconnects_after_other_close_codes_and_broken_connections() {
    let (gateway, tasks) = (ScriptedGateway::start().await, Tasks::new());
    let client = gateway.client(&tasks);
    let mut events = client.events();
    for code in [Some(1008), Some(1013), Some(4012), None] {
        let (socket, _) = gateway.accept_login().await;
        assert_eq!(next(&mut events).await, "connected con_1");
        match code {
            Some(code) => socket.close(code).await,
            None => drop(socket),
        }
        assert_eq!(next(&mut events).await, "disconnected", "{code:?}");
    }
    gateway.accept_login().await;
}

#[tokio::test]
async fn call_of_a_lost_connection_is_not_repeated_and_a_later_one_waits() {
    let (gateway, tasks) = (ScriptedGateway::start().await, Tasks::new());
    let client = gateway.client(&tasks);
    let (mut socket, _) = gateway.accept_login().await;
    let serve = async {
        socket.request().await;
        drop(socket);
    };
    let (lost, ()) = tokio::join!(client.call_raw("first", json!({})), serve);
    assert!(matches!(lost, Err(SocketError::Lost { .. })), "{lost:?}");
    let serve = async {
        let (mut socket, _) = gateway.accept_login().await;
        let (id, method, _) = socket.request().await;
        socket.respond(&id, json!(method)).await;
        socket
    };
    let (answered, _socket) = tokio::join!(client.call_raw("second", json!({})), serve);
    assert_eq!(answered.expect("answered"), "second", "the first one was not sent again");
}

#[tokio::test]
async fn refused_token_is_replaced_once() {
    let (gateway, tasks, tokens) = (ScriptedGateway::start().await, Tasks::new(), CountingTokens::new(LONG));
    let client = SocketClient::start(gateway.options(&tokens), &tasks);
    for _ in 0..2 {
        let mut socket = gateway.accept().await;
        let (id, _, _) = socket.request().await;
        socket.fail(&id, FailureKind::Unauthenticated).await;
    }
    let ended = client.connected().await.expect_err("refused twice");
    assert_eq!(ended.kind(), Some(FailureKind::Unauthenticated));
    assert_eq!(tokens.requests(), [None, Some("token-1".to_owned())]);
}

#[tokio::test]
async fn overloaded_server_is_asked_again_after_the_time_it_names() {
    let (gateway, tasks) = (ScriptedGateway::start().await, Tasks::new());
    let client = gateway.client(&tasks);
    let body =
        crate::support::problem(503, "overloaded", r#","retryAfterMs":300"#).replace("after-change", "later");
    let (mut stream, _) = gateway.0.accept().await.expect("a connection");
    stream.write_all(crate::support::response(503, &body).as_bytes()).await.expect("sent");
    drop(stream);
    let refused_at = std::time::Instant::now();
    let _socket = gateway.accept_login().await;
    assert!(refused_at.elapsed() >= Duration::from_millis(300), "{:?}", refused_at.elapsed());
    client.connected().await.expect("connected");
}

#[tokio::test]
async fn first_connection_fails_with_its_reason() {
    let gateway = ScriptedGateway::start().await;
    let tokens = CountingTokens::new(LONG);
    let serve = async {
        let mut socket = gateway.accept().await;
        let (id, _, _) = socket.request().await;
        socket.fail(&id, FailureKind::Overloaded).await;
    };
    let tasks = Tasks::new();
    let (refused, ()) = tokio::join!(SocketClient::connect(gateway.options(&tokens), &tasks), serve);
    assert_eq!(refused.expect_err("refused").kind(), Some(FailureKind::Overloaded));

    let serve = async {
        let (stream, _) = gateway.0.accept().await.expect("a connection");
        let mut socket = ServerSide(accept_async(stream).await.expect("a WebSocket"));
        socket.notify("event/other", json!({})).await;
        socket
    };
    let (refused, _socket) = tokio::join!(SocketClient::connect(gateway.options(&tokens), &tasks), serve);
    assert!(matches!(refused, Err(SocketError::InvalidResponse(_))), "{refused:?}");
}

#[tokio::test]
async fn token_is_refreshed_before_it_expires() {
    let (gateway, tasks) = (ScriptedGateway::start().await, Tasks::new());
    // A second more than the time before which a token is refreshed.
    let tokens = CountingTokens::new(SignedDuration::from_secs(301));
    let client = SocketClient::start(gateway.options(&tokens), &tasks);
    let (_socket, _) = gateway.accept_login().await;
    client.connected().await.expect("connected");
    let refreshed = async {
        while tokens.requests() != [None, None] {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(TIMEOUT, refreshed).await.expect("a second token");
    assert!(matches!(client.state(), SocketState::Connected(_)), "on the same connection");
}

#[tokio::test]
async fn slow_consumer_is_told_that_it_missed_notifications() {
    let (gateway, tasks) = (ScriptedGateway::start().await, Tasks::new());
    let client = gateway.client(&tasks);
    let mut events = client.events();
    let serve = async {
        let (mut socket, _) = gateway.accept_login().await;
        let (id, _, _) = socket.request().await;
        for seq in 0..300 {
            socket.notify("event/x", json!({ "seq": seq })).await;
        }
        socket.respond(&id, json!({ "pong": true, "timestamp": 0 })).await;
        socket
    };
    let (pong, _socket) = tokio::join!(client.call::<typed::Ping>(&NoParams {}), serve);
    pong.expect("calls go on");
    assert_eq!(next(&mut events).await, "missed");
    for seq in 255..300 {
        assert_eq!(next(&mut events).await, format!(r#"event/x {{"seq":{seq}}}"#));
    }
}

#[tokio::test]
async fn call_that_is_too_large_is_refused_and_not_sent() {
    let (gateway, tasks) = (ScriptedGateway::start().await, Tasks::new());
    let client = gateway.client(&tasks);
    let (mut socket, _) = gateway.accept_login().await;
    let refused = client.call_raw("a", json!({ "text": "x".repeat(4096) })).await.expect_err("too large");
    assert!(matches!(refused, SocketError::TooLarge { max: 4096, .. }), "{refused:?}");
    let serve = async {
        let (id, method, _) = socket.request().await;
        socket.respond(&id, json!(method)).await;
        socket
    };
    let (answered, _socket) = tokio::join!(client.call_raw("b", json!({})), serve);
    assert_eq!(answered.expect("answered"), "b");
}

#[tokio::test]
async fn server_that_does_not_answer_a_ping_is_left() {
    let (gateway, tasks) = (ScriptedGateway::start().await, Tasks::new());
    let client = gateway.client(&tasks);
    let mut events = client.events();
    // It reads nothing, so it answers no ping.
    let (_silent, _) = gateway.accept_login().await;
    assert_eq!(next(&mut events).await, "connected con_1");
    assert_eq!(next(&mut events).await, "disconnected");
    let (mut reading, _) = gateway.accept_login().await;
    assert_eq!(next(&mut events).await, "connected con_1");
    let ping = timeout(TIMEOUT, async {
        loop {
            if matches!(reading.0.next().await, Some(Ok(Message::Ping(_)))) {
                return;
            }
        }
    });
    ping.await.expect("a ping");
    drop(client);
}

#[tokio::test]
async fn connection_closes_with_the_last_handle() {
    let (gateway, tasks) = (ScriptedGateway::start().await, Tasks::new());
    let client = gateway.client(&tasks);
    let (socket, _) = gateway.accept_login().await;
    let (clone, events) = (client.clone(), client.events());
    drop(client);
    drop(clone);
    assert!(!tasks.running().is_empty(), "the events keep it open");
    drop(events);
    assert!(socket.closes().await);
    let other = gateway.client(&tasks);
    let (socket, _) = gateway.accept_login().await;
    other.close().await;
    assert!(socket.closes().await);
    assert!(matches!(other.call_raw("a", json!({})).await, Err(SocketError::Closed)));
}
