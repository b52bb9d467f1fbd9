//! What waits for one reader: bounded, and gone with either end.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use guildhall_domain::journal::follow::{Backlog, Bounds, Push};
use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, DropGuard};

struct Shared {
    state: Mutex<State>,
    /// A frame came, or the last one has.
    readable: Notify,
    /// A frame was read.
    writable: Notify,
}

struct State {
    frames: VecDeque<Frame>,
    backlog: Backlog,
    is_finished: bool,
}

struct Frame {
    bytes: Bytes,
    /// Whether it counts against the bounds. What a stream says of itself does not: it is little, and must be said.
    counts: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end that frames are put in. One task has it.
pub(super) struct Writer {
    shared: Arc<Shared>,
    gone: CancellationToken,
}

/// The end that they are read from.
pub(super) struct Reader {
    shared: Arc<Shared>,
    _gone: DropGuard,
}

/// What becomes of the frames that wait when a stream is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiting {
    Sent,
    /// The facts are thrown away: whoever may read goes on after the last one they have.
    Dropped,
}

pub(super) fn queue(bounds: Bounds) -> (Writer, Reader) {
    let state = State { frames: VecDeque::new(), backlog: Backlog::new(bounds), is_finished: false };
    let shared =
        Arc::new(Shared { state: Mutex::new(state), readable: Notify::new(), writable: Notify::new() });
    let gone = CancellationToken::new();
    (Writer { shared: Arc::clone(&shared), gone: gone.clone() }, Reader { shared, _gone: gone.drop_guard() })
}

impl Writer {
    /// Puts a frame in where there is room.
    pub(super) fn push(&self, bytes: &Bytes) -> Push {
        let push = {
            let mut state = self.shared.state();
            let push = state.backlog.push(bytes.len());
            if push == Push::Taken {
                state.frames.push_back(Frame { bytes: bytes.clone(), counts: true });
            }
            push
        };
        self.shared.readable.notify_one();
        push
    }

    /// Waits for room, and puts a frame in.
    pub(super) async fn push_slowly(&self, bytes: &Bytes) {
        while self.push(bytes) == Push::Full {
            self.shared.writable.notified().await;
        }
    }

    /// Puts in what the stream says of itself.
    pub(super) fn say(&self, bytes: Bytes) {
        self.shared.state().frames.push_back(Frame { bytes, counts: false });
        self.shared.readable.notify_one();
    }

    /// Puts in what the reader must know before all that waits.
    pub(super) fn say_first(&self, bytes: Bytes) {
        self.shared.state().frames.push_front(Frame { bytes, counts: false });
        self.shared.readable.notify_one();
    }

    /// Returns whether the reader is to be warned now, and what waits for it.
    pub(super) fn take_warning(&self) -> Option<Bounds> {
        let mut state = self.shared.state();
        state.backlog.take_warning().then(|| state.backlog.load())
    }

    pub(super) fn is_overflowing(&self) -> bool {
        self.shared.state().backlog.is_overflowing()
    }

    /// Waits until everything was read.
    pub(super) async fn drained(&self) {
        while !self.shared.state().frames.is_empty() {
            self.shared.writable.notified().await;
        }
    }

    /// Waits until nobody reads any more.
    pub(super) async fn abandoned(&self) {
        self.gone.cancelled().await;
    }

    /// Ends the stream with a last word.
    pub(super) fn finish(self, last: Bytes, waiting: Waiting) {
        let mut state = self.shared.state();
        if waiting == Waiting::Dropped {
            state.frames.retain(|frame| !frame.counts);
        }
        state.frames.push_back(Frame { bytes: last, counts: false });
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.state().is_finished = true;
        self.shared.readable.notify_one();
    }
}

impl Reader {
    /// Waits for the next frame; none at the end.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        loop {
            match self.take() {
                Some(next) => return next,
                None => self.shared.readable.notified().await,
            }
        }
    }

    /// Takes the frame that is first, or the end; none where both are to come.
    fn take(&self) -> Option<Option<Bytes>> {
        let mut state = self.shared.state();
        let Some(frame) = state.frames.pop_front() else { return state.is_finished.then_some(None) };
        if frame.counts {
            state.backlog.pop(frame.bytes.len());
        }
        drop(state);
        self.shared.writable.notify_one();
        Some(Some(frame.bytes))
    }
}
