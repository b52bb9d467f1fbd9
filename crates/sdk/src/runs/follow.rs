//! A run as it goes on.
//!
//! Read page by page, with a pause that is short while something happens and longer while nothing does. Who follows
//! sees nothing of that: a stream can take its place.

use std::collections::VecDeque;
use std::time::Duration;

use guildhall_domain::ids::RunId;

use super::{RunEvent, RunEventPage};
use crate::backoff::Backoff;
use crate::{Client, ClientError};

/// Events that are asked for at once: few enough that the first are shown soon.
const PAGE: u32 = 200;

/// The pause after events came; doubled with each look that finds none, up to the longest.
const BUSY: Duration = Duration::from_millis(50);
const IDLE: Duration = Duration::from_secs(1);

/// What a follower sees.
#[derive(Debug)]
pub enum RunFollowed {
    Event(Box<RunEvent>),
    /// Everything that was there has been told; what comes from here on is new. Said once, and again after
    /// [`Restored`](Self::Restored).
    CaughtUp,
    /// The database was restored meanwhile and knows less of the run: it is told again from its beginning.
    Restored,
    /// The server cannot be asked. The next call waits and tries again.
    Away(ClientError),
}

/// Follows one run. Goes on by itself, also across restarts of the server, and yields every event once, in order.
#[derive(Debug)]
pub struct RunFollower {
    client: Client,
    run: RunId,
    /// The number of the last event that was told.
    last_seq: i64,
    /// Where the run ended when it was last looked at.
    end_seq: i64,
    /// Read and not told yet.
    waiting: VecDeque<RunEvent>,
    replay: Replay,
    pause: Duration,
    backoff: Backoff,
}

/// How far the telling of what was there already has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replay {
    Reading,
    /// All of it is read, and told once nothing waits.
    Read,
    Told,
}

impl RunFollower {
    pub(super) fn new(client: Client, run: RunId, after_seq: i64) -> Self {
        Self {
            client,
            run,
            last_seq: after_seq,
            end_seq: 0,
            waiting: VecDeque::new(),
            replay: Replay::Reading,
            pause: Duration::ZERO,
            backoff: Backoff::default(),
        }
    }

    /// Waits for the next thing to tell. After an error it is over: trying again would fail again. Nothing is lost when
    /// the future is dropped.
    pub async fn next(&mut self) -> Result<RunFollowed, ClientError> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                self.last_seq = event.view.seq;
                return Ok(RunFollowed::Event(Box::new(event)));
            }
            if self.replay == Replay::Read {
                self.replay = Replay::Told;
                return Ok(RunFollowed::CaughtUp);
            }
            tokio::time::sleep(self.pause.max(self.backoff.wait())).await;
            match self.client.run_events(self.run, self.last_seq, PAGE).await {
                Ok(page) if page.last_seq < self.end_seq => {
                    self.begin_anew();
                    return Ok(RunFollowed::Restored);
                }
                Ok(page) => self.take(page),
                Err(error) if error.is_passing() => {
                    self.backoff.failed(error.retry_after());
                    return Ok(RunFollowed::Away(error));
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn begin_anew(&mut self) {
        self.last_seq = 0;
        self.end_seq = 0;
        self.replay = Replay::Reading;
        self.pause = Duration::ZERO;
    }

    fn take(&mut self, page: RunEventPage) {
        self.backoff.succeeded();
        self.end_seq = page.last_seq;
        let mut last = self.last_seq;
        for event in page.events {
            // A server that begins before what was asked for must not make anything come twice.
            if event.view.seq > last {
                last = event.view.seq;
                self.waiting.push_back(event);
            }
        }
        self.pause = if self.waiting.is_empty() {
            (self.pause * 2).clamp(BUSY, IDLE)
        } else if page.has_more {
            Duration::ZERO
        } else {
            BUSY
        };
        if self.replay == Replay::Reading && !page.has_more {
            self.replay = Replay::Read;
        }
    }
}
