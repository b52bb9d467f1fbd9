//! The events of a socket client, for one consumer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::Stream;

use super::events::{EventQueue, SocketEvent};
use super::shared::SharedClient;

/// The events of one consumer. Keeps the connection open.
#[derive(Debug)]
pub struct SocketEvents {
    queue: Arc<EventQueue>,
    _client: Arc<SharedClient>,
}

impl SocketEvents {
    pub(super) fn new(queue: Arc<EventQueue>, client: Arc<SharedClient>) -> Self {
        Self { queue, _client: client }
    }

    /// Waits for the next event; none after the end. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<SocketEvent> {
        std::future::poll_fn(|cx| self.queue.poll_next(cx)).await
    }
}

impl Stream for SocketEvents {
    type Item = SocketEvent;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<SocketEvent>> {
        self.queue.poll_next(cx)
    }
}
