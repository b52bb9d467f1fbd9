//! Journals: grouped appends, and followers of growing streams.
//!
//! An append is announced after its commit, to this replica directly and to the others over NATS. As a fallback, a
//! timer polls all followed streams with one query: a lost announcement delays its entries by a second at most.

mod follow;
mod open;
mod tail;

use std::sync::Arc;
use std::time::Duration;

use guildhall_bus::Bus;
use guildhall_domain::journal::{AppendedEntry, Seq, Stream};
use guildhall_runtime::Tasks;
use guildhall_store::Store;
use guildhall_store::journal::{AppendError, AppendRequest, GroupWriter, StreamUpdate};
use tokio::sync::mpsc;
use tracing::debug;

pub use follow::{Follower, GrowthListener};
pub(crate) use open::{EntryStream, StartPosition, read_end, read_last_seq};
use tail::Tails;

/// How often followed streams are polled, in case an announcement was lost.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Announcements queued for sending. More are dropped; the poll finds their entries.
const MAX_QUEUED_UPDATES: usize = 4096;

/// Connections of the group writer. Fewer lanes make larger groups, which is what makes appends fast: with two lanes,
/// single rows of many callers are faster than over one connection each; with four they are not (docs/measured).
const LANES: usize = 2;

/// The journals of one replica. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Journals {
    writer: GroupWriter,
    tails: Arc<Tails>,
    updates: mpsc::Sender<StreamUpdate>,
}

impl Journals {
    #[must_use]
    pub fn start(store: &Store, bus: &Bus, tasks: &Tasks) -> Self {
        let (updates, queued) = mpsc::channel(MAX_QUEUED_UPDATES);
        let writer = GroupWriter::start(store, tasks, LANES, &updates);
        let tails = Tails::new(store.clone(), bus.clone(), tasks.clone());
        tasks.spawn(
            "journal-announce",
            announce_updates(queued, Arc::clone(&tails), bus.clone(), tasks.stop()),
        );
        tasks.spawn("journal-timer", poll_loop(Arc::clone(&tails), tasks.stop()));
        Self { writer, tails, updates }
    }

    /// Appends through the group writer. Returns after the commit.
    pub async fn append(&self, append: AppendRequest) -> Result<Vec<AppendedEntry>, AppendError> {
        self.writer.append(append).await
    }

    /// Announces that a committed transaction appended to a stream. The poll makes up for a lost announcement.
    pub fn announce(&self, update: StreamUpdate) {
        let _found_by_the_poll = self.updates.try_send(update);
    }

    /// Follows a stream after a seq: first the stored entries, then new ones.
    #[must_use]
    pub fn follow(&self, stream: Stream, after: Seq) -> Follower {
        Follower::new(self.tails.get_or_start(stream), after)
    }

    /// Listens for growth of a stream. Earlier growth is not reported: read the stream once after this call.
    #[must_use]
    pub fn watch_growth(&self, stream: Stream) -> GrowthListener {
        GrowthListener::new(self.tails.get_or_start(stream))
    }

    /// Returns how many streams are followed on this replica.
    #[must_use]
    pub fn followed_streams(&self) -> usize {
        self.tails.streams().len()
    }
}

/// Returns the subject on which a stream's growth is announced.
fn subject(stream: Stream) -> String {
    format!("journal.{}.{}", stream.journal.as_str(), stream.owner.simple())
}

async fn announce_updates(
    mut queued: mpsc::Receiver<StreamUpdate>,
    tails: Arc<Tails>,
    bus: Bus,
    stop: tokio_util::sync::CancellationToken,
) {
    loop {
        let update = tokio::select! {
            update = queued.recv() => update,
            () = stop.cancelled() => return,
        };
        let Some(StreamUpdate { stream, last_seq }) = update else { return };
        tails.wake(stream, last_seq);
        bus.publish(&subject(stream), last_seq.to_string().into_bytes()).await;
    }
}

async fn poll_loop(tails: Arc<Tails>, stop: tokio_util::sync::CancellationToken) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(POLL_INTERVAL) => {}
            () = stop.cancelled() => return,
        }
        if let Err(error) = tails.poll().await {
            debug!(error = &error as &dyn std::error::Error, "cannot poll the followed streams");
        }
    }
}
