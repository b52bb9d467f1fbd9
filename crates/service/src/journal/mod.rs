//! Journals as a whole: hot appends, and following a stream as it grows.
//!
//! An append is announced after its commit, to this replica and over NATS to the others. Behind all announcements
//! stands one timer with one query for every stream that somebody follows here, so a lost one costs a second and
//! nothing else.

mod follow;
mod open;
mod tail;

use std::sync::Arc;
use std::time::Duration;

use guildhall_bus::Bus;
use guildhall_domain::journal::{Placed, Seq, Stream};
use guildhall_runtime::Tasks;
use guildhall_store::Store;
use guildhall_store::journal::{Append, AppendError, GroupWriter, Wake};
use tokio::sync::mpsc;
use tracing::debug;

pub use follow::{Follower, Growth};
pub(crate) use open::{Opening, end};
use tail::Tails;

/// The timer behind all announcements of a replica.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Announcements that wait to be sent; more are dropped, and the timer finds what they said.
const WAKES_AT_MOST: usize = 4096;

/// Connections that hot appends are spread over. Fewer lanes make larger groups, and groups are what pays: with two, single
/// rows of many callers are quicker than over connections of their own; with four they are not (docs/measured).
const LANES: usize = 2;

/// The journals of one replica. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Journals {
    writer: GroupWriter,
    tails: Arc<Tails>,
    wakes: mpsc::Sender<Wake>,
}

impl Journals {
    #[must_use]
    pub fn start(store: &Store, bus: &Bus, tasks: &Tasks) -> Self {
        let (wakes, announced) = mpsc::channel(WAKES_AT_MOST);
        let writer = GroupWriter::start(store, tasks, LANES, &wakes);
        let tails = Tails::new(store.clone(), bus.clone(), tasks.clone());
        tasks.spawn("journal-announce", announce(announced, Arc::clone(&tails), bus.clone(), tasks.stop()));
        tasks.spawn("journal-timer", look_regularly(Arc::clone(&tails), tasks.stop()));
        Self { writer, tails, wakes }
    }

    /// Appends through the group writer; returns when PostgreSQL has confirmed it.
    pub async fn append(&self, append: Append) -> Result<Vec<Placed>, AppendError> {
        self.writer.append(append).await
    }

    /// Says that a transaction made a stream grow. One that is not said, or lost, is found by the timer.
    pub fn announce(&self, wake: Wake) {
        let _found_by_the_timer = self.wakes.try_send(wake);
    }

    /// Follows a stream from after a number: first what is there, then what comes.
    #[must_use]
    pub fn follow(&self, stream: Stream, after: Seq) -> Follower {
        Follower::new(self.tails.join(stream), after)
    }

    /// Listens for a stream to grow. What came before is not told: look once after this.
    #[must_use]
    pub fn growth(&self, stream: Stream) -> Growth {
        Growth::new(self.tails.join(stream))
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

async fn announce(
    mut announced: mpsc::Receiver<Wake>,
    tails: Arc<Tails>,
    bus: Bus,
    stop: tokio_util::sync::CancellationToken,
) {
    loop {
        let wake = tokio::select! {
            wake = announced.recv() => wake,
            () = stop.cancelled() => return,
        };
        let Some(Wake { stream, last_seq }) = wake else { return };
        tails.wake(stream, last_seq);
        bus.publish(&subject(stream), last_seq.to_string().into_bytes()).await;
    }
}

async fn look_regularly(tails: Arc<Tails>, stop: tokio_util::sync::CancellationToken) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = stop.cancelled() => return,
        }
        if let Err(error) = tails.look().await {
            debug!(error = &error as &dyn std::error::Error, "the journal timer could not look");
        }
    }
}
