//! One follower of a stream: every entry once, in order, from where it left off.

use std::sync::Arc;

use guildhall_domain::journal::Seq;
use guildhall_store::journal::{self, Entry};
use metrics::counter;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use super::tail::{News, PAGE, Tail};
use crate::ServiceError;

/// Reads a stream from a number on, and goes on as it grows.
#[derive(Debug)]
pub struct Follower {
    tail: Arc<Tail>,
    live: broadcast::Receiver<News>,
    after: Seq,
    /// What is handed out next. All followers share a live batch: only the entry that is handed out is copied.
    batch: Arc<[Entry]>,
    next: usize,
    /// Whether what PostgreSQL has must be read before going live again.
    behind: bool,
}

impl Follower {
    /// Begins: first listens, then reads, then goes live, so that nothing falls in between.
    pub(super) fn new(tail: Arc<Tail>, after: Seq) -> Self {
        let live = tail.news.subscribe();
        Self { tail, live, after, batch: Arc::default(), next: 0, behind: true }
    }

    /// Returns the last number handed out.
    #[must_use]
    pub fn position(&self) -> Seq {
        self.after
    }

    /// Waits for the next entry. After an error the follower may be asked again; nothing is lost.
    pub async fn next(&mut self) -> Result<Entry, ServiceError> {
        loop {
            if let Some(entry) = self.batch.get(self.next) {
                self.next += 1;
                self.after = entry.seq;
                return Ok(entry.clone());
            }
            if self.behind {
                self.read().await?;
            } else {
                self.listen().await?;
            }
        }
    }

    /// Reads a page from PostgreSQL. A short one means that this follower has caught up.
    async fn read(&mut self) -> Result<(), ServiceError> {
        counter!("guildhall_journal_follower_reads_total").increment(1);
        let page = journal::page(&self.tail.store, self.tail.stream, self.after, PAGE).await?;
        self.behind = page.len() == usize::try_from(PAGE).unwrap_or(usize::MAX);
        self.take(page.into());
        Ok(())
    }

    /// Hands out next what of a batch is new here.
    fn take(&mut self, batch: Arc<[Entry]>) {
        self.next = batch.partition_point(|entry| entry.seq <= self.after);
        self.batch = batch;
    }

    async fn listen(&mut self) -> Result<(), ServiceError> {
        match self.live.recv().await {
            Ok(News::Reaches(seq)) => {
                self.behind = seq > self.after;
                Ok(())
            }
            Ok(News::Entries(batch)) => {
                // The batch overlaps what was read, follows on it, or leaves a gap that is read.
                if batch.first().is_some_and(|first| first.seq <= self.after.next()) {
                    self.take(batch);
                } else {
                    self.behind = true;
                }
                Ok(())
            }
            Err(RecvError::Lagged(_)) => {
                self.behind = true;
                Ok(())
            }
            // The tail lives as long as its followers; this cannot be, and waiting for ever would hide it.
            Err(RecvError::Closed) => Err(ServiceError::Store(guildhall_store::StoreError::Closed)),
        }
    }
}

/// Waits for a stream to grow, without reading what came.
#[derive(Debug)]
pub struct Growth {
    grown: watch::Receiver<Seq>,
    _tail: Arc<Tail>,
}

impl Growth {
    pub(super) fn new(tail: Arc<Tail>) -> Self {
        Self { grown: tail.growth(), _tail: tail }
    }

    /// Returns when the stream has grown, or may have: look.
    pub async fn next(&mut self) {
        if self.grown.changed().await.is_err() {
            std::future::pending().await
        }
    }
}
