//! A client of the socket for tests: it sends what a test says, also what no honest client would send.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::{SinkExt, StreamExt};
use guildhall_identity::pki::{Curve, EcKey, P256PublicKey, Signer};
use guildhall_testkit::Stopwatch;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// Servers of tests compete for the cores.
const TIMEOUT: Duration = Duration::from_secs(20);

/// One open connection.
pub(crate) struct AunSocket {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    /// The nonce of its challenge.
    pub(crate) nonce: String,
    calls: usize,
    /// Notifications that arrived during calls.
    events: VecDeque<Value>,
}

/// How a connection ended: the frames before the end, and the close code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SocketEnd {
    pub(crate) frames: Vec<Value>,
    pub(crate) code: Option<u16>,
}

impl AunSocket {
    /// Opens a connection and reads its challenge.
    pub(crate) async fn open(address: SocketAddr) -> Self {
        Self::try_open(address, &[]).await.expect("a connection")
    }

    /// Opens a connection with these headers.
    pub(crate) async fn try_open(
        address: SocketAddr,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, Error> {
        let mut request = format!("ws://{address}/aun").into_client_request().expect("a request");
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().expect("a header"));
        }
        let (socket, _) = connect_async(request).await?;
        let mut opened = Self { socket, nonce: String::new(), calls: 0, events: VecDeque::new() };
        let challenge = opened.next_frame().await.expect("a challenge");
        assert_eq!(challenge["method"], "challenge");
        opened.nonce = challenge["params"]["nonce"].as_str().expect("a nonce").to_owned();
        Ok(opened)
    }

    pub(crate) async fn send_text(&mut self, text: impl Into<String>) {
        self.socket.send(Message::text(text.into())).await.expect("sent");
    }

    pub(crate) async fn send_message(&mut self, message: Message) -> Result<(), Error> {
        self.socket.send(message).await
    }

    /// Returns the next frame; none at the end.
    pub(crate) async fn next_frame(&mut self) -> Option<Value> {
        loop {
            match timeout(TIMEOUT, self.socket.next()).await.expect("a frame in time")?.ok()? {
                Message::Text(text) => return Some(serde_json::from_str(&text).expect("JSON")),
                Message::Close(_) => return None,
                Message::Ping(_) | Message::Pong(_) | Message::Binary(_) | Message::Frame(_) => {}
            }
        }
    }

    /// Calls a method. Returns its result or its error.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send_text(request.to_string()).await;
        let response = loop {
            let frame = self.next_frame().await.expect("a response");
            if frame.get("id").is_some() {
                break frame;
            }
            self.events.push_back(frame);
        };
        assert_eq!(response["id"], id, "{response}");
        match response.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(response["result"].clone()),
        }
    }

    /// Waits for the next notification. Returns its method and its parameters.
    pub(crate) async fn next_event(&mut self) -> (String, Value) {
        let frame = match self.events.pop_front() {
            Some(frame) => frame,
            None => self.next_frame().await.expect("an event"),
        };
        (frame["method"].as_str().expect("a notification").to_owned(), frame["params"].clone())
    }

    /// Returns whether a notification has arrived whose method starts so.
    pub(crate) fn has_event(&self, prefix: &str) -> bool {
        self.events.iter().any(|event| event["method"].as_str().is_some_and(|name| name.starts_with(prefix)))
    }

    /// Waits for the next message. Returns the parameters of its event.
    pub(crate) async fn next_message(&mut self) -> Value {
        let (method, params) = self.next_event().await;
        assert_eq!(method, "event/message.received", "{params}");
        params
    }

    /// Calls a method that fails. Returns the code and the message.
    pub(crate) async fn call_error(&mut self, method: &str, params: Value) -> (i64, String) {
        let error = self.call(method, params).await.expect_err("a failure");
        let text = error["message"].as_str().expect("a message").to_owned();
        (error["code"].as_i64().expect("a code"), text)
    }

    /// Authenticates the connection.
    pub(crate) async fn connect(&mut self, token: &str) -> Result<Value, Value> {
        self.call("auth.connect", connect_params(&self.nonce, token)).await
    }

    /// Waits for the end of the connection. Returns the frames until then and the close code.
    pub(crate) async fn wait_for_close(mut self) -> SocketEnd {
        let mut frames = Vec::new();
        loop {
            match timeout(TIMEOUT, self.socket.next()).await.expect("the end in time") {
                Some(Ok(Message::Text(text))) => frames.push(serde_json::from_str(&text).expect("JSON")),
                Some(Ok(Message::Close(frame))) => {
                    return SocketEnd { frames, code: frame.map(|CloseFrame { code, .. }| code.into()) };
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return SocketEnd { frames, code: None },
            }
        }
    }
}

pub(crate) fn connect_params(nonce: &str, token: &str) -> Value {
    json!({
        "nonce": nonce,
        "auth": { "method": "kite_token", "token": token },
        "protocol": { "min": "1.0", "max": "1.0" },
        "device": { "id": "device-1", "type": "sdk" },
        "client": { "slot_id": "default" },
    })
}

/// A registered AID with its key.
pub(crate) struct AunIdentity {
    pub(crate) aid: String,
    pub(crate) key: EcKey,
    pub(crate) certificate: String,
}

/// The tokens of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AunTokens {
    pub(crate) access: String,
    pub(crate) refresh: String,
}

impl AunIdentity {
    /// Registers an AID with a new key.
    pub(crate) async fn register(address: SocketAddr, aid: &str) -> Self {
        let key = EcKey::generate(Curve::P256).expect("a key");
        let params = json!({ "aid": aid, "public_key": public_key(&key), "curve": "P-256" });
        let created = AunSocket::open(address).await.call("auth.create_aid", params).await.expect("created");
        let certificate = created["cert"].as_str().expect("a certificate").to_owned();
        Self { aid: aid.to_owned(), key, certificate }
    }

    pub(crate) fn sign(&self, message: &str) -> String {
        STANDARD.encode(self.key.sign(message.as_bytes()).expect("signed"))
    }

    pub(crate) fn login1_params(&self) -> Value {
        json!({ "aid": self.aid, "cert": self.certificate, "client_nonce": "bm9uY2Ugb2YgY2xpZW50" })
    }

    /// Returns the parameters of the second step, signed.
    pub(crate) fn login2_params(&self, started: &Value) -> Value {
        let nonce = started["nonce"].as_str().expect("a nonce");
        let time = "1700000000.125";
        json!({
            "aid": self.aid,
            "request_id": started["request_id"],
            "nonce": nonce,
            "client_time": time,
            "signature": self.sign(&format!("{nonce}:{time}")),
        })
    }

    /// Logs in: each step on a connection of its own, as official clients do, the second at another replica.
    pub(crate) async fn log_in(&self, first: SocketAddr, second: SocketAddr) -> AunTokens {
        let started = AunSocket::open(first).await.call("auth.aid_login1", self.login1_params()).await;
        let params = self.login2_params(&started.expect("started"));
        let tokens = AunSocket::open(second).await.call("auth.aid_login2", params).await.expect("logged in");
        tokens_of(&tokens)
    }

    /// Opens an authenticated connection.
    pub(crate) async fn connected(&self, address: SocketAddr) -> AunSocket {
        self.connected_with(address, json!({})).await
    }

    /// Opens an authenticated connection of a device.
    pub(crate) async fn connected_device(&self, address: SocketAddr, device: &str) -> AunSocket {
        self.connected_with(address, json!({ "device": { "id": device, "type": "sdk" } })).await
    }

    /// Opens an authenticated connection with other parameters than the usual ones.
    pub(crate) async fn connected_with(&self, address: SocketAddr, changes: Value) -> AunSocket {
        let tokens = self.log_in(address, address).await;
        let mut socket = AunSocket::open(address).await;
        let mut params = connect_params(&socket.nonce, &tokens.access);
        for (name, value) in changes.as_object().expect("members") {
            params[name] = value.clone();
        }
        socket.call("auth.connect", params).await.expect("connected");
        socket
    }
}

pub(crate) fn tokens_of(result: &Value) -> AunTokens {
    let text = |name: &str| result[name].as_str().expect(name).to_owned();
    AunTokens { access: text("access_token"), refresh: text("refresh_token") }
}

/// Returns the public key in base64.
pub(crate) fn public_key(key: &EcKey) -> String {
    STANDARD.encode(P256PublicKey::of(key).expect("a P-256 key").spki())
}

/// Waits for the end of a connection and returns how long it took.
pub(crate) async fn end_within(socket: AunSocket, limit: Duration) -> SocketEnd {
    let stopwatch = Stopwatch::start();
    let end = socket.wait_for_close().await;
    assert!(stopwatch.elapsed() < limit, "{:?}", stopwatch.elapsed());
    end
}
