//! Followers of a stream: each entry once, in order, from a start position.

use std::sync::Arc;

use guildhall_domain::journal::Entry;
use guildhall_domain::journal::Seq;
use guildhall_store::journal;
use metrics::counter;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use super::tail::{PAGE_SIZE, Tail, TailEvent};
use crate::ServiceError;

/// Reads a stream after a seq, and continues as it grows.
#[derive(Debug)]
pub struct Follower {
    tail: Arc<Tail>,
    live: broadcast::Receiver<TailEvent>,
    after: Seq,
    /// The entries to return next. Followers share a live batch; only the returned entry is copied.
    batch: Arc<[Entry]>,
    next: usize,
    /// Whether entries must be read from PostgreSQL before live ones are received.
    behind: bool,
}

impl Follower {
    /// Subscribes before the first read, so that no entry is missed in between.
    pub(super) fn new(tail: Arc<Tail>, after: Seq) -> Self {
        let live = tail.events.subscribe();
        Self { tail, live, after, batch: Arc::default(), next: 0, behind: true }
    }

    /// Returns the seq of the last returned entry.
    #[must_use]
    pub fn position(&self) -> Seq {
        self.after
    }

    /// Waits for the next entry. May be called again after an error; no entry is lost.
    pub async fn next(&mut self) -> Result<Entry, ServiceError> {
        loop {
            if let Some(entry) = self.batch.get(self.next) {
                self.next += 1;
                self.after = entry.seq;
                return Ok(entry.clone());
            }
            if self.behind {
                self.read_page().await?;
            } else {
                self.receive().await?;
            }
        }
    }

    /// Reads a page from PostgreSQL. A short page means that this follower has caught up.
    async fn read_page(&mut self) -> Result<(), ServiceError> {
        counter!("guildhall_journal_follower_reads_total").increment(1);
        let page = journal::page(&self.tail.store, self.tail.stream, self.after, PAGE_SIZE).await?;
        self.behind = page.len() == usize::try_from(PAGE_SIZE).unwrap_or(usize::MAX);
        self.set_batch(page.into());
        Ok(())
    }

    /// Sets the batch to return next, without the entries returned before.
    fn set_batch(&mut self, batch: Arc<[Entry]>) {
        self.next = batch.partition_point(|entry| entry.seq <= self.after);
        self.batch = batch;
    }

    async fn receive(&mut self) -> Result<(), ServiceError> {
        match self.live.recv().await {
            Ok(TailEvent::Position(seq)) => {
                self.behind = seq > self.after;
                Ok(())
            }
            Ok(TailEvent::Entries(batch)) => {
                // A batch after a gap is dropped: the follower reads the missing entries from PostgreSQL.
                if batch.first().is_some_and(|first| first.seq <= self.after.next()) {
                    self.set_batch(batch);
                } else {
                    self.behind = true;
                }
                Ok(())
            }
            Err(RecvError::Lagged(_)) => {
                self.behind = true;
                Ok(())
            }
            // Cannot happen: the tail lives as long as its followers. An error is better than waiting forever.
            Err(RecvError::Closed) => Err(ServiceError::Store(guildhall_store::StoreError::Closed)),
        }
    }
}

/// Waits for a stream to grow, without reading the new entries.
#[derive(Debug)]
pub struct GrowthListener {
    grown: watch::Receiver<Seq>,
    _tail: Arc<Tail>,
}

impl GrowthListener {
    pub(super) fn new(tail: Arc<Tail>) -> Self {
        Self { grown: tail.watch_growth(), _tail: tail }
    }

    /// Waits until the stream has grown, or may have grown.
    pub async fn next(&mut self) {
        if self.grown.changed().await.is_err() {
            std::future::pending().await
        }
    }
}
