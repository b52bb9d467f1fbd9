//! The bounded frame queue of one stream.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use guildhall_domain::journal::follow::{Backlog, PushResult, QueueSize};
use guildhall_service::access::authority::AuthorityWatch;
use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, DropGuard};

struct Shared {
    state: Mutex<State>,
    /// A frame was added, or the queue was finished.
    readable: Notify,
    /// A frame was removed.
    writable: Notify,
}

struct State {
    frames: VecDeque<Frame>,
    backlog: Backlog,
    is_finished: bool,
}

struct Frame {
    bytes: Bytes,
    /// Whether it counts against the limits. Control frames do not: they are small and must be sent.
    is_counted: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sending end, owned by the task of the stream.
pub(super) struct Writer {
    shared: Arc<Shared>,
    reader_dropped: CancellationToken,
}

/// The receiving end.
pub(super) struct Reader {
    shared: Arc<Shared>,
    _on_drop: DropGuard,
}

/// What happens to queued events when a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueuedEvents {
    Send,
    /// A client that may still read continues from its cursor.
    Discard,
}

pub(super) fn bounded_queue(max: QueueSize) -> (Writer, Reader) {
    let state = State { frames: VecDeque::new(), backlog: Backlog::new(max), is_finished: false };
    let shared =
        Arc::new(Shared { state: Mutex::new(state), readable: Notify::new(), writable: Notify::new() });
    let reader_dropped = CancellationToken::new();
    let writer = Writer { shared: Arc::clone(&shared), reader_dropped: reader_dropped.clone() };
    (writer, Reader { shared, _on_drop: reader_dropped.drop_guard() })
}

impl Writer {
    /// Adds an event frame if there is room.
    pub(super) fn push(&self, bytes: &Bytes) -> PushResult {
        let result = {
            let mut state = self.shared.state();
            let result = state.backlog.push(bytes.len());
            if result == PushResult::Accepted {
                state.frames.push_back(Frame { bytes: bytes.clone(), is_counted: true });
            }
            result
        };
        self.shared.readable.notify_one();
        result
    }

    /// Waits for room, then adds an event frame.
    pub(super) async fn push_when_ready(&self, bytes: &Bytes) {
        while self.push(bytes) == PushResult::Full {
            self.shared.writable.notified().await;
        }
    }

    /// Adds a control frame.
    pub(super) fn push_control(&self, bytes: Bytes) {
        self.shared.state().frames.push_back(Frame { bytes, is_counted: false });
        self.shared.readable.notify_one();
    }

    /// Adds a control frame before all queued frames.
    pub(super) fn push_control_front(&self, bytes: Bytes) {
        self.shared.state().frames.push_front(Frame { bytes, is_counted: false });
        self.shared.readable.notify_one();
    }

    /// Returns the size of the queue if the client must be warned now.
    pub(super) fn take_warning(&self) -> Option<QueueSize> {
        let mut state = self.shared.state();
        state.backlog.take_warning().then(|| state.backlog.load())
    }

    pub(super) fn is_overflowing(&self) -> bool {
        self.shared.state().backlog.is_overflowing()
    }

    /// Waits until the queue is empty.
    pub(super) async fn drained(&self) {
        while !self.shared.state().frames.is_empty() {
            self.shared.writable.notified().await;
        }
    }

    /// Waits until the reader is dropped.
    pub(super) async fn reader_dropped(&self) {
        self.reader_dropped.cancelled().await;
    }

    /// Ends the stream, with a last control frame if there is one.
    pub(super) fn finish(self, last: Option<Bytes>, queued: QueuedEvents) {
        let mut state = self.shared.state();
        if queued == QueuedEvents::Discard {
            state.frames.retain(|frame| !frame.is_counted);
        }
        state.frames.extend(last.map(|bytes| Frame { bytes, is_counted: false }));
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.state().is_finished = true;
        self.shared.readable.notify_one();
    }
}

impl Reader {
    /// Waits for the next frame, and until the authority of the client is fresh. Returns none at the end of the stream.
    pub(super) async fn next(&mut self, watch: &mut AuthorityWatch) -> Option<Bytes> {
        loop {
            if self.is_ready() {
                watch.fresh().await;
                // Meanwhile the queue may have been discarded.
                if let Some(next) = self.try_next() {
                    return next;
                }
            } else {
                self.shared.readable.notified().await;
            }
        }
    }

    fn is_ready(&self) -> bool {
        let state = self.shared.state();
        !state.frames.is_empty() || state.is_finished
    }

    /// Removes the first frame. Returns none if the queue is empty, `Some(None)` at the end of the stream.
    fn try_next(&self) -> Option<Option<Bytes>> {
        let mut state = self.shared.state();
        let Some(frame) = state.frames.pop_front() else { return state.is_finished.then_some(None) };
        if frame.is_counted {
            state.backlog.pop(frame.bytes.len());
        }
        drop(state);
        self.shared.writable.notify_one();
        Some(Some(frame.bytes))
    }
}
