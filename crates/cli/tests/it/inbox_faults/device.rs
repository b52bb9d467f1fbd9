//! What one device does at random: it sends, reads, confirms, recalls, and connects again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use guildhall_testkit::Rounds;
use serde_json::{Value, json};

use super::connection::DeviceConnection;
use super::history::{
    AcknowledgedSend, AnsweredRecall, Device, DeviceRecord, Principal, ReadPage, ReadRow, RowContent,
};

/// Messages that a device may still recall.
const MAX_RECALLABLE: usize = 5;

/// Every other message goes to one of so many inboxes, which all replicas write to all the time.
const BUSY_INBOXES: usize = 4;

/// What all devices share.
pub(super) struct SharedDeviceState {
    pub(super) aids: Vec<String>,
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
    connection: DeviceConnection,
    rounds: Rounds,
    record: DeviceRecord,
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
        Self {
            world: Arc::clone(world),
            connection,
            rounds,
            record: DeviceRecord::new(device),
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
                45..70 => {
                    let _has_more = self.read_page().await;
                }
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
        while self.read_page().await {}
        self.record_pushes();
        let all = json!({ "seq": self.read_to });
        let answer = self.connection.call("message.ack", &all).await;
        self.record_cursor(&answer["ack_seq"]);
        self.connection.close().await;
        (self.record, self.connection.opened)
    }

    async fn send(&mut self) {
        let inbox = self.random_recipient();
        self.sent += 1;
        let Device { principal, number } = self.record.device;
        let id = format!("{principal}-{number}-{}", self.sent);
        let params = json!({
            "to": self.world.aids[inbox], "message_id": id, "payload": { "type": "text", "text": id },
        });
        let sent = self.connection.call("message.send", &params).await;
        assert_eq!(sent["message_id"], id, "{sent}");
        self.record.sends.push(AcknowledgedSend { inbox, id: id.clone(), seq: number_of(&sent["seq"]) });
        self.recallable.push_back(id);
        if self.recallable.len() > MAX_RECALLABLE {
            self.recallable.pop_front();
        }
    }

    fn random_recipient(&mut self) -> Principal {
        let count = self.world.aids.len();
        let choices = if self.rounds.random_index(2) == 0 { count.min(BUSY_INBOXES) } else { count };
        self.rounds.random_index(choices)
    }

    /// Reads the next page. Returns whether there are more.
    async fn read_page(&mut self) -> bool {
        // The last device reads as a client of the second version.
        let method = if self.record.device.number == 2 { "message.v2.pull" } else { "message.pull" };
        let limit = 1 + self.rounds.random_index(200);
        let (asked_at, after) = (self.world.next_time(), self.read_to);
        let page = self.connection.call(method, &json!({ "after_seq": after, "limit": limit })).await;
        self.record_cursor(&page["server_ack_seq"]);
        let rows = page["messages"].as_array().expect("rows").iter().map(read_row).collect();
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
        self.read_to = self.confirmed;
        self.record.readings.push(Vec::new());
    }

    fn record_cursor(&mut self, seq: &Value) {
        self.confirmed = number_of(seq);
        self.record.cursors.push(self.confirmed);
    }

    fn record_pushes(&mut self) {
        for notification in self.connection.notifications() {
            if notification.method == "event/message.received" {
                let id = notification.params["message_id"].as_str().expect("an id").to_owned();
                self.record.pushes.push((number_of(&notification.params["seq"]), id));
            }
        }
    }
}

fn read_row(row: &Value) -> ReadRow {
    let payload = row.get("payload").unwrap_or(&row["legacy_v1"]["payload"]);
    let content = match payload["text"].as_str() {
        Some(text) => RowContent::Text(text.to_owned()),
        None => {
            assert_eq!(row["type"], "message.recalled", "{row}");
            RowContent::Recalled
        }
    };
    let id = row["message_id"].as_str().expect("an id").to_owned();
    ReadRow { seq: number_of(&row["seq"]), id, content }
}

fn number_of(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("no number: {value}"))
}
