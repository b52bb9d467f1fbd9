//! A WebSocket with a bounded queue of outgoing frames. Reading and writing go on side by side in one task.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures::{Sink, SinkExt, Stream};
use guildhall_domain::journal::follow::{Backlog, PushResult, QueueSize};
use guildhall_protocol::rpc::{MAX_UNAUTHENTICATED_FRAME_BYTES, Notification};
use serde::Serialize;
use tokio::time::{Instant, timeout};
use tokio_tungstenite::tungstenite::Error as WebSocketError;

use super::close::CloseReason;
use crate::edge::read_limit::ReadLimit;

/// Frames that wait for one client. A client that sends requests without reading gets no more responses than this.
const MAX_QUEUE: QueueSize = QueueSize { frames: 64, bytes: 1024 * 1024 };

/// What an unauthenticated client may send until a frame is complete. The next frames are read ahead with it.
const UNAUTHENTICATED_READ_BYTES: usize = MAX_UNAUTHENTICATED_FRAME_BYTES + 2 * 1024;

/// How long a client gets to receive the close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// What a connection waits for.
#[derive(Debug)]
pub(super) enum TransportEvent {
    Text(String),
    Binary,
    /// A ping or a pong.
    Control,
    TooLarge,
    /// The queue was full, and takes frames again.
    Drained,
    /// The client closed, or the connection broke.
    Closed,
}

/// The parameters of the warning for a client that does not read.
#[derive(Debug, Serialize)]
struct SlowClientWarning {
    max_frames: usize,
    max_bytes: usize,
}

/// A frame that waits to be sent.
struct QueuedFrame {
    message: Message,
    /// None for frames that do not count against the limits: they are small and must be sent.
    counted_bytes: Option<usize>,
}

impl QueuedFrame {
    fn uncounted(message: Message) -> Self {
        Self { message, counted_bytes: None }
    }
}

pub(super) struct Transport {
    socket: WebSocket,
    read_limit: ReadLimit,
    queue: VecDeque<QueuedFrame>,
    backlog: Backlog,
    is_full: bool,
    needs_flush: bool,
    /// Since when something waits that the client does not take.
    blocked_since: Option<Instant>,
    write_timeout: Duration,
}

impl Transport {
    /// Takes a connection that is not authenticated.
    pub(super) fn new(socket: WebSocket, read_limit: ReadLimit, write_timeout: Duration) -> Self {
        let backlog = Backlog::new(MAX_QUEUE);
        read_limit.set(UNAUTHENTICATED_READ_BYTES);
        Self {
            socket,
            read_limit,
            queue: VecDeque::new(),
            backlog,
            is_full: false,
            needs_flush: false,
            blocked_since: None,
            write_timeout,
        }
    }

    /// Adds a frame. The queue takes one more frame than its limit, so that a response is never lost: while it is full,
    /// nothing is read, and so nothing is answered.
    pub(super) fn push(&mut self, text: String) {
        let (bytes, is_waiting) = (text.len(), !self.queue.is_empty());
        let counted_bytes = match self.backlog.push(bytes) {
            PushResult::Accepted => Some(bytes),
            PushResult::Full => {
                self.is_full = true;
                None
            }
        };
        self.queue.push_back(QueuedFrame { message: Message::text(text), counted_bytes });
        // A large response to a client that reads is no reason to warn it.
        if is_waiting && self.backlog.take_warning() {
            let warning = SlowClientWarning { max_frames: MAX_QUEUE.frames, max_bytes: MAX_QUEUE.bytes };
            let notification = Notification::new("event/connection.slow_client_warning", warning).to_text();
            self.queue.push_front(QueuedFrame::uncounted(Message::text(notification)));
        }
    }

    /// Lets the client send a further frame.
    pub(super) fn renew_read_limit(&self, is_authenticated: bool) {
        if is_authenticated {
            self.read_limit.lift();
        } else {
            self.read_limit.set(UNAUTHENTICATED_READ_BYTES);
        }
    }

    /// Returns whether nothing more should be queued.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    pub(super) fn ping(&mut self) {
        self.queue.push_back(QueuedFrame::uncounted(Message::Ping(Bytes::new())));
    }

    /// Returns when the client is to be disconnected because it does not read.
    pub(super) fn stall_deadline(&self) -> Option<Instant> {
        self.blocked_since.map(|since| since + self.write_timeout)
    }

    /// Sends what is queued, and waits for the next frame of the client. Cancel-safe.
    pub(super) async fn next(&mut self) -> TransportEvent {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<TransportEvent> {
        let was_full = self.is_full;
        if self.poll_write(cx).is_err() {
            return Poll::Ready(TransportEvent::Closed);
        }
        if self.is_full {
            return Poll::Pending;
        }
        if was_full {
            return Poll::Ready(TransportEvent::Drained);
        }
        let Poll::Ready(received) = Pin::new(&mut self.socket).poll_next(cx) else {
            return if self.read_limit.is_exceeded() {
                Poll::Ready(TransportEvent::TooLarge)
            } else {
                Poll::Pending
            };
        };
        Poll::Ready(match received {
            Some(Ok(Message::Text(text))) => TransportEvent::Text(text.as_str().to_owned()),
            Some(Ok(Message::Binary(_))) => TransportEvent::Binary,
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => TransportEvent::Control,
            Some(Err(error)) => after_error(error),
            Some(Ok(Message::Close(_))) | None => TransportEvent::Closed,
        })
    }

    /// Writes queued frames until the connection takes no more.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Result<(), axum::Error> {
        while !self.queue.is_empty() {
            let Poll::Ready(ready) = Pin::new(&mut self.socket).poll_ready(cx) else { break };
            ready?;
            let Some(QueuedFrame { message, counted_bytes }) = self.queue.pop_front() else { break };
            if let Some(bytes) = counted_bytes {
                self.backlog.pop(bytes);
            }
            Pin::new(&mut self.socket).start_send(message)?;
            self.needs_flush = true;
            self.is_full = false;
        }
        if self.needs_flush
            && let Poll::Ready(flushed) = Pin::new(&mut self.socket).poll_flush(cx)
        {
            flushed?;
            self.needs_flush = false;
        }
        if self.needs_flush || !self.queue.is_empty() {
            self.blocked_since.get_or_insert_with(Instant::now);
        } else {
            self.blocked_since = None;
        }
        Ok(())
    }

    /// Answers the close frame of the client, if it is still there.
    pub(super) async fn finish(&mut self) {
        let _client_gone = timeout(CLOSE_TIMEOUT, self.socket.close()).await;
    }

    /// Sends the close frame, after a last frame if there is one. What is queued is dropped unless it can be sent at once.
    pub(super) async fn close(&mut self, reason: CloseReason, last: Option<String>) {
        let frame = CloseFrame { code: reason.code(), reason: reason.text().into() };
        let queued: Vec<Message> = match reason {
            CloseReason::SlowReader | CloseReason::Authority(_) => Vec::new(),
            CloseReason::Draining
            | CloseReason::AuthTimeout
            | CloseReason::ShortEnded
            | CloseReason::Idle
            | CloseReason::TooLarge
            | CloseReason::Binary
            | CloseReason::VersionMismatch
            | CloseReason::TooManyConnections => self.queue.drain(..).map(|queued| queued.message).collect(),
        };
        let sending = async {
            for message in queued.into_iter().chain(last.map(Message::text)) {
                self.socket.send(message).await?;
            }
            self.socket.send(Message::Close(Some(frame))).await?;
            // The client answers with a close frame; without it the connection may be reset before it has read ours.
            while let Some(Ok(_)) = self.socket.recv().await {}
            Ok::<_, axum::Error>(())
        };
        let _client_gone = timeout(CLOSE_TIMEOUT, sending).await;
    }
}

/// Tells a frame that is too large from a connection that broke.
fn after_error(error: axum::Error) -> TransportEvent {
    match error.into_inner().downcast_ref::<WebSocketError>() {
        Some(WebSocketError::Capacity(_)) => TransportEvent::TooLarge,
        Some(_) | None => TransportEvent::Closed,
    }
}
