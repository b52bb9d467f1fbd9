//! Tells senders that their messages were confirmed. Notices are live only: several of one reader become one, at most a few a
//! second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use guildhall_bus::Bus;
use guildhall_domain::identity::{Aid, ClientSlot};
use guildhall_domain::messages::{InboxId, InboxSeq};
use guildhall_runtime::Tasks;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::ack_notice::AckNotice;
use super::hub::Hub;
use super::mailbox::InboxEvent;

const SUBJECT: &str = "inbox.confirmed";

/// How long notices are collected.
const PACE: Duration = Duration::from_millis(200);

/// Notices that are collected at a time. More are dropped: a later one of the same reader says the same.
const MAX_COLLECTED: usize = 10_000;

/// Notices in one message on the bus.
const MAX_BATCH: usize = 200;

/// Collects notices and sends them to all replicas. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Notices {
    hub: Hub,
    collected: Arc<Mutex<CollectedNotices>>,
}

/// To whom, and of which reader.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct NoticeKey {
    to: InboxId,
    by: Aid,
    instance: ClientSlot,
}

/// The notices of one pace: one for each reader of a sender.
#[derive(Debug, Default)]
struct CollectedNotices(HashMap<NoticeKey, (InboxSeq, Timestamp)>);

impl CollectedNotices {
    fn add(&mut self, to: InboxId, notice: AckNotice) {
        let AckNotice { by, instance, ack_seq, at } = notice;
        let key = NoticeKey { to, by, instance };
        if self.0.len() < MAX_COLLECTED || self.0.contains_key(&key) {
            let latest = self.0.entry(key).or_insert((ack_seq, at));
            *latest = (latest.0.max(ack_seq), at);
        }
    }

    fn take(&mut self) -> Vec<(InboxId, AckNotice)> {
        let collected = std::mem::take(&mut self.0).into_iter();
        let notice =
            |(NoticeKey { to, by, instance }, (ack_seq, at))| (to, AckNotice { by, instance, ack_seq, at });
        collected.map(notice).collect()
    }
}

/// A notice between replicas.
#[derive(Debug, Serialize, Deserialize)]
struct NoticeHint {
    to: i64,
    by: String,
    device: String,
    slot: String,
    seq: i64,
    at: Timestamp,
}

impl Notices {
    pub(super) fn start(hub: Hub, bus: &Bus, tasks: &Tasks) -> Self {
        let notices = Self { hub, collected: Arc::default() };
        let (running, bus, stop) = (notices.clone(), bus.clone(), tasks.stop());
        tasks.spawn("inbox-notices", async move {
            tokio::select! {
                () = running.send(&bus) => {}
                () = running.receive(&bus) => {}
                () = stop.cancelled() => {}
            }
        });
        notices
    }

    /// Adds a notice for a sender.
    pub(super) fn add(&self, to: InboxId, notice: AckNotice) {
        self.lock().add(to, notice);
    }

    async fn send(&self, bus: &Bus) {
        loop {
            tokio::time::sleep(PACE).await;
            let notices = self.lock().take();
            for batch in notices.chunks(MAX_BATCH) {
                for (to, notice) in batch {
                    self.hub.push(*to, &InboxEvent::Confirmed(notice.clone()));
                }
                let hints: Vec<NoticeHint> = batch.iter().map(NoticeHint::new).collect();
                bus.publish(SUBJECT, Envelope::encode(self.hub.replica(), &hints)).await;
            }
        }
    }

    async fn receive(&self, bus: &Bus) {
        let Ok(mut hints) = bus.subscribe(SUBJECT).await else { return std::future::pending().await };
        while let Some(hint) = hints.next().await {
            for (to, notice) in Envelope::decode(&hint, self.hub.replica()) {
                self.hub.push(to, &InboxEvent::Confirmed(notice));
            }
        }
        std::future::pending().await
    }

    fn lock(&self) -> MutexGuard<'_, CollectedNotices> {
        self.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notices of one replica.
#[derive(Debug, Serialize, Deserialize)]
struct Envelope<T> {
    replica: uuid::Uuid,
    notices: T,
}

impl Envelope<Vec<NoticeHint>> {
    fn encode(replica: uuid::Uuid, notices: &[NoticeHint]) -> Vec<u8> {
        serde_json::to_vec(&Envelope { replica, notices }).unwrap_or_default()
    }

    /// Returns what another replica has sent. What cannot be read is skipped: a hint is no fact.
    fn decode(hint: &[u8], own: uuid::Uuid) -> Vec<(InboxId, AckNotice)> {
        let Ok(Self { replica, notices }) = serde_json::from_slice(hint) else { return Vec::new() };
        if replica == own {
            return Vec::new();
        }
        notices.into_iter().filter_map(NoticeHint::read).collect()
    }
}

impl NoticeHint {
    fn new((to, notice): &(InboxId, AckNotice)) -> Self {
        Self {
            to: to.get(),
            by: notice.by.to_string(),
            device: notice.instance.device().to_owned(),
            slot: notice.instance.slot().to_owned(),
            seq: notice.ack_seq.get(),
            at: notice.at,
        }
    }

    fn read(self) -> Option<(InboxId, AckNotice)> {
        let notice = AckNotice {
            by: self.by.parse().ok()?,
            instance: ClientSlot::new(&self.device, &self.slot).ok()?,
            ack_seq: InboxSeq::new(self.seq)?,
            at: self.at,
        };
        Some((InboxId::new(self.to), notice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(device: &str, seq: i64) -> AckNotice {
        AckNotice {
            by: "bobby.guild.example".parse().expect("an AID"),
            instance: ClientSlot::new(device, "").expect("a slot"),
            ack_seq: InboxSeq::new(seq).expect("a seq"),
            at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn notices_of_one_reader_become_one_with_the_highest_seq() {
        let (sender, other) = (InboxId::new(1), InboxId::new(2));
        let mut collected = CollectedNotices::default();
        // The answers of two calls may come in any order.
        for seq in (1..=50).rev().chain(1..=49) {
            collected.add(sender, notice("phone", seq));
        }
        collected.add(sender, notice("tablet", 7));
        collected.add(other, notice("phone", 3));
        let mut taken = collected.take();
        taken.sort_by_key(|(to, notice)| (*to, notice.instance.device().to_owned()));
        let expected =
            [(sender, notice("phone", 50)), (sender, notice("tablet", 7)), (other, notice("phone", 3))];
        assert_eq!(taken, expected);
        assert_eq!(collected.take(), []);
    }

    #[test]
    fn full_collection_still_takes_newer_notices_of_the_same_readers() {
        let mut collected = CollectedNotices::default();
        let count = i64::try_from(MAX_COLLECTED).expect("small");
        for to in 0..=count {
            collected.add(InboxId::new(to), notice("phone", 1));
        }
        collected.add(InboxId::new(0), notice("phone", 2));
        let taken = collected.take();
        let of =
            |to: i64| taken.iter().find(|(id, _)| id.get() == to).map(|(_, notice)| notice.ack_seq.get());
        assert_eq!((taken.len(), of(0), of(1), of(count)), (MAX_COLLECTED, Some(2), Some(1), None));
    }
}
