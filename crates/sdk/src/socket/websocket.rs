//! One WebSocket: it is opened, waits for its challenge, and makes calls one after the other.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use guildhall_protocol::rpc::auth::{Challenge, Disconnect};
use guildhall_protocol::rpc::{RpcMethod, ServerFrame, parse_server_frame, request_text};
use reqwest::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use reqwest::{StatusCode, Upgraded};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error as WebSocketError, Message};

use super::SocketError;
use super::endpoint::SocketEndpoint;

/// Until the challenge: DNS, TCP, TLS and the upgrade.
const OPEN_TIMEOUT: Duration = Duration::from_secs(15);

/// A call of a login, or the one that authenticates the connection.
const CALL_TIMEOUT: Duration = Duration::from_secs(15);

/// How long a server gets to answer the close frame.
pub(super) const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The largest frame of a server. Official servers send at most 2 MiB, this one 1 MiB.
const MAX_FRAME_BYTES: usize = 2 * 1024 * 1024;

/// The buffer that each connection keeps.
const READ_BUFFER_BYTES: usize = 8 * 1024;

/// The name of the first frame.
const CHALLENGE: &str = "challenge";

/// The last frame of a connection that the client must not open again.
pub(super) const DISCONNECT: &str = "event/gateway.disconnect";

/// A stream of messages of an upgraded connection.
pub(super) type MessageStream = WebSocketStream<Upgraded>;

/// A WebSocket that has received its challenge.
pub(super) struct WebSocket {
    stream: MessageStream,
    /// The nonce of its challenge.
    pub(super) nonce: String,
    gateway: usize,
    last_id: u64,
}

impl WebSocket {
    /// Opens a connection to the current gateway. The next attempt uses another one if this fails.
    pub(super) async fn open(endpoint: &SocketEndpoint) -> Result<Self, SocketError> {
        let (number, gateway) = endpoint.gateway();
        let opened = timeout(OPEN_TIMEOUT, async {
            let stream = upgrade(gateway).await?;
            Self::after_challenge(stream, number).await
        });
        let opened = opened.await.unwrap_or(Err(SocketError::NotSent(OPEN_TIMEOUT)));
        if opened.is_err() {
            endpoint.failed(number);
        }
        opened
    }

    async fn after_challenge(mut stream: MessageStream, gateway: usize) -> Result<Self, SocketError> {
        match next_frame(&mut stream).await? {
            ServerFrame::Notification { method, params } if method == CHALLENGE => {
                let challenge: Challenge = parse(params)?;
                Ok(Self { stream, nonce: challenge.nonce, gateway, last_id: 0 })
            }
            ServerFrame::Notification { .. } | ServerFrame::Response { .. } => {
                Err(SocketError::InvalidResponse("the first frame is not the challenge"))
            }
        }
    }

    /// Makes one call.
    pub(super) async fn call<M: RpcMethod>(&mut self, params: &M::Params) -> Result<M::Result, SocketError> {
        let params = serde_json::to_value(params).map_err(|_| SocketError::Parameters)?;
        parse(self.call_raw(M::METHOD.spec().name, params).await?)
    }

    /// Makes one call. Other notifications are not expected before `auth.connect`, and are skipped.
    pub(super) async fn call_raw(&mut self, method: &str, params: Value) -> Result<Value, SocketError> {
        self.last_id += 1;
        let id = self.last_id;
        let text = request_text(id, method, params);
        let called = timeout(CALL_TIMEOUT, async {
            self.stream.send(Message::text(text)).await.map_err(|error| lost(&error))?;
            loop {
                if let ServerFrame::Response { id: Value::Number(found), outcome } =
                    next_frame(&mut self.stream).await?
                    && found.as_u64() == Some(id)
                {
                    return Ok(outcome?);
                }
            }
        });
        called.await.unwrap_or(Err(SocketError::Timeout(CALL_TIMEOUT)))
    }

    /// Returns the number of the gateway.
    pub(super) fn gateway(&self) -> usize {
        self.gateway
    }

    /// Returns the connection, and the last id that was used on it.
    pub(super) fn into_parts(self) -> (MessageStream, u64) {
        (self.stream, self.last_id)
    }

    pub(super) async fn close(mut self) {
        let _server_gone = timeout(CLOSE_TIMEOUT, self.stream.close(None)).await;
    }
}

/// Opens the TCP or TLS connection, and turns it into a WebSocket.
async fn upgrade(gateway: &super::endpoint::Gateway) -> Result<MessageStream, SocketError> {
    let (client, key) = (&gateway.client, generate_key());
    let request = client
        .get(gateway.socket.clone())
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_VERSION, "13")
        .header(SEC_WEBSOCKET_KEY, &key);
    let response = client.send_with(request, &[StatusCode::SWITCHING_PROTOCOLS]).await?;
    let accepted = response.headers().get(SEC_WEBSOCKET_ACCEPT).map(|value| value.as_bytes().to_vec());
    if response.status() != StatusCode::SWITCHING_PROTOCOLS
        || accepted != Some(derive_accept_key(key.as_bytes()).into_bytes())
    {
        return Err(SocketError::InvalidResponse("the server did not open a WebSocket"));
    }
    let upgraded = response.upgrade().await.map_err(|source| client.unreachable(source))?;
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(0)
        .max_message_size(Some(MAX_FRAME_BYTES))
        .max_frame_size(Some(MAX_FRAME_BYTES));
    Ok(WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config)).await)
}

/// Waits for a response or a notification.
async fn next_frame(stream: &mut MessageStream) -> Result<ServerFrame, SocketError> {
    loop {
        let message = match stream.next().await {
            Some(Ok(message)) => message,
            Some(Err(error)) => return Err(lost(&error)),
            None => return Err(SocketError::lost("the server closed the connection")),
        };
        match message {
            Message::Text(text) => {
                let frame = parse_server_frame(&text).map_err(|_| INVALID_FRAME)?;
                if let Some(ended) = disconnect_error(&frame) {
                    return Err(ended);
                }
                return Ok(frame);
            }
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            Message::Binary(_) => return Err(INVALID_FRAME),
            Message::Close(frame) => return Err(close_error(frame.as_ref())),
        }
    }
}

pub(super) const INVALID_FRAME: SocketError =
    SocketError::InvalidResponse("a frame is neither a response nor a notification");

/// Returns the error that a frame stands for, if it tells the client not to come back.
pub(super) fn disconnect_error(frame: &ServerFrame) -> Option<SocketError> {
    match frame {
        ServerFrame::Notification { method, params } if method == DISCONNECT => {
            let found = serde_json::from_value::<Disconnect>(params.clone());
            let (code, reason) = match found {
                Ok(found) => (found.code, found.detail),
                Err(_) => (0, "the server says that this client must not come back".to_owned()),
            };
            Some(SocketError::Ended { code, reason })
        }
        ServerFrame::Notification { .. } | ServerFrame::Response { .. } => None,
    }
}

/// Returns why the server closed a connection.
pub(super) fn close_error(frame: Option<&CloseFrame>) -> SocketError {
    let Some(frame) = frame else { return SocketError::lost("the server closed the connection") };
    let (code, reason) = (u16::from(frame.code), frame.reason.to_string());
    match code {
        // The login has ended; no protocol version in common.
        4001 | 4003 => SocketError::Ended { code, reason },
        _ => SocketError::lost(format!("closed with code {code}: {reason}")),
    }
}

pub(super) fn lost(error: &WebSocketError) -> SocketError {
    SocketError::lost(error.to_string())
}

/// Parses what the server sent. The message repeats no value: it may be a credential.
fn parse<T: DeserializeOwned>(value: Value) -> Result<T, SocketError> {
    serde_json::from_value(value)
        .map_err(|_| SocketError::InvalidResponse("another result than the method has"))
}
