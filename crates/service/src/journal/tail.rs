//! The tail of a stream: one reader for all followers on this replica.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use guildhall_bus::{Bus, Subscription};
use guildhall_domain::journal::Entry;
use guildhall_domain::journal::{Seq, Stream};
use guildhall_runtime::Tasks;
use guildhall_store::journal;
use guildhall_store::{Store, StoreError};
use metrics::counter;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::subject;

/// Entries read with one query.
pub(super) const PAGE_SIZE: u32 = 500;

/// Events queued for the slowest follower. One that falls further behind reads from PostgreSQL itself.
const BROADCAST_CAPACITY: usize = 64;

/// The delay after a failed read.
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// The tails of the streams that are followed on this replica.
#[derive(Debug)]
pub(super) struct Tails {
    store: Store,
    bus: Bus,
    tasks: Tasks,
    tails: Mutex<HashMap<Stream, Weak<Tail>>>,
}

/// An event from a tail to its followers.
#[derive(Debug, Clone)]
pub(super) enum TailEvent {
    /// The end of the stream when the reader started. All later entries are sent.
    Position(Seq),
    /// New entries.
    Entries(Arc<[Entry]>),
}

/// Shared by the followers of one stream. Dropping the last reference stops the reader.
#[derive(Debug)]
pub(super) struct Tail {
    pub(super) stream: Stream,
    pub(super) store: Store,
    pub(super) events: broadcast::Sender<TailEvent>,
    grown: watch::Sender<Seq>,
    done: CancellationToken,
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.done.cancel();
    }
}

impl Tail {
    pub(super) fn watch_growth(&self) -> watch::Receiver<Seq> {
        self.grown.subscribe()
    }

    fn wake(&self, last_seq: Seq) {
        self.grown.send_if_modified(|known| {
            let has_grown = last_seq > *known;
            *known = last_seq.max(*known);
            has_grown
        });
    }
}

impl Tails {
    pub(super) fn new(store: Store, bus: Bus, tasks: Tasks) -> Arc<Self> {
        Arc::new(Self { store, bus, tasks, tails: Mutex::default() })
    }

    /// Returns the tail of a stream. The first follower starts it.
    pub(super) fn get_or_start(self: &Arc<Self>, stream: Stream) -> Arc<Tail> {
        let mut tails = self.tails.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tail) = tails.get(&stream).and_then(Weak::upgrade) {
            return tail;
        }
        let (grown, wakes) = watch::channel(Seq::ZERO);
        let (events, done) = (broadcast::channel(BROADCAST_CAPACITY).0, CancellationToken::new());
        let tail = Arc::new(Tail { stream, store: self.store.clone(), events, grown, done: done.clone() });
        tails.retain(|_, tail| tail.strong_count() > 0);
        tails.insert(stream, Arc::downgrade(&tail));
        let reader = TailReader {
            tail: Arc::downgrade(&tail),
            store: self.store.clone(),
            bus: self.bus.clone(),
            stream,
        };
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

    /// Reads the ends of all followed streams with one query, and wakes the tails that have grown.
    pub(super) async fn poll(&self) -> Result<(), StoreError> {
        let streams = self.streams();
        if streams.is_empty() {
            return Ok(());
        }
        for (stream, last_seq) in self.store.answer(journal::last_seqs(&self.store, &streams)).await? {
            self.wake(stream, last_seq);
        }
        Ok(())
    }
}

struct TailReader {
    tail: Weak<Tail>,
    store: Store,
    bus: Bus,
    stream: Stream,
}

impl TailReader {
    /// Reads new entries whenever the stream has grown, and sends them to every follower.
    async fn run(self, mut wakes: watch::Receiver<Seq>, done: CancellationToken, stop: CancellationToken) {
        let mut hints = self.bus.subscribe(&subject(self.stream)).await.ok();
        let mut read_to = None;
        loop {
            let grown_to = *wakes.borrow_and_update();
            if let Err(error) = self.forward(&mut read_to, grown_to).await {
                debug!(error = &error as &dyn std::error::Error, stream = %self.stream, "cannot read the tail of a stream");
                tokio::time::sleep(RETRY_DELAY).await;
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

    /// Reads up to the known end of the stream. The first call starts at the end: each follower reads older entries
    /// itself.
    async fn forward(&self, read_to: &mut Option<Seq>, grown_to: Seq) -> Result<(), StoreError> {
        let mut after = match *read_to {
            Some(after) => after,
            None => {
                let reading = journal::last_seqs(&self.store, std::slice::from_ref(&self.stream));
                let end = self.store.answer(reading).await?.remove(&self.stream).unwrap_or_default();
                *read_to = Some(end);
                // Growth listeners may have missed announcements from before the subscription.
                if let Some(tail) = self.tail.upgrade() {
                    tail.wake(end);
                }
                self.send(TailEvent::Position(end));
                end
            }
        };
        if self.tail.upgrade().is_some_and(|tail| tail.events.receiver_count() == 0) {
            // Nobody follows: a later follower reads these entries itself.
            *read_to = Some(after.max(grown_to));
            return Ok(());
        }
        while after < grown_to {
            counter!("guildhall_journal_tail_reads_total").increment(1);
            let reading = journal::page(&self.store, self.stream, after, PAGE_SIZE);
            let entries = self.store.answer(reading).await?;
            let Some(last) = entries.last() else {
                self.reset_known_end(after);
                return Ok(());
            };
            after = last.seq;
            *read_to = Some(after);
            self.send(TailEvent::Entries(entries.into()));
        }
        Ok(())
    }

    /// Resets the known end after an announcement that was too high. Otherwise real growth up to it would not wake the
    /// reader. The poll corrects a wrong reset.
    fn reset_known_end(&self, end: Seq) {
        if let Some(tail) = self.tail.upgrade() {
            tail.grown.send_if_modified(|known| {
                *known = end;
                false
            });
        }
    }

    fn send(&self, event: TailEvent) {
        if let Some(tail) = self.tail.upgrade() {
            let _no_receivers = tail.events.send(event);
        }
    }
}

async fn next_hint(hints: &mut Option<Subscription>) -> Option<Seq> {
    let Some(hints) = hints else { return std::future::pending().await };
    let hint = hints.next().await?;
    // An invalid hint is ignored; the poll finds the growth.
    Some(
        String::from_utf8(hint)
            .ok()
            .and_then(|text| text.parse().ok())
            .and_then(Seq::new)
            .unwrap_or_default(),
    )
}
