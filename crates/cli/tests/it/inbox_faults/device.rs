//! What one device does at random: it sends, reads, confirms, recalls, and connects again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use guildhall_testkit::Rounds;
use serde_json::{Value, json};

use super::connection::{DeviceConnection, Identity};
use super::history::{
    AcknowledgedSend, AnsweredRecall, Device, DeviceRecord, Principal, ReadPage, ReadRow, RowContent,
};
use super::sealing;
use super::sender_view::SenderViews;

/// Messages that a device may still recall.
const MAX_RECALLABLE: usize = 5;

/// Every other message goes to one of so many inboxes, which all replicas write to all the time.
const BUSY_INBOXES: usize = 4;

/// What all devices share.
pub(super) struct SharedDeviceState {
    pub(super) identities: Vec<Identity>,
    /// The time of the test: one later at each answer of a recall and at each request for a page.
    pub(super) time: AtomicU64,
    pub(super) stop: AtomicBool,
    /// The mean pause of a device between two calls.
    pub(super) pause: Duration,
}

impl SharedDeviceState {
    fn next_time(&self) -> u64 {
        self.time.fetch_add(1, Ordering::SeqCst)
    }
}

pub(super) struct SimulatedDevice {
    world: Arc<SharedDeviceState>,
    pub(super) connection: DeviceConnection,
    pub(super) rounds: Rounds,
    pub(super) record: DeviceRecord,
    /// How far this device has read.
    read_to: i64,
    /// How far the server says that it has confirmed.
    confirmed: i64,
    sent: u64,
    recallable: VecDeque<String>,
}

impl SimulatedDevice {
    pub(super) fn new(
        world: &Arc<SharedDeviceState>,
        connection: DeviceConnection,
        rounds: Rounds,
        device: Device,
    ) -> Self {
        let mut record = DeviceRecord::new(device);
        // The last device of every other AID.
        if device.number == 2 && device.principal.is_multiple_of(2) {
            let mut views = SenderViews::default();
            views.restart();
            record.senders = Some(views);
        }
        Self {
            world: Arc::clone(world),
            connection,
            rounds,
            record,
            read_to: 0,
            confirmed: 0,
            sent: 0,
            recallable: VecDeque::new(),
        }
    }

    /// Does something at random until the end of the test.
    pub(super) async fn run(mut self) -> Self {
        while !self.world.stop.load(Ordering::SeqCst) {
            match self.rounds.random_index(100) {
                0..45 => self.send().await,
                45..70 if self.record.senders.is_some() => self.read_a_sender().await,
                45..70 => {
                    let _has_more = self.read_page().await;
                }
                70..85 if self.record.senders.is_some() => self.confirm_a_sender().await,
                70..85 => self.confirm().await,
                85..93 => self.recall().await,
                93..97 => self.connection.close().await,
                _ => self.restart().await,
            }
            self.record_pushes();
            tokio::time::sleep(self.rounds.random_duration(self.world.pause * 2)).await;
        }
        self
    }

    /// Reads up to the end and confirms it. Returns what the device knows, and its number of connections.
    pub(super) async fn finish(mut self) -> (DeviceRecord, usize) {
        if self.record.senders.is_some() {
            self.finish_senders().await;
            self.record_pushes();
        } else {
            while self.read_page().await {}
            self.record_pushes();
            let all = json!({ "seq": self.read_to });
            let answer = self.connection.call("message.ack", &all).await;
            self.record_cursor(&answer["ack_seq"]);
        }
        self.connection.close().await;
        (self.record, self.connection.opened)
    }

    async fn send(&mut self) {
        let inbox = self.random_recipient();
        self.sent += 1;
        let Device { principal, number } = self.record.device;
        let id = format!("{principal}-{number}-{}", self.sent);
        let to = &self.world.identities[inbox];
        let is_sealed = self.rounds.random_index(4) == 0;
        let payload = if is_sealed {
            sealing::seal(&self.world.identities[principal], &self.connection.name, to, &id)
        } else {
            json!({ "type": "text", "text": id })
        };
        let params = json!({ "to": to.aid, "message_id": id, "payload": payload });
        let sent = self.connection.call("message.send", &params).await;
        assert_eq!(sent["message_id"], id, "{sent}");
        self.record.sends.push(AcknowledgedSend { inbox, id: id.clone(), seq: number_of(&sent["seq"]) });
        self.record.sealed += usize::from(is_sealed);
        self.recallable.push_back(id);
        if self.recallable.len() > MAX_RECALLABLE {
            self.recallable.pop_front();
        }
    }

    fn random_recipient(&mut self) -> Principal {
        let count = self.world.identities.len();
        let choices = if self.rounds.random_index(2) == 0 { count.min(BUSY_INBOXES) } else { count };
        self.rounds.random_index(choices)
    }

    /// Reads the next page. Returns whether there are more.
    async fn read_page(&mut self) -> bool {
        // The last device of the other AIDs reads as a client of the second version.
        let method = if self.record.device.number == 2 { "message.v2.pull" } else { "message.pull" };
        let limit = 1 + self.rounds.random_index(200);
        let (asked_at, after) = (self.world.next_time(), self.read_to);
        let page = self.connection.call(method, &json!({ "after_seq": after, "limit": limit })).await;
        self.record_cursor(&page["server_ack_seq"]);
        let rows = page["messages"].as_array().expect("rows").iter().map(|row| self.read_row(row)).collect();
        self.read_to = number_of(&page["latest_seq"]);
        let read = ReadPage { asked_at, after, latest: self.read_to, rows };
        self.record.readings.last_mut().expect("a reading").push(read);
        page["has_more"] == true
    }

    /// Confirms what was read, or less: that moves nothing.
    async fn confirm(&mut self) {
        let seq = match self.rounds.random_index(4) {
            0 => self.read_to / 2,
            _ => self.read_to,
        };
        let answer = self.connection.call("message.ack", &json!({ "seq": seq })).await;
        self.record_cursor(&answer["ack_seq"]);
        assert!(self.confirmed >= seq, "{seq} is confirmed, but the answer is {answer}");
    }

    /// Recalls one of the latest messages of this device.
    async fn recall(&mut self) {
        if self.recallable.is_empty() {
            return;
        }
        let index = self.rounds.random_index(self.recallable.len());
        let Some(id) = self.recallable.remove(index) else { return };
        let answer = self.connection.call("message.recall", &json!({ "message_ids": [id] })).await;
        let answered_at = self.world.next_time();
        let error = answer["errors"][0]["error"].as_str();
        // An earlier attempt, whose answer was lost, has recalled it.
        let error = error.filter(|error| *error != "already_recalled").map(str::to_owned);
        // It was sent a long time ago.
        if error.as_deref() != Some("expired") {
            self.record.recalls.push(AnsweredRecall { id, answered_at, error });
        }
    }

    /// Begins again where it has confirmed, like a client that was started again.
    async fn restart(&mut self) {
        self.connection.close().await;
        if self.record.senders.is_some() {
            self.senders_mut().restart();
            return;
        }
        self.read_to = self.confirmed;
        self.record.readings.push(Vec::new());
    }

    pub(super) fn next_time(&self) -> u64 {
        self.world.next_time()
    }

    pub(super) fn aid_of(&self, principal: Principal) -> &str {
        &self.world.identities[principal].aid
    }

    pub(super) fn principal_of(&self, aid: &Value) -> Principal {
        let found = self.world.identities.iter().position(|identity| aid == identity.aid.as_str());
        found.expect("an AID of the test")
    }

    pub(super) fn read_row(&self, row: &Value) -> ReadRow {
        let payload = row.get("payload").unwrap_or(&row["legacy_v1"]["payload"]);
        let content = if let Some(envelope) = row["envelope_json"].as_str() {
            let sender = &self.world.identities[self.principal_of(&row["from_aid"])];
            let reader = &self.world.identities[self.record.device.principal];
            RowContent::Text(sealing::open(envelope, reader, sender))
        } else if let Some(text) = payload["text"].as_str() {
            RowContent::Text(text.to_owned())
        } else {
            assert_eq!(row["type"], "message.recalled", "{row}");
            RowContent::Recalled
        };
        let id = row["message_id"].as_str().expect("an id").to_owned();
        ReadRow { seq: number_of(&row["seq"]), id, content }
    }

    fn record_cursor(&mut self, seq: &Value) {
        self.confirmed = number_of(seq);
        self.record.cursors.push(self.confirmed);
    }

    fn record_pushes(&mut self) {
        for notification in self.connection.notifications() {
            if ["event/message.received", "event/peer.v2.message_received"].contains(&&*notification.method) {
                let id = notification.params["message_id"].as_str().expect("an id").to_owned();
                self.record.pushes.push((number_of(&notification.params["seq"]), id));
            }
        }
    }
}

pub(super) fn number_of(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("no number: {value}"))
}
