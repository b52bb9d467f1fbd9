//! The connections of one replica and what is new in their inboxes.
//!
//! A commit is announced to this replica directly, and to the others over NATS on one subject. Whoever has connections of
//! an inbox reads what is new, all woken inboxes with one statement, and hands it to the connections. A timer finds what
//! was not announced.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use guildhall_bus::Bus;
use guildhall_domain::identity::ClientSlot;
use guildhall_domain::messages::{DeliveryMode, InboxId, InboxSeq};
use guildhall_runtime::Tasks;
use guildhall_store::inbox_messages::{self, InboxUpdate, InstanceMessage};
use guildhall_store::{Store, StoreError, inboxes};
use metrics::counter;
use tokio::sync::{Notify, mpsc};
use tracing::{debug, warn};
use uuid::Uuid;

use super::InboxClient;
use super::growth::GrowthWatch;
use super::mailbox::{InboxEvent, Mailbox};
use crate::ServiceError;

/// One subject for all inboxes: a replica subscribes once, however many connections it has.
const SUBJECT: &str = "inbox.grown";

/// How often the ends of inboxes are read, in case an announcement was lost.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Inboxes read by one poll. With more connected ones, the polls take turns.
const POLL_SIZE: usize = 5_000;

/// Inboxes whose new messages one statement reads.
const READ_SIZE: usize = 200;

/// Messages of one inbox that one statement reads.
const MESSAGES_PER_READ: u32 = 50;

/// The pause after a failed read.
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// The connections of one replica. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Hub {
    store: Store,
    inner: Arc<Inner>,
    /// Readers on this replica that are no connections.
    growth: [GrowthWatch; 2],
    /// This replica, among those that share the bus.
    replica: Uuid,
}

#[derive(Debug, Default)]
struct Inner {
    inboxes: Mutex<BTreeMap<InboxId, LocalInbox>>,
    woken: Mutex<HashMap<InboxId, InboxSeq>>,
    wake: Notify,
    next_connection: AtomicU64,
}

/// An inbox with connections on this replica.
#[derive(Debug)]
struct LocalInbox {
    /// Everything up to here was handed out, or was there before the first connection. None until it was read.
    seen: Option<InboxSeq>,
    /// The highest seq that was announced.
    announced: InboxSeq,
    connections: Vec<LocalConnection>,
}

#[derive(Debug)]
struct LocalConnection {
    number: u64,
    instance: ClientSlot,
    mode: DeliveryMode,
    mailbox: Arc<Mailbox>,
}

/// An instance that is connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LiveInstance {
    pub(super) instance: ClientSlot,
    pub(super) mode: DeliveryMode,
}

/// The subscription of one connection. It ends when it is dropped.
#[derive(Debug)]
pub struct Subscription {
    inner: Arc<Inner>,
    inbox: InboxId,
    number: u64,
    mailbox: Arc<Mailbox>,
}

impl Subscription {
    /// Waits for the next event. Cancel-safe.
    pub async fn next(&self) -> InboxEvent {
        self.mailbox.next().await
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut inboxes = self.inner.inboxes();
        let Some(local) = inboxes.get_mut(&self.inbox) else { return };
        local.connections.retain(|connection| connection.number != self.number);
        if local.connections.is_empty() {
            inboxes.remove(&self.inbox);
        }
    }
}

impl Hub {
    pub(super) fn start(
        store: &Store,
        bus: &Bus,
        tasks: &Tasks,
        sent: mpsc::Receiver<Vec<InboxUpdate>>,
        growth: [GrowthWatch; 2],
    ) -> Self {
        let hub = Self { store: store.clone(), inner: Arc::default(), growth, replica: Uuid::now_v7() };
        let (running, bus, stop) = (hub.clone(), bus.clone(), tasks.stop());
        tasks.spawn("inbox-hub", async move {
            tokio::select! {
                () = running.announce(&bus, sent) => {}
                () = running.receive(&bus) => {}
                () = running.poll() => {}
                () = running.deliver() => {}
                () = stop.cancelled() => {}
            }
        });
        hub
    }

    pub(super) fn replica(&self) -> Uuid {
        self.replica
    }

    /// Subscribes a connection to what is new from now on.
    pub(super) async fn subscribe(&self, client: &InboxClient) -> Result<Subscription, ServiceError> {
        let subscription = self.add(client);
        // After the connection was added: what is committed later is announced to it.
        let last = inboxes::last_seqs(&self.store, &[client.inbox]).await?.remove(&client.inbox);
        let announced = self.inner.inboxes().get_mut(&client.inbox).map(|local| {
            local.seen.get_or_insert(last.unwrap_or_default());
            local.announced
        });
        // What was announced meanwhile could not be read yet.
        self.wake(client.inbox, announced.unwrap_or_default());
        Ok(subscription)
    }

    fn add(&self, client: &InboxClient) -> Subscription {
        let number = self.inner.next_connection.fetch_add(1, Ordering::Relaxed);
        let mailbox = Arc::new(Mailbox::default());
        let connection = LocalConnection {
            number,
            instance: client.instance.clone(),
            mode: client.mode,
            mailbox: Arc::clone(&mailbox),
        };
        let mut inboxes = self.inner.inboxes();
        let local = inboxes.entry(client.inbox).or_insert_with(|| LocalInbox {
            seen: None,
            announced: InboxSeq::ZERO,
            // Most have one.
            connections: Vec::with_capacity(1),
        });
        local.connections.push(connection);
        drop(inboxes);
        Subscription { inner: Arc::clone(&self.inner), inbox: client.inbox, number, mailbox }
    }

    /// Hands an event to the connections of an inbox.
    pub(super) fn push(&self, inbox: InboxId, event: &InboxEvent) {
        if let Some(local) = self.inner.inboxes().get(&inbox) {
            for connection in &local.connections {
                connection.mailbox.push(event.clone());
            }
        }
    }

    /// Returns the instances of an inbox that are connected to this replica.
    pub(super) fn instances(&self, inbox: InboxId) -> Vec<LiveInstance> {
        let inboxes = self.inner.inboxes();
        let connections = inboxes.get(&inbox).map(|local| local.connections.as_slice()).unwrap_or_default();
        connections
            .iter()
            .map(|connection| LiveInstance { instance: connection.instance.clone(), mode: connection.mode })
            .collect()
    }

    fn wake(&self, inbox: InboxId, last_seq: InboxSeq) {
        for watch in &self.growth {
            watch.has_grown(inbox);
        }
        match self.inner.inboxes().get_mut(&inbox) {
            Some(local) => local.announced = local.announced.max(last_seq),
            None => return,
        }
        let mut woken = self.inner.woken();
        let known = woken.entry(inbox).or_default();
        *known = last_seq.max(*known);
        drop(woken);
        self.inner.wake.notify_one();
    }

    /// Announces what this replica has stored.
    async fn announce(&self, bus: &Bus, mut sent: mpsc::Receiver<Vec<InboxUpdate>>) {
        while let Some(updates) = sent.recv().await {
            for update in &updates {
                self.wake(update.inbox, update.last_seq);
            }
            if !updates.is_empty() {
                bus.publish(SUBJECT, encode(&updates)).await;
            }
        }
        std::future::pending().await
    }

    /// Receives what other replicas have stored, and what this one has: a second wake-up finds nothing new.
    async fn receive(&self, bus: &Bus) {
        let Ok(mut hints) = bus.subscribe(SUBJECT).await else { return std::future::pending().await };
        while let Some(hint) = hints.next().await {
            for update in decode(&hint) {
                self.wake(update.inbox, update.last_seq);
            }
        }
        std::future::pending().await
    }

    /// Reads the ends of connected inboxes, with one statement.
    async fn poll(&self) {
        let mut after = InboxId::new(0);
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            let batch: Vec<InboxId> = {
                let inboxes = self.inner.inboxes();
                let later = inboxes.range((std::ops::Bound::Excluded(after), std::ops::Bound::Unbounded));
                later.map(|(inbox, _)| *inbox).take(POLL_SIZE).collect()
            };
            after = batch.last().copied().filter(|_| batch.len() == POLL_SIZE).unwrap_or(InboxId::new(0));
            if batch.is_empty() {
                continue;
            }
            match self.store.answer(inboxes::last_seqs(&self.store, &batch)).await {
                Ok(last_seqs) => self.wake_grown(last_seqs),
                Err(error) => {
                    debug!(error = &error as &dyn Error, "cannot read the ends of inboxes");
                }
            }
        }
    }

    fn wake_grown(&self, last_seqs: HashMap<InboxId, InboxSeq>) {
        for (inbox, last_seq) in last_seqs {
            let has_grown = match self.inner.inboxes().get_mut(&inbox) {
                // Messages were lost in a restore of the database: their numbers will be given again.
                Some(local) if local.seen.is_some_and(|seen| last_seq < seen) => {
                    (local.seen, local.announced) = (Some(last_seq), last_seq);
                    false
                }
                Some(local) => local.seen.is_some_and(|seen| last_seq > seen),
                None => false,
            };
            if has_grown {
                self.wake(inbox, last_seq);
            }
        }
    }

    /// Reads the new messages of woken inboxes, and hands them out.
    async fn deliver(&self) {
        loop {
            self.inner.wake.notified().await;
            while let Some(batch) = self.take_woken() {
                match self.deliver_batch(&batch).await {
                    Ok(()) => {}
                    Err(StoreError::Unreadable { .. }) => self.deliver_separately(batch).await,
                    Err(error) => self.deliver_later(batch, &error).await,
                }
            }
        }
    }

    /// Leaves out an inbox with a message that this replica cannot read, perhaps of a newer version: the others get theirs.
    async fn deliver_separately(&self, batch: Vec<(InboxId, InboxSeq)>) {
        for (inbox, last_seq) in batch {
            match self.deliver_batch(&[(inbox, last_seq)]).await {
                Ok(()) => {}
                Err(error @ StoreError::Unreadable { .. }) => {
                    warn!(inbox = inbox.get(), error = &error as &dyn Error, "cannot push new messages");
                    self.skip_to(inbox, last_seq);
                }
                Err(error) => self.deliver_later(vec![(inbox, last_seq)], &error).await,
            }
        }
    }

    async fn deliver_later(&self, batch: Vec<(InboxId, InboxSeq)>, error: &StoreError) {
        debug!(error = error as &dyn Error, "cannot read new messages");
        tokio::time::sleep(RETRY_DELAY).await;
        for (inbox, last_seq) in batch {
            self.wake(inbox, last_seq);
        }
    }

    fn take_woken(&self) -> Option<Vec<(InboxId, InboxSeq)>> {
        let mut woken = self.inner.woken();
        let batch: Vec<InboxId> = woken.keys().copied().take(READ_SIZE).collect();
        let batch: Vec<(InboxId, InboxSeq)> =
            batch.into_iter().filter_map(|inbox| Some((inbox, woken.remove(&inbox)?))).collect();
        (!batch.is_empty()).then_some(batch)
    }

    async fn deliver_batch(&self, woken: &[(InboxId, InboxSeq)]) -> Result<(), StoreError> {
        let unread: Vec<(InboxId, InboxSeq)> = {
            let inboxes = self.inner.inboxes();
            let seen = woken.iter().filter_map(|(inbox, last)| {
                let seen = inboxes.get(inbox)?.seen?;
                (seen < *last).then_some((*inbox, seen))
            });
            seen.collect()
        };
        if unread.is_empty() {
            return Ok(());
        }
        counter!("guildhall_inbox_reads_total").increment(1);
        let reading = inbox_messages::list_new(&self.store, &unread, MESSAGES_PER_READ);
        let messages = self.store.answer(reading).await?;
        let mut read_to: HashMap<InboxId, InboxSeq> = HashMap::new();
        for message in messages {
            let (inbox, seq) = (message.message.inbox, message.message.seq);
            self.hand_out(message);
            read_to.insert(inbox, seq);
        }
        for (inbox, last) in woken {
            match read_to.get(inbox) {
                // Perhaps there are more.
                Some(seq) if seq < last => self.wake(*inbox, *last),
                Some(_) => {}
                // Nothing to read up to there: dropped from the ring, or expired.
                None => self.skip_to(*inbox, *last),
            }
        }
        Ok(())
    }

    fn hand_out(&self, InstanceMessage { message, instance }: InstanceMessage) {
        let mut inboxes = self.inner.inboxes();
        let Some(local) = inboxes.get_mut(&message.inbox) else { return };
        local.seen = local.seen.max(Some(message.seq));
        let is_queued = message.mode == DeliveryMode::Queue;
        let message = Arc::new(message);
        for connection in &local.connections {
            let is_for_it = match &instance {
                Some((device, slot)) => {
                    connection.instance.device() == device && connection.instance.slot_key() == slot
                }
                // One that waits for an instance is not pushed: the first instance that pulls gets it.
                None => !is_queued,
            };
            if is_for_it {
                connection.mailbox.push(InboxEvent::Message(Arc::clone(&message)));
            }
        }
    }

    fn skip_to(&self, inbox: InboxId, seq: InboxSeq) {
        if let Some(local) = self.inner.inboxes().get_mut(&inbox) {
            local.seen = local.seen.max(Some(seq));
        }
    }
}

impl Inner {
    fn inboxes(&self) -> MutexGuard<'_, BTreeMap<InboxId, LocalInbox>> {
        self.inboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn woken(&self) -> MutexGuard<'_, HashMap<InboxId, InboxSeq>> {
        self.woken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes updates as pairs of numbers.
fn encode(updates: &[InboxUpdate]) -> Vec<u8> {
    let pairs = updates.iter().flat_map(|update| [update.inbox.get(), update.last_seq.get()]);
    pairs.flat_map(i64::to_be_bytes).collect()
}

/// Reads updates. Bytes that are none are skipped: a hint is no fact.
fn decode(hint: &[u8]) -> Vec<InboxUpdate> {
    let (pairs, _rest) = hint.as_chunks::<16>();
    let update = |pair: &[u8; 16]| {
        let (inbox, seq) = pair.split_at(8);
        let number = |bytes: &[u8]| bytes.try_into().map(i64::from_be_bytes).ok();
        Some(InboxUpdate { inbox: InboxId::new(number(inbox)?), last_seq: InboxSeq::new(number(seq)?)? })
    };
    pairs.iter().filter_map(update).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_round_trip_and_other_bytes_are_skipped() {
        let update = |inbox: i64, seq: i64| InboxUpdate {
            inbox: InboxId::new(inbox),
            last_seq: InboxSeq::new(seq).expect("a seq"),
        };
        let updates = vec![update(1, 7), update(i64::MAX, 0)];
        let mut bytes = encode(&updates);
        assert_eq!(decode(&bytes), updates);
        bytes.extend([1, 2, 3]);
        assert_eq!(decode(&bytes), updates);
        assert_eq!(decode(&[0xff; 16]), []);
    }
}
