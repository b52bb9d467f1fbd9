//! Follows an inbox.
//!
//! Pages of `message.pull` are the truth: they hold the messages of all senders and versions in one order. Notifications only say
//! when to pull.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt;
use guildhall_protocol::rpc::message::{AckParams, MessageRow, PullParams, PullResult};
use guildhall_protocol::rpc::typed;
use tokio::time::{Instant, sleep_until};

use super::error::MessengerError;
use super::inbox_item::InboxItem;
use super::messenger::Messenger;
use super::received::RowError;
use crate::backoff::{Backoff, random_delay};
use crate::socket::{SocketError, SocketEvent, SocketEvents, SocketState};

/// Messages of one page. The server returns fewer where they are large.
const PAGE_SIZE: u32 = 200;

/// An inbox without notifications is pulled after this time, and up to as much again: one may have been lost.
const IDLE_PULL: Duration = Duration::from_secs(300);

/// The server is told about confirmed messages after this many, or when all that were pulled are confirmed.
const ACK_EVERY: i64 = 50;

/// How often the certificate of a sender is asked for before its message is unreadable. This takes about twenty seconds.
const OPEN_ATTEMPTS: u32 = 8;

/// Follows the inbox of one device and slot. Connects again by itself, and yields every item once, in the order of the inbox.
#[derive(Debug)]
pub struct InboxFollower {
    messenger: Messenger,
    events: SocketEvents,
    /// Confirms an item when the next one is taken.
    auto_ack: bool,
    /// None before the first connection.
    cursor: Option<Cursor>,
    /// Pulled and not yielded yet.
    rows: VecDeque<MessageRow>,
    phase: Phase,
    backoff: Backoff,
    next_pull: Instant,
}

/// Positions of a slot.
#[derive(Debug)]
struct Cursor {
    slot: String,
    /// Everything up to here was pulled.
    pulled: i64,
    /// The last item that was yielded.
    yielded: i64,
    /// Confirmed by the consumer, and stored.
    confirmed: i64,
    /// Confirmed, and the server knows it.
    told: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// There may be more in the inbox.
    Behind,
    /// Everything was pulled; the consumer is told when it has it.
    Pulled,
    /// The consumer was told.
    CaughtUp,
}

impl Messenger {
    /// Follows the inbox from where this device and slot stopped. It connects on first use.
    #[must_use]
    pub fn follow(&self) -> InboxFollower {
        InboxFollower::new(self.clone(), self.socket().events())
    }
}

impl InboxFollower {
    fn new(messenger: Messenger, events: SocketEvents) -> Self {
        Self {
            messenger,
            events,
            auto_ack: false,
            cursor: None,
            rows: VecDeque::new(),
            phase: Phase::Behind,
            backoff: Backoff::default(),
            next_pull: Instant::now(),
        }
    }

    /// Confirms each item when the next one is taken. Without it, the consumer calls [`InboxFollower::ack`].
    #[must_use]
    pub fn with_auto_ack(mut self) -> Self {
        self.auto_ack = true;
        self
    }

    /// Waits for the next item. An error is final: a retry would fail again. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<InboxItem, MessengerError> {
        self.ack_yielded()?;
        loop {
            if let Some(error) = self.take_events()? {
                return Ok(InboxItem::Disconnected(error));
            }
            if self.is_telling_due() {
                self.tell_confirmed().await;
            }
            if let Some(row) = self.rows.front() {
                let item = open(&self.messenger, row).await?;
                if let (Some(row), Some(cursor)) = (self.rows.pop_front(), &mut self.cursor) {
                    cursor.yielded = row.seq;
                }
                return Ok(item);
            }
            self.tell_confirmed().await;
            self.publish_keys().await?;
            match self.phase {
                Phase::Behind => self.pull().await?,
                Phase::Pulled => {
                    self.phase = Phase::CaughtUp;
                    return Ok(InboxItem::CaughtUp);
                }
                Phase::CaughtUp => {
                    if let Some(error) = self.wait_for_event().await? {
                        return Ok(InboxItem::Disconnected(error));
                    }
                }
            }
        }
    }

    /// Confirms an item and all before it: they do not come again, and their senders are told.
    ///
    /// The position is on disk when this returns. The server is told soon: a lost connection is no error.
    pub async fn ack(&mut self, seq: i64) -> Result<(), MessengerError> {
        self.confirm(seq)?;
        if self.rows.is_empty() || self.is_telling_due() {
            self.tell_confirmed().await;
        }
        Ok(())
    }

    fn is_telling_due(&self) -> bool {
        self.cursor.as_ref().is_some_and(|cursor| cursor.confirmed - cursor.told >= ACK_EVERY)
    }

    fn ack_yielded(&mut self) -> Result<(), MessengerError> {
        match &self.cursor {
            Some(cursor) if self.auto_ack => self.confirm(cursor.yielded),
            Some(_) | None => Ok(()),
        }
    }

    /// Stores what the consumer has confirmed, and sends nothing: [`InboxFollower::next`] tells the server. What was not yielded
    /// cannot be confirmed.
    pub(crate) fn confirm(&mut self, seq: i64) -> Result<(), MessengerError> {
        let Some(cursor) = &mut self.cursor else { return Ok(()) };
        let seq = seq.min(cursor.yielded);
        if seq > cursor.confirmed {
            self.messenger.store().advance(&cursor.slot, seq)?;
            cursor.confirmed = seq;
        }
        Ok(())
    }

    /// Tells the server what was confirmed. Where that fails, it is told later.
    async fn tell_confirmed(&mut self) {
        let Some(cursor) = &mut self.cursor else { return };
        let is_connected = matches!(self.messenger.socket().state(), SocketState::Connected(_));
        if is_connected && cursor.told < cursor.confirmed {
            let params = AckParams { seq: cursor.confirmed, device_id: None, slot_id: None };
            if let Ok(result) = self.messenger.socket().call::<typed::Ack>(&params).await {
                cursor.told = result.ack_seq.max(cursor.confirmed);
            }
        }
    }

    /// Publishes the keys of the device where that is due. A server that does not answer is asked again later.
    async fn publish_keys(&self) -> Result<(), MessengerError> {
        let shared = self.messenger.shared();
        let is_connected = matches!(shared.socket.state(), SocketState::Connected(_));
        if !is_connected || !shared.keys_due.load(Ordering::Relaxed) {
            return Ok(());
        }
        match shared.publish_keys().await {
            Ok(()) | Err(MessengerError::Socket(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn pull(&mut self) -> Result<(), MessengerError> {
        sleep_until(self.next_pull).await;
        let after_seq = self.cursor().await?.pulled;
        let params = PullParams { after_seq, limit: Some(PAGE_SIZE), device_id: None, slot_id: None };
        match self.messenger.socket().call::<typed::Pull>(&params).await {
            Ok(page) => self.apply(page),
            Err(error) if error.is_transient() => {
                self.backoff.record_failure(error.retry_after());
                self.next_pull = Instant::now() + self.backoff.delay();
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Returns the positions, which are read when the first connection says which slot this is.
    async fn cursor(&mut self) -> Result<&mut Cursor, MessengerError> {
        if self.cursor.is_none() {
            let info = self.messenger.shared().connected().await?;
            let slot = info.connection.slot_id.clone();
            let seq = self.messenger.store().position(&slot)?;
            // The server may not know about all that was confirmed.
            self.cursor = Some(Cursor { slot, pulled: seq, yielded: seq, confirmed: seq, told: 0 });
        }
        self.cursor.as_mut().ok_or_else(|| SocketError::Closed.into())
    }

    fn apply(&mut self, page: PullResult) {
        self.backoff.reset();
        self.next_pull = Instant::now();
        let Some(cursor) = &mut self.cursor else { return };
        for row in page.messages {
            // A server may repeat what was pulled.
            if row.seq > cursor.pulled {
                cursor.pulled = row.seq;
                self.rows.push_back(row);
            }
        }
        // Messages for other devices count, and are not in the page.
        let is_further = page.latest_seq > cursor.pulled;
        cursor.pulled = cursor.pulled.max(page.latest_seq);
        if !page.has_more || (self.rows.is_empty() && !is_further) {
            self.phase = Phase::Pulled;
        }
    }

    /// Takes the events that have come. Returns the error of a lost connection.
    fn take_events(&mut self) -> Result<Option<SocketError>, MessengerError> {
        while let Some(event) = self.events.next().now_or_never() {
            if let Some(error) = self.apply_event(event)? {
                return Ok(Some(error));
            }
        }
        Ok(None)
    }

    async fn wait_for_event(&mut self) -> Result<Option<SocketError>, MessengerError> {
        let idle_until = self.next_pull + IDLE_PULL + random_delay(IDLE_PULL);
        tokio::select! {
            event = self.events.next() => self.apply_event(event),
            () = sleep_until(idle_until) => {
                self.phase = Phase::Behind;
                Ok(None)
            }
        }
    }

    fn apply_event(&mut self, event: Option<SocketEvent>) -> Result<Option<SocketError>, MessengerError> {
        match event {
            Some(SocketEvent::Connected(_)) => {
                self.phase = Phase::Behind;
                self.messenger.shared().keys_due.store(true, Ordering::Relaxed);
            }
            Some(SocketEvent::Missed) => self.phase = Phase::Behind,
            Some(SocketEvent::Notification(notification)) => {
                if WAKE_UPS.contains(&notification.method.as_str()) {
                    self.phase = Phase::Behind;
                }
            }
            Some(SocketEvent::Disconnected(error)) => return Ok(Some(error)),
            Some(SocketEvent::Ended(error)) => return Err(error.into()),
            None => return Err(SocketError::Closed.into()),
        }
        Ok(None)
    }
}

/// Opens a row. The server is asked a few times for the certificate of its sender.
async fn open(messenger: &Messenger, row: &MessageRow) -> Result<InboxItem, MessengerError> {
    let mut backoff = Backoff::default();
    for _ in 1..OPEN_ATTEMPTS {
        match messenger.shared().open_row(row).await {
            Ok(item) => return Ok(item),
            Err(RowError::Server(error)) => {
                backoff.record_failure(error.retry_after());
                tokio::time::sleep(backoff.delay()).await;
            }
            Err(error @ (RowError::Unreadable(_) | RowError::Store(_))) => return error.into_item(row),
        }
    }
    match messenger.shared().open_row(row).await {
        Ok(item) => Ok(item),
        Err(error) => error.into_item(row),
    }
}

/// Notifications about new items.
const WAKE_UPS: [&str; 3] =
    ["event/message.received", "event/message.recalled", "event/peer.v2.message_received"];
