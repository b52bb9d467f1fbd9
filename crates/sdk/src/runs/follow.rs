//! Follows the events of a run.
//!
//! Polls page by page, with a short pause while events arrive and a longer one while none do. The interface hides the
//! polling, so a server-sent stream can replace it.

use std::collections::VecDeque;
use std::time::Duration;

use guildhall_domain::ids::RunId;

use super::events::{RunEvent, RunEventPage};
use crate::backoff::Backoff;
use crate::{Client, ClientError};

/// Page size: small enough that the first events arrive soon.
const PAGE_SIZE: u32 = 200;

/// The pause after a page with events; doubled after each empty page, up to the maximum.
const MIN_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// An item of a run's event stream.
#[derive(Debug)]
pub enum RunStreamItem {
    Event(Box<RunEvent>),
    /// All events that existed at the start were returned; later ones are new. Returned once, and again after
    /// [`Restored`](Self::Restored).
    CaughtUp,
    /// The database was restored and has fewer events: the stream starts again from the beginning.
    Restored,
    /// The server is not reachable. The next call waits and retries.
    Disconnected(ClientError),
}

/// Follows one run. Reconnects automatically, also after server restarts, and yields every event once, in order.
#[derive(Debug)]
pub struct RunFollower {
    client: Client,
    run: RunId,
    /// The sequence number of the last returned event.
    last_seq: i64,
    /// The last sequence number of the run at the last poll.
    end_seq: i64,
    /// Events that were read and not returned yet.
    pending: VecDeque<RunEvent>,
    replay: ReplayState,
    pause: Duration,
    backoff: Backoff,
}

/// Progress of the events that existed at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplayState {
    Loading,
    /// All of them are read; reported as caught up when `pending` is empty.
    Loaded,
    Reported,
}

impl Client {
    /// Returns a stream of all events after a sequence number, each once. It connects on first use.
    #[must_use]
    pub fn follow_run(&self, run: RunId, after_seq: i64) -> RunFollower {
        RunFollower::new(self.clone(), run, after_seq)
    }
}

impl RunFollower {
    fn new(client: Client, run: RunId, after_seq: i64) -> Self {
        Self {
            client,
            run,
            last_seq: after_seq,
            end_seq: 0,
            pending: VecDeque::new(),
            replay: ReplayState::Loading,
            pause: Duration::ZERO,
            backoff: Backoff::default(),
        }
    }

    /// Waits for the next item. An error is final: a retry would fail again. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<RunStreamItem, ClientError> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                self.last_seq = event.view.seq;
                return Ok(RunStreamItem::Event(Box::new(event)));
            }
            if self.replay == ReplayState::Loaded {
                self.replay = ReplayState::Reported;
                return Ok(RunStreamItem::CaughtUp);
            }
            tokio::time::sleep(self.pause.max(self.backoff.delay())).await;
            match self.client.run_events(self.run, self.last_seq, PAGE_SIZE).await {
                Ok(page) if page.last_seq < self.end_seq => {
                    self.restart();
                    return Ok(RunStreamItem::Restored);
                }
                Ok(page) => self.apply_page(page),
                Err(error) if error.is_transient() => {
                    self.backoff.record_failure(error.retry_after());
                    return Ok(RunStreamItem::Disconnected(error));
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn restart(&mut self) {
        self.last_seq = 0;
        self.end_seq = 0;
        self.replay = ReplayState::Loading;
        self.pause = Duration::ZERO;
    }

    fn apply_page(&mut self, page: RunEventPage) {
        self.backoff.reset();
        self.end_seq = page.last_seq;
        let mut last = self.last_seq;
        for event in page.events {
            // A server may return events before the requested position; skip them.
            if event.view.seq > last {
                last = event.view.seq;
                self.pending.push_back(event);
            }
        }
        self.pause = if self.pending.is_empty() {
            (self.pause * 2).clamp(MIN_PAUSE, MAX_PAUSE)
        } else if page.has_more {
            Duration::ZERO
        } else {
            MIN_PAUSE
        };
        if self.replay == ReplayState::Loading && !page.has_more {
            self.replay = ReplayState::Loaded;
        }
    }
}
