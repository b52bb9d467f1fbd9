//! One authenticated connection: sends calls, hands out responses and notifications, and notices when it is dead.

use std::ops::RangeInclusive;
use std::time::Duration;

use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt, StreamExt};
use guildhall_protocol::rpc::auth::ConnectResult;
use guildhall_protocol::rpc::{MAX_FRAME_BYTES, ServerFrame, parse_server_frame, request_text};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::tungstenite::Bytes;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error as WebSocketError, Message};
use tokio_util::sync::CancellationToken;

use super::SocketError;
use super::calls::{Call, InFlight, StartedCall};
use super::events::{EventBus, ServerNotification};
use super::websocket::{CLOSE_TIMEOUT, INVALID_FRAME, MessageStream, close_error, disconnect_error, lost};

/// Bounds of the silence after which the client sends a ping: twice as long as the server waits before it sends one.
const PING_AFTER: RangeInclusive<Duration> = Duration::from_secs(5)..=Duration::from_secs(300);

/// How long a server gets to answer a ping.
const PONG_TIMEOUT: Duration = Duration::from_secs(10);

/// Frames that are written but not taken by the connection.
const MAX_OUTGOING: usize = 1;

/// A close frame of a server that wants its clients to come back soon.
const COME_BACK: CloseCode = CloseCode::Normal;

/// Why a connection is over.
#[derive(Debug, Clone)]
pub(super) enum ConnectionEnd {
    /// The server shuts down, or closed an idle connection: another one can be opened at once.
    Drained,
    Lost(SocketError),
    /// The server does not want this client any more.
    Ended(SocketError),
    /// This client was closed.
    Closed,
}

/// What a connection works with.
pub(super) struct ConnectionParts<'a> {
    pub(super) calls: &'a mut mpsc::Receiver<Call>,
    pub(super) events: &'a EventBus,
    pub(super) stop: &'a CancellationToken,
    pub(super) limits: ConnectionLimits,
}

/// What the server said about its connections.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionLimits {
    pub(super) max_frame_bytes: usize,
    ping_after: Duration,
}

impl ConnectionLimits {
    pub(super) fn of(info: &ConnectResult) -> Self {
        let ping_after = Duration::from_secs(info.heartbeat_interval).saturating_mul(2);
        Self {
            max_frame_bytes: info.capabilities.max_message_size.min(MAX_FRAME_BYTES),
            ping_after: ping_after.clamp(*PING_AFTER.start(), *PING_AFTER.end()),
        }
    }
}

/// Serves a connection until its end. Every call that was sent on it has ended then.
pub(super) async fn serve(stream: MessageStream, last_id: u64, parts: ConnectionParts<'_>) -> ConnectionEnd {
    let (mut sink, stream) = stream.split();
    let (outgoing, frames) = mpsc::channel(MAX_OUTGOING);
    let mut in_flight = InFlight::new(last_id);
    let mut reader = Reader {
        stream,
        outgoing,
        in_flight: &mut in_flight,
        last_received_at: Instant::now(),
        is_pinged: false,
        parts,
    };
    let end = tokio::select! {
        end = reader.run() => end,
        error = write_frames(&mut sink, frames) => {
            // The reason of the server may have arrived before.
            timeout(CLOSE_TIMEOUT, reader.run()).await.unwrap_or(ConnectionEnd::Lost(error))
        }
    };
    drop(reader);
    if matches!(end, ConnectionEnd::Closed) {
        let frame = CloseFrame { code: CloseCode::Normal, reason: "".into() };
        let _server_gone = timeout(CLOSE_TIMEOUT, sink.send(Message::Close(Some(frame)))).await;
    }
    in_flight.fail_all(&end.error());
    end
}

/// Writes frames one after the other. Returns only when the connection takes no more.
async fn write_frames(
    sink: &mut SplitSink<MessageStream, Message>,
    mut frames: mpsc::Receiver<Message>,
) -> SocketError {
    while let Some(frame) = frames.recv().await {
        if let Err(error) = sink.send(frame).await {
            return lost(&error);
        }
    }
    std::future::pending().await
}

struct Reader<'a> {
    stream: SplitStream<MessageStream>,
    outgoing: mpsc::Sender<Message>,
    in_flight: &'a mut InFlight,
    last_received_at: Instant,
    is_pinged: bool,
    parts: ConnectionParts<'a>,
}

impl Reader<'_> {
    async fn run(&mut self) -> ConnectionEnd {
        let outgoing = self.outgoing.clone();
        loop {
            if !self.in_flight.has_room() {
                self.in_flight.forget_abandoned();
            }
            let ping_after = self.parts.limits.ping_after;
            let silence = if self.is_pinged { ping_after + PONG_TIMEOUT } else { ping_after };
            tokio::select! {
                () = self.parts.stop.cancelled() => return ConnectionEnd::Closed,
                () = sleep_until(self.last_received_at + silence) => {
                    if self.is_pinged {
                        return ConnectionEnd::Lost(SocketError::lost("no answer to a ping"));
                    }
                    self.is_pinged = true;
                    // Where frames wait already, their responses would show that the server is there.
                    let _frames_wait = self.outgoing.try_send(Message::Ping(Bytes::new()));
                }
                message = self.stream.next() => {
                    if let Some(end) = self.receive(message) {
                        return end;
                    }
                }
                (permit, call) = next_call(&outgoing, self.parts.calls), if self.in_flight.has_room() => {
                    send(permit, call, self.in_flight, self.parts.limits.max_frame_bytes);
                }
            }
        }
    }

    /// Handles what came. Returns why the connection is over, if it is.
    fn receive(&mut self, message: Option<Result<Message, WebSocketError>>) -> Option<ConnectionEnd> {
        self.last_received_at = Instant::now();
        self.is_pinged = false;
        match message {
            Some(Ok(Message::Text(text))) => self.receive_text(&text),
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => None,
            Some(Ok(Message::Close(Some(frame)))) if frame.code == COME_BACK => Some(ConnectionEnd::Drained),
            Some(Ok(Message::Close(frame))) => Some(ConnectionEnd::after(close_error(frame.as_ref()))),
            Some(Ok(Message::Binary(_))) => Some(ConnectionEnd::Lost(INVALID_FRAME)),
            Some(Err(error)) => Some(ConnectionEnd::Lost(lost(&error))),
            None => Some(ConnectionEnd::Lost(SocketError::lost("the server closed the connection"))),
        }
    }

    fn receive_text(&mut self, text: &str) -> Option<ConnectionEnd> {
        let Ok(frame) = parse_server_frame(text) else { return Some(ConnectionEnd::Lost(INVALID_FRAME)) };
        if let Some(error) = disconnect_error(&frame) {
            return Some(ConnectionEnd::Ended(error));
        }
        match frame {
            ServerFrame::Response { id, outcome } => self.in_flight.complete(&id, outcome),
            ServerFrame::Notification { method, params } => {
                self.parts.events.publish(ServerNotification { method, params }, text.len());
            }
        }
        None
    }
}

/// Waits for a call and for room to send it. Cancel-safe.
async fn next_call<'a>(
    outgoing: &'a mpsc::Sender<Message>,
    calls: &mut mpsc::Receiver<Call>,
) -> (mpsc::Permit<'a, Message>, Call) {
    if let Ok(permit) = outgoing.reserve().await
        && let Some(call) = calls.recv().await
    {
        return (permit, call);
    }
    // The last handle is gone, which stops the connection too.
    std::future::pending().await
}

fn send(permit: mpsc::Permit<'_, Message>, call: Call, in_flight: &mut InFlight, max_bytes: usize) {
    let Some(StartedCall { method, params, reply }) = call.start() else { return };
    let id = in_flight.next_id();
    let text = request_text(id, &method, params);
    if text.len() > max_bytes {
        let error = SocketError::TooLarge { bytes: text.len(), max: max_bytes };
        let _caller_gone = reply.send(Err(error));
        return;
    }
    in_flight.add(id, reply);
    permit.send(Message::text(text));
}

impl ConnectionEnd {
    fn after(error: SocketError) -> Self {
        if matches!(error, SocketError::Ended { .. }) { Self::Ended(error) } else { Self::Lost(error) }
    }

    /// Returns the error of calls that were sent on the connection.
    pub(super) fn error(&self) -> SocketError {
        match self {
            Self::Drained => SocketError::lost("the server asks to connect again"),
            Self::Lost(error) => error.clone(),
            Self::Ended(error) => SocketError::lost(error.to_string()),
            Self::Closed => SocketError::lost("the socket client was closed"),
        }
    }
}
