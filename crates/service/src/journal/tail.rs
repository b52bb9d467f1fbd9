//! The tail of a stream: one reader for all who follow it on this replica.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use guildhall_bus::{Bus, Hints};
use guildhall_domain::journal::{Seq, Stream};
use guildhall_runtime::Tasks;
use guildhall_store::journal::{self, Entry};
use guildhall_store::{Store, StoreError};
use metrics::counter;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::subject;

/// Entries read with one query.
pub(super) const PAGE: u32 = 500;

/// Batches held for the slowest follower; one that falls further behind reads for itself.
const BATCHES: usize = 64;

/// A reader that failed tries again after this long.
const REST: Duration = Duration::from_millis(200);

/// The tails that somebody follows on this replica.
#[derive(Debug)]
pub(super) struct Tails {
    store: Store,
    bus: Bus,
    tasks: Tasks,
    tails: Mutex<HashMap<Stream, Weak<Tail>>>,
}

/// What a tail tells its followers.
#[derive(Debug, Clone)]
pub(super) enum News {
    /// The stream reaches at least to here; from here on every entry is handed on.
    Reaches(Seq),
    /// These entries are new.
    Entries(Arc<[Entry]>),
}

/// What the followers of one stream share. The last of them to go ends the reader.
#[derive(Debug)]
pub(super) struct Tail {
    pub(super) stream: Stream,
    pub(super) store: Store,
    pub(super) news: broadcast::Sender<News>,
    grown: watch::Sender<Seq>,
    done: CancellationToken,
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.done.cancel();
    }
}

impl Tail {
    pub(super) fn growth(&self) -> watch::Receiver<Seq> {
        self.grown.subscribe()
    }

    fn wake(&self, last_seq: Seq) {
        self.grown.send_if_modified(|known| {
            let news = last_seq > *known;
            *known = last_seq.max(*known);
            news
        });
    }
}

impl Tails {
    pub(super) fn new(store: Store, bus: Bus, tasks: Tasks) -> Arc<Self> {
        Arc::new(Self { store, bus, tasks, tails: Mutex::default() })
    }

    /// Returns the tail of a stream, begun where this is the first follower.
    pub(super) fn join(self: &Arc<Self>, stream: Stream) -> Arc<Tail> {
        let mut tails = self.tails.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tail) = tails.get(&stream).and_then(Weak::upgrade) {
            return tail;
        }
        let (grown, wakes) = watch::channel(Seq::ZERO);
        let (news, done) = (broadcast::channel(BATCHES).0, CancellationToken::new());
        let tail = Arc::new(Tail { stream, store: self.store.clone(), news, grown, done: done.clone() });
        tails.retain(|_, tail| tail.strong_count() > 0);
        tails.insert(stream, Arc::downgrade(&tail));
        let reader =
            Reader { tail: Arc::downgrade(&tail), store: self.store.clone(), bus: self.bus.clone(), stream };
        self.tasks.spawn("journal-tail", reader.run(wakes, done, self.tasks.stop()));
        tail
    }

    pub(super) fn wake(&self, stream: Stream, last_seq: Seq) {
        let tail =
            self.tails.lock().unwrap_or_else(PoisonError::into_inner).get(&stream).and_then(Weak::upgrade);
        if let Some(tail) = tail {
            tail.wake(last_seq);
        }
    }

    pub(super) fn streams(&self) -> Vec<Stream> {
        let tails = self.tails.lock().unwrap_or_else(PoisonError::into_inner);
        tails.iter().filter(|(_, tail)| tail.strong_count() > 0).map(|(stream, _)| *stream).collect()
    }

    /// Asks PostgreSQL once where all followed streams end, and wakes those that have grown.
    pub(super) async fn look(&self) -> Result<(), StoreError> {
        let streams = self.streams();
        if streams.is_empty() {
            return Ok(());
        }
        for (stream, last_seq) in journal::last_seqs(&self.store, &streams).await? {
            self.wake(stream, last_seq);
        }
        Ok(())
    }
}

struct Reader {
    tail: Weak<Tail>,
    store: Store,
    bus: Bus,
    stream: Stream,
}

impl Reader {
    /// Reads what is new whenever the stream has grown, and hands it to every follower.
    async fn run(self, mut wakes: watch::Receiver<Seq>, done: CancellationToken, stop: CancellationToken) {
        let mut hints = self.bus.subscribe(&subject(self.stream)).await.ok();
        let mut read_to = None;
        loop {
            let grown_to = *wakes.borrow_and_update();
            if let Err(error) = self.hand_on(&mut read_to, grown_to).await {
                debug!(error = &error as &dyn std::error::Error, stream = %self.stream, "a tail could not read");
                tokio::time::sleep(REST).await;
                wakes.mark_changed();
            }
            tokio::select! {
                () = done.cancelled() => return,
                () = stop.cancelled() => return,
                changed = wakes.changed() => if changed.is_err() { return },
                hint = next_hint(&mut hints) => match hint {
                    Some(last_seq) => if let Some(tail) = self.tail.upgrade() { tail.wake(last_seq) },
                    None => hints = None,
                },
            }
        }
    }

    /// Reads up to where the stream is known to have grown. A reader begins at the end: what is there already each
    /// follower reads for itself, from where it left off.
    async fn hand_on(&self, read_to: &mut Option<Seq>, grown_to: Seq) -> Result<(), StoreError> {
        let mut after = match *read_to {
            Some(after) => after,
            None => {
                let end = journal::last_seqs(&self.store, &[self.stream])
                    .await?
                    .remove(&self.stream)
                    .unwrap_or_default();
                *read_to = Some(end);
                // Who waits for growth alone joined before this replica listened to the others.
                if let Some(tail) = self.tail.upgrade() {
                    tail.wake(end);
                }
                self.send(News::Reaches(end));
                end
            }
        };
        while after < grown_to {
            counter!("guildhall_journal_tail_reads_total").increment(1);
            let entries = journal::page(&self.store, self.stream, after, PAGE).await?;
            let Some(last) = entries.last() else {
                self.forget(after);
                return Ok(());
            };
            after = last.seq;
            *read_to = Some(after);
            self.send(News::Entries(entries.into()));
        }
        Ok(())
    }

    /// Forgets that the stream was said to reach further than it does. NATS may say anything, and what is true later
    /// would be no news; what is forgotten wrongly the timer finds.
    fn forget(&self, reaches: Seq) {
        if let Some(tail) = self.tail.upgrade() {
            tail.grown.send_if_modified(|known| {
                *known = reaches;
                false
            });
        }
    }

    fn send(&self, news: News) {
        if let Some(tail) = self.tail.upgrade() {
            let _nobody_listens_now = tail.news.send(news);
        }
    }
}

async fn next_hint(hints: &mut Option<Hints>) -> Option<Seq> {
    let Some(hints) = hints else { return std::future::pending().await };
    let hint = hints.next().await?;
    // A hint that cannot be read says nothing; the timer will.
    Some(
        String::from_utf8(hint)
            .ok()
            .and_then(|text| text.parse().ok())
            .and_then(Seq::new)
            .unwrap_or_default(),
    )
}
