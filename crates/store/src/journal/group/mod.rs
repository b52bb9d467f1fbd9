//! Group commit: hot appends of many callers become one statement and one commit.
//!
//! A few lanes, each with a connection of its own; a stream always takes the same lane. While a lane waits for a
//! commit the next group gathers by itself, so nobody waits for company. The numbers are decided here, from the heads
//! as the lane last saw them, and PostgreSQL takes them only where the heads are still so. What does not fit (another
//! replica wrote, an entry is repeated, the holder changed) is appended singly, under the head's lock.

mod lane;
mod plan;

use std::hash::{DefaultHasher, Hash, Hasher};

use guildhall_domain::journal::{Placed, Seq, Stream};
use guildhall_runtime::Tasks;
use tokio::sync::{mpsc, oneshot};

use super::{Append, AppendError};
use crate::{Store, StoreError};
use lane::Lane;

/// Appends that may wait in one lane: at 50 entries of 1 KB each that is 25 MB.
const WAITING_AT_MOST: usize = 512;

/// Says that a stream has grown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake {
    pub stream: Stream,
    pub last_seq: Seq,
}

pub(super) struct Request {
    append: Append,
    answer: oneshot::Sender<Result<Vec<Placed>, AppendError>>,
}

/// Takes appends and commits them in groups. Cheap to clone.
#[derive(Debug, Clone)]
pub struct GroupWriter {
    lanes: Vec<mpsc::Sender<Request>>,
}

impl GroupWriter {
    /// Starts the lanes. Each says on `wakes` what has grown; one that is lost there is found by a timer.
    #[must_use]
    pub fn start(store: &Store, tasks: &Tasks, lanes: usize, wakes: &mpsc::Sender<Wake>) -> Self {
        let lanes = (0..lanes.max(1)).map(|_| {
            let (sender, receiver) = mpsc::channel(WAITING_AT_MOST);
            let lane = Lane::new(store.clone(), receiver, wakes.clone());
            tasks.spawn("journal-lane", lane.run(tasks.stop()));
            sender
        });
        Self { lanes: lanes.collect() }
    }

    /// Appends, and returns when PostgreSQL has confirmed it.
    pub async fn append(&self, append: Append) -> Result<Vec<Placed>, AppendError> {
        let (answer, answered) = oneshot::channel();
        let lane = self.lane_of(append.stream);
        lane.try_send(Request { append, answer }).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => AppendError::Overloaded,
            mpsc::error::TrySendError::Closed(_) => AppendError::Store(StoreError::Closed),
        })?;
        answered.await.unwrap_or(Err(AppendError::Store(StoreError::Closed)))
    }

    fn lane_of(&self, stream: Stream) -> &mpsc::Sender<Request> {
        let mut hasher = DefaultHasher::new();
        stream.hash(&mut hasher);
        let lanes = u64::try_from(self.lanes.len()).unwrap_or(1);
        &self.lanes[usize::try_from(hasher.finish() % lanes).unwrap_or(0)]
    }
}
