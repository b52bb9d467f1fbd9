//! Group commit: appends of many callers are written with one statement and one commit.
//!
//! There are a few lanes, each with its own connection; a stream always uses the same lane. The next group collects
//! while a lane waits for a commit, so no append is delayed to fill a group. The lane assigns sequence numbers from its
//! cached heads, and PostgreSQL accepts them only if the heads have not changed. An append that does not fit (another
//! replica wrote, an entry is repeated, the holder changed) is retried alone, under the lock of its head.

mod lane;
mod message;
mod plan;

use std::hash::{DefaultHasher, Hash, Hasher};

use guildhall_domain::journal::{AppendedEntry, Stream};
use guildhall_runtime::Tasks;
use tokio::sync::{mpsc, oneshot};

use super::request::{AppendError, AppendRequest};
use crate::{Store, StoreError};
use lane::JournalLane;
use message::PendingAppend;
pub use message::StreamUpdate;

/// Queue length of one lane: with 50 entries of 1 KB per append that is 25 MB.
const MAX_WAITING_APPENDS: usize = 512;

/// Commits appends in groups. Cheap to clone.
#[derive(Debug, Clone)]
pub struct GroupWriter {
    lanes: Vec<mpsc::Sender<PendingAppend>>,
}

impl GroupWriter {
    /// Starts the lanes. Each reports growing streams on `updates`; a timer finds reports that were dropped.
    #[must_use]
    pub fn start(store: &Store, tasks: &Tasks, lanes: usize, updates: &mpsc::Sender<StreamUpdate>) -> Self {
        let lanes = (0..lanes.max(1)).map(|_| {
            let (sender, receiver) = mpsc::channel(MAX_WAITING_APPENDS);
            let lane = JournalLane::new(store.clone(), receiver, updates.clone());
            tasks.spawn("journal-lane", lane.run(tasks.stop()));
            sender
        });
        Self { lanes: lanes.collect() }
    }

    /// Appends, and returns after PostgreSQL has confirmed the commit.
    pub async fn append(&self, append: AppendRequest) -> Result<Vec<AppendedEntry>, AppendError> {
        let (reply, response) = oneshot::channel();
        let lane = self.lane_of(append.stream);
        lane.try_send(PendingAppend { append, reply }).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => AppendError::Overloaded,
            mpsc::error::TrySendError::Closed(_) => AppendError::Store(StoreError::Closed),
        })?;
        response.await.unwrap_or(Err(AppendError::Store(StoreError::Closed)))
    }

    fn lane_of(&self, stream: Stream) -> &mpsc::Sender<PendingAppend> {
        let mut hasher = DefaultHasher::new();
        stream.hash(&mut hasher);
        let lanes = u64::try_from(self.lanes.len()).unwrap_or(1);
        &self.lanes[usize::try_from(hasher.finish() % lanes).unwrap_or(0)]
    }
}
