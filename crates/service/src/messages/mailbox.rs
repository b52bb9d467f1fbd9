//! What waits for one connection.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use guildhall_domain::messages::InboxMessage;
use tokio::sync::Notify;

use super::ack_notice::AckNotice;

/// Events that wait for a connection that is busy or does not read. An event is a hint: what is dropped is pulled.
const MAX_EVENTS: usize = 32;

/// Something new for a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InboxEvent {
    Message(Arc<InboxMessage>),
    Confirmed(AckNotice),
}

/// The events of one connection. Empty, it holds no memory of its own: most connections are idle.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    events: Mutex<VecDeque<InboxEvent>>,
    arrived: Notify,
}

impl Mailbox {
    /// Adds an event. A full mailbox drops its oldest one: the newest tells the client how far its inbox goes.
    pub(super) fn push(&self, event: InboxEvent) {
        let mut events = self.lock();
        if events.len() >= MAX_EVENTS {
            events.pop_front();
        }
        events.push_back(event);
        drop(events);
        self.arrived.notify_one();
    }

    /// Waits for the next event. Cancel-safe.
    pub(super) async fn next(&self) -> InboxEvent {
        loop {
            {
                let mut events = self.lock();
                if let Some(event) = events.pop_front() {
                    if events.is_empty() {
                        events.shrink_to_fit();
                    }
                    return event;
                }
            }
            self.arrived.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<InboxEvent>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use guildhall_domain::identity::ClientSlot;
    use guildhall_domain::messages::InboxSeq;
    use jiff::Timestamp;

    use super::*;

    fn event(seq: i64) -> InboxEvent {
        InboxEvent::Confirmed(AckNotice {
            by: "bobby.guild.example".parse().expect("an AID"),
            instance: ClientSlot::default(),
            ack_seq: InboxSeq::new(seq).expect("a seq"),
            at: Timestamp::UNIX_EPOCH,
        })
    }

    #[tokio::test]
    async fn full_mailbox_keeps_the_newest_events() {
        let mailbox = Mailbox::default();
        let count = i64::try_from(MAX_EVENTS).expect("small");
        for seq in 0..count + 3 {
            mailbox.push(event(seq));
        }
        let mut received = Vec::new();
        for _ in 0..count {
            received.push(mailbox.next().await);
        }
        assert_eq!(received, (3..count + 3).map(event).collect::<Vec<_>>());
    }
}
